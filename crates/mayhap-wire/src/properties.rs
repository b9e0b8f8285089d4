//! The further columns of a block of events, since version 2: flags and values. They follow the locations, where some
//! event of the block has any.
//!
//! One byte says which columns follow: 1 flags, 2 values, 3 both. Flags are stored as byte planes, low bytes first. A value
//! steps from the last known value of the same variable in the block, since a read mostly sees what was written last; 0
//! stands for an unknown one. Values begin at 0 in every block, so a block can be read on its own.

use crate::events::{Column, EventsError, OBJECT, take_column};
use crate::table;
use crate::varint::{unzigzag, zigzag};

/// The block has a column of flags.
pub const FLAGS: u8 = 1;
/// The block has a column of values.
pub const VALUES: u8 = 2;

/// The value cell that says "unknown".
pub const UNKNOWN: u32 = u32::MAX;

/// The last known value of a variable within the block. It counts only in the block with the number `block`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct VariableState {
    block: u32,
    /// The value and 1; 0 if there was none.
    last: u32,
}

const _: () = assert!(size_of::<VariableState>() == 8);

impl VariableState {
    #[inline]
    fn enter(&mut self, block: u64) -> &mut u32 {
        if self.block != block as u32 {
            *self = VariableState { block: block as u32, last: 0 };
        }
        &mut self.last
    }
}

/// Which columns bytes after the locations announce: none if there are no bytes.
pub fn which(bytes: &[u8]) -> Result<u8, EventsError> {
    match bytes {
        [] => Ok(0),
        [which @ 1..=3, ..] => Ok(*which),
        [which, ..] => Err(EventsError::Columns(*which)),
    }
}

fn is_access(op: u8) -> bool {
    OBJECT[usize::from(op)] == table::VARIABLES
}

/// Encodes the columns that are not empty into `out` and returns the length, 0 if there is none to write; `None` where `out`
/// is too short.
///
/// `ops` and `objects` are those of the same events. `states` has an entry for each variable if there are values; `block`
/// is a number greater than 0 that no earlier call with these states had.
///
/// # Panics
/// If a column is neither empty nor as long as `ops`, or a variable has no state.
pub fn encode(
    (flags, values): (&[u16], &[u32]),
    (ops, objects): (&[u8], &[u32]),
    states: &mut [VariableState],
    block: u64,
    out: &mut [u8],
) -> Option<usize> {
    let count = ops.len();
    assert!((flags.is_empty() || flags.len() == count) && (values.is_empty() || values.len() == count));
    let which = if flags.is_empty() { 0 } else { FLAGS } | if values.is_empty() { 0 } else { VALUES };
    if which == 0 || count == 0 {
        return Some(0);
    }
    *out.first_mut()? = which;
    let mut at = 1;
    if which & FLAGS != 0 {
        let mut column = Column::new(out.get_mut(at..)?, count)?;
        flags.iter().enumerate().for_each(|(i, &bits)| column.put(i, bits.into()));
        at += column.finish();
    }
    if which & VALUES != 0 {
        let mut column = Column::new(out.get_mut(at..)?, count)?;
        for i in 0..count {
            if !is_access(ops[i]) {
                column.put(i, 0);
                continue;
            }
            let last = states[objects[i] as usize].enter(block);
            let value = values[i].wrapping_add(1);
            column.put(i, zigzag(*last, value));
            if value != 0 {
                *last = value;
            }
        }
        at += column.finish();
    }
    Some(at)
}

