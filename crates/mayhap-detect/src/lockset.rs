//! Locksets (Eraser: Savage, Burrows, Nelson, Sobalvarro, Anderson, TOCS'97, sections 2.1 to 2.3).
//!
//! Each variable starts with all locks; an access intersects its set with the locks held, and every access made once the
//! set is empty is a racy event.
//!
//! Deviation, to count as the published tables do: no state machine, but pseudo-locks. One belongs to each thread and is
//! held by all its accesses, so that a variable of one thread never counts; one is held by all reads until the variable's
//! first write, so that a variable that is only read never counts; one is held by all atomic accesses, which
//! do not race with each other. With `--eraser` the paper's state machine instead: the
//! set starts with the second thread's first access, and only a variable that was written while shared counts.
//!
//! Reader locks, as in section 2.3 of the paper: a read holds a lock in either mode, a write only what it holds alone.
//!
//! Pairs: a racy event and an earlier conflicting access of another thread are a pair if no lock separates them. A racy event may
//! have no partner: three sections may share locks in pairs although no lock is common to all.
//!
//! Invariants: set 0 is the empty set; sets are interned, so that equal sets have equal ids.
//! Cost: a table lookup per lock operation and per access whose set differs from the locks held. Memory: 16 bytes per variable,
//! plus the distinct sets.
//!
//! What it proves: nothing. An empty set is a breach of locking discipline, not a race.

use hashbrown::HashMap;
use mayhap_trace::{Bits, Error, Event, LockId, LocksetId, Locksets, Mode, Op, Tables};

use crate::detection::Options;
use crate::pairs::{Latest, Pairs};
use crate::passes::{Found, Pairing, second_pass};
use crate::stream::{Access, Feed, Pass, Sync};
use crate::tally::Tally;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A small cache of answers by two numbers, with the latest answer in each slot; a miss falls back to the full table.
struct Memo {
    recent: Vec<((u32, u32), u32)>,
    all: Map<(u32, u32), u32>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo { recent: vec![((u32::MAX, u32::MAX), 0); Self::PLACES], all: Map::default() }
    }
}

impl Memo {
    const PLACES: usize = 1 << 12;

    #[inline]
    fn get(&mut self, key: (u32, u32), answer: impl FnOnce() -> u32) -> u32 {
        let place =
            (key.0.wrapping_mul(0x9E37_79B1) ^ key.1.wrapping_mul(0x85EB_CA77)) as usize >> 7 & (Self::PLACES - 1);
        if self.recent[place].0 != key {
            let answer = *self.all.entry(key).or_insert_with(answer);
            self.recent[place] = (key, answer);
        }
        self.recent[place].1
    }
}

/// Interned sets of locks.
struct Sets {
    known: Known,
    with: Memo,
    both: Memo,
}

struct Known {
    sets: Vec<Box<[u32]>>,
    index: Map<Box<[u32]>, u32>,
}

const EMPTY: u32 = 0;
/// The pseudo-lock that all atomic accesses hold.
const ATOMIC: u32 = u32::MAX;

impl Default for Sets {
    fn default() -> Self {
        let index = [(Box::default(), EMPTY)].into_iter().collect();
        Sets { known: Known { sets: vec![Box::default()], index }, with: Memo::default(), both: Memo::default() }
    }
}

impl Known {
    fn intern(&mut self, set: Vec<u32>) -> u32 {
        let sets = &mut self.sets;
        *self.index.entry(set.into_boxed_slice()).or_insert_with_key(|set| {
            sets.push(set.clone());
            sets.len() as u32 - 1
        })
    }
}

impl Sets {
    #[inline]
    fn with(&mut self, set: u32, lock: u32) -> u32 {
        let known = &mut self.known;
        self.with.get((set, lock), || {
            let mut locks = known.sets[set as usize].to_vec();
            if let Err(at) = locks.binary_search(&lock) {
                locks.insert(at, lock);
            }
            known.intern(locks)
        })
    }

    #[inline]
    fn both(&mut self, a: u32, b: u32) -> u32 {
        if a == b || a == EMPTY || b == EMPTY {
            return if a == b { a } else { EMPTY };
        }
        let known = &mut self.known;
        self.both.get((a, b), || {
            let other = &known.sets[b as usize];
            let locks = known.sets[a as usize].iter().copied().filter(|lock| other.binary_search(lock).is_ok());
            let locks = locks.collect();
            known.intern(locks)
        })
    }
}

/// One hold of a thread: the lock, the mode, and the sets before it was taken.
struct Hold {
    lock: u32,
    mode: Mode,
    before: [u32; 2],
}

