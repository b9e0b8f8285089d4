//! Variables on stacks live as long as the functions that they are in. The same place may be another variable of another function later.
//!
//! When a function has returned, its variables that were named are looked up anew at the next access. If a function runs that has the
//! place, another variable is meant, though the debug information may not know it: temporaries have no names. If none does, a thread uses
//! what is dead, and it is still the old one.

use std::collections::{HashMap, HashSet};

use mayhap_trace::{NameError, VariableKind};

use super::Lowering;
use super::blocks::Blocks;
use super::steps::{Left, View};
use crate::memory::{Block, BlockKind};
use crate::sharing::sharing_state::CUTS;

/// A place on a stack: the stack by its block, and the granule.
type Place = (usize, u64);
/// Where a function was, and with which stack.
type Frame = (u64, u64);

/// The variables of functions.
#[derive(Default)]
pub(crate) struct Locals {
    /// Of each thread: the depth of the function, and the granule, of variables that are alive.
    live: Vec<Vec<(usize, u64)>>,
    /// The depth of the deepest of them.
    deepest: Vec<usize>,
    /// The variables that the debug information knows at a place, by the function, and by their names.
    known: HashMap<Place, Vec<(Frame, u32)>>,
    by_name: HashMap<Place, Vec<(String, u32)>>,
    /// The latest variable at a place.
    latest: HashMap<Place, u32>,
    /// The granules of variables whose functions have returned.
    gone: HashSet<u64>,
    pub(super) blocks: Blocks,
    /// What the word that is lowered has made of functions that returned, if it has.
    pub(super) left: Option<Left>,
}

impl Locals {
    fn begins(&mut self, thread: u16, depth: usize, granule: u64) {
        let index = usize::from(thread);
        if self.live.len() <= index {
            self.live.resize(index + 1, Vec::new());
            self.deepest.resize(index + 1, 0);
        }
        self.gone.remove(&granule);
        self.live[index].push((depth, granule));
        self.deepest[index] = self.deepest[index].max(depth);
    }
}

/// Enters a variable, in place of one that was known so.
fn enter<K: PartialEq>(all: &mut Vec<(K, u32)>, key: K, id: u32) {
    match all.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = id,
        None => all.push((key, id)),
    }
}

impl Lowering {
    /// Of the current thread's functions only the outermost `depth` are left.
    #[inline]
    pub(super) fn functions_end(&mut self, depth: u64) -> Result<(), NameError> {
        let thread = usize::from(self.current);
        self.forget_blocks(depth as usize);
        if !self.lives.is_empty() {
            self.end_local_objects(depth as usize)?;
        }
        if self.locals.live.get(thread).is_some_and(|live| !live.is_empty())
            && self.locals.deepest[thread] as u64 >= depth
        {
            self.forget_locals(thread, depth as usize)?;
        }
        Ok(())
    }

    #[cold]
    fn forget_locals(&mut self, thread: usize, depth: usize) -> Result<(), NameError> {
        // The function that a thread begins with ends with the thread, whose stack goes whole.
        let ended: Vec<(usize, u64)> =
            self.locals.live[thread].iter().copied().filter(|&(of, _)| of >= depth.max(1)).collect();
        for (of, granule) in ended {
            self.end_local(of, granule)?;
        }
        let kept = &mut self.kept;
        self.locals.live[thread].retain(|&(of, granule)| {
            let stays = of < depth;
            if !stays {
                // The next access looks the variable up.
                kept.set(granule, kept.get(granule) & u64::from(u32::MAX));
            }
            stays
        });
        self.locals.deepest[thread] = self.locals.live[thread].iter().map(|(of, _)| *of).max().unwrap_or(0);
        Ok(())
    }

    /// A variable of a function at a depth is gone: the function has returned.
    fn end_local(&mut self, depth: usize, granule: u64) -> Result<(), NameError> {
        let (site, cell) = (self.stacks.call_site(self.current, depth), self.kept.get(granule));
        if site == 0 || cell >> 32 == 0 {
            return Ok(());
        }
        let first = (cell >> 32) as u32 - 1;
        for variable in first..=first + (cell & CUTS).count_ones() {
            if self.tables.variable_kinds.get(variable as usize) == VariableKind::Unspecified {
                self.tables.variable_kinds.set(variable as usize, VariableKind::Local);
            }
        }
        self.leave(site, granule);
        self.stacks.frees(site);
        self.end_by_return(site, granule)?;
        self.locals.gone.insert(granule);
        // In the next call of the function it is another variable.
        if let Some(block) = self.blocks.containing(granule) {
            self.locals.known.remove(&(block.number, granule));
            self.locals.by_name.remove(&(block.number, granule));
        }
        Ok(())
    }

    /// Variables of a function at a depth are gone, and what lies there from now on are other ones.
    pub(super) fn forget_variables(&mut self, depth: usize, granules: &[u64]) {
        let gone: HashSet<u64> = granules.iter().copied().collect();
        if let Some(live) = self.locals.live.get_mut(usize::from(self.current)) {
            live.retain(|(of, granule)| *of != depth || !gone.contains(granule));
        }
        for granule in gone {
            // The next access looks the variable up.
            self.kept.set(granule, self.kept.get(granule) & u64::from(u32::MAX));
            self.locals.gone.insert(granule);
            if let Some(block) = self.blocks.containing(granule) {
                let place = (block.number, granule);
                self.locals.known.remove(&place);
                self.locals.by_name.remove(&place);
                self.locals.latest.remove(&place);
            }
        }
    }

