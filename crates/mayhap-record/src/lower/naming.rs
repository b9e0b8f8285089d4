//! Names for places and memory when they are first met.

use std::fmt::Write as _;

use mayhap_trace::{NONE, NameError};
use mayhap_wire::ring::SiteKind;

use super::{Location, Lowering, Marks};
use crate::lower::names;
use crate::memory::{Block, BlockKind, Site};
use crate::sharing::sharing_state::CUTS;

/// Calls that are looked through for the program's own code.
const CALLERS: usize = 32;

impl Lowering {
    /// The location of what happens at a site now: the one in the program's own code that led there. The languages' libraries
    /// read, write, lock and start threads for the code that calls them.
    #[inline]
    pub(crate) fn location(&mut self, site: u32) -> Result<u32, NameError> {
        let known = self.locations.get(site as usize).map_or(NONE, |known| known.own);
        if known != NONE || site == 0 { Ok(known) } else { self.new_location(site) }
    }

    #[cold]
    fn new_location(&mut self, site: u32) -> Result<u32, NameError> {
        let (pc, index) = (self.sites.get(site).pc, site as usize);
        if self.locations.len() <= index {
            self.locations.resize(index + 1, Location::default());
        }
        if let Some(own) = self.own_place(pc)? {
            self.locations[index].own = own;
            return Ok(own);
        }
        // The caller decides, so it is looked for each time.
        if let Some(own) = self.own_caller()? {
            return Ok(own);
        }
        if self.locations[index].plain == NONE {
            let place = self.symbols.place(pc).to_string();
            self.locations[index].plain = self.tables.locations.intern(place.as_bytes())?;
        }
        Ok(self.locations[index].plain)
    }

    /// The innermost call of the current thread that is in the program's own code.
    fn own_caller(&mut self) -> Result<Option<u32>, NameError> {
        let callers: [u64; CALLERS] = {
            let mut all = self.stacks.callers(self.current);
            std::array::from_fn(|_| all.next().unwrap_or(0))
        };
        for pc in callers.into_iter().take_while(|&pc| pc != 0) {
            if let Some(own) = self.own_place(pc)? {
                return Ok(Some(own));
            }
        }
        Ok(None)
    }

    /// Of the functions that are inlined where `pc` returns to, the innermost of the program's own.
    fn own_place(&mut self, pc: u64) -> Result<Option<u32>, NameError> {
        if let Some(&known) = self.own.get(&pc) {
            return Ok(known);
        }
        let frames = self.symbols.frames(pc);
        let own = match frames.iter().find(|place| !place.is_installed()) {
            Some(place) => Some(self.tables.locations.intern(place.to_string().as_bytes())?),
            None => None,
        };
        self.own.insert(pc, own);
        Ok(own)
    }

    pub(crate) fn define_site(&mut self, number: u32, word: u64) {
        self.sites.define(number, word);
        self.steps.renumbered(number);
        let Site { pc, kind, .. } = self.sites.get(number);
        let index = number as usize;
        if self.marks.len() <= index {
            self.marks.resize(index + 1, Marks::default());
        }
        self.marks[index] = Marks {
            constant: self.code.constant.contains(&pc),
            unseen: self.code.unseen.contains(&pc),
            silent: self.code.silent.contains(&pc),
            stores: self.code.written.stores.get(&pc).copied().filter(|_| kind == SiteKind::Write),
            library: self.blocks.library_of(pc).filter(|low| self.facts.ended.contains(low)).unwrap_or(0),
        };
        // The last number stands for all other sites.
        if let Some(location) = self.locations.get_mut(number as usize) {
            *location = Location::default();
        }
        self.lines.remove(&number);
        self.allocates.remove(&number);
        self.stacks.redefine(number);
        if let Some(chosen) = self.chosen.get_mut(number as usize) {
            *chosen = None;
        }
    }

    #[inline]
    pub(super) fn marks(&self, site: u32) -> Marks {
        self.marks.get(site as usize).copied().unwrap_or_default()
    }

