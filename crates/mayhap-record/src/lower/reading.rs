//! Reads a recording again: threads unpack blocks ahead and drop what the first pass found not worth keeping.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use mayhap_wire::ring::{BRANCHED, MAX_SITE, SiteKind, Tag, access_word, split_record};

use crate::capture::repeats::Repeated;
use crate::capture::store::Store;
use crate::capture::unpacking::Unpacker;
use crate::sharing::digest::{Calls, is_call};
use crate::sharing::first_pass::{Filter, Looked};
use crate::sharing::shadow_table::granules;

/// Threads that unpack ahead of the one that lowers, and blocks that each may be ahead.
const UNPACKERS: usize = 2;
const AHEAD: usize = 4;

/// What is read, and what is known of it.
struct Source {
    store: Store,
    looked: Vec<Looked>,
    filter: Filter,
    /// Of each block, how many steps at its beginning come before those that are wanted.
    skipped: Vec<u64>,
}

/// The words of a block.
#[derive(Default)]
struct Unpacked {
    words: Vec<u64>,
    /// How many of them come before the steps that are wanted: they have no accesses.
    before: usize,
    /// Accesses that are left out there.
    left_out: u64,
}

/// A recording being read.
pub(crate) struct Reading {
    unpackers: Vec<(Receiver<io::Result<Unpacked>>, JoinHandle<()>)>,
    next: usize,
    now: Unpacked,
    /// Words that are done with.
    used: usize,
    left_out: u64,
}

impl Reading {
    /// Nothing to be read.
    pub(crate) fn empty() -> Reading {
        Reading { unpackers: Vec::new(), next: 0, now: Unpacked::default(), used: 0, left_out: 0 }
    }

    /// Reads from the beginning what the filter lets pass; if there is a number, accesses of the last so many steps only.
    pub(crate) fn new(store: Store, filter: Filter, looked: Vec<Looked>, last: Option<u64>) -> Reading {
        let all: u64 = looked.iter().map(|block| block.steps).sum();
        let mut left = all - last.unwrap_or(all).min(all);
        let skip = |block: &Looked| {
            let skipped = left.min(block.steps);
            left -= skipped;
            skipped
        };
        let skipped = looked.iter().map(skip).collect();
        let source = Arc::new(Source { store, looked, filter, skipped });
        let mut unpackers = Vec::new();
        for first in 0..UNPACKERS.min(source.looked.len()) {
            let (send, receive) = sync_channel(AHEAD);
            let source = Arc::clone(&source);
            let thread = std::thread::spawn(move || {
                let mut unpacker = Unpacker::new();
                for number in (first..source.looked.len()).step_by(UNPACKERS) {
                    let unpacked = source.unpack(number, &mut unpacker);
                    let failed = unpacked.is_err();
                    if send.send(unpacked).is_err() || failed {
                        return;
                    }
                }
            });
            unpackers.push((receive, thread));
        }
        Reading { unpackers, ..Reading::empty() }
    }

    /// The words that are not done with. Empty at the end.
    pub(crate) fn words(&self) -> &[u64] {
        let Unpacked { words, before, .. } = &self.now;
        if self.used < *before { &words[self.used..*before] } else { &words[self.used..] }
    }

    /// The first `used` words are done with: goes on to the others, or to the next block where none are left.
    pub(crate) fn next(&mut self, used: usize) -> io::Result<()> {
        self.used = self.now.words.len().min(self.used + used);
        while self.used == self.now.words.len() && !self.unpackers.is_empty() {
            let turn = self.next % self.unpackers.len();
            self.next += 1;
            match self.unpackers[turn].0.recv() {
                Ok(unpacked) => {
                    (self.now, self.used) = (unpacked?, 0);
                    self.left_out += self.now.left_out;
                }
                // Blocks are dealt out in turn: where one unpacker has no more, none has.
                Err(_) => self.finish()?,
            }
        }
        Ok(())
    }

    /// The words that are not done with are among the steps that are wanted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.used >= self.now.before
    }

    /// Accesses that came before the steps that are wanted.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
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

