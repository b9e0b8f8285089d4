//! What the analyses of machine code share: decoding, what a call calls, which functions are the runtime's.

use std::collections::HashSet;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Register};
use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

/// The hook at basic blocks.
const ENTERED: &str = "__mayhap_entered";

/// Whether a hook of this name changes no register: the one at basic blocks, and the one before calls of code without hooks.
pub(crate) fn is_harmless(name: &str) -> bool {
    name == ENTERED || is_before_leaving(name)
}

/// Whether a hook of this name stands before calls of code without hooks.
pub(crate) fn is_before_leaving(name: &str) -> bool {
    matches!(name, "__mayhap_leaving" | "__mayhap_leaving_unseen")
}

/// Whether a hook of this name says that a basic block was entered.
pub(crate) fn enters_block(name: &str) -> bool {
    name.starts_with("__sanitizer_cov_trace_pc") || name.starts_with("__mayhap_access") || name == ENTERED
}

/// What a call calls, or where the address of that stands.
pub(crate) fn callee(instruction: &Instruction) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::Call => Some(instruction.near_branch_target()),
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.ip_rel_memory_address())
        }
        _ => None,
    }
}

/// How many bytes of the linker's table stand for a function.
pub(crate) const STUB: u64 = 16;

/// Where the file has the addresses of functions with such names.
pub(crate) fn slots(file: &object::File<'_>, wanted: impl Fn(&str) -> bool) -> HashSet<u64> {
    let symbols = file.dynamic_symbol_table();
    let name = |target| match target {
        RelocationTarget::Symbol(index) => symbols.as_ref()?.symbol_by_index(index).ok()?.name().ok(),
        _ => None,
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations.filter(|(_, there)| name(there.target()).is_some_and(&wanted)).map(|(at, _)| at).collect()
}

/// How the functions begin that are the runtime's, also where it is linked into the program.
pub(crate) const HOOKS: [&str; 6] = ["__tsan_", "__mayhap_", "pthread_", "mtx_", "cnd_", "sem_"];

/// How the functions begin of libraries for threads that the runtime records.
pub(crate) const LIBRARIES: [&str; 7] =
    ["GOMP_", "__kmpc_", "omp_", "g_mutex_", "g_rec_mutex_", "g_rw_lock_", "g_cond_"];

/// Whether a function of this name records one object, whose address its first argument decides.
pub(crate) fn is_hook(name: &str) -> bool {
    // These have a second address, of which nothing is known.
    !name.starts_with("__tsan_mem") && HOOKS.iter().chain(&LIBRARIES).any(|hook| name.starts_with(hook))
}

pub(crate) fn decode(code: &[u8], start: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect()
}

/// Registers that a call may change, by the platform's convention.
pub(crate) const CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];
