//! The critical sections of a trace, grouped by lock and thread.
//!
//! A section runs from its acquire to its release, or to the end of its thread where the trace has no release. Sections
//! exclude each other when they belong to different threads, name one lock, and at least one is exclusive. Built once per
//! trace in linear time; every question "which section of this lock does that thread open last before its k-th event"
//! is a binary search.
//!
//! The sections of words that are used as locks ([`crate::lock_words`]) come after those of locks: their locks have numbers
//! beyond the trace's table. They hold in every model but `sync`.

use mayhap_trace::{EventId, Execution, LockId, NONE, Op, Tables, ThreadId, VarId};

use crate::lock_words::{self, WordSection};
use crate::verdict::Why;

/// One critical section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// The acquire.
    pub acquire: EventId,
    /// Its rank in the thread.
    pub acquire_rank: u32,
    /// Rank of the release; [`NONE`] if the trace has none.
    pub release_rank: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The lock.
    pub lock: LockId,
    /// A reader's section.
    pub shared: bool,
    /// The latest exclusive section of the group up to and with this one; [`NONE`] if there is none.
    exclusive: u32,
}

/// The sections of one lock in one thread.
#[derive(Clone, Copy, Debug)]
struct Group {
    thread: ThreadId,
    start: u32,
    end: u32,
}

/// All sections of a trace.
#[derive(Debug)]
pub struct Sections {
    /// By lock, then thread, then program order.
    all: Vec<Section>,
    groups: Vec<Group>,
    /// Bounds of each lock's groups.
    of_lock: Vec<u32>,
    /// How many locks the trace has.
    locks: usize,
    /// The variables of the words that are used as locks.
    words: Vec<VarId>,
    /// By thread: sections of such words, by the rank of their acquire. Empty if there are none.
    words_by_thread: Vec<Vec<Section>>,
}

/// Sections of words that a thread may have open at once and still be found.
const NESTED: usize = 8;

