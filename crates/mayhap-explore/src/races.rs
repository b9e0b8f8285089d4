//! Which steps of a run could have come in the other order.
//!
//! Happens-before of Flanagan and Godefroid's dynamic partial order reduction (POPL 2005): the order of each thread, of conflicting accesses, and of
//! operations on one synchronisation object. Two steps race if they conflict and nothing else orders them. For a race, the *initials* (Abdulla et al.,
//! POPL 2014) are the threads that can go first on the way to the second step without the first one.
//!
//! Of several earlier steps that conflict with one at the same place, those count that come before no other of them. Deviations: races are looked for at every place of a step,
//! which adds runs and loses none. Readers of a lock do not conflict with each other. A thread that
//! cannot go on has made a step without effect; it counts as an attempt to take the lock. Where a thread reads the same place at the same code with
//! the same result more than [`SAME`] times in a row, it waits for others, and further rounds are not distinguished.
//!
//! Cost: linear in the steps times the conflicting accesses of one place, plus clocks of as many entries as threads.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use foldhash::HashMap;
use foldhash::fast::FixedState;

use mayhap_record::{Operation, TurnStep};
use mayhap_wire::ring::choice;

/// The most equal reads in a row that count as different steps.
const SAME: usize = 3;

/// Choices that end a wait before it was woken, and the most that a thread makes.
const ENDS_WAIT: [u32; 2] = [choice::TIMEOUT, choice::WAKEUP];
const MOST_EARLY: u32 = 2;

/// An access of a race.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Whose.
    pub thread: u32,
    /// Where in the code its step begins.
    pub code: u64,
    /// It changes what it accesses.
    pub writes: bool,
    /// It learns what is there.
    pub reads: bool,
}

/// Two accesses in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// The address of the memory or of the object.
    pub place: u64,
    /// The one that comes first.
    pub first: Access,
    /// The one that comes second.
    pub second: Access,
}

impl Pair {
    /// One of the two learns something that depends on the order.
    pub fn changes_a_read(self) -> bool {
        self.first.reads || self.second.reads
    }

    /// The same for all pairs of accesses at the same places, of memory and in the code, in this order.
    pub(crate) fn in_code(self) -> u64 {
        let part = |access: Access| (access.code, access.writes);
        FixedState::default().hash_one((self.place, part(self.first), part(self.second)))
    }

    /// The other order.
    pub fn reversed(self) -> Pair {
        Pair { first: self.second, second: self.first, ..self }
    }
}

/// Two steps that could have come in the other order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The number of the first step.
    pub earlier: usize,
    /// The number of the second step.
    pub later: usize,
    /// Threads that can go first at the state before it, on the way to the second step.
    pub initials: Vec<u32>,
    /// What conflicts.
    pub pair: Pair,
}

/// What a run shows.
#[derive(Debug, Default)]
pub struct Races {
    /// In the order of their second steps.
    pub races: Vec<Race>,
    /// Names of the states before each step: two orders of the same steps that differ only where nothing conflicts lead to states of one name.
    pub states: Vec<u128>,
    /// Threads were held back from waiting in loops for longer than a few rounds.
    pub cut_loops: bool,
    /// Steps that race have several accesses: the token does not pass between a plain write and a plain read that directly follows it.
    pub merged: bool,
    clocks: Clocks,
}

/// Finds the races of a run.
pub fn races(steps: &[TurnStep]) -> Races {
    let mut found = Races::default();
    let mut clocks = Clocks { alone: alone(steps), ..Clocks::default() };
    let mut last_of: HashMap<u32, usize> = HashMap::default();
    let mut same: HashMap<u32, usize> = HashMap::default();
    let mut state = 0u128;
    let mut early: HashMap<u32, u32> = HashMap::default();
    for (at, step) in steps.iter().enumerate() {
        found.states.push(state);
        // Loops around waits end no more than a few of them before they are woken.
        let ends_early = step.choices().any(|(kind, _, taken)| taken != 0 && ENDS_WAIT.contains(&kind));
        let count = early.entry(step.thread).or_default();
        *count += u32::from(ends_early);
        found.cut_loops |= *count >= MOST_EARLY;
        let repeats = last_of.get(&step.thread).is_some_and(|&last| is_waiting_loop(&steps[last], step));
        let rounds = same.entry(step.thread).or_default();
        *rounds = if repeats { *rounds + 1 } else { 0 };
        let cut = *rounds >= SAME;
        found.cut_loops |= cut;
        last_of.insert(step.thread, at);
        for (earlier, pair) in clocks.make(at, step, cut) {
            let pair = with_code(pair, &steps[earlier], step);
            found.merged |= is_merged(step) || is_merged(&steps[earlier]);
            found.races.push(Race { earlier, later: at, initials: clocks.initials(earlier, at), pair });
        }
        state = state.wrapping_add(clocks.name(at, step));
    }
    found.clocks = clocks;
    found
}

