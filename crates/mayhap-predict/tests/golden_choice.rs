//! The figures of the nondeterminism paper and the counterexamples to it.

use mayhap_predict::choice::{Choice, KindVerdict, Literal, Outcome, Survey, Triplets, decide_edges};
use mayhap_predict::{Budget, Engine, Rung, Verdict};
use mayhap_trace::{EventId, Execution, Trace, format};
use mayhap_witness::{Model, Target};

const FIG1: &str = "T0|w(x)|init\nT0|fork(T1)|e2\nT0|fork(T2)|e3\nT1|acq(l)|L1\nT1|w(x)|w\nT1|rel(l)|U1\nT2|acq(l)|L2\n\
                    T2|r(x)|r\nT2|rel(l)|U2\n";
const FIG4: &str = "T1|w(x)|c\nT1|w(x)|w\nT1|acq(l)|e1\nT1|w(y)|e2\nT1|rel(l)|e3\nT2|r(y)|e4\nT2|acq(l)|e5\n\
                    T2|r(x)|r\nT2|rel(l)|e6\n";
const FIG5: &str = "T1|r(x)|x\nT2|acq(l1)|a1\nT2|r(p1)|p1\nT2|r(q1)|q1\nT2|rel(l1)|b1\nT3|acq(l1)|a2\nT3|r(p2)|p2\n\
                    T3|r(q2)|q2\nT3|rel(l1)|b2\nT4|acq(l2)|a3\nT4|r(p3)|p3\nT4|r(q3)|q3\nT4|rel(l2)|b3\nT5|acq(l2)|a4\n\
                    T5|r(p4)|p4\nT5|r(q4)|q4\nT5|rel(l2)|b4\nT6|r(y)|y\n";
const INTERFERENCE: &str = "T1|w(x)|e1\nT2|w(x)|e2\nT1|r(x)|e3\nT1|r(x)|e4\n";
const WHOLE_TRACE: &str = "T3|w(x)|e1\nT2|acq(l)|e2\nT2|w(y)|e3\nT2|w(x)|e4\nT2|rel(l)|e5\nT1|acq(l)|e6\nT1|r(x)|e7\n\
                           T1|r(y)|e8\nT1|rel(l)|e9\n";

/// Fig. 5 as a triplet: the paths are signals, x is the other write, y the write that the read saw.
const FIG5_TRIPLET: &str = "T1|w(v)|c\nT1|notify(x)|x\nT2|acq(l1)|a1\nT2|notify(p1)|p1\nT2|wait(x)|q1\nT2|rel(l1)|b1\n\
                            T3|acq(l1)|a2\nT3|notify(p2)|p2\nT3|wait(x)|q2\nT3|rel(l1)|b2\nT4|acq(l2)|a3\n\
                            T4|notify(p3)|p3\nT4|wait(p1)|q31\nT4|wait(p2)|q32\nT4|rel(l2)|b3\nT5|acq(l2)|a4\n\
                            T5|notify(p4)|p4\nT5|wait(p1)|q41\nT5|wait(p2)|q42\nT5|rel(l2)|b4\nT6|wait(p3)|y3\n\
                            T6|wait(p4)|y4\nT6|w(v)|w\nT7|r(v)|r\n";
/// Two threads add to a counter under its lock.
const COUNTER: &str = "main|w(n)|n = 0\nmain|fork(A)|f1\nmain|fork(B)|f2\nA|acq(m)|a1\nA|r(n)|a2\nA|w(n)|a3\nA|rel(m)|a4\n\
                       B|acq(m)|b1\nB|r(n)|b2\nB|w(n)|b3\nB|rel(m)|b4\nmain|join(A)|j1\nmain|join(B)|j2\nmain|r(n)|print\n";
/// Each stage starts when the one before has ended.
const PIPELINE: &str = "main|w(x)|m1\nmain|fork(A)|m2\nA|r(x)|a1\nA|w(x)|a2\nA|w(y)|a3\nmain|join(A)|m3\nmain|fork(B)|m4\n\
                        B|r(y)|b1\nB|r(x)|b2\nB|w(x)|b3\nmain|join(B)|m5\nmain|r(x)|m6\nmain|r(y)|m7\n";

