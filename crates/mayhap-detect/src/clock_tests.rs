//! The clocks of every order against its definition: for any two events, not only for accesses.

use std::rc::Rc;

use mayhap_testkit::reference::{self, Matrix};
use mayhap_testkit::{Generator, Profile, cases};
use mayhap_trace::{Op, Relations, Trace};

use crate::census::Census;
use crate::hb::HappensBefore;
use crate::rules::Rules;
use crate::stream::{Access, Joined, Sync, Whole};
use crate::wcp::{Wcp, saturate};

/// What the clocks order, event by event; events of one thread as they follow each other.
fn by_clocks(trace: &Trace, relations: &Relations, mut rules: impl Rules) -> Matrix {
    let tables = trace.tables();
    rules.grow(tables);
    let mut joined = Joined::default();
    let mut order = vec![vec![false; trace.len()]; trace.len()];
    let mut times = vec![0; trace.len()];
    for (id, event) in trace.events().filter(|(id, _)| relations.is_relevant(*id)) {
        let thread = event.thread.index();
        let updates = joined.take(&event);
        times[id.index()] = rules.now(thread);
        match event.op {
            Op::Read | Op::Write => {
                let access = Access::of(id.cell(), &event, updates);
                rules.before_check(&access);
                rules.after_check(&access);
            }
            Op::Branch => {}
            _ => {
                let partner = (event.op == Op::Wait).then(|| relations.notify_of(id)).flatten().map(|n| n.cell());
                rules.sync(&Sync { id: id.cell(), event: &event, partner });
            }
        }
        for (earlier, other) in trace.events().take(id.index()).filter(|(e, _)| relations.is_relevant(*e)) {
            let known =
                other.thread == event.thread || times[earlier.index()] <= rules.knows(thread, other.thread.index());
            order[earlier.index()][id.index()] = known;
        }
    }
    order
}

fn check(trace: &Trace, context: &str) {
    let relations = Relations::derive(trace).unwrap();
    let same = |order, found: Matrix| {
        let defined = reference::order(trace, order);
        for (b, a) in (0..trace.len()).flat_map(|b| (0..b).map(move |a| (b, a))) {
            assert_eq!(found[a][b], defined[a][b], "{context}: {order:?} of events {} and {}", a + 1, b + 1);
        }
    };
    same(reference::Order::Hb, by_clocks(trace, &relations, HappensBefore::<false>::default()));
    same(reference::Order::Shb, by_clocks(trace, &relations, HappensBefore::<true>::default()));
    let mut input = trace;
    let mut whole = Whole::new(&mut input);
    let census = Rc::new(Census::take(&mut whole).unwrap());
    let cp = saturate(&mut whole, &census).unwrap();
    same(reference::Order::Cp, by_clocks(trace, &relations, cp()));
    same(reference::Order::Wcp, by_clocks(trace, &relations, Wcp::new(census)));
}

/// Sections of many threads around each other, with and without reader locks, forks and signals.
fn crowded() -> Vec<(&'static str, Profile)> {
    let locks = Profile { locks: 3, depth: 3, variables: 3, burst: 60, ..Profile::races() }.sized(4, 28);
    let threads = Profile { forks: 3, joins: 2, notifies: 2, waits: 3, ..locks.clone() };
    let readers = Profile { shared_acquires: 5, nested: false, ..threads.clone() };
    vec![("crowded locks", locks), ("crowded threads", threads), ("crowded readers", readers)]
}

#[test]
fn clocks_are_the_definitions() {
    let profiles: Vec<_> = Profile::every().into_iter().chain(crowded()).collect();
    let each = cases(3_000).div_ceil(profiles.len());
    for (name, profile) in profiles {
        for (seed, trace) in Generator::new(profile, 500_000_000).take(each) {
            check(&trace, &format!("{name}, seed {seed}"));
        }
    }
}

#[test]
fn clocks_are_the_definitions_on_the_corpus() {
    for case in mayhap_testkit::golden::cases() {
        check(&case.trace, &case.name);
    }
}

/// The orderings that the paper's figures claim.
#[test]
fn wcp_orders_what_the_figures_say() {
    let mut claims = 0;
    for case in mayhap_testkit::golden::cases() {
        let mut input = &case.trace;
        let census = Rc::new(Census::take(&mut Whole::new(&mut input)).unwrap());
        let order = by_clocks(&case.trace, case.execution.relations(), Wcp::new(census));
        let ordered = |(a, b): &(String, String)| order[case.event(a).index()][case.event(b).index()];
        for pair in &case.facts.wcp.ordered {
            assert!(ordered(pair), "{}: {pair:?}", case.name);
            claims += 1;
        }
        for pair in &case.facts.wcp.unordered {
            assert!(!ordered(pair), "{}: {pair:?}", case.name);
            claims += 1;
        }
    }
    assert!(claims >= 4, "{claims}");
}
