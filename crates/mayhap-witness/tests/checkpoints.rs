//! A checker that has passed checkpoints answers as one that has not, on schedules long enough for some.

use mayhap_trace::format::parse_std;
use mayhap_trace::{EventId, Execution, Relations, Trace};
use mayhap_witness::{Checker, Model, Schedule, Target, Witness};

const ROUNDS: usize = 20_000;

/// Three threads in turn: a section with a re-entrant acquire, a write and a read in it, and an access of their own.
fn long_trace() -> Trace {
    let mut text = String::new();
    for round in 0..ROUNDS {
        let t = round % 3;
        for op in ["acq(l)", "acq(l)", "r(x)", "w(x)", "rel(l)", "rel(l)", "w(y)"] {
            text.push_str(&format!("T{t}|{op}|a{t}\n"));
        }
    }
    parse_std(&text).expect("well-formed")
}

/// The relevant events before a place in observed order, without those of `without` from another place on.
fn run(relations: &Relations, trace: &Trace, until: usize, without: u16, from: usize) -> Vec<EventId> {
    let is_run =
        |&e: &EventId| relations.is_relevant(e) && (e.index() < from || trace.columns().threads[e.index()] != without);
    (0..until).map(EventId::at).filter(is_run).collect()
}

#[test]
fn checkpoints_change_no_answer() {
    let trace = long_trace();
    let execution = Execution::derive(&trace).expect("well-formed");
    let relations = execution.relations();
    let mut old = Checker::new(&execution);
    let (mut accepted, mut rejected) = (0, 0);
    let mut compare = |schedule: Vec<EventId>, target: &Target, model: Model| {
        let witness = Witness { schedule: Schedule::from(&schedule) };
        let said = old.check(target, model, witness.clone());
        assert_eq!(said, Checker::new(&execution).check(target, model, witness), "{target:?}");
        *if said.is_ok() { &mut accepted } else { &mut rejected } += 1;
    };
    // Far first, so that later and shorter schedules find checkpoints before, at and behind their end.
    for round in [19_990, 3, 19_993, 10_000, 15_001, 4_700, 19_980, 14_043] {
        let place = 7 * round;
        // The three threads' accesses of `y` are unordered: the next of two threads race.
        let own = |round: usize| EventId::at(7 * round + 6);
        let target = Target::Race(own(round), own(round + 1));
        // The first of the two stops before its access, the second runs up to its own.
        let mut good = run(relations, &trace, place + 13, (round % 3) as u16, place + 6);
        compare(good.clone(), &target, Model::Sync);
        compare(good.clone(), &target, Model::Data);
        // Not far enough, an event missing early, one twice, one that takes no part, two out of turn.
        compare(good[..good.len() - 1].to_vec(), &target, Model::Data);
        for at in [good.len() / 2, good.len() - 3] {
            let mut bad = good.clone();
            bad.remove(at);
            compare(bad, &target, Model::Data);
            let mut bad = good.clone();
            bad.insert(at, good[at]);
            compare(bad, &target, Model::Data);
            let mut bad = good.clone();
            bad.swap(at, at + 1);
            compare(bad, &target, Model::Data);
        }
        let mark = EventId::at(1);
        good.insert(1, mark);
        compare(good.clone(), &target, Model::Data);
        // As many steps as there should be, but not the right ones.
        good.remove(2);
        compare(good, &target, Model::Data);
        compare(vec![EventId::at(trace.len() + 5)], &target, Model::Data);
    }
    assert!(accepted >= 16 && rejected >= 40, "{accepted} accepted, {rejected} rejected");
}
