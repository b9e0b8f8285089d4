//! Which notify each wait has, and which of these pairs are must-order, by the kind of the condition.

use mayhap_testkit::trace;
use mayhap_trace::{EventId, Execution, Op};

/// For each wait of a text: its number, its notify's, and whether no other could serve it.
fn waits(text: &str) -> Vec<(u64, Option<u64>, bool)> {
    let trace = trace(text);
    let execution = Execution::derive(&trace).unwrap_or_else(|e| panic!("{text}: {e}"));
    let relations = execution.relations();
    let waits = trace.events().filter(|(_, event)| event.op == Op::Wait);
    let rows = waits.map(|(id, event)| {
        let notify = relations.notify_of(id);
        let required = relations.required_notify(id);
        assert!(required.is_none() || required == notify, "{text}");
        if let Some(notify) = notify.filter(|&n| trace.event(n).thread != event.thread) {
            assert_eq!(relations.ordered(&trace, notify, id), required.is_some(), "{text}");
        }
        (id.number(), notify.map(EventId::number), required.is_some())
    });
    rows.collect()
}

#[test]
fn pairs_that_the_trace_fixes() {
    assert_eq!(waits("A notify c; B notify c; B wait c; C wait c"), [(3, Some(1), true), (4, Some(2), true)]);
}

#[test]
fn condition_variables() {
    let one = "#! cond c; B w x; A notify c; B wait c";
    assert_eq!(waits(one), [(3, Some(2), true)]);
    let own = "#! cond c; B notify c; B w x; A notify c; B wait c";
    assert_eq!(waits(own), [(4, Some(3), true)]);
    let two = "#! cond c; B w x; A notify c; C notify c; B wait c";
    assert_eq!(waits(two), [(4, Some(2), false)]);
    let later = "#! cond c; A notify c; B w x; A notify c; B wait c; A notify c";
    assert_eq!(waits(later), [(4, Some(3), false)]);
    let all = "#! cond c; B w x; C w x; A notifyall c; B wait c; C wait c";
    assert_eq!(waits(all), [(4, Some(3), true), (5, Some(3), true)]);
    let first = "#! cond c; A notify c; A fork B; A notify c; B wait c";
    assert_eq!(waits(first), [(4, Some(3), false)]);
}

#[test]
fn semaphores() {
    assert_eq!(waits("#! sem s 0; A notify s; B wait s"), [(2, Some(1), true)]);
    assert_eq!(waits("#! sem s 1; A notify s; B wait s; B wait s"), [(2, None, false), (3, Some(1), false)]);
    let fifo = "#! sem s 0; A notify s; B notify s; B wait s; A wait s";
    assert_eq!(waits(fifo), [(3, Some(1), false), (4, Some(2), false)]);
}

#[test]
fn tokens() {
    assert_eq!(waits("#! token p; A notify p; B wait p"), [(2, Some(1), true)]);
    assert_eq!(waits("#! token p; A notify p; A notify p; B wait p"), [(3, Some(2), false)]);
}

/// A mark of an older trace reaches its acquire, whatever comes between.
#[test]
fn marks_of_tries_become_attempts() {
    let trace = trace("A try; B acq m; A acq l; A acq k; B acq.timed k2");
    let tries: Vec<u64> = trace.events().filter(|(id, _)| trace.only_tries(*id)).map(|(id, _)| id.number()).collect();
    assert_eq!(tries, [3, 5]);
}

#[test]
fn a_failed_attempt_names_what_was_in_its_way() {
    let trace = trace("A racq l; B facq l; A facq l");
    let execution = Execution::derive(&trace).unwrap();
    let blocker = |n| execution.relations().blocker_of(EventId::from_number(n).unwrap()).map(EventId::number);
    assert_eq!([blocker(2), blocker(3)], [Some(1), Some(1)]);
}
