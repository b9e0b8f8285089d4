//! Candidates: the targets worth deciding after the cheapest filters, grouped as they will be reported.
//!
//! A [`Group`] corresponds to one finding: targets of one kind whose events have the same locations (for an event without
//! location, its variable or lock counts). Its instances are tried, nearest first, until one is proven, so a group keeps the
//! nearest ones up to a limit and counts all. Filters drop only what no model allows: must-order and locks held. Each kind
//! documents what else is left out, and why.

mod atomicity;
mod deadlocks;
mod few_accesses;
mod initialisation;
mod intent;
mod lifetimes;
mod lock_graph;
mod nondeterminism;
mod null_pointers;
mod protection;
mod races;
mod stale_pointers;

use mayhap_trace::{EventId, NONE, ObjectKind, Op, Trace};
use mayhap_witness::{Kind, Target};

pub use atomicity::atomicity_violations;
pub use deadlocks::deadlocks;
pub use initialisation::uses_before_initialisation;
pub use lifetimes::{frees, uses_after_free};
pub use nondeterminism::nondeterministic_reads;
pub use protection::SharedAccesses;
pub use races::{all_races, races};
pub use stale_pointers::double_frees;

/// The limits of the search for candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many instances of each group are kept.
    pub instances: usize,
    /// How many events of the same thread may lie between two accesses that count as one atomic step (atomicity).
    pub distance: usize,
    /// The maximum number of threads in a deadlock. [`usize::MAX`] sets no limit.
    pub cycle: usize,
    /// Whether to report all atomicity and order violations, including probably benign ones.
    pub all_patterns: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { instances: 64, distance: 100, cycle: usize::MAX, all_patterns: false }
    }
}

/// Candidates that would be one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What a finding would be called.
    pub kind: Kind,
    /// The nearest instances, nearest first.
    pub targets: Vec<Target>,
    /// How many instances there are; `targets` has all of them or as many as the limit allows.
    pub instances: u64,
    /// Farther instances that were not examined; some of them may not be candidates at all.
    pub beyond: u64,
}

/// All candidates of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// What was found.
    pub groups: Vec<Group>,
    /// Why there may be more groups, where a bound ended the search for them.
    pub gap: Option<String>,
}

impl From<Vec<Group>> for Candidates {
    fn from(groups: Vec<Group>) -> Self {
        Candidates { groups, gap: None }
    }
}

/// How far apart the events of a target are in the trace.
pub fn distance(target: &Target) -> u32 {
    let events = target.events();
    let cells = || events.iter().map(|e| e.cell());
    cells().max().unwrap_or(0) - cells().min().unwrap_or(0)
}

/// Returns the place of an event: its location, or else its object.
#[inline]
pub fn place(trace: &Trace, event: EventId) -> u64 {
    let columns = trace.columns();
    match columns.locations[event.index()] {
        NONE => place_of_object(columns.ops[event.index()], columns.objects[event.index()]),
        location => u64::from(location),
    }
}

fn place_of_object(op: Op, object: u32) -> u64 {
    let kind = match op.names() {
        ObjectKind::Variable => 1u64,
        ObjectKind::Lock => 2,
        ObjectKind::Thread => 3,
        ObjectKind::Condition => 4,
        ObjectKind::Nothing => 5,
    };
    kind << 60 | (op as u64) << 48 | u64::from(if object == NONE { 0 } else { object })
}

/// The instances of a group while it is being gathered: the nearest up to a bound.
#[derive(Clone, Debug, Default)]
struct Nearest {
    /// A heap by (distance, events), farthest on top.
    heap: std::collections::BinaryHeap<(u32, Vec<u32>)>,
    seen: u64,
    beyond: u64,
}

impl Nearest {
    /// An instance with these events; `true` if it is among the nearest so far.
    fn offer(&mut self, events: &[EventId], bound: usize) {
        self.seen += 1;
        let cells = || events.iter().map(|e| e.cell());
        let distance = cells().max().unwrap_or(0) - cells().min().unwrap_or(0);
        if self.heap.len() >= bound.max(1) {
            if self.heap.peek().is_some_and(|(farthest, _)| *farthest <= distance) {
                return;
            }
            self.heap.pop();
        }
        self.heap.push((distance, cells().collect()));
    }

    fn into_group(self, kind: Kind, target: impl Fn(&[EventId]) -> Target) -> Group {
        let targets = self.heap.into_sorted_vec().into_iter().map(|(_, cells)| {
            let events: Vec<EventId> = cells.into_iter().map(|c| EventId::at(c as usize)).collect();
            target(&events)
        });
        Group { kind, targets: targets.collect(), instances: self.seen, beyond: self.beyond }
    }
}

/// The relevant accesses of each variable that several threads access and at least one writes, in observed order.
fn shared_accesses(trace: &Trace) -> (Vec<EventId>, Vec<u32>) {
    shared_cells(trace, EventId::at(0), |event, _, _| event)
}

/// The same with what `cell` makes of an event, its operation and thread. It is called for each event of the trace in their order: what
/// it reads of the trace comes from memory once, while the accesses of one variable lie anywhere in it.
fn shared_cells<T: Clone>(trace: &Trace, empty: T, mut cell: impl FnMut(EventId, Op, u16) -> T) -> (Vec<T>, Vec<u32>) {
    let columns = trace.columns();
    let variables = trace.tables().variables.len();
    /// With the number of the first thread: there are others, and one of the accesses writes.
    const SHARED: u32 = 1 << 16;
    const WRITTEN: u32 = 1 << 17;
    // Per variable, its threads and how many accesses it has: side by side, since large programs have more variables than caches hold.
    let mut known = vec![(NONE, 0u32); variables];
    let cells = || columns.ops.iter().zip(&columns.objects).zip(&columns.threads);
    for ((op, &object), &thread) in cells().filter(|((op, _), _)| op.is_access()) {
        let (threads, count) = &mut known[object as usize];
        *threads = match *threads {
            NONE => thread.into(),
            others if others as u16 != thread => others | SHARED,
            same => same,
        };
        *threads |= if *op == Op::Write { WRITTEN } else { 0 };
        *count += 1;
    }
    let mut bounds = Vec::with_capacity(variables + 1);
    let mut sum = 0;
    bounds.push(sum);
    // From here on the second number is where the variable's next access goes.
    for (threads, count) in &mut known {
        let is_wanted = *threads != NONE && *threads & (SHARED | WRITTEN) == SHARED | WRITTEN;
        let accesses = std::mem::replace(count, sum);
        *threads = if is_wanted { SHARED } else { NONE };
        sum += if is_wanted { accesses } else { 0 };
        bounds.push(sum);
    }
    let mut all = vec![empty; sum as usize];
    for (i, ((&op, &object), &thread)) in cells().enumerate() {
        let made = cell(EventId::at(i), op, thread);
        if op.is_access()
            && let (SHARED, at) = &mut known[object as usize]
        {
            all[*at as usize] = made;
            *at += 1;
        }
    }
    (all, bounds)
}
