//! What the recording could not see or left out, with its places in the run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use mayhap_symbols::{Libraries, Place};
use mayhap_trace::attachments::Doubts;
use mayhap_trace::attachments::doubts::{At, Role, What};
use mayhap_trace::{Flags, NameError, Op};
use mayhap_wire::channel::doubt;
use mayhap_wire::ring::AtomicKind;

use super::Lowering;
use super::atomics::Atomic;
use crate::ring_words::following;
use crate::sharing::shadow_table::granules;

/// A part of a file that lies in memory.
struct Alias {
    file: u64,
    start: u64,
    end: u64,
    address: u64,
    writes: bool,
}

impl Alias {
    /// Both show the same memory, and it is changed through one of them.
    fn overlaps(&self, other: &Alias) -> bool {
        self.file == other.file && self.start < other.end && other.start < self.end && (self.writes || other.writes)
    }
}

/// The doubts of a run so far.
#[derive(Default)]
pub(super) struct Unseen {
    doubts: Doubts,
    taken: bool,
    libraries: Libraries,
    /// What calls at these places go to.
    called: HashMap<u64, Option<String>>,
    /// Which functions of the system's libraries they go to.
    functions: HashMap<u64, Option<String>>,
    /// Where the modules begin that are known.
    modules: HashSet<u64>,
    /// The modules that the program began with are known.
    began: bool,
    /// Places of assembly that could not be read.
    assembly: BTreeSet<String>,
    /// Memory that other processes or the kernel may share, and whether it has a file.
    mappings: Vec<(Range<u64>, bool)>,
    /// Parts of files that lie in memory now.
    aliases: Vec<Alias>,
    /// There are other processes that may share what has none.
    forked: bool,
    /// What atomic accesses last left in memory, by granule.
    values: HashMap<u64, (u64, u8, u64), foldhash::fast::FixedState>,
}

impl Unseen {
    /// The list, once, if there is something in it.
    pub(super) fn take(&mut self) -> Option<Doubts> {
        let is_first = !std::mem::replace(&mut self.taken, true);
        for doubt in &mut self.doubts.list {
            if doubt.what == What::Assembly {
                let more = self.assembly.len().saturating_sub(1);
                doubt.name = self.assembly.first().cloned().unwrap_or_default();
                if more > 0 {
                    doubt.name.push_str(&format!(" and {more} more"));
                }
            }
        }
        (is_first && !self.doubts.is_empty()).then(|| self.doubts.clone())
    }

    /// Something other than a module was recorded: modules that are new from here on were loaded by the program.
    #[inline]
    pub(super) fn goes_on(&mut self) {
        self.began |= !self.modules.is_empty();
    }

    /// Another process, or the kernel, may write there.
    fn is_shared(&self, address: u64) -> bool {
        self.mappings.iter().any(|(range, has_file)| range.contains(&address) && (*has_file || self.forked))
    }

    /// Memory is no longer mapped.
    pub(super) fn unmapped(&mut self, memory: &Range<u64>) {
        self.aliases.retain(|alias| !memory.contains(&alias.address));
        self.mappings.retain(|(mapping, _)| !memory.contains(&mapping.start));
    }

    /// A plain write changes this memory to something that is not known.
    #[inline]
    pub(super) fn forget(&mut self, granule: u64) {
        if !self.values.is_empty() {
            self.values.remove(&granule);
        }
    }
}

impl Lowering {
    /// What is doubtful about the run from the start.
    pub(crate) fn begin_doubts(&mut self, mut doubts: Doubts) {
        for library in self.doubts.libraries.unwatched(&self.symbols) {
            doubts.add_whole(What::Library, library);
        }
        if let Some(function) = self.doubts.libraries.unhooked_atomic(&self.symbols) {
            doubts.add_whole(What::Atomic, function);
        }
        for &pc in &self.code.elsewhere {
            doubts.add_whole(What::Elsewhere, self.symbols.place(pc).to_string());
        }
        self.doubts.doubts = doubts;
    }

    /// What the recording could not see into, as notes on the run.
    pub(crate) fn unseen(&self) -> Vec<String> {
        let assembly =
            self.doubts.assembly.iter().map(|place| format!("inline assembly that could not be read at {place}"));
        let others = self.doubts.doubts.list.iter().filter_map(|doubt| match doubt.what {
            What::Library => {
                Some(format!("{} has no hooks and synchronises on its own: what it orders is not visible", doubt.name))
            }
            What::Thread => Some(format!("{} was not seen to start", doubt.name)),
            _ => None,
        });
        assembly.chain(others).collect()
    }

