//! What the passes of a detector share: what they have found, and the second pass.

use mayhap_trace::{Error, Tables};

use crate::detection::{Detection, Options, Order};
use crate::pairs::Pairs;
use crate::stream::{Feed, Pass};
use crate::tally::Tally;

/// What passes have found, to be put together.
pub(crate) struct Found {
    pub(crate) tally: Tally,
    pub(crate) pairs: Pairs,
    pub(crate) events: u64,
    pub(crate) memory: usize,
    first: bool,
}

impl Found {
    pub(crate) fn new(options: &Options) -> Self {
        let pairs = Pairs::new(options.distance);
        Found { tally: Tally::default(), pairs, events: 0, memory: 0, first: options.first }
    }

    pub(crate) fn into_detection(self, order: Order, tables: Tables) -> Detection {
        let mut races = self.pairs.into_races();
        if self.first {
            races.truncate(1);
        }
        Detection {
            order,
            races,
            racy_events: self.tally.events,
            racy_locations: self.tally.racy_locations(),
            racy_variables: self.tally.variables.count() as u64,
            events: self.events,
            window: None,
            queues: None,
            memory: self.memory,
            tables,
        }
    }
}

/// A second pass that pairs locations.
pub(crate) trait Pairing: Pass {
    fn pairs(self) -> Pairs;
}

/// Pairs the locations of what the first pass counted.
pub(crate) fn second_pass<P: Pairing, F: Feed + ?Sized>(
    feed: &mut F,
    found: &mut Found,
    tally: Tally,
    events: u64,
    memory: usize,
    pass: impl FnOnce(Pairs) -> P,
) -> Result<(), Error> {
    found.events += events;
    found.memory = found.memory.max(memory);
    if tally.events > 0 {
        let mut pairs = std::mem::replace(&mut found.pairs, Pairs::new(false));
        pairs.restart(&tally.variables);
        let mut pass = pass(pairs);
        feed.feed(&mut pass)?;
        found.pairs = pass.pairs();
        found.memory = found.memory.max(memory + found.pairs.memory());
    }
    found.tally.extend(&tally);
    Ok(())
}