impl Source {
    fn unpack(&self, number: usize, unpacker: &mut Unpacker) -> io::Result<Unpacked> {
        let (looked, skip) = (&self.looked[number], self.skipped[number]);
        if let Some(digest) = &looked.digest
            && skip == 0
            && !digest.pages.iter().any(|page| self.filter.pages.contains(page))
        {
            return Ok(Unpacked { words: digest.words.clone(), ..Unpacked::default() });
        }
        // Whether a read came just before the block is not known here.
        let mut passed = Passed {
            filter: &self.filter,
            skip,
            to: Unpacked::default(),
            dirty: true,
            calls: Calls::default(),
            latest: [u32::MAX; LATEST],
            next: 0,
            wanted: Vec::new(),
        };
        let (block, mut buffer) = (&self.store.blocks()[number], Vec::new());
        let bytes = self.store.get(block, &mut buffer)?;
        unpacker.begin(&looked.before);
        let whole = unpacker.unpack(bytes, block.units(), &mut passed, Passed::access, Passed::record, Passed::repeat);
        passed.calls.put(&mut passed.to.words);
        if passed.skip > 0 || skip == looked.steps {
            passed.to.before = passed.to.words.len();
        }
        if whole { Ok(passed.to) } else { Err(block.is_wrong()) }
    }
}

/// Words that pass a filter, in one block.
struct Passed<'a> {
    filter: &'a Filter,
    /// Steps that come before those that are wanted: of them only calls and records pass.
    skip: u64,
    to: Unpacked,
    /// A read may have passed since the last branch.
    dirty: bool,
    calls: Calls,
    /// The latest accesses that passed, by the low bits of their addresses: values of others do not pass.
    latest: [u32; LATEST],
    next: usize,
    /// Room for places in a period.
    wanted: Vec<usize>,
}

/// How many accesses may come before a value and the access that it is of.
const LATEST: usize = 8;
/// The bits of addresses that values name.
const LOW: u64 = 0x7fff_ffff;

