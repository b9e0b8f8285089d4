//! Dynamic partial order reduction: which orders of a program's steps are worth a run.
//!
//! Flanagan and Godefroid, POPL 2005, with source sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). In: the steps of a run. Where two
//! steps of different threads [race](crate::races), they must also be run the other way round: at the state before the first one, a
//! thread goes first that can be the first of those that lead to the second. It need not be the second thread itself, which may have got there only after
//! a third one. Out: the turns of the next run, until no state has anything left. Two runs that differ only in the order of steps without a conflict
//! are the same to every thread, so the runs made stand for all.
//!
//! Where something other than the order decides, as which waiter a notify wakes, the step makes a *choice*, and there is a run for each alternative.
//!
//! Deviations: states are not gone back to depth first. What is worth a run is kept in a list, and the order that was seen least comes first (after the reads-from
//! pairs of Wolff et al., ASPLOS 2024), so that a bug early in a long run does not wait for all that can be changed late in it. The set of runs that is
//! closed under the rule above is complete in whatever order it was made. A state is named by a hash of the threads whose steps lead to it.
//!
//! Cost: for each run, that of its races. Memory: for each order that is worth a run and was not run, and for each state with a race. It is counted, and has a bound
//! ([`MOST_BYTES`]): orders found beyond it are dropped and counted. What only says which order comes first has bounds of its own, beyond which nothing is added to it.

use foldhash::{HashMap, HashSet};
use std::cmp::Reverse;

use mayhap_record::TurnStep;

use crate::races::{Access, Pair, enabled_before, races};
use crate::turns::{Turn, add, chosen, follows, prefix, turns_of};

/// The most bytes that the tree grows to, as far as completeness needs it.
pub const MOST_BYTES: usize = 256 << 20;
/// The most states that are remembered as reached, and orders as seen; about 100 MB each.
const MOST_REACHED: usize = 4 << 20;
const MOST_SEEN: usize = 1 << 20;

