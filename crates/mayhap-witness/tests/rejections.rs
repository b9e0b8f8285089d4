//! One small trace for each rule that a witness can break, with the step that breaks it, and one for each target reached.

mod common;

use common::{accepts, check, e, es, misses, rejects, runs};
use mayhap_testkit::trace;
use mayhap_trace::{EventId, Execution, ThreadId};
use mayhap_witness::{Checker, Model, Target, Why, Witness};

#[test]
fn no_such_event() {
    rejects("T1 w x; T2 w x", Target::Race(e(1), e(2)), Model::Data, &[3], 1, Why::NoSuchEvent);
}

#[test]
fn marks_and_inner_locks_are_not_schedulable() {
    let text = "T1 begin; T1 acq l; T1 acq l; T1 rel l; T1 w x; T1 rel l; T1 end";
    for (step, mark) in [(1, 1), (2, 3), (2, 4), (4, 7)] {
        let mut schedule = vec![2, 5, 6];
        schedule.insert(step - 1, mark);
        rejects(text, runs(2), Model::Data, &schedule, step, Why::NotSchedulable);
    }
    accepts(text, runs(6), Model::Data, &[2, 5, 6]);
}

#[test]
fn threads_run_prefixes() {
    let text = "T1 w x; T1 w y; T2 w x";
    rejects(text, runs(2), Model::Sync, &[2], 1, Why::NotNext(Some(e(1))));
    rejects(text, runs(2), Model::Sync, &[3, 1, 1], 3, Why::NotNext(None));
    rejects(text, runs(2), Model::Sync, &[1, 2, 1], 3, Why::NotNext(None));
}

#[test]
fn threads_start_after_their_fork() {
    let text = "T1 w y; T1 fork T2; T2 w x; T1 w x";
    rejects(text, runs(3), Model::Sync, &[1, 3], 2, Why::NotForked(e(2)));
    accepts(text, runs(3), Model::Sync, &[1, 2, 3]);
}

#[test]
fn joins_follow_the_whole_thread() {
    let text = "T1 fork T2; T2 w x; T2 w y; T1 join T2";
    rejects(text, runs(4), Model::Sync, &[1, 2, 4], 3, Why::NotFinished(e(3)));
    accepts(text, runs(4), Model::Sync, &[1, 2, 3, 4]);
    // A thread that did nothing is still forked before it is joined.
    let idle = "T1 fork T2; T3 join T2";
    rejects(idle, runs(2), Model::Sync, &[2], 1, Why::NotFinished(e(1)));
    accepts(idle, runs(2), Model::Sync, &[1, 2]);
}

#[test]
fn waits_follow_their_notify() {
    let text = "T1 notify c; T1 notifyall c; T2 wait c";
    rejects(text, runs(3), Model::Sync, &[1, 3], 2, Why::NotNotified(e(2)));
    accepts(text, runs(3), Model::Sync, &[1, 2, 3]);
}

#[test]
fn locks_exclude() {
    let held = |thread: usize, name: &str| Why::LockHeld(ThreadId::at(thread), name.to_string());
    let text = "T1 acq l; T1 rel l; T2 acq l; T2 rel l";
    rejects(text, runs(3), Model::Sync, &[1, 3], 2, held(0, "T1"));
    rejects(text, runs(1), Model::Sync, &[3, 1], 2, held(1, "T2"));
    accepts(text, runs(1), Model::Sync, &[3, 4, 1]);
}

#[test]
fn readers_share_and_exclude_writers() {
    let held = |thread: usize, name: &str| Why::LockHeld(ThreadId::at(thread), name.to_string());
    let text = "T1 racq l; T2 racq l; T2 rrel l; T1 rrel l; T3 acq l; T3 rel l";
    accepts(text, runs(2), Model::Sync, &[1, 2]);
    rejects(text, runs(5), Model::Sync, &[1, 2, 3, 5], 4, held(0, "T1"));
    rejects(text, runs(5), Model::Sync, &[1, 2, 4, 5], 4, held(1, "T2"));
    rejects(text, runs(1), Model::Sync, &[5, 1], 2, held(2, "T3"));
    // A reader may become the writer while it is alone, and stays a reader when it stops writing.
    let upgrade = "T1 racq l; T1 acq l; T1 rel l; T1 rrel l; T2 racq l; T2 rrel l; T3 acq l; T3 rel l";
    rejects(upgrade, runs(2), Model::Sync, &[1, 5, 2], 3, held(1, "T2"));
    rejects(upgrade, runs(5), Model::Sync, &[1, 2, 5], 3, held(0, "T1"));
    accepts(upgrade, runs(5), Model::Sync, &[1, 2, 3, 5]);
    rejects(upgrade, runs(7), Model::Sync, &[1, 2, 3, 7], 4, held(0, "T1"));
}

