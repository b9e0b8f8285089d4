//! What a file consists of: a header, blocks, a footer. Sizes are fixed and asserted.

use core::fmt;

use crate::{checksum, limits};

/// The first bytes of every file. They are not text, and a transfer that changes line ends damages them.
pub const MAGIC: [u8; 8] = *b"\x89MHP\r\n\x1a\n";
/// The first bytes of a recording that has not been converted to a trace yet. The last byte is the version of the recording format:
/// no other version reads it.
pub const RECORDING: [u8; 8] = *b"\x89MHR\r\n\x1a\x04";
/// The first bytes of every block.
pub const BLOCK_MARK: [u8; 4] = *b"MHPB";
/// The mark within the footer.
pub const END_MARK: [u8; 4] = *b"MHPE";
/// A reader that does not know the block's kind skips it.
pub const OPTIONAL: u8 = 1;

/// Why bytes are not the header, block header or footer that they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// They do not begin with the mark.
    Mark,
    /// The checksum does not match.
    Checksum,
    /// The file's layout is newer than this crate.
    Version(u16),
    /// A field has a value that this version does not define.
    Field(&'static str),
    /// A length is beyond its limit.
    Limit(&'static str, u32),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Mark => f.write_str("the mark is missing"),
            FrameError::Checksum => f.write_str("the checksum of its header does not match"),
            FrameError::Version(version) => {
                write!(f, "layout version {version} is not known (this reads up to {})", crate::VERSION)
            }
            FrameError::Field(field) => write!(f, "its {field} is not known"),
            FrameError::Limit(what, value) => write!(f, "it promises {value} {what}, more than a block may have"),
        }
    }
}

impl core::error::Error for FrameError {}

/// The file header: magic, version, flags (none defined), checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FileHeader {
    /// See [`MAGIC`].
    pub magic: [u8; 8],
    /// See [`crate::VERSION`].
    pub version: u16,
    /// Zero.
    pub flags: u16,
    /// The checksum of the bytes before.
    pub checksum: u32,
}

const _: () = assert!(size_of::<FileHeader>() == FileHeader::SIZE);

impl FileHeader {
    /// Bytes in the file.
    pub const SIZE: usize = 16;

    /// The header that this version writes.
    pub fn current() -> [u8; Self::SIZE] {
        FileHeader::of_version(crate::VERSION)
    }

    /// Returns the header of a file of some version.
    pub fn of_version(version: u16) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&version.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads a header. The version is checked before the checksum, because a newer layout may compute it differently.
    pub fn read(bytes: &[u8; Self::SIZE]) -> Result<Self, FrameError> {
        let [magic @ .., _, _, _, _, _, _, _, _] = *bytes;
        let header = FileHeader {
            magic,
            version: u16::from_le_bytes([bytes[8], bytes[9]]),
            flags: u16::from_le_bytes([bytes[10], bytes[11]]),
            checksum: word(bytes, 12),
        };
        if header.magic != MAGIC {
            return Err(FrameError::Mark);
        }
        if header.version > crate::VERSION {
            return Err(FrameError::Version(header.version));
        }
        is_sealed(bytes)?;
        match (header.version, header.flags) {
            (0, _) => Err(FrameError::Field("version")),
            (_, 0) => Ok(header),
            _ => Err(FrameError::Field("flags")),
        }
    }
}

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Names of ids that later blocks use.
    Names,
    /// Events.
    Events,
    /// One bit for each of some objects.
    Facts,
    /// Totals; the last block.
    Trailer,
    /// A kind that this version does not define, flagged as optional: to be skipped.
    Unknown(u8),
}

impl Kind {
    /// Returns the kind with this number.
    pub const fn from_code(code: u8) -> Kind {
        match code {
            1 => Kind::Names,
            2 => Kind::Events,
            3 => Kind::Facts,
            4 => Kind::Trailer,
            other => Kind::Unknown(other),
        }
    }

