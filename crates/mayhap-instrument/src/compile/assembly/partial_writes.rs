//! Writes of some bits of a word: gcc announces them as writes of the word, and not that the other bits are read and written again.
//!
//! The hook stands directly before the instructions that read and write, with no call between. If the word is read there and not only
//! written, what is written depends on what others wrote before. If the code writes through the register that the hook's address came from, that
//! is what was announced, and nothing else counts. What lies on the stack counts only if it may be what the hook was
//! given the address of: compilers put registers away there, and keep variables there that no other thread knows.

use std::collections::HashSet;

use mayhap_wire::inline_assembly::Does;

use super::group::WRITE;
use super::instruction::{base_and_offset, split_last};
use super::loops::jump;
use super::unhooked_locals::{Taken, operands};
use super::{access, bare, called, inline_assembly, is_label, is_target};

/// Registers that calls keep, so that hooks do.
const KEPT: [&str; 6] = ["%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15"];

/// The lines of the hooks of such writes.
pub(super) fn find(text: &str) -> HashSet<usize> {
    let lines: Vec<&str> = text.lines().map(bare).collect();
    let is_begin = |line: &&str| line.starts_with(".type") && line.ends_with("@function");
    let begins: Vec<usize> = (0..lines.len()).filter(|&at| at == 0 || is_begin(&lines[at])).collect();
    let mut found = HashSet::new();
    for (at, &begin) in begins.iter().enumerate() {
        let end = begins.get(at + 1).copied().unwrap_or(lines.len());
        in_function(&lines[begin..end], begin, &mut found);
    }
    found
}

fn in_function(lines: &[&str], first: usize, found: &mut HashSet<usize>) {
    let mut taken = None;
    // What was last put into the register that the hook gets the address in.
    let mut in_rdi = "";
    // The address of a variable that is not on the stack, if the instruction before computed one, and the register that it is in.
    let mut computed = ("", "");
    for (at, code) in lines.iter().enumerate() {
        let Some(name) = called(code) else {
            let before = std::mem::take(&mut computed);
            match split_last(operands(code)) {
                (from, "%rdi") if !from.is_empty() && from == before.1 => in_rdi = before.0,
                (from, register) if from.ends_with("(%rip)") && code.starts_with("leaq") && register != "%rdi" => {
                    computed = (from, register);
                }
                (from, "%rdi") if code.starts_with("leaq") || from.starts_with('%') => in_rdi = from,
                (_, "%rdi") => in_rdi = "",
                _ if code.ends_with(':') || jump(code).is_some() => in_rdi = "",
                _ => {}
            }
            continue;
        };
        let Some(what) = access(name).filter(|what| what & WRITE != 0) else {
            in_rdi = "";
            continue;
        };
        let register = std::mem::take(&mut in_rdi);
        let in_rdi = if register.starts_with('%') { "" } else { register };
        let is_through = KEPT.contains(&register) && writes_through(&lines[at + 1..], register, what & !WRITE);
        let may_be_announced = |operand: &str| {
            if is_through {
                return is_through_register(operand, register, what & !WRITE);
            }
            let taken = taken.get_or_insert_with(|| Taken::new(lines));
            !taken.is_stack(operand) || taken.may_hold(operand) && may_lie_at(operand, in_rdi, what & !WRITE)
        };
        if reads_before_writing(&lines[at + 1..], may_be_announced) {
            found.insert(first + at);
        }
    }
}

/// Whether an operand is a part of so many bytes from the address in a register.
fn is_through_register(operand: &str, register: &str, size: u32) -> bool {
    let place = base_and_offset(operand).filter(|_| !operand.contains(','));
    place.is_some_and(|(base, offset)| base == register && (0..i64::from(size)).contains(&offset))
}

/// Whether the instructions up to the next call or jump write a part of so many bytes from the address in a register, which they do not
/// change before.
fn writes_through(lines: &[&str], register: &str, size: u32) -> bool {
    for code in lines {
        if ends_run(code) {
            return false;
        }
        if code.starts_with(['.', '#']) || code.ends_with(':') {
            continue;
        }
        let access = inline_assembly::access(code, false).filter(|one| matches!(one.does, Does::Store | Does::Change));
        if access.is_some_and(|one| is_through_register(one.operand, register, size)) {
            return true;
        }
        if split_last(operands(code)).1 == register {
            return false;
        }
    }
    false
}

/// Whether an operand on the stack may be a part of so many bytes from the address in an operand, which is empty if that is not known.
fn may_lie_at(operand: &str, address: &str, size: u32) -> bool {
    match (base_and_offset(operand), base_and_offset(address)) {
        (Some((base, offset)), Some((from, begin)))
            if base == from && !operand.contains(',') && !address.contains(',') =>
        {
            (begin..begin + i64::from(size)).contains(&offset)
        }
        (_, Some(_)) => true,
        // Without a register of its own it is another variable's.
        (_, None) => address.is_empty(),
    }
}

