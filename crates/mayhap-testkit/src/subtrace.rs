//! Builds a trace from some events of another one.

use mayhap_trace::{Columns, EventId, NONE, ObjectKind, Tables, Trace};

/// Whether the trace of the events for which `keep` returns true, with ids in order of first appearance, as if their STD text had been read.
pub fn subtrace(trace: &Trace, keep: impl Fn(EventId) -> bool) -> Trace {
    let old = trace.tables();
    let mut tables = Tables::default();
    let mut columns = Columns::default();
    for (_, event) in trace.events().filter(|(id, _)| keep(*id)) {
        let fits = "a part has no more names than the whole";
        let thread = tables.threads.intern(old.thread(event.thread).as_bytes()).expect(fits);
        let object = match tables.of_mut(event.op.names()) {
            Some(names) => names.intern(old.object(event.op, event.object).as_bytes()).expect(fits),
            None => NONE,
        };
        let location = match old.location(event.location) {
            Some(name) => tables.locations.intern(name.as_bytes()).expect(fits),
            None => NONE,
        };
        match event.op.names() {
            ObjectKind::Lock => tables.lock_kinds.set(object as usize, old.lock_kinds.get(event.object as usize)),
            ObjectKind::Variable => {
                tables.variable_kinds.set(object as usize, old.variable_kinds.get(event.object as usize));
                let initial = old.value(old.initial_values.get(event.object as usize));
                let initial = initial.map(|value| tables.values.intern(value).expect(fits));
                tables.initial_values.set(object as usize, initial);
            }
            ObjectKind::Condition => {
                tables.condition_kinds.set(object as usize, old.condition_kinds.get(event.object as usize));
            }
            ObjectKind::Thread | ObjectKind::Nothing => {}
        }
        let value = old.value(event.value).map(|value| tables.values.intern(value).expect(fits));
        columns.push_cells(thread as u16, event.op, object, location);
        columns.set_last(event.flags, value.map_or(NONE, |id| id.cell()));
    }
    Trace::from_parts(columns, tables)
}
