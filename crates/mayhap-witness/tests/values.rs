//! What may differ from the observed run, and where it stops a thread: taint through writes, forks and joins, values,
//! read-modify-writes, failed attempts.

mod common;

use common::{accepts, e, rejects, runs};
use mayhap_witness::{Model, Target, Why};

const TAINTS: [Model; 2] = [Model::Branch, Model::Causal];
const STRICT: [Model; 2] = [Model::Data, Model::Value];

/// The published counterexample in small: T3 sees the same write, but T2 wrote it after it had read something else.
#[test]
fn a_write_of_a_changed_thread_is_unclean() {
    let text = "T1 w x; T2 r x; T2 w y; T3 r y; T3 br; T3 w z";
    for model in TAINTS {
        rejects(text, runs(5), model, &[2, 3, 4, 5], 4, Why::BranchAfterChangedRead(e(4)));
        accepts(text, runs(4), model, &[2, 3, 4]);
        accepts(text, runs(5), model, &[1, 2, 3, 4, 5]);
    }
    accepts(text, runs(5), Model::Sync, &[2, 3, 4, 5]);
    let constant = text.replace("T2 w y", "T2 w.const y");
    TAINTS.iter().for_each(|&model| accepts(&constant, runs(5), model, &[2, 3, 4, 5]));
}

#[test]
fn forks_and_joins_hand_the_change_on() {
    let fork = "T3 w x; T1 r x; T1 fork T2; T2 br";
    let join = "T3 w x; T1 fork T2; T2 r x; T1 join T2; T1 br";
    for model in TAINTS {
        rejects(fork, runs(4), model, &[2, 3, 4], 3, Why::BranchAfterChangedRead(e(2)));
        rejects(join, runs(5), model, &[2, 3, 4, 5], 4, Why::BranchAfterChangedRead(e(3)));
    }
    // Where no thread may be changed but by a free read, the joining thread stops as well.
    let text = "T1 w x; T1 fork T2; T2 r x; T1 join T2; T1 w x; T3 w x";
    let target = Target::Atomicity { first: e(1), remote: e(3), second: e(5) };
    for model in STRICT {
        rejects(text, target.clone(), model, &[1, 6, 2, 3, 4, 5], 6, Why::GoesOnAfterChangedRead(e(3)));
        accepts(text, target.clone(), model, &[1, 2, 3, 4, 5]);
    }
    accepts(text, target, Model::Branch, &[1, 6, 2, 3, 4, 5]);
}

#[test]
fn equal_values_count_where_models_compare_them() {
    let text = "T1 w x=1; T1 w x=2; T2 r x=2; T2 br; T3 w x=2; T4 w x";
    for model in [Model::Value, Model::Causal, Model::Sync] {
        accepts(text, runs(4), model, &[5, 3, 4]);
    }
    let wrong = |here| Why::WrongWrite { observed: Some(e(2)), here };
    rejects(text, runs(3), Model::Data, &[5, 3], 2, wrong(Some(e(5))));
    rejects(text, runs(4), Model::Branch, &[5, 3, 4], 3, Why::BranchAfterChangedRead(e(3)));
    // Another value, one that is not known, and the initial one.
    for other in [1, 6] {
        rejects(text, runs(3), Model::Value, &[other, 3], 2, wrong(Some(e(other))));
        rejects(text, runs(4), Model::Causal, &[other, 3, 4], 3, Why::BranchAfterChangedRead(e(3)));
    }
    rejects(text, runs(3), Model::Value, &[3], 1, wrong(None));
    // A read tells the initial value, and an unclean write of an equal value does not count.
    accepts("T1 r x=0; T1 w x=0; T2 r x=0; T2 br", runs(4), Model::Value, &[3, 4]);
    let unclean = "T3 w y; T1 r x=0; T1 r y; T1 w x=0; T2 r x=0; T2 br";
    rejects(unclean, runs(6), Model::Causal, &[2, 3, 4, 5, 6], 5, Why::BranchAfterChangedRead(e(5)));
    accepts(unclean, runs(6), Model::Causal, &[1, 2, 3, 4, 5, 6]);
    // A read without a value has that of the write that it saw.
    accepts("T1 w x=1; T2 r x; T2 br; T3 w x=1", runs(3), Model::Value, &[4, 2, 3]);
}

#[test]
fn nothing_runs_within_a_step() {
    let text = "T1 r.rlx x; T1 w.rlx.joined x; T2 w.rlx x; T2 w y";
    for model in Model::ALL {
        rejects(text, runs(3), model, &[1, 3], 2, Why::SplitsStep(e(2)));
        accepts(text, runs(3), model, &[1, 2, 3]);
        accepts(text, runs(1), model, &[1]);
    }
}

#[test]
fn what_a_read_modify_write_stores() {
    // Fetch-and-op: what it stores comes from what it read.
    let fetch = "T3 w x; T1 r.sc x; T1 w.sc.joined x; T2 r.acq x; T2 br";
    rejects(fetch, runs(5), Model::Causal, &[2, 3, 4, 5], 4, Why::BranchAfterChangedRead(e(4)));
    // Exchange: it does not, but it may come from earlier reads of the thread.
    let exchange = "T3 w x; T1 r.sc x; T1 w.sc.joined.indep x; T2 r.acq x; T2 br";
    accepts(exchange, runs(5), Model::Causal, &[2, 3, 4, 5]);
    let later = "T3 w y; T1 r y; T1 r.sc x; T1 w.sc.joined.indep x; T2 r.acq x; T2 br";
    rejects(later, runs(6), Model::Causal, &[2, 3, 4, 5, 6], 5, Why::BranchAfterChangedRead(e(5)));
    // Compare-exchange: it decides by what it read.
    let cas = "T3 w x; T1 r.sc x; T1 br.joined; T1 w.sc.joined x";
    rejects(cas, runs(3), Model::Causal, &[2, 3], 2, Why::BranchAfterChangedRead(e(2)));
    accepts(cas, runs(4), Model::Causal, &[1, 2, 3, 4]);
}

#[test]
fn failed_attempts_read_the_lock() {
    let text = "T1 acq l; T2 facq.try l; T2 br; T1 rel l";
    // One that succeeds would take the lock, and no event stands for that: its thread stops before it in all models.
    for model in STRICT.into_iter().chain(TAINTS) {
        rejects(text, runs(2), model, &[2], 1, Why::AttemptMaySucceed);
        rejects(text, runs(3), model, &[1, 4, 2, 3], 3, Why::AttemptMaySucceed);
        accepts(text, runs(3), model, &[1, 2, 3]);
    }
    accepts(text, runs(3), Model::Sync, &[2, 3]);
    // A reader keeps out a writer, not a reader; what the thread holds itself keeps out a writer.
    let readers = "T1 racq l; T2 facq.try l; T1 rrel l; T3 acq l; T2 fracq.try l; T3 rel l";
    accepts(readers, runs(2), Model::Data, &[1, 2]);
    rejects(readers, runs(5), Model::Data, &[1, 2, 5], 3, Why::AttemptMaySucceed);
    accepts("T1 acq l; T1 facq.try l", runs(2), Model::Data, &[1, 2]);
}
