//! Names of threads, locks, variables, conditions and locations, interned to dense ids.
//!
//! One growing string per table plus an end offset per name: 8 bytes and the text per name, and about 5 bytes of index.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;

use crate::id::{CondId, EventId, LocId, LockId, NONE, ThreadId, ValueId, VarId};
use crate::kinds::{ConditionKind, Kinds, LockKind, VariableKind};
use crate::name_error::NameError;
use crate::op::{ObjectKind, Op};
use crate::values::{Value, Values};

/// One table of distinct names.
#[derive(Clone, Debug)]
pub struct Names {
    what: &'static str,
    limit: usize,
    text: String,
    ends: Vec<usize>,
    /// The first names, as many as were ever looked up.
    index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl Names {
    /// Creates an empty table; `what` is the plural that error messages use.
    pub fn new(what: &'static str, limit: usize) -> Self {
        Names {
            what,
            limit,
            text: String::new(),
            ends: Vec::new(),
            index: HashTable::new(),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// How many names there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with this index; empty for an index beyond the table.
    #[inline]
    pub fn get(&self, index: usize) -> &str {
        match self.ends.get(index) {
            Some(&end) => {
                let start = if index == 0 { 0 } else { self.ends[index - 1] };
                &self.text[start..end]
            }
            None => "",
        }
    }

    /// Returns the same as bytes. Every end is the end of a name, which needs no second look.
    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text.as_bytes()[start..self.ends[index]]
    }

    /// All names in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The index of a name that is already there.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.find_bytes(self.hash(name.as_bytes()), name.as_bytes()).map(|i| i as usize)
    }

    /// The index of `name`, entering it if it is new.
    #[inline]
    pub fn intern(&mut self, name: &[u8]) -> Result<u32, NameError> {
        if self.index.len() != self.len() {
            self.catch_up();
        }
        let hash = self.hash(name);
        match self.find_bytes(hash, name) {
            Some(index) => Ok(index),
            None => self.enter(hash, name),
        }
    }

    /// Enters a name that must be new and returns its index.
    pub fn define(&mut self, name: &[u8]) -> Result<u32, NameError> {
        if self.index.len() != self.len() {
            self.catch_up();
        }
        let hash = self.hash(name);
        if self.find_bytes(hash, name).is_some() {
            return Err(NameError::Twice(String::from_utf8_lossy(name).into_owned()));
        }
        self.enter(hash, name)
    }

    #[inline]
    fn hash(&self, name: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name);
        hasher.finish()
    }

    #[inline]
    fn find_bytes(&self, hash: u64, name: &[u8]) -> Option<u32> {
        let found = self.index.find(hash, |&i| same(self.bytes(i as usize), name)).copied();
        let rest = || (self.index.len()..self.len()).find(|&i| self.bytes(i) == name);
        if self.index.len() == self.len() { found } else { found.or_else(|| rest().map(|i| i as u32)) }
    }

    /// Enters a name that the caller knows to be new, which costs next to nothing until a name is looked up.
    pub fn append(&mut self, name: &str) -> Result<u32, NameError> {
        let index = self.ends.len();
        if index >= self.limit {
            return Err(NameError::TooMany { what: self.what, limit: self.limit });
        }
        self.text.push_str(name);
        self.ends.push(self.text.len());
        Ok(index as u32)
    }

    /// Enters the names into the index that came by [`Self::append`].
    #[cold]
    fn catch_up(&mut self) {
        for index in self.index.len()..self.len() {
            self.enter_index(self.hash(self.get(index).as_bytes()), index);
        }
    }

    #[cold]
    fn enter(&mut self, hash: u64, name: &[u8]) -> Result<u32, NameError> {
        let name = std::str::from_utf8(name).map_err(|e| NameError::NotUtf8 { at: e.valid_up_to() })?;
        let index = self.append(name)?;
        self.enter_index(hash, index as usize);
        Ok(index)
    }

