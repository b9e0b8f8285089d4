//! Unpacks what [`crate::capture::packing`] packs, which has the table of tags.

use mayhap_wire::ring::{access_word, unit};

use crate::capture::compression::{COMPRESSED, decompress};
use crate::capture::deltas::Lasts;
use crate::capture::packing::{
    BYTES, FIFTEENS, GROUP, Known, LOWS, MIXED, MOST, NIBBLES, PLACES, QUARTERS, RUN, THREES, cell, is_access,
};
use crate::capture::repeats::{Repeated, Run};

/// Unpacks pieces of units, which follow one another unless the caller says otherwise.
pub(crate) struct Unpacker {
    known: Box<Known>,
    main: Vec<u32>,
    units: Vec<u32>,
    /// Long runs of the units.
    runs: Vec<Run>,
    lasts: Lasts,
}

impl Unpacker {
    pub(crate) fn new() -> Unpacker {
        Unpacker { known: Known::new(), main: Vec::new(), units: Vec::new(), runs: Vec::new(), lasts: Lasts::new() }
    }

    /// The next piece is one of which [`Lasts::before`] was this.
    pub(crate) fn begin(&mut self, before: &[u64]) {
        self.lasts.begin(before);
    }

    /// Puts the units of a piece, which has so many, into `units`, and its long runs into `runs`; `false` where it is none.
    pub(crate) fn units(&mut self, bytes: &[u8], count: u64, units: &mut Vec<u32>, runs: &mut Vec<Run>) -> bool {
        let whole = unpack(bytes, count, self).is_some();
        std::mem::swap(&mut self.units, units);
        std::mem::swap(&mut self.runs, runs);
        whole
    }

    /// The words of a piece of so many units; `None` where it is none.
    pub(crate) fn words(&mut self, bytes: &[u8], count: u64) -> Option<Vec<u64>> {
        let mut words = Vec::new();
        let access = |words: &mut Vec<u64>, site, address| words.push(access_word(site, address));
        let record = |words: &mut Vec<u64>, record: &[u64]| words.extend_from_slice(record);
        self.unpack(bytes, count, &mut words, access, record, |_, _, _| false).then_some(words)
    }

    /// Calls `access` with site and address of each access of a piece of so many units, `record` with the words of each record.
    /// `repeat` may take long runs as one ([`Lasts::split`]). `false` where the bytes were not packed by [`crate::capture::packing::Packer`].
    #[inline]
    pub(crate) fn unpack<T>(
        &mut self,
        bytes: &[u8],
        count: u64,
        to: &mut T,
        access: impl FnMut(&mut T, u32, u64),
        record: impl FnMut(&mut T, &[u64]),
        repeat: impl FnMut(&mut T, &[Repeated], u64) -> bool,
    ) -> bool {
        unpack(bytes, count, self).is_some()
            && self.lasts.split((&self.units, &self.runs), to, access, record, repeat) == self.units.len()
    }
}

/// Puts the units of a piece, which has so many, into [`Unpacker::units`]; `None` where the bytes were not packed by [`crate::capture::packing::Packer`].
fn unpack(bytes: &[u8], count: u64, into: &mut Unpacker) -> Option<()> {
    let Unpacker { known, main, units: all, runs, .. } = into;
    runs.clear();
    known.clear();
    main.clear();
    all.clear();
    let count = usize::try_from(count).ok().filter(|&count| count <= MOST)?;
    if let Some((&COMPRESSED, frame)) = bytes.split_first() {
        return decompress(frame, count, all);
    }
    let units = &mut *main;
    let mut rest = bytes;
    let mut lows: &[[u8; 4]] = &[];
    while let Some((&tag, after)) = rest.split_first() {
        rest = match tag {
            LOWS => {
                let (whole, part) = after.as_chunks();
                lows = Some(whole).filter(|_| part.is_empty())?;
                &[]
            }
            QUARTERS => {
                let (places, rest) = after.split_first_chunk::<4>()?;
                let places = u32::from_le_bytes(*places);
                let pairs = u64::from(places & 0x0f0f_0f0f) | u64::from(places >> 4 & 0x0f0f_0f0f) << 32;
                put_places(pairs & THREES, pairs >> 2 & THREES, &known.recent, units);
                rest
            }
            NIBBLES => {
                let (places, rest) = after.split_first_chunk::<8>()?;
                let places = u64::from_le_bytes(*places);
                put_places(places & FIFTEENS, places >> 4 & FIFTEENS, &known.recent, units);
                rest
            }
            BYTES => {
                let (places, rest) = after.split_first_chunk::<GROUP>()?;
                let places = u128::from_le_bytes(*places);
                put_places(places as u64, (places >> 64) as u64, &known.recent, units);
                rest
            }
            RUN => repeat(after, count, units, runs)?,
            _ => take_mixed(tag, after, known, units)?,
        };
        if units.len() > count {
            return None;
        }
    }
    if units.len() + lows.len() != count {
        return None;
    }
    if lows.is_empty() {
        std::mem::swap(main, all);
        return Some(());
    }
    all.reserve(count);
    join(main, lows, all)
}

