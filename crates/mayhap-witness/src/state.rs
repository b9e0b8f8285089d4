//! What a schedule has led to, and the rules of its steps.
//!
//! The state: how far each thread has run, the last write of each variable and whether it is *clean*, which threads are
//! *changed*, who holds each lock, and what each condition has left for its waits. The rules, for an event of thread `t`:
//!
//! | event | may run if | effect |
//! |---|---|---|
//! | every event | it is the next of `t`; the fork of `t` has run; no other event is joined to the last step | – |
//! | write | – | clean if `t` is not changed, or the value is a constant, or it is independent of its step and `t` was not changed before that step |
//! | read | – | *same* if the last write is clean and is the observed one or of an equal value (models that compare values); otherwise `t` is changed |
//! | acquire | no other thread holds the lock (readers share) | – |
//! | failed acquire | it fails here too: another thread or `t` itself holds the lock; of a shared attempt: holds it alone | – |
//! | fork, join | join: the thread has finished | the child starts changed if `t` is; `t` becomes changed if the joined thread is |
//! | wait | fixed pairs: its notify has run; condition variable: an unused notify ran since the wait began; semaphore: the count is positive; token: it is set | uses the notify, the count, the token |
//! | failed wait | it fails here too: there is nothing to take from the semaphore or token | – |
//! | branch | `t` is not changed, or the model is `sync` | – |
//!
//! In `data` and `value` a read that is not same may not run, except for reads that the target leaves free; a thread that is
//! changed by one runs nothing more. In `sync` failed attempts run anywhere.

use std::sync::OnceLock;

use mayhap_trace::{
    CondId, ConditionKind, Event, EventId, Execution, Flags, NONE, ObjectKind, Op, Relations, ThreadId, Trace, VarId,
};

use crate::writes::Writes;
use crate::{KnownValues, Model, Why};

/// Who holds a lock.
#[derive(Clone, Default)]
pub(crate) struct LockState {
    pub(crate) owner: Option<ThreadId>,
    pub(crate) readers: Vec<ThreadId>,
}

/// What lies in a variable.
#[derive(Clone, Copy)]
pub(crate) struct LastWrite {
    /// The cell of the write, [`NONE`] for the initial value.
    write: u32,
    /// The value is certainly the one that the write stored in the observed run.
    clean: bool,
}

impl LastWrite {
    const INITIAL: LastWrite = LastWrite { write: NONE, clean: true };
    /// What the observed run had written where the state begins. The initial value is always clean, so nothing else is this.
    const OBSERVED: LastWrite = LastWrite { write: NONE, clean: false };

    pub(crate) fn event(self) -> Option<EventId> {
        EventId::from_cell(self.write)
    }

    fn is_observed(self) -> bool {
        self.write == NONE && !self.clean
    }

    pub(crate) fn is_clean(self) -> bool {
        self.clean
    }
}

/// A notify of a condition variable.
#[derive(Clone, Copy)]
pub(crate) struct Notify {
    event: EventId,
    /// It wakes any number of waits.
    pub(crate) all: bool,
    pub(crate) used: bool,
}

/// What a condition has for its waits.
#[derive(Clone, Default)]
pub(crate) struct ConditionState {
    /// Of a semaphore: notifies less waits. Of a token: 1 if it is set.
    pub(crate) count: i64,
    /// Of a condition variable: its notifies in the order in which they ran.
    pub(crate) notifies: Vec<Notify>,
}

/// What a schedule has led to.
pub(crate) struct State {
    /// The state begins where the relevant events before this place of the trace have run in observed order.
    begin: usize,
    /// The last write of each variable since the beginning.
    last_write: Vec<LastWrite>,
    /// Events run, per thread.
    pub(crate) done: Vec<u32>,
    /// Per thread, the event by which it became changed.
    pub(crate) changed: Vec<Option<EventId>>,
    pub(crate) locks: Vec<LockState>,
    pub(crate) conditions: Vec<ConditionState>,
    /// Per thread that is about to wait for a condition variable, how many of its notifies ran before the wait began.
    pub(crate) began: Vec<u32>,
    /// The waits for condition variables that ran, each with its notify's place in the list of its condition.
    pub(crate) woken: Vec<(EventId, u32)>,
    /// The event that is joined to the last one, and so must run next.
    pub(crate) joined: Option<EventId>,
    /// The thread of the current step was changed before the step.
    pub(crate) changed_before: bool,
}

impl State {
    pub(crate) fn new(trace: &Trace) -> Self {
        let tables = trace.tables();
        let threads = tables.threads.len();
        State {
            begin: 0,
            done: vec![0; threads],
            changed: vec![None; threads],
            locks: vec![LockState::default(); tables.locks.len()],
            last_write: vec![LastWrite::OBSERVED; tables.variables.len()],
            conditions: vec![ConditionState::default(); tables.conditions.len()],
            began: vec![0; threads],
            woken: Vec::new(),
            joined: None,
            changed_before: false,
        }
    }

