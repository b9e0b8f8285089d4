//! The bad states that a schedule may lead to.

use std::fmt;

use mayhap_trace::{EventId, Execution, Flags, Op, Trace};

/// A bad state, stated by events of the trace.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Two conflicting accesses, not both atomic, are both next in their threads.
    Race(EventId, EventId),
    /// Two conflicting accesses, not both atomic, have both run, and the happens-before of the C11 memory model, taken of
    /// this schedule, orders neither before the other. What they read is free, as in [`Target::Atomicity`].
    UnorderedRace(EventId, EventId),
    /// Each of these acquires is next in its thread, and its lock is held by the thread of another of them.
    Deadlock(Vec<EventId>),
    /// `first`, `remote`, `second` run in this order, `second` last of all; `first` and `second` are of one thread.
    ///
    /// The reads among `remote` and `second` may see any write, as long as their threads do nothing after them: they are
    /// the accesses whose values the violation changes.
    Atomicity {
        /// The first local access.
        first: EventId,
        /// The access of another thread.
        remote: EventId,
        /// The second local access.
        second: EventId,
    },
    /// Memory has been freed, and an access of it is next.
    UseAfterFree {
        /// The write that stands for the free.
        free: EventId,
        /// The access, of any thread.
        access: EventId,
    },
    /// The events run in this order, and nothing runs between the two of an adjacent pair.
    Sequence {
        /// At least one event.
        events: Vec<EventId>,
        /// Pairs of events of the sequence.
        adjacent: Vec<(EventId, EventId)>,
    },
    /// `read` is next, and `other` took the place of the write that it saw: `write` has not run, or `other` ran after it.
    Nondeterminism {
        /// The write that the read saw; `None` is the initial value.
        write: Option<EventId>,
        /// The read.
        read: EventId,
        /// The other write; `None` is the initial value.
        other: Option<EventId>,
    },
}

/// The kind of a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Memory used after it was freed. It comes first: it implies a race, which is then not reported.
    UseAfterFree,
    /// Memory that two threads free.
    DoubleFree,
    /// Data race.
    Race,
    /// Deadlock.
    Deadlock,
    /// Atomicity violation.
    Atomicity,
    /// Order violation.
    Order,
    /// Nondeterministic read.
    Nondeterminism,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] = [
        Kind::UseAfterFree,
        Kind::DoubleFree,
        Kind::Race,
        Kind::Deadlock,
        Kind::Atomicity,
        Kind::Order,
        Kind::Nondeterminism,
    ];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::UseAfterFree => "use-after-free",
            Kind::DoubleFree => "double-free",
            Kind::Race => "race",
            Kind::Deadlock => "deadlock",
            Kind::Atomicity => "atomicity",
            Kind::Order => "order",
            Kind::Nondeterminism => "nondeterminism",
        }
    }
}

