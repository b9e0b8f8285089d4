//! Values that accesses read and wrote, interned: two accesses have the same value if and only if they have the same id.
//!
//! Addresses differ from run to run and are reused within one, so a pointer into a known block is kept as the block and
//! the distance from its start.

use std::fmt;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use crate::id::ValueId;
use crate::name_error::NameError;

/// A value in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// The bits of at most eight bytes as an unsigned number.
    Bits(u64),
    /// An address inside a block of memory: the number of the allocation, and the distance from its start.
    Pointer {
        /// The number of the allocation in this trace.
        block: u32,
        /// The distance from the start of the block.
        offset: u32,
    },
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bits(bits) => write!(f, "{bits}"),
            Value::Pointer { block, offset } => write!(f, "&{block}+{offset}"),
        }
    }
}

impl Value {
    /// The value that [`fmt::Display`] writes as `text`.
    pub fn parse(text: &str) -> Option<Value> {
        let Some(pointer) = text.strip_prefix('&') else {
            return text.parse().ok().map(Value::Bits);
        };
        let (block, offset) = pointer.split_once('+')?;
        Some(Value::Pointer { block: block.parse().ok()?, offset: offset.parse().ok()? })
    }
}

/// The distinct values of a trace.
#[derive(Clone, Debug, Default)]
pub struct Values {
    values: Vec<Value>,
    index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl Values {
    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value with this id, if the table has it.
    #[inline]
    pub fn get(&self, id: ValueId) -> Option<Value> {
        self.values.get(id.index()).copied()
    }

    /// All values in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value> + '_ {
        self.values.iter().copied()
    }

    /// The id of a value, which enters the table if it is new.
    pub fn intern(&mut self, value: Value) -> Result<ValueId, NameError> {
        let Values { values, index, hasher } = self;
        let hash = hasher.hash_one(value);
        if let Some(&found) = index.find(hash, |&i| values[i as usize] == value) {
            return Ok(ValueId::at(found as usize));
        }
        let id = ValueId::new(values.len()).ok_or(NameError::TooMany { what: "values", limit: ValueId::LIMIT })?;
        values.push(value);
        index.insert_unique(hash, id.cell(), |&i| hasher.hash_one(values[i as usize]));
        Ok(id)
    }

    /// Bytes of memory that the table takes, its index included.
    pub fn memory(&self) -> usize {
        self.values.capacity() * size_of::<Value>() + self.index.allocation_size()
    }
}

/// Equal when they hold the same values in the same order.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Values {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_id() {
        let mut values = Values::default();
        let five = values.intern(Value::Bits(5)).unwrap();
        let pointer = values.intern(Value::Pointer { block: 5, offset: 0 }).unwrap();
        assert_ne!(five, pointer);
        assert_eq!(values.intern(Value::Bits(5)), Ok(five));
        assert_eq!(values.get(pointer), Some(Value::Pointer { block: 5, offset: 0 }));
        assert_eq!(values.len(), 2);
    }

    #[test]
    fn text_reads_back() {
        for value in [Value::Bits(0), Value::Bits(u64::MAX), Value::Pointer { block: 7, offset: 12 }] {
            assert_eq!(Value::parse(&value.to_string()), Some(value));
        }
        for bad in ["", "-1", "0x5", "&7", "&+1", "18446744073709551616"] {
            assert_eq!(Value::parse(bad), None, "{bad}");
        }
    }
}
