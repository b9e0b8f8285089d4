//! Lays out the story as two tables, recorded and possible run, with a column for each thread. The tables are side by side
//! where both fit, otherwise one below the other; where even one does not fit, each step is a line.

use super::Style;
use super::span::{Line, Paint, wrap};
use crate::describe::words::counted;
use crate::finding::{Finding, Mark, Step, Story};

/// The gap between threads, and between the tables, in columns.
const GAP: usize = 2;
const APART: usize = 4;
const INDENT: usize = 2;

/// How much a cell shows.
#[derive(Clone, Copy)]
enum Cells {
    WithPlaces,
    Bare,
}

/// Lays out both tables.
pub(super) fn tables(story: &Story, finding: &Finding, style: &Style) -> Vec<Line> {
    let room = style.width - INDENT;
    for cells in [Cells::WithPlaces, Cells::Bare] {
        let observed = Table::new("recorded run", &story.observed, (story, finding), cells);
        let possible = Table::new("possible run", &story.possible, (story, finding), cells);
        if observed.width() + APART + possible.width() <= room {
            return beside(observed, possible);
        }
        let fits = observed.width().max(possible.width()) <= room;
        if fits {
            let mut lines = observed.lines();
            lines.push(Line::new());
            lines.extend(possible.lines());
            return lines.into_iter().map(indented).collect();
        }
    }
    let mut lines = listed("recorded run", &story.observed, story, style);
    lines.push(Line::new());
    lines.extend(listed("possible run", &story.possible, story, style));
    lines.into_iter().map(indented).collect()
}

fn indented(line: Line) -> Line {
    if line.is_empty() { line } else { Line::new().plain(&" ".repeat(INDENT)).line(line) }
}

fn beside(left: Table, right: Table) -> Vec<Line> {
    let width = left.width();
    let (mut left, mut right) = (left.lines(), right.lines());
    let rows = left.len().max(right.len());
    left.resize(rows, Line::new());
    right.resize(rows, Line::new());
    left.into_iter().zip(right).map(|(l, r)| indented(l.padded(width + APART).line(r))).collect()
}

fn paint(step: &Step) -> Paint {
    match step.mark {
        Mark::Plain => Paint::Step(step.column),
        Mark::Target | Mark::Next | Mark::Blocked => Paint::Thread(step.column),
        Mark::Changed => Paint::Warning,
    }
}

/// What stands before a step at which its thread is when the story ends.
fn mark(step: &Step) -> &'static str {
    match step.mark {
        Mark::Next => "▶ ",
        Mark::Blocked => "✗ ",
        Mark::Plain | Mark::Target | Mark::Changed => "",
    }
}

fn cell(step: &Step, cells: Cells) -> Line {
    let line = Line::new().plain(&"  ".repeat(step.depth)).add(Paint::Error, mark(step)).add(paint(step), &step.text);
    match (cells, &step.location) {
        (Cells::WithPlaces, Some(place)) => line.plain(" ").add(Paint::Dim, place),
        _ => line,
    }
}

/// The line that stands for steps left out.
fn skipped(steps: u64) -> Line {
    Line::of(Paint::Dim, &format!("⋮ {}", counted(steps, "step")))
}

struct Table {
    title: &'static str,
    threads: Vec<Line>,
    /// A separate line, or a cell for each thread.
    rows: Vec<Row>,
}

enum Row {
    Whole(Line),
    Cells(Vec<Line>),
}

