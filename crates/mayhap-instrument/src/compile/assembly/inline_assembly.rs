//! Inline assembly: before each instruction that touches memory a hook is called that knows its address and what it does.
//!
//! The processor reads and writes single operands of at most eight bytes in one piece, in an order that no other processor can tell from
//! acquire and release; programs write assembly because of that. So a single read is an atomic load, a single write an atomic store,
//! `xchg` and whatever has a `lock` prefix an atomic update. An instruction that reads and writes without one does both, one after the
//! other. What is not known (vectors, strings, calls, bytes) is a doubt, which the hook records where the code is run.
//!
//! The hook changes neither registers nor flags. The red zone below the stack pointer may be in use.

use std::fmt::Write;

use mayhap_wire::inline_assembly::{Does, HOOK, word};
use mayhap_wire::ring::order;

use super::instruction::{operand_bytes, split_last};

/// Instructions that only read a memory operand, and write a register if that comes last.
const READ: [&str; 26] = [
    "adc", "add", "and", "bsf", "bsr", "bt", "cmp", "div", "idiv", "imul", "lzcnt", "mov", "movbe", "mul", "or",
    "popcnt", "rol", "ror", "sbb", "sub", "test", "tzcnt", "xor", "crc32", "adcx", "adox",
];
/// Instructions that read and write a memory operand that comes last.
const CHANGED: [&str; 25] = [
    "adc", "add", "and", "btc", "btr", "bts", "dec", "inc", "neg", "not", "or", "rcl", "rcr", "rol", "ror", "sal",
    "sar", "sbb", "shl", "shld", "shr", "shrd", "sub", "xadd", "xor",
];
/// Instructions that do nothing to the memory that they name.
const HARMLESS: [&str; 12] = [
    "lea",
    "nop",
    "prefetch",
    "prefetcht0",
    "prefetcht1",
    "prefetcht2",
    "prefetchnta",
    "prefetchw",
    "clflush",
    "clflushopt",
    "clwb",
    "endbr64",
];
/// Instructions without memory operands whose effect on memory is not known.
const OPAQUE: [&str; 16] = [
    "syscall",
    "sysenter",
    "int",
    "call",
    "callq",
    "movs",
    "stos",
    "lods",
    "scas",
    "cmps",
    "movsb",
    "stosb",
    "movsq",
    "stosq",
    "xbegin",
    "maskmovdqu",
];

/// What an instruction does, and the operand that it does it to, which is empty for fences and doubts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access<'a> {
    pub(super) does: Does,
    pub(super) size: u8,
    pub(super) order: u8,
    pub(super) operand: &'a str,
}

impl Access<'_> {
    /// It cannot be read.
    pub(super) fn unknown() -> Self {
        Access { does: Does::Unknown, size: 0, order: 0, operand: "" }
    }
}

/// What one instruction without prefixes does to memory; `None` for nothing.
pub(super) fn access(code: &str, locked: bool) -> Option<Access<'_>> {
    let (name, operands) = code.split_once([' ', '\t']).unwrap_or((code, ""));
    let operands = operands.trim();
    let fence = |order| Some(Access { does: Does::Fence, size: 0, order, operand: "" });
    match name {
        "mfence" => return fence(order::SEQ_CST),
        "lfence" => return fence(order::ACQUIRE),
        "sfence" => return fence(order::RELEASE),
        _ => {}
    }
    if OPAQUE.contains(&name) {
        return Some(Access::unknown());
    }
    let (others, last) = split_last(operands);
    let memory =
        [last, split_last(others).1, split_last(split_last(others).0).1].into_iter().find(|part| is_memory(part))?;
    // Jumps name labels; what is relative to a segment belongs to the thread.
    if name.starts_with('j') || memory.contains(':') || matches!(name, "push" | "pop" | "pushq" | "popq") {
        return None;
    }
    if HARMLESS.contains(&name) || is(name, &["lea", "nop"]) {
        return None;
    }
    let size = size(name, operands);
    let one = |does, order| Some(size.map_or(Access::unknown(), |size| Access { does, size, order, operand: memory }));
    let in_last = memory == last;
    let update = if locked { (Does::Update, order::SEQ_CST) } else { (Does::Change, 0) };
    if is(name, &["xchg"]) {
        one(Does::Exchange, order::SEQ_CST)
    } else if is(name, &["cmpxchg"]) || matches!(name, "cmpxchg8b" | "cmpxchg16b") {
        // Without the prefix it is as good on one processor only.
        if locked { one(Does::Compare, order::SEQ_CST) } else { one(Does::Change, 0) }
    } else if in_last && is(name, &CHANGED) {
        one(update.0, update.1)
    } else if in_last && (is(name, &["mov", "movbe", "movnti"]) || name.starts_with("set")) {
        one(Does::Store, order::RELEASE)
    } else if is(name, &READ) || ["movz", "movs", "cmov"].iter().any(|begin| name.starts_with(begin)) {
        one(Does::Load, order::ACQUIRE)
    } else {
        Some(Access::unknown())
    }
}

