//! Lines of a text file, in one bounded buffer.

use std::io::{ErrorKind as IoError, Read};
use std::ops::Range;

use crate::error::{Error, Position};

/// The longest line that is read.
pub(super) const LONGEST_LINE: usize = 1 << 16;

/// Reads a text line by line. Lines end in LF or CRLF.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    finished: bool,
    number: u64,
}

impl<R: Read> Lines<R> {
    /// Lines of `input`, which need not be buffered.
    pub(super) fn new(input: R) -> Self {
        Lines { input, buffer: vec![0; 4 * LONGEST_LINE], start: 0, end: 0, finished: false, number: 0 }
    }

    /// The number of the line read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The position of the line read last.
    pub(super) fn position(&self) -> Position {
        Position::Line(self.number)
    }

    /// The bytes of the line read last, which [`Lines::advance`] returned as a range, without its end.
    #[inline]
    pub(super) fn text(&self, line: Range<usize>) -> &[u8] {
        match &self.buffer[line] {
            [rest @ .., b'\r'] => rest,
            text => text,
        }
    }

    /// Returns the next line; `None` at the end.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Range<usize>>, Error> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let line = self.start..self.start + searched + at;
                self.start = line.end + 1;
                return self.count(line);
            }
            searched = unread.len();
            if searched > LONGEST_LINE {
                return Err(self.too_long());
            }
            if !self.fill()? {
                let line = self.start..self.end;
                self.start = self.end;
                return if line.is_empty() { Ok(None) } else { self.count(line) };
            }
        }
    }

    #[inline]
    fn count(&mut self, line: Range<usize>) -> Result<Option<Range<usize>>, Error> {
        if line.len() > LONGEST_LINE {
            return Err(self.too_long());
        }
        self.number += 1;
        Ok(Some(line))
    }

    #[cold]
    fn too_long(&self) -> Error {
        let message = format!("the line is longer than {LONGEST_LINE} bytes");
        Error::syntax(Position::Line(self.number + 1), message)
    }

    /// Reads on; `false` at the end of the input.
    fn fill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while !self.finished {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.finished = true,
                Ok(n) => {
                    self.end += n;
                    return Ok(true);
                }
                Err(e) if e.kind() == IoError::Interrupted => {}
                Err(e) => return Err(Error::new(Position::Line(self.number + 1), e)),
            }
        }
        Ok(false)
    }
}

/// A piece of input as an error message shows it.
pub(super) fn shorten(text: &[u8]) -> String {
    let mut shown: String = String::from_utf8_lossy(&text[..text.len().min(60)]).escape_debug().collect();
    if text.len() > 60 {
        shown.push('…');
    }
    shown
}
