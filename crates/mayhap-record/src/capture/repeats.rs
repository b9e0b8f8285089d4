//! Stretches of units that repeat the units before them, as loops over arrays make them. Since a unit tells how far an access is from the
//! last one of its site, each access of such a stretch moves on by the same step from one repetition to the next. What holds for all of
//! them can be said of a repetition without looking at its accesses one by one.

use mayhap_wire::ring::{ADDRESS_BITS, MAX_SITE, unit};

/// A stretch that the packer found to repeat the units before it. Places do not count the low halves of far accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    /// How many units before it is the same.
    pub(crate) distance: u32,
    pub(crate) length: u32,
}

/// The longest period that is looked at as one.
const LONGEST: usize = 1 << 12;
/// Repetitions before a stretch is taken as one: what they change changes no more afterwards.
const BEFORE: usize = 2;
/// The fewest repetitions that are worth being taken as one.
const LEAST: usize = 4;

impl Run {
    /// A run of a piece, which is shorter than 32 bits count.
    pub(crate) fn of(start: usize, distance: usize, length: usize) -> Run {
        Run { start: start as u32, distance: distance as u32, length: length as u32 }
    }

    /// It has enough repetitions to be taken as one.
    pub(crate) fn is_long(&self) -> bool {
        let (distance, length) = (self.distance as usize, self.length as usize);
        distance <= LONGEST && length / distance >= BEFORE + LEAST
    }
}

/// An access of a period: where it is in the first repetition, and how far from one to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated {
    /// The site, with [`mayhap_wire::ring::BRANCHED`] where it begins a basic block.
    pub(crate) site: u32,
    pub(crate) address: u64,
    pub(crate) step: i64,
}

impl Repeated {
    /// Where it is in this repetition, from 0.
    #[inline]
    pub(crate) fn at(&self, repetition: u64) -> u64 {
        self.address.wrapping_add_signed(self.step.wrapping_mul(repetition as i64))
    }

    /// The lowest and the highest address at which an access of so many bytes begins and ends in the first repetitions.
    pub(crate) fn span(&self, repetitions: u64, bytes: u64) -> (u64, u64) {
        let last = self.at(repetitions.saturating_sub(1));
        (self.address.min(last), self.address.max(last) + bytes.saturating_sub(1))
    }
}

/// The runs of a stretch of units that is read from its beginning.
pub(crate) struct Runs<'r> {
    rest: std::slice::Iter<'r, Run>,
    now: Option<Run>,
    /// Far accesses so far.
    far: usize,
    /// The first repetitions of the present run are read one by one up to here.
    ready: Option<usize>,
    /// The unit from which on there is something to do.
    pub(crate) next: usize,
}

impl<'r> Runs<'r> {
    pub(crate) fn new(runs: &'r [Run]) -> Runs<'r> {
        let mut all = Runs { rest: runs.iter(), now: None, far: 0, ready: None, next: 0 };
        all.leave();
        all
    }

    /// An access with the low half of its address was read.
    #[inline]
    pub(crate) fn is_far(&mut self) {
        self.far += 1;
        self.next = self.next.saturating_add(1);
    }

    /// The present run is done with.
    pub(crate) fn leave(&mut self) {
        self.now = self.rest.next().copied();
        self.ready = None;
        self.next = self.now.map_or(usize::MAX, |run| run.start as usize + self.far);
    }

    /// The period at the unit `at`, where an access or a record begins, and how many repetitions there are from there on; `None` if it is to be
    /// read one by one.
    pub(crate) fn period<'u>(&mut self, units: &'u [u32], at: usize) -> Option<(&'u [u32], usize)> {
        while let Some(run) = self.now.filter(|_| at >= self.next) {
            let distance = run.distance as usize;
            let left = (run.start as usize + self.far + run.length as usize).min(units.len()).saturating_sub(at);
            let period = units.get(at..at + distance);
            match (self.ready, period) {
                (Some(ready), Some(period)) if ready == at && left / distance >= LEAST => {
                    return Some((period, left / distance));
                }
                // Units that repeat accesses are accesses.
                (None, Some(period))
                    if left / distance >= BEFORE + LEAST && period.iter().all(|&unit| unit::split(unit).is_some()) =>
                {
                    (self.ready, self.next) = (Some(at + BEFORE * distance), at + BEFORE * distance);
                }
                _ => self.leave(),
            }
        }
        None
    }
}

/// What a site accessed last.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    pub(crate) address: u64,
    /// The last stretch that it occurred in.
    pub(crate) stretch: u64,
}

