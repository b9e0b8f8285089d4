//! The candidate set and its lock orders for a sequence of events (SeqCheck, Algorithms 1 and 2).
//!
//! Computes `F`: the events that come along with a sequence, as the paper chooses them, and `C_LO`: the lock orders that
//! this choice needs. It closes the sections of threads outside the sequence, and those that a later event of the
//! sequence must find closed.
//!
//! The choice is a heuristic. It keeps a section open that the observed order itself would close
//! (`counterexamples/seqcheck_2thread_incomplete.std`) and closes sections that a witness needs open
//! (`counterexamples/close_third_thread.std`), so its failure proves nothing; [`super::variants`] tries the alternatives.
//! Literal: lines 34 to 37, which forbid a relaxed read to see the initial value, apply; else they are left out.
//! Must-order (fork, join, notify) is closed too; the paper leaves it out.
//!
//! Cost: linear in `F`, times the length of the sequence for acquires beyond it.

use mayhap_trace::{EventId, Op, VarId};
use mayhap_witness::Model;

use super::cut::{Cut, Overrun};
use super::index::{Index, Section};

/// Algorithm 1. The error is an event that would run beyond a limit.
pub(crate) fn potential_set(
    index: &Index<'_>,
    sequence: &[EventId],
    model: Model,
    literal: bool,
) -> Result<Cut, Overrun> {
    let mut cut = Cut::empty(index, model);
    cut.late_branches = literal;
    let mut queue: Vec<EventId> = sequence.to_vec();
    let mut kept: Vec<Section> = Vec::new();
    for &event in sequence.iter().rev() {
        for section in open_at(index, event) {
            if kept.iter().any(|k| k.excludes(&section)) {
                queue.extend(section.release);
            } else if !kept.contains(&section) {
                kept.push(section);
            }
        }
    }
    loop {
        while let Some(event) = queue.pop() {
            cut.add_observed(index, event, &mut |entered, wanted| {
                if index.trace.event(entered).op.is_acquire() {
                    wanted.extend(releases(index, sequence, entered));
                }
            })?;
        }
        if literal {
            queue.extend(missing_writes(index, &cut));
        }
        if queue.is_empty() {
            return Ok(cut);
        }
    }
}

/// The sections that an event's thread has open just after it.
fn open_at(index: &Index<'_>, event: EventId) -> Vec<Section> {
    index.open_after(index.thread(event), index.rank(event) + 1)
}

/// Lines 20 to 29: the releases that an acquire brings along.
fn releases(index: &Index<'_>, sequence: &[EventId], acquire: EventId) -> Vec<EventId> {
    let section = index.section(acquire);
    let own = sequence.iter().enumerate().filter(|&(_, &e)| index.thread(e) == section.thread);
    let Some((at, &last)) = own.max_by_key(|&(_, &e)| index.rank(e)) else {
        return section.release.into_iter().collect();
    };
    if index.rank(last) >= index.rank(acquire) {
        return Vec::new();
    }
    let earlier = sequence[..at].iter().flat_map(|&e| open_at(index, e)).filter(|open| open.excludes(&section));
    earlier.filter_map(|open| open.release).chain(section.release).collect()
}

/// Lines 34 to 37: a first write for each relaxed read that could see none.
fn missing_writes(index: &Index<'_>, cut: &Cut) -> Vec<EventId> {
    let mut writes = Vec::new();
    for thread in index.all_threads() {
        let count = cut.counts[thread.index()];
        for rank in cut.strict(index, thread)..count {
            let read = index.at(thread, rank);
            if index.trace.event(read).op != Op::Read {
                continue;
            }
            let variable = VarId::at(index.trace.event(read).object as usize);
            let visible = index.all_threads().any(|t| {
                let until = if t == thread { rank } else { cut.counts[t.index()] };
                index.write_before(t, variable, until).is_some()
            });
            if !visible {
                writes.extend(first_write(index, read));
            }
        }
    }
    writes
}

/// The first write of a read's variable in the thread whose write it saw.
pub(crate) fn first_write(index: &Index<'_>, read: EventId) -> Option<EventId> {
    let variable = VarId::at(index.trace.event(read).object as usize);
    let seen = index.relations.read_from(read)?;
    index.write_from(index.thread(seen), variable, 0)
}

/// Algorithm 2: releases of the set that must come before acquires of the set.
pub(crate) fn lock_orders(index: &Index<'_>, sequence: &[EventId], cut: &Cut) -> Vec<(EventId, EventId)> {
    let mut orders = Vec::new();
    let mut later: Vec<Section> = Vec::new();
    for &event in sequence.iter().rev() {
        let mut open = open_at(index, event);
        let thread = index.thread(event);
        for rank in index.rank(event) + 1..cut.counts[thread.index()] {
            if open.is_empty() {
                break;
            }
            let next = index.at(thread, rank);
            let op = index.trace.event(next).op;
            if op.is_release() {
                let acquire = index.relations.acquire_of(next).expect("a release has its acquire");
                let section = index.section(acquire);
                let rival = later.iter().find(|s| s.excludes(&section));
                if let Some(rival) = rival.filter(|_| index.rank(acquire) <= index.rank(event)) {
                    orders.push((next, rival.acquire));
                    open.retain(|s| s.acquire != acquire);
                }
            } else if op.is_acquire() && !later.iter().any(|s| s.excludes(&index.section(next))) {
                open.push(index.section(next));
            }
        }
        later.extend(open);
    }
    orders.extend(orders_before_open(index, cut, &cut.open(index)));
    orders.sort_unstable();
    orders.dedup();
    orders
}

/// Every section of the cut comes before those that stay open: the last release of each thread before the open acquire.
pub(crate) fn orders_before_open(index: &Index<'_>, cut: &Cut, open: &[Section]) -> Vec<(EventId, EventId)> {
    let mut orders = Vec::new();
    for section in open {
        for other in rivals(index, cut, section) {
            if let Some(release) = other.release.filter(|&r| cut.has(index, r)) {
                orders.push((release, section.acquire));
            }
        }
    }
    orders
}

/// The last section of each thread and mode in the cut that excludes this one.
pub(crate) fn rivals(index: &Index<'_>, cut: &Cut, section: &Section) -> Vec<Section> {
    use mayhap_trace::Mode::{Exclusive, Shared};
    let mut rivals = Vec::new();
    for thread in index.all_threads().filter(|&t| t != section.thread) {
        for mode in [Exclusive, Shared] {
            let last = index.acquire_before(thread, section.lock, mode, cut.counts[thread.index()]);
            rivals.extend(last.map(|a| index.section(a)).filter(|s| s.excludes(section)));
        }
    }
    rivals
}
