//! Branches of a Rust program that no value read by it decides.
//!
//! When a guard is made or dropped the library asks whether its thread panics (`if !guard.panicking && thread::panicking()`) and
//! whether the lock is poisoned, and its locks ask whether they were had at once. Such a test is a basic block like any other, but
//! what it tests is no value of the program: the thread's own panic count, a flag that nobody raised in the whole run, or the state
//! of a lock that the trace has as a lock ([`super::lower`]). As a branch it would make every value read under a lock pass for tested.
//!
//! A block's hook stands for all jumps since the hooks of blocks before it. So the machine code is followed backwards from the
//! hook, over every way that leads there, to where the hook of another block was called, or that of the first read whose value no
//! branch has tested yet. The block is *neutral* if every conditional jump on the way is the library's test, told by the functions
//! inlined at the jump, and nothing but hooks is called on the way (a call that returns, and does not unwind, may tell something). Anything else (jump tables, landing pads, loops, the function's start) makes
//! it a branch, which only adds branches.

use std::collections::{BTreeMap, HashMap, HashSet};

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};

use super::rust_sites::{self, Meaning, Otherwise, Place};
use super::symbols::Symbols;

/// Steps backwards that are worth it.
const FAR: usize = 64;

/// Answers which hooks are neutral.
#[derive(Default)]
pub(super) struct Branches {
    /// By module number; `None` if the file cannot be read or has no Rust functions.
    files: HashMap<usize, Option<File>>,
}

/// What is known of a file.
struct File {
    bytes: Vec<u8>,
    /// Rust functions: starts and ends.
    functions: BTreeMap<u64, u64>,
    calls: Calls,
    decoded: HashMap<u64, Option<Function>>,
}

/// How hooks are called: through slots that the loader fills, or through stubs that jump there.
#[derive(Default)]
struct Calls {
    hooks: HashSet<u64>,
    blocks: HashSet<u64>,
}

/// A function's instructions, and how each can be reached other than from the one before it.
struct Function {
    instructions: Vec<Instruction>,
    jumps: HashMap<usize, Vec<usize>>,
}

impl Branches {
    /// The block whose hook returns to `pc` is neutral for values read from the hook on that returns to `read`.
    pub(super) fn is_neutral(&mut self, symbols: &Symbols, pc: u64, read: u64, known: Known<'_>) -> bool {
        let Some((number, module)) = symbols.module_at(pc) else { return false };
        let file = self.files.entry(number).or_insert_with(|| File::open(&module.path));
        let Some(file) = file else { return false };
        let base = module.base;
        file.is_neutral(pc - base, read.wrapping_sub(base), |jump| {
            is_library_test(&symbols.functions(base + jump), known)
        })
    }
}

/// What is known of the whole run.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// Widths of atomics whose locks are atomics in the trace.
    pub(super) unlifted: &'a HashSet<u8>,
    /// Some lock was poisoned.
    pub(super) poisons: bool,
}

/// What a jump decides is the library's business: its functions, innermost first.
fn is_library_test(functions: &[String], known: Known<'_>) -> bool {
    let lifted = |width: u8| !known.unlifted.contains(&width);
    // A result that a lock gave, and that the program takes apart.
    let of_lock = |name: &String| name.starts_with("<core::result::Result<") && name.contains("poison::PoisonError<");
    if functions.first().is_some_and(of_lock) {
        return !known.poisons;
    }
    let of_core = |name: &&str| name.trim_start_matches('<').starts_with("core::");
    let Some(function) = functions.iter().map(String::as_str).find(|name| !of_core(name)) else { return false };
    let asks_for_panic = [
        "std::panicking::panic_count::count_is_zero",
        "std::panicking::panicking",
        "std::thread::functions::panicking",
        "std::thread::panicking",
        "<std::sync::poison::Flag>::done",
    ];
    if asks_for_panic.contains(&function) {
        return true;
    }
    if function.starts_with("<std::sync::poison::Flag>::") || function.starts_with("std::sync::poison::map_result::<") {
        return !known.poisons;
    }
    let width = if function.contains("raw_mutex") {
        1
    } else if function.contains("raw_rwlock") {
        8
    } else {
        4
    };
    let waits = |otherwise: Otherwise| otherwise != Otherwise::Fails;
    match rust_sites::place(&[function.to_string()]) {
        Place::Lock(Meaning::Take { otherwise, .. }) => waits(otherwise) && lifted(width),
        Place::Lock(Meaning::Give { waits: false, .. } | Meaning::Slow { .. }) => lifted(width),
        _ => false,
    }
}

