//! Which hooks are called with an address that no value read before can have decided: a global's, a stack slot's, an
//! immediate; and which locks and conditions are named so. All other accesses and operations are implicit branches (see
//! [`super::lower`]).
//!
//! Functions are decoded from their start. Per register it is known whether it holds such a constant: `lea` relative to the
//! instruction, the stack pointer or another constant, `mov` of an immediate, `mov` between registers. Where jumps arrive, it is a constant if it is
//! one on every way there (the greatest solution, by iteration; which way was taken is a branch of its own); what a call may
//! change is forgotten after it; a function with jumps through tables is given up. Calls of
//! other functions than hooks say nothing: such a function may end in a jump to the hook, which then sees the return
//! address of a call with other arguments. Nor is an address constant if the thread comes to it by a call that may not return for
//! other values ([`super::safe_calls`]), or by a division. Unknown counts as decided by a value, which only adds branches.
//!
//! A function that calls no hook which reports basic blocks (compiled elsewhere, with `-fsanitize=thread` alone) may have come to any of
//! its accesses and operations by a decision: there, none is constant. If gcc compiled it, it may touch memory without a hook, too:
//! gcc does the work of `memcpy` and its like itself, and instruments no fences, unless `mayhap cc` keeps it from that.

use std::collections::{HashMap, HashSet};

use iced_x86::{Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::instructions::is_zero_of_itself;
use crate::java::JavaNames;
use crate::machine_code::{CLOBBERED, callee, decode, enters_block, is_harmless, is_hook, slots};
use crate::safe_calls::{SafeCalls, is_safe};
use crate::symbols::Symbols;

/// What machine code says of calls, by their return addresses.
#[derive(Default)]
pub struct ConstantCalls {
    /// Calls whose first argument is constant.
    pub constant: HashSet<u64>,
    /// Calls of hooks in code that gcc compiled without `mayhap cc`, one of each file.
    pub elsewhere: Vec<u64>,
}

/// What the machine code says of the calls that return to `pcs`.
pub fn constant_calls(symbols: &Symbols, pcs: &[u64]) -> ConstantCalls {
    let mut all = ConstantCalls::default();
    for module in symbols.modules() {
        let wanted: Vec<u64> =
            pcs.iter().filter(|pc| (module.low..module.end).contains(pc)).map(|pc| pc - module.base).collect();
        if wanted.is_empty() {
            continue;
        }
        if let Ok(bytes) = module.read() {
            if let Some(java) = JavaNames::read(&bytes) {
                all.constant.extend(wanted.into_iter().filter(|&pc| java.is_constant(pc)).map(|pc| pc + module.base));
                continue;
            }
            let found = in_file(&bytes, wanted);
            all.constant.extend(found.constant.into_iter().map(|pc| pc + module.base));
            all.elsewhere.extend(found.elsewhere.into_iter().map(|pc| pc + module.base));
        }
    }
    all
}

/// The functions of a file that the analysis asks about, or where their addresses stand.
struct Named {
    /// The functions of the file and their sizes.
    functions: HashMap<u64, u64>,
    hooks: HashSet<u64>,
    safe: HashSet<u64>,
    harmless: HashSet<u64>,
    entering: HashSet<u64>,
    /// Hooks that compilers write.
    compiled: HashSet<u64>,
    /// Where jumps of the cold parts of functions arrive. The cold part of a function is a symbol of its own and jumps back into the
    /// middle of the other part.
    arrivals: HashSet<u64>,
}

/// Whether a function of this name is of one sort.
type IsOne = fn(&str) -> bool;

impl Named {
    fn of<'a>(file: &object::File<'_>, code: impl Fn(u64, u64) -> Option<&'a [u8]>) -> Named {
        let mut named = Named {
            functions: HashMap::new(),
            hooks: slots(file, is_hook),
            safe: slots(file, is_safe),
            harmless: slots(file, is_harmless),
            entering: slots(file, enters_block),
            compiled: slots(file, is_compiled),
            arrivals: HashSet::new(),
        };
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
                continue;
            }
            let (start, size) = (symbol.address(), symbol.size());
            named.functions.insert(start, size);
            let Ok(name) = symbol.name() else { continue };
            let sorts: [(IsOne, &mut HashSet<u64>); 5] = [
                (is_harmless, &mut named.harmless),
                (enters_block, &mut named.entering),
                (is_hook, &mut named.hooks),
                (is_safe, &mut named.safe),
                (is_compiled, &mut named.compiled),
            ];
            for (is_one, all) in sorts {
                if is_one(name) {
                    all.insert(start);
                }
            }
            if name.contains(".cold")
                && let Some(code) = code(start, size)
            {
                named.arrivals.extend(targets(&decode(code, start)).unwrap_or_default());
            }
        }
        named
    }
}

