//! Races by happens-before: two conflicting accesses that both run, and that the C11 memory model leaves unordered in that
//! schedule.
//!
//! The kernel's clocks judge; here schedules are found for them to judge, cheapest first: the observed run through both
//! accesses; a state in which both are next, from which they run one after the other, unordered; then a schedule with the
//! one before the other, in either order. Happens-before depends on which release each acquire saw, so not every
//! schedule that has both shows the race even if one does: this is no exact search.
//!
//! What an answer proves: Proven has passed the kernel. Refuted: in no reordering do both accesses run, or happens-before orders
//! them in each of them ([`crate::always_ordered`] knows this of many pairs at once). Everything else is Unknown.

use mayhap_trace::{EventId, ThreadId};
use mayhap_witness::{Checker, Model, Schedule, Target, Witness};

use crate::budget::Remaining;
use crate::context::Context;
use crate::queries::decide_queries;
use crate::solver::Solver;
use crate::verdict::{Refutation, Rung, Step, Undecided, Verdict, Why};

/// Decides whether two accesses can run unordered.
pub(crate) fn decide(
    solver: &mut Solver,
    checker: &mut Checker,
    [a, b]: [EventId; 2],
    model: Model,
    remaining: &mut Remaining,
) -> Verdict {
    let context = solver.context;
    let (first, second) = (a.min(b), a.max(b));
    if context.relations.ordered(context.trace, first, second) {
        return Verdict::Refuted(must_order(first, second));
    }
    if context.always_ordered(model, first, second) {
        return Verdict::Refuted(always_ordered(first, second));
    }
    let target = Target::UnorderedRace(a, b);
    let check = |checker: &mut Checker, schedule: Schedule, rung: Rung| {
        let checked = checker.check(&target, model, Witness { schedule }).ok()?;
        Some(Verdict::Proven(checked, rung))
    };
    let observed = context.relevant_before(second.index() + 1).fold(Schedule::default(), |mut schedule, range| {
        schedule.push_range(range);
        schedule
    });
    if let Some(proven) = check(checker, observed, Rung::SyncPreserving) {
        return proven;
    }
    if let Verdict::Proven(race, rung) = decide_queries(solver, checker, &Target::Race(a, b), model, remaining) {
        for [x, y] in [[first, second], [second, first]] {
            let mut schedule = race.witness().schedule.clone();
            schedule.extend(whole_step(context, x));
            schedule.push(y);
            if let Some(proven) = check(checker, schedule, rung) {
                return proven;
            }
        }
    }
    let mut refutations = Vec::new();
    let mut open = None;
    for events in [vec![first, second], vec![second, first]] {
        let sequence = Target::Sequence { events, adjacent: Vec::new() };
        match decide_queries(solver, checker, &sequence, model, remaining) {
            Verdict::Refuted(refutation) => refutations.push(refutation),
            Verdict::Unknown(undecided) => open = Some(undecided),
            Verdict::Proven(found, rung) => {
                if let Some(proven) = check(checker, found.witness().schedule.clone(), rung) {
                    return proven;
                }
            }
        }
    }
    if refutations.len() == 2 {
        return Verdict::Refuted(refutations.swap_remove(0));
    }
    let reason = "both accesses can run, but happens-before orders them in every schedule that was tried".to_string();
    Verdict::Unknown(open.unwrap_or(Undecided { reason, suspected: false, short: None }))
}

/// The event and those that are joined to it.
fn whole_step<'c>(context: &Context<'c>, event: EventId) -> impl Iterator<Item = EventId> + 'c {
    let (thread, rank) = (context.thread(event), context.rank(event));
    let end = if context.has_blocks { context.step_end(thread, rank + 1) } else { rank + 1 };
    context.relations.thread_events(ThreadId::at(thread))[rank as usize..end as usize].iter().copied()
}

fn must_order(first: EventId, second: EventId) -> Refutation {
    ordered(first, second, format!("program order, fork, join or notify order event {first} before event {second}"))
}

fn always_ordered(first: EventId, second: EventId) -> Refutation {
    let reason = "reads that must see what they saw synchronise with the writes that they saw";
    ordered(first, second, format!("{reason}, so that event {first} always happens before event {second}"))
}

fn ordered(first: EventId, second: EventId, reason: String) -> Refutation {
    let cycle = vec![
        Step { before: first, after: second, why: Why::Demand },
        Step { before: second, after: first, why: Why::Target },
    ];
    Refutation { rung: Rung::MustOrder, reason, cycle, premises: Vec::new() }
}
