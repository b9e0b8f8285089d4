//! Well-formedness: the rules of locks, threads and conditions that every trace must keep.
//!
//! One pass, one step an event. A step that breaks a rule leaves the state as it was, so that a caller may drop the event
//! and continue (an event joined to a dropped one breaks a rule as well); [`repair`] does just that and counts what it
//! dropped. `begin` and `end` are marks: a recorder may write them early, late or twice.

use crate::event::Event;
use crate::flags::Flags;
use crate::holds::{Hold, Holds, Mode};
use crate::id::{CondId, EventId, LockId, NONE, ThreadId};
use crate::kinds::ConditionKind;
use crate::names::Tables;
use crate::op::Op;
use crate::pairing::Pairing;
pub use crate::rules::{Rule, Violation};
use crate::trace::Trace;

/// A thread that is forked but has no events, and one that has events but is not forked and whose name differs only in letters
/// (`124` and `T124`): the trace probably means one thread.
pub fn unmatched_fork(trace: &Trace) -> Option<(&str, &str)> {
    let tables = trace.tables();
    let mut forked = vec![false; tables.threads.len()];
    let mut runs = forked.clone();
    for (_, event) in trace.events() {
        runs[event.thread.index()] = true;
        if let (Op::Fork, Some(child)) = (event.op, event.child()) {
            forked[child.index()] = true;
        }
    }
    let digits = |name: &'_ str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let names = || tables.threads.iter().enumerate();
    let running: std::collections::HashMap<String, &str> = names()
        .filter(|&(at, _)| runs[at] && !forked[at])
        .map(|(_, name)| (digits(name), name))
        .filter(|(digits, _)| !digits.is_empty())
        .collect();
    names()
        .filter(|&(at, _)| forked[at] && !runs[at])
        .find_map(|(_, name)| running.get(&digits(name)).map(|running| (name, *running)))
}

/// What a well-formed step means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The event takes part in reorderings: it is neither a mark nor a re-entrant lock operation.
    pub relevant: bool,
    /// For a release that closes a section, its acquire; for a wait, the notify that served it (`None`: the initial count);
    /// for a failed acquire, the acquire of a section that was in its way.
    pub partner: Option<EventId>,
}

const PLAIN: Step = Step { relevant: true, partner: None };
const INERT: Step = Step { relevant: false, partner: None };

#[derive(Clone, Copy)]
struct Life {
    first: u32,
    /// The latest event that takes part in reorderings.
    latest: u32,
    forked: u32,
    joined: u32,
}

const UNSEEN: Life = Life { first: NONE, latest: NONE, forked: NONE, joined: NONE };

/// Checks events one by one against the rules.
#[derive(Default)]
pub struct Validator {
    holds: Holds,
    lives: Vec<Life>,
    pairing: Pairing,
    /// Who closed the latest section of each lock, and where.
    released: Vec<Option<(ThreadId, EventId)>>,
    /// The latest event but for marks; `None` after one of the same thread that broke a rule.
    previous: Option<(ThreadId, EventId)>,
    last_of: Option<Vec<u32>>,
}

impl Validator {
    /// A validator that sees events as they come.
    pub fn new() -> Self {
        Self::default()
    }

    /// A validator that knows the whole trace and so can blame a join of an unfinished thread on the join.
    pub fn for_trace(trace: &Trace) -> Self {
        let mut last_of = vec![NONE; trace.tables().threads.len()];
        for (i, (&thread, op)) in trace.columns().threads.iter().zip(&trace.columns().ops).enumerate() {
            if !op.is_mark() {
                last_of[thread as usize] = i as u32;
            }
        }
        Validator { last_of: Some(last_of), ..Self::default() }
    }

