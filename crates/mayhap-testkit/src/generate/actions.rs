//! What threads of a growing trace do with variables and conditions.

use mayhap_trace::{ConditionKind, Flags, MemoryOrder, NONE, Op, Value};

use super::{Growth, Life};

/// What the conditions of a growing trace have for waits.
pub(super) struct Conditions {
    kinds: Vec<ConditionKind>,
    /// Per condition, its notifies: when, by whom, of all, used up.
    notifies: Vec<Vec<(usize, usize, bool, bool)>>,
    /// Per condition, what a semaphore counts, or 1 for a token that is set.
    counts: Vec<u32>,
    /// How many events there were when each thread did something last.
    last: Vec<usize>,
    events: usize,
}

impl Conditions {
    pub(super) fn new(kinds: Vec<ConditionKind>, threads: usize) -> Self {
        let initial = |kind: &ConditionKind| match kind {
            ConditionKind::Semaphore { initial } => *initial,
            _ => 0,
        };
        Conditions {
            notifies: vec![Vec::new(); kinds.len()],
            counts: kinds.iter().map(initial).collect(),
            kinds,
            last: vec![0; threads],
            events: 0,
        }
    }

    /// The thread did something.
    pub(super) fn ran(&mut self, thread: usize) {
        self.events += 1;
        self.last[thread] = self.events;
    }

    /// The thread was forked by the last event.
    pub(super) fn forked(&mut self, child: usize) {
        self.last[child] = self.events;
    }

    fn notify(&mut self, condition: usize, thread: usize, all: bool) {
        self.notifies[condition].push((self.events, thread, all, false));
        match self.kinds[condition] {
            ConditionKind::Semaphore { .. } => self.counts[condition] += 1,
            ConditionKind::Token => self.counts[condition] = 1,
            _ => {}
        }
    }

    /// The thread's wait can return now.
    fn can_wait(&self, condition: usize, thread: usize) -> bool {
        let notifies = &self.notifies[condition];
        match self.kinds[condition] {
            ConditionKind::Condition => self.usable(condition, thread).is_some(),
            ConditionKind::Semaphore { .. } | ConditionKind::Token => self.counts[condition] > 0,
            _ => notifies.iter().any(|&(_, by, _, _)| by != thread),
        }
    }

    /// The first notify of a condition variable that a wait can use which began with the thread's last event.
    fn usable(&self, condition: usize, thread: usize) -> Option<usize> {
        let began = self.last[thread];
        self.notifies[condition].iter().position(|&(at, _, all, used)| at > began && (all || !used))
    }

    fn wait(&mut self, condition: usize, thread: usize) {
        match self.kinds[condition] {
            ConditionKind::Condition => {
                if let Some(at) = self.usable(condition, thread) {
                    self.notifies[condition][at].3 = true;
                }
            }
            ConditionKind::Semaphore { .. } | ConditionKind::Token => self.counts[condition] -= 1,
            _ => {}
        }
    }
}

