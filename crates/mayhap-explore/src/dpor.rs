//! Dynamic partial order reduction: which orders of a program's steps are worth a run.
//!
//! Flanagan and Godefroid, POPL 2005, with source sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). In: the steps of a run. Where two
//! steps of different threads [race](crate::races), they must also be run the other way round: at the state before the first one, a
//! thread goes first that can be the first of those that lead to the second. It need not be the second thread itself, which may have got there only after
//! a third one. Out: the turns of the next run, until no state has anything left. Two runs that differ only in the order of steps without a conflict
//! are the same to every thread, so the runs made stand for all. [Sleep sets](crate::sleep) keep that number down: as in optimal dynamic partial order reduction a run is led
//! the whole way to the second step, and so comes to no step of a thread that sleeps.
//!
//! Where something other than the order decides, as which waiter a notify wakes, the step makes a *choice*, and there is a run for each alternative.
//!
//! Deviations: states are not gone back to depth first. What is worth a run is kept in a list, and the order that was seen least comes first (after the reads-from
//! pairs of Wolff et al., ASPLOS 2024), so that a bug early in a long run does not wait for all that can be changed late in it. The set of runs that is
//! closed under the rule above is complete in whatever order it was made. A state is named by a hash of the threads whose steps lead to it.
//!
//! Cost: for each run, that of its races. Memory: for each order that is worth a run and was not run, and for each state with a race. It is counted, and has a bound
//! ([`MOST_BYTES`]): orders found beyond it are dropped and counted. What only says which order comes first has bounds of its own, beyond which nothing is added to it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use mayhap_record::{Operation, TurnStep};

use crate::open::{CHOICE_STATE, Open, leads_to, name_after, name_after_step};
use crate::races::{Access, Pair, Races, enabled_before, races};
use crate::sleep::{self, Child, Sleeping};
use crate::turns::{Turn, add, chosen, follows, is_choice, prefix, turns_of};
use crate::views::Views;

/// The most bytes that the tree grows to, as far as completeness needs it.
pub const MOST_BYTES: usize = 256 << 20;
/// The most bytes of steps that are kept to lead further runs by.
const MOST_BYTES_OF_STEPS: usize = 64 << 20;
/// The most turns of a run that is led further.
const MOST_LED: usize = 1024;
/// The most states that are remembered as reached, and orders as seen; about 100 MB each.
const MOST_REACHED: usize = 4 << 20;
const MOST_SEEN: usize = 1 << 20;

/// The orders of a program's steps that are known, and those that are worth a run.
#[derive(Debug, Default)]
pub struct Tree {
    /// The runs of which something is still needed, by their numbers.
    runs: HashMap<u32, Kept>,
    /// About the bytes of their steps.
    bytes_of_steps: usize,
    made: u32,
    /// About the bytes of what is above, of the states and of the open.
    bytes: usize,
    /// States with a race: the threads that were run there, in the order of their first runs.
    states: HashMap<u128, Vec<Child>>,
    /// States with a choice: the alternatives that were taken there or are to be.
    choices: HashMap<u128, Vec<u32>>,
    /// States at which a run went on with a thread that sleeps, and for which another run was asked.
    woken: HashSet<u128>,
    open: Vec<Open>,
    /// What is open and known to be derivable.
    derivable: Vec<Open>,
    /// The turns that come next, if that is settled.
    next: Option<Vec<Turn>>,
    /// What runs that were made have shown of their threads, and of the orders of two accesses.
    views: Views,
    shown: HashSet<u64>,
    /// How many runs were derived, and how many since the last one that was made.
    derived: u64,
    in_row: u32,
    /// Hashes of what is open.
    known: HashSet<u64>,
    /// What the runs that are being made must follow of their turns, by the hash of all: the others only guide.
    asked: HashMap<u64, u32>,
    /// How often two accesses raced in this order.
    seen: HashMap<Pair, u32>,
    /// States, named as in [`crate::races::Races::states`], and threads that made the next step there, as one number.
    reached: HashSet<u64>,
    /// Threads were held back from waiting in loops for longer than a few rounds.
    pub cut_loops: bool,
    /// Steps that race have several accesses: the token does not pass between a plain write and a plain read that directly follows it.
    pub merged: bool,
    /// Runs that did not follow their turns.
    pub diverged: u64,
    /// Orders that were worth a run, and for which there was no room.
    pub dropped: u64,
    /// Choices that were not made otherwise, since their step makes another one before.
    pub skipped: u64,
}

/// What is kept of a run.
#[derive(Debug)]
struct Kept {
    turns: Vec<Turn>,
    /// Its steps, if there is room for them.
    steps: Vec<TurnStep>,
    /// How many of the open need it.
    needed: u32,
}