    /// How the waits so far were paired with notifies.
    pub fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// Checks and takes the next event; on an error nothing is taken.
    #[inline]
    pub fn step(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<Step, Violation> {
        let plain = event.flags == Flags::NONE && event.value.is_none() && event.op != Op::Fence;
        if plain && let Some(step) = self.plain_lock(id, event) {
            return Ok(step);
        }
        if event.op.is_mark() && plain {
            return Ok(INERT);
        }
        let step = self.checked(tables, id, event, plain);
        if step.is_err() && self.previous.is_some_and(|(thread, _)| thread == event.thread) {
            self.previous = None;
        }
        step
    }

    /// The most frequent events that are checked, in a few instructions: a thread that runs takes a free lock, or gives one up. `None` for
    /// anything else, and then nothing is taken.
    #[inline]
    fn plain_lock(&mut self, id: EventId, event: &Event) -> Option<Step> {
        let (thread, lock) = (event.thread, LockId::from_cell(event.object)?);
        let life = self.lives.get_mut(thread.index()).filter(|life| life.joined == NONE && life.first != NONE)?;
        let partner = match event.op {
            Op::Acquire if self.holds.take_free(thread, lock, id) => None,
            Op::Release => {
                let released = self.released.get_mut(lock.index())?;
                let acquire = self.holds.give_up(thread, lock)?;
                *released = Some((thread, id));
                Some(acquire)
            }
            _ => return None,
        };
        life.latest = id.cell();
        self.previous = Some((thread, id));
        Some(Step { relevant: true, partner })
    }

    #[inline]
    fn checked(&mut self, tables: &Tables, id: EventId, event: &Event, plain: bool) -> Result<Step, Violation> {
        let joined = self.life(event.thread).joined;
        if joined != NONE {
            return Err(self.after_join(tables, id, event, joined));
        }
        if !plain {
            self.check_properties(tables, id, event)?;
        }
        let step = match event.op {
            Op::Read | Op::Write | Op::Branch | Op::Fence => PLAIN,
            _ => self.step_sync(tables, id, event)?,
        };
        self.previous = Some((event.thread, id));
        let life = self.life(event.thread);
        if life.first == NONE {
            life.first = id.cell();
        }
        if step.relevant {
            life.latest = id.cell();
        }
        Ok(step)
    }

    #[inline(always)]
    fn step_sync(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<Step, Violation> {
        if let Some(lock) = event.lock() {
            return self.step_lock(tables, id, event, lock);
        }
        if let Some(child) = event.child() {
            return self.step_thread(tables, id, event, child);
        }
        match event.condition() {
            Some(condition) => self.step_condition(tables, id, event, condition),
            None => Ok(PLAIN),
        }
    }

    #[inline(always)]
    fn step_lock(&mut self, tables: &Tables, id: EventId, event: &Event, lock: LockId) -> Result<Step, Violation> {
        let me = event.thread;
        let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
        if event.op.is_failed_attempt() {
            return self.step_failed(tables, id, event, lock, mode);
        }
        if event.op.is_acquire() {
            if let Some(hold) = self.holds.blocker(me, lock, mode) {
                return Err(held_by_another(tables, id, event, hold));
            }
            let relevant = self.holds.acquire(me, lock, mode, id);
            return Ok(Step { relevant, partner: None });
        }
        match self.holds.release(me, lock, mode) {
            Some((hold, true)) => {
                if self.released.len() <= lock.index() {
                    self.released.resize(lock.index() + 1, None);
                }
                self.released[lock.index()] = Some((me, id));
                Ok(Step { relevant: true, partner: Some(hold.acquire) })
            }
            Some((_, false)) => Ok(INERT),
            None => Err(self.not_held(tables, id, event, lock)),
        }
    }

    #[inline(never)]
    fn step_failed(
        &self,
        tables: &Tables,
        id: EventId,
        event: &Event,
        lock: LockId,
        mode: Mode,
    ) -> Result<Step, Violation> {
        // A thread can also be in its own way, but not with a reader's hold in that of a reader.
        let own = || match mode {
            Mode::Exclusive => self.holds.holder(lock),
            Mode::Shared => self.holds.writer(lock),
        };
        match self.holds.blocker(event.thread, lock, mode).or_else(own) {
            Some(hold) => Ok(Step { relevant: true, partner: Some(hold.acquire) }),
            None => Err(self.failed_for_no_reason(tables, id, event, lock)),
        }
    }

    #[inline(never)]
    fn step_thread(&mut self, tables: &Tables, id: EventId, event: &Event, child: ThreadId) -> Result<Step, Violation> {
        if let Some((rule, other)) = self.thread_clash(event, child) {
            let verb = if event.op == Op::Fork { "forks" } else { "joins" };
            let object = tables.thread(child);
            let what = match rule {
                Rule::ForkOfItself | Rule::JoinOfItself => "itself".to_string(),
                Rule::ForkTwice => format!("{object}, which was forked before"),
                Rule::ForkOfRunningThread => format!("{object}, which has run before"),
                Rule::ForkAfterJoin | Rule::JoinTwice => format!("{object}, which was joined before"),
                _ => format!("{object}, which runs on"),
            };
            let at = other.map_or(String::new(), |o| format!(" (event {o})"));
            let message = format!("{} {verb} {what}{at}", tables.thread(event.thread));
            return Err(Violation { rule, event: id, other, message });
        }
        let life = self.life(child);
        match event.op {
            Op::Fork => life.forked = id.cell(),
            _ => life.joined = id.cell(),
        }
        Ok(PLAIN)
    }

    #[inline(never)]
    fn step_condition(
        &mut self,
        tables: &Tables,
        id: EventId,
        event: &Event,
        condition: CondId,
    ) -> Result<Step, Violation> {
        let (me, kind) = (event.thread, tables.condition_kind(condition));
        match event.op {
            Op::Wait => {
                let began = self.wait_began(me);
                match self.pairing.wait(condition, kind, me, began) {
                    Some(served) => Ok(Step { relevant: true, partner: served.notify() }),
                    None => Err(wait_without_notify(tables, id, event, kind, began)),
                }
            }
            Op::FailedWait => match self.pairing.count(condition, kind) {
                Some(0) => Ok(PLAIN),
                count => {
                    let why = count.map_or("has no count".to_string(), |n| format!("had a count of {n}"));
                    let (thread, name) = (tables.thread(me), tables.object(event.op, event.object));
                    let other = self.pairing.first_waiting(condition);
                    let since = other.map_or(String::new(), |o| format!(" (event {o})"));
                    let message = format!("{thread} fails to wait for {name}, which {why}{since}");
                    Err(Violation { rule: Rule::FailedWaitOfPositiveCount, event: id, other, message })
                }
            },
            _ => {
                self.pairing.notify(condition, kind, me, id, event.op == Op::NotifyAll);
                Ok(PLAIN)
            }
        }
    }

    /// The event with which a wait of `thread` that returns now began: the previous one, or its fork.
    fn wait_began(&mut self, thread: ThreadId) -> Option<EventId> {
        let life = *self.life(thread);
        EventId::from_cell(life.latest).or(EventId::from_cell(life.forked))
    }

    /// Checks flags and value of an event against its operation and the events before.
    #[cold]
    fn check_properties(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<(), Violation> {
        let thread = tables.thread(event.thread);
        let blame = |message| Violation { rule: Rule::MisplacedProperty, event: id, other: None, message };
        let extra = event.flags.without(Flags::allowed(event.op));
        if extra != Flags::NONE {
            let words = extra.words().collect::<Vec<_>>().join(", ");
            return Err(blame(format!("`{}` of {thread} cannot be {words}", event.op.word())));
        }
        if event.value.is_some() && !event.op.is_access() {
            return Err(blame(format!("`{}` of {thread} cannot have a value", event.op.word())));
        }
        if event.op == Op::Fence && !event.flags.is_atomic() {
            return Err(blame(format!("the fence of {thread} has no memory order")));
        }
        if event.flags.is_joined() && self.previous.is_none_or(|(before, _)| before != event.thread) {
            let other = self.previous.map(|(_, at)| at);
            let at = self.previous.map_or("nothing of its thread comes".to_string(), |(before, at)| {
                format!("event {at} of {} comes", tables.thread(before))
            });
            let message = format!("`{}` of {thread} is joined to the event before, but {at} before", event.op.word());
            return Err(Violation { rule: Rule::JoinedStepInterrupted, event: id, other, message });
        }
        Ok(())
    }

    #[cold]
    fn not_held(&self, tables: &Tables, id: EventId, event: &Event, lock: LockId) -> Violation {
        let holder = self.holds.blocker(event.thread, lock, Mode::Exclusive);
        let released = self.released.get(lock.index()).copied().flatten();
        let whose = match (holder, released) {
            (Some(hold), _) => format!("; {} holds it since event {}", tables.thread(hold.thread), hold.acquire),
            (None, Some((thread, at))) => format!("; {} released it last (event {at})", tables.thread(thread)),
            (None, None) => String::new(),
        };
        let how = if event.op.is_shared() { " as a reader" } else { "" };
        let (thread, name) = (tables.thread(event.thread), tables.object(event.op, event.object));
        let message = format!("{thread} releases lock {name}, which it does not hold{how}{whose}");
        let other = holder.map(|h| h.acquire).or(released.map(|(_, at)| at));
        Violation { rule: Rule::ReleaseWithoutAcquire, event: id, other, message }
    }

    #[cold]
    fn failed_for_no_reason(&self, tables: &Tables, id: EventId, event: &Event, lock: LockId) -> Violation {
        let released = self.released.get(lock.index()).copied().flatten();
        let since = released
            .map_or(String::new(), |(thread, at)| format!("; {} released it last (event {at})", tables.thread(thread)));
        let how = if event.op.is_shared() { " exclusively" } else { "" };
        let (thread, name) = (tables.thread(event.thread), tables.object(event.op, event.object));
        let message = format!("{thread} fails to acquire lock {name}, which no thread in its way holds{how}{since}");
        let other = released.map(|(_, at)| at);
        Violation { rule: Rule::FailedAcquireOfFreeLock, event: id, other, message }
    }

    fn thread_clash(&mut self, event: &Event, child: ThreadId) -> Option<(Rule, Option<EventId>)> {
        let life = *self.life(child);
        let at = EventId::from_cell;
        if event.op == Op::Fork {
            if child == event.thread {
                Some((Rule::ForkOfItself, None))
            } else if life.forked != NONE {
                Some((Rule::ForkTwice, at(life.forked)))
            } else if life.joined != NONE {
                Some((Rule::ForkAfterJoin, at(life.joined)))
            } else if life.first != NONE {
                Some((Rule::ForkOfRunningThread, at(life.first)))
            } else {
                None
            }
        } else if child == event.thread {
            Some((Rule::JoinOfItself, None))
        } else if life.joined != NONE {
            Some((Rule::JoinTwice, at(life.joined)))
        } else {
            None
        }
    }

    #[cold]
    fn after_join(&self, tables: &Tables, id: EventId, event: &Event, joined: u32) -> Violation {
        let other = EventId::from_cell(joined);
        let message =
            format!("{} runs on after it was joined (event {})", tables.thread(event.thread), u64::from(joined) + 1);
        Violation { rule: Rule::EventAfterJoin, event: id, other, message }
    }

    /// In a validator that knows the whole trace: the violation of a join whose thread has events after it.
    fn unfinished(&self, tables: &Tables, id: EventId, event: &Event) -> Option<Violation> {
        let child = event.child().filter(|_| event.op == Op::Join)?;
        let last = *self.last_of.as_ref()?.get(child.index())?;
        if last == NONE || last < id.cell() || child == event.thread {
            return None;
        }
        let other = EventId::from_cell(last);
        let message = format!(
            "{} joins {}, which runs on (until event {})",
            tables.thread(event.thread),
            tables.thread(child),
            u64::from(last) + 1
        );
        Some(Violation { rule: Rule::JoinOfUnfinishedThread, event: id, other, message })
    }

    /// [`Self::step`] for a validator made by [`Self::for_trace`]: a join of an unfinished thread is the join's fault.
    pub fn step_in_trace(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<Step, Violation> {
        match self.unfinished(tables, id, event) {
            Some(violation) => Err(violation),
            None => self.step(tables, id, event),
        }
    }

    #[inline]
    fn life(&mut self, thread: ThreadId) -> &mut Life {
        if self.lives.len() <= thread.index() {
            self.lives.resize(thread.index() + 1, UNSEEN);
        }
        &mut self.lives[thread.index()]
    }
}

#[cold]
fn held_by_another(tables: &Tables, id: EventId, event: &Event, hold: Hold) -> Violation {
    let message = format!(
        "{} acquires lock {}, which {} holds since event {}",
        tables.thread(event.thread),
        tables.object(event.op, event.object),
        tables.thread(hold.thread),
        hold.acquire
    );
    Violation { rule: Rule::AcquireOfHeldLock, event: id, other: Some(hold.acquire), message }
}

#[cold]
fn wait_without_notify(
    tables: &Tables,
    id: EventId,
    event: &Event,
    kind: ConditionKind,
    began: Option<EventId>,
) -> Violation {
    let (why, other) = match (kind, began) {
        (ConditionKind::Condition, Some(began)) => {
            (format!("for which no notify is left since the wait began (event {began})"), Some(began))
        }
        (ConditionKind::Semaphore { .. }, _) => ("whose count is 0".to_string(), None),
        (ConditionKind::Token, _) => ("which is not set".to_string(), None),
        _ => ("which no other thread has notified".to_string(), None),
    };
    let (thread, name) = (tables.thread(event.thread), tables.object(event.op, event.object));
    let message = format!("{thread} returns from waiting on {name}, {why}");
    Violation { rule: Rule::WaitWithoutNotify, event: id, other, message }
}

/// What [`repair`] dropped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repaired {
    /// How many events were dropped, by rule; rules that were kept do not appear.
    pub dropped: Vec<(Rule, u64)>,
    /// The first violation of each rule, as a message with event numbers of the trace before the repair.
    pub first: Vec<Violation>,
}

impl Repaired {
    /// How many events were dropped in all.
    pub fn total(&self) -> u64 {
        self.dropped.iter().map(|(_, n)| n).sum()
    }
}

/// Drops every event that breaks a rule and says how many by rule. Event numbers change if anything is dropped.
pub fn repair(trace: Trace) -> (Trace, Repaired) {
    let mut validator = Validator::for_trace(&trace);
    let mut kept = crate::columns::Columns::default();
    let mut repaired = Repaired::default();
    for (id, event) in trace.events() {
        match validator.step_in_trace(trace.tables(), id, &event) {
            Ok(_) => kept.push(event),
            Err(violation) => match repaired.dropped.iter_mut().find(|(rule, _)| *rule == violation.rule) {
                Some((_, count)) => *count += 1,
                None => {
                    repaired.dropped.push((violation.rule, 1));
                    repaired.first.push(violation);
                }
            },
        }
    }
    repaired.dropped.sort();
    if repaired.total() == 0 {
        return (trace, repaired);
    }
    (Trace::from_parts(kept, trace.into_parts().1), repaired)
}
