//! Records of numbers, written beside the events and handed on block by block.

use mayhap_wire::varint;

/// Bytes that are handed on at a time.
const BLOCK: usize = 1 << 18;

/// What was written and not handed on yet.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<u8>);

impl Records {
    /// Appends numbers as varints.
    #[inline]
    pub(super) fn put(&mut self, numbers: &[u64]) {
        for &number in numbers {
            if number < 0x80 {
                self.0.push(number as u8);
                continue;
            }
            let mut buffer = [0; varint::LONGEST];
            let length = varint::put(number, &mut buffer).expect("a number fits its longest form");
            self.0.extend_from_slice(&buffer[..length]);
        }
    }

    /// Appends bytes as they are.
    pub(super) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// What has been written, once it is enough or `all` is wanted.
    pub(super) fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        let enough = self.0.len() >= if all { 1 } else { BLOCK };
        enough.then(|| std::mem::take(&mut self.0))
    }
}
