//! STD: one event a line, `thread|op(object)|location`.
//!
//! RAPID's text format with string locations, `wait notify notifyall br racq rrel`, `#` comment lines, and the location
//! optional. The object ends at the first `)` that a `|` or the line's end follows, so it may hold both characters.
//! Lines end in LF or CRLF. Blank lines are an error unless only blank lines follow.
//!
//! The reader keeps one bounded buffer and interns names as they come; ids are in order of first appearance, the thread
//! of a line before the thread it names.

use std::io::{Read, Write};
use std::ops::Range;

use crate::columns::{CHUNK, Columns, Source};
use crate::error::{Error, ErrorKind, Position};
use crate::event::{ObjectKind, Op};
use crate::format::lines::{LONGEST_LINE, Lines, shorten};
use crate::format::{Sink, TraceWriter};
use crate::id::NONE;
use crate::names::{Tables, same};

/// Some editors put it in front of a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads STD text piece by piece.
pub struct StdReader<R> {
    lines: Lines<R>,
    /// Line of the first of the blank lines just before here.
    blank: Option<u64>,
    events: u64,
    tables: Tables,
    /// The thread of the line before: most lines repeat it.
    last_thread: (Vec<u8>, u16),
}

impl<R: Read> StdReader<R> {
    /// A reader of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        StdReader {
            lines: Lines::new(input),
            blank: None,
            events: 0,
            tables: Tables::default(),
            last_thread: (Vec::new(), 0),
        }
    }

    fn parse(&mut self, line: Range<usize>, chunk: &mut Columns) -> Result<(), Error> {
        let mut text = self.lines.text(line);
        if self.lines.number() == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(text);
        }
        if text.first() == Some(&b'#') {
            return Ok(());
        }
        let position = self.lines.position();
        if text.is_empty() {
            self.blank.get_or_insert(self.lines.number());
            return Ok(());
        }
        if let Some(blank) = self.blank {
            return Err(Error::syntax(Position::Line(blank), "the line is empty"));
        }
        let fields = split(text).map_err(|message| Error::syntax(position, message))?;
        let named = |e| Error::new(position, ErrorKind::Name(e));
        if self.events >= u64::from(NONE) {
            return Err(Error::syntax(position, format!("more than {NONE} events")));
        }
        let thread = if same(&self.last_thread.0, fields.thread) {
            self.last_thread.1
        } else {
            let thread = self.tables.threads.intern(fields.thread).map_err(named)? as u16;
            self.last_thread.0.clear();
            self.last_thread.0.extend_from_slice(fields.thread);
            self.last_thread.1 = thread;
            thread
        };
        let object = match (self.tables.of_mut(fields.op.names()), fields.object) {
            (Some(names), Some(object)) => names.intern(object).map_err(named)?,
            _ => NONE,
        };
        let location = match fields.location {
            Some(location) => self.tables.locations.intern(location).map_err(named)?,
            None => NONE,
        };
        self.events += 1;
        chunk.push_cells(thread, fields.op, object, location);
        Ok(())
    }
}

struct Fields<'a> {
    thread: &'a [u8],
    op: Op,
    object: Option<&'a [u8]>,
    location: Option<&'a [u8]>,
}

/// Splits a line at its two bars; the message says what is wrong with it.
#[inline]
fn split(text: &[u8]) -> Result<Fields<'_>, String> {
    let Some(bar) = memchr::memchr(b'|', text) else {
        return Err(format!("`{}` has no `|`: an event is thread|op(object)|location", shorten(text)));
    };
    let (thread, rest) = (&text[..bar], &text[bar + 1..]);
    if thread.is_empty() {
        return Err("the thread is missing before the first `|`".to_string());
    }
    let word_end = rest.iter().position(|&b| b == b'(' || b == b'|').unwrap_or(rest.len());
    let word = &rest[..word_end];
    let Some(op) = Op::from_word(word) else {
        return Err(format!("unknown operation `{}`", shorten(word)));
    };
    let (object, after) = match rest.get(word_end) {
        Some(b'(') => {
            let inner = &rest[word_end + 1..];
            let close = closing(inner).ok_or_else(|| format!("no `)` closes the object of `{}`", op.word()))?;
            (Some(&inner[..close]), &inner[close + 1..])
        }
        _ => (None, &rest[word_end..]),
    };
    match (op.names(), object) {
        (ObjectKind::Nothing, Some(_)) => return Err(format!("`{}` takes no object", op.word())),
        (ObjectKind::Nothing, None) => {}
        (ObjectKind::Thread, Some(child)) if child.starts_with(b"#") || memchr::memchr(b'|', child).is_some() => {
            return Err(format!("no thread can be called `{}`: a line could not begin with it", shorten(child)));
        }
        (_, None | Some(b"")) => return Err(format!("`{}` needs an object: {0}(name)", op.word())),
        _ => {}
    }
    let location = match after {
        [] => None,
        [b'|', location @ ..] => Some(location),
        _ => return Err(format!("`{}` stands where `|` or the line's end should", shorten(after))),
    };
    Ok(Fields { thread, op, object, location })
}

