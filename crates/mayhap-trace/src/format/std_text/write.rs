//! Writes STD text.

use std::io::Write;

use super::BYTE_ORDER_MARK;
use super::read::value_length;
use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::flags::Flags;
use crate::format::lines::{LONGEST_LINE, shorten};
use crate::format::{Sink, TraceWriter};
use crate::id::{NONE, ValueId};
use crate::kinds::ConditionKind;
use crate::names::Tables;
use crate::op::{ObjectKind, Op};
use crate::summary::Bits;

/// What other readers of STD text need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StdOptions {
    /// Locations are written as numbers: 0 for none, and names that are numbers keep theirs.
    pub numeric_locations: bool,
    /// Only what RAPID's parser accepts is written: `r`, `w`, `acq`, `rel`, `fork` and `join`, without properties, values and
    /// declarations, and with numeric locations.
    pub rapid: bool,
}

/// The operations that RAPID documents.
const RAPID: [Op; 6] = [Op::Read, Op::Write, Op::Acquire, Op::Release, Op::Fork, Op::Join];

/// Writes events as STD text.
///
/// A name that the format cannot carry (a line break in it, `|` in a thread's name, `)|` in an object's) is an error.
pub struct StdWriter<W> {
    out: W,
    lines: Vec<u8>,
    empty: bool,
    /// Conditions whose kind was written.
    declared: Bits,
    options: StdOptions,
    numbers: Numbers,
    /// Events that RAPID has no word for, by operation, and those whose properties or value it cannot read.
    left_out: [u64; Op::ALL.len()],
    reduced: u64,
    /// How many names of each table are known to be writable.
    checked: [usize; 5],
}

impl<W: Sink> StdWriter<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> Self {
        StdWriter::with(out, StdOptions::default())
    }

    /// Returns a writer to `out` for other readers.
    pub fn with(out: W, options: StdOptions) -> Self {
        StdWriter {
            out,
            lines: Vec::new(),
            empty: true,
            declared: Bits::default(),
            options,
            numbers: Numbers::default(),
            left_out: [0; Op::ALL.len()],
            reduced: 0,
            checked: [0; 5],
        }
    }

    /// Appends the line of one event.
    #[inline]
    fn line(&mut self, chunk: &Columns, i: usize, tables: &Tables) -> Result<(), Error> {
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
        if !chunk.flags.is_empty() && !self.options.rapid {
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
        if !chunk.values.is_empty()
            && !self.options.rapid
            && let Some(value) = tables.value(ValueId::from_cell(chunk.values[i]))
        {
            write!(line, "={value}")?;
        }
        if self.options.numeric_locations || self.options.rapid {
            write!(line, "|{}", self.numbers.of(chunk.locations[i], tables))?;
        } else if chunk.locations[i] != NONE {
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
        Ok(())
    }

    /// `false` if RAPID has no word for the event; counts what it loses.
    fn fits_rapid(&mut self, chunk: &Columns, i: usize) -> bool {
        let op = chunk.ops[i];
        if !RAPID.contains(&op) {
            self.left_out[op as usize] += 1;
            return false;
        }
        self.reduced += u64::from(chunk.flags_at(i) != Flags::NONE || chunk.value_at(i) != NONE);
        true
    }

    /// What the text does not say of the trace.
    fn notes(&self, tables: &Tables) -> Vec<String> {
        let mut notes = Vec::new();
        let total: u64 = self.left_out.iter().sum();
        if total > 0 {
            let counts = Op::ALL.iter().zip(self.left_out).filter(|(_, n)| *n > 0);
            let counts: Vec<String> = counts.map(|(op, n)| format!("{n} {}", op.word())).collect();
            notes.push(format!("{total} events left out, for which RAPID has no operation: {}", counts.join(", ")));
        }
        if self.reduced > 0 {
            notes.push(format!("{} events written without the properties or values that they have", self.reduced));
        }
        let conditions = tables.condition_kinds.iter().filter(|(_, kind)| kind.has_fixed_pairs()).count();
        let lost = tables.lock_kinds.iter().count() + tables.variable_kinds.iter().count() + conditions;
        if lost > 0 {
            notes.push(format!("STD does not say what kind of object {lost} of the names stand for"));
        }
        let initial = tables.initial_values.iter().count();
        if initial > 0 {
            notes.push(format!("STD does not say what {initial} of the variables held before their first event"));
        }
        notes
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
        self.numbers.begin(tables);
        for i in 0..chunk.len() {
            if !self.options.rapid || self.fits_rapid(chunk, i) {
                self.line(chunk, i, tables)?;
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
        let notes = self.notes(tables);
        self.out.complete()?;
        Ok(notes)
    }
}

/// The numbers that stand for locations.
#[derive(Default)]
struct Numbers {
    /// All names that the first events came with are numbers, and keep them.
    keep: Option<bool>,
}

impl Numbers {
    /// Numbers up to here are kept; above are those of names that are none, where others are.
    const LIMIT: u32 = 1 << 30;

    fn number(name: &str) -> Option<u32> {
        let number = name.parse().ok().filter(|&n| n < Self::LIMIT)?;
        (name == "0" || !name.starts_with(['0', '+'])).then_some(number)
    }

    fn begin(&mut self, tables: &Tables) {
        self.keep.get_or_insert_with(|| tables.locations.iter().all(|name| Self::number(name).is_some()));
    }

    fn of(&self, location: u32, tables: &Tables) -> u32 {
        if location == NONE {
            return 0;
        }
        if self.keep != Some(true) {
            return location.saturating_add(1);
        }
        let name = tables.locations.get(location as usize);
        Self::number(name).unwrap_or_else(|| Self::LIMIT.saturating_add(location))
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
