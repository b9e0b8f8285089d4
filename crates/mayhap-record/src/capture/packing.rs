//! Packs the words of a run for keeping: about a byte for most accesses, none for those that go on as before.
//!
//! Each piece of words is packed by itself. The packer guesses the next access from what came before in the piece: the site
//! that followed the last site the last time, at the address that its stride leads to. A run of right guesses is one count. From
//! the first wrong one on eight accesses are packed together, for each a nibble that tells what was guessed and then what was not,
//! without a branch that depends on either: where some guesses come true, which ones is what no processor can foresee.
//!
//! | tag | what follows |
//! |---|---|
//! | 1 to 8 | so many accesses: their nibbles, two a byte, then for each what its nibble says |
//! | `0x80` + n | n + 1 right guesses |
//! | `0x10` + n | a record of n words, or more for n = 15: their number in 2 bytes. Its tag, a nibble for each word, and what the nibbles say |
//!
//! The low three bits of a nibble tell how many bytes follow of the difference to what was guessed: [`BYTES`]. The fourth says that the
//! site follows in 3 bytes, in nibbles of accesses. Words of a record are guessed to be those of the last one with its tag and length.

use mayhap_wire::ring::{ADDRESS_BITS, access_word, split_access, split_record};

/// Sites that the guesses are kept for at a time: different sites may share one.
const SLOTS: usize = 1 << 10;
const MASK: u64 = (1 << ADDRESS_BITS) - 1;
/// Accesses of a group.
const GROUP: usize = 8;
const GUESSED: u8 = 0x80;
const RECORD: u8 = 0x10;
const LONG: usize = 15;
/// The site follows.
const WITH_SITE: u32 = 8;
/// Bytes of difference by what the nibble says.
const BYTES: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 8];
/// What the nibble says, by the number of bits that the difference has.
const NIBBLES: [u8; 65] = {
    let mut nibbles = [7; 65];
    let mut bits = 0;
    while bits <= 48 {
        nibbles[bits] = bits.div_ceil(8) as u8;
        bits += 1;
    }
    nibbles
};
/// The most bytes that an access takes, and that are written at a time behind what counts.
const MOST: usize = 12;
const BEYOND: usize = 16;

#[derive(Clone, Copy, Default)]
struct Guess {
    address: u64,
    stride: u64,
    /// The site that came next.
    next: u32,
}

/// What packer and unpacker know alike.
struct Guesses {
    slots: Box<[Guess]>,
    site: u32,
    /// The last record of each tag, by the low bits of tag and length.
    records: Vec<Vec<u64>>,
}

impl Guesses {
    fn new() -> Guesses {
        Guesses { slots: vec![Guess::default(); SLOTS].into(), site: 0, records: vec![Vec::new(); 256] }
    }

    fn clear(&mut self) {
        self.slots.fill(Guess::default());
        self.site = 0;
        self.records.iter_mut().for_each(Vec::clear);
    }

    /// The site that is guessed to come next.
    #[inline(always)]
    fn site(&self) -> u32 {
        self.slots[self.site as usize % SLOTS].next
    }

    /// The address that is guessed for a site.
    #[inline(always)]
    fn address(&self, site: u32) -> u64 {
        let guess = &self.slots[site as usize % SLOTS];
        guess.address.wrapping_add(guess.stride) & MASK
    }

    /// What was guessed came.
    #[inline(always)]
    fn come_true(&mut self, site: u32, address: u64) {
        self.slots[site as usize % SLOTS].address = address;
        self.site = site;
    }

    /// What really came.
    #[inline(always)]
    fn learn(&mut self, site: u32, address: u64) {
        self.slots[self.site as usize % SLOTS].next = site;
        let guess = &mut self.slots[site as usize % SLOTS];
        guess.stride = address.wrapping_sub(guess.address);
        guess.address = address;
        self.site = site;
    }

    /// The words that a record with this first byte and length is guessed to have, as many.
    fn record(&mut self, tag: u8, length: usize) -> &mut Vec<u64> {
        let last = &mut self.records[(usize::from(tag) ^ (length << 5)) % 256];
        last.resize(length, u64::from(tag));
        last
    }
}

