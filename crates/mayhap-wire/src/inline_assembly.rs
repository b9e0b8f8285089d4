//! What the hook before an instruction of inline assembly gets: a word of its size, what it does, and its memory order. Instructions
//! that a compiler wrote without a hook get it, too.

/// The hook's name. It changes no register and no flag.
pub const HOOK: &str = "__mayhap_inline";

/// What an instruction does to the memory at the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Does {
    /// Reads it, in one piece.
    Load = 0,
    /// Writes it, in one piece.
    Store = 1,
    /// Reads and writes it in one step.
    Update = 2,
    /// Compares it with `%rax`, or `%rdx:%rax`, and writes it if that is equal, in one step.
    Compare = 3,
    /// Reads it and then writes it.
    Change = 4,
    /// Nothing: it is a fence.
    Fence = 5,
    /// That is not known.
    Unknown = 6,
    /// Reads it and writes something else there in one step.
    Exchange = 7,
    /// Reads it, as code that a compiler wrote does.
    Read = 8,
    /// Writes it, as code that a compiler wrote does.
    Write = 9,
    /// Reads it and then writes it, as code that a compiler wrote does.
    ReadAndWrite = 10,
}

impl Does {
    /// Returns the value with this number.
    pub const fn from_code(code: u8) -> Option<Does> {
        Some(match code {
            0 => Does::Load,
            1 => Does::Store,
            2 => Does::Update,
            3 => Does::Compare,
            4 => Does::Change,
            5 => Does::Fence,
            6 => Does::Unknown,
            7 => Does::Exchange,
            8 => Does::Read,
            9 => Does::Write,
            10 => Does::ReadAndWrite,
            _ => return None,
        })
    }
}

/// Returns the word for an instruction; `entered` if a basic block began before it.
pub const fn word(does: Does, size: u8, order: u8, entered: bool) -> u32 {
    size as u32 | (does as u32) << 8 | (order as u32) << 16 | (entered as u32) << 24
}

/// What an instruction does, its size, its order, and whether a basic block began before it.
pub const fn split(word: u32) -> Option<(Does, u8, u8, bool)> {
    match Does::from_code((word >> 8) as u8) {
        Some(does) => Some((does, word as u8, (word >> 16) as u8, word >> 24 & 1 != 0)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_was_put_into_them() {
        for code in 0..11 {
            let Some(does) = Does::from_code(code) else { continue };
            assert_eq!(split(word(does, 16, 5, true)), Some((does, 16, 5, true)));
            assert_eq!(split(word(does, 1, 0, false)), Some((does, 1, 0, false)));
        }
        assert_eq!(split(11 << 8), None);
    }
}
