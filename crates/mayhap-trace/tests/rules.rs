//! Each rule of well-formedness: broken by a small trace, blamed on the right two events, repaired by dropping.

use mayhap_testkit::{shrink::std_text, trace};
use mayhap_trace::validate::{Rule, Validator, Violation, repair};
use mayhap_trace::{Columns, ErrorKind, Event, EventId, Flags, NONE, Op, Relations, Tables, ThreadId, Trace, Value};

#[track_caller]
fn violation(text: &str) -> Violation {
    match Relations::derive(&trace(text)).unwrap_err().kind {
        ErrorKind::Violation(violation) => violation,
        other => panic!("{other}"),
    }
}

/// Text, rule, the event that breaks it, the event it clashes with, and what a repair leaves.
const BROKEN: &[(&str, Rule, u64, Option<u64>, &str)] = &[
    ("A acq l; B acq l; A rel l", Rule::AcquireOfHeldLock, 2, Some(1), "A|acq(l) A|rel(l)"),
    ("A racq l; B acq l; A rrel l", Rule::AcquireOfHeldLock, 2, Some(1), "A|racq(l) A|rrel(l)"),
    ("A acq l; B racq l; A rel l", Rule::AcquireOfHeldLock, 2, Some(1), "A|acq(l) A|rel(l)"),
    ("A racq l; B racq l; A acq l", Rule::AcquireOfHeldLock, 3, Some(2), "A|racq(l) B|racq(l)"),
    ("A w x; A rel l", Rule::ReleaseWithoutAcquire, 2, None, "A|w(x)"),
    ("A acq l; A rel l; A rel l", Rule::ReleaseWithoutAcquire, 3, Some(2), "A|acq(l) A|rel(l)"),
    ("A acq l; B rel l", Rule::ReleaseWithoutAcquire, 2, Some(1), "A|acq(l)"),
    ("A racq l; A rel l", Rule::ReleaseWithoutAcquire, 2, None, "A|racq(l)"),
    ("A acq l; A rrel l", Rule::ReleaseWithoutAcquire, 2, None, "A|acq(l)"),
    ("A fork A", Rule::ForkOfItself, 1, None, ""),
    ("A fork B; A fork B", Rule::ForkTwice, 2, Some(1), "A|fork(B)"),
    ("A fork B; C fork B", Rule::ForkTwice, 2, Some(1), "A|fork(B)"),
    ("B w x; A fork B; B w x", Rule::ForkOfRunningThread, 2, Some(1), "B|w(x) B|w(x)"),
    ("A join B; A fork B", Rule::ForkAfterJoin, 2, Some(1), "A|join(B)"),
    ("A join A", Rule::JoinOfItself, 1, None, ""),
    ("B w x; A join B; C join B", Rule::JoinTwice, 3, Some(2), "B|w(x) A|join(B)"),
    ("B w x; A join B; B w y; B w z", Rule::JoinOfUnfinishedThread, 2, Some(4), "B|w(x) B|w(y) B|w(z)"),
    ("A wait c", Rule::WaitWithoutNotify, 1, None, ""),
    ("A notify c; A wait c", Rule::WaitWithoutNotify, 2, None, "A|notify(c)"),
    ("A notify c; B wait d", Rule::WaitWithoutNotify, 2, None, "A|notify(c)"),
    ("#! cond c; A notify c; B w x; B wait c", Rule::WaitWithoutNotify, 3, Some(2), "#! cond c A|notify(c) B|w(x)"),
    ("#! sem s 1; A wait s; A wait s", Rule::WaitWithoutNotify, 2, None, "#! sem s 1 A|wait(s)"),
    (
        "#! token p; A notify p; A notify p; B wait p; B wait p",
        Rule::WaitWithoutNotify,
        4,
        None,
        "#! token p A|notify(p) A|notify(p) B|wait(p)",
    ),
    ("A acq l; A rel l; B facq l", Rule::FailedAcquireOfFreeLock, 3, Some(2), "A|acq(l) A|rel(l)"),
    ("A racq l; B fracq l", Rule::FailedAcquireOfFreeLock, 2, None, "A|racq(l)"),
    ("A racq l; A fracq l", Rule::FailedAcquireOfFreeLock, 2, None, "A|racq(l)"),
    ("#! sem s 1; A fwait s", Rule::FailedWaitOfPositiveCount, 1, None, ""),
    ("#! sem s 0; A notify s; A fwait s", Rule::FailedWaitOfPositiveCount, 2, Some(1), "#! sem s 0 A|notify(s)"),
    ("A notify c; B fwait c", Rule::FailedWaitOfPositiveCount, 2, None, "A|notify(c)"),
    ("A r.sc x; B w y; A w.sc.joined x", Rule::JoinedStepInterrupted, 3, Some(2), "A|r.sc(x) B|w(y)"),
    ("A br.joined", Rule::JoinedStepInterrupted, 1, None, ""),
    ("A w x; A fence", Rule::MisplacedProperty, 2, None, "A|w(x)"),
];

#[test]
fn violations_name_rule_and_both_events() {
    for &(text, rule, event, other, rest) in BROKEN {
        let found = violation(text);
        let numbers = (found.event.number(), found.other.map(EventId::number));
        assert_eq!((found.rule, numbers), (rule, (event, other)), "{text}: {found}");
        let message = found.to_string();
        assert!(message.starts_with(&format!("event {event}: ")), "{message}");
        assert!(message.ends_with(&format!(" [rule {}]", rule.name())), "{message}");
        assert!(other.is_none_or(|o| message.contains(&format!("event {o}"))), "{message} names event {other:?}");
        let (repaired, dropped) = repair(trace(text));
        assert_eq!(std_text(&repaired).trim().replace('\n', " "), rest, "{text}");
        assert_eq!((dropped.dropped, dropped.first), (vec![(rule, 1)], vec![found]), "{text}");
    }
}

