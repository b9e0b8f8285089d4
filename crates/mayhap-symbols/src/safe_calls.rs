//! Which calls return whatever values they are given.
//!
//! A function that was compiled with recording records its own decisions. Of any other function it is not known whether it ends
//! the program, or waits, for another value: a C library function that is given a null pointer, a check in a library without
//! hooks, whatever a function pointer leads to. What a thread does after such a call may have been decided by what it read before.

use std::collections::{HashMap, HashSet};

use iced_x86::{FlowControl, Instruction};

use crate::machine_code::{HOOKS, LIBRARIES, STUB, callee, decode};

/// Functions of the C library that only compute or print, or whose uses of memory the runtime records as accesses.
const SAFE: [&str; 64] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "memcpy",
    "mempcpy",
    "memmove",
    "memset",
    "bzero",
    "memcmp",
    "bcmp",
    "memchr",
    "strlen",
    "strnlen",
    "strcpy",
    "stpcpy",
    "strncpy",
    "strcat",
    "strncat",
    "strcmp",
    "strncmp",
    "strchr",
    "strrchr",
    "printf",
    "fprintf",
    "sprintf",
    "snprintf",
    "puts",
    "putchar",
    "fputs",
    "fputc",
    "putc",
    "fwrite",
    "fflush",
    "__printf_chk",
    "__fprintf_chk",
    "__sprintf_chk",
    "__snprintf_chk",
    "sleep",
    "usleep",
    "nanosleep",
    "sched_yield",
    "clock_gettime",
    "gettimeofday",
    "time",
    "clock",
    "getpid",
    "rand",
    "random",
    "srand",
    "abs",
    "labs",
    "sin",
    "cos",
    "exp",
    "log",
    "pow",
    "sqrt",
    "floor",
    "ceil",
    "__errno_location",
];

/// Beginnings of names of C++'s allocation functions.
const ALLOCATION: [&str; 4] = ["_Znw", "_Zna", "_Zdl", "_Zda"];

/// Whether a function of this name returns whatever it is given.
pub(crate) fn is_safe(name: &str) -> bool {
    let name = name.strip_prefix("__wrap_").unwrap_or(name);
    let begins = |all: &[&str]| all.iter().any(|beginning| name.starts_with(beginning));
    begins(&HOOKS) || begins(&LIBRARIES) || begins(&ALLOCATION) || SAFE.contains(&name) || name.contains("__rust_")
}

/// The calls of one file.
pub(crate) struct SafeCalls<'a> {
    /// The functions of the file and their sizes.
    functions: &'a HashMap<u64, u64>,
    code: &'a dyn Fn(u64, u64) -> &'a [u8],
    /// Functions that are safe by their names, or where their addresses stand.
    named: HashSet<u64>,
    /// Hooks that tell basic blocks, or where their addresses stand.
    entering: &'a HashSet<u64>,
    /// What was found out; a function that is being looked at counts as safe.
    known: HashMap<u64, bool>,
}

impl<'a> SafeCalls<'a> {
    pub(crate) fn new(
        functions: &'a HashMap<u64, u64>,
        code: &'a dyn Fn(u64, u64) -> &'a [u8],
        named: HashSet<u64>,
        entering: &'a HashSet<u64>,
    ) -> SafeCalls<'a> {
        SafeCalls { functions, code, named, entering, known: HashMap::new() }
    }

    /// Where the address of a function stands that is called through the table of the linker; otherwise where it is.
    fn behind_table(&self, at: u64) -> u64 {
        let stub = decode((self.code)(at, STUB), at);
        let jump = stub.iter().find(|jump| jump.flow_control() == FlowControl::IndirectBranch);
        jump.filter(|jump| jump.is_ip_rel_memory_operand()).map_or(at, Instruction::ip_rel_memory_address)
    }

    /// Whether a function calls a hook that records basic blocks.
    pub(crate) fn tells_blocks(&self, instructions: &[Instruction]) -> bool {
        instructions.iter().any(|call| self.is_any(call, self.entering))
    }

    /// Whether a call is of one of these functions, which may stand for themselves or for where their addresses stand.
    pub(crate) fn is_any(&self, call: &Instruction, functions: &HashSet<u64>) -> bool {
        callee(call).is_some_and(|to| functions.contains(&to) || functions.contains(&self.behind_table(to)))
    }

    /// Whether a call returns whatever values it is given.
    pub(crate) fn returns(&mut self, call: &Instruction) -> bool {
        callee(call).is_some_and(|to| self.is_safe(to))
    }

    /// Whether a function, or what is behind a place in the table of the linker, returns whatever it is given.
    fn is_safe(&mut self, at: u64) -> bool {
        if self.named.contains(&at) {
            return true;
        }
        if let Some(&known) = self.known.get(&at) {
            return known;
        }
        self.known.insert(at, true);
        let safe = match self.functions.get(&at) {
            Some(&size) => self.is_safe_inside(at, size),
            None => self.named.contains(&self.behind_table(at)),
        };
        self.known.insert(at, safe);
        safe
    }

    /// Whether a function of the file records everything that may keep it from returning.
    fn is_safe_inside(&mut self, start: u64, size: u64) -> bool {
        let instructions = decode((self.code)(start, size), start);
        let inside = start..start + size;
        self.tells_blocks(&instructions)
            && instructions.iter().all(|instruction| match instruction.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => self.returns(instruction),
                FlowControl::UnconditionalBranch if !inside.contains(&instruction.near_branch_target()) => {
                    self.is_safe(instruction.near_branch_target())
                }
                _ => true,
            })
    }
}
