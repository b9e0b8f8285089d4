//! Well-formedness: the rules of locks, threads and conditions that every trace must keep.
//!
//! One pass, one step an event. A step that breaks a rule leaves the state as it was, so that a caller may drop the event
//! and go on; [`repair`] does just that and counts what it dropped. `begin` and `end` are marks: a recorder may write
//! them early, late or twice.

use std::fmt;

use crate::event::{Event, Op};
use crate::holds::{Holds, Mode};
use crate::id::{CondId, EventId, NONE, ThreadId};
use crate::names::Tables;
use crate::trace::Trace;

/// A rule of well-formedness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// A lock is acquired while another thread holds it.
    AcquireOfHeldLock,
    /// A lock is released by a thread that does not hold it.
    ReleaseWithoutAcquire,
    /// A thread forks itself.
    ForkOfItself,
    /// A thread is forked a second time.
    ForkTwice,
    /// A thread is forked that has already run.
    ForkOfRunningThread,
    /// A thread is forked that was joined before.
    ForkAfterJoin,
    /// A thread joins itself.
    JoinOfItself,
    /// A thread is joined a second time.
    JoinTwice,
    /// A thread is joined that runs on later.
    JoinOfUnfinishedThread,
    /// A thread runs on after it was joined.
    EventAfterJoin,
    /// A wait returns though no other thread has notified its condition.
    WaitWithoutNotify,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 11] = [
        Rule::AcquireOfHeldLock,
        Rule::ReleaseWithoutAcquire,
        Rule::ForkOfItself,
        Rule::ForkTwice,
        Rule::ForkOfRunningThread,
        Rule::ForkAfterJoin,
        Rule::JoinOfItself,
        Rule::JoinTwice,
        Rule::JoinOfUnfinishedThread,
        Rule::EventAfterJoin,
        Rule::WaitWithoutNotify,
    ];

    /// The rule's name in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rule::AcquireOfHeldLock => "acquire-of-held-lock",
            Rule::ReleaseWithoutAcquire => "release-without-acquire",
            Rule::ForkOfItself => "fork-of-itself",
            Rule::ForkTwice => "fork-twice",
            Rule::ForkOfRunningThread => "fork-of-running-thread",
            Rule::ForkAfterJoin => "fork-after-join",
            Rule::JoinOfItself => "join-of-itself",
            Rule::JoinTwice => "join-twice",
            Rule::JoinOfUnfinishedThread => "join-of-unfinished-thread",
            Rule::EventAfterJoin => "event-after-join",
            Rule::WaitWithoutNotify => "wait-without-notify",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A broken rule, with both events that break it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The event that breaks it.
    pub event: EventId,
    /// The event it clashes with, where there is one.
    pub other: Option<EventId>,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {} [rule {}]", self.event, self.message, self.rule)
    }
}

impl std::error::Error for Violation {}

/// What a well-formed step means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The event takes part in reorderings: it is neither a mark nor a re-entrant lock operation.
    pub relevant: bool,
    /// For a release that closes a section, its acquire; for a wait, its notify.
    pub partner: Option<EventId>,
}

const PLAIN: Step = Step { relevant: true, partner: None };
const INERT: Step = Step { relevant: false, partner: None };

#[derive(Clone, Copy)]
struct Life {
    first: u32,
    forked: u32,
    joined: u32,
}

const UNSEEN: Life = Life { first: NONE, forked: NONE, joined: NONE };

/// The two latest notifies of a condition that come from different threads, newest first.
#[derive(Clone, Copy, Default)]
struct Notifies([Option<(ThreadId, EventId)>; 2]);

/// Checks events one by one against the rules.
#[derive(Default)]
pub struct Validator {
    holds: Holds,
    lives: Vec<Life>,
    notifies: Vec<Notifies>,
    /// Who closed the latest section of each lock, and where.
    released: Vec<Option<(ThreadId, EventId)>>,
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

