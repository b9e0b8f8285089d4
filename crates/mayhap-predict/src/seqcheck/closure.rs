//! Closes an order under the rules that every linearisation of the cut must keep (SeqCheck, Algorithm 3).
//!
//! - Observation: for a strict read `r` of `w` and another write `v` of the variable, `v` before `r` puts `v` before `w`,
//!   and `w` before `v` puts `r` before `v`. A strict read of the initial value comes before every write.
//! - Locks: for two sections that exclude each other, acquire 1 before release 2 puts release 1 before acquire 2.
//! - Adjacency: what comes before one event of an adjacent pair comes before both; likewise after.
//!
//! Only the nearest write or section of each thread is tested: those beyond it follow by program order. The paper tests
//! after each insertion every variable and lock; here only the positions whose predecessors changed are visited.
//!
//! A thread that holds a lock in both modes has overlapping sections of one lock, so the nearest of either mode is tested.
//!
//! What a failure proves: every edge follows from those given, so no linearisation keeps them all.
//!
//! Cost: O(k·log n) a changed position for `k` threads in the cut.

use mayhap_trace::{EventId, LockId, Mode, Op, ThreadId, VarId};

use super::chains::{Chains, Change, NEVER, Place};
use super::cut::{Cut, demanded};
use super::index::Index;
use crate::{Step, Why};

/// An edge that closes a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Contradiction {
    /// The cycle; each step begins where the one before ends.
    pub(crate) cycle: Vec<Step>,
}

/// A closed order over a cut.
pub(crate) struct Closure<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) cut: &'a Cut,
    adjacent: &'a [(EventId, EventId)],
    threads: Vec<ThreadId>,
    chain_of: Vec<u32>,
    strict: Vec<u32>,
    order: Chains,
    /// Every edge inserted, with its reason.
    edges: Vec<Step>,
    queue: Vec<Step>,
    changes: Vec<Change>,
}

