//! Events from a source to a detector, checked on the way.
//!
//! Every pass sees well-formed events only: marks and re-entrant lock operations are left out, and the first event that
//! breaks a rule ends the pass with an error that names both events.

use std::rc::Rc;

use mayhap_trace::validate::Validator;
use mayhap_trace::{
    Columns, Error, Event, EventId, Flags, Holds, Mode, NONE, Op, Position, Source, Summary, Tables, Trace, VarId,
};

/// An access as detectors see it.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) id: u32,
    pub(crate) thread: usize,
    pub(crate) write: bool,
    pub(crate) variable: usize,
    /// Location cell.
    pub(crate) location: u32,
    pub(crate) flags: Flags,
    /// The write of a read-modify-write.
    pub(crate) updates: bool,
}

impl Access {
    pub(crate) fn of(id: u32, event: &Event, updates: bool) -> Access {
        Access {
            id,
            thread: event.thread.index(),
            write: event.op == Op::Write,
            variable: event.object as usize,
            location: event.location_cell(),
            flags: event.flags,
            updates,
        }
    }

    /// Whether the two, of one variable, conflict and are not both atomic.
    #[inline]
    pub(crate) fn races_with(&self, other: &Access) -> bool {
        self.thread != other.thread
            && (self.write || other.write)
            && !(self.flags.is_atomic() && other.flags.is_atomic())
    }
}

/// Any other event as detectors see it.
pub(crate) struct Sync<'e> {
    pub(crate) id: u32,
    pub(crate) event: &'e Event,
    /// The notify of a wait, or the acquire that made another one fail.
    pub(crate) partner: Option<u32>,
}

/// The events of the current step of the trace: events that run in one step follow each other directly.
#[derive(Default)]
pub(crate) struct Joined {
    /// Variables that were read atomically in it.
    reads: Vec<u32>,
}

impl Joined {
    /// Takes the next event; `true` if it is the write of a read-modify-write.
    #[inline(always)]
    pub(crate) fn take(&mut self, event: &Event) -> bool {
        if event.flags == Flags::NONE && self.reads.is_empty() { false } else { self.take_step(event) }
    }

    #[inline(never)]
    fn take_step(&mut self, event: &Event) -> bool {
        if event.flags == Flags::NONE {
            if !event.op.is_mark() {
                self.reads.clear();
            }
            return false;
        }
        if !event.flags.is_joined() {
            self.reads.clear();
        }
        if event.op == Op::Read && event.flags.is_atomic() {
            self.reads.push(event.object);
        }
        event.op == Op::Write && event.flags.is_joined() && self.reads.contains(&event.object)
    }
}

/// One reading of a trace.
pub(crate) trait Pass {
    /// Receives what is known about the whole trace in advance. Returns `false` if the pass then needs no accesses.
    fn prepare(&mut self, _conflicting: Option<&[bool]>) -> bool {
        true
    }

    /// Makes room for the ids that `tables` names.
    fn grow(&mut self, tables: &Tables);

    /// Takes a read or a write. `true` ends the pass.
    fn access(&mut self, access: Access) -> bool;

    /// Takes any other relevant event; branches are left out.
    fn sync(&mut self, sync: &Sync<'_>);
}

/// A source that can be read repeatedly.
pub(crate) trait Feed {
    /// Reads from the beginning to the end, or until the pass wants no more. Returns how many events were read.
    fn feed<P: Pass>(&mut self, pass: &mut P) -> Result<u64, Error>;
}

/// A whole trace, and the names of what was met in it.
pub(crate) struct Whole<'i> {
    input: &'i mut dyn Input,
    pub(crate) tables: Tables,
    /// The first this many events were found to break no rule.
    checked: Option<usize>,
    /// The partners of waits and failed attempts among them.
    partners: Vec<u32>,
}

impl<'i> Whole<'i> {
    pub(crate) fn new(input: &'i mut dyn Input) -> Self {
        Whole { input, tables: Tables::default(), checked: None, partners: Vec::new() }
    }
}

