//! One report for each kind of finding, made from small traces as `predict` makes them.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod refuted;

use std::path::{Path, PathBuf};

use mayhap_report::{Describer, Evidence, Kind, Report, TraceInfo};
use mayhap_testkit::trace;
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Checker, Model, Target, Witness};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) report: Report,
}

struct Sample {
    name: &'static str,
    kind: Kind,
    trace: &'static str,
    target: Target,
    /// Event numbers; `None` for a suspicion.
    schedule: Option<&'static [u64]>,
    model: Model,
    occurrences: u64,
}

fn event(number: u64) -> EventId {
    EventId::from_number(number).unwrap()
}

const MAIN: &str = "main fork main.1 @main bank.c:37\nmain fork main.2 @main bank.c:38\n";

fn samples() -> Vec<Sample> {
    let race = Sample {
        name: "race",
        kind: Kind::Race,
        trace: "main.1 r balance @deposit bank.c:10; main.1 w balance @deposit bank.c:11
                main.1 acq books @audit bank.c:15; main.1 w audits @audit bank.c:16; main.1 rel books @audit bank.c:17
                main.2 acq books @audit bank.c:15; main.2 w audits @audit bank.c:16; main.2 rel books @audit bank.c:17
                main.2 r balance @audit bank.c:18",
        target: Target::Race(event(4), event(11)),
        schedule: Some(&[1, 2, 3, 8, 9, 10]),
        model: Model::Data,
        occurrences: 3,
    };
    let bare = Sample {
        name: "race_bare",
        kind: Kind::Race,
        trace: "main.1 w V1.9 @374; main.2 acq L7 @380; main.2 r V1.9; main.2 rel L7",
        target: Target::Race(event(3), event(5)),
        schedule: Some(&[1, 2, 4]),
        model: Model::Sync,
        occurrences: 1,
    };
    let deadlock = Sample {
        name: "deadlock",
        kind: Kind::Deadlock,
        trace: "main.1 acq money @transfer bank.c:22; main.1 acq books @transfer bank.c:23
                main.1 rel books @transfer bank.c:24; main.1 rel money @transfer bank.c:25
                main.2 acq books @settle bank.c:29; main.2 acq money @settle bank.c:30
                main.2 rel money @settle bank.c:31; main.2 rel books @settle bank.c:32",
        target: Target::Deadlock(vec![event(4), event(8)]),
        schedule: Some(&[1, 2, 3, 7]),
        model: Model::Data,
        occurrences: 1,
    };
    let atomicity = Sample {
        name: "atomicity",
        kind: Kind::Atomicity,
        trace: "main.1 acq money; main.1 r balance @deposit bank.c:10; main.1 rel money
                main.1 acq money; main.1 w balance @deposit bank.c:11; main.1 rel money
                main.2 acq money; main.2 w balance @deposit bank.c:11; main.2 rel money",
        target: Target::Atomicity { first: event(4), remote: event(10), second: event(7) },
        schedule: Some(&[1, 2, 3, 4, 5, 9, 10, 11, 6, 7]),
        model: Model::Data,
        occurrences: 2,
    };
    let order = Sample {
        name: "order",
        kind: Kind::Order,
        trace: "main w currency @main bank.c:39; main.1 br; main.1 r currency @report bank.c:18",
        target: Target::Nondeterminism { write: Some(event(3)), read: event(5), other: None },
        schedule: Some(&[1, 2, 4]),
        model: Model::Branch,
        occurrences: 1,
    };
    let nondeterminism = Sample {
        name: "nondeterminism",
        kind: Kind::Nondeterminism,
        trace: "main.1 acq money; main.1 w balance @deposit bank.c:11; main.1 rel money
                main.2 acq money; main.2 w balance @deposit bank.c:11; main.2 rel money
                main acq money; main r balance @audit bank.c:18; main rel money",
        target: Target::Nondeterminism { write: Some(event(7)), read: event(10), other: Some(event(4)) },
        schedule: Some(&[1, 2, 3, 4, 5, 9]),
        model: Model::Branch,
        occurrences: 1,
    };
    let suspected = Sample { name: "suspected", schedule: None, occurrences: 1, ..clone(&race) };
    vec![race, bare, deadlock, atomicity, order, nondeterminism, suspected]
}

fn clone(sample: &Sample) -> Sample {
    Sample { target: sample.target.clone(), ..*sample }
}

fn describe(sample: &Sample) -> Report {
    let trace: Trace = trace(&format!("{MAIN}{}", sample.trace));
    let execution = Execution::derive(&trace).unwrap();
    let proof = sample.schedule.map(|numbers| {
        let witness = Witness { schedule: numbers.iter().map(|&n| event(n)).collect() };
        let checked = Checker::new(&execution).check(&sample.target, sample.model, witness);
        checked.unwrap_or_else(|e| panic!("{}: {e}", sample.name))
    });
    let tables = trace.tables();
    let info = TraceInfo {
        path: "traces/bank.std".to_string(),
        events: trace.len() as u64,
        threads: tables.threads.len() as u64,
        locks: tables.locks.len() as u64,
        variables: tables.variables.len() as u64,
        repaired: 0,
    };
    let mut report = Report::new("0.1.0", info, sample.model.name());
    let suspicion =
        "weak causal precedence leaves it unordered; it is the first such race, so a race or a deadlock exists";
    report.findings.push(Describer::new(&execution, 1_000).finding(&Evidence {
        kind: sample.kind,
        target: &sample.target,
        proof: proof.as_ref(),
        suspicion: proof.is_none().then_some(suspicion),
        engine: "auto",
        model: sample.model,
        occurrences: sample.occurrences,
        distance: 7,
    }));
    report.summary.candidates = 4;
    report.summary.proven = u64::from(proof.is_some());
    report.summary.suspected = u64::from(proof.is_none());
    report.summary.refuted = 3;
    report.arrange();
    report.gather_sources(&[data()]);
    if proof.is_some() {
        let finding = &mut report.findings[0];
        finding.witness_file = Some("w.json".to_string());
        finding.replay_command = Some("mayhap replay w.json -- ./bank 100".to_string());
    }
    report
}

pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A report with one finding of each kind; with bare locations; only suspected.
pub(crate) fn cases() -> Vec<Case> {
    samples().iter().map(|sample| Case { name: sample.name, report: describe(sample) }).collect()
}
