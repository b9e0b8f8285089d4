//! Which hooks are called with an address that no value read before can have decided: a global's, a stack slot's, an
//! immediate; and which locks and conditions are named so. All other accesses and operations are implicit branches (see
//! [`super::lower`]).
//!
//! Functions are decoded from their start. Per register it is known whether it holds such a constant: `lea` relative to the
//! instruction or the stack pointer, `mov` of an immediate, `mov` between registers. Where jumps arrive, it is a constant if it is
//! one on every way there (the greatest solution, by iteration; which way was taken is a branch of its own); what a call may
//! change is forgotten after it; a function with jumps through tables is given up. Calls of
//! the module's own functions say nothing: such a function may end in a jump to the hook, which then sees the return
//! address of a call with other arguments. Unknown counts as decided by a value, which only adds branches.
//!
//! A function that calls no hook which tells basic blocks (compiled by somebody else, with `-fsanitize=thread` alone) may have come to any of
//! its accesses and operations by a decision: there, none is constant.

use std::collections::{HashMap, HashSet};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};

use crate::symbols::Symbols;

/// The return addresses, among `pcs`, of calls whose first argument is constant.
pub fn constant_calls(symbols: &Symbols, pcs: &[u64]) -> HashSet<u64> {
    let mut constant = HashSet::new();
    for module in symbols.modules() {
        let wanted: Vec<u64> =
            pcs.iter().filter(|pc| (module.low..module.end).contains(pc)).map(|pc| pc - module.base).collect();
        if wanted.is_empty() {
            continue;
        }
        if let Ok(bytes) = module.read() {
            constant.extend(in_file(&bytes, wanted).into_iter().map(|pc| pc + module.base));
        }
    }
    constant
}

fn in_file(bytes: &[u8], mut wanted: Vec<u64>) -> HashSet<u64> {
    let mut constant = HashSet::new();
    let Ok(file) = object::File::parse(bytes) else { return constant };
    wanted.sort_unstable();
    let code = |start, size| file.sections().find_map(|section| section.data_range(start, size).ok().flatten());
    let code_at = |start, size| code(start, size).unwrap_or_default();
    let mut functions = HashMap::new();
    let mut own = HashSet::new();
    let (mut harmless, mut telling) = (slots(&file, |name| name == HARMLESS), slots(&file, tells));
    // The cold part of a function is a symbol of its own and jumps back into the middle of the other part.
    let mut arrivals = HashSet::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
            continue;
        }
        let (start, size) = (symbol.address(), symbol.size());
        functions.insert(start, size);
        if symbol.name() == Ok(HARMLESS) {
            harmless.insert(start);
        }
        if symbol.name().is_ok_and(tells) {
            telling.insert(start);
        }
        if !symbol.name().is_ok_and(|name| HOOKS.iter().any(|hook| name.starts_with(hook))) {
            own.insert(start);
        }
        if symbol.name().is_ok_and(|name| name.contains(".cold"))
            && let Some(code) = code(start, size)
        {
            arrivals.extend(targets(&decode(code, start)).unwrap_or_default());
        }
    }
    for (&start, &size) in &functions {
        // A return address may be the function's end, if it ends in the call.
        let from = wanted.partition_point(|&pc| pc <= start);
        let to = wanted.partition_point(|&pc| pc <= start + size);
        if from < to
            && let Some(code) = code(start, size)
        {
            let instructions = decode(code, start);
            let places = Places { arrivals: &arrivals, own: &own, harmless: &harmless };
            // Through the table of the linker, or not.
            let called = |at: u64| {
                let stub = decode(code_at(at, STUB), at);
                let jump = stub.iter().find(|jump| jump.flow_control() == FlowControl::IndirectBranch);
                jump.filter(|jump| jump.is_ip_rel_memory_operand()).map_or(at, Instruction::ip_rel_memory_address)
            };
            if instructions.iter().filter_map(callee).any(|to| telling.contains(&to) || telling.contains(&called(to))) {
                in_function(&instructions, &wanted[from..to], &places, &mut constant);
            }
        }
    }
    constant
}

/// The hook that changes no register.
const HARMLESS: &str = "__mayhap_entered";

/// Whether a hook of this name says that a basic block was entered.
fn tells(name: &str) -> bool {
    name.starts_with("__sanitizer_cov_trace_pc") || name.starts_with("__mayhap_access") || name == HARMLESS
}