impl Sections {
    /// Collects the sections.
    pub fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut all = Vec::new();
        for (id, event) in trace.events_of(Op::is_acquire) {
            if !relations.is_relevant(id) {
                continue;
            }
            let release = relations.matching_release(id);
            all.push(Section {
                acquire: id,
                acquire_rank: relations.rank(id) as u32,
                release_rank: release.map_or(NONE, |r| relations.rank(r) as u32),
                thread: event.thread,
                lock: LockId::at(event.object as usize),
                shared: event.op == Op::SharedAcquire,
                exclusive: NONE,
            });
        }
        let locks = trace.tables().locks.len();
        let (words, words_by_thread) = words(execution);
        all.extend(words_by_thread.iter().flatten());
        all.sort_by_key(|s| (s.lock, s.thread));
        let mut groups: Vec<Group> = Vec::new();
        let mut of_lock = vec![0; locks + words.len() + 1];
        for i in 0..all.len() {
            let fresh = i == 0 || (all[i - 1].lock, all[i - 1].thread) != (all[i].lock, all[i].thread);
            if fresh {
                groups.push(Group { thread: all[i].thread, start: i as u32, end: i as u32 });
                of_lock[all[i].lock.index() + 1] += 1;
            }
            groups.last_mut().expect("a group was just opened").end = i as u32 + 1;
            all[i].exclusive = match (all[i].shared, fresh) {
                (false, _) => i as u32,
                (true, true) => NONE,
                (true, false) => all[i - 1].exclusive,
            };
        }
        for lock in 1..of_lock.len() {
            of_lock[lock] += of_lock[lock - 1];
        }
        Sections { all, groups, of_lock, locks, words, words_by_thread }
    }

    /// How many locks there are, words that are used as locks included.
    pub(crate) fn locks(&self) -> usize {
        self.locks + self.words.len()
    }

    /// The word that a lock stands for, if it is one.
    fn word(&self, lock: LockId) -> Option<VarId> {
        lock.index().checked_sub(self.locks).map(|word| self.words[word])
    }

    /// What a lock is called.
    pub(crate) fn name<'t>(&self, tables: &'t Tables, lock: LockId) -> &'t str {
        match self.word(lock) {
            Some(variable) => tables.variables.get(variable.index()),
            None => tables.locks.get(lock.index()),
        }
    }

    /// Why sections of a lock exclude each other.
    pub(crate) fn why(&self, lock: LockId) -> Why {
        self.word(lock).map_or(Why::Lock(lock), Why::Interference)
    }

    /// The sections of words that a thread has open after its first `cut` events. Deeply nested ones may be missing.
    pub(crate) fn open_words(&self, thread: ThreadId, cut: u32) -> impl Iterator<Item = &Section> {
        let sections = self.words_by_thread.get(thread.index()).map_or(&[][..], Vec::as_slice);
        let before = sections.partition_point(|s| s.acquire_rank < cut);
        sections[..before].iter().rev().take(NESTED).filter(move |s| s.release_rank >= cut)
    }

    /// The section of a word that the event with this rank begins.
    pub(crate) fn word_taken(&self, thread: usize, rank: u32) -> Option<&Section> {
        let sections = self.words_by_thread.get(thread)?;
        sections.binary_search_by_key(&rank, |s| s.acquire_rank).ok().map(|i| &sections[i])
    }

    /// The section of a word that the event with this rank ends. A section that began long before may be missing.
    pub(crate) fn word_freed(&self, thread: usize, rank: u32) -> Option<&Section> {
        let sections = self.words_by_thread.get(thread)?;
        let before = sections.partition_point(|s| s.acquire_rank < rank);
        sections[..before].iter().rev().take(NESTED).find(|s| s.release_rank == rank)
    }

    /// All sections, by lock, then thread, then program order.
    pub fn all(&self) -> &[Section] {
        &self.all
    }

    /// The sections of `lock`, one slice a thread, each in program order.
    pub fn of_lock(&self, lock: LockId) -> impl Iterator<Item = &[Section]> {
        self.groups_of(lock).iter().map(|g| &self.all[g.start as usize..g.end as usize])
    }

    /// The section that an acquire opens.
    pub fn of_acquire(&self, lock: LockId, thread: ThreadId, acquire_rank: u32) -> Option<&Section> {
        let group = self.groups_of(lock).iter().find(|g| g.thread == thread)?;
        let sections = &self.all[group.start as usize..group.end as usize];
        sections.binary_search_by_key(&acquire_rank, |s| s.acquire_rank).ok().map(|i| &sections[i])
    }

    /// The section of `lock` in that mode that `thread` has open after its first `cut` events.
    pub fn open_at(&self, lock: LockId, shared: bool, thread: ThreadId, cut: u32) -> Option<&Section> {
        let group = self.groups_of(lock).iter().find(|g| g.thread == thread)?;
        let sections = &self.all[group.start as usize..group.end as usize];
        let before = sections.partition_point(|s| s.acquire_rank < cut);
        sections[..before].iter().rev().find(|s| s.shared == shared).filter(|s| s.release_rank >= cut)
    }

    /// Per other thread, the latest section that excludes `section` among those whose acquire is within the cut.
    pub fn rivals<'s>(&'s self, section: &Section, cut: &'s [u32]) -> impl Iterator<Item = &'s Section> + use<'s> {
        let (thread, shared) = (section.thread, section.shared);
        self.groups_of(section.lock).iter().filter(move |g| g.thread != thread).filter_map(move |g| {
            let sections = &self.all[g.start as usize..g.end as usize];
            let before = sections.partition_point(|s| s.acquire_rank < cut[g.thread.index()]);
            let last = g.start as usize + before.checked_sub(1)?;
            if !shared {
                return Some(&self.all[last]);
            }
            let exclusive = self.all[last].exclusive;
            (exclusive != NONE).then(|| &self.all[exclusive as usize])
        })
    }

    fn groups_of(&self, lock: LockId) -> &[Group] {
        &self.groups[self.of_lock[lock.index()] as usize..self.of_lock[lock.index() + 1] as usize]
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Section>() + self.groups.capacity() * size_of::<Group>()
    }
}

/// The words that several threads use as locks, and their sections by thread.
fn words(execution: &Execution<'_>) -> (Vec<VarId>, Vec<Vec<Section>>) {
    let (trace, relations) = execution.parts();
    let mut found = lock_words::sections(execution);
    let mut words: Vec<VarId> = found.iter().map(|s| s.variable).collect();
    words.sort_unstable();
    words.dedup();
    let thread = |s: &WordSection| trace.event(s.taken).thread;
    let mut first = vec![None; words.len()];
    let mut shared = vec![false; words.len()];
    for section in &found {
        if let Ok(word) = words.binary_search(&section.variable) {
            shared[word] |= *first[word].get_or_insert(thread(section)) != thread(section);
        }
    }
    let mut kept = shared.iter();
    words.retain(|_| *kept.next().unwrap_or(&false));
    found.retain(|s| words.binary_search(&s.variable).is_ok());
    if found.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut by_thread = vec![Vec::new(); relations.threads()];
    for section in found {
        let word = words.binary_search(&section.variable).unwrap_or_default();
        by_thread[thread(&section).index()].push(Section {
            acquire: section.taken,
            acquire_rank: relations.rank(section.taken) as u32,
            release_rank: section.freed.map_or(NONE, |freed| relations.rank(freed) as u32),
            thread: thread(&section),
            lock: LockId::at(trace.tables().locks.len() + word),
            shared: false,
            exclusive: NONE,
        });
    }
    (words, by_thread)
}
