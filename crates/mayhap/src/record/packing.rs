//! Packs the words of a run for keeping between the two passes: one to three bytes for most accesses, none for those that
//! go on as before.
//!
//! Each piece of words is packed by itself. The packer guesses the next access from what came before in the piece: the site
//! that followed the last site the last time, at the address that its stride leads to. A run of right guesses is
//! one count. Otherwise a tag tells how many bytes of difference to the guessed address follow, and whether a site does.
//!
//! | tag | what follows |
//! |---|---|
//! | `0x00` + class | the guessed site; as many bytes of difference as the class has |
//! | `0x08` + class | the difference, then the site in 3 bytes |
//! | `0x40` + n | a record of n words, as they are; n = 63: the number of words in 2 bytes first |
//! | `0x80` + n | n + 1 right guesses |

use std::io;

use mayhap_wire::ring::{ADDRESS_BITS, Tag, access_word, split_access, split_record};

use super::modules::Module;

/// Sites that the guesses are kept for at a time: different sites may share one.
const SLOTS: usize = 1 << 10;
const WITH_SITE: u8 = 0x08;
const RECORD: u8 = 0x40;
const LONG: u8 = 63;
const GUESSED: u8 = 0x80;
/// Bytes of difference by class.
const BYTES: [usize; 5] = [0, 1, 2, 4, 8];

#[derive(Clone, Copy, Default)]
struct Guess {
    address: u64,
    stride: u64,
    /// The site that came next.
    next: u32,
}

/// An access that is guessed to come; without a site there is no guess.
#[derive(Clone, Copy)]
struct Expected {
    site: u32,
    address: u64,
}

/// What packer and unpacker know alike.
struct Guesses {
    slots: Vec<Guess>,
    site: u32,
}

impl Guesses {
    fn new() -> Guesses {
        Guesses { slots: vec![Guess::default(); SLOTS], site: 0 }
    }

    fn clear(&mut self) {
        self.slots.fill(Guess::default());
        self.site = 0;
    }

    /// The site that is guessed to come next.
    #[inline]
    fn site(&self) -> u32 {
        self.slots[self.site as usize % SLOTS].next
    }

    /// The address that is guessed for a site.
    #[inline]
    fn address(&self, site: u32) -> u64 {
        let guess = &self.slots[site as usize % SLOTS];
        guess.address.wrapping_add(guess.stride) & ((1 << ADDRESS_BITS) - 1)
    }

    /// What is guessed to come next.
    #[inline]
    fn expected(&self) -> Expected {
        let site = self.site();
        Expected { site, address: self.address(site) }
    }

    /// It came.
    #[inline]
    fn come_true(&mut self, expected: Expected) {
        self.slots[expected.site as usize % SLOTS].address = expected.address;
        self.site = expected.site;
    }

    /// What really came.
    #[inline]
    fn learn(&mut self, site: u32, address: u64) {
        self.slots[self.site as usize % SLOTS].next = site;
        let guess = &mut self.slots[site as usize % SLOTS];
        guess.stride = address.wrapping_sub(guess.address);
        guess.address = address;
        self.site = site;
    }
}

/// Packs pieces.
pub(super) struct Packer {
    guesses: Guesses,
    out: Vec<u8>,
    at: usize,
    /// The files that were loaded so far.
    modules: Vec<Module>,
}

impl Packer {
    pub(super) fn new() -> Packer {
        Packer { guesses: Guesses::new(), ..Packer::idle() }
    }

    /// One that takes no memory and packs nothing.
    pub(super) fn idle() -> Packer {
        Packer { guesses: Guesses { slots: Vec::new(), site: 0 }, out: Vec::new(), at: 0, modules: Vec::new() }
    }

    /// The files that were loaded in what was packed so far.
    pub(super) fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Packs a piece of accesses and records, up to one that is not all there; how many words were packed.
    pub(super) fn pack(&mut self, words: &[u64]) -> (&[u8], usize) {
        self.guesses.clear();
        self.at = 0;
        // An access takes at most 12 bytes and leaves room for the next one's 8; a run of guesses is shorter than its words.
        let most = words.len() * 12 + 32;
        if self.out.len() < most {
            self.out.resize(most, 0);
        }
        let mut guessed = 0u32;
        let mut i = 0;
        while let Some(&word) = words.get(i) {
            let expected = self.guesses.expected();
            if expected.site != 0 && access_word(expected.site, expected.address) == word {
                self.guesses.come_true(expected);
                guessed += 1;
                i += 1;
            } else if let Some((site, address)) = split_access(word) {
                let difference = address.wrapping_sub(self.guesses.address(site));
                let known = self.guesses.site() == site;
                self.guesses.learn(site, address);
                i += 1;
                self.put_guessed(&mut guessed);
                self.put_access(site, known, difference);
            } else {
                let record = split_record(word);
                let end = i + 1 + record.map_or(0, |(_, following, _)| following);
                let Some(whole) = words.get(i..end) else { break };
                if let Some((Tag::Module, _, argument)) = record {
                    self.modules.push(Module::decode(argument, &whole[1..]));
                }
                self.put_guessed(&mut guessed);
                self.put_record(whole);
                i = end;
            }
        }
        self.put_guessed(&mut guessed);
        (&self.out[..self.at], i)
    }

