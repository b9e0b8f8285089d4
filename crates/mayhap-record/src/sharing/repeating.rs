//! The first pass over accesses that are repeated: what each does to the granules it touches is known after one repetition.
//!
//! An access that is where it was changes nothing but how often the granule was touched. The others touch other granules, in the order in
//! which the run touches them. That code of a library ran is known from the repetitions before. What came twice in a row in one repetition does so in each, since steps are whole granules.

use mayhap_wire::ring::{MAX_SITE, SiteKind};

use crate::capture::repeats::Repeated;
use crate::sharing::digest::is_call;
use crate::sharing::first_pass::{FirstPass, RECENT};
use crate::sharing::shadow_table::GRANULE;

impl FirstPass {
    /// Takes a period of accesses that is repeated so often, of which some repetitions came before; `false`, and nothing is taken, where
    /// that is more than touching memory.
    pub(crate) fn repeat(&mut self, period: &[Repeated], times: u64) -> bool {
        let is_simple = |access: &Repeated| {
            let (kind, _) = self.sites.kind(access.site & MAX_SITE);
            !is_call(kind) && access.step % GRANULE as i64 == 0
        };
        if times < 3 || !period.iter().all(is_simple) {
            return false;
        }
        let mut moving = std::mem::take(&mut self.repeats);
        moving.clear();
        for access in period {
            let (kind, size) = self.sites.kind(access.site & MAX_SITE);
            if !matches!(kind, SiteKind::Read | SiteKind::Write) || !self.is_new(access.site, access.address, size) {
                continue;
            }
            let (size, writes) = (u64::from(size), kind == SiteKind::Write);
            self.touch(access.address, size, writes);
            if access.step == 0 && access.address % GRANULE + size <= GRANULE {
                self.owners.touched_again(access.address, times - 2);
            } else {
                moving.push((*access, size, writes));
            }
        }
        for repetition in 1..times - 1 {
            for &(access, size, writes) in &moving {
                self.touch(access.at(repetition), size, writes);
            }
        }
        self.repeats = moving;
        self.move_recent(period, times - 2);
        for access in period {
            self.access(access.site, access.at(times - 1));
        }
        true
    }
    /// What its sites touched last is what they touch in this repetition of a period, not in the first one.
    fn move_recent(&mut self, period: &[Repeated], repetition: u64) {
        let mut moved = [false; RECENT];
        for access in period.iter().rev() {
            let (kind, _) = self.sites.kind(access.site & MAX_SITE);
            let slot = access.site as usize % RECENT;
            if matches!(kind, SiteKind::Read | SiteKind::Write) && !std::mem::replace(&mut moved[slot], true) {
                self.recent[slot].place.2 = access.at(repetition) / GRANULE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mayhap_wire::ring::{BRANCHED, Tag, access_word, record_word, site_word};

    use crate::capture::deltas::samples::{Dice, units_of};
    use crate::capture::packing::Packer;
    use crate::capture::repeats::Run;
    use crate::sharing::first_pass::Begun;

    use super::*;

    /// Loops of two threads, some of which meet at places of an array.
    fn loops(dice: &mut Dice) -> Vec<u64> {
        let mut words = Vec::new();
        for site in 1..=6 {
            let (kind, size) = if site % 2 == 0 { (SiteKind::Write, 4) } else { (SiteKind::Read, 8) };
            words.extend([record_word(Tag::Site, 1, site), site_word(0x40_0000 + u64::from(site), kind, size)]);
        }
        words.extend([record_word(Tag::Begin, 4, 0), 0, 0, 1, 0, record_word(Tag::Fork, 1, 1), 1]);
        for turn in 0..8u32 {
            words.push(record_word(Tag::Switch, 0, turn % 2));
            let sites: Vec<(u32, u64, u64)> = (0..1 + dice.roll(4))
                .map(|_| {
                    (1 + dice.roll(6) as u32, 0x60_0000 + 4 * dice.roll(600), [0, 4, 8, 16, 24][dice.roll(5) as usize])
                })
                .collect();
            for repetition in 0..dice.roll(600) {
                let each = sites
                    .iter()
                    .map(|&(site, start, step)| access_word(site | (BRANCHED * (turn % 2)), start + step * repetition));
                words.extend(each);
            }
        }
        words
    }

    #[test]
    fn what_is_repeated_is_learnt_as_if_it_came_one_by_one() {
        let (mut dice, mut packer, mut long) = (Dice(29), Packer::new(), 0);
        for _ in 0..60 {
            let units = units_of(&loops(&mut dice));
            assert_eq!(packer.pack(&units).1, units.len());
            let learnt = |runs: &[Run]| {
                let mut begun = Begun::new();
                begun.look((&units, runs), true);
                begun.facts()
            };
            long += packer.runs().len();
            assert_eq!(learnt(packer.runs()), learnt(&[]));
        }
        assert!(long > 100, "{long}");
    }
}
