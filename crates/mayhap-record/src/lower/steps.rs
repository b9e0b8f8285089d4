//! What a replay needs of a recording: what is written with the events ([`mayhap_trace::attachments::steps`]).

use std::collections::HashMap;

use foldhash::fast::FixedState;
use mayhap_symbols::Symbols;
use mayhap_trace::attachments::steps::{Form, Writer};
use mayhap_wire::ring::{SiteKind, Tag, split_atomic};
use mayhap_wire::schedule::{ANY_OUTCOME, LEAVE, READ, RETURN, WRITE, class};

use crate::memory::{Block, BlockKind, Blocks, Sites};
use crate::ring_words::{Word, following};

/// Ranges of memory that are at hand.
const RANGES: usize = 4;

/// What the writer of steps looks at.
pub(crate) struct View<'a> {
    pub(crate) sites: &'a Sites,
    pub(crate) blocks: &'a Blocks,
    pub(crate) symbols: &'a Symbols,
}

/// Memory whose addresses belong to one thing: where the offset is 0, and whether it grows with the address.
#[derive(Clone, Copy, Default)]
struct Place {
    start: u64,
    end: u64,
    class: u8,
    index: u64,
    zero: u64,
}

impl Place {
    fn object(&self, address: u64) -> Object {
        let offset =
            if self.class == class::STACK { self.zero.wrapping_sub(address) } else { address.wrapping_sub(self.zero) };
        Object { class: self.class, index: self.index, offset }
    }
}

/// A thing that a step is about.
#[derive(Clone, Copy, Default)]
struct Object {
    class: u8,
    index: u64,
    offset: u64,
}

/// Writes steps.
#[derive(Default)]
pub(crate) struct Steps {
    writer: Writer,
    modules: HashMap<usize, u64>,
    sites: HashMap<u64, u64, FixedState>,
    /// The site of each number of the recording plus 1; 0 where it is not known.
    numbered: Vec<u64>,
    /// What addresses belong to, as far as it was asked lately and nothing was allocated since.
    places: [Place; RANGES],
    oldest: usize,
    /// Lane of each thread of the recording, its children so far, and where its frames begin.
    lanes: Vec<Option<Lane>>,
    /// Of each block by number, which allocation of its thread at its site it is.
    nth: Vec<u32>,
    allocations: HashMap<(u16, u64), u32, FixedState>,
    blocks: HashMap<usize, u64, FixedState>,
    /// Which variables of modules are places of a [`TABLES`].
    in_tables: HashMap<u64, bool, FixedState>,
}

/// Variables that are gone.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    /// They were a block's, not those of functions that have returned.
    pub(super) is_block: bool,
    /// Where the block was seen to be left, or the site of the call of the outermost function.
    pub(super) site: u32,
    /// The highest granule of it, and the lowest of all.
    pub(super) highest: u64,
    pub(super) lowest: u64,
}

/// Tables of libraries in which the address of something else says which place is used: another one in another run.
const TABLES: [&str; 1] = ["std::__detail::__waiter_pool_base::_S_for("];

#[derive(Clone, Copy)]
struct Lane {
    id: u64,
    children: u64,
    stack: u64,
}

