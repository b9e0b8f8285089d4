//! Which open sections stay open: all ways, one by one.
//!
//! The least cut of a target may leave sections open. In any correct reordering that reaches the target such a section
//! either stays open, and then every other section of its lock comes before it, or it is closed, and then the cut has its
//! release and what that demands. So the two cases together miss nothing. They are split only for sections whose lock
//! another thread of the cut takes. Two open sections of one lock leave one case: one of them must be closed.
//!
//! This replaces the choice of Algorithm 1, which loses targets both by keeping (`seqcheck_2thread_incomplete.std`) and
//! by closing (`close_third_thread.std`). Sections of threads that the target stops are tried open first, as in the paper,
//! those of others closed first.
//!
//! What it proves: if every case contradicts, nothing reaches the target. A case that only the greedy linearisation
//! failed on leaves the question open.
//!
//! Cost: at most 2^(open sections) cases, bounded by the budget; a case costs one closure.

use mayhap_trace::EventId;

use super::candidate::{orders_before_open, rivals};
use super::closure::{Closure, Contradiction};
use super::cut::Cut;
use super::index::{Index, Section};
use super::linearise::{linearise, order_conflicts};
use super::plan::Plan;
use crate::{Step, Why};

/// How the cases came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// A schedule of one case.
    Schedule(Vec<EventId>),
    /// Every case contradicts; the first contradiction.
    Impossible(Clash),
    /// Some case was left open: greedy choices failed.
    GreedyFailed,
    /// More cases than allowed.
    TooMany,
}

/// Why a case is impossible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Clash {
    /// The event would have to run, but its thread stops before it.
    Overrun(EventId),
    /// Two sections of one lock would both stay open.
    BothOpen(EventId, EventId),
    /// A cycle of reasons.
    Cycle(Vec<Step>),
}

/// Whether a case without contradiction is enough, or a schedule is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    Schedule,
    NoContradiction,
}

#[derive(Clone)]
struct Case {
    cut: Cut,
    /// Acquires of sections that stay open.
    kept: Vec<EventId>,
}

/// Tries the cases of a plan until one gives a schedule.
pub(crate) fn decide(index: &Index<'_>, plan: &Plan, cut: Cut, want: Want, limit: u64) -> Outcome {
    let mut stack = vec![Case { cut, kept: Vec::new() }];
    let mut clash = None;
    let mut failed = false;
    let mut cases = 0;
    while let Some(case) = stack.pop() {
        match split(index, plan, case) {
            Split::Cases(next) => stack.extend(next),
            Split::Impossible(why) => {
                clash.get_or_insert(why);
            }
            Split::Settled(case) => {
                cases += 1;
                if cases > limit {
                    return Outcome::TooMany;
                }
                match solve(index, plan, &case, want) {
                    Solved::Schedule(schedule) => return Outcome::Schedule(schedule),
                    Solved::Contradiction(c) => {
                        clash.get_or_insert(Clash::Cycle(c.cycle));
                    }
                    Solved::GreedyFailed => failed = true,
                }
            }
        }
    }
    match clash {
        Some(clash) if !failed => Outcome::Impossible(clash),
        _ => Outcome::GreedyFailed,
    }
}

enum Split {
    /// Cases to try, the first one last.
    Cases(Vec<Case>),
    Settled(Case),
    Impossible(Clash),
}

/// Splits a case by the first open section that matters.
fn split(index: &Index<'_>, plan: &Plan, case: Case) -> Split {
    let open = case.cut.open(index);
    let fixed = |s: &Section| {
        let beyond = |r: EventId| index.rank(r) >= case.cut.limits[s.thread.index()];
        case.kept.contains(&s.acquire) || s.release.is_none_or(beyond)
    };
    for (i, a) in open.iter().enumerate() {
        for b in open[..i].iter().filter(|b| b.excludes(a)) {
            match (fixed(a), fixed(b)) {
                (true, true) => return Split::Impossible(Clash::BothOpen(b.acquire, a.acquire)),
                (true, false) => return one(close(index, &case, b)),
                (false, true) => return one(close(index, &case, a)),
                (false, false) => {}
            }
        }
    }
    let undecided = open.iter().find(|s| !fixed(s) && !rivals(index, &case.cut, s).is_empty());
    let Some(section) = undecided else { return Split::Settled(case) };
    let mut keep = case.clone();
    keep.kept.push(section.acquire);
    let closed = close(index, &case, section).ok();
    if plan.stops(index, section.thread) {
        Split::Cases(closed.into_iter().chain([keep]).collect())
    } else {
        Split::Cases([keep].into_iter().chain(closed).collect())
    }
}

fn one(case: Result<Case, Clash>) -> Split {
    match case {
        Ok(case) => Split::Cases(vec![case]),
        Err(clash) => Split::Impossible(clash),
    }
}

fn close(index: &Index<'_>, case: &Case, section: &Section) -> Result<Case, Clash> {
    let mut case = case.clone();
    let release = section.release.expect("only sections with a release are closed");
    case.cut.add(index, release).map_err(|overrun| Clash::Overrun(overrun.event))?;
    Ok(case)
}

enum Solved {
    Schedule(Vec<EventId>),
    Contradiction(Contradiction),
    GreedyFailed,
}

fn solve(index: &Index<'_>, plan: &Plan, case: &Case, want: Want) -> Solved {
    let target = |&(before, after): &(EventId, EventId)| Step { before, after, why: Why::Target };
    let mut given: Vec<Step> = plan.order.iter().map(target).collect();
    for (release, acquire) in orders_before_open(index, &case.cut, &case.cut.open(index)) {
        given.push(Step { before: release, after: acquire, why: Why::Lock(index.section(acquire).lock) });
    }
    given.extend(plan.before_final(index, &case.cut).iter().map(target));
    let mut closure = match Closure::new(index, &case.cut, &given, &plan.adjacent) {
        Ok(closure) => closure,
        Err(contradiction) => return Solved::Contradiction(contradiction),
    };
    if want == Want::NoContradiction {
        return Solved::Schedule(Vec::new());
    }
    let ordered = order_conflicts(&mut closure, false);
    match ordered.ok().and_then(|()| linearise(&closure, &plan.adjacent)) {
        Some(schedule) => Solved::Schedule(schedule),
        None => Solved::GreedyFailed,
    }
}
