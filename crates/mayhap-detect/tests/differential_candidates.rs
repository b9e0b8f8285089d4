//! Race candidates by classes of accesses against all pairs of accesses.

use std::collections::BTreeSet;

use mayhap_detect::candidates::{Limits, SharedAccesses, all_races, place, races};
use mayhap_testkit::{Generator, Profile, cases};
use mayhap_trace::format::parse_std;
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::Target;

/// Unordered pairs of places.
fn places<'t>(trace: &Trace, targets: impl Iterator<Item = &'t Target>) -> BTreeSet<(u64, u64)> {
    let pair = |target: &Target| {
        let places: Vec<u64> = target.events().into_iter().map(|event| place(trace, event)).collect();
        (places[0].min(places[1]), places[0].max(places[1]))
    };
    targets.map(pair).collect()
}

/// Both find the same pairs of places, and nothing that must-order or a lock rules out.
fn compare(trace: &Trace, what: &str) -> usize {
    let execution = Execution::derive(trace).unwrap();
    let (some, all) = (races(&SharedAccesses::new(&execution), &Limits::default()), all_races(&execution));
    assert_eq!(some.gap, None);
    let expected = places(trace, all.iter().flat_map(|group| &group.targets));
    assert_eq!(places(trace, some.groups.iter().flat_map(|group| &group.targets)), expected, "{what}");
    let pairs: BTreeSet<Vec<EventId>> = all.iter().flat_map(|group| &group.targets).map(Target::events).collect();
    assert!(
        some.groups.iter().flat_map(|group| &group.targets).all(|target| pairs.contains(&target.events())),
        "{what}"
    );
    expected.len()
}

#[test]
fn classes_find_the_places_that_all_pairs_find() {
    let mut found = 0;
    for (name, profile) in Profile::every() {
        for (seed, trace) in Generator::new(profile.sized(5, 80), 77).take(cases(2000).div_ceil(10)) {
            found += compare(&trace, &format!("{name}, seed {seed}"));
        }
    }
    assert!(found > 1000, "{found}");
}

/// A variable under a lock at every access has no candidate, unless a thread writes as a reader of the lock.
#[test]
fn a_lock_at_every_access_leaves_nothing_but_what_readers_write() {
    let section = |thread: &str, op: &str, [acq, rel]: [&str; 2]| {
        format!("{thread}|{acq}(l)\n{thread}|{op}(x)|{thread}{op}\n{thread}|{rel}(l)\n")
    };
    let (alone, shared) = (["acq", "rel"], ["racq", "rrel"]);
    let apart = [section("A", "w", alone), section("B", "r", shared), section("C", "r", shared)].concat();
    assert_eq!(compare(&parse_std(&apart).unwrap(), "readers read"), 0);
    let together = [section("A", "w", shared), section("B", "r", shared), section("C", "r", alone)].concat();
    assert_eq!(compare(&parse_std(&together).unwrap(), "a reader writes"), 1);
}

/// More classes than partners are kept for.
#[test]
fn many_ways_are_paired_as_few_are() {
    let op = |thread| if thread == 0 { "w" } else { "r" };
    let line = |thread: usize, way: usize| format!("T{thread}|{}(x)|{thread}at{way}\n", op(thread));
    let text: String = (0..5 * 210).map(|i| line(i % 5, i / 5)).collect();
    assert_eq!(compare(&parse_std(&text).unwrap(), "many ways"), 210 * 210 * 4);
}