/// The first `)` that ends the text or stands before a `|`.
#[inline]
fn closing(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b')', text).find(|&at| matches!(text.get(at + 1), None | Some(b'|')))
}

impl<R: Read> Source for StdReader<R> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        while chunk.len() < CHUNK {
            match self.lines.advance()? {
                Some(line) => self.parse(line, chunk)?,
                None if self.lines.number() == 0 => return Err(Error::syntax(Position::Whole, "the file is empty")),
                None => break,
            }
        }
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }
}

/// Writes events as STD text.
///
/// A name that the format cannot carry (a line break in it, `|` in a thread's name, `)|` in an object's) is an error.
pub struct StdWriter<W> {
    out: W,
    lines: Vec<u8>,
    empty: bool,
    /// How many names of each table are known to be writable.
    checked: [usize; 5],
}

impl<W: Sink> StdWriter<W> {
    /// A writer to `out`.
    pub fn new(out: W) -> Self {
        StdWriter { out, lines: Vec::new(), empty: true, checked: [0; 5] }
    }
}

impl<W: Sink> TraceWriter for StdWriter<W> {
    fn write(&mut self, chunk: &Columns, tables: &Tables) -> Result<(), Error> {
        check_names(&mut self.checked, tables)?;
        let first = chunk.threads.first().filter(|_| self.empty);
        if first.is_some_and(|&thread| tables.threads.get(thread.into()).starts_with(BYTE_ORDER_MARK)) {
            // The reader passes over one.
            self.out.write_all(BYTE_ORDER_MARK.as_bytes())?;
        }
        self.empty &= chunk.is_empty();
        for i in 0..chunk.len() {
            let (op, object) = (chunk.ops[i], chunk.objects[i]);
            let line = &mut self.lines;
            let start = line.len();
            line.extend_from_slice(tables.threads.get(chunk.threads[i].into()).as_bytes());
            line.push(b'|');
            line.extend_from_slice(op.word().as_bytes());
            if op.names() != ObjectKind::Nothing {
                line.push(b'(');
                line.extend_from_slice(tables.object(op, object).as_bytes());
                line.push(b')');
            }
            if chunk.locations[i] != NONE {
                line.push(b'|');
                line.extend_from_slice(tables.locations.get(chunk.locations[i] as usize).as_bytes());
            }
            // The reader takes one carriage return for a part of the line's end.
            if line.last() == Some(&b'\r') {
                line.push(b'\r');
            }
            if line.len() - start > LONGEST_LINE {
                let message = format!("an event of {} takes more than {LONGEST_LINE} bytes as text", op.word());
                return Err(Error::syntax(Position::Whole, message));
            }
            line.push(b'\n');
            if line.len() >= LONGEST_LINE {
                self.out.write_all(line)?;
                line.clear();
            }
        }
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Tables) -> Result<Vec<String>, Error> {
        // An empty file is more often a mistake than a trace, and no reader takes it for one.
        if self.empty {
            self.out.write_all(b"# no events\n")?;
        }
        self.out.complete()?;
        Ok(Vec::new())
    }
}

/// Checks names that came since the last call: reading a line back must find the same names in it.
fn check_names(checked: &mut [usize; 5], tables: &Tables) -> Result<(), Error> {
    let Tables { threads, locks, variables, conditions, locations, .. } = tables;
    for (table, names) in [threads, locks, variables, conditions, locations].into_iter().enumerate() {
        for index in checked[table]..names.len() {
            let name = names.get(index);
            let why = match table {
                _ if name.contains('\n') => "a line break",
                4 => continue,
                _ if name.is_empty() => "no characters",
                0 if name.contains('|') => "a `|`",
                0 if name.starts_with('#') => "a `#` at its start",
                _ if name.contains(")|") => "`)|`",
                _ => continue,
            };
            let what = ["thread", "lock", "variable", "condition", "location"][table];
            let shown = shorten(name.as_bytes());
            let message = format!("STD cannot carry the name `{shown}` of a {what}: it has {why}");
            return Err(Error::syntax(Position::Whole, message));
        }
        checked[table] = names.len();
    }
    Ok(())
}

