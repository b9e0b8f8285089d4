//! The oracle and the reference orders agree with every fact of the golden corpus that they can decide.
//!
//! Not decidable here, since it is about one algorithm: `said`, the tables of SeqCheck and iPA, what Rule 1 and lookahead
//! find, choice graphs, and races of WCP's printed algorithm. The engines' own tests check those.

use mayhap_testkit::golden::{self, Case, Pair};
use mayhap_testkit::reference::{self, Order};
use mayhap_testkit::{Oracle, TooBig};
use mayhap_trace::EventId;
use mayhap_witness::{Checker, Model, Target, Witness};

/// The oracle of each model, explored when first asked.
struct Oracles<'c> {
    case: &'c Case,
    explored: [Option<Oracle>; 5],
}

impl<'c> Oracles<'c> {
    fn new(case: &'c Case) -> Self {
        Oracles { case, explored: [const { None }; 5] }
    }

    fn get(&mut self, model: Model) -> &Oracle {
        let explored = &mut self.explored[model as usize];
        explored.get_or_insert_with(|| Oracle::new(&self.case.trace, model).expect("golden cases are small"))
    }

    /// Returns the verdict; a witness must also pass the kernel.
    fn holds(&mut self, model: Model, target: &Target) -> bool {
        let witness = self.get(model).decide(target).expect("golden cases are small");
        let mut checker = Checker::new(&self.case.execution);
        let proven = witness.is_some();
        if let Some(witness) = witness {
            let checked = checker.check(target, model, witness);
            checked.unwrap_or_else(|e| panic!("{} {model} {target:?}: {e}", self.case.name));
        }
        proven
    }
}

fn sorted(pairs: &[Pair]) -> Vec<Pair> {
    let mut pairs = pairs.to_vec();
    pairs.sort();
    pairs
}

/// Runs `judge` over all cases; it returns how many facts it compared, which must be this many in all.
fn over_all_cases(facts: usize, judge: impl Fn(&Case) -> usize) {
    let compared: usize = golden::cases().iter().map(judge).sum();
    assert_eq!(compared, facts, "facts compared");
}

#[test]
fn race_sets_by_order() {
    over_all_cases(25, |case| {
        let races = &case.facts.races;
        let sets = [(Order::Hb, &races.hb), (Order::Cp, &races.cp), (Order::Wcp, &races.wcp)];
        for (order, expected) in sets {
            if let Some(expected) = expected {
                let found = case.locations(&reference::races(&case.trace, order));
                assert_eq!(found, sorted(expected), "{} {order:?}", case.name);
            }
        }
        sets.iter().filter(|(_, set)| set.is_some()).count()
    });
}

#[test]
fn race_sets_that_can_be_scheduled() {
    over_all_cases(9, |case| {
        let Some(expected) = &case.facts.races.data else { return 0 };
        let found = Oracles::new(case).get(Model::Data).all_races();
        assert_eq!(case.locations(&found), sorted(expected), "{}", case.name);
        1
    });
}

#[test]
fn deadlocks() {
    over_all_cases(6, |case| {
        let mut claims = 0;
        for (model, expected) in case.facts.deadlock.claims() {
            let mut oracles = Oracles::new(case);
            let found = oracles.get(model).all_deadlocks();
            assert_eq!(!found.is_empty(), expected, "{}: {found:?}", case.name);
            for requests in found {
                assert!(oracles.holds(model, &Target::Deadlock(requests)));
            }
            claims += 1;
        }
        claims
    });
    let fig5 = golden::case("wcp/fig5");
    let requests = ["e2", "e7", "e11"].map(|l| fig5.event(l)).to_vec();
    let witness = Oracles::new(&fig5).get(Model::Data).deadlock(&requests).expect("the published deadlock");
    assert_eq!(witness.schedule, ["e1", "e6", "e10"].map(|l| fig5.event(l)), "as published");
}

#[test]
fn races() {
    over_all_cases(22, |case| {
        let mut claims = 0;
        for fact in &case.facts.race {
            let target = Target::Race(case.event(&fact.events.0), case.event(&fact.events.1));
            for (model, expected) in fact.truth().claims() {
                assert_eq!(Oracles::new(case).holds(model, &target), expected, "{} {model} {target:?}", case.name);
                claims += 1;
            }
        }
        claims
    });
}