    /// Notes which of the program's own code a block was allocated for, if the call itself is in a library.
    pub(crate) fn note_allocation(&mut self, site: u32, block: &Block) -> Result<(), NameError> {
        if self.own_place(self.sites.get(site).pc)?.is_none()
            && let Some(own) = self.own_caller()?
        {
            self.allocated_at.insert(block.number, own);
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn new_variable(&mut self, granule: u64, cell: u64) -> Result<u32, NameError> {
        if let Some(id) = self.accessed_aside(granule) {
            return Ok(id);
        }
        if let Some(id) = self.known_local(granule) {
            self.kept.set(granule, cell | u64::from(id + 1) << 32);
            return Ok(id);
        }
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
        self.note_local(granule, first);
        self.kept.set(granule, cell | u64::from(first + 1) << 32);
        Ok(first)
    }

    /// A variable in a heap block: its name begins like those of the others there. Nothing else is called so but the lives of objects, since a
    /// block is the only one of its thread with its number and each of its addresses is named once.
    fn heap_variable(&mut self, block: &Block, address: u64) -> Result<u32, NameError> {
        if self.heap.0 != Some(block.number) {
            self.heap = (Some(block.number), self.name_block(block.start));
        }
        let part = self.heap_part(block, address - block.start);
        let (_, name) = &mut self.heap;
        let length = name.len();
        // Writing to a string cannot fail.
        let _ = match part {
            Some(part) => write!(name, ":{part}"),
            None if address != block.start => write!(name, "+{}", address - block.start),
            None => Ok(()),
        };
        let id = match self.variables.contains(name) {
            true => names::define_variable(&mut self.variables, &mut self.tables.variables, name),
            false => self.tables.variables.append(name),
        };
        name.truncate(length);
        id
    }

    /// What a part of a heap block is called, if the type of the memory is known. Blocks from one site are of one type.
    fn heap_part(&mut self, block: &Block, offset: u64) -> Option<String> {
        let BlockKind::Heap { site, .. } = block.kind else { return None };
        let symbols = &self.symbols;
        let kind = self.allocates.entry(site).or_insert_with(|| symbols.allocated(self.sites.get(site).pc));
        // A hook counts a block of no bytes as one.
        kind.as_ref()?.part(offset, block.end - block.start)
    }

    /// The name of an address now.
    pub(crate) fn name(&mut self, address: u64) -> String {
        if let Some(name) = self.local_name(address) {
            return name;
        }
        let block = self.blocks.containing(address).copied();
        if let Some(block) = block.filter(|block| matches!(block.kind, BlockKind::Heap { .. }))
            && let Some(part) = self.heap_part(&block, address - block.start)
        {
            return format!("{}:{part}", self.name_block(block.start));
        }
        self.name_block(address)
    }

    /// The name of an address by the block that it is in.
    fn name_block(&mut self, address: u64) -> String {
        if let Some(&Block { kind: BlockKind::Heap { site, .. }, .. }) = self.blocks.containing(address) {
            // The file's name is enough: the number of the block distinguishes it from others.
            let place = || base_name(&self.symbols.place(self.sites.get(site).pc).line).to_owned();
            self.lines.entry(site).or_insert_with(place);
        }
        let own = self.blocks.containing(address).and_then(|block| self.allocated_at.get(&block.number));
        let own = own.map(|&location| self.tables.locations.get(location as usize));
        // A location ends in file and line.
        let own = own.and_then(|location| Some(base_name(location.rsplit(' ').next()?).to_owned()));
        let line = |site: u32| own.clone().or_else(|| self.lines.get(&site).cloned()).unwrap_or_default();
        names::address(&self.symbols, &self.blocks, line, |thread| self.thread_name(thread), address)
    }

    pub(super) fn thread_name(&self, thread: u16) -> String {
        match self.threads.get(usize::from(thread)) {
            Some(thread) if !thread.name.is_empty() => thread.name.clone(),
            _ if thread == 0 => "main".into(),
            _ => format!("thread{thread}"),
        }
    }
}

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