/// Whether an instruction is one of these, with or without a size.
fn is(name: &str, among: &[&str]) -> bool {
    among.contains(&name) || name.strip_suffix(['b', 'w', 'l', 'q']).is_some_and(|name| among.contains(&name))
}

/// An operand in memory: neither a register nor a number.
fn is_memory(operand: &str) -> bool {
    match operand.as_bytes() {
        [] | [b'$', ..] => false,
        [b'%', ..] => operand.contains(':'),
        _ => true,
    }
}

/// Returns how many bytes an instruction touches: by its registers, or by the letter at its end.
fn size(name: &str, operands: &str) -> Option<u8> {
    match name {
        "cmpxchg8b" => return Some(8),
        "cmpxchg16b" => return Some(16),
        _ if name.starts_with("set") => return Some(1),
        _ => {}
    }
    // Of those that widen, the first letter after it is the size in memory.
    let widens = name.strip_prefix("movz").or(name.strip_prefix("movs")).filter(|rest| rest.len() == 2);
    let letter = |byte: u8| match byte {
        b'b' => Some(1),
        b'w' => Some(2),
        b'l' => Some(4),
        b'q' => Some(8),
        _ => None,
    };
    if let Some(rest) = widens {
        return letter(rest.as_bytes()[0]);
    }
    let (others, last) = split_last(operands);
    // Shifts and rotations take their count from a small register.
    let by_register = if is(name, &["sal", "sar", "shl", "shr", "rol", "ror"]) {
        operand_bytes(last)
    } else {
        operand_bytes(last).or_else(|| operand_bytes(split_last(others).1)).or_else(|| operand_bytes(others))
    };
    by_register.or_else(|| letter(*name.as_bytes().last()?))
}

/// Writes the hook of an access; `entered` if a basic block began before it.
pub(super) fn write_hook(access: &Access<'_>, entered: bool, out: &mut String) {
    // The stack pointer is lower then by the red zone and one register.
    const LOWER: i64 = 128 + 8;
    let operand = access.operand;
    out.push_str("\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rdi\n");
    if !operand.is_empty() {
        let uses_stack = operand.rsplit_once('(').is_some_and(|(_, inside)| inside.contains("%rsp"));
        // Writing to a string never fails.
        let _ = match uses_stack {
            true if operand.starts_with('(') => writeln!(out, "\tleaq\t{LOWER}{operand}, %rdi"),
            true => writeln!(out, "\tleaq\t{LOWER}+{operand}, %rdi"),
            false => writeln!(out, "\tleaq\t{operand}, %rdi"),
        };
    }
    let word = word(access.does, access.size, access.order, entered);
    let _ = write!(
        out,
        "\tpushq\t${word}\n\tcall\t*{HOOK}@GOTPCREL(%rip)\n\tleaq\t8(%rsp), %rsp\n\tpopq\t%rdi\n\tleaq\t128(%rsp), %rsp\n"
    );
}

