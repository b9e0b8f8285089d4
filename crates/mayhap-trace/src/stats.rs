//! What is in a trace, counted in one pass over a source: nothing is kept an event, a few bytes a variable and a lock.

use crate::validate::Validator;
use crate::{
    Attempt, Columns, Error, Event, EventId, Fingerprint, FingerprintBuilder, LocId, LockId, NONE, Op, Position,
    Source, Tables,
};
use serde::Serialize;

/// The counts of one trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    /// What it contains, whatever the format: witness files name their trace by this.
    pub fingerprint: String,
    /// Events.
    pub events: u64,
    /// Threads.
    pub threads: usize,
    /// Locks.
    pub locks: usize,
    /// Variables.
    pub variables: usize,
    /// Variables that more than one thread accesses.
    pub shared_variables: usize,
    /// Those of them that some thread writes.
    pub written_shared_variables: usize,
    /// Conditions.
    pub conditions: usize,
    /// Locations.
    pub locations: usize,
    /// Places where the next event is of another thread.
    pub thread_switches: u64,
    /// Events by kind; kinds that do not occur are left out.
    pub kinds: Vec<KindCount>,
    /// Atomic reads and writes.
    pub atomic_accesses: u64,
    /// Reads and writes whose value is known.
    pub accesses_with_values: u64,
    /// Acquires and waits that were only tried, or for a limited time, and succeeded.
    pub tried: u64,
    /// Lock operations on a lock that the thread holds already: they open and close no section.
    pub reentrant: u64,
    /// Critical sections.
    pub sections: u64,
    /// Locks that one thread holds at one time, at most.
    pub nesting: usize,
    /// The sections with the most events of their thread inside, longest first.
    pub longest_sections: Vec<SectionStats>,
    /// How many sections are open at the end.
    pub open_sections: usize,
    /// The longest of them.
    pub longest_open_sections: Vec<SectionStats>,
    /// Each thread.
    pub per_thread: Vec<ThreadStats>,
}

/// How often a kind of event occurs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KindCount {
    /// The kind, in words.
    pub kind: &'static str,
    /// The operation as STD writes it.
    pub op: &'static str,
    /// How many.
    pub events: u64,
}

/// A critical section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SectionStats {
    /// The lock.
    pub lock: String,
    /// The lock is held together with other readers.
    pub reader: bool,
    /// The thread.
    pub thread: String,
    /// Events of the thread after the acquire and before the release.
    pub events: u64,
    /// Number of the acquire.
    pub acquire: u64,
    /// Number of the release, if there is one.
    pub release: Option<u64>,
    /// Where the acquire is in the source.
    pub location: Option<String>,
}

/// One thread's part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ThreadStats {
    /// Its name.
    pub thread: String,
    /// Its events.
    pub events: u64,
    /// Its reads.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Its lock operations.
    pub lock_operations: u64,
    /// Number of its first event.
    pub first: u64,
    /// Number of its last event.
    pub last: u64,
}

impl Stats {
    /// Counts what `source` delivers; keeps the `top` longest sections. An event that breaks a rule is an error.
    pub fn of(source: &mut dyn Source, top: usize) -> Result<Stats, Error> {
        let mut counter = Counter { top, ..Counter::default() };
        let mut chunk = Columns::default();
        while source.next_chunk(&mut chunk)? {
            let tables = source.tables();
            counter.fingerprint.add(&chunk, tables);
            for event in chunk.iter() {
                counter.step(tables, &event)?;
            }
        }
        Ok(counter.finish(source.tables()))
    }
}

/// An open section.
#[derive(Clone, Copy)]
struct Section {
    lock: LockId,
    reader: bool,
    acquire: EventId,
    location: Option<LocId>,
    /// Events of the thread up to the acquire.
    start: u64,
}

/// A section with its length.
#[derive(Clone, Copy)]
struct Measured {
    section: Section,
    thread: usize,
    events: u64,
    release: Option<EventId>,
}

#[derive(Default)]
struct ThreadState {
    counts: ThreadStats,
    open: Vec<Section>,
}

/// Who has accessed a variable.
#[derive(Clone, Copy)]
struct Variable {
    thread: u32,
    shared: bool,
    written: bool,
}

