//! The lives of synchronisation objects and descriptors, as accesses of variables: a use reads the object's life, its end frees it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use mayhap_trace::attachments::doubts::Role;
use mayhap_trace::{Flags, NONE, NameError, Op, VariableKind};
use mayhap_wire::ring::Tag;

use super::{Lowering, names, naming};
use crate::sharing::lifetimes::{has_site, is_use};

/// The lives of objects, by address, or by key where they are no memory.
#[derive(Default)]
pub(super) struct Lives {
    /// The variables that stand for them.
    variables: BTreeMap<u64, u32>,
    /// Where those that are no memory began.
    opened: HashMap<u64, u32>,
    /// How often a thread has used a library at a site.
    library_uses: HashMap<(u16, u32), u32>,
}

/// A thread's uses of a library at one site beyond these are no events.
const USES: u32 = 4096;

impl Lives {
    /// There is no object whose end matters.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Where objects whose ends matter lie in a range.
    pub(super) fn within(&self, range: Range<u64>) -> Vec<u64> {
        self.variables.range(range).map(|(&address, _)| address).collect()
    }
}

impl Lowering {
    /// The object here ends, and another may begin in its place.
    pub(super) fn renew(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        self.end_objects(site, address..address + 1, true)?;
        self.objects.forget(address..address + 1);
        Ok(())
    }

    /// An object that is no memory begins its life.
    pub(super) fn opened(&mut self, site: u32, key: u64) {
        self.lives.opened.insert(key, site);
        self.doubt_number(Role::Takes);
    }

    /// An object that is no memory ends its life. That is an event even where no other thread has used it: another one may end it, too.
    pub(super) fn closed(&mut self, site: u32, key: u64, number: u64) -> Result<(), NameError> {
        self.doubt_number(Role::GivesBack);
        if !self.lives.variables.contains_key(&key) {
            self.new_life(Tag::Use, key, number)?;
        }
        self.renew(site, key)
    }

    /// The variable that stands for a life which begins.
    fn new_life(&mut self, tag: Tag, address: u64, number: u64) -> Result<u32, NameError> {
        let (name, kind) = match tag {
            Tag::Use => (self.descriptor(address, number), VariableKind::Descriptor),
            _ => (self.name(address), VariableKind::Object),
        };
        // Memory that is accessed there may be called so already.
        if tag != Tag::Use && self.kept.get(address & !7) >> 32 != 0 {
            self.variables.insert(name.clone());
        }
        let variable = names::define_variable(&mut self.variables, &mut self.tables.variables, &name)?;
        self.tables.variable_kinds.set(variable as usize, kind);
        self.lives.variables.insert(address, variable);
        Ok(variable)
    }

    /// Emits the use of an object whose end matters, and of the library whose code uses it.
    #[inline]
    pub(super) fn use_object(&mut self, tag: Tag, site: u32, address: u64, number: u64) -> Result<(), NameError> {
        if has_site(tag) {
            self.use_library(site)?;
        }
        if self.facts.ended.is_empty() || !is_use(tag) || !self.facts.ended.contains(&address) {
            return Ok(());
        }
        let variable = match self.lives.variables.get(&address) {
            Some(&variable) => variable,
            None => self.new_life(tag, address, number)?,
        };
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        self.emit_with(Op::Read, variable, site, Flags::NONE, NONE)?;
        self.thread().dirty = true;
        Ok(())
    }

    /// A library was loaded: the sites in it that are known already are its own.
    pub(super) fn mark_library(&mut self, range: Range<u64>) {
        if self.facts.ended.contains(&range.start) {
            for site in 0..self.marks.len() {
                if range.contains(&self.sites.get(site as u32).pc) {
                    self.marks[site].library = range.start;
                }
            }
        }
    }

    /// Code runs at a site; if it lies in a library whose unloading matters, that is a use of the library.
    #[inline]
    pub(super) fn use_library(&mut self, site: u32) -> Result<(), NameError> {
        match self.marks(site).library {
            0 => Ok(()),
            low => self.use_library_at(site, low),
        }
    }

    #[cold]
    fn use_library_at(&mut self, site: u32, low: u64) -> Result<(), NameError> {
        let uses = self.lives.library_uses.entry((self.current, site)).or_insert(0);
        *uses += 1;
        if *uses > USES {
            return Ok(());
        }
        let variable = match self.lives.variables.get(&low) {
            Some(&variable) => variable,
            None => {
                let path = self.symbols.module_at(low).map(|(_, module)| module.path.display().to_string());
                let name = format!("library {}", path.as_deref().map_or("", naming::base_name));
                let variable = names::define_variable(&mut self.variables, &mut self.tables.variables, &name)?;
                self.tables.variable_kinds.set(variable as usize, VariableKind::Library);
                self.lives.variables.insert(low, variable);
                variable
            }
        };
        // Which function is called was decided by a pointer that was read before.
        self.implicit_branch()?;
        self.emit_with(Op::Read, variable, site, Flags::NONE, NONE)?;
        self.thread().dirty = true;
        Ok(())
    }

    /// The name of a descriptor.
    fn descriptor(&mut self, key: u64, number: u64) -> String {
        match self.lives.opened.get(&key).map(|&site| self.symbols.place(self.sites.get(site).pc)) {
            Some(place) => format!("descriptor {number} opened at {}", naming::base_name(&place.line)),
            None => format!("descriptor {number}"),
        }
    }

    /// Emits the ends of the objects there. `chosen`: which objects end may depend on what the thread has read.
    pub(super) fn end_objects(&mut self, site: u32, range: Range<u64>, chosen: bool) -> Result<(), NameError> {
        while let Some((&address, &variable)) = self.lives.variables.range(range.clone()).next() {
            self.lives.variables.remove(&address);
            self.stacks.frees(site);
            if !chosen {
                self.doubt_return();
            } else if !self.marks(site).constant {
                self.implicit_branch()?;
            }
            self.emit_with(Op::Write, variable, site, Flags::FREE, NONE)?;
        }
        Ok(())
    }
}
