//! Runs of which all is known are derived instead of made: they take their part in going through all executions as if they had been made.
//!
//! What a run shows besides its steps is not lost: one in which two accesses come one right after the other, in an order that no run which was made has shown of
//! these places in the code, is made all the same, and so is one in which no thread could go on.

use mayhap_record::TurnStep;

use super::Tree;
use crate::open::{Open, name_after_step};
use crate::races::{Races, races};
use crate::sleep::{self, Sleeping};
use crate::turns::{Turn, turns_of};
use crate::views::{Known, Views};

/// So many runs are derived in a row while others are worth making.
const IN_ROW: u32 = 64;

/// The most facts of threads that are collected before the first run is derived: of large programs none ever is.
const MOST_IN_VAIN: usize = 1 << 17;

/// What comes of an open order.
enum Way {
    Derived(Vec<TurnStep>, Box<Races>),
    Made(Vec<Turn>),
}

impl Tree {
    /// Derives the next run, if it need not be made; its steps.
    pub(crate) fn derive(&mut self) -> Option<Vec<TurnStep>> {
        if self.next.is_some() || self.views.is_refuted() {
            return None;
        }
        while let Some(open) = self.take_best() {
            match self.way(&open) {
                Way::Made(turns) => {
                    self.ask(&open, &turns);
                    self.next = Some(turns);
                    return None;
                }
                Way::Derived(..) if self.in_row >= IN_ROW => self.derivable.push(open),
                Way::Derived(steps, found) => return Some(self.learn_derived(&open, steps, &found)),
            }
        }
        let open = self.derivable.pop()?;
        match self.way(&open) {
            Way::Derived(steps, found) => Some(self.learn_derived(&open, steps, &found)),
            Way::Made(turns) => {
                self.ask(&open, &turns);
                self.next = Some(turns);
                None
            }
        }
    }

    /// A run that was made, and whether it ended well: further ones are derived from what it shows.
    pub(crate) fn derive_from(&mut self, steps: &[TurnStep], success: bool) {
        self.in_row = 0;
        self.views.learn(steps, success);
        if self.derived == 0 && self.views.facts() > MOST_IN_VAIN {
            self.views = Views::none();
        }
    }

    fn learn_derived(&mut self, open: &Open, steps: Vec<TurnStep>, found: &Races) -> Vec<TurnStep> {
        self.derived += 1;
        self.in_row += 1;
        self.forget(open);
        self.add(&steps, found);
        steps
    }

    /// The turns of a run that must be made for what is open, if it must.
    pub(crate) fn turns_to_make(&self, open: &Open) -> Option<Vec<Turn>> {
        match self.way(open) {
            Way::Made(turns) => Some(turns),
            Way::Derived(..) => None,
        }
    }

    fn way(&self, open: &Open) -> Way {
        let turns = self.turns(open);
        let (mut name, mut asleep, mut is_over) = (0, Sleeping::from([]), false);
        let mut follow = |step: &TurnStep| {
            is_over |= asleep.iter().any(|child| child.thread == step.thread);
            let run_before = self.states.get(&name).map_or(&[][..], |children| sleep::before(children, step.thread));
            asleep = if is_over { Sleeping::from([]) } else { sleep::after(&asleep, run_before, step) };
            name = name_after_step(name, step);
            asleep.iter().map(|child| child.thread).collect()
        };
        let known =
            if open.choice.is_some() { None } else { self.views.derive(&turns, open.depth as usize + 1, &mut follow) };
        match known {
            Some(Known::Whole(steps)) => {
                let found = Box::new(races(&steps));
                let is_shown = found.races.iter().all(|race| self.shown.contains(&race.pair.in_code()));
                if is_shown { Way::Derived(steps, found) } else { Way::Made(turns_of(&steps)) }
            }
            Some(Known::Until(longer)) => Way::Made(longer),
            None => Way::Made(turns),
        }
    }

    /// How many runs were derived.
    pub(crate) fn derived(&self) -> u64 {
        self.derived
    }

    /// What was derived cannot be relied on.
    pub(crate) fn is_refuted(&self) -> bool {
        self.derived > 0 && self.views.is_refuted()
    }
}