/// How many steps were made before there was a second thread.
fn alone(steps: &[TurnStep]) -> usize {
    let starts = |step: &TurnStep| step.operations.iter().any(|done| matches!(done, Operation::Fork(_)));
    let first = steps.iter().position(|step| step.thread != steps[0].thread || starts(step));
    first.filter(|first| starts(&steps[*first])).unwrap_or(0)
}

impl Races {
    /// The way to the second step of a race that leaves the first one out: the steps after the first one that do not happen after it, and the second one.
    pub fn way(&self, race: &Race) -> impl Iterator<Item = usize> {
        self.clocks.way(race.earlier, race.later)
    }
}

/// Whether a step learns something at an address: what memory has, or what comes of an attempt or of a wait.
fn reads(step: &TurnStep, place: u64) -> bool {
    let is_there = |address: u64, bytes: u32| address < place + 8 && place < address + u64::from(bytes);
    step.operations.iter().any(|operation| match operation {
        Operation::Read(address, bytes, ..) | Operation::Update(address, bytes, _) => is_there(*address, *bytes),
        Operation::Sync(object)
        | Operation::Attempt(object, _)
        | Operation::Notify(object)
        | Operation::Wait(object) => *object == place,
        _ => false,
    })
}

/// Access of a step whose place in the code is not filled in.
fn access(thread: u32, writes: bool) -> Access {
    Access { thread, code: 0, writes, reads: false }
}

fn with_code(mut pair: Pair, first: &TurnStep, second: &TurnStep) -> Pair {
    (pair.first.code, pair.second.code) = (first.code, second.code);
    (pair.first.reads, pair.second.reads) = (reads(first, pair.place), reads(second, pair.place));
    pair
}

/// The step writes something and then reads something.
fn is_merged(step: &TurnStep) -> bool {
    let accesses: Vec<bool> = step.operations.iter().filter_map(memory).map(|(_, _, writes)| writes).collect();
    accesses.windows(2).any(|pair| pair == [true, false])
}

/// The second step only reads what the first one read, or attempts in vain what that attempted in vain, at the same code and with the same result.
fn is_waiting_loop(first: &TurnStep, second: &TurnStep) -> bool {
    let changes_nothing = |operation| matches!(operation, &Operation::Read(..) | &Operation::Attempt(_, false));
    let only_looks = second.operations.iter().all(changes_nothing);
    !second.operations.is_empty() && only_looks && first.operations == second.operations
}

/// The threads that could make a step before each step, and after the last.
pub fn enabled_before(steps: &[TurnStep]) -> Vec<BTreeSet<u32>> {
    let mut enabled = BTreeSet::from_iter(steps.first().map(|step| step.thread));
    let mut states = Vec::with_capacity(steps.len() + 1);
    for step in steps {
        // It may have waited in the kernel.
        enabled.insert(step.thread);
        states.push(enabled.clone());
        for operation in &step.operations {
            match operation {
                Operation::Fork(thread) | Operation::Unparked(thread) => _ = enabled.insert(*thread),
                Operation::Blocked(_) | Operation::Wait(_) | Operation::End => _ = enabled.remove(&step.thread),
                _ => {}
            }
        }
    }
    states.push(enabled);
    states
}

/// Stands for an object that everything that starts a thread changes.
const FORKS: u64 = 1;

/// Readers of a lock do this together: the order of two such operations does not matter.
pub(crate) fn is_shared(operation: &Operation) -> bool {
    matches!(operation, Operation::SharedAcquire(_) | Operation::SharedRelease(_))
}

/// The synchronisation object of an operation.
pub(crate) fn object(operation: &Operation) -> Option<u64> {
    match operation {
        Operation::Acquire(o)
        | Operation::SharedAcquire(o)
        | Operation::Release(o)
        | Operation::SharedRelease(o)
        | Operation::Sync(o)
        | Operation::Attempt(o, _)
        | Operation::Notify(o)
        | Operation::Wait(o) => Some(*o),
        // Threads are numbered in the order in which they are started.
        Operation::Fork(_) => Some(FORKS),
        Operation::Blocked(o) => Some(*o).filter(|o| *o != 0),
        _ => None,
    }
}

