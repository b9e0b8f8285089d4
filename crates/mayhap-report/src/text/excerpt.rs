//! Lays out where a finding happens: marked source lines, stacks, locks, and how the threads were started.

use super::Style;
use super::span::{Line, Paint, wrap};
use super::threads::Threads;
use crate::data::Report;
use crate::describe::words::{list, locks_since, verb};
use crate::finding::{Creation, Finding, Side, Source};
use crate::places::{function_name, java_place, short};
use mayhap_symbols::is_installed;

/// How many lines are shown before the marked line.
const BEFORE: u32 = 2;
/// How many frames of a stack are shown at most.
const FRAMES: usize = 8;
/// What a tab is shown as.
const TAB: &str = "    ";

/// Lays out all sides of a finding.
pub(super) fn sides(report: &Report, finding: &Finding, style: &Style) -> Vec<Line> {
    let mut lines = Vec::new();
    let threads = Threads::of(finding);
    for (i, side) in finding.events.iter().enumerate() {
        let paint = threads.paint(&side.thread);
        match excerpt(report, side) {
            Some(excerpt) => lines.extend(with_source(side, &excerpt, paint, i == 0, style)),
            None => lines.extend(without_source(side, &threads, style)),
        }
        let name = format!("stack of {}", finding.thread_label(&side.thread));
        lines.extend(stack(threads.line(Paint::Dim, &name), &side.stack, style));
    }
    lines.extend(creations(finding, &threads, style));
    lines.push(Line::new());
    lines
}

struct Excerpt<'r> {
    first: u32,
    lines: &'r [String],
    line: u32,
}

fn excerpt<'r>(report: &'r Report, side: &Side) -> Option<Excerpt<'r>> {
    let source = side.source.as_ref()?;
    let line = source.line?;
    let (first, lines) = report.excerpt(source.file.as_deref()?, line, BEFORE, 0)?;
    Some(Excerpt { first, lines, line })
}

/// What the thread of a side does there and which locks it holds, as a sentence.
fn doing(side: &Side) -> String {
    let locks = match locks_since(side) {
        locks if locks.is_empty() => "no lock held".to_string(),
        locks => format!("holds {}", list(&locks)),
    };
    format!("{} {}; {locks}", side.thread, verb(side))
}

fn place(source: &Source) -> String {
    if let Some(java) = java_place(source) {
        return java;
    }
    let mut text = source.file.clone().unwrap_or_default();
    if let Some(line) = source.line {
        text.push_str(&format!(":{line}"));
    }
    if let Some(column) = source.column {
        text.push_str(&format!(":{column}"));
    }
    match &source.function {
        Some(function) if text.is_empty() => function_name(function),
        Some(function) => format!("{text} in {}", function_name(function)),
        None => text,
    }
}

fn with_source(side: &Side, excerpt: &Excerpt<'_>, paint: Paint, first: bool, style: &Style) -> Vec<Line> {
    let digits = excerpt.line.to_string().len().max(2);
    let gutter = |number: &str| Line::new().add(Paint::Dim, &format!(" {number:>digits$} │ "));
    let arrow = if first { "-->" } else { ":::" };
    let source = side.source.as_ref().map(place).unwrap_or_default();
    let mut lines = vec![Line::new().plain(&" ".repeat(digits)).add(Paint::Dim, arrow).plain(" ").plain(&source)];
    let room = style.width - digits - 4;
    let texts: Vec<String> = excerpt.lines.iter().map(|line| line.replace('\t', TAB)).collect();
    let indents = texts.iter().filter(|t| !t.trim().is_empty()).map(|t| t.len() - t.trim_start_matches(' ').len());
    let widest = texts.iter().map(|t| Line::of(Paint::Plain, t).width()).max().unwrap_or(0);
    let indent = if widest > room { indents.min().unwrap_or(0) } else { 0 };
    let marked = texts.last().map_or("", |t| t.get(indent..).unwrap_or(""));
    let (from, width) = underlined(side, marked, excerpt.lines.last().map_or("", |l| l.as_str()), indent);
    // A mark far to the right: the beginning of the lines is left out instead.
    let left_out = if side.highlight.is_some() && from + width + 2 > room { from.saturating_sub(room / 2) } else { 0 };
    for (number, text) in (excerpt.first..).zip(&texts) {
        let text = text.get(indent..).unwrap_or("");
        let text = if left_out > 0 && !text.is_empty() {
            format!("…{}", text.chars().skip(left_out + 1).collect::<String>())
        } else {
            text.to_string()
        };
        let code = if number == excerpt.line { Line::of(Paint::Plain, &text) } else { Line::of(Paint::Dim, &text) };
        lines.push(gutter(&number.to_string()).line(code.cut(room)));
    }
    let from = (from - left_out).min(room - 1);
    let marks = "^".repeat(width.clamp(1, room - from));
    let note = doing(side);
    if from + marks.len() + 1 + note.len() <= room {
        lines.push(gutter("").plain(&" ".repeat(from)).add(paint, &marks).plain(" ").add(paint, &note));
    } else {
        lines.push(gutter("").plain(&" ".repeat(from)).add(paint, &marks));
        lines.extend(wrap(&note, room).iter().map(|text| gutter("").add(paint, text)));
    }
    lines
}

/// Where the marks go: under what the report highlights, otherwise under the whole line.
fn underlined(side: &Side, shown: &str, line: &str, indent: usize) -> (usize, usize) {
    let width = |text: &str| Line::of(Paint::Plain, &text.replace('\t', TAB)).width();
    if let Some([from, to]) = side.highlight {
        let before: String = line.chars().take(from.saturating_sub(1) as usize).collect();
        let marked: String =
            line.chars().take(to.saturating_sub(1) as usize).skip(from.saturating_sub(1) as usize).collect();
        return (width(&before).saturating_sub(indent), width(&marked));
    }
    let start = shown.len() - shown.trim_start().len();
    (start, width(shown.trim()))
}

