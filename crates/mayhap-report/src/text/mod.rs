//! The report as text for a terminal.
//!
//! The report already contains every sentence; this module only lays it out, in lines of at most [`Style::width`] columns.
//! Lines that people copy (the replay command) and names without a space may be longer.

mod excerpt;
mod refutation;
mod span;
mod story;
mod threads;

use std::io::{self, Write};

use crate::data::{Exploration, Report, Summary};
use crate::describe::words::{counted, grouped};
use crate::finding::{Finding, Severity, Verdict};
use crate::life;
use crate::refutation::Refutation;
pub(crate) use excerpt::{is_foreign, started_at};
use span::{Line, Paint, wrap};
use threads::Threads;

/// How much to print.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Detail {
    /// A line for each finding.
    Quiet,
    /// The first [`SCREENS`] findings in full, a line for each other.
    #[default]
    Normal,
    /// All findings in full.
    Verbose,
}

/// How many findings are printed in full unless all are asked for.
pub const SCREENS: usize = 20;

/// The narrowest and the widest layout.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=140;

/// How a report is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// The width in columns.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// How much to print.
    pub detail: Detail,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 100, colour: false, detail: Detail::Normal }
    }
}

/// Writes a report.
pub fn write(out: &mut dyn Write, report: &Report, style: &Style) -> io::Result<()> {
    let style = Style { width: style.width.clamp(*WIDTHS.start(), *WIDTHS.end()), ..*style };
    // Notes are for readers who ask for them.
    let shows = |finding: &&Finding| finding.verdict != Verdict::Note || style.detail == Detail::Verbose;
    let shown: Vec<&Finding> = report.shown().filter(shows).collect();
    let full = match style.detail {
        Detail::Quiet => 0,
        Detail::Normal => SCREENS,
        Detail::Verbose => usize::MAX,
    };
    for (i, finding) in shown.iter().enumerate() {
        let lines = match style.detail {
            Detail::Quiet => vec![compiler_line(finding)],
            _ if i < full => screen(report, finding, &style),
            _ => brief(finding, &style),
        };
        for line in lines {
            line.write(out, style.colour)?;
        }
    }
    if shown.len() > full && style.detail == Detail::Normal {
        let rest = counted((shown.len() - full) as u64, "finding");
        Line::of(Paint::Dim, &format!("the last {rest} in one line each; --verbose prints all in full"))
            .write(out, style.colour)?;
    }
    if !shown.is_empty() && (style.detail == Detail::Quiet || shown.len() > full) {
        writeln!(out)?;
    }
    if let Some(refuted) = &report.refutation {
        for line in refutation::lines(report, refuted, &style) {
            line.write(out, style.colour)?;
        }
    }
    let notes = report.shown().count() - shown.len();
    for line in summary(report, &shown, notes as u64, &style) {
        line.write(out, style.colour)?;
    }
    Ok(())
}

/// Writes one finding, as `mayhap check` shows it.
pub fn write_finding(out: &mut dyn Write, report: &Report, finding: &Finding, style: &Style) -> io::Result<()> {
    let style = Style { width: style.width.clamp(*WIDTHS.start(), *WIDTHS.end()), ..*style };
    for line in screen(report, finding, &style) {
        line.write(out, style.colour)?;
    }
    Ok(())
}

/// Writes why a question is refuted, as `mayhap check` shows it: the cycle alone.
pub fn write_reasons(out: &mut dyn Write, refuted: &Refutation, style: &Style) -> io::Result<()> {
    let style = Style { width: style.width.clamp(*WIDTHS.start(), *WIDTHS.end()), ..*style };
    for line in refutation::reasons(refuted, &style) {
        line.write(out, style.colour)?;
    }
    Ok(())
}

fn severity_paint(severity: Severity) -> Paint {
    match severity {
        Severity::Error => Paint::Error,
        Severity::Warning => Paint::Warning,
        Severity::Note => Paint::Note,
    }
}

