//! The first pass over a recording: which threads touch which memory, and is that worth keeping ([`crate::sharing::sharing_state`]).
//!
//! Memory with a life of its own (heap blocks, stacks) is judged when its addresses get a new life, so that an address used again by
//! another thread does not count as shared. What is found is kept per block and only for granules worth keeping.
//!
//! Cost: constant time an access (a cached table lookup), time linear in a block's pages that were ever touched when it is freed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel};

use mayhap_wire::ring::{
    AtomicKind, BRANCHED, MAX_SITE, SiteKind, Tag, access_word, record_word, split_atomic, split_record,
};

use crate::capture::deltas::Lasts;
use crate::capture::repeats::{Repeated, Run};
use crate::capture::store::Store;
use crate::capture::unpacking::Unpacker;
use crate::memory::{self, Block, BlockKind, Blocks, Sites};
use crate::ring_words::following;
use crate::sharing::digest::{Calls, Digest, is_call};
use crate::sharing::frames::Frames;
use crate::sharing::lifetimes::{Lifetimes, has_site};
use crate::sharing::shadow_table::{GRANULE, Granules, granules, page};
use crate::sharing::sharing_state::{CUTS, Owners};
use mayhap_symbols::Module;

/// Granules of a block that are worth keeping: the number within the block, and the cuts.
pub(crate) type Kept = Box<[(u32, u8)]>;

/// Sites whose last access is at hand: different sites may share one.
pub(super) const RECENT: usize = 1 << 8;

/// The last access of a site: the site, the stretch of the run between two records, and the granule; and the cuts of all in a row there.
#[derive(Clone, Copy, Default)]
pub(super) struct Recent {
    pub(super) place: (u32, u64, u64),
    cuts: u64,
}

/// What the first pass learns.
pub(super) struct FirstPass {
    pub(super) sites: Sites,
    pub(super) recent: Box<[Recent; RECENT]>,
    stretch: u64,
    modules: Vec<Module>,
    /// Program counters of all sites.
    pcs: Vec<u64>,
    /// Program counters and sizes of writes.
    writes: Vec<(u64, u8)>,
    /// Those where threads wait on conditions.
    waits: HashSet<u64, foldhash::fast::FixedState>,
    blocks: Blocks,
    pub(super) owners: Owners,
    kept: Vec<Kept>,
    ever: Granules,
    /// Pages with granules that were kept in any of their lives.
    pages: HashSet<u64, foldhash::fast::FixedState>,
    thread: u16,
    /// Room for accesses of a period, with their sizes and whether they write.
    pub(super) repeats: Vec<(Repeated, u64, bool)>,
    atomics: Atomics,
    received: HashSet<u64>,
    found_empty: HashSet<u64>,
    /// Which thread took each lock of a file for each owner.
    lock_owners: HashMap<(u64, u64), u16>,
    common_locks: HashSet<u64>,
    lifetimes: Lifetimes,
    /// Of each site, where the library begins that it lies in, if the program has loaded that by itself; empty without such libraries.
    libraries: Vec<u64>,
    /// Code of such a library has run in the block that is looked at.
    in_library: bool,
    frames: Frames,
}

/// What the second pass needs of the first.
pub(crate) struct Facts {
    /// Per block, by number.
    pub(crate) kept: Vec<Kept>,
    /// Of memory outside blocks: address and cuts.
    pub(crate) outside: Vec<(u64, u8)>,
    pub(crate) modules: Vec<Module>,
    /// Program counters of all sites but those where threads wait on conditions.
    pub(crate) pcs: Vec<u64>,
    /// Program counters and sizes of writes.
    pub(crate) writes: Vec<(u64, u8)>,
    /// The run records its basic blocks.
    pub(crate) tells_branches: bool,
    pub(crate) atomics: Atomics,
    /// Channels that something is taken from, or found ready: the others order nothing.
    pub(crate) received: HashSet<u64>,
    /// Channels that threads found empty.
    pub(crate) found_empty: HashSet<u64>,
    /// Locks of files that several threads take for one owner.
    pub(crate) common_locks: HashSet<u64>,
    /// Synchronisation objects whose lives end after several threads have used them.
    pub(crate) ended: HashSet<u64, foldhash::fast::FixedState>,
}

/// Where atomic operations are, and which of them read which addresses without changing them.
#[derive(Default)]
pub(crate) struct Atomics {
    /// Program counter and width.
    pub(crate) places: HashSet<(u64, u8), foldhash::fast::FixedState>,
    /// Program counter and address.
    pub(crate) reads: HashSet<(u64, u64), foldhash::fast::FixedState>,
    last: (u64, u64, bool),
}

