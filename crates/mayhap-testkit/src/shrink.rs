//! Shrinks a failing trace and stores it.
//!
//! Delta debugging (Zeller, Hildebrandt, TSE 2002) over parts that make sense together: threads, objects, critical
//! sections, runs of events, single events. What a removal leaves malformed (a wait without its notify) is removed too, so
//! that every trace tried is well-formed.

use std::fs;
use std::path::PathBuf;

use mayhap_trace::format::std_text::write_events;
use mayhap_trace::{Event, ObjectKind, Trace, validate};

use crate::{Facts, golden, subtrace};

/// Returns a trace for which `fails` still holds and from which no part can be removed. The given trace must fail.
pub fn shrink(trace: &Trace, mut fails: impl FnMut(&Trace) -> bool) -> Trace {
    let mut smallest = trace.clone();
    loop {
        let before = smallest.len();
        for parts in [threads, objects, sections, runs] {
            // The shrunk trace has other parts: compute them again, and continue where the last removal was.
            let mut next = 0;
            while let Some(part) = parts(&smallest).get(next) {
                let candidate = without(&smallest, part);
                if candidate.len() < smallest.len() && fails(&candidate) {
                    smallest = candidate;
                } else {
                    next += 1;
                }
            }
        }
        if smallest.len() == before {
            return smallest;
        }
    }
}

/// The trace without some events, and without those that are malformed without them.
fn without(trace: &Trace, part: &[usize]) -> Trace {
    let (rest, _) = validate::repair(subtrace(trace, |e| !part.contains(&e.index())));
    subtrace(&rest, |_| true)
}

type Part = Vec<usize>;

fn matching(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Part {
    trace.events().filter(|(_, e)| wanted(e)).map(|(id, _)| id.index()).collect()
}

/// Each thread with its forks and joins.
fn threads(trace: &Trace) -> Vec<Part> {
    let of = |t| matching(trace, |e| e.thread.index() == t || e.child().is_some_and(|c| c.index() == t));
    (0..trace.tables().threads.len()).map(of).collect()
}

/// Everything done to one lock, variable or condition.
fn objects(trace: &Trace) -> Vec<Part> {
    let mut parts = Vec::new();
    for kind in [ObjectKind::Lock, ObjectKind::Variable, ObjectKind::Condition] {
        let count = trace.tables().of(kind).map_or(0, |names| names.len());
        parts.extend((0..count).map(|o| matching(trace, |e| e.op.names() == kind && e.object as usize == o)));
    }
    parts
}

/// The two ends of each section.
fn sections(trace: &Trace) -> Vec<Part> {
    let facts = Facts::of(trace);
    let acquires = (0..trace.len()).filter(|&i| facts.events[i].op.is_acquire());
    acquires.map(|a| [a].into_iter().chain(facts.section[a]).collect()).collect()
}

/// Runs of events, long ones first, single events last.
fn runs(trace: &Trace) -> Vec<Part> {
    let all: Part = (0..trace.len()).collect();
    let mut parts = Vec::new();
    let mut length = trace.len() / 2;
    while length > 0 {
        parts.extend(all.chunks(length).map(<[usize]>::to_vec));
        length /= 2;
    }
    parts
}

/// Returns the STD text of a trace.
pub fn std_text(trace: &Trace) -> String {
    let mut text = Vec::new();
    write_events(&mut text, trace.columns(), trace.tables()).expect("names of tests fit the format");
    String::from_utf8(text).expect("names are text")
}

/// Shrinks a failing trace, writes it to `corpus/regressions` and returns a message that says where, for the failing test.
///
/// `name` is the file's name, `why` one line on what failed.
pub fn keep(name: &str, why: &str, trace: &Trace, fails: impl FnMut(&Trace) -> bool) -> String {
    let small = shrink(trace, fails);
    let text = format!("# {why}\n{}", std_text(&small));
    let file: PathBuf = golden::folder().join("regressions").join(format!("{name}.std"));
    match fs::write(&file, &text) {
        Ok(()) => format!("{why}\nkept as {}:\n{text}", file.display()),
        Err(e) => format!("{why}\ncould not be kept as {}: {e}\n{text}", file.display()),
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::Relations;
    use mayhap_witness::Model;

    use super::*;
    use crate::{Generator, Oracle, Profile, trace};

    /// A deadlock shrinks to its four acquires.
    #[test]
    fn shrinks_to_the_core() {
        let has_deadlock = |t: &Trace| {
            assert!(Relations::derive(t).is_ok(), "every trace tried is well-formed");
            !Oracle::new(t, Model::Data).unwrap().all_deadlocks().is_empty()
        };
        let two = |t: &Trace| {
            let found = Oracle::new(t, Model::Data).unwrap().all_deadlocks();
            found.iter().any(|d| d.len() == 2)
        };
        let mut shrunk = 0;
        for (_, trace) in Generator::new(Profile { open: 0, ..Profile::deadlocks() }, 0).take(300) {
            if has_deadlock(&trace) && two(&trace) {
                let small = shrink(&trace, |t| has_deadlock(t) && two(t));
                // The observed run passes one thread by: its outer section is closed before the other's inner one.
                assert!(small.len() <= 6, "{}", std_text(&small));
                shrunk += 1;
            }
        }
        assert!(shrunk > 5, "{shrunk}");
    }

    #[test]
    fn removes_what_cannot_stand_alone() {
        let full = trace("T1 notify c; T2 wait c; T2 w x; T1 r x");
        let rest = without(&full, &[0]);
        assert_eq!(std_text(&rest), "T2|w(x)\nT1|r(x)\n");
    }
}
