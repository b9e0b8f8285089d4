//! One bug is one finding, however differently it ends.
//!
//! Other schedules of a program with a race may crash or misuse memory in several ways. If such a run went wrong at a line where one of the
//! racing accesses is, the race is what made it fail: the failure becomes a sentence of the race's finding. Its fingerprint stays with it,
//! so that baselines know it.
//!
//! A race is part of a use after free, too, if the thread that frees and the one that uses the memory are on their way in the two lines that
//! race, and both findings are about the same kind of memory or the same missing lock: a container that changes while another thread goes
//! through it.
//!
//! A hang is part of a race that replays confirmed if what hangs waits, in the function that reads with a lock, for what the writer without
//! that lock announces: a wake-up that comes between the reader's check and its wait is lost.

use crate::data::Report;
use crate::describe::words::list;
use crate::finding::{Finding, Kind, Lock, Side, Source, Verdict};
use crate::fold::is_function;
use crate::places::{allocation, short, spoken};

impl Report {
    /// Folds failures of explored runs, and races that a use after free implies, into the findings that explain them. To be called once the
    /// report is arranged, and suppressions and the baseline have hidden what they hide.
    pub fn fold_consequences(&mut self) {
        let found = &mut self.findings;
        let freed: Vec<Option<usize>> =
            found.iter().map(|race| found.iter().position(|freed| implies(freed, race))).collect();
        let cause = |failure: &Finding| {
            let cause = found.iter().position(|cause| explains(cause, failure))?;
            Some(freed[cause].unwrap_or(cause))
        };
        let causes: Vec<Option<usize>> =
            found.iter().map(|finding| if is_failure(finding) { cause(finding) } else { None }).collect();
        let lost: Vec<Option<usize>> =
            found.iter().map(|hang| found.iter().position(|race| loses_wakeup(race, hang))).collect();
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); found.len()];
        for at in 0..found.len() {
            let Some(cause) = causes[at].or(freed[at]).or(lost[at]) else { continue };
            if causes[at].is_some() {
                ends[cause].push(end(&found[at]));
            } else if lost[at].is_some() {
                let sentence = hangs(&found[at]);
                found[cause].why += &sentence;
            } else {
                let sentence = races(&found[at]);
                found[cause].why += &sentence;
            }
            let fingerprint = found[at].fingerprint.clone();
            found[cause].also.push(fingerprint);
        }
        for (cause, mut ends) in found.iter_mut().zip(ends) {
            ends.sort();
            ends.dedup();
            if !ends.is_empty() {
                let runs =
                    if ends.len() == 1 { "In a run under another schedule" } else { "In runs under other schedules" };
                cause.why += &format!(" {runs} it led to {} at one of these lines.", list(&ends));
            }
        }
        let mut folded = causes.into_iter().zip(freed).zip(lost).map(|((cause, freed), lost)| cause.or(freed).or(lost));
        found.retain(|_| folded.next().flatten().is_none());
    }
}

/// That the code of a use after free races, too, as a sentence.
fn races(race: &Finding) -> String {
    let lines: Vec<String> = race.events.iter().filter_map(|side| Some(short(side.location.as_ref()?))).collect();
    format!(" The same code also races on {}: {}.", spoken(&race.events[0].object), list(&lines))
}

/// That a run hung because a wake-up was lost, as a sentence.
fn hangs(hang: &Finding) -> String {
    let run = if hang.verdict == Verdict::Observed { "The recorded run" } else { "A run under another schedule" };
    let what = hang.title.strip_prefix("The program hangs: ").unwrap_or(&hang.title);
    format!(" {run} hung, since a wake-up can be lost: {what}.")
}

/// Whether the hang is a wake-up that the race loses: all that wait for a notify do so in the function that reads under a lock what the other
/// side writes without one.
fn loses_wakeup(race: &Finding, hang: &Finding) -> bool {
    let confirmed = race.kind == Kind::Race && race.verdict == Verdict::Confirmed && race.is_shown();
    let happened = hang.kind == Kind::Hang && hang.engine == "none" && hang.is_shown();
    let writer = race.events.iter().find(|side| side.op == "w" && side.locks.is_empty());
    let reader = race.events.iter().find(|side| side.op == "r" && !side.locks.is_empty());
    let (true, Some(_), Some(reader)) = (confirmed && happened, writer, reader) else { return false };
    let waits: Vec<&Side> = hang.events.iter().filter(|side| side.op == "wait").collect();
    !waits.is_empty() && waits.into_iter().all(|side| is_function(side, reader))
}

