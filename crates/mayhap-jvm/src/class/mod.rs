//! Class files, changed as little as possible: everything that is not the code of a method is copied as it is. The crates that read class files
//! build a model of all of it and write that out again, and none of them moves code; so the few structures that inserted code touches are here.

pub(crate) mod assembler;
pub(crate) mod code;
pub(crate) mod file;
mod frames;
pub(crate) mod instructions;
pub(crate) mod pool;

/// Bytes being read, big-endian as class files are.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    all: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(all: &'a [u8]) -> Bytes<'a> {
        Bytes { all, at: 0 }
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.all.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub(crate) fn u1(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(crate) fn u2(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(crate) fn u4(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }
}

pub(crate) fn put2(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

pub(crate) fn put4(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}