struct Case {
    trace: Trace,
    execution: Execution<'static>,
}

impl Case {
    fn new(text: &str) -> Case {
        let trace = format::parse_std(text).unwrap();
        let execution = Execution::derive(trace.clone()).unwrap();
        Case { trace, execution }
    }

    /// The event whose location is `name`.
    fn event(&self, name: &str) -> EventId {
        let found = self.trace.events().find(|(_, e)| self.trace.tables().location(e.location) == Some(name));
        found.unwrap_or_else(|| panic!("no event {name}")).0
    }

    /// Kinds 2 and 3 of a triplet, corrected.
    fn corrected(&self, read: &str, other: Option<&str>) -> [KindVerdict; 2] {
        let survey = Survey::new(&self.execution, Model::Data);
        let mut session = survey.session(&Budget::default());
        let verdicts = session.triplet(self.event(read), other.map(|o| self.event(o)));
        [verdicts.others[0].overwritten, verdicts.others[0].absent]
    }

    fn decide(&self, read: &str, other: Option<&str>, literal: bool) -> Verdict {
        let read = self.event(read);
        let write = self.execution.relations().read_from(read);
        let target = Target::Nondeterminism { write, read, other: other.map(|o| self.event(o)) };
        Choice::new(&self.execution, literal).decide(&target, Model::Data, &Budget::default())
    }

    fn literal(&self, read: &str, other: &str) -> [Option<bool>; 3] {
        let mut literal = Literal::new(&self.execution, 1000);
        literal.decide(self.event(read), Some(self.event(other))).map(Outcome::feasible)
    }
}

#[test]
fn fig1_is_feasible_with_the_writer_late_or_absent() {
    let case = Case::new(FIG1);
    assert_eq!(case.literal("r", "init"), [Some(true), Some(false), Some(true)]);
    assert!(matches!(case.corrected("r", Some("init")), [KindVerdict::Refuted(_), KindVerdict::Proven(_)]));
}

#[test]
fn fig4_is_cyclic_for_all_kinds() {
    let case = Case::new(FIG4);
    let mut literal = Literal::new(&case.execution, 1000);
    assert_eq!(literal.decide(case.event("r"), Some(case.event("c"))), [Outcome::Cyclic; 3]);
    assert!(matches!(case.corrected("r", Some("c")), [KindVerdict::Refuted(_), KindVerdict::Refuted(_)]));
}

#[test]
fn fig5_has_four_choice_graphs_and_all_are_cyclic() {
    let case = Case::new(FIG5);
    let e = |(a, b)| (case.event(a), case.event(b));
    let edges =
        [("x", "q1"), ("x", "q2"), ("p1", "q3"), ("p1", "q4"), ("p2", "q3"), ("p2", "q4"), ("p3", "y"), ("p4", "y")];
    let outcome = decide_edges(&case.execution, &edges.map(e), &[e(("y", "x"))], 1000);
    let Outcome::Choices { pairs, explored, feasible } = outcome else { panic!("{outcome:?}") };
    assert_eq!((pairs, feasible), (2, Some(false)));
    // Either choice for the first pair is cyclic together with what it induces, whatever the second is.
    assert_eq!(explored, 2);
}

#[test]
fn fig5_as_a_triplet_takes_a_search_to_refute() {
    let case = Case::new(FIG5_TRIPLET);
    let mut literal = Literal::new(&case.execution, 1000);
    let [_, overwritten, absent] = literal.decide(case.event("r"), Some(case.event("c")));
    assert!(matches!(overwritten, Outcome::Choices { pairs: 2, feasible: Some(false), .. }), "{overwritten:?}");
    assert_eq!(absent.feasible(), Some(true));
    let [overwritten, absent] = case.corrected("r", Some("c"));
    assert_eq!(overwritten, KindVerdict::Refuted(Rung::Search));
    assert!(matches!(absent, KindVerdict::Proven(_)));
}

