//! Packs the units of a run for keeping, as fast as a program delivers them: a part of a byte for most accesses, next to nothing for
//! loops.
//!
//! Each piece of units is packed by itself. The low halves of addresses that are written whole are put aside, since they are seldom what
//! anything was before, and the others around them often are. The other units are packed in *groups* of 16:
//!
//! - Where the group is as 16 units before it in the piece, it is a *run*, as long as that goes on. Those before it are found by the hash of
//!   the group's beginning. Loops over arrays repeat the same few units, since units tell differences of addresses.
//! - Where all its units have a *place*, of which there are 256, the places tell the group, in two or four bits each where they are
//!   among the first 4 or 16, as in a loop that decides by what it reads.
//! - Otherwise it is *mixed*: a unit that is the latest of those with its hash in mixed groups is written as the hash, the others are new. The
//!   first new one then takes a place, or where none is new, each that has none: the places in turn, and after the last the
//!   seventeenth, since what comes first comes most.
//!
//! The hash of a unit is the highest byte of its product with `0x9e3779b1`. The place of a unit is the last that was taken by one with
//! the same highest 12 bits of the product, if it is still there. All are 0 at first: no units have places, or are the latest, but 0.
//!
//! Nothing here branches on a single unit: which one comes next is what no processor can foresee.
//!
//! | tag | what follows |
//! |---|---|
//! | 0 | the low halves of the addresses of far accesses, 4 bytes each, to the end of the piece |
//! | 1 | places of 16 units in two bits each: in the n-th of 4 bytes those of units n, n + 8, n + 4 and n + 12, from the lowest bits on |
//! | 2 | places of 16 units in four bits each: in the n-th of 8 bytes those of units n and n + 8, from the lowest bits on |
//! | 3 | places of 16 units in a byte each |
//! | 4 | a run: how many units before it is the same, and how many units it has, in 3 bytes each |
//! | 5 | a zstd frame with the units of the piece, 4 bytes each: of programs in virtual machines |
//! | `0x10` + n | n units, 1 to 16: 2 bytes with a bit for each that is new, the last one's lowest, then in their order 4 bytes of each that is new and the hash of each other one |

use mayhap_wire::ring::{Tag, split_record, unit};

use crate::capture::compression::{compressed, is_of_machine};
use crate::capture::deltas::words_of;
use crate::capture::repeats::Run;
use crate::memory;
use mayhap_symbols::Module;

/// Units looked at together.
pub(super) const GROUP: usize = 16;
/// The most units of a piece.
pub(super) const MOST: usize = 1 << 20;
/// Units that are written as their place.
pub(super) const PLACES: usize = 256;
/// Hashes of units by which their places are found.
const HASHES: usize = 1 << 12;
/// Hashes of units that are written as their hash.
const CELLS: usize = 256;
/// Hashes of the beginnings of groups.
const BEGINNINGS: usize = 1 << 10;
/// Places that are not taken a second time: in them are the units that came first, and those come most often.
const KEPT: u8 = 16;
/// The most bytes of a group: a tag, two bytes of bits, the units; and bytes that are written after what counts.
const LONGEST: usize = 3 + 4 * GROUP + 3;

pub(super) const LOWS: u8 = 0;
pub(super) const QUARTERS: u8 = 1;
pub(super) const NIBBLES: u8 = 2;
pub(super) const BYTES: u8 = 3;
pub(super) const RUN: u8 = 4;
pub(super) const MIXED: u8 = 0x10;

/// Bits of bytes.
pub(super) const THREES: u64 = 0x0303_0303_0303_0303;
pub(super) const FIFTEENS: u64 = 0x0f0f_0f0f_0f0f_0f0f;

#[inline(always)]
fn hash(unit: u32) -> usize {
    (unit.wrapping_mul(0x9e37_79b1) >> 20) as usize % HASHES
}

/// The hash that stands for a unit in a mixed group.
#[inline(always)]
pub(super) fn cell(unit: u32) -> usize {
    (unit.wrapping_mul(0x9e37_79b1) >> 24) as usize % CELLS
}