impl Atomics {
    #[inline]
    fn note(&mut self, pc: u64, address: u64, size: u8, reads: bool) {
        if self.last == (pc, address, reads) {
            return;
        }
        self.last = (pc, address, reads);
        self.places.insert((pc, size));
        if reads {
            self.reads.insert((pc, address));
        }
    }
}

/// What the first pass found worth keeping.
pub(crate) struct Filter {
    /// Granules that were kept in any of their lives.
    pub(crate) kept: Granules,
    /// The pages that they are in.
    pub(crate) pages: HashSet<u64, foldhash::fast::FixedState>,
    pub(crate) sites: Sites,
    /// The program records its basic blocks.
    pub(crate) tells_branches: bool,
    /// Sites in libraries that are unloaded while other threads may use them; none beyond.
    pub(crate) in_unloaded: Vec<bool>,
}

/// What the first pass knows of a block of the recording.
pub(crate) struct Looked {
    /// What there is of it where none of its accesses is worth keeping, if that is short.
    pub(crate) digest: Option<Digest>,
    /// What sites accessed last before the block, of those that its units refer to.
    pub(crate) before: Box<[u64]>,
    /// Accesses and records in it.
    pub(crate) steps: u64,
}

/// Blocks that are unpacked ahead of the pass.
const AHEAD: usize = 4;

/// A first pass that has looked at the first blocks of a recording.
pub(crate) struct Begun {
    pass: FirstPass,
    lasts: Lasts,
    looked: Vec<Looked>,
    /// Units made no sense.
    is_wrong: bool,
}

/// Memory outside what is kept, and what is kept.
#[cfg(test)]
type MemoryFacts = (Vec<(u64, u8)>, Vec<Kept>);

impl Begun {
    /// A pass at the beginning of a recording.
    pub(crate) fn new() -> Begun {
        Begun { pass: FirstPass::default(), lasts: Lasts::new(), looked: Vec::new(), is_wrong: false }
    }

    /// Learns from the units of the next block.
    pub(crate) fn look(&mut self, (units, runs): (&[u32], &[Run]), tells_branches: bool) {
        self.pass.in_library = false;
        self.pass.owners.next_piece();
        self.pass.stretch += 1;
        let mut look = Look::new(&mut self.pass, tells_branches);
        let whole = self.lasts.split((units, runs), &mut look, Look::access, Look::record, Look::repeat) == units.len();
        self.is_wrong |= !whole || look.is_broken;
        let (digest, steps) = look.finish();
        let digest = Some(digest).filter(|digest| digest.is_short() && !self.pass.in_library);
        self.looked.push(Looked { digest, before: self.lasts.before().into(), steps });
    }

    /// What was learnt of memory, how many steps the blocks have, and the words of their digests.
    #[cfg(test)]
    pub(super) fn facts(self) -> (MemoryFacts, Vec<u64>, Vec<Vec<u64>>) {
        let (facts, _) = self.pass.finish(true);
        let words = |block: &Looked| block.digest.as_ref().map_or(Vec::new(), |digest| digest.words.clone());
        let steps = self.looked.iter().map(|block| block.steps).collect();
        ((facts.outside, facts.kept), steps, self.looked.iter().map(words).collect())
    }

    /// Goes on with the blocks that it has not looked at, while another thread unpacks the next ones.
    fn go_on(&mut self, store: &Store, tells_branches: bool) -> io::Result<()> {
        let blocks = &store.blocks()[self.looked.len()..];
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<io::Result<(Vec<u32>, Vec<Run>)>>(AHEAD);
            let (give_back, used) = channel::<(Vec<u32>, Vec<Run>)>();
            scope.spawn(move || {
                let (mut unpacker, mut buffer) = (Unpacker::new(), Vec::new());
                for block in blocks {
                    let (mut units, mut runs) = used.try_recv().unwrap_or_default();
                    let unpacked = store.get(block, &mut buffer).and_then(|bytes| {
                        let is_whole = unpacker.units(bytes, block.units(), &mut units, &mut runs);
                        if is_whole { Ok((units, runs)) } else { Err(block.is_wrong()) }
                    });
                    let failed = unpacked.is_err();
                    if send.send(unpacked).is_err() || failed {
                        return;
                    }
                }
            });
            for (unpacked, block) in receive.iter().zip(blocks) {
                let (units, runs) = unpacked?;
                self.look((&units, &runs), tells_branches);
                if self.is_wrong {
                    return Err(block.is_wrong());
                }
                // The thread may have unpacked all.
                let _ = give_back.send((units, runs));
            }
            Ok(())
        })
    }
}

