//! Happens-before of the C11 memory model as paths in a graph over the events of a schedule.

use mayhap_trace::{ConditionKind, MemoryOrder, Op};

use super::Run;
use crate::facts::close;

impl Run<'_> {
    /// One of the two events of the schedule happens before the other.
    pub(super) fn is_ordered(&self, a: usize, b: usize) -> bool {
        let n = self.facts.events.len();
        let mut before = vec![vec![false; n]; n];
        for (x, y) in self.program_edges().into_iter().chain(self.lock_edges()).chain(self.wake_edges()) {
            before[x][y] = true;
        }
        for (x, y) in self.atomic_edges() {
            before[x][y] = true;
        }
        close(&mut before);
        before[a][b] || before[b][a]
    }

    fn at(&self, event: usize) -> usize {
        self.place[event].expect("it is in the schedule")
    }

    fn program_edges(&self) -> Vec<(usize, usize)> {
        let facts = self.facts;
        let mut edges = Vec::new();
        for (i, &x) in self.schedule.iter().enumerate() {
            for &y in &self.schedule[i + 1..] {
                let (first, second) = (facts.events[x], facts.events[y]);
                let forks = first.op == Op::Fork && first.object as usize == second.thread.index();
                let joins = second.op == Op::Join && second.object as usize == first.thread.index();
                // An idle thread hands on what its fork had.
                let idle = second.op == Op::Join && first.op == Op::Fork && first.object == second.object;
                if first.thread == second.thread || forks || joins || idle {
                    edges.push((x, y));
                }
            }
        }
        edges
    }

    fn lock_edges(&self) -> Vec<(usize, usize)> {
        let facts = self.facts;
        let mut edges = Vec::new();
        for (i, &x) in self.schedule.iter().enumerate() {
            for &y in &self.schedule[i + 1..] {
                let (first, second) = (facts.events[x], facts.events[y]);
                let readers = first.op.is_shared() && second.op.is_shared();
                if first.op.is_release() && second.op.is_acquire() && first.object == second.object && !readers {
                    edges.push((x, y));
                }
            }
        }
        edges
    }

    /// From notifies to the waits they are matched with; for semaphores and tokens to all later waits.
    fn wake_edges(&self) -> Vec<(usize, usize)> {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        let mut taken: Vec<usize> = Vec::new();
        for (at, &wait) in self.schedule.iter().enumerate().filter(|(_, e)| self.facts.events[**e].op == Op::Wait) {
            match self.kind(wait) {
                ConditionKind::Condition => {
                    let wakes_all = |n: &usize| self.facts.events[*n].op == Op::NotifyAll;
                    let suitable = self.suitable(wait, at);
                    if let Some(notify) = suitable.into_iter().find(|n| wakes_all(n) || !taken.contains(n)) {
                        edges.push((notify, wait));
                        taken.push(notify);
                    }
                }
                ConditionKind::Semaphore { .. } | ConditionKind::Token => {
                    edges.extend(self.earlier(wait, at, Op::is_notify).map(|notify| (notify, wait)));
                }
                _ => edges.extend(self.facts.notify[wait].map(|notify| (notify, wait))),
            }
        }
        edges
    }

    /// From each release to each acquire that synchronises with it.
    fn atomic_edges(&self) -> Vec<(usize, usize)> {
        let facts = self.facts;
        let order = |e: usize| facts.events[e].flags.order();
        let mut edges = Vec::new();
        for &read in self.schedule.iter().filter(|&&e| facts.events[e].op == Op::Read && order(e).is_some()) {
            let acquires = |e: usize| order(e).is_some_and(MemoryOrder::acquires);
            let own = [read].into_iter().filter(|&r| acquires(r));
            let later = self.schedule[self.at(read)..].iter().copied();
            let fences = later.filter(|&f| {
                facts.events[f].op == Op::Fence && acquires(f) && facts.events[f].thread == facts.events[read].thread
            });
            let ends: Vec<usize> = own.chain(fences).collect();
            for head in self.heads(read) {
                for start in self.releases(head) {
                    edges.extend(ends.iter().map(|&end| (start, end)));
                }
            }
        }
        edges
    }

    /// The writes at the head of a release sequence that the read reads from: after each of them come only
    /// read-modify-writes and atomic writes of its own thread, up to the write that the read sees.
    fn heads(&self, read: usize) -> Vec<usize> {
        let facts = self.facts;
        let mut heads = Vec::new();
        let mut others: Vec<usize> = Vec::new();
        let mut write = self.sees(read);
        while let Some(head) = write.filter(|&head| facts.events[head].flags.is_atomic()) {
            let thread = |e: usize| facts.events[e].thread;
            if others.iter().all(|&w| facts.is_read_modify_write(w) || thread(w) == thread(head)) {
                heads.push(head);
            }
            others.push(head);
            write = self.sees(head);
        }
        heads
    }

    /// What is published with an atomic write: the write itself if it releases, and release fences before it.
    fn releases(&self, write: usize) -> Vec<usize> {
        let facts = self.facts;
        let releases = |e: usize| facts.events[e].flags.order().is_some_and(MemoryOrder::releases);
        if !facts.events[write].flags.is_atomic() {
            return Vec::new();
        }
        let fences = self.schedule[..self.at(write)].iter().copied().filter(|&f| {
            facts.events[f].op == Op::Fence && releases(f) && facts.events[f].thread == facts.events[write].thread
        });
        fences.chain([write].into_iter().filter(|&w| releases(w))).collect()
    }
}
