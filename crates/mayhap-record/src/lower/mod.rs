//! The second pass: words become events of a trace.
//!
//! What threads do is lowered to the operations that traces have, so that every correct reordering of the events is one
//! that the program could really show:
//!
//! | in the program | in the trace |
//! |---|---|
//! | access of any width | one read or write per piece of memory; pieces are the finest that accesses anywhere distinguish |
//! | atomic load, store | a read or write with its memory order and value |
//! | atomic update | a read and a write in one step; a compare-exchange has a branch between them, also where it fails |
//! | fence | `fence` with its memory order |
//! | condition wait | `rel`, `wait` directly after the `notify` that woke it, if one did, `acq` |
//! | semaphore | a condition that counts: a post is a `notify`, a wait takes one |
//! | barrier | each arrival waits for the one before; the last one notifies all, who wait for it when they leave |
//! | once, guard of a static local | `notifyall` when done, `wait` by who finds it done |
//! | lock of Rust's `std` or `parking_lot` | `acq`, `rel`, `racq`, `rrel`; see [`rust_locks`] |
//! | Rust's `park`, scope | `wait` for `notifyall` by who unparks, or by the threads that leave the scope |
//! | lock that is tried, or waited for within a time | `acq` with that attempt; `facq`, `fracq`, `fwait` where it failed |
//! | `free` | a write of every piece of the block, marked as freeing |
//! | basic block, computed address of an access or a lock | `br`, if the thread has read since its last one |
//!
//! Every event passes the validator; what breaks a rule (a lock that uninstrumented code released) is mended or dropped, and counted.

mod accesses;
mod annotations;
mod atomics;
mod attached;
mod attempts;
mod blocks;
pub(crate) mod channels;
mod code;
mod doubts;
pub(crate) mod finish;
mod lifetimes;
mod locals;
mod names;
mod naming;
mod part;
pub(crate) mod reading;
mod rust_locks;
mod stacks;
mod steps;
mod sync;
mod synchronisation;
mod values;
mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::io;

use mayhap_trace::attachments::doubts::{Role, What};
use mayhap_trace::validate::Validator;
use mayhap_trace::{
    CHUNK, Columns, Error, Event, EventId, Flags, LocId, NONE, NameError, Op, Position, Source, Tables, ThreadId,
    ValueId,
};
use mayhap_wire::call_frame;
use mayhap_wire::ring::{AtomicForm, BRANCHED, MAX_SITE, SiteKind, Tag, split_atomic};

use crate::limits::Limits;
use crate::lower::atomics::Atomic;
use crate::lower::code::Code;
use crate::lower::reading::Reading;
use crate::lower::rust_locks::RustLocks;
use crate::lower::stacks::{Now, Stacks};
use crate::lower::steps::{Steps, View};
use crate::lower::sync::{Objects, Wake};
use crate::memory::{Blocks, Sites};
use crate::ring_words::{Word, Words, following};
use crate::sharing::first_pass::Facts;
use crate::sharing::shadow_table::Table;
use crate::sharing::sharing_state::KEPT;
use mayhap_symbols::{Allocated, Symbols};

/// What the lowering keeps of a thread.
#[derive(Clone, Default)]
struct Thread {
    /// Id and name, once it appears.
    id: Option<ThreadId>,
    name: String,
    children: u32,
    /// It has read something that is kept since its last branch: memory, what it was started with, what a thread that it joined
    /// returned, whether an attempt failed, what came through a channel.
    dirty: bool,
    /// How it attempts what it takes or waits for next.
    attempt: Flags,
    /// Event count when it began to wait on a condition.
    waits_since: u64,
    latest: values::Latest,
    /// A wait that has begun and not ended.
    waits: Option<waiting::Begun>,
    /// Where its stack is.
    stack: std::ops::Range<u64>,
}

/// What is known of a site by its code.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// Its address is a constant.
    constant: bool,
    /// It moves memory unseen by anybody.
    unseen: bool,
    /// It lies in Rust code that is not instrumented.
    silent: bool,
    /// It writes this constant of the code.
    stores: Option<u64>,
    /// It lies in a library that is unloaded while other threads may use it: where that begins; 0 if not.
    library: u64,
}

/// What location a site has.
#[derive(Clone, Copy)]
struct Location {
    /// In the program's own code, if it does not depend on the caller.
    own: u32,
    /// As it is, once no caller is in the program's own code.
    plain: u32,
}

