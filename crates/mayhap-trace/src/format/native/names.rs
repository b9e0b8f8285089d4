//! The contents of blocks of names: names, values and kinds of objects, written and read.

use mayhap_wire::varint::{unzigzag, unzigzag_long, zigzag, zigzag_long};
use mayhap_wire::{limits, record, table, varint};

use super::tables_in_order;
use super::totals::push_varint;
use crate::error::{Error, Position};
use crate::id::ValueId;
use crate::kinds::{ConditionKind, Kinds, LockKind, VariableKind};
use crate::names::Tables;
use crate::values::Value;

/// The values defined last, from which the next ones step.
#[derive(Default)]
struct Last {
    bits: u64,
    block: u32,
}

/// How much of the tables has been written.
#[derive(Default)]
pub(super) struct Written {
    /// Names of each table.
    pub(super) named: [usize; table::COUNT],
    pub(super) values: usize,
    last: Last,
    locks: Kinds<LockKind>,
    variables: Kinds<VariableKind>,
    conditions: Kinds<ConditionKind>,
    initial: Kinds<Option<ValueId>>,
}

impl Written {
    /// Hands on the records that bring each table up to the `needed` number of names, and the values likewise, with the kinds
    /// of what they name.
    pub(super) fn advance(
        &mut self,
        tables: &Tables,
        needed: [usize; table::COUNT],
        values: usize,
        mut put: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut record = Vec::new();
        for (table, names) in tables_in_order(tables).into_iter().enumerate() {
            for index in self.named[table]..needed[table] {
                let name = names.get(index).as_bytes();
                if name.len() > limits::NAME {
                    let (length, most) = (name.len(), limits::NAME);
                    let message = format!("a name of {length} bytes is too long: a native file holds up to {most}");
                    return Err(Error::syntax(Position::Whole, message));
                }
                record.clear();
                record.push(table as u8);
                push_varint(&mut record, name.len() as u64);
                record.extend_from_slice(name);
                put(&record)?;
            }
        }
        for index in self.named[usize::from(table::LOCKS)]..needed[usize::from(table::LOCKS)] {
            self.lock_kind(index, tables.lock_kinds.get(index), &mut put)?;
        }
        for index in self.named[usize::from(table::VARIABLES)]..needed[usize::from(table::VARIABLES)] {
            self.variable_kind(index, tables.variable_kinds.get(index), &mut put)?;
        }
        for index in self.named[usize::from(table::CONDITIONS)]..needed[usize::from(table::CONDITIONS)] {
            self.condition_kind(index, tables.condition_kinds.get(index), &mut put)?;
        }
        for value in tables.values.iter().take(values).skip(self.values) {
            put(self.last.record(value, &mut record))?;
        }
        self.values = self.values.max(values);
        for index in self.named[usize::from(table::VARIABLES)]..needed[usize::from(table::VARIABLES)] {
            self.initial_value(index, tables.initial_values.get(index), &mut put)?;
        }
        self.named = needed;
        Ok(())
    }

    /// Hands on the rest: all names and values, and the kinds that were learnt after their names were written.
    pub(super) fn finish(
        &mut self,
        tables: &Tables,
        mut put: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = tables_in_order(tables).map(|names| names.len());
        self.advance(tables, all, tables.values.len(), &mut put)?;
        for (index, kind) in tables.lock_kinds.iter() {
            self.lock_kind(index, kind, &mut put)?;
        }
        for (index, kind) in tables.variable_kinds.iter() {
            self.variable_kind(index, kind, &mut put)?;
        }
        for (index, kind) in tables.condition_kinds.iter() {
            self.condition_kind(index, kind, &mut put)?;
        }
        for (index, value) in tables.initial_values.iter() {
            self.initial_value(index, value, &mut put)?;
        }
        Ok(())
    }

    /// Hands on what a variable held before its first event, once its value is defined.
    fn initial_value(
        &mut self,
        index: usize,
        value: Option<ValueId>,
        put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(known) = value.filter(|value| value.index() < self.values) else { return Ok(()) };
        if self.initial.get(index).is_some() {
            return Ok(());
        }
        self.initial.set(index, value);
        let mut record = vec![record::INITIAL];
        push_varint(&mut record, index as u64);
        push_varint(&mut record, known.index() as u64);
        put(&record)
    }

    fn lock_kind(
        &mut self,
        index: usize,
        kind: LockKind,
        put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if kind == LockKind::Unspecified || self.locks.get(index) != LockKind::Unspecified {
            return Ok(());
        }
        self.locks.set(index, kind);
        put(&kind_record(table::LOCKS, index, kind.code()))
    }

    fn variable_kind(
        &mut self,
        index: usize,
        kind: VariableKind,
        put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if kind == VariableKind::Unspecified || self.variables.get(index) != VariableKind::Unspecified {
            return Ok(());
        }
        self.variables.set(index, kind);
        put(&kind_record(table::VARIABLES, index, kind.code()))
    }

    fn condition_kind(
        &mut self,
        index: usize,
        kind: ConditionKind,
        put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if kind == ConditionKind::Unspecified || self.conditions.get(index) != ConditionKind::Unspecified {
            return Ok(());
        }
        self.conditions.set(index, kind);
        let (code, initial) = kind.code();
        let mut record = kind_record(table::CONDITIONS, index, code);
        push_varint(&mut record, initial.into());
        put(&record)
    }
}