/// Whether a line is no instruction that surely follows the one before it and is written by the compiler.
fn ends_run(code: &str) -> bool {
    let ends = |label: &str| is_label(label) && is_target(label);
    called(code).is_some() || jump(code).is_some() || code.strip_suffix(':').is_some_and(ends) || code == "#APP"
}

/// Whether the instructions up to the next call or jump read what they write, or write a part of it in place; `counts` says which operands
/// are looked at.
fn reads_before_writing(lines: &[&str], mut counts: impl FnMut(&str) -> bool) -> bool {
    let mut read: Vec<&str> = Vec::new();
    for code in lines {
        if ends_run(code) {
            return false;
        }
        if code.starts_with(['.', '#']) || code.ends_with(':') {
            continue;
        }
        match inline_assembly::access(code, false) {
            Some(one) if one.does == Does::Change && counts(one.operand) => return true,
            Some(one) if one.does == Does::Store && read.contains(&one.operand) && counts(one.operand) => return true,
            Some(one) if one.does == Does::Load => read.push(one.operand),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_partial(body: &[&str]) -> bool {
        let text = format!("\tcall\t__tsan_write4@PLT\n\t{}\n\tcall\tf\n", body.join("\n\t"));
        find(&text) == HashSet::from([0])
    }

    #[test]
    fn bits_are_written_into_what_is_there() {
        assert!(is_partial(&["orb\t$1, f(%rip)"]));
        assert!(is_partial(&["movl\tf(%rip), %eax", "andl\t$15, %eax", "orl\t%ebx, %eax", "movl\t%eax, f(%rip)"]));
        assert!(is_partial(&["movzbl\t(%rax), %edx", "orl\t$2, %edx", "movb\t%dl, (%rax)"]));
    }

    #[test]
    fn what_is_put_away_on_the_stack_is_no_part_of_the_word() {
        let function = |before: &str, after: &[&str]| {
            let after = after.join("\n\t");
            let head = format!("\t.type\tf, @function\nf:\n\t{before}\n");
            let text = format!("{head}\tcall\t__tsan_write4@PLT\n\t{after}\n\tcall\tg\n");
            find(&text) == HashSet::from([head.lines().count()])
        };
        let spill = ["movq\t16(%rsp), %rdx", "movq\t%rdi, 16(%rsp)", "movq\t%rdx, 40(%r15)"];
        assert!(!function("movq\t%rbx, %rdi", &spill));
        // The address of another variable is taken, below and above.
        assert!(!function("leaq\t24(%rsp), %rbx\n\tmovq\t%r12, %rdi", &spill));
        assert!(!function("leaq\t8(%rsp), %rdi", &spill));
        assert!(!function("leaq\tword(%rip), %rdi", &spill));
        // The word is written through the register that its address came from.
        assert!(!function(
            "leaq\t16(%rsp), %rax\n\tmovq\t%rbx, %rdi",
            &["movq\t16(%rsp), %rax", ".LVL7:", "movq\t%rax, (%rbx)", "movq\t$0, 16(%rsp)"]
        ));
        assert!(function(
            "leaq\t16(%rsp), %rbx\n\tmovq\t%rbx, %rdi",
            &["movl\t(%rbx), %eax", "orl\t$2, %eax", "movl\t%eax, (%rbx)"]
        ));
        assert!(function(
            "leaq\t16(%rsp), %rax\n\tmovq\t%rbx, %rdi",
            &["movq\t(%rbx), %rbx", "movq\t%rbx, (%rbx)", "orl\t$2, 16(%rsp)"]
        ));
        assert!(!function(
            "leaq\t24(%rsp), %rbx\n\tleaq\tword(%rip), %rax\n\tmovq\t%rax, %rdi",
            &["addl\t$1, 24(%rsp)"]
        ));
        // It may be this one's.
        assert!(function("leaq\t8(%rsp), %rbx\n\tmovq\t%rbx, %rdi", &spill));
        assert!(function("leaq\t16(%rsp), %rdi", &spill));
        assert!(function("leaq\t16(%rsp), %rdi", &["orb\t$2, 17(%rsp)"]));
        // The counter of a loop in code that is not optimised.
        let counter = ["movl\t%edx, (%rax)", "addl\t$1, -20(%rbp)"];
        assert!(!function("movq\t%rsp, %rbp\n\tmovq\t%rax, %rdi", &counter));
        assert!(function("movq\t%rax, %rdi", &counter), "without a frame that is no stack");
    }

    #[test]
    fn whole_words_are_only_written() {
        assert!(!is_partial(&["movl\t$1, f(%rip)"]));
        assert!(!is_partial(&["movl\tg(%rip), %eax", "movl\t%eax, f(%rip)"]));
        assert!(!is_partial(&["movl\t%eax, f(%rip)", "movl\tf(%rip), %edx"]));
        assert!(!is_partial(&["movl\tf(%rip), %eax", "jne\t.L3", "movl\t%eax, f(%rip)"]));
    }
}
