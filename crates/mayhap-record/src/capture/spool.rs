//! The words of a run between the two passes: packed pieces in memory, and once they are many in a file without a name
//! beside the trace, which grows no more once the disk is full.
//!
//! Reading them again, threads unpack pieces ahead and drop what the first pass found not worth keeping.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use mayhap_wire::checksum;
use mayhap_wire::ring::{BRANCHED, MAX_SITE, SiteKind, Tag, split_access, split_record};

use crate::capture::packing::{Packer, Unpacker, word};
use crate::capture::unit_packing::{UnitPacker, UnitUnpacker};
use crate::limits::Limits;
use crate::memory::Sites;
use crate::sharing::shadow::{Granules, granules};
use crate::sharing::survey::Survey;
use crate::words::{Word, Words, following};
use mayhap_symbols::Module;

/// Bytes kept in memory.
const MEMORY: usize = 48 << 20;
/// Threads that unpack ahead of the one that lowers, and pieces that each may be ahead.
const UNPACKERS: usize = 2;
const AHEAD: usize = 4;

/// The most pages and words of a [`Brief`].
pub(crate) const BRIEF: usize = 1 << 10;

/// Words in a piece where only a part of them is kept.
const SMALL_PIECE: usize = 1 << 10;

/// How many words the first accesses and records have that are together at least `least` words, or all there are.
fn whole_length(words: &[u64], least: usize) -> usize {
    let mut length = 0;
    if least >= words.len() {
        return words.len();
    }
    while length < least {
        let is_access = split_access(words[length]).is_some();
        let following = split_record(words[length]).map_or(0, |(_, following, _)| following);
        length += if is_access { 1 } else { 1 + following };
    }
    length.min(words.len())
}

/// A packed piece of the run.
struct Piece {
    /// Where it begins in the file, or in memory.
    start: u64,
    in_file: bool,
    bytes: usize,
    /// Words, or units.
    steps: u64,
    /// Of a piece that was put into a file for keeping.
    sum: Option<u32>,
    brief: Option<Brief>,
    /// What sites accessed last before a piece of units, of those that it tells differences to: known once it was surveyed.
    before: Box<[u64]>,
}

