//! What the instructions of a straight stretch of code do to registers, as far as addresses need it: what each register holds, in terms of
//! what registers held where the stretch began.
//!
//! Only instructions whose written operand is known are followed: nearly all write their last one (AT&T syntax). All
//! others end a stretch.

/// A register of 64 bits, by its place in [`NAMES`].
pub(super) type Register = u8;

/// The registers by the names of their low 64, 32, 16 and 8 bits.
pub(super) const NAMES: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];
pub(super) const RAX: Register = 0;
pub(super) const RCX: Register = 2;
pub(super) const RDX: Register = 3;
pub(super) const RDI: Register = 5;
pub(super) const RSP: Register = 7;
pub(super) const R8: Register = 8;
/// What a call leaves as it was.
const KEPT: [Register; 7] = [1, 6, RSP, 12, 13, 14, 15];

/// Instructions that write their last operand and nothing else that addresses are made of; the size may follow.
const LAST_WRITTEN: [&str; 45] = [
    "adc", "add", "and", "andn", "bextr", "blsi", "blsmsk", "blsr", "bsf", "bsr", "bswap", "btc", "btr", "bts", "bzhi",
    "dec", "imul", "inc", "lea", "lzcnt", "mov", "movabs", "movbe", "neg", "not", "or", "pdep", "pext", "popcnt",
    "rol", "ror", "rorx", "sal", "sar", "sarx", "sbb", "shl", "shld", "shlx", "shr", "shrd", "shrx", "sub", "tzcnt",
    "xor",
];
/// The same for those that widen a number: `movslq` is no copy of memory, as `movsl` is.
const WIDENING: [&str; 11] =
    ["movsbl", "movsbq", "movsbw", "movslq", "movswl", "movswq", "movzbl", "movzbq", "movzbw", "movzwl", "movzwq"];
/// Instructions that write no register; the size may follow.
const NONE_WRITTEN: [&str; 4] = ["bt", "cmp", "nop", "test"];
/// The same for comparisons of other registers.
const NONE_WRITTEN_WHOLE: [&str; 6] = ["comisd", "comiss", "ptest", "ucomisd", "ucomiss", "vptest"];
/// Instructions without operands that write `%rax` and `%rdx` at most.
const WITHOUT_OPERANDS: [&str; 9] = ["cbtw", "cltd", "cltq", "cqto", "cwtd", "cwtl", "nop", "vzeroall", "vzeroupper"];

/// The register of a name without its `%`, and how many bits of it that is.
fn register(name: &str) -> Option<(Register, u8)> {
    if !(2..=4).contains(&name.len()) {
        return None;
    }
    let high = ["ah", "bh", "ch", "dh"].iter().position(|high| *high == name);
    if let Some(at) = high {
        return Some(([RAX, 1, RCX, RDX][at], 8));
    }
    NAMES.iter().enumerate().find_map(|(at, names)| {
        let width = names.iter().position(|known| *known == name)?;
        Some((at as Register, [64, 32, 16, 8][width]))
    })
}

