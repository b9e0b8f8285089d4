//! The two passes of a detector by clocks, and the choice of the detector.
//!
//! The first pass counts racy events and finds the racy variables; a trace without races needs no other. The second pass reads the
//! trace again, only up to the last racy event and with a history of the racy variables only, and pairs locations.

use std::rc::Rc;

use mayhap_trace::{Error, Tables};

use crate::census::Census;
use crate::detection::{Detection, Options, Order, Queues};
use crate::hb::HappensBefore;
use crate::lockset;
use crate::pairs::{Latest, Pairs};
use crate::passes::{Found, Pairing, second_pass};
use crate::rules::{Rules, Variable};
use crate::stream::{Access, Feed, Input, Pass, Sync, Whole};
use crate::syncp;
use crate::tally::Tally;
use crate::wcp::{Wcp, saturate};
use crate::window::each_window;

/// Runs one detector over a trace.
pub fn detect(input: &mut dyn Input, order: Order, options: &Options) -> Result<Detection, Error> {
    let mut found = Found::new(options);
    let mut queues = None;
    let mut whole = Whole::new(input);
    match order {
        Order::Lockset => lockset::detect(&mut whole, options, &mut found)?,
        Order::Hb => drop(by_clocks(&mut whole, options, &mut found, HappensBefore::<false>::default)?),
        Order::Shb => drop(by_clocks(&mut whole, options, &mut found, HappensBefore::<true>::default)?),
        Order::Wcp => {
            let census = Rc::new(Census::take(&mut whole)?);
            let wcp = by_clocks(&mut whole, options, &mut found, || Wcp::new(census.clone()))?;
            queues = Some(Queues { longest: wcp.longest_queues(), events: found.events });
        }
        Order::SyncP => syncp::detect(&mut whole, options, &mut found)?,
        Order::Cp => {
            let length = options.window.unwrap_or(Options::CP_LIMIT);
            let (count, tables) = each_window(input, length, |window| {
                let census = Rc::new(Census::take(window)?);
                let rules = saturate(window, &census)?;
                by_clocks(window, options, &mut found, rules)?;
                Ok(options.first && found.tally.events > 0)
            })?;
            let window = (count > 1).then_some(length);
            return Ok(Detection { window, ..found.into_detection(order, tables) });
        }
    }
    Ok(Detection { queues, ..found.into_detection(order, whole.tables) })
}

/// Both passes of an order. Returns the state of the first.
fn by_clocks<R: Rules, F: Feed + ?Sized>(
    feed: &mut F,
    options: &Options,
    found: &mut Found,
    rules: impl Fn() -> R,
) -> Result<R, Error> {
    let mut count = Count {
        rules: rules(),
        variables: Vec::new(),
        atomics: Vec::new(),
        tally: Tally::default(),
        first: options.first,
    };
    let events = feed.feed(&mut count)?;
    let histories = count.variables.capacity() + count.atomics.capacity();
    let memory = count.rules.memory() + histories * size_of::<Variable>();
    let last = count.tally.last;
    second_pass(feed, found, count.tally, events, memory, |pairs| Pair { rules: rules(), pairs, last })?;
    Ok(count.rules)
}

/// The first pass.
struct Count<R> {
    rules: R,
    variables: Vec<Variable>,
    /// The atomic accesses of each variable. Empty until there is one.
    atomics: Vec<Variable>,
    tally: Tally,
    first: bool,
}

impl<R: Rules> Count<R> {
    /// Takes an access of a trace with atomic ones, which do not race with each other.
    #[inline(never)]
    fn mixed(&mut self, access: &Access) -> bool {
        let Access { thread, variable, write, .. } = *access;
        let rules = &mut self.rules;
        if !access.flags.is_atomic() {
            let unordered = self.atomics.get(variable).is_some_and(|a| a.is_unordered(rules, thread, write));
            return self.variables[variable].access(rules, thread, write) | unordered;
        }
        if self.atomics.len() <= variable {
            self.atomics.resize(variable + 1, Variable::default());
        }
        let unordered = self.variables[variable].is_unordered(rules, thread, write);
        self.atomics[variable].access(rules, thread, write);
        unordered
    }
}

impl<R: Rules> Pass for Count<R> {
    fn grow(&mut self, tables: &Tables) {
        self.rules.grow(tables);
        self.variables.resize(self.variables.len().max(tables.variables.len()), Variable::default());
    }

    #[inline(always)]
    fn access(&mut self, access: Access) -> bool {
        let Access { thread, variable, write, .. } = access;
        self.rules.before_check(&access);
        let racy = if self.atomics.is_empty() && !access.flags.is_atomic() {
            self.variables[variable].access(&mut self.rules, thread, write)
        } else {
            self.mixed(&access)
        };
        self.rules.after_check(&access);
        if racy {
            self.tally.add(&access);
        }
        racy && self.first
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        self.rules.sync(sync);
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
        self.rules.grow(tables);
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let Access { thread, variable, .. } = access;
        self.rules.before_check(&access);
        if let Some(slot) = self.pairs.slot(variable) {
            let rules = &self.rules;
            let unordered = |earlier: &Latest| earlier.stamp > rules.knows(thread, earlier.thread());
            self.pairs.access(slot, access, 0, rules.now(thread), unordered);
        }
        self.rules.after_check(&access);
        access.id >= self.last
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        self.rules.sync(sync);
    }
}

impl<R: Rules> Pairing for Pair<R> {
    fn pairs(self) -> Pairs {
        self.pairs
    }
}
