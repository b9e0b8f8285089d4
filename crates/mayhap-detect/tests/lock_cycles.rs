//! Deadlock candidates: cycles of any length are found, and what a limit leaves out is said.

use mayhap_detect::candidates::{Candidates, Limits, deadlocks};
use mayhap_trace::{Execution, format};
use mayhap_witness::Target;

/// Each thread acquires one lock and then the next one; the last thread's next lock is the first.
fn ring(threads: usize) -> String {
    let section = |t: usize| {
        let (own, next) = (t, (t + 1) % threads);
        format!("T{t}|acq(L{own})|a{t}\nT{t}|acq(L{next})|b{t}\nT{t}|rel(L{next})\nT{t}|rel(L{own})\n")
    };
    (0..threads).map(section).collect()
}

fn candidates(text: &str, limits: Limits) -> Candidates {
    deadlocks(&Execution::derive(format::parse_std(text).unwrap()).unwrap(), &limits)
}

#[test]
fn rings_of_any_length_are_found() {
    for threads in [2, 3, 5, 9, 20, 100, 300] {
        let found = candidates(&ring(threads), Limits::default());
        assert_eq!(found.gap, None, "{threads} threads");
        let [group] = &*found.groups else { panic!("{threads} threads: {} groups", found.groups.len()) };
        let Target::Deadlock(cycle) = &group.targets[0] else { panic!("{:?}", group.targets) };
        assert_eq!(cycle.len(), threads);
    }
}

#[test]
fn a_limit_that_leaves_cycles_out_is_said() {
    let found = candidates(&ring(9), Limits { cycle: 8, ..Limits::default() });
    assert!(found.groups.is_empty());
    let gap = found.gap.expect("there may be longer cycles");
    assert!(gap.contains("more than 8 threads"), "{gap}");
    assert_eq!(candidates(&ring(8), Limits { cycle: 8, ..Limits::default() }).gap, None);
}

#[test]
fn two_readers_that_both_want_to_write_are_a_cycle() {
    let upgrade = |t: usize| format!("T{t}|racq(L)\nT{t}|acq(L)|up{t}\nT{t}|rel(L)\nT{t}|rrel(L)\n");
    let found = candidates(&[upgrade(0), upgrade(1)].concat(), Limits::default());
    assert_eq!(found.groups.len(), 1);
}

/// With an edge for each lock held this would be a hundred million edges.
#[test]
fn deep_nesting_in_one_order_is_cheap() {
    let nest = |t: usize| {
        let down = (0..1000).map(move |l| format!("T{t}|acq(L{l})\n"));
        let up = (0..1000).rev().map(move |l| format!("T{t}|rel(L{l})\n"));
        down.chain(up).collect::<String>()
    };
    let text: String = (0..100).map(nest).collect();
    let found = candidates(&text, Limits::default());
    assert!(found.groups.is_empty() && found.gap.is_none());
}