/// A validator that sees events as they come can only blame the event after the join.
#[test]
fn events_after_a_join_are_to_blame_when_streaming() {
    let trace = trace("B w x; A join B; B w y");
    let mut validator = Validator::new();
    let mut found = trace.events().filter_map(|(id, event)| validator.step(trace.tables(), id, &event).err());
    let violation = found.next().unwrap();
    assert_eq!((violation.rule, violation.event.number()), (Rule::EventAfterJoin, 3));
    assert_eq!(violation.other.map(EventId::number), Some(2));
    assert!(found.next().is_none());
}

/// Text cannot say these.
#[test]
fn properties_and_values_need_an_operation_that_can_have_them() {
    let mut columns = Columns::default();
    let mut tables = Tables::default();
    tables.threads.define(b"A").unwrap();
    let value = tables.values.intern(Value::Bits(1)).unwrap();
    let event = |op| Event::new(ThreadId::at(0), op, NONE, None);
    columns.push(event(Op::Branch).with_flags(Flags::CONSTANT));
    columns.push(event(Op::Branch).with_value(Some(value)));
    columns.push(event(Op::Begin).with_flags(Flags::JOINED));
    let broken = Trace::from_parts(columns, tables);
    let (repaired, dropped) = repair(broken.clone());
    assert_eq!((repaired.len(), &dropped.dropped[..]), (0, &[(Rule::MisplacedProperty, 3)][..]));
    let message = dropped.first[0].to_string();
    assert_eq!(message, "event 1: `br` of A cannot be const [rule misplaced-property]");
}

/// The write of a compare-exchange goes with its read.
#[test]
fn events_joined_to_a_dropped_one_are_dropped() {
    let text = "B w y; A join B; B w z; B r.sc x; B br.joined; B w.sc.joined x; A w y";
    let (repaired, dropped) = repair(trace(text));
    assert!(Relations::derive(&repaired).is_ok());
    assert_eq!((std_text(&repaired).lines().count(), dropped.total()), (6, 1));
    let mut validator = Validator::new();
    let trace = trace(text);
    let bad = trace.events().filter(|(id, event)| validator.step(trace.tables(), *id, event).is_err());
    assert_eq!(bad.map(|(id, _)| id.number()).collect::<Vec<_>>(), [3, 4, 5, 6]);
}

#[test]
fn every_rule_is_broken_somewhere() {
    for &rule in Rule::ALL.iter().filter(|&&rule| rule != Rule::EventAfterJoin) {
        assert!(BROKEN.iter().any(|case| case.1 == rule), "{rule}");
    }
}

#[test]
fn repair_counts_by_rule() {
    let text = "A acq l; B acq l; B rel l; C acq l; A rel l; A rel l; A wait c; A fork A; A fork A; A w x";
    let (repaired, dropped) = repair(trace(text));
    assert_eq!(std_text(&repaired), "A|acq(l)\nA|rel(l)\nA|w(x)\n");
    let counts = [
        (Rule::AcquireOfHeldLock, 2),
        (Rule::ReleaseWithoutAcquire, 2),
        (Rule::ForkOfItself, 2),
        (Rule::WaitWithoutNotify, 1),
    ];
    assert_eq!((dropped.total(), &dropped.dropped[..]), (7, &counts[..]));
    assert!(Relations::derive(&repaired).is_ok());
    let (same, nothing) = repair(repaired.clone());
    assert_eq!((same, nothing.total()), (repaired, 0));
}

#[test]
fn marks_are_tolerated_anywhere() {
    for text in [
        "B begin; A fork B; B w x",
        "A fork B; B begin; B w x; B end; A join B",
        "A fork B; B w x; A join B; B end",
        "A begin; A begin; A end; A w x",
        "B begin; B end; A fork B; A join B",
    ] {
        Relations::derive(&trace(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}

#[test]
fn well_formed_corners() {
    for text in [
        "A acq l; A acq l; A rel l; A rel l; B acq l",
        "A racq l; A acq l; A rel l; A rrel l; B acq l",
        "A acq l; A racq l; A rel l; B racq l; A rrel l; B rrel l; A acq l",
        "A acq l; A acq m; A rel l; B acq l; A rel m",
        "A join B",
        "A fork B; C join B",
        "A acq l; C join A; C w x",
        "A notify c; B notify c; B wait c; A wait c; A wait c",
        "#! cond c; B w x; A notify c; B wait c",
        "#! cond c; B w x; C w x; A notifyall c; B wait c; C wait c",
        "#! sem s 1; A wait.try s; A fwait s; A notify s; B wait.timed s; B fwait.timed s",
        "#! token p; A fwait p; A notify p; A wait p; A fwait p",
        "A acq l; A facq l; B facq.try l; B fracq l; A rel l",
        "A racq l; B facq l; A facq.timed l",
        "A acq l; A fracq.try l",
        "A r.acq x; A br.joined; A w.rel.joined x; A fence.sc",
        "A r.acq x; B begin; A w.rel.joined.indep x=4",
    ] {
        Relations::derive(&trace(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}
