//! Critical sections, and rule (a): which sections accessed a variable.
//!
//! A section outlives its release as long as a queue or a variable refers to it; it then stands for the HB clock of the
//! release. Per lock and variable four references do for exclusive sections: the newest one that wrote and the newest one of
//! another thread than that, and the same for reads. They may point at a section that is still open, so that nothing has to be
//! collected for the release: a thread that reads them holds the lock, so all other threads' sections are closed.
//!
//! Sections that nothing refers to any more are found by marking, each time their number has doubled: counting references would
//! touch a cold record with each access.

use hashbrown::HashMap;
use mayhap_trace::{Bits, NONE};

use crate::clock::{Clock, Clocks};

/// One critical section.
pub(super) struct Section {
    pub(super) thread: u32,
    /// Time of the acquire.
    pub(super) acquired: u32,
    /// Time of the release; 0 while open.
    pub(super) released: u32,
    /// HB clock of the release.
    clock: Clock,
}

/// All sections that something refers to.
#[derive(Default)]
pub(super) struct Sections {
    all: Vec<Section>,
    free: Vec<u32>,
    /// Number at which to look for those that nothing refers to.
    sweep_at: usize,
}

impl Sections {
    /// Small in unit tests, so that their small traces sweep.
    const FIRST_SWEEP: usize = if cfg!(test) { 3 } else { 1 << 14 };

    #[inline]
    pub(super) fn open(&mut self, thread: u32, now: u32) -> u32 {
        let section = Section { thread, acquired: now, released: 0, clock: Clock::ZERO };
        match self.free.pop() {
            Some(id) => {
                self.all[id as usize] = section;
                id
            }
            None => {
                self.all.push(section);
                self.all.len() as u32 - 1
            }
        }
    }

    /// Closes a section with the HB clock of its release.
    #[inline]
    pub(super) fn close(&mut self, id: u32, clock: Clock, now: u32) {
        let section = &mut self.all[id as usize];
        section.clock = clock;
        section.released = now;
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Section {
        &self.all[id as usize]
    }

    /// How many sections were opened, if none was let go.
    pub(super) fn opened(&self) -> u32 {
        self.all.len() as u32
    }

    /// Whether it is time to [`Self::sweep`].
    #[inline]
    pub(super) fn are_many(&self) -> bool {
        self.free.is_empty() && self.all.len() >= self.sweep_at.max(Self::FIRST_SWEEP)
    }

    /// Frees the clocks of all sections that are not marked and, unless they must keep them, their numbers.
    pub(super) fn sweep(&mut self, clocks: &mut Clocks, marked: &Bits, keep_numbers: bool) {
        for (id, section) in self.all.iter_mut().enumerate() {
            if !marked.contains(id) {
                clocks.release(std::mem::replace(&mut section.clock, Clock::ZERO));
                if !keep_numbers {
                    self.free.push(id as u32);
                }
            }
        }
        if keep_numbers {
            self.sweep_at = self.all.len() + marked.count().max(Self::FIRST_SWEEP);
            return;
        }
        // The low numbers, which are together, first.
        self.free.reverse();
        self.sweep_at = 2 * (self.all.len() - self.free.len());
    }

    /// Joins the HB clock of the section's release into `p`.
    #[inline]
    pub(super) fn learn(&self, clocks: &mut Clocks, p: &mut Clock, id: u32) {
        let section = self.get(id);
        if clocks.get(p, section.thread as usize) < section.released {
            clocks.join(p, &section.clock);
            clocks.raise(p, section.thread as usize, section.released);
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Section>() + self.free.capacity() * 4
    }
}

/// The newest section of some kind, and the newest of another thread; with their threads.
#[derive(Clone, Copy)]
struct Newest {
    sections: [u32; 2],
    threads: [u16; 2],
}

const NOTHING: Newest = Newest { sections: [NONE; 2], threads: [u16::MAX; 2] };

impl Newest {
    #[inline]
    fn of_another(&self, thread: u32) -> Option<u32> {
        let other = usize::from(u32::from(self.threads[0]) == thread);
        (self.sections[other] != NONE).then_some(self.sections[other])
    }

    #[inline]
    fn put(&mut self, section: u32, thread: u32) {
        if u32::from(self.threads[0]) != thread {
            self.sections[1] = self.sections[0];
            self.threads[1] = self.threads[0];
            self.threads[0] = thread as u16;
        }
        self.sections[0] = section;
    }
}

/// The sections of one lock that accessed one variable.
struct Accesses {
    writes: Newest,
    reads: Newest,
    /// Index into [`Accessed::readers`], for reader locks.
    readers: u32,
}

/// A reader's section that accessed a variable: the latest of its thread that wrote, or that read.
struct Reader {
    section: u32,
    wrote: bool,
}

/// An open section around an access.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    pub(super) section: u32,
    pub(super) lock: u32,
    pub(super) shared: bool,
    pub(super) thread: u32,
}

/// The sections that accessed each variable, by lock.
#[derive(Default)]
pub(super) struct Accessed {
    accesses: Vec<Accesses>,
    /// (lock, variable) to `accesses`.
    index: HashMap<(u32, u32), u32, foldhash::fast::FixedState>,
    /// Per variable, the two locks it was last found under and where: most variables know only one, or one within another.
    recent: Vec<[(u32, u32); 2]>,
    readers: Vec<Vec<Reader>>,
}

impl Accessed {
    pub(super) fn grow(&mut self, variables: usize) {
        self.recent.resize(self.recent.len().max(variables), [(NONE, NONE); 2]);
    }