impl Default for Location {
    fn default() -> Self {
        Location { own: NONE, plain: NONE }
    }
}

/// A run's events, made from its words.
pub(crate) struct Lowering {
    reading: Reading,
    used: usize,
    facts: Facts,
    /// Of granules that are kept now: [`KEPT`], the cuts, and the variable of the first piece plus 1 in the high half.
    kept: Table,
    sites: Sites,
    blocks: Blocks,
    objects: Objects,
    channels: channels::Channels,
    annotations: annotations::Annotations,
    lives: lifetimes::Lives,
    threads: Vec<Thread>,
    /// What the program called threads, by number.
    called: BTreeMap<u16, String>,
    locals: locals::Locals,
    current: u16,
    /// The site of what is lowered now.
    at: u32,
    symbols: Symbols,
    /// By site number.
    marks: Vec<Marks>,
    code: Code,
    rust_locks: RustLocks,
    held_values: values::Held,
    /// Locations of each site by number.
    locations: Vec<Location>,
    /// Of places in the code, what location of the program's own they stand for.
    own: HashMap<u64, Option<u32>>,
    /// Where sites of allocations lie.
    lines: HashMap<u32, String>,
    /// What sites of allocations allocate.
    allocates: HashMap<u32, Option<Allocated>>,
    /// Of blocks by number that a library allocated for the program: the location of the program's own code.
    allocated_at: HashMap<usize, u32>,
    /// Names of variables outside heap blocks.
    variables: names::Taken,
    /// A heap block by number, and its name.
    heap: (Option<usize>, String),
    limits: Limits,
    /// By site number: not looked at yet, kept, left out.
    chosen: Vec<Option<bool>>,
    /// Accesses that were left out by where they are.
    excluded: u64,
    /// Events are written. Before, only what later ones need is kept: who holds which lock since where.
    writes: bool,
    held: Vec<(u16, Op, u32, u32)>,
    tables: Tables,
    out: Columns,
    validator: Validator,
    count: u64,
    /// Events that the steps know.
    noted: u64,
    dropped: u64,
    finished: bool,
    /// The threads that wait at the end were written.
    told_waiting: bool,
    steps: Steps,
    stacks: Stacks,
    doubts: doubts::Unseen,
}

impl Lowering {
    pub(crate) fn new(reading: Reading, facts: Facts, symbols: Symbols, limits: Limits) -> Lowering {
        let mut kept = Table::default();
        for &(granule, cuts) in &facts.outside {
            kept.set(granule, KEPT | u64::from(cuts));
        }
        let code = Code::of(&symbols, &facts);
        let rust_locks = RustLocks::of(&facts.atomics, &symbols);
        Lowering {
            reading,
            used: 0,
            facts,
            kept,
            sites: Sites::default(),
            blocks: Blocks::default(),
            objects: Objects::default(),
            channels: channels::Channels::default(),
            annotations: annotations::Annotations::default(),
            lives: lifetimes::Lives::default(),
            threads: Vec::new(),
            called: BTreeMap::new(),
            locals: locals::Locals::default(),
            current: 0,
            at: 0,
            symbols,
            marks: Vec::new(),
            code,
            rust_locks,
            held_values: values::Held::default(),
            locations: Vec::new(),
            own: HashMap::new(),
            allocates: HashMap::new(),
            lines: HashMap::new(),
            allocated_at: HashMap::new(),
            variables: names::Taken::default(),
            heap: (None, String::new()),
            writes: limits.last.is_none(),
            limits,
            chosen: Vec::new(),
            excluded: 0,
            held: Vec::new(),
            tables: Tables::default(),
            out: Columns::default(),
            validator: Validator::new(),
            count: 0,
            noted: 0,
            dropped: 0,
            finished: false,
            told_waiting: false,
            steps: Steps::default(),
            stacks: Stacks::default(),
            doubts: doubts::Unseen::default(),
        }
    }

    /// Events that broke a rule and were left out.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Events made so far.
    pub(crate) fn events(&self) -> u64 {
        self.count
    }