    #[inline]
    fn put_access(&mut self, site: u32, known: bool, difference: u64) {
        // The sign in the lowest bit, so that small steps either way are short.
        let difference = difference << 1 ^ ((difference as i64) >> 63) as u64;
        let class = match difference {
            0 => 0,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 3,
            _ => 4,
        };
        self.out[self.at] = class as u8 | if known { 0 } else { WITH_SITE };
        self.out[self.at + 1..self.at + 9].copy_from_slice(&difference.to_le_bytes());
        self.at += 1 + BYTES[class];
        if !known {
            self.out[self.at..self.at + 4].copy_from_slice(&site.to_le_bytes());
            self.at += 3;
        }
    }

    fn put_guessed(&mut self, guessed: &mut u32) {
        while *guessed > 0 {
            let n = (*guessed).min(128);
            self.out[self.at] = GUESSED | (n - 1) as u8;
            self.at += 1;
            *guessed -= n;
        }
    }

    fn put_record(&mut self, words: &[u64]) {
        self.out[self.at] = RECORD | words.len().min(LONG.into()) as u8;
        self.at += 1;
        if words.len() >= usize::from(LONG) {
            self.out[self.at..self.at + 2].copy_from_slice(&(words.len() as u16).to_le_bytes());
            self.at += 2;
        }
        for word in words {
            self.out[self.at..self.at + 8].copy_from_slice(&word.to_le_bytes());
            self.at += 8;
        }
    }
}

/// Unpacks pieces.
pub(super) struct Unpacker {
    guesses: Guesses,
}

impl Unpacker {
    pub(super) fn new() -> Unpacker {
        Unpacker { guesses: Guesses::new() }
    }

    /// The words of a piece.
    pub(super) fn words(&mut self, bytes: &[u8]) -> io::Result<Vec<u64>> {
        let mut words = Vec::new();
        let access = |words: &mut Vec<u64>, site, address| words.push(word(site, address));
        match self.unpack(bytes, &mut words, access, |words, record| words.extend_from_slice(record)) {
            true => Ok(words),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Calls `access` with site, address and word of each access of a piece, `record` with the words of each record.
    /// `false` where the bytes were not packed by [`Packer`].
    #[inline]
    pub(super) fn unpack<T>(
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
                    let expected = self.guesses.expected();
                    self.guesses.come_true(expected);
                    access(to, expected.site, expected.address);
                }
                continue;
            }
            if tag & RECORD != 0 {
                let mut length = usize::from(tag & !RECORD);
                if length == usize::from(LONG) {
                    length = number(bytes, at, 2) as usize;
                    at += 2;
                }
                let Some(body) = bytes.get(at..at + length * 8) else { return false };
                words.clear();
                words.extend(body.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)));
                at += length * 8;
                record(to, &words);
                continue;
            }
            let Some(&length) = BYTES.get(usize::from(tag & 7)) else { return false };
            let difference = number(bytes, at, length);
            at += length;
            let mut site = self.guesses.site();
            if tag & WITH_SITE != 0 {
                site = number(bytes, at, 3) as u32;
                at += 3;
            }
            let difference = difference >> 1 ^ (difference & 1).wrapping_neg();
            let address = self.guesses.address(site).wrapping_add(difference) & ((1 << ADDRESS_BITS) - 1);
            self.guesses.learn(site, address);
            access(to, site, address);
        }
        at == bytes.len()
    }
}

/// The little-endian number in `length` bytes; bytes beyond the end count as zeros.
#[inline]
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    if length == 0 {
        return 0;
    }
    let value = match bytes.get(at..at + 8) {
        Some(eight) => {
            u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]])
        }
        None => bytes.iter().skip(at).rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    };
    value & u64::MAX >> (64 - 8 * length)
}

/// The word of an access.
#[inline]
pub(super) fn word(site: u32, address: u64) -> u64 {
    access_word(site, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_wire::ring::{BRANCHED, MAX_SITE, record_word};

    fn round_trip(packer: &mut Packer, words: &[u64]) -> usize {
        let (packed, whole) = packer.pack(words);
        assert_eq!(whole, words.len());
        assert_eq!(Unpacker::new().words(packed).unwrap(), words);
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