/// Of the first four units of a group.
#[inline(always)]
fn hash_beginning(group: &[u32; GROUP]) -> usize {
    let [first, second, third, fourth, ..] = group.map(u64::from);
    let mixed = (first | second << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (third | fourth << 32).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_right(29);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % BEGINNINGS
}

/// The group that begins there, if there is a whole one.
#[inline(always)]
fn group(units: &[u32], at: usize) -> Option<&[u32; GROUP]> {
    units.get(at..)?.first_chunk()
}

/// Whether a unit is an access by itself, if it is not a part of something else.
#[inline(always)]
pub(super) fn is_access(unit: u32) -> bool {
    unit >> unit::SITE_SHIFT != 0
}

/// How many units at the beginning of a group are accesses by themselves. Which is the first that is not is what no processor can
/// foresee.
#[inline(always)]
fn accesses(group: &[u32; GROUP]) -> usize {
    const BITS: [u32; GROUP] = {
        let (mut bits, mut nth) = ([0; GROUP], 0);
        while nth < GROUP {
            (bits[nth], nth) = (1 << nth, nth + 1);
        }
        bits
    };
    let others =
        group.iter().zip(BITS).fold(1 << GROUP, |all, (&unit, bit)| all | if is_access(unit) { 0 } else { bit });
    others.trailing_zeros() as usize
}

/// Compared as a whole: where two groups differ is not asked.
#[inline(always)]
fn are_same(one: &[u32; GROUP], other: &[u32; GROUP]) -> bool {
    one.iter().zip(other).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

/// What packer and unpacker know alike.
pub(super) struct Known {
    /// The latest unit of a mixed group with this hash.
    pub(super) latest: [u32; CELLS],
    /// The units in their places.
    pub(super) recent: [u32; PLACES],
    /// The place where a unit with this hash is, if it is there.
    place: [u8; HASHES],
    /// The place that is taken next.
    next: u8,
}

impl Known {
    pub(super) fn new() -> Box<Known> {
        Box::new(Known { latest: [0; CELLS], recent: [0; PLACES], place: [0; HASHES], next: 0 })
    }

    pub(super) fn clear(&mut self) {
        self.latest.fill(0);
        self.recent.fill(0);
        self.place.fill(0);
        self.next = 0;
    }

    /// Learns from a mixed group: the first that is new takes a place, or all that have none where none is new.
    #[inline(always)]
    pub(super) fn learn(&mut self, units: &[u32], new: u32) {
        if new == 0 {
            units.iter().for_each(|&unit| self.place(unit));
        } else if let Some(&unit) = units.get(units.len() - (u32::BITS - new.leading_zeros()) as usize) {
            self.place(unit);
        }
    }

    /// Gives a unit a place if it has none.
    #[inline(always)]
    fn place(&mut self, unit: u32) {
        let place = &mut self.place[hash(unit)];
        if self.recent[usize::from(*place)] != unit {
            *place = self.next;
            self.recent[usize::from(self.next)] = unit;
            self.next = self.next.checked_add(1).unwrap_or(KEPT);
        }
    }
}

/// Packs pieces of units.
pub(crate) struct Packer {
    known: Box<Known>,
    /// The units of the piece but the low halves of its far accesses, how many they are, and those.
    main: Vec<u32>,
    mains: usize,
    lows: Vec<u32>,
    far: usize,
    /// Where a group began whose beginning has this hash, and 1.
    began: Box<[u32; BEGINNINGS]>,
    out: Vec<u8>,
    at: usize,
    /// Long runs of the piece.
    runs: Vec<Run>,
    /// The files that were loaded so far, and how many locks were taken.
    modules: Vec<Module>,
    in_machine: bool,
    locks_taken: u64,
}

impl Packer {
    pub(crate) fn new() -> Packer {
        Packer {
            known: Known::new(),
            main: Vec::new(),
            mains: 0,
            lows: Vec::new(),
            far: 0,
            began: Box::new([0; BEGINNINGS]),
            out: Vec::new(),
            at: 0,
            runs: Vec::new(),
            modules: Vec::new(),
            in_machine: false,
            locks_taken: 0,
        }
    }

    /// The files that were loaded in what was packed so far.
    pub(crate) fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Whether what was packed so far shows that the program runs in a virtual machine.
    pub(crate) fn is_in_machine(&self) -> bool {
        self.in_machine
    }

    /// How many locks were taken in what was packed so far.
    pub(crate) fn locks_taken(&self) -> u64 {
        self.locks_taken
    }

    /// The long runs of the piece that was packed last.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Packs a piece of accesses and records, up to one that is not all there; how many units were packed.
    pub(crate) fn pack(&mut self, units: &[u32]) -> (&[u8], usize) {
        let whole = self.part(&units[..units.len().min(MOST)]);
        self.runs.clear();
        if self.in_machine
            && let Some(compressed) = compressed(&units[..whole])
        {
            self.out = compressed;
            return (&self.out, whole);
        }
        let main = std::mem::take(&mut self.main);
        let units = if self.far > 0 { &main[..self.mains] } else { &units[..whole] };
        self.known.clear();
        self.began.fill(0);
        self.at = 0;
        let most = (units.len() / GROUP + 2) * LONGEST + 4 * self.far;
        if self.out.len() < most {
            self.out.resize(most, 0);
        }
        let (mut i, mut mixed) = (0, false);
        while let Some(next) = group(units, i) {
            let began = &mut self.began[hash_beginning(next)];
            let before = std::mem::replace(began, i as u32 + 1) as usize;
            if let Some(before) = before.checked_sub(1)
                && group(units, before).is_some_and(|before| are_same(before, next))
            {
                let length = GROUP + same(&units[before + GROUP..], &units[i + GROUP..]);
                self.put_run(i - before, length);
                self.runs.extend(Some(Run::of(i, i - before, length)).filter(Run::is_long));
                i += length;
                continue;
            }
            // Groups are mostly of the kind that the one before was.
            if mixed || !self.put_places(next) {
                mixed = self.put_mixed(next);
            }
            i += GROUP;
        }
        if i < units.len() {
            self.put_mixed(&units[i..]);
        }
        self.main = main;
        if self.far > 0 {
            let to = &mut self.out[self.at..self.at + 1 + 4 * self.far];
            to[0] = LOWS;
            for (to, low) in to[1..].as_chunks_mut().0.iter_mut().zip(&self.lows) {
                *to = low.to_le_bytes();
            }
            self.at += 1 + 4 * self.far;
        }
        (&self.out[..self.at], whole)
    }

    /// How many units the accesses and records at the beginning have that are all there. If there are far accesses among them, the low
    /// halves of their addresses go to [`Self::lows`], all else to [`Self::main`]. Units that no thread wrote count one by one.
    fn part(&mut self, units: &[u32]) -> usize {
        let (mut at, mut mains, mut far) = (0, 0, 0);
        while let Some(&first) = units.get(at) {
            if first != unit::RECORD
                && let Some(group) = group(units, at)
            {
                if group.iter().fold(true, |all, &unit| all & is_access(unit)) {
                    if far > 0 {
                        self.main[mains..mains + GROUP].copy_from_slice(group);
                    }
                    (at, mains) = (at + GROUP, mains + GROUP);
                    continue;
                }
                // What does not count is written over.
                if far > 0 {
                    self.main[mains..mains + GROUP].copy_from_slice(group);
                }
                let near = accesses(group);
                (at, mains) = (at + near, mains + near);
            }
            let rest = &units[at..];
            let length = match unit::length(rest) {
                Some(length) => length,
                None if rest[0] == unit::RECORD && rest.len() < 3 => break,
                None => 1,
            };
            let Some(whole) = rest.get(..length) else { break };
            let mut put = length;
            if let [unit::ACCESS, low, high] = *whole {
                if far == 0 {
                    self.main.resize(units.len().max(self.main.len()), 0);
                    self.lows.resize((units.len() / 3 + 1).max(self.lows.len()), 0);
                    self.main[..at].copy_from_slice(&units[..at]);
                }
                self.main[mains..mains + 2].copy_from_slice(&[unit::ACCESS, high]);
                self.lows[far] = low;
                (put, far) = (2, far + 1);
            } else if far > 0 {
                match group(units, at) {
                    // What does not count is written over, and to copy as many each time takes less.
                    Some(group) if length <= GROUP => self.main[mains..mains + GROUP].copy_from_slice(group),
                    _ => self.main[mains..mains + length].copy_from_slice(whole),
                }
            }
            if let [unit::RECORD, low, ..] = *whole {
                self.note(low as u8, whole);
            }
            (at, mains) = (at + length, mains + put);
        }
        (self.mains, self.far) = (mains, far);
        at
    }

    /// Learns from a record what is to be known when the run is over.
    #[inline]
    fn note(&mut self, tag: u8, record: &[u32]) {
        self.locks_taken += u64::from(tag == Tag::Acquire as u8 || tag == Tag::SharedAcquire as u8);
        if tag == Tag::Module as u8
            && let Some((_, _, argument)) = words_of(&record[1..]).next().and_then(split_record)
        {
            let module = memory::module(argument, &words_of(&record[3..]).collect::<Vec<u64>>());
            self.in_machine |= is_of_machine(&module);
            self.modules.push(module);
        }
    }

    fn put_run(&mut self, distance: usize, length: usize) {
        let bytes = u64::from(RUN) | (distance as u64) << 8 | (length as u64) << 32;
        self.out[self.at..self.at + 8].copy_from_slice(&bytes.to_le_bytes());
        self.at += 7;
    }

    /// Packs a group whose units are all recent; `false` where one is not.
    #[inline(always)]
    fn put_places(&mut self, units: &[u32; GROUP]) -> bool {
        let (mut places, mut unknown) = ([0; GROUP], 0);
        for (entry, &unit) in places.iter_mut().zip(units) {
            *entry = self.known.place[hash(unit)];
            unknown |= self.known.recent[usize::from(*entry)] ^ unit;
        }
        let Some(out) = self.out.get_mut(self.at..).and_then(|out| out.first_chunk_mut::<{ 1 + GROUP }>()) else {
            return false;
        };
        if unknown != 0 {
            return false;
        }
        let both = u128::from_le_bytes(places);
        let (first, second) = (both as u64, (both >> 64) as u64);
        if (first | second) & !FIFTEENS == 0 {
            let pairs = first | second << 2;
            let quarters = u64::from(pairs as u32 | ((pairs >> 32) as u32) << 4);
            let few = (first | second) & !THREES == 0;
            out[0] = if few { QUARTERS } else { NIBBLES };
            out[1..9].copy_from_slice(&if few { quarters } else { first | second << 4 }.to_le_bytes());
            self.at += if few { 5 } else { 9 };
        } else {
            out[0] = BYTES;
            out[1..].copy_from_slice(&places);
            self.at += 1 + GROUP;
        }
        true
    }

    /// Packs at most a group of units; whether one was new.
    #[inline(never)]
    fn put_mixed(&mut self, units: &[u32]) -> bool {
        let Packer { known, out, .. } = self;
        let Some(out) = out.get_mut(self.at..).and_then(|out| out.first_chunk_mut::<LONGEST>()) else { return true };
        let (mut at, mut new) = (0, 0u32);
        for &unit in units {
            let cell = cell(unit);
            let is_new = std::mem::replace(&mut known.latest[cell], unit) != unit;
            let entry = if is_new { unit } else { cell as u32 };
            new = 2 * new + u32::from(is_new);
            // The remainder changes nothing: 16 units take no more than 64 bytes.
            let to = 3 + at % (4 * GROUP);
            out[to..to + 4].copy_from_slice(&entry.to_le_bytes());
            at += 1 + 3 * usize::from(is_new);
        }
        out[0] = MIXED + units.len() as u8;
        out[1..3].copy_from_slice(&(new as u16).to_le_bytes());
        self.at += 3 + at;
        known.learn(units, new);
        new != 0
    }
}

/// How many units at the beginning are the same.
#[inline]
fn same(one: &[u32], other: &[u32]) -> usize {
    let mut length = 0;
    while let (Some(before), Some(next)) = (group(one, length), group(other, length))
        && are_same(before, next)
    {
        length += GROUP;
    }
    length + one[length..].iter().zip(&other[length..]).take_while(|(one, other)| one == other).count()
}