    /// Whether a reader that does not know the kind may skip it. Events mean the same without such blocks.
    pub const fn is_optional(self) -> bool {
        matches!(self, Kind::Unknown(_))
    }

    /// Returns the number in the file.
    pub const fn code(self) -> u8 {
        match self {
            Kind::Names => 1,
            Kind::Events => 2,
            Kind::Facts => 3,
            Kind::Trailer => 4,
            Kind::Unknown(code) => code,
        }
    }
}

/// How a block's contents are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Codec {
    /// As they are.
    Plain = 0,
    /// As one zstd frame.
    Zstd = 1,
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockHeader {
    /// What the block holds.
    pub kind: Kind,
    /// How it is stored.
    pub codec: Codec,
    /// Position among the blocks of the file, from 0. It reveals a block that was lost or moved.
    pub sequence: u32,
    /// Events, names, facts: what the kind counts.
    pub items: u32,
    /// Bytes of the contents as stored, right after the header.
    pub stored: u32,
    /// Bytes of the contents.
    pub raw: u32,
    /// Checksum of the stored bytes.
    pub payload: u32,
}

impl BlockHeader {
    /// Bytes in the file: mark, kind, flags, codec, a zero, sequence, items, stored, raw, payload checksum, own checksum.
    pub const SIZE: usize = 32;

    /// Returns the header as bytes of the file.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&BLOCK_MARK);
        bytes[4] = self.kind.code();
        bytes[5] = if self.kind.is_optional() { OPTIONAL } else { 0 };
        bytes[6] = self.codec as u8;
        for (at, value) in [(8, self.sequence), (12, self.items), (16, self.stored), (20, self.raw), (24, self.payload)]
        {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        seal(&mut bytes);
        bytes
    }

    /// Reads a header and checks it against [`limits`], so that its lengths may be allocated.
    pub fn read(bytes: &[u8; Self::SIZE]) -> Result<Self, FrameError> {
        if bytes[..4] != BLOCK_MARK {
            return Err(FrameError::Mark);
        }
        is_sealed(bytes)?;
        let kind = Kind::from_code(bytes[4]);
        match (kind, bytes[5]) {
            (Kind::Unknown(_), OPTIONAL) => {}
            (Kind::Unknown(_), 0) => return Err(FrameError::Field("kind")),
            (_, 0) => {}
            _ => return Err(FrameError::Field("flags")),
        }
        let codec = match bytes[6] {
            0 => Codec::Plain,
            1 => Codec::Zstd,
            _ => return Err(FrameError::Field("codec")),
        };
        if bytes[7] != 0 {
            return Err(FrameError::Field("reserved byte"));
        }
        let header = BlockHeader {
            kind,
            codec,
            sequence: word(bytes, 8),
            items: word(bytes, 12),
            stored: word(bytes, 16),
            raw: word(bytes, 20),
            payload: word(bytes, 24),
        };
        header.check_limits()?;
        Ok(header)
    }

    fn check_limits(&self) -> Result<(), FrameError> {
        let items = match self.kind {
            Kind::Names => limits::BLOCK_RAW / 2,
            Kind::Events => limits::BLOCK_EVENTS,
            Kind::Facts => limits::FACTS,
            Kind::Trailer => 1,
            Kind::Unknown(_) => usize::MAX,
        };
        if self.items as usize > items {
            return Err(FrameError::Limit("items", self.items));
        }
        if self.stored as usize > limits::BLOCK_STORED {
            return Err(FrameError::Limit("stored bytes", self.stored));
        }
        if self.raw as usize > limits::BLOCK_RAW {
            return Err(FrameError::Limit("bytes", self.raw));
        }
        if self.codec == Codec::Plain && self.stored != self.raw {
            return Err(FrameError::Field("length"));
        }
        Ok(())
    }
}