fn kind_record(table: u8, index: usize, code: u8) -> Vec<u8> {
    let mut record = vec![record::KIND + table];
    push_varint(&mut record, index as u64);
    record.push(code);
    record
}

impl Last {
    fn record<'r>(&mut self, value: Value, record: &'r mut Vec<u8>) -> &'r [u8] {
        record.clear();
        match value {
            Value::Bits(bits) => {
                record.push(record::BITS);
                push_varint(record, zigzag_long(self.bits, bits));
                self.bits = bits;
            }
            Value::Pointer { block, offset } => {
                record.push(record::POINTER);
                push_varint(record, zigzag(self.block, block).into());
                push_varint(record, offset.into());
                self.block = block;
            }
        }
        record
    }
}

const SHORT: &str = "its contents end too early";

/// Reads blocks of names.
#[derive(Default)]
pub(super) struct Reading {
    last: Last,
}

impl Reading {
    /// Takes the contents of a block of `items` records. Only names are known to version 1.
    pub(super) fn block(
        &mut self,
        mut bytes: &[u8],
        items: u32,
        version: u16,
        tables: &mut Tables,
    ) -> Result<(), String> {
        for _ in 0..items {
            let Some((&code, rest)) = bytes.split_first() else { return Err(SHORT.into()) };
            bytes = rest;
            if code >= table::COUNT as u8 && version > 1 {
                self.further(code, &mut bytes, tables)?;
                continue;
            }
            let names = match code {
                table::THREADS => &mut tables.threads,
                table::LOCKS => &mut tables.locks,
                table::VARIABLES => &mut tables.variables,
                table::CONDITIONS => &mut tables.conditions,
                table::LOCATIONS => &mut tables.locations,
                _ => return Err(format!("it names table {code}, which is not known")),
            };
            let length = varint::take(&mut bytes).ok_or(SHORT)?;
            if length > limits::NAME as u64 {
                return Err(format!("it has a name of {length} bytes"));
            }
            let (name, rest) = bytes.split_at_checked(length as usize).ok_or(SHORT)?;
            bytes = rest;
            names.define(name).map_err(|e| e.to_string())?;
        }
        if bytes.is_empty() { Ok(()) } else { Err("bytes follow its contents".into()) }
    }

    /// A value or a kind.
    fn further(&mut self, code: u8, bytes: &mut &[u8], tables: &mut Tables) -> Result<(), String> {
        let number = |bytes: &mut &[u8]| -> Result<u32, String> {
            let number = varint::take(bytes).ok_or(SHORT)?;
            u32::try_from(number).map_err(|_| format!("it has {number} where a number of four bytes belongs"))
        };
        let value = match code {
            record::BITS => {
                self.last.bits = unzigzag_long(self.last.bits, varint::take(bytes).ok_or(SHORT)?);
                Value::Bits(self.last.bits)
            }
            record::POINTER => {
                self.last.block = unzigzag(self.last.block, number(bytes)?);
                Value::Pointer { block: self.last.block, offset: number(bytes)? }
            }
            record::INITIAL => return initial(number(bytes)?, number(bytes)?, tables),
            _ => return kind(code, bytes, tables, number),
        };
        let before = tables.values.len();
        tables.values.intern(value).map_err(|e| e.to_string())?;
        if tables.values.len() == before { Err(format!("the value {value} is defined twice")) } else { Ok(()) }
    }
}

fn initial(variable: u32, value: u32, tables: &mut Tables) -> Result<(), String> {
    let Some(value) = ValueId::from_cell(value).filter(|value| value.index() < tables.values.len()) else {
        return Err("it states an initial value that is not defined".into());
    };
    if variable as usize >= tables.variables.len() {
        return Err("it states the initial value of something without a name".into());
    }
    let is_new = tables.initial_values.set_once(variable as usize, Some(value));
    if is_new { Ok(()) } else { Err("it states an initial value twice".into()) }
}

fn kind(
    code: u8,
    bytes: &mut &[u8],
    tables: &mut Tables,
    number: impl Fn(&mut &[u8]) -> Result<u32, String>,
) -> Result<(), String> {
    let table = code.wrapping_sub(record::KIND);
    let names = match table {
        table::LOCKS => &tables.locks,
        table::VARIABLES => &tables.variables,
        table::CONDITIONS => &tables.conditions,
        _ => return Err(format!("it has a record {code}, which is not known")),
    };
    let index = number(bytes)? as usize;
    if index >= names.len() {
        return Err("it states the kind of something without a name".into());
    }
    let (&code, rest) = bytes.split_first().ok_or(SHORT)?;
    *bytes = rest;
    let unknown = || format!("it states the kind {code}, which is not known");
    let is_new = match table {
        table::LOCKS => {
            let kind = LockKind::from_code(code).ok_or_else(unknown)?;
            tables.lock_kinds.set_once(index, kind)
        }
        table::VARIABLES => {
            let kind = VariableKind::from_code(code).ok_or_else(unknown)?;
            tables.variable_kinds.set_once(index, kind)
        }
        _ => {
            let kind = ConditionKind::from_code(code, number(bytes)?).ok_or_else(unknown)?;
            tables.condition_kinds.set_once(index, kind)
        }
    };
    if is_new { Ok(()) } else { Err("it states a kind twice, or none".into()) }
}
