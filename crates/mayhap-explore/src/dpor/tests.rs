//! Small programs and random ones: all orders are found, and none twice.

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
        leave_if(&mut given, |t| !ready(t));
        let chosen = given.pop().map(|t| t as usize).or_else(|| (0..threads.len()).find(|&t| ready(t)));
        let Some(thread) = chosen else { return steps };
        steps.push(TurnStep {
            thread: thread as u32,
            code: 0,
            operations: vec![threads[thread][next[thread]].clone()],
        });
        next[thread] += 1;
    }
}

/// A list of turns that cannot be followed any further is left.
fn leave_if(given: &mut Vec<u32>, cannot: impl Fn(usize) -> bool) {
    if given.last().is_some_and(|thread| cannot(*thread as usize)) {
        given.clear();
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
        let shared = steps.iter().filter(|step| step.operations.iter().any(|o| memory(o).is_some_and(|m| m.0 == 64)));
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
    assert_eq!((orders.len(), runs), (6, 6));
    let private = |n: u64| vec![Operation::Write(128 + 8 * n, 8), Operation::Write(128 + 8 * n, 8)];
    assert_eq!(explored(&[forks(3), private(1), private(2), private(3)]).0, 1);
    let read = || vec![Operation::Read(64, 4, None, 1)];
    assert_eq!(explored(&[forks(2), read(), read()]).0, 1);
}

#[test]
fn two_threads_of_two_conflicting_steps_have_six_orders() {
    let twice = || vec![Operation::Update(64, 4, None), Operation::Update(64, 4, None)];
    let (runs, orders) = explored(&[forks(2), twice(), twice()]);
    assert_eq!((orders.len(), runs), (6, 6));
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
            leave_if(&mut given, |t| !ready(t));
            let Some(t) = given.pop().map(|t| t as usize).or_else(|| (0..4).find(|&t| ready(t))) else { break };
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
    let mut steps = vec![TurnStep { thread: 0, code: 0, operations: (1..count as u32).map(Operation::Fork).collect() }];
    assert!(given.is_empty() || given.pop() == Some(0));
    loop {
        // Steps that are left out are not made.
        for t in 0..count {
            while threads[t].get(at[t]).is_some_and(|r| r.only_if_seen && saw[t].last().copied().unwrap_or(0) == 0) {
                at[t] += 1;
            }
        }
        leave_if(&mut given, |t| at[t] >= threads[t].len());
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
        steps.push(TurnStep { thread: t as u32, code: 0, operations: [operation].into_iter().chain(end).collect() });
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
                let step = |_| Random { writes: roll(2) == 0, variable: roll(3) as usize, only_if_seen: roll(3) == 0 };
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
