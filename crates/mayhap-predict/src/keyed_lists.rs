//! Lists of entries by a dense key, all in one vector.

/// Lists keyed by (object, chain).
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    entries: Vec<T>,
    bounds: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { entries: Vec::new(), bounds: vec![0] }
    }
}

impl<T> Table<T> {
    /// From entries sorted by key, where keys are below `keys`.
    pub(crate) fn new(keys: usize, entries: impl Iterator<Item = (usize, T)>) -> Self {
        let mut table = Table { entries: Vec::new(), bounds: vec![0; keys + 1] };
        for (key, entry) in entries {
            table.bounds[key + 1] += 1;
            table.entries.push(entry);
        }
        for key in 0..keys {
            table.bounds[key + 1] += table.bounds[key];
        }
        table
    }

    pub(crate) fn get(&self, key: usize) -> &[T] {
        &self.entries[self.bounds[key] as usize..self.bounds[key + 1] as usize]
    }
}
