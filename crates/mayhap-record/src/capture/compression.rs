//! Compresses pieces of units with zstd. That takes longer than packing and leaves less, so it pays where a program delivers its units slowly: in a
//! virtual machine.

use std::ffi::OsStr;

use mayhap_symbols::Module;

/// The tag of a piece that is compressed: none of those of packed pieces.
pub(super) const COMPRESSED: u8 = 5;
/// Units of such a program that are kept until they are compressed together: a piece by itself knows nothing of those before.
pub(super) const TOGETHER: usize = 1 << 18;
/// How hard zstd tries.
const LEVEL: i32 = 3;

/// Whether a file stands for a class in a virtual machine.
pub(super) fn is_of_machine(module: &Module) -> bool {
    module.path.extension() == Some(OsStr::new("jvm"))
}

/// A piece of units, compressed; `None` where zstd fails.
pub(super) fn compressed(units: &[u32]) -> Option<Vec<u8>> {
    let mut out = vec![COMPRESSED];
    out.extend(zstd::bulk::compress(bytemuck::cast_slice(units), LEVEL).ok()?);
    Some(out)
}

/// Appends the units of a piece, which has so many; `None` where the frame has others.
pub(super) fn decompress(frame: &[u8], count: usize, units: &mut Vec<u32>) -> Option<()> {
    let bytes = zstd::bulk::decompress(frame, 4 * count).ok()?;
    let (whole, part) = bytes.as_chunks();
    units.extend(whole.iter().map(|unit| u32::from_le_bytes(*unit)));
    (part.is_empty() && whole.len() == count).then_some(())
}
