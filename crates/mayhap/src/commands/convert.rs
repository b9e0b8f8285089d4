//! `mayhap convert`: a trace from one format into another.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use mayhap_trace::format::{Format, native};
use mayhap_wire::attachment;

use crate::input::TraceArgs;
use crate::notes::note;
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
        let attached = self.attached();
        transfer(&mut opened, &attached, &self.output, |e| Failure::at(&self.input.trace, e))?;
        self.input.note_end(&opened);
        Ok(Exit::Nothing)
    }

    /// What goes with a recorded trace, as far as OUT can carry it; a note says what it cannot.
    fn attached(&self) -> Vec<(u8, Vec<u8>)> {
        let (input, output) = (&self.input.trace, &self.output);
        let attached = |code| native::attachments(BufReader::new(File::open(input).ok()?), code).ok()?;
        let is_native = Format::of(output).is_ok_and(|(format, _)| format == Format::Native);
        let numbered = [attachment::STEPS, attachment::STACKS];
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for (code, name) in attachment::ALL {
            match attached(code) {
                // What is told by the numbers of events, which repairs change.
                Some(bytes) if is_native && !(self.input.repair && numbered.contains(&code)) => {
                    kept.push((code, bytes))
                }
                Some(_) => lost.push(name),
                None => {}
            }
        }
        if !lost.is_empty() {
            note(format_args!("{}: without {}: it cannot be replayed", output.display(), lost.join(", ")));
        }
        kept
    }
}
