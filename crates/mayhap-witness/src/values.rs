//! What reads returned and writes stored, as far as the trace says.
//!
//! A write has the value that stands with it. A read returned the value that stands with it, or that of the write it saw.
//! The initial value of a variable is what the trace says that it held, else that of the first read which saw it. A value that nothing says
//! equals no other.

use mayhap_trace::{EventId, Execution, Op, Trace, ValueId, VarId};

/// The known values of one trace.
#[derive(Clone, Debug)]
pub struct KnownValues {
    initial: Vec<Option<ValueId>>,
}

impl KnownValues {
    /// Collects the initial values.
    pub fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let columns = trace.columns();
        let tables = trace.tables();
        let mut initial = vec![None; if trace.has_values() { tables.variables.len() } else { 0 }];
        for (variable, initial) in initial.iter_mut().enumerate() {
            *initial = tables.initial_values.get(variable);
        }
        for (i, &cell) in columns.values.iter().enumerate() {
            let value = ValueId::from_cell(cell).filter(|_| columns.ops[i] == Op::Read);
            if value.is_some() && relations.read_from(EventId::at(i)).is_none() {
                let first: &mut Option<ValueId> = &mut initial[columns.objects[i] as usize];
                *first = first.or(value);
            }
        }
        KnownValues { initial }
    }

    /// The value that a write left in its variable; `None` for the write is the initial value.
    #[inline]
    pub fn written(&self, trace: &Trace, variable: VarId, write: Option<EventId>) -> Option<ValueId> {
        match write {
            Some(write) => ValueId::from_cell(trace.columns().value_at(write.index())),
            None => self.initial.get(variable.index()).copied().flatten(),
        }
    }

    /// The value that a read returned in the observed run.
    pub fn returned(&self, execution: &Execution<'_>, read: EventId) -> Option<ValueId> {
        let (trace, relations) = execution.parts();
        let own = ValueId::from_cell(trace.columns().value_at(read.index()));
        own.or_else(|| self.written(trace, trace.event(read).variable()?, relations.read_from(read)))
    }
}