impl Steps {
    /// What has been written, once it is enough or `all` is wanted.
    pub(crate) fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        self.writer.take(all)
    }

    fn lane(&mut self, thread: u16) -> &mut Lane {
        let index = usize::from(thread);
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, None);
        }
        if self.lanes[index].is_none() {
            self.define_lane(thread, None, thread.into());
        }
        self.lanes[index].get_or_insert(Lane { id: 0, children: 0, stack: 0 })
    }

    fn define_lane(&mut self, thread: u16, parent: Option<u64>, nth: u64) {
        let index = usize::from(thread);
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, None);
        }
        self.lanes[index] = Some(Lane { id: self.writer.lane(parent, nth), children: 0, stack: 0 });
    }

    fn module(&mut self, symbols: &Symbols, address: u64) -> Option<(u64, u64)> {
        let (index, module) = symbols.module_at(address)?;
        let id = match self.modules.get(&index) {
            Some(&id) => id,
            None => {
                let id = self.writer.module(&module.path);
                self.modules.insert(index, id);
                id
            }
        };
        Some((id, address - module.base))
    }

    fn site(&mut self, view: &View<'_>, pc: u64) -> u64 {
        if let Some(&id) = self.sites.get(&pc) {
            return id;
        }
        let (module, offset) =
            self.module(view.symbols, pc).map_or((None, pc), |(module, offset)| (Some(module), offset));
        let id = self.writer.site(module, offset);
        self.sites.insert(pc, id);
        id
    }

    /// Returns the site of a number of the recording plus 1; 0 where it has no program counter.
    #[inline]
    fn numbered(&mut self, view: &View<'_>, number: u32) -> u64 {
        match self.numbered.get(number as usize) {
            Some(&site) if site != 0 => site,
            _ => self.number(view, number),
        }
    }

    #[cold]
    fn number(&mut self, view: &View<'_>, number: u32) -> u64 {
        let pc = view.sites.get(number).pc;
        if pc == 0 {
            return 0;
        }
        let site = self.site(view, pc) + 1;
        let index = number as usize;
        if self.numbered.len() <= index {
            self.numbered.resize(index + 1, 0);
        }
        self.numbered[index] = site;
        site
    }

    /// A number of the recording stands for another site from here on.
    pub(crate) fn renumbered(&mut self, number: u32) {
        if let Some(site) = self.numbered.get_mut(number as usize) {
            *site = 0;
        }
    }

    #[inline]
    fn object(&mut self, view: &View<'_>, address: u64) -> Object {
        match self.places.iter().find(|place| place.start <= address && address < place.end) {
            Some(place) => place.object(address),
            None => self.look_up(view, address),
        }
    }

    /// Which variable is used there differs from run to run.
    fn is_in_table(&mut self, view: &View<'_>, address: u64) -> bool {
        let name = || view.symbols.data(address).unwrap_or_default();
        *self.in_tables.entry(address).or_insert_with(|| TABLES.iter().any(|table| name().starts_with(table)))
    }

    #[cold]
    fn look_up(&mut self, view: &View<'_>, address: u64) -> Object {
        let block = view.blocks.containing(address).copied().filter(|block| block.kind != BlockKind::Library);
        let place = match block {
            Some(Block { kind: BlockKind::Stack(_), thread, start, end, .. }) => {
                let Lane { id, stack, .. } = *self.lane(thread);
                Place { start, end, class: class::STACK, index: id, zero: stack }
            }
            Some(block @ Block { kind: BlockKind::Heap { site, .. }, start, end, .. }) => {
                let index = self.block(view, &block, site);
                Place { start, end, class: class::HEAP, index, zero: start }
            }
            _ => match self.module(view.symbols, address) {
                Some((index, offset)) => {
                    let gap = view.blocks.gap(address);
                    let (low, end) =
                        view.symbols.module_at(address).map_or((0, 0), |(_, module)| (module.low, module.end));
                    let (start, end) = (gap.start.max(low), gap.end.min(end));
                    Place { start, end, class: class::GLOBAL, index, zero: address - offset }
                }
                None => return Object::default(),
            },
        };
        self.places[self.oldest] = place;
        self.oldest = (self.oldest + 1) % RANGES;
        place.object(address)
    }

    /// Memory got a new life: addresses may belong to something else.
    fn forget_places(&mut self) {
        self.places = Default::default();
    }

    fn block(&mut self, view: &View<'_>, block: &Block, site: u32) -> u64 {
        if let Some(&id) = self.blocks.get(&block.number) {
            return id;
        }
        let lane = self.lane(block.thread).id;
        let site = self.site(view, view.sites.get(site).pc);
        let nth = self.nth.get(block.number).copied().unwrap_or(0);
        let id = self.writer.block(lane, site, nth);
        self.blocks.insert(block.number, id);
        id
    }

    /// A block of this number was allocated.
    pub(crate) fn allocated(&mut self, thread: u16, pc: u64, number: usize) {
        let nth = self.allocations.entry((thread, pc)).or_insert(0);
        *nth += 1;
        if self.nth.len() <= number {
            self.nth.resize(number + 1, 0);
        }
        self.nth[number] = *nth;
        self.forget_places();
    }

    /// A thread begins, and its frames begin at `stack`.
    pub(crate) fn begun(&mut self, thread: u16, stack: u64) {
        self.lane(thread).stack = stack;
        self.forget_places();
    }

    /// The next events belong to no step.
    pub(crate) fn skip(&mut self, events: u64) {
        self.writer.skip(events);
    }

    /// A thread took a lock that is made of atomics, or gave it up, which began with the operation at a site. How that
    /// operation came out does not matter: the rest may be in a slow path after it.
    pub(crate) fn locked(&mut self, view: &View<'_>, thread: u16, site: u32, address: u64, events: u64) {
        let object = self.object(view, address);
        let place = self.numbered(view, site);
        self.step(thread, events, Tag::Atomic as u8, place, object, (ANY_OUTCOME, 0));
    }

    /// Variables are gone, the highest of them at an address, and others in words below. [`RETURN`]: functions have returned, the outermost of
    /// which was called at the site. [`LEAVE`]: the thread is at the site, outside their block.
    pub(crate) fn left(&mut self, view: &View<'_>, thread: u16, left: &Left, events: u64) {
        let object = self.object(view, left.highest / 8 * 8);
        let place = self.numbered(view, left.site);
        let words = ((left.highest - left.lowest) / 8).min(u8::MAX.into()) as u8;
        let kind = if left.is_block { LEAVE } else { RETURN };
        self.step(thread, events, kind, place, object, (0, words));
    }

    /// What a word said became this many events.
    pub(crate) fn note(&mut self, view: &View<'_>, thread: u16, word: Word<'_>, events: u64) {
        match word {
            Word::Access(number, address) if events > 0 => {
                let site = view.sites.get(number);
                let kind = match site.kind {
                    SiteKind::Read => READ,
                    SiteKind::Write => WRITE,
                    _ => return self.writer.skip(events),
                };
                let object = self.object(view, address);
                let place = self.numbered(view, number);
                self.step(thread, events, kind, place, object, (0, site.size));
            }
            Word::Access(..) => {}
            Word::Record(tag, argument, body) => self.record(view, thread, events, tag, argument, body),
        }
    }

    fn record(&mut self, view: &View<'_>, thread: u16, events: u64, tag: Tag, argument: u32, body: &[u64]) {
        let (first, second) = (following(body, 0), following(body, 1));
        let (kind, mut outcome, mut size) = (tag as u8, 0, 0);
        let object = match tag {
            Tag::Fork => {
                let Lane { id, children, .. } = *self.lane(thread);
                self.lane(thread).children += 1;
                self.define_lane(first as u16, Some(id), children + 1);
                Object::default()
            }
            Tag::End => {
                return self.step(thread, events, kind, 0, Object::default(), (0, 0));
            }
            // The end of a wait, recorded by the thread that ended it.
            Tag::Woken => {
                let object = self.object(view, first);
                let place = self.numbered(view, argument);
                return self.step(second as u16, events, Tag::WaitEnd as u8, place, object, (1, 0));
            }
            Tag::Failed => {
                outcome = second as u8;
                match following(body, 2) {
                    attempted if attempted == Tag::Join as u64 => self.lane_object(first),
                    attempted if [Tag::Receive as u64, Tag::KeyedAcquire as u64].contains(&attempted) => {
                        Object::default()
                    }
                    _ => self.object(view, first),
                }
            }
            Tag::Input => return self.input(thread, first, second, body),
            Tag::Join => self.lane_object(first),
            Tag::WaitEnd => {
                outcome = second as u8;
                self.object(view, first)
            }
            Tag::Atomic if events > 0 => {
                if let Some((kind, _, bytes)) = split_atomic(second) {
                    (outcome, size) = (kind as u8, bytes);
                }
                match self.object(view, first) {
                    Object { class: class::GLOBAL, .. } if self.is_in_table(view, first) => Object::default(),
                    object => object,
                }
            }
            Tag::Renew if events > 0 => self.object(view, first),
            Tag::RangeRead | Tag::RangeWrite | Tag::Free | Tag::Unmap if events > 0 => {
                size = second.min(u8::MAX.into()) as u8;
                self.object(view, first)
            }
            // Those that became nothing are the library's own. Where a thread was parked differs from run to run.
            Tag::Parked if events > 0 => Object::default(),
            // Keys of channels differ from run to run.
            Tag::Send | Tag::Receive | Tag::Ready | Tag::HangUp if events > 0 => Object::default(),
            Tag::Use | Tag::Close if events > 0 => Object::default(),
            Tag::KeyedAcquire | Tag::KeyedRelease => Object::default(),
            Tag::StdLocked | Tag::StdUnlocked | Tag::ScopeLeft if events > 0 => self.object(view, first),
            Tag::Acquire
            | Tag::Release
            | Tag::SharedAcquire
            | Tag::AnyRelease
            | Tag::Notify
            | Tag::NotifyAll
            | Tag::SemPost
            | Tag::SemWait
            | Tag::BarrierArrive
            | Tag::BarrierLeave
            | Tag::OnceDone
            | Tag::OnceSeen => self.object(view, first),
            _ => return self.writer.skip(events),
        };
        let place = self.numbered(view, argument);
        self.step(thread, events, kind, place, object, (outcome, size));
    }

    fn input(&mut self, thread: u16, head: u64, result: u64, body: &[u64]) {
        let lane = self.lane(thread).id;
        let bytes: Vec<u8> = body.iter().skip(2).flat_map(|word| word.to_le_bytes()).collect();
        let length = (((head << 1) >> 9) as usize).min(bytes.len());
        self.writer.input(lane, head & 0xff, head >> 63 != 0, result, &bytes[..length]);
    }

    fn lane_object(&mut self, thread: u64) -> Object {
        Object { class: class::LANE, index: self.lane(thread as u16).id, offset: 0 }
    }

    /// Writes a step; `site` is that of its place plus 1.
    fn step(&mut self, thread: u16, events: u64, kind: u8, site: u64, object: Object, (outcome, size): (u8, u8)) {
        let lane = self.lane(thread).id;
        let Object { class, index, offset } = object;
        self.writer.step(Form { events, lane, kind, class, index, outcome, size }, site.checked_sub(1), offset);
    }
}