    /// Checks and takes the next event; on an error nothing is taken.
    #[inline]
    pub fn step(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<Step, Violation> {
        if event.op.is_mark() {
            return Ok(INERT);
        }
        let joined = self.life(event.thread).joined;
        if joined != NONE {
            return Err(self.after_join(tables, id, event, joined));
        }
        let step = match event.op {
            Op::Read | Op::Write | Op::Branch => PLAIN,
            _ => self.step_sync(tables, id, event)?,
        };
        let life = self.life(event.thread);
        if life.first == NONE {
            life.first = id.cell();
        }
        Ok(step)
    }

    fn step_sync(&mut self, tables: &Tables, id: EventId, event: &Event) -> Result<Step, Violation> {
        let blame = |rule, other: Option<EventId>, message: String| Violation { rule, event: id, other, message };
        let me = event.thread;
        let name = |t: ThreadId| tables.thread(t);
        let object = || tables.object(event.op, event.object);
        if let Some(lock) = event.lock() {
            let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
            if event.op.is_acquire() {
                if let Some(hold) = self.holds.blocker(me, lock, mode) {
                    let message = format!(
                        "{} acquires lock {}, which {} holds since event {}",
                        name(me),
                        object(),
                        name(hold.thread),
                        hold.acquire
                    );
                    return Err(blame(Rule::AcquireOfHeldLock, Some(hold.acquire), message));
                }
                let relevant = self.holds.acquire(me, lock, mode, id);
                return Ok(Step { relevant, partner: None });
            }
            return match self.holds.release(me, lock, mode) {
                Some((hold, true)) => {
                    if self.released.len() <= lock.index() {
                        self.released.resize(lock.index() + 1, None);
                    }
                    self.released[lock.index()] = Some((me, id));
                    Ok(Step { relevant: true, partner: Some(hold.acquire) })
                }
                Some((_, false)) => Ok(INERT),
                None => {
                    let holder = self.holds.blocker(me, lock, Mode::Exclusive);
                    let released = self.released.get(lock.index()).copied().flatten();
                    let whose = match (holder, released) {
                        (Some(hold), _) => format!("; {} holds it since event {}", name(hold.thread), hold.acquire),
                        (None, Some((thread, at))) => format!("; {} released it last (event {at})", name(thread)),
                        (None, None) => String::new(),
                    };
                    let how = if mode == Mode::Shared { " as a reader" } else { "" };
                    let message =
                        format!("{} releases lock {}, which it does not hold{how}{whose}", name(me), object());
                    let other = holder.map(|h| h.acquire).or(released.map(|(_, at)| at));
                    Err(blame(Rule::ReleaseWithoutAcquire, other, message))
                }
            };
        }
        if let Some(child) = event.child() {
            let clash = self.thread_clash(event, child);
            if let Some((rule, other)) = clash {
                let verb = if event.op == Op::Fork { "forks" } else { "joins" };
                let what = match rule {
                    Rule::ForkOfItself | Rule::JoinOfItself => "itself".to_string(),
                    Rule::ForkTwice => format!("{}, which was forked before", object()),
                    Rule::ForkOfRunningThread => format!("{}, which has run before", object()),
                    Rule::ForkAfterJoin | Rule::JoinTwice => format!("{}, which was joined before", object()),
                    _ => format!("{}, which runs on", object()),
                };
                let at = other.map_or(String::new(), |o| format!(" (event {o})"));
                return Err(blame(rule, other, format!("{} {verb} {what}{at}", name(me))));
            }
            let life = self.life(child);
            match event.op {
                Op::Fork => life.forked = id.cell(),
                _ => life.joined = id.cell(),
            }
            return Ok(PLAIN);
        }
        if let Some(condition) = event.condition() {
            let latest = self.notifies(condition);
            if event.op == Op::Wait {
                return match latest.0.iter().flatten().find(|(thread, _)| *thread != me) {
                    Some(&(_, notify)) => Ok(Step { relevant: true, partner: Some(notify) }),
                    None => {
                        let message = format!(
                            "{} returns from waiting on {}, which no other thread has notified",
                            name(me),
                            object()
                        );
                        Err(blame(Rule::WaitWithoutNotify, None, message))
                    }
                };
            }
            if latest.0[0].is_some_and(|(thread, _)| thread != me) {
                latest.0[1] = latest.0[0];
            }
            latest.0[0] = Some((me, id));
        }
        Ok(PLAIN)
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

    fn notifies(&mut self, condition: CondId) -> &mut Notifies {
        if self.notifies.len() <= condition.index() {
            self.notifies.resize(condition.index() + 1, Notifies::default());
        }
        &mut self.notifies[condition.index()]
    }
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
