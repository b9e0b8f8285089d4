//! When two findings are one bug.
//!
//! They are if they have the same conflict: the same two lines access the same thing in the other order, whatever came of it. A read that
//! comes before the first write is also a read that sees another value, and perhaps the first step of an atomicity violation.
//!
//! They are, too, if they are about the same end of memory: the same line frees it, or calls what does, and the same function uses it
//! afterwards. An object that is deleted takes its parts with it.

use crate::finding::{Finding, Kind, Moment, Side, Source};
use crate::fold::{is_function, is_there};

/// The pairs of accesses by two threads whose order makes the finding.
pub(crate) fn conflicts(finding: &Finding) -> Vec<(&Side, &Side)> {
    if matches!(finding.kind, Kind::Deadlock | Kind::Crash | Kind::Hang) || finding.engine == "none" {
        return Vec::new();
    }
    let events = match finding.events.as_slice() {
        [a, b] if matches!(finding.kind, Kind::Race | Kind::UseAfterFree) => return vec![(a, b)],
        // What it sees, not what it saw.
        [seen, read, other] if seen.role == "write that was seen" => vec![read, other],
        events => events.iter().collect(),
    };
    let access = |side: &Side| matches!(side.op.as_str(), "r" | "w");
    let pairs = events.windows(2).map(|pair| (pair[0], pair[1]));
    let is_conflict =
        |(a, b): &(&Side, &Side)| a.thread != b.thread && access(a) && access(b) && (writes(a) || writes(b));
    pairs.filter(is_conflict).collect()
}

/// Both findings are about the other order of the same two lines.
pub(crate) fn is_same_conflict(a: &Finding, b: &Finding) -> bool {
    let alike = |a: &Side, b: &Side| is_there(a, b) && writes(a) == writes(b);
    let same = |p: &(&Side, &Side), q: &(&Side, &Side)| {
        alike(p.0, q.0) && alike(p.1, q.1) || alike(p.0, q.1) && alike(p.1, q.0)
    };
    let others = conflicts(b);
    conflicts(a).iter().any(|pair| others.iter().any(|other| same(pair, other)))
}

fn writes(side: &Side) -> bool {
    side.op == "w"
}

/// Both findings use what the same line frees, in the same function or in what the same line calls.
pub(crate) fn is_same_end(a: &Finding, b: &Finding) -> bool {
    let (Some((freed, used)), Some((other_freed, other_used))) = (end(a), end(b)) else { return false };
    let function = |moment: &Moment| Side { source: moment.source.clone(), ..Side::default() };
    let same_use =
        leads_to(used, other_used) || leads_to(other_used, used) || is_function(&function(used), &function(other_used));
    (leads_to(freed, other_freed) || leads_to(other_freed, freed)) && same_use
}

/// The place of `from` is one that `to` was called from, and both came there by the same calls.
fn leads_to(to: &Moment, from: &Moment) -> bool {
    let lines = |moment: &Moment| -> Vec<(String, u32)> {
        let stack = if moment.stack.is_empty() { moment.source.as_slice() } else { moment.stack.as_slice() };
        stack.iter().filter_map(|source| line(Some(source))).map(|(file, line)| (file.to_string(), line)).collect()
    };
    let Some((file, number)) = line(from.source.as_ref()) else { return false };
    let callers = |moment: &Moment| {
        let lines = lines(moment);
        let at = lines.iter().position(|(name, line)| name == file && *line == number)?;
        Some(lines[at..].to_vec())
    };
    let (Some(a), Some(b)) = (callers(to), callers(from)) else { return false };
    a.iter().zip(&b).all(|(a, b)| a == b)
}

/// The end of what a finding about memory uses too late, and the use.
fn end(finding: &Finding) -> Option<(&Moment, &Moment)> {
    let [.., freed, used] = finding.life.as_slice() else { return None };
    let ends = ["freed", "destroyed", "closed", "unloaded", "left", "block was left", "ended"];
    (finding.kind.is_memory() && ends.contains(&freed.what.as_str())).then_some((freed, used))
}

/// The file's name and the line.
pub(crate) fn line(source: Option<&Source>) -> Option<(&str, u32)> {
    let source = source?;
    Some((crate::places::base_name(source.file.as_deref()?), source.line?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(function: &str, line: u32) -> Source {
        let function = Some(function.to_string());
        Source { function, file: Some("pool.cpp".into()), line: Some(line), ..Source::default() }
    }

    fn access(thread: &str, op: &str, line: u32, role: &str) -> Side {
        let source = Some(source("f", line));
        Side { thread: thread.into(), op: op.into(), role: role.into(), source, ..Side::default() }
    }

    #[test]
    fn a_conflict_is_the_same_however_it_is_called() {
        let finding = |kind, events| Finding { kind, events, engine: "seqcheck".into(), ..Finding::default() };
        let order = finding(Kind::Order, vec![access("a", "w", 5, "first write"), access("b", "r", 9, "read")]);
        let initial = finding(
            Kind::Nondeterminism,
            vec![access("a", "w", 5, "write that was seen"), access("b", "r", 9, "read")],
        );
        assert!(is_same_conflict(&order, &initial));
        let mut later = initial.clone();
        later.events.push(access("c", "w", 20, "write that can be seen"));
        assert!(!is_same_conflict(&order, &later));
        let steps = vec![access("b", "r", 9, ""), access("c", "w", 20, ""), access("b", "w", 10, "")];
        assert!(is_same_conflict(&finding(Kind::Atomicity, steps), &later));
        // The other line writes, and one thread conflicts with none.
        assert!(!is_same_conflict(
            &order,
            &finding(Kind::Race, vec![access("a", "r", 5, ""), access("b", "w", 9, "")])
        ));
        let alone = finding(Kind::Atomicity, vec![access("a", "w", 5, ""), access("a", "r", 9, "")]);
        assert!(!is_same_conflict(&order, &alone));
    }

    #[test]
    fn parts_of_an_object_end_with_it() {
        let moment = |what: &str, frames: &[(&str, u32)]| {
            let stack: Vec<Source> = frames.iter().map(|&(function, line)| source(function, line)).collect();
            Moment { what: what.into(), source: stack.first().cloned(), stack, ..Moment::default() }
        };
        let finding = |freed: &[(&str, u32)], used: &[(&str, u32)]| {
            let life = vec![moment("allocated", &[("main", 1)]), moment("freed", freed), moment("read", used)];
            Finding { kind: Kind::UseAfterFree, life, ..Finding::default() }
        };
        let whole = finding(&[("main", 69)], &[("run", 36), ("start", 25)]);
        let part = finding(&[("~Pool", 60), ("main", 69)], &[("run", 42), ("start", 25)]);
        assert!(is_same_end(&whole, &part) && is_same_end(&part, &whole));
        assert!(!is_same_end(&whole, &finding(&[("main", 69)], &[("post", 30), ("main", 66)])));
        // A function that all frees go through, called in other places.
        let through = |line| finding(&[("release", 80), ("close", line)], &[("run", 36), ("start", 25)]);
        assert!(is_same_end(&through(90), &through(90)) && !is_same_end(&through(90), &through(95)));
        assert!(!is_same_end(&whole, &finding(&[("main", 70)], &[("run", 36)])));
        assert!(!is_same_end(&whole, &Finding { kind: Kind::Crash, ..part }));
    }
}