impl Piece {
    /// What is there was not packed as a piece.
    fn is_wrong(&self) -> io::Error {
        let message = format!("byte {}: a piece of the recording cannot be unpacked", self.start);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// What there is of a piece where none of its accesses is worth keeping. The branch of a read before the piece is that of the first
/// access behind it that tells of a basic block, so the first behind each record stays.
pub(crate) struct Brief {
    /// The numbers of the pages that its accesses touch.
    pub(crate) pages: Vec<u64>,
    /// The records, and behind each and at the beginning the first access that tells of a basic block.
    pub(crate) words: Vec<u64>,
}

impl Brief {
    /// What is worth keeping: one that is brief.
    fn new(brief: Brief) -> Option<Brief> {
        (brief.words.len() <= BRIEF && brief.pages.len() <= BRIEF).then_some(brief)
    }
}

/// The last pieces of a run of which no more is wanted.
struct Latest {
    wanted: u64,
    /// Packed, with the number of steps.
    pieces: VecDeque<(Vec<u8>, u64)>,
    steps: u64,
    sites: Sites,
}

impl Latest {
    /// How many of the words tell calls and returns, which are no steps by themselves.
    fn calls(&mut self, words: &[u64]) -> u64 {
        let mut calls = 0;
        for word in Words::new(words) {
            match word {
                Word::Access(site, _) => calls += u64::from(is_call(self.sites.get(site & MAX_SITE).kind)),
                Word::Record(Tag::Site, number, body) => self.sites.define(number, following(body, 0)),
                Word::Record(..) => {}
            }
        }
        calls
    }
}

pub(crate) fn is_call(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Call | SiteKind::Return)
}

/// A growing sequence of packed pieces.
pub(crate) struct Spool {
    folder: PathBuf,
    packer: Packer,
    /// Of a spool that is kept as it is: its pieces are of units, those of others of words.
    unit_packer: Option<UnitPacker>,
    pieces: Vec<Piece>,
    stored: Stored,
    /// The file is there for all of it: memory is used only once the disk is full.
    file_first: bool,
    bytes: u64,
    /// The most bytes that it may hold.
    limit: u64,
    latest: Option<Latest>,
    /// Pieces from here on have all their steps, those before only what the others need.
    whole_from: usize,
    /// Why it stopped growing.
    full: Option<io::Error>,
    /// Steps that it does not hold.
    left_out: u64,
}

/// The bytes of all pieces, some of them in memory and some in a file.
#[derive(Default)]
struct Stored {
    memory: Vec<u8>,
    file: Option<File>,
    /// Where the pieces in the file begin and end.
    from: u64,
    to: u64,
    /// Why the file takes no more.
    full: Option<io::Error>,
}

impl Stored {
    /// The bytes of a piece, in memory or read into `buffer`.
    fn get<'a>(&'a self, piece: &Piece, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match &self.file {
            _ if !piece.in_file => Ok(&self.memory[piece.start as usize..piece.start as usize + piece.bytes]),
            Some(file) => {
                buffer.resize(piece.bytes, 0);
                file.read_exact_at(buffer, piece.start)?;
                if piece.sum.is_some_and(|sum| checksum(buffer) != sum) {
                    let message = format!("byte {}: a piece of the recording has a wrong checksum", piece.start);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                Ok(buffer)
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Puts a piece into memory if there is room for it there; where it begins.
    fn remember(&mut self, packed: &[u8]) -> Option<u64> {
        let start = self.memory.len();
        (start + packed.len() <= MEMORY).then(|| self.memory.extend_from_slice(packed))?;
        Some(start as u64)
    }

    /// Puts a piece into the file, which is made in the folder if there is none yet; where it begins.
    fn write(&mut self, packed: &[u8], folder: &Path) -> io::Result<u64> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(folder)?),
        };
        let start = self.to;
        file.write_all_at(packed, start)?;
        self.to += packed.len() as u64;
        Ok(start)
    }
}

impl Spool {
    /// An empty spool, whose file will be in this folder.
    pub(crate) fn create(folder: &Path, limits: &Limits) -> Spool {
        Spool {
            folder: folder.to_path_buf(),
            packer: Packer::new(),
            unit_packer: None,
            pieces: Vec::new(),
            stored: Stored::default(),
            file_first: false,
            bytes: 0,
            limit: limits.max_size.unwrap_or(u64::MAX),
            latest: limits.last.map(|wanted| Latest {
                wanted,
                pieces: VecDeque::new(),
                steps: 0,
                sites: Sites::default(),
            }),
            whole_from: 0,
            full: None,
            left_out: 0,
        }
    }

    /// An empty spool of units that puts all its pieces into a file, from where the file is now.
    pub(crate) fn in_file(mut file: File) -> io::Result<Spool> {
        let from = file.stream_position()?;
        let stored = Stored { file: Some(file), from, to: from, ..Stored::default() };
        let (packer, unit_packer) = (Packer::idle(), Some(UnitPacker::new()));
        let rest = Spool::create(Path::new("."), &Limits::default());
        Ok(Spool { stored, file_first: true, packer, unit_packer, ..rest })
    }

    /// A spool of units that was put into a file: where its pieces begin there, and the bytes, units and checksum of each.
    pub(crate) fn reopen(file: File, from: u64, pieces: &[(u64, u64, u32)]) -> Spool {
        let mut spool = Spool::create(Path::new("."), &Limits::default());
        (spool.packer, spool.unit_packer) = (Packer::idle(), Some(UnitPacker::new()));
        spool.stored = Stored { file: Some(file), from, to: from, ..Stored::default() };
        for &(bytes, steps, sum) in pieces {
            let start = spool.stored.to;
            let (bytes, sum) = (bytes as usize, Some(sum));
            spool.pieces.push(Piece { start, in_file: true, bytes, steps, sum, brief: None, before: Box::default() });
            spool.stored.to += bytes as u64;
        }
        spool
    }