    #[inline]
    fn find(&mut self, lock: u32, variable: usize) -> usize {
        let recent = &mut self.recent[variable];
        for (of, slot) in recent.iter() {
            if *of == lock {
                return *slot as usize;
            }
        }
        let accesses = &mut self.accesses;
        let slot = *self.index.entry((lock, variable as u32)).or_insert_with(|| {
            accesses.push(Accesses { writes: NOTHING, reads: NOTHING, readers: NONE });
            accesses.len() as u32 - 1
        });
        *recent = [(lock, slot), recent[0]];
        slot as usize
    }

    /// Rule (a) for an access inside a section: joins the releases of conflicting sections into `p`, and reports which.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    pub(super) fn access(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        p: &mut Clock,
        inside: Inside,
        variable: usize,
        write: bool,
        mut tell: impl FnMut(u32),
    ) {
        let slot = self.find(inside.lock, variable);
        let accesses = &mut self.accesses[slot];
        // A repeated access in the same section: no other thread can have been in between.
        if accesses.writes.sections[0] == inside.section || (!write && accesses.reads.sections[0] == inside.section) {
            return;
        }
        if let Some(other) = accesses.writes.of_another(inside.thread) {
            sections.learn(clocks, p, other);
            tell(other);
        }
        if write && let Some(other) = accesses.reads.of_another(inside.thread) {
            sections.learn(clocks, p, other);
            tell(other);
        }
        if inside.shared || accesses.readers != NONE {
            return self.access_by_readers(clocks, sections, p, inside, slot, write, &mut tell);
        }
        let newest = if write { &mut accesses.writes } else { &mut accesses.reads };
        newest.put(inside.section, inside.thread);
    }

    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    fn access_by_readers(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        p: &mut Clock,
        inside: Inside,
        slot: usize,
        write: bool,
        tell: &mut dyn FnMut(u32),
    ) {
        let accesses = &mut self.accesses[slot];
        if accesses.readers == NONE {
            accesses.readers = self.readers.len() as u32;
            self.readers.push(Vec::new());
        }
        let readers = &mut self.readers[accesses.readers as usize];
        if !inside.shared {
            for reader in readers.iter().filter(|r| write || r.wrote) {
                if sections.get(reader.section).thread != inside.thread {
                    sections.learn(clocks, p, reader.section);
                    tell(reader.section);
                }
            }
            let newest = if write { &mut accesses.writes } else { &mut accesses.reads };
            newest.put(inside.section, inside.thread);
            return;
        }
        let own = readers.iter_mut().find(|r| r.wrote == write && sections.get(r.section).thread == inside.thread);
        match own {
            Some(own) => own.section = inside.section,
            None => readers.push(Reader { section: inside.section, wrote: write }),
        }
    }

    /// Marks the sections that accesses refer to.
    pub(super) fn mark(&self, marked: &mut Bits) {
        for accesses in &self.accesses {
            let newest = accesses.writes.sections.iter().chain(&accesses.reads.sections);
            newest.filter(|&&section| section != NONE).for_each(|&section| marked.insert(section as usize));
        }
        for reader in self.readers.iter().flatten() {
            marked.insert(reader.section as usize);
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.accesses.capacity() * size_of::<Accesses>()
            + self.index.capacity() * (size_of::<((u32, u32), u32)>() + 1)
            + self.recent.capacity() * 16
            + self.readers.iter().map(|r| r.capacity() * size_of::<Reader>()).sum::<usize>()
    }
}
