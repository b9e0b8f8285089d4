//! RoadRunner's event log, `.rr`: what its print tool writes, one event per line after an `@`.
//!
//! The log contains more than a trace, and some of it twice. `docs/formats/roadrunner.md` says what each line becomes;
//! in short: calls that block or start something are logged before and after, and count once, where they take effect;
//! a wait releases its monitor and takes it again; an access to a volatile is an access under a separate lock;
//! barriers and class initialisation become notify and wait. What has no meaning here is counted.

mod lower;
mod parse;

use std::io::Read;
use std::ops::Range;

use crate::columns::{CHUNK, Columns};
use crate::error::{Error, Position};
use crate::format::lines::Lines;
use crate::names::Tables;
use crate::source::Source;
use lower::Lowering;
use parse::Line;

/// Reads a RoadRunner log piece by piece.
pub struct RoadRunnerReader<R> {
    lines: Lines<R>,
    lowering: Lowering,
    /// Lines that are other output of the program or of RoadRunner, and the first of them.
    other: (u64, u64),
    events: u64,
    ended: bool,
}

impl<R: Read> RoadRunnerReader<R> {
    /// A reader of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        RoadRunnerReader {
            lines: Lines::new(input),
            lowering: Lowering::default(),
            other: (0, 0),
            events: 0,
            ended: false,
        }
    }

    fn line(&mut self, line: Range<usize>, chunk: &mut Columns) -> Result<(), Error> {
        let position = self.lines.position();
        match parse::parse(self.lines.text(line)).map_err(|message| Error::syntax(position, message))? {
            Line::Event(event) => self.lowering.take(&event, chunk).map_err(|kind| Error { position, kind }),
            Line::Other => {
                if self.other.0 == 0 {
                    self.other.1 = self.lines.number();
                }
                self.other.0 += 1;
                Ok(())
            }
        }
    }
}

impl<R: Read> Source for RoadRunnerReader<R> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        while !self.ended && chunk.len() < CHUNK {
            match self.lines.advance()? {
                Some(line) => self.line(line, chunk)?,
                None => {
                    self.ended = true;
                    self.lowering.end(chunk);
                }
            }
        }
        self.events += chunk.len() as u64;
        if self.ended && self.events == 0 {
            let message = match self.lines.number() {
                0 => "the file is empty",
                _ => "no line is an event of RoadRunner's log, such as `@ Rd(0,@01.x_I)  Final  Foo.java:12:3`",
            };
            return Err(Error::syntax(Position::Whole, message));
        }
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        self.lowering.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.lowering.into_tables()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.lowering.notes();
        let (lines, first) = self.other;
        if lines > 0 {
            notes.push(format!("{lines} lines are other output and left out, the first of them line {first}"));
        }
        notes
    }
}
