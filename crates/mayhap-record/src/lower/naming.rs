//! Names for places and memory when they are first met.

use std::fmt::Write as _;

use mayhap_trace::{NONE, NameError, Op};

use super::{Lowering, Marks};
use crate::lower::names;
use crate::memory::{Block, BlockKind};
use crate::sharing::sharing_state::CUTS;

/// Calls that are looked through for the program's own code.
const CALLERS: usize = 32;

impl Lowering {
    /// The location of what happens at a site now. Of what is no access, the one in the program's own code that led there: the
    /// languages' libraries lock and start threads for whoever calls them.
    #[inline]
    pub(crate) fn location(&mut self, op: Op, site: u32) -> Result<u32, NameError> {
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

    pub(crate) fn define_site(&mut self, number: u32, word: u64) {
        self.sites.define(number, word);
        self.steps.renumbered(number);
        let pc = self.sites.get(number).pc;
        let index = number as usize;
        if self.marks.len() <= index {
            self.marks.resize(index + 1, Marks::default());
        }
        self.marks[index] = Marks {
            constant: self.constant.contains(&pc),
            unseen: self.unseen.contains(&pc),
            silent: self.silent.contains(&pc),
        };
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
    pub(crate) fn new_variable(&mut self, granule: u64, cell: u64) -> Result<u32, NameError> {
        let mut first = None;
        let block =
            self.blocks.containing(granule).copied().filter(|block| matches!(block.kind, BlockKind::Heap { .. }));
        for byte in 0..8u64 {
            if byte == 0 || cell & CUTS & (1 << byte) != 0 {
                let id = match &block {
                    Some(block) => self.heap_variable(block, granule + byte)?,
                    None => {
                        let name = self.name(granule + byte);
                        names::define_variable(&mut self.variables, &mut self.tables.variables, &name)?
                    }
                };
                first.get_or_insert(id);
            }
        }
        let first = first.unwrap_or(0);
        self.kept.set(granule, cell | u64::from(first + 1) << 32);
        Ok(first)
    }

    /// A variable in a heap block: its name begins like those of the others there. Nothing else is called so, since a block is the only
    /// one of its thread with its number and each of its addresses is named once.
    fn heap_variable(&mut self, block: &Block, address: u64) -> Result<u32, NameError> {
        if self.heap.0 != Some(block.number) {
            self.heap = (Some(block.number), self.name(block.start));
        }
        let (_, name) = &mut self.heap;
        let length = name.len();
        if address != block.start {
            // Writing to a string cannot fail.
            let _ = write!(name, "+{}", address - block.start);
        }
        let id = self.tables.variables.append(name);
        name.truncate(length);
        id
    }

    /// The name of an address now.
    pub(crate) fn name(&mut self, address: u64) -> String {
        if let Some(&Block { kind: BlockKind::Heap { site, .. }, .. }) = self.blocks.containing(address) {
            // The file's name is enough: the block's number tells it from others.
            let place = || base_name(&self.symbols.place(self.sites.get(site).pc).line).to_owned();
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

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