/// Makes the first pass over a recording, from where it has `begun`. `changed` are files that are not what they were when they were loaded.
pub(crate) fn first_pass(
    store: &Store,
    tells_branches: bool,
    changed: &[PathBuf],
    begun: Option<Begun>,
) -> io::Result<(Facts, Filter, Vec<Looked>)> {
    // Blocks that it looked at may have been given up since, for want of room.
    let is_of_this = |begun: &Begun| tells_branches && !begun.is_wrong && begun.looked.len() <= store.blocks().len();
    let mut begun = begun.filter(is_of_this).unwrap_or_else(Begun::new);
    begun.go_on(store, tells_branches)?;
    let Begun { mut pass, looked, .. } = begun;
    for module in &mut pass.modules {
        module.changed = changed.contains(&module.path);
    }
    let (facts, filter) = pass.finish(tells_branches);
    Ok((facts, filter, looked))
}

/// A look at one block.
struct Look<'a> {
    pass: &'a mut FirstPass,
    /// What there is of it in short.
    short: Vec<u64>,
    calls: Calls,
    steps: u64,
    tells_branches: bool,
    wants_branch: bool,
    is_broken: bool,
}

impl<'a> Look<'a> {
    fn new(pass: &'a mut FirstPass, tells_branches: bool) -> Look<'a> {
        let (short, calls) = (Vec::new(), Calls::default());
        Look { pass, short, calls, steps: 0, tells_branches, wants_branch: tells_branches, is_broken: false }
    }

    #[inline]
    fn access(&mut self, site: u32, address: u64) {
        let kind = self.pass.access(site, address);
        if is_call(kind) {
            self.pass.calls(kind, address);
            return self.calls.take(site, address);
        }
        self.steps += 1;
        if self.wants_branch && kind != SiteKind::Other && self.short.len() <= Digest::MOST {
            self.calls.put(&mut self.short);
            self.short.push(access_word(site, address));
            self.wants_branch = self.tells_branches && site & BRANCHED == 0 && kind != SiteKind::Branch;
        }
    }

    /// Takes a period of accesses that is repeated so often; `false` if they are to be taken one by one.
    fn repeat(&mut self, period: &[Repeated], times: u64) -> bool {
        // What is wanted of each access is wanted of each repetition.
        let is_short = self.wants_branch && self.short.len() <= Digest::MOST;
        if is_short || !self.pass.repeat(period, times) {
            return false;
        }
        self.steps += period.len() as u64 * times;
        true
    }

    fn record(&mut self, words: &[u64]) {
        let Some((&head, body)) = words.split_first() else { return };
        let Some((tag, _, argument)) = split_record(head) else {
            self.is_broken = true;
            return;
        };
        // It belongs to the access before it.
        if tag == Tag::Value {
            return;
        }
        self.pass.record(tag, argument, body);
        self.pass.stretch += 1;
        self.steps += 1;
        self.wants_branch = self.tells_branches;
        if self.short.len() <= Digest::MOST {
            self.calls.put(&mut self.short);
            self.short.push(record_word(tag, body.len(), argument));
            self.short.extend_from_slice(body);
        }
    }

    /// What there is of the block in short, and how many steps it has.
    fn finish(mut self) -> (Digest, u64) {
        self.calls.put(&mut self.short);
        (Digest { pages: self.pass.owners.next_piece(), words: self.short }, self.steps)
    }
}

impl Default for FirstPass {
    fn default() -> Self {
        FirstPass {
            sites: Sites::default(),
            recent: Box::new([Recent::default(); RECENT]),
            stretch: 1,
            modules: Vec::new(),
            pcs: Vec::new(),
            writes: Vec::new(),
            waits: HashSet::default(),
            blocks: Blocks::default(),
            owners: Owners::default(),
            kept: Vec::new(),
            ever: Granules::default(),
            pages: HashSet::default(),
            thread: 0,
            repeats: Vec::new(),
            atomics: Atomics::default(),
            received: HashSet::new(),
            found_empty: HashSet::new(),
            lock_owners: HashMap::new(),
            common_locks: HashSet::new(),
            lifetimes: Lifetimes::default(),
            libraries: Vec::new(),
            in_library: false,
            frames: Frames::default(),
        }
    }
}

impl FirstPass {
    /// Takes an access; of what kind it is.
    #[inline]
    pub(super) fn access(&mut self, number: u32, address: u64) -> SiteKind {
        let (kind, size) = self.sites.kind(number & MAX_SITE);
        if !self.libraries.is_empty() && !is_call(kind) {
            self.runs_at(number & MAX_SITE);
        }
        let writes = kind == SiteKind::Write;
        if (writes || kind == SiteKind::Read) && self.is_new(number, address, size) {
            self.touch(address, u64::from(size), writes);
        }
        kind
    }

