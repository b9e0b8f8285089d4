//! The writes of a trace, grouped by variable and thread, and who reads what each of them wrote.
//!
//! Built once per trace in linear time. Which write of a variable a thread does last before its k-th event is a binary
//! search, so interference is tested against the nearest write of each thread instead of all of them.

use mayhap_trace::{EventId, NONE, Op, Relations, ThreadId, Trace, VarId};

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
}

impl Accesses {
    /// Collects writes and readers.
    pub fn new(trace: &Trace, relations: &Relations) -> Self {
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
        let (readers, of_write) = readers(trace, relations, &writes);
        Accesses { writes, groups, of_variable, readers, of_write }
    }

    /// The writes of a variable, one slice a thread, each in program order.
    pub fn writes_of(&self, variable: VarId) -> impl Iterator<Item = (ThreadId, &[EventId])> {
        self.groups_of(variable).iter().map(|g| (g.thread, &self.writes[g.start as usize..g.end as usize]))
    }

    /// The write of the same thread and variable before `write`.
    pub fn previous_write(&self, trace: &Trace, write: EventId) -> Option<EventId> {
        let (group, at) = self.place(trace, write);
        (at > group.start).then(|| self.writes[at as usize - 1])
    }

    /// The reads that saw `write`, in observed order.
    pub fn readers(&self, trace: &Trace, write: EventId) -> &[EventId] {
        let at = self.place(trace, write).1 as usize;
        &self.readers[self.of_write[at] as usize..self.of_write[at + 1] as usize]
    }

    fn place(&self, trace: &Trace, write: EventId) -> (Group, u32) {
        let event = trace.event(write);
        let groups = self.groups_of(VarId::at(event.object as usize));
        let group = groups[groups.partition_point(|g| g.thread < event.thread)];
        let within = self.writes[group.start as usize..group.end as usize].partition_point(|&w| w < write);
        (group, group.start + within as u32)
    }

    fn groups_of(&self, variable: VarId) -> &[Group] {
        let bounds = &self.of_variable[variable.index()..variable.index() + 2];
        &self.groups[bounds[0] as usize..bounds[1] as usize]
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        (self.writes.capacity() + self.readers.capacity() + self.of_write.capacity() + self.of_variable.capacity()) * 4
            + self.groups.capacity() * size_of::<Group>()
    }
}

fn readers(trace: &Trace, relations: &Relations, writes: &[EventId]) -> (Vec<EventId>, Vec<u32>) {
    let columns = trace.columns();
    let mut place = vec![NONE; trace.len()];
    for (at, write) in writes.iter().enumerate() {
        place[write.index()] = at as u32;
    }
    let reads = || {
        let reads = (0..trace.len()).filter(|&i| columns.ops[i] == Op::Read).map(EventId::at);
        reads.filter_map(|r| relations.partner(r).map(|w| (r, place[w.index()] as usize)))
    };
    let mut of_write = vec![0u32; writes.len() + 1];
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
