//! Compresses packed pieces once more. That takes longer than packing, and pays where a program delivers its units slowly: in a virtual machine.

use std::ffi::OsStr;

use mayhap_symbols::Module;

use super::packing::{COMPRESSED, MOST};

/// Units of such a program that are kept until they are packed together: a piece by itself knows nothing of those before.
pub(super) const TOGETHER: usize = 1 << 17;
/// How hard zstd tries.
const LEVEL: i32 = 3;
/// The most bytes that a piece of units takes when it is packed.
const LONGEST: usize = 6 * MOST;

/// Whether a file stands for a class in a virtual machine.
pub(super) fn is_of_machine(module: &Module) -> bool {
    module.path.extension() == Some(OsStr::new("jvm"))
}

/// A packed piece, compressed; `None` where that saves nothing.
pub(super) fn compressed(packed: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![COMPRESSED];
    out.extend(zstd::bulk::compress(packed, LEVEL).ok()?);
    (out.len() < packed.len()).then_some(out)
}

/// What a piece was before it was compressed; `None` where it is damaged.
pub(super) fn decompressed(frame: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::decompress(frame, LONGEST).ok()
}