/// Lays out a finding in full: title, excerpts, story and sentences.
fn screen(report: &Report, finding: &Finding, style: &Style) -> Vec<Line> {
    let mut lines = heading(finding, style);
    lines.push(facts(finding));
    lines.push(Line::new());
    lines.extend(excerpt::sides(report, finding, style));
    if let Some(story) = &finding.story {
        lines.extend(story::tables(story, finding, style));
        lines.push(Line::new());
    }
    let threads = Threads::of(finding);
    // A null pointer has none: the title and the verdict say where it is used.
    let life = if finding.life.len() > 1 { life::words(&finding.life) } else { String::new() };
    lines.extend(said("life", &life, &threads, style));
    for (heading, moment) in life::stacks(finding) {
        lines.extend(excerpt::stack(Line::of(Paint::Dim, &heading), &moment.stack, style));
    }
    lines.extend(said("why", &finding.why, &threads, style));
    lines.extend(said("verdict", &finding.certainty, &threads, style));
    if let Some(blocked) = finding.replay.as_ref().and_then(|replay| replay.blocked.as_ref()) {
        lines.extend(said("waits", &format!("{} {}", blocked.thread, blocked.how), &threads, style));
        lines.extend(blocked.stack.iter().map(|place| Line::new().plain("          at ").plain(place)));
    }
    if let Some(command) = &finding.replay_command {
        lines.push(label(command_label(command)).plain(command));
    }
    lines.push(Line::new());
    lines
}

/// The label of a command by what it does: replay the schedule, run everything again, or show the schedule.
fn command_label(command: &str) -> &'static str {
    match command.split(' ').nth(1) {
        Some("replay") => "replay",
        Some("run" | "demo") => "again",
        _ => "see",
    }
}

fn heading(finding: &Finding, style: &Style) -> Vec<Line> {
    let name = finding.severity.name();
    let title = wrap(&finding.title, style.width - name.len() - 2);
    let first = Line::of(severity_paint(finding.severity), name).add(Paint::Bold, ": ");
    let indent = " ".repeat(name.len() + 2);
    let mut lines = vec![first.add(Paint::Bold, &title[0])];
    lines.extend(title[1..].iter().map(|text| Line::of(Paint::Plain, &indent).add(Paint::Bold, text)));
    lines
}

/// Certainty, id and count in one line.
fn facts(finding: &Finding) -> Line {
    let mut parts = vec![finding.verdict.name().to_string(), finding.id.clone()];
    if finding.occurrences > 1 {
        let of_one = if finding.tests.len() > 1 { "" } else { " in this run" };
        parts.push(format!("{} times{of_one}", grouped(finding.occurrences)));
    }
    parts.extend(tests(finding));
    Line::new().plain("  ").add(Paint::Dim, &parts.join(" · "))
}

/// The tests that have the finding.
fn tests(finding: &Finding) -> Option<String> {
    match finding.tests.as_slice() {
        [] => None,
        [test] => Some(format!("test {test}")),
        [test, others @ ..] => Some(format!("test {test} and {} more", grouped(others.len() as u64))),
    }
}

/// The finding in one line of the form that compilers use and editors understand: `queue.c:12: error: Data race on …`.
fn compiler_line(finding: &Finding) -> Line {
    let place = finding.events.iter().find_map(|side| {
        let source = side.source.as_ref()?;
        Some(format!("{}:{}: ", source.file.as_deref()?, source.line?))
    });
    let line = Line::new().add(Paint::Bold, &place.unwrap_or_default());
    let line = line.add(severity_paint(finding.severity), finding.severity.name()).plain(": ").plain(&finding.title);
    let line = line.plain(&tests(finding).map_or(String::new(), |tests| format!(" ({tests})")));
    line.add(Paint::Dim, &format!(" [{} {}]", finding.verdict.name(), finding.id))
}

fn brief(finding: &Finding, style: &Style) -> Vec<Line> {
    let name = finding.severity.name();
    let mut lines = Vec::new();
    let title =
        wrap(&format!("{} [{} {}]", finding.title, finding.verdict.name(), finding.id), style.width - name.len() - 2);
    for (i, text) in title.iter().enumerate() {
        lines.push(match i {
            0 => Line::of(severity_paint(finding.severity), name).plain(": ").plain(text),
            _ => Line::new().plain(&" ".repeat(name.len() + 2)).plain(text),
        });
    }
    lines
}

/// The width of the label column.
const LABEL: usize = 11;

fn label(name: &str) -> Line {
    Line::new().plain("  ").add(Paint::Bold, name).padded(LABEL)
}

/// Lays out a sentence after its label.
fn said(name: &str, text: &str, threads: &Threads<'_>, style: &Style) -> Vec<Line> {
    if text.is_empty() {
        return Vec::new();
    }
    let lines = wrap(text, style.width - LABEL).into_iter().enumerate();
    lines.map(|(i, text)| label(if i == 0 { name } else { "" }).line(threads.line(Paint::Plain, &text))).collect()
}

