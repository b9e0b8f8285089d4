//! Variables on the stack that clang leaves without hooks, though other threads may have their addresses.
//!
//! Clang leaves a hook out where the address of a local variable does not escape. Many of its versions look at the address of the *field*
//! or element that is accessed, which is made anew for each access and never escapes, instead of at the variable's: a thread that waits
//! for a flag in its own `struct` reads it unseen. Here such accesses are found, and get a hook of their own.
//!
//! A function is looked at if it takes the address of something on its stack. Each of its accesses to what may be such a variable has a
//! hook already if the call before it is one that fits: neither compilers nor processors move accesses over calls. What the compiler
//! itself keeps on the stack says so in a comment. A hook for memory that no other thread knows costs time and changes nothing.

use std::collections::{HashMap, HashSet};

use mayhap_wire::inline_assembly::Does;

use super::group::WRITE;
use super::inline_assembly::{self, Access};
use super::instruction::{base_and_offset, split_last};
use super::{access, bare, called, is_label, is_target};

/// How clang names itself in its assembly.
const CLANG: &str = "clang version";
/// How comments name what the compiler put away.
const PUT_AWAY: [&str; 3] = ["-byte Spill", "-byte Reload", "-byte Folded"];

/// The accesses without hooks, by their lines.
pub(super) fn find(text: &str) -> HashMap<usize, Access<'_>> {
    let mut found = HashMap::new();
    if !text.contains(CLANG) {
        return found;
    }
    let lines: Vec<&str> = text.lines().collect();
    let is_begin = |line: &&str| line.trim_start().starts_with(".type") && line.trim_end().ends_with("@function");
    let begins: Vec<usize> = (0..lines.len()).filter(|&at| is_begin(&lines[at])).collect();
    for (at, &begin) in begins.iter().enumerate() {
        let end = begins.get(at + 1).copied().unwrap_or(lines.len());
        in_function(&lines[begin..end], begin, &mut found);
    }
    found
}

fn in_function<'a>(lines: &[&'a str], first: usize, found: &mut HashMap<usize, Access<'a>>) {
    let Some(entry) = lines.iter().position(|line| called(bare(line)) == Some("__tsan_func_entry")) else { return };
    let taken = Taken::new(lines);
    if taken.lowest.is_empty() {
        return;
    }
    // The hook that the latest call is, until the access that it announced.
    let mut announced: Option<Announced<'_>> = None;
    let mut in_rdi = "";
    let mut inline = false;
    for (at, line) in lines.iter().enumerate().skip(entry) {
        let code = bare(line);
        match code {
            "#APP" => inline = true,
            "#NO_APP" => inline = false,
            _ => {}
        }
        if inline || code.is_empty() || code.starts_with(['.', '#']) && !code.ends_with(':') {
            continue;
        }
        if let Some(label) = code.strip_suffix(':').filter(|label| is_label(label)) {
            if is_target(label) {
                announced = None;
            }
            continue;
        }
        if let Some(name) = called(code) {
            announced = access(name).or_else(|| atomic_load(name)).map(|what| Announced { what, address: in_rdi });
            in_rdi = "";
            continue;
        }
        if let (from, "%rdi") = split_last(operands(code)) {
            in_rdi = from;
        }
        if PUT_AWAY.iter().any(|comment| line.contains(comment)) {
            continue;
        }
        let Some(one) = plain(code).filter(|one| taken.may_hold(one.operand)) else { continue };
        if announced.as_ref().is_some_and(|hook| hook.is_for(&one, &taken)) {
            announced = None;
        } else {
            found.insert(first + at, one);
        }
    }
}

/// An access that has a hook.
struct Announced<'a> {
    what: u32,
    /// What was put into the register that the hook gets the address in, if the stretch says so.
    address: &'a str,
}

impl Announced<'_> {
    /// Whether an access may be the one that the hook announced.
    fn is_for(&self, one: &Access<'_>, taken: &Taken) -> bool {
        let writes = self.what & WRITE != 0;
        if self.what & !WRITE != u32::from(one.size) || writes != (one.does == Does::Write) {
            return false;
        }
        // Two places on the stack differ if their operands do.
        let is_stack =
            |operand: &str| base_and_offset(operand).is_some_and(|(base, _)| taken.lowest.contains_key(base));
        !(is_stack(self.address) && is_stack(one.operand)) || self.address == one.operand
    }
}

