//! The packed blocks of a run: in memory, and once they are many in a file, which grows no more once the disk is full.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mayhap_wire::checksum;

/// Bytes kept in memory.
const MEMORY: usize = 48 << 20;

/// A packed block of units.
#[derive(Debug)]
pub(crate) struct Block {
    /// Where it begins in the file, or in memory.
    start: u64,
    in_file: bool,
    bytes: usize,
    units: u64,
    sum: u32,
}

impl Block {
    /// How many units were packed.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// What is there was not packed as a block.
    pub(crate) fn is_wrong(&self) -> io::Error {
        let message = format!("byte {}: a block of the recording cannot be unpacked", self.start);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// The bytes, units and checksum of a block.
pub(crate) type Size = (u64, u64, u32);

/// A growing sequence of packed blocks.
#[derive(Debug)]
pub(crate) struct Store {
    /// Where a file is made once memory is full, if there is none.
    folder: PathBuf,
    blocks: Vec<Block>,
    memory: Vec<u8>,
    file: Option<File>,
    /// The file is there for all of it: memory is used only once the disk is full.
    file_first: bool,
    /// Where the blocks in the file begin and end.
    from: u64,
    to: u64,
    /// Why the file takes no more.
    file_full: Option<io::Error>,
    bytes: u64,
    /// The most bytes that it may hold.
    limit: Option<u64>,
    /// Why it stopped growing.
    full: Option<io::Error>,
    /// Units that it does not hold.
    left_out: u64,
}

impl Store {
    /// An empty store in memory, whose file, if it needs one, will be in this folder and have no name.
    pub(crate) fn temporary(folder: &Path, limit: Option<u64>) -> Store {
        Store {
            folder: folder.to_path_buf(),
            blocks: Vec::new(),
            memory: Vec::new(),
            file: None,
            file_first: false,
            from: 0,
            to: 0,
            file_full: None,
            bytes: 0,
            limit,
            full: None,
            left_out: 0,
        }
    }

    /// An empty store that puts all its blocks into a file, from where the file is now.
    pub(crate) fn in_file(mut file: File, limit: Option<u64>) -> io::Result<Store> {
        let from = file.stream_position()?;
        let rest = Store::temporary(Path::new("."), limit);
        Ok(Store { file: Some(file), file_first: true, from, to: from, ..rest })
    }

    /// A store that was put into a file: where its blocks begin there, and the size of each.
    pub(crate) fn reopen(file: File, from: u64, sizes: &[Size]) -> Store {
        let rest = Store::temporary(Path::new("."), None);
        let mut store = Store { file: Some(file), file_first: true, from, to: from, ..rest };
        for &(bytes, units, sum) in sizes {
            let start = store.to;
            store.blocks.push(Block { start, in_file: true, bytes: bytes as usize, units, sum });
            store.to += bytes;
        }
        store
    }

    /// There is a limit to how much it may hold, so that blocks should be small.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// All of it is in the file, which ends there.
    pub(crate) fn end_in_file(&self) -> Option<u64> {
        (self.blocks.iter().all(|block| block.in_file) && self.file_full.is_none()).then_some(self.to)
    }

    /// The size of each block.
    pub(crate) fn sizes(&self) -> Vec<Size> {
        self.blocks.iter().map(|block| (block.bytes as u64, block.units, block.sum)).collect()
    }

    /// The blocks, in the order of the run.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Why the store does not hold everything, if it does not.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.full.as_ref()
    }

    /// Units of the run that are not in the store.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Counts units that are not kept.
    pub(crate) fn leave_out(&mut self, units: u64) {
        self.left_out += units;
    }

    /// The bytes of a block, in memory or read into `buffer`.
    pub(crate) fn get<'a>(&'a self, block: &Block, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match &self.file {
            _ if !block.in_file => Ok(&self.memory[block.start as usize..block.start as usize + block.bytes]),
            Some(file) => {
                buffer.resize(block.bytes, 0);
                file.read_exact_at(buffer, block.start)?;
                if checksum(buffer) != block.sum {
                    let message = format!("byte {}: a block of the recording has a wrong checksum", block.start);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                Ok(buffer)
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Appends a block of so many units; where that fails, it is left out, and so is all that comes after it. Whether it was kept.
    pub(crate) fn put(&mut self, packed: &[u8], units: u64) -> bool {
        if self.limit.is_some_and(|limit| self.bytes + packed.len() as u64 > limit) {
            self.full = Some(io::Error::other("it has reached the largest size allowed"));
            self.left_out += units;
            return false;
        }
        match self.place(packed) {
            Ok((start, in_file)) => {
                let (bytes, sum) = (packed.len(), checksum(packed));
                self.blocks.push(Block { start, in_file, bytes, units, sum });
                self.bytes += packed.len() as u64;
            }
            Err(error) => {
                self.full = Some(error);
                self.left_out += units;
                self.make_room();
            }
        }
        self.full.is_none()
    }

    /// Puts bytes where there is room for them: where they begin, and whether that is in the file.
    fn place(&mut self, packed: &[u8]) -> io::Result<(u64, bool)> {
        let remembered = if self.file_first || self.file.is_some() { None } else { self.remember(packed) };
        let written = match (remembered, &self.file_full) {
            (Some(start), _) => Ok((start, false)),
            (None, None) => self.write(packed).map(|start| (start, true)),
            (None, Some(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        written.or_else(|error| {
            self.file_full.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
            let remembered = if self.file_first { self.remember(packed) } else { None };
            remembered.map(|start| (start, false)).ok_or(error)
        })
    }

    /// Puts bytes into memory if there is room for them there; where they begin.
    fn remember(&mut self, packed: &[u8]) -> Option<u64> {
        let start = self.memory.len();
        (start + packed.len() <= MEMORY).then(|| self.memory.extend_from_slice(packed))?;
        Some(start as u64)
    }

    /// Puts bytes into the file, which is made if there is none yet; where they begin.
    fn write(&mut self, packed: &[u8]) -> io::Result<u64> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let start = self.to;
        file.write_all_at(packed, start)?;
        self.to += packed.len() as u64;
        Ok(start)
    }

    /// Gives a quarter of the file back, or all of it if memory can hold it: the trace, which is smaller, must fit on the same disk.
    pub(crate) fn make_room(&mut self) {
        if self.to - self.from <= MEMORY as u64 && self.come_into_memory().is_ok() {
            return;
        }
        let Some(file) = &mut self.file else { return };
        let end = self.from + (self.to - self.from) / 4 * 3;
        // Where even that fails the trace ends where there is no more room for it.
        if file.set_len(end).is_err() {
            return;
        }
        // What came after that in memory goes with it.
        let first = self.blocks.iter().position(|block| block.in_file && block.start + block.bytes as u64 > end);
        self.to = end;
        for block in self.blocks.drain(first.unwrap_or(self.blocks.len())..) {
            self.left_out += block.units;
            self.bytes -= block.bytes as u64;
            self.full.get_or_insert_with(|| io::ErrorKind::StorageFull.into());
        }
    }

    fn come_into_memory(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = vec![0; (self.to - self.from) as usize];
        file.read_exact_at(&mut bytes, self.from)?;
        file.set_len(0)?;
        for block in &mut self.blocks {
            let moved = if block.in_file { block.start - self.from } else { block.start + bytes.len() as u64 };
            (block.start, block.in_file) = (moved, false);
        }
        bytes.append(&mut self.memory);
        (self.memory, self.to) = (bytes, self.from);
        Ok(())
    }
}