#[derive(Default)]
struct Counter {
    top: usize,
    validator: Validator,
    fingerprint: FingerprintBuilder,
    events: u64,
    kinds: [u64; Op::ALL.len()],
    threads: Vec<ThreadState>,
    variables: Vec<Variable>,
    last_thread: Option<usize>,
    switches: u64,
    atomic_accesses: u64,
    accesses_with_values: u64,
    tried: u64,
    reentrant: u64,
    sections: u64,
    nesting: usize,
    longest: Vec<Measured>,
}

impl Counter {
    fn step(&mut self, tables: &Tables, event: &Event) -> Result<(), Error> {
        let id = EventId::from_number(self.events + 1)
            .ok_or_else(|| Error::syntax(Position::Whole, format!("more than {NONE} events")))?;
        let step = self.validator.step(tables, id, event)?;
        let me = event.thread.index();
        if self.threads.len() <= me {
            self.threads.resize_with(me + 1, ThreadState::default);
        }
        self.events += 1;
        self.kinds[event.op as usize] += 1;
        self.switches += u64::from(self.last_thread.replace(me).is_some_and(|last| last != me));
        let thread = &mut self.threads[me].counts;
        thread.events += 1;
        if thread.events == 1 {
            thread.first = id.number();
        }
        thread.last = id.number();
        match event.op {
            Op::Read => thread.reads += 1,
            Op::Write => thread.writes += 1,
            op if op.is_lock() => thread.lock_operations += 1,
            _ => {}
        }
        self.tried += u64::from(event.flags.attempt() != Attempt::Blocking && !event.op.is_failed_attempt());
        if event.op.is_access() {
            self.access(event);
        } else if let Some(lock) = event.lock().filter(|_| event.op.is_lock()) {
            if step.relevant {
                self.lock(id, event, lock);
            } else {
                self.reentrant += 1;
            }
        }
        Ok(())
    }

    fn access(&mut self, event: &Event) {
        self.atomic_accesses += u64::from(event.flags.is_atomic());
        self.accesses_with_values += u64::from(event.value.is_some());
        let index = event.object as usize;
        if self.variables.len() <= index {
            self.variables.resize(index + 1, Variable { thread: NONE, shared: false, written: false });
        }
        let variable = &mut self.variables[index];
        let me = event.thread.cell();
        variable.shared |= variable.thread != NONE && variable.thread != me;
        variable.thread = me;
        variable.written |= event.op == Op::Write;
    }

    fn lock(&mut self, id: EventId, event: &Event, lock: LockId) {
        let me = event.thread.index();
        let thread = &mut self.threads[me];
        let (reader, events) = (event.op.is_shared(), thread.counts.events);
        if event.op.is_acquire() {
            thread.open.push(Section { lock, reader, acquire: id, location: event.location, start: events });
            self.nesting = self.nesting.max(thread.open.len());
            self.sections += 1;
        } else if let Some(at) = thread.open.iter().rposition(|s| s.lock == lock && s.reader == reader) {
            let section = thread.open.remove(at);
            let measured = Measured { section, thread: me, events: events - section.start - 1, release: Some(id) };
            keep(&mut self.longest, measured, self.top);
        }
    }

    fn finish(mut self, tables: &Tables) -> Stats {
        let mut open = Vec::new();
        for (thread, state) in self.threads.iter().enumerate() {
            for &section in &state.open {
                open.push(Measured { section, thread, events: state.counts.events - section.start, release: None });
            }
        }
        let open_sections = open.len();
        let mut longest_open = Vec::new();
        for section in open {
            keep(&mut longest_open, section, self.top);
            keep(&mut self.longest, section, self.top);
        }
        let named = |sections: Vec<Measured>| sections.into_iter().map(|s| s.named(tables)).collect();
        let is_shared = |v: &&Variable| v.shared;
        let fingerprint: Fingerprint = self.fingerprint.finish();
        let kinds = Op::ALL.iter().zip(self.kinds).filter(|(_, events)| *events > 0);
        let per_thread = self.threads.into_iter().enumerate().filter(|(_, state)| state.counts.events > 0);
        Stats {
            fingerprint: fingerprint.to_string(),
            events: self.events,
            threads: tables.threads.len(),
            locks: tables.locks.len(),
            variables: tables.variables.len(),
            shared_variables: self.variables.iter().filter(is_shared).count(),
            written_shared_variables: self.variables.iter().filter(is_shared).filter(|v| v.written).count(),
            conditions: tables.conditions.len(),
            locations: tables.locations.len(),
            thread_switches: self.switches,
            kinds: kinds.map(|(&op, events)| KindCount { kind: kind(op), op: op.word(), events }).collect(),
            atomic_accesses: self.atomic_accesses,
            accesses_with_values: self.accesses_with_values,
            tried: self.tried,
            reentrant: self.reentrant,
            sections: self.sections,
            nesting: self.nesting,
            longest_sections: named(self.longest),
            open_sections,
            longest_open_sections: named(longest_open),
            per_thread: per_thread
                .map(|(i, state)| ThreadStats { thread: tables.threads.get(i).to_string(), ..state.counts })
                .collect(),
        }
    }
}