/// The sign in the lowest bit, so that small steps either way are short.
#[inline(always)]
fn fold(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

#[inline(always)]
fn unfold(folded: u64) -> u64 {
    folded >> 1 ^ (folded & 1).wrapping_neg()
}

/// Packs pieces.
pub(crate) struct Packer {
    guesses: Guesses,
    out: Vec<u8>,
    at: usize,
}

impl Packer {
    pub(crate) fn new() -> Packer {
        Packer { guesses: Guesses::new(), ..Packer::idle() }
    }

    /// One that takes no memory and packs nothing.
    pub(crate) fn idle() -> Packer {
        let guesses = Guesses { slots: Box::default(), site: 0, records: Vec::new() };
        Packer { guesses, out: Vec::new(), at: 0 }
    }

    /// Packs a piece of accesses and records, up to one that is not all there; how many words were packed.
    pub(crate) fn pack(&mut self, words: &[u64]) -> (&[u8], usize) {
        self.guesses.clear();
        self.at = 0;
        // A group takes no more than its tag, its nibbles and its accesses; a record less than two bytes more than its words.
        let most = words.len() * (MOST + 2) + 2 * BEYOND;
        if self.out.len() < most {
            self.out.resize(most, 0);
        }
        let mut i = 0;
        loop {
            i += self.put_guessed(&words[i..]);
            let run = words[i..].iter().take(GROUP).take_while(|&&word| split_access(word).is_some()).count();
            if run > 0 {
                self.put_group(&words[i..i + run]);
                i += run;
                continue;
            }
            let Some(&word) = words.get(i) else { break };
            let record = split_record(word);
            let end = i + 1 + record.map_or(0, |(_, following, _)| following);
            let Some(whole) = words.get(i..end) else { break };
            self.put_record(whole);
            i = end;
        }
        (&self.out[..self.at], i)
    }

    #[inline]
    fn put_group(&mut self, words: &[u64]) {
        let Packer { guesses, out, .. } = self;
        // The tag and the nibbles come first.
        let mut at = self.at + 1 + words.len().div_ceil(2);
        let mut nibbles = 0u32;
        for (nth, &word) in words.iter().enumerate() {
            let (site, address) = ((word >> ADDRESS_BITS) as u32, word & MASK);
            let difference = fold(address.wrapping_sub(guesses.address(site)));
            let unknown = u32::from(guesses.site() != site);
            guesses.learn(site, address);
            let bytes = NIBBLES[64 - difference.leading_zeros() as usize];
            nibbles |= (u32::from(bytes) | (unknown * WITH_SITE)) << (4 * nth);
            // The site is written behind the difference, and written over where it does not count.
            let length = BYTES[usize::from(bytes) % 8];
            let Some(place) = out.get_mut(at..at + BEYOND).and_then(|out| out.first_chunk_mut::<BEYOND>()) else {
                return;
            };
            let both = u128::from(difference) | u128::from(site) << (8 * length);
            *place = both.to_le_bytes();
            at += length + 3 * unknown as usize;
        }
        self.out[self.at] = words.len() as u8;
        let length = words.len().div_ceil(2);
        self.out[self.at + 1..self.at + 1 + length].copy_from_slice(&nibbles.to_le_bytes()[..length]);
        self.at = at;
    }

    /// Packs the accesses at the beginning that are as guessed; how many they are.
    #[inline]
    fn put_guessed(&mut self, words: &[u64]) -> usize {
        let mut guessed = 0;
        for &word in words {
            let site = self.guesses.site();
            let address = self.guesses.address(site);
            if site == 0 || access_word(site, address) != word {
                break;
            }
            self.guesses.come_true(site, address);
            guessed += 1;
        }
        let mut left = guessed;
        while left > 0 {
            let n = left.min(128);
            self.out[self.at] = GUESSED | (n - 1) as u8;
            self.at += 1;
            left -= n;
        }
        guessed
    }

    fn put_record(&mut self, words: &[u64]) {
        let tag = words[0] as u8;
        self.out[self.at] = RECORD | words.len().min(LONG) as u8;
        self.at += 1;
        if words.len() >= LONG {
            self.out[self.at..self.at + 2].copy_from_slice(&(words.len() as u16).to_le_bytes());
            self.at += 2;
        }
        self.out[self.at] = tag;
        let mut nibbles_at = self.at + 1;
        let mut at = nibbles_at + words.len().div_ceil(2);
        let guessed = self.guesses.record(tag, words.len());
        for (nth, (&word, guess)) in words.iter().zip(guessed).enumerate() {
            let difference = fold(word.wrapping_sub(*guess));
            *guess = word;
            let bytes = NIBBLES[64 - difference.leading_zeros() as usize];
            self.out[at..at + 8].copy_from_slice(&difference.to_le_bytes());
            at += BYTES[usize::from(bytes)];
            if nth % 2 == 0 {
                self.out[nibbles_at] = bytes;
            } else {
                self.out[nibbles_at] |= bytes << 4;
                nibbles_at += 1;
            }
        }
        self.at = at;
    }
}

/// Unpacks pieces.
pub(crate) struct Unpacker {
    guesses: Guesses,
}

impl Unpacker {
    pub(crate) fn new() -> Unpacker {
        Unpacker { guesses: Guesses::new() }
    }

    /// Calls `access` with site and address of each access of a piece, `record` with the words of each record.
    /// `false` where the bytes were not packed by [`Packer`].
    #[inline]
    pub(crate) fn unpack<T>(
        &mut self,
        bytes: &[u8],
        to: &mut T,
        mut access: impl FnMut(&mut T, u32, u64),
        mut record: impl FnMut(&mut T, &[u64]),
    ) -> bool {
        self.guesses.clear();
        let mut at = 0;
        let mut words = Vec::new();
        while let Some(&tag) = bytes.get(at) {
            at += 1;
            if tag & GUESSED != 0 {
                for _ in 0..=tag & !GUESSED {
                    let site = self.guesses.site();
                    let address = self.guesses.address(site);
                    self.guesses.come_true(site, address);
                    access(to, site, address);
                }
            } else if (1..=GROUP as u8).contains(&tag) {
                let count = usize::from(tag);
                let mut nibbles = number(bytes, at, count.div_ceil(2)) as u32;
                at += count.div_ceil(2);
                for _ in 0..count {
                    let length = BYTES[nibbles as usize % 8];
                    let difference = unfold(number(bytes, at, length));
                    at += length;
                    let mut site = self.guesses.site();
                    if nibbles & WITH_SITE != 0 {
                        site = number(bytes, at, 3) as u32;
                        at += 3;
                    }
                    nibbles >>= 4;
                    let address = self.guesses.address(site).wrapping_add(difference) & MASK;
                    self.guesses.learn(site, address);
                    access(to, site, address);
                }
            } else if tag & RECORD != 0 {
                let mut length = usize::from(tag) & LONG;
                if length == LONG {
                    length = number(bytes, at, 2) as usize;
                    at += 2;
                }
                let kind = number(bytes, at, 1) as u8;
                let nibbles_at = at + 1;
                at = nibbles_at + length.div_ceil(2);
                if at > bytes.len() {
                    return false;
                }
                words.clear();
                for (nth, guess) in self.guesses.record(kind, length).iter_mut().enumerate() {
                    let nibble = bytes[nibbles_at + nth / 2] >> (4 * (nth % 2));
                    let length = BYTES[usize::from(nibble) % 8];
                    *guess = guess.wrapping_add(unfold(number(bytes, at, length)));
                    at += length;
                    words.push(*guess);
                }
                record(to, &words);
            } else {
                return false;
            }
        }
        at == bytes.len()
    }
}

/// The little-endian number in `length` bytes; bytes beyond the end count as zeros.
#[inline(always)]
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    if length == 0 {
        return 0;
    }
    let value = match bytes.get(at..at + 8) {
        Some(eight) => {
            u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]])
        }
        None => bytes.iter().skip(at).take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    };
    value & u64::MAX >> (64 - 8 * length)
}