    /// All of it is in the file, which ends there.
    pub(crate) fn end_in_file(&self) -> Option<u64> {
        (self.pieces.iter().all(|piece| piece.in_file) && self.full.is_none()).then_some(self.stored.to)
    }

    /// The bytes, units and checksum of each piece.
    pub(crate) fn pieces(&self) -> Vec<(u64, u64, u32)> {
        self.pieces.iter().map(|piece| (piece.bytes as u64, piece.steps, piece.sum.unwrap_or(0))).collect()
    }

    /// Appends the accesses and records that are whole; how many units they are.
    pub(crate) fn append_units(&mut self, units: &[u32]) -> usize {
        let Some(mut packer) = self.unit_packer.take_if(|_| self.full.is_none()) else {
            self.left_out += units.len() as u64;
            return units.len();
        };
        let (packed, whole) = packer.pack(units);
        if whole > 0 {
            self.store(packed, whole as u64, None);
        }
        self.unit_packer = Some(packer);
        whole
    }

    /// The files that were loaded in the units so far.
    pub(crate) fn modules(&self) -> &[Module] {
        self.unit_packer.as_ref().map_or(&[], UnitPacker::modules)
    }

    /// Lets a survey look at all pieces of units, in order, as if the program ran.
    pub(crate) fn survey(&mut self, survey: &mut Survey) -> io::Result<()> {
        let Spool { stored, pieces, .. } = self;
        let (stored, list) = (&*stored, &pieces[..]);
        let briefs = std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<io::Result<(Vec<u64>, Box<[u64]>)>>(AHEAD);
            scope.spawn(move || {
                let (mut unpacker, mut buffer) = (UnitUnpacker::new(), Vec::new());
                for piece in list {
                    let words = stored.get(piece, &mut buffer).and_then(|bytes| {
                        let words = unpacker.words(bytes, piece.steps).ok_or_else(|| piece.is_wrong())?;
                        Ok((words, unpacker.before().into()))
                    });
                    let failed = words.is_err();
                    if send.send(words).is_err() || failed {
                        return;
                    }
                }
            });
            let looked = receive.iter().map(|unpacked| {
                let (words, before) = unpacked?;
                Ok((Brief::new(survey.look(&words).1), before))
            });
            looked.collect::<io::Result<Vec<_>>>()
        })?;
        for (piece, (brief, before)) in pieces.iter_mut().zip(briefs) {
            (piece.brief, piece.before) = (brief, before);
        }
        Ok(())
    }

    /// Appends whole accesses and records; once that fails, only counts them.
    pub(crate) fn append(&mut self, mut words: &[u64], brief: Brief) {
        // Where only a part is kept, pieces are small, so that it is not much more or less than was asked for.
        if self.latest.is_none() && self.limit == u64::MAX {
            self.append_piece(words, Brief::new(brief));
            return;
        }
        while !words.is_empty() {
            let (piece, rest) = words.split_at(whole_length(words, SMALL_PIECE));
            self.append_piece(piece, None);
            words = rest;
        }
    }

    /// Appends what is whole of the words; how many they are.
    fn append_piece(&mut self, words: &[u64], brief: Option<Brief>) -> usize {
        if self.full.is_some() {
            self.left_out += words.len() as u64;
            return words.len();
        }
        let mut packer = std::mem::replace(&mut self.packer, Packer::idle());
        let (packed, whole) = packer.pack(words);
        let (words, steps) = (&words[..whole], whole as u64);
        match &mut self.latest {
            None => self.store(packed, steps, brief),
            Some(latest) => {
                let steps = steps - latest.calls(words);
                latest.pieces.push_back((packed.to_vec(), steps));
                latest.steps += steps;
                self.strip(&mut packer);
            }
        }
        self.packer = packer;
        whole
    }

    /// Moves pieces that are older than what is wanted to the store, without their accesses.
    fn strip(&mut self, packer: &mut Packer) {
        while let Some(latest) = &mut self.latest
            && let Some(&(_, steps)) = latest.pieces.front()
            && latest.steps - steps >= latest.wanted
            && let Some((packed, _)) = latest.pieces.pop_front()
        {
            latest.steps -= steps;
            let mut stripped = Stripped { sites: &latest.sites, words: Vec::new(), calls: Calls::default() };
            Unpacker::new().unpack(&packed, &mut stripped, Stripped::access, Stripped::record);
            stripped.calls.put(&mut stripped.words);
            let records = stripped.words;
            self.left_out += steps.saturating_sub(records.len() as u64);
            self.store(packer.pack(&records).0, records.len() as u64, None);
            self.whole_from = self.pieces.len();
        }
    }

    fn store(&mut self, packed: &[u8], steps: u64, brief: Option<Brief>) {
        if self.bytes + packed.len() as u64 > self.limit {
            self.full = Some(io::Error::other("it takes as much as --max-size allows"));
            self.left_out += steps;
            return;
        }
        let stored = &mut self.stored;
        let remembered = if self.file_first || stored.file.is_some() { None } else { stored.remember(packed) };
        let written = match (remembered, &stored.full) {
            (Some(start), _) => Ok((start, false)),
            (None, None) => stored.write(packed, &self.folder).map(|start| (start, true)),
            (None, Some(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        let placed = written.or_else(|error| match stored.remember(packed).filter(|_| self.file_first) {
            Some(start) => {
                stored.full.get_or_insert(error);
                Ok((start, false))
            }
            None => Err(error),
        });
        match placed {
            Ok((start, in_file)) => {
                let sum = self.file_first.then(|| checksum(packed));
                self.pieces.push(Piece {
                    start,
                    in_file,
                    bytes: packed.len(),
                    steps,
                    sum,
                    brief,
                    before: Box::default(),
                });
                self.bytes += packed.len() as u64;
            }
            Err(error) => {
                self.full = Some(error);
                self.left_out += steps;
                self.make_room();
            }
        }
    }

    /// Gives a quarter of the file back, or all of it if memory can hold it: the trace, which is smaller, must fit on the same disk.
    pub(crate) fn make_room(&mut self) {
        if self.stored.to - self.stored.from <= MEMORY as u64 && self.come_into_memory().is_ok() {
            return;
        }
        let Stored { file: Some(file), from, to, .. } = &mut self.stored else { return };
        let end = *from + (*to - *from) / 4 * 3;
        // Where even that fails the trace ends where there is no more room for it.
        if file.set_len(end).is_err() {
            return;
        }
        // What came after that in memory goes with it.
        let first = self.pieces.iter().position(|piece| piece.in_file && piece.start + piece.bytes as u64 > end);
        *to = end;
        for piece in self.pieces.drain(first.unwrap_or(self.pieces.len())..) {
            self.left_out += piece.steps;
            self.bytes -= piece.bytes as u64;
            self.full.get_or_insert_with(|| io::ErrorKind::StorageFull.into());
        }
    }

    fn come_into_memory(&mut self) -> io::Result<()> {
        let Stored { memory, file: Some(file), from, to, .. } = &mut self.stored else { return Ok(()) };
        let mut bytes = vec![0; (*to - *from) as usize];
        file.read_exact_at(&mut bytes, *from)?;
        file.set_len(0)?;
        for piece in &mut self.pieces {
            let moved = if piece.in_file { piece.start - *from } else { piece.start + bytes.len() as u64 };
            (piece.start, piece.in_file) = (moved, false);
        }
        bytes.append(memory);
        (*memory, *to) = (bytes, *from);
        Ok(())
    }

    /// Why the spool does not hold everything, if it does not.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.full.as_ref()
    }

    /// Steps of the run that are not in the spool.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The run is over: nothing more will be appended.
    pub(crate) fn complete(&mut self) {
        for (packed, steps) in self.latest.take().into_iter().flat_map(|latest| latest.pieces) {
            match self.full {
                None => self.store(&packed, steps, None),
                Some(_) => self.left_out += steps,
            }
        }
    }

    /// Reads from the beginning what `filter` lets pass.
    pub(crate) fn replay(self, filter: Filter) -> Replay {
        let (whole_from, of_units) = (self.whole_from, self.unit_packer.is_some());
        let store = Arc::new(Store { stored: self.stored, pieces: self.pieces, filter });
        let mut unpackers = Vec::new();
        for first in 0..UNPACKERS.min(store.pieces.len()) {
            let (send, receive) = sync_channel(AHEAD);
            let store = Arc::clone(&store);
            let thread = std::thread::spawn(move || {
                let mut unpacker = match of_units {
                    true => AnyUnpacker::Units(UnitUnpacker::new()),
                    false => AnyUnpacker::Words(Unpacker::new()),
                };
                for piece in store.pieces.iter().skip(first).step_by(UNPACKERS) {
                    let words = store.unpack(piece, &mut unpacker);
                    let failed = words.is_err();
                    if send.send(words).is_err() || failed {
                        return;
                    }
                }
            });
            unpackers.push((receive, thread));
        }
        Replay { unpackers, next: 0, whole_from, words: Vec::new(), used: 0 }
    }
}

/// What the first pass found worth keeping.
pub(crate) struct Filter {
    /// Granules that were kept in any of their lives.
    pub(crate) kept: Granules,
    /// The pages that they are in.
    pub(crate) pages: HashSet<u64, foldhash::fast::FixedState>,
    pub(crate) sites: Sites,
}

/// Calls and returns since the last word that passed: of those that cancel out none passes.
#[derive(Default)]
pub(crate) struct Calls(Vec<(u32, u64)>);

impl Calls {
    #[inline]
    pub(crate) fn take(&mut self, site: u32, depth: u64) {
        // Nothing that came before at this depth or above is left.
        while self.0.pop_if(|(_, before)| *before >= depth).is_some() {}
        self.0.push((site, depth));
    }

    #[inline]
    pub(crate) fn put(&mut self, words: &mut Vec<u64>) {
        if !self.0.is_empty() {
            words.extend(self.0.drain(..).map(|(site, depth)| word(site, depth)));
        }
    }
}

/// What is kept of a piece without accesses.
struct Stripped<'a> {
    sites: &'a Sites,
    words: Vec<u64>,
    calls: Calls,
}

