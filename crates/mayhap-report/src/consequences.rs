//! One bug is one finding, however differently it ends.
//!
//! Other schedules of a program with a race may crash or misuse memory in several ways. If such a run went wrong at a line where one of the
//! racing accesses is, the race is what made it fail: the failure becomes a sentence of the race's finding. Its fingerprint stays with it,
//! so that baselines know it.
//!
//! A race is part of a use after free, too, if it is on the same kind of memory, and the thread that frees and the one that uses it are on
//! their way in the two lines that race: a container that grows while another thread goes through it.

use crate::data::Report;
use crate::describe::words::list;
use crate::finding::{Finding, Kind, Side, Source, Verdict};
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
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); found.len()];
        for at in 0..found.len() {
            let Some(cause) = causes[at].or(freed[at]) else { continue };
            if causes[at].is_some() {
                ends[cause].push(end(&found[at]));
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
        let mut folded = causes.into_iter().zip(freed).map(|(cause, freed)| cause.or(freed));
        found.retain(|_| folded.next().flatten().is_none());
    }
}

/// That the code of a use after free races, too, as a sentence.
fn races(race: &Finding) -> String {
    let lines: Vec<String> = race.events.iter().filter_map(|side| Some(short(side.location.as_ref()?))).collect();
    format!(" The same code also races on {}: {}.", spoken(&race.events[0].object), list(&lines))
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
    let both = |a, b| on_the_way(free, a) && on_the_way(access, b);
    let kinds = freed.kind == Kind::UseAfterFree && race.kind == Kind::Race;
    let alike = site(a).is_some_and(|at| site(free) == Some(at));
    kinds && counts(freed) && counts(race) && alike && (both(a, b) || both(b, a))
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
        let mut report = Report::new("0", TraceInfo::default(), "causal");
        report.findings = vec![race, freed, elsewhere];
        report.fold_consequences();
        let left: Vec<(&str, usize)> = report.findings.iter().map(|f| (f.title.as_str(), f.also.len())).collect();
        assert_eq!(left, [("freed", 1), ("race", 0)]);
    }
}
