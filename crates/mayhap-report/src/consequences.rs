//! One bug is one finding, however differently it ends.
//!
//! Other schedules of a program with a race may crash or misuse memory in several ways. If such a run went wrong at a line where one of the
//! racing accesses is, or used what the same line frees, the race or the use after free is what made it fail: the failure becomes a sentence
//! of that finding. Its fingerprint stays with it, so that baselines know it.
//!
//! A race is part of a use after free, too, if the thread that frees and the one that uses the memory are on their way in the two lines that
//! race, or one of them is and the other is in the same function, and both findings are about the same kind of memory, the same missing lock,
//! or a variable that no lock protects: a container that changes while another thread goes through it. So is a read that sees another value
//! there.
//!
//! Findings of the same conflict are one bug: a read before the first write, and the same read that sees another value. So are findings of
//! the same end of memory and the same function that uses it afterwards.
//!
//! A hang is part of a race that replays confirmed if what hangs waits, in the function that reads with a lock, for what the writer without
//! that lock announces: a wake-up that comes between the reader's check and its wait is lost.

use crate::data::Report;
use crate::describe::words::list;
use crate::finding::{Finding, Kind, Lock, Moment, Side, Source, Verdict};
use crate::fold::{has_no_lock, is_function, is_within};
use crate::life;
use crate::places::{allocation, short, spoken};
use crate::same_bug::{conflicts, is_same_conflict, is_same_end, line};

/// Why a finding is part of another one.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// A run under another schedule ended so.
    Failure,
    /// The same code does it.
    Code,
    /// The hang is a lost wake-up.
    Wakeup,
}

impl Report {
    /// Folds failures of explored runs, races that a use after free implies, and findings of one conflict into the findings that explain
    /// them. To be called once the report is arranged, and suppressions and the baseline have hidden what they hide.
    pub fn fold_consequences(&mut self) {
        let found = &mut self.findings;
        let parents: Vec<Option<(usize, Part)>> = (0..found.len()).map(|at| parent(found, at)).collect();
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); found.len()];
        let mut replays = ends.clone();
        for at in 0..found.len() {
            let Some((mut cause, part)) = parents[at] else { continue };
            while let Some((further, _)) = parents[cause] {
                cause = further;
            }
            match part {
                Part::Failure => ends[cause].push(end(&found[at])),
                Part::Wakeup => {
                    let sentence = hangs(&found[at]);
                    found[cause].why += &sentence;
                }
                Part::Code if found[at].kind == Kind::Race => {
                    let sentence = races(&found[at]);
                    found[cause].why += &sentence;
                }
                Part::Code if found[at].kind == Kind::UseAfterFree && is_same_end(&found[cause], &found[at]) => {
                    let sentence = used(&found[at]);
                    found[cause].why += &sentence;
                }
                Part::Code => {
                    replays[cause].extend(outcome(&found[at]).filter(|_| !is_same_outcome(&found[at], &found[cause])))
                }
            }
            let known = found[at].also.clone();
            let fingerprints = std::iter::once(found[at].fingerprint.clone()).chain(known);
            found[cause].also.extend(fingerprints.collect::<Vec<_>>());
        }
        for (cause, (mut ends, mut replays)) in found.iter_mut().zip(ends.into_iter().zip(replays)) {
            for ways in [&mut ends, &mut replays] {
                ways.sort();
                ways.dedup();
            }
            if !replays.is_empty() {
                cause.why += &format!(" Other replays of the same code led to {}.", list(&replays));
            }
            if !ends.is_empty() {
                let runs =
                    if ends.len() == 1 { "In a run under another schedule" } else { "In runs under other schedules" };
                cause.why += &format!(" {runs} it led to {} at one of these lines.", list(&ends));
            }
        }
        let mut folded = parents.into_iter();
        found.retain(|_| folded.next().flatten().is_none());
    }
}

/// The finding that this one is a part of. Failures are parts of findings that were proven, these of ones that say more or stand before them,
/// so following the parents ends.
fn parent(found: &[Finding], at: usize) -> Option<(usize, Part)> {
    let this = &found[at];
    if is_failure(this) {
        let cause = found.iter().position(|cause| explains(cause, this));
        let same = || found[..at].iter().position(|other| is_failure(other) && is_same_end(other, this));
        return cause.or_else(same).map(|cause| (cause, Part::Failure));
    }
    if let Some(freed) = found.iter().position(|freed| implies(freed, this)) {
        return Some((freed, Part::Code));
    }
    let same = |&other: &usize| {
        let other_one = &found[other];
        let both_race = this.kind == Kind::Race && other_one.kind == Kind::Race;
        let says_more = (!other_one.kind.is_memory(), other) < (!this.kind.is_memory(), at);
        let is_same = || is_same_conflict(other_one, this) || is_same_end(other_one, this);
        says_more && !both_race && counts(this) && counts(other_one) && is_same()
    };
    if let Some(other) = (0..found.len()).find(same) {
        return Some((other, Part::Code));
    }
    found.iter().position(|race| loses_wakeup(race, this)).map(|race| (race, Part::Wakeup))
}

