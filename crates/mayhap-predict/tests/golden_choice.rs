//! The figures of the nondeterminism paper and the counterexamples to it.

use mayhap_predict::choice::{Literal, Outcome, decide_edges};
use mayhap_trace::{EventId, Relations, Trace, format};

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

struct Case {
    trace: Trace,
    relations: Relations,
}

impl Case {
    fn new(text: &str) -> Case {
        let trace = format::parse_std(text).unwrap();
        let relations = Relations::derive(&trace).unwrap();
        Case { trace, relations }
    }

    /// The event whose location is `name`.
    fn event(&self, name: &str) -> EventId {
        let found = self.trace.events().find(|(_, e)| self.trace.tables().location(e.location) == Some(name));
        found.unwrap_or_else(|| panic!("no event {name}")).0
    }

    fn literal(&self, read: &str, other: &str) -> [Option<bool>; 3] {
        let mut literal = Literal::new(&self.trace, &self.relations, 1000);
        literal.decide(self.event(read), Some(self.event(other))).map(Outcome::feasible)
    }
}

#[test]
fn fig1_is_feasible_with_the_writer_late_or_absent() {
    assert_eq!(Case::new(FIG1).literal("r", "init"), [Some(true), Some(false), Some(true)]);
}

#[test]
fn fig4_is_cyclic_for_all_kinds() {
    let case = Case::new(FIG4);
    let mut literal = Literal::new(&case.trace, &case.relations, 1000);
    assert_eq!(literal.decide(case.event("r"), Some(case.event("c"))), [Outcome::Cyclic; 3]);
}

#[test]
fn fig5_has_four_choice_graphs_and_all_are_cyclic() {
    let case = Case::new(FIG5);
    let e = |(a, b)| (case.event(a), case.event(b));
    let edges =
        [("x", "q1"), ("x", "q2"), ("p1", "q3"), ("p1", "q4"), ("p2", "q3"), ("p2", "q4"), ("p3", "y"), ("p4", "y")];
    let outcome = decide_edges(&case.trace, &case.relations, &edges.map(e), &[e(("y", "x"))], 1000);
    let Outcome::Choices { pairs, explored, feasible } = outcome else { panic!("{outcome:?}") };
    assert_eq!((pairs, feasible), (2, Some(false)));
    // Either choice for the first pair is cyclic together with what it induces, whatever the second is.
    assert_eq!(explored, 2);
}

#[test]
fn the_paper_overlooks_a_write_that_lands_between_a_couple() {
    assert_eq!(Case::new(INTERFERENCE).literal("e4", "e1")[1], Some(true), "the paper's verdict, which is wrong");
}

#[test]
fn the_paper_demands_what_lies_behind_the_witness() {
    assert_eq!(Case::new(WHOLE_TRACE).literal("e7", "e1")[2], Some(false), "the paper's verdict, which is wrong");
}