impl Feed for Whole<'_> {
    fn feed<P: Pass>(&mut self, pass: &mut P) -> Result<u64, Error> {
        let mut source = self.input.open()?;
        let partners = std::mem::take(&mut self.partners);
        let mut gate = Gate::new(source.summary(), self.checked.is_some(), partners);
        gate.accesses = pass.prepare(gate.conflicting.as_deref());
        // A later reading never goes beyond what the first one has checked.
        let most = self.checked.unwrap_or(usize::MAX);
        let mut chunk = Columns::default();
        let mut base = 0usize;
        while base < most && source.next_chunk(&mut chunk)? {
            check_length(base + chunk.len())?;
            pass.grow(source.tables());
            if let Some(stop) = gate.drive(&chunk, base, source.tables(), pass)? {
                base = stop + 1;
                break;
            }
            base += chunk.len();
        }
        self.checked = Some(self.checked.unwrap_or(base));
        self.partners = gate.partners;
        self.tables = source.into_tables();
        Ok(base as u64)
    }
}

pub(crate) fn check_length(events: usize) -> Result<(), Error> {
    match EventId::new(events) {
        Some(_) => Ok(()),
        None => Err(Error::syntax(Position::Whole, format!("the trace has more than {} events", EventId::LIMIT))),
    }
}

/// Filters the events of a pass: events that break rules, and events that do not matter.
struct Gate {
    rules: Rules,
    joined: Joined,
    /// The partners of waits and failed attempts: the first reading finds them, later ones take them from here.
    partners: Vec<u32>,
    /// How many of them have gone by.
    partner: usize,
    /// Threads that have begun and were not joined: their accesses break no rule.
    running: Vec<bool>,
    /// Variables whose accesses conflict, if the source knows: no detector needs others.
    conflicting: Option<Rc<[bool]>>,
    /// The pass wants accesses.
    accesses: bool,
}

enum Rules {
    /// They are checked.
    Check(Validator),
    /// They were checked before; only re-entrant lock operations must be recognised.
    Trust(Holds),
}

impl Rules {
    /// Takes an access of a running thread.
    fn access(&mut self, id: usize, event: &Event, tables: &Tables) -> Result<(), Error> {
        match self {
            Rules::Check(validator) => Ok(validator.step(tables, EventId::at(id), event).map(drop)?),
            Rules::Trust(_) => Ok(()),
        }
    }
}

/// Whether an event of a well-formed trace is neither a mark nor a re-entrant lock operation.
#[inline]
fn is_relevant(holds: &mut Holds, id: usize, event: &Event) -> bool {
    let Some(lock) = event.lock().filter(|_| event.op.is_lock()) else { return !event.op.is_mark() };
    let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
    if event.op.is_acquire() {
        holds.acquire(event.thread, lock, mode, EventId::at(id))
    } else {
        holds.release(event.thread, lock, mode).is_some_and(|(_, closed)| closed)
    }
}

impl Gate {
    fn new(summary: Option<&Summary>, trust: bool, partners: Vec<u32>) -> Self {
        let conflicting = summary.map(|summary| {
            let variables = (0..summary.names[VARIABLES] as usize).map_while(VarId::new);
            variables.map(|v| summary.is_shared_variable(v) && summary.is_written(v)).collect()
        });
        let rules = if trust { Rules::Trust(Holds::default()) } else { Rules::Check(Validator::new()) };
        let (joined, running) = (Joined::default(), Vec::new());
        Gate { rules, joined, partners, partner: 0, running, conflicting, accesses: true }
    }

    /// Passes the events of a chunk on. Returns the event at which the pass wants to end, if any.
    fn drive<P: Pass>(
        &mut self,
        chunk: &Columns,
        base: usize,
        tables: &Tables,
        pass: &mut P,
    ) -> Result<Option<usize>, Error> {
        self.running.resize(self.running.len().max(tables.threads.len()), false);
        // What a rule may ask of accesses: that they come right before an event joined to them, or begin a wait.
        if !chunk.flags.is_empty() || !chunk.values.is_empty() || !tables.condition_kinds.is_empty() {
            return self.rows::<true, P>(chunk, base, tables, pass);
        }
        let stop = self.rows::<false, P>(chunk, base, tables, pass)?;
        if let Some(last) = chunk.len().checked_sub(1).filter(|&last| stop.is_none() && chunk.ops[last].is_access()) {
            self.rules.access(base + last, &chunk.get(last), tables)?;
            self.joined = Joined::default();
        }
        Ok(stop)
    }

