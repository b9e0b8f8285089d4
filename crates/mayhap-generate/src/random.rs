//! A small random number generator whose numbers are the same on every machine and in every version.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014). The seed in a report must
/// give the same trace years later, so its numbers are fixed for all time.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator whose numbers follow from `seed` alone.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The choices of the trace generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `bound`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number below `bound`, small ones far more often: the square of a uniform one.
    #[inline]
    pub(crate) fn skewed(&mut self, bound: u32) -> u32 {
        let uniform = self.next() >> 32;
        let square = (uniform * uniform) >> 32;
        ((square * u64::from(bound)) >> 32) as u32
    }

    /// True with the given chance.
    #[inline]
    pub(crate) fn hits(&mut self, chance: Chance) -> bool {
        self.next() >> 32 < chance.0
    }
}

/// A probability as a 32-bit fraction, so that no floating-point rounding decides an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The chance nearest to `fraction`, which is clamped to 0..=1.
    pub(crate) fn of(fraction: f64) -> Self {
        Chance((fraction.clamp(0.0, 1.0) * 4_294_967_296.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = SplitMix64::new(1234567);
        assert_eq!(random.bits(), 6457827717110365317);
        assert_eq!(random.bits(), 3203168211198807973);
    }

    #[test]
    fn chances_are_kept() {
        let mut random = Random::new(1);
        let mut count = |f| (0..10_000).filter(|_| random.hits(Chance::of(f))).count();
        assert_eq!((count(0.0), count(1.0)), (0, 10_000));
        assert!((2_300..2_700).contains(&count(0.25)));
    }
}