fn in_file(bytes: &[u8], mut wanted: Vec<u64>) -> ConstantCalls {
    let mut found = ConstantCalls::default();
    let Ok(file) = object::File::parse(bytes) else { return found };
    wanted.sort_unstable();
    let code = |start, size| file.sections().find_map(|section| section.data_range(start, size).ok().flatten());
    let code_at = |start, size| code(start, size).unwrap_or_default();
    let Named { functions, hooks, safe, harmless, entering, compiled, arrivals } = Named::of(&file, code);
    let is_gcc = !compiled.is_empty() && !is_llvm(&file);
    if is_gcc && entering.is_empty() {
        found.elsewhere.extend(wanted.first());
    }
    let mut calls = SafeCalls::new(&functions, &code_at, safe, &entering);
    for (&start, &size) in &functions {
        // A return address may be the function's end, if it ends in the call.
        let from = wanted.partition_point(|&pc| pc <= start);
        let to = wanted.partition_point(|&pc| pc <= start + size);
        if from < to
            && let Some(code) = code(start, size)
        {
            let instructions = decode(code, start);
            if calls.tells_blocks(&instructions) {
                let places = Places { arrivals: &arrivals, hooks: &hooks, harmless: &harmless };
                in_function(&instructions, &wanted[from..to], &places, &mut calls, &mut found.constant);
            } else if is_gcc && instructions.iter().any(|call| calls.is_any(call, &compiled)) {
                found.elsewhere.push(wanted[from]);
            }
        }
    }
    found.elsewhere.sort_unstable();
    found.elsewhere.truncate(1);
    found
}

/// Whether compilers write calls of a hook of this name.
fn is_compiled(name: &str) -> bool {
    name.starts_with("__tsan_") && !name.starts_with("__tsan_init")
}

/// Whether a compiler of LLVM has compiled the file or a part of it: it calls hooks at everything that touches memory.
fn is_llvm(file: &object::File<'_>) -> bool {
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    comment.windows(5).any(|word| word == b"clang" || word == b"rustc")
}

/// What is known of places in a file.
struct Places<'a> {
    /// Where jumps of other parts of a function arrive.
    arrivals: &'a HashSet<u64>,
    /// The runtime's functions, or where their addresses stand.
    hooks: &'a HashSet<u64>,
    /// Hooks that change no register, or where their addresses stand.
    harmless: &'a HashSet<u64>,
}

/// Returns where the jumps of a function lead; `None` if one of them goes through a table.
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

fn in_function(
    instructions: &[Instruction],
    wanted: &[u64],
    places: &Places<'_>,
    calls: &mut SafeCalls<'_>,
    constant: &mut HashSet<u64>,
) {
    let Some(targets) = targets(instructions) else { return };
    let mut info = InstructionInfoFactory::new();
    // What every way to a jump's target knows there; no way found yet: everything.
    let mut at: HashMap<u64, Known> = targets.into_iter().map(|target| (target, [true; KNOWN])).collect();
    loop {
        let mut changed = false;
        let mut found = Vec::new();
        let mut known = [false; KNOWN];
        known[QUIET] = true;
        for instruction in instructions {
            if let Some(others) = at.get(&instruction.ip()) {
                meet(&mut known, others);
            }
            if places.arrivals.contains(&instruction.ip()) {
                known = [false; KNOWN];
            }
            match instruction.flow_control() {
                FlowControl::Next => step(instruction, &mut info, &mut known),
                _ if callee(instruction).is_some_and(|to| places.harmless.contains(&to)) => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    let is_wanted = wanted.binary_search(&instruction.next_ip()).is_ok();
                    if is_wanted
                        && known[QUIET]
                        && known[Register::RDI.number()]
                        && calls.is_any(instruction, places.hooks)
                    {
                        found.push(instruction.next_ip());
                    }
                    let gets_nothing = callee(instruction).is_some() && known[BARE..].iter().all(|bare| *bare);
                    known[QUIET] = is_wanted || (known[QUIET] && (gets_nothing || calls.returns(instruction)));
                    for register in CLOBBERED {
                        known[register.number()] = false;
                    }
                    known[BARE..].fill(true);
                }
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    changed |= at.get_mut(&instruction.near_branch_target()).is_some_and(|there| meet(there, &known));
                    if instruction.flow_control() == FlowControl::UnconditionalBranch {
                        known = [true; KNOWN]; // no path leads to the next instruction from here
                    }
                }
                FlowControl::Return => known = [true; KNOWN],
                _ => known = [false; KNOWN],
            }
        }
        if !changed {
            return constant.extend(found);
        }
    }
}