impl Growth<'_> {
    /// A read or write with these properties and those that the profile asks for.
    pub(super) fn access(&mut self, thread: usize, op: Op, variable: usize, flags: Flags) {
        let mut flags = flags;
        if !flags.is_joined()
            && !flags.is_atomic()
            && self.profile.atomic > 0
            && self.random.percent(self.profile.atomic)
        {
            flags = flags.with(Flags::atomic(self.order(op)));
        }
        if op == Op::Write && self.profile.constants > 0 && self.random.percent(self.profile.constants) {
            flags = flags.with(Flags::CONSTANT);
        }
        let plain = op == Op::Write && flags == Flags::NONE;
        if plain && self.profile.frees > 0 && self.random.percent(self.profile.frees) {
            flags = flags.with(Flags::FREE);
        }
        if self.profile.values > 0 && op == Op::Write && variable % 2 == 1 {
            self.tell_initial(variable);
        }
        self.emit(thread, op, variable);
        let mut value = NONE;
        if self.profile.values > 0 {
            if op == Op::Write {
                self.memory[variable] = self.random.below(self.profile.values);
            }
            if self.random.percent(80) {
                let bits = Value::Bits(self.memory[variable] as u64);
                value = self.tables.values.intern(bits).expect("few values").cell();
            }
        }
        self.columns.set_last(flags, value);
    }

    /// Says what a variable held before its first event.
    fn tell_initial(&mut self, variable: usize) {
        let accesses = self.columns.ops.iter().zip(&self.columns.objects).filter(|(op, _)| op.is_access());
        if accesses.into_iter().all(|(_, &object)| object != variable as u32) {
            let value = self.tables.values.intern(Value::Bits(self.memory[variable] as u64)).expect("few values");
            self.tables.initial_values.set(variable, Some(value));
        }
    }

    /// A memory order that a load or store can have.
    fn order(&mut self, op: Op) -> MemoryOrder {
        use MemoryOrder::{Acquire, Consume, Relaxed, Release, SequentiallyConsistent};
        let orders = match op {
            Op::Read => [Relaxed, Acquire, Acquire, Consume, SequentiallyConsistent],
            _ => [Relaxed, Release, Release, Relaxed, SequentiallyConsistent],
        };
        *self.random.pick(&orders)
    }

    /// A read-modify-write: fetch-and-op, exchange, or compare-exchange that succeeds or fails.
    pub(super) fn update(&mut self, thread: usize) {
        let variable = self.random.below(self.profile.variables);
        let atomic = Flags::atomic(*self.random.pick(&MemoryOrder::ALL));
        let joined = atomic.with(Flags::JOINED);
        self.access(thread, Op::Read, variable, atomic);
        match self.random.below(4) {
            0 => self.access(thread, Op::Write, variable, joined),
            1 => self.access(thread, Op::Write, variable, joined.with(Flags::INDEPENDENT)),
            succeeds => {
                self.emit(thread, Op::Branch, NONE as usize);
                self.columns.set_last(Flags::JOINED, NONE);
                if succeeds == 2 {
                    self.access(thread, Op::Write, variable, joined);
                }
            }
        }
    }

    pub(super) fn fence(&mut self, thread: usize) {
        self.emit(thread, Op::Fence, NONE as usize);
        let order = *self.random.pick(&MemoryOrder::ALL);
        self.columns.set_last(Flags::atomic(order), NONE);
    }

    pub(super) fn branch(&mut self, thread: usize) {
        self.emit(thread, Op::Branch, NONE as usize);
        if self.profile.updates > 0 && self.random.percent(20) {
            self.columns.set_last(Flags::IMPLICIT, NONE);
        }
    }

    /// An attempt that fails, if one can fail now.
    pub(super) fn fail(&mut self, thread: usize) {
        if self.random.percent(70) {
            let lock = self.random.below(self.profile.locks);
            let shared = self.random.percent(30);
            let excludes = |&(l, s): &(usize, bool)| l == lock && !(shared && s);
            if self.holds.iter().flatten().any(excludes) {
                self.emit(thread, if shared { Op::FailedSharedAcquire } else { Op::FailedAcquire }, lock);
                self.columns.set_last(*self.random.pick(&[Flags::TRY, Flags::TIMED]), NONE);
            }
            return;
        }
        let condition = self.random.below(self.profile.conditions);
        let counts = matches!(self.conditions.kinds[condition], ConditionKind::Semaphore { .. } | ConditionKind::Token);
        if counts && self.conditions.counts[condition] == 0 {
            self.emit(thread, Op::FailedWait, condition);
            self.columns.set_last(*self.random.pick(&[Flags::TRY, Flags::TIMED]), NONE);
        }
    }

    pub(super) fn notify(&mut self, thread: usize, op: Op, condition: usize) {
        self.emit(thread, op, condition);
        self.conditions.notify(condition, thread, op == Op::NotifyAll);
    }

    pub(super) fn wait(&mut self, thread: usize) {
        let condition = self.random.below(self.profile.conditions);
        let is_variable = self.conditions.kinds[condition] == ConditionKind::Condition;
        if !is_variable && !self.conditions.can_wait(condition, thread) {
            return;
        }
        let top = self.holds[thread].last().copied();
        let released = match top.filter(|_| self.random.percent(50)) {
            Some((lock, false)) if self.holds[thread].iter().filter(|h| h.0 == lock).count() == 1 => {
                self.release_at(thread, self.holds[thread].len() - 1);
                Some(lock)
            }
            _ => None,
        };
        // Seldom does another thread notify by chance just while this one waits.
        if is_variable
            && self.random.percent(70)
            && let Some(other) = self.other_thread(thread, Life::Running)
        {
            let op = if self.random.percent(30) { Op::NotifyAll } else { Op::Notify };
            self.notify(other, op, condition);
        }
        if !is_variable || self.conditions.can_wait(condition, thread) {
            self.conditions.wait(condition, thread);
            self.emit(thread, Op::Wait, condition);
        }
        if let Some(lock) = released {
            self.emit(thread, Op::Acquire, lock);
            self.holds[thread].push((lock, false));
        }
    }
}