#[test]
fn data_reads_see_the_observed_write() {
    let text = "T1 w x; T2 w x; T3 r x";
    let wrong =
        |observed: Option<u64>, here: Option<u64>| Why::WrongWrite { observed: observed.map(e), here: here.map(e) };
    rejects(text, runs(3), Model::Data, &[3], 1, wrong(Some(2), None));
    rejects(text, runs(3), Model::Data, &[2, 1, 3], 3, wrong(Some(2), Some(1)));
    rejects("T1 r x; T2 w x", runs(1), Model::Data, &[2, 1], 2, wrong(None, Some(2)));
    accepts(text, runs(3), Model::Data, &[2, 3]);
    accepts(text, runs(3), Model::Branch, &[3]);
    accepts(text, runs(3), Model::Sync, &[3]);
}

#[test]
fn branches_follow_unchanged_reads() {
    let text = "T1 w x; T2 r x; T2 w y; T2 br";
    rejects(text, runs(4), Model::Branch, &[2, 3, 4], 3, Why::BranchAfterChangedRead(e(2)));
    accepts(text, runs(3), Model::Branch, &[2, 3]);
    accepts(text, runs(4), Model::Branch, &[1, 2, 3, 4]);
    accepts(text, runs(4), Model::Sync, &[2, 3, 4]);
    // The first changed read is named, even if later ones see what they saw.
    let two = "T1 w x; T2 r x; T2 r x; T2 br";
    rejects(two, runs(4), Model::Branch, &[2, 1, 3, 4], 4, Why::BranchAfterChangedRead(e(2)));
}

#[test]
fn free_reads_of_an_atomicity_violation_end_their_thread() {
    // T2 reads between the two writes of T1; what it saw then is open, what it does then is not.
    let text = "T1 w x; T1 w x; T2 r x; T2 w y; T2 r y";
    let target = Target::Atomicity { first: e(1), remote: e(3), second: e(2) };
    accepts(text, target.clone(), Model::Data, &[1, 3, 2]);
    rejects(text, target.clone(), Model::Data, &[1, 3, 4, 2], 3, Why::GoesOnAfterChangedRead(e(3)));
    accepts(text, target.clone(), Model::Branch, &[1, 3, 4, 2]);
    // Only the reads of the target are free.
    let other = "T1 w x; T2 w x; T3 r x; T1 r x";
    let wrong = Why::WrongWrite { observed: Some(e(2)), here: Some(e(1)) };
    let violation = Target::Atomicity { first: e(1), remote: e(2), second: e(4) };
    rejects(other, violation.clone(), Model::Data, &[1, 3, 2, 4], 2, wrong);
    accepts(other, violation, Model::Data, &[1, 2, 4]);
    // A free read that sees the observed write goes on.
    let same = "T1 w x; T2 r x; T2 w y; T1 w x";
    accepts(same, Target::Atomicity { first: e(1), remote: e(2), second: e(4) }, Model::Data, &[1, 2, 3, 4]);
}