impl Measured {
    fn named(self, tables: &Tables) -> SectionStats {
        SectionStats {
            lock: tables.locks.get(self.section.lock.index()).to_string(),
            reader: self.section.reader,
            thread: tables.threads.get(self.thread).to_string(),
            events: self.events,
            acquire: self.section.acquire.number(),
            release: self.release.map(EventId::number),
            location: tables.location(self.section.location).map(str::to_string),
        }
    }
}

/// Enters a section among the `top` longest, which stand longest first, of equals the earlier first.
fn keep(longest: &mut Vec<Measured>, section: Measured, top: usize) {
    let key = |s: &Measured| (std::cmp::Reverse(s.events), s.section.acquire);
    let at = longest.partition_point(|s| key(s) < key(&section));
    if at < top {
        longest.truncate(top - 1);
        longest.insert(at, section);
    }
}

/// Returns a kind of event in words.
fn kind(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Acquire => "acquire",
        Op::Release => "release",
        Op::SharedAcquire => "shared acquire",
        Op::SharedRelease => "shared release",
        Op::Fork => "fork",
        Op::Join => "join",
        Op::Wait => "wait",
        Op::Notify => "notify",
        Op::NotifyAll => "notify all",
        Op::Branch => "branch",
        Op::Begin => "begin",
        Op::End => "end",
        Op::Try => "try",
        Op::FailedAcquire => "failed acquire",
        Op::FailedSharedAcquire => "failed shared acquire",
        Op::FailedWait => "failed wait",
        Op::Fence => "fence",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::std_text::StdReader;

    fn stats(text: &str, top: usize) -> Stats {
        Stats::of(&mut StdReader::new(text.as_bytes()), top).unwrap()
    }

    #[test]
    fn sections_are_measured_in_events_of_their_thread() {
        let text = "T1|acq(l)|1\nT2|r(x)|2\nT1|acq(l)|3\nT1|w(x)|4\nT1|acq(m)|5\nT1|rel(l)|6\nT1|rel(l)|7\nT1|r(y)|8\n";
        let stats = stats(text, 5);
        let found: Vec<_> =
            stats.longest_sections.iter().map(|s| (s.lock.as_str(), s.events, s.acquire, s.release)).collect();
        assert_eq!(found, [("l", 4, 1, Some(7)), ("m", 3, 5, None)]);
        assert_eq!((stats.sections, stats.nesting, stats.reentrant, stats.open_sections), (2, 2, 2, 1));
        assert_eq!(stats.longest_open_sections[0].lock, "m");
        assert_eq!((stats.variables, stats.shared_variables, stats.written_shared_variables), (2, 1, 1));
        assert_eq!(stats.thread_switches, 2);
        assert_eq!((stats.per_thread[0].events, stats.per_thread[0].first, stats.per_thread[0].last), (7, 1, 8));
    }

    #[test]
    fn only_the_longest_are_kept() {
        let section = |n: usize| format!("T1|acq(l{n})\n{}T1|rel(l{n})\n", "T1|r(x)\n".repeat(n % 5));
        let text: String = (0..20).map(section).collect();
        let found: Vec<_> = stats(&text, 3).longest_sections.into_iter().map(|s| (s.lock, s.events)).collect();
        assert_eq!(found, [("l4".to_string(), 4), ("l9".to_string(), 4), ("l14".to_string(), 4)]);
        assert!(stats(&text, 0).longest_sections.is_empty());
    }

    #[test]
    fn broken_rules_are_errors() {
        let error = Stats::of(&mut StdReader::new(&b"T1|rel(l)\n"[..]), 5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "event 1: T1 releases lock l, which it does not hold [rule release-without-acquire]"
        );
    }
}