    /// Whether the variable there was of a function that has returned.
    pub(super) fn has_left(&self, granule: u64) -> bool {
        self.locals.gone.contains(&granule)
    }

    /// Locks and the like that are variables of functions which have returned.
    #[cold]
    fn end_local_objects(&mut self, depth: usize) -> Result<(), NameError> {
        let Some(stack) = self.threads.get(usize::from(self.current)).map(|thread| thread.stack.clone()) else {
            return Ok(());
        };
        // The word is of the function that the thread has returned to.
        self.at = 0;
        for address in self.lives.within(stack) {
            let Some(block) = self.blocks.containing(address).copied() else { continue };
            let Some((of, ..)) = self.frame_of(&block, address).filter(|(of, ..)| *of >= depth.max(1)) else {
                continue;
            };
            let site = self.stacks.call_site(self.current, of);
            if site != 0 && self.local_name(address).is_some() {
                self.leave(site, address);
                self.end_objects(site, address..address + 1, false)?;
                self.objects.forget(address..address + 1);
            }
        }
        Ok(())
    }

    /// Notes what the return of functions ends.
    fn leave(&mut self, site: u32, address: u64) {
        let left = Left { is_block: false, site, highest: address, lowest: address };
        let left = self.locals.left.get_or_insert(left);
        if address > left.highest {
            (left.site, left.highest) = (site, address);
        }
        left.lowest = left.lowest.min(address);
    }

    /// The word that was lowered said that functions have returned: that is a step.
    pub(super) fn note_left(&mut self, events: u64) {
        if let Some(left) = self.locals.left.take().filter(|_| events > 0) {
            let view = View { sites: &self.sites, blocks: &self.blocks, symbols: &self.symbols };
            self.steps.left(&view, self.current, &left, events);
        }
    }

    /// The variable of the granule's first piece, if the granule is a part of a stack and was named before in such a call, or if no function
    /// has it by now.
    pub(super) fn known_local(&mut self, granule: u64) -> Option<u32> {
        let Some((block, depth, frame)) = self.local_frame(granule) else {
            // No function has it: the thread ends, or has left them all.
            let block = self.blocks.containing(granule)?;
            return self.locals.latest.get(&(block.number, granule)).copied();
        };
        let place = (block.number, granule);
        let known = self.locals.known.get(&place).and_then(|all| all.iter().find(|(of, _)| *of == frame));
        if let Some(&(_, known)) = known {
            self.begins(&block, depth, frame, granule);
            self.locals.latest.insert(place, known);
            return Some(known);
        }
        let name = self.name_in(granule)?;
        let (_, id) = *self.locals.by_name.get(&place)?.iter().find(|(known, _)| *known == name)?;
        self.note_local(granule, id);
        Some(id)
    }

    /// Notes the variable of a granule's first piece, if the granule is a variable of a function.
    pub(super) fn note_local(&mut self, granule: u64, id: u32) {
        if let Some((block, depth, frame)) = self.local_frame(granule)
            && let Some(name) = self.name_in(granule)
        {
            let place = (block.number, granule);
            self.begins(&block, depth, frame, granule);
            enter(self.locals.known.entry(place).or_default(), frame, id);
            enter(self.locals.by_name.entry(place).or_default(), name, id);
            self.locals.latest.insert(place, id);
        }
    }

    /// A granule is a variable of a function at a depth from now on.
    fn begins(&mut self, block: &Block, depth: usize, (pc, stack_pointer): Frame, granule: u64) {
        self.locals.begins(block.thread, depth, granule);
        let of_piece = |byte| self.symbols.local_block(pc, stack_pointer, granule + byte);
        if let Some(inner) = self.pieces(granule).find_map(of_piece) {
            self.locals.blocks.begins(block.thread, depth, granule, inner);
        }
    }

    /// Where the pieces of a granule begin in it.
    fn pieces(&self, granule: u64) -> impl Iterator<Item = u64> + use<> {
        let cuts = self.kept.get(granule) & CUTS;
        (0..8).filter(move |byte| *byte == 0 || cuts & 1 << byte != 0)
    }

    /// The name of the first piece of a granule that the debug information knows.
    fn name_in(&self, granule: u64) -> Option<String> {
        self.pieces(granule).find_map(|byte| self.local_name(granule + byte))
    }

    fn local_frame(&self, granule: u64) -> Option<(Block, usize, Frame)> {
        let block = *self.blocks.containing(granule)?;
        let (depth, stack_pointer, pc) = self.frame_of(&block, granule)?;
        Some((block, depth, (pc, stack_pointer)))
    }

    /// The function in whose frame an address lies: its depth, its stack pointer, and a program counter in it.
    fn frame_of(&self, block: &Block, address: u64) -> Option<(usize, u64, u64)> {
        if !matches!(block.kind, BlockKind::Stack(_)) {
            return None;
        }
        let now = (block.thread == self.current).then(|| self.sites.get(self.at).pc).filter(|&pc| pc != 0);
        let (depth, distance, pc) = self.stacks.frame_at(block.thread, block.end - address, now)?;
        // The hook that noted the stack pointer had been called, which put a word on the stack.
        Some((depth, block.end - distance + 8, pc))
    }

    /// What a variable of a function that runs is called, if the address is on a stack and the debug information knows.
    pub(super) fn local_name(&self, address: u64) -> Option<String> {
        let block = self.blocks.containing(address)?;
        let (_, stack_pointer, pc) = self.frame_of(block, address)?;
        let name = self.symbols.local(pc, stack_pointer, address)?;
        Some(if block.thread == 0 { name } else { format!("{}/{name}", self.thread_name(block.thread)) })
    }
}