/// A run: copies units from before it; what comes after it. No more than `count` units.
fn repeat<'b>(after: &'b [u8], count: usize, units: &mut Vec<u32>, runs: &mut Vec<Run>) -> Option<&'b [u8]> {
    let (numbers, rest) = after.split_first_chunk::<6>()?;
    let [a, b, c, d, e, f] = numbers.map(usize::from);
    let (distance, length) = (a | b << 8 | c << 16, d | e << 8 | f << 16);
    if distance == 0 || distance > units.len() || length > count - units.len() {
        return None;
    }
    runs.extend(Some(Run::of(units.len(), distance, length)).filter(Run::is_long));
    let from = units.len() - distance;
    let end = units.len() + length;
    // What a run repeats may be a part of it: each copy makes more to copy from.
    while units.len() < end {
        units.extend_from_within(from..from + (units.len() - from).min(end - units.len()));
    }
    Some(rest)
}

/// A mixed group of units; what comes after it.
fn take_mixed<'b>(tag: u8, after: &'b [u8], known: &mut Known, units: &mut Vec<u32>) -> Option<&'b [u8]> {
    let length = usize::from(tag.checked_sub(MIXED)?);
    if length == 0 || length > GROUP {
        return None;
    }
    let (bits, mut rest) = after.split_first_chunk::<2>()?;
    let bits = u32::from(u16::from_le_bytes(*bits));
    if bits >> length != 0 {
        return None;
    }
    for nth in 0..length {
        let unit;
        if bits >> (length - 1 - nth) & 1 != 0 {
            let (four, after) = rest.split_first_chunk::<4>()?;
            unit = u32::from_le_bytes(*four);
            known.latest[cell(unit)] = unit;
            rest = after;
        } else {
            let (&cell, after) = rest.split_first()?;
            unit = known.latest[usize::from(cell)];
            rest = after;
        }
        units.push(unit);
    }
    known.learn(&units[units.len() - length..], bits);
    Some(rest)
}

/// Puts the low halves of the addresses of far accesses back between the other units.
fn join(main: &[u32], lows: &[[u8; 4]], units: &mut Vec<u32>) -> Option<()> {
    let (mut at, mut lows) = (0, lows.iter());
    while at < main.len() {
        let rest = &main[at..];
        let near = rest.iter().take_while(|&&unit| is_access(unit)).count();
        let (before, rest) = rest.split_at(near);
        units.extend_from_slice(before);
        at += near;
        at += match *rest {
            [] => 0,
            [unit::ACCESS, above, ..] => {
                units.extend([unit::ACCESS, u32::from_le_bytes(*lows.next()?), above]);
                2
            }
            _ => {
                let length = unit::length(rest).unwrap_or(1);
                units.extend_from_slice(rest.get(..length)?);
                length
            }
        };
    }
    lows.next().is_none().then_some(())
}

