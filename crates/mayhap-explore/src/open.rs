//! What is worth a run: a thread at a state, and the way that the run is to be led from there.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use mayhap_record::{Operation, TurnStep};

use crate::races::{Pair, Race, Races};
use crate::sleep::Child;
use crate::turns::{Turn, turns_of};

/// The most turns of a way that a run is led.
const MOST_TURNS: usize = 256;

/// Added to names of states in place of a thread: a choice is made there.
pub(crate) const CHOICE_STATE: u32 = 1 << 30;

/// Worth a run: a thread at a state, and what comes of a choice that its step makes.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// The run that came through the state, and after how many steps.
    pub(crate) run: u32,
    pub(crate) depth: u32,
    /// The name of the state.
    pub(crate) state: u128,
    pub(crate) thread: u32,
    /// The turns after that of the thread which lead to the second step of the race.
    pub(crate) way: Box<[Turn]>,
    /// The threads that can be the first on the way: if one of them is run at the state, this one is needless.
    pub(crate) initials: Box<[u32]>,
    /// The kind of a choice, and the alternative.
    pub(crate) choice: Option<(u32, u32)>,
    /// The order that the run is to show.
    pub(crate) pair: Pair,
    /// The state, named as in [`crate::races::Races::states`], and the thread, as one number.
    pub(crate) leads_to: u64,
}

impl Open {
    /// The other order of a race: the whole way to its second step is to be run, so that no thread that sleeps can go on before.
    pub(crate) fn of_race(steps: &[TurnStep], found: &Races, race: &Race, run: u32, state: u128) -> Open {
        let way: Vec<&TurnStep> = found.way(race).map(|step| &steps[step]).collect();
        let thread = way[0].thread;
        // Where the second step waited for the first one, it does not wait now.
        let waited = |step: &TurnStep| {
            step.thread == steps[race.later].thread
                && step.operations.iter().any(|done| matches!(done, Operation::Blocked(1..)))
        };
        let led = way.iter().filter(|step| !waited(step)).copied();
        let mut turns = turns_of(led);
        match turns.first_mut() {
            Some([first, count]) if *first == thread => *count -= 1,
            _ => turns.clear(),
        }
        turns.retain(|[_, count]| *count > 0);
        turns.truncate(MOST_TURNS);
        let leads_to = leads_to(found.states[race.earlier], thread);
        Open {
            run,
            depth: race.earlier as u32,
            state,
            thread,
            way: turns.into(),
            initials: race.initials.clone().into(),
            choice: None,
            pair: race.pair.reversed(),
            leads_to,
        }
    }

    /// Any thread that can go on there.
    pub(crate) fn of_thread(other: &Open, thread: u32) -> Open {
        let way = Box::new([]);
        Open { thread, way, initials: Box::new([thread]), ..other.clone() }
    }

    /// Whether one of these threads can be the first on the way.
    pub(crate) fn is_covered(&self, children: &[Child]) -> bool {
        children.iter().any(|child| self.initials.contains(&child.thread))
    }

    /// The same for two that would make the same run.
    pub(crate) fn hash(&self) -> u64 {
        FixedState::default().hash_one((self.state, self.thread, self.choice, &self.way))
    }

    /// About the bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Open>() + size_of_val(&self.way[..]) + size_of_val(&self.initials[..])
    }
}

/// A state and the thread that makes the next step there, as one number. States that share a number are only tried earlier or later.
pub(crate) fn leads_to(state: u128, thread: u32) -> u64 {
    let name = name_after(state, thread);
    (name >> 64) as u64 ^ name as u64
}

/// The name of the state after a step.
pub(crate) fn name_after_step(name: u128, step: &TurnStep) -> u128 {
    let taken = step.choices().filter(|(.., taken)| *taken != 0);
    taken.fold(name_after(name, step.thread), |name, (kind, _, taken)| name_after(name, kind << 24 | taken))
}

/// The name of the state after a step of a thread.
pub(crate) fn name_after(name: u128, thread: u32) -> u128 {
    let mixed =
        (name ^ u128::from(thread) ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
    mixed ^ mixed >> 61
}