    fn step(&mut self, word: Word<'_>) -> Result<(), NameError> {
        if let Word::Record(Tag::Value, address, body) = word {
            return self.observed(address, following(body, 0));
        }
        self.noted = self.count;
        let word = match word {
            Word::Access(site, address) if site & BRANCHED != 0 => {
                self.resolve_pending(site & MAX_SITE)?;
                self.branch(site & MAX_SITE)?;
                self.steps.skip(self.count - self.noted);
                Word::Access(site & MAX_SITE, address)
            }
            word => word,
        };
        self.leave_blocks(word)?;
        self.lower(word)?;
        if let Some((site, lock)) = self.rust_locks.done.take() {
            self.note_lock(site, lock, false);
        }
        let view = View { sites: &self.sites, blocks: &self.blocks, symbols: &self.symbols };
        // A branch alone is due to an access of memory that is one thread's own, which is no step.
        match self.count - self.noted {
            events if self.locals.left.is_some() => self.note_left(events),
            1 if self.out.ops.last() == Some(&Op::Branch) => self.steps.skip(1),
            events => self.steps.note(&view, self.current, word, events),
        }
        Ok(())
    }

    fn lower(&mut self, word: Word<'_>) -> Result<(), NameError> {
        match word {
            Word::Access(number, address) => {
                let (kind, size) = self.sites.kind(number);
                self.at = number;
                let of_a_lock = !matches!(kind, SiteKind::Call | SiteKind::Return) && self.resolve_pending(number)?;
                match kind {
                    SiteKind::Read | SiteKind::Write if of_a_lock => Ok(()),
                    SiteKind::Read => self.access(number, address, size.into(), Op::Read),
                    SiteKind::Write => self.access(number, address, size.into(), Op::Write),
                    SiteKind::Branch => self.branch(number),
                    SiteKind::Call | SiteKind::Return => {
                        self.functions_end(call_frame::depth(address))?;
                        match kind {
                            SiteKind::Call => {
                                self.stacks.called(self.current, address, number, self.sites.get(number).pc)
                            }
                            _ => self.stacks.returned(self.current, call_frame::depth(address)),
                        }
                        Ok(())
                    }
                    SiteKind::Other => Ok(()),
                }
            }
            Word::Record(tag, argument, body) => {
                self.at = argument;
                self.record(tag, argument, following(body, 0), following(body, 1), body)
            }
        }
    }

    fn record(&mut self, tag: Tag, arg: u32, first: u64, second: u64, body: &[u64]) -> Result<(), NameError> {
        // Skip std-internal synchronisation: only half of it is visible.
        if rust_locks::is_std(tag) && self.marks(arg).silent {
            return Ok(());
        }
        if tag != Tag::Module {
            self.doubts.goes_on();
            self.blocks.goes_on();
        }
        self.note_wait(tag, arg, first, second);
        self.use_object(tag, arg, first, second)?;
        match tag {
            Tag::Switch => self.current = arg as u16,
            Tag::Site => self.define_site(arg, first),
            Tag::Module => self.loaded(second, following(body, 2)),
            Tag::Input | Tag::Blocked => {}
            Tag::Failed => self.failed(arg, first, second, following(body, 2))?,
            Tag::SemInit => self.objects.semaphore_begins(first, second),
            Tag::Begin => self.begin(arg as u16, first, second, body.get(3).copied())?,
            Tag::End => self.emit(Op::End, NONE, 0)?,
            Tag::Fork => self.fork(arg, first as u16)?,
            Tag::Join => {
                let child = self.thread_id(first as u16)?;
                self.decided(Op::Join, child.cell(), arg)?;
                // What the thread returned is read.
                self.thread().dirty = true;
            }
            Tag::Tried => self.thread().attempt = if first == 0 { Flags::TRY } else { Flags::TIMED },
            Tag::Acquire => self.acquire(Op::Acquire, arg, first)?,
            Tag::SharedAcquire => self.acquire(Op::SharedAcquire, arg, first)?,
            Tag::Release | Tag::AnyRelease => self.release(arg, first)?,
            Tag::Renew => self.renew(arg, first)?,
            Tag::BarrierInit => {
                self.objects.forget(first..first + 1);
                self.objects.barrier(first).count = second.max(1);
            }
            Tag::WaitBegin => {
                let now = self.count;
                self.thread().waits_since = now;
            }
            Tag::WaitEnd if second != 0 => {
                let since = self.thread().waits_since;
                self.wait(arg, first, Wake::Condition, Some(since))?;
            }
            Tag::WaitEnd => self.thread().attempt = Flags::NONE,
            Tag::Woken => {
                let waker = std::mem::replace(&mut self.current, second as u16);
                self.wait(arg, first, Wake::Condition, None)?;
                self.current = waker;
            }
            Tag::Notify => self.notify(Op::Notify, arg, first, Wake::Condition)?,
            Tag::NotifyAll => self.notify(Op::NotifyAll, arg, first, Wake::Condition)?,
            Tag::OnceDone => self.notify(Op::NotifyAll, arg, first, Wake::Once)?,
            Tag::OnceSeen => self.wait(arg, first, Wake::Once, None)?,
            Tag::SemPost => self.post(arg, first)?,
            Tag::SemWait => self.lower_semaphore(arg, first)?,
            Tag::BarrierArrive => self.arrive(arg, first)?,
            Tag::BarrierLeave => {
                if let Some(round) = self.objects.barrier(first).leave(self.current) {
                    self.wait(arg, first, Wake::Round(round), None)?;
                }
            }
            Tag::Channel
            | Tag::Send
            | Tag::SendEnd
            | Tag::Receive
            | Tag::Ready
            | Tag::HangUp
            | Tag::SignalSent
            | Tag::SignalTaken
            | Tag::KeyedAcquire
            | Tag::KeyedRelease => self.channel_record(tag, arg, body)?,
            Tag::Doubt => self.doubted(arg, first as u8, second, body),
            _ => self.record_memory(tag, arg, first, second, body)?,
        }
        Ok(())
    }

