//! The steps of a run that was made in turns, as they come out of the ring: for those who explore, without names and without a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use mayhap_symbols::Module;
use mayhap_wire::channel;
use mayhap_wire::ring::{AtomicKind, MAX_SITE, SiteKind, Tag, choice, futex, split_atomic};

use crate::capture::store::Store;
use crate::capture::unpacking::Unpacker;
use crate::heap_names::Heap;
use crate::memory::Sites;
use crate::ring_words::{Word, Words, following};
use crate::std_waits::StdWaits;

/// What a thread did between two moments at which another one could have come first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TurnStep {
    /// The thread, by its number in the recording.
    pub thread: u32,
    /// The address of its first operation in the code; 0 where that is not known.
    pub code: u64,
    /// What it did, in order.
    pub operations: Vec<Operation>,
}

/// One operation of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Memory was read: the address, how many bytes, what was found where that is known, and the place in the code. Addresses in blocks of the heap and in
    /// stacks, here and everywhere, are names, since where those lie depends on the order of allocations.
    Read(u64, u32, Option<u64>, u32),
    /// Memory was written.
    Write(u64, u32),
    /// Memory was read and written in one: the address, how many bytes, and what was found where that is known.
    Update(u64, u32, Option<u64>),
    /// A lock was taken.
    Acquire(u64),
    /// A lock was given up.
    Release(u64),
    /// A lock was taken that readers hold together.
    SharedAcquire(u64),
    /// A reader gave it up.
    SharedRelease(u64),
    /// Something was done with a synchronisation object that others may do at the same time, in either order: a semaphore, a condition, a barrier, a
    /// once-initialisation.
    Sync(u64),
    /// The thread attempted to take a lock or a semaphore without waiting, and whether it got it.
    Attempt(u64, bool),
    /// One thread that waits on a condition, if there is one, is woken.
    Notify(u64),
    /// The thread begins to wait on a condition.
    Wait(u64),
    /// The thread cannot go on before another one changes this lock or semaphore.
    Blocked(u64),
    /// Another thread, which could not go on, can try again.
    Unparked(u32),
    /// A thread was started.
    Fork(u32),
    /// A thread has ended, and this one knows.
    Join(u32),
    /// The thread ends.
    End,
    /// Something other than the order decided: the kind of [`mayhap_wire::ring::choice`], how many alternatives there were, and which was taken.
    Choice(u32, u32, u32),
    /// Something whose order others decide, or that is not seen: one of [`UNCLEAR`].
    Unclear(&'static str),
}

/// What [`Operation::Unclear`] can say.
pub const UNCLEAR: [&str; 5] = [
    "waits inside a library",
    "what threads hand over through the kernel",
    "signals",
    "code that the recording does not see into",
    "accesses of more than a megabyte at once",
];

/// The most bytes of an access that are looked at one by one.
const MOST_BYTES: u64 = 1 << 20;

impl TurnStep {
    /// The choices that the step made: kind, how many alternatives there were, and which was taken.
    pub fn choices(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Choice(kind, alternatives, taken) => Some((*kind, *alternatives, *taken)),
            _ => None,
        })
    }
}

/// The steps of a run of a program with these modules.
pub(crate) fn steps(store: &Store, modules: &[Module]) -> io::Result<Vec<TurnStep>> {
    let mut reader = Reader {
        whole: modules.iter().filter(|module| is_whole(module, modules)).cloned().collect(),
        ..Reader::default()
    };
    // Where stacks lie is recorded when threads begin, and may be read before.
    each_word(store, |word| {
        if let Word::Record(Tag::Begin, thread, body) = word {
            reader.heap.stack(thread, following(body, 0), following(body, 1));
        }
    })?;
    each_word(store, |word| match word {
        Word::Access(site, address) => reader.access(site & MAX_SITE, address),
        Word::Record(tag, argument, body) => reader.record(tag, argument, body),
    })?;
    reader.end_step();
    reader.waits.wanting().into_iter().for_each(|thread| reader.parked(thread));
    Ok(reader.steps)
}