impl Stripped<'_> {
    fn access(&mut self, site: u32, address: u64) {
        if is_call(self.sites.get(site & MAX_SITE).kind) {
            self.calls.take(site, address);
        }
    }

    fn record(&mut self, words: &[u64]) {
        self.calls.put(&mut self.words);
        self.words.extend_from_slice(words);
    }
}

/// Words that pass a filter, in one piece.
struct Passed<'a> {
    filter: &'a Filter,
    words: Vec<u64>,
    /// A read may have passed since the last branch.
    dirty: bool,
    calls: Calls,
}

impl Passed<'_> {
    #[inline]
    fn access(&mut self, number: u32, address: u64) {
        let Filter { kept, sites, .. } = self.filter;
        let site = number & MAX_SITE;
        let what = sites.get(site);
        let branches = number & BRANCHED != 0 && std::mem::take(&mut self.dirty);
        let passes = match what.kind {
            // The last number stands for many sites.
            _ if site == MAX_SITE => true,
            SiteKind::Branch => std::mem::take(&mut self.dirty),
            SiteKind::Read | SiteKind::Write if address % 8 + u64::from(what.size) <= 8 => kept.contains(address),
            SiteKind::Read | SiteKind::Write => {
                granules(address, what.size.into()).any(|(granule, _, _)| kept.contains(granule))
            }
            SiteKind::Call | SiteKind::Return => return self.calls.take(site, address),
            SiteKind::Other => false,
        };
        if passes || branches {
            self.calls.put(&mut self.words);
            self.dirty |= passes && what.kind != SiteKind::Branch;
            self.words.push(word(number, address));
        }
    }

    fn record(&mut self, words: &[u64]) {
        // It may read, or the turn may pass to another thread.
        self.dirty = true;
        self.calls.put(&mut self.words);
        self.words.extend_from_slice(words);
    }
}

