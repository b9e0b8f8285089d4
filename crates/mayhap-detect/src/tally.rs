//! Counts of racy events, their locations and variables.

use hashbrown::HashSet;
use mayhap_trace::NONE;

use crate::stream::Access;

/// A set of dense ids.
#[derive(Default)]
pub(crate) struct IdSet {
    words: Vec<u64>,
    len: u64,
}

impl IdSet {
    pub(crate) fn insert(&mut self, id: usize) {
        let (word, bit) = (id / 64, 1 << (id % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    #[inline]
    pub(crate) fn contains(&self, id: usize) -> bool {
        self.words.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(i, &word): (usize, &u64)| (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| i * 64 + b);
        self.words.iter().enumerate().flat_map(bits)
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    fn extend(&mut self, other: &IdSet) {
        other.iter().for_each(|id| self.insert(id));
    }
}

/// Where an access happened: its location, or its variable where the trace gives no location.
pub(crate) fn place(access: &Access) -> u64 {
    if access.location == NONE { 1 << 32 | access.variable as u64 } else { u64::from(access.location) }
}

/// What the first pass counts.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    /// The last racy event.
    pub(crate) last: u32,
    pub(crate) variables: IdSet,
    locations: IdSet,
    /// Variables of racy events without location.
    nowhere: HashSet<usize, foldhash::fast::RandomState>,
}

impl Tally {
    #[cold]
    pub(crate) fn add(&mut self, access: &Access) {
        self.events += 1;
        self.last = access.id;
        self.variables.insert(access.variable);
        if access.location == NONE {
            self.nowhere.insert(access.variable);
        } else {
            self.locations.insert(access.location as usize);
        }
    }

    /// Adds the counts of a later part of the trace.
    pub(crate) fn extend(&mut self, other: &Tally) {
        self.events += other.events;
        self.last = other.last;
        self.variables.extend(&other.variables);
        self.locations.extend(&other.locations);
        self.nowhere.extend(&other.nowhere);
    }

    pub(crate) fn racy_locations(&self) -> u64 {
        self.locations.len() + self.nowhere.len() as u64
    }
}
