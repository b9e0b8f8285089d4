//! Accesses of a run that nothing orders, straight from the ring: for those who look at thousands of runs and make a trace of few.
//!
//! Happens-before by vector clocks, as C11 defines it, with FastTrack's idea (Flanagan, Freund, PLDI'09): of each eight bytes of memory only those accesses are kept that
//! later ones can still be unordered with. What comes of it says which runs are worth a trace, and is no finding: names, annotations, locks that are
//! lifted from atomics and the like are for those who read the trace.
//!
//! Where the ring does not say exactly who lets whom go on, more is taken to be ordered than is: each end of a wait comes after all that was done to the object before.
//! Another run shows what that hides.
//!
//! Cost: a search in a tree for each access, and the number of threads for each synchronisation. Memory: for eight bytes, an access of each thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::io;

use foldhash::fast::FixedState;
use mayhap_symbols::Module;
use mayhap_wire::ring::{AtomicKind, MAX_SITE, SiteKind, Tag, order, split_atomic};

use crate::capture::store::Store;
use crate::memory::Sites;
use crate::ring_words::{Word, following};
use crate::turn_steps::each_word;

/// Runs that record more are not looked at.
const MOST_UNITS: u64 = 1 << 19;
/// The most bytes of an access that are looked at.
const MOST_BYTES: u64 = 1 << 16;

/// The places in the code of two accesses that nothing orders, the lesser first. Each is a number that is the same in every run of the program.
pub type UnorderedPair = [u64; 2];

/// The accesses of a run that nothing orders.
pub(crate) fn unordered(store: &Store, units: u64, modules: &[Module]) -> io::Result<Vec<UnorderedPair>> {
    if units > MOST_UNITS {
        return Ok(Vec::new());
    }
    let mut run = Run::default();
    each_word(store, |word| match word {
        Word::Access(site, address) => run.access(site & MAX_SITE, address),
        Word::Record(tag, argument, body) => run.record(tag, argument, body),
    })?;
    let pairs: BTreeSet<UnorderedPair> = run.found.iter().map(|pair| named(*pair, modules)).collect();
    Ok(pairs.into_iter().collect())
}

/// Two places by numbers that do not depend on where modules are loaded.
fn named(pair: UnorderedPair, modules: &[Module]) -> UnorderedPair {
    let mut names = pair.map(|pc| match modules.iter().find(|module| (module.low..module.end).contains(&pc)) {
        Some(module) => FixedState::default().hash_one((module.path.file_name(), pc - module.base)),
        None => pc,
    });
    names.sort_unstable();
    names
}

/// How much of each thread's past is known, by number.
#[derive(Clone, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn get(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    fn raise(&mut self, thread: u32, to: u32) {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].max(to);
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }
}

/// What a thread knows.
#[derive(Default)]
struct Thread {
    /// Its own time is part of it.
    clock: Clock,
    /// What its latest release fence published.
    published: Option<Clock>,
    /// What its next acquire fence learns.
    to_learn: Clock,
}

/// What publishes clocks: threads learn what others did to the same before.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Object {
    /// A lock: what those learn that take it.
    Lock(u64),
    /// A lock: what those learn besides that take it alone.
    Readers(u64),
    /// A condition, a semaphore, a barrier, a once-initialisation, a scope.
    Meeting(u64),
    /// A channel, or a lock of the kernel.
    Key(u64),
    Signal(u64),
}

/// An access of one thread to some of eight bytes.
#[derive(Clone, Copy)]
struct Access {
    thread: u32,
    time: u32,
    bytes: u8,
    writes: bool,
    atomic: bool,
    pc: u64,
}

#[derive(Default)]
struct Run {
    sites: Sites,
    current: u32,
    /// A second thread has been started: all before comes before what that does.
    has_others: bool,
    threads: HashMap<u32, Thread, FixedState>,
    objects: HashMap<Object, Clock, FixedState>,
    /// What an acquire read of an atomic variable learns.
    atomics: BTreeMap<u64, Clock>,
    /// Locks that threads hold as readers.
    readers: Vec<(u64, u32)>,
    cells: BTreeMap<u64, Vec<Access>>,
    /// The sizes of blocks of the heap.
    sizes: HashMap<u64, u64, FixedState>,
    found: BTreeSet<[u64; 2]>,
}