/// What follows the last block, so that a reader that can seek finds the facts and totals first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Footer {
    /// Where in the file the first block after the last events begins.
    pub summary: u64,
    /// See [`END_MARK`].
    pub mark: [u8; 4],
    /// The checksum of the bytes before.
    pub checksum: u32,
}

const _: () = assert!(size_of::<Footer>() == Footer::SIZE);

impl Footer {
    /// Bytes in the file.
    pub const SIZE: usize = 16;

    /// Returns the footer as bytes of the file.
    pub fn to_bytes(summary: u64) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&summary.to_le_bytes());
        bytes[8..12].copy_from_slice(&END_MARK);
        seal(&mut bytes);
        bytes
    }

    /// Reads a footer.
    pub fn read(bytes: &[u8; Self::SIZE]) -> Result<Self, FrameError> {
        if bytes[8..12] != END_MARK {
            return Err(FrameError::Mark);
        }
        is_sealed(bytes)?;
        let summary = u64::from(word(bytes, 0)) | u64::from(word(bytes, 4)) << 32;
        Ok(Footer { summary, mark: END_MARK, checksum: word(bytes, 12) })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Puts the checksum of all bytes but the last four into the last four.
fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let sum = checksum(&bytes[..at]);
    bytes[at..].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(bytes: &[u8]) -> Result<(), FrameError> {
    let at = bytes.len() - 4;
    if word(bytes, at) == checksum(&bytes[..at]) { Ok(()) } else { Err(FrameError::Checksum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> BlockHeader {
        BlockHeader {
            kind: Kind::Events,
            codec: Codec::Zstd,
            sequence: 7,
            items: 3,
            stored: 40,
            raw: 99,
            payload: 0xabcd,
        }
    }

    #[test]
    fn frames_round_trip() {
        assert_eq!(FileHeader::read(&FileHeader::current()).unwrap().version, crate::VERSION);
        assert_eq!(BlockHeader::read(&block().to_bytes()), Ok(block()));
        let unknown = BlockHeader { kind: Kind::Unknown(77), ..block() };
        assert_eq!(BlockHeader::read(&unknown.to_bytes()), Ok(unknown));
        assert_eq!(Footer::read(&Footer::to_bytes(1 << 40)).unwrap().summary, 1 << 40);
    }

    #[test]
    fn every_flipped_bit_shows() {
        for bit in 0..BlockHeader::SIZE * 8 {
            let mut bytes = block().to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(BlockHeader::read(&bytes).is_err(), "bit {bit}");
        }
        for bit in 0..FileHeader::SIZE * 8 {
            let mut bytes = FileHeader::current();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(FileHeader::read(&bytes).is_err(), "bit {bit}");
        }
        for bit in 0..Footer::SIZE * 8 {
            let mut bytes = Footer::to_bytes(123_456);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Footer::read(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn lengths_beyond_the_limits_are_refused_though_the_checksum_is_right() {
        let read = |header: BlockHeader| BlockHeader::read(&header.to_bytes());
        assert_eq!(read(BlockHeader { items: 65_537, ..block() }), Err(FrameError::Limit("items", 65_537)));
        assert_eq!(read(BlockHeader { raw: 1 << 30, ..block() }), Err(FrameError::Limit("bytes", 1 << 30)));
        assert_eq!(read(BlockHeader { stored: 1 << 30, ..block() }), Err(FrameError::Limit("stored bytes", 1 << 30)));
        assert_eq!(read(BlockHeader { codec: Codec::Plain, ..block() }), Err(FrameError::Field("length")));
        let mut bytes = BlockHeader { kind: Kind::Unknown(9), ..block() }.to_bytes();
        bytes[5] = 0;
        seal(&mut bytes);
        assert_eq!(BlockHeader::read(&bytes), Err(FrameError::Field("kind")));
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = FileHeader::current();
        bytes[8..10].copy_from_slice(&9u16.to_le_bytes());
        assert_eq!(FileHeader::read(&bytes), Err(FrameError::Version(9)));
    }
}
