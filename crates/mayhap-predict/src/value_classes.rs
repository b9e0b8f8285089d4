//! Which writes of a variable wrote equal values, and so which reads could be served by another write than they were.
//!
//! What is known of values, the kernel says ([`KnownValues`]): a value that the trace does not have equals nothing.
//!
//! Cost: O(n log n) once for `n` accesses with values; 12 bytes a write with a value, one bit an event.

use mayhap_trace::{EventId, Execution, NONE, Op, Trace, ValueId, VarId};
use mayhap_witness::KnownValues;

/// The writes of each variable by value.
#[derive(Debug)]
pub(crate) struct ValueClasses {
    known: KnownValues,
    /// Variable, value and event of each write whose value is known, sorted.
    writes: Vec<(u32, u32, EventId)>,
    /// One bit an event: a read that something else could serve. Empty if there is none.
    open: Vec<u64>,
}

impl ValueClasses {
    /// Collects the writes of a trace.
    pub(crate) fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let known = KnownValues::new(execution);
        let mut classes = ValueClasses { known, writes: Vec::new(), open: Vec::new() };
        if !trace.has_values() {
            return classes;
        }
        let columns = trace.columns();
        let accesses = || columns.ops.iter().zip(&columns.objects).zip(&columns.values).enumerate();
        let writes = accesses().filter(|(_, ((op, _), value))| **op == Op::Write && **value != NONE);
        classes.writes = writes.map(|(at, ((_, &object), &value))| (object, value, EventId::at(at))).collect();
        classes.writes.sort_unstable();
        for (at, ((_, &object), _)) in accesses().filter(|(_, ((op, _), _))| **op == Op::Read) {
            let id = EventId::at(at);
            let Some(value) = classes.known.returned(execution, id) else { continue };
            let write = relations.read_from(id);
            let others = classes.writes(object, value).iter().any(|&(_, _, w)| Some(w) != write);
            if others || (write.is_some() && classes.is_initial(trace, object, value)) {
                classes.open.resize(trace.len().div_ceil(64), 0);
                classes.open[id.index() / 64] |= 1 << (id.index() % 64);
            }
        }
        classes
    }

    /// Something else than in the observed run could serve the read.
    #[inline]
    pub(crate) fn is_open(&self, read: EventId) -> bool {
        self.open.get(read.index() / 64).is_some_and(|bits| bits >> (read.index() % 64) & 1 == 1)
    }

    /// Some read could be served by something else.
    pub(crate) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The writes of an equal value that could serve the read, and whether the initial value could.
    pub(crate) fn equals(
        &self,
        execution: &Execution<'_>,
        read: EventId,
    ) -> (impl Iterator<Item = EventId> + '_, bool) {
        let trace = execution.trace();
        let object = trace.event(read).object;
        let value = self.known.returned(execution, read);
        let writes = value.map_or(&[][..], |value| self.writes(object, value));
        let initial = value.is_some_and(|value| self.is_initial(trace, object, value));
        (writes.iter().map(|&(_, _, write)| write), initial)
    }

    fn is_initial(&self, trace: &Trace, variable: u32, value: ValueId) -> bool {
        self.known.written(trace, VarId::at(variable as usize), None) == Some(value)
    }

    fn writes(&self, variable: u32, value: ValueId) -> &[(u32, u32, EventId)] {
        let key = (variable, value.cell());
        let start = self.writes.partition_point(|&(v, c, _)| (v, c) < key);
        let length = self.writes[start..].partition_point(|&(v, c, _)| (v, c) == key);
        &self.writes[start..start + length]
    }
}
