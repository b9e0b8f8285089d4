//! What a trace contains as a whole: counts, and which objects more than one thread touches.
//!
//! A detector that knows beforehand that a variable stays with one thread, or is never written, need not look at it.
//! Native files carry the summary; for other sources one pass computes it.
//!
//! Cost: linear in the events; two bytes and two bits a variable, two bytes and one bit a lock.

use crate::columns::Columns;
use crate::id::{LockId, NONE, ThreadId, VarId};
use crate::names::Tables;
use crate::op::{ObjectKind, Op};

/// A growing set of dense ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Whether the set holds `index`.
    #[inline]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Puts `index` into the set.
    #[inline]
    pub fn insert(&mut self, index: usize) {
        if self.words.len() <= index / 64 {
            self.words.resize(index / 64 + 1, 0);
        }
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Takes `index` out of the set.
    pub fn remove(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// The ids in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(i, &word): (usize, &u64)| (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| i * 64 + b);
        self.words.iter().enumerate().flat_map(bits)
    }

    /// Puts all ids of another set into this one.
    pub fn extend(&mut self, other: &Bits) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        self.words.iter_mut().zip(&other.words).for_each(|(word, &also)| *word |= also);
    }

    /// How many ids the set holds.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Totals and per-object facts of a whole trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Events.
    pub events: u64,
    /// Events by operation, indexed by its code.
    pub by_op: [u64; Op::ALL.len()],
    /// Events of each thread, as far as threads did anything.
    pub by_thread: Vec<u64>,
    /// How many threads, locks, variables, conditions and locations have names.
    pub names: [u64; 5],
    /// How many different values there are.
    pub values: u64,
    /// Events with some property.
    pub with_flags: u64,
    /// Events with a value.
    pub with_values: u64,
    /// Locks, variables and conditions whose kind is known.
    pub kinds: [u64; 3],
    pub(crate) shared_variables: Bits,
    pub(crate) written_variables: Bits,
    pub(crate) shared_locks: Bits,
}

impl Summary {
    /// Whether more than one thread reads or writes the variable.
    #[inline]
    pub fn is_shared_variable(&self, variable: VarId) -> bool {
        self.shared_variables.contains(variable.index())
    }

    /// Whether some event writes the variable.
    #[inline]
    pub fn is_written(&self, variable: VarId) -> bool {
        self.written_variables.contains(variable.index())
    }

    /// Whether more than one thread touches the lock.
    #[inline]
    pub fn is_shared_lock(&self, lock: LockId) -> bool {
        self.shared_locks.contains(lock.index())
    }

    /// The variables that more than one thread reads or writes.
    pub fn shared_variables(&self) -> &Bits {
        &self.shared_variables
    }

    /// The locks that more than one thread touches.
    pub fn shared_locks(&self) -> &Bits {
        &self.shared_locks
    }

    /// Events with this operation.
    pub fn count(&self, op: Op) -> u64 {
        self.by_op[op as usize]
    }

    /// Events of a thread.
    pub fn events_of(&self, thread: ThreadId) -> u64 {
        self.by_thread.get(thread.index()).copied().unwrap_or(0)
    }
}

/// No thread has touched the object yet.
const UNTOUCHED: u16 = u16::MAX;

/// Computes a [`Summary`] chunk by chunk.
#[derive(Default, Debug)]
pub struct SummaryBuilder {
    summary: Summary,
    variables: Owners,
    locks: Owners,
}

/// The first thread that touched each object.
#[derive(Default, Debug)]
struct Owners(Vec<u16>);

impl Owners {
    /// Notes a touch; `true` if another thread touched the object before.
    #[inline]
    fn touch(&mut self, object: usize, thread: u16) -> bool {
        if self.0.len() <= object {
            self.0.resize(object + 1, UNTOUCHED);
        }
        let owner = &mut self.0[object];
        if *owner == UNTOUCHED {
            *owner = thread;
        }
        *owner != thread
    }
}

impl SummaryBuilder {
    /// Takes the next events.
    pub fn add(&mut self, columns: &Columns) {
        let summary = &mut self.summary;
        summary.events += columns.len() as u64;
        summary.with_flags += columns.flags.iter().filter(|&&bits| bits != 0).count() as u64;
        let is_value = |&(&op, &value): &(&Op, &u32)| value != NONE && op.is_access();
        summary.with_values += columns.ops.iter().zip(&columns.values).filter(is_value).count() as u64;
        for ((&thread, &op), &object) in columns.threads.iter().zip(&columns.ops).zip(&columns.objects) {
            let index = usize::from(thread);
            if summary.by_thread.len() <= index {
                summary.by_thread.resize(index + 1, 0);
            }
            summary.by_thread[index] += 1;
            summary.by_op[op as usize] += 1;
            let object = object as usize;
            match op.names() {
                ObjectKind::Variable => {
                    if self.variables.touch(object, thread) {
                        summary.shared_variables.insert(object);
                    }
                    if op == Op::Write {
                        summary.written_variables.insert(object);
                    }
                }
                ObjectKind::Lock if self.locks.touch(object, thread) => summary.shared_locks.insert(object),
                _ => {}
            }
        }
    }

    /// The summary of all that was taken; `tables` are the trace's names.
    pub fn finish(mut self, tables: &Tables) -> Summary {
        self.summary.names = [
            tables.threads.len() as u64,
            tables.locks.len() as u64,
            tables.variables.len() as u64,
            tables.conditions.len() as u64,
            tables.locations.len() as u64,
        ];
        self.summary.values = tables.values.len() as u64;
        self.summary.kinds = tables.kinds();
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse_std;

    #[test]
    fn tells_shared_from_local_and_written_from_read() {
        let trace =
            parse_std("A|w(x)\nA|w(y)\nA|r(z)\nA|acq(l)\nA|rel(l)\nA|acq(m)\nB|r(x)\nB|r(z)\nB|racq(l)\n").unwrap();
        let mut builder = SummaryBuilder::default();
        builder.add(trace.columns());
        let summary = builder.finish(trace.tables());
        let shared: Vec<bool> = (0..3).map(|v| summary.is_shared_variable(VarId::at(v))).collect();
        assert_eq!(shared, [true, false, true]);
        let written: Vec<bool> = (0..3).map(|v| summary.is_written(VarId::at(v))).collect();
        assert_eq!(written, [true, true, false]);
        assert!(summary.is_shared_lock(LockId::at(0)) && !summary.is_shared_lock(LockId::at(1)));
        assert_eq!((summary.events, summary.count(Op::Read), &summary.by_thread[..]), (9, 3, &[6, 3][..]));
        assert_eq!(summary.names, [2, 2, 3, 0, 0]);
        assert_eq!(summary.shared_variables().count(), 2);
    }
}
