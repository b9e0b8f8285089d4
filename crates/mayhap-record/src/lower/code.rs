//! What the machine code of the program says about places in it.

use std::collections::HashSet;

use mayhap_symbols::{ConstantCalls, Constants, Symbols, constant_calls, constants, rust_library};

use crate::sharing::first_pass::Facts;

/// What the machine code says, by return addresses of calls.
pub(super) struct Code {
    /// Calls whose address argument is a constant.
    pub(super) constant: HashSet<u64>,
    /// Calls in code that gcc compiled without `mayhap cc`, one of each file.
    pub(super) elsewhere: Vec<u64>,
    /// Calls that move memory unseen by anybody.
    pub(super) unseen: HashSet<u64>,
    /// Calls in Rust code that is not instrumented.
    pub(super) silent: HashSet<u64>,
    /// Updates by which `std::atomic<std::shared_ptr>` gives up the lock inside it.
    pub(super) unlocks: HashSet<u64>,
    /// Constants that are written.
    pub(super) written: Constants,
}

impl Code {
    pub(super) fn of(symbols: &Symbols, facts: &Facts) -> Code {
        let (unseen, silent) = rust_library(symbols, &facts.pcs);
        let ConstantCalls { constant, elsewhere } = constant_calls(symbols, &facts.pcs);
        let atomics: Vec<u64> = facts.atomics.places.iter().map(|(pc, _)| *pc).collect();
        let is_unlock = |pc: &u64| {
            let frames = symbols.frames(*pc);
            frames.iter().any(|place| place.line.contains("bits/shared_ptr_atomic.h"))
        };
        let unlocks = atomics.iter().copied().filter(is_unlock).collect();
        Code { constant, elsewhere, unseen, silent, unlocks, written: constants(symbols, &facts.writes, &atomics) }
    }
}
