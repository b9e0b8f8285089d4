//! Candidates for double frees: a thread reads something, frees memory and only then writes what it read, and another thread can
//! read the old value in between.
//!
//! That is how a pointer, or a flag that says who frees, goes stale: both threads then act on it. It is expressed as an atomicity
//! violation whose access in between is a read. What the reading thread does with the value was not recorded, since it saw the new
//! one; a replay shows it.
//!
//! Left out are reads that must-order puts before or after, reads under a lock that the freeing thread holds throughout, and what
//! lies more than [`AROUND`] events of its thread from the free.
//!
//! Cost: linear in the frees, times [`AROUND`].

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, Flags, LockId, Mode, Op, Relations, Trace};
use mayhap_witness::{Kind, Target};

use super::lifetimes::frees;
use super::{Group, Limits, Nearest, place};

/// How many events of the freeing thread are looked at on each side of the free.
const AROUND: usize = 48;
/// The most groups.
const MOST: usize = 64;
/// The most reads of another thread that are tried with each free.
const READS: usize = 4;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Candidates by the locations of the read, the read in between and the write.
pub fn double_frees(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    if !trace.columns().flags.iter().any(|flags| flags & Flags::FREE.bits() != 0) {
        return Vec::new();
    }
    let mut groups: Vec<Nearest> = Vec::new();
    let mut by_places: Map<(u64, u64, u64), usize> = Map::default();
    let mut reads: Option<Map<u32, Vec<EventId>>> = None;
    for free in (0..trace.len()).map(EventId::at).filter(|&event| is_first_of_call(trace, relations, event)) {
        for (first, second) in around(trace, relations, free) {
            let reads = reads.get_or_insert_with(|| all_reads(trace, relations));
            let variable = trace.columns().objects[first.index()];
            let others = reads.get(&variable).map_or(&[][..], Vec::as_slice);
            for &remote in between(trace, relations, others, first, second).iter().take(READS) {
                let key = (place(trace, first), place(trace, remote), place(trace, second));
                if by_places.len() >= MOST && !by_places.contains_key(&key) {
                    continue;
                }
                let group = *by_places.entry(key).or_insert_with(|| {
                    groups.push(Nearest::default());
                    groups.len() - 1
                });
                groups[group].offer(&[first, remote, second], limits.instances);
            }
        }
    }
    let target = |e: &[EventId]| Target::Atomicity { first: e[0], remote: e[1], second: e[2] };
    groups.into_iter().map(|group| group.into_group(Kind::DoubleFree, target)).collect()
}

/// Whether the event is the first write of a call that frees a block.
fn is_first_of_call(trace: &Trace, relations: &Relations, event: EventId) -> bool {
    if !frees(trace, event) || !relations.is_relevant(event) {
        return false;
    }
    let rank = relations.rank(event);
    let before = rank.checked_sub(1).map(|rank| relations.thread_events(trace.event(event).thread)[rank]);
    before.is_none_or(|before| !frees(trace, before))
}

/// Pairs of a read before the free and the next write of the same variable after it, of the free's thread.
fn around(trace: &Trace, relations: &Relations, free: EventId) -> Vec<(EventId, EventId)> {
    let events = relations.thread_events(trace.event(free).thread);
    let rank = relations.rank(free);
    let columns = trace.columns();
    let mut pairs: Vec<(EventId, EventId)> = Vec::new();
    for &second in &events[rank..events.len().min(rank + AROUND)] {
        if columns.ops[second.index()] != Op::Write || frees(trace, second) {
            continue;
        }
        let variable = columns.objects[second.index()];
        let same =
            |event: &&EventId| columns.objects[event.index()] == variable && columns.ops[event.index()].is_access();
        // What comes between is the thread's own last access before the free.
        let first = events[rank.saturating_sub(AROUND)..rank].iter().rev().find(same);
        if let Some(&first) = first.filter(|first| columns.ops[first.index()] == Op::Read)
            && !pairs.iter().any(|&(known, _)| known == first)
        {
            pairs.push((first, second));
        }
    }
    pairs
}

fn all_reads(trace: &Trace, relations: &Relations) -> Map<u32, Vec<EventId>> {
    let mut reads: Map<u32, Vec<EventId>> = Map::default();
    for (id, event) in trace.events_of(|op| op == Op::Read).filter(|(id, _)| relations.is_relevant(*id)) {
        reads.entry(event.object).or_default().push(id);
    }
    reads
}

/// The reads of other threads that could come between, those after the write first.
fn between(trace: &Trace, relations: &Relations, reads: &[EventId], first: EventId, second: EventId) -> Vec<EventId> {
    let threads = &trace.columns().threads;
    let held = held_throughout(trace, relations, first, second);
    let is_open = |read: &&EventId| {
        let ordered = |a: EventId, b: EventId| a < b && relations.ordered(trace, a, b);
        let locks = relations.locksets().get(relations.held(**read));
        let excluded = locks.iter().any(|&(lock, mode)| {
            held.iter().any(|&(other, held)| other == lock && (mode, held) != (Mode::Shared, Mode::Shared))
        });
        threads[read.index()] != threads[first.index()]
            && !excluded
            && !ordered(**read, first)
            && !ordered(second, **read)
    };
    let at = reads.partition_point(|&read| read < second);
    reads[at..]
        .iter()
        .filter(is_open)
        .take(READS)
        .chain(reads[..at].iter().rev().filter(is_open).take(READS))
        .copied()
        .collect()
}

/// The locks that the thread holds from the first event to the second.
fn held_throughout(trace: &Trace, relations: &Relations, first: EventId, second: EventId) -> Vec<(LockId, Mode)> {
    let events = relations.thread_events(trace.event(first).thread);
    let mut held = relations.locksets().get(relations.held(first)).to_vec();
    for &id in &events[relations.rank(first)..relations.rank(second)] {
        let event = trace.event(id);
        if event.op.is_release() {
            held.retain(|&(lock, _)| lock.index() != event.object as usize);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    fn candidates(text: &str) -> usize {
        double_frees(&Execution::derive(parse_std(text).unwrap()).unwrap(), &Limits::default()).len()
    }

    #[test]
    fn a_pointer_that_is_cleared_after_the_free_can_be_read_before() {
        let thread = |t: &str| format!("{t}|acq(l)\n{t}|r(p)|a\n{t}|rel(l)\n");
        let clears = "t|w.free(x)|b\nt|acq(l)\nt|w(p)|c\nt|rel(l)\n";
        assert_eq!(candidates(&format!("m|w(x)\n{}{clears}{}", thread("t"), thread("u"))), 1);
    }

    #[test]
    fn a_lock_that_is_held_throughout_keeps_others_out() {
        let text = "m|w(x)\nt|acq(l)\nt|r(p)|a\nt|w.free(x)|b\nt|w(p)|c\nt|rel(l)\nu|acq(l)\nu|r(p)|a\nu|rel(l)\n";
        assert_eq!(candidates(text), 0);
    }
}