fn without_source(side: &Side, threads: &Threads<'_>, style: &Style) -> Vec<Line> {
    let at = match (&side.source, &side.location) {
        (Some(source), _) => format!(" at {}", place(source)),
        (None, Some(location)) => format!(" at {location}"),
        (None, None) => String::new(),
    };
    let (thread, rest) = (side.thread.clone(), doing(side)[side.thread.len()..].to_string());
    let (act, held) = rest.split_once(';').unwrap_or((&rest, ""));
    let text = format!("{thread}{act}{at};{held} (event {})", side.event);
    let lines = wrap(&text, style.width - 6).into_iter().enumerate();
    let arrow = |i: usize| {
        if i == 0 {
            Line::new().plain("  ").add(threads.paint(&side.thread), "-->").plain(" ")
        } else {
            Line::new().plain("      ")
        }
    };
    lines.map(|(i, text)| arrow(i).line(threads.line(Paint::Plain, &text))).collect()
}

pub(super) fn stack(name: Line, frames: &[Source], style: &Style) -> Vec<Line> {
    if frames.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![Line::new().plain("     ").line(name)];
    // Consecutive library frames share one line.
    let runs = frames.chunk_by(|a, b| is_foreign(a) && is_foreign(b));
    let mut done = 0;
    for run in runs.take(FRAMES) {
        let text = match run {
            [frame] => shown(frame),
            _ => format!("… {} calls within libraries", run.len()),
        };
        lines.push(Line::new().plain("       ").add(Paint::Dim, &text).cut(style.width));
        done += run.len();
    }
    if frames.len() > done {
        let more = format!("       and {} more", frames.len() - done);
        lines.push(Line::new().add(Paint::Dim, &more));
    }
    lines
}

/// Whether the frame belongs to the language's own library or to a library without debug information.
pub(crate) fn is_foreign(frame: &Source) -> bool {
    let of_cpp = |frame: &Source| frame.function.as_deref().is_some_and(|name| name.starts_with("std::"));
    frame.file.as_deref().map_or_else(|| unnamed(frame).is_some() || of_cpp(frame), is_installed)
}

/// The module of a frame, if that is all that is known about it.
fn unnamed(frame: &Source) -> Option<&str> {
    let (module, _) = frame.function.as_deref().filter(|_| frame.file.is_none())?.split_once("+0x")?;
    Some(module)
}

fn shown(frame: &Source) -> String {
    match unnamed(frame) {
        Some(module) => format!("[{module}]"),
        None => format!("{}{}", place(frame), if frame.inlined { " (inlined)" } else { "" }),
    }
}

/// Where a thread was started: ` at prog.c:12 in main()`.
pub(crate) fn started_at(created: &Creation) -> String {
    match (&created.source, &created.location) {
        (Some(source), _) => format!(" at {}", place(source)),
        (None, Some(location)) => format!(" at {}", short(location)),
        (None, None) => String::new(),
    }
}

/// Lays out how the threads were started, each once; threads that the same call started share a line.
fn creations(finding: &Finding, colours: &Threads<'_>, style: &Style) -> Vec<Line> {
    let mut groups: Vec<(&Creation, Vec<String>)> = Vec::new();
    for side in &finding.events {
        let Some(created) = &side.created else { continue };
        let alike = |other: &Creation| {
            (&other.thread, &other.location, &other.stack) == (&created.thread, &created.location, &created.stack)
        };
        match groups.iter_mut().find(|(other, _)| alike(other)) {
            Some((_, threads)) if threads.contains(&side.thread) => {}
            Some((_, threads)) => threads.push(side.thread.clone()),
            None => groups.push((created, vec![side.thread.clone()])),
        }
    }
    let mut lines = Vec::new();
    for (created, threads) in groups {
        let threads: Vec<String> = threads.iter().map(|thread| finding.thread_label(thread)).collect();
        let threads =
            if threads.len() > 1 { format!("{} were", list(&threads)) } else { format!("{} was", threads[0]) };
        let text = format!("{threads} started by {}{}", created.thread, started_at(created));
        let started = wrap(&text, style.width - 5);
        lines.extend(started.iter().map(|text| Line::new().plain("     ").line(colours.line(Paint::Dim, text))));
        let name = format!("stack when {threads} started");
        // One call of the program itself is the place that was just said.
        if created.stack.iter().filter(|frame| !is_foreign(frame)).count() > 1 {
            lines.extend(stack(colours.line(Paint::Dim, &name), &created.stack, style));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_within_libraries_are_one_line() {
        let frame = |function: &str, file: &str| Source {
            function: Some(function.into()),
            file: (!file.is_empty()).then(|| file.into()),
            line: (!file.is_empty()).then_some(7),
            ..Source::default()
        };
        let frames = [
            frame("compare", "a.c"),
            frame("libc.so.6+0x3fbf4", ""),
            frame("sort", "a.c"),
            frame("std::__invoke_impl", "/usr/include/c++/12/bits/invoke.h"),
            frame("std::__invoke", "/usr/include/c++/12/bits/invoke.h"),
            frame("run", "a.c"),
        ];
        let mut text = Vec::new();
        for line in stack(Line::of(Paint::Dim, "stack of main"), &frames, &Style::default()) {
            line.write(&mut text, false).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        let expected =
            ["stack of main", "a.c:7 in compare()", "[libc.so.6]", "a.c:7 in sort()", "… 2 calls within libraries"];
        assert_eq!(text.lines().map(str::trim).take(5).collect::<Vec<_>>(), expected);
    }
}
