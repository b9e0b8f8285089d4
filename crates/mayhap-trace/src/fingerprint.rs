//! A fingerprint of a trace's contents, the same for every format it is stored in.
//!
//! Hashes events as (thread, operation, object, location), ids renumbered in order of first appearance, each name hashed
//! where its id first appears. XXH3, 128 bits: it tells traces apart by accident, not by malice.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::Xxh3;

use crate::columns::Columns;
use crate::event::ObjectKind;
use crate::id::NONE;
use crate::names::{Names, Tables};
use crate::trace::Trace;

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
    /// The fingerprint of this trace. Linear time.
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
            match op.names() {
                ObjectKind::Variable => self.variables.put(object, &tables.variables, &mut self.record),
                ObjectKind::Lock => self.locks.put(object, &tables.locks, &mut self.record),
                ObjectKind::Thread => self.threads.put(object, &tables.threads, &mut self.record),
                ObjectKind::Condition => self.conditions.put(object, &tables.conditions, &mut self.record),
                ObjectKind::Nothing => {}
            }
            self.locations.put(columns.locations[i], &tables.locations, &mut self.record);
            self.hash.update(&self.record);
        }
    }

    /// The fingerprint of all that was taken.
    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.hash.digest128())
    }
}

/// Ids of one table in order of first appearance.
#[derive(Default)]
struct Canonical {
    number: Vec<u32>,
    next: u32,
}

impl Canonical {
    fn put(&mut self, cell: u32, names: &Names, record: &mut Vec<u8>) {
        if cell == NONE {
            record.extend_from_slice(&NONE.to_le_bytes());
            return;
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
    }
}
