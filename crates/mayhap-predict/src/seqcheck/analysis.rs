//! The paper's own run on a sequence, step by step: candidate set, orders, closure, linearisation.

use mayhap_trace::{EventId, LockId, Mode, Op};
use mayhap_witness::Model;

use super::candidate::{first_write, lock_orders, potential_set};
use super::closure::Closure;
use super::cut::Cut;
use super::index::Index;
use super::linearise::{linearise, order_conflicts};
use crate::{Step, Why};

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Feasible, by this order of the candidate set.
    Feasible(Vec<EventId>),
    /// Two sections of one lock stay open in the candidate set.
    BothOpen(EventId, EventId),
    /// The orders contradict each other; a cycle.
    Cycle(Vec<Step>),
    /// Deciding the remaining conflicts as observed led to a contradiction.
    GreedyFailed,
}

/// What the paper's algorithms compute for one sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    /// `F`, in observed order (Algorithm 1).
    pub candidate: Vec<EventId>,
    /// `C_OO`: each strict read after the write it saw.
    pub observation: Vec<(EventId, EventId)>,
    /// `C_LO` (Algorithm 2).
    pub locks: Vec<(EventId, EventId)>,
    /// `C_SO`: the sequence itself.
    pub sequence: Vec<(EventId, EventId)>,
    /// What the rules conclude from these orders and is not among them, by program order implied or not (Algorithm 3).
    pub closure: Vec<(EventId, EventId)>,
    /// The end (Algorithm 4).
    pub decision: Decision,
}

/// Runs Algorithms 1 to 4.
pub(crate) fn analyse(
    index: &Index<'_>,
    sequence: &[EventId],
    adjacent: &[(EventId, EventId)],
    model: Model,
    literal: bool,
) -> Analysis {
    let cut = potential_set(index, sequence, model, literal).expect("without limits nothing is overrun");
    let locks = lock_orders(index, sequence, &cut);
    let order: Vec<(EventId, EventId)> = sequence.windows(2).map(|w| (w[0], w[1])).collect();
    let mut analysis = Analysis {
        candidate: cut.events(index),
        observation: observation(index, &cut),
        locks,
        sequence: order,
        closure: Vec::new(),
        decision: Decision::GreedyFailed,
    };
    analysis.closure = conclusions(index, &cut, &analysis);
    analysis.decision = run(index, &cut, &analysis, adjacent, literal);
    analysis
}

fn run(index: &Index<'_>, cut: &Cut, analysis: &Analysis, adjacent: &[(EventId, EventId)], literal: bool) -> Decision {
    let open = cut.open(index);
    for (i, a) in open.iter().enumerate() {
        if let Some(b) = open[..i].iter().find(|b| b.excludes(a)) {
            return Decision::BothOpen(b.acquire, a.acquire);
        }
    }
    let given = |orders: &[(EventId, EventId)], why: fn(&Index<'_>, EventId) -> Why| -> Vec<Step> {
        orders.iter().map(|&(before, after)| Step { before, after, why: why(index, after) }).collect()
    };
    let mut orders = given(&analysis.sequence, |_, _| Why::Target);
    orders.extend(given(&analysis.locks, |index, acquire| Why::Lock(index.section(acquire).lock)));
    let mut closure = match Closure::new(index, cut, &orders, adjacent) {
        Ok(closure) => closure,
        Err(contradiction) => return Decision::Cycle(contradiction.cycle),
    };
    let settled = if literal { relaxed_reads(&mut closure) } else { Ok(()) };
    let settled = settled.and_then(|()| order_conflicts(&mut closure, literal).map_err(|_| Decision::GreedyFailed));
    match settled {
        Ok(()) => linearise(&closure, adjacent).map_or(Decision::GreedyFailed, Decision::Feasible),
        Err(decision) => decision,
    }
}

/// Algorithm 4, lines 5 to 8: a relaxed read with no write before it is put after the first write of the thread it saw.
fn relaxed_reads(closure: &mut Closure<'_>) -> Result<(), Decision> {
    let index = closure.index;
    for read in closure.cut.events(index) {
        if index.trace.event(read).op != Op::Read || closure.is_strict_read(read) {
            continue;
        }
        let variable = closure.variable(read);
        let sees = index.all_threads().any(|thread| {
            let first = index.write_from(thread, variable, 0).filter(|&w| closure.cut.has(index, w));
            first.is_some_and(|write| closure.reaches(write, read))
        });
        let write = first_write(index, read).filter(|&w| !sees && closure.cut.has(index, w));
        if let Some(write) = write {
            let edge = Step { before: write, after: read, why: Why::ReadsFrom(variable) };
            closure.insert(edge).map_err(|contradiction| Decision::Cycle(contradiction.cycle))?;
        }
    }
    Ok(())
}

fn observation(index: &Index<'_>, cut: &Cut) -> Vec<(EventId, EventId)> {
    let strict = |&read: &EventId| index.trace.event(read).op == Op::Read && cut.is_strict(index, read);
    let seen = |read: EventId| index.relations.read_from(read).map(|write| (write, read));
    cut.events(index).into_iter().filter(strict).filter_map(seen).collect()
}

/// The conclusions of the rules from the given orders, as the paper's figures list them: for each strict read the other
/// write nearest before it comes before the write it saw, and for each order the sections around its ends follow suit.
fn conclusions(index: &Index<'_>, cut: &Cut, analysis: &Analysis) -> Vec<(EventId, EventId)> {
    let given: Vec<(EventId, EventId)> =
        [&analysis.observation, &analysis.locks, &analysis.sequence].into_iter().flatten().copied().collect();
    let mut all = given.clone();
    for &(write, read) in &analysis.observation {
        let object = mayhap_trace::VarId::at(index.trace.event(read).object as usize);
        let thread = index.thread(write);
        let earlier = index.write_before(thread, object, index.rank(write));
        all.extend(earlier.map(|earlier| (earlier, write)));
    }
    let mut at = 0;
    while at < all.len() {
        let (before, after) = all[at];
        for order in sections_around(index, cut, before, after) {
            if !all.contains(&order) {
                all.push(order);
            }
        }
        at += 1;
    }
    let mut new: Vec<(EventId, EventId)> = all.into_iter().filter(|order| !given.contains(order)).collect();
    new.sort_unstable();
    new.dedup();
    new
}

/// For each lock: the last section at or before `before` ends before the next one that ends at or after `after` begins.
fn sections_around(index: &Index<'_>, cut: &Cut, before: EventId, after: EventId) -> Vec<(EventId, EventId)> {
    let (from, to) = (index.thread(before), index.thread(after));
    let mut orders = Vec::new();
    for rank in index.rank(after)..cut.counts[to.index()] {
        let release = index.at(to, rank);
        let event = index.trace.event(release);
        if event.op != Op::Release {
            continue;
        }
        let lock = LockId::at(event.object as usize);
        let second = index.relations.acquire_of(release).expect("a release has its acquire");
        let first = index.acquire_before(from, lock, Mode::Exclusive, index.rank(before) + 1);
        let ended = first.filter(|&f| f != second).and_then(|f| index.relations.matching_release(f));
        orders.extend(ended.filter(|&r| cut.has(index, r)).map(|r| (r, second)));
    }
    orders
}