/// The word of an access.
#[inline]
pub(crate) fn word(site: u32, address: u64) -> u64 {
    access_word(site, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_wire::ring::{BRANCHED, MAX_SITE, Tag, record_word};

    fn round_trip(packer: &mut Packer, words: &[u64]) -> usize {
        let (packed, whole) = packer.pack(words);
        assert_eq!(whole, words.len());
        let mut unpacked = Vec::new();
        let access = |unpacked: &mut Vec<u64>, site, address| unpacked.push(word(site, address));
        let record = |unpacked: &mut Vec<u64>, record: &[u64]| unpacked.extend_from_slice(record);
        assert!(Unpacker::new().unpack(packed, &mut unpacked, access, record));
        assert_eq!(unpacked, words);
        packed.len()
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let mut packer = Packer::new();
        let mut words = Vec::new();
        let mut seed = 1u64;
        for i in 0..5000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match seed >> 60 {
                0 => {
                    let following = if i % 7 == 0 { 200 } else { (seed >> 40) % 4 };
                    words.push(record_word(Tag::Alloc, following as usize, i as u32));
                    words.extend((0..following).map(|n| seed.wrapping_mul(n)));
                }
                1..8 => words.push(access_word(
                    ((seed >> 20) as u32 % MAX_SITE + 1) | (seed >> 7) as u32 & BRANCHED,
                    seed >> 17,
                )),
                _ => words.push(access_word(7 + (i % 3) as u32, 0x7fff_0000_0000 + i * 8)),
            }
            if i % 500 == 0 {
                round_trip(&mut packer, &words);
            }
        }
        round_trip(&mut packer, &words);
        round_trip(&mut packer, &[]);
    }

    #[test]
    fn a_loop_over_arrays_takes_next_to_nothing() {
        let words: Vec<u64> =
            (0..10_000u64).flat_map(|i| [access_word(1, 0x1000 + 4 * i), access_word(2, 0x90000 + 8 * i)]).collect();
        assert!(round_trip(&mut Packer::new(), &words) < 250);
    }

    #[test]
    fn bytes_that_nobody_packed_are_refused_or_end() {
        let mut seed = 1u64;
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..seed >> 58)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) as u8
                })
                .collect();
            Unpacker::new().unpack(&bytes, &mut (), |_, _, _| {}, |_, _| {});
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        }
    }
}
