//! What a well-formed trace implies, derived in the plainest way: the oracle's own view of a trace.
//!
//! Everything is an index: events by position in the trace, the rest by table index. Written apart from
//! [`mayhap_trace::Relations`] so that each can be held against the other.

use mayhap_trace::{Event, Op, Trace};

/// Facts of one well-formed trace.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The events.
    pub events: Vec<Event>,
    /// Events that take part in reorderings, by thread.
    pub threads: Vec<Vec<usize>>,
    /// Rank of an event in its thread; `None` for marks and re-entrant lock operations.
    pub rank: Vec<Option<usize>>,
    /// The write that each read saw, `None` for the initial value.
    pub saw: Vec<Option<usize>>,
    /// The notify of each wait.
    pub notify: Vec<Option<usize>>,
    /// The release of each acquire and the acquire of each release.
    pub section: Vec<Option<usize>>,
    /// The fork of each thread.
    pub fork: Vec<Option<usize>>,
    /// The join of each thread.
    pub join: Vec<Option<usize>>,
    /// Locks held by the event's thread just before the event; `true` is the shared mode. Sorted.
    pub held: Vec<Vec<(usize, bool)>>,
}

impl Facts {
    /// Derives the facts. The trace must be well-formed.
    pub fn of(trace: &Trace) -> Facts {
        let n = trace.len();
        let threads = trace.tables().threads.len();
        let events: Vec<Event> = trace.events().map(|(_, e)| e).collect();
        let mut facts = Facts {
            threads: vec![Vec::new(); threads],
            rank: vec![None; n],
            saw: vec![None; n],
            notify: vec![None; n],
            section: vec![None; n],
            fork: vec![None; threads],
            join: vec![None; threads],
            held: vec![Vec::new(); n],
            events,
        };
        // Per thread: (lock, shared, depth, outermost acquire).
        let mut holds: Vec<Vec<(usize, bool, usize, usize)>> = vec![Vec::new(); threads];
        for i in 0..n {
            let event = facts.events[i];
            let (t, object) = (event.thread.index(), event.object as usize);
            let mut held: Vec<(usize, bool)> = holds[t].iter().map(|h| (h.0, h.1)).collect();
            held.sort_unstable();
            facts.held[i] = held;
            let mut relevant = !event.op.is_mark();
            let shared = event.op.is_shared();
            let at = holds[t].iter().position(|h| (h.0, h.1) == (object, shared));
            match event.op {
                Op::Acquire | Op::SharedAcquire => match at {
                    Some(at) => {
                        holds[t][at].2 += 1;
                        relevant = false;
                    }
                    None => holds[t].push((object, shared, 1, i)),
                },
                Op::Release | Op::SharedRelease => {
                    let at = at.expect("a well-formed trace releases what is held");
                    holds[t][at].2 -= 1;
                    relevant = holds[t][at].2 == 0;
                    if relevant {
                        let acquire = holds[t].remove(at).3;
                        facts.section[i] = Some(acquire);
                        facts.section[acquire] = Some(i);
                    }
                }
                Op::Read => {
                    let same = |&j: &usize| facts.events[j].op == Op::Write && facts.events[j].object == event.object;
                    facts.saw[i] = (0..i).rev().find(same);
                }
                Op::Wait => {
                    let wakes = |&j: &usize| {
                        let e = facts.events[j];
                        e.op.is_notify() && e.object == event.object && e.thread != event.thread
                    };
                    facts.notify[i] = (0..i).rev().find(wakes);
                }
                Op::Fork => facts.fork[object] = Some(i),
                Op::Join => facts.join[object] = Some(i),
                _ => {}
            }
            if relevant {
                facts.rank[i] = Some(facts.threads[t].len());
                facts.threads[t].push(i);
            }
        }
        facts
    }

    /// Must-order as a matrix: `[a][b]` says that `a` precedes `b` in every correct reordering that has `b`.
    ///
    /// A join also follows the fork of its thread, even of one that did nothing.
    pub fn must_order(&self) -> Vec<Vec<bool>> {
        let n = self.events.len();
        let mut before = vec![vec![false; n]; n];
        for events in &self.threads {
            events.windows(2).for_each(|pair| before[pair[0]][pair[1]] = true);
        }
        for (thread, events) in self.threads.iter().enumerate() {
            if let (Some(fork), Some(&first)) = (self.fork[thread], events.first()) {
                before[fork][first] = true;
            }
            if let (Some(join), Some(&last)) = (self.join[thread], events.last()) {
                before[last][join] = true;
            }
            if let (Some(fork), Some(join)) = (self.fork[thread], self.join[thread]) {
                before[fork][join] = true;
            }
        }
        for (wait, notify) in self.notify.iter().enumerate() {
            if let Some(notify) = *notify {
                before[notify][wait] = true;
            }
        }
        close(&mut before);
        before
    }
}

/// Closes a relation under composition (Warshall).
pub(crate) fn close(relation: &mut [Vec<bool>]) {
    for k in 0..relation.len() {
        let after = relation[k].clone();
        for row in relation.iter_mut().filter(|row| row[k]) {
            row.iter_mut().zip(&after).for_each(|(cell, &also)| *cell |= also);
        }
    }
}
