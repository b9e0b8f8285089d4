//! Which writes of a variable wrote equal values, and so which reads could be served by another write than they were.
//!
//! A value that the trace does not know equals nothing. The initial value of a variable is known if some read that saw it
//! has a value. A read has the value of its event, or of the write that it saw.
//!
//! Cost: O(n log n) once for `n` accesses with values; 12 bytes a write with a value, one bit an event.

use mayhap_trace::{EventId, NONE, Op, Relations, Trace};

/// The writes of each variable by value.
#[derive(Debug, Default)]
pub struct ValueClasses {
    /// Variable, value and event of each write whose value is known, sorted.
    writes: Vec<(u32, u32, EventId)>,
    /// The initial value of each variable; [`NONE`] if it is not known.
    initial: Vec<u32>,
    /// One bit an event: a read that something else could serve.
    open: Vec<u64>,
    any_open: bool,
}

impl ValueClasses {
    /// Collects the writes of a trace.
    pub(crate) fn new(trace: &Trace, relations: &Relations) -> Self {
        let mut classes = ValueClasses::default();
        if !trace.has_values() {
            return classes;
        }
        classes.initial = vec![NONE; trace.tables().variables.len()];
        for (id, event) in trace.events() {
            let object = event.object as usize;
            match event.op {
                Op::Write if event.value.is_some() => classes.writes.push((event.object, event.value_cell(), id)),
                Op::Read if relations.read_from(id).is_none() && classes.initial[object] == NONE => {
                    classes.initial[object] = event.value_cell();
                }
                _ => {}
            }
        }
        classes.writes.sort_unstable();
        classes.open = vec![0; trace.len().div_ceil(64)];
        for (id, event) in trace.events().filter(|(_, event)| event.op == Op::Read) {
            let value = classes.read_value(trace, relations, id);
            if value == NONE {
                continue;
            }
            let write = relations.read_from(id);
            let others = classes.writes(event.object, value).iter().any(|&(_, _, w)| Some(w) != write);
            if others || (write.is_some() && classes.initial[event.object as usize] == value) {
                classes.open[id.index() / 64] |= 1 << (id.index() % 64);
                classes.any_open = true;
            }
        }
        classes
    }

    /// Something else than in the observed run could serve the read.
    #[inline]
    pub(crate) fn is_open(&self, read: EventId) -> bool {
        self.any_open && self.open[read.index() / 64] >> (read.index() % 64) & 1 == 1
    }

    /// Some read could be served by something else.
    pub(crate) fn any_open(&self) -> bool {
        self.any_open
    }

    /// The value that a read saw; [`NONE`] if it is not known.
    fn read_value(&self, trace: &Trace, relations: &Relations, read: EventId) -> u32 {
        let event = trace.event(read);
        match (event.value, relations.read_from(read)) {
            (Some(value), _) => value.cell(),
            (None, Some(write)) => trace.event(write).value_cell(),
            (None, None) => self.initial[event.object as usize],
        }
    }

    /// The read would see an equal value if it saw `write` (`None`: the initial value).
    pub(crate) fn is_equal(&self, trace: &Trace, relations: &Relations, read: EventId, write: Option<EventId>) -> bool {
        if self.initial.is_empty() {
            return false;
        }
        let value = self.read_value(trace, relations, read);
        let here = match write {
            Some(write) => trace.event(write).value_cell(),
            None => self.initial[trace.event(read).object as usize],
        };
        value != NONE && value == here
    }

    /// The writes of an equal value that could serve the read, and whether the initial value could.
    pub(crate) fn equals(
        &self,
        trace: &Trace,
        relations: &Relations,
        read: EventId,
    ) -> (impl Iterator<Item = EventId> + '_, bool) {
        let object = trace.event(read).object;
        let value = if self.initial.is_empty() { NONE } else { self.read_value(trace, relations, read) };
        let writes = if value == NONE { &[] } else { self.writes(object, value) };
        let initial = value != NONE && self.initial[object as usize] == value;
        (writes.iter().map(|&(_, _, write)| write), initial)
    }

    fn writes(&self, variable: u32, value: u32) -> &[(u32, u32, EventId)] {
        let start = self.writes.partition_point(|&(v, c, _)| (v, c) < (variable, value));
        let length = self.writes[start..].partition_point(|&(v, c, _)| (v, c) == (variable, value));
        &self.writes[start..start + length]
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.writes.capacity() * size_of::<(u32, u32, EventId)>()
            + self.initial.capacity() * size_of::<u32>()
            + self.open.capacity() * size_of::<u64>()
    }
}
