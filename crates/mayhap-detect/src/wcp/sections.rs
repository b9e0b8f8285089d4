//! Critical sections, and rule (a): which sections accessed a variable.
//!
//! A section outlives its release as long as a queue or a variable refers to it; it then stands for the HB clock of the
//! release. Per lock and variable four references do for exclusive sections: the newest one that wrote and the newest one of
//! another thread than that, and the same for reads. They may point at a section that is still open, so that nothing has to
//! be gathered for the release: who reads them holds the lock and so knows that all others' sections are closed.

use hashbrown::HashMap;
use mayhap_trace::NONE;

use crate::clock::{Clock, Clocks};

/// One critical section.
pub(super) struct Section {
    pub(super) thread: u32,
    /// Time of the acquire.
    pub(super) acquired: u32,
    /// Time of the release; 0 while open.
    pub(super) released: u32,
    references: u32,
    /// HB clock of the release.
    clock: Clock,
}

/// All sections that something refers to.
#[derive(Default)]
pub(super) struct Sections {
    all: Vec<Section>,
    free: Vec<u32>,
}

impl Sections {
    #[inline]
    pub(super) fn open(&mut self, thread: u32, now: u32) -> u32 {
        let section = Section { thread, acquired: now, released: 0, references: 1, clock: Clock::ZERO };
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

    /// Closes a section with the HB clock of its release. The opener's reference goes over to whoever is given the section.
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

    #[inline]
    pub(super) fn refer(&mut self, id: u32) {
        self.all[id as usize].references += 1;
    }

    #[inline]
    pub(super) fn drop_reference(&mut self, clocks: &mut Clocks, id: u32) {
        let section = &mut self.all[id as usize];
        section.references -= 1;
        if section.references == 0 {
            clocks.release(std::mem::replace(&mut section.clock, Clock::ZERO));
            self.free.push(id);
        }
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

/// The newest section of some kind, and the newest of another thread.
#[derive(Clone, Copy)]
struct Newest([u32; 2]);

const NOTHING: Newest = Newest([NONE; 2]);

impl Newest {
    #[inline]
    fn of_another(&self, sections: &Sections, thread: u32) -> Option<u32> {
        let [newest, other] = self.0;
        if newest == NONE {
            None
        } else if sections.get(newest).thread != thread {
            Some(newest)
        } else {
            (other != NONE).then_some(other)
        }
    }

    #[inline]
    fn put(&mut self, clocks: &mut Clocks, sections: &mut Sections, section: u32) {
        let [newest, other] = self.0;
        sections.refer(section);
        if newest != NONE && sections.get(newest).thread == sections.get(section).thread {
            self.0[0] = section;
            sections.drop_reference(clocks, newest);
        } else {
            self.0 = [section, newest];
            if other != NONE {
                sections.drop_reference(clocks, other);
            }
        }
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
    index: HashMap<(u32, u32), u32, foldhash::fast::RandomState>,
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

    /// Rule (a) for an access inside a section: learns the releases of conflicting sections into `p`, and tells which.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    pub(super) fn access(
        &mut self,
        clocks: &mut Clocks,
        sections: &mut Sections,
        p: &mut Clock,
        inside: Inside,
        variable: usize,
        write: bool,
        mut tell: impl FnMut(u32),
    ) {
        let slot = self.find(inside.lock, variable);
        let accesses = &mut self.accesses[slot];
        // Again in the same section: nobody else can have come in between.
        if accesses.writes.0[0] == inside.section || (!write && accesses.reads.0[0] == inside.section) {
            return;
        }
        if let Some(other) = accesses.writes.of_another(sections, inside.thread) {
            sections.learn(clocks, p, other);
            tell(other);
        }
        if write && let Some(other) = accesses.reads.of_another(sections, inside.thread) {
            sections.learn(clocks, p, other);
            tell(other);
        }
        if inside.shared || accesses.readers != NONE {
            return self.access_by_readers(clocks, sections, p, inside, slot, write, &mut tell);
        }
        let newest = if write { &mut accesses.writes } else { &mut accesses.reads };
        newest.put(clocks, sections, inside.section);
    }

    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    fn access_by_readers(
        &mut self,
        clocks: &mut Clocks,
        sections: &mut Sections,
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
            newest.put(clocks, sections, inside.section);
            return;
        }
        sections.refer(inside.section);
        let own = readers.iter_mut().find(|r| r.wrote == write && sections.get(r.section).thread == inside.thread);
        match own {
            Some(own) => {
                let before = std::mem::replace(&mut own.section, inside.section);
                sections.drop_reference(clocks, before);
            }
            None => readers.push(Reader { section: inside.section, wrote: write }),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.accesses.capacity() * size_of::<Accesses>()
            + self.index.capacity() * (size_of::<((u32, u32), u32)>() + 1)
            + self.recent.capacity() * 16
            + self.readers.iter().map(|r| r.capacity() * size_of::<Reader>()).sum::<usize>()
    }
}