    fn enter_index(&mut self, hash: u64, index: usize) {
        let Names { text, ends, index: table, hasher, .. } = self;
        table.insert_unique(hash, index as u32, |&i| {
            let i = i as usize;
            let start = if i == 0 { 0 } else { ends[i - 1] };
            let mut state = hasher.build_hasher();
            state.write(&text.as_bytes()[start..ends[i]]);
            state.finish()
        });
    }

    /// Bytes of memory that the table takes, its index included.
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.index.allocation_size()
    }
}

/// Compares names. Most are so short that a library call would take longer than comparing two words.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>()) {
        _ if a.len() != b.len() => false,
        (Some(a0), Some(a1), Some(b0), Some(b1)) if a.len() <= 16 => a0 == b0 && a1 == b1,
        (Some(_), ..) => a == b,
        _ => match (a.first_chunk::<4>(), a.last_chunk::<4>(), b.first_chunk::<4>(), b.last_chunk::<4>()) {
            (Some(a0), Some(a1), Some(b0), Some(b1)) => a0 == b0 && a1 == b1,
            _ => a.iter().zip(b).all(|(a, b)| a == b),
        },
    }
}

/// Equal when they hold the same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Names {}

/// The name tables of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tables {
    /// Threads.
    pub threads: Names,
    /// Locks.
    pub locks: Names,
    /// Variables.
    pub variables: Names,
    /// Conditions.
    pub conditions: Names,
    /// Source locations.
    pub locations: Names,
    /// What the locks are.
    pub lock_kinds: Kinds<LockKind>,
    /// What the conditions are.
    pub condition_kinds: Kinds<ConditionKind>,
    /// What the variables are.
    pub variable_kinds: Kinds<VariableKind>,
    /// The values that accesses read and wrote.
    pub values: Values,
    /// What the variables held before their first event, where that is known and no read says it.
    pub initial_values: Kinds<Option<ValueId>>,
}

impl Default for Tables {
    fn default() -> Self {
        Tables {
            threads: Names::new("threads", ThreadId::LIMIT),
            locks: Names::new("locks", LockId::LIMIT),
            variables: Names::new("variables", VarId::LIMIT),
            conditions: Names::new("conditions", CondId::LIMIT),
            locations: Names::new("locations", LocId::LIMIT),
            lock_kinds: Kinds::default(),
            condition_kinds: Kinds::default(),
            variable_kinds: Kinds::default(),
            values: Values::default(),
            initial_values: Kinds::default(),
        }
    }
}

impl Tables {
    /// The table that an operation's object belongs to.
    #[inline]
    pub fn of(&self, kind: ObjectKind) -> Option<&Names> {
        match kind {
            ObjectKind::Variable => Some(&self.variables),
            ObjectKind::Lock => Some(&self.locks),
            ObjectKind::Thread => Some(&self.threads),
            ObjectKind::Condition => Some(&self.conditions),
            ObjectKind::Nothing => None,
        }
    }

    /// The same, to enter names.
    #[inline]
    pub fn of_mut(&mut self, kind: ObjectKind) -> Option<&mut Names> {
        match kind {
            ObjectKind::Variable => Some(&mut self.variables),
            ObjectKind::Lock => Some(&mut self.locks),
            ObjectKind::Thread => Some(&mut self.threads),
            ObjectKind::Condition => Some(&mut self.conditions),
            ObjectKind::Nothing => None,
        }
    }

    /// The name of the thing that an event with this operation and object cell names; empty where there is none.
    pub fn object(&self, op: Op, object: u32) -> &str {
        self.of(op.names()).map_or("", |names| names.get(object as usize))
    }

    /// What a lock is.
    #[inline]
    pub fn lock_kind(&self, lock: LockId) -> LockKind {
        self.lock_kinds.get(lock.index())
    }

