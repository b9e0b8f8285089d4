//! Takes the units of a run as they come out of the ring, and packs them into a store.

use std::fs::File;
use std::io;
use std::path::Path;

use mayhap_symbols::Module;

use crate::capture::packing::Packer;
use crate::capture::store::Store;

/// Units in a block where the store has a limit: it then holds nearly as much as it may.
const SMALL_BLOCK: usize = 1 << 10;

/// A run being recorded.
pub(crate) struct Recorder {
    packer: Packer,
    store: Store,
    /// Units of an access or a record that is not all there yet.
    carried: Vec<u32>,
    units: u64,
}

impl Recorder {
    /// Records into memory, and into a file without a name in this folder.
    pub(crate) fn temporary(folder: &Path, limit: Option<u64>) -> Recorder {
        Recorder::new(Store::temporary(folder, limit))
    }

    /// Records into a file, from where the file is now.
    pub(crate) fn in_file(file: File, limit: Option<u64>) -> io::Result<Recorder> {
        Ok(Recorder::new(Store::in_file(file, limit)?))
    }

    fn new(store: Store) -> Recorder {
        Recorder { packer: Packer::new(), store, carried: Vec::new(), units: 0 }
    }

    /// Takes the next units of the run.
    pub(crate) fn take(&mut self, units: &[u32]) {
        self.take_and(units, &mut |_| {});
    }

    /// Takes the next units of the run; calls `kept` with those of each block that the store keeps.
    pub(crate) fn take_and(&mut self, units: &[u32], kept: &mut dyn FnMut(&[u32])) {
        self.units += units.len() as u64;
        if self.carried.is_empty() {
            let whole = self.append(units, kept);
            self.carried.extend_from_slice(&units[whole..]);
        } else {
            let mut all = std::mem::take(&mut self.carried);
            all.extend_from_slice(units);
            let whole = self.append(&all, kept);
            all.drain(..whole);
            self.carried = all;
        }
    }

    /// Appends the accesses and records that are whole; how many units they are.
    fn append(&mut self, units: &[u32], kept: &mut dyn FnMut(&[u32])) -> usize {
        let most = if self.store.is_limited() { SMALL_BLOCK } else { usize::MAX };
        let mut done = 0;
        while done < units.len() {
            let rest = &units[done..];
            if self.store.failure().is_some() {
                self.store.leave_out(rest.len() as u64);
                return units.len();
            }
            let (packed, whole) = self.packer.pack(&rest[..rest.len().min(most)]);
            if whole == 0 {
                break;
            }
            if self.store.put(packed, whole as u64) {
                kept(&rest[..whole]);
            }
            done += whole;
        }
        done
    }

    /// How many units came out of the ring.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// The files that were loaded so far.
    pub(crate) fn modules(&self) -> &[Module] {
        self.packer.modules()
    }

    /// How many locks were taken so far.
    pub(crate) fn locks_taken(&self) -> u64 {
        self.packer.locks_taken()
    }

    /// What it has recorded.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The run is over.
    pub(crate) fn into_store(self) -> Store {
        self.store
    }
}