    fn post(&mut self, site: u32, semaphore: u64) -> Result<(), NameError> {
        let name = self.semaphore(semaphore)?;
        self.objects.post(semaphore);
        self.named(Op::Notify, name, site)
    }

    /// A record about memory or descriptors, or about what Rust's library does for itself.
    fn record_memory(&mut self, tag: Tag, arg: u32, first: u64, second: u64, body: &[u64]) -> Result<(), NameError> {
        match tag {
            Tag::Atomic => {
                if let Some((kind, order, size)) = split_atomic(second)
                    && !self.lifted(arg, first, kind, size)?
                {
                    let values = body.get(2).copied().zip(body.get(3).copied());
                    let atomic = Atomic { address: first, kind, form: AtomicForm::of(second), order, size, values };
                    self.resolve_pending(arg)?;
                    self.atomic(arg, atomic)?;
                }
            }
            Tag::Fence => self.fence(arg, first as u8)?,
            Tag::RangeRead | Tag::RangeWrite if self.marks(arg).unseen => {}
            Tag::RangeRead | Tag::RangeWrite => {
                if self.resolve_pending(arg)? {
                    return Ok(());
                }
                self.access(arg, first, second, if tag == Tag::RangeRead { Op::Read } else { Op::Write })?;
            }
            Tag::Alloc => {
                let end = first.saturating_add(following(body, 1).max(1));
                self.retire_overlapping(first, end);
                let block = self.blocks.allocate(self.current, arg, first, second);
                self.steps.allocated(self.current, self.sites.get(arg).pc, block.number);
                self.note_allocation(arg, &block)?;
                self.revive(&block);
            }
            Tag::Free => {
                self.stacks.frees(arg);
                self.free(arg, first)?;
            }
            Tag::Close => self.closed(arg, first, second)?,
            Tag::Open => self.opened(arg, first),
            Tag::StdLocked => self.std_acquired(arg, first, second != 0)?,
            Tag::StdUnlocked => self.std_released(arg, first)?,
            Tag::Parked => self.parked(arg, first)?,
            Tag::ScopeLeft => self.scope_left(arg, first)?,
            Tag::Unmap => self.unmapped(arg, first, second)?,
            Tag::Benign => self.annotations.mean(first, second),
            Tag::ThreadName => self.name_thread(arg as u16, [first, second]),
            Tag::Heeded => self.annotations.heed(self.current, first != 0, second != 0),
            _ => {}
        }
        Ok(())
    }

    fn thread(&mut self) -> &mut Thread {
        let index = usize::from(self.current);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        &mut self.threads[index]
    }

    /// Returns the id of a thread by its number in the recording; named now if it has no name yet.
    fn thread_id(&mut self, number: u16) -> Result<ThreadId, NameError> {
        let index = usize::from(number);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        if let Some(id) = self.threads[index].id {
            return Ok(id);
        }
        if self.threads[index].name.is_empty() {
            self.threads[index].name = if number == 0 { "main".into() } else { format!("thread{number}") };
        }
        let cell = names::define(&mut self.tables.threads, &self.threads[index].name)?;
        let id = ThreadId::at(cell as usize);
        self.threads[index].id = Some(id);
        Ok(id)
    }

