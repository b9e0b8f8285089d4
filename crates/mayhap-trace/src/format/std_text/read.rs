//! Reads STD text.
//!
//! The reader keeps one bounded buffer and interns names as they come; ids are in order of first appearance, the thread
//! of a line before the thread it names. A line without properties and values costs no more than before they existed:
//! what they need is looked at only where the operation is not known as it stands.

use std::io::Read;
use std::ops::Range;

use hashbrown::HashMap;

use super::BYTE_ORDER_MARK;
use crate::columns::{CHUNK, Columns};
use crate::error::{Error, ErrorKind, Position};
use crate::flags::Flags;
use crate::format::lines::{Lines, shorten};
use crate::id::NONE;
use crate::kinds::ConditionKind;
use crate::names::{Names, Tables, same};
use crate::op::{ObjectKind, Op};
use crate::source::Source;
use crate::tries::Tries;
use crate::values::Value;

/// Reads STD text piece by piece.
pub struct StdReader<R> {
    lines: Lines<R>,
    /// Line of the first of the blank lines just before here.
    blank: Option<u64>,
    events: u64,
    tables: Tables,
    /// The thread of the line before: most lines repeat it.
    last_thread: (Vec<u8>, u16),
    tries: Tries,
    /// Kinds of conditions that no line has named yet.
    declared: Declared,
}

type Declared = HashMap<String, ConditionKind, foldhash::fast::RandomState>;

impl<R: Read> StdReader<R> {
    /// A reader of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        StdReader {
            lines: Lines::new(input),
            blank: None,
            events: 0,
            tables: Tables::default(),
            last_thread: (Vec::new(), 0),
            tries: Tries::default(),
            declared: Declared::default(),
        }
    }

    fn parse(&mut self, line: Range<usize>, chunk: &mut Columns) -> Result<(), Error> {
        let mut text = self.lines.text(line);
        if self.lines.number() == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(text);
        }
        let position = self.lines.position();
        if text.first() == Some(&b'#') {
            return match text.strip_prefix(b"#! ") {
                Some(text) => {
                    let known = &self.tables.conditions;
                    declare(text, known, &mut self.declared).map_err(|message| Error::syntax(position, message))
                }
                None => Ok(()),
            };
        }
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
        if fields.op.names() == ObjectKind::Condition && !self.declared.is_empty() {
            let Tables { conditions, condition_kinds, .. } = &mut self.tables;
            if let Some(kind) = self.declared.remove(conditions.get(object as usize)) {
                condition_kinds.set(object as usize, kind);
            }
        }
        let location = match fields.location {
            Some(location) => self.tables.locations.intern(location).map_err(named)?,
            None => NONE,
        };
        self.events += 1;
        chunk.push_cells(thread, fields.op, object, location);
        if fields.flags != Flags::NONE || fields.value.is_some() {
            let value = fields.value.map(|value| self.tables.values.intern(value)).transpose().map_err(named)?;
            chunk.set_last(fields.flags, value.map_or(NONE, |id| id.cell()));
        }
        Ok(())
    }
}

/// Takes a declaration: what kind of condition a name stands for.
#[cold]
fn declare(text: &[u8], known: &Names, declared: &mut Declared) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (name, kind) = match word {
        "cond" => (rest, ConditionKind::Condition),
        "token" => (rest, ConditionKind::Token),
        "sem" => {
            let Some((name, initial)) = rest.rsplit_once(' ') else {
                return Err("a semaphore is declared as `#! sem name count`".into());
            };
            let initial = initial.parse().map_err(|_| format!("`{}` is no count", shorten(initial.as_bytes())))?;
            (name, ConditionKind::Semaphore { initial })
        }
        _ => return Err(format!("unknown declaration `{}`: it is cond, sem or token", shorten(word.as_bytes()))),
    };
    if name.is_empty() {
        return Err(format!("`{word}` needs a name: #! {word} name"));
    }
    if known.find(name).is_some() || declared.contains_key(name) {
        let name = shorten(name.as_bytes());
        return Err(format!("the condition `{name}` is declared after a line that names it"));
    }
    declared.insert(name.to_string(), kind);
    Ok(())
}

struct Fields<'a> {
    thread: &'a [u8],
    op: Op,
    flags: Flags,
    object: Option<&'a [u8]>,
    value: Option<Value>,
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
    let (op, flags) = match Op::from_word(word) {
        Some(op) => (op, Flags::NONE),
        None => with_properties(word)?,
    };
    let (object, mut after) = match rest.get(word_end) {
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
    let mut value = None;
    if let [b'=', rest @ ..] = after {
        let (text, end) = rest.split_at(value_length(rest));
        value = Value::parse(std::str::from_utf8(text).map_err(|e| e.to_string())?);
        if value.is_none() || !op.is_access() {
            return Err(format!("`{}` is no value of `{}`", shorten(rest), op.word()));
        }
        after = end;
    }
    let location = match after {
        [] => None,
        [b'|', location @ ..] => Some(location),
        _ => return Err(format!("expected `|` or the end of the line, found `{}`", shorten(after))),
    };
    Ok(Fields { thread, op, flags, object, value, location })
}

/// The operation and properties of a word such as `w.rlx.joined`.
#[cold]
fn with_properties(word: &[u8]) -> Result<(Op, Flags), String> {
    let mut parts = word.split(|&b| b == b'.');
    let op = parts.next().and_then(Op::from_word).ok_or_else(|| format!("unknown operation `{}`", shorten(word)))?;
    let mut flags = Flags::NONE;
    for part in parts {
        let flag = Flags::from_word(part).filter(|&flag| flag.without(Flags::allowed(op)) == Flags::NONE);
        let flag = flag.ok_or_else(|| format!("`{}` cannot be `{}`", op.word(), shorten(part)))?;
        if (flag.is_atomic() && flags.is_atomic()) || flags.has(flag) {
            return Err(format!("`{}` has `{}` besides another of its sort", op.word(), shorten(part)));
        }
        flags = Flags::from_bits(flags.with(flag).bits())
            .ok_or_else(|| format!("`{}` has `{}` besides another of its sort", op.word(), shorten(part)))?;
    }
    Ok((op, flags))
}

/// The first `)` that ends the text, or stands before a `|`, or before a value that one of these follows.
#[inline]
fn closing(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b')', text).find(|&at| match text.get(at + 1) {
        None | Some(b'|') => true,
        Some(b'=') => {
            let length = value_length(&text[at + 2..]);
            length > 0 && matches!(text.get(at + 2 + length), None | Some(b'|'))
        }
        _ => false,
    })
}

/// How many bytes at the start of the text can belong to a value.
pub(super) fn value_length(text: &[u8]) -> usize {
    text.iter().position(|b| !matches!(b, b'0'..=b'9' | b'&' | b'+')).unwrap_or(text.len())
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
        self.tries.settle(chunk);
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }
}
