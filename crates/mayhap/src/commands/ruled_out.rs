//! The list of what a run does not imply, and why (`--explain`).

use std::io::{self, Write};

use mayhap_analyse::Prediction;
use mayhap_trace::{EventId, Trace};
use mayhap_witness::Target;

use crate::table::shortened;
use mayhap_report::counted;
use mayhap_report::places::short;

/// The maximum length of a name in a list of candidates.
const NAME: usize = 60;

/// Lists what the run does not imply, and why; `see` is the command that shows a target step by step, if there is one.
pub(super) fn print(
    out: &mut dyn Write,
    trace: &Trace,
    prediction: &Prediction,
    see: &dyn Fn(&Target) -> Option<String>,
) -> io::Result<()> {
    writeln!(out, "\nNot implied by this run: {}", counted(prediction.tally.all_refuted(), "candidate"))?;
    for ruled_out in &prediction.ruled_out {
        let place = |event: EventId| {
            let event = trace.event(event);
            let thread = shortened(trace.tables().threads.get(event.thread.index()), NAME);
            match trace.tables().location(event.location) {
                Some(location) => format!("{thread} at {}", shortened(&short(location), NAME)),
                None => thread,
            }
        };
        let events: Vec<String> = ruled_out.target.events().into_iter().map(place).collect();
        writeln!(out, "  {} ({})", ruled_out.kind.name(), events.join("; "))?;
        writeln!(out, "    why  {}", ruled_out.reason)?;
        if let Some(command) = see(&ruled_out.target) {
            writeln!(out, "    see  {command}")?;
        }
    }
    Ok(())
}
