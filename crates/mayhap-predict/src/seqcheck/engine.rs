//! The engine around the algorithms: targets in, verdicts out.

use std::cell::OnceCell;

use mayhap_trace::{EventId, Execution, LockId};
use mayhap_witness::{Checker, Model, Target, Witness};

use super::analysis::{Analysis, Decision, analyse};
use super::encode::{Encoding, encode};
use super::index::Index;
use super::plan::Plan;
use super::variants::{Clash, Outcome, Want, decide};
use crate::value_classes::ValueClasses;
use crate::{Budget, Engine, EngineCounters, Refutation, Rung, Step, Undecided, Verdict};

/// Cases of open sections tried at most, whatever the budget.
const CASES: u64 = 64;

/// The engine `seqcheck`.
pub struct SeqCheck<'a> {
    index: Index<'a>,
    checker: Checker<'a>,
    as_published: bool,
    /// Some read could see another write of an equal value. Found out when a model first asks.
    equal_values: OnceCell<bool>,
    counters: SeqCheckCounters,
}

/// What was counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct SeqCheckCounters {
    questions: u64,
    by_must_order: u64,
    by_lockset: u64,
    contradictions: u64,
    schedules: u64,
    greedy_failures: u64,
}

impl<'a> SeqCheck<'a> {
    /// Creates an engine for one trace; `as_published` decides as the paper prints it, errors included.
    pub fn new(execution: &'a Execution<'a>, as_published: bool) -> Self {
        SeqCheck {
            index: Index::new(execution),
            checker: Checker::new(execution),
            as_published,
            equal_values: OnceCell::new(),
            counters: SeqCheckCounters::default(),
        }
    }

    /// The paper's run on a sequence of events, step by step.
    pub fn analyse(&self, sequence: &[EventId], adjacent: &[(EventId, EventId)], model: Model) -> Analysis {
        analyse(&self.index, sequence, adjacent, model, self.as_published)
    }

    /// What must-order and locks held say at once.
    fn at_once(&mut self, target: &Target) -> Option<Refutation> {
        let Target::Race(a, b) = target else { return None };
        let (trace, relations) = self.index.execution.parts();
        if relations.ordered(trace, *a, *b) || relations.ordered(trace, *b, *a) {
            self.counters.by_must_order += 1;
            let (first, second) = if relations.ordered(trace, *a, *b) { (a, b) } else { (b, a) };
            let reason = format!("event {first} always comes before event {second}");
            return Some(Refutation { rung: Rung::MustOrder, reason, cycle: Vec::new(), premises: Vec::new() });
        }
        let lock = relations.locksets().common(relations.held(*a), relations.held(*b))?;
        self.counters.by_lockset += 1;
        let reason = format!("both threads hold {}", trace.tables().locks.get(lock.index()));
        Some(Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() })
    }

    fn decide_corrected(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        if let Some(refutation) = self.at_once(target).or_else(|| no_cycle(&self.index, target)) {
            return Verdict::Refuted(refutation);
        }
        if let Target::Sequence { events, adjacent } = target
            && let Decision::Feasible(schedule) = analyse(&self.index, events, adjacent, model, false).decision
            && let Some(verdict) = self.prove(target, model, schedule)
        {
            return verdict;
        }
        let Some(plans) = Plan::of_target(&self.index, target, model) else {
            return unknown("seqcheck decides races, deadlocks, atomicity violations and sequences".to_string());
        };
        let mut refutations = Vec::new();
        let mut open = None;
        for plan in &plans {
            let outcome = match plan.least_cut(&self.index, model) {
                Err(overrun) => Outcome::Impossible(Clash::Overrun(overrun.event)),
                Ok(cut) => decide(&self.index, plan, cut, Want::Schedule, budget.nodes.min(CASES)),
            };
            match outcome {
                Outcome::Schedule(schedule) => match self.prove(target, model, schedule) {
                    Some(verdict) => return verdict,
                    None => open = Some("a linearisation was found, but the kernel did not accept it"),
                },
                Outcome::Impossible(clash) => refutations.push(refuted(&self.index, clash)),
                Outcome::GreedyFailed => {
                    self.counters.greedy_failures += 1;
                    open = Some("deciding the open conflicts as observed led to a contradiction, which proves nothing");
                }
                Outcome::TooMany => open = Some("too many ways to keep sections open or closed"),
            }
        }
        match open {
            Some(reason) => unknown(reason.to_string()),
            None => {
                self.counters.contradictions += 1;
                Verdict::Refuted(refutations.swap_remove(0))
            }
        }
    }

    /// The paper knows no values: where a read could see another write of an equal value, a contradiction refutes nothing,
    /// unless must-order or a common lock is what contradicts.
    fn with_values(&self, verdict: Verdict, model: Model) -> Verdict {
        let by_values = |refutation: &Refutation| {
            let equal = || self.equal_values.get_or_init(|| ValueClasses::new(self.index.execution).any_open());
            !matches!(refutation.rung, Rung::MustOrder | Rung::Lockset) && model.compares_values() && *equal()
        };
        match verdict {
            Verdict::Refuted(refutation) if by_values(&refutation) => {
                unknown("impossible if every read sees the write that it saw; seqcheck knows no values".to_string())
            }
            verdict => verdict,
        }
    }

    fn prove(&mut self, target: &Target, model: Model, schedule: Vec<EventId>) -> Option<Verdict> {
        let checked = self.checker.check(target, model, Witness { schedule: schedule.into() }).ok()?;
        self.counters.schedules += 1;
        Some(Verdict::Proven(checked, Rung::Engine))
    }

    /// The paper's decision, and a proof only where its linearisation happens to be one.
    fn decide_as_published(&mut self, target: &Target, model: Model) -> Verdict {
        let encodings = match encode(&self.index, target) {
            Ok(encodings) => encodings,
            Err(reason) => return unknown(reason.to_string()),
        };
        let mut no = String::new();
        for Encoding { sequence, adjacent, until } in &encodings {
            match self.analyse(sequence, adjacent, model).decision {
                Decision::Feasible(order) => {
                    let schedule = until.cut(order);
                    let rejection = match self.checker.check(target, model, Witness { schedule: schedule.into() }) {
                        Ok(checked) => return Verdict::Proven(checked, Rung::Engine),
                        Err(rejection) => rejection,
                    };
                    let reason = format!("SeqCheck as published says feasible, but its order is not: {rejection}");
                    return Verdict::Unknown(Undecided { reason, suspected: true, short: None });
                }
                decision => no = said(&decision),
            }
        }
        unknown(format!("SeqCheck as published says infeasible: {no}"))
    }
}

