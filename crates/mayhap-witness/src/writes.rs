//! The writes of each variable in the order of the trace: what the observed run had written at a place of it.
//!
//! Cost: one pass over the trace; a question O(log writes of the variable).

use mayhap_trace::{EventId, Execution, ObjectKind, Op};

/// The writes of all variables, by variable.
pub(crate) struct Writes {
    /// Where the writes of each variable begin in `cells`, and the end.
    begins: Vec<u32>,
    /// Cells of events.
    cells: Vec<u32>,
}

impl Writes {
    pub(crate) fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let columns = trace.columns();
        let writes = || {
            let all = (0..trace.len()).filter(|&at| columns.ops[at] == Op::Write);
            all.filter(|&at| relations.is_relevant(EventId::at(at))).map(|at| (columns.objects[at] as usize, at))
        };
        debug_assert_eq!(Op::Write.names(), ObjectKind::Variable);
        let mut begins = vec![0; trace.tables().variables.len() + 1];
        writes().for_each(|(variable, _)| begins[variable + 1] += 1);
        (1..begins.len()).for_each(|at| begins[at] += begins[at - 1]);
        let mut ends = begins.clone();
        let mut cells = vec![0; begins.last().map_or(0, |&all| all as usize)];
        for (variable, at) in writes() {
            cells[ends[variable] as usize] = EventId::at(at).cell();
            ends[variable] += 1;
        }
        Writes { begins, cells }
    }

    /// Returns the cell of the last write of a variable before a place of the trace.
    pub(crate) fn last_before(&self, variable: usize, place: usize) -> Option<u32> {
        let all = &self.cells[self.begins[variable] as usize..self.begins[variable + 1] as usize];
        let before = all.partition_point(|&cell| EventId::from_cell(cell).is_some_and(|write| write.index() < place));
        before.checked_sub(1).map(|last| all[last])
    }
}