    /// Whether an access may change anything: the same site there again, with nothing but accesses of the same thread in between, does not.
    #[inline]
    pub(super) fn is_new(&mut self, number: u32, address: u64, size: u8) -> bool {
        let (from, to) = (address % GRANULE, address % GRANULE + u64::from(size));
        let cuts = (1 << from | 1 << to) & CUTS;
        let place = (number & MAX_SITE, self.stretch, address / GRANULE);
        let recent = &mut self.recent[number as usize % RECENT];
        let is_new = recent.place != place || cuts & !recent.cuts != 0 || to > GRANULE;
        if is_new {
            *recent = Recent { place, cuts: if recent.place == place { recent.cuts | cuts } else { cuts } };
        }
        is_new
    }

    #[inline]
    pub(super) fn touch(&mut self, address: u64, bytes: u64, writes: bool) {
        let from = address % GRANULE;
        if from + bytes <= GRANULE {
            return self.owners.touch(address, writes, from, from + bytes);
        }
        for (granule, from, to) in granules(address, bytes) {
            self.owners.touch(granule, writes, from, to);
        }
    }

    fn record(&mut self, tag: Tag, argument: u32, body: &[u64]) {
        let (first, second) = (following(body, 0), following(body, 1));
        self.lifetimes.uses(tag, self.thread, first);
        if !self.libraries.is_empty() && has_site(tag) {
            self.runs_at(argument);
        }
        if tag != Tag::Module {
            self.blocks.goes_on();
        }
        match tag {
            Tag::Renew if second == 1 => self.lifetimes.forget(first),
            Tag::Renew | Tag::Close => self.lifetimes.ends(self.thread, first..first + 1),
            Tag::Switch => {
                self.thread = argument as u16;
                self.owners.switch(self.thread);
            }
            Tag::Fork => self.owners.fork(first as u16),
            Tag::Join => self.owners.join(first as u16),
            Tag::Site => {
                self.sites.define(argument, first);
                let site = self.sites.get(argument);
                if !matches!(site.kind, SiteKind::Call | SiteKind::Return) {
                    self.pcs.push(site.pc);
                }
                if site.kind == SiteKind::Write {
                    self.writes.push((site.pc, site.size));
                }
                if !self.libraries.is_empty() {
                    self.locate_site(argument, site.pc);
                }
            }
            // Of the call's two objects the first is the condition: it says nothing of the mutex.
            Tag::WaitBegin | Tag::WaitEnd | Tag::Woken => _ = self.waits.insert(self.sites.get(argument).pc),
            Tag::Module => {
                self.modules.push(memory::module(argument, body));
                self.loaded(second, following(body, 2));
            }
            Tag::Begin => {
                self.retire_overlapping(first, second);
                self.blocks.stack(argument as u16, first, second, second);
                self.frames.begins(argument as u16, first..second);
            }
            Tag::Alloc => {
                self.retire_overlapping(first, first.saturating_add(second.max(1)));
                self.blocks.allocate(self.thread, argument, first, second);
            }
            Tag::Free => {
                if let Some(block) = self.blocks.starting(first) {
                    // Freeing writes whatever of the block was touched.
                    self.owners.write_touched(block.start..block.end);
                    self.lifetimes.ends(self.thread, block.start..block.end);
                }
            }
            Tag::Unmap => self.unmap(first, first.saturating_add(second)),
            Tag::Receive => _ = self.received.insert(first),
            Tag::Failed if following(body, 2) == Tag::Receive as u64 => _ = self.found_empty.insert(first),
            Tag::KeyedAcquire => self.note_owner(first, following(body, 2)),
            Tag::Ready => self.received.extend(body.iter().step_by(2)),
            Tag::RangeRead => self.touch(first, second, false),
            Tag::RangeWrite => self.touch(first, second, true),
            Tag::Atomic => {
                if let Some((kind, _, size)) = split_atomic(second) {
                    self.atomics.note(self.sites.get(argument).pc, first, size, kind == AtomicKind::Load);
                    self.touch(first, size.into(), kind != AtomicKind::Load);
                }
            }
            _ => {}
        }
    }

