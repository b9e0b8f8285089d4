//! iPA on the paper's Fig. 1 and on the counterexamples to what it claims.

use mayhap_predict::ipa::{Check, From, Pair, Reach};
use mayhap_predict::{Budget, Engine, Ipa, Strategy, Verdict};
use mayhap_trace::{EventId, Relations, Trace};
use mayhap_witness::{Model, Target};

fn read(name: &str) -> (Trace, Relations) {
    let path = format!("{}/../../corpus/golden/{name}.std", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let trace = mayhap_trace::format::parse_std(&text).unwrap();
    let relations = Relations::derive(&trace).unwrap();
    (trace, relations)
}

/// The event whose location has this name.
fn at(trace: &Trace, name: &str) -> EventId {
    let named = |e: &mayhap_trace::Event| trace.tables().location(e.location) == Some(name);
    trace.events().find(|(_, e)| named(e)).unwrap_or_else(|| panic!("no event {name}")).0
}

/// A pair as the paper writes it: locations count from 1.
fn shown(pair: Pair) -> String {
    format!("a{},b{}", pair.a + 1, pair.b + 1)
}

const FIG1: [(&str, &str, bool); 4] = [
    ("a10.access", "b10.access", false),
    ("a10.access", "b11.access", true),
    ("a11.access", "b10.access", false),
    ("a11.access", "b11.access", true),
];

#[test]
fn fig1_verdicts() {
    let (trace, relations) = read("ipa/fig1");
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&trace, &relations, strategy);
        for (a, b, reachable) in FIG1 {
            let target = Target::Race(at(&trace, a), at(&trace, b));
            let verdict = engine.decide(&target, Model::Sync, &Budget::default());
            match verdict {
                Verdict::Proven(..) => assert!(reachable, "{a} {b}"),
                Verdict::Refuted(_) => assert!(!reachable, "{a} {b}"),
                Verdict::Unknown(u) => panic!("{a} {b}: {}", u.reason),
            }
        }
    }
}

#[test]
fn fig1_table2_sequence_and_stored_pairs() {
    let (trace, relations) = read("ipa/fig1");
    let (a, b) = (at(&trace, "a10.access"), at(&trace, "b10.access"));
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&trace, &relations, strategy);
        assert_eq!(engine.start_pair(a, b, From::Signal).map(shown), Some("a3,b4".to_string()));
        let mut rows = Vec::new();
        let mut note = |pair, check: Check| rows.push((shown(pair), check.name()));
        let reach = engine.search_observed(a, b, From::Signal, &Budget::default(), &mut note);
        assert_eq!(reach, Reach::Unreached { exact: false });
        let table2 = [
            ("a3,b4", "RC3"),
            ("a4,b5", "RC4"),
            ("a5,b5", "RC2"),
            ("a6,b5", "RC5"),
            ("a6,b6", "RC7"),
            ("a7,b6", "LCC4"),
            ("a8,b6", "LCC4"),
            ("a9,b6", "LCC4"),
            ("a10,b6", "LCC3"),
            ("a10,b7", "LCC2"),
        ];
        assert_eq!(rows, table2.map(|(pair, check)| (pair.to_string(), check)));
        let stored: Vec<String> = engine.stored_pairs(a, b, From::Signal).iter().map(|&p| shown(p)).collect();
        assert_eq!(stored, ["a4,b5", "a6,b5", "a6,b6", "a10,b6", "a10,b7"]);
    }
}