/// The orders of a program's steps that are known, and those that are worth a run.
#[derive(Debug, Default)]
pub struct Tree {
    /// The turns of the runs whose turns are still needed, by their numbers, and by how many of the open.
    runs: HashMap<u32, (Vec<Turn>, u32)>,
    made: u32,
    /// About the bytes of what is above, of the states and of the open.
    bytes: usize,
    /// States with a race: the threads that were run there or are to be.
    states: HashMap<u128, Vec<u32>>,
    open: Vec<Open>,
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

/// Worth a run: a thread at a state, and what comes of a choice that its step makes.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The run that came through the state, and after how many steps.
    run: u32,
    depth: u32,
    thread: u32,
    /// The kind of a choice, and the alternative.
    choice: Option<(u32, u32)>,
    /// The order that the run is to show.
    pair: Pair,
    /// The state, named as in [`crate::races::Races::states`], and the thread, as one number.
    leads_to: u64,
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
        let (at, _) = self.open.iter().enumerate().min_by_key(|(_, open)| self.worth(open))?;
        let open = self.open.swap_remove(at);
        self.bytes -= size_of::<Open>();
        // A second one for the same order waits until the others had their turn.
        self.see(open.pair);
        let turns = self.turns(&open);
        if let Some((turns, needed)) = self.runs.get_mut(&open.run) {
            *needed -= 1;
            if *needed == 0 {
                self.bytes -= size_of_val(&turns[..]);
                self.runs.remove(&open.run);
            }
        }
        Some(turns)
    }

    /// The turns of those that would be run next if nothing were learnt meanwhile, at most so many.
    pub fn likely(&self, most: usize) -> Vec<Vec<Turn>> {
        let mut open: Vec<_> = self.open.iter().enumerate().map(|(at, open)| (self.worth(open), at)).collect();
        if open.len() > most {
            open.select_nth_unstable(most);
            open.truncate(most);
        }
        open.sort_unstable();
        open.into_iter().map(|(_, at)| self.turns(&self.open[at])).collect()
    }

    /// The turns that lead to a thread at a state.
    fn turns(&self, open: &Open) -> Vec<Turn> {
        let mut turns = self.runs.get(&open.run).map_or_else(Vec::new, |(turns, _)| prefix(turns, open.depth));
        add(&mut turns, [open.thread, 1]);
        turns.extend(open.choice.map(|(kind, alternative)| chosen(open.thread, kind, alternative)));
        turns
    }

    fn see(&mut self, pair: Pair) {
        if self.seen.len() < MOST_SEEN || self.seen.contains_key(&pair) {
            *self.seen.entry(pair).or_default() += 1;
        }
    }

    /// How many runs are known to be worth making.
    pub fn open(&self) -> u64 {
        self.open.len() as u64
    }

    /// Learns from a run that was made in these turns. Says whether it followed them.
    pub fn learn(&mut self, given: &[Turn], steps: &[TurnStep]) -> bool {
        if !follows(given, steps) {
            self.diverged += 1;
            return false;
        }
        let mut names = Vec::with_capacity(steps.len());
        let mut name = 0;
        for step in steps {
            names.push(name);
            if let Some(run) = self.states.get_mut(&name).filter(|run| !run.contains(&step.thread)) {
                run.push(step.thread);
            }
            name = name_after_step(name, step);
        }
        self.add_races(steps, &names);
        true
    }

    /// Adds to each state the threads that a race says to be run there.
    fn add_races(&mut self, steps: &[TurnStep], names: &[u128]) {
        let found = races(steps);
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
        let mut needed = self.add_choices(steps, names, &found.states, number);
        for race in found.races {
            self.see(race.pair);
            let state = self.states.entry(names[race.earlier]).or_insert_with(|| {
                self.bytes += BYTES_OF_STATE;
                vec![steps[race.earlier].thread]
            });
            if race.initials.iter().any(|thread| state.contains(thread)) {
                continue;
            }
            let enabled = &enabled[race.earlier];
            let wanted = match race.initials.iter().find(|thread| enabled.contains(thread)) {
                Some(thread) => vec![*thread],
                None => enabled.iter().copied().filter(|thread| !state.contains(thread)).collect(),
            };
            for thread in wanted {
                state.push(thread);
                if self.bytes >= MOST_BYTES {
                    self.dropped += 1;
                    continue;
                }
                let (depth, pair) = (race.earlier as u32, race.pair.reversed());
                let leads_to = leads_to(found.states[race.earlier], thread);
                self.open.push(Open { run: number, depth, thread, choice: None, pair, leads_to });
                self.bytes += size_of::<Open>();
                needed += 1;
            }
        }
        if needed > 0 {
            let turns = turns_of(steps);
            self.bytes += size_of_val(&turns[..]);
            self.runs.insert(number, (turns, needed));
        }
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
            let tried = self.states.entry(here).or_insert_with(|| {
                *bytes += BYTES_OF_STATE;
                Vec::new()
            });
            if !tried.contains(&taken) {
                tried.push(taken);
            }
            for alternative in 0..alternatives {
                if tried.contains(&alternative) {
                    continue;
                }
                tried.push(alternative);
                if self.bytes >= MOST_BYTES {
                    self.dropped += 1;
                    continue;
                }
                let access = |alternative| Access { thread: alternative, code: step.code, writes: true, reads: true };
                let pair = Pair { place: u64::from(kind), first: access(taken), second: access(alternative) };
                let leads_to = leads_to(name_after(states[depth], step.thread), CHOICE_STATE + alternative);
                let choice = Some((kind, alternative));
                self.open.push(Open { run: number, depth: depth as u32, thread: step.thread, choice, pair, leads_to });
                self.bytes += size_of::<Open>();
                added += 1;
            }
        }
        added
    }
}

/// Added to names of states in place of a thread: a choice is made there.
const CHOICE_STATE: u32 = 1 << 30;

/// About the bytes of a state with its threads.
const BYTES_OF_STATE: usize = 96;

/// A state and the thread that makes the next step there, as one number. States that share a number are only tried earlier or later.
fn leads_to(state: u128, thread: u32) -> u64 {
    let name = name_after(state, thread);
    (name >> 64) as u64 ^ name as u64
}

/// The name of the state after a step.
fn name_after_step(name: u128, step: &TurnStep) -> u128 {
    let taken = step.choices().filter(|(.., taken)| *taken != 0);
    taken.fold(name_after(name, step.thread), |name, (kind, _, taken)| name_after(name, kind << 24 | taken))
}

