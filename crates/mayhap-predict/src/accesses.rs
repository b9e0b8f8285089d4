//! The writes of a trace, grouped by variable and thread, and who reads what each of them wrote.
//!
//! Built once per trace in linear time. Which write of a variable a thread does last before its k-th event is a binary
//! search, so interference is tested against the nearest write of each thread instead of all of them.

use mayhap_trace::{EventId, Execution, NONE, Op, Relations, ThreadId, Trace, VarId};

#[derive(Clone, Copy, Debug)]
struct Group {
    thread: ThreadId,
    start: u32,
    end: u32,
}

/// Writes and readers of all variables.
#[derive(Debug)]
pub struct Accesses {
    /// By variable, then thread, then program order.
    writes: Vec<EventId>,
    groups: Vec<Group>,
    of_variable: Vec<u32>,
    /// Reads that saw a write, write by write in the order of `writes`.
    readers: Vec<EventId>,
    of_write: Vec<u32>,
    /// Place of each event in `writes`, if it is a write.
    places: Vec<u32>,
}

impl Accesses {
    /// Collects writes and readers.
    pub fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let columns = trace.columns();
        let mut bounds = vec![0u32; trace.tables().variables.len() + 1];
        let is_write = |i: &usize| columns.ops[*i] == Op::Write;
        for i in (0..trace.len()).filter(is_write) {
            bounds[columns.objects[i] as usize + 1] += 1;
        }
        for variable in 1..bounds.len() {
            bounds[variable] += bounds[variable - 1];
        }
        let mut writes = vec![EventId::at(0); *bounds.last().unwrap_or(&0) as usize];
        let mut fill = bounds.clone();
        for i in (0..trace.len()).filter(is_write) {
            let at = &mut fill[columns.objects[i] as usize];
            writes[*at as usize] = EventId::at(i);
            *at += 1;
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut of_variable = vec![0u32; bounds.len()];
        for variable in 0..bounds.len() - 1 {
            let (start, end) = (bounds[variable] as usize, bounds[variable + 1] as usize);
            writes[start..end].sort_by_key(|w| columns.threads[w.index()]);
            for (i, write) in writes.iter().enumerate().take(end).skip(start) {
                let thread = ThreadId::at(columns.threads[write.index()] as usize);
                match groups.last_mut() {
                    Some(group) if i > start && group.thread == thread => group.end = i as u32 + 1,
                    _ => groups.push(Group { thread, start: i as u32, end: i as u32 + 1 }),
                }
            }
            of_variable[variable + 1] = groups.len() as u32;
        }
        let mut places = vec![NONE; trace.len()];
        for (at, write) in writes.iter().enumerate() {
            places[write.index()] = at as u32;
        }
        let (readers, of_write) = readers(trace, relations, &places, writes.len());
        Accesses { writes, groups, of_variable, readers, of_write, places }
    }

    /// The writes of a variable, one slice a thread, each in program order.
    pub fn writes_of(&self, variable: VarId) -> impl Iterator<Item = (ThreadId, &[EventId])> {
        self.groups_of(variable).iter().map(|g| (g.thread, &self.writes[g.start as usize..g.end as usize]))
    }

    /// The write of the same thread and variable before `write`.
    pub fn previous_write(&self, trace: &Trace, write: EventId) -> Option<EventId> {
        let before = self.writes[(self.places[write.index()] as usize).checked_sub(1)?];
        let (columns, same) = (trace.columns(), [before.index(), write.index()]);
        let alike = |column: [u32; 2]| column[0] == column[1];
        let threads = same.map(|i| u32::from(columns.threads[i]));
        (alike(threads) && alike(same.map(|i| columns.objects[i]))).then_some(before)
    }

    /// The reads that saw `write`, in observed order.
    #[inline]
    pub fn readers(&self, write: EventId) -> &[EventId] {
        let at = self.places[write.index()] as usize;
        &self.readers[self.of_write[at] as usize..self.of_write[at + 1] as usize]
    }

    fn groups_of(&self, variable: VarId) -> &[Group] {
        let bounds = &self.of_variable[variable.index()..variable.index() + 2];
        &self.groups[bounds[0] as usize..bounds[1] as usize]
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        (self.writes.capacity()
            + self.readers.capacity()
            + self.of_write.capacity()
            + self.of_variable.capacity()
            + self.places.capacity())
            * 4
            + self.groups.capacity() * size_of::<Group>()
    }
}

fn readers(trace: &Trace, relations: &Relations, places: &[u32], writes: usize) -> (Vec<EventId>, Vec<u32>) {
    let columns = trace.columns();
    let reads = || {
        let reads = (0..trace.len()).filter(|&i| columns.ops[i] == Op::Read).map(EventId::at);
        reads.filter_map(|r| relations.read_from(r).map(|w| (r, places[w.index()] as usize)))
    };
    let mut of_write = vec![0u32; writes + 1];
    for (_, at) in reads() {
        of_write[at + 1] += 1;
    }
    for at in 1..of_write.len() {
        of_write[at] += of_write[at - 1];
    }
    let mut readers = vec![EventId::at(0); *of_write.last().unwrap_or(&0) as usize];
    let mut fill = of_write.clone();
    for (read, at) in reads() {
        readers[fill[at] as usize] = read;
        fill[at] += 1;
    }
    (readers, of_write)
}