/// The addresses on the stack that a function takes.
pub(super) struct Taken<'a> {
    /// Whether the function keeps the stack's address in `%rbp`, too.
    has_frame: bool,
    /// The lowest of them, by the register that the stack is reached with.
    lowest: HashMap<&'a str, i64>,
    /// The other registers that may hold such an address.
    registers: HashSet<&'a str>,
}

impl<'a> Taken<'a> {
    pub(super) fn new(lines: &[&'a str]) -> Self {
        let codes = || lines.iter().map(|line| bare(line));
        let has_frame = codes().any(|code| code.starts_with("movq") && operands(code) == "%rsp, %rbp");
        let mut taken = Taken { has_frame, lowest: HashMap::new(), registers: HashSet::new() };
        let is_stack = |register: &str| is_stack(register, has_frame);
        // Registers are copied further: what the first turn finds the second passes on.
        for _ in 0..2 {
            for code in codes() {
                let is_address = code.starts_with("leaq");
                let (from, into) = split_last(operands(code));
                if !(is_address || code.starts_with("movq")) || !into.starts_with('%') || is_stack(into) {
                    continue;
                }
                let place = if is_address { base_and_offset(from) } else { Some((from, 0)) };
                match place {
                    Some((base, offset)) if is_stack(base) => {
                        let lowest = taken.lowest.entry(base).or_insert(offset);
                        *lowest = offset.min(*lowest);
                        taken.registers.insert(into);
                    }
                    Some((base, _)) if taken.registers.contains(base) => {
                        taken.registers.insert(into);
                    }
                    _ => {}
                }
            }
        }
        taken
    }

    /// An operand is reached with the register of the stack.
    pub(super) fn is_stack(&self, operand: &str) -> bool {
        base_and_offset(operand).is_some_and(|(base, _)| is_stack(base, self.has_frame))
    }

    /// An operand may lie in a variable whose address was taken.
    pub(super) fn may_hold(&self, operand: &str) -> bool {
        base_and_offset(operand).is_some_and(|(base, offset)| {
            self.registers.contains(base) || self.lowest.get(base).is_some_and(|lowest| offset >= *lowest)
        })
    }
}

fn is_stack(register: &str, has_frame: bool) -> bool {
    register == "%rsp" || register == "%rbp" && has_frame
}

/// What a hook announces that loads atomically for the program: the load that it stands for stays, and nothing uses it.
fn atomic_load(name: &str) -> Option<u32> {
    let bits: u32 = name.strip_prefix("__tsan_atomic")?.strip_suffix("_load")?.parse().ok()?;
    Some(bits / 8)
}

pub(super) fn operands(code: &str) -> &str {
    code.split_once(['\t', ' ']).map_or("", |(_, operands)| operands.trim())
}

/// What an instruction that the compiler wrote does to memory, if it reads or writes something of a known size.
fn plain(code: &str) -> Option<Access<'_>> {
    let one = vector(code).or_else(|| inline_assembly::access(code, false))?;
    let does = match one.does {
        Does::Load | Does::Read => Does::Read,
        Does::Store | Does::Write => Does::Write,
        Does::Change => Does::ReadAndWrite,
        _ => return None,
    };
    Some(Access { does, order: 0, ..one })
}