#[test]
fn events_that_can_both_be_next() {
    over_all_cases(8, |case| {
        let mut claims = 0;
        for fact in &case.facts.both_next {
            // A location past the thread's last event has no event that could be next.
            let there = |pair: &&Pair| !case.events(&pair.0).is_empty() && !case.events(&pair.1).is_empty();
            for (a, b) in [&fact.events].into_iter().chain(fact.locations.iter().filter(there)) {
                for (model, expected) in fact.truth().claims() {
                    let found = Oracles::new(case).get(model).both_next(case.event(a), case.event(b));
                    assert_eq!(found.is_some(), expected, "{} {model} {a} {b}", case.name);
                }
            }
            claims += 1;
        }
        claims
    });
}

#[test]
fn sequences() {
    over_all_cases(7, |case| {
        let mut claims = 0;
        for fact in &case.facts.sequence {
            let target = Target::Sequence { events: case.all(&fact.events), adjacent: vec![] };
            for (model, expected) in fact.truth().claims() {
                assert_eq!(Oracles::new(case).holds(model, &target), expected, "{} {model} {target:?}", case.name);
                claims += 1;
            }
            if let Some(tables) = &fact.seqcheck {
                let schedule: Vec<EventId> =
                    tables.linearisation.iter().map(|&n| EventId::from_number(n).unwrap()).collect();
                let checked =
                    Checker::new(&case.execution).check(&target, Model::Branch, Witness { schedule: schedule.into() });
                checked.unwrap_or_else(|e| panic!("{}: the published schedule: {e}", case.name));
            }
        }
        claims
    });
}

#[test]
fn triplets() {
    over_all_cases(8, |case| {
        for fact in &case.facts.triplet {
            let [w, r, c] = [&fact.write, &fact.read, &fact.other].map(|l| case.event(l));
            let mut oracles = Oracles::new(case);
            let oracle = oracles.get(Model::Data);
            let found = oracle.nondeterminism(Some(w), r, Some(c), fact.kind).expect("golden cases are small");
            assert_eq!(found.is_some(), fact.data.expect("a claim"), "{} {fact:?}", case.name);
            let target = Target::Nondeterminism { write: Some(w), read: r, other: Some(c) };
            let any = [2, 3].map(|kind| oracle.nondeterminism(Some(w), r, Some(c), kind).unwrap().is_some());
            assert_eq!(oracles.holds(Model::Data, &target), any.contains(&true), "{} {target:?}", case.name);
        }
        case.facts.triplet.len()
    });
}

#[test]
fn orders_of_all_events() {
    over_all_cases(5, |case| {
        let Some(fact) = &case.facts.all_events else { return 0 };
        let edges: Vec<(EventId, EventId)> = fact.before.iter().map(|(a, b)| (case.event(a), case.event(b))).collect();
        let found: Result<Option<Witness>, TooBig> = Oracles::new(case).get(Model::Sync).all_events_with(&edges);
        assert_eq!(found.unwrap().is_some(), fact.sync, "{}", case.name);
        1
    });
}

#[test]
fn wcp_pairs() {
    over_all_cases(4, |case| {
        let wcp = reference::order(&case.trace, Order::Wcp);
        let ordered = |(a, b): &Pair| {
            let [a, b] = [a, b].map(|l| case.event(l).index());
            wcp[a][b] || wcp[b][a]
        };
        case.facts.wcp.ordered.iter().for_each(|pair| assert!(ordered(pair), "{} {pair:?}", case.name));
        case.facts.wcp.unordered.iter().for_each(|pair| assert!(!ordered(pair), "{} {pair:?}", case.name));
        case.facts.wcp.ordered.len() + case.facts.wcp.unordered.len()
    });
}

/// What named partial orders say about single races.
#[test]
fn what_cp_says() {
    over_all_cases(4, |case| {
        let mut claims = 0;
        for fact in &case.facts.race {
            if let Some(&said) = fact.said.get("cp") {
                let race = (case.event(&fact.events.0), case.event(&fact.events.1));
                assert_eq!(reference::races(&case.trace, Order::Cp).contains(&race), said, "{} {race:?}", case.name);
                claims += 1;
            }
        }
        claims
    });
}
