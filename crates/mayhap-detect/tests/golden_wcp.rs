//! The figures of the WCP paper and the counterexamples to its algorithm.

use std::collections::BTreeSet;

use mayhap_detect::{Options, Order, detect};
use mayhap_testkit::golden::{self, Case, Pair};

/// Reported pairs of locations, earlier event first.
fn found(case: &Case, order: Order) -> BTreeSet<Pair> {
    let found = detect(&mut &case.trace, order, &Options::default()).unwrap();
    let pairs = found.races.iter();
    pairs.map(|r| (case.location(r.first.0).to_string(), case.location(r.second.0).to_string())).collect()
}

#[test]
fn figures_and_counterexamples_have_their_races() {
    let mut claims = 0;
    for case in golden::cases() {
        let races = &case.facts.races;
        for (order, claimed) in [(Order::Hb, &races.hb), (Order::Cp, &races.cp), (Order::Wcp, &races.wcp)] {
            if let Some(claimed) = claimed {
                assert_eq!(found(&case, order), claimed.iter().cloned().collect(), "{} by {order}", case.name);
                claims += 1;
            }
        }
    }
    // Seven figures by three orders (the eighth claims orderings only), and two counterexamples.
    assert!(claims >= 7 * 3 + 2, "{claims}");
}

#[test]
fn the_printed_algorithm_loses_a_race_that_this_one_finds() {
    let case = golden::case("counterexamples/wcp_alg1_same_thread_leak");
    assert_eq!(case.facts.races.wcp_printed, Some(Vec::new()));
    assert_eq!(found(&case, Order::Wcp), BTreeSet::from([("e2".to_string(), "e10".to_string())]));
}

/// Later races are suspected though they cannot happen; the first is real.
#[test]
fn only_the_first_race_is_sure() {
    let case = golden::case("counterexamples/wcp_later_race_false");
    assert_eq!(found(&case, Order::Wcp).len(), 2);
    let first = detect(&mut &case.trace, Order::Wcp, &Options { first: true, ..Options::default() }).unwrap();
    let pair = (first.races[0].first.0, first.races[0].second.0);
    assert_eq!(case.locations(&[pair]), [("e1".to_string(), "e2".to_string())]);
    assert_eq!(found(&case, Order::SyncP), BTreeSet::from([("e1".to_string(), "e2".to_string())]));
}

/// Figure 5: WCP reports where there is no race but a deadlock; CP does not.
#[test]
fn wcp_may_stand_for_a_deadlock() {
    let case = golden::case("wcp/fig5");
    assert_eq!(case.facts.deadlock.data, Some(true));
    assert_eq!(found(&case, Order::Wcp), BTreeSet::from([("e4".to_string(), "e14".to_string())]));
    assert!(found(&case, Order::Cp).is_empty() && found(&case, Order::SyncP).is_empty());
}