/// The units that are in these places, a byte each, low bytes first.
#[inline(always)]
fn put_places(first: u64, second: u64, recent: &[u32; PLACES], units: &mut Vec<u32>) {
    let places = (u128::from(first) | u128::from(second) << 64).to_le_bytes();
    units.extend_from_slice(&places.map(|place| recent[usize::from(place)]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::deltas::samples::{Dice, run, units_of};
    use crate::capture::packing::Packer;
    use mayhap_wire::ring::{Tag, record_word};

    /// How many bytes the units take; they come back from them.
    fn round_trip(packer: &mut Packer, units: &[u32]) -> usize {
        let (packed, whole) = packer.pack(units);
        assert_eq!(whole, units.len());
        let mut to = Unpacker::new();
        assert!(unpack(packed, whole as u64, &mut to).is_some() && to.units == units);
        for count in [whole as u64 + 1, (whole as u64).wrapping_sub(1), MOST as u64 + 1] {
            assert!(unpack(packed, count, &mut to).is_none(), "another number of units is refused");
        }
        packed.len()
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed_however_it_is_cut() {
        let (mut dice, mut packer) = (Dice(3), Packer::new());
        for steps in [0, 1, 15, 16, 17, 40, 500, 4000] {
            let units = units_of(&run(&mut dice, steps));
            round_trip(&mut packer, &units);
            let (mut carried, mut rebuilt, mut rest) = (Vec::new(), Vec::new(), &units[..]);
            while !rest.is_empty() {
                let (part, behind) = rest.split_at((dice.roll(2000) as usize + 1).min(rest.len()));
                rest = behind;
                carried.extend_from_slice(part);
                let (packed, whole) = packer.pack(&carried);
                let mut to = Unpacker::new();
                unpack(packed, whole as u64, &mut to).expect("a piece");
                let unpacked = to.units;
                let mut at = 0;
                while at < unpacked.len() {
                    at += unit::length(&unpacked[at..]).expect("pieces are cut between accesses and records");
                }
                assert_eq!(at, whole);
                rebuilt.extend(unpacked);
                carried.drain(..whole);
            }
            assert!(rebuilt == units && carried.is_empty(), "{steps} steps");
        }
    }

    #[test]
    fn units_of_any_kind_come_back() {
        let (mut dice, mut packer) = (Dice(11), Packer::new());
        for kinds in [1, 3, 4, 5, 16, 17, 200, 256, 257, 300, 1 << 31] {
            for length in [1, 16, 31, 1000, 5000] {
                let units: Vec<u32> = (0..length).map(|_| dice.roll(kinds) as u32 | 1 << 31).collect();
                round_trip(&mut packer, &units);
            }
        }
        // Among them some that no thread writes, and far accesses among those.
        for length in [20, 100, 5000] {
            let mut units: Vec<u32> =
                (0..length).map(|_| dice.roll(6) as u32 * (dice.roll(3) as u32 * 200 + 1)).collect();
            units.extend([1 << 31; 600]);
            round_trip(&mut packer, &units);
        }
        round_trip(&mut packer, &[0, 0, 0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_loop_over_arrays_takes_next_to_nothing() {
        let words: Vec<u64> =
            (0..10_000u64).flat_map(|i| [access_word(1, 0x1000 + 4 * i), access_word(2, 0x90000 + 8 * i)]).collect();
        assert!(round_trip(&mut Packer::new(), &units_of(&words)) < 100);
    }

    #[test]
    fn a_loop_that_decides_by_what_it_reads_takes_two_bits_an_access() {
        let mut dice = Dice(9);
        let units: Vec<u32> = (0..10_000).map(|_| unit::access(1 + dice.roll(3) as u32, 4).expect("it fits")).collect();
        assert!(round_trip(&mut Packer::new(), &units) < 10_000 * 5 / 16 + 100);
    }

    #[test]
    fn a_loop_with_far_accesses_takes_little_more_than_their_addresses() {
        let mut dice = Dice(4);
        let words: Vec<u64> = (0..10_000u64)
            .flat_map(|i| [access_word(1, 0x1000 + 4 * i), access_word(2, 0x7fff_0000_0000 | dice.roll(1 << 31))])
            .collect();
        assert!(round_trip(&mut Packer::new(), &units_of(&words)) < 4 * 10_000 + 300);
    }

    #[test]
    fn modules_are_noticed_on_the_way() {
        let path = b"/lib/one";
        let record = record_word(Tag::Module, 4, path.len() as u32);
        let units = units_of(&[access_word(1, 8), record, 0x1000, 0x1000, 0x2000, u64::from_le_bytes(*path)]);
        let mut packer = Packer::new();
        assert_eq!(packer.pack(&units[..units.len() - 1]).1, 1);
        assert!(packer.modules().is_empty());
        round_trip(&mut packer, &units[1..]);
        assert_eq!(packer.modules()[0].path.to_str(), Some("/lib/one"));
    }

    #[test]
    fn bytes_that_nobody_packed_are_refused_or_end() {
        let mut dice = Dice(2);
        let mut to = Unpacker::new();
        let tags = [LOWS, QUARTERS, NIBBLES, BYTES, RUN, MIXED + 3, MIXED + 16];
        let mut taken = 0;
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..dice.roll(60)).map(|_| dice.roll(256) as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = tags[dice.roll(7) as usize];
            }
            taken += usize::from(unpack(&bytes, dice.roll(40), &mut to).is_some());
            assert!(to.main.len() + to.units.len() < 200, "no more than was promised and a group");
        }
        assert!(taken > 0, "some look as if they had been packed");
        // A run of 16 million units, of which none are there, or more than were promised.
        assert!(unpack(&[RUN, 1, 0, 0, 0xff, 0xff, 0xff], MOST as u64, &mut to).is_none());
        assert!(unpack(&[MIXED + 1, 0, 0, 0, RUN, 1, 0, 0, 0xff, 0xff, 0xff], 100, &mut to).is_none());
        assert!(to.main.capacity() + to.units.capacity() < 1000);
    }
}