/// The memory of an operation: address, bytes, and whether it is changed.
pub(crate) fn memory(operation: &Operation) -> Option<(u64, u64, bool)> {
    match operation {
        Operation::Read(address, bytes, ..) => Some((*address, u64::from(*bytes), false)),
        Operation::Write(address, bytes) | Operation::Update(address, bytes, _) => {
            Some((*address, u64::from(*bytes), true))
        }
        _ => None,
    }
}

/// Whether both may be next. A thread cannot take a lock that another one holds, unless both only read, and cannot release a lock that is free.
fn can_be_next_together(earlier: &Operation, later: &Operation) -> bool {
    use Operation::{Acquire, Blocked, Release, SharedAcquire, SharedRelease};
    !matches!(
        (earlier, later),
        (Release(_), Acquire(_) | SharedAcquire(_) | Blocked(_) | Release(_) | SharedRelease(_))
            | (SharedRelease(_), Acquire(_) | Blocked(_) | Release(_))
            | (Acquire(_), Release(_) | SharedRelease(_))
            | (SharedAcquire(_), Release(_))
    )
}

/// What is known of happens-before while a run is gone through.
#[derive(Debug, Default)]
struct Clocks {
    /// So many steps were made before there was a second thread.
    alone: usize,
    /// Of each thread, after its last step.
    of_thread: HashMap<u32, Clock>,
    /// After each step, with its thread and its number in it.
    of_step: Vec<(u32, u32, Clock)>,
    /// Of each eight bytes, the accesses since they were last all written: step, bytes, and whether it writes.
    cells: HashMap<u64, Vec<(usize, u8, bool)>>,
    objects: HashMap<u64, Vec<(usize, Operation)>>,
    /// Threads that cannot go on.
    parked: BTreeSet<u32>,
}

/// Of each thread, by its number, how many of its steps came before.
type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// How many steps of a thread came before.
fn known(clock: &Clock, thread: u32) -> u32 {
    clock.get(thread as usize).copied().unwrap_or(0)
}

/// Races of one step: the earlier step and what conflicts.
type Found = Vec<(usize, Pair)>;

impl Clocks {
    /// Goes through a step; returns the earlier ones that it races with. Of a step that is `cut`, only the order counts.
    fn make(&mut self, at: usize, step: &TurnStep, cut: bool) -> Found {
        let before = self.of_thread.entry(step.thread).or_default().clone();
        let mut after = before.clone();
        let number = known(&after, step.thread) + 1;
        if after.len() <= step.thread as usize {
            after.resize(step.thread as usize + 1, 0);
        }
        after[step.thread as usize] = number;
        let mut races = Vec::new();
        for operation in &step.operations {
            if at < self.alone {
                // All that comes after this comes after it in every order.
            } else if let Some((address, bytes, writes)) = memory(operation) {
                self.touch(at, step.thread, (address, bytes, writes), &before, &mut after, &mut races);
            } else if let Some(object) = object(operation) {
                self.synchronise(at, step.thread, object, operation, &before, &mut after, &mut races);
            }
            if let Operation::Join(thread) = operation {
                let ended = self.of_thread.get(thread).cloned().unwrap_or_default();
                join(&mut after, &ended);
            }
        }
        for operation in &step.operations {
            if let Operation::Fork(thread) = operation {
                self.of_thread.insert(*thread, after.clone());
            }
        }
        self.of_thread.insert(step.thread, after.clone());
        for operation in &step.operations {
            match operation {
                Operation::Blocked(_) | Operation::Wait(_) => _ = self.parked.insert(step.thread),
                // What a thread does that could not go on before comes after what lets it.
                Operation::Unparked(other) if self.parked.remove(other) => {
                    join(self.of_thread.entry(*other).or_default(), &after);
                }
                _ => {}
            }
        }
        self.of_step.push((step.thread, number, after));
        if cut {
            races.clear();
        }
        races
    }

    /// A hash of a step: whose it is, and what happened before it. Those of a set of steps, added up, say in which order they conflicted.
    fn name(&self, at: usize, step: &TurnStep) -> u128 {
        let (thread, number, clock) = &self.of_step[at];
        let mut clock = clock.clone();
        for operation in &step.operations {
            // A thread that cannot go on has changed nothing, but has seen what the object was like.
            if let Operation::Blocked(object) = operation
                && let Some((last, _)) = self.objects.get(object).and_then(|done| done.last())
            {
                join(&mut clock, &self.of_step[*last].2);
            }
        }
        // What a step without operations depends on is not known.
        let position = if step.operations.is_empty() { at as u32 + 1 } else { 0 };
        let known = clock.iter().rposition(|steps| *steps != 0).map_or(0, |last| last + 1);
        let chosen = step.choices().map(|(.., taken)| taken);
        let numbers = [*thread, *number, position].into_iter().chain(clock[..known].iter().copied()).chain(chosen);
        numbers.fold(0x9e37_79b9_7f4a_7c15, |hash: u128, number| {
            let mixed = (hash ^ u128::from(number)).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
            mixed ^ mixed >> 61
        })
    }