impl Table {
    fn new(title: &'static str, steps: &[Step], (story, finding): (&Story, &Finding), cells: Cells) -> Table {
        let head = |(i, thread): (usize, &String)| Line::of(Paint::Thread(i), &finding.thread_label(thread));
        let threads: Vec<Line> = story.threads.iter().enumerate().map(head).collect();
        let blank = || vec![Line::new(); threads.len()];
        let said = |step: &Step| {
            let remark = step.remark.as_ref().map_or(String::new(), |r| format!("({r})"));
            Line::new().plain(&"  ".repeat(step.depth)).add(Paint::Dim, &remark)
        };
        let (ends, body): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|s| is_end(s));
        let mut rows = Vec::new();
        for step in body {
            if step.skipped > 0 {
                rows.push(Row::Whole(skipped(step.skipped)));
            }
            let mut row = blank();
            row[step.column] = cell(step, cells);
            rows.push(Row::Cells(row));
            if step.remark.is_some() {
                let mut row = blank();
                row[step.column] = said(step);
                rows.push(Row::Cells(row));
            }
        }
        // Steps that are next at the same time share a row.
        if let Some(first) = ends.first() {
            if first.skipped > 0 {
                rows.push(Row::Whole(skipped(first.skipped)));
            }
            let (mut row, mut remarks) = (blank(), blank());
            for step in &ends {
                row[step.column] = cell(step, cells);
                remarks[step.column] = said(step);
            }
            rows.push(Row::Cells(row));
            if ends.iter().any(|s| s.remark.is_some()) {
                rows.push(Row::Cells(remarks));
            }
        }
        Table { title, threads, rows }
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().map(|row| match row {
                Row::Cells(cells) => cells[column].width(),
                Row::Whole(_) => 0,
            });
            cells.chain([self.threads[column].width()]).max().unwrap_or(0)
        };
        (0..self.threads.len()).map(widest).collect()
    }

    fn width(&self) -> usize {
        let whole = self.rows.iter().map(|row| match row {
            Row::Whole(line) => line.width(),
            Row::Cells(_) => 0,
        });
        let columns = self.widths().iter().sum::<usize>() + GAP * self.threads.len().saturating_sub(1);
        whole.chain([columns, self.title.len()]).max().unwrap_or(0)
    }

    fn lines(self) -> Vec<Line> {
        let (widths, width) = (self.widths(), self.width());
        let join = |cells: Vec<Line>| {
            cells.into_iter().zip(&widths).fold(Line::new(), |line, (cell, &width)| line.line(cell.padded(width + GAP)))
        };
        let mut lines = vec![Line::of(Paint::Dim, self.title), join(self.threads)];
        lines.push(Line::of(Paint::Dim, &"─".repeat(width)));
        lines.extend(self.rows.into_iter().map(|row| match row {
            Row::Whole(line) => line,
            Row::Cells(cells) => join(cells),
        }));
        lines
    }
}

/// Whether the step has not run: it is where its thread is when the story ends.
fn is_end(step: &Step) -> bool {
    matches!(step.mark, Mark::Next | Mark::Blocked)
}

/// The layout where columns do not fit: a line for each step, with event number and thread in front.
fn listed(title: &'static str, steps: &[Step], story: &Story, style: &Style) -> Vec<Line> {
    let digits = steps.iter().map(|s| s.event.to_string().len()).max().unwrap_or(1);
    let mut lines = vec![Line::of(Paint::Dim, title), Line::of(Paint::Dim, &"─".repeat(title.len()))];
    for step in steps {
        if step.skipped > 0 {
            lines.push(skipped(step.skipped));
        }
        let place = step.location.as_ref().map_or(String::new(), |l| format!(" {l}"));
        let remark = step.remark.as_ref().map_or(String::new(), |r| format!(" ({r})"));
        let thread = &story.threads[step.column];
        let text = format!("{thread}: {}{}{place}{remark}", mark(step), step.text);
        for (i, part) in wrap(&text, style.width - INDENT - digits - 2).iter().enumerate() {
            let number = if i == 0 { step.event.to_string() } else { String::new() };
            let front = Line::of(Paint::Dim, &format!("{number:>digits$}")).plain("  ");
            // The thread keeps its colour where the step has another one.
            let name = if i == 0 && part.starts_with(thread.as_str()) { thread.len() } else { 0 };
            lines.push(front.add(Paint::Thread(step.column), &part[..name]).add(paint(step), &part[name..]));
        }
    }
    lines
}