    /// What [`State::saved`] takes.
    pub(crate) fn bytes(&self) -> usize {
        self.done.len() * size_of::<(u32, Option<EventId>, u32)>()
            + self.locks.len() * size_of::<LockState>()
            + self.conditions.iter().map(|c| size_of_val(c) + c.notifies.len() * size_of::<Notify>()).sum::<usize>()
            + self.woken.len() * size_of::<(EventId, u32)>()
    }

    /// The relevant events before a place of the trace, and no others, have run in observed order, and no thread is changed. Returns
    /// the state from there on: what lies in the variables is in the trace.
    pub(crate) fn saved(&self, place: usize) -> State {
        State {
            begin: place,
            done: self.done.clone(),
            changed: self.changed.clone(),
            locks: self.locks.clone(),
            last_write: Vec::new(),
            conditions: self.conditions.clone(),
            began: self.began.clone(),
            woken: self.woken.clone(),
            joined: self.joined,
            changed_before: self.changed_before,
        }
    }

    /// Makes the empty schedule's state a saved one.
    pub(crate) fn restore(&mut self, saved: &State) {
        self.begin = saved.begin;
        self.done.clone_from(&saved.done);
        self.changed.clone_from(&saved.changed);
        self.locks.clone_from(&saved.locks);
        self.conditions.clone_from(&saved.conditions);
        self.began.clone_from(&saved.began);
        self.woken.clone_from(&saved.woken);
        self.joined = saved.joined;
        self.changed_before = saved.changed_before;
    }

    /// Makes the state that of the empty schedule. Only these events have run since it began.
    pub(crate) fn clear(&mut self, trace: &Trace, since: impl Iterator<Item = EventId>) {
        if self.begin > 0 {
            self.locks.fill(LockState::default());
            self.conditions.fill(ConditionState::default());
        }
        self.clear_after(trace, since);
        self.begin = 0;
    }

    fn clear_threads(&mut self) {
        self.done.fill(0);
        self.changed.fill(None);
        self.began.fill(0);
        self.woken.clear();
        self.joined = None;
        self.changed_before = false;
    }

    fn clear_after(&mut self, trace: &Trace, events: impl Iterator<Item = EventId>) {
        let columns = trace.columns();
        for id in events.filter(|id| id.index() < trace.len()) {
            let object = columns.objects[id.index()] as usize;
            match columns.ops[id.index()].names() {
                ObjectKind::Variable => self.last_write[object] = LastWrite::OBSERVED,
                ObjectKind::Lock => self.locks[object] = LockState::default(),
                ObjectKind::Condition => self.conditions[object] = ConditionState::default(),
                ObjectKind::Thread | ObjectKind::Nothing => {}
            }
        }
        self.clear_threads();
    }

    /// What lies in a variable, as far as it was written since the beginning.
    pub(crate) fn written(&self, variable: usize) -> LastWrite {
        self.last_write[variable]
    }

    /// Takes back a write: what was there before.
    pub(crate) fn unwrite(&mut self, variable: usize, before: LastWrite) {
        self.last_write[variable] = before;
    }

    /// The notify that a wait for a condition variable took.
    pub(crate) fn notify_of(&self, condition: CondId, place: u32) -> EventId {
        self.conditions[condition.index()].notifies[place as usize].event
    }
}