    /// The steps that come after `first` and do not happen after it, and the step at `last`.
    fn way(&self, first: usize, last: usize) -> impl Iterator<Item = usize> {
        let (whose, number, _) = &self.of_step[first];
        (first + 1..=last).filter(move |step| *step == last || known(&self.of_step[*step].2, *whose) < *number)
    }

    /// The threads that can be the first on this way.
    fn initials(&self, first: usize, last: usize) -> Vec<u32> {
        let mut firsts: Vec<(u32, u32, &Clock)> = Vec::new();
        for step in self.way(first, last) {
            let (thread, number, clock) = &self.of_step[step];
            if firsts.iter().all(|(other, ..)| other != thread) {
                firsts.push((*thread, *number, clock));
            }
        }
        let comes_first = |(at, (thread, _, clock)): (usize, &(u32, u32, &Clock))| {
            let before = firsts[..at].iter();
            let ordered = before.clone().any(|(other, number, _)| known(clock, *other) >= *number);
            (!ordered).then_some(*thread)
        };
        firsts.iter().enumerate().filter_map(comes_first).collect()
    }

    /// Whether an earlier step is of another thread and not ordered before the clock.
    fn is_loose(&self, earlier: usize, thread: u32, clock: &Clock) -> bool {
        let (whose, number, _) = &self.of_step[earlier];
        *whose != thread && known(clock, *whose) < *number
    }

    /// Whether an earlier step comes before none of those that were found at the same place.
    fn is_last(&self, earlier: usize, found: &[(usize, Pair)]) -> bool {
        let (whose, number, _) = &self.of_step[earlier];
        found.iter().all(|(later, _)| known(&self.of_step[*later].2, *whose) < *number)
    }

    fn touch(
        &mut self,
        at: usize,
        thread: u32,
        (address, bytes, writes): (u64, u64, bool),
        before: &Clock,
        after: &mut Clock,
        races: &mut Found,
    ) {
        let end = address.saturating_add(bytes.clamp(1, 1 << 20));
        for cell in address / 8..=(end - 1) / 8 {
            let (from, to) = (address.max(cell * 8) - cell * 8, end.min(cell * 8 + 8) - cell * 8);
            let mask = (0xffu16 >> (8 - (to - from)) << from) as u8;
            let accesses = self.cells.remove(&cell).unwrap_or_default();
            let known = races.len();
            for &(earlier, other, wrote) in accesses.iter().rev() {
                if other & mask == 0 || !(writes || wrote) || earlier == at {
                    continue;
                }
                if self.is_loose(earlier, thread, before) && self.is_last(earlier, &races[known..]) {
                    let first = access(self.of_step[earlier].0, wrote);
                    races.push((earlier, Pair { place: cell * 8, first, second: access(thread, writes) }));
                }
                join(after, &self.of_step[earlier].2);
            }
            let mut kept = if writes && mask == 0xff { Vec::new() } else { accesses };
            kept.push((at, mask, writes));
            self.cells.insert(cell, kept);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one step")]
    fn synchronise(
        &mut self,
        at: usize,
        thread: u32,
        object: u64,
        operation: &Operation,
        before: &Clock,
        after: &mut Clock,
        races: &mut Found,
    ) {
        let earlier = self.objects.entry(object).or_default().clone();
        let depends = |other: &Operation| !(is_shared(other) && is_shared(operation));
        let together = |(_, other): &&(usize, Operation)| depends(other) && can_be_next_together(other, operation);
        let known = races.len();
        for (race, _) in earlier.iter().rev().filter(together) {
            if *race != at && self.is_loose(*race, thread, before) && self.is_last(*race, &races[known..]) {
                let first = access(self.of_step[*race].0, true);
                races.push((*race, Pair { place: object, first, second: access(thread, true) }));
            }
        }
        for (last, other) in earlier.iter().rev().filter(|(last, other)| *last != at && depends(other)) {
            join(after, &self.of_step[*last].2);
            // What came before that one came before it, too.
            if !is_shared(other) {
                break;
            }
        }
        // A thread that could not go on has found what others did, and has changed nothing.
        if matches!(operation, Operation::Blocked(_)) {
            return;
        }
        self.objects.entry(object).or_default().push((at, operation.clone()));
    }
}