impl File {
    fn open(path: &std::path::Path) -> Option<File> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let text = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let rust = text.filter(|symbol| symbol.name().is_ok_and(super::rust_code::is_rust));
        let functions: BTreeMap<u64, u64> =
            rust.map(|symbol| (symbol.address(), symbol.address() + symbol.size())).collect();
        let calls = Calls::of(&file);
        (!functions.is_empty()).then(|| File { bytes, functions, calls, decoded: HashMap::new() })
    }

    fn is_neutral(&mut self, pc: u64, read: u64, is_test: impl Fn(u64) -> bool) -> bool {
        let Some((&start, &end)) = self.functions.range(..pc).next_back().filter(|(_, end)| pc <= **end) else {
            return false;
        };
        let File { bytes, calls, decoded, .. } = self;
        let function = decoded.entry(start).or_insert_with(|| Function::decode(bytes, start, end));
        function.as_ref().is_some_and(|function| function.is_neutral(pc, read, calls, is_test))
    }
}

impl Calls {
    fn of(file: &object::File<'_>) -> Calls {
        let mut calls = Calls::default();
        if let (Some(relocations), Some(table)) = (file.dynamic_relocations(), file.dynamic_symbol_table()) {
            for (slot, relocation) in relocations {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let Ok(symbol) = table.symbol_by_index(index) else { continue };
                match symbol.name() {
                    Ok(name) if name.starts_with("__sanitizer_cov_") => _ = calls.blocks.insert(slot),
                    Ok(name) if name.starts_with("__tsan_") => _ = calls.hooks.insert(slot),
                    _ => {}
                }
            }
        }
        // Stubs of sixteen bytes that end in `jmp [rip + slot]`.
        let stubs = file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt")));
        for section in stubs {
            let Ok(code) = section.data() else { continue };
            for (i, stub) in code.chunks(16).enumerate() {
                let at = section.address() + 16 * i as u64;
                let jump = Decoder::with_ip(64, stub, at, DecoderOptions::NONE)
                    .into_iter()
                    .find(|instruction| instruction.code() == Code::Jmp_rm64);
                let slot = jump.filter(Instruction::is_ip_rel_memory_operand).map(|j| j.ip_rel_memory_address());
                if slot.is_some_and(|slot| calls.blocks.contains(&slot)) {
                    calls.blocks.insert(at);
                } else if slot.is_some_and(|slot| calls.hooks.contains(&slot)) {
                    calls.hooks.insert(at);
                }
            }
        }
        calls
    }

    /// What a call calls: the stub, or the slot that has its address.
    fn callee(call: &Instruction) -> u64 {
        if call.is_ip_rel_memory_operand() { call.ip_rel_memory_address() } else { call.near_branch_target() }
    }
}

impl Function {
    fn decode(bytes: &[u8], start: u64, end: u64) -> Option<Function> {
        let file = object::File::parse(bytes).ok()?;
        let code = file.sections().find_map(|section| section.data_range(start, end - start).ok().flatten())?;
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
        let at: HashMap<u64, usize> = instructions.iter().enumerate().map(|(i, x)| (x.ip(), i)).collect();
        let mut jumps: HashMap<usize, Vec<usize>> = HashMap::new();
        for (i, instruction) in instructions.iter().enumerate() {
            match instruction.flow_control() {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    if let Some(&target) = at.get(&instruction.near_branch_target()) {
                        jumps.entry(target).or_default().push(i);
                    }
                }
                // Where a jump through a table leads is not known.
                FlowControl::IndirectBranch => return None,
                _ => {}
            }
        }
        Some(Function { instructions, jumps })
    }

    fn is_neutral(&self, pc: u64, read: u64, calls: &Calls, is_test: impl Fn(u64) -> bool) -> bool {
        let Some(hook) = self.instructions.iter().position(|instruction| instruction.next_ip() == pc) else {
            return false;
        };
        let is_block = |call: &Instruction| calls.blocks.contains(&Calls::callee(call));
        if !is_block(&self.instructions[hook]) {
            return false;
        }
        let mut tests = 0;
        let mut seen = HashSet::from([hook]);
        let mut left = vec![hook];
        while let Some(at) = left.pop() {
            let before = at.checked_sub(1).filter(|&i| falls_through(&self.instructions[i]));
            let jumps = self.jumps.get(&at).map_or(&[][..], Vec::as_slice);
            if before.is_none() && jumps.is_empty() {
                return false;
            }
            for &from in before.iter().chain(jumps) {
                let instruction = &self.instructions[from];
                match instruction.flow_control() {
                    FlowControl::Call | FlowControl::IndirectCall if is_block(instruction) => continue,
                    FlowControl::Call | FlowControl::IndirectCall => {
                        if !calls.hooks.contains(&Calls::callee(instruction)) {
                            return false;
                        }
                        if instruction.next_ip() == read {
                            continue;
                        }
                    }
                    FlowControl::ConditionalBranch => {
                        if !is_test(instruction.next_ip()) {
                            return false;
                        }
                        tests += 1;
                    }
                    FlowControl::Next | FlowControl::UnconditionalBranch => {}
                    _ => return false,
                }
                if seen.insert(from) {
                    left.push(from);
                }
            }
            if seen.len() > FAR {
                return false;
            }
        }
        tests > 0
    }
}