#[test]
fn bad_targets() {
    let text = "T1 begin; T1 w x; T1 r x; T2 r x; T2 acq l; T2 rel l; T1 acq l; T1 w y; T2 w y";
    let deadlock = |requests: &[u64]| Target::Deadlock(requests.iter().map(|&n| e(n)).collect());
    let sequence = |events: &[u64], adjacent: &[(u64, u64)]| Target::Sequence {
        events: events.iter().map(|&n| e(n)).collect(),
        adjacent: adjacent.iter().map(|&(x, y)| (e(x), e(y))).collect(),
    };
    let atomicity = |a, c, b| Target::Atomicity { first: e(a), remote: e(c), second: e(b) };
    let nondeterminism =
        |w: Option<u64>, r, c: Option<u64>| Target::Nondeterminism { write: w.map(e), read: e(r), other: c.map(e) };
    for (target, words) in [
        (Target::Race(e(2), e(10)), "event 10: the trace has 9 events"),
        (Target::Race(e(1), e(4)), "event 1 (begin) takes no part"),
        (Target::Race(e(2), e(3)), "do not conflict"),
        (Target::Race(e(3), e(4)), "do not conflict"),
        (Target::Race(e(5), e(7)), "do not conflict"),
        (deadlock(&[5]), "at least two acquires"),
        (deadlock(&[5, 8]), "event 8 is no acquire"),
        (deadlock(&[5, 7, 5]), "are of one thread"),
        (atomicity(2, 4, 8), "not two accesses of one thread to one variable"),
        (atomicity(5, 2, 6), "not two accesses"),
        (atomicity(3, 4, 2), "event 3 does not come before event 2"),
        (atomicity(2, 9, 3), "event 9 conflicts with neither"),
        (sequence(&[], &[]), "the sequence is empty"),
        (sequence(&[2, 4, 2], &[]), "event 2 stands twice"),
        (sequence(&[2, 3, 4], &[(2, 4)]), "2,4 is not a pair of neighbours"),
        (sequence(&[2, 3], &[(2, 9)]), "2,9 is not a pair of neighbours"),
        (nondeterminism(Some(2), 2, None), "event 2 is no read"),
        (nondeterminism(None, 4, Some(2)), "event 4 saw event 2"),
        (nondeterminism(Some(2), 4, Some(2)), "the other write is the one that the read saw"),
        (nondeterminism(Some(2), 4, Some(3)), "event 3 does not write the variable"),
        (nondeterminism(Some(2), 4, Some(8)), "event 8 does not write the variable"),
    ] {
        let rejection = check(text, target.clone(), Model::Data, &[]).unwrap_err();
        assert_eq!((rejection.step, rejection.event), (None, None));
        match rejection.why {
            Why::BadTarget(error) => assert!(error.to_string().contains(words), "{target:?}: {error}"),
            other => panic!("{target:?}: {other:?}"),
        }
    }
}

#[test]
fn races_are_both_next() {
    let text = "T1 w y; T1 fork T2; T2 w x; T1 w x";
    let race = Target::Race(e(3), e(4));
    accepts(text, race.clone(), Model::Data, &[1, 2]);
    misses(text, race.clone(), Model::Data, &[1], "its thread is forked by event 2, which has not run");
    misses(text, race.clone(), Model::Data, &[1, 2, 4], "event 4 is not next");
    misses(text, race, Model::Data, &[1, 2, 3], "event 3 is not next");
}

#[test]
fn deadlocks_are_stuck() {
    let text = "T1 acq l; T1 acq m; T1 rel m; T1 rel l; T2 acq m; T2 acq l; T2 rel l; T2 rel m; T3 acq l; T3 rel l";
    let deadlock = Target::Deadlock(es([2, 6]));
    accepts(text, deadlock.clone(), Model::Data, &[1, 5]);
    misses(text, deadlock.clone(), Model::Data, &[1], "no thread of the cycle holds the lock that event 2 wants");
    misses(text, Target::Deadlock(es([6, 2])), Model::Data, &[1], "event 6 is not next");
    misses(text, deadlock, Model::Data, &[5], "event 2 is not next");
    // A thread that is blocked by the cycle without being in it may be named, one that is not blocked may not.
    accepts(text, Target::Deadlock(es([2, 6, 9])), Model::Data, &[1, 5]);
    misses(text, Target::Deadlock(es([2, 9])), Model::Data, &[1], "holds the lock that event 2 wants");
    // Readers do not block readers.
    let readers = "T1 racq l; T1 acq m; T1 rel m; T1 rrel l; T2 acq m; T2 racq l; T2 rrel l; T2 rel m";
    misses(readers, Target::Deadlock(es([2, 6])), Model::Data, &[1, 5], "holds the lock that event 6 wants");
    let upgrades = "T1 racq l; T1 acq l; T1 rel l; T1 rrel l; T2 racq l; T2 acq l; T2 rel l; T2 rrel l";
    accepts(upgrades, Target::Deadlock(es([2, 6])), Model::Data, &[1, 5]);
}

