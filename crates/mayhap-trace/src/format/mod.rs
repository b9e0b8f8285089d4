//! Trace files.

pub mod std_text;

use crate::error::Error;
use crate::trace::Trace;

/// Reads a trace from STD text.
pub fn parse_std(text: &str) -> Result<Trace, Error> {
    Trace::from_source(Box::new(std_text::StdReader::new(text.as_bytes())))
}