/// Unpacks pieces of words, or of units.
enum AnyUnpacker {
    Words(Unpacker),
    Units(UnitUnpacker),
}

struct Store {
    stored: Stored,
    pieces: Vec<Piece>,
    filter: Filter,
}

impl Store {
    fn unpack(&self, piece: &Piece, unpacker: &mut AnyUnpacker) -> io::Result<Vec<u64>> {
        if let Some(brief) = &piece.brief
            && !brief.pages.iter().any(|page| self.filter.pages.contains(page))
        {
            return Ok(brief.words.clone());
        }
        // Whether a read came just before the piece is not known here.
        let mut passed = Passed { filter: &self.filter, words: Vec::new(), dirty: true, calls: Calls::default() };
        let mut buffer = Vec::new();
        let bytes = self.stored.get(piece, &mut buffer)?;
        let whole = match unpacker {
            AnyUnpacker::Words(unpacker) => unpacker.unpack(bytes, &mut passed, Passed::access, Passed::record),
            AnyUnpacker::Units(unpacker) => {
                unpacker.begin(&piece.before);
                unpacker.unpack(bytes, piece.steps, &mut passed, Passed::access, Passed::record)
            }
        };
        passed.calls.put(&mut passed.words);
        if whole { Ok(passed.words) } else { Err(piece.is_wrong()) }
    }
}