/// What each thread holds: in either mode, and exclusively.
#[derive(Default)]
pub(crate) struct Held {
    sets: Sets,
    /// Per thread: the set of locks held in either mode, and of those held exclusively.
    now: Vec<[u32; 2]>,
    stacks: Vec<Vec<Hold>>,
}

impl Held {
    fn grow(&mut self, tables: &Tables) {
        let threads = self.now.len().max(tables.threads.len());
        self.now.resize(threads, [EMPTY; 2]);
        self.stacks.resize_with(threads, Vec::new);
    }

    #[inline]
    fn sync(&mut self, event: &Event) {
        let thread = event.thread.index();
        let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
        match event.op {
            Op::Acquire | Op::SharedAcquire => {
                let before = self.now[thread];
                self.now[thread] = self.add(before, event.object, mode);
                self.stacks[thread].push(Hold { lock: event.object, mode, before });
            }
            Op::Release | Op::SharedRelease => {
                let stack = &mut self.stacks[thread];
                let at = stack.iter().rposition(|h| h.lock == event.object && h.mode == mode);
                let at = at.expect("a relevant release has its acquire");
                if at + 1 == stack.len() {
                    self.now[thread] = stack[at].before;
                    stack.truncate(at);
                    return;
                }
                self.now[thread] = stack.remove(at).before;
                // Sections need not be nested: locks taken later are still held.
                for later in at..self.stacks[thread].len() {
                    let before = self.now[thread];
                    let Hold { lock, mode, .. } = self.stacks[thread][later];
                    self.stacks[thread][later].before = before;
                    self.now[thread] = self.add(before, lock, mode);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn add(&mut self, [any, alone]: [u32; 2], lock: u32, mode: Mode) -> [u32; 2] {
        let more = self.sets.with(any, lock);
        match mode {
            Mode::Exclusive if any == alone => [more, more],
            Mode::Exclusive => [more, self.sets.with(alone, lock)],
            Mode::Shared => [more, alone],
        }
    }

    /// The locks that protect an access.
    #[inline]
    fn protecting(&self, thread: usize, write: bool) -> u32 {
        self.now[thread][usize::from(write)]
    }
}

/// The discipline of one variable.
#[derive(Clone, Copy)]
struct Variable {
    /// Locks that protected all accesses so far.
    set: u32,
    /// The only thread so far, [`VIRGIN`] or [`MANY`].
    thread: u32,
    /// With the pseudo-lock of reads: written at all; in Eraser's states: written while shared.
    written: bool,
}

const VIRGIN: u32 = u32::MAX;
const MANY: u32 = u32::MAX - 1;
const UNSEEN: Variable = Variable { set: EMPTY, thread: VIRGIN, written: false };

impl Variable {
    /// Takes an access. `true` if no lock is left.
    #[inline]
    fn access<const ERASER: bool>(&mut self, sets: &mut Sets, held: u32, access: &Access) -> bool {
        let thread = access.thread as u32;
        if self.thread == VIRGIN {
            *self = Variable { set: held, thread, written: access.write && !ERASER };
            return false;
        }
        if ERASER && self.thread == thread {
            return false;
        }
        if ERASER && self.thread != MANY {
            self.set = held;
        } else {
            self.set = sets.both(self.set, held);
        }
        if self.thread != thread {
            self.thread = MANY;
        }
        self.written |= access.write;
        self.set == EMPTY && self.thread == MANY && self.written
    }
}

pub(crate) fn detect<F: Feed + ?Sized>(feed: &mut F, options: &Options, found: &mut Found) -> Result<(), Error> {
    if options.eraser { run::<true, F>(feed, options, found) } else { run::<false, F>(feed, options, found) }
}

fn run<const ERASER: bool, F: Feed + ?Sized>(feed: &mut F, options: &Options, found: &mut Found) -> Result<(), Error> {
    let mut count =
        Count::<ERASER> { held: Held::default(), variables: Vec::new(), tally: Tally::default(), first: options.first };
    let events = feed.feed(&mut count)?;
    let memory = count.variables.capacity() * size_of::<Variable>();
    let last = count.tally.last;
    second_pass(feed, found, count.tally, events, memory, |pairs| Pair::<ERASER> {
        sets: Sets::default(),
        modes: Modes::default(),
        variables: Vec::new(),
        pairs,
        last,
    })
}

/// The variables that no lock protects in all accesses, though several threads touch them and some write. Returns how many
/// events the trace has as well.
pub(crate) fn unprotected<F: Feed + ?Sized>(feed: &mut F) -> Result<(u64, Bits), Error> {
    let mut count =
        Count::<false> { held: Held::default(), variables: Vec::new(), tally: Tally::default(), first: false };
    let events = feed.feed(&mut count)?;
    Ok((events, count.tally.variables))
}

struct Count<const ERASER: bool> {
    held: Held,
    variables: Vec<Variable>,
    tally: Tally,
    first: bool,
}

impl<const ERASER: bool> Pass for Count<ERASER> {
    fn grow(&mut self, tables: &Tables) {
        self.held.grow(tables);
        self.variables.resize(self.variables.len().max(tables.variables.len()), UNSEEN);
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let held = self.held.protecting(access.thread, access.write);
        let held = if access.flags.is_atomic() { self.held.sets.with(held, ATOMIC) } else { held };
        let racy = self.variables[access.variable].access::<ERASER>(&mut self.held.sets, held, &access);
        if racy {
            self.tally.add(&access);
        }
        racy && self.first
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        self.held.sync(sync.event);
    }
}

/// What each thread holds, with modes, to decide whether a lock separates two accesses. Sets are built on demand.
#[derive(Default)]
pub(crate) struct Modes {
    sets: Locksets,
    ids: Vec<LocksetId>,
    stacks: Vec<Vec<(LockId, Mode)>>,
    /// The set of each thread, until its locks change.
    now: Vec<Option<LocksetId>>,
}

impl Modes {
    pub(crate) fn grow(&mut self, threads: usize) {
        self.stacks.resize_with(self.stacks.len().max(threads), Vec::new);
        self.now.resize(self.stacks.len(), None);
    }

    #[inline]
    pub(crate) fn sync(&mut self, event: &Event) {
        let Some(lock) = event.lock().filter(|_| event.op.is_lock()) else { return };
        let held = (lock, if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive });
        let stack = &mut self.stacks[event.thread.index()];
        if event.op.is_acquire() {
            stack.push(held);
        } else if let Some(at) = stack.iter().rposition(|h| *h == held) {
            stack.remove(at);
        }
        self.now[event.thread.index()] = None;
    }

    pub(crate) fn sets(&self) -> &Locksets {
        &self.sets
    }

    pub(crate) fn held(&mut self, thread: usize) -> LocksetId {
        if let Some(set) = self.now[thread] {
            return set;
        }
        let stack = self.stacks[thread].iter();
        let set = stack.fold(LocksetId::EMPTY, |set, held| self.sets.with(set, *held));
        self.now[thread] = Some(set);
        set
    }

    /// The set of a thread as a number that [`Self::apart`] takes.
    fn number(&mut self, thread: usize) -> u32 {
        let set = self.held(thread);
        if self.ids.len() <= set.index() {
            self.ids.resize(set.index() + 1, LocksetId::EMPTY);
        }
        self.ids[set.index()] = set;
        set.index() as u32
    }

    /// A lock that separates two accesses with these sets.
    fn apart(&self, a: u32, b: u32) -> Option<LockId> {
        self.sets.common(self.ids[a as usize], self.ids[b as usize])
    }

    /// The locks that protect an access: a write is protected only by exclusively held locks.
    fn protecting(&self, sets: &mut Sets, thread: usize, write: bool) -> u32 {
        let held = self.stacks[thread].iter().filter(|(_, mode)| !write || *mode == Mode::Exclusive);
        held.fold(EMPTY, |set, (lock, _)| sets.with(set, lock.cell()))
    }
}

struct Pair<const ERASER: bool> {
    sets: Sets,
    modes: Modes,
    variables: Vec<Variable>,
    pairs: Pairs,
    last: u32,
}

impl<const ERASER: bool> Pass for Pair<ERASER> {
    fn grow(&mut self, tables: &Tables) {
        self.modes.grow(tables.threads.len());
        self.variables.resize(self.variables.len().max(tables.variables.len()), UNSEEN);
    }

    fn access(&mut self, access: Access) -> bool {
        if let Some(slot) = self.pairs.slot(access.variable) {
            let held = self.modes.protecting(&mut self.sets, access.thread, access.write);
            let held = if access.flags.is_atomic() { self.sets.with(held, ATOMIC) } else { held };
            let racy = self.variables[access.variable].access::<ERASER>(&mut self.sets, held, &access);
            let held = self.modes.number(access.thread);
            let modes = &self.modes;
            let unordered = |earlier: &Latest| racy && modes.apart(earlier.stamp, held).is_none();
            self.pairs.access(slot, access, held, held, unordered);
        }
        access.id >= self.last
    }

    fn sync(&mut self, sync: &Sync<'_>) {
        self.modes.sync(sync.event);
    }
}

impl<const ERASER: bool> Pairing for Pair<ERASER> {
    fn pairs(self) -> Pairs {
        self.pairs
    }
}