#[test]
fn the_paper_overlooks_a_write_that_lands_between_a_couple() {
    assert_eq!(Case::new(INTERFERENCE).literal("e4", "e1")[1], Some(true), "the paper's verdict, which is wrong");
    let case = Case::new(INTERFERENCE);
    assert_eq!(case.corrected("e4", Some("e1"))[0], KindVerdict::Refuted(Rung::Saturation));
    let Verdict::Refuted(refutation) = case.decide("e4", Some("e1"), false) else { panic!() };
    assert!(refutation.reason.contains("event 1 cannot come between event 2 and event 4"), "{refutation}");
    // The published decision says so too, but proves nothing.
    assert!(matches!(case.decide("e4", Some("e1"), true), Verdict::Unknown(u) if u.suspected));
}

#[test]
fn the_paper_demands_what_lies_behind_the_witness() {
    let case = Case::new(WHOLE_TRACE);
    assert_eq!(case.literal("e7", "e1")[2], Some(false), "the paper's verdict, which is wrong");
    assert!(matches!(case.corrected("e7", Some("e1"))[1], KindVerdict::Proven(_)));
    let Verdict::Proven(checked, _) = case.decide("e7", Some("e1"), false) else { panic!() };
    let schedule: Vec<u64> = checked.witness().schedule.iter().map(|e| e.number()).collect();
    assert_eq!(schedule, [1, 6], "only the prefix before the read is needed");
    let Verdict::Unknown(published) = case.decide("e7", Some("e1"), true) else { panic!() };
    assert!(published.reason.contains("its write absent: infeasible"), "{}", published.reason);
}

/// Which other writes each read can see, by the words of the trace.
fn seen(text: &str) -> Vec<(String, Vec<String>)> {
    let case = Case::new(text);
    let survey = Survey::new(&case.execution, Model::Data);
    let mut session = survey.session(&Budget::default());
    let triplets = Triplets::of(&case.execution);
    let name = |e: EventId| case.trace.tables().location(case.trace.event(e).location).unwrap().to_string();
    let mut all = Vec::new();
    for read in triplets.reads() {
        let verdicts = session.read(&triplets, read);
        assert_eq!(verdicts.unknown(), 0);
        let others = verdicts.others.iter().filter(|o| session.sees(read, o.other).is_some());
        all.push((name(read), others.map(|o| o.other.map_or("init".to_string(), name)).collect()));
    }
    all
}

#[test]
fn a_counter_under_a_lock_is_free_of_races_and_nondeterministic() {
    let words = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    // a2 cannot see b3: in a correct reordering B's read sees A's write before B writes.
    assert_eq!(
        seen(COUNTER),
        [("a2".to_string(), words(&[])), ("b2".to_string(), words(&["n = 0"])), ("print".to_string(), words(&[]))]
    );
    let case = Case::new(COUNTER);
    let Verdict::Proven(checked, _) = case.decide("b2", Some("n = 0"), false) else { panic!() };
    let schedule: Vec<u64> = checked.witness().schedule.iter().map(|e| e.number()).collect();
    assert_eq!(schedule, [1, 2, 3, 8], "B takes the lock first");
}

#[test]
fn what_a_release_would_need_counts_only_where_it_is_there() {
    // The lock of b1 cannot be released before a1, which is where a3 must wait: but a2 need not run at all.
    let text = "A|r(x)|a1\nA|acq(l)|a2\nA|rel(l)|a3\nB|acq(l)|b1\nB|w(x)|b2\nA|w(x)|a4\nB|r(x)|b3\nB|rel(l)|b4\n";
    let case = Case::new(text);
    let survey = Survey::new(&case.execution, Model::Data);
    let mut session = survey.session(&Budget::default());
    let checked = session.sees(case.event("a1"), Some(case.event("b2"))).expect("B runs first");
    assert_eq!(checked.witness().schedule, [case.event("b1"), case.event("b2")]);
}

#[test]
fn a_fork_join_pipeline_is_deterministic() {
    assert!(seen(PIPELINE).iter().all(|(_, others)| others.is_empty()));
}