impl Tree {
    /// What comes first is least. First what leads to a state that no run has reached, by whatever order of steps that do not conflict. Then an order that was seen
    /// least; then one that changes what a read sees; then the latest in a run, since what comes before stays as it was.
    fn worth(&self, open: &Open) -> (bool, u32, bool, Reverse<u32>) {
        let seen = self.seen.get(&open.pair).copied().unwrap_or(0);
        (self.reached.contains(&open.leads_to), seen, !open.pair.changes_a_read(), Reverse(open.depth))
    }

    /// The turns of the next run; `None` when there is nothing left to run.
    pub fn next_turns(&mut self) -> Option<Vec<Turn>> {
        if self.next.is_some() {
            return self.next.take();
        }
        let open = self.take_best().or_else(|| self.derivable.pop())?;
        let turns = self.turns(&open);
        self.ask(&open, &turns);
        Some(turns)
    }

    /// What comes first of what is open.
    fn take_best(&mut self) -> Option<Open> {
        let (at, _) = self.open.iter().enumerate().min_by_key(|(_, open)| self.worth(open))?;
        let open = self.open.swap_remove(at);
        // A second one for the same order waits until the others had their turn.
        self.see(open.pair);
        Some(open)
    }

    /// These turns are to be run, for what is open no more.
    fn ask(&mut self, open: &Open, turns: &[Turn]) {
        self.asked.insert(hash_of(turns), open.depth + 1);
        self.forget(open);
    }

    /// An order is no longer open: what is kept for it may go.
    fn forget(&mut self, open: &Open) {
        self.bytes -= open.bytes();
        self.known.remove(&open.hash());
        if let Some(kept) = self.runs.get_mut(&open.run) {
            kept.needed -= 1;
            if kept.needed == 0 {
                self.bytes -= size_of_val(&kept.turns[..]);
                self.bytes_of_steps -= bytes_of(&kept.steps);
                self.runs.remove(&open.run);
            }
        }
    }

    /// The turns of those that would be run next if nothing were learnt meanwhile, at most so many.
    pub fn likely(&self, most: usize) -> Vec<Vec<Turn>> {
        let next = self.next.iter().cloned();
        next.chain(self.likely_open(most)).take(most).collect()
    }

    fn likely_open(&self, most: usize) -> Vec<Vec<Turn>> {
        let mut open: Vec<_> = self.open.iter().enumerate().map(|(at, open)| (self.worth(open), at)).collect();
        if open.len() > most {
            open.select_nth_unstable(most);
            open.truncate(most);
        }
        open.sort_unstable();
        open.into_iter().filter_map(|(_, at)| self.turns_to_make(&self.open[at])).collect()
    }

    /// The turns that lead to a thread at a state, and on to what it is to show.
    fn turns(&self, open: &Open) -> Vec<Turn> {
        let kept = self.runs.get(&open.run);
        let mut turns = kept.map_or_else(Vec::new, |kept| prefix(&kept.turns, open.depth));
        add(&mut turns, [open.thread, 1]);
        turns.extend(open.choice.map(|(kind, alternative)| chosen(open.thread, kind, alternative)));
        open.way.iter().for_each(|turn| add(&mut turns, *turn));
        if let Some(kept) = kept.filter(|_| open.choice.is_none()) {
            self.lead_on(open, &kept.steps, &mut turns);
        }
        turns
    }

