//! Events as people and programs get to see them.

use std::io::{self, Write};

use mayhap_trace::{EventId, Trace};
use serde::Serialize;

/// An event in JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EventJson {
    event: u64,
    thread: String,
    op: &'static str,
    object: String,
    location: Option<String>,
}

impl EventJson {
    /// The event with its names.
    pub fn of(trace: &Trace, id: EventId) -> Self {
        let (event, tables) = (trace.event(id), trace.tables());
        EventJson {
            event: id.number(),
            thread: tables.thread(event.thread).to_string(),
            op: event.op.word(),
            object: tables.object(event.op, event.object).to_string(),
            location: tables.location(event.location).map(str::to_string),
        }
    }
}

/// Prints events as a small table: number, thread, operation, location.
pub fn print_events(out: &mut dyn Write, trace: &Trace, events: &[EventId]) -> io::Result<()> {
    let tables = trace.tables();
    let rows: Vec<[String; 4]> = events
        .iter()
        .map(|&id| {
            let event = trace.event(id);
            let object = tables.object(event.op, event.object);
            let op =
                if object.is_empty() { event.op.word().to_string() } else { format!("{}({object})", event.op.word()) };
            let location = tables.location(event.location).unwrap_or("").to_string();
            [id.to_string(), tables.thread(event.thread).to_string(), op, location]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (number, thread, op) = (width(0), width(1), width(2));
    for row in &rows {
        let line = format!("  {:>number$}  {:<thread$}  {:<op$}  {}", row[0], row[1], row[2], row[3]);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