/// The rules of one trace.
pub(crate) struct Rules<'a> {
    pub(crate) execution: &'a Execution<'a>,
    pub(crate) trace: &'a Trace,
    pub(crate) relations: &'a Relations,
    values: OnceLock<KnownValues>,
    writes: OnceLock<Writes>,
    /// A step depends on the event that comes after it in its thread: some may be joined, or wait for a condition variable.
    looks_ahead: bool,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(execution: &'a Execution<'a>) -> Self {
        let (trace, relations) = execution.parts();
        let variables = |(_, kind): (usize, ConditionKind)| kind == ConditionKind::Condition;
        let looks_ahead = !trace.columns().flags.is_empty() || trace.tables().condition_kinds.iter().any(variables);
        Rules { execution, trace, relations, values: OnceLock::new(), writes: OnceLock::new(), looks_ahead }
    }

    /// Runs one event, or says which rule forbids it and leaves the state as it was. In `data` and `value` only `free`
    /// reads may see something else than observed.
    pub(crate) fn step(
        &self,
        state: &mut State,
        model: Model,
        free: &[Option<EventId>; 2],
        id: EventId,
    ) -> Result<(), Why> {
        if id.index() >= self.trace.len() {
            return Err(Why::NoSuchEvent);
        }
        if !self.relations.is_relevant(id) {
            return Err(Why::NotSchedulable);
        }
        let columns = self.trace.columns();
        let (thread, op, object) = (columns.threads[id.index()], columns.ops[id.index()], columns.objects[id.index()]);
        let event = Event::new(ThreadId::at(thread as usize), op, object, None);
        let me = event.thread;
        let rank = self.relations.rank(id);
        if rank != state.done[me.index()] as usize {
            return Err(Why::NotNext(self.next(state, me).filter(|_| !self.has_run(state, id))));
        }
        // A thread that has run has been forked.
        if rank == 0
            && let Some(fork) = self.unstarted(state, me)
        {
            return Err(Why::NotForked(fork));
        }
        if let Some(joined) = state.joined.filter(|&joined| joined != id) {
            return Err(Why::SplitsStep(joined));
        }
        let changed = state.changed[me.index()];
        if let Some(cause) = changed.filter(|_| is_strict(model)) {
            return Err(Why::GoesOnAfterChangedRead(cause));
        }
        let begins_step = state.joined.is_none();
        let before = if begins_step { changed.is_some() } else { state.changed_before };
        match op {
            Op::Read => self.read(state, model, free, id, &event)?,
            Op::Write => {
                let clean = changed.is_none() || stores_the_same(columns.flags_at(id.index()), before);
                state.last_write[object as usize] = LastWrite { write: id.cell(), clean };
            }
            Op::Branch => {
                if let Some(cause) = changed.filter(|_| model.allows_change()) {
                    return Err(Why::BranchAfterChangedRead(cause));
                }
            }
            _ => self.synchronise(state, model, id, &event)?,
        }
        state.done[me.index()] += 1;
        if self.looks_ahead {
            state.changed_before = before;
            let joined = |next: &EventId| columns.flags_at(next.index()).is_joined();
            state.joined = self.next(state, me).filter(joined);
            self.begin_wait(state, me);
        }
        Ok(())
    }

    #[inline]
    fn read(
        &self,
        state: &mut State,
        model: Model,
        free: &[Option<EventId>; 2],
        id: EventId,
        event: &Event,
    ) -> Result<(), Why> {
        if self.is_same(state, model, id, event) {
            return Ok(());
        }
        if is_strict(model) && !free.contains(&Some(id)) {
            let here = self.last_write(state, event.object as usize).event();
            return Err(Why::WrongWrite { observed: self.relations.read_from(id), here });
        }
        state.changed[event.thread.index()].get_or_insert(id);
        Ok(())
    }

    /// Locks, threads and conditions.
    fn synchronise(&self, state: &mut State, model: Model, id: EventId, event: &Event) -> Result<(), Why> {
        let (me, object) = (event.thread, event.object as usize);
        match event.op {
            Op::Acquire | Op::SharedAcquire => {
                if let Some(holder) = self.blocker(state, event) {
                    return Err(Why::LockHeld(holder, self.trace.tables().thread(holder).to_string()));
                }
                match event.op {
                    Op::Acquire => state.locks[object].owner = Some(me),
                    _ => state.locks[object].readers.push(me),
                }
            }
            Op::Release => state.locks[object].owner = None,
            Op::SharedRelease => state.locks[object].readers.retain(|&t| t != me),
            Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait => {
                // One that succeeds takes what it tried to take, which no event of the trace stands for.
                if model != Model::Sync && !self.would_fail(state, event) {
                    return Err(Why::AttemptMaySucceed);
                }
            }
            Op::Fork => {
                state.changed[object] = state.changed[me.index()];
                self.begin_wait(state, ThreadId::at(object));
            }
            Op::Join => {
                let child = ThreadId::at(object);
                if let Some(missing) = self.unstarted(state, child).or(self.next(state, child)) {
                    return Err(Why::NotFinished(missing));
                }
                state.changed[me.index()] = state.changed[me.index()].or(state.changed[object]);
            }
            Op::Wait => self.wait(state, id, event)?,
            Op::Notify | Op::NotifyAll => self.notify(state, id, event),
            Op::Read | Op::Write | Op::Branch | Op::Fence | Op::Begin | Op::End | Op::Try => {}
        }
        Ok(())
    }

    /// The read certainly returns what it returned in the observed run.
    #[inline]
    fn is_same(&self, state: &State, model: Model, read: EventId, event: &Event) -> bool {
        let here = self.last_write(state, event.object as usize);
        if !here.clean {
            return false;
        }
        let write = here.event();
        write == self.relations.read_from(read) || (model.compares_values() && self.is_equal(read, event, write))
    }

    /// The write is known to have stored the value that the read returned in the observed run.
    fn is_equal(&self, read: EventId, event: &Event, write: Option<EventId>) -> bool {
        let values = self.values.get_or_init(|| KnownValues::new(self.execution));
        let stored = values.written(self.trace, VarId::at(event.object as usize), write);
        stored.is_some() && stored == values.returned(self.execution, read)
    }

    /// A thread that keeps this one from taking the lock.
    fn blocker(&self, state: &State, event: &Event) -> Option<ThreadId> {
        let lock = &state.locks[event.object as usize];
        let other = |&holder: &ThreadId| holder != event.thread;
        let reader = || lock.readers.iter().copied().find(other).filter(|_| event.op == Op::Acquire);
        lock.owner.filter(other).or_else(reader)
    }

    /// The attempt certainly fails here, as it did in the observed run.
    fn would_fail(&self, state: &State, event: &Event) -> bool {
        let object = event.object as usize;
        match event.op {
            Op::FailedAcquire => state.locks[object].owner.is_some() || !state.locks[object].readers.is_empty(),
            Op::FailedSharedAcquire => state.locks[object].owner.is_some(),
            _ => match self.kind(event) {
                ConditionKind::Semaphore { initial } => i64::from(initial) + state.conditions[object].count == 0,
                ConditionKind::Token => state.conditions[object].count == 0,
                // A timed wait for anything else may time out at any time.
                _ => true,
            },
        }
    }

    pub(crate) fn kind(&self, event: &Event) -> ConditionKind {
        self.trace.tables().condition_kinds.get(event.object as usize)
    }

    fn wait(&self, state: &mut State, id: EventId, event: &Event) -> Result<(), Why> {
        let condition = &mut state.conditions[event.object as usize];
        match self.kind(event) {
            ConditionKind::Condition => {
                let from = state.began[event.thread.index()] as usize;
                let left = condition.notifies.iter().skip(from).position(|n| n.all || !n.used).ok_or(Why::NoWakeUp)?;
                condition.notifies[from + left].used = true;
                state.woken.push((id, (from + left) as u32));
            }
            ConditionKind::Semaphore { initial } if i64::from(initial) + condition.count > 0 => condition.count -= 1,
            ConditionKind::Token if condition.count > 0 => condition.count = 0,
            ConditionKind::Semaphore { .. } | ConditionKind::Token => return Err(Why::NothingToTake),
            _ => {
                if let Some(notify) = self.relations.notify_of(id).filter(|&n| !self.has_run(state, n)) {
                    return Err(Why::NotNotified(notify));
                }
            }
        }
        Ok(())
    }

    fn notify(&self, state: &mut State, id: EventId, event: &Event) {
        let condition = &mut state.conditions[event.object as usize];
        match self.kind(event) {
            ConditionKind::Condition => {
                condition.notifies.push(Notify { event: id, all: event.op == Op::NotifyAll, used: false });
            }
            ConditionKind::Semaphore { .. } => condition.count += 1,
            ConditionKind::Token => condition.count = 1,
            _ => {}
        }
    }

    /// If the thread waits for a condition variable next, its wait begins now.
    fn begin_wait(&self, state: &mut State, thread: ThreadId) {
        let Some(next) = self.next(state, thread).filter(|_| self.looks_ahead) else { return };
        let columns = self.trace.columns();
        if columns.ops[next.index()] == Op::Wait {
            let condition = &state.conditions[columns.objects[next.index()] as usize];
            state.began[thread.index()] = condition.notifies.len() as u32;
        }
    }

    /// What lies in a variable.
    #[inline]
    pub(crate) fn last_write(&self, state: &State, variable: usize) -> LastWrite {
        let written = state.last_write[variable];
        if !written.is_observed() {
            return written;
        }
        if state.begin == 0 {
            return LastWrite::INITIAL;
        }
        let writes = self.writes.get_or_init(|| Writes::new(self.execution));
        writes.last_before(variable, state.begin).map_or(LastWrite::INITIAL, |write| LastWrite { write, clean: true })
    }

    /// Returns the next event of a thread.
    #[inline]
    pub(crate) fn next(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        self.relations.thread_events(thread).get(state.done[thread.index()] as usize).copied()
    }

    #[inline]
    pub(crate) fn has_run(&self, state: &State, event: EventId) -> bool {
        let thread = self.trace.columns().threads[event.index()];
        self.relations.rank(event) < state.done[thread as usize] as usize
    }

    /// The fork that a thread still waits for before its first event.
    pub(crate) fn unstarted(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        self.relations.fork_of(thread).filter(|&fork| !self.has_run(state, fork))
    }
}

/// No thread may be changed but by a free read.
#[inline]
fn is_strict(model: Model) -> bool {
    matches!(model, Model::Data | Model::Value)
}

/// A write of a changed thread stores the value that it stored in the observed run. `before`: the thread was changed before
/// the step that the write belongs to.
fn stores_the_same(flags: Flags, before: bool) -> bool {
    flags.has(Flags::CONSTANT) || (flags.has(Flags::INDEPENDENT) && !before)
}
