//! Schedules drawn at random.
//!
//! PCT (Burckhardt et al., ASPLOS 2010) runs the thread of highest random priority and lowers it at random moments; a bug that needs *d*
//! changes is found with a probability that falls with the number of steps to the power of *d* - 1. The runtime's variant lowers the
//! running thread at the end of every slice, so the length of the slices sets how many changes there are. Bugs need few changes or many,
//! which is not known beforehand, so lengths are mixed: short ones, and ones of which a few make up the whole run.
//!
//! POS (Yuan, Yang, Gu, CAV 2018) gives every event a random priority. The runtime's variant gives one to every slice and does not draw
//! again for events that race with the one that ran.
//!
//! SURW (Zhao et al., ASPLOS 2025) chooses each step's thread with a probability that grows with the steps that it has left, which makes all interleavings
//! about equally likely. The steps left are those of the run before; this needs runs in turns.

use mayhap_wire::ring::Schedule;

use crate::run::Attempt;

/// How schedules are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// All of the others in turn.
    #[default]
    Mixed,
    /// Random priorities that change at random moments.
    Pct,
    /// No drawing: one execution after the other, until there is none left.
    Systematic,
    /// A random priority for every slice.
    Pos,
    /// A random thread after every slice, and at half of all synchronisation.
    Random,
    /// A random thread before every step, those that have more steps left more often.
    Surw,
}

/// The shortest slices, in steps.
const SHORT: [u32; 6] = [1, 5, 2, 12, 1, 30];
/// Long slices are the whole run divided by one of these.
const PARTS: [u64; 3] = [4, 12, 40];
/// The most changes that a run of a program can afford, at some ten microseconds each.
const MOST_CHANGES: u64 = 40_000;

/// Draws schedules.
#[derive(Clone, Debug)]
pub struct Sampler {
    strategy: Strategy,
    seed: u64,
    drawn: u64,
    steps: u64,
    shortest: u32,
}

impl Sampler {
    /// For a program whose recorded run had about so many steps.
    pub fn new(strategy: Strategy, seed: u64, steps: u64) -> Sampler {
        // The recorded run is a little longer or shorter by itself, which must not make other schedules.
        let digit = 10u64.pow(steps.max(1).ilog10().saturating_sub(1));
        let steps = steps.saturating_add(digit / 2) / digit * digit;
        let shortest = (steps / MOST_CHANGES).clamp(1, u64::from(u32::MAX)) as u32;
        Sampler { strategy, seed, drawn: 0, steps, shortest }
    }

    /// The last run took too long: slices are longer from here on.
    pub fn was_too_long(&mut self) {
        self.shortest = self.shortest.saturating_mul(4).max(16);
    }

    /// Draws a schedule.
    pub fn draw(&mut self) -> Attempt {
        let nth = self.drawn;
        self.drawn += 1;
        let schedule = match self.strategy {
            Strategy::Pct => Schedule::Pct,
            Strategy::Pos => Schedule::Pos,
            Strategy::Random | Strategy::Surw => Schedule::Random,
            Strategy::Mixed | Strategy::Systematic => {
                [Schedule::Pos, Schedule::Pct, Schedule::Random][(nth % 3) as usize]
            }
        };
        // Two short ones, then a long one.
        let turn = (nth / if schedule_is_mixed(self.strategy) { 3 } else { 1 }) as usize;
        let slice = match turn % 3 {
            2 => (self.steps / PARTS[turn / 3 % PARTS.len()]).clamp(3, 1 << 30) as u32,
            short => SHORT[(turn / 3 * 2 + short) % SHORT.len()],
        };
        Attempt { schedule, slice: slice.max(self.shortest), seed: self.seed.wrapping_add(nth) }
    }
}

fn schedule_is_mixed(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Mixed | Strategy::Systematic)
}

impl Iterator for Sampler {
    type Item = Attempt;

    fn next(&mut self) -> Option<Attempt> {
        Some(self.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_short_and_long_and_grow_when_runs_take_long() {
        let mut sampler = Sampler::new(Strategy::Mixed, 7, 4000);
        let drawn: Vec<Attempt> = (0..36).map(|_| sampler.draw()).collect();
        assert_eq!(drawn[0], Attempt { schedule: Schedule::Pos, slice: 1, seed: 7 });
        assert_eq!(drawn[4], Attempt { schedule: Schedule::Pct, slice: 5, seed: 11 });
        for slice in [1, 5, 2, 12, 30, 1000, 333] {
            assert!(drawn.iter().any(|attempt| attempt.slice == slice), "{slice}");
        }
        let drawn_for = |steps| Sampler::new(Strategy::Mixed, 7, steps).take(36).collect::<Vec<_>>();
        assert_eq!(drawn_for(857), drawn_for(861));
        sampler.was_too_long();
        assert!((0..24).all(|_| sampler.draw().slice >= 16));
        let mut long = Sampler::new(Strategy::Pct, 0, 400_000_000);
        assert!((0..9).all(|_| long.draw().slice >= 10_000));
    }
}
