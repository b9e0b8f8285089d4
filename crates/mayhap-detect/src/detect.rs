//! The two passes of a detector by clocks, and the choice of the detector.
//!
//! The first pass counts racy events and tells which variables have any; it is all there is for a trace without races. The
//! second reads the trace again, only up to the last racy event and with a history only of the racy variables, and pairs
//! locations.

use std::rc::Rc;

use mayhap_trace::{Error, Event, Tables};

use crate::census::Census;
use crate::detection::{Detection, Options, Order, Queues};
use crate::hb::HappensBefore;
use crate::lockset;
use crate::pairs::Pairs;
use crate::rules::{Rules, Variable};
use crate::stream::{Access, Input, Pass, Seen, drive};
use crate::tally::Tally;
use crate::wcp::Wcp;

/// Runs one detector over a trace.
pub fn detect(input: &mut dyn Input, order: Order, options: &Options) -> Result<Detection, Error> {
    match order {
        Order::Lockset => lockset::detect(input, options),
        Order::Hb => Ok(by_clocks(input, order, options, HappensBefore::<false>::default)?.0),
        Order::Shb => Ok(by_clocks(input, order, options, HappensBefore::<true>::default)?.0),
        Order::Wcp => {
            let census = Rc::new(Census::take(input)?);
            let (mut detection, wcp) = by_clocks(input, order, options, || Wcp::new(census.clone()))?;
            detection.queues = Some(Queues { longest: wcp.longest_queues(), events: detection.events });
            Ok(detection)
        }
    }
}

/// Both passes of an order; the state of the first comes along.
fn by_clocks<R: Rules>(
    input: &mut dyn Input,
    order: Order,
    options: &Options,
    rules: impl Fn() -> R,
) -> Result<(Detection, R), Error> {
    let mut count = Count { rules: rules(), variables: Vec::new(), tally: Tally::default(), first: options.first };
    let seen = drive(input.open()?, &mut count)?;
    let memory = count.rules.memory() + count.variables.capacity() * size_of::<Variable>();
    let pair = |pairs| Pair { rules: rules(), pairs, last: count.tally.last };
    let detection = second_pass(input, order, options, &count.tally, seen, memory, pair)?;
    Ok((detection, count.rules))
}

/// A second pass that pairs locations.
pub(crate) trait Pairing: Pass {
    fn pairs(self) -> Pairs;
}

/// Pairs the locations of what the first pass counted, and puts everything together.
pub(crate) fn second_pass<P: Pairing>(
    input: &mut dyn Input,
    order: Order,
    options: &Options,
    tally: &Tally,
    seen: Seen,
    memory: usize,
    pass: impl FnOnce(Pairs) -> P,
) -> Result<Detection, Error> {
    let mut detection = Detection {
        order,
        races: Vec::new(),
        racy_events: tally.events,
        racy_locations: tally.racy_locations(),
        racy_variables: tally.variables.len(),
        events: seen.events,
        queues: None,
        memory,
        tables: seen.tables,
    };
    if tally.events > 0 {
        let mut pass = pass(Pairs::new(&tally.variables, options.distance));
        drive(input.open()?, &mut pass)?;
        let pairs = pass.pairs();
        detection.memory += pairs.memory();
        detection.races = pairs.into_races();
        if options.first {
            detection.races.truncate(1);
        }
    }
    Ok(detection)
}

/// The first pass.
struct Count<R> {
    rules: R,
    variables: Vec<Variable>,
    tally: Tally,
    first: bool,
}

impl<R: Rules> Pass for Count<R> {
    fn grow(&mut self, tables: &Tables) {
        grow(&mut self.rules, tables);
        self.variables.resize(self.variables.len().max(tables.variables.len()), Variable::default());
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let Access { thread, variable, write, .. } = access;
        self.rules.before_check(thread, variable, write);
        let racy = self.variables[variable].access(&mut self.rules, thread, write);
        self.rules.after_check(thread, variable, write);
        if racy {
            self.tally.add(&access);
        }
        racy && self.first
    }

    #[inline]
    fn sync(&mut self, _id: u32, event: &Event) {
        self.rules.sync(event);
    }
}

/// The second pass.
struct Pair<R> {
    rules: R,
    pairs: Pairs,
    last: u32,
}

impl<R: Rules> Pass for Pair<R> {
    fn grow(&mut self, tables: &Tables) {
        grow(&mut self.rules, tables);
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let Access { thread, variable, write, .. } = access;
        self.rules.before_check(thread, variable, write);
        if let Some(slot) = self.pairs.slot(variable) {
            let rules = &self.rules;
            let unordered = |earlier: &crate::pairs::Latest| earlier.stamp > rules.knows(thread, earlier.thread());
            self.pairs.access(slot, access, 0, rules.now(thread), unordered);
        }
        self.rules.after_check(thread, variable, write);
        access.id >= self.last
    }

    #[inline]
    fn sync(&mut self, _id: u32, event: &Event) {
        self.rules.sync(event);
    }
}

impl<R: Rules> Pairing for Pair<R> {
    fn pairs(self) -> Pairs {
        self.pairs
    }
}

fn grow<R: Rules>(rules: &mut R, tables: &Tables) {
    rules.grow(tables.threads.len(), tables.locks.len(), tables.variables.len(), tables.conditions.len());
}