#[test]
fn fig1_counts() {
    let (trace, relations) = read("ipa/fig1");
    let budget = Budget::default();
    let mut kept = Ipa::new(&trace, &relations, Strategy::One);
    let mut search = |(a, b, reachable): (&str, &str, bool)| {
        let before = kept.ipa_counters().clone();
        let reach = kept.search_from(at(&trace, a), at(&trace, b), From::Signal, &budget);
        assert_eq!(reach == Reach::Reached(From::Signal), reachable, "{a} {b}");
        let now = kept.ipa_counters();
        (now.moves - before.moves, now.visited - before.visited, now.calls() - before.calls())
    };
    // The paper says 8 moves for the first search; its own Table II lists 9.
    assert_eq!(search(FIG1[0]), (9, 10, 10));
    // The furthest target: 13 more moves, as published. Having passed a10,b11 it knows that pair for nothing.
    assert_eq!(search(FIG1[3]).0, 13);
    assert_eq!(search(FIG1[1]), (0, 0, 0));

    let mut fresh = Ipa::new(&trace, &relations, Strategy::One).incremental(false);
    let mut moves = Vec::new();
    let mut naive = Vec::new();
    for (a, b, _) in FIG1 {
        let before = fresh.ipa_counters().clone();
        fresh.search_from(at(&trace, a), at(&trace, b), From::Signal, &budget);
        moves.push(fresh.ipa_counters().moves - before.moves);
        naive.push(fresh.ipa_counters().potential_moves - before.potential_moves);
    }
    assert_eq!(moves, [9, 13, 12, 14]);
    assert_eq!(naive, [97, 112, 110, 127]);
    assert_eq!(naive.iter().sum::<u64>(), 446);
}

#[test]
fn incremental_search_keeps_untried_branches() {
    let (trace, relations) = read("counterexamples/ipa_incremental_default");
    let b4 = at(&trace, "b4");
    for (literal, expected) in [(false, [true, true]), (true, [true, false])] {
        let mut engine = Ipa::new(&trace, &relations, Strategy::One).literal(literal);
        for (a, expected) in ["a3", "a5"].into_iter().zip(expected) {
            let reach = engine.search_from(at(&trace, a), b4, From::Beginning, &Budget::default());
            assert_eq!(reach == Reach::Reached(From::Beginning), expected, "{a}, literal {literal}");
        }
    }
}

#[test]
fn a_sticky_signal_does_not_hide_a_reachable_pair() {
    let (trace, relations) = read("counterexamples/ipa_start_pair");
    let (a, b) = (at(&trace, "ta"), at(&trace, "tb"));
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&trace, &relations, strategy);
        // The published start pair lies beyond the only way there.
        let published = engine.search_from(a, b, From::Signal, &Budget::default());
        assert_eq!(published, Reach::Unreached { exact: false });
        let verdict = engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default());
        assert!(matches!(verdict, Verdict::Proven(..)), "{verdict:?}");
    }
}

#[test]
fn strategy_two_asks_about_third_threads_at_the_target_too() {
    let (trace, relations) = read("counterexamples/ipa_strategy2_terminal");
    let (a, b) = (at(&trace, "ta"), at(&trace, "tb"));
    let mut two = Ipa::new(&trace, &relations, Strategy::Two);
    assert_eq!(two.check_reach(a, b, &Budget::default()), Reach::Unreached { exact: false });
    let mut literal = Ipa::new(&trace, &relations, Strategy::Two).literal(true);
    assert!(matches!(literal.check_reach(a, b, &Budget::default()), Reach::Reached(_)), "the printed table says yes");
    let mut one = Ipa::new(&trace, &relations, Strategy::One);
    for engine in [&mut one, &mut two, &mut literal] {
        let verdict = engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default());
        assert!(!matches!(verdict, Verdict::Proven(..)), "{}: {verdict:?}", engine.name());
    }
}

#[test]
fn other_models_and_targets_stay_open() {
    let (trace, relations) = read("ipa/fig1");
    let (a, b) = (at(&trace, "a10.access"), at(&trace, "b11.access"));
    let mut engine = Ipa::new(&trace, &relations, Strategy::One);
    let questions = [
        (Target::Race(a, b), Model::Data, "sync model only"),
        (Target::Sequence { events: vec![a, b], adjacent: Vec::new() }, Model::Sync, "races only"),
    ];
    for (target, model, words) in questions {
        match engine.decide(&target, model, &Budget::default()) {
            Verdict::Unknown(u) => assert!(u.reason.contains(words) && !u.suspected, "{}", u.reason),
            other => panic!("{other:?}"),
        }
    }
}