/// Writes events as STD text to anything.
pub fn write_events(out: &mut dyn Write, chunk: &Columns, tables: &Tables) -> Result<(), Error> {
    let mut text = Vec::new();
    StdWriter::new(&mut text).write(chunk, tables)?;
    Ok(out.write_all(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse_std;

    fn error(text: &str) -> String {
        parse_std(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_operation() {
        let text = "T1|r(x)|1\nT1|w(x)|a.c:3\nT1|acq(l)|\nT1|rel(l)\nT1|racq(l)|1\nT1|rrel(l)|1\nT1|fork(T2)|1\nT1|join(T2)|1\n\
                    T1|wait(c)|1\nT1|notify(c)|1\nT1|notifyall(c)|1\nT1|br|1\nT1|begin|0\nT1|end|0\nT1|try|1\n";
        let trace = parse_std(text).unwrap();
        let ops: Vec<Op> = trace.columns().ops.clone();
        assert_eq!(ops.len(), Op::ALL.len());
        let mut out = Vec::new();
        write_events(&mut out, trace.columns(), trace.tables()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn comments_line_ends_and_odd_names_are_read() {
        let trace = parse_std("\u{feff}# hello\nT 1|w(f(a)|b)|x|y\r\n#\nT 1|r(a[0])").unwrap();
        assert_eq!(trace.len(), 2);
        assert_eq!(trace.tables().variables.iter().collect::<Vec<_>>(), ["f(a", "a[0]"]);
        assert_eq!(trace.tables().locations.iter().collect::<Vec<_>>(), ["b)|x|y"]);
    }

    #[test]
    fn errors_name_line_and_reason() {
        assert!(error("T1|r(x)|1\nhello\n").starts_with("line 2: `hello` has no `|`"));
        assert_eq!(error("T1|lock(x)|1\n"), "line 1: unknown operation `lock`");
        assert_eq!(error("T1|r()|1\n"), "line 1: `r` needs an object: r(name)");
        assert_eq!(error("T1|r|1\n"), "line 1: `r` needs an object: r(name)");
        assert_eq!(error("T1|br(x)|1\n"), "line 1: `br` takes no object");
        assert_eq!(error("T1|r(x|1\n"), "line 1: no `)` closes the object of `r`");
        assert_eq!(error("T1|r(x)\n\nT1|r(x)\n"), "line 2: the line is empty");
        assert_eq!(error("T1|fork(a|b)\n"), "line 1: no thread can be called `a|b`: a line could not begin with it");
        assert_eq!(error("|r(x)\n"), "line 1: the thread is missing before the first `|`");
        assert!(parse_std("T1|r(x)\n\n\n").is_ok());
        assert!(error(&"x".repeat(LONGEST_LINE * 5)).starts_with("line 1: the line is longer than 65536 bytes"));
    }

    #[test]
    fn names_that_text_cannot_carry_are_refused() {
        let refused = |thread: &[u8], variable: &[u8]| {
            let mut tables = Tables::default();
            tables.threads.define(thread).unwrap();
            tables.variables.define(variable).unwrap();
            let mut columns = Columns::default();
            columns.push_cells(0, Op::Write, 0, NONE);
            let mut out = Vec::new();
            StdWriter::new(&mut out).write(&columns, &tables).map(|()| out).map_err(|e| e.to_string())
        };
        assert_eq!(refused(b"T", b"f(a)").unwrap(), b"T|w(f(a))\n");
        assert_eq!(refused(b"a|b", b"x").unwrap_err(), "STD cannot carry the name `a|b` of a thread: it has a `|`");
        assert_eq!(
            refused(b"#", b"x").unwrap_err(),
            "STD cannot carry the name `#` of a thread: it has a `#` at its start"
        );
        assert_eq!(refused(b"T", b"").unwrap_err(), "STD cannot carry the name `` of a variable: it has no characters");
        assert_eq!(refused(b"T", b"a)|b").unwrap_err(), "STD cannot carry the name `a)|b` of a variable: it has `)|`");
        assert!(refused(b"T", b"a\nb").unwrap_err().ends_with("`a\\nb` of a variable: it has a line break"));
        assert!(refused(b"T", &[b'x'; LONGEST_LINE]).unwrap_err().contains("takes more than 65536 bytes as text"));
    }

    #[test]
    fn an_empty_trace_is_written_as_a_comment() {
        let mut out = Vec::new();
        Box::new(StdWriter::new(&mut out)).finish(&Tables::default()).unwrap();
        assert!(StdReader::new(&out[..]).next_chunk(&mut Columns::default()).is_ok_and(|more| !more));
    }
}