/// An address or number, in terms of what registers held where the stretch began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    /// A number or a symbol's address, as it was written after `$`; moved by an instruction for 64 bits, or 32.
    Immediate { text: &'a str, wide: bool },
    /// What the global offset table holds of a symbol.
    Got { operand: &'a str },
    /// A symbol (or none), registers and an offset.
    Sum { symbol: &'a str, to_rip: bool, base: Option<Register>, index: Option<(Register, u8)>, offset: i64 },
}

impl<'a> Value<'a> {
    fn of_register(register: Register) -> Self {
        Value::Sum { symbol: "", to_rip: false, base: Some(register), index: None, offset: 0 }
    }

    /// The sum of two, and of a number, where one instruction can compute it.
    fn plus(self, other: Value<'a>, more: i64) -> Option<Self> {
        let Value::Sum { symbol, to_rip, base, index, offset } = self else { return None };
        let Value::Sum { symbol: symbol2, to_rip: to_rip2, base: base2, index: index2, offset: offset2 } = other else {
            return None;
        };
        let symbol = match (symbol, symbol2) {
            (one, "") => one,
            ("", other) => other,
            _ => return None,
        };
        let offset = offset.checked_add(offset2)?.checked_add(more)?;
        let mut single = [base, base2].into_iter().flatten();
        let mut scaled = [index, index2].into_iter().flatten();
        let (mut base, mut index) = (single.next(), scaled.next());
        if let Some(second) = single.next()
            && index.replace((second, 1)).is_some()
        {
            return None;
        }
        // `%rsp` cannot be an index.
        if let Some((RSP, 1)) = index {
            (base, index) = (Some(RSP), base.map(|base| (base, 1)));
        }
        let to_rip = to_rip || to_rip2;
        let fits = i32::try_from(offset).is_ok() && index.is_none_or(|(register, _)| register != RSP);
        let is_one =
            single.next().is_none() && scaled.next().is_none() && !(to_rip && (base.is_some() || index.is_some()));
        (fits && is_one).then_some(Value::Sum { symbol, to_rip, base, index, offset })
    }

    /// Whether this and another are always as far apart.
    pub(super) fn goes_with(&self, other: &Value<'a>) -> bool {
        let still = |value: &Value<'a>| match *value {
            Value::Sum { symbol, to_rip, base, index, .. } => Some((symbol, to_rip, base, index)),
            _ => None,
        };
        still(self).is_some() && still(self) == still(other)
    }

    fn moved(self, by: i64) -> Option<Self> {
        self.plus(Value::Sum { symbol: "", to_rip: false, base: None, index: None, offset: 0 }, by)
    }

    /// So many times a register's value.
    fn times(self, scale: u8) -> Option<Self> {
        match self {
            _ if scale == 1 => Some(self),
            Value::Sum { symbol: "", to_rip: false, base: Some(base), index: None, offset } if base != RSP => {
                let offset = offset.checked_mul(scale.into())?;
                Some(Value::Sum { symbol: "", to_rip: false, base: None, index: Some((base, scale)), offset })
            }
            _ => None,
        }
    }

    /// The instruction that computes it into a register, where the stretch begins.
    pub(super) fn write(&self, into: Register, out: &mut String) {
        use std::fmt::Write;
        let [whole, half, ..] = NAMES[usize::from(into)];
        // Writing to a string never fails.
        let _ = match *self {
            Value::Immediate { text, wide: true } => writeln!(out, "\tmovq\t${text}, %{whole}"),
            Value::Immediate { text, wide: false } => writeln!(out, "\tmovl\t${text}, %{half}"),
            Value::Got { operand } => writeln!(out, "\tmovq\t{operand}, %{whole}"),
            Value::Sum { symbol: "", to_rip: false, base: Some(base), index: None, offset: 0 } => {
                writeln!(out, "\tmovq\t%{}, %{whole}", NAMES[usize::from(base)][0])
            }
            Value::Sum { symbol, to_rip, base, index, offset } => {
                out.push_str("\tleaq\t");
                out.push_str(symbol);
                let _ = match (symbol, offset) {
                    ("", _) => write!(out, "{offset}"),
                    (_, 0) => Ok(()),
                    _ => write!(out, "{offset:+}"),
                };
                let name = |register: Register| NAMES[usize::from(register)][0];
                let _ = match (base, index) {
                    _ if to_rip => write!(out, "(%rip)"),
                    (None, None) => Ok(()),
                    (Some(base), None) => write!(out, "(%{})", name(base)),
                    (None, Some((index, scale))) => write!(out, "(,%{},{scale})", name(index)),
                    (Some(base), Some((index, scale))) => write!(out, "(%{},%{},{scale})", name(base), name(index)),
                };
                writeln!(out, ", %{whole}")
            }
        };
    }
}

/// What an instruction did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Done {
    /// The registers that it names, a bit each.
    pub(super) named: u16,
    /// The registers that it writes, a bit each.
    pub(super) written: u16,
    /// It does nothing but to put something that it does not read from memory that changes into a register.
    pub(super) sets: bool,
}

