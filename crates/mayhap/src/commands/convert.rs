//! `mayhap convert`: convert a trace to another format.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use mayhap_trace::format::{Format, StdOptions, native};
use mayhap_wire::attachment;

use crate::input::TraceArgs;
use crate::notes::note;
use crate::transfer::transfer;
use crate::{Exit, Failure};

/// Convert a trace to another format
///
/// The file names select the formats: .std (text), .mhp (native), .data (RapidBin), .rr (RoadRunner log, read only), each
/// optionally compressed as .gz or .zst. Events are converted one by one, so memory use is small except with --repair. A
/// note lists what the format of OUT cannot represent. A failure leaves no half-written file.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: TraceArgs,

    /// The file to write: .std, .mhp or .data, also .gz or .zst
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// In STD text, write locations as numbers
    #[arg(long)]
    numeric_locations: bool,

    /// Write only STD text that RAPID can read: its operations, numeric locations, no properties and no values
    ///
    /// A note counts the events that are left out.
    #[arg(long)]
    rapid: bool,
}

impl Args {
    pub(super) fn run(self, _out: &mut dyn Write) -> Result<Exit, Failure> {
        let format = Format::of(&self.output).map_err(|error| Failure::at(&self.output, error))?.0;
        let mut opened = self.input.open()?;
        let attached = self.attached();
        let options = StdOptions { numeric_locations: self.numeric_locations, rapid: self.rapid };
        if options != StdOptions::default() && format != Format::Std {
            let message = "--numeric-locations and --rapid are for STD text: OUT must end in .std, .std.gz or .std.zst";
            return Err(Failure::new(message));
        }
        transfer(&mut opened, &attached, &self.output, options, |e| Failure::at(&self.input.trace, e))?;
        self.input.note_end(&opened);
        Ok(Exit::Nothing)
    }

    /// Copies the attachments of a recorded trace, as far as OUT can store them; a note lists the others.
    fn attached(&self) -> Vec<(u8, Vec<u8>)> {
        let (input, output) = (&self.input.trace, &self.output);
        let attached = |code| native::attachments(BufReader::new(File::open(input).ok()?), code).ok()?;
        let is_native = Format::of(output).is_ok_and(|(format, _)| format == Format::Native);
        let numbered = [attachment::STEPS, attachment::STACKS];
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for (code, name) in attachment::ALL {
            match attached(code) {
                // These refer to event numbers, which a repair changes.
                Some(bytes) if is_native && !(self.input.repair && numbered.contains(&code)) => {
                    kept.push((code, bytes))
                }
                Some(_) => lost.push(name),
                None => {}
            }
        }
        if !lost.is_empty() {
            note(format_args!(
                "{}: the format cannot store {}, so the trace cannot be replayed",
                output.display(),
                lost.join(", ")
            ));
        }
        kept
    }
}
