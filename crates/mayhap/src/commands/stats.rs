//! `mayhap stats`: summarise a trace.

use std::io::{self, Write};

use serde::Serialize;

use crate::input::{MissingJson, RepairedJson, TraceArgs};
use crate::output::{Format, FormatArgs, json};
use crate::table::Align::{Left, Right};
use crate::table::{Table, grouped, shortened};
use crate::{Exit, Failure};
use mayhap_trace::stats::{SectionStats, Stats};

/// Summarise a trace: threads, events by kind, locks, variables, critical sections
///
/// The length of a critical section is the number of events of its thread between acquire and release. A variable is
/// shared if more than one thread accesses it. Operations on a lock that the thread already holds count as re-entrant and
/// open no section.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    /// Number of longest critical sections to list; the text output lists twice as many threads
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    path: String,
    #[serde(flatten)]
    stats: &'a Stats,
    missing: Option<MissingJson>,
    repaired: Option<RepairedJson>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let mut opened = self.trace.open()?;
        let stats = match Stats::of(&mut opened, self.top) {
            Ok(stats) => stats,
            Err(error) => return Err(self.trace.blame(error)),
        };
        let missing = self.trace.note_end(&opened);
        if stats.events == 0 {
            return Err(self.trace.empty());
        }
        let path = self.trace.trace.display().to_string();
        match self.format.format {
            Format::Text => print(out, &path, &stats, self.top)?,
            Format::Json => {
                let missing = missing.map(MissingJson::from);
                json(
                    out,
                    &Document { path, stats: &stats, missing, repaired: opened.repaired.map(RepairedJson::from) },
                )?;
            }
        }
        Ok(Exit::Nothing)
    }
}

fn print(out: &mut dyn Write, path: &str, stats: &Stats, top: usize) -> io::Result<()> {
    writeln!(out, "{path}")?;
    writeln!(out, "fingerprint {}", stats.fingerprint)?;
    print_counts(out, stats)?;
    print_kinds(out, stats)?;
    print_threads(out, stats, 2 * top)?;
    print_sections(out, "Longest critical sections", stats.sections, &stats.longest_sections)?;
    print_sections(out, "Sections open at the end", stats.open_sections as u64, &stats.longest_open_sections)
}

fn print_counts(out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    let count = |n: usize| grouped(n as u64);
    let mut nesting = match stats.nesting {
        0 => String::new(),
        1 => "none nested".to_string(),
        depth => format!("nested up to {depth} deep"),
    };
    if stats.reentrant > 0 {
        nesting.push_str(&format!("; {} re-entrant lock operations", grouped(stats.reentrant)));
    }
    if stats.tried > 0 {
        nesting.push_str(&format!("; {} tried or timed", grouped(stats.tried)));
    }
    let mut shared =
        format!("{} shared, {} of them written", count(stats.shared_variables), count(stats.written_shared_variables));
    for (number, what) in [(stats.atomic_accesses, "atomic accesses"), (stats.accesses_with_values, "values")] {
        if number > 0 {
            shared.push_str(&format!("; {} {what}", grouped(number)));
        }
    }
    let rows = [
        ("events", grouped(stats.events), format!("{} thread switches", grouped(stats.thread_switches))),
        ("threads", count(stats.threads), String::new()),
        ("locks", count(stats.locks), String::new()),
        ("sections", grouped(stats.sections), nesting),
        ("variables", count(stats.variables), shared),
        ("conditions", count(stats.conditions), String::new()),
        ("locations", count(stats.locations), String::new()),
    ];
    let width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    writeln!(out)?;
    for (name, number, more) in rows {
        writeln!(out, "{}", format!("  {name:<10}  {number:>width$}   {more}").trim_end())?;
    }
    Ok(())
}

fn print_kinds(out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    let mut table = Table::new(&[("kind", Left), ("op", Left), ("events", Right), ("part", Right)]);
    for kind in &stats.kinds {
        let part = 100.0 * kind.events as f64 / stats.events as f64;
        table.row([kind.kind.to_string(), kind.op.to_string(), grouped(kind.events), format!("{part:.1}%")]);
    }
    writeln!(out, "\nEvents by kind")?;
    table.print(out)
}

fn print_threads(out: &mut dyn Write, stats: &Stats, most: usize) -> io::Result<()> {
    let columns = ["events", "reads", "writes", "lock ops", "first", "last"].map(|name| (name, Right));
    let mut table = Table::new(&[&[("thread", Left)], &columns[..]].concat());
    let mut busiest: Vec<_> = stats.per_thread.iter().collect();
    busiest.sort_by_key(|t| std::cmp::Reverse(t.events));
    for t in busiest.iter().take(most) {
        let numbers = [t.events, t.reads, t.writes, t.lock_operations, t.first, t.last].map(grouped);
        table.row([shortened(&t.thread, 16)].into_iter().chain(numbers));
    }
    let title =
        if busiest.len() > most { format!("Busiest threads ({most} of {})", busiest.len()) } else { "Threads".into() };
    writeln!(out, "\n{title}")?;
    table.print(out)
}

fn print_sections(out: &mut dyn Write, title: &str, all: u64, sections: &[SectionStats]) -> io::Result<()> {
    if sections.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        ("events", Right),
        ("lock", Left),
        ("thread", Left),
        ("from", Right),
        ("to", Right),
        ("where", Left),
    ]);
    for section in sections {
        let reader = if section.reader { " (reader)" } else { "" };
        table.row([
            grouped(section.events),
            shortened(&section.lock, 20) + reader,
            shortened(&section.thread, 10),
            grouped(section.acquire),
            section.release.map_or("open".to_string(), grouped),
            shortened(section.location.as_deref().unwrap_or(""), 20),
        ]);
    }
    let of =
        if sections.len() as u64 == all { String::new() } else { format!(" ({} of {})", sections.len(), grouped(all)) };
    writeln!(out, "\n{title}{of}")?;
    table.print(out)
}
