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
        for (&object, _) in columns.objects.iter().zip(&columns.ops).filter(|(_, op)| **op == Op::Write) {
            bounds[object as usize + 1] += 1;
        }
        for variable in 1..bounds.len() {
            bounds[variable] += bounds[variable - 1];
        }
        let mut writes = vec![EventId::at(0); *bounds.last().unwrap_or(&0) as usize];
        let mut places = vec![NONE; trace.len()];
        // Where the next write of each variable goes, and the thread that did the one before.
        let mut fill: Vec<(u32, u32)> = bounds.iter().map(|&start| (start, NONE)).collect();
        // Thread by thread, the groups of each variable come in their order.
        let mut begun: Vec<(u32, Group)> = Vec::new();
        let mut of_variable = vec![0u32; bounds.len()];
        for thread in (0..relations.threads()).map(ThreadId::at) {
            let is_write = |write: &&EventId| columns.ops[write.index()] == Op::Write;
            for &write in relations.thread_events(thread).iter().filter(is_write) {
                let variable = columns.objects[write.index()];
                let (at, last) = &mut fill[variable as usize];
                if *last != thread.cell() {
                    *last = thread.cell();
                    of_variable[variable as usize + 1] += 1;
                    begun.push((variable, Group { thread, start: *at, end: 0 }));
                }
                writes[*at as usize] = write;
                places[write.index()] = *at;
                *at += 1;
            }
        }
        for variable in 1..of_variable.len() {
            of_variable[variable] += of_variable[variable - 1];
        }
        let groups = by_variable(&begun, &of_variable, &bounds);
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

/// The groups, variable by variable, with their ends.
fn by_variable(begun: &[(u32, Group)], of_variable: &[u32], bounds: &[u32]) -> Vec<Group> {
    let mut groups = vec![Group { thread: ThreadId::at(0), start: 0, end: 0 }; begun.len()];
    let mut fill = of_variable.to_vec();
    for &(variable, group) in begun {
        let at = &mut fill[variable as usize];
        groups[*at as usize] = Group { end: bounds[variable as usize + 1], ..group };
        if *at > of_variable[variable as usize] {
            groups[*at as usize - 1].end = group.start;
        }
        *at += 1;
    }
    groups
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