    /// [`Self::drive`] for chunks whose events have properties that matter, and for those without flags and values.
    fn rows<const PROPERTIES: bool, P: Pass>(
        &mut self,
        chunk: &Columns,
        base: usize,
        tables: &Tables,
        pass: &mut P,
    ) -> Result<Option<usize>, Error> {
        let conflicting = self.conflicting.clone();
        let conflicting = conflicting.as_deref().unwrap_or(&[]);
        let rows = chunk.ops.iter().zip(&chunk.threads).zip(&chunk.objects).zip(&chunk.locations);
        for (i, (((&op, &thread), &object), &location)) in rows.enumerate() {
            let (id, thread) = (base + i, thread as usize);
            if op.is_access() && self.running[thread] {
                let mut flags = Flags::NONE;
                let mut updates = false;
                if PROPERTIES {
                    let event = chunk.get(i);
                    self.rules.access(id, &event, tables)?;
                    flags = event.flags;
                    updates = self.joined.take(&event);
                }
                let variable = object as usize;
                if conflicting.get(variable).is_some_and(|conflicts| !conflicts) || !self.accesses {
                    continue;
                }
                let write = op == Op::Write;
                let access = Access { id: id as u32, thread, write, variable, location, flags, updates };
                if pass.access(access) {
                    return Ok(Some(id));
                }
                continue;
            }
            let event = if PROPERTIES { chunk.get(i) } else { chunk.get_plain(i) };
            if self.other(&event, id, tables, pass)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Any event but an access of a thread that is known to run.
    #[inline(always)]
    fn other<P: Pass>(&mut self, event: &Event, id: usize, tables: &Tables, pass: &mut P) -> Result<bool, Error> {
        let updates = self.joined.take(event);
        let has_partner = event.op == Op::Wait || event.op.is_failed_attempt();
        let relevant = match &mut self.rules {
            Rules::Check(validator) => {
                let step = validator.step(tables, EventId::at(id), event)?;
                if has_partner {
                    self.partners.push(step.partner.map_or(NONE, EventId::cell));
                }
                step.relevant
            }
            Rules::Trust(holds) => is_relevant(holds, id, event),
        };
        match event.op {
            Op::Read | Op::Write => {
                self.running[event.thread.index()] = true;
                return Ok(self.accesses && pass.access(Access::of(id as u32, event, updates)));
            }
            Op::Join => self.running[event.object as usize] = false,
            _ => {}
        }
        if relevant && event.op != Op::Branch {
            let partner = has_partner.then(|| self.partners[self.partner]).filter(|&partner| partner != NONE);
            self.partner += usize::from(has_partner);
            pass.sync(&Sync { id: id as u32, event, partner });
        }
        Ok(false)
    }
}

/// Place of the variables among [`Summary::names`].
const VARIABLES: usize = 2;

/// A trace that can be read more than once.
pub trait Input {
    /// Starts reading from the beginning.
    fn open(&mut self) -> Result<Box<dyn Source + '_>, Error>;
}

impl<F> Input for F
where
    F: FnMut() -> Result<Box<dyn Source>, Error>,
{
    fn open(&mut self) -> Result<Box<dyn Source + '_>, Error> {
        self()
    }
}

impl Input for &Trace {
    fn open(&mut self) -> Result<Box<dyn Source + '_>, Error> {
        Ok(Box::new(InMemory { trace: self, done: false }))
    }
}

/// A trace in memory as a source: one chunk.
struct InMemory<'t> {
    trace: &'t Trace,
    done: bool,
}

impl Source for InMemory<'_> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        if self.done || self.trace.is_empty() {
            return Ok(false);
        }
        self.done = true;
        chunk.append(self.trace.columns());
        Ok(true)
    }

    fn tables(&self) -> &Tables {
        self.trace.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.trace.tables().clone()
    }
}