    /// Something doubtful happens in the current thread.
    pub(super) fn doubt_here(&mut self, what: What, name: &str, role: Role) {
        self.doubt_after(self.count, what, name, role);
    }

    /// The same after so many events.
    fn doubt_after(&mut self, after: u64, what: What, name: &str, role: Role) {
        let Ok(thread) = self.thread_id(self.current) else { return };
        self.doubts.doubts.add(what, name, At { thread: thread.cell(), after, role });
    }

    /// The next event of the current thread is an end that comes with the return of a function. A call of code without hooks may come before
    /// it that would not have returned for another value.
    pub(super) fn doubt_return(&mut self) {
        if self.thread().dirty {
            self.doubt_here(What::Return, "", Role::Decided);
        }
    }

    /// Variables end with the return of a function, as [`Lowering::doubt_return`] says, all that lie in these eight bytes.
    pub(super) fn end_by_return(&mut self, site: u32, granule: u64) -> Result<(), NameError> {
        let (is_decided, first) = (self.thread().dirty, self.count);
        self.access_anyway(site, granule, 8, Op::Write, Flags::FREE, None)?;
        for event in (first..self.count).filter(|_| is_decided) {
            self.doubt_after(event, What::Return, "", Role::Decided);
        }
        Ok(())
    }

    /// A descriptor is made, or given back. The next one gets the lowest number that is free, and the program may look at it.
    pub(super) fn doubt_number(&mut self, role: Role) {
        if self.tables.threads.len() > 1 {
            self.doubt_here(What::Number, "", role);
        }
    }

    pub(super) fn doubted(&mut self, site: u32, kind: u8, address: u64, body: &[u64]) {
        let pc = self.sites.get(site).pc;
        match kind {
            doubt::ASSEMBLY => {
                self.doubts.assembly.insert(self.symbols.place(pc).to_string());
                self.doubt_here(What::Assembly, "", Role::Both);
            }
            doubt::THREAD => {
                let name = self.thread_id(self.current).map(|id| self.tables.thread(id).to_owned());
                self.doubt_here(What::Thread, &name.unwrap_or_default(), Role::WaitsForAll);
            }
            doubt::LIBRARY => {
                let Lowering { doubts, symbols, .. } = self;
                let Unseen { libraries, called, .. } = doubts;
                let library = called.entry(address).or_insert_with(|| libraries.called(symbols, address)).clone();
                if let Some(library) = library {
                    self.doubt_here(What::Library, &library, Role::Both);
                }
            }
            doubt::FUNCTION => {
                let Lowering { doubts, symbols, .. } = self;
                let Unseen { libraries, functions, .. } = doubts;
                let called = || libraries.called_in_system(symbols, address);
                let function = functions.entry(address).or_insert_with(called).clone();
                if let Some(function) = function {
                    self.doubt_here(What::Function, &function, Role::OrdersAll);
                }
            }
            doubt::SHARED => {
                let end = address.saturating_add(following(body, 2));
                self.doubts.mappings.push((address..end, following(body, 3) != 0));
                let [file, start, writes] = [4, 5, 6].map(|word| following(body, word));
                let alias =
                    Alias { file, start, end: start.saturating_add(end - address), address, writes: writes != 0 };
                if file != 0 && self.doubts.aliases.iter().any(|other| other.overlaps(&alias)) {
                    let place = self.symbols.place(pc).to_string();
                    self.doubts.doubts.add_whole(What::Alias, place);
                }
                self.doubts.aliases.push(alias);
            }
            doubt::PROCESS if address == doubt::RELEASES => {
                self.doubts.forked = true;
                self.other_process(Role::Releases);
            }
            doubt::PROCESS => self.other_process(Role::Waits),
            doubt::DESCRIPTOR => {
                let place = self.symbols.place(pc).to_string();
                self.doubt_here(What::Descriptor, &place, Role::WaitsForAll);
            }
            _ => {}
        }
    }

    /// Data go to another process, or come from one.
    pub(super) fn other_process(&mut self, role: Role) {
        self.doubt_here(What::Process, "what one thread sent it may have reached another thread", role);
    }

