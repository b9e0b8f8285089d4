//! Units of the ring, made the words that everything after the ring knows.
//!
//! A unit holds how far an access is from the last one of its site, so a stretch of units means something only together with
//! what its sites accessed last before it: [`Lasts`] keeps that.

use mayhap_wire::ring::{MAX_SITE, access_word, split_access, unit};

use crate::capture::repeats::{Last, Period, Repeated, Run, Runs};

/// The words that units are the halves of; half a word at the end is none.
pub(crate) fn words_of(units: &[u32]) -> impl Iterator<Item = u64> {
    units.as_chunks().0.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32)
}

/// What each site accessed last.
pub(crate) struct Lasts {
    sites: Box<[Last; SITES]>,
    /// How many stretches of units were looked at.
    stretch: u64,
    /// What sites accessed last before the stretch, as the words of those accesses, of those that units of the stretch refer to.
    before: Vec<u64>,
    /// Units made no sense: nothing after that is read.
    broken: bool,
    period: Period,
}

/// Sites whose accesses can be one unit.
const SITES: usize = unit::MAX_SITE as usize + 1;

impl Lasts {
    pub(crate) fn new() -> Lasts {
        let sites = vec![Last::default(); SITES].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!());
        Lasts { sites, stretch: 0, before: Vec::new(), broken: false, period: Period::default() }
    }

    /// Goes on from what sites accessed last before a stretch, as [`Self::before`] returned it.
    pub(crate) fn begin(&mut self, before: &[u64]) {
        self.broken = false;
        for (site, address) in before.iter().filter_map(|&word| split_access(word)) {
            self.sites[site as usize % SITES].address = address;
        }
    }

    /// What the last stretch needs to know of what was before it.
    pub(crate) fn before(&self) -> &[u64] {
        &self.before
    }

    /// Calls `access` with site and address of each access of a stretch, `record` with the words of each record; how many units that
    /// were. Stops before an access or a record that is not all there. Where units make no sense it ends with a record of the word 0,
    /// which is none, and takes no more.
    ///
    /// Of the `runs` that the packer found, `repeat` sees the accesses of a period and how often they come; where it returns `false` they
    /// are read one by one.
    #[inline]
    pub(crate) fn split<T>(
        &mut self,
        (units, runs): (&[u32], &[Run]),
        to: &mut T,
        mut access: impl FnMut(&mut T, u32, u64),
        mut record: impl FnMut(&mut T, &[u64]),
        mut repeat: impl FnMut(&mut T, &[Repeated], u64) -> bool,
    ) -> usize {
        self.stretch += 1;
        self.before.clear();
        if self.broken {
            return units.len();
        }
        let (mut words, mut runs) = (Vec::new(), Runs::new(runs));
        let mut at = 0;
        while let Some(&first) = units.get(at) {
            if at >= runs.next
                && let Some(taken) = self.take_run(units, at, &mut runs, &mut |period, times| repeat(to, period, times))
            {
                at += taken;
                continue;
            }
            if let Some((site, difference)) = unit::split(first) {
                let number = site & MAX_SITE;
                let last = &mut self.sites[number as usize % SITES];
                if last.stretch != self.stretch {
                    last.stretch = self.stretch;
                    self.before.push(access_word(number, last.address));
                }
                last.address = unit::moved(last.address, difference);
                access(to, site, last.address);
                at += 1;
                continue;
            }
            let rest = &units[at..];
            let Some(length) = unit::length(rest) else {
                self.broken = first != unit::RECORD || rest.len() >= 3;
                break;
            };
            let Some(whole) = rest.get(1..length) else { break };
            words.clear();
            words.extend(words_of(whole));
            match split_access(words[0]) {
                Some((site, address)) if first == unit::ACCESS => {
                    runs.is_far();
                    let number = (site & MAX_SITE) as usize;
                    if let Some(last) = self.sites.get_mut(number) {
                        *last = Last { address, stretch: self.stretch };
                    }
                    access(to, site, address);
                }
                None if first == unit::RECORD => record(to, &words),
                _ => {
                    self.broken = true;
                    break;
                }
            }
            at += length;
        }
        if self.broken {
            record(to, &[0]);
            return units.len();
        }
        at
    }

    /// Takes the repetitions of a run as one, if there is one at the unit `at`; how many units these are.
    fn take_run(
        &mut self,
        units: &[u32],
        at: usize,
        runs: &mut Runs<'_>,
        repeat: &mut dyn FnMut(&[Repeated], u64) -> bool,
    ) -> Option<usize> {
        let (period, times) = runs.period(units, at)?;
        runs.leave();
        if !self.period.read(period, times, &mut self.sites[..]) {
            return None;
        }
        if !repeat(&self.period.accesses, times as u64) {
            self.period.take_back(times, &mut self.sites[..]);
            return None;
        }
        Some(period.len() * times)
    }
}