    /// What a condition is.
    #[inline]
    pub fn condition_kind(&self, condition: CondId) -> ConditionKind {
        self.condition_kinds.get(condition.index())
    }

    /// What a variable is.
    #[inline]
    pub fn variable_kind(&self, variable: VarId) -> VariableKind {
        self.variable_kinds.get(variable.index())
    }

    /// How many locks, variables and conditions have a kind.
    pub(crate) fn kinds(&self) -> [u64; 3] {
        let (locks, variables) = (self.lock_kinds.iter().count(), self.variable_kinds.iter().count());
        [locks, variables, self.condition_kinds.iter().count()].map(|n| n as u64)
    }

    /// The value with this id, if the trace has it.
    pub fn value(&self, value: Option<ValueId>) -> Option<Value> {
        value.and_then(|id| self.values.get(id))
    }

    /// The name of a thread.
    pub fn thread(&self, thread: ThreadId) -> &str {
        self.threads.get(thread.index())
    }

    /// The name of a location cell, `None` where the event has no location.
    pub fn location(&self, location: Option<LocId>) -> Option<&str> {
        location.map(|l| self.locations.get(l.index()))
    }

    /// Bytes of memory of all tables.
    pub fn memory(&self) -> usize {
        [&self.threads, &self.locks, &self.variables, &self.conditions, &self.locations]
            .iter()
            .map(|names| names.memory())
            .sum::<usize>()
            + self.values.memory()
    }
}

/// Checks that an event number fits, so that a trace never holds more events than ids.
pub(crate) fn event_id(count: usize) -> Result<EventId, NameError> {
    EventId::new(count).ok_or(NameError::TooMany { what: "events", limit: NONE as usize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_names_are_the_same_where_all_their_bytes_are() {
        for length in 0..40 {
            let name: Vec<u8> = (0..length).collect();
            assert!(same(&name, &name.clone()));
            assert!(!same(&name, &[&name[..], &[0]].concat()));
            for at in 0..name.len() {
                let mut other = name.clone();
                other[at] ^= 1;
                assert!(!same(&name, &other), "{length} bytes, byte {at}");
            }
        }
    }

    #[test]
    fn interning_gives_ids_in_order_of_appearance() {
        let mut names = Names::new("variables", 10);
        assert_eq!(names.intern(b"x"), Ok(0));
        assert_eq!(names.intern(b""), Ok(1));
        assert_eq!(names.intern(b"x"), Ok(0));
        assert_eq!(names.intern("zwölf".as_bytes()), Ok(2));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["x", "", "zwölf"]);
        assert_eq!(names.find("zwölf"), Some(2));
        assert_eq!(names.find("y"), None);
        assert_eq!(names.get(3), "");
    }

    #[test]
    fn bad_names_are_refused() {
        let mut names = Names::new("threads", 1);
        assert_eq!(names.intern(b"a\xff"), Err(NameError::NotUtf8 { at: 1 }));
        assert_eq!(names.intern(b"a"), Ok(0));
        assert_eq!(names.intern(b"b"), Err(NameError::TooMany { what: "threads", limit: 1 }));
        assert_eq!(names.define(b"a"), Err(NameError::Twice("a".into())));
    }

    #[test]
    fn many_names_survive_growth_of_the_index() {
        let mut names = Names::new("variables", usize::MAX);
        for i in 0..10_000 {
            assert_eq!(names.intern(format!("v{i}").as_bytes()), Ok(i));
        }
        assert_eq!(names.find("v9999"), Some(9999));
        for i in 10_000..10_100 {
            assert_eq!(names.append(&format!("v{i}")), Ok(i));
        }
        assert_eq!((names.find("v10099"), names.find("v3"), names.find("w")), (Some(10_099), Some(3), None));
        assert_eq!((names.intern(b"v10050"), names.intern(b"w")), (Ok(10_050), Ok(10_100)));
        assert_eq!(names.define(b"v10001"), Err(NameError::Twice("v10001".into())));
    }
}
