//! Which writes store a constant of the code, and which constant.
//!
//! A hook stands directly before its access. So the code after the call is followed until the first store to the address
//! that the hook was given, of the size that it announced. Addresses are compared as sums: constants, and what registers
//! and memory hold whose content is not known but the same at both places. Where the code branches, calls, or stores to an
//! address of which it is not known that it is the same, the search ends without a result.
//!
//! A stored register is a constant where every way to the store has put the same constant into it. Memory is not followed: what a
//! local variable in memory holds is not known.

use std::collections::{HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, OpKind, Register};
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};

use crate::instructions::{is_zero_of_itself, moves_vector};
use crate::machine_code::{CLOBBERED, HOOKS, callee, decode, is_harmless, slots};
use crate::sums::{Atom, BASE, Stored, Sum};
use crate::symbols::Symbols;

/// Constants of the code that are written, by the return addresses of hooks.
#[derive(Clone, Default, Debug)]
pub struct Constants {
    /// What plain writes store.
    pub stores: HashMap<u64, u64>,
    /// The second and the third argument of atomic operations, as far as they are constants: what a store or an exchange writes,
    /// and what a compare-exchange writes if it succeeds.
    pub arguments: HashMap<u64, [Option<u64>; 2]>,
}

/// Finds constants that are written. `writes` are return addresses of hooks of plain writes, and their sizes; `atomics` those of
/// atomic operations.
pub fn constants(symbols: &Symbols, writes: &[(u64, u8)], atomics: &[u64]) -> Constants {
    let mut constants = Constants::default();
    for module in symbols.modules() {
        let is_here = |pc: u64| (module.low..module.end).contains(&pc);
        let wanted: HashMap<u64, u8> =
            writes.iter().filter(|(pc, _)| is_here(*pc)).map(|&(pc, size)| (pc - module.base, size)).collect();
        let atomics: HashSet<u64> = atomics.iter().filter(|&&pc| is_here(pc)).map(|&pc| pc - module.base).collect();
        if wanted.is_empty() && atomics.is_empty() {
            continue;
        }
        if let Ok(bytes) = module.read() {
            let found = in_file(&bytes, &wanted, &atomics);
            let store = |(pc, stored): (u64, Stored)| (pc + module.base, stored.value(module.base, wanted[&pc]));
            constants.stores.extend(found.stores.into_iter().map(store));
            let value = |stored: Option<Stored>| stored.map(|stored| stored.value(module.base, 8));
            let arguments = found.arguments.into_iter().map(|(pc, given)| (pc + module.base, given.map(value)));
            constants.arguments.extend(arguments);
        }
    }
    constants
}

/// What is found in a file.
#[derive(Default)]
struct Found {
    stores: HashMap<u64, Stored>,
    arguments: HashMap<u64, [Option<Stored>; 2]>,
}

fn in_file(bytes: &[u8], wanted: &HashMap<u64, u8>, atomics: &HashSet<u64>) -> Found {
    let mut found = Found::default();
    let Ok(file) = object::File::parse(bytes) else { return found };
    let mut places: Vec<u64> = wanted.keys().chain(atomics).copied().collect();
    places.sort_unstable();
    let relative = file.kind() != ObjectKind::Executable;
    let (hooks, harmless) = (slots(&file, is_hook), slots(&file, is_harmless));
    let mut known = Known { wanted, atomics, own: HashSet::new(), arrivals: HashSet::new(), harmless, hooks, relative };
    let mut functions = HashMap::new();
    let code = |start, size| file.sections().find_map(|section| section.data_range(start, size).ok().flatten());
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() == SymbolKind::Text && symbol.size() != 0 {
            functions.insert(symbol.address(), symbol.size());
            if symbol.name().is_ok_and(is_harmless) {
                known.harmless.insert(symbol.address());
            }
            match symbol.name().is_ok_and(is_hook) {
                true => known.hooks.insert(symbol.address()),
                false => known.own.insert(symbol.address()),
            };
            // The cold part of a function jumps back into the middle of the other part.
            if symbol.name().is_ok_and(|name| name.contains(".cold"))
                && let Some(code) = code(symbol.address(), symbol.size())
            {
                let cold = decode(code, symbol.address());
                known.arrivals.extend(cold.iter().filter(|jump| is_jump(jump)).map(Instruction::near_branch_target));
            }
        }
    }
    for section in file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt"))) {
        let stubs = decode(section.data().unwrap_or_default(), section.address());
        let stubs = stubs.iter().filter(|jump| jump.flow_control() == FlowControl::IndirectBranch);
        let leads = |jump: &&Instruction| known.hooks.contains(&jump.ip_rel_memory_address());
        // A stub may begin with a mark for indirect branches, of four bytes.
        let starts: Vec<u64> = stubs.filter(leads).flat_map(|jump| [jump.ip(), jump.ip().wrapping_sub(4)]).collect();
        known.hooks.extend(starts);
    }
    for (start, size) in functions {
        let from = places.partition_point(|&pc| pc <= start);
        let to = places.partition_point(|&pc| pc <= start.saturating_add(size));
        if from < to
            && let Some(code) = code(start, size)
        {
            in_function(&decode(code, start), &known, &mut found);
        }
    }
    found
}

