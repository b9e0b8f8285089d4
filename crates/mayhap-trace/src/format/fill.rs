//! How readers of bytes fill their buffers.

use std::io::{ErrorKind, Read};

use crate::error::{Error, Position};

/// Fills `bytes` as far as the input goes; returns how far. `offset` is the position of the input.
pub(super) fn fill(input: &mut impl Read, bytes: &mut [u8], offset: u64) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::new(Position::Byte(offset + filled as u64), e)),
        }
    }
    Ok(filled)
}
