//! The states that an exploration has visited, each packed into a few bytes.
//!
//! What a state feeds to a [`Hasher`] distinguishes it from all others: discriminants, and lengths before elements. So that sequence
//! itself, with small numbers in one byte, stands for the state; nothing is taken for visited because two hashes agree.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A set of states.
#[derive(Default)]
pub(crate) struct PackedSet {
    /// All states, one after the other.
    bytes: Vec<u8>,
    /// Where each begins and ends.
    places: HashTable<(usize, usize)>,
    hasher: FixedState,
}

impl PackedSet {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a state; false if it is there already.
    pub(crate) fn insert<T: Hash>(&mut self, state: &T) -> bool {
        let start = self.bytes.len();
        state.hash(&mut Packer(&mut self.bytes));
        let (end, bytes, hasher) = (self.bytes.len(), &self.bytes, &self.hasher);
        let hash = |&(start, end): &(usize, usize)| hasher.hash_one(&bytes[start..end]);
        let is_same = |place: &(usize, usize)| bytes[place.0..place.1] == bytes[start..end];
        let key = hash(&(start, end));
        if self.places.find(key, is_same).is_some() {
            self.bytes.truncate(start);
            return false;
        }
        self.places.insert_unique(key, (start, end), hash);
        true
    }
}

/// Writes down what is hashed.
struct Packer<'a>(&'a mut Vec<u8>);

impl Packer<'_> {
    fn number(&mut self, number: u64) {
        match u8::try_from(number) {
            Ok(byte) if byte < u8::MAX => self.0.push(byte),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend(number.to_le_bytes());
            }
        }
    }
}

impl Hasher for Packer<'_> {
    fn finish(&self) -> u64 {
        unreachable!("the bytes themselves are wanted")
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn write_u8(&mut self, number: u8) {
        self.0.push(number);
    }

    fn write_u32(&mut self, number: u32) {
        self.number(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.number(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.number(number as u64);
    }

    fn write_i64(&mut self, number: i64) {
        self.number(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.number(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_are_one_and_others_are_not() {
        let mut set = PackedSet::default();
        let states: [(Vec<u32>, Option<i64>); 7] = [
            (vec![], None),
            (vec![], Some(0)),
            (vec![0], None),
            (vec![255], None),
            (vec![255], Some(-1)),
            (vec![1, 254], Some(255)),
            (vec![1, 255], Some(254)),
        ];
        assert!(states.iter().all(|state| set.insert(state)), "all differ");
        assert!(!states.iter().any(|state| set.insert(state)), "all are there");
        assert_eq!(set.len(), states.len());
    }
}