fn is_hook(name: &str) -> bool {
    HOOKS.iter().any(|hook| name.starts_with(hook))
}

/// Sums of more atoms are not followed.
const MOST_ATOMS: usize = 4;

/// What an atom stands for, so that the same is named the same.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Origin {
    /// What so many bytes of memory at an address held after so many stores, extended in some way.
    Loaded(Sum, MemorySize, Mnemonic, u64),
    /// A register of 32 bits or less, extended in some way.
    Extended(Sum, Mnemonic),
}

/// What is known at a place in a function.
#[derive(Clone)]
struct State {
    registers: [Sum; 16],
    /// Registers whose content was made here, a bit each. After a call an exception may have come from elsewhere: what registers
    /// hold is then good for comparing addresses, but is no constant.
    made: u16,
    /// Vector registers that hold zeros.
    zeros: u16,
    /// The hook that was called last, its address and size.
    hook: Option<(u64, Sum, u8)>,
    /// Counts what may have changed memory.
    stores: u64,
}

/// What is known of a file.
struct Known<'a> {
    /// Return addresses of hooks of writes, and the sizes of these.
    wanted: &'a HashMap<u64, u8>,
    /// Return addresses of hooks of atomic operations.
    atomics: &'a HashSet<u64>,
    /// Functions of the file itself.
    own: HashSet<u64>,
    /// Where other parts of a function jump to.
    arrivals: HashSet<u64>,
    /// The hook that changes no register, or where its address stands.
    harmless: HashSet<u64>,
    /// Hooks, stubs that lead to them, or where their addresses stand.
    hooks: HashSet<u64>,
    /// The file can be loaded anywhere.
    relative: bool,
}

impl Known<'_> {
    fn is_hook(&self, call: &Instruction) -> bool {
        callee(call).is_some_and(|to| self.hooks.contains(&to))
    }
}

struct Walk<'a> {
    known: &'a Known<'a>,
    atoms: Atom,
    origins: HashMap<Origin, Atom>,
    info: InstructionInfoFactory,
    state: State,
}

fn in_function(instructions: &[Instruction], known: &Known<'_>, found: &mut Found) {
    if instructions.iter().any(|instruction| instruction.flow_control() == FlowControl::IndirectBranch) {
        return;
    }
    let state = State { registers: Default::default(), made: 0, zeros: 0, hook: None, stores: 0 };
    let mut walk = Walk { known, atoms: BASE, origins: HashMap::new(), info: InstructionInfoFactory::new(), state };
    walk.forget();
    // Jumps forward bring what is known where they start; where one comes from further on, nothing is known.
    let mut arrivals: HashMap<u64, Option<State>> = known.arrivals.iter().map(|&place| (place, None)).collect();
    for jump in instructions.iter().filter(|jump| is_jump(jump)) {
        if jump.near_branch_target() <= jump.ip() {
            arrivals.insert(jump.near_branch_target(), None);
        }
    }
    let mut falls_through = true;
    for instruction in instructions {
        match arrivals.get(&instruction.ip()) {
            Some(Some(other)) if falls_through => walk.meet(&other.clone()),
            Some(Some(other)) => walk.state = other.clone(),
            Some(None) => walk.forget(),
            None if !falls_through => walk.forget(),
            None => {}
        }
        falls_through = true;
        match instruction.flow_control() {
            FlowControl::Next => walk.step(instruction, found),
            FlowControl::Call | FlowControl::IndirectCall => walk.call(instruction, found),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                walk.jump(instruction, &mut arrivals);
                falls_through = instruction.flow_control() == FlowControl::ConditionalBranch;
            }
            _ => falls_through = false,
        }
    }
}