/// Lays out the counts at the end of a report.
fn summary(report: &Report, shown: &[&Finding], notes: u64, style: &Style) -> Vec<Line> {
    let summary = &report.summary;
    let mut lines: Vec<String> = Vec::new();
    let by = |verdict: Verdict| shown.iter().filter(|f| f.verdict == verdict).count() as u64;
    let mut counts = Vec::new();
    for verdict in Verdict::ALL {
        if by(verdict) > 0 {
            counts.push(format!("{} {}", grouped(by(verdict)), verdict.name()));
        }
    }
    if !shown.is_empty() {
        lines.push(format!("{}: {}", counted(shown.len() as u64, "finding"), counts.join(", ")));
    } else if summary.suppressed + summary.known > 0 {
        lines.push("nothing new".to_string());
    } else {
        lines.push("no findings".to_string());
    }
    if notes > 0 {
        lines.push(format!("{}: patterns that did no harm; --verbose shows them", counted(notes, "note")));
    }
    if summary.suppressed > 0 {
        lines.push(format!("{} hidden by suppressions", counted(summary.suppressed, "finding")));
    }
    if summary.known > 0 {
        lines.push(format!("{} already in the baseline, hidden", counted(summary.known, "finding")));
    }
    lines.extend(summary.determinism.clone());
    lines.extend(decided(summary, report.corpus.is_some()));
    // Runs that fail as the recorded one did count as no failure.
    let failed = report.findings.iter().any(|finding| finding.verdict == Verdict::Observed);
    lines.extend(report.exploration.iter().flat_map(|exploration| explored(exploration, failed)));
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    lines.iter().flat_map(|text| wrap(text, style.width)).map(|text| Line::new().plain(&text)).collect()
}

/// What runs under other schedules came to; `has_failed` if the recorded run failed.
fn explored(exploration: &Exploration, has_failed: bool) -> Vec<String> {
    let schedules = counted(exploration.schedules, "other schedule");
    let failed = match exploration.failures {
        0 if has_failed => "no other failure".to_string(),
        0 => "no failure".to_string(),
        failures => format!("{} failed", grouped(failures)),
    };
    let derived = match exploration.derived {
        0 => String::new(),
        derived => format!(", {} more derived from them", grouped(derived)),
    };
    let mut lines = vec![format!("{schedules} run{derived}: {failed}; {:.1} s", exploration.seconds)];
    let executions = grouped(exploration.executions);
    let loops = if exploration.cut_loops { ", loops that wait followed for a few rounds" } else { "" };
    if exploration.complete {
        let verdict = match exploration.failures {
            0 if exploration.executions == 1 && has_failed => "which does not fail in another way",
            0 if exploration.executions == 1 => "which does not fail",
            0 if has_failed => "none fails in another way",
            0 => "none fails",
            _ if exploration.executions == 1 => "which fails",
            _ => "some fail",
        };
        let all = match exploration.executions {
            1 => "the only distinguishable execution".to_string(),
            _ => format!("all {executions} distinguishable executions"),
        };
        lines.push(format!("{all} of this program on this input explored{loops}, {verdict}"));
    } else if exploration.executions > 0 {
        let limits = if exploration.limits.is_empty() {
            String::new()
        } else {
            format!("; not seen: {}", exploration.limits.join(", "))
        };
        lines.push(format!(
            "{executions} distinguishable executions explored, {} open{limits}",
            grouped(exploration.open)
        ));
    }
    lines
}

/// The counts of candidates. A corpus is analysed in many runs, so it took no certain time.
fn decided(summary: &Summary, is_corpus: bool) -> Vec<String> {
    let time = if is_corpus { String::new() } else { format!("; {:.2} s", summary.seconds) };
    let suspected = if summary.suspected > 0 { format!(" ({} suspected)", summary.suspected) } else { String::new() };
    let runs = if is_corpus { "these runs" } else { "this run" };
    let mut lines = vec![format!(
        "{}: {} proven, {} not implied by {runs}, {} unknown{suspected}{time}",
        counted(summary.candidates, "candidate"),
        grouped(summary.proven),
        grouped(summary.refuted),
        grouped(summary.unknown),
    )];
    if let (Some(events), Some(locations)) = (summary.racy_events, summary.racy_locations) {
        lines.push(format!("{} at {}", counted(events, "racy event"), counted(locations, "location")));
    }
    if summary.covered_by_races > 0 {
        lines.push(format!("{} covered by the findings above", counted(summary.covered_by_races, "further violation")));
    }
    if summary.instances_left_out > 0 {
        let far = counted(summary.instances_left_out, "far instance");
        lines.push(format!("{far} of candidates that are not implied, not tried (--instances)"));
    }
    if let Some(reason) = &summary.first_unknown {
        lines.push(format!("first unknown candidate: {reason}"));
    }
    lines
}