/// What a call calls, or where the address of that stands.
fn callee(instruction: &Instruction) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::Call => Some(instruction.near_branch_target()),
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.ip_rel_memory_address())
        }
        _ => None,
    }
}

/// How many bytes of the linker's table stand for a function.
const STUB: u64 = 16;

/// Where the file has the addresses of functions with such names.
fn slots(file: &object::File<'_>, wanted: impl Fn(&str) -> bool) -> HashSet<u64> {
    let symbols = file.dynamic_symbol_table();
    let name = |target| match target {
        RelocationTarget::Symbol(index) => symbols.as_ref()?.symbol_by_index(index).ok()?.name().ok(),
        _ => None,
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations.filter(|(_, there)| name(there.target()).is_some_and(&wanted)).map(|(at, _)| at).collect()
}

/// What is known of places in a file.
struct Places<'a> {
    /// Where jumps of other parts of a function arrive.
    arrivals: &'a HashSet<u64>,
    /// Functions of the file itself.
    own: &'a HashSet<u64>,
    /// [`HARMLESS`], or where its address stands.
    harmless: &'a HashSet<u64>,
}

/// How the functions begin that are the runtime's, also where it is linked into the program.
const HOOKS: [&str; 6] = ["__tsan_", "__mayhap_", "pthread_", "mtx_", "cnd_", "sem_"];

fn decode(code: &[u8], start: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect()
}

/// Where the jumps of a function lead; `None` if one of them goes through a table.
fn targets(instructions: &[Instruction]) -> Option<HashSet<u64>> {
    let mut targets = HashSet::new();
    for instruction in instructions {
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                targets.insert(instruction.near_branch_target());
            }
            FlowControl::IndirectBranch => return None,
            _ => {}
        }
    }
    Some(targets)
}

/// Registers that a call may change, by the platform's convention.
const CLOBBERED: [Register; 9] = [
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

fn in_function(instructions: &[Instruction], wanted: &[u64], places: &Places<'_>, constant: &mut HashSet<u64>) {
    let Some(targets) = targets(instructions) else { return };
    let mut info = InstructionInfoFactory::new();
    // What every way to a jump's target knows there; no way found yet: everything.
    let mut at: HashMap<u64, Known> = targets.into_iter().map(|target| (target, [true; 16])).collect();
    loop {
        let mut changed = false;
        let mut found = Vec::new();
        let mut known = [false; 16];
        for instruction in instructions {
            if let Some(others) = at.get(&instruction.ip()) {
                meet(&mut known, others);
            }
            if places.arrivals.contains(&instruction.ip()) {
                known = [false; 16];
            }
            match instruction.flow_control() {
                FlowControl::Next => step(instruction, &mut info, &mut known),
                _ if callee(instruction).is_some_and(|to| places.harmless.contains(&to)) => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    let own = instruction.is_call_near() && places.own.contains(&instruction.near_branch_target());
                    if known[Register::RDI.number()] && !own && wanted.binary_search(&instruction.next_ip()).is_ok() {
                        found.push(instruction.next_ip());
                    }
                    for register in CLOBBERED {
                        known[register.number()] = false;
                    }
                }
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    changed |= at.get_mut(&instruction.near_branch_target()).is_some_and(|there| meet(there, &known));
                    if instruction.flow_control() == FlowControl::UnconditionalBranch {
                        known = [true; 16]; // nobody gets to the next instruction from here
                    }
                }
                FlowControl::Return => known = [true; 16],
                _ => known = [false; 16],
            }
        }
        if !changed {
            return constant.extend(found);
        }
    }
}

/// Per register: it holds a constant.
type Known = [bool; 16];

/// Keeps what both know; `true` if that is less than before.
fn meet(known: &mut Known, other: &Known) -> bool {
    let before = *known;
    for (mine, theirs) in known.iter_mut().zip(other) {
        *mine &= theirs;
    }
    *known != before
}

