//! Detectors by clocks against the definitions of their orders.
//!
//! Where each event has a location of its own, the pairs of locations are the pairs of events, and the detector must report
//! exactly the races of the definition. Where events share locations, it must report the first instance of each pair.

use std::collections::{BTreeMap, BTreeSet};

use mayhap_detect::{Detection, Options, Order, detect};
use mayhap_testkit::{Facts, Generator, Oracle, Profile, cases, reference, shrink};
use mayhap_trace::{Columns, EventId, Trace};
use mayhap_witness::Model;

/// All races of the definition.
fn defined(trace: &Trace, order: Order) -> Vec<(EventId, EventId)> {
    match order {
        Order::Hb => reference::races(trace, reference::Order::Hb),
        Order::Shb => reference::races(trace, reference::Order::Shb),
        Order::Cp => reference::races(trace, reference::Order::Cp),
        Order::Wcp => reference::races(trace, reference::Order::Wcp),
        Order::SyncP => Oracle::sync_preserving(trace, Model::Data, Oracle::LIMIT).unwrap().all_races(),
        Order::Lockset => unreachable!("locksets are no order"),
    }
}

fn run(trace: &Trace, order: Order) -> Detection {
    detect(&mut &*trace, order, &Options { distance: true, ..Options::default() }).unwrap()
}

/// What a detector must report for these races.
fn check(trace: &Trace, order: Order, races: &[(EventId, EventId)], context: &str) {
    let found = run(trace, order);
    let mut seconds: Vec<EventId> = races.iter().map(|r| r.1).collect();
    seconds.sort();
    seconds.dedup();
    let place = |e: EventId| trace.event(e).location.map_or(Err(trace.event(e).object), |l| Ok(l.index()));
    let mut locations: Vec<_> = seconds.iter().map(|&e| place(e)).collect();
    locations.sort();
    locations.dedup();
    let mut variables: Vec<_> = seconds.iter().map(|&e| trace.event(e).object).collect();
    variables.sort();
    variables.dedup();
    let counts = (found.racy_events, found.racy_locations, found.racy_variables);
    assert_eq!(counts, (seconds.len() as u64, locations.len() as u64, variables.len() as u64), "{context}");

    // First instance: the least second event, and with it the nearest first one.
    let mut first: BTreeMap<_, ((EventId, EventId), u64)> = BTreeMap::new();
    for &(a, b) in races {
        let key = (place(a).min(place(b)), place(a).max(place(b)));
        let apart = b.number() - a.number();
        let (instance, distance) = first.entry(key).or_insert(((a, b), apart));
        if (b, instance.0) < (instance.1, a) {
            *instance = (a, b);
        }
        *distance = apart.min(*distance);
    }
    let expected: Vec<_> = first.into_values().collect();
    let mut reported: Vec<_> =
        found.races.iter().map(|r| ((r.first.0, r.second.0), r.distance.expect("asked for"))).collect();
    let by_event = |r: &((EventId, EventId), u64)| (r.0.1, r.0.0);
    assert!(reported.is_sorted_by_key(|r| r.0.1), "{context}: {reported:?} is not in the order of second events");
    reported.sort_by_key(by_event);
    let mut expected = expected;
    expected.sort_by_key(by_event);
    assert_eq!(reported, expected, "{context}");
}

fn exactly_the_definition(order: Order) {
    let (mut racy, profiles) = (0, Profile::every());
    let each = cases(3_000) / profiles.len();
    // Failed attempts may have had several reasons, of which the detector keeps one, and joined accesses are not all compared.
    let exact = |name: &str| order != Order::SyncP || !["atomics", "attempts", "waits", "programs"].contains(&name);
    for (name, profile) in profiles.into_iter().filter(|(name, _)| exact(name)) {
        for sites in [0, 4] {
            let profile = Profile { sites, ..profile.clone() };
            for (seed, trace) in Generator::new(profile, sites as u64 * 1_000_000).take(each / 2) {
                let races = defined(&trace, order);
                racy += usize::from(!races.is_empty());
                check(&trace, order, &races, &format!("{name}, {sites} sites, seed {seed}"));
            }
        }
    }
    assert!(racy > each, "only {racy} traces with a race");
}

#[test]
fn hb_reports_exactly_the_unordered_pairs() {
    exactly_the_definition(Order::Hb);
}

#[test]
fn shb_reports_exactly_the_unordered_pairs() {
    exactly_the_definition(Order::Shb);
}

#[test]
fn cp_reports_exactly_the_unordered_pairs() {
    exactly_the_definition(Order::Cp);
}

#[test]
fn wcp_reports_exactly_the_unordered_pairs() {
    exactly_the_definition(Order::Wcp);
}

#[test]
fn syncp_reports_exactly_the_races_of_its_class() {
    exactly_the_definition(Order::SyncP);
}