/// Decodes the columns that [`which`] announced into slices of the block's number of events; the other is empty.
///
/// Every value that comes out is below `values` or [`UNKNOWN`]; which bits flags may have is for the caller to check.
///
/// # Panics
/// If `ops` and `objects` are not those that [`crate::events::decode`] made of the same block, or `states` is shorter than
/// the table of variables.
pub fn decode(
    bytes: &[u8],
    (ops, objects): (&[u8], &[u32]),
    values: usize,
    states: &mut [VariableState],
    block: u64,
    out: (&mut [u16], &mut [u32]),
) -> Result<(), EventsError> {
    let which = which(bytes)?;
    let mut rest = bytes.get(1..).unwrap_or_default();
    if which & FLAGS != 0 {
        rest = take_flags(rest, out.0)?;
    }
    if which & VALUES != 0 {
        rest = take_column(rest, out.1)?;
        for (i, cell) in out.1.iter_mut().enumerate() {
            if !is_access(ops[i]) {
                if *cell != 0 {
                    return Err(EventsError::Value(i as u32));
                }
                *cell = UNKNOWN;
                continue;
            }
            let last = states[objects[i] as usize].enter(block);
            let value = unzigzag(*last, *cell);
            if value as usize > values {
                return Err(EventsError::Value(i as u32));
            }
            *cell = value.wrapping_sub(1);
            if value != 0 {
                *last = value;
            }
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(EventsError::Long) }
}

/// Reads a width of at most two and its planes.
fn take_flags<'a>(bytes: &'a [u8], out: &mut [u16]) -> Result<&'a [u8], EventsError> {
    let (&width, bytes) = bytes.split_first().ok_or(EventsError::Short)?;
    let count = out.len();
    let (planes, rest) = bytes.split_at_checked(usize::from(width) * count).ok_or(EventsError::Short)?;
    match width {
        0 => out.fill(0),
        1 => out.iter_mut().zip(planes).for_each(|(o, &low)| *o = low.into()),
        2 => {
            let (low, high) = planes.split_at(count);
            out.iter_mut().zip(low.iter().zip(high)).for_each(|(o, (&a, &b))| *o = u16::from_le_bytes([a, b]));
        }
        _ => return Err(EventsError::Width(width)),
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    const OPS: [u8; 6] = [1, 0, 11, 1, 0, 2];
    const OBJECTS: [u32; 6] = [2, 2, u32::MAX, 1, 2, 0];
    const FLAG_BITS: [u16; 6] = [6, 3, 0x200, 0x110, 0, 64];
    const VALUE_CELLS: [u32; 6] = [4, 4, UNKNOWN, 300, UNKNOWN, UNKNOWN];

    fn encoded(flags: &[u16], values: &[u32], out: &mut [u8]) -> Option<usize> {
        encode((flags, values), (&OPS, &OBJECTS), &mut [VariableState::default(); 3], 1, out)
    }

    fn decoded(bytes: &[u8], values: usize) -> Result<([u16; 6], [u32; 6]), EventsError> {
        let (mut flags, mut cells) = ([0; 6], [UNKNOWN; 6]);
        let which = which(bytes)?;
        let f = if which & FLAGS != 0 { &mut flags[..] } else { &mut [] };
        let v = if which & VALUES != 0 { &mut cells[..] } else { &mut [] };
        decode(bytes, (&OPS, &OBJECTS), values, &mut [VariableState::default(); 3], 1, (f, v))?;
        Ok((flags, cells))
    }

    #[test]
    fn columns_round_trip() {
        for (flags, values) in [(&FLAG_BITS[..], &VALUE_CELLS[..]), (&FLAG_BITS, &[]), (&[], &VALUE_CELLS)] {
            let mut out = [0; limits::events_raw(6)];
            let length = encoded(flags, values, &mut out).unwrap();
            let (read_flags, read_values) = decoded(&out[..length], 301).unwrap();
            assert_eq!(read_flags, if flags.is_empty() { [0; 6] } else { FLAG_BITS });
            assert_eq!(read_values, if values.is_empty() { [UNKNOWN; 6] } else { VALUE_CELLS });
            for short in 1..length {
                assert!(decoded(&out[..short], 301).is_err(), "{short} bytes");
            }
            assert_eq!(decoded(&out[..length + 1], 301), Err(EventsError::Long));
            for short in 0..length {
                assert_eq!(encoded(flags, values, &mut [0; limits::events_raw(6)][..short]), None, "{short} bytes");
            }
        }
        assert_eq!(encoded(&[], &[], &mut []), Some(0));
    }

    #[test]
    fn values_beyond_their_table_are_refused() {
        let mut out = [0; limits::events_raw(6)];
        let length = encoded(&[], &VALUE_CELLS, &mut out).unwrap();
        assert_eq!(decoded(&out[..length], 300), Err(EventsError::Value(3)));
        assert_eq!(decoded(&[2, 1, 0, 0, 1, 0, 0, 0], 301), Err(EventsError::Value(2)));
        assert_eq!(decoded(&[4], 301), Err(EventsError::Columns(4)));
        assert_eq!(decoded(&[1, 3], 301), Err(EventsError::Short));
    }
}
