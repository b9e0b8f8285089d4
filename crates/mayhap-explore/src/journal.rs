//! A file to which records are added one after the other, and which survives whatever ends the process that writes it.
//!
//! Layout: eight bytes that name the format; then for each record its length and the CRC-32 of its bytes, four bytes each, little-endian, and its bytes, which are
//! compressed with zstd. A record that is not there as a whole at the end of the file was being written when the process ended, and is cut off. A wrong
//! record before the end is damage, and the file is refused.
//!
//! Records are handed to the kernel at once, so that an ended process loses none. They are forced to the disk once a second: a machine that loses power loses at most the
//! runs of that second, which are then made again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Error;

const MAGIC: [u8; 8] = *b"\x89MHJ\r\n\x1a\n";
/// The largest record, compressed and as it was: a run of the most steps that are looked at has less.
const LARGEST: usize = 64 << 20;
const SYNC: Duration = Duration::from_secs(1);

/// A journal that is open for adding. No other process can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Journal {
    /// Opens a journal, or makes an empty one; `each` gets the records that are there, in order.
    pub fn open(path: &Path, mut each: impl FnMut(&[u8]) -> Result<(), String>) -> Result<Journal, Error> {
        let failed = |error: std::io::Error| Error::at(path, error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::at(path, "another process is at work on it")),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let length = file.metadata().map_err(failed)?.len();
        let mut end = 0;
        let mut magic = [0; MAGIC.len()];
        if length < MAGIC.len() as u64 {
            file.write_all(&MAGIC).map_err(failed)?;
            end += MAGIC.len() as u64;
        } else {
            file.read_exact(&mut magic).map_err(failed)?;
            if magic != MAGIC {
                return Err(Error::at(path, "not a journal of an exploration"));
            }
            end += MAGIC.len() as u64;
            let mut reader = std::io::BufReader::with_capacity(1 << 16, &file);
            while let Some(record) = next(&mut reader, end, length).map_err(|wrong| Error::at(path, wrong))? {
                each(&record.bytes).map_err(|wrong| Error::at(path, format_args!("byte {end}: {wrong}")))?;
                end = record.end;
            }
        }
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(failed)?;
        Ok(Journal { file, path: path.to_path_buf(), synced: Instant::now() })
    }

    /// Adds a record.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::at(&self.path, error);
        let packed = zstd::bulk::compress(bytes, 1).map_err(failed)?;
        if bytes.len() > LARGEST || packed.len() > LARGEST {
            return Err(Error::at(&self.path, "a run is too long to be kept"));
        }
        let mut record = Vec::with_capacity(packed.len() + 8);
        record.extend((packed.len() as u32).to_le_bytes());
        record.extend(crc32fast::hash(&packed).to_le_bytes());
        record.extend(packed);
        self.file.write_all(&record).map_err(failed)?;
        if self.synced.elapsed() >= SYNC {
            self.file.sync_data().map_err(failed)?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What is not on the disk yet is in the kernel, which writes it in time.
        let _ = self.file.sync_data();
    }
}

struct Record {
    bytes: Vec<u8>,
    end: u64,
}

/// The record at this byte; `None` at the end, and if the rest of the file is not a whole one.
fn next(reader: &mut impl Read, at: u64, length: u64) -> Result<Option<Record>, String> {
    let mut head = [0; 8];
    if length - at < head.len() as u64 {
        return Ok(None);
    }
    let failed = |error: std::io::Error| format!("byte {at}: {error}");
    reader.read_exact(&mut head).map_err(failed)?;
    let [a, b, c, d, rest @ ..] = head;
    let (size, sum) = (u64::from(u32::from_le_bytes([a, b, c, d])), u32::from_le_bytes(rest));
    let end = at + head.len() as u64 + size;
    if end > length {
        return Ok(None);
    }
    if size > LARGEST as u64 {
        return Err(format!("byte {at}: damaged: a record of {size} bytes"));
    }
    let mut packed = vec![0; size as usize];
    reader.read_exact(&mut packed).map_err(failed)?;
    if crc32fast::hash(&packed) != sum {
        // The last one may have been on its way to the disk when the machine stopped.
        return if end == length { Ok(None) } else { Err(format!("byte {at}: damaged: a wrong checksum")) };
    }
    let bytes = zstd::bulk::decompress(&packed, LARGEST).map_err(failed)?;
    Ok(Some(Record { bytes, end }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
        let mut records = Vec::new();
        Journal::open(path, |bytes| {
            records.push(bytes.to_vec());
            Ok(())
        })?;
        Ok(records)
    }

    fn filled(path: &Path) -> Vec<Vec<u8>> {
        let records: Vec<Vec<u8>> = (0..5u8).map(|n| vec![n; 40 * usize::from(n)]).collect();
        let mut journal = Journal::open(path, |_| Ok(())).unwrap();
        records.iter().for_each(|record| journal.append(record).unwrap());
        records
    }

    #[test]
    fn a_file_cut_off_anywhere_keeps_the_records_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let records = filled(&path);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap(), records);
        let mut most = records.len();
        for length in (0..whole.len()).rev() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let kept = read(&path).unwrap();
            assert!(kept.len() <= most && records.starts_with(&kept), "{length}");
            most = kept.len();
            // What was cut off is written again.
            let mut journal = Journal::open(&path, |_| Ok(())).unwrap();
            records[kept.len()..].iter().for_each(|record| journal.append(record).unwrap());
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{length}");
        }
    }

    #[test]
    fn damage_before_the_end_is_refused_and_nothing_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let records = filled(&path);
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x11;
            std::fs::write(&path, damaged).unwrap();
            match read(&path) {
                Ok(kept) => assert!(records.starts_with(&kept), "{at}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > whole.len() / 3, "{refused} of {}", whole.len());
    }

    #[test]
    fn one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let open = Journal::open(&path, |_| Ok(())).unwrap();
        let second = Journal::open(&path, |_| Ok(())).unwrap_err().to_string();
        assert!(second.contains("another process"), "{second}");
        drop(open);
        Journal::open(&path, |_| Ok(())).unwrap();
    }
}