    /// Adds turns after the way, so that a thread that still sleeps then does not go on before it is woken, as far as the run that is known shows that.
    fn lead_on(&self, open: &Open, steps: &[TurnStep], turns: &mut Vec<Turn>) {
        let depth = open.depth as usize;
        let Some((first, later)) = steps.split_at_checked(depth) else { return };
        let names: Vec<u128> = names(first).collect();
        let mut asleep = match self.sleeping(first, &names) {
            before if before.len() == depth + 1 => Sleeping::clone(&before[depth]),
            _ => return,
        };
        let mut counts: HashMap<u32, u32> = HashMap::default();
        open.way
            .iter()
            .filter(|turn| !is_choice(**turn))
            .for_each(|turn| *counts.entry(turn[0]).or_default() += turn[1]);
        *counts.entry(open.thread).or_default() += 1;
        let (mut way, mut rest) = (Vec::new(), Vec::new());
        for step in later {
            match counts.get_mut(&step.thread).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    way.push(step);
                }
                None => rest.push(step),
            }
        }
        let mut run_before = self.states.get(&open.state).map_or(&[][..], Vec::as_slice);
        for step in way {
            asleep = sleep::after(&asleep, std::mem::take(&mut run_before), step);
        }
        let is_awake = |asleep: &[Child], step: &TurnStep| asleep.iter().all(|child| child.thread != step.thread);
        while !asleep.is_empty() && turns.len() < MOST_LED {
            let Some(next) = rest.iter().position(|step| is_awake(&asleep, step)) else { return };
            let step = rest.remove(next);
            if step.choices().any(|(.., taken)| taken != 0) {
                return;
            }
            add(turns, [step.thread, 1]);
            asleep = sleep::after(&asleep, &[], step);
        }
    }

    fn see(&mut self, pair: Pair) {
        if self.seen.len() < MOST_SEEN || self.seen.contains_key(&pair) {
            *self.seen.entry(pair).or_default() += 1;
        }
    }

    /// How many runs are known to be worth making.
    pub fn open(&self) -> u64 {
        (self.open.len() + self.derivable.len()) as u64 + u64::from(self.next.is_some())
    }

    /// A run in these turns was too long to be looked at: what it would have shown stays open.
    pub fn was_not_finished(&mut self, given: &[Turn]) {
        self.asked.remove(&hash_of(given));
    }

    /// Learns from a run that was made in these turns. Says whether it followed them.
    pub fn learn(&mut self, given: &[Turn], steps: &[TurnStep]) -> bool {
        let must = self.asked.remove(&hash_of(given));
        let is_led = must.is_some_and(|must| follows(&prefix(given, must), steps));
        if !is_led && !follows(given, steps) {
            self.diverged += 1;
            return false;
        }
        let found = races(steps);
        self.shown.extend(found.races.iter().map(|race| race.pair.in_code()));
        self.add(steps, &found);
        true
    }

    /// Adds a run.
    fn add(&mut self, steps: &[TurnStep], found: &Races) {
        let names: Vec<u128> = names(steps).collect();
        for (step, name) in steps.iter().zip(&names) {
            if let Some(children) = self.states.get_mut(name)
                && children.iter().all(|child| child.thread != step.thread)
            {
                children.push(Child::of(step));
                self.drop_needless(*name);
            }
        }
        self.add_races(steps, &names, found);
    }

    /// Drops what is open at a state and what a thread that is run there stands for.
    fn drop_needless(&mut self, state: u128) {
        let children = self.states.get(&state).map_or(&[][..], Vec::as_slice);
        let is_needless = |open: &mut Open| open.state == state && open.choice.is_none() && open.is_covered(children);
        let mut needless: Vec<Open> = self.open.extract_if(.., is_needless).collect();
        needless.extend(self.derivable.extract_if(.., is_needless));
        needless.iter().for_each(|open| self.forget(open));
    }

    /// The threads that sleep before each step of a run, until one of them makes a step.
    fn sleeping(&self, steps: &[TurnStep], names: &[u128]) -> Vec<Sleeping> {
        let mut all: Vec<Sleeping> = vec![Sleeping::from([])];
        for (step, name) in steps.iter().zip(names) {
            let sleeping = &all[all.len() - 1];
            if sleeping.iter().any(|child| child.thread == step.thread) {
                break;
            }
            let run_before = self.states.get(name).map_or(&[][..], |children| sleep::before(children, step.thread));
            all.push(sleep::after(sleeping, run_before, step));
        }
        all
    }

    /// Adds to each state the threads that a race says to be run there.
    fn add_races(&mut self, steps: &[TurnStep], names: &[u128], found: &Races) {
        self.cut_loops |= found.cut_loops;
        self.merged |= found.merged;
        let enabled = enabled_before(steps);
        let number = self.made;
        self.made += 1;
        for (state, step) in found.states.iter().zip(steps) {
            if self.reached.len() < MOST_REACHED {
                self.reached.insert(leads_to(*state, step.thread));
            }
        }
        let sleeping = self.sleeping(steps, names);
        // From here on, other runs stand for this one.
        let end = sleeping.len().min(steps.len() + 1) - 1;
        let mut needed = self.add_choices(&steps[..end], names, &found.states, number);
        for race in &found.races {
            self.see(race.pair);
            if race.later >= end {
                continue;
            }
            let name = names[race.earlier];
            let bytes = &mut self.bytes;
            let children = self.states.entry(name).or_insert_with(|| {
                *bytes += BYTES_OF_STATE;
                vec![Child::of(&steps[race.earlier])]
            });
            let mut open = Open::of_race(steps, found, race, number, name);
            let asleep = &sleeping[race.earlier];
            if open.is_covered(children) || open.is_covered(asleep) {
                continue;
            }
            let enabled = &enabled[race.earlier];
            let is_new = |thread: &&u32| {
                let known = children.iter().chain(asleep.iter());
                known.into_iter().all(|child| child.thread != **thread)
            };
            if enabled.contains(&open.thread) {
                needed += self.put(open);
            } else if let Some(thread) = race.initials.iter().find(|thread| enabled.contains(thread)) {
                (open.thread, open.way) = (*thread, Box::new([]));
                needed += self.put(open);
            } else {
                let others: Vec<u32> = enabled.iter().filter(is_new).copied().collect();
                needed += others.into_iter().map(|thread| self.put(Open::of_thread(&open, thread))).sum::<u32>();
            }
        }
        needed += self.wake(steps, names, (found, number, &sleeping, &enabled));
        if needed > 0 {
            let turns = turns_of(steps);
            self.bytes += size_of_val(&turns[..]);
            let steps = if self.bytes_of_steps < MOST_BYTES_OF_STEPS { steps.to_vec() } else { Vec::new() };
            self.bytes_of_steps += bytes_of(&steps);
            self.runs.insert(number, Kept { turns, steps, needed });
        }
    }

    /// A run in which a sleeping thread went on: asks for another thread to go on there, if one can.
    fn wake(
        &mut self,
        steps: &[TurnStep],
        names: &[u128],
        (found, number, sleeping, enabled): (&Races, u32, &[Sleeping], &[BTreeSet<u32>]),
    ) -> u32 {
        let at = sleeping.len() - 1;
        if at >= steps.len() || !self.woken.insert(names[at]) {
            return 0;
        }
        let is_awake = |thread: &&u32| sleeping[at].iter().all(|child| child.thread != **thread);
        let goes_on = |thread: &&u32| steps[at..].iter().any(|step| step.thread == **thread);
        let mut awake = enabled[at].iter().filter(is_awake);
        let Some(thread) = awake.clone().find(goes_on).or_else(|| awake.next()) else { return 0 };
        let access = Access { thread: *thread, code: steps[at].code, writes: false, reads: false };
        let pair = Pair { place: 0, first: access, second: access };
        let any = Open {
            run: number,
            depth: at as u32,
            state: names[at],
            thread: *thread,
            way: Box::new([]),
            initials: Box::new([*thread]),
            choice: None,
            pair,
            leads_to: leads_to(found.states[at], *thread),
        };
        self.put(any)
    }

    /// Adds what is worth a run, unless the same is there or there is no room; returns how many were added.
    fn put(&mut self, open: Open) -> u32 {
        if self.bytes >= MOST_BYTES {
            self.dropped += 1;
            return 0;
        }
        if !self.known.insert(open.hash()) {
            return 0;
        }
        self.bytes += open.bytes();
        self.open.push(open);
        1
    }

    /// Adds the other alternatives of the choices that steps made; returns how many. Of several choices of one step only the first is made otherwise.
    fn add_choices(&mut self, steps: &[TurnStep], names: &[u128], states: &[u128], number: u32) -> u32 {
        let mut added = 0;
        for (depth, step) in steps.iter().enumerate() {
            let mut choices = step.choices();
            let Some((kind, alternatives, taken)) = choices.next() else { continue };
            self.skipped += choices.count() as u64;
            let here = name_after(name_after(names[depth], step.thread), CHOICE_STATE);
            let bytes = &mut self.bytes;
            let tried = self.choices.entry(here).or_insert_with(|| {
                *bytes += BYTES_OF_STATE;
                Vec::new()
            });
            if !tried.contains(&taken) {
                tried.push(taken);
            }
            let others: Vec<u32> = (0..alternatives).filter(|other| !tried.contains(other)).collect();
            tried.extend(&others);
            for alternative in others {
                let access = |alternative| Access { thread: alternative, code: step.code, writes: true, reads: true };
                let pair = Pair { place: u64::from(kind), first: access(taken), second: access(alternative) };
                let leads_to = leads_to(name_after(states[depth], step.thread), CHOICE_STATE + alternative);
                added += self.put(Open {
                    run: number,
                    depth: depth as u32,
                    state: names[depth],
                    thread: step.thread,
                    way: Box::new([]),
                    initials: Box::new([]),
                    choice: Some((kind, alternative)),
                    pair,
                    leads_to,
                });
            }
        }
        added
    }
}

/// About the bytes of a state with its threads.
const BYTES_OF_STATE: usize = 96;

/// About the bytes of steps.
fn bytes_of(steps: &[TurnStep]) -> usize {
    let operations: usize = steps.iter().map(|step| step.operations.len()).sum();
    size_of_val(steps) + operations * size_of::<Operation>()
}

/// The names of the states before each of these steps.
fn names(steps: &[TurnStep]) -> impl Iterator<Item = u128> {
    steps.iter().scan(0, |name, step| {
        let before = *name;
        *name = name_after_step(before, step);
        Some(before)
    })
}

/// A hash of turns.
fn hash_of(turns: &[Turn]) -> u64 {
    FixedState::default().hash_one(turns)
}

mod deriving;
#[cfg(test)]
mod tests;
