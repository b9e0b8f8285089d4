//! Sets of held locks, interned: events share the few sets a program uses.

use std::hash::BuildHasher as _;

use hashbrown::{HashMap, HashTable};

use crate::holds::Mode;
use crate::id::LockId;

/// An interned set of held locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocksetId(u32);

impl LocksetId {
    /// The empty set.
    pub const EMPTY: LocksetId = LocksetId(0);

    /// The position in the table of sets.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_cell(cell: u32) -> Self {
        LocksetId(cell)
    }

    pub(crate) fn cell(self) -> u32 {
        self.0
    }
}

type Held = (LockId, Mode);

/// All locksets of a trace. A set lists locks in ascending order; a lock held in both modes is listed twice.
#[derive(Clone, Debug)]
pub struct Locksets {
    sets: Vec<Box<[Held]>>,
    /// Finds a set by its locks. The sets themselves are stored once: deeply nested locks make large ones.
    index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
    /// Successor sets already computed: (set, lock, mode, added?) to set.
    moves: HashMap<(u32, Held, bool), u32, foldhash::fast::RandomState>,
}

impl Default for Locksets {
    fn default() -> Self {
        let mut sets = Locksets {
            sets: Vec::new(),
            index: HashTable::new(),
            hasher: Default::default(),
            moves: HashMap::default(),
        };
        sets.intern(Vec::new());
        sets
    }
}

impl Locksets {
    /// The locks of a set.
    #[inline]
    pub fn get(&self, set: LocksetId) -> &[(LockId, Mode)] {
        &self.sets[set.index()]
    }

    /// How many different sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Always `false`: there is always the empty set.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether the set holds `lock` in some mode.
    pub fn holds(&self, set: LocksetId, lock: LockId) -> bool {
        self.get(set).iter().any(|&(l, _)| l == lock)
    }

    /// A lock that keeps two threads with these sets apart: in both sets, exclusive in at least one.
    pub fn common(&self, a: LocksetId, b: LocksetId) -> Option<LockId> {
        let (a, b) = (self.get(a), self.get(b));
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match a[i].0.cmp(&b[j].0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    // `Exclusive` sorts first, so the first entry of a lock shows whether it is held exclusively.
                    if a[i].1 == Mode::Exclusive || b[j].1 == Mode::Exclusive {
                        return Some(a[i].0);
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        None
    }

    /// The set with `held` added.
    pub fn with(&mut self, set: LocksetId, held: (LockId, Mode)) -> LocksetId {
        self.move_to(set, held, true)
    }

    /// The set with `held` removed.
    pub fn without(&mut self, set: LocksetId, held: (LockId, Mode)) -> LocksetId {
        self.move_to(set, held, false)
    }

    fn move_to(&mut self, set: LocksetId, held: Held, add: bool) -> LocksetId {
        if let Some(&to) = self.moves.get(&(set.0, held, add)) {
            return LocksetId(to);
        }
        let mut locks = self.get(set).to_vec();
        match (locks.binary_search(&held), add) {
            (Err(at), true) => locks.insert(at, held),
            (Ok(at), false) => drop(locks.remove(at)),
            _ => {}
        }
        let to = self.intern(locks);
        self.moves.insert((set.0, held, add), to);
        LocksetId(to)
    }

    /// The number of the set with these locks.
    fn intern(&mut self, locks: Vec<Held>) -> u32 {
        let (sets, hasher) = (&mut self.sets, &self.hasher);
        let hash = hasher.hash_one(&*locks);
        if let Some(&known) = self.index.find(hash, |&set| *sets[set as usize] == *locks) {
            return known;
        }
        let set = sets.len() as u32;
        sets.push(locks.into_boxed_slice());
        self.index.insert_unique(hash, set, |&set| hasher.hash_one(&*sets[set as usize]));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_do_not_keep_each_other_apart() {
        let mut sets = Locksets::default();
        let (l, m) = (LockId::at(0), LockId::at(1));
        let reader = sets.with(LocksetId::EMPTY, (l, Mode::Shared));
        let writer = sets.with(LocksetId::EMPTY, (l, Mode::Exclusive));
        let both = sets.with(reader, (m, Mode::Exclusive));
        assert_eq!(sets.common(reader, both), None);
        assert_eq!(sets.common(reader, writer), Some(l));
        assert_eq!(sets.common(both, both), Some(m));
        assert_eq!(sets.without(both, (m, Mode::Exclusive)), reader);
        let upgraded = sets.with(reader, (l, Mode::Exclusive));
        assert_eq!(sets.common(reader, upgraded), Some(l));
    }
}
