//! iPA against every reachable state: no wrong proof and no wrong refutation, both strategies, all features of traces.

use mayhap_predict::ipa::{From, Memory, Reach};
use mayhap_predict::{Budget, Engine, Ipa, Strategy, Verdict};
use mayhap_testkit::{Generator, Oracle, Profile, cases};
use mayhap_trace::{EventId, Execution, ThreadId};
use mayhap_witness::{Model, Target};

/// Conflicting pairs of accesses, each pair once.
fn races(execution: &Execution<'_>) -> Vec<(EventId, EventId)> {
    let trace = execution.trace();
    let accesses: Vec<EventId> = trace.events().filter(|(_, e)| e.op.is_access()).map(|(id, _)| id).collect();
    let mut pairs = Vec::new();
    for (i, &a) in accesses.iter().enumerate() {
        for &b in &accesses[i + 1..] {
            if Target::Race(a, b).validate(execution).is_ok() {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

fn sizes() -> Vec<(String, Profile)> {
    let mut profiles = Vec::new();
    for (name, profile) in Profile::all() {
        profiles.push((format!("{name} as it is"), profile.clone()));
        let two = Profile { threads: 2, events: profile.events + 4, ..profile };
        profiles.push((format!("{name} with two threads"), two));
    }
    profiles
}

#[derive(Default, Debug)]
struct Tally {
    proven: u64,
    refuted: u64,
    suspected_right: u64,
    suspected_wrong: u64,
    open_reachable: u64,
    open_unreachable: u64,
}

#[test]
fn verdicts_agree_with_the_oracle() {
    let mut tallies = [Tally::default(), Tally::default()];
    let profiles = sizes();
    let each = cases(4000).div_ceil(profiles.len());
    for (name, profile) in profiles {
        for (seed, trace) in Generator::new(profile, 1).take(each) {
            let execution = Execution::derive(&trace).unwrap();
            let relations = execution.relations();
            let Ok(oracle) = Oracle::new(&trace, Model::Sync) else { continue };
            let threads = (0..relations.threads()).filter(|&t| !relations.thread_events(ThreadId::at(t)).is_empty());
            let two_threads = threads.count() == 2;
            for (strategy, tally) in [Strategy::One, Strategy::Two].into_iter().zip(&mut tallies) {
                let mut engine = Ipa::new(&execution, strategy);
                for (a, b) in races(&execution) {
                    let reachable = oracle.both_next(a, b).is_some();
                    let what = || format!("{name}, seed {seed}, {strategy:?}, race {a},{b}");
                    match engine.decide(&Target::Race(a, b), Model::Sync, &Budget::default()) {
                        Verdict::Proven(..) => {
                            assert!(reachable, "proven but unreachable: {}", what());
                            tally.proven += 1;
                        }
                        Verdict::Refuted(_) => {
                            assert!(!reachable, "refuted but reachable: {}", what());
                            tally.refuted += 1;
                        }
                        Verdict::Unknown(u) => {
                            assert!(!two_threads, "two threads are decided: {}: {}", what(), u.reason);
                            match (u.suspected, reachable) {
                                (true, true) => tally.suspected_right += 1,
                                (true, false) => tally.suspected_wrong += 1,
                                (false, true) => tally.open_reachable += 1,
                                (false, false) => tally.open_unreachable += 1,
                            }
                        }
                    }
                }
            }
        }
    }
    println!("strategy I  {:?}\nstrategy II {:?}", tallies[0], tallies[1]);
    for tally in &tallies {
        assert!(tally.proven > 500 && tally.refuted > 500, "{tally:?}");
    }
}

/// For two threads the search itself, without any schedule, is the truth; kept searches answer as fresh ones do.
#[test]
fn two_thread_searches_are_exact_and_memory_changes_nothing() {
    let mut reached = 0;
    for (name, profile) in sizes().into_iter().filter(|(_, p)| p.threads == 2) {
        for (seed, trace) in Generator::new(profile, 50_000).take(cases(4000).div_ceil(10)) {
            let execution = Execution::derive(&trace).unwrap();
            let relations = execution.relations();
            let Ok(oracle) = Oracle::new(&trace, Model::Sync) else { continue };
            let mut kept = Ipa::new(&execution, Strategy::One);
            let mut published = Ipa::new(&execution, Strategy::One).memory(Memory::Published);
            let mut fresh = Ipa::new(&execution, Strategy::One).memory(Memory::None);
            let events: Vec<EventId> =
                trace.events().map(|(id, _)| id).filter(|&id| relations.is_relevant(id)).collect();
            for (a, b) in events.iter().flat_map(|&a| events.iter().map(move |&b| (a, b))) {
                if trace.event(a).thread == trace.event(b).thread || kept.basic_check(a, b).is_some() {
                    continue;
                }
                let truth = oracle.both_next(a, b).is_some();
                let expected = if truth { Reach::Reached(From::Beginning) } else { Reach::Unreached { exact: true } };
                let what = format!("{name}, seed {seed}, events {a},{b}");
                let budget = Budget::default();
                assert_eq!(kept.search_from(a, b, From::Beginning, &budget), expected, "kept: {what}");
                assert_eq!(published.search_from(a, b, From::Beginning, &budget), expected, "published: {what}");
                assert_eq!(fresh.search_from(a, b, From::Beginning, &budget), expected, "fresh: {what}");
                reached += u64::from(truth);
            }
        }
    }
    assert!(reached > 1000, "{reached}");
}