impl<'a> Closure<'a> {
    /// Program order, must-order and strict observation over a cut, closed; then `given` and all that follows.
    pub(crate) fn new(
        index: &'a Index<'a>,
        cut: &'a Cut,
        given: &[Step],
        adjacent: &'a [(EventId, EventId)],
    ) -> Result<Self, Contradiction> {
        let threads: Vec<ThreadId> = index.all_threads().filter(|t| cut.counts[t.index()] > 0).collect();
        let mut chain_of = vec![u32::MAX; cut.counts.len()];
        threads.iter().enumerate().for_each(|(chain, t)| chain_of[t.index()] = chain as u32);
        let lengths: Vec<u32> = threads.iter().map(|t| cut.counts[t.index()]).collect();
        let strict = threads.iter().map(|&t| cut.strict(index, t)).collect();
        let order = Chains::new(&lengths);
        let (edges, queue, changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut closure = Closure { index, cut, adjacent, threads, chain_of, strict, order, edges, queue, changes };
        closure.observed();
        closure.first_pass();
        closure.queue.extend(given);
        closure.close()?;
        Ok(closure)
    }

    /// Edges that the observed order keeps, in observed order, so that each touches only what comes after.
    fn observed(&mut self) {
        let (index, cut) = (self.index, self.cut);
        for event in cut.events(index) {
            let thread = index.thread(event);
            if index.rank(event) == 0
                && let Some(fork) = index.relations.fork_of(thread)
            {
                self.lay(fork, event, Why::Must);
            }
            for before in demanded(index, event).into_iter().flatten() {
                self.lay(before, event, Why::Must);
            }
            if index.trace.event(event).op == Op::Read
                && index.rank(event) < self.strict[self.chain_of[thread.index()] as usize]
                && let Some(write) = index.relations.read_from(event)
            {
                self.lay(write, event, Why::ReadsFrom(self.variable(event)));
            }
        }
    }

    fn lay(&mut self, before: EventId, after: EventId, why: Why) {
        let (a, b) = (self.place(before), self.place(after));
        if a.chain != b.chain && !self.order.reaches(a, b) {
            self.edges.push(Step { before, after, why });
            self.order.insert(a, b, |_| ());
        }
    }

    /// Tests the rules once for every event against every thread.
    fn first_pass(&mut self) {
        for chain in 0..self.threads.len() {
            let thread = self.threads[chain];
            for at in 0..self.cut.counts[thread.index()] {
                let event = self.index.at(thread, at);
                let op = self.index.trace.event(event).op;
                if !op.is_access() && !op.is_release() {
                    continue;
                }
                for of in 0..self.threads.len() {
                    let here = Place { chain: chain as u32, at };
                    let count = if of == chain { at } else { self.order.before(here, of) };
                    if count > 0 {
                        self.fire(event, of, count);
                    }
                }
                self.read_of_initial(event);
            }
        }
    }

    /// A strict read of the initial value comes before the first write of every other thread.
    fn read_of_initial(&mut self, event: EventId) {
        if !self.is_strict_read(event) || self.index.relations.read_from(event).is_some() {
            return;
        }
        let variable = self.variable(event);
        for of in 0..self.threads.len() {
            let thread = self.threads[of];
            if let Some(write) = self.index.write_from(thread, variable, 0).filter(|&w| self.cut.has(self.index, w)) {
                self.push(event, write, Why::Interference(variable));
            }
        }
    }

    /// The order between two events.
    pub(crate) fn reaches(&self, a: EventId, b: EventId) -> bool {
        self.order.reaches(self.place(a), self.place(b))
    }

    /// Returns the first event of a chain at or after `event`, as a rank.
    pub(crate) fn after(&self, event: EventId, chain: usize) -> u32 {
        self.order.after(self.place(event), chain)
    }

    /// The threads of the cut.
    pub(crate) fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// All edges, in the order in which they were inserted.
    pub(crate) fn edges(&self) -> &[Step] {
        &self.edges
    }

    pub(crate) fn is_strict_read(&self, event: EventId) -> bool {
        self.index.trace.event(event).op == Op::Read
            && self.index.rank(event) < self.strict[self.place(event).chain as usize]
    }

    /// Some strict read sees this write.
    pub(crate) fn has_strict_reader(&self, write: EventId) -> bool {
        let seen = |(chain, &thread)| self.index.reader_before(write, thread, self.strict[chain]).is_some();
        self.threads.iter().enumerate().any(seen)
    }

    pub(crate) fn variable(&self, access: EventId) -> VarId {
        VarId::at(self.index.trace.event(access).object as usize)
    }

    fn place(&self, event: EventId) -> Place {
        Place { chain: self.chain_of[self.index.thread(event).index()], at: self.index.rank(event) }
    }

    fn push(&mut self, before: EventId, after: EventId, why: Why) {
        if !self.reaches(before, after) {
            self.queue.push(Step { before, after, why });
        }
    }

    /// Inserts an edge and all that follows from it.
    pub(crate) fn insert(&mut self, edge: Step) -> Result<(), Contradiction> {
        self.queue.push(edge);
        self.close()
    }

    fn close(&mut self) -> Result<(), Contradiction> {
        loop {
            while let Some(edge) = self.queue.pop() {
                let (a, b) = (self.place(edge.before), self.place(edge.after));
                if self.order.reaches(b, a) {
                    self.queue.clear();
                    return Err(Contradiction { cycle: self.cycle(edge) });
                }
                if self.order.reaches(a, b) {
                    continue;
                }
                self.edges.push(edge);
                let mut changes = std::mem::take(&mut self.changes);
                self.order.insert(a, b, |change| changes.push(change));
                for change in changes.drain(..) {
                    self.follow(change);
                }
                self.changes = changes;
            }
            self.keep_adjacent();
            if self.queue.is_empty() {
                return Ok(());
            }
        }
    }

    /// Tests the rules where predecessors changed.
    fn follow(&mut self, change: Change) {
        let thread = self.threads[change.to as usize];
        for at in change.from..change.until {
            self.fire(self.index.at(thread, at), change.of as usize, change.at + 1);
        }
    }

    /// The rules for an event that comes after the first `count` events of a chain.
    fn fire(&mut self, event: EventId, of: usize, count: u32) {
        let index = self.index;
        let thread = self.threads[of];
        let e = index.trace.event(event);
        match e.op {
            Op::Read if self.is_strict_read(event) => {
                let variable = self.variable(event);
                let Some(other) = index.write_before(thread, variable, count) else { return };
                match index.relations.read_from(event) {
                    Some(seen) if seen == other => {}
                    Some(seen) => self.push(other, seen, Why::Interference(variable)),
                    None => self.push(event, other, Why::Interference(variable)),
                }
            }
            Op::Write => {
                let variable = self.variable(event);
                let Some(earlier) = index.write_before(thread, variable, count) else { return };
                for reader in 0..self.threads.len() {
                    let read = index.reader_before(earlier, self.threads[reader], self.strict[reader]);
                    if let Some(read) = read {
                        self.push(read, event, Why::Interference(variable));
                    }
                }
            }
            Op::Release | Op::SharedRelease if thread != e.thread => {
                let lock = LockId::at(e.object as usize);
                let acquire = index.relations.acquire_of(event).expect("a release has its acquire");
                let modes: &[Mode] =
                    if e.op.is_shared() { &[Mode::Exclusive] } else { &[Mode::Exclusive, Mode::Shared] };
                for &mode in modes {
                    let rival = index.acquire_before(thread, lock, mode, count);
                    let release =
                        rival.and_then(|r| index.relations.matching_release(r)).filter(|&r| self.cut.has(index, r));
                    if let Some(release) = release {
                        self.push(release, acquire, Why::Lock(lock));
                    }
                }
            }
            _ => {}
        }
    }

    fn keep_adjacent(&mut self) {
        for &(x, y) in self.adjacent {
            for chain in 0..self.threads.len() {
                let thread = self.threads[chain];
                let (px, py) = (self.place(x), self.place(y));
                let before = if py.chain as usize == chain { py.at } else { self.order.before(py, chain) };
                if let Some(z) = before.checked_sub(1).map(|at| self.index.at(thread, at)).filter(|&z| z != x) {
                    self.push(z, x, Why::Target);
                }
                let after = if px.chain as usize == chain { px.at + 1 } else { self.order.after(px, chain) };
                if after != NEVER && after < self.cut.counts[thread.index()] {
                    let z = self.index.at(thread, after);
                    if z != y {
                        self.push(y, z, Why::Target);
                    }
                }
            }
        }
    }

    /// The cycle that an edge against the order closes.
    fn cycle(&self, edge: Step) -> Vec<Step> {
        let mut cycle = vec![edge];
        cycle.extend(self.path(edge.after, edge.before));
        cycle
    }

    /// Steps from `from` to `to`, which must come after it: breadth-first over edges, chains in between as must-order.
    fn path(&self, from: EventId, to: EventId) -> Vec<Step> {
        let mut out: Vec<(Place, usize)> =
            self.edges.iter().enumerate().map(|(i, e)| (self.place(e.before), i)).collect();
        out.sort_unstable();
        // For each chain, the least rank reached so far and the edge that reached it.
        let mut reached = vec![u32::MAX; self.threads.len()];
        let mut entries: Vec<(EventId, Option<(usize, usize)>)> = vec![(from, None)];
        reached[self.place(from).chain as usize] = self.place(from).at;
        let mut at = 0;
        let goal = self.place(to);
        while at < entries.len() {
            let here = self.place(entries[at].0);
            if here.chain == goal.chain && here.at <= goal.at {
                break;
            }
            let first = out.partition_point(|&(place, _)| place < here);
            for &(_, edge) in out[first..].iter().take_while(|(place, _)| place.chain == here.chain) {
                let next = self.place(self.edges[edge].after);
                if next.at < reached[next.chain as usize] {
                    reached[next.chain as usize] = next.at;
                    entries.push((self.edges[edge].after, Some((at, edge))));
                }
            }
            at += 1;
        }
        let mut steps = Vec::new();
        let mut end = to;
        let mut entry = entries.get(at);
        while let Some(&(event, parent)) = entry {
            if event != end {
                steps.push(Step { before: event, after: end, why: Why::Must });
            }
            let Some((previous, edge)) = parent else { break };
            steps.push(self.edges[edge]);
            end = self.edges[edge].before;
            entry = entries.get(previous);
        }
        steps.reverse();
        steps
    }
}