impl Run {
    fn thread(&mut self, number: u32) -> &mut Thread {
        let thread = self.threads.entry(number).or_default();
        if thread.clock.get(number) == 0 {
            thread.clock.raise(number, 1);
        }
        thread
    }

    /// What a thread knows now; the end of its current time.
    fn publish(&mut self, number: u32) -> Clock {
        let thread = self.thread(number);
        let clock = thread.clock.clone();
        thread.clock.raise(number, clock.get(number) + 1);
        clock
    }

    fn give(&mut self, object: Object) {
        let clock = self.publish(self.current);
        self.objects.entry(object).or_default().join(&clock);
    }

    fn take(&mut self, object: Object) {
        let current = self.current;
        self.thread(current);
        if let (Some(thread), Some(clock)) = (self.threads.get_mut(&current), self.objects.get(&object)) {
            thread.clock.join(clock);
        }
    }

    fn edge(&mut self, from: u32, to: u32) {
        let clock = self.publish(from);
        self.thread(to).clock.join(&clock);
    }

    fn access(&mut self, site: u32, address: u64) {
        let site = self.sites.get(site);
        match site.kind {
            SiteKind::Read => self.touch(address, site.size.into(), (false, false), site.pc),
            SiteKind::Write => self.touch(address, site.size.into(), (true, false), site.pc),
            SiteKind::Branch | SiteKind::Other | SiteKind::Call | SiteKind::Return => {}
        }
    }

    /// An access: what it is unordered with is found.
    fn touch(&mut self, address: u64, bytes: u64, (writes, atomic): (bool, bool), pc: u64) {
        if !self.has_others {
            return;
        }
        let thread = self.current;
        // Put back below: what the thread knows is needed while cells change.
        let clock = std::mem::take(&mut self.thread(thread).clock);
        let time = clock.get(thread);
        let end = address.saturating_add(bytes.clamp(1, MOST_BYTES));
        for cell in address / 8..=(end - 1) / 8 {
            let (from, to) = (address.max(cell * 8) - cell * 8, end.min(cell * 8 + 8) - cell * 8);
            let bytes = (0xffu16 >> (8 - (to - from)) << from) as u8;
            let access = Access { thread, time, bytes, writes, atomic, pc };
            let before = self.cells.entry(cell).or_default();
            before.retain(|earlier| {
                let is_known = earlier.thread == thread || earlier.time <= clock.get(earlier.thread);
                let conflicts = (earlier.writes || writes) && !(earlier.atomic && atomic);
                if !is_known && conflicts && earlier.bytes & access.bytes != 0 {
                    self.found.insert([earlier.pc, pc]);
                }
                let stands_for =
                    earlier.bytes & !access.bytes == 0 && writes >= earlier.writes && earlier.atomic >= atomic;
                !(is_known && stands_for)
            });
            before.push(access);
        }
        if let Some(known) = self.threads.get_mut(&thread) {
            known.clock = clock;
        }
    }

    /// Memory ends its life: that is a write of all that was accessed, and nothing is kept.
    fn free(&mut self, address: u64, bytes: u64, pc: u64) {
        let cells: Vec<u64> =
            self.cells.range(address / 8..address.saturating_add(bytes).div_ceil(8)).map(|(cell, _)| *cell).collect();
        cells.into_iter().for_each(|cell| self.touch(cell * 8, 8, (true, false), pc));
    }

