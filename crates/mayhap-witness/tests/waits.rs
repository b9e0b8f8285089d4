//! Waits by the kind of their condition.

mod common;

use common::{accepts, rejects, runs};
use mayhap_witness::{Model, Why};

/// A notify wakes a thread that waits at that moment, and is otherwise lost.
#[test]
fn notifies_of_a_condition_variable_are_not_remembered() {
    let text = "#! cond c; T1 w x; T2 notify c; T1 wait c";
    for model in Model::ALL {
        rejects(text, runs(3), model, &[2, 1, 3], 3, Why::NoWakeUp);
        accepts(text, runs(3), model, &[1, 2, 3]);
    }
    let first = "#! cond c; T1 notify c; T1 fork T2; T1 notify c; T2 wait c";
    rejects(first, runs(4), Model::Data, &[1, 2, 4], 3, Why::NoWakeUp);
    accepts(first, runs(4), Model::Data, &[1, 2, 3, 4]);
}

#[test]
fn a_notify_serves_one_wait_and_a_notify_of_all_any_number() {
    let text = "#! cond c; T1 w x; T2 w x; T3 notify c; T3 notify c; T1 wait c; T2 wait c";
    rejects(text, runs(6), Model::Sync, &[1, 2, 3, 5, 6], 5, Why::NoWakeUp);
    accepts(text, runs(6), Model::Sync, &[1, 2, 3, 4, 6, 5]);
    let all = "#! cond c; T1 w x; T2 w x; T3 notifyall c; T1 wait c; T2 wait c";
    accepts(all, runs(5), Model::Sync, &[1, 2, 3, 5, 4]);
    // T1 began before both notifies, T2 between them: T1 takes the first and leaves T2 the second.
    let late = "#! cond c; T1 w x; T3 notify c; T2 w x; T3 notify c; T1 wait c; T2 wait c";
    accepts(late, runs(6), Model::Sync, &[1, 2, 3, 4, 5, 6]);
    rejects(late, runs(5), Model::Sync, &[1, 2, 5, 3, 6], 5, Why::NoWakeUp);
}

#[test]
fn semaphores_count() {
    let text = "#! sem s 1; T1 wait s; T2 notify s; T3 wait s; T4 fwait.try s; T4 br";
    for model in Model::ALL {
        accepts(text, runs(1), model, &[3, 2, 1]);
        rejects(text, runs(3), model, &[1, 3], 2, Why::NothingToTake);
    }
    rejects(text, runs(4), Model::Data, &[4], 1, Why::AttemptMaySucceed);
    rejects(text, runs(5), Model::Causal, &[1, 2, 4, 5], 3, Why::AttemptMaySucceed);
    accepts(text, runs(5), Model::Data, &[1, 4, 5]);
}

#[test]
fn a_token_is_set_or_not() {
    let text = "#! token p; T1 notify p; T2 notify p; T3 wait p; T1 notify p; T3 wait p";
    accepts(text, runs(5), Model::Data, &[2, 3, 1, 5]);
    rejects(text, runs(5), Model::Data, &[1, 2, 3, 5], 4, Why::NothingToTake);
    rejects(text, runs(3), Model::Data, &[3], 1, Why::NothingToTake);
}
