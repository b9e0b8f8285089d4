//! SeqCheck and UCG on the golden cases: the paper's figures step by step, and the counterexamples to its claims.

use mayhap_predict::seqcheck::Decision;
use mayhap_predict::{Budget, Engine, SeqCheck, Ucg, Verdict};
use mayhap_testkit::golden::{Case, case, cases};
use mayhap_trace::EventId;
use mayhap_witness::{Model, Target};

fn numbers(pairs: &[(EventId, EventId)]) -> Vec<(u64, u64)> {
    let mut numbers: Vec<(u64, u64)> = pairs.iter().map(|(a, b)| (a.number(), b.number())).collect();
    numbers.sort_unstable();
    numbers
}

fn sorted(pairs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    pairs
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proven(..) => "proven",
        Verdict::Refuted(_) => "refuted",
        Verdict::Unknown(_) => "unknown",
    }
}

fn decide(case: &Case, literal: bool, target: &Target, model: Model) -> Verdict {
    SeqCheck::new(&case.execution, literal).decide(target, model, &Budget::default())
}

/// Tables 1 and 2, Fig. 4: both engines compute what the paper prints for the running example.
#[test]
fn fig2_step_by_step() {
    let case = case("seqcheck/fig2");
    let fact = &case.facts.sequence[0];
    let expected = fact.seqcheck.as_ref().unwrap();
    let sequence = case.all(&fact.events);
    for literal in [false, true] {
        let engine = SeqCheck::new(&case.execution, literal);
        let analysis = engine.analyse(&sequence, &[], Model::Branch);
        let candidate: Vec<u64> = analysis.candidate.iter().map(|e| e.number()).collect();
        assert_eq!(candidate, expected.f);
        assert_eq!(numbers(&analysis.observation), sorted(&expected.c_oo));
        assert_eq!(numbers(&analysis.locks), sorted(&expected.c_lo));
        assert_eq!(numbers(&analysis.sequence), sorted(&expected.c_so));
        assert_eq!(numbers(&analysis.closure), sorted(&expected.closure_adds));
        let Decision::Feasible(order) = analysis.decision else { panic!("{:?}", analysis.decision) };
        let order: Vec<u64> = order.iter().map(|e| e.number()).collect();
        assert_eq!(order, expected.linearisation);
    }
}

/// Every race, deadlock and sequence of the golden cases that says something about a model.
#[test]
fn golden_verdicts() {
    let mut claims = 0;
    for case in cases() {
        let mut questions = Vec::new();
        for fact in &case.facts.race {
            let target = Target::Race(case.event(&fact.events.0), case.event(&fact.events.1));
            questions.extend(fact.truth().claims().map(|(model, truth)| (target.clone(), model, truth)));
        }
        for fact in &case.facts.sequence {
            let target = Target::Sequence { events: case.all(&fact.events), adjacent: Vec::new() };
            questions.extend(fact.truth().claims().map(|(model, truth)| (target.clone(), model, truth)));
        }
        let mut ucg = Ucg::new(&case.execution);
        for (target, model, truth) in questions {
            claims += 1;
            let verdict = decide(&case, false, &target, model);
            let expected = if truth { "proven" } else { "refuted" };
            assert_eq!(word(&verdict), expected, "{} {target:?} {model}: {verdict:?}", case.name);
            let graph = ucg.decide(&target, model, &Budget::default());
            assert!(!truth || word(&graph) == "unknown", "{} {target:?}: {graph:?}", case.name);
        }
    }
    assert!(claims > 10, "{claims}");
}

/// The published decision errs where the counterexamples say so, and never proves or refutes by its own word.
#[test]
fn the_literal_engine_errs_as_described() {
    for name in
        ["seqcheck/fig1", "counterexamples/seqcheck_2thread_incomplete", "counterexamples/seqcheck_initial_value"]
    {
        let case = case(name);
        let fact = &case.facts.sequence[0];
        assert_eq!((fact.said["literal"], fact.branch), (false, Some(true)), "{name}");
        let target = Target::Sequence { events: case.all(&fact.events), adjacent: Vec::new() };
        match decide(&case, true, &target, Model::Branch) {
            Verdict::Unknown(u) => assert!(u.reason.contains("says infeasible"), "{name}: {}", u.reason),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(word(&decide(&case, false, &target, Model::Branch)), "proven", "{name}");
    }
}

#[test]
fn deadlocks_stop_before_the_inner_acquires() {
    let case = case("counterexamples/seqcheck_deadlock_encoding");
    let target = Target::Deadlock(vec![case.event("e2"), case.event("e6")]);
    for model in Model::ALL {
        assert_eq!(word(&decide(&case, false, &target, model)), "proven");
    }
    let literal = decide(&case, true, &target, Model::Branch);
    assert!(matches!(&literal, Verdict::Unknown(u) if u.reason.contains("says infeasible")), "{literal:?}");
}

#[test]
fn sections_of_third_threads_may_stay_open() {
    let case = case("counterexamples/close_third_thread");
    let target = Target::Race(case.event("e2"), case.event("e10"));
    assert_eq!(word(&decide(&case, false, &target, Model::Data)), "proven");
    assert_ne!(word(&decide(&case, true, &target, Model::Data)), "proven");
}

/// Fig. 7 of the polygraph paper: what UCG says there.
#[test]
fn ucg_says_what_its_rule_says() {
    for name in ["polygraph/fig7_trace1", "polygraph/fig7_trace2"] {
        let case = case(name);
        let mut ucg = Ucg::new(&case.execution);
        for fact in &case.facts.race {
            let target = Target::Race(case.event(&fact.events.0), case.event(&fact.events.1));
            let suspected = match ucg.decide(&target, Model::Data, &Budget::default()) {
                Verdict::Unknown(u) => u.suspected,
                Verdict::Refuted(_) => false,
                Verdict::Proven(..) => panic!("ucg proves nothing"),
            };
            assert_eq!(Some(&suspected), fact.said.get("ucg"), "{name} {:?}", fact.events);
        }
    }
}
