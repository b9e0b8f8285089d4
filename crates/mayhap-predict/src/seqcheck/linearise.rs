//! From a closed order to one schedule (SeqCheck, Algorithm 4, lines 5 to 12).
//!
//! Conflicts that are still open are decided as the observed run had them, one after the other in observed order, each
//! closed before the next. Then the events are sorted topologically, observed order first, with adjacent pairs as one.
//!
//! Deviations, unless literal: a relaxed read may see the initial value, so nothing is ordered for its sake
//! (`counterexamples/seqcheck_initial_value.std`); conflicts that no strict read depends on stay open; of the unordered
//! events of one thread only the last is ordered, the others follow by program order.
//!
//! What a failure proves: nothing for three or more threads. The decisions are greedy.
//!
//! Cost: O(n·k·log n) beside the closure, for `n` events and `k` threads in the cut.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mayhap_trace::{EventId, LockId, Mode, Op, ThreadId};

use super::closure::{Closure, Contradiction};
use crate::{Step, Why};

/// Orders what is still open as observed.
pub(crate) fn order_conflicts(closure: &mut Closure<'_>, literal: bool) -> Result<(), Contradiction> {
    let index = closure.index;
    for event in closure.cut.events(index) {
        let e = index.trace.event(event);
        for chain in 0..closure.threads().len() {
            let thread = closure.threads()[chain];
            if thread == e.thread {
                continue;
            }
            match e.op {
                Op::Acquire => {
                    order_section(closure, event, chain, Mode::Exclusive)?;
                    order_section(closure, event, chain, Mode::Shared)?;
                }
                Op::SharedAcquire => order_section(closure, event, chain, Mode::Exclusive)?,
                Op::Write => order_write(closure, event, chain, literal)?,
                Op::Read if literal => order_read(closure, event, chain)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Events of a thread observed before `event` and not ordered after it, as a count.
fn unordered_before(closure: &Closure<'_>, event: EventId, chain: usize) -> u32 {
    let thread = closure.threads()[chain];
    let events = closure.index.relations.thread_events(thread);
    let observed = events.partition_point(|&e| e < event) as u32;
    observed.min(closure.after(event, chain)).min(closure.cut.counts[thread.index()])
}

fn order_section(closure: &mut Closure<'_>, acquire: EventId, chain: usize, mode: Mode) -> Result<(), Contradiction> {
    let index = closure.index;
    let lock = LockId::at(index.trace.event(acquire).object as usize);
    let count = unordered_before(closure, acquire, chain);
    let rival = index.acquire_before(closure.threads()[chain], lock, mode, count);
    let release = rival.and_then(|r| index.relations.matching_release(r)).filter(|&r| closure.cut.has(index, r));
    match release {
        Some(release) if !closure.reaches(release, acquire) => {
            closure.insert(Step { before: release, after: acquire, why: Why::Lock(lock) })
        }
        _ => Ok(()),
    }
}

fn order_write(closure: &mut Closure<'_>, write: EventId, chain: usize, literal: bool) -> Result<(), Contradiction> {
    let (index, variable) = (closure.index, closure.variable(write));
    let thread = closure.threads()[chain];
    let count = unordered_before(closure, write, chain);
    let earlier = index.write_before(thread, variable, count);
    if literal && let Some(read) = last_read(closure, thread, write, count) {
        insert_unordered(closure, read, write)?;
    }
    match earlier {
        Some(earlier) if literal || closure.has_strict_reader(earlier) || closure.has_strict_reader(write) => {
            insert_unordered(closure, earlier, write)
        }
        _ => Ok(()),
    }
}

fn order_read(closure: &mut Closure<'_>, read: EventId, chain: usize) -> Result<(), Contradiction> {
    let count = unordered_before(closure, read, chain);
    match closure.index.write_before(closure.threads()[chain], closure.variable(read), count) {
        Some(write) => insert_unordered(closure, write, read),
        None => Ok(()),
    }
}

fn last_read(closure: &Closure<'_>, thread: ThreadId, write: EventId, count: u32) -> Option<EventId> {
    let object = closure.index.trace.event(write).object;
    let events = &closure.index.relations.thread_events(thread)[..count as usize];
    let reads = |id: &&EventId| {
        let e = closure.index.trace.event(**id);
        e.op == Op::Read && e.object == object
    };
    events.iter().rev().find(reads).copied()
}

fn insert_unordered(closure: &mut Closure<'_>, before: EventId, after: EventId) -> Result<(), Contradiction> {
    if closure.reaches(before, after) || closure.reaches(after, before) {
        return Ok(());
    }
    let why = Why::Interference(closure.variable(after));
    closure.insert(Step { before, after, why })
}

/// A topological order of the cut, observed order first, adjacent pairs together. `None` if pairs cannot be kept together.
pub(crate) fn linearise(closure: &Closure<'_>, adjacent: &[(EventId, EventId)]) -> Option<Vec<EventId>> {
    let events = closure.cut.events(closure.index);
    let number = |event: EventId| events.binary_search(&event).expect("edges stay within the cut");
    // Each event stands for the run of adjacent events that it begins.
    let mut run: Vec<usize> = (0..events.len()).collect();
    let mut next: Vec<Option<usize>> = vec![None; events.len()];
    for &(x, y) in adjacent {
        let (x, y) = (number(x), number(y));
        next[x] = Some(y);
        run[y] = x;
    }
    let head = |mut i: usize| {
        while run[i] != i {
            i = run[i];
        }
        i
    };
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    let mut waiting = vec![0u32; events.len()];
    let mut link = |from: usize, to: usize| {
        let (from, to) = (head(from), head(to));
        if from != to {
            out[from].push(to);
            waiting[to] += 1;
        }
    };
    for &thread in closure.threads() {
        let count = closure.cut.counts[thread.index()] as usize;
        let chain = &closure.index.relations.thread_events(thread)[..count];
        chain.windows(2).for_each(|w| link(number(w[0]), number(w[1])));
    }
    closure.edges().iter().for_each(|edge| link(number(edge.before), number(edge.after)));
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..events.len()).filter(|&i| run[i] == i && waiting[i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(events.len());
    while let Some(Reverse(i)) = ready.pop() {
        let mut member = Some(i);
        while let Some(m) = member {
            order.push(events[m]);
            member = next[m];
        }
        for &to in &out[i] {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    (order.len() == events.len()).then_some(order)
}
