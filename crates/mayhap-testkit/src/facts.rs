//! What a well-formed trace implies, derived in the plainest way: the oracle's own view of a trace.
//!
//! Everything is an index: events by position in the trace, the rest by table index. Written apart from
//! [`mayhap_trace::Relations`] so that each can be held against the other.

use mayhap_trace::{ConditionKind, Event, Op, Trace};

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
    /// The notify of each wait; `None` if it took from a semaphore's initial count.
    pub notify: Vec<Option<usize>>,
    /// The release of each acquire and the acquire of each release.
    pub section: Vec<Option<usize>>,
    /// The fork of each thread.
    pub fork: Vec<Option<usize>>,
    /// The join of each thread.
    pub join: Vec<Option<usize>>,
    /// Locks held by the event's thread just before the event; `true` is the shared mode. Sorted.
    pub held: Vec<Vec<(usize, bool)>>,
    /// The kinds of the conditions.
    pub kinds: Vec<ConditionKind>,
    /// The value that each write stored and each read returned, if known.
    pub value: Vec<Option<usize>>,
    /// The initial value of each variable, if known.
    pub initial: Vec<Option<usize>>,
}

impl Facts {
    /// Derives the facts. The trace must be well-formed.
    pub fn of(trace: &Trace) -> Facts {
        let n = trace.len();
        let tables = trace.tables();
        let threads = tables.threads.len();
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
            kinds: (0..tables.conditions.len()).map(|c| tables.condition_kinds.get(c)).collect(),
            value: vec![None; n],
            initial: (0..tables.variables.len())
                .map(|v| tables.initial_values.get(v).map(|value| value.index()))
                .collect(),
            events,
        };
        facts.find_sections();
        for i in 0..n {
            let event = facts.events[i];
            let object = event.object as usize;
            match event.op {
                Op::Read => {
                    let same = |&j: &usize| facts.events[j].op == Op::Write && facts.events[j].object == event.object;
                    facts.saw[i] = (0..i).rev().find(same);
                }
                Op::Wait => facts.notify[i] = facts.find_notify(i),
                Op::Fork => facts.fork[object] = Some(i),
                Op::Join => facts.join[object] = Some(i),
                _ => {}
            }
        }
        facts.find_values();
        facts
    }

    /// Finds the events that take part, their sections and the locks held.
    fn find_sections(&mut self) {
        // Per thread: (lock, shared, depth, outermost acquire).
        let mut holds: Vec<Vec<(usize, bool, usize, usize)>> = vec![Vec::new(); self.threads.len()];
        for i in 0..self.events.len() {
            let event = self.events[i];
            let (t, object) = (event.thread.index(), event.object as usize);
            let mut held: Vec<(usize, bool)> = holds[t].iter().map(|h| (h.0, h.1)).collect();
            held.sort_unstable();
            self.held[i] = held;
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
                        self.section[i] = Some(acquire);
                        self.section[acquire] = Some(i);
                    }
                }
                _ => {}
            }
            if relevant {
                self.rank[i] = Some(self.threads[t].len());
                self.threads[t].push(i);
            }
        }
    }

    /// The notify that ended a wait, by the kind of its condition. Earlier waits have theirs already.
    fn find_notify(&self, wait: usize) -> Option<usize> {
        let event = self.events[wait];
        let of = |j: &usize| self.events[*j].object == event.object && self.events[*j].op.is_notify();
        let waits = |j: &usize| self.events[*j].object == event.object && self.events[*j].op == Op::Wait;
        match self.kinds[event.object as usize] {
            ConditionKind::Condition => {
                let began = self.began(wait).map_or(0, |began| began + 1);
                let taken = |j: &usize| (0..wait).filter(waits).any(|w| self.notify[w] == Some(*j));
                (began..wait).filter(of).find(|j| self.events[*j].op == Op::NotifyAll || !taken(j))
            }
            ConditionKind::Semaphore { initial } => {
                let earlier = (0..wait).filter(waits).count();
                earlier.checked_sub(initial as usize).and_then(|nth| (0..wait).filter(of).nth(nth))
            }
            ConditionKind::Token => (0..wait).rev().find(of),
            _ => (0..wait).rev().filter(of).find(|&j| self.events[j].thread != event.thread),
        }
    }

    /// The event with which a wait for a condition variable begins: the one before it in its thread, or the thread's fork.
    pub fn began(&self, wait: usize) -> Option<usize> {
        let thread = self.events[wait].thread.index();
        match self.rank[wait]? {
            0 => self.fork[thread],
            rank => Some(self.threads[thread][rank - 1]),
        }
    }

    fn find_values(&mut self) {
        for i in 0..self.events.len() {
            let (event, own) = (self.events[i], self.events[i].value.map(|v| v.index()));
            match (event.op, self.saw[i]) {
                (Op::Write, _) => self.value[i] = own,
                (Op::Read, Some(write)) => self.value[i] = own.or(self.value[write]),
                (Op::Read, None) => {
                    let initial = &mut self.initial[event.object as usize];
                    *initial = initial.or(own);
                    self.value[i] = own;
                }
                _ => {}
            }
        }
        // Reads of the initial value before the first one that says it.
        for i in (0..self.events.len()).filter(|&i| self.events[i].op == Op::Read && self.saw[i].is_none()) {
            self.value[i] = self.value[i].or(self.initial[self.events[i].object as usize]);
        }
    }

    /// The value that lies in a variable after this write; `None` for the write is the initial value.
    pub fn stored(&self, variable: usize, write: Option<usize>) -> Option<usize> {
        write.map_or(self.initial[variable], |write| self.value[write])
    }

    /// The next event of the thread runs in one step with this one.
    pub fn joined_to(&self, event: usize) -> Option<usize> {
        let next = *self.threads[self.events[event].thread.index()].get(self.rank[event]? + 1)?;
        self.events[next].flags.is_joined().then_some(next)
    }

    /// The first event of the step that an event belongs to.
    pub fn step_of(&self, event: usize) -> usize {
        let thread = &self.threads[self.events[event].thread.index()];
        let rank = self.rank[event].expect("only events that take part have steps");
        let first = (0..=rank).rev().find(|&r| r == 0 || !self.events[thread[r]].flags.is_joined());
        thread[first.expect("the first event begins a step")]
    }

    /// Whether the write belongs to a read-modify-write: its step reads the variable before, both atomically.
    pub fn is_read_modify_write(&self, write: usize) -> bool {
        let event = self.events[write];
        let reads = |e: &Event| e.op == Op::Read && e.object == event.object && e.flags.is_atomic();
        let thread = &self.threads[event.thread.index()];
        let (Some(first), Some(last)) = (self.rank[self.step_of(write)], self.rank[write]) else { return false };
        event.op == Op::Write && event.flags.is_atomic() && thread[first..last].iter().any(|&e| reads(&self.events[e]))
    }

    /// Must-order as a matrix: `[a][b]` says that `a` precedes `b` in every correct reordering that has `b`.
    ///
    /// A join also follows the fork of its thread, even of one that did nothing. A wait follows its notify where pairs are
    /// fixed, and where a condition variable has no other notify by another thread.
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
            if let Some(notify) = notify.filter(|_| self.has_one_notify(wait)) {
                before[notify][wait] = true;
            }
        }
        close(&mut before);
        before
    }

    /// Only one notify can ever end the wait. One of the waiting thread ends no wait for a condition variable.
    fn has_one_notify(&self, wait: usize) -> bool {
        let event = self.events[wait];
        let of = |e: &&Event| e.op.is_notify() && e.object == event.object;
        let all = self.events.iter().filter(of).count();
        let others = self.events.iter().filter(of).filter(|e| e.thread != event.thread).count();
        match self.kinds[event.object as usize] {
            ConditionKind::Condition => others == 1,
            ConditionKind::Semaphore { initial } => initial == 0 && all == 1,
            ConditionKind::Token => all == 1,
            _ => true,
        }
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