/// The same for instructions that move vectors and floating-point numbers, or compute with them.
fn vector(code: &str) -> Option<Access<'_>> {
    let (name, all) = code.split_once(['\t', ' '])?;
    let name = name.strip_prefix('v').unwrap_or(name);
    let all = all.trim();
    let register = ["%ymm", "%xmm", "%zmm"].into_iter().find(|register| all.contains(register))?;
    let whole = match register {
        "%xmm" => 16,
        "%ymm" => 32,
        _ => 64,
    };
    let size = match name {
        "movd" | "movss" => 4,
        "movq" | "movsd" | "movlps" | "movhps" | "movlpd" | "movhpd" => 8,
        _ if name.starts_with("cvtsi2") => return None,
        _ if name.ends_with("ss") && !name.starts_with('p') => 4,
        _ if name.ends_with("sd") && !name.starts_with('p') => 8,
        _ => whole,
    };
    let (others, last) = split_last(all);
    let in_memory = |operand: &str| base_and_offset(operand).is_some();
    if in_memory(last) {
        return Some(Access { does: Does::Write, size, order: 0, operand: last });
    }
    let parts = [split_last(others).1, split_last(split_last(others).0).1];
    let operand = parts.into_iter().find(|part| in_memory(part))?;
    Some(Access { does: Does::Read, size, order: 0, operand })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts instructions into a function that takes the address of what lies at 16 on its stack, and returns those found.
    fn found(body: &[&str]) -> Vec<(String, Does, u8)> {
        let head = "\t.type\tf,@function\nf:\n\tmovq\t168(%rsp), %rdi\n\tcallq\t__tsan_func_entry@PLT\n\tleaq\t16(%rsp), %rbx\n";
        let text = format!("{head}\t{}\n\tretq\n\t.ident\t\"Debian clang version 14.0.6\"\n", body.join("\n\t"));
        let mut all: Vec<_> = find(&text).into_iter().collect();
        all.sort_by_key(|(line, _)| *line);
        all.into_iter().map(|(_, one)| (one.operand.to_string(), one.does, one.size)).collect()
    }

    #[test]
    fn fields_of_variables_whose_address_is_known_elsewhere_get_hooks() {
        let all = found(&[
            "cmpl\t$0, 104(%rsp)",
            "movl\t112(%rsp,%rax,4), %ebx",
            "movups\t%xmm0, 32(%rsp)",
            "incl\t24(%rsp)",
            "movzbl\t8(%rbx), %eax",
        ]);
        let expected = [
            ("104(%rsp)", Does::Read, 4),
            ("112(%rsp,%rax,4)", Does::Read, 4),
            ("32(%rsp)", Does::Write, 16),
            ("24(%rsp)", Does::ReadAndWrite, 4),
            ("8(%rbx)", Does::Read, 1),
        ];
        assert_eq!(all, expected.map(|(operand, does, size)| (operand.to_string(), does, size)));
    }

    #[test]
    fn what_has_a_hook_or_needs_none_gets_no_second() {
        for body in [
            // Hooks of the compiler, with the address known or not.
            &["leaq\t24(%rsp), %rdi", "callq\t__tsan_read8@PLT", "movq\t24(%rsp), %rax"][..],
            &["movq\t%rbx, %rdi", "callq\t__tsan_write4@PLT", "movl\t$1, 16(%rsp)"],
            &["movq\t%rbx, %rdi", "callq\t__tsan_write4@PLT", "movl\t$1, (%rbx)"],
            &["movq\t%rbx, %rdi", "callq\t__tsan_atomic32_load@PLT", "movl\t16(%rsp), %ecx"],
            // Put away by the compiler.
            &["movq\t%rax, 24(%rsp)                  # 8-byte Spill"],
            &["addq\t24(%rsp), %rax                  # 8-byte Folded Reload"],
            // Below all variables whose addresses are taken, in no memory, and in inline assembly.
            &["movq\t8(%rsp), %rax", "movq\t%rax, %rcx", "leaq\t24(%rsp), %rsi"],
            &["#APP", "movl\t24(%rsp), %eax", "#NO_APP"],
            // By another register.
            &["movq\t8(%r12), %rax", "movsd\t%xmm0, (%rax)"],
        ] {
            assert_eq!(found(body), [], "{body:?}");
        }
    }

    #[test]
    fn a_hook_of_another_access_is_not_this_ones() {
        let other = ["leaq\t40(%rsp), %rdi", "callq\t__tsan_read4@PLT", "movl\t24(%rsp), %eax", "movl\t40(%rsp), %ecx"];
        assert_eq!(found(&other), [("24(%rsp)".to_string(), Does::Read, 4)]);
        let longer = ["leaq\t40(%rsp), %rdi", "callq\t__tsan_read8@PLT", "movl\t40(%rsp), %eax"];
        assert_eq!(found(&longer), [("40(%rsp)".to_string(), Does::Read, 4)]);
    }

    #[test]
    fn other_compilers_and_functions_without_such_variables_are_left_alone() {
        let text = "\t.type\tf,@function\nf:\n\tcall\t__tsan_func_entry@PLT\n\tmovl\t24(%rsp), %eax\n\tret\n";
        assert_eq!(find(&format!("{text}\t.ident\t\"clang version 19\"\n")), HashMap::new());
        let taken = text.replace("\tmovl", "\tleaq\t16(%rsp), %rax\n\tmovl");
        assert_eq!(find(&format!("{taken}\t.ident\t\"GCC: 12\"\n")), HashMap::new());
        assert_eq!(find(&format!("{taken}\t.ident\t\"clang version 19\"\n")).len(), 1);
    }
}