/// Whether the thread that frees and the one that uses the memory are in the two lines that race, on memory that was allocated alike.
fn implies(freed: &Finding, race: &Finding) -> bool {
    let ([free, access], [a, b]) = (freed.events.as_slice(), race.events.as_slice()) else { return false };
    let counts = |finding: &Finding| finding.verdict.is_certain() && finding.is_shown() && finding.engine != "none";
    let site = |side: &Side| allocation(&side.object).map(|(_, site)| short(site));
    let on_the_way = |of: &Side, at: &Side| {
        let mut lines = of.stack.iter().chain(&of.source).filter_map(|source| line(Some(source)));
        line(at.source.as_ref()).is_some_and(|at| lines.any(|line| line == at))
    };
    let alike = site(a).is_some_and(|at| site(free) == Some(at));
    let both = |a, b| {
        let one_lock = is_one_lock((free, a), (access, b)) || is_one_lock((access, b), (free, a));
        on_the_way(free, a) && on_the_way(access, b) && (alike || one_lock)
    };
    let kinds = freed.kind == Kind::UseAfterFree && race.kind == Kind::Race;
    kinds && counts(freed) && counts(race) && (both(a, b) || both(b, a))
}

/// Whether a thread holds no lock in either of two findings, and the other one the same lock in both.
fn is_one_lock(bare: (&Side, &Side), locked: (&Side, &Side)) -> bool {
    let held = |lock: &Lock| locked.1.locks.iter().any(|other| other.name == lock.name);
    bare.0.locks.is_empty() && bare.1.locks.is_empty() && locked.0.locks.iter().any(held)
}

/// A run that was found by exploring and failed; nothing was proven of it.
fn is_failure(finding: &Finding) -> bool {
    let ends_badly = finding.kind == Kind::Crash || finding.kind.is_memory();
    ends_badly && finding.engine == "none" && finding.verdict == Verdict::Confirmed && finding.is_shown()
}

/// Whether the failure went wrong at a line of one of the racing accesses.
fn explains(cause: &Finding, failure: &Finding) -> bool {
    let is_cause = cause.verdict.is_certain() && cause.is_shown() && cause.engine != "none";
    let races = cause.kind == Kind::Race || cause.kind.is_memory();
    let lines = || cause.events.iter().filter_map(|side| line(side.source.as_ref()));
    is_cause && races && line(place(failure)).is_some_and(|at| lines().any(|line| line == at))
}

/// Where a run went wrong: where memory was misused, else its last step.
fn place(failure: &Finding) -> Option<&Source> {
    match failure.life.last() {
        Some(moment) => moment.source.as_ref(),
        None => failure.events.first()?.source.as_ref(),
    }
}

fn line(source: Option<&Source>) -> Option<(&str, u32)> {
    let source = source?;
    Some((crate::places::base_name(source.file.as_deref()?), source.line?))
}

