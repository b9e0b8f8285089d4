//! The engine `choice`: one triplet at a time, corrected or as published.

use mayhap_trace::{EventId, Execution};
use mayhap_witness::{Model, Target};

use super::literal::{Literal, Outcome};
use super::survey::{KindVerdict, OtherWrite, Session, Survey};
use super::table::Table;
use crate::{Budget, Engine, EngineCounters, Refutation, Rung, Undecided, Verdict};

/// Bytes that the table of needs may take.
const MOST_MEMORY: u64 = 8 << 30;

/// Decides nondeterministic reads.
pub struct Choice<'a> {
    execution: &'a Execution<'a>,
    /// As published: nothing is proven or refuted, the verdict is a suspicion.
    literal: bool,
    /// One a model, made when first asked for.
    surveys: [Option<Survey<'a>>; 5],
    table: Table,
}

impl<'a> Choice<'a> {
    /// Creates the engine for one trace.
    pub fn new(execution: &'a Execution<'a>, literal: bool) -> Self {
        Choice { execution, literal, surveys: [const { None }; 5], table: Table::default() }
    }

    fn corrected(&mut self, read: EventId, other: Option<EventId>, model: Model, budget: &Budget) -> Verdict {
        let bytes = Survey::memory(self.execution);
        if bytes > MOST_MEMORY {
            let reason = format!("the table of what each event needs would take {} MB of memory", bytes >> 20);
            return unknown(&reason, false);
        }
        let slot = Model::ALL.iter().position(|&m| m == model).expect("one of all models");
        let survey = self.surveys[slot].get_or_insert_with(|| Survey::new(self.execution, model));
        let mut session = survey.session(budget);
        let verdicts = session.triplet(read, other);
        let found = verdicts.others[0];
        let verdict = match found.verdict() {
            KindVerdict::Proven(_) => {
                let rung = verdicts.schedule(&found).map_or(Rung::Engine, |(_, rung)| rung);
                match session.checked(&verdicts, &found) {
                    Some(checked) => Verdict::Proven(checked, rung),
                    None => unknown("the kernel rejected the schedule", false),
                }
            }
            KindVerdict::Refuted(rung) => {
                let reason = reason(&session, read, self.execution.relations().read_from(read), &found);
                Verdict::Refuted(Refutation { rung, reason, cycle: Vec::new(), premises: Vec::new() })
            }
            KindVerdict::Unknown => unknown("the budget ran out", false),
        };
        self.table.add(session.table());
        verdict
    }

    fn published(&mut self, read: EventId, other: Option<EventId>, budget: &Budget) -> Verdict {
        let outcomes = Literal::new(self.execution, budget.nodes).decide(read, other);
        self.table.add_outcomes(&[(other, outcomes)]);
        let word = |outcome: Outcome| match outcome {
            Outcome::Cyclic => "infeasible (the witness-order graph has a cycle)".to_string(),
            Outcome::Feasible => "feasible (no cycle, no choice edges)".to_string(),
            Outcome::Choices { pairs, explored, feasible } => {
                let verdict = match feasible {
                    Some(true) => "feasible",
                    Some(false) => "infeasible",
                    None => "undecided",
                };
                format!("{verdict} ({pairs} choice edge pairs, {explored} choice graphs)")
            }
        };
        let [first, second, third] = outcomes.map(word);
        let reason = format!(
            "as published, which proves nothing: the other write, the read, then its write: {first}; its write, the other \
             write, then the read: {second}; the other write, then the read, its write absent: {third}"
        );
        unknown(&reason, outcomes.iter().any(|o| o.feasible() == Some(true)))
    }
}

fn unknown(reason: &str, suspected: bool) -> Verdict {
    Verdict::Unknown(Undecided { reason: reason.to_string(), suspected, short: None })
}

impl Engine for Choice<'_> {
    fn name(&self) -> &'static str {
        "choice"
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        let Target::Nondeterminism { read, other, .. } = target else {
            return unknown("the engine decides nondeterministic reads only", false);
        };
        if let Err(error) = target.validate(self.execution) {
            return unknown(&error.to_string(), false);
        }
        match self.literal {
            true => self.published(*read, *other, budget),
            false => self.corrected(*read, *other, model, budget),
        }
    }

    fn counters(&self) -> EngineCounters {
        self.table.counters()
    }
}

/// Why neither kind of the triplet has a schedule.
fn reason(session: &Session<'_, '_>, read: EventId, write: Option<EventId>, found: &OtherWrite) -> String {
    let KindVerdict::Refuted(overwritten) = found.overwritten else { return String::new() };
    let KindVerdict::Refuted(absent) = found.absent else { return String::new() };
    let searched = |rung: Rung, what: String| match rung {
        Rung::Search => format!("{what}: every choice leads to a contradiction"),
        _ => format!("{what}: what that forces contradicts itself"),
    };
    let (Some(write), other) = (write, found.other) else {
        let other = found.other.expect("two different writes");
        return match overwritten {
            Rung::MustOrder => format!("event {other} cannot run before event {read}"),
            rung => searched(rung, format!("event {other} cannot run before event {read}")),
        };
    };
    let first = match (other, overwritten) {
        (None, _) => format!("the initial value cannot come after event {write}"),
        (Some(c), Rung::MustOrder) if session.needed(c, write) => {
            format!("event {c} always comes before event {write}")
        }
        (Some(c), Rung::MustOrder) => format!("event {c} cannot run before event {read}"),
        (Some(c), rung) => searched(rung, format!("event {c} cannot come between event {write} and event {read}")),
    };
    let second = match (other, absent) {
        (_, Rung::MustOrder) if session.enabling_needs(read, write) => {
            format!("event {read} cannot be reached without event {write}")
        }
        (Some(c), Rung::MustOrder) => format!("event {c} cannot run before event {read} without event {write}"),
        (_, rung) => searched(rung, format!("event {read} cannot be reached without event {write}")),
    };
    format!("{first}, and {second}")
}
