//! Guesses from a trace about the programmer's intent: which critical section an access belongs to, and whether the value of a read
//! is tested before it is used.
//!
//! A *section* is the part of a thread that starts at the acquire of the innermost lock that it holds. A read is *tested* if the
//! thread's next event is a branch with a location: `if (p)` and `while (!ready)` test, `p->next` does not (the recorder gives the
//! branch of a computed address no location). For an atomic update, the branch after the whole operation counts: a
//! compare-and-swap looks like that.
//!
//! Cost: one pass over the trace, 4 bytes per event.

use mayhap_trace::{EventId, Execution, LockKind, NONE, Op, Relations, ThreadId, Trace};

use super::place;

pub(super) struct Intent<'s> {
    trace: &'s Trace,
    relations: &'s Relations,
    /// Per event, the innermost acquire whose lock its thread holds there.
    acquires: Vec<u32>,
}

impl<'s> Intent<'s> {
    pub(super) fn new(execution: &'s Execution<'s>) -> Self {
        let (trace, relations) = execution.parts();
        let mut acquires = vec![NONE; trace.len()];
        // Per thread: lock, acquire, and how often it was taken again.
        let mut open: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); trace.tables().threads.len()];
        let columns = trace.columns();
        for (i, acquire) in acquires.iter_mut().enumerate() {
            let (op, object) = (columns.ops[i], columns.objects[i]);
            let open = &mut open[usize::from(columns.threads[i])];
            let held = open.iter().position(|&(lock, ..)| op.is_lock() && lock == object);
            match held {
                Some(at) if op.is_acquire() => open[at].2 += 1,
                Some(at) if open[at].2 > 0 => open[at].2 -= 1,
                Some(at) => _ = open.remove(at),
                None => {}
            }
            *acquire = open.last().map_or(NONE, |&(_, acquire, _)| acquire);
            if op.is_acquire() && held.is_none() {
                open.push((object, i as u32, 0));
            }
        }
        Intent { trace, relations, acquires }
    }

    /// The acquire that begins the section around an access.
    fn section(&self, access: EventId) -> Option<u32> {
        Some(self.acquires[access.index()]).filter(|&acquire| acquire != NONE)
    }

    /// The events of the thread from the start of the section (or from the access, if there is none) up to the access.
    fn section_until(&self, access: EventId) -> &[EventId] {
        let rank = self.relations.rank(access);
        let begin = self.section(access).map_or(rank, |acquire| self.relations.rank(EventId::at(acquire as usize)));
        &self.relations.thread_events(self.thread(access))[begin..rank]
    }

    /// The events of the access's thread that follow it.
    fn after(&self, access: EventId) -> &[EventId] {
        &self.relations.thread_events(self.thread(access))[self.relations.rank(access) + 1..]
    }

    fn thread(&self, access: EventId) -> ThreadId {
        ThreadId::at(usize::from(self.trace.columns().threads[access.index()]))
    }

    /// Whether the access is part of an atomic operation. In older traces that is a section: all of it has one place.
    fn is_atomic(&self, access: EventId) -> bool {
        let here = place(self.trace, access);
        self.is_load(access)
            || self.section(access).is_some_and(|acquire| place(self.trace, EventId::at(acquire as usize)) == here)
    }

    /// Whether the read is atomic, or in a section that an older recorder made for an atomic operation.
    fn is_load(&self, read: EventId) -> bool {
        let columns = self.trace.columns();
        let lock = self.section(read).map(|acquire| columns.objects[acquire as usize] as usize);
        columns.flags_at(read.index()).is_atomic()
            || lock.is_some_and(|lock| self.trace.tables().lock_kinds.get(lock) == LockKind::Atomic)
    }

    pub(super) fn is_tested(&self, read: EventId) -> bool {
        let here = place(self.trace, read);
        let atomic = self.is_atomic(read);
        let mut next = self
            .after(read)
            .iter()
            .skip_while(|&&e| atomic && self.trace.event(e).op != Op::Branch && place(self.trace, e) == here);
        next.next().map(|&e| self.trace.event(e)).is_some_and(|e| e.op == Op::Branch && e.location.is_some())
    }

    /// Whether these two successive accesses of one thread to one variable, in different sections, appear intended to be
    /// atomic.
    pub(super) fn looks_like_one(&self, first: EventId, second: EventId) -> bool {
        let ops = &self.trace.columns().ops;
        match (ops[first.index()], ops[second.index()]) {
            // One state published after the other.
            (Op::Write, Op::Write) => self.section(first).is_none() && self.section(second).is_none(),
            // What was read before is written over.
            (Op::Read, Op::Write) => !self.is_repeated(first, second),
            // The first value was relied on, and the second is used without a test. Code that loads an atomic twice expects changes.
            (Op::Read, _) => {
                let loads = self.is_load(first) && self.is_load(second);
                !self.is_repeated(first, second) && !self.is_tested(second) && !loads
            }
            // The written value is assumed to be still there. That does not hold for an update, which is based on what others
            // left, nor for a value that is written plainly and then loaded atomically, as in set-up code for later threads.
            (_, _) => {
                let set_up = self.is_atomic(second) && !self.is_atomic(first);
                !self.is_repeated(first, second) && !self.is_update(first) && !self.is_tested(second) && !set_up
            }
        }
    }

    /// Whether the second access is one that the first one's section made too: the same code, run again.
    fn is_repeated(&self, first: EventId, second: EventId) -> bool {
        let columns = self.trace.columns();
        let (object, op, here) =
            (columns.objects[second.index()], columns.ops[second.index()], place(self.trace, second));
        let alike = |e: EventId| {
            columns.objects[e.index()] == object && columns.ops[e.index()] == op && place(self.trace, e) == here
        };
        alike(first) || self.section_until(first).iter().any(|&e| alike(e))
    }

    /// Whether the section read the variable before it wrote it.
    fn is_update(&self, write: EventId) -> bool {
        let columns = self.trace.columns();
        let object = columns.objects[write.index()];
        let reads = |e: &EventId| columns.objects[e.index()] == object && columns.ops[e.index()] == Op::Read;
        self.section_until(write).iter().any(reads)
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    /// Whether two reads in separate sections appear intended to be atomic.
    fn is_one(atomic: bool) -> bool {
        let read = if atomic { "r.acq" } else { "r" };
        let section = |line: u32| format!("t|acq(l)|{line}\nt|{read}(x)|{line}\nt|rel(l)|{line}\n");
        let trace = parse_std(&(section(1) + &section(2))).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        Intent::new(&execution).looks_like_one(EventId::at(1), EventId::at(4))
    }

    #[test]
    fn two_loads_of_an_atomic_are_not_meant_as_one() {
        assert!(is_one(false));
        assert!(!is_one(true));
    }
}
