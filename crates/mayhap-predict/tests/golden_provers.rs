//! Every golden verdict, by `exact`, `auto` and `polygraph`; and what the papers' own methods find.

use mayhap_predict::polygraph_engine::{Reading, lookahead_finds_cycle};
use mayhap_predict::{Answer, Auto, Budget, Context, Engine, Exact, PolygraphEngine, Query, Rung, Solver, Verdict};
use mayhap_testkit::Oracle;
use mayhap_testkit::golden::{self, Case, TripletFact};
use mayhap_trace::{EventId, Execution};
use mayhap_witness::{Model, Target};

/// What all three engines say; they must agree and never be undecided.
fn holds(case: &Case, target: &Target, model: Model) -> bool {
    let context = Context::new(&case.execution);
    let engines: [Box<dyn Engine + '_>; 3] =
        [Box::new(Exact::new(&context)), Box::new(Auto::new(&context)), Box::new(PolygraphEngine::new(&context))];
    let verdicts = engines.map(|mut engine| match engine.decide(target, model, &Budget::default()) {
        Verdict::Proven(..) => true,
        Verdict::Refuted(_) => false,
        Verdict::Unknown(u) => panic!("{}: {} leaves {target:?} open: {}", case.name, engine.name(), u.reason),
    });
    assert!(verdicts.iter().all(|&v| v == verdicts[0]), "{}: {target:?} in {model}: {verdicts:?}", case.name);
    verdicts[0]
}

#[test]
fn races_sequences_and_triplets_are_decided_as_the_corpus_says() {
    let mut compared = 0;
    for case in golden::cases() {
        for fact in &case.facts.race {
            let target = Target::Race(case.event(&fact.events.0), case.event(&fact.events.1));
            for (model, truth) in fact.truth().claims() {
                assert_eq!(holds(&case, &target, model), truth, "{}: race {:?} in {model}", case.name, fact.events);
                compared += 1;
            }
        }
        for fact in &case.facts.sequence {
            let target = Target::Sequence { events: case.all(&fact.events), adjacent: vec![] };
            for (model, truth) in fact.truth().claims() {
                assert_eq!(holds(&case, &target, model), truth, "{}: {:?} in {model}", case.name, fact.events);
                compared += 1;
            }
        }
        compared += triplets(&case);
    }
    assert!(compared >= 20, "only {compared} facts were compared");
}

/// A read is nondeterministic for `other` iff kind 2 or kind 3 holds. What the corpus says of one kind alone may leave the
/// other open; the oracle knows.
fn triplets(case: &Case) -> usize {
    let event = |name: &String| (name != "init").then(|| case.event(name));
    let mut compared = 0;
    for fact in case.facts.triplet.iter().filter(|f| f.kind != 1 && f.data.is_some()) {
        let target = Target::Nondeterminism {
            write: event(&fact.write),
            read: case.event(&fact.read),
            other: event(&fact.other),
        };
        let same = |f: &&TripletFact| (&f.write, &f.read, &f.other) == (&fact.write, &fact.read, &fact.other);
        let said = |kind: u8| case.facts.triplet.iter().filter(same).find(|f| f.kind == kind).and_then(|f| f.data);
        let truth = Oracle::new(&case.trace, Model::Data).unwrap().decide(&target).unwrap().is_some();
        match (said(2), said(3)) {
            (Some(true), _) | (_, Some(true)) => assert!(truth, "{}: {fact:?}", case.name),
            (Some(false), Some(false)) => assert!(!truth, "{}: {fact:?}", case.name),
            _ => {}
        }
        assert_eq!(holds(case, &target, Model::Data), truth, "{}: {fact:?}", case.name);
        compared += 1;
    }
    compared
}

#[test]
fn the_races_of_the_data_model_are_found_and_no_others() {
    for case in golden::cases() {
        let Some(expected) = &case.facts.races.data else { continue };
        let mut found = Vec::new();
        for (b, second) in case.trace.events() {
            for (a, first) in case.trace.events().take(b.index()) {
                if first.conflicts(&second) && holds(&case, &Target::Race(a, b), Model::Data) {
                    found.push((a, b));
                }
            }
        }
        let mut expected = expected.clone();
        expected.sort();
        assert_eq!(case.locations(&found), expected, "{}", case.name);
    }
}

fn whole_order(case: &Case, before: &[(String, String)]) -> Query {
    let all: Vec<EventId> =
        case.trace.events().map(|(id, _)| id).filter(|&e| case.execution.relations().is_relevant(e)).collect();
    let edges = before.iter().map(|(x, y)| (case.event(x), case.event(y))).collect();
    Query { run: all, edges, ..Query::default() }
}

#[test]
fn orders_of_all_events_saturation_and_lookahead_are_as_the_corpus_says() {
    let mut compared = 0;
    for case in golden::cases() {
        let Some(fact) = &case.facts.all_events else { continue };
        let context = Context::new(&case.execution);
        let query = whole_order(&case, &fact.before);
        for mut solver in [Solver::new(&context), Solver::new(&context).on_whole_slice()] {
            let answer = solver.decide_query(&query, Model::Sync, &Budget::default());
            assert_eq!(matches!(answer, Answer::Schedule(..)), fact.sync, "{}: {answer:?}", case.name);
            if let Answer::Refuted(refutation) = answer {
                let by_rules = refutation.rung == Rung::Saturation;
                assert_eq!(by_rules, fact.rule1_finds_cycle, "{}: {refutation:?}", case.name);
                assert_eq!(by_rules, !refutation.cycle.is_empty());
            }
        }
        if !fact.rule1_finds_cycle && !fact.sync {
            let broke = Budget { nodes: 0, ..Budget::default() };
            let answer = Solver::new(&context).decide_query(&query, Model::Sync, &broke);
            assert_eq!(answer, Answer::Spent, "{}: only a search refutes it", case.name);
        }
        let narrow = Budget { region: 0, ..Budget::default() };
        let answer = Solver::new(&context).decide_query(&query, Model::Sync, &narrow);
        assert_eq!(answer, Answer::Spent, "{}: something has to be reordered", case.name);
        let finds = |k, reading| lookahead_finds_cycle(&context, &query, Model::Sync, k, reading);
        assert_eq!(finds(0, Reading::Vacuous), fact.rule1_finds_cycle, "{}: rule 1", case.name);
        if let Some(k) = fact.lookahead_cycle_at {
            assert!(finds(k as usize, Reading::Vacuous), "{}: lookahead {k}", case.name);
            assert!(k == 0 || !finds(k as usize - 1, Reading::Vacuous), "{}: lookahead {}", case.name, k - 1);
        }
        for (k, &cycle) in &fact.lookahead_literal {
            let k = k.parse().unwrap();
            assert_eq!(finds(k, Reading::Literal), cycle, "{}: literal lookahead {k}", case.name);
        }
        for (k, &cycle) in &fact.lookahead_vacuous {
            assert_eq!(finds(k.parse().unwrap(), Reading::Vacuous), cycle, "{}: lookahead {k}", case.name);
        }
        assert!(fact.sync || finds(4, Reading::Saturating), "{}: saturating lookahead", case.name);
        compared += 1;
    }
    assert!(compared >= 4, "only {compared} orders were compared");
}

fn verdict_on(trace: &mayhap_trace::Trace, target: &Target, model: Model) -> Verdict {
    let execution = Execution::derive(trace).unwrap();
    Auto::new(&Context::new(&execution)).decide(target, model, &Budget::default())
}

/// `n` philosophers who each take their left fork first; with a gate, all take that lock before.
fn philosophers(n: usize, gate: bool) -> (mayhap_trace::Trace, Target) {
    let mut text = String::new();
    let mut requests = Vec::new();
    let mut number = 0;
    for p in 0..n {
        let mut line = |op: &str, lock: String| {
            text.push_str(&format!("T{p}|{op}({lock})|{op}{p}{lock}\n"));
            number += 1;
            number
        };
        if gate {
            line("acq", "gate".to_string());
        }
        line("acq", format!("f{p}"));
        requests.push(EventId::from_number(line("acq", format!("f{}", (p + 1) % n))).unwrap());
        line("rel", format!("f{}", (p + 1) % n));
        line("rel", format!("f{p}"));
        if gate {
            line("rel", "gate".to_string());
        }
    }
    (mayhap_trace::format::parse_std(&text).unwrap(), Target::Deadlock(requests))
}

#[test]
fn philosophers_starve_unless_there_is_a_gate() {
    for model in Model::ALL {
        let (trace, target) = philosophers(5, false);
        assert!(matches!(verdict_on(&trace, &target, model), Verdict::Proven(..)));
        let (trace, target) = philosophers(5, true);
        assert!(matches!(verdict_on(&trace, &target, model), Verdict::Refuted(_)));
    }
}

/// The race that weak causal precedence leaves unordered on derby and the published tool does not count.
#[test]
fn the_race_of_derby_that_was_not_counted_is_one() {
    let trace = golden::real("derby");
    let event = |number: u64| trace.by_number(number).unwrap();
    let verdict = verdict_on(&trace, &Target::Race(event(64_009), event(64_101)), Model::Data);
    assert!(matches!(verdict, Verdict::Proven(..)), "{verdict:?}");
}