#[test]
fn atomicity_ends_with_the_second_access() {
    let text = "T1 r x; T1 r x; T2 w x; T2 w y";
    let target = Target::Atomicity { first: e(1), remote: e(3), second: e(2) };
    accepts(text, target.clone(), Model::Data, &[1, 3, 2]);
    misses(text, target.clone(), Model::Data, &[1, 3, 2, 4], "event 2 is not the last");
    misses(text, target.clone(), Model::Data, &[1, 2, 3], "event 2 runs before event 3");
    misses(text, target.clone(), Model::Data, &[1, 2], "event 3 does not run");
    accepts(text, target, Model::Data, &[1, 3, 4, 2]);
}

#[test]
fn sequences_run_in_order() {
    let text = "T1 w x; T2 w y; T3 w z";
    let target = |adjacent: Vec<(EventId, EventId)>| Target::Sequence { events: es([3, 1]), adjacent };
    accepts(text, target(vec![]), Model::Data, &[3, 2, 1]);
    misses(text, target(vec![]), Model::Data, &[1, 2, 3], "event 1 runs before event 3");
    misses(text, target(vec![]), Model::Data, &[3, 2], "event 1 does not run");
    misses(text, target(vec![(e(3), e(1))]), Model::Data, &[3, 2, 1], "something runs between events 3 and 1");
    accepts(text, target(vec![(e(3), e(1))]), Model::Data, &[2, 3, 1]);
}

#[test]
fn nondeterministic_reads_have_another_write_in_place() {
    let text = "T1 w x; T2 w x; T3 r x";
    let target = |c: Option<u64>| Target::Nondeterminism { write: Some(e(2)), read: e(3), other: c.map(e) };
    accepts(text, target(Some(1)), Model::Data, &[1]);
    accepts(text, target(Some(1)), Model::Data, &[2, 1]);
    accepts(text, target(None), Model::Data, &[]);
    accepts(text, target(None), Model::Data, &[1]);
    misses(text, target(Some(1)), Model::Data, &[], "event 1 does not run");
    misses(text, target(Some(1)), Model::Data, &[1, 2], "event 2, which the read saw, runs and is not overwritten");
    misses(text, target(None), Model::Data, &[2], "event 2, which the read saw, runs and is not overwritten");
    misses(text, target(None), Model::Sync, &[3], "event 3 is not next");
    let initial = "T1 r x; T2 w x";
    accepts(initial, Target::Nondeterminism { write: None, read: e(1), other: Some(e(2)) }, Model::Data, &[2]);
}

/// A checker is as good as new after a rejection at any step.
#[test]
fn checks_leave_no_trace() {
    let text = "T1 fork T2; T1 acq l; T1 w x; T1 rel l; T2 acq l; T2 r x; T2 rel l; T2 br; T1 w x";
    let trace = trace(text);
    let execution = Execution::derive(&trace).unwrap();
    let mut checker = Checker::new(&execution);
    let race = Target::Race(e(6), e(9));
    let good = Witness { schedule: es([1, 2, 3, 4, 5]).into() };
    for bad in [&[1, 2, 5][..], &[1, 5, 2], &[1, 5, 6], &[1, 2, 3, 99, 4], &[1, 1], &[1, 2, 3, 4, 9, 5, 6, 7, 8], &[1]]
    {
        for model in Model::ALL {
            let witness = Witness { schedule: bad.iter().map(|&n| e(n)).collect() };
            assert!(checker.check(&race, model, witness).is_err(), "{bad:?}");
            assert!(checker.check(&race, model, good.clone()).is_ok(), "after {bad:?}");
        }
    }
}

#[test]
fn rejections_say_step_event_and_rule() {
    let text = "T1 acq l; T1 rel l; T2 acq l; T2 r x; T2 rel l; T1 w x; T1 br";
    for (schedule, model, message) in [
        (&[1, 3][..], Model::Sync, "step 2 (event 3): T1 holds the lock"),
        (&[99], Model::Sync, "step 1 (event 99): the trace has no such event"),
        (&[2], Model::Sync, "step 1 (event 2): event 1 of the same thread must run first"),
        (&[1, 1], Model::Sync, "step 2 (event 1): the event has run already"),
        (&[1, 2, 6, 3, 4], Model::Data, "step 5 (event 4): the read sees event 6 instead of the initial value"),
        (&[1, 2], Model::Data, "the schedule is correct but misses the target: event 3 does not run"),
    ] {
        assert_eq!(check(text, runs(3), model, schedule).unwrap_err().to_string(), message);
    }
}
