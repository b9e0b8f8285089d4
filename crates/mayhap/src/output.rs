//! Standard output as commands see it.

use std::io::{self, BufWriter, ErrorKind, Write};

use clap::ValueEnum;
use mayhap_report::Layout;
use serde::Serialize;

use crate::Failure;

/// What a command prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document on standard output and nothing else.
    Json,
}

/// When something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The option that every reporting command takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FormatArgs {
    /// Output format: text, or one JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Buffered standard output that takes a reader who has had enough (`| head`) for an end, not for an error: the command
/// goes on, its exit code still shows what it found, and the rest of the text is dropped.
pub struct Output<W: Write = io::Stdout> {
    inner: BufWriter<W>,
    closed: bool,
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Output::new(io::stdout())
    }
}

impl<W: Write> Output<W> {
    /// Output to any writer.
    pub fn new(inner: W) -> Self {
        Output { inner: BufWriter::with_capacity(1 << 16, inner), closed: false }
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.unless_closed(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.unless_closed(result, ())
    }
}

/// Prints one JSON document.
pub fn json(out: &mut dyn Write, document: &impl Serialize) -> Result<(), Failure> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Layout::default());
    document.serialize(&mut serializer).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_but_a_full_disk_is() {
        let mut out = Output::new(Closed);
        out.write_all(&vec![b'x'; 1 << 20]).unwrap();
        out.flush().unwrap();
        let mut out = Output::new(Full);
        assert!(out.write_all(&vec![b'x'; 1 << 20]).and_then(|()| out.flush()).is_err());
    }
}
