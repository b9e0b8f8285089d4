//! The trace: columns of events and the tables that name their ids.

use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::event::Event;
use crate::flags::Attempt;
use crate::id::{EventId, NONE};
use crate::names::{Names, Tables, event_id};
use crate::op::Op;
use crate::source::Source;

/// A whole trace in memory: 11 bytes an event plus the name tables.
///
/// Every cell indexes its table. Whether the events keep the rules of locks and threads is another matter:
/// [`crate::Relations::derive`] answers it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    columns: Columns,
    tables: Tables,
}

impl Trace {
    /// Reads a source to its end. [`crate::format::load`] also returns the source's notes.
    pub fn from_source(mut source: Box<dyn Source + '_>) -> Result<Trace, Error> {
        let columns = Trace::columns_of(&mut *source)?;
        Ok(Trace { columns, tables: source.into_tables() })
    }

    /// Returns all events of a source.
    pub(crate) fn columns_of(source: &mut dyn Source) -> Result<Columns, Error> {
        let mut columns = Columns::default();
        let mut chunk = Columns::default();
        while source.next_chunk(&mut chunk)? {
            event_id(columns.len() + chunk.len()).map_err(|e| Error::new(Position::Whole, e))?;
            columns.append(&chunk);
        }
        columns.shrink_to_fit();
        Ok(columns)
    }

    /// Returns a trace from what one source delivered.
    pub(crate) fn from_columns(columns: Columns, tables: Tables) -> Trace {
        Trace { columns, tables }
    }

    /// Returns a trace from columns whose cells index `tables`.
    ///
    /// # Panics
    /// If a cell does not index its table.
    pub fn from_parts(columns: Columns, tables: Tables) -> Trace {
        let is_in = |cell: u32, length: usize| cell == NONE || (cell as usize) < length;
        let mut threads = columns.threads.iter();
        assert!(threads.all(|&thread| usize::from(thread) < tables.threads.len()), "thread cell out of range");
        let mut locations = columns.locations.iter();
        assert!(locations.all(|&location| is_in(location, tables.locations.len())), "location cell out of range");
        let mut values = columns.values.iter();
        assert!(values.all(|&value| is_in(value, tables.values.len())), "value cell out of range");
        let mut lengths = [usize::MAX; Op::ALL.len()];
        for &op in Op::ALL {
            lengths[op as usize] = tables.of(op.names()).map_or(usize::MAX, Names::len);
        }
        let mut objects = columns.ops.iter().zip(&columns.objects);
        assert!(objects.all(|(&op, &object)| (object as usize) < lengths[op as usize]), "object cell out of range");
        Trace { columns, tables }
    }

    /// Returns the columns and the tables.
    pub fn into_parts(self) -> (Columns, Tables) {
        (self.columns, self.tables)
    }

    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there is no event.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the event with this id.
    ///
    /// # Panics
    /// If `id` is not an event of this trace.
    #[inline]
    pub fn event(&self, id: EventId) -> Event {
        self.columns.get(id.index())
    }

    /// Whether the event is a try or timed acquire or wait: no thread can hang at it.
    pub fn only_tries(&self, id: EventId) -> bool {
        self.columns.flags_at(id.index()).attempt() != Attempt::Blocking
    }

    /// Whether the trace contains branches, so that it shows which reads affect control flow.
    pub fn has_branches(&self) -> bool {
        self.columns.ops.contains(&Op::Branch)
    }

    /// Whether some event has a value.
    pub fn has_values(&self) -> bool {
        self.columns.values.iter().any(|&value| value != NONE)
    }

    /// The event that people know by this number, if the trace has it.
    pub fn by_number(&self, number: u64) -> Option<EventId> {
        EventId::from_number(number).filter(|id| id.index() < self.len())
    }

    /// All events in observed order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (EventId, Event)> + '_ {
        self.columns.iter().enumerate().map(|(i, e)| (EventId::at(i), e))
    }

    /// The events with such operations, in observed order. Only those are put together from the columns.
    pub fn events_of<'t>(&'t self, wanted: impl Fn(Op) -> bool + 't) -> impl Iterator<Item = (EventId, Event)> + 't {
        let found = self.columns.ops.iter().enumerate().filter(move |(_, op)| wanted(**op));
        found.map(|(i, _)| (EventId::at(i), self.columns.get(i)))
    }

    /// Returns the columns.
    #[inline]
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The names.
    #[inline]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Bytes of memory: columns and tables.
    pub fn memory(&self) -> usize {
        self.columns.memory() + self.tables.memory()
    }
}
