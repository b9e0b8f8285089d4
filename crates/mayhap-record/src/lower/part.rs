//! Where only a part of the run becomes events: what is left out by its place in the source, and what comes before the first
//! event that is written.

use mayhap_trace::{NameError, Op};

use super::Lowering;

impl Lowering {
    /// Accesses that were left out by where they are.
    pub(crate) fn excluded(&self) -> u64 {
        self.excluded
    }

    /// Accesses that came before the first step that is wanted.
    pub(crate) fn left_out(&self) -> u64 {
        self.reading.left_out()
    }

    /// From here on events are written; locks that are held are taken first.
    pub(crate) fn begin_writing(&mut self) -> Result<(), NameError> {
        self.writes = true;
        let current = self.current;
        for (thread, op, lock, site) in std::mem::take(&mut self.held) {
            self.current = thread;
            self.emit(op, lock, site)?;
        }
        self.current = current;
        self.tell_branches()
    }

    /// An event before the first that is written: `true` if it is written all the same.
    #[cold]
    pub(crate) fn is_needed(&mut self, op: Op, object: u32, site: u32) -> bool {
        let me = self.current;
        if op.is_acquire() {
            self.held.push((me, op, object, site));
        } else if op.is_release()
            && let Some(at) = self.held.iter().rposition(|&(thread, _, lock, _)| (thread, lock) == (me, object))
        {
            self.held.remove(at);
        }
        matches!(op, Op::Fork | Op::Join)
    }

    /// Accesses at the site are left out.
    pub(crate) fn is_excluded(&mut self, site: u32) -> bool {
        let index = site as usize;
        if self.chosen.len() <= index {
            self.chosen.resize(index + 1, None);
        }
        match self.chosen[index] {
            Some(excluded) => excluded,
            None => {
                let excluded = self.limits.excludes(&self.symbols.place(self.sites.get(site).pc));
                self.chosen[index] = Some(excluded);
                excluded
            }
        }
    }
}