/// The instructions of a line of inline assembly, each with its prefixes; `None` where the line is something else.
pub(super) fn instructions(line: &str) -> Option<Vec<Instruction<'_>>> {
    if line.contains(['"', '#', '\\', '{']) || line.contains("/*") {
        return None;
    }
    let (mut all, mut prefixes, mut locked) = (Vec::new(), String::new(), false);
    for part in line.split(';') {
        let mut code = part.trim();
        // Labels before it.
        while let Some((label, rest)) = code.split_once(':').filter(|(label, _)| is_plain_label(label)) {
            all.push(Instruction { text: format!("{label}:"), code: "", locked: false, label: true });
            code = rest.trim();
        }
        loop {
            let (first, rest) = code.split_once([' ', '\t']).unwrap_or((code, ""));
            match first {
                "lock" => locked = true,
                "rep" | "repz" | "repe" | "repnz" | "repne" | "xacquire" | "xrelease" => {}
                _ => break,
            }
            prefixes.push_str(first);
            prefixes.push(' ');
            code = rest.trim();
        }
        if code.is_empty() {
            continue;
        }
        let text = format!("\t{}{code}", std::mem::take(&mut prefixes));
        all.push(Instruction { text, code, locked: std::mem::take(&mut locked), label: false });
    }
    if !prefixes.is_empty() {
        let text = format!("\t{prefixes}");
        all.push(Instruction { text, code: "", locked: false, label: false });
    }
    Some(all)
}

/// One instruction, or a label.
pub(super) struct Instruction<'a> {
    /// All of it.
    pub(super) text: String,
    /// It without prefixes.
    pub(super) code: &'a str,
    pub(super) locked: bool,
    pub(super) label: bool,
}

fn is_plain_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._$".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str) -> Option<(Does, u8, &str)> {
        let parts: Vec<Instruction<'_>> = instructions(code).unwrap().into_iter().filter(|part| !part.label).collect();
        let [one] = &parts[..] else { panic!("{code}") };
        access(one.code, one.locked).map(|access| (access.does, access.size, access.operand))
    }

    #[test]
    fn instructions_are_known_by_what_they_do_to_memory() {
        assert_eq!(read("xchg %eax,m(%rip)"), Some((Does::Exchange, 4, "m(%rip)")));
        assert_eq!(read("xchgb %al, (%rdi)"), Some((Does::Exchange, 1, "(%rdi)")));
        assert_eq!(read("lock; cmpxchgq %rdx, word(%rip)"), Some((Does::Compare, 8, "word(%rip)")));
        assert_eq!(read("lock cmpxchg16b (%rsi)"), Some((Does::Compare, 16, "(%rsi)")));
        assert_eq!(read("lock xaddl %eax, 8(%rbx,%rcx,4)"), Some((Does::Update, 4, "8(%rbx,%rcx,4)")));
        assert_eq!(read("lock btsl $3, word(%rip)"), Some((Does::Update, 4, "word(%rip)")));
        assert_eq!(read("incl count(%rip)"), Some((Does::Change, 4, "count(%rip)")));
        assert_eq!(read("movq $0, word(%rip)"), Some((Does::Store, 8, "word(%rip)")));
        assert_eq!(read("mov (%rdi), %ax"), Some((Does::Load, 2, "(%rdi)")));
        assert_eq!(read("movzbl (%rdi), %eax"), Some((Does::Load, 1, "(%rdi)")));
        assert_eq!(read("cmpl $0, -4(%rsp)"), Some((Does::Load, 4, "-4(%rsp)")));
        assert_eq!(read("shll %cl, (%rdi)"), Some((Does::Change, 4, "(%rdi)")));
        assert_eq!(read("mfence"), Some((Does::Fence, 0, "")));
        assert_eq!(read("movdqu %xmm0, (%rdi)"), Some((Does::Unknown, 0, "")));
        assert_eq!(read("rep; movsb"), Some((Does::Unknown, 0, "")));
        for nothing in
            ["pause", "rep; nop", "movl %eax, %ebx", "leaq 8(%rdi), %rax", "jne 1b", "mov %fs:0x28, %rax", "setc %al"]
        {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_stack_pointer_is_counted_back() {
        let mut out = String::new();
        let access = access("movl $0, -4(%rsp)", false).unwrap();
        write_hook(&access, true, &mut out);
        assert!(out.contains("leaq\t136+-4(%rsp), %rdi"), "{out}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            (lines.first(), lines.last()),
            (Some(&"\tleaq\t-128(%rsp), %rsp"), Some(&"\tleaq\t128(%rsp), %rsp"))
        );
    }

    #[test]
    fn several_instructions_stand_in_one_line() {
        let all = instructions("1: lock; decl (%rdi); jnz 1b").unwrap();
        let texts: Vec<&str> = all.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["1:", "\tlock decl (%rdi)", "\tjnz 1b"]);
        assert!(instructions(".ascii \"lock; inc\"").is_none());
    }
}