impl Passed<'_> {
    #[inline]
    fn access(&mut self, number: u32, address: u64) {
        let Filter { kept, sites, in_unloaded, .. } = self.filter;
        let site = number & MAX_SITE;
        let (kind, size) = sites.kind(site);
        if self.skip > 0 && !is_call(kind) {
            self.to.left_out += 1;
            return self.skipped();
        }
        let branches = number & BRANCHED != 0 && std::mem::take(&mut self.dirty);
        let passes = match kind {
            // The last number stands for many sites.
            _ if site == MAX_SITE => true,
            SiteKind::Read | SiteKind::Write if in_unloaded.get(site as usize) == Some(&true) => true,
            SiteKind::Branch => std::mem::take(&mut self.dirty),
            SiteKind::Read | SiteKind::Write if address % 8 + u64::from(size) <= 8 => kept.contains(address),
            SiteKind::Read | SiteKind::Write => {
                granules(address, size.into()).any(|(granule, _, _)| kept.contains(granule))
            }
            SiteKind::Call | SiteKind::Return => return self.calls.take(site, address),
            SiteKind::Other => false,
        };
        // Of memory that one thread has for itself, the first access after a read counts whose address that read may have decided.
        if !passes && !branches && self.dirty && self.filter.tells_branches && kind != SiteKind::Other {
            self.calls.put(&mut self.to.words);
            self.to.words.push(access_word(number, address));
            return;
        }
        if passes || branches {
            self.calls.put(&mut self.to.words);
            self.dirty |= passes && kind != SiteKind::Branch;
            self.to.words.push(access_word(number, address));
            self.latest[self.next % LATEST] = (address & LOW) as u32;
            self.next += 1;
        }
    }

    /// Takes a period of accesses that is repeated so often; `false`, and nothing is taken, if they are to be taken one by one.
    ///
    /// Where no read came since the last branch, an access that does not touch what is kept leaves nothing behind.
    fn repeat(&mut self, period: &[Repeated], times: u64) -> bool {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        let is_call = period.iter().any(|access| is_call(self.filter.sites.kind(access.site & MAX_SITE).0));
        wanted.extend((0..period.len()).filter(|&place| self.may_pass(&period[place], times)));
        let is_worth = self.skip == 0 && !is_call && 2 * wanted.len() <= period.len();
        for repetition in 0..if is_worth { times } else { 0 } {
            let (mut place, mut next) = (0, wanted.iter().copied().peekable());
            loop {
                if !self.dirty {
                    while next.next_if(|&wanted| wanted < place).is_some() {}
                    place = next.peek().copied().unwrap_or(period.len());
                }
                let Some(access) = period.get(place) else { break };
                self.access(access.site, access.at(repetition));
                place += 1;
            }
            if wanted.is_empty() && !self.dirty {
                break;
            }
        }
        self.wanted = wanted;
        is_worth
    }

    /// An access may pass in one of so many repetitions, even if no read came since the last branch.
    fn may_pass(&self, access: &Repeated, times: u64) -> bool {
        let site = access.site & MAX_SITE;
        let (kind, size) = self.filter.sites.kind(site);
        let (first, last) = access.span(times, size.into());
        site == MAX_SITE
            || matches!(kind, SiteKind::Read | SiteKind::Write)
                && (self.filter.in_unloaded.get(site as usize) == Some(&true) || self.filter.kept.any(first, last))
    }

    fn record(&mut self, words: &[u64]) {
        if let Some((Tag::Value, _, address)) = words.first().and_then(|&word| split_record(word)) {
            if self.skip == 0 && self.latest.contains(&address) {
                self.to.words.extend_from_slice(words);
            }
            return;
        }
        // It may read, or the turn may pass to another thread.
        self.dirty = true;
        self.calls.put(&mut self.to.words);
        self.to.words.extend_from_slice(words);
        if self.skip > 0 {
            self.skipped();
        }
    }

    /// A step is skipped; what comes after the last of them is wanted.
    #[cold]
    fn skipped(&mut self) {
        self.skip -= 1;
        if self.skip == 0 {
            self.calls.put(&mut self.to.words);
            self.to.before = self.to.words.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::deltas::samples::{Dice, units_of};
    use crate::capture::recorder::Recorder;
    use crate::ring_words::{Word, Words};
    use crate::sharing::ahead::Ahead;
    use crate::sharing::first_pass::{Begun, first_pass};
    use mayhap_wire::ring::{record_word, site_word};

    /// Two threads that take turns, with memory of their own and some that they share; some accesses are far from the last.
    fn run() -> Vec<u64> {
        let mut dice = Dice(7);
        let mut words = Vec::new();
        for (site, kind) in [(1, SiteKind::Read), (2, SiteKind::Write), (3, SiteKind::Read), (20_000, SiteKind::Write)]
        {
            words.extend([record_word(Tag::Site, 1, site), site_word(0x40_0000 + u64::from(site), kind, 8)]);
        }
        words.extend([record_word(Tag::Begin, 4, 0), 0, 0, 1, 0, record_word(Tag::Fork, 1, 1), 1]);
        for turn in 0..200u32 {
            words.push(record_word(Tag::Switch, 0, turn % 2));
            for step in 0..dice.roll(100) {
                let own = 0x10_0000 * (u64::from(turn % 2) + 1);
                let (site, address) = match dice.roll(12) {
                    0 => (2, 0x60_0000 + 8 * dice.roll(40)),
                    1 => (20_000, 0x7fff_0000_0000 + 8 * dice.roll(9)),
                    2 => (1 | BRANCHED, dice.roll(1 << 30) * 8),
                    3 => (3, 0x60_0000 + 8 * dice.roll(40)),
                    _ => (3, own + 8 * step),
                };
                words.push(access_word(site, address));
            }
        }
        words
    }

    /// Everything that is read of a recording: what comes before the steps that are wanted, those, and how many accesses are left out.
    fn read(store: Store, last: Option<u64>) -> (Vec<u64>, Vec<u64>, u64) {
        read_from(store, last, None)
    }

    /// The same where the first pass has begun.
    fn read_from(store: Store, last: Option<u64>, begun: Option<Begun>) -> (Vec<u64>, Vec<u64>, u64) {
        let (_, filter, looked) = first_pass(&store, true, &[], begun).unwrap();
        let mut reading = Reading::new(store, filter, looked, last);
        let (mut before, mut wanted) = (Vec::new(), Vec::new());
        loop {
            reading.next(reading.words().len()).expect("it can be read");
            match (reading.words(), reading.is_wanted()) {
                ([], _) => return (before, wanted, reading.left_out()),
                (words, true) => wanted.extend_from_slice(words),
                (words, false) => before.extend_from_slice(words),
            }
        }
    }

    fn recorded(units: &[u32], part: usize, mut recorder: Recorder) -> Store {
        units.chunks(part).for_each(|part| recorder.take(part));
        recorder.into_store()
    }

    #[test]
    fn a_recording_is_read_the_same_wherever_it_is_and_however_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let units = units_of(&run());
        let (_, whole, _) = read(recorded(&units, units.len(), Recorder::temporary(folder.path(), None)), None);
        assert!(whole.len() > 500 && whole.len() < units.len(), "{}", whole.len());
        for part in [units.len(), 1000, 331] {
            let file = tempfile::tempfile_in(folder.path()).unwrap();
            let written = recorded(&units, part, Recorder::in_file(file.try_clone().unwrap(), None).unwrap());
            let sizes = written.sizes();
            assert_eq!(sizes.iter().map(|&(_, units, _)| units).sum::<u64>(), units.len() as u64);
            let records = |words: &[u64]| Words::new(words).filter(|word| matches!(word, Word::Record(..))).count();
            let (_, again, _) = read(Store::reopen(file, 0, &sizes), None);
            // Blocks begin as if a read came just before, so that there may be a branch more in each.
            assert_eq!(records(&again), records(&whole));
            let (_, small, _) = read(recorded(&units, part, Recorder::temporary(folder.path(), None)), None);
            assert!(again == small, "in parts of {part} units");
        }
    }

    #[test]
    fn a_pass_made_while_the_program_runs_finds_what_one_made_later_finds() {
        let folder = tempfile::tempdir().unwrap();
        let units = units_of(&run());
        for (part, blocks) in [(1000, usize::MAX), (331, usize::MAX), (331, 5), (331, 0)] {
            let (_, later, _) = read(recorded(&units, part, Recorder::temporary(folder.path(), None)), None);
            let (ahead, mut seen) = (Ahead::start(), 0);
            let mut recorder = Recorder::temporary(folder.path(), None);
            for part in units.chunks(part) {
                recorder.take_and(part, &mut |block, runs| {
                    seen += 1;
                    if seen <= blocks {
                        ahead.take(block, runs);
                    }
                });
            }
            let begun = ahead.finish().expect("the pass does not fail");
            let (_, words, _) = read_from(recorder.into_store(), None, Some(begun));
            assert!(words == later, "in parts of {part} units, {blocks} blocks ahead");
        }
        // A pass over blocks that were given up is made again.
        let ahead = Ahead::start();
        units.chunks(100).for_each(|part| ahead.take(part, &[]));
        let store = || recorded(&units, units.len(), Recorder::temporary(folder.path(), None));
        assert!(read_from(store(), None, ahead.finish()) == read(store(), None));
    }

    #[test]
    fn of_the_steps_before_the_last_ones_only_records_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let units = units_of(&run());
        let store = |part| recorded(&units, part, Recorder::temporary(folder.path(), None));
        let (_, whole, _) = read(store(1000), None);
        let accesses = |words: &[u64]| Words::new(words).filter(|word| matches!(word, Word::Access(..))).count();
        for (last, part) in [(1, 1000), (50, 331), (1000, 1000), (1001, units.len()), (1 << 40, 1000)] {
            let (before, wanted, left_out) = read(store(part), Some(last));
            assert_eq!(accesses(&before), 0, "{last}");
            assert!(accesses(&wanted) as u64 <= last && (wanted.len() > 1 || last == 1), "{last}: {}", wanted.len());
            assert_eq!(left_out == 0, last > 1 << 30);
            if left_out == 0 {
                assert!(wanted == whole);
            }
        }
    }

    #[test]
    fn blocks_of_another_length_than_promised_are_refused() {
        let file = tempfile::tempfile().unwrap();
        let mut recorder = Recorder::in_file(file.try_clone().unwrap(), None).unwrap();
        recorder.take(&units_of(&run()));
        let (bytes, units, sum) = recorder.store().sizes()[0];
        for (units, right) in [(units, true), (units + 1, false), (0, false), (u64::MAX, false)] {
            let store = Store::reopen(file.try_clone().unwrap(), 0, &[(bytes, units, sum)]);
            let refused = first_pass(&store, true, &[], None).map(drop).map_err(|error| error.to_string()).err();
            let expected = (!right).then(|| "byte 0: a block of the recording cannot be unpacked".to_string());
            assert_eq!(refused, expected);
        }
    }

    /// Loops of two threads over memory of their own, which share every seventh place of a third array; steps of all sizes.
    fn loops(dice: &mut Dice) -> Vec<u64> {
        let mut words = Vec::new();
        for (site, kind) in [(1, SiteKind::Read), (2, SiteKind::Read), (3, SiteKind::Write), (4, SiteKind::Branch)] {
            words.extend([record_word(Tag::Site, 1, site), site_word(0x40_0000 + u64::from(site), kind, 8)]);
        }
        words.extend([record_word(Tag::Begin, 4, 0), 0, 0, 1, 0, record_word(Tag::Fork, 1, 1), 1]);
        for turn in 0..60u32 {
            words.push(record_word(Tag::Switch, 0, turn % 2));
            let own = 0x10_0000 * (u64::from(turn % 2) + 1);
            let (step, times, shared) = (8 * dice.roll(4), dice.roll(400), 0x60_0000 + 8 * dice.roll(9));
            for outer in 0..dice.roll(5) {
                for inner in 0..times {
                    words.push(access_word(1 | (BRANCHED * (turn % 3 / 2)), own + step * inner));
                    words.push(access_word(2, own + 0x8000 + 64 * inner));
                    if turn % 5 == 4 {
                        words.push(access_word(4, 0x40_0000));
                    }
                }
                words.push(access_word(if turn % 7 < 4 { 3 } else { 2 }, shared + 8 * outer));
                if turn % 4 == 0 {
                    words.extend([record_word(Tag::Acquire, 1, 1), 0x70_0000]);
                }
            }
        }
        words
    }

    #[test]
    fn what_is_repeated_is_read_as_if_it_were_read_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut dice = Dice(23);
        let mut taken = 0;
        for _ in 0..40 {
            let units = units_of(&loops(&mut dice));
            let store = recorded(&units, units.len(), Recorder::temporary(folder.path(), None));
            let (_, filter, looked) = first_pass(&store, true, &[], None).unwrap();
            let read = |repeat: &dyn Fn(&mut Passed<'_>, &[Repeated], u64) -> bool| {
                let (to, calls) = (Unpacked::default(), Calls::default());
                let latest = [u32::MAX; LATEST];
                let mut passed =
                    Passed { filter: &filter, skip: 0, to, dirty: true, calls, latest, next: 0, wanted: Vec::new() };
                let (block, mut buffer, mut unpacker) = (&store.blocks()[0], Vec::new(), Unpacker::new());
                unpacker.begin(&looked[0].before);
                let bytes = store.get(block, &mut buffer).unwrap();
                assert!(unpacker.unpack(bytes, block.units(), &mut passed, Passed::access, Passed::record, repeat));
                (passed.to.words, passed.latest, passed.next, passed.dirty)
            };
            let count = std::cell::Cell::new(0);
            let together = read(&|passed, period, times| {
                let is_taken = passed.repeat(period, times);
                count.set(count.get() + u32::from(is_taken));
                is_taken
            });
            assert!(together == read(&|_, _, _| false));
            taken += count.get();
        }
        assert!(taken > 500, "{taken}");
    }
}
