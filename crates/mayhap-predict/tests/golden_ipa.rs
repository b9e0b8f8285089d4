//! iPA on the paper's Fig. 1 and on the counterexamples to what it claims.

use mayhap_predict::ipa::{Check, From, Memory, Pair, Reach};
use mayhap_predict::{Budget, Engine, Ipa, Strategy, Verdict};
use mayhap_testkit::golden::{Case, case};
use mayhap_trace::EventId;
use mayhap_witness::{Model, Target};

/// A pair as the paper writes it: locations count from 1.
fn shown(pair: Pair) -> String {
    format!("a{},b{}", pair.a + 1, pair.b + 1)
}

/// The four targets of Fig. 1 in the order of the paper, and whether they are reachable.
fn targets(case: &Case) -> Vec<(EventId, EventId, bool)> {
    let facts = case.facts.both_next.iter();
    facts.map(|f| (case.event(&f.events.0), case.event(&f.events.1), f.sync.expect("claimed"))).collect()
}

#[test]
fn fig1_verdicts() {
    let case = case("ipa/fig1");
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&case.execution, strategy);
        for (a, b, reachable) in targets(&case) {
            match engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default()) {
                Verdict::Proven(..) => assert!(reachable, "{a} {b}"),
                Verdict::Refuted(_) => assert!(!reachable, "{a} {b}"),
                Verdict::Unknown(u) => panic!("{a} {b}: {}", u.reason),
            }
        }
    }
}

#[test]
fn fig1_table2_sequence_and_stored_pairs() {
    let case = case("ipa/fig1");
    let facts = case.facts.ipa.as_ref().unwrap();
    let (a, b, _) = targets(&case)[0];
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&case.execution, strategy).memory(Memory::Published);
        let start = format!("{},{}", facts.start_pair.0, facts.start_pair.1);
        assert_eq!(engine.start_pair(a, b, From::Signal).map(shown), Some(start));
        let mut rows = Vec::new();
        let mut note = |pair, check: Check| rows.push((shown(pair), check.name().to_string()));
        let reach = engine.search_observed(a, b, From::Signal, &Budget::default(), &mut note);
        assert_eq!(reach, Reach::Unreached { exact: false });
        assert_eq!(rows, facts.table2);
        let stored: Vec<String> = engine.stored_pairs(a, b, From::Signal).iter().map(|&p| shown(p)).collect();
        assert_eq!(stored, facts.incpairs);
    }
}

#[test]
fn fig1_counts() {
    let case = case("ipa/fig1");
    let counts = case.facts.ipa.as_ref().unwrap().measured.as_ref().unwrap();
    let budget = Budget::default();
    let targets = targets(&case);
    let mut kept = Ipa::new(&case.execution, Strategy::One).memory(Memory::Published);
    let mut search = |(a, b, reachable): (EventId, EventId, bool)| {
        let before = kept.ipa_counters().clone();
        let reach = kept.search_from(a, b, From::Signal, &budget);
        assert_eq!(reach == Reach::Reached(From::Signal), reachable, "{a} {b}");
        let now = kept.ipa_counters();
        ((now.moves - before.moves) as u32, (now.visited - before.visited) as u32)
    };
    // The paper says 8 moves for the first search; its own Table II lists 9.
    assert_eq!(search(targets[0]), (counts.first_moves, counts.first_pairs_visited));
    // Then the furthest target, which passes a10,b11 on its way and so knows that pair for nothing.
    assert_eq!(search(targets[3]).0, counts.incremental_rest_moves);
    assert_eq!(search(targets[1]), (0, 0));

    let mut fresh = Ipa::new(&case.execution, Strategy::One).memory(Memory::None);
    let (mut moves, mut naive) = (Vec::new(), Vec::new());
    for (a, b, _) in targets {
        let before = fresh.ipa_counters().clone();
        fresh.search_from(a, b, From::Signal, &budget);
        moves.push((fresh.ipa_counters().moves - before.moves) as u32);
        naive.push((fresh.ipa_counters().potential_moves - before.potential_moves) as u32);
    }
    assert_eq!(moves, counts.fresh_moves_per_target);
    assert_eq!(moves.iter().sum::<u32>(), counts.non_incremental);
    assert_eq!(naive, counts.naive_per_target);
    assert_eq!(naive.iter().sum::<u32>(), counts.naive);
}

#[test]
fn incremental_search_keeps_untried_branches() {
    let case = case("counterexamples/ipa_incremental_default");
    let b4 = case.event("b4");
    for (literal, expected) in [(false, [true, true]), (true, [true, false])] {
        let mut engine = Ipa::new(&case.execution, Strategy::One).literal(literal).memory(Memory::Published);
        for (a, expected) in ["a3", "a5"].into_iter().zip(expected) {
            let reach = engine.search_from(case.event(a), b4, From::Beginning, &Budget::default());
            assert_eq!(reach == Reach::Reached(From::Beginning), expected, "{a}, literal {literal}");
        }
    }
}

#[test]
fn a_sticky_signal_does_not_hide_a_reachable_pair() {
    let case = case("counterexamples/ipa_start_pair");
    let (a, b) = (case.event("ta"), case.event("tb"));
    for strategy in [Strategy::One, Strategy::Two] {
        let mut engine = Ipa::new(&case.execution, strategy);
        // The published start pair lies beyond the only way there.
        let published = engine.search_from(a, b, From::Signal, &Budget::default());
        assert_eq!(published, Reach::Unreached { exact: false });
        let verdict = engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default());
        assert!(matches!(verdict, Verdict::Proven(..)), "{verdict:?}");
    }
}

#[test]
fn strategy_two_asks_about_third_threads_at_the_target_too() {
    let case = case("counterexamples/ipa_strategy2_terminal");
    let (a, b) = (case.event("ta"), case.event("tb"));
    let mut two = Ipa::new(&case.execution, Strategy::Two);
    assert_eq!(two.check_reach(a, b, &Budget::default()), Reach::Unreached { exact: false });
    let mut literal = Ipa::new(&case.execution, Strategy::Two).literal(true);
    assert!(matches!(literal.check_reach(a, b, &Budget::default()), Reach::Reached(_)), "the printed table says yes");
    let mut one = Ipa::new(&case.execution, Strategy::One);
    for engine in [&mut one, &mut two, &mut literal] {
        let verdict = engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default());
        assert!(!matches!(verdict, Verdict::Proven(..)), "{}: {verdict:?}", engine.name());
    }
}

#[test]
fn other_models_and_targets_stay_open() {
    let case = case("ipa/fig1");
    let (a, b) = (case.event("a10.access"), case.event("b11.access"));
    let mut engine = Ipa::new(&case.execution, Strategy::One);
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