    /// Memory begins a new life.
    fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let cells = self.cells.range(address / 8..end.div_ceil(8));
        let cells: Vec<u64> = cells.map(|(cell, _)| *cell).collect();
        cells.iter().for_each(|cell| _ = self.cells.remove(cell));
        let atomics: Vec<u64> = self.atomics.range(address..end).map(|(at, _)| *at).collect();
        atomics.iter().for_each(|at| _ = self.atomics.remove(at));
    }

    fn record(&mut self, tag: Tag, argument: u32, body: &[u64]) {
        let (first, second) = (following(body, 0), following(body, 1));
        let pc = self.sites.get(argument).pc;
        match tag {
            Tag::Switch => {
                self.current = argument;
                self.has_others |= argument != 0;
            }
            Tag::Site => self.sites.define(argument, first),
            Tag::Begin => self.forget(first, second.saturating_sub(first)),
            Tag::Fork => {
                self.has_others = true;
                self.edge(self.current, first as u32);
            }
            Tag::Join => self.edge(first as u32, self.current),
            Tag::Woken => self.edge(self.current, second as u32),
            Tag::Acquire => {
                self.take(Object::Lock(first));
                self.take(Object::Readers(first));
            }
            Tag::SharedAcquire => {
                self.readers.push((first, self.current));
                self.take(Object::Lock(first));
            }
            Tag::Release | Tag::AnyRelease => self.release(first),
            Tag::Notify | Tag::NotifyAll | Tag::SemPost | Tag::BarrierArrive | Tag::OnceDone => {
                self.give(Object::Meeting(first));
            }
            Tag::WaitEnd if second == 0 => {}
            Tag::WaitEnd | Tag::SemWait | Tag::BarrierLeave | Tag::OnceSeen => self.take(Object::Meeting(first)),
            // Whoever ends in a scope, or has waited for that, comes after all who ended before.
            Tag::ScopeLeft => {
                self.give(Object::Meeting(first));
                self.take(Object::Meeting(first));
            }
            Tag::StdLocked => self.atomic(first, (AtomicKind::Update, order::ACQUIRE, 4), None),
            Tag::StdUnlocked => self.atomic(first, (AtomicKind::Update, order::RELEASE, 4), None),
            Tag::Parked if first != 0 => self.atomic(first, (AtomicKind::Load, order::ACQUIRE, 4), None),
            Tag::Atomic => {
                if let Some(how) = split_atomic(second) {
                    self.atomic(first, how, Some(pc));
                }
            }
            Tag::Fence => self.fence(first as u8),
            Tag::Send | Tag::HangUp | Tag::KeyedRelease => self.give(Object::Key(first)),
            Tag::Receive | Tag::KeyedAcquire => self.take(Object::Key(first)),
            Tag::Ready => body.iter().step_by(2).for_each(|key| self.take(Object::Key(*key))),
            Tag::SignalSent => self.give(Object::Signal(first)),
            Tag::SignalTaken => self.take(Object::Signal(first)),
            Tag::RangeRead => self.touch(first, second, (false, false), pc),
            Tag::RangeWrite => self.touch(first, second, (true, false), pc),
            Tag::Alloc => {
                self.sizes.insert(first, second);
                self.forget(first, second);
            }
            Tag::Free if first != 0 => {
                let size = self.sizes.remove(&first).unwrap_or(1);
                self.free(first, size, pc);
            }
            Tag::Unmap => {
                self.free(first, second, pc);
                self.forget(first, second);
            }
            _ => {}
        }
    }

    fn release(&mut self, lock: u64) {
        let held = self.readers.iter().rposition(|&reader| reader == (lock, self.current));
        match held {
            Some(held) => {
                self.readers.swap_remove(held);
                self.give(Object::Readers(lock));
            }
            None => self.give(Object::Lock(lock)),
        }
    }

    /// An atomic operation, at a place in the code if it is the program's own.
    fn atomic(&mut self, address: u64, (kind, how, size): (AtomicKind, u8, u8), pc: Option<u64>) {
        let current = self.current;
        if kind != AtomicKind::Store
            && let Some(message) = self.atomics.get(&address)
        {
            let thread = self.threads.entry(current).or_default();
            let learns = if order::acquires(how) { &mut thread.clock } else { &mut thread.to_learn };
            learns.join(message);
        }
        if let Some(pc) = pc {
            self.touch(address, size.into(), (kind != AtomicKind::Load, true), pc);
        }
        if kind == AtomicKind::Load {
            return;
        }
        let message = match order::releases(how) {
            true => self.publish(current),
            false => self.thread(current).published.clone().unwrap_or_default(),
        };
        let published = self.atomics.entry(address).or_default();
        if kind == AtomicKind::Store {
            *published = Clock::default();
        }
        published.join(&message);
    }

    fn fence(&mut self, how: u8) {
        let current = self.current;
        if order::acquires(how) {
            let thread = self.thread(current);
            let learnt = std::mem::take(&mut thread.to_learn);
            thread.clock.join(&learnt);
        }
        if order::releases(how) {
            let clock = self.publish(current);
            self.thread(current).published = Some(clock);
        }
    }
}

#[cfg(test)]
#[path = "unordered_tests.rs"]
mod tests;
