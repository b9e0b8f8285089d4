//! From the ring to a recording: runs the program, takes units while it runs, packs and keeps them.

mod compression;
pub(crate) mod deltas;
pub(crate) mod ending;
pub(crate) mod file;
pub(crate) mod fork_server;
pub(crate) mod packing;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod recorder;
pub(crate) mod repeats;
pub(crate) mod ring;
pub(crate) mod store;
pub(crate) mod stuck;
pub(crate) mod unpacking;

use std::io;

/// There is no more room on the disk.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | FileTooLarge | QuotaExceeded)
}
