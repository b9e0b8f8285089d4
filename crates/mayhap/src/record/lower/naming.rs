//! Names for places and memory when they are first met.

use mayhap_trace::{NONE, NameError, Op};

use super::super::granule::CUTS;
use super::super::modules::{Block, BlockKind};
use super::super::names;
use super::Lowering;

/// Calls that are looked through for the program's own code.
const CALLERS: usize = 32;

impl Lowering {
    /// The location of what happens at a site now. Of what is no access, the one in the program's own code that led there: the
    /// languages' libraries lock and start threads for whoever calls them.
    #[inline]
    pub(super) fn location(&mut self, op: Op, site: u32) -> Result<u32, NameError> {
        let is_access = matches!(op, Op::Read | Op::Write);
        let known = self.locations.get(site as usize).map_or(NONE, |known| known[usize::from(!is_access)]);
        if known != NONE || site == 0 { Ok(known) } else { self.new_location(is_access, site) }
    }

    #[cold]
    fn new_location(&mut self, is_access: bool, site: u32) -> Result<u32, NameError> {
        let (pc, index) = (self.sites.get(site).pc, site as usize);
        if self.locations.len() <= index {
            self.locations.resize(index + 1, [NONE; 2]);
        }
        if self.locations[index][0] == NONE {
            let place = self.symbols.place(pc).to_string();
            self.locations[index][0] = self.tables.locations.intern(place.as_bytes())?;
        }
        if is_access {
            return Ok(self.locations[index][0]);
        }
        if let Some(own) = self.own_place(pc)? {
            self.locations[index][1] = own;
            return Ok(own);
        }
        // Who called decides, so it is asked for each time.
        let callers: Vec<u64> = self.stacks.callers(self.current).take(CALLERS).collect();
        for pc in callers {
            if let Some(own) = self.own_place(pc)? {
                return Ok(own);
            }
        }
        Ok(self.locations[index][0])
    }

    /// Of the functions that are inlined where `pc` returns to, the innermost of the program's own.
    fn own_place(&mut self, pc: u64) -> Result<Option<u32>, NameError> {
        if let Some(&known) = self.own.get(&pc) {
            return Ok(known);
        }
        let frames = self.symbols.frames(pc);
        let own = match frames.iter().find(|place| !place.is_library()) {
            Some(place) => Some(self.tables.locations.intern(place.to_string().as_bytes())?),
            None => None,
        };
        self.own.insert(pc, own);
        Ok(own)
    }

    pub(super) fn define_site(&mut self, number: u32, word: u64) {
        self.sites.define(number, word);
        // The last number stands for ever other sites.
        if let Some(location) = self.locations.get_mut(number as usize) {
            *location = [NONE; 2];
        }
        self.lines.remove(&number);
        self.stacks.redefine(number);
        if let Some(chosen) = self.chosen.get_mut(number as usize) {
            *chosen = None;
        }
    }

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