/// The next instruction may follow.
fn falls_through(instruction: &Instruction) -> bool {
    !matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch | FlowControl::Return | FlowControl::Exception | FlowControl::IndirectBranch
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hooks are at 0x5000 (a block) and 0x6000 (an access); jumps whose ends are in `tests` are the library's.
    fn neutral(code: &[u8], pc: u64, tests: &[u64]) -> bool {
        neutral_since(code, 0, pc, tests)
    }

    fn neutral_since(code: &[u8], read: u64, pc: u64, tests: &[u64]) -> bool {
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).into_iter().collect();
        let mut jumps: HashMap<usize, Vec<usize>> = HashMap::new();
        for (i, instruction) in instructions.iter().enumerate() {
            let target = instructions.iter().position(|x| x.ip() == instruction.near_branch_target());
            if let (true, Some(target)) = (instruction.is_jcc_short_or_near() || instruction.is_jmp_short(), target) {
                jumps.entry(target).or_default().push(i);
            }
        }
        let calls = Calls { hooks: HashSet::from([0x6000]), blocks: HashSet::from([0x5000]) };
        Function { instructions, jumps }.is_neutral(pc, read, &calls, |jump| tests.contains(&jump))
    }

    const CODE: [u8; 33] = [
        0xe8, 0xfb, 0x3f, 0x00, 0x00, // 1000 call 5000: a block
        0x40, 0x80, 0xfd, 0x01, //       1005 cmp bpl,1
        0x75, 0x07, //                   1009 jne 1012
        0xe8, 0xf0, 0x3f, 0x00, 0x00, // 100b call 5000
        0xeb, 0x0f, //                   1010 jmp 1021
        0xe8, 0xe9, 0x4f, 0x00, 0x00, // 1012 call 6000: an access
        0x48, 0x85, 0xc0, //             1017 test rax,rax
        0x75, 0x05, //                   101a jne 1021
        0xe8, 0xdf, 0x3f, 0x00, 0x00, // 101c call 5000
    ];

    #[test]
    fn all_jumps_since_the_last_hook_must_be_tests() {
        assert!(neutral(&CODE, 0x1010, &[0x100b]));
        assert!(!neutral(&CODE, 0x1010, &[]));
        // The second block stands for both jumps: that before it has no hook of its own.
        assert!(neutral(&CODE, 0x1021, &[0x100b, 0x101c]));
        assert!(!neutral(&CODE, 0x1021, &[0x101c]));
        assert!(!neutral(&CODE, 0x1021, &[0x100b]));
        // What was decided before the value was read was not decided by it.
        assert!(neutral_since(&CODE, 0x1017, 0x1021, &[0x101c]));
        assert!(!neutral_since(&CODE, 0x1017, 0x1021, &[]));
    }

    #[test]
    fn calls_of_others_and_the_start_of_a_function_are_no_tests() {
        let mut code = CODE;
        code[0x13] = 0x00; // 1012 calls something else
        assert!(!neutral(&code, 0x1021, &[0x100b, 0x101c]));
        assert!(!neutral(&CODE, 0x1005, &[]));
    }

    #[test]
    fn tests_of_the_library_are_told_by_name() {
        let test = |names: &[&str], lifted: bool, poisons: bool| {
            let unlifted = if lifted { HashSet::new() } else { HashSet::from([1, 4, 8]) };
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            is_library_test(&names, Known { unlifted: &unlifted, poisons })
        };
        let is = |names: &[&str], lifted: bool| test(names, lifted, true);
        let unwrap = "<core::result::Result<std::sync::poison::mutex::MutexGuard<i32>, \
                      std::sync::poison::PoisonError<std::sync::poison::mutex::MutexGuard<i32>>>>::unwrap";
        assert!(test(&[unwrap, "mine::f"], true, false) && !test(&[unwrap, "mine::f"], true, true));
        assert!(!test(&["<core::result::Result<u32, mine::Error>>::unwrap", "mine::f"], true, false));
        assert!(is(&["std::panicking::panic_count::count_is_zero", "std::panicking::panicking", "mine::f"], false));
        assert!(is(&["<std::sync::poison::Flag>::done", "mine::f"], false));
        assert!(!is(&["<std::sync::poison::Flag>::guard", "mine::f"], false));
        let unlock = "<std::sys::sync::mutex::futex::Mutex>::unlock";
        assert!(is(&[unlock, "mine::f"], true) && !is(&[unlock, "mine::f"], false));
        let is_err = "<core::result::Result<u32, u32>>::is_err";
        assert!(is(&[is_err, "<std::sys::sync::mutex::futex::Mutex>::lock"], true));
        assert!(!is(&[is_err, "<std::sys::sync::mutex::futex::Mutex>::try_lock"], true));
        assert!(!is(&[is_err, "mine::f"], true));
    }
}