/// Whether the finding is shown, and certain by more than a run that failed.
fn counts(finding: &Finding) -> bool {
    finding.verdict.is_certain() && finding.is_shown() && finding.engine != "none"
}

/// That the code of a use after free races, too, as a sentence.
fn races(race: &Finding) -> String {
    let lines: Vec<String> = race.events.iter().filter_map(|side| Some(short(side.location.as_ref()?))).collect();
    format!(" The same code also races on {}: {}.", spoken(&race.events[0].object), list(&lines))
}

/// That the same end is too early for another use, too, as a sentence.
fn used(finding: &Finding) -> String {
    let [.., end, used] = finding.life.as_slice() else { return String::new() };
    let place = |moment: &Moment| moment.source.as_ref().map_or_else(|| moment.thread.clone(), life::named);
    format!(
        " The same end is too early for another use, too: {} at {}, {} at {}.",
        end.what,
        place(end),
        used.what,
        place(used)
    )
}

/// What a replay of the finding led to, as an object of a sentence.
fn outcome(finding: &Finding) -> Option<String> {
    if finding.kind.is_memory() {
        return Some(end(finding));
    }
    let effect = finding.replay.as_ref()?.effect.as_deref()?;
    let effect = effect.split(": ").next().unwrap_or(effect);
    Some(if effect.starts_with("crash") { format!("a {effect}") } else { effect.to_string() })
}

fn is_same_outcome(a: &Finding, b: &Finding) -> bool {
    outcome(a) == outcome(b)
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

/// Whether the thread that frees and the one that uses the memory are in the two lines of another finding, or one of them is and the other is
/// in the same function, on memory that was allocated alike, with the same lock missing, or on a variable where no thread holds a lock.
fn implies(freed: &Finding, other: &Finding) -> bool {
    let [free, access] = freed.events.as_slice() else { return false };
    let may_be_part = matches!(other.kind, Kind::Race | Kind::Atomicity | Kind::Order | Kind::Nondeterminism);
    if freed.kind != Kind::UseAfterFree || !may_be_part || !counts(freed) || !counts(other) {
        return false;
    }
    let site = |side: &Side| allocation(&side.object).map(|(_, site)| short(site));
    let on_the_way = |of: &Side, at: &Side| {
        let mut lines = of.stack.iter().chain(&of.source).filter_map(|source| line(Some(source)));
        line(at.source.as_ref()).is_some_and(|at| lines.any(|line| line == at))
    };
    let both = |object: Option<String>, a: &Side, b: &Side| {
        let alike = object.is_some() && object == site(free);
        let no_lock = object.is_none() && [free, access, a, b].into_iter().all(has_no_lock);
        let one_lock = is_one_lock((free, a), (access, b)) || is_one_lock((access, b), (free, a));
        let same_code = on_the_way(free, a) && (on_the_way(access, b) || is_within(b, access))
            || on_the_way(access, b) && is_within(a, free);
        same_code && (alike || no_lock || one_lock)
    };
    conflicts(other).into_iter().any(|(a, b)| both(site(a), a, b) || both(site(a), b, a))
}

/// Whether a thread holds no lock in either of two findings, and the other one the same lock in both.
fn is_one_lock(bare: (&Side, &Side), locked: (&Side, &Side)) -> bool {
    let held = |lock: &Lock| locked.1.locks.iter().any(|other| other.name == lock.name);
    has_no_lock(bare.0) && has_no_lock(bare.1) && locked.0.locks.iter().any(held)
}

/// A run that was found by exploring and failed; nothing was proven of it.
fn is_failure(finding: &Finding) -> bool {
    let ends_badly = finding.kind == Kind::Crash || finding.kind.is_memory();
    ends_badly && finding.engine == "none" && finding.verdict == Verdict::Confirmed && finding.is_shown()
}

/// Whether the failure went wrong at a line of one of the accesses of the cause, or is about the same end of memory.
fn explains(cause: &Finding, failure: &Finding) -> bool {
    let lines = || cause.events.iter().filter_map(|side| line(side.source.as_ref()));
    let there = cause.kind != Kind::Deadlock && line(place(failure)).is_some_and(|at| lines().any(|line| line == at));
    counts(cause) && (there || is_same_end(cause, failure))
}

/// Where a run went wrong: where memory was misused, else its last step.
fn place(failure: &Finding) -> Option<&Source> {
    match failure.life.last() {
        Some(moment) => moment.source.as_ref(),
        None => failure.events.first()?.source.as_ref(),
    }
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
