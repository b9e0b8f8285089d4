//! Takes the units of a run as they come out of the ring, and packs them into a store.

use std::fs::File;
use std::io;
use std::path::Path;

use mayhap_symbols::Module;

use crate::capture::compression::TOGETHER;
use crate::capture::packing::Packer;
use crate::capture::repeats::Run;
use crate::capture::store::Store;

/// Units in a block where the store has a limit: it then holds nearly as much as it may.
const SMALL_BLOCK: usize = 1 << 10;

/// A run being recorded.
pub(crate) struct Recorder {
    packer: Packer,
    store: Store,
    /// Units of an access or a record that is not all there yet, or that are to be packed together with more.
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
        self.take_and(units, &mut |_, _| {});
    }

    /// Takes the next units of the run; calls `kept` with those of each block that the store keeps, and its long runs.
    pub(crate) fn take_and(&mut self, units: &[u32], kept: &mut dyn FnMut(&[u32], &[Run])) {
        self.units += units.len() as u64;
        if self.packer.is_in_machine() && !self.store.is_limited() {
            self.carried.extend_from_slice(units);
            if self.carried.len() >= TOGETHER {
                self.pack_carried(kept);
            }
        } else if self.carried.is_empty() {
            let whole = self.append(units, kept);
            self.carried.extend_from_slice(&units[whole..]);
        } else {
            self.carried.extend_from_slice(units);
            self.pack_carried(kept);
        }
    }

    /// The run is over: packs what was kept to be packed together with more.
    pub(crate) fn finish(&mut self, kept: &mut dyn FnMut(&[u32], &[Run])) {
        self.pack_carried(kept);
    }

    fn pack_carried(&mut self, kept: &mut dyn FnMut(&[u32], &[Run])) {
        let mut all = std::mem::take(&mut self.carried);
        let whole = self.append(&all, kept);
        all.drain(..whole);
        self.carried = all;
    }

    /// Appends the accesses and records that are whole; how many units they are.
    fn append(&mut self, units: &[u32], kept: &mut dyn FnMut(&[u32], &[Run])) -> usize {
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
                kept(&rest[..whole], self.packer.runs());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::deltas::samples::{Dice, units_of};
    use crate::capture::unpacking::Unpacker;
    use mayhap_wire::ring::{SiteKind, Tag, record_word, site_word};

    /// A run that loads this file, and then many records.
    fn run(path: &[u8; 16]) -> Vec<u32> {
        let mut words = vec![record_word(Tag::Module, 5, 16), 0, 0, 1 << 20];
        words.extend(path.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
        words.extend([record_word(Tag::Site, 1, 1), site_word(0x40_0000, SiteKind::Other, 8)]);
        let mut dice = Dice(3);
        for _ in 0..100_000 {
            words.extend([record_word(Tag::Alloc, 2, 1), 1024 + 16 * dice.roll(1000), 8 * dice.roll(9)]);
        }
        units_of(&words)
    }

    fn recorded(units: &[u32]) -> Store {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::temporary(folder.path(), None);
        let mut seen = 0;
        units.chunks(1000).for_each(|part| recorder.take_and(part, &mut |block, _| seen += block.len()));
        recorder.finish(&mut |block, _| seen += block.len());
        assert_eq!((seen, recorder.units()), (units.len(), units.len() as u64));
        recorder.into_store()
    }

    #[test]
    fn programs_in_virtual_machines_take_less_room() {
        let sizes = [b"folder/Class.elf", b"folder/Class.jvm"].map(|path| {
            let units = run(path);
            let store = recorded(&units);
            let (mut all, mut buffer, mut unpacker) = (Vec::new(), Vec::new(), Unpacker::new());
            for block in store.blocks() {
                let mut part = Vec::new();
                let bytes = store.get(block, &mut buffer).unwrap();
                assert!(unpacker.units(bytes, block.units(), &mut part, &mut Vec::new()));
                all.extend(part);
            }
            assert!(all == units);
            store.sizes().iter().map(|(bytes, _, _)| bytes).sum::<u64>()
        });
        assert!(3 * sizes[1] < sizes[0], "{sizes:?}");
    }
}