    fn fork(&mut self, site: u32, child: u16) -> Result<(), NameError> {
        self.thread_id(self.current)?;
        let parent = self.thread();
        parent.children += 1;
        let name = format!("{}.{}", parent.name, parent.children);
        let index = usize::from(child);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        self.threads[index].name = name;
        let child = self.thread_id(child)?;
        self.decided(Op::Fork, child.cell(), site)
    }

    /// Appends an event of the current thread, unless it breaks a rule.
    #[inline]
    fn emit(&mut self, op: Op, object: u32, site: u32) -> Result<(), NameError> {
        self.emit_with(op, object, site, Flags::NONE, NONE)
    }

    /// Appends an event with properties and a value, unless it breaks a rule.
    #[inline]
    fn emit_with(&mut self, op: Op, object: u32, site: u32, flags: Flags, value: u32) -> Result<(), NameError> {
        if !self.writes && !self.is_needed(op, object, site) {
            return Ok(());
        }
        let thread = self.thread_id(self.current)?;
        let location = self.location(site)?;
        let event_thread = thread.cell();
        let value = if op == Op::Write { self.held_values.write(object, value) } else { value };
        let event = Event::new(thread, op, object, LocId::from_cell(location));
        let event = event.with_flags(flags).with_value(ValueId::from_cell(value));
        let id =
            EventId::new(self.count as usize).ok_or(NameError::TooMany { what: "events", limit: NONE as usize })?;
        match self.validator.step(&self.tables, id, &event) {
            Ok(_) => {
                if site != 0 {
                    let (event, thread, pc) = (self.count, self.current, self.sites.get(site).pc);
                    let now = Now { event, thread, id: event_thread, location, site, pc };
                    self.stacks.note(&self.symbols, &now);
                }
                self.out.push(event);
                self.count += 1;
            }
            Err(_) => {
                self.dropped += 1;
                self.doubt_here(What::Dropped, "an event", Role::Both);
            }
        }
        Ok(())
    }

    /// A branch, if the thread has read since the last one. None at all in a program whose basic blocks are not recorded:
    /// without them, those at computed addresses would pass for all there are.
    fn branch(&mut self, site: u32) -> Result<(), NameError> {
        self.branch_with(site, Flags::NONE)
    }

    fn branch_with(&mut self, site: u32, flags: Flags) -> Result<(), NameError> {
        if !self.facts.tells_branches || !std::mem::take(&mut self.thread().dirty) {
            return Ok(());
        }
        self.emit_with(Op::Branch, NONE, site, flags, NONE)
    }

    /// A branch that no basic block stands for: a value read before may decide what the next event is about.
    fn implicit_branch(&mut self) -> Result<(), NameError> {
        self.branch_with(0, Flags::IMPLICIT)
    }

    /// A lock or condition event: its object was decided by a value read before, unless the program names a constant one.
    fn named(&mut self, op: Op, object: u32, site: u32) -> Result<(), NameError> {
        if self.marks(site).constant {
            return self.emit(op, object, site);
        }
        self.decided(op, object, site)
    }

    /// An event whose object a value read before may have decided.
    fn decided(&mut self, op: Op, object: u32, site: u32) -> Result<(), NameError> {
        self.implicit_branch()?;
        self.emit(op, object, site)
    }

    fn fill(&mut self) -> Result<(), Error> {
        let whole = |error: io::Error| Error::new(Position::Whole, error);
        let mut reading = std::mem::replace(&mut self.reading, Reading::empty());
        let mut result = Ok(());
        while self.out.len() < CHUNK && !self.finished && result.is_ok() {
            reading.next(self.used).map_err(whole)?;
            if !self.writes && reading.is_wanted() {
                result = self.begin_writing().map_err(|error| Error::new(Position::Whole, error));
            }
            let words = reading.words();
            let mut split = Words::new(words);
            while self.out.len() < CHUNK
                && result.is_ok()
                && let Some(word) = split.next()
            {
                result = self.step(word).map_err(|error| Error::new(Position::Whole, error));
            }
            self.used = split.done();
            self.finished = self.used == 0 || split.is_broken();
        }
        self.reading = reading;
        result
    }
}

impl Source for Lowering {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        self.fill()?;
        chunk.clear();
        std::mem::swap(chunk, &mut self.out);
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn attachment(&mut self) -> Option<(u8, Vec<u8>)> {
        self.take_attachment()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }
}
