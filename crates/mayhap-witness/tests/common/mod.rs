//! Checks of small traces in notation, by event numbers.
#![allow(dead_code, reason = "each test file uses some of them")]

use mayhap_testkit::trace;
use mayhap_trace::{EventId, Execution};
use mayhap_witness::{Checked, Checker, Model, Rejection, Target, Why, Witness};

pub(crate) fn e(number: u64) -> EventId {
    EventId::from_number(number).unwrap()
}

pub(crate) fn es<const N: usize>(numbers: [u64; N]) -> Vec<EventId> {
    numbers.map(e).to_vec()
}

#[track_caller]
pub(crate) fn check(text: &str, target: Target, model: Model, schedule: &[u64]) -> Result<Checked, Rejection> {
    let trace = trace(text);
    let execution = Execution::derive(&trace).unwrap();
    let witness = Witness { schedule: schedule.iter().map(|&n| e(n)).collect() };
    Checker::new(&execution).check(&target, model, witness)
}

/// The rejection names this step, from 1, this event and this rule.
#[track_caller]
pub(crate) fn rejects(text: &str, target: Target, model: Model, schedule: &[u64], step: usize, why: Why) {
    let rejection = check(text, target, model, schedule).unwrap_err();
    let event = Some(e(schedule[step - 1]));
    assert_eq!(rejection, Rejection { step: Some(step), event, why });
}

/// The schedule runs but misses the target, for a reason with these words.
#[track_caller]
pub(crate) fn misses(text: &str, target: Target, model: Model, schedule: &[u64], words: &str) {
    let rejection = check(text, target, model, schedule).unwrap_err();
    assert_eq!((rejection.step, rejection.event), (None, None));
    match rejection.why {
        Why::TargetNotReached(what) => assert!(what.contains(words), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn accepts(text: &str, target: Target, model: Model, schedule: &[u64]) {
    let checked = check(text, target.clone(), model, schedule).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((checked.target(), checked.model()), (&target, model));
    assert_eq!(checked.witness().schedule, schedule.iter().map(|&n| e(n)).collect::<Vec<_>>());
}

/// A sequence of one event: reached by any schedule that runs it.
pub(crate) fn runs(number: u64) -> Target {
    Target::Sequence { events: vec![e(number)], adjacent: vec![] }
}