/// How a run ended, as an object of a sentence.
fn end(failure: &Finding) -> String {
    match failure.kind {
        Kind::Crash => {
            let how = failure.title.strip_prefix("The program ").unwrap_or(&failure.title);
            let how = how.split(" in or after ").next().unwrap_or(how);
            how.strip_prefix("crashed with ").map_or_else(|| "a failure".into(), |signal| format!("a crash ({signal})"))
        }
        Kind::Uninitialised => "an uninitialised read".into(),
        kind => format!("a {}", kind.title().to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceInfo;

    fn finding(kind: Kind, engine: &str, title: &str, lines: &[u32]) -> Finding {
        let source = |line: &u32| Source { file: Some("log.cpp".into()), line: Some(*line), ..Source::default() };
        Finding {
            kind,
            engine: engine.into(),
            title: title.into(),
            fingerprint: title.into(),
            verdict: Verdict::Confirmed,
            events: lines.iter().map(|line| Side { source: Some(source(line)), ..Side::default() }).collect(),
            ..Finding::default()
        }
    }

    #[test]
    fn a_crash_at_a_line_of_a_race_is_the_race() {
        let mut report = Report::new("0", TraceInfo::default(), "causal");
        report.findings = vec![
            finding(Kind::Crash, "none", "The program crashed with SIGABRT in or after add()", &[11, 11]),
            finding(Kind::Race, "seqcheck", "race", &[11, 30]),
            finding(Kind::Crash, "none", "The program crashed with SIGSEGV in or after other()", &[50]),
            finding(Kind::UseAfterFree, "none", "used", &[30]),
        ];
        report.findings.push(Finding {
            verdict: Verdict::Observed,
            ..finding(Kind::Crash, "none", "The program crashed with SIGFPE in or after add()", &[11])
        });
        report.fold_consequences();
        let left: Vec<&str> = report.findings.iter().map(|finding| finding.title.as_str()).collect();
        let expected = [
            "race",
            "The program crashed with SIGSEGV in or after other()",
            "The program crashed with SIGFPE in or after add()",
        ];
        assert_eq!(left, expected);
        let race = &report.findings[0];
        assert_eq!(
            race.why,
            " In runs under other schedules it led to a crash (SIGABRT) and a use after free at one of these lines."
        );
        assert_eq!(race.also.len(), 2);
    }

    #[test]
    fn a_lost_wakeup_is_part_of_the_race() {
        let at = |function: &str, op: &str, side: &mut Side| {
            side.source.as_mut().unwrap().function = Some(function.into());
            side.op = op.into();
        };
        let mut race = finding(Kind::Race, "seqcheck", "race", &[20, 9]);
        at("Queue<int>::finish()", "w", &mut race.events[0]);
        at("Queue<int>::pop()", "r", &mut race.events[1]);
        race.events[1].locks = vec![Lock { name: "queue.mutex".into(), ..Lock::default() }];
        let mut hang = finding(Kind::Hang, "none", "The program hangs: Queue::pop() waits", &[10, 30]);
        hang.verdict = Verdict::Observed;
        at("Queue<char>::pop()", "wait", &mut hang.events[0]);
        at("main", "join", &mut hang.events[1]);
        let mut elsewhere = hang.clone();
        at("Queue<char>::push()", "wait", &mut elsewhere.events[0]);
        let mut unsure = race.clone();
        unsure.verdict = Verdict::Proven;
        let left = |findings: Vec<Finding>| {
            let mut report = Report::new("0", TraceInfo::default(), "causal");
            report.findings = findings;
            report.fold_consequences();
            report.findings
        };
        let folded = left(vec![hang.clone(), race.clone()]);
        assert_eq!(folded.len(), 1);
        assert_eq!(folded[0].why, " The recorded run hung, since a wake-up can be lost: Queue::pop() waits.");
        assert_eq!(left(vec![elsewhere, race]).len(), 2);
        assert_eq!(left(vec![hang, unsure]).len(), 2);
    }

    #[test]
    fn a_race_on_the_way_to_a_use_after_free_is_part_of_it() {
        let on = |object: &str, mut finding: Finding| {
            finding.events.iter_mut().for_each(|side| side.object = object.into());
            finding
        };
        let mut freed = on("main/heap1@grow() bus.cpp:9+0", finding(Kind::UseAfterFree, "seqcheck", "freed", &[9, 14]));
        let outer = Source { file: Some("bus.cpp".into()), line: Some(10), ..Source::default() };
        let own = Source { line: Some(14), ..outer.clone() };
        freed.events[0].source.as_mut().unwrap().file = Some("bus.cpp".into());
        freed.events[1].stack = vec![own, outer];
        let mut race = on("main/heap3@grow() bus.cpp:9+8", finding(Kind::Race, "seqcheck", "race", &[10, 9]));
        race.events.iter_mut().for_each(|side| side.source.as_mut().unwrap().file = Some("bus.cpp".into()));
        let mut elsewhere = race.clone();
        elsewhere.events[0].object = "main/heap3@fill() bus.cpp:20+8".into();
        let left = |findings: Vec<Finding>| {
            let mut report = Report::new("0", TraceInfo::default(), "causal");
            report.findings = findings;
            report.fold_consequences();
            report.findings.iter().map(|f| (f.title.clone(), f.also.len())).collect::<Vec<_>>()
        };
        let expected = |all: &[(&str, usize)]| all.iter().map(|(f, n)| (f.to_string(), *n)).collect::<Vec<_>>();
        assert_eq!(left(vec![race, freed.clone(), elsewhere.clone()]), expected(&[("freed", 1), ("race", 0)]));
        // Memory that was allocated elsewhere, but the same lock is missing.
        for (finding, side) in [(&mut freed, 1), (&mut elsewhere, 0)] {
            finding.events[side].locks = vec![Lock { name: "bus.lock".into(), ..Lock::default() }];
        }
        assert_eq!(left(vec![freed, elsewhere]), expected(&[("freed", 1)]));
    }
}
