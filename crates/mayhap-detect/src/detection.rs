//! What a detector found.

use std::fmt;
use std::str::FromStr;

use mayhap_trace::{Event, EventId, Tables};

/// The order, or the rule, by which accesses are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// Locks held.
    Lockset,
    /// Happens-before.
    Hb,
    /// Schedulable happens-before.
    Shb,
    /// Causal precedence.
    Cp,
    /// Weak causal precedence.
    Wcp,
    /// Sync-preserving reorderings.
    SyncP,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 6] = [Order::Lockset, Order::Hb, Order::Shb, Order::Cp, Order::Wcp, Order::SyncP];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Order::Lockset => "lockset",
            Order::Hb => "hb",
            Order::Shb => "shb",
            Order::Cp => "cp",
            Order::Wcp => "wcp",
            Order::SyncP => "syncp",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let order = Order::ALL.into_iter().find(|o| o.name() == text);
        order.ok_or_else(|| {
            let names: Vec<_> = Order::ALL.iter().map(|o| o.name()).collect();
            format!("`{text}` is no order: {}", names.join(", "))
        })
    }
}

/// What a detector is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Stop at the first racy event.
    pub first: bool,
    /// Compute how far apart the two events of each race are.
    pub distance: bool,
    /// Lockset: Eraser's state machine, which lets a variable's first thread and read-sharing pass.
    pub eraser: bool,
    /// CP: events that are looked at together; [`Options::CP_LIMIT`] if not given.
    pub window: Option<u64>,
}

impl Options {
    /// Up to this many events, CP analyses the whole trace at once.
    pub const CP_LIMIT: u64 = 10_000_000;
}

/// Two conflicting accesses that the order leaves unordered: the first instance of an unordered pair of locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The earlier access in the trace.
    pub first: (EventId, Event),
    /// The later one.
    pub second: (EventId, Event),
    /// The least number of events that any instance of this pair of locations is apart, if distances were asked for.
    pub distance: Option<u64>,
}

/// How long the queues of WCP grew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queues {
    /// The greatest sum over locks and threads of acquires and releases waiting to be compared. Counts threads that release
    /// the lock later on; for others nothing is queued.
    pub longest: u64,
    /// Events of the trace, to which the length relates.
    pub events: u64,
}

/// Everything that a detector found in one trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detection {
    /// The order.
    pub order: Order,
    /// One race for each distinct unordered pair of locations, in the order of their second events.
    pub races: Vec<Race>,
    /// Accesses that are unordered with some earlier conflicting access.
    pub racy_events: u64,
    /// Distinct locations of racy events. Events without location count by variable.
    pub racy_locations: u64,
    /// Variables with a racy event.
    pub racy_variables: u64,
    /// Events read: all of the trace unless the detector stopped at the first race.
    pub events: u64,
    /// CP: the length of the windows that the trace was cut into; `None` if it was analysed as a whole.
    pub window: Option<u64>,
    /// WCP: the greatest length of its queues.
    pub queues: Option<Queues>,
    /// Bytes of the detector's state at its end.
    pub memory: usize,
    /// The names of the ids in `races`.
    pub tables: Tables,
}

impl Detection {
    /// Distinct unordered pairs of locations.
    pub fn racy_location_pairs(&self) -> u64 {
        self.races.len() as u64
    }

    /// The largest and the mean distance over all pairs of locations, if distances were asked for and there are any.
    pub fn distances(&self) -> Option<(u64, f64)> {
        let distances: Vec<u64> = self.races.iter().filter_map(|r| r.distance).collect();
        let max = distances.iter().max()?;
        Some((*max, distances.iter().sum::<u64>() as f64 / distances.len() as f64))
    }
}
