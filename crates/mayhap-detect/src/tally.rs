//! Counts of racy events, their locations and variables.

use hashbrown::HashSet;
use mayhap_trace::{Bits, NONE};

use crate::stream::Access;

/// Returns where an access happened: its location, or its variable where the trace gives no location.
pub(crate) fn place(access: &Access) -> u64 {
    if access.location == NONE { 1 << 32 | access.variable as u64 } else { u64::from(access.location) }
}

/// What the first pass counts.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    /// The last racy event.
    pub(crate) last: u32,
    pub(crate) variables: Bits,
    locations: Bits,
    /// Variables of racy events without location.
    nowhere: HashSet<usize, foldhash::fast::FixedState>,
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
        (self.locations.count() + self.nowhere.len()) as u64
    }
}
