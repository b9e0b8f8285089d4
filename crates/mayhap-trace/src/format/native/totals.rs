//! The blocks after the last events: facts about objects, and the trailer with the totals.

use mayhap_wire::{events, fact, limits, table, varint};

use crate::summary::{Bits, Summary};

/// The sets that facts blocks carry: (table, fact, set, number of objects).
pub(super) fn fact_sets(summary: &Summary) -> [(u8, u8, &Bits, u64); 3] {
    let [_, locks, variables, _, _] = summary.names;
    [
        (table::LOCKS, fact::SHARED, &summary.shared_locks, locks),
        (table::VARIABLES, fact::SHARED, &summary.shared_variables, variables),
        (table::VARIABLES, fact::WRITTEN, &summary.written_variables, variables),
    ]
}

/// Appends a number.
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; varint::LONGEST];
    let length = varint::put(value, &mut bytes).unwrap_or(0);
    out.extend_from_slice(&bytes[..length]);
}

/// Writes the contents of a facts block for `count` objects from `first` on.
pub(super) fn put_facts(out: &mut Vec<u8>, table: u8, fact: u8, set: &Bits, first: u64, count: usize) {
    out.extend_from_slice(&[table, fact]);
    push_varint(out, first);
    let byte = |at: usize| (0..8).fold(0, |byte, bit| byte | u8::from(set.contains(at + bit)) << bit);
    out.extend((0..count.div_ceil(8)).map(|i| byte(first as usize + 8 * i)));
}

/// Writes the contents of the trailer.
pub(super) fn put_trailer(out: &mut Vec<u8>, summary: &Summary) {
    push_varint(out, summary.events);
    push_varint(out, summary.by_op.len() as u64);
    summary.by_op.iter().for_each(|&n| push_varint(out, n));
    summary.names.iter().for_each(|&n| push_varint(out, n));
    push_varint(out, summary.by_thread.len() as u64);
    summary.by_thread.iter().for_each(|&n| push_varint(out, n));
    [summary.values, summary.with_flags, summary.with_values].iter().for_each(|&n| push_varint(out, n));
    summary.kinds.iter().for_each(|&n| push_varint(out, n));
}

/// Collects facts and totals as their blocks are read.
#[derive(Default)]
pub(super) struct Totals {
    summary: Summary,
    /// How many objects the facts of each set of [`fact_sets`] cover so far.
    covered: [u64; 3],
}

impl Totals {
    /// Takes the contents of a facts block about `count` objects. Facts that this version does not know are passed over.
    ///
    /// The blocks of one fact come in the order of the objects without gaps, so the sets grow only with the file.
    pub(super) fn facts(&mut self, bytes: &[u8], count: usize) -> Result<(), &'static str> {
        const SHORT: &str = "its contents end too early";
        let [table, fact, bytes @ ..] = bytes else { return Err(SHORT) };
        let mut bytes = bytes;
        let first = varint::take(&mut bytes).ok_or(SHORT)?;
        let (which, set) = match (*table, *fact) {
            (table::LOCKS, fact::SHARED) => (0, &mut self.summary.shared_locks),
            (table::VARIABLES, fact::SHARED) => (1, &mut self.summary.shared_variables),
            (table::VARIABLES, fact::WRITTEN) => (2, &mut self.summary.written_variables),
            _ => return Ok(()),
        };
        if bytes.len() != count.div_ceil(8) {
            return Err("its length does not fit its number of facts");
        }
        if first != self.covered[which] {
            return Err("its facts do not follow those before");
        }
        self.covered[which] += count as u64;
        if self.covered[which] > limits::IDS as u64 {
            return Err("it states facts of more objects than there can be");
        }
        for i in (0..count).filter(|i| bytes[i / 8] >> (i % 8) & 1 == 1) {
            set.insert(first as usize + i);
        }
        Ok(())
    }

    /// Takes the contents of the trailer and returns the summary, with whether the facts cover all objects.
    pub(super) fn trailer(mut self, mut bytes: &[u8]) -> Result<(Summary, bool), &'static str> {
        let whole = take_trailer(&mut bytes, &mut self.summary).is_some() && bytes.is_empty();
        if !whole {
            return Err("its contents are not those of a trailer");
        }
        let sizes = fact_sets(&self.summary).map(|(_, _, _, size)| size);
        if self.covered.iter().zip(sizes).any(|(&covered, size)| covered > size) {
            return Err("the facts before it are about more objects than it promises");
        }
        Ok((self.summary, self.covered == sizes))
    }
}

/// Reads the contents of the trailer into the summary.
pub(super) fn take_trailer(bytes: &mut &[u8], summary: &mut Summary) -> Option<()> {
    summary.events = varint::take(bytes)?;
    // Files may have been written when there were fewer operations.
    let operations = usize::try_from(varint::take(bytes)?).ok().filter(|&n| n <= events::OPS)?;
    for count in &mut summary.by_op[..operations] {
        *count = varint::take(bytes)?;
    }
    for count in &mut summary.names {
        *count = varint::take(bytes)?;
    }
    let threads = varint::take(bytes)?;
    if threads > limits::THREADS as u64 || threads > summary.names[usize::from(table::THREADS)] {
        return None;
    }
    summary.by_thread = (0..threads).map(|_| varint::take(bytes)).collect::<Option<_>>()?;
    if bytes.is_empty() {
        // A file of version 1: it has none of what follows.
        return Some(());
    }
    for count in [&mut summary.values, &mut summary.with_flags, &mut summary.with_values] {
        *count = varint::take(bytes)?;
    }
    for count in &mut summary.kinds {
        *count = varint::take(bytes)?;
    }
    Some(())
}
