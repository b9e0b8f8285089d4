//! `mayhap convert`: a trace from one format into another.

use std::io::Write;
use std::path::PathBuf;

use crate::input::TraceArgs;
use crate::transfer::transfer;
use crate::{Exit, Failure};

/// Write a trace in another format
///
/// The names decide the formats: .std (text), .mhp (native), .data (RapidBin), .rr (RoadRunner's log, only read), each
/// also compressed as .gz or .zst. Events are converted as they are read and never held, unless --repair asks for it. A
/// note says what the format of OUT cannot carry. A failure leaves no half-written file.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: TraceArgs,

    /// The file to write: .std, .mhp or .data, also .gz or .zst
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

impl Args {
    pub(super) fn run(self, _out: &mut dyn Write) -> Result<Exit, Failure> {
        let mut opened = self.input.open()?;
        transfer(&mut opened, &self.output, |e| Failure::at(&self.input.trace, e))?;
        self.input.note_end(&opened);
        Ok(Exit::Nothing)
    }
}
