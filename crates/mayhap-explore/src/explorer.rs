//! Which run is worth making next.
//!
//! Strategies that draw take what [`Sampler`] draws. Those that go through executions take turns from [`Systematic`]. The mixed one does both: it begins
//! with a run in which every thread goes on until it cannot, takes turns that show an order not seen yet, and draws every sixth schedule, so that bugs
//! that need many changes are not starved.

use mayhap_wire::ring::TURN_WEIGHT;

use crate::outcome::Made;
use crate::run::{IN_TURNS, then_at_random};
use crate::{Attempt, Error, Outcome, Sampler, Strategy, Systematic, Tried, Turn};

/// Of so many runs of the mixed strategy, the last is drawn.
const MIXED: u64 = 6;

/// A run that is worth making.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Next {
    /// Under a schedule that was drawn.
    Drawn(Attempt),
    /// In turns, and under a schedule after their end.
    Turns(Vec<Turn>, Attempt),
}

/// Chooses runs and learns from them.
#[derive(Debug)]
pub struct Explorer {
    strategy: Strategy,
    seed: u64,
    sampler: Sampler,
    systematic: Option<Systematic>,
    chosen: u64,
}

impl Explorer {
    /// For a program whose recorded run had about so many steps. `in_turns`: it can be run in turns.
    pub fn new(strategy: Strategy, seed: u64, steps: u64, in_turns: bool) -> Explorer {
        let systematic = matches!(strategy, Strategy::Mixed | Strategy::Systematic | Strategy::Surw) && in_turns;
        let systematic = systematic.then(Systematic::default);
        Explorer { strategy, seed, sampler: Sampler::new(strategy, seed, steps), systematic, chosen: 0 }
    }

    /// What goes through executions, where that is done.
    pub fn systematic(&self) -> Option<&Systematic> {
        self.systematic.as_ref()
    }

    /// Derives a run that need not be made, if one comes next; says whether it did. Nothing is chosen before nothing is left to derive.
    pub fn derive(&mut self) -> bool {
        let goes_through = matches!(self.strategy, Strategy::Mixed | Strategy::Systematic);
        self.systematic.as_mut().is_some_and(|all| goes_through && all.derive())
    }

    /// Keeps the runs that are made and derived from now on, for a manifest.
    pub fn keep_runs(&mut self) {
        self.systematic.iter_mut().for_each(Systematic::keep_runs);
    }

    /// The runs that were kept.
    pub fn runs(&mut self) -> Option<&mut Vec<Made>> {
        self.systematic.as_mut()?.runs()
    }

    /// The next run; `None` when nothing is left to run.
    pub fn choose(&mut self) -> Option<Next> {
        let nth = self.chosen;
        self.chosen += 1;
        let Some(all) = self.systematic.as_mut().filter(|all| !all.has_given_up()) else {
            return (self.strategy != Strategy::Systematic).then(|| self.draw());
        };
        match self.strategy {
            Strategy::Surw if nth == 0 => Some(Next::Turns(Vec::new(), IN_TURNS)),
            Strategy::Surw => {
                let by_steps = then_at_random(2, self.seed.wrapping_add(nth));
                Some(Next::Turns(weights(all.steps_of_threads()), by_steps))
            }
            Strategy::Mixed if nth % MIXED == MIXED - 1 && !all.is_complete() => Some(self.draw()),
            strategy => match all.next_turns() {
                Some(turns) => Some(Next::Turns(turns, IN_TURNS)),
                // All are known: there is nothing to be found by drawing.
                None if all.is_complete() || strategy == Strategy::Systematic => None,
                None => Some(self.draw()),
            },
        }
    }

    /// Runs that are likely to be chosen soon, the likeliest first. All of them are worth making unless this exploration ends before.
    pub fn likely(&self, most: usize) -> Vec<Next> {
        let mut sampler = self.sampler.clone();
        let mut draw = || Next::Drawn(sampler.draw());
        let Some(all) = self.systematic.as_ref().filter(|all| !all.has_given_up()) else {
            return if self.strategy == Strategy::Systematic {
                Vec::new()
            } else {
                (0..most).map(|_| draw()).collect()
            };
        };
        if self.strategy == Strategy::Surw {
            return Vec::new();
        }
        let mut turns = all.likely(most).into_iter().map(|turns| Next::Turns(turns, IN_TURNS));
        let mut likely = Vec::new();
        for nth in self.chosen..self.chosen + most as u64 {
            let is_drawn = self.strategy == Strategy::Mixed && nth % MIXED == MIXED - 1;
            likely.extend(if is_drawn { Some(draw()) } else { turns.next() });
        }
        likely
    }

    fn draw(&mut self) -> Next {
        Next::Drawn(self.sampler.draw())
    }

    /// What is learnt from a run.
    pub fn outcome(made: &Next, tried: &Tried) -> Result<Outcome, Error> {
        match made {
            Next::Turns(..) => Outcome::in_turns(tried),
            Next::Drawn(_) => Outcome::drawn(tried),
        }
    }

    /// Learns from a run; says whether no run before it was like it.
    pub fn learn(&mut self, made: &Next, outcome: &Outcome) -> bool {
        match (made, &mut self.systematic) {
            (Next::Turns(turns, _), Some(all)) => {
                let given: Vec<Turn> = turns.iter().copied().filter(|turn| turn[0] & TURN_WEIGHT == 0).collect();
                return all.learn(&given, outcome);
            }
            _ if outcome.late => self.sampler.was_too_long(),
            _ => {}
        }
        false
    }
}

/// Turns that only say how many steps each thread is expected to make.
fn weights(steps: &[Turn]) -> Vec<Turn> {
    steps.iter().map(|&[thread, count]| [thread | TURN_WEIGHT, count]).collect()
}
