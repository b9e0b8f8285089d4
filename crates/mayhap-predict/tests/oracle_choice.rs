//! The corrected decision against the brute-force oracle: every triplet and kind of generated traces, in all models, with
//! windows from one event to the whole trace; and what a read can see.

use mayhap_predict::Budget;
use mayhap_predict::choice::{KindVerdict, Survey, Triplets};
use mayhap_testkit::{Generator, Oracle, Profile, cases};
use mayhap_trace::{Execution, Trace};
use mayhap_witness::{Checker, Model};

#[derive(Default)]
struct Counts {
    traces: u64,
    triplets: u64,
    proven: u64,
    seen: u64,
}

fn compare(trace: &Trace, model: Model, window: usize, name: &str, counts: &mut Counts) {
    let Ok(oracle) = Oracle::explore(trace, model, 100_000) else { return };
    let execution = Execution::derive(trace).unwrap();
    let triplets = Triplets::of(&execution);
    let survey = Survey::new(&execution, model);
    let mut session = survey.session(&Budget::default());
    session.set_first_window(window);
    let mut left = oracle.triplets().len();
    counts.traces += 1;
    for read in triplets.reads() {
        let verdicts = session.read(&triplets, read);
        for other in &verdicts.others {
            left -= 1;
            counts.triplets += 1;
            for (kind, verdict) in [(2, other.overwritten), (3, other.absent)] {
                let truth = oracle.nondeterminism(verdicts.write, read, other.other, kind).unwrap().is_some();
                let said = match verdict {
                    KindVerdict::Proven(_) => true,
                    KindVerdict::Refuted(_) => false,
                    KindVerdict::Unknown => panic!("{name}: read {read}, {other:?}: unknown"),
                };
                assert_eq!(said, truth, "{name}: read {read} saw {:?}, {other:?}, kind {kind}", verdicts.write);
                counts.proven += u64::from(said);
            }
            let alone = session.triplet(read, other.other);
            assert_eq!(alone.others.len(), 1);
            assert_eq!(alone.others[0].is_proven(), other.is_proven(), "{name}: read {read}, {other:?} alone");
            if let Some(checked) = session.checked(&verdicts, other) {
                let again = Checker::new(&execution).check(checked.target(), model, checked.witness().clone());
                assert!(again.is_ok(), "{name}: {again:?}");
            }
            if counts.triplets.is_multiple_of(7) {
                let seen = oracle.sees(read, other.other).unwrap().is_some();
                let said = session.sees(read, other.other).is_some();
                assert_eq!(said, seen, "{name}: read {read} sees {:?}", other.other);
                counts.seen += u64::from(seen);
            }
        }
    }
    assert_eq!(left, 0, "{name}: the oracle knows other triplets");
}

#[test]
fn corrected_decision_equals_the_oracle() {
    let mut counts = Counts::default();
    let profiles = Profile::all();
    let more = [
        ("threads4", Profile::races().sized(4, 12)),
        ("long2", Profile { variables: 1, ..Profile::races() }.sized(2, 22)),
        ("bursts", Profile { burst: 80, variables: 1, ..Profile::races() }.sized(3, 16)),
        ("one_variable", Profile { variables: 1, ..Profile::nested() }),
        ("small", Profile::everything().sized(3, 9)),
    ];
    let profiles: Vec<_> = profiles.into_iter().chain(more).collect();
    let share = cases(3000) / profiles.len() + 1;
    for (name, profile) in &profiles {
        for (seed, trace) in Generator::new(profile.clone(), 0).take(share) {
            let model = Model::ALL[if seed % 6 < 2 { 0 } else { seed as usize % 6 - 1 }];
            let window = [0, 3, 8, 1000][seed as usize / 6 % 4];
            compare(&trace, model, window, &format!("{name} seed {seed} {model} window {window}"), &mut counts);
        }
    }
    let Counts { traces, triplets, proven, seen } = counts;
    println!("{traces} traces, {triplets} triplets, {proven} proven kinds, {seen} seen");
    assert!(
        triplets > traces && proven * 20 > triplets && seen > 0,
        "{triplets} triplets, {proven} proven, {seen} seen"
    );
}