/// The words of a piece.
type Unpacked = io::Result<Vec<u64>>;

/// A spool being read.
pub(crate) struct Replay {
    unpackers: Vec<(Receiver<Unpacked>, JoinHandle<()>)>,
    next: usize,
    whole_from: usize,
    words: Vec<u64>,
    /// Words that are done with.
    used: usize,
}

impl Replay {
    /// A spool with nothing in it.
    pub(crate) fn empty() -> Replay {
        Replay { unpackers: Vec::new(), next: 0, whole_from: 0, words: Vec::new(), used: 0 }
    }

    /// The words that are not done with. Empty at the end.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words[self.used..]
    }

    /// The first `used` words are done with: goes on to the others, or to the next piece where none are left.
    pub(crate) fn next(&mut self, used: usize) -> io::Result<()> {
        self.used = self.words.len().min(self.used + used);
        while self.used == self.words.len() && !self.unpackers.is_empty() {
            let turn = self.next % self.unpackers.len();
            self.next += 1;
            match self.unpackers[turn].0.recv() {
                Ok(words) => (self.words, self.used) = (words?, 0),
                // Pieces are dealt out in turn: where one unpacker has no more, none has.
                Err(_) => self.finish()?,
            }
        }
        Ok(())
    }

    /// The words that [`Self::next`] gave last have all their steps.
    pub(crate) fn is_whole(&self) -> bool {
        self.next > self.whole_from
    }

    fn finish(&mut self) -> io::Result<()> {
        for (receive, thread) in self.unpackers.drain(..) {
            drop(receive);
            if thread.join().is_err() {
                return Err(io::Error::other("a thread that unpacks the recording failed"));
            }
        }
        Ok(())
    }
}
