//! Writes STD text.

use std::io::Write;

use super::BYTE_ORDER_MARK;
use super::read::value_length;
use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::event::ObjectKind;
use crate::format::lines::{LONGEST_LINE, shorten};
use crate::format::{Sink, TraceWriter};
use crate::id::{NONE, ValueId};
use crate::kinds::ConditionKind;
use crate::names::Tables;
use crate::summary::Bits;

/// Writes events as STD text.
///
/// A name that the format cannot carry (a line break in it, `|` in a thread's name, `)|` in an object's) is an error.
pub struct StdWriter<W> {
    out: W,
    lines: Vec<u8>,
    empty: bool,
    /// Conditions whose kind was written.
    declared: Bits,
    /// How many names of each table are known to be writable.
    checked: [usize; 5],
}

impl<W: Sink> StdWriter<W> {
    /// A writer to `out`.
    pub fn new(out: W) -> Self {
        StdWriter { out, lines: Vec::new(), empty: true, declared: Bits::default(), checked: [0; 5] }
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
            if op.names() == ObjectKind::Condition && !self.declared.contains(object as usize) {
                self.declared.insert(object as usize);
                declare(line, tables, object as usize);
            }
            let start = line.len();
            line.extend_from_slice(tables.threads.get(chunk.threads[i].into()).as_bytes());
            line.push(b'|');
            line.extend_from_slice(op.word().as_bytes());
            if !chunk.flags.is_empty() {
                for word in chunk.flags_at(i).words() {
                    line.push(b'.');
                    line.extend_from_slice(word.as_bytes());
                }
            }
            if op.names() != ObjectKind::Nothing {
                line.push(b'(');
                line.extend_from_slice(tables.object(op, object).as_bytes());
                line.push(b')');
            }
            if let Some(value) = tables.value(ValueId::from_cell(chunk.value_at(i))) {
                write!(line, "={value}")?;
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

    fn finish(mut self: Box<Self>, tables: &Tables) -> Result<Vec<String>, Error> {
        // An empty file is more often a mistake than a trace, and no reader takes it for one.
        if self.empty {
            self.out.write_all(b"# no events\n")?;
        }
        self.out.complete()?;
        let conditions = tables.condition_kinds.iter().filter(|(_, kind)| kind.has_fixed_pairs()).count();
        let lost = tables.lock_kinds.iter().count() + tables.variable_kinds.iter().count() + conditions;
        Ok((lost > 0)
            .then(|| format!("STD does not say what kind of object {lost} of the names stand for"))
            .into_iter()
            .collect())
    }
}

/// Writes the kind of a condition, if the format has a word for it.
fn declare(out: &mut Vec<u8>, tables: &Tables, condition: usize) {
    let name = tables.conditions.get(condition);
    let text = match tables.condition_kinds.get(condition) {
        ConditionKind::Condition => format!("#! cond {name}\n"),
        ConditionKind::Semaphore { initial } => format!("#! sem {name} {initial}\n"),
        ConditionKind::Token => format!("#! token {name}\n"),
        _ => return,
    };
    out.extend_from_slice(text.as_bytes());
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
                2 if looks_closed(name.as_bytes()) => "`)=`, a value and `|`",
                3 if name.ends_with('\r') && tables.condition_kinds.get(index) != ConditionKind::Unspecified => {
                    "a carriage return at its end"
                }
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

/// A reader would take a part of the name for the whole, with a value.
fn looks_closed(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some(at) = memchr::memmem::find(rest, b")=") {
        rest = &rest[at + 2..];
        let length = value_length(rest);
        if length > 0 && rest.get(length) == Some(&b'|') {
            return true;
        }
    }
    false
}

/// Writes events as STD text to anything.
pub fn write_events(out: &mut dyn Write, chunk: &Columns, tables: &Tables) -> Result<(), Error> {
    let mut text = Vec::new();
    StdWriter::new(&mut text).write(chunk, tables)?;
    Ok(out.write_all(&text)?)
}