fn unknown(reason: String) -> Verdict {
    Verdict::Unknown(Undecided { reason, suspected: false, short: None })
}

fn said(decision: &Decision) -> String {
    match decision {
        Decision::BothOpen(a, b) => format!("events {a} and {b} open two sections of one lock that both stay open"),
        Decision::Cycle(cycle) => format!("the orders contradict each other: {}", in_words(cycle)),
        Decision::GreedyFailed => "the conflicts left open cannot be decided as observed".to_string(),
        Decision::Feasible(_) => "nothing".to_string(),
    }
}

/// Returns a cycle as event numbers.
fn in_words(cycle: &[Step]) -> String {
    let events: Vec<String> = cycle.iter().map(|step| step.before.to_string()).collect();
    format!("{} < {}", events.join(" < "), cycle.first().map_or(String::new(), |step| step.before.to_string()))
}

/// Returns a contradiction as a refutation.
pub(crate) fn refuted(index: &Index<'_>, clash: Clash) -> Refutation {
    match clash {
        Clash::Overrun(event) => Refutation {
            rung: Rung::Slice,
            reason: format!("event {event} would have to run before the target, but its thread stops before it"),
            cycle: Vec::new(),
            premises: Vec::new(),
        },
        Clash::BothOpen(a, b) => Refutation {
            rung: Rung::Slice,
            reason: format!(
                "events {a} and {b} both take {} and neither can have given it up",
                index.trace.tables().locks.get(index.section(a).lock.index())
            ),
            cycle: Vec::new(),
            premises: Vec::new(),
        },
        Clash::Cycle(cycle) => Refutation {
            rung: Rung::Engine,
            reason: format!("the orders that it needs contradict each other: {}", in_words(&cycle)),
            cycle,
            premises: Vec::new(),
        },
    }
}

/// Acquires that do not wait for each other's threads are no deadlock, wherever the threads stand.
pub(crate) fn no_cycle(index: &Index<'_>, target: &Target) -> Option<Refutation> {
    let Target::Deadlock(requests) = target else { return None };
    let blocked = |request: EventId| {
        let event = index.trace.event(request);
        let lock = LockId::at(event.object as usize);
        let mode = crate::ipa::mode_of(event.op.is_shared());
        requests.iter().filter(|&&r| index.thread(r) != event.thread).any(|&r| {
            let held = index.relations.locksets().get(index.relations.held(r));
            crate::ipa::blocks(held, lock, mode)
        })
    };
    let free = requests.iter().find(|&&request| !blocked(request))?;
    let reason = format!("no other thread of the cycle holds the lock that event {free} wants");
    Some(Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() })
}

impl Engine for SeqCheck<'_> {
    fn name(&self) -> &'static str {
        "seqcheck"
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        self.counters.questions += 1;
        if let Err(error) = target.validate(self.index.execution) {
            return unknown(error.to_string());
        }
        match self.as_published {
            true => self.decide_as_published(target, model),
            false => {
                let verdict = self.decide_corrected(target, model, budget);
                self.with_values(verdict, model)
            }
        }
    }

    fn counters(&self) -> EngineCounters {
        let c = &self.counters;
        EngineCounters {
            figures: vec![
                ("questions", c.questions),
                ("by_must_order", c.by_must_order),
                ("by_lockset", c.by_lockset),
                ("contradictions", c.contradictions),
                ("schedules", c.schedules),
                ("greedy_failures", c.greedy_failures),
            ],
        }
    }
}