fn is_jump(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}

impl Walk<'_> {
    fn fresh(&mut self) -> Sum {
        self.atoms += 1;
        Sum::atom(self.atoms)
    }

    /// The sum that is always the same for this origin.
    fn named(&mut self, origin: Origin) -> Sum {
        if let Some(&atom) = self.origins.get(&origin) {
            return Sum::atom(atom);
        }
        let sum = self.fresh();
        self.origins.insert(origin, self.atoms);
        sum
    }

    /// Nothing is known any more.
    fn forget(&mut self) {
        for number in 0..self.state.registers.len() {
            self.state.registers[number] = self.fresh();
        }
        (self.state.made, self.state.zeros) = (0, 0);
        self.state.hook = None;
        self.changed_memory();
    }

    fn changed_memory(&mut self) {
        // A number that was never used before, on any way.
        self.atoms += 1;
        self.state.stores = u64::from(self.atoms);
    }

    /// Two ways come together.
    fn meet(&mut self, other: &State) {
        for (number, theirs) in other.registers.iter().enumerate() {
            if self.state.registers[number] != *theirs {
                self.state.registers[number] = self.fresh();
            }
        }
        self.state.made &= other.made;
        self.state.zeros &= other.zeros;
        // One of the ways may lead around the hook, as those do where accesses are announced in groups.
        if self.state.stores != other.stores {
            self.changed_memory();
        }
    }

    fn jump(&mut self, instruction: &Instruction, arrivals: &mut HashMap<u64, Option<State>>) {
        let target = instruction.near_branch_target();
        if target > instruction.ip() {
            let mine = State { hook: None, ..self.state.clone() };
            match arrivals.get_mut(&target) {
                Some(None) => {}
                Some(Some(there)) => {
                    // Both come from before: what they agree on is what is known.
                    let here = std::mem::replace(&mut self.state, there.clone());
                    self.meet(&mine);
                    *there = std::mem::replace(&mut self.state, here);
                }
                None => _ = arrivals.insert(target, Some(mine)),
            }
        }
        // The access is on one of the ways at most.
        self.state.hook = None;
    }

    fn call(&mut self, instruction: &Instruction, found: &mut Found) {
        if callee(instruction).is_some_and(|to| self.known.harmless.contains(&to)) {
            return;
        }
        let pc = instruction.next_ip();
        let own = instruction.is_call_near() && callee(instruction).is_some_and(|to| self.known.own.contains(&to));
        let size = self.known.wanted.get(&pc).copied().filter(|_| !own);
        let address = self.state.registers[Register::RDI.number()].clone();
        if self.known.atomics.contains(&pc) && !own {
            let given = [Register::RSI, Register::RDX].map(|register| self.constant_in(register.number()));
            found.arguments.insert(pc, given);
        }
        // A hook of a write changes no memory of the program's.
        if size.is_none() {
            self.changed_memory();
        }
        if size.is_none() && !self.known.is_hook(instruction) {
            self.state.made = 0;
        }
        self.state.hook = size.map(|size| (pc, address, size));
        for register in CLOBBERED {
            self.state.registers[register.number()] = self.fresh();
        }
        self.state.zeros = 0;
    }

    fn step(&mut self, instruction: &Instruction, found: &mut Found) {
        let used = self.info.info(instruction);
        let reads_only =
            |access| matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let stores = used.used_memory().iter().any(|memory| !reads_only(memory.access()));
        let changed: Vec<Register> = used
            .used_registers()
            .iter()
            .filter(|used| !reads_only(used.access()))
            .map(|used| used.register())
            .collect();
        let stack = self.state.registers[Register::RSP.number()].clone();
        let result = self.result(instruction);
        let made = self.is_made(instruction);
        if stores {
            self.store(instruction, found);
        }
        for register in changed {
            if register.is_gpr() {
                self.state.registers[register.full_register().number()] = self.fresh();
                self.state.made &= !(1 << register.full_register().number());
            } else if register.is_vector_register() && register.number() < 16 {
                self.state.zeros &= !(1 << register.number());
            }
        }
        // What else moves the stack pointer says so as its result.
        if matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop) {
            let moved = Sum::constant(instruction.stack_pointer_increment().into());
            self.state.registers[Register::RSP.number()] = stack.plus(&moved, 1);
        }
        if let Some((register, sum)) = result.filter(|(_, sum)| sum.atoms.len() <= MOST_ATOMS) {
            self.state.registers[register.number()] = sum;
            self.state.made |= u16::from(made) << register.number();
        }
        if is_zero_of_itself(instruction) && instruction.op0_register().is_vector_register() {
            self.state.zeros |= 1u16.checked_shl(instruction.op0_register().number() as u32).unwrap_or(0);
        }
    }

    /// A store: the hook's access, or another one.
    fn store(&mut self, instruction: &Instruction, found: &mut Found) {
        let hook = self.state.hook.take();
        let to = (instruction.op0_kind() == OpKind::Memory).then(|| self.address(instruction)).flatten();
        let size = instruction.memory_size().size();
        if let (Some((pc, address, announced)), Some(to)) = (hook, to) {
            if to == address {
                if size == usize::from(announced)
                    && let Some(stored) = self.stored(instruction)
                {
                    found.stores.insert(pc, stored);
                }
            } else if self.is_apart(&to, size, &address, announced) {
                self.state.hook = Some((pc, address, announced));
            }
        }
        self.changed_memory();
    }

    /// The constant that a register holds.
    fn constant_in(&self, register: usize) -> Option<Stored> {
        (self.state.made >> register & 1 != 0).then(|| self.state.registers[register].stored())?
    }

    /// The constant that an instruction stores.
    fn stored(&self, instruction: &Instruction) -> Option<Stored> {
        let source = instruction.op1_register();
        match instruction.op1_kind() {
            OpKind::Register if (source.is_gpr64() || source.is_gpr32()) && instruction.mnemonic() == Mnemonic::Mov => {
                self.constant_in(source.full_register().number())
            }
            OpKind::Register if source.is_vector_register() && source.number() < 16 && moves_vector(instruction) => {
                (self.state.zeros >> source.number() & 1 != 0).then_some(Stored { number: 0, relative: false })
            }
            OpKind::Register | OpKind::Memory => None,
            _ if instruction.mnemonic() == Mnemonic::Mov => {
                Some(Stored { number: instruction.immediate(1) as i64, relative: false })
            }
            _ => None,
        }
    }

    /// Two accesses have no byte in common.
    fn is_apart(&self, one: &Sum, size: usize, other: &Sum, other_size: u8) -> bool {
        if one.atoms == other.atoms {
            let distance = other.constant.wrapping_sub(one.constant);
            return distance >= size as i64 || distance <= -i64::from(other_size);
        }
        let frame = &self.state.registers[Register::RSP.number()].atoms;
        let is_global = |sum: &Sum| matches!(sum.atoms[..], [] | [(BASE, 1)]);
        one.atoms == *frame && is_global(other) || other.atoms == *frame && is_global(one)
    }

    /// The address of an instruction's operand in memory.
    fn address(&self, instruction: &Instruction) -> Option<Sum> {
        if instruction.is_ip_rel_memory_operand() {
            return Some(self.in_file(instruction.ip_rel_memory_address()));
        }
        if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
            return None;
        }
        let mut sum = Sum::constant(instruction.memory_displacement64() as i64);
        let parts =
            [(instruction.memory_base(), 1), (instruction.memory_index(), i64::from(instruction.memory_index_scale()))];
        for (register, factor) in parts {
            if register.is_gpr64() {
                sum = sum.plus(&self.state.registers[register.number()], factor);
            } else if register != Register::None {
                return None;
            }
        }
        Some(sum)
    }

    /// An address in the file, as it is in memory.
    fn in_file(&self, address: u64) -> Sum {
        let sum = Sum::constant(address as i64);
        if self.known.relative { sum.plus(&Sum::atom(BASE), 1) } else { sum }
    }

    /// What an instruction puts into a register.
    fn result(&mut self, instruction: &Instruction) -> Option<(Register, Sum)> {
        let to = instruction.op0_register();
        if instruction.mnemonic() == Mnemonic::Cdqe {
            let from = self.state.registers[Register::RAX.number()].clone();
            return Some((Register::RAX, self.named(Origin::Extended(from, Mnemonic::Cdqe))));
        }
        if instruction.op0_kind() != OpKind::Register || !(to.is_gpr64() || to.is_gpr32()) {
            return None;
        }
        let whole = to.is_gpr64();
        let mine = self.state.registers[to.full_register().number()].clone();
        let sum = match instruction.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => self.moved(instruction, whole)?,
            Mnemonic::Lea if whole => self.address(instruction)?,
            Mnemonic::Xor if is_zero_of_itself(instruction) => Sum::constant(0),
            Mnemonic::Add if whole => mine.plus(&self.operand(instruction)?, 1),
            Mnemonic::Sub if whole => mine.plus(&self.operand(instruction)?, -1),
            Mnemonic::Inc if whole => mine.plus(&Sum::constant(1), 1),
            Mnemonic::Dec if whole => mine.plus(&Sum::constant(1), -1),
            Mnemonic::Shl if whole && instruction.op1_kind() == OpKind::Immediate8 => {
                Sum::default().plus(&mine, 1i64.checked_shl(instruction.immediate(1) as u32)?)
            }
            _ => return None,
        };
        Some((to.full_register(), sum))
    }

    /// What the instruction puts into a register comes from nothing that was made elsewhere.
    fn is_made(&self, instruction: &Instruction) -> bool {
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Lea, _) => instruction.is_ip_rel_memory_operand(),
            (Mnemonic::Xor, _) => is_zero_of_itself(instruction),
            (Mnemonic::Mov, OpKind::Register) => {
                self.state.made >> instruction.op1_register().full_register().number() & 1 != 0
            }
            (Mnemonic::Mov, kind) => kind != OpKind::Memory,
            _ => false,
        }
    }

    /// The second operand, of 64 bits.
    fn operand(&self, instruction: &Instruction) -> Option<Sum> {
        match instruction.op1_kind() {
            OpKind::Register => Some(self.state.registers[instruction.op1_register().full_register().number()].clone()),
            OpKind::Memory => None,
            _ => Some(Sum::constant(instruction.immediate(1) as i64)),
        }
    }

    /// What a move puts into a register of 64 bits, or into one of 32 and zeros above.
    fn moved(&mut self, instruction: &Instruction, whole: bool) -> Option<Sum> {
        let how = if whole { instruction.mnemonic() } else { Mnemonic::Movzx };
        match instruction.op1_kind() {
            OpKind::Memory => {
                let (from, size) = (self.address(instruction)?, instruction.memory_size());
                Some(self.named(Origin::Loaded(from, size, how, self.state.stores)))
            }
            OpKind::Register => {
                let source = instruction.op1_register();
                let from = self.state.registers[source.full_register().number()].clone();
                match (instruction.mnemonic(), source) {
                    (Mnemonic::Mov, _) if whole => Some(from),
                    // Most numbers are not changed by zeros above them.
                    (Mnemonic::Mov, _) if from.atoms.is_empty() => Some(Sum::constant(from.constant & 0xffff_ffff)),
                    (_, source) if source.is_gpr32() => Some(self.named(Origin::Extended(from, how))),
                    _ => None,
                }
            }
            _ => Some(Sum::constant(instruction.immediate(1) as i64)),
        }
    }
}

#[cfg(test)]
#[path = "constant_stores_tests.rs"]
mod tests;