/// Reads a period of a run.
#[derive(Default)]
pub(crate) struct Period {
    /// Its accesses.
    pub(crate) accesses: Vec<Repeated>,
    /// Each of its sites once, and what that accessed last before it.
    sites: Vec<(usize, u64)>,
    /// By site: the period that it was last met in, counted from 1.
    met: Vec<u64>,
    number: u64,
}

impl Period {
    /// Reads the units of a period, by what each site accessed last, and goes on to the last of so many repetitions. `false`, and nothing
    /// has changed, where addresses come to an end before.
    pub(crate) fn read(&mut self, units: &[u32], repetitions: usize, lasts: &mut [Last]) -> bool {
        self.number += 1;
        self.met.resize(lasts.len(), 0);
        self.accesses.clear();
        self.sites.clear();
        for (site, difference) in units.iter().filter_map(|&unit| unit::split(unit)) {
            let number = (site & MAX_SITE) as usize;
            let address = &mut lasts[number].address;
            if std::mem::replace(&mut self.met[number], self.number) != self.number {
                self.sites.push((number, *address));
            }
            *address = unit::moved(*address, difference);
            self.accesses.push(Repeated { site, address: *address, step: 0 });
        }
        // From here on: how far each site goes in a period.
        for (number, before) in &mut self.sites {
            let address = lasts[*number].address;
            (*before, lasts[*number].address) = (address.wrapping_sub(*before), *before);
        }
        let Period { accesses, sites, met, .. } = self;
        sites.iter().for_each(|&(number, step)| met[number] = step);
        let mut is_whole = true;
        for access in accesses.iter_mut() {
            access.step = met[(access.site & MAX_SITE) as usize] as i64;
            let end = i128::from(access.address) + i128::from(access.step) * repetitions as i128;
            is_whole &= (0..1 << ADDRESS_BITS).contains(&end);
        }
        for &(number, step) in sites.iter() {
            met[number] = 0;
            if is_whole {
                let address = &mut lasts[number].address;
                *address = address.wrapping_add_signed((step as i64).wrapping_mul(repetitions as i64));
            }
        }
        is_whole
    }

    /// The period was not read after all.
    pub(crate) fn take_back(&self, repetitions: usize, lasts: &mut [Last]) {
        for &(number, step) in &self.sites {
            let address = &mut lasts[number].address;
            *address = address.wrapping_add_signed((step as i64).wrapping_mul(-(repetitions as i64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_moves_each_site_on_by_its_step() {
        let mut lasts = vec![Last::default(); unit::MAX_SITE as usize + 1];
        (lasts[3].address, lasts[5].address) = (0x1000, 0x9000);
        let units = [(3, 8), (5, 0u64.wrapping_sub(16)), (3, 8)].map(|(site, by)| unit::access(site, by).unwrap());
        let mut period = Period::default();
        assert!(period.read(&units, 10, &mut lasts));
        let found: Vec<_> = period.accesses.iter().map(|one| (one.site, one.address, one.step)).collect();
        assert_eq!(found, [(3, 0x1008, 16), (5, 0x8ff0, -16), (3, 0x1010, 16)]);
        assert_eq!((lasts[3].address, lasts[5].address), (0x1000 + 160, 0x9000 - 160));
        assert_eq!(period.accesses[0].at(9), 0x1008 + 9 * 16);
        assert_eq!(period.accesses[1].span(10, 8), (0x8ff0 - 9 * 16, 0x8ff7));
        period.take_back(10, &mut lasts);
        assert_eq!((lasts[3].address, lasts[5].address), (0x1000, 0x9000));
        assert!(!period.read(&units, 0x1000, &mut lasts), "addresses end at 0");
        assert_eq!((lasts[3].address, lasts[5].address), (0x1000, 0x9000));
    }

    #[test]
    fn a_run_is_taken_as_one_after_two_repetitions_of_accesses() {
        let period = [unit::access(3, 8).unwrap(), unit::access(4, 8).unwrap()];
        let units = [&[unit::RECORD, 9, 0][..], &period.repeat(12)].concat();
        let run = Run { start: 5, distance: 2, length: 22 };
        let mut runs = Runs::new(std::slice::from_ref(&run));
        assert!(run.is_long() && runs.next == 5);
        assert_eq!(runs.period(&units, 5), None);
        assert_eq!((runs.next, runs.period(&units, 9)), (9, Some((&period[..], 9))));
        // What begins within a record is none.
        let run = Run { start: 1, distance: 2, length: 26 };
        let mut runs = Runs::new(std::slice::from_ref(&run));
        assert_eq!((runs.period(&units[..2], 1), runs.next), (None, usize::MAX));
    }
}
