//! Names for memory when it is first met.

use mayhap_trace::NameError;

use super::super::granule::CUTS;
use super::super::modules::{Block, BlockKind};
use super::super::names;
use super::Lowering;

impl Lowering {
    #[cold]
    pub(super) fn new_variable(&mut self, granule: u64, cell: u64) -> Result<u32, NameError> {
        let mut first = None;
        for byte in 0..8u64 {
            if byte == 0 || cell & CUTS & (1 << byte) != 0 {
                let name = self.name(granule + byte);
                let id = names::define(&mut self.tables.variables, &name)?;
                first.get_or_insert(id);
            }
        }
        let first = first.unwrap_or(0);
        self.kept.set(granule, cell | u64::from(first + 1) << 32);
        Ok(first)
    }

    /// The name of an address now.
    pub(super) fn name(&mut self, address: u64) -> String {
        if let Some(&Block { kind: BlockKind::Heap { site, .. }, .. }) = self.blocks.containing(address) {
            let place = || self.symbols.place(self.sites.get(site).pc).line;
            self.lines.entry(site).or_insert_with(place);
        }
        let line = |site: u32| self.lines.get(&site).cloned().unwrap_or_default();
        let thread_name = |thread: u16| match self.threads.get(usize::from(thread)) {
            Some(thread) if !thread.name.is_empty() => thread.name.clone(),
            _ if thread == 0 => "main".into(),
            _ => format!("thread{thread}"),
        };
        names::address(&self.symbols, &self.blocks, line, thread_name, address)
    }
}
