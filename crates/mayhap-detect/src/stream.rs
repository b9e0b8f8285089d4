//! Events from a source to a detector, checked on the way.
//!
//! Every pass sees well-formed events only: marks and re-entrant lock operations are left out, and the first event that
//! breaks a rule ends the pass with an error that names both events.

use mayhap_trace::validate::Validator;
use mayhap_trace::{Columns, Error, Event, EventId, Op, Position, Source, Tables, Trace};

/// An access as detectors see it.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) id: u32,
    pub(crate) thread: usize,
    pub(crate) write: bool,
    pub(crate) variable: usize,
    /// Location cell.
    pub(crate) location: u32,
}

/// One reading of a trace.
pub(crate) trait Pass {
    /// Makes room for the ids that `tables` names.
    fn grow(&mut self, tables: &Tables);

    /// Takes a read or a write. `true` ends the pass.
    fn access(&mut self, access: Access) -> bool;

    /// Takes any other relevant event; branches are left out.
    fn sync(&mut self, id: u32, event: &Event);
}

/// Something that can be read again and again.
pub(crate) trait Feed {
    /// Reads all, from the beginning, until the end or until the pass wants no more. Returns how many events that were.
    fn feed<P: Pass>(&mut self, pass: &mut P) -> Result<u64, Error>;
}

/// A whole trace, and the names of what was met in it.
pub(crate) struct Whole<'i> {
    input: &'i mut dyn Input,
    pub(crate) tables: Tables,
}

impl<'i> Whole<'i> {
    pub(crate) fn new(input: &'i mut dyn Input) -> Self {
        Whole { input, tables: Tables::default() }
    }
}

impl Feed for Whole<'_> {
    fn feed<P: Pass>(&mut self, pass: &mut P) -> Result<u64, Error> {
        let mut source = self.input.open()?;
        let mut validator = Validator::new();
        let mut chunk = Columns::default();
        let mut base = 0usize;
        while source.next_chunk(&mut chunk)? {
            check_length(base + chunk.len())?;
            pass.grow(source.tables());
            if let Some(stop) = drive_chunk(&chunk, base, source.tables(), &mut validator, pass)? {
                base = stop + 1;
                break;
            }
            base += chunk.len();
        }
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

/// Returns the event at which the pass wants to end, if any.
fn drive_chunk<P: Pass>(
    chunk: &Columns,
    base: usize,
    tables: &Tables,
    validator: &mut Validator,
    pass: &mut P,
) -> Result<Option<usize>, Error> {
    let rows = chunk.ops.iter().zip(&chunk.threads).zip(&chunk.objects).zip(&chunk.locations);
    for (i, (((&op, &thread), &object), &location)) in rows.enumerate() {
        let id = base + i;
        let event = chunk.get(i);
        let step = validator.step(tables, EventId::at(id), &event)?;
        match op {
            Op::Read | Op::Write => {
                let access = Access {
                    id: id as u32,
                    thread: thread as usize,
                    write: op == Op::Write,
                    variable: object as usize,
                    location,
                };
                if pass.access(access) {
                    return Ok(Some(id));
                }
            }
            Op::Branch => {}
            _ if step.relevant => pass.sync(id as u32, &event),
            _ => {}
        }
    }
    Ok(None)
}

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
