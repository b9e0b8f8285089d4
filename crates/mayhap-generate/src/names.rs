//! Names of generated things, entered in the trace's tables when an event first needs them, so that ids are in order of
//! first appearance, as in a trace that was read.

use mayhap_trace::{NONE, Names};

/// Things of one kind that are numbered by the generator and named on first use.
pub(crate) struct Lazy {
    cells: Vec<u32>,
}

impl Lazy {
    /// `count` things, none of them named yet.
    pub(crate) fn new(count: usize) -> Self {
        Lazy { cells: vec![NONE; count] }
    }

    /// Returns the cell of thing `index` in `table`; `name` is asked the first time.
    #[inline]
    pub(crate) fn cell(&mut self, index: u32, table: &mut Names, name: impl FnOnce() -> String) -> u32 {
        let cell = self.cells[index as usize];
        if cell != NONE { cell } else { self.enter(index, table, name()) }
    }

    #[cold]
    fn enter(&mut self, index: u32, table: &mut Names, name: String) -> u32 {
        let cell = enter(table, name);
        self.cells[index as usize] = cell;
        cell
    }
}

/// Enters a name. Shapes are limited so that every table has room.
pub(crate) fn enter(table: &mut Names, name: String) -> u32 {
    table.intern(name.as_bytes()).expect("generated names are UTF-8 and fewer than ids")
}
