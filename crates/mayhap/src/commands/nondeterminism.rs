//! The part of a `predict` report about nondeterministic reads: for each location of a read, the writes that it can see
//! instead, with the shortest schedule; then the verdict on the program and the columns of the paper's Table A1.

use std::io::{self, Write};

use mayhap_detect::candidates::place;
use mayhap_predict::choice;
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Kind, Target};
use serde::Serialize;

use crate::events::EventJson;
use crate::table::Align::{Left, Right};
use crate::table::{Table, grouped};
use mayhap_analyse::nondeterminism::Reads;
use mayhap_analyse::{Finding, Prediction};
use mayhap_report::prediction::id;

/// The findings about reads of one location.
struct Place<'p> {
    findings: Vec<&'p Finding>,
}

impl<'p> Place<'p> {
    fn all(trace: &Trace, prediction: &'p Prediction) -> Vec<Place<'p>> {
        let mut places: Vec<(u64, Place<'p>)> = Vec::new();
        for finding in prediction.findings.iter().filter(|f| f.kind == Kind::Nondeterminism) {
            let at = place(trace, triplet(finding).1);
            match places.iter_mut().find(|(p, _)| *p == at) {
                Some((_, place)) => place.findings.push(finding),
                None => places.push((at, Place { findings: vec![finding] })),
            }
        }
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// The finding with the shortest schedule.
    fn shortest(&self) -> &'p Finding {
        self.findings.iter().min_by_key(|f| steps(f)).expect("a place has a finding")
    }
}

fn triplet(finding: &Finding) -> (Option<EventId>, EventId, Option<EventId>) {
    match finding.target {
        Target::Nondeterminism { write, read, other } => (write, read, other),
        _ => unreachable!("a finding of this kind has this target"),
    }
}

fn steps(finding: &Finding) -> usize {
    finding.proof.as_ref().map_or(0, |proof| proof.witness().schedule.len())
}

/// The verdict on the program, in one sentence.
pub(super) fn verdict(reads: &Reads) -> String {
    let all = format!("{} triplets of {} reads", grouped(reads.triplets), grouped(reads.reads));
    if reads.literal {
        let reads_called = format!("{} of {} reads", grouped(reads.nondeterministic), grouped(reads.reads));
        return format!("as published, without proof: {reads_called} can see another write");
    }
    if reads.deterministic() {
        return format!("deterministic for this run: all {all} are refuted");
    }
    if reads.proven == 0 {
        return format!("undecided: {} of {all} are unknown", grouped(reads.unknown));
    }
    let unknown = if reads.unknown > 0 { format!(", {} unknown", grouped(reads.unknown)) } else { String::new() };
    let unshown = match reads.unshown {
        0 => String::new(),
        groups => format!("; the schedules of {} further groups were not made (--budget-total)", grouped(groups)),
    };
    format!(
        "nondeterministic: {} of {} reads can see another write; of {} triplets {} are proven{unknown}{unshown}",
        grouped(reads.nondeterministic),
        grouped(reads.reads),
        grouped(reads.triplets),
        grouped(reads.proven)
    )
}

/// Prints the columns of Table A1.
pub(super) fn print_table(out: &mut dyn Write, reads: &Reads) -> io::Result<()> {
    let table = &reads.table;
    let share = |part: u64| {
        let percent = 100.0 * part as f64 / table.witnesses.max(1) as f64;
        format!("{} ({percent:.1} %)", grouped(part))
    };
    let mut rows = Table::new(&[("nondeterminism, columns of Table A1", Left), ("", Right)]);
    let mut row = |name: &str, value: String| rows.row([name.to_string(), value]);
    row("possible witnesses", grouped(table.witnesses));
    row("cycle in the witness-order graph", share(table.cyclic));
    row("feasible without choice edges", share(table.without_choices));
    row("with choice edges", share(table.with_choices));
    row("choice graphs possible per witness", format!("2^{:.1}", table.pairs_per_choice()));
    row("choice graphs explored per witness", format!("{:.2}", table.explored_per_choice()));
    row("seconds", format!("{:.3}", reads.seconds));
    row("feasible witnesses", share(table.feasible));
    row("infeasible witnesses", share(table.infeasible));
    row("undecided witnesses", share(table.undecided));
    row("graphs per witness", format!("{:.3}", table.graphs_per_witness()));
    writeln!(out)?;
    rows.print(out)
}

/// The report in JSON.
#[derive(Serialize)]
pub(super) struct ReadsJson {
    /// `deterministic`, `nondeterministic` or `undecided`.
    verdict: &'static str,
    /// Whether the published algorithm was used, which proves nothing.
    literal: bool,
    reads: u64,
    nondeterministic_reads: u64,
    triplets: u64,
    proven: u64,
    unknown: u64,
    /// Groups of proven triplets whose schedule was not made.
    #[serde(skip_serializing_if = "is_zero")]
    unshown: u64,
    by_location: Vec<PlaceJson>,
    table: TableJson,
}

#[derive(Serialize)]
struct PlaceJson {
    location: Option<String>,
    /// Of the shortest schedule.
    read: EventJson,
    sees: Vec<SeenJson>,
    /// The finding with the shortest schedule, after which the read is next.
    shortest: String,
}

#[derive(Serialize)]
struct SeenJson {
    finding: String,
    read: u64,
    /// The write that it saw; null is the initial value.
    saw: Option<EventJson>,
    /// The write that it can see; null is the initial value.
    sees: Option<EventJson>,
    occurrences: u64,
    steps: usize,
}

/// The columns of Table A1.
#[derive(Serialize)]
struct TableJson {
    witnesses: u64,
    cyclic: u64,
    without_choices: u64,
    with_choices: u64,
    /// The mean exponent of two, over the witnesses with choices.
    possible_choice_graphs_log2: f64,
    explored_choice_graphs: f64,
    seconds: f64,
    feasible: u64,
    infeasible: u64,
    undecided: u64,
    graphs_per_witness: f64,
}

impl ReadsJson {
    pub(super) fn new(execution: &Execution<'_>, prediction: &Prediction, reads: &Reads) -> Self {
        let trace = execution.trace();
        let event = |id: EventId| EventJson::of(trace, id);
        let seen = |finding: &&Finding| {
            let (write, read, other) = triplet(finding);
            SeenJson {
                finding: id(trace, finding),
                read: read.number(),
                saw: write.map(event),
                sees: other.map(event),
                occurrences: finding.occurrences,
                steps: steps(finding),
            }
        };
        let place = |place: &Place<'_>| {
            let shortest = place.shortest();
            let (_, read, _) = triplet(shortest);
            PlaceJson {
                location: trace.tables().location(trace.event(read).location).map(str::to_string),
                read: event(read),
                sees: place.findings.iter().map(seen).collect(),
                shortest: id(trace, shortest),
            }
        };
        let verdict = match reads {
            _ if reads.deterministic() => "deterministic",
            _ if reads.proven > 0 => "nondeterministic",
            _ => "undecided",
        };
        ReadsJson {
            verdict,
            literal: reads.literal,
            reads: reads.reads,
            nondeterministic_reads: reads.nondeterministic,
            triplets: reads.triplets,
            proven: reads.proven,
            unknown: reads.unknown,
            unshown: reads.unshown,
            by_location: Place::all(trace, prediction).iter().map(place).collect(),
            table: TableJson::new(&reads.table, reads.seconds),
        }
    }
}

impl TableJson {
    fn new(table: &choice::Table, seconds: f64) -> Self {
        TableJson {
            witnesses: table.witnesses,
            cyclic: table.cyclic,
            without_choices: table.without_choices,
            with_choices: table.with_choices,
            possible_choice_graphs_log2: table.pairs_per_choice(),
            explored_choice_graphs: table.explored_per_choice(),
            seconds,
            feasible: table.feasible,
            infeasible: table.infeasible,
            undecided: table.undecided,
            graphs_per_witness: table.graphs_per_witness(),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
