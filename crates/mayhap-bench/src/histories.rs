//! What lock histories cost on top of happens-before and locksets, and what incremental search saves.
//!
//! As at run time in the paper, every access is paired with every earlier conflicting access of another thread. The basis is
//! the time to read the trace, derive clocks and locksets and ask both about each pair. On top comes `check_reach` on the pairs
//! that are left, once for each pair of locations in the lock histories: incremental search answers a pair of locations
//! that it knows without a call. Non-incremental search starts afresh for each pair of accesses; such searches are cut off after
//! [`FRESH`] calls, which favours them.

use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use mayhap_predict::ipa::{Memory, Reach};
use mayhap_predict::{Budget, Engine, Ipa, Strategy};
use mayhap_trace::{EventId, Execution, Trace};

/// Calls of one search from scratch.
const FRESH: u64 = 50_000;

/// Groups for which room is made beforehand.
const ROOM: usize = 1 << 13;

/// What one pass over the pairs gives.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Conflicting pairs.
    pub(crate) all: u64,
    /// Those that must-order leaves.
    pub(crate) hb: u64,
    /// Those that locksets leave of them.
    pub(crate) left: Vec<(EventId, EventId)>,
}

impl Pairs {
    /// Pairs every access with every earlier conflicting one.
    pub(crate) fn of(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut by_variable: Vec<Vec<EventId>> = vec![Vec::new(); trace.tables().variables.len()];
        let mut found = Pairs::default();
        for (b, event) in trace.events().filter(|(_, e)| e.op.is_access()) {
            let earlier = &mut by_variable[event.object as usize];
            for &a in earlier.iter().filter(|&&a| trace.event(a).conflicts(&event)) {
                found.all += 1;
                if !relations.ordered(trace, a, b) {
                    found.hb += 1;
                    if relations.locksets().common(relations.held(a), relations.held(b)).is_none() {
                        found.left.push((a, b));
                    }
                }
            }
            earlier.push(b);
        }
        found
    }
}

/// Two threads and their positions in their histories, in one word.
type Key = u128;

/// The key of two events, and they in the order of their threads.
#[inline]
fn key(ipa: &Ipa<'_>, trace: &Trace, (a, b): (EventId, EventId)) -> (Key, (EventId, EventId)) {
    let threads = &trace.columns().threads;
    let (t, u) = (threads[a.index()], threads[b.index()]);
    let (a, b, t, u) = if t < u { (a, b, t, u) } else { (b, a, u, t) };
    let locations = ipa.locations(a, b);
    let threads = u64::from(t) << 32 | u64::from(u);
    let locations = u64::from(locations.a) << 32 | u64::from(locations.b);
    (u128::from(threads) << 64 | u128::from(locations), (a, b))
}

/// Pairs of events by the positions of their threads.
struct Groups {
    index: HashMap<Key, usize, foldhash::fast::FixedState>,
    /// One pair of each group, and how many it represents.
    list: Vec<((EventId, EventId), u64)>,
}

impl Groups {
    fn of(ipa: &Ipa<'_>, trace: &Trace, left: &[(EventId, EventId)]) -> Self {
        let mut index = HashMap::with_capacity_and_hasher(left.len().min(ROOM), foldhash::fast::FixedState::default());
        let mut list = Vec::new();
        let mut last = None;
        for &pair in left {
            let (key, events) = key(ipa, trace, pair);
            let at = match last {
                Some((same, at)) if same == key => at,
                _ => *index.entry(key).or_insert_with(|| {
                    list.push((events, 0));
                    list.len() - 1
                }),
            };
            last = Some((key, at));
            list[at].1 += 1;
        }
        Groups { index, list }
    }
}

/// The result of one strategy for the pairs.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Pairs of events that it reached.
    pub(crate) reached: u64,
    /// Their unordered pairs of source locations.
    pub(crate) lines: usize,
    /// Pairs of locations in the histories.
    pub(crate) locations: usize,
    /// Calls of the search.
    pub(crate) calls: u64,
    /// On top of the basis.
    pub(crate) time: Duration,
    /// Counters, in the engine's order.
    pub(crate) counters: Vec<(&'static str, u64)>,
}

/// Asks a strategy about the pairs that must-order and locksets left; without memory until `limit` is used up.
pub(crate) fn decide(
    execution: &Execution<'_>,
    left: &[(EventId, EventId)],
    strategy: Strategy,
    memory: Memory,
    limit: Duration,
) -> Outcome {
    let trace = execution.trace();
    let started = Instant::now();
    let fresh = memory == Memory::None;
    let mut ipa = Ipa::new(execution, strategy).compare(false).memory(memory);
    let budget = Budget { nodes: if fresh { FRESH } else { Budget::default().nodes }, ..Budget::default() };
    let groups = Groups::of(&ipa, trace, left);
    let mut outcome = Outcome::default();
    let mut reached = vec![false; groups.list.len()];
    for (&((a, b), count), reached) in groups.list.iter().zip(&mut reached) {
        if fresh && started.elapsed() > limit {
            break;
        }
        let before = if fresh { ipa.ipa_counters().calls() } else { 0 };
        *reached = matches!(ipa.check_reach(a, b, &budget), Reach::Reached(_));
        outcome.reached += if *reached { count } else { 0 };
        // Without memory every instance would be searched again.
        outcome.calls += if fresh { (ipa.ipa_counters().calls() - before) * count } else { 0 };
    }
    outcome.time = started.elapsed();
    if !fresh {
        outcome.calls = ipa.ipa_counters().calls();
    }
    let reached_pairs = left.iter().filter(|&&pair| reached[groups.index[&key(&ipa, trace, pair).0]]);
    let cell = |e: EventId| trace.columns().locations[e.index()];
    let lines: HashSet<(u32, u32), foldhash::fast::FixedState> =
        reached_pairs.map(|&(a, b)| (cell(a).min(cell(b)), cell(a).max(cell(b)))).collect();
    outcome.lines = lines.len();
    outcome.locations = groups.list.len();
    outcome.counters = ipa.counters().figures;
    outcome
}
