//! A fingerprint of a trace's contents, the same for every format it is stored in.
//!
//! Hashes events as (thread, operation, object, location), ids renumbered in order of first appearance, each name hashed
//! where its id first appears. Flags, values and the kinds of conditions that decide how waits find their notifies are hashed
//! where there are any, so that a trace without them keeps the fingerprint it always had; other kinds, which not every
//! format carries, are not. XXH3, 128 bits: it protects against accidental collisions, not against malicious ones.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::Xxh3;

use crate::columns::Columns;
use crate::id::{NONE, ValueId};
use crate::kinds::ConditionKind;
use crate::names::{Names, Tables};
use crate::op::ObjectKind;
use crate::trace::Trace;
use crate::values::Value;

/// What a trace contains, in 128 bits. Prints and parses as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(value) if hex => Ok(Fingerprint(value)),
            _ => Err(format!("`{text}` is not a fingerprint of 32 hexadecimal digits")),
        }
    }
}

impl Trace {
    /// Returns the fingerprint of this trace. Linear time.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut builder = FingerprintBuilder::default();
        builder.add(self.columns(), self.tables());
        builder.finish()
    }
}

/// Computes a fingerprint chunk by chunk.
#[derive(Default)]
pub struct FingerprintBuilder {
    hash: Box<Xxh3>,
    threads: Canonical,
    locks: Canonical,
    variables: Canonical,
    conditions: Canonical,
    locations: Canonical,
    record: Vec<u8>,
}

impl FingerprintBuilder {
    /// Takes the next events; `tables` names at least their ids.
    pub fn add(&mut self, columns: &Columns, tables: &Tables) {
        for i in 0..columns.len() {
            let op = columns.ops[i];
            self.record.clear();
            self.record.push(op as u8);
            self.threads.put(columns.threads[i].into(), &tables.threads, &mut self.record);
            let object = columns.objects[i];
            let is_new = match op.names() {
                ObjectKind::Variable => self.variables.put(object, &tables.variables, &mut self.record),
                ObjectKind::Lock => self.locks.put(object, &tables.locks, &mut self.record),
                ObjectKind::Thread => self.threads.put(object, &tables.threads, &mut self.record),
                ObjectKind::Condition => self.conditions.put(object, &tables.conditions, &mut self.record),
                ObjectKind::Nothing => false,
            };
            self.locations.put(columns.locations[i], &tables.locations, &mut self.record);
            if is_new && op.names() == ObjectKind::Condition {
                put_kind(tables.condition_kinds.get(object as usize), &mut self.record);
            }
            self.put_properties(columns, i, tables);
            if is_new
                && op.names() == ObjectKind::Variable
                && let Some(value) = tables.value(tables.initial_values.get(object as usize))
            {
                self.record.push(INITIAL);
                self.put_value(value);
            }
            self.hash.update(&self.record);
        }
    }

    #[inline]
    fn put_properties(&mut self, columns: &Columns, i: usize, tables: &Tables) {
        if !columns.flags.is_empty() && columns.flags[i] != 0 {
            self.record.push(FLAGS);
            self.record.extend_from_slice(&columns.flags[i].to_le_bytes());
        }
        if let Some(value) = tables.value(ValueId::from_cell(columns.value_at(i))) {
            self.put_value(value);
        }
    }

    fn put_value(&mut self, value: Value) {
        match value {
            Value::Bits(bits) => {
                self.record.push(BITS);
                self.record.extend_from_slice(&bits.to_le_bytes());
            }
            Value::Pointer { block, offset } => {
                self.record.push(POINTER);
                self.record.extend_from_slice(&block.to_le_bytes());
                self.record.extend_from_slice(&offset.to_le_bytes());
            }
        }
    }

    /// The fingerprint of all that was taken.
    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.hash.digest128())
    }
}

// What begins a record after that of an event: no operation has such a code.
const FLAGS: u8 = 0xf0;
const BITS: u8 = 0xf1;
const POINTER: u8 = 0xf2;
const KIND: u8 = 0xf3;
const INITIAL: u8 = 0xf4;

fn put_kind(kind: ConditionKind, record: &mut Vec<u8>) {
    if !kind.has_fixed_pairs() {
        let (code, initial) = kind.code();
        record.extend_from_slice(&[KIND, code]);
        record.extend_from_slice(&initial.to_le_bytes());
    }
}

/// Ids of one table in order of first appearance.
#[derive(Default)]
struct Canonical {
    number: Vec<u32>,
    next: u32,
}

impl Canonical {
    /// Adds an id to the record; `true` if it is the first time, and the name was added with it.
    fn put(&mut self, cell: u32, names: &Names, record: &mut Vec<u8>) -> bool {
        if cell == NONE {
            record.extend_from_slice(&NONE.to_le_bytes());
            return false;
        }
        let index = cell as usize;
        if self.number.len() <= index {
            self.number.resize(index + 1, NONE);
        }
        let new = self.number[index] == NONE;
        if new {
            self.number[index] = self.next;
            self.next += 1;
        }
        record.extend_from_slice(&self.number[index].to_le_bytes());
        if new {
            let name = names.get(index).as_bytes();
            record.extend_from_slice(&(name.len() as u64).to_le_bytes());
            record.extend_from_slice(name);
        }
        new
    }
}