fn step(instruction: &Instruction, info: &mut InstructionInfoFactory, known: &mut [bool; 16]) {
    let holds_constant = match instruction.code() {
        Code::Lea_r64_m => {
            let base = instruction.memory_base();
            base == Register::RIP || (base == Register::RSP && instruction.memory_index() == Register::None)
        }
        Code::Mov_r32_imm32 | Code::Mov_r64_imm64 | Code::Mov_rm64_imm32 | Code::Mov_rm32_imm32 => {
            instruction.op0_kind() == OpKind::Register
        }
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 => {
            instruction.op0_kind() == OpKind::Register
                && instruction.op1_kind() == OpKind::Register
                && known[instruction.op1_register().full_register().number()]
        }
        _ => false,
    };
    for used in info.info(instruction).used_registers() {
        let writes = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if writes && used.register().is_gpr() {
            known[used.register().full_register().number()] = false;
        }
    }
    if holds_constant {
        known[instruction.op0_register().full_register().number()] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants(code: &[u8], wanted: &[u64]) -> Vec<u64> {
        let mut constant = HashSet::new();
        let (own, harmless) = (HashSet::from([0x5000]), HashSet::from([0x2000, 0x3000]));
        let places = Places { arrivals: &HashSet::new(), own: &own, harmless: &harmless };
        in_function(&decode(code, 0x1000), wanted, &places, &mut constant);
        let mut constant: Vec<u64> = constant.into_iter().collect();
        constant.sort_unstable();
        constant
    }

    #[test]
    fn globals_are_constant_and_computed_addresses_are_not() {
        let code = [
            0x48, 0x8d, 0x2d, 0x10, 0x00, 0x00, 0x00, // 1000 lea rbp,[rip+16]
            0x48, 0x89, 0xef, //                         1007 mov rdi,rbp
            0xe8, 0x00, 0x00, 0x00, 0x00, //             100a call
            0x48, 0x89, 0xc7, //                         100f mov rdi,rax
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1012 call
            0x48, 0x89, 0xef, //                         1017 mov rdi,rbp: kept over the calls
            0xe8, 0x00, 0x00, 0x00, 0x00, //             101a call
            0x48, 0x8d, 0x7c, 0x24, 0x08, //             101f lea rdi,[rsp+8]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1024 call
            0x48, 0x8d, 0x3c, 0x84, //                   1029 lea rdi,[rsp+rax*4]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             102d call
        ];
        assert_eq!(constants(&code, &[0x100f, 0x1017, 0x101f, 0x1029, 0x1032]), [0x100f, 0x101f, 0x1029]);
    }

    #[test]
    fn a_call_of_an_own_function_says_nothing() {
        let code = [
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1000 lea rdi,[rip+16]
            0xe8, 0xf4, 0x3f, 0x00, 0x00, //             1007 call 5000
        ];
        assert_eq!(constants(&code, &[0x100c]), Vec::<u64>::new());
    }

    #[test]
    fn the_hook_at_blocks_changes_no_register() {
        let code = [
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1000 lea rdi,[rip+16]
            0xff, 0x15, 0xf3, 0x0f, 0x00, 0x00, //       1007 call [2000]
            0xe8, 0xee, 0x1f, 0x00, 0x00, //             100d call 3000
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1012 call
        ];
        assert_eq!(constants(&code, &[0x1017]), [0x1017]);
    }

    #[test]
    fn a_jump_that_arrives_in_between_makes_it_unknown() {
        let code = [
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1000 lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1007 call: its target is 100c
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 100c lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1013 call
            0x75, 0xf9, //                               1018 jne 1013
        ];
        assert_eq!(constants(&code, &[0x100c, 0x1018]), [0x100c]);
    }

    #[test]
    fn a_constant_stays_one_around_a_loop_that_does_not_touch_it() {
        let code = [
            0x48, 0x8d, 0x2d, 0x10, 0x00, 0x00, 0x00, // 1000 lea rbp,[rip+16]
            0x48, 0x8d, 0x1d, 0x10, 0x00, 0x00, 0x00, // 1007 lea rbx,[rip+16]
            0x48, 0x89, 0xef, //                         100e mov rdi,rbp
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1011 call
            0x48, 0x89, 0xdf, //                         1016 mov rdi,rbx
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1019 call
            0x48, 0x89, 0xc3, //                         101e mov rbx,rax
            0x75, 0xeb, //                               1021 jne 100e
        ];
        assert_eq!(constants(&code, &[0x1016, 0x101e]), [0x1016]);
    }
}