/// Where this module's code puts threads to sleep on a word, nothing changes the word that the recording does not see: the program's own code does not, but for what is known
/// of Rust's library, nor does the futures of GNU's C++ library.
fn is_whole(module: &Module, modules: &[Module]) -> bool {
    let name = module.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    modules.first().is_some_and(|program| program.path == module.path) || name.starts_with("libstdc++.so")
}

/// What a trace calls the threads of a run, by their numbers: each after the one that started it.
pub(crate) fn thread_names(store: &Store) -> io::Result<BTreeMap<u32, String>> {
    let mut names = BTreeMap::from([(0, "main".to_string())]);
    let mut children: BTreeMap<u32, u32> = BTreeMap::new();
    let mut current = 0;
    each_word(store, |word| match word {
        Word::Record(Tag::Switch, thread, _) => current = thread,
        Word::Record(Tag::Fork, _, body) => {
            let nth = children.entry(current).or_default();
            *nth += 1;
            let name = names.get(&current).map(|parent| format!("{parent}.{nth}"));
            names.extend(name.map(|name| (following(body, 0) as u32, name)));
        }
        _ => {}
    })?;
    Ok(names)
}

/// Calls a function with each word of a run.
pub(crate) fn each_word(store: &Store, mut each: impl FnMut(Word<'_>)) -> io::Result<()> {
    let (mut unpacker, mut buffer) = (Unpacker::new(), Vec::new());
    for block in store.blocks() {
        let bytes = store.get(block, &mut buffer)?;
        let words = unpacker.words(bytes, block.units()).ok_or_else(|| block.is_wrong())?;
        Words::new(&words).for_each(&mut each);
    }
    Ok(())
}

/// The synchronisation object of an operation, where it lies in memory.
fn object(operation: &Operation) -> Option<u64> {
    use Operation as O;
    match operation {
        O::Acquire(o) | O::Release(o) | O::SharedAcquire(o) | O::SharedRelease(o) => Some(*o),
        O::Sync(o) | O::Attempt(o, _) | O::Notify(o) | O::Wait(o) => Some(*o),
        _ => None,
    }
}

#[derive(Default)]
struct Reader {
    sites: Sites,
    steps: Vec<TurnStep>,
    thread: u32,
    /// Where in the code the current record comes from.
    code: u64,
    /// The next lock is only tried: if another thread held it, the attempt would fail.
    tries: bool,
    /// Locks that threads hold as readers.
    readers: Vec<(u64, u32)>,
    /// Blocks of the heap.
    heap: Heap,
    /// Synchronisation objects that were used.
    objects: BTreeSet<u64>,
    /// The eight bytes of memory, by number, that were accessed, and by which thread if by one.
    touched: BTreeMap<u64, Option<u32>>,
    /// What threads that cannot go on wait for.
    blocked: BTreeMap<u32, u64>,
    /// A wait of these threads ends because that was chosen.
    ends_early: BTreeSet<u32>,
    channels: Channels,
    /// The last step of each thread.
    last: BTreeMap<u32, usize>,
    /// Threads in the code of Rust's library that waits.
    waits: StdWaits,
    /// Words that threads sleep on, by their keys.
    words: BTreeMap<u64, u64>,
    /// Modules whose code hides nothing that threads sleep for.
    whole: Vec<Module>,
}

/// Channels of the kernel that only threads of the process use, and whose order decides all that comes of them: pipes and eventfds.
#[derive(Default)]
struct Channels {
    /// Their names by their keys, which differ from run to run.
    names: BTreeMap<u64, u64>,
    /// How many each thread has made.
    made: BTreeMap<u32, u64>,
}

impl Channels {
    /// A thread makes a channel of this kind.
    fn comes(&mut self, thread: u32, key: u64, kind: u8) {
        self.names.remove(&key);
        if matches!(kind, channel::PIPE | channel::EVENT) {
            let nth = self.made.entry(thread).or_default();
            *nth += 1;
            self.names.insert(key, channel::key(kind, thread.into(), *nth));
        }
    }

    fn name(&self, key: u64) -> Option<u64> {
        self.names.get(&key).copied()
    }
}

impl Reader {
    /// The last step is over. A thread that tried again to go on, and recorded nothing, still cannot.
    fn end_step(&mut self) {
        let Some(thread) = self.steps.last().filter(|step| step.operations.is_empty()).map(|step| step.thread) else {
            return;
        };
        let object = self.blocked.get(&thread).map(|object| self.named(Operation::Blocked(*object)));
        if let Some(step) = self.steps.last_mut() {
            step.operations.extend(object);
        }
    }

    /// The place in the code, the same in every run: the last bits of its address. The program and its libraries lie so that no two of their instructions share them.
    fn place(&self) -> u32 {
        self.code as u32
    }

    fn put(&mut self, operation: Operation) {
        match operation {
            Operation::Blocked(object) => _ = self.blocked.insert(self.thread, object),
            _ => _ = self.blocked.remove(&self.thread),
        }
        if let Some(object) = object(&operation) {
            self.objects.insert(object);
        }
        self.touch(&operation);
        let operation = self.named(operation);
        match self.steps.last_mut() {
            Some(step) if step.thread == self.thread => {
                if step.operations.is_empty() {
                    step.code = self.code;
                }
                step.operations.push(operation);
            }
            // What a thread does without beginning a step belongs to its last one, and is done before others go on.
            _ => self.steps.push(TurnStep { thread: self.thread, code: self.code, operations: vec![operation] }),
        }
    }

    /// The operation with names instead of addresses of blocks and stacks.
    fn named(&self, mut operation: Operation) -> Operation {
        use Operation as O;
        match &mut operation {
            O::Read(address, ..) | O::Write(address, _) | O::Update(address, ..) => {
                *address = self.heap.name(*address, 8)
            }
            O::Acquire(o)
            | O::Release(o)
            | O::SharedAcquire(o)
            | O::SharedRelease(o)
            | O::Sync(o)
            | O::Attempt(o, _) => {
                *o = self.heap.name(*o, 8);
            }
            O::Notify(o) | O::Wait(o) | O::Blocked(o) => *o = self.heap.name(*o, 8),
            _ => {}
        }
        operation
    }

    /// Remembers the memory that an operation accesses.
    fn touch(&mut self, operation: &Operation) {
        use Operation as O;
        let (O::Read(address, bytes, ..) | O::Write(address, bytes) | O::Update(address, bytes, _)) = operation else {
            return;
        };
        let end = address.saturating_add(u64::from(*bytes).clamp(1, MOST_BYTES));
        for cell in address / 8..=(end - 1) / 8 {
            let thread = self.touched.entry(cell).or_insert(Some(self.thread));
            *thread = thread.filter(|thread| *thread == self.thread);
        }
    }

    /// Memory ends its life: accesses of other threads must come before.
    fn end_of_memory(&mut self, address: u64, bytes: u64) {
        let cells = address.div_ceil(8)..address.saturating_add(bytes) / 8;
        let by_others = self.touched.range(cells).filter(|(_, thread)| **thread != Some(self.thread));
        let by_others: Vec<u64> = by_others.map(|(cell, _)| *cell).collect();
        by_others.into_iter().for_each(|cell| self.put(Operation::Write(cell * 8, 8)));
    }

    /// Objects end their lives with the memory that they lie in.
    fn end_of_objects(&mut self, address: u64, bytes: u64) {
        let within: Vec<u64> = self.objects.range(address..address.saturating_add(bytes)).copied().collect();
        within.into_iter().for_each(|object| self.put(Operation::Sync(object)));
    }

    /// An access of a range of memory.
    fn range(&mut self, operation: Operation, bytes: u64) {
        if bytes > MOST_BYTES {
            self.put(Operation::Unclear(UNCLEAR[4]));
        }
        self.put(operation);
    }

    fn access(&mut self, site: u32, address: u64) {
        let site = self.sites.get(site);
        self.code = site.pc;
        match site.kind {
            SiteKind::Read => self.put(Operation::Read(address, site.size.into(), None, self.place())),
            SiteKind::Write => self.put(Operation::Write(address, site.size.into())),
            SiteKind::Branch | SiteKind::Other | SiteKind::Call | SiteKind::Return => {}
        }
    }

    fn record(&mut self, tag: Tag, argument: u32, body: &[u64]) {
        let (first, second) = (following(body, 0), following(body, 1));
        let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        self.code = self.sites.get(argument).pc;
        if tag == Tag::Failed {
            // A time limit of something else than a condition.
            self.ends_early.remove(&self.thread);
        }
        match tag {
            Tag::Switch => self.thread = argument,
            Tag::Site => self.sites.define(argument, first),
            Tag::Step => self.begin_step(),
            Tag::End => self.put(Operation::End),
            Tag::Fork => self.fork(first as u32),
            Tag::Join => self.put(Operation::Join(first as u32)),
            Tag::Tried => self.tries = first == 0,
            // An attempt that succeeded could have come while the lock was held.
            Tag::Acquire | Tag::SemWait if std::mem::take(&mut self.tries) => self.put(Operation::Attempt(first, true)),
            Tag::Acquire => self.put(Operation::Acquire(first)),
            Tag::SharedAcquire => {
                self.readers.push((first, self.thread));
                let tries = std::mem::take(&mut self.tries);
                self.put(if tries { Operation::Attempt(first, true) } else { Operation::SharedAcquire(first) });
            }
            Tag::Release | Tag::AnyRelease => self.release(first),
            Tag::Notify | Tag::NotifyAll if self.waits.is_condition(first) => {}
            Tag::Notify => self.put(Operation::Notify(first)),
            Tag::Failed => self.put(Operation::Attempt(self.channels.name(first).unwrap_or(first), false)),
            Tag::NotifyAll | Tag::SemPost | Tag::SemWait | Tag::OnceDone | Tag::OnceSeen | Tag::BarrierArrive => {
                self.put(Operation::Sync(first));
            }
            Tag::Blocked => self.blocked(first, u8::try_from(second).ok().and_then(Tag::from_code), following(body, 2)),
            Tag::Found => {
                if let Some(Operation::Read(_, bytes, found, _)) =
                    self.steps.last_mut().and_then(|step| step.operations.last_mut())
                {
                    *found = Some(self.heap.name(first, *bytes));
                }
            }
            Tag::Unparked => {
                self.parked(argument);
                self.put(Operation::Unparked(argument));
            }
            Tag::RangeRead => self.range(Operation::Read(first, bytes(second), None, self.place()), second),
            Tag::RangeWrite => self.range(Operation::Write(first, bytes(second)), second),
            Tag::Alloc => {
                self.waits.forget(first, second);
                self.heap.allocate(self.thread, first, second);
            }
            Tag::Free if first != 0 => {
                let size = self.heap.free(first).unwrap_or(1);
                match size {
                    0..=MOST_BYTES => self.put(Operation::Write(first, bytes(size))),
                    _ => self.end_of_memory(first, size),
                }
                self.end_of_objects(first, size);
            }
            Tag::Unmap => {
                self.end_of_memory(first, second);
                self.end_of_objects(first, second);
            }
            // Skip objects of the runtime: the program does not see them.
            Tag::Renew if second == 0 && !body.is_empty() => self.put(Operation::Sync(first)),
            // The kernel numbers files anew in each run, so descriptors are known by their own numbers.
            Tag::Use | Tag::Close => self.put(Operation::Sync(channel::key(channel::DESCRIPTOR, second, 0))),
            Tag::Choice => self.choice(first as u32, second as u32, following(body, 2) as u32),
            Tag::WaitEnd if self.ends_early.remove(&self.thread) => {}
            Tag::Atomic => self.atomic(body),
            Tag::StdLocked | Tag::StdUnlocked | Tag::Parked | Tag::ScopeLeft | Tag::WaitBegin | Tag::WaitEnd => {
                self.waits_inside(tag, first);
            }
            Tag::Futex => self.sleeps(first, second),
            Tag::Channel => self.channels.comes(self.thread, first, second as u8),
            Tag::Send | Tag::SendEnd | Tag::Receive | Tag::Ready | Tag::HangUp => self.hands_over(tag, body),
            Tag::KeyedAcquire | Tag::KeyedRelease => self.put(Operation::Unclear(UNCLEAR[1])),
            Tag::SignalSent | Tag::SignalTaken => self.put(Operation::Unclear(UNCLEAR[2])),
            Tag::Doubt => self.put(Operation::Unclear(UNCLEAR[3])),
            _ => {}
        }
    }

    /// The thread cannot go on, or perhaps cannot, before this is done to an object; `is_mutex`: to a mutex of Rust's library.
    fn blocked(&mut self, object: u64, awaited: Option<Tag>, is_mutex: u64) {
        match awaited {
            Some(Tag::StdLocked) if is_mutex != 0 => self.wants_mutex(object),
            // What Rust's library waits for is seen as atomic operations.
            Some(Tag::StdLocked | Tag::Parked) => {}
            Some(Tag::Receive | Tag::Send) => {
                if let Some(name) = self.channels.name(object) {
                    self.put(Operation::Blocked(name));
                }
            }
            Some(Tag::WaitEnd) => self.put(Operation::Wait(object)),
            Some(Tag::Join) => self.put(Operation::Blocked(0)),
            _ => self.put(Operation::Blocked(object)),
        }
    }

    /// Something goes through a channel of the process. How much a call moved is like a value that it read.
    fn hands_over(&mut self, tag: Tag, body: &[u64]) {
        let key = following(body, 0);
        let moved = match tag {
            Tag::Receive => Some(following(body, 1)),
            Tag::SendEnd => Some(following(body, 2)),
            _ => None,
        };
        match self.channels.name(key) {
            Some(name) if tag != Tag::Ready => {
                self.put(Operation::Sync(name));
                if moved.is_some() {
                    self.put(Operation::Read(name, 8, moved, self.place()));
                }
            }
            // What is done with threads that sleep on a word was recorded before.
            None if tag == Tag::Send && self.words.contains_key(&key) => {}
            // A thread that slept goes on, which it does by itself.
            None if tag == Tag::Ready && self.words.contains_key(&key) => {
                self.put(Operation::Sync(channel::key(channel::FUTEX, self.thread.into(), 1)));
            }
            // What came of a call whose beginning was no clear step.
            _ if tag == Tag::SendEnd => {}
            _ => self.put(Operation::Unclear(UNCLEAR[1])),
        }
    }

    /// A library waits, or gives a lock up or takes it for that: what is not known of it is unclear.
    fn waits_inside(&mut self, tag: Tag, object: u64) {
        let thread = self.thread;
        match tag {
            Tag::StdUnlocked => self.gives_up(object),
            Tag::WaitBegin if self.waits.begins(thread, object) => self.put(Operation::Sync(object)),
            Tag::WaitEnd if self.waits.is_on_condition(thread) => {}
            Tag::StdLocked if self.waits.ends(thread) => {}
            _ => self.put(Operation::Unclear(UNCLEAR[0])),
        }
    }

    /// Something is done with threads that sleep on a word.
    fn sleeps(&mut self, word: u64, what: u64) {
        if what == futex::NOTIFIES {
            self.waits.notifies(word);
            return self.put(Operation::Sync(word));
        }
        self.words.insert(channel::key(channel::FUTEX, word, 0), word);
        let (is_mutex, is_condition) = (self.waits.is_mutex(word), self.waits.is_condition(word));
        let is_whole = || self.whole.iter().any(|module| (module.low..module.end).contains(&self.code));
        if what == futex::OTHER || !is_mutex && !is_condition && !is_whole() {
            return self.put(Operation::Unclear(UNCLEAR[0]));
        }
        match what {
            // How the word of a mutex changes is seen as writes; that of a condition changes with each notify.
            futex::CHANGED if is_condition => self.put(Operation::Sync(word)),
            futex::CHANGED if is_mutex => {}
            futex::SLEEPS if is_mutex => {
                if self.waits.wanted(self.thread).is_none() {
                    self.put(Operation::Blocked(word));
                }
            }
            futex::CHANGED => self.put(Operation::Read(word, 4, Some(0), self.place())),
            futex::SLEEPS => {
                if !is_condition {
                    self.put(Operation::Read(word, 4, Some(1), self.place()));
                }
                self.put(Operation::Wait(word));
            }
            futex::WAKES if !is_mutex => self.put(Operation::Notify(word)),
            _ => self.put(Operation::Sync(word)),
        }
    }

    fn begin_step(&mut self) {
        self.end_step();
        self.last.insert(self.thread, self.steps.len());
        self.steps.push(TurnStep { thread: self.thread, code: 0, operations: Vec::new() });
        if let Some(mutex) = self.waits.hidden(self.thread) {
            self.put(Operation::Write(mutex, 4));
        }
    }

    /// The thread is in the code of Rust's library that waits for a mutex: each step there writes the word of the mutex, unseen, and may end with the thread asleep on it.
    fn wants_mutex(&mut self, mutex: u64) {
        self.waits.wants(self.thread, mutex);
        self.put(Operation::Write(mutex, 4));
    }

    /// The thread gives a mutex of Rust's library up to wait on a condition, and takes it again before it goes on: until then, its steps write the word of the mutex, unseen.
    fn gives_up(&mut self, mutex: u64) {
        self.waits.gives_up(self.thread, mutex);
        self.put(Operation::Write(mutex, 4));
    }

    /// The thread fell asleep at the end of its last step, as is known now: if it waits for a mutex, only another thread lets it go on.
    fn parked(&mut self, thread: u32) {
        if let Some(mutex) = self.waits.wanted(thread)
            && let Some(last) = self.last.get(&thread)
        {
            let blocked = self.named(Operation::Blocked(mutex));
            self.steps[*last].operations.push(blocked);
        }
    }

    fn fork(&mut self, child: u32) {
        self.heap.start(self.thread, child);
        self.put(Operation::Fork(child));
    }

    fn choice(&mut self, kind: u32, alternatives: u32, taken: u32) {
        if matches!(kind, choice::TIMEOUT | choice::WAKEUP) && taken != 0 {
            self.ends_early.insert(self.thread);
        }
        self.put(Operation::Choice(kind, alternatives, taken));
    }

    fn release(&mut self, lock: u64) {
        let held = self.readers.iter().rposition(|&reader| reader == (lock, self.thread));
        if let Some(held) = held {
            self.readers.swap_remove(held);
        }
        self.put(if held.is_some() { Operation::SharedRelease(lock) } else { Operation::Release(lock) });
    }

    fn atomic(&mut self, body: &[u64]) {
        let Some((kind, _, size)) = split_atomic(following(body, 1)) else { return };
        let address = following(body, 0);
        let found = body.get(2).map(|found| self.heap.name(*found, size.into()));
        self.put(match kind {
            AtomicKind::Load => Operation::Read(address, size.into(), found, self.place()),
            AtomicKind::Store => Operation::Write(address, size.into()),
            AtomicKind::Update => Operation::Update(address, size.into(), found),
        });
    }
}