/// Per register: it holds a constant. Then, that every call since the last hook returns whatever it is given. Then, per register for
/// arguments: it gives the next call nothing but a number of the code.
type Known = [bool; KNOWN];

const KNOWN: usize = BARE + ARGUMENTS.len();
const QUIET: usize = 16;
const BARE: usize = 17;

/// Registers for arguments, by the platform's convention.
const ARGUMENTS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// Keeps what both know; `true` if that is less than before.
fn meet(known: &mut Known, other: &Known) -> bool {
    let before = *known;
    for (mine, theirs) in known.iter_mut().zip(other) {
        *mine &= theirs;
    }
    *known != before
}

fn step(instruction: &Instruction, info: &mut InstructionInfoFactory, known: &mut Known) {
    let holds_constant = match instruction.code() {
        Code::Lea_r64_m => {
            let base = instruction.memory_base();
            let is_constant = |base: Register| base == Register::RSP || base.is_gpr64() && known[base.number()];
            base == Register::RIP || (is_constant(base) && instruction.memory_index() == Register::None)
        }
        Code::Mov_r32_imm32 | Code::Mov_r64_imm64 | Code::Mov_rm64_imm32 | Code::Mov_rm32_imm32 => {
            instruction.op0_kind() == OpKind::Register
        }
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 => {
            instruction.op0_kind() == OpKind::Register
                && instruction.op1_kind() == OpKind::Register
                && (instruction.op1_register() == Register::RSP
                    || known[instruction.op1_register().full_register().number()])
        }
        _ => false,
    };
    let is_number = is_zero_of_itself(instruction)
        || (holds_constant && instruction.mnemonic() == Mnemonic::Mov) && instruction.op1_kind() != OpKind::Register;
    for used in info.info(instruction).used_registers() {
        let writes = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if writes && used.register().is_gpr() {
            let register = used.register().full_register();
            known[register.number()] = false;
            if let Some(argument) = ARGUMENTS.iter().position(|other| *other == register) {
                known[BARE + argument] = is_number;
            }
        }
    }
    // Dividing by zero ends the program.
    if matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
        known[QUIET] = false;
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
        let instructions = decode(code, 0x1000);
        // All functions but one are hooks.
        let hooks: HashSet<u64> = instructions.iter().filter_map(callee).filter(|to| *to != 0x5000).collect();
        let harmless = HashSet::from([0x2000, 0x3000]);
        let places = Places { arrivals: &HashSet::new(), hooks: &hooks, harmless: &harmless };
        let (functions, nothing) = (HashMap::new(), |_, _| &[][..]);
        let mut calls = SafeCalls::new(&functions, &nothing, hooks.clone(), &harmless);
        in_function(&instructions, wanted, &places, &mut calls, &mut constant);
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
    fn nothing_is_constant_after_a_call_that_may_not_return() {
        let code = [
            0xe8, 0xfb, 0x3f, 0x00, 0x00, //             1000 call 5000
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1005 lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             100c call
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1011 lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1018 call: the one before was a branch
            0xbf, 0x07, 0x00, 0x00, 0x00, //             101d mov edi,7
            0xe8, 0xd9, 0x3f, 0x00, 0x00, //             1022 call 5000: gets only a number of the code
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1027 lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             102e call
        ];
        assert_eq!(constants(&code, &[0x1011, 0x101d, 0x1033]), [0x101d, 0x1033]);
    }

    #[test]
    fn what_lies_at_a_distance_from_a_constant_is_one() {
        let code = [
            0x48, 0x89, 0xe5, //                         1000 mov rbp,rsp
            0x48, 0x8d, 0x7d, 0xf4, //                   1003 lea rdi,[rbp-12]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1007 call
            0x48, 0x8d, 0x7d, 0xf4, //                   100c lea rdi,[rbp-12]: kept over the call
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1010 call
            0x48, 0x8d, 0x78, 0x08, //                   1015 lea rdi,[rax+8]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1019 call
        ];
        assert_eq!(constants(&code, &[0x100c, 0x1015, 0x101e]), [0x100c, 0x1015]);
    }

    #[test]
    fn nothing_is_constant_after_a_division() {
        let code = [
            0xf7, 0xf9, //                               1000 idiv ecx
            0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, // 1002 lea rdi,[rip+16]
            0xe8, 0x00, 0x00, 0x00, 0x00, //             1009 call
        ];
        assert_eq!(constants(&code, &[0x100e]), Vec::<u64>::new());
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
