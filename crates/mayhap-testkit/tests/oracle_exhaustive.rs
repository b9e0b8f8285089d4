//! The oracle misses nothing: on tiny traces its verdicts equal those of trying every schedule there is.
//!
//! Schedules are grown event by event in every way and judged clause by clause, with no states, no packing, no pruning by
//! the target.

use mayhap_testkit::{Facts, Generator, Judge, Oracle, Profile, Random, cases, targets};
use mayhap_trace::{EventId, Trace};
use mayhap_witness::{Kind, Model, Target};

/// Every schedule that keeps must-order and locks, whatever its reads see.
fn schedules(trace: &Trace) -> Vec<Vec<EventId>> {
    let (facts, judge) = (Facts::of(trace), Judge::new(trace));
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        let schedule: Vec<EventId> = all[at].clone();
        for events in &facts.threads {
            let Some(next) = events.iter().map(|&e| EventId::at(e)).find(|e| !schedule.contains(e)) else { continue };
            let mut longer = schedule.clone();
            longer.push(next);
            if judge.is_reordering(Model::Sync, &longer) {
                all.push(longer);
            }
        }
        at += 1;
    }
    all
}

/// Whether, of two sections that exclude each other, the one observed first runs first.
fn preserves_sync(facts: &Facts, schedule: &[EventId]) -> bool {
    let acquires: Vec<usize> =
        schedule.iter().map(|e| e.index()).filter(|&e| facts.events[e].op.is_acquire()).collect();
    acquires.iter().enumerate().all(|(i, &a)| {
        acquires[i + 1..].iter().all(|&b| {
            let (first, second) = (facts.events[a], facts.events[b]);
            a < b || first.object != second.object || (first.op.is_shared() && second.op.is_shared())
        })
    })
}

/// All profiles with few threads and events; two threads leave room for more events.
fn sizes() -> Vec<(String, Profile)> {
    let mut sizes = Vec::new();
    for (name, profile) in Profile::every() {
        sizes.push((format!("{name} of 3"), profile.clone().sized(3, 9)));
        let two = Profile { locks: 2, depth: 2, burst: 80, ..profile };
        sizes.push((format!("{name} of 2"), two.sized(2, 13)));
    }
    sizes
}

#[test]
fn verdicts_equal_those_of_trying_everything() {
    let share = cases(600).min(20_000).div_ceil(sizes().len());
    let mut verdicts = [[0; 2]; Kind::ALL.len()];
    for (name, profile) in sizes() {
        for (seed, trace) in Generator::new(profile, 40).take(share) {
            let (all, judge) = (schedules(&trace), Judge::new(&trace));
            for model in Model::ALL {
                let oracle = Oracle::new(&trace, model).unwrap();
                for target in Kind::ALL.iter().flat_map(|&kind| targets(&trace, kind)) {
                    let truth = all.iter().any(|schedule| judge.accepts(&target, model, schedule));
                    let found = oracle.decide(&target).unwrap().is_some();
                    assert_eq!(found, truth, "{name} {seed} {model} {target:?}");
                    verdicts[target.kind() as usize][usize::from(truth)] += 1;
                }
            }
        }
    }
    // Double frees have no target of their own.
    let asked = Kind::ALL.iter().filter(|&&kind| kind != Kind::DoubleFree).map(|&kind| verdicts[kind as usize]);
    assert!(asked.flatten().all(|n| n > 0), "{verdicts:?}");
}

/// The restricted oracles: orders of locks kept; all events scheduled with some pairs in order; kinds of triplets.
#[test]
fn restricted_verdicts_equal_those_of_trying_everything() {
    let share = cases(600).min(20_000).div_ceil(sizes().len());
    let (mut kept, mut lost, mut whole, mut kinds) = (0, 0, [0; 2], [[0; 2]; 3]);
    for (name, profile) in sizes() {
        for (seed, trace) in Generator::new(profile, 4000).take(share) {
            let at = format!("{name} {seed}");
            let (all, facts, judge) = (schedules(&trace), Facts::of(&trace), Judge::new(&trace));
            let mut random = Random::new(seed);
            for model in Model::ALL {
                let oracle = Oracle::new(&trace, model).unwrap();
                let preserving = Oracle::sync_preserving(&trace, model, Oracle::LIMIT).unwrap();
                let correct: Vec<&Vec<EventId>> = all.iter().filter(|s| judge.is_reordering(model, s)).collect();
                for target in targets(&trace, Kind::Race).iter().chain(&targets(&trace, Kind::Deadlock)) {
                    // The accesses of a race may see anything, which a reordering may not.
                    let truth = all.iter().any(|s| preserves_sync(&facts, s) && judge.accepts(target, model, s));
                    assert_eq!(preserving.decide(target).unwrap().is_some(), truth, "{at} {model} {target:?}");
                    kept += usize::from(truth);
                    lost += usize::from(!truth && oracle.decide(target).unwrap().is_some());
                }
                let relevant: Vec<EventId> = facts.threads.iter().flatten().map(|&e| EventId::at(e)).collect();
                let edges = [0; 2].map(|_| (*random.pick(&relevant), *random.pick(&relevant)));
                let place = |s: &Vec<EventId>, e: EventId| s.iter().position(|&x| x == e);
                let truth = correct
                    .iter()
                    .any(|s| s.len() == relevant.len() && edges.iter().all(|&(x, y)| place(s, x) < place(s, y)));
                assert_eq!(oracle.all_events_with(&edges).unwrap().is_some(), truth, "{at} {model} {edges:?}");
                whole[usize::from(truth)] += 1;
                for (w, r, c) in oracle.triplets() {
                    for kind in [2, 3] {
                        let target = Target::Nondeterminism { write: w, read: r, other: c };
                        let has_run = |s: &Vec<EventId>| w.is_none_or(|w| s.contains(&w));
                        let reached = |s: &&Vec<EventId>| judge.accepts(&target, model, s);
                        let truth = correct.iter().copied().filter(reached).any(|s| has_run(s) == (kind == 2));
                        let found = oracle.nondeterminism(w, r, c, kind).unwrap().is_some();
                        assert_eq!(found, truth, "{at} {model} {target:?} kind {kind}");
                        kinds[kind as usize - 1][usize::from(truth)] += 1;
                    }
                }
            }
        }
    }
    assert!(kept > 20 && lost > 0, "{kept} {lost}");
    assert!(whole.iter().chain(&kinds[1]).chain(&kinds[2]).all(|&n| n > 20), "{whole:?} {kinds:?}");
}
