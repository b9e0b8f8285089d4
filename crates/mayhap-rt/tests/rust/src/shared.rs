//! Variables that programs share, and a log of what each thread wrote to them and read from them: every value is written
//! once, so the log says which write each read saw. `MAYHAP_LOG` names the file.
//!
//! An entry has 64 bits: bit 63 for a write, the variable from bit 56, the value below. A thread's log is the length of its
//! name, the name, the number of entries, the entries.

use std::cell::{RefCell, UnsafeCell};
use std::io::Write;

const VARIABLES: usize = 16;

#[repr(transparent)]
pub struct Shared([UnsafeCell<u64>; VARIABLES]);

// SAFETY: races on these are what the programs are about; they are plain words.
unsafe impl Sync for Shared {}

impl Shared {
    /// Where a variable is.
    pub fn place(&self, variable: usize) -> *mut u64 {
        self.0[variable].get()
    }
}

#[unsafe(no_mangle)]
pub static SHARED: Shared = Shared([const { UnsafeCell::new(0) }; VARIABLES]);

struct Log {
    name: String,
    children: u32,
    entries: Vec<u64>,
}

thread_local! {
    static LOG: RefCell<Log> =
        const { RefCell::new(Log { name: String::new(), children: 0, entries: Vec::new() }) };
}

/// A value of this thread that nobody else writes.
fn next_value(log: &Log) -> u64 {
    let name = log.name.bytes().fold(0u64, |hash, byte| (hash * 31 + u64::from(byte)) & 0xff_ffff);
    name << 24 | (log.entries.len() as u64 + 1)
}

/// Writes a value that nobody else writes.
#[inline(always)]
pub fn put(variable: usize) {
    let value = LOG.with_borrow_mut(|log| {
        let value = next_value(log);
        log.entries.push(1 << 63 | (variable as u64) << 56 | value);
        value
    });
    // SAFETY: see `Shared`.
    unsafe { *SHARED.0[variable].get() = value };
    // A read that follows shall read, not be told by the compiler what was written.
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// Reads.
#[inline(always)]
pub fn get(variable: usize) -> u64 {
    // SAFETY: see `Shared`.
    let value = unsafe { *SHARED.0[variable].get() };
    LOG.with_borrow_mut(|log| log.entries.push((variable as u64) << 56 | value));
    value
}

/// Reads, then writes.
#[inline(always)]
pub fn change(variable: usize) {
    get(variable);
    put(variable);
}

/// What a new thread is to run: `body`, with a log under the name that the trace gives the thread. Threads are to be
/// started in the order in which this is called.
pub fn thread<R>(body: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let name = LOG.with_borrow_mut(|log| {
        log.children += 1;
        let parent = if log.name.is_empty() { "main" } else { &log.name };
        format!("{parent}.{}", log.children)
    });
    move || {
        LOG.with_borrow_mut(|log| log.name = name);
        let _finish = Finish;
        body()
    }
}

struct Finish;

impl Drop for Finish {
    fn drop(&mut self) {
        finish();
    }
}

/// Writes the calling thread's log.
pub fn finish() {
    let Some(path) = std::env::var_os("MAYHAP_LOG") else { return };
    LOG.with_borrow_mut(|log| {
        let name = if log.name.is_empty() { "main" } else { &log.name };
        let mut bytes = (name.len() as u64).to_le_bytes().to_vec();
        bytes.extend(name.as_bytes());
        bytes.extend((log.entries.len() as u64).to_le_bytes());
        bytes.extend(log.entries.iter().flat_map(|entry| entry.to_le_bytes()));
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("the log can be opened");
        // One call, so that threads do not write into one another's logs.
        file.write_all(&bytes).expect("the log can be written");
        log.entries.clear();
    });
}
