//! The reading end of the ring. The memory is a file without a name, or a temporary one where there is no `/proc` to find
//! the other by; reading it as a file needs no mapping.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mayhap_wire::ring::{DATA_OFFSET, HEAD_INVALID, MAGIC, PATH_LENGTH, offset};

use crate::options::Options;

/// A ring in memory shared with the program.
pub(crate) struct Ring {
    file: File,
    /// Its name, if it has one.
    name: Option<tempfile::TempPath>,
    units: u64,
    tail: u64,
}

impl Ring {
    /// Returns a new ring of so many units, a power of two.
    pub(crate) fn create(units: u64, options: &Options) -> io::Result<Ring> {
        let linger = u32::try_from(options.linger.as_millis()).unwrap_or(u32::MAX);
        let (file, name) = if Path::new("/proc/self/fd").exists() {
            (File::from(rustix::fs::memfd_create("mayhap-ring", rustix::fs::MemfdFlags::CLOEXEC)?), None)
        } else {
            let (file, name) = tempfile::NamedTempFile::with_prefix("mayhap-ring")?.into_parts();
            (file, Some(name))
        };
        file.set_len(DATA_OFFSET as u64 + units * 4)?;
        let put = |at, bytes: &[u8]| file.write_all_at(bytes, at);
        put(offset::UNITS, &units.to_le_bytes())?;
        put(offset::SEED, &options.seed.to_le_bytes())?;
        put(offset::SCHEDULE, &(options.schedule as u32).to_le_bytes())?;
        put(offset::SLICE, &options.slice.to_le_bytes())?;
        put(offset::INPUTS, &u32::from(options.inputs).to_le_bytes())?;
        put(offset::VALUES, &u32::from(options.values).to_le_bytes())?;
        put(offset::LINGER, &linger.to_le_bytes())?;
        put(offset::RECORDER, &std::process::id().to_le_bytes())?;
        put(offset::TAIL_CHECK, &u64::MAX.to_le_bytes())?;
        put(offset::MAGIC, &MAGIC.to_le_bytes())?;
        Ok(Ring { file, name, units, tail: 0 })
    }

    /// How the program finds it: through this process, so that no process in between need keep a file open. Always of the same length: what the environment takes
    /// decides where the stack begins.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.name {
            Some(name) => name.to_path_buf(),
            None => {
                let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
                format!("{path:/>PATH_LENGTH$}").into()
            }
        }
    }

    fn word_at(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// How far the program has written, or a little less while it writes.
    ///
    /// Reading a file may see a word half old and half new: with a carry in between, too much. Bytes that two readings
    /// agree in, from the highest down, are those of a head that was; once the program rests, that is all of them.
    fn head(&self) -> io::Result<u64> {
        let (first, second) = (self.word_at(offset::HEAD)?, self.word_at(offset::HEAD)?);
        let differing = u64::BITS - (first ^ second).leading_zeros();
        let unsure = differing.next_multiple_of(8);
        let sure = u64::MAX.checked_shl(unsure).unwrap_or(0);
        Ok((second & sure & !HEAD_INVALID).max(self.tail))
    }

    /// The process that writes, if one does.
    pub(crate) fn writer(&self) -> io::Result<Option<u32>> {
        let pid = self.word_at(offset::WRITER)? as u32;
        Ok((pid != 0).then_some(pid))
    }

    /// The state bits, see [`mayhap_wire::ring::state`].
    pub(crate) fn state(&self) -> io::Result<u32> {
        Ok(self.word_at(offset::STATE)? as u32)
    }

    /// Threads that wait for channels, see [`mayhap_wire::ring::Header::channel_waits`].
    pub(crate) fn channel_waits(&self) -> io::Result<u32> {
        Ok(self.word_at(offset::CHANNEL_WAITS)? as u32)
    }

    /// Hooks that were not recorded because they interrupted others.
    pub(crate) fn unrecorded(&self) -> io::Result<u64> {
        self.word_at(offset::UNRECORDED)
    }

    /// Takes what is there, at most `limit` units, into `units`; `false` if nothing is.
    pub(crate) fn take(&mut self, limit: u64, units: &mut Vec<u32>) -> io::Result<bool> {
        let head = self.head()?;
        let n = (head - self.tail).min(self.units).min(limit);
        if n == 0 {
            return Ok(false);
        }
        units.resize(n as usize, 0);
        // Up to the end of the memory, and on from its beginning.
        let start = self.tail % self.units;
        let (first, second) = units.split_at_mut(n.min(self.units - start) as usize);
        self.file.read_exact_at(bytemuck::cast_slice_mut(first), DATA_OFFSET as u64 + start * 4)?;
        if !second.is_empty() {
            self.file.read_exact_at(bytemuck::cast_slice_mut(second), DATA_OFFSET as u64)?;
        }
        self.tail += n;
        self.file.write_all_at(&self.tail.to_le_bytes(), offset::TAIL)?;
        self.file.write_all_at(&(!self.tail).to_le_bytes(), offset::TAIL_CHECK)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use mayhap_wire::ring::Schedule;

    use super::*;
    use crate::limits::Limits;
    use crate::options::LINGER;

    #[test]
    fn units_come_out_in_order_around_the_end_of_the_memory() {
        let options = Options {
            output: PathBuf::new(),
            seed: 1,
            schedule: Schedule::Free,
            slice: 1,
            inputs: false,
            values: false,
            linger: LINGER,
            root: None,
            limits: Limits::default(),
            finish: true,
        };
        let mut ring = Ring::create(16, &options).unwrap();
        let (mut head, mut units, mut next) = (0u64, Vec::new(), 0);
        for (n, limit) in [(5, 16), (10, 16), (16, 16), (7, 16), (13, 4)] {
            for unit in head..head + n {
                let place = DATA_OFFSET as u64 + unit % 16 * 4;
                ring.file.write_all_at(&(unit as u32).to_le_bytes(), place).unwrap();
            }
            head += n;
            let seal = if n % 2 == 0 { HEAD_INVALID } else { 0 };
            ring.file.write_all_at(&(head | seal).to_le_bytes(), offset::HEAD).unwrap();
            while ring.take(limit, &mut units).unwrap() {
                assert!(units.len() as u64 <= limit);
                assert_eq!(units, (next..next + units.len() as u32).collect::<Vec<u32>>());
                next += units.len() as u32;
                assert_eq!(ring.word_at(offset::TAIL).unwrap(), u64::from(next));
                assert_eq!(ring.word_at(offset::TAIL_CHECK).unwrap(), !u64::from(next));
            }
            assert_eq!(u64::from(next), head);
        }
    }
}