    /// The present thread calls a function, or has returned from some.
    fn calls(&mut self, kind: SiteKind, address: u64) {
        for address in self.owners.take_handed().into_iter().chain(self.lifetimes.take_new()) {
            if let Some(Block { kind: BlockKind::Stack(_), thread, .. }) = self.blocks.containing(address) {
                self.frames.is_shared(*thread, address);
            }
        }
        for address in self.frames.change(self.thread, address, kind == SiteKind::Call) {
            if address.is_multiple_of(GRANULE) {
                self.owners.ends(address);
            }
            self.lifetimes.ends(self.thread, address..address + 1);
        }
    }

    /// A module lies in memory from here on.
    fn loaded(&mut self, low: u64, end: u64) {
        if self.blocks.is_new_library(low, end) {
            self.retire_overlapping(low, end);
            self.blocks.library(self.thread, low, end);
            // Its constructors have run already.
            for site in 0..self.sites.len() {
                self.locate_site(site, self.sites.get(site).pc);
            }
        }
    }

    /// Notes the library that a site lies in.
    fn locate_site(&mut self, site: u32, pc: u64) {
        let index = site as usize;
        if self.libraries.len() <= index {
            self.libraries.resize(index + 1, 0);
        }
        self.libraries[index] = self.blocks.library_of(pc).unwrap_or(0);
    }

    /// The present thread runs code at a site.
    fn runs_at(&mut self, site: u32) {
        let library = self.libraries.get(site as usize).copied().unwrap_or(0);
        if library != 0 {
            self.in_library = true;
            self.lifetimes.uses(Tag::Use, self.thread, library);
        }
    }

    /// A lock is taken for an owner. Owner 0 is the thread itself.
    fn note_owner(&mut self, key: u64, owner: u64) {
        if owner != 0 && *self.lock_owners.entry((key, owner)).or_insert(self.thread) != self.thread {
            self.common_locks.insert(key);
        }
    }

    /// Memory is given back to the kernel: what was touched of it is written, and what is left of blocks goes on as others.
    fn unmap(&mut self, start: u64, end: u64) {
        self.owners.write_touched(start..end);
        if self.blocks.given_back(start, end).is_some_and(|block| block.kind == BlockKind::Library) {
            self.lifetimes.ends(self.thread, start..end);
        }
        let (gone, _) = self.blocks.cut(start, end);
        for block in gone {
            self.retire(block);
        }
    }

    fn retire_overlapping(&mut self, start: u64, end: u64) {
        for block in self.blocks.overlapping(start, end) {
            self.retire(block);
        }
    }

    /// A block's life ends: what is worth keeping is kept, and its memory is as new.
    fn retire(&mut self, block: Block) {
        let mut kept = Vec::new();
        let first = block.start / GRANULE;
        self.owners.retire(block.start..block.end, |granule, cuts| {
            kept.push(((granule / GRANULE - first) as u32, cuts));
            self.ever.insert(granule);
            self.pages.insert(page(granule));
        });
        if kept.is_empty() {
            return;
        }
        if self.kept.len() <= block.number {
            self.kept.resize(block.number + 1, Kept::default());
        }
        self.kept[block.number] = kept.into();
    }

    /// The run is over: what the second pass needs to know, and what of the words it needs to see.
    fn finish(mut self, tells_branches: bool) -> (Facts, Filter) {
        for block in self.blocks.drain() {
            self.retire(block);
        }
        let outside = self.owners.finish();
        for &(granule, _) in &outside {
            self.ever.insert(granule);
            self.pages.insert(page(granule));
        }
        let ended = self.lifetimes.finish();
        let in_unloaded = self.libraries.iter().map(|library| ended.contains(library)).collect();
        let facts = Facts {
            kept: self.kept,
            outside,
            modules: self.modules,
            pcs: self.pcs.into_iter().filter(|pc| !self.waits.contains(pc)).collect(),
            writes: self.writes,
            tells_branches,
            atomics: self.atomics,
            received: self.received,
            found_empty: self.found_empty,
            common_locks: self.common_locks,
            ended,
        };
        let (kept, pages, sites) = (self.ever, self.pages, self.sites);
        (facts, Filter { kept, pages, sites, tells_branches, in_unloaded })
    }
}