/// The name of the state after a step of a thread.
fn name_after(name: u128, thread: u32) -> u128 {
    let mixed =
        (name ^ u128::from(thread) ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
    mixed ^ mixed >> 61
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mayhap_record::Operation;

    use super::*;
    use crate::races::memory;

    /// Runs a program of straight-line threads to the end under turns: thread 0 starts the others and ends.
    fn run(threads: &[Vec<Operation>], turns: &[Turn]) -> Vec<TurnStep> {
        let mut next = vec![0usize; threads.len()];
        let mut steps = Vec::new();
        let mut given: Vec<u32> = turns.iter().flat_map(|&[thread, count]| vec![thread; count as usize]).collect();
        given.reverse();
        loop {
            let ready = |t: usize| next[t] < threads[t].len() && (t == 0 || next[0] == threads[0].len());
            let chosen = given.pop().map(|t| t as usize).or_else(|| (0..threads.len()).find(|&t| ready(t)));
            let Some(thread) = chosen else { return steps };
            assert!(ready(thread), "thread {thread} cannot go on");
            steps.push(TurnStep {
                thread: thread as u32,
                code: 0,
                operations: vec![threads[thread][next[thread]].clone()],
            });
            next[thread] += 1;
        }
    }

    /// How many runs it takes until nothing is left, and the orders of the steps on memory that they had.
    fn explored(threads: &[Vec<Operation>]) -> (usize, BTreeSet<Vec<u32>>) {
        let mut tree = Tree::default();
        let mut turns = Vec::new();
        let mut orders = BTreeSet::new();
        for runs in 1.. {
            let steps = run(threads, &turns);
            tree.learn(&turns, &steps);
            assert_eq!(tree.diverged, 0);
            let shared =
                steps.iter().filter(|step| step.operations.iter().any(|o| memory(o).is_some_and(|m| m.0 == 64)));
            orders.insert(shared.map(|step| step.thread).collect());
            match tree.next_turns() {
                Some(next) => turns = next,
                None => return (runs, orders),
            }
        }
        unreachable!()
    }

    fn forks(count: u32) -> Vec<Operation> {
        (1..=count).map(Operation::Fork).collect()
    }

    #[test]
    fn conflicting_writes_are_run_in_all_orders_and_others_once() {
        let write = || vec![Operation::Write(64, 4)];
        let (runs, orders) = explored(&[forks(3), write(), write(), write()]);
        assert_eq!(orders.len(), 6);
        assert!(runs <= 12, "{runs}");
        let private = |n: u64| vec![Operation::Write(128 + 8 * n, 8), Operation::Write(128 + 8 * n, 8)];
        assert_eq!(explored(&[forks(3), private(1), private(2), private(3)]).0, 1);
        let read = || vec![Operation::Read(64, 4, None, 1)];
        assert_eq!(explored(&[forks(2), read(), read()]).0, 1);
    }

    #[test]
    fn two_threads_of_two_conflicting_steps_have_six_orders() {
        let twice = || vec![Operation::Update(64, 4, None), Operation::Update(64, 4, None)];
        let (runs, orders) = explored(&[forks(2), twice(), twice()]);
        assert_eq!(orders.len(), 6);
        assert!(runs <= 12, "{runs}");
    }

    /// A thread that gets somewhere only because a second one wrote, while a third one waits to read: found only if the second one is let go first.
    #[test]
    fn a_race_that_needs_a_third_thread_first_is_found() {
        // Not straight-line: thread 1 writes 72 only if thread 3 has written 64 before. Modelled by running the program here.
        let program = |turns: &[Turn]| {
            let (mut at, mut x, mut y, mut saw) = ([0; 4], 0, 0, [0; 4]);
            let mut steps = Vec::new();
            let mut given: Vec<u32> = turns.iter().flat_map(|&[thread, count]| vec![thread; count as usize]).collect();
            given.reverse();
            loop {
                let ends = [3, if saw[1] == 0 { 1 } else { 2 }, 2, 1];
                let ready = |t: usize| at[t] < ends[t] && (t == 0 || at[0] == 3);
                let Some(t) = given.pop().map(|t| t as usize).or_else(|| (0..4).find(|&t| ready(t))) else { break };
                assert!(ready(t));
                let operation = match (t, at[t]) {
                    (0, nth) => Operation::Fork(nth as u32 + 1),
                    (1, 0) => {
                        saw[1] = x;
                        Operation::Read(64, 8, Some(x), 1)
                    }
                    (1, _) => {
                        y = 1;
                        Operation::Write(72, 8)
                    }
                    (2, 0) => {
                        saw[0] = x;
                        Operation::Read(64, 8, Some(x), 2)
                    }
                    (2, _) => {
                        saw[2] = y;
                        Operation::Read(72, 8, Some(y), 3)
                    }
                    _ => {
                        x = 1;
                        Operation::Write(64, 8)
                    }
                };
                at[t] += 1;
                let is_over = at[t] == [3, if saw[1] == 0 { 1 } else { 2 }, 2, 1][t];
                let end = Some(Operation::End).filter(|_| is_over);
                steps.push(TurnStep {
                    thread: t as u32,
                    code: 0,
                    operations: [operation].into_iter().chain(end).collect(),
                });
            }
            (steps, (saw[0], saw[1], saw[2]))
        };
        let (mut tree, mut turns, mut seen) = (Tree::default(), Vec::new(), BTreeSet::new());
        loop {
            let (steps, saw) = program(&turns);
            seen.insert(saw);
            tree.learn(&turns, &steps);
            match tree.next_turns() {
                Some(next) => turns = next,
                None => break,
            }
        }
        let all = [(0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0), (1, 1, 1)];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
        assert_eq!(tree.diverged, 0);
    }

    #[test]
    fn bytes_side_by_side_do_not_conflict() {
        let write = |at: u64| vec![Operation::Write(at, 4)];
        assert_eq!(explored(&[forks(2), write(64), write(68)]).0, 1);
        assert_eq!(explored(&[forks(2), write(64), write(66)]).0, 2);
    }

    #[test]
    fn a_run_that_leaves_its_turns_is_counted() {
        let mut tree = Tree::default();
        let write = || vec![Operation::Write(64, 4)];
        tree.learn(&[], &run(&[forks(2), write(), write()], &[]));
        let turns = tree.next_turns().unwrap();
        tree.learn(&turns, &run(&[forks(2), write(), write()], &[]));
        assert_eq!((tree.diverged, tree.next_turns()), (1, None));
    }

    /// A step of a thread of a random program: what it reads or writes, and whether it is left out if the last read saw 0.
    #[derive(Clone, Copy)]
    struct Random {
        writes: bool,
        variable: usize,
        only_if_seen: bool,
    }

    /// Runs a random program in turns, and then in the order of its threads: its steps, and what each thread read.
    fn run_random(threads: &[Vec<Random>], turns: &[Turn]) -> (Vec<TurnStep>, Vec<Vec<u64>>) {
        let count = threads.len();
        let (mut at, mut memory, mut saw) = (vec![0usize; count], [0u64; 3], vec![Vec::new(); count]);
        let mut given: Vec<u32> = turns.iter().flat_map(|&[thread, steps]| vec![thread; steps as usize]).collect();
        given.reverse();
        let mut steps =
            vec![TurnStep { thread: 0, code: 0, operations: (1..count as u32).map(Operation::Fork).collect() }];
        assert!(given.is_empty() || given.pop() == Some(0));
        loop {
            // Steps that are left out are not made.
            for t in 0..count {
                while threads[t].get(at[t]).is_some_and(|r| r.only_if_seen && saw[t].last().copied().unwrap_or(0) == 0)
                {
                    at[t] += 1;
                }
            }
            let chosen = given.pop().map(|t| t as usize).or_else(|| (0..count).find(|&t| at[t] < threads[t].len()));
            let Some(t) = chosen else { return (steps, saw) };
            let step = threads[t][at[t]];
            let address = 64 + 8 * step.variable as u64;
            let operation = if step.writes {
                memory[step.variable] = 1 + saw[t].last().copied().unwrap_or(0) + t as u64;
                Operation::Write(address, 8)
            } else {
                saw[t].push(memory[step.variable]);
                Operation::Read(address, 8, Some(memory[step.variable]), at[t] as u32 + 1)
            };
            at[t] += 1;
            let left =
                |n: usize| threads[t][n..].iter().any(|r| !r.only_if_seen || saw[t].last().copied().unwrap_or(0) != 0);
            let end = Some(Operation::End).filter(|_| !left(at[t]));
            steps.push(TurnStep {
                thread: t as u32,
                code: 0,
                operations: [operation].into_iter().chain(end).collect(),
            });
        }
    }

    /// What threads can read in any order, by brute force over turns of one step.
    fn all_orders(threads: &[Vec<Random>], prefix: &mut Vec<Turn>, found: &mut BTreeSet<Vec<Vec<u64>>>) {
        let (steps, saw) = run_random(threads, prefix);
        if steps.len() == prefix.len().max(1) {
            found.insert(saw);
            return;
        }
        let here = prefix.len().max(1);
        if prefix.is_empty() {
            prefix.push([0, 1]);
        }
        let ready: BTreeSet<u32> = steps[here..].iter().map(|step| step.thread).collect();
        // A thread that makes a step later can make its next one now: nothing blocks.
        for thread in ready {
            prefix.push([thread, 1]);
            all_orders(threads, prefix, found);
            prefix.pop();
        }
    }

    #[test]
    fn oracle_random_programs_show_all_that_any_order_shows() {
        let mut seed = 1u64;
        let mut roll = |sides: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % sides
        };
        for case in 0..300 {
            let threads: Vec<Vec<Random>> = (0..2 + roll(2))
                .map(|_| {
                    let step =
                        |_| Random { writes: roll(2) == 0, variable: roll(3) as usize, only_if_seen: roll(3) == 0 };
                    (0..2 + 1).map(step).collect()
                })
                .collect();
            let mut expected = BTreeSet::new();
            all_orders(&threads, &mut Vec::new(), &mut expected);
            let (mut tree, mut turns, mut seen) = (Tree::default(), Vec::new(), BTreeSet::new());
            loop {
                let (steps, saw) = run_random(&threads, &turns);
                seen.insert(saw);
                tree.learn(&turns, &steps);
                match tree.next_turns() {
                    Some(next) => turns = next,
                    None => break,
                }
            }
            assert_eq!(tree.diverged, 0, "case {case}");
            assert_eq!(seen, expected, "case {case}");
        }
    }
}
