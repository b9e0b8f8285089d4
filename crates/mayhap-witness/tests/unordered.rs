//! Races by happens-before, judged as the C11 memory model says.

mod common;

use common::{accepts, check, e, misses};
use mayhap_witness::{Model, Target};

const ORDERED: &str = "happens before the other";

/// Two accesses that run in the observed order: a race or not.
#[track_caller]
fn observed(text: &str, (a, b): (u64, u64), is_race: bool) {
    let events = text.split(';').filter(|s| !s.trim().starts_with("#!")).count() as u64;
    let schedule: Vec<u64> = (1..=events).collect();
    let target = Target::UnorderedRace(e(a), e(b));
    if is_race {
        accepts(text, target, Model::Data, &schedule);
    } else {
        misses(text, target, Model::Data, &schedule, ORDERED);
    }
}

#[test]
fn message_passing() {
    for (write, read, is_race) in [
        ("rlx", "rlx", true),
        ("rel", "rlx", true),
        ("rlx", "acq", true),
        ("rel", "acq", false),
        ("rel", "con", false),
        ("sc", "sc", false),
    ] {
        let text = format!("T1 w x; T1 w.{write} f=1; T2 r.{read} f=1; T2 r x");
        observed(&text, (1, 4), is_race);
    }
}

#[test]
fn fences_lend_their_order_to_relaxed_accesses() {
    let text = |release: &str, acquire: &str| {
        format!("T1 w x; T1 fence.{release}; T1 w.rlx f; T2 r.rlx f; T2 fence.{acquire}; T2 r x")
    };
    for (release, acquire, is_race) in
        [("rel", "acq", false), ("sc", "sc", false), ("ar", "ar", false), ("acq", "acq", true), ("rel", "rel", true)]
    {
        observed(&text(release, acquire), (1, 6), is_race);
    }
    // A fence on one side meets an access on the other; a fence after the write lends nothing.
    observed("T1 w x; T1 fence.rel; T1 w.rlx f; T2 r.acq f; T2 r x", (1, 5), false);
    observed("T1 w x; T1 w.rel f; T2 r.rlx f; T2 fence.acq; T2 r x", (1, 5), false);
    observed("T1 w x; T1 w.rlx f; T1 fence.rel; T2 r.acq f; T2 r x", (1, 5), true);
    observed("T1 w x; T1 w.rel f; T2 fence.acq; T2 r.rlx f; T2 r x", (1, 5), true);
}

#[test]
fn release_sequences_are_continued_by_read_modify_writes_and_the_same_thread() {
    let rmw = "T1 w x; T1 w.rel f; T2 r.rlx f; T2 w.rlx.joined f; T3 r.acq f; T3 r x";
    observed(rmw, (1, 6), false);
    let store = "T1 w x; T1 w.rel f; T2 w.rlx f; T3 r.acq f; T3 r x";
    observed(store, (1, 5), true);
    // By a store of the same thread, in C11 and C++17, also after another thread's read-modify-write. What that one published
    // itself ends there.
    observed("T1 w x; T1 w.rel f; T1 w.rlx f; T3 r.acq f; T3 r x", (1, 5), false);
    let between = "T1 w x; T1 w.rel f; T2 w y; T2 r.rlx f; T2 w.rel.joined f; T1 w.rlx f; T3 r.acq f; T3 r x; T3 r y";
    observed(between, (1, 8), false);
    observed(between, (3, 9), true);
    // A plain write publishes nothing.
    observed("T1 w x; T1 w f; T3 r.acq f; T3 r x", (1, 4), true);
}

#[test]
fn locks_threads_and_conditions_order() {
    observed("T1 w x; T1 acq l; T1 rel l; T2 acq l; T2 rel l; T2 r x", (1, 6), false);
    observed("T1 w x; T1 racq l; T1 rrel l; T2 racq l; T2 rrel l; T2 r x", (1, 6), true);
    observed("T1 w x; T1 racq l; T1 rrel l; T2 acq l; T2 rel l; T2 r x", (1, 6), false);
    observed("T1 w x; T1 fork T2; T2 r x", (1, 3), false);
    observed("T2 w x; T1 join T2; T1 r x", (1, 3), false);
    observed("T1 w x; T1 notify c; T2 wait c; T2 r x", (1, 4), false);
    observed("#! sem s 0; T1 w x; T1 notify s; T2 wait s; T2 r x", (1, 4), false);
    observed("#! cond c; T2 w y; T1 w x; T1 notify c; T2 wait c; T2 r x", (2, 5), false);
    // Of two notifies the wait takes the first.
    observed("#! cond c; T2 w y; T1 notify c; T3 w x; T3 notify c; T2 wait c; T2 r x", (3, 6), true);
}

#[test]
fn both_accesses_run_and_their_reads_are_free() {
    let text = "T1 w x; T2 r x; T3 w x; T2 w y";
    let target = Target::UnorderedRace(e(2), e(3));
    accepts(text, target.clone(), Model::Data, &[3, 2]);
    assert!(check(text, target.clone(), Model::Data, &[3, 2, 4]).is_err(), "the thread of a free read stops");
    misses(text, target, Model::Data, &[3], "event 2 does not run");
    let atomic = Target::UnorderedRace(e(1), e(2));
    let rejection = check("T1 w.rlx x; T2 r.rlx x", atomic, Model::Data, &[1, 2]).unwrap_err();
    assert!(rejection.to_string().contains("atomic accesses do not race"), "{rejection}");
}

/// In another order than the observed one the lock no longer orders the accesses.
#[test]
fn the_schedule_decides() {
    let text = "T1 w x; T1 acq l; T1 rel l; T2 acq l; T2 rel l; T2 w x";
    let target = Target::UnorderedRace(e(1), e(6));
    misses(text, target.clone(), Model::Data, &[1, 2, 3, 4, 5, 6], ORDERED);
    accepts(text, target, Model::Data, &[4, 5, 6, 1]);
}