    /// A module lies in memory from here on. What is loaded later is called through pointers, which is not recorded.
    pub(super) fn module_loaded(&mut self, low: u64) {
        if !self.doubts.modules.insert(low) || !self.doubts.began {
            return;
        }
        if let Some(name) = self.doubts.libraries.loaded(&self.symbols, low) {
            self.doubts.doubts.add_whole(What::Library, name);
        }
    }

    /// An access is left out because the user asked for it.
    pub(super) fn left_out_here(&mut self, site: u32) {
        self.excluded += 1;
        let place = self.symbols.place(self.sites.get(site).pc).to_string();
        let known = self.doubts.doubts.list.iter().find(|doubt| doubt.what == What::LeftOut);
        let name = known.map_or(place, |doubt| doubt.name.clone());
        self.doubt_here(What::LeftOut, &name, Role::Both);
    }

    /// The operation waits for what it finds, as far as can be seen: it is the program's own, or a load in headers of C++. What libraries
    /// count for themselves, partly by code without hooks, is left out.
    fn is_awaited(&self, site: u32, kind: AtomicKind) -> bool {
        let frames = self.symbols.frames(self.sites.get(site).pc);
        if kind == AtomicKind::Load && frames.iter().any(|place| place.line.contains("/include/c++/")) {
            return true;
        }
        let is_atomic =
            |line: &str| ["sync/atomic.rs", "bits/atomic_base.h", "/atomic:"].iter().any(|f| line.contains(f));
        frames.iter().find(|place| !is_atomic(&place.line)).is_some_and(|place| !place.is_library())
    }

    /// Another process, or another address of the same memory, may take part in what an atomic operation does.
    pub(super) fn explain_shared(&mut self, atomic: &Atomic) -> bool {
        let is_shared = self.doubts.is_shared(atomic.address);
        if is_shared {
            self.other_process(match atomic.kind {
                AtomicKind::Load => Role::Waits,
                AtomicKind::Store => Role::Releases,
                AtomicKind::Update => Role::Both,
            });
        }
        is_shared
    }

    /// The Rust library's own object code frees a block that begins with counts of references, and these are not zero: the last count
    /// was given up by code without hooks, after what others did before they gave up theirs.
    pub(super) fn doubt_count(&mut self, site: u32, start: u64) {
        let values = &self.doubts.values;
        let is_left = |granule: &u64| values.get(granule).is_some_and(|&(.., left)| left != 0);
        let Some(granule) = [start & !7, (start & !7) + 8].into_iter().find(is_left) else { return };
        let frames = self.symbols.frames(self.sites.get(site).pc);
        let is_rust = |place: &Place| place.is_library() && place.line.contains("library/");
        if frames.is_empty() || !frames.iter().all(is_rust) {
            return;
        }
        let cell = self.kept.get(granule);
        let Ok(variable) = self.variable(granule, cell) else { return };
        let name = self.tables.variables.get(variable as usize).to_owned();
        self.doubt_here(What::Memory, &name, Role::WaitsForAll);
    }

    /// Looks whether what an atomic operation found is what the last one left there: otherwise code without hooks has written.
    pub(super) fn explain(&mut self, site: u32, atomic: &Atomic) {
        let Atomic { address, kind, size, values, .. } = *atomic;
        if self.explain_shared(atomic) {
            return;
        }
        let mut all = granules(address, size.into());
        let (Some((granule, ..)), None) = (all.next(), all.next()) else { return };
        let Some((found, written)) = values else {
            self.doubts.values.remove(&granule);
            return;
        };
        let last = self.doubts.values.get(&granule).copied();
        if kind != AtomicKind::Store
            && let Some((at, bytes, left)) = last
            && (at, bytes) == (address, size)
            && left != found
            && self.is_awaited(site, kind)
        {
            let cell = self.kept.get(granule);
            let name = match self.variable(granule, cell) {
                Ok(variable) => self.tables.variables.get(variable as usize).to_owned(),
                Err(_) => String::new(),
            };
            self.doubt_here(What::Memory, &name, Role::WaitsForAll);
        }
        let now = if kind == AtomicKind::Load { found } else { written };
        self.doubts.values.insert(granule, (address, size, now));
    }
}