/// With failed attempts and waits of all kinds, whatever is reported is a race.
#[test]
fn syncp_races_are_races_whatever_a_trace_has() {
    let mut found = 0;
    for (name, profile) in Profile::recorded() {
        for (seed, trace) in Generator::new(Profile { sites: 0, ..profile }, 80_000_000).take(cases(3_000) / 10) {
            let races = Oracle::new(&trace, Model::Data).unwrap().all_races();
            for race in run(&trace, Order::SyncP).races {
                let pair = (race.first.0, race.second.0);
                assert!(races.contains(&pair), "{name}, seed {seed}: {pair:?}\n{}", shrink::std_text(&trace));
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found}");
}

/// What HB calls a race CP does, and what CP calls one WCP does; each of them sees races that the one before does not.
#[test]
fn hb_races_are_cp_races_and_cp_races_are_wcp_races() {
    let pairs = |trace: &Trace, order| -> BTreeSet<(EventId, EventId)> {
        run(trace, order).races.iter().map(|r| (r.first.0, r.second.0)).collect()
    };
    let (mut more_by_cp, mut more_by_wcp, profiles) = (0, 0, Profile::all());
    let each = cases(3_000) / profiles.len();
    for (name, profile) in profiles {
        let profile = Profile { sites: 0, ..profile }.sized(4, 30);
        for (seed, trace) in Generator::new(profile, 40_000_000).take(each) {
            let [hb, cp, wcp] = [Order::Hb, Order::Cp, Order::Wcp].map(|order| pairs(&trace, order));
            assert!(hb.is_subset(&cp), "{name}, seed {seed}: {hb:?} by HB, {cp:?} by CP");
            assert!(cp.is_subset(&wcp), "{name}, seed {seed}: {cp:?} by CP, {wcp:?} by WCP");
            more_by_cp += usize::from(cp.len() > hb.len());
            more_by_wcp += usize::from(wcp.len() > cp.len());
        }
    }
    assert!(more_by_cp > 20 && more_by_wcp > 5, "{more_by_cp}, {more_by_wcp}");
}

/// The events of a window, after the acquires of the sections that are open where it begins, and their numbers.
fn window_of(trace: &Trace, facts: &Facts, window: std::ops::Range<usize>) -> (Trace, Vec<usize>) {
    let takes_part = |e: &usize| facts.rank[*e].is_some();
    let is_open =
        |e: &usize| facts.events[*e].op.is_acquire() && facts.section[*e].is_none_or(|release| release >= window.start);
    let events: Vec<usize> = (0..window.start).filter(is_open).chain(window.clone()).filter(takes_part).collect();
    let mut columns = Columns::default();
    events.iter().for_each(|&e| columns.push(trace.event(EventId::at(e))));
    (Trace::from_parts(columns, trace.tables().clone()), events)
}

/// CP cut into windows reports what the definition says of each window, its sections open at the beginning included.
#[test]
fn cp_in_windows_is_the_definition_of_each_window() {
    let (mut racy, mut cut, profiles) = (0, 0, Profile::all());
    let each = cases(3_000) / profiles.len();
    for (name, profile) in profiles {
        for (seed, trace) in Generator::new(Profile { sites: 0, ..profile }, 60_000_000).take(each) {
            let length = [4, 7, 11][seed as usize % 3];
            let options = Options { window: Some(length as u64), ..Options::default() };
            let found = detect(&mut &trace, Order::Cp, &options).unwrap();
            let mut reported: Vec<_> = found.races.iter().map(|r| (r.first.0, r.second.0)).collect();
            reported.sort();
            let facts = Facts::of(&trace);
            let mut expected = Vec::new();
            for start in (0..trace.len()).step_by(length) {
                let (window, numbers) = window_of(&trace, &facts, start..trace.len().min(start + length));
                let number = |e: EventId| EventId::at(numbers[e.index()]);
                let races = reference::races(&window, reference::Order::Cp);
                expected.extend(races.into_iter().map(|(a, b)| (number(a), number(b))));
            }
            expected.sort();
            assert_eq!(reported, expected, "{name}, seed {seed}, windows of {length}");
            assert_eq!(found.window.is_some(), trace.len() > length, "{name}, seed {seed}");
            racy += usize::from(!expected.is_empty());
            cut += usize::from(reference::races(&trace, reference::Order::Cp).len() > expected.len());
        }
    }
    assert!(racy > each && cut > each, "{racy} with races in a window, {cut} with races across windows");
}

#[test]
fn the_first_race_ends_the_search() {
    for (seed, trace) in Generator::new(Profile::everything(), 77).take(500) {
        for order in Order::ALL {
            let all = detect(&mut &trace, order, &Options::default()).unwrap();
            let first = detect(&mut &trace, order, &Options { first: true, ..Options::default() }).unwrap();
            assert_eq!(first.racy_events, all.racy_events.min(1), "{order} {seed}");
            if order != Order::Lockset {
                assert_eq!(first.races.first(), all.races.first(), "{order} {seed}");
                assert_eq!(first.races.len() as u64, first.racy_events, "{order} {seed}");
            }
            if first.racy_events == 1 {
                assert!(first.events <= all.events);
            }
        }
    }
}