/// Runs of units as tests need them.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use mayhap_wire::ring::{BRANCHED, Tag, record_word};

    /// Numbers that only look random.
    pub(crate) struct Dice(pub(crate) u64);

    impl Dice {
        pub(crate) fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % sides
        }
    }

    /// The units that tell the words, as the runtime makes them.
    pub(crate) fn units_of(words: &[u64]) -> Vec<u32> {
        let mut last = vec![0u64; SITES];
        let mut units = Vec::new();
        let mut rest = words;
        while let Some(&word) = rest.first() {
            let mut length = 1;
            if let Some((site, address)) = split_access(word) {
                let last = last.get_mut((site & MAX_SITE) as usize);
                let difference = last.as_ref().map_or(u64::MAX / 2, |last| address.wrapping_sub(**last));
                match unit::access(site, difference) {
                    Some(unit) => units.push(unit),
                    None => units.extend([unit::ACCESS, word as u32, (word >> 32) as u32]),
                }
                last.into_iter().for_each(|last| *last = address);
            } else {
                length += mayhap_wire::ring::split_record(word).expect("a record").1;
                units.push(unit::RECORD);
                units.extend(rest[..length].iter().flat_map(|&word| [word as u32, (word >> 32) as u32]));
            }
            rest = &rest[length..];
        }
        units
    }

    /// Words of a run with loops, leaps, records short and long, and sites of all numbers.
    pub(crate) fn run(dice: &mut Dice, steps: usize) -> Vec<u64> {
        let mut words = Vec::new();
        for step in 0..steps {
            match dice.roll(40) {
                0 => {
                    let following = [0, 1, 3, 200, 255][dice.roll(5) as usize];
                    words.push(record_word(Tag::Alloc, following, step as u32));
                    words.extend((0..following).map(|n| dice.roll(1 << 31) << (n % 33)));
                }
                1..5 => {
                    let site = (dice.roll(MAX_SITE.into()) as u32 + 1) | (dice.roll(2) as u32 * BRANCHED);
                    words.push(access_word(site, dice.roll(1 << 31) << 16));
                }
                5 => {
                    let (sites, count) = (dice.roll(9) + 1, dice.roll(200));
                    let start = dice.roll(1 << 30) << 10;
                    words.extend((0..count).map(|n| {
                        let site = (n % sites) as u32 + 5;
                        access_word(site | (BRANCHED * (site & 1)), start + n / sites * 8 + n % sites * 0x10_0000)
                    }));
                }
                // As in a loop that decides by what it reads.
                _ => words.push(access_word(1 + dice.roll(4) as u32, 0x7fff_0000_0000 + 8 * step as u64)),
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{Dice, run, units_of};
    use super::*;
    use mayhap_wire::ring::{Tag, record_word};

    fn put_access(words: &mut Vec<u64>, site: u32, address: u64) {
        words.push(access_word(site, address));
    }

    fn put_record(words: &mut Vec<u64>, record: &[u64]) {
        words.extend_from_slice(record);
    }

    /// Returns the words of units; those that are not whole are left out.
    fn expand(lasts: &mut Lasts, units: &[u32]) -> Vec<u64> {
        let mut words = Vec::new();
        lasts.split((units, &[]), &mut words, put_access, put_record, |_, _, _| false);
        words
    }

    #[test]
    fn units_become_the_words_that_they_tell() {
        let mut dice = Dice(1);
        for steps in [0, 1, 30, 3000] {
            let words = run(&mut dice, steps);
            assert!(expand(&mut Lasts::new(), &units_of(&words)) == words, "{steps} steps");
        }
    }

    #[test]
    fn an_access_told_as_a_word_counts_as_the_last_of_its_site() {
        let words = [access_word(3, 0x7000_0000_0000), access_word(3, 0x7000_0000_0010), access_word(3, 0x10)];
        let units = units_of(&words);
        assert_eq!(units.len(), 3 + 1 + 3);
        assert_eq!(expand(&mut Lasts::new(), &units), words);
    }

    #[test]
    fn what_sites_accessed_before_a_stretch_is_all_it_needs() {
        let mut dice = Dice(5);
        let words = run(&mut dice, 2000);
        let units = units_of(&words);
        let mut lasts = Lasts::new();
        let (mut at, mut rebuilt) = (0, Vec::new());
        while at < units.len() {
            let stretch = &units[at..units.len().min(at + 3000)];
            let (mut once, mut again) = (Vec::new(), Vec::new());
            let whole = lasts.split((stretch, &[]), &mut once, put_access, put_record, |_, _, _| false);
            let mut others = Lasts::new();
            others.begin(lasts.before());
            assert_eq!(others.split((stretch, &[]), &mut again, put_access, put_record, |_, _, _| false), whole);
            assert!(once == again, "from unit {at} on");
            rebuilt.extend(once);
            at += whole;
        }
        assert!(rebuilt == words);
    }

    #[test]
    fn units_that_nobody_wrote_end_the_run() {
        let good = unit::access(1, 8).unwrap();
        let record = record_word(Tag::End, 0, 0);
        for bad in
            [vec![0], vec![3], vec![unit::RECORD, 0xff, 0], vec![unit::ACCESS, 9, 0], vec![unit::RECORD, 1, 1 << 30]]
        {
            let units = [&[good, unit::RECORD, record as u32, 0], &bad[..], &[good, good]].concat();
            let mut lasts = Lasts::new();
            assert_eq!(expand(&mut lasts, &units), [access_word(1, 8), record, 0], "{bad:?}");
            assert!(expand(&mut lasts, &[good]).is_empty(), "{bad:?}");
        }
    }
}
