//! `mayhap stats`: what is in a trace.

use std::io::Write;

use crate::input::TraceArgs;
use crate::output::{Format, FormatArgs, json};
use crate::{Exit, Failure};

/// Say what is in a trace: threads, events by kind, locks, variables, critical sections
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    format: FormatArgs,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let loaded = self.trace.load()?;
        let events = loaded.trace.len();
        match self.format.format {
            Format::Text => writeln!(out, "{events} events")?,
            Format::Json => json(out, &serde_json::json!({ "events": events }))?,
        }
        Ok(Exit::Nothing)
    }
}
