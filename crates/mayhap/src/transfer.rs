//! Events from any source into a file, chunk by chunk.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use mayhap_trace::format::std_text;
use mayhap_trace::{Columns, Source};

use crate::Failure;
use crate::notes::Progress;

/// Writes all events of `source` to `path`, in the format of its extension, and returns how many they were.
///
/// The file appears under its name only when it is whole: a failure leaves whatever was there before.
pub fn transfer(what: &'static str, source: &mut dyn Source, path: &Path, total: Option<u64>) -> Result<u64, Failure> {
    let partial = Partial::of(path)?;
    let file = File::create(&partial.0).map_err(|e| Failure::at(path, e))?;
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let progress = Progress::new(what, total);
    let mut chunk = Columns::default();
    let mut events = 0;
    while source.next_chunk(&mut chunk).map_err(Failure::new)? {
        std_text::write_events(&mut out, &chunk, source.tables()).map_err(|e| Failure::at(path, e))?;
        events += chunk.len() as u64;
        progress.set(events);
    }
    out.flush().map_err(|e| Failure::at(path, e))?;
    drop(out);
    partial.into_place(path)?;
    Ok(events)
}

/// A file that is being written, beside the one it is to become; removed unless it is put into place.
struct Partial(PathBuf);

impl Partial {
    fn of(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().ok_or_else(|| Failure::at(path, "this is no name of a file"))?;
        let mut partial = std::ffi::OsString::from(format!(".partial-{}-", std::process::id()));
        partial.push(name);
        Ok(Partial(path.with_file_name(partial)))
    }

    fn into_place(self, path: &Path) -> Result<(), Failure> {
        fs::rename(&self.0, path).map_err(|e| Failure::at(path, e))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `into_place` there is nothing left to remove.
        let _ = fs::remove_file(&self.0);
    }
}
