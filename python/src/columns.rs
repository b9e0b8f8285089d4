//! The columns of a trace as Arrow buffers and arrays.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray, StructArray, UInt16Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, FieldRef};
use bytes::Bytes;
use mayhap_trace::{NONE, Names, ObjectKind, Op, Trace};

/// A column of a trace, which it keeps alive.
struct Column(Arc<Trace>, fn(&Trace) -> &[u8]);

impl AsRef<[u8]> for Column {
    fn as_ref(&self) -> &[u8] {
        (self.1)(&self.0)
    }
}

/// A buffer that shares the trace's memory.
fn shared(trace: &Arc<Trace>, bytes: fn(&Trace) -> &[u8]) -> Buffer {
    Buffer::from(Bytes::from_owner(Column(Arc::clone(trace), bytes)))
}

fn threads(trace: &Arc<Trace>) -> Buffer {
    shared(trace, |trace| bytemuck::cast_slice(&trace.columns().threads))
}

fn locations(trace: &Arc<Trace>) -> Buffer {
    shared(trace, |trace| bytemuck::cast_slice(&trace.columns().locations))
}

fn flags(trace: &Arc<Trace>) -> Option<Buffer> {
    let here = !trace.columns().flags.is_empty();
    here.then(|| shared(trace, |trace| bytemuck::cast_slice(&trace.columns().flags)))
}

fn values(trace: &Arc<Trace>) -> Option<Buffer> {
    let here = !trace.columns().values.is_empty();
    here.then(|| shared(trace, |trace| bytemuck::cast_slice(&trace.columns().values)))
}

/// The operations by their place in the list of all.
fn ops(trace: &Trace) -> Vec<u8> {
    let mut places = [0; 256];
    (0..).zip(Op::ALL).for_each(|(place, &op)| places[op as usize] = place);
    trace.columns().ops.iter().map(|&op| places[op as usize]).collect()
}

/// A column as it is, with NumPy's word for its numbers. The outer `None`: there is no such column; the inner one: this trace has
/// nothing in it.
pub(crate) fn raw(trace: &Arc<Trace>, name: &str) -> Option<Option<(Buffer, &'static str)>> {
    Some(match name {
        "thread" => Some((threads(trace), "<u2")),
        "op" => Some((Buffer::from_vec(ops(trace)), "|u1")),
        "object" => Some((shared(trace, |trace| bytemuck::cast_slice(&trace.columns().objects)), "<u4")),
        "location" => Some((locations(trace), "<u4")),
        "flags" => flags(trace).map(|buffer| (buffer, "<u2")),
        "value" => values(trace).map(|buffer| (buffer, "<u4")),
        _ => return None,
    })
}

/// The names of a table, by id.
pub(crate) fn names(trace: &Trace, table: &str) -> Option<Vec<String>> {
    let tables = trace.tables();
    let all = |names: &Names| names.iter().map(str::to_string).collect();
    Some(match table {
        "threads" => all(&tables.threads),
        "locks" => all(&tables.locks),
        "variables" => all(&tables.variables),
        "conditions" => all(&tables.conditions),
        "locations" => all(&tables.locations),
        "ops" => Op::ALL.iter().map(|op| op.word().to_string()).collect(),
        "values" => (0..tables.values.len()).map(|id| value(trace, id as u32)).collect(),
        _ => return None,
    })
}

fn value(trace: &Trace, cell: u32) -> String {
    let value = trace.tables().value(mayhap_trace::ValueId::from_cell(cell));
    value.map_or_else(String::new, |value| value.to_string())
}

/// Which cells are not [`NONE`]; `None` if all are.
fn present(cells: &[u32]) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(cells.len(), |i| cells[i] != NONE));
    (nulls.null_count() > 0).then_some(nulls)
}

/// Cells and what they stand for.
fn dictionary(cells: Buffer, names: StringArray) -> Result<ArrayRef, ArrowError> {
    let cells: ScalarBuffer<u32> = cells.into();
    let nulls = present(&cells);
    let keys = PrimitiveArray::<UInt32Type>::try_new(cells, nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?))
}

/// Objects of all kinds, by the place of their names in one list: variables, locks, threads, conditions.
fn objects(trace: &Trace) -> (Vec<u32>, StringArray) {
    let tables = trace.tables();
    let (variables, locks, threads) =
        (tables.variables.len() as u32, tables.locks.len() as u32, tables.threads.len() as u32);
    let mut starts = [None; 256];
    for &op in Op::ALL {
        starts[op as usize] = match op.names() {
            ObjectKind::Variable => Some(0),
            ObjectKind::Lock => Some(variables),
            ObjectKind::Thread => Some(variables + locks),
            ObjectKind::Condition => Some(variables + locks + threads),
            ObjectKind::Nothing => None,
        };
    }
    let columns = trace.columns();
    let place = |(&op, &object): (&Op, &u32)| starts[op as usize].map_or(NONE, |start| start + object);
    let cells = columns.ops.iter().zip(&columns.objects).map(place).collect();
    let names = tables.variables.iter().chain(tables.locks.iter()).chain(tables.threads.iter());
    (cells, names.chain(tables.conditions.iter()).map(Some).collect())
}

/// The events as one array of structs: thread, op, object and location by name, and flags and value where the trace has them.
pub(crate) fn table(trace: &Arc<Trace>) -> Result<(FieldRef, ArrayRef), ArrowError> {
    let tables = trace.tables();
    let strings = |names: &Names| -> StringArray { names.iter().map(Some).collect() };
    let threads = PrimitiveArray::<UInt16Type>::try_new(threads(trace).into(), None)?;
    let threads: ArrayRef = Arc::new(DictionaryArray::try_new(threads, Arc::new(strings(&tables.threads)))?);
    let words: StringArray = Op::ALL.iter().map(|op| Some(op.word())).collect();
    let ops = PrimitiveArray::<UInt8Type>::try_new(Buffer::from_vec(ops(trace)).into(), None)?;
    let ops: ArrayRef = Arc::new(DictionaryArray::try_new(ops, Arc::new(words))?);
    let (cells, names) = objects(trace);
    let mut columns = vec![
        ("thread", threads),
        ("op", ops),
        ("object", dictionary(Buffer::from_vec(cells), names)?),
        ("location", dictionary(locations(trace), strings(&tables.locations))?),
    ];
    if let Some(buffer) = flags(trace) {
        columns.push(("flags", Arc::new(UInt16Array::try_new(buffer.into(), None)?)));
    }
    if let Some(buffer) = values(trace) {
        let all: StringArray = (0..tables.values.len()).map(|id| Some(value(trace, id as u32))).collect();
        columns.push(("value", dictionary(buffer, all)?));
    }
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let array =
        StructArray::try_new(fields.clone().into(), columns.into_iter().map(|(_, array)| array).collect(), None)?;
    Ok((Arc::new(Field::new_struct("", fields, false)), Arc::new(array)))
}