/// What the registers hold.
pub(super) struct Registers<'a> {
    values: [Option<Value<'a>>; 16],
}

impl<'a> Registers<'a> {
    /// Behind a call.
    pub(super) fn new() -> Self {
        let mut registers = Registers { values: [None; 16] };
        for register in KEPT {
            registers.values[usize::from(register)] = Some(Value::of_register(register));
        }
        registers
    }

    pub(super) fn get(&self, register: Register) -> Option<Value<'a>> {
        self.values[usize::from(register)]
    }

    /// What a register holds, in terms of what registers hold now.
    pub(super) fn now(&self, register: Register) -> Option<Value<'a>> {
        let value = self.get(register)?;
        let is_same = |register: &Register| self.get(*register) == Some(Value::of_register(*register));
        match &value {
            Value::Sum { base, index, .. } => {
                let of = [*base, index.map(|(register, _)| register)];
                of.iter().flatten().all(is_same).then_some(value)
            }
            _ => Some(value),
        }
    }

    /// What calls do not keep is known no longer.
    pub(super) fn called(&mut self) {
        for register in (0..16).filter(|register| !KEPT.contains(register)) {
            self.values[usize::from(register)] = None;
        }
    }

    /// Follows an instruction; `None` where it is not known what it does.
    pub(super) fn follow(&mut self, code: &'a str) -> Option<Done> {
        let (name, operands) = code.split_once([' ', '\t']).unwrap_or((code, ""));
        let operands = operands.trim();
        if operands.contains(';') || operands.contains("%es:") {
            return None;
        }
        let mut done = Done { named: named(operands), written: 0, sets: false };
        if operands.is_empty() {
            let is_known = WITHOUT_OPERANDS.contains(&name) || name.starts_with('f');
            return is_known.then(|| self.forget(&[RAX, RDX], done));
        }
        let (others, last) = split_last(operands);
        let plain = name.strip_prefix('v').unwrap_or(name);
        if is(name, &NONE_WRITTEN) || NONE_WRITTEN_WHOLE.contains(&plain) || name.starts_with("prefetch") {
            return Some(done);
        }
        // Products and quotients of one operand: it is only read.
        if is(name, &["div", "idiv", "mul"]) || is(name, &["imul"]) && others.is_empty() {
            return Some(self.forget(&[RAX, RDX], done));
        }
        if !writes_last(name, operands) {
            return None;
        }
        // Some comparisons of text leave an index there.
        if name.contains("pcmp") {
            done = self.forget(&[RCX], done);
        }
        let Some((into, width)) = last.strip_prefix('%').and_then(register) else { return Some(done) };
        let value = match width {
            64 | 32 => self.computed(name, others, into, width == 64),
            _ => None,
        };
        done.sets = value.is_some() && matches!(name, "movq" | "movl" | "leaq");
        done.written |= 1 << into;
        self.values[usize::from(into)] = value;
        Some(done)
    }

    /// The same, and registers that hold something else now.
    fn forget(&mut self, registers: &[Register], mut done: Done) -> Done {
        for register in registers {
            self.values[usize::from(*register)] = None;
            done.written |= 1 << register;
        }
        done
    }

    /// What an instruction makes of its operands but the last one.
    fn computed(&self, name: &str, from: &'a str, into: Register, whole: bool) -> Option<Value<'a>> {
        if !split_last(from).0.is_empty() {
            return None;
        }
        let held = self.get(into);
        let of = |operand: &str| operand.strip_prefix('%').and_then(register).filter(|(_, width)| *width == 64);
        match (name, from.strip_prefix('$')) {
            ("movl", Some(text)) if !whole => Some(Value::Immediate { text, wide: false }),
            ("movq", Some(text)) if whole => Some(Value::Immediate { text, wide: true }),
            ("addq", Some(number)) if whole => held?.moved(number.parse().ok()?),
            ("subq", Some(number)) if whole => held?.moved(number.parse::<i64>().ok()?.checked_neg()?),
            ("movq", None) if whole && from.ends_with("@GOTPCREL(%rip)") => Some(Value::Got { operand: from }),
            ("movq", None) if whole => self.get(of(from)?.0),
            ("addq", None) if whole => held?.plus(self.get(of(from)?.0)?, 0),
            ("leaq", None) if whole => self.address(from),
            _ => None,
        }
    }

    /// What an operand in memory is the address of.
    fn address(&self, operand: &'a str) -> Option<Value<'a>> {
        let (before, inside) = operand.strip_suffix(')')?.rsplit_once('(')?;
        // Symbols relative to segments, and those whose addresses the linker works out in other ways, are left alone.
        if before.contains([':', '@', '%', '(']) {
            return None;
        }
        let (symbol, offset) = match before.parse() {
            Ok(offset) => ("", offset),
            Err(_) => (before, 0),
        };
        let sum = Value::Sum { symbol, to_rip: inside == "%rip", base: None, index: None, offset };
        if inside == "%rip" {
            return Some(sum);
        }
        let mut parts = inside.split(',').map(str::trim);
        let value = |part: Option<&str>| match part {
            None | Some("") => Some(None),
            Some(part) => {
                let (register, width) = part.strip_prefix('%').and_then(register)?;
                (width == 64).then_some(Some(self.get(register)?))
            }
        };
        let base = value(parts.next())?;
        let index = value(parts.next())?;
        let scale = parts.next().map_or(Some(1), |scale| scale.parse().ok())?;
        let sum = base.map_or(Some(sum), |base| sum.plus(base, 0))?;
        index.map_or(Some(sum), |index| sum.plus(index.times(scale)?, 0))
    }
}

/// The register, with its `%`, that an operand in memory is relative to, and how far it is from there without what an index adds.
pub(super) fn base_and_offset(operand: &str) -> Option<(&str, i64)> {
    let (before, inside) = operand.strip_suffix(')')?.rsplit_once('(')?;
    let base = inside.split(',').next()?.trim();
    let offset = if before.is_empty() { 0 } else { before.parse().ok()? };
    base.starts_with('%').then_some((base, offset))
}

/// How many bytes an operand has that is a register.
pub(super) fn operand_bytes(operand: &str) -> Option<u8> {
    operand.strip_prefix('%').and_then(register).map(|(_, bits)| bits / 8)
}

/// Whether an instruction is one of these, with or without a size.
fn is(name: &str, among: &[&str]) -> bool {
    among.contains(&name) || name.strip_suffix(['b', 'w', 'l', 'q']).is_some_and(|name| among.contains(&name))
}

fn writes_last(name: &str, operands: &str) -> bool {
    if is(name, &LAST_WRITTEN) || WIDENING.contains(&name) {
        return true;
    }
    if name.starts_with("set") || name.starts_with("cmov") || name.starts_with("cvt") || name.starts_with("vcvt") {
        return true;
    }
    // Vectors, and numbers on the stack of x87. `maskmov` writes to where `%rdi` points.
    let is_vector = ["%xmm", "%ymm", "%zmm", "%k", "%mm", "%st"].iter().any(|other| operands.contains(other));
    !name.contains("maskmov") && (is_vector || name.starts_with('f'))
}

/// Returns the operands but the last, and the last.
pub(super) fn split_last(operands: &str) -> (&str, &str) {
    let mut depth = 0;
    let comma = operands.bytes().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        byte == b',' && depth == 0
    });
    comma.map_or(("", operands), |at| (operands[..at].trim(), operands[at + 1..].trim()))
}

/// The registers that a text names, a bit each.
fn named(operands: &str) -> u16 {
    let names = operands.split('%').skip(1).map(|rest| {
        let end = rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len());
        &rest[..end]
    });
    names.filter_map(register).fold(0, |all, (register, _)| all | 1 << register)
}
