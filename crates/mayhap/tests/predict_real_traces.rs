//! Prediction on the real traces of the corpus, against what published tools find and prove.

use std::collections::BTreeSet;

use mayhap_analyse::engines::EngineName;
use mayhap_analyse::{Gauges, Options, Prediction, predict};
use mayhap_detect::candidates::Limits;
use mayhap_predict::Budget;
use mayhap_testkit::golden;
use mayhap_trace::{Execution, Trace};
use mayhap_witness::{Kind, Model};

fn run(trace: &Trace, kind: Kind, model: Model, all_instances: bool, threads: usize) -> Prediction {
    let execution = Execution::derive(trace).unwrap();
    let options = Options {
        halt: None,
        gauges: Gauges::default(),
        kinds: vec![kind],
        engine: EngineName::Auto,
        literal: false,
        model,
        limits: Limits::default(),
        all_instances,
        effort: None,
        budget: Budget::default(),
        threads,
    };
    predict(&execution, &options).unwrap()
}

/// Distinct locations of the later events of proven races.
fn later_locations(trace: &Trace, prediction: &Prediction) -> usize {
    let proven = prediction.findings.iter().filter(|f| f.proof.is_some());
    let later = proven.map(|f| trace.event(f.target.events().into_iter().max().unwrap()).location);
    later.collect::<BTreeSet<_>>().len()
}

#[test]
fn every_location_that_published_provers_find_is_proven_and_nothing_stays_open() {
    for (name, published) in golden::published() {
        let trace = golden::real(&name);
        let prediction = run(&trace, Kind::Race, Model::Data, false, 2);
        assert_eq!(prediction.tally.unknown, 0, "{name}");
        let proven = prediction.findings.iter().flat_map(|f| f.target.events());
        let locations: BTreeSet<_> = proven.map(|e| trace.event(e).location).collect();
        let most = published.m2.map_or(0, |m2| m2.locations).max(published.osr.locations);
        assert!(locations.len() >= most, "{name}: {} locations, published {most}", locations.len());
        assert!(later_locations(&trace, &prediction) <= locations.len());
    }
}

/// The published count of optimistic reversals on bubblesort, 476, has 102 events too many: each of them would need a thread
/// to run a section of the one lock, in which it reads what the other thread wrote in the section that it still holds.
/// M2 has the true count, 374.
#[test]
fn every_racy_event_that_published_provers_find_is_proven() {
    for (name, published) in golden::published() {
        if name == "moldyn" && std::env::var_os("MAYHAP_CASES").is_none() {
            continue;
        }
        let trace = golden::real(&name);
        let prediction = run(&trace, Kind::Race, Model::Data, true, 2);
        let (osr, m2) = (published.osr, published.m2.unwrap_or(published.osr));
        let events = if name == "bubblesort" { m2.events } else { osr.events.max(m2.events) };
        assert!(prediction.racy_events >= Some(events as u64), "{name}: {:?} < {events}", prediction.racy_events);
        let locations = osr.locations.max(m2.locations) as u64;
        assert!(prediction.racy_locations >= Some(locations), "{name}: {:?}", prediction.racy_locations);
        assert_eq!(prediction.tally.unknown, 0, "{name}");
    }
}

#[test]
fn deadlocks_are_decided_as_the_models_say() {
    let proven = |name: &str, model| {
        let prediction = run(&golden::real(&format!("deadlock/{name}")), Kind::Deadlock, model, false, 2);
        assert_eq!(prediction.tally.unknown, 0, "{name}");
        assert!(prediction.tally.candidates > 0, "{name}");
        prediction.findings.len()
    };
    assert_eq!(proven("Bensalem", Model::Data), 1);
    assert_eq!(proven("StringBuffer", Model::Data), 2);
    assert_eq!(proven("Deadlock", Model::Data), 0);
    assert_eq!(proven("Deadlock", Model::Sync), 1);
    assert_eq!(proven("Dbcp1", Model::Data), 2);
    assert_eq!(proven("DiningPhil", Model::Data), 1);
    assert_eq!(proven("Account", Model::Data), 0);
    assert_eq!(proven("Account", Model::Sync), 2);
}

#[test]
fn the_number_of_workers_changes_nothing() {
    for name in ["ftpserver", "derby"] {
        let trace = golden::real(name);
        let findings = |threads| {
            let prediction = run(&trace, Kind::Race, Model::Data, false, threads);
            let shown = prediction.findings.iter().map(|f| format!("{:?} {:?}", f.target, f.proof));
            (shown.collect::<Vec<_>>(), prediction.tally)
        };
        let one = findings(1);
        assert_eq!(one, findings(3), "{name}");
        assert!(one.0.len() > 5);
    }
}

/// A race that an engine leaves open is suspected if weak causal precedence leaves it unordered, and only the first such race
/// carries the theorem.
#[test]
fn what_stays_unknown_is_suspected_if_wcp_leaves_it_unordered() {
    let open = |case: &golden::Case| {
        let options = Options {
            halt: None,
            gauges: Gauges::default(),
            kinds: vec![Kind::Race],
            // Lock histories know nothing of values, so in this model every race stays open.
            engine: EngineName::Ipa1,
            literal: false,
            model: Model::Data,
            limits: Limits::default(),
            all_instances: false,
            effort: None,
            budget: Budget::default(),
            threads: 1,
        };
        predict(&case.execution, &options).unwrap()
    };
    let case = golden::case("wcp/fig5");
    let prediction = open(&case);
    let tally = &prediction.tally;
    assert_eq!((tally.all_proven(), tally.suspected), (0, 1), "{tally:?}");
    assert!(tally.unknown >= 1, "{tally:?}");
    let [finding] = &prediction.findings[..] else { panic!("one suspicion: {:?}", prediction.findings) };
    assert!(finding.proof.is_none());
    assert_eq!(finding.target.events(), [case.event("e4"), case.event("e14")]);
    assert!(finding.suspicion.as_ref().unwrap().contains("a race or a deadlock exists"), "{finding:?}");

    let ordered = open(&golden::case("wcp/fig1a"));
    assert_eq!((ordered.tally.suspected, ordered.findings.len()), (0, 0), "{:?}", ordered.findings);
}