/// Why a target makes no sense for a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetError(pub(crate) String);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Target::Race(..) | Target::UnorderedRace(..) => Kind::Race,
            Target::UseAfterFree { .. } => Kind::UseAfterFree,
            Target::Deadlock(_) => Kind::Deadlock,
            Target::Atomicity { .. } => Kind::Atomicity,
            Target::Sequence { .. } => Kind::Order,
            Target::Nondeterminism { .. } => Kind::Nondeterminism,
        }
    }

    /// The events it names, in the order of its definition, initial writes left out.
    pub fn events(&self) -> Vec<EventId> {
        match self {
            Target::Race(a, b) | Target::UnorderedRace(a, b) => vec![*a, *b],
            Target::UseAfterFree { free, access } => vec![*free, *access],
            Target::Deadlock(requests) => requests.clone(),
            Target::Atomicity { first, remote, second } => vec![*first, *remote, *second],
            Target::Sequence { events, .. } => events.clone(),
            Target::Nondeterminism { write, read, other } => write.iter().chain([read]).chain(other).copied().collect(),
        }
    }

    /// The reads that the target leaves free: they may see anything, if their threads then do nothing more.
    pub fn free_reads(&self) -> [Option<EventId>; 2] {
        match self {
            Target::UnorderedRace(a, b) => [Some(*a), Some(*b)],
            Target::Atomicity { remote, second, .. } => [Some(*remote), Some(*second)],
            _ => [None, None],
        }
    }

    /// Checks that the target makes sense for the trace: its events are there and of the right sort.
    pub fn validate(&self, execution: &Execution<'_>) -> Result<(), TargetError> {
        let (trace, relations) = execution.parts();
        let fail = |message: String| Err(TargetError(message));
        for event in self.events() {
            if event.index() >= trace.len() {
                return fail(format!("event {event}: the trace has {} events", trace.len()));
            }
            if !relations.is_relevant(event) {
                let word = trace.event(event).op.word();
                return fail(format!("event {event} ({word}) takes no part in schedules: it is a mark or re-entrant"));
            }
        }
        let at = |id: EventId| trace.event(id);
        match self {
            Target::Race(a, b) | Target::UnorderedRace(a, b) => {
                if !at(*a).conflicts(&at(*b)) {
                    return fail(format!(
                        "events {a} and {b} do not conflict: a race needs two accesses of different threads to one variable, one a write"
                    ));
                }
                if !at(*a).races_with(&at(*b)) {
                    return fail(format!("events {a} and {b} are both atomic: atomic accesses do not race"));
                }
            }
            Target::UseAfterFree { free, access } => return validate_use(trace, *free, *access),
            Target::Deadlock(requests) => return validate_deadlock(trace, requests),
            Target::Atomicity { first, remote, second } => {
                let (a, c, b) = (at(*first), at(*remote), at(*second));
                if !a.op.is_access() || !b.op.is_access() || a.thread != b.thread || a.object != b.object {
                    return fail(format!(
                        "events {first} and {second} are not two accesses of one thread to one variable"
                    ));
                }
                if relations.rank(*first) >= relations.rank(*second) {
                    return fail(format!("event {first} does not come before event {second} in its thread"));
                }
                if !c.conflicts(&a) && !c.conflicts(&b) {
                    return fail(format!("event {remote} conflicts with neither {first} nor {second}"));
                }
            }
            Target::Sequence { events, adjacent } => {
                if events.is_empty() {
                    return fail("the sequence is empty".to_string());
                }
                for (i, event) in events.iter().enumerate() {
                    if events[..i].contains(event) {
                        return fail(format!("event {event} stands twice in the sequence"));
                    }
                }
                let place = |e: &EventId| events.iter().position(|x| x == e);
                for (x, y) in adjacent {
                    match (place(x), place(y)) {
                        (Some(i), Some(j)) if j == i + 1 => {}
                        _ => return fail(format!("{x},{y} is not a pair of neighbours in the sequence")),
                    }
                }
            }
            Target::Nondeterminism { write, read, other } => {
                if at(*read).op != Op::Read {
                    return fail(format!("event {read} is no read"));
                }
                if relations.read_from(*read) != *write {
                    let saw =
                        relations.read_from(*read).map_or("the initial value".to_string(), |w| format!("event {w}"));
                    return fail(format!("event {read} saw {saw}"));
                }
                if write == other {
                    return fail("the other write is the one that the read saw".to_string());
                }
                if let Some(c) = other
                    && (at(*c).op != Op::Write || at(*c).object != at(*read).object)
                {
                    return fail(format!("event {c} does not write the variable that event {read} reads"));
                }
            }
        }
        Ok(())
    }
}

fn validate_use(trace: &Trace, free: EventId, access: EventId) -> Result<(), TargetError> {
    let (freed, used) = (trace.event(free), trace.event(access));
    if freed.op != Op::Write || !freed.flags.has(Flags::FREE) {
        return Err(TargetError(format!("event {free} frees no memory")));
    }
    if !used.op.is_access() || used.object != freed.object || free == access {
        return Err(TargetError(format!("event {access} is no access of the memory that event {free} frees")));
    }
    Ok(())
}

fn validate_deadlock(trace: &Trace, requests: &[EventId]) -> Result<(), TargetError> {
    let fail = |message: String| Err(TargetError(message));
    let at = |id: EventId| trace.event(id);
    if requests.len() < 2 {
        return fail("a deadlock needs at least two acquires".to_string());
    }
    for (i, &request) in requests.iter().enumerate() {
        if !at(request).op.is_acquire() {
            return fail(format!("event {request} is no acquire: a deadlock is stated by its blocked acquires"));
        }
        if trace.only_tries(request) {
            return fail(format!("event {request} is a try or timed acquire: no thread waits there forever"));
        }
        if let Some(twin) = requests[..i].iter().find(|&&e| at(e).thread == at(request).thread) {
            return fail(format!("events {twin} and {request} are of one thread: a deadlock needs different threads"));
        }
    }
    Ok(())
}
