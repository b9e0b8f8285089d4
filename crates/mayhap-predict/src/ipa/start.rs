//! Where a search may begin: start pairs and snapshots (iPA, section III-A).
//!
//! The paper starts after the last unblock/block pair (notify and wait, fork and start, end and join) between the two
//! threads. With sticky signals that loses reachable targets even for two threads
//! (`counterexamples/ipa_start_pair.std`), and the pair itself may be unreachable. So that start is only tried first: a
//! success from it still has to convince the kernel. Failures count only from [`Starts::sound`]: the first locations,
//! past what one thread must do before the other takes its first step (the fork pair and its chain).
//!
//! A snapshot is a position of the observed run just after an unblocking event. Where each thread stood then follows
//! from event numbers, so a snapshot costs 4 bytes.

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, Op, Relations, ThreadId, Trace};

use super::checks::{Bystander, Pair};
use super::history::Histories;

/// An unblocking event and the blocking event it let go on.
#[derive(Clone, Copy, Debug)]
struct Signal {
    block: EventId,
    unblock: EventId,
}

/// Unblock/block pairs and snapshots of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    /// Of two threads, lower id first; by position of the block.
    signals: HashMap<(ThreadId, ThreadId), Vec<Signal>, foldhash::fast::FixedState>,
    /// Unblocking events in observed order.
    snapshots: Vec<EventId>,
}

/// A start pair, and the observed prefix that leads there, if it begins with one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    pub(super) pair: Pair,
    /// The last event of the prefix.
    pub(super) snapshot: Option<EventId>,
}

impl Starts {
    pub(super) fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut starts = Starts { signals: HashMap::default(), snapshots: Vec::new() };
        for (i, &op) in trace.columns().ops.iter().enumerate() {
            let id = EventId::at(i);
            let unblock = match op {
                Op::Wait => relations.notify_of(id).map(|notify| (notify, id)),
                Op::Fork => relations.first_of(id).map(|first| (id, first)),
                Op::Join => relations.last_of(id).map(|last| (last, id)),
                _ => None,
            };
            if let Some((unblock, block)) = unblock {
                let (t, u) = (trace.event(unblock).thread, trace.event(block).thread);
                starts.signals.entry((t.min(u), t.max(u))).or_default().push(Signal { block, unblock });
                starts.snapshots.push(unblock);
            }
        }
        starts.signals.values_mut().for_each(|list| list.sort_unstable_by_key(|s| s.block));
        starts.snapshots.sort_unstable();
        starts.snapshots.dedup();
        starts
    }

    /// The paper's start: after the last unblock/block pair between the two threads and before the target.
    pub(super) fn signalled(&self, trace: &Trace, histories: &Histories, a: EventId, b: EventId) -> Option<Start> {
        let (t, u) = (trace.event(a).thread, trace.event(b).thread);
        let list = self.signals.get(&(t.min(u), t.max(u)))?;
        let before = |event: EventId| event < if trace.event(event).thread == t { a } else { b };
        let candidates = &list[..list.partition_point(|s| s.block < a.max(b))];
        let signal = candidates.iter().rev().find(|s| before(s.block) && before(s.unblock))?;
        // A fork blocks the first event itself, which may be a lock event still to run.
        let place = |thread| if trace.event(signal.unblock).thread == thread { signal.unblock } else { signal.block };
        Some(Start {
            pair: Pair { a: histories.location(place(t)), b: histories.location(place(u)) },
            snapshot: Some(signal.unblock),
        })
    }

    /// The start from which a failure is a proof.
    pub(super) fn sound(execution: &Execution<'_>, histories: &Histories, a: EventId, b: EventId) -> Start {
        let (trace, relations) = execution.parts();
        let (t, u) = (trace.event(a).thread, trace.event(b).thread);
        let forced = |of: ThreadId, by: ThreadId| {
            let first = relations.thread_events(by)[0];
            let count = relations.before(trace, first, of);
            relations.thread_events(of).get(count).map_or(0, |&next| histories.location(next))
        };
        Start { pair: Pair { a: forced(t, u), b: forced(u, t) }, snapshot: None }
    }

    /// Strategy II's start: where the threads stood at the last snapshot before both events.
    pub(super) fn snapshot(&self, trace: &Trace, histories: &Histories, a: EventId, b: EventId) -> Option<Start> {
        let until = self.snapshots.partition_point(|&s| s < a.min(b));
        let snapshot = *self.snapshots.get(until.checked_sub(1)?)?;
        let stood = |event: EventId| {
            let events = histories.of(trace.event(event).thread).events();
            events.partition_point(|&h| h <= snapshot) as u32
        };
        Some(Start { pair: Pair { a: stood(a), b: stood(b) }, snapshot: Some(snapshot) })
    }
}

/// `EL` without the two threads: what each other thread does next after the snapshot (`None`: from the beginning).
pub(crate) fn bystanders(
    relations: &Relations,
    histories: &Histories,
    pair: (ThreadId, ThreadId),
    snapshot: Option<EventId>,
) -> Vec<Bystander> {
    let others = histories.locking().filter(|&(t, _)| t != pair.0 && t != pair.1);
    let stand = others.map(|(_, history)| {
        let at = history.events().partition_point(|&h| snapshot.is_some_and(|s| h <= s));
        match history.events().get(at) {
            Some(&next) => {
                Bystander { next: Some(next), held: relations.locksets().get(relations.held(next)).to_vec() }
            }
            None => Bystander { next: None, held: history.left_held().to_vec() },
        }
    });
    stand.filter(|t| t.next.is_some() || !t.held.is_empty()).collect()
}
