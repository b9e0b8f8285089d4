//! Writes of some bits of a word: gcc announces them as writes of the word, and not that the other bits are read and written again.
//!
//! The hook stands directly before the instructions that read and write, with no call between. If the word is read there and not only
//! written, what is written depends on what others wrote before.

use std::collections::HashSet;

use mayhap_wire::inline_assembly::Does;

use super::group::WRITE;
use super::loops::jump;
use super::{access, bare, called, inline_assembly, is_label, is_target};

/// The lines of the hooks of such writes.
pub(super) fn find(text: &str) -> HashSet<usize> {
    let lines: Vec<&str> = text.lines().map(bare).collect();
    let hooks = (0..lines.len()).filter(|&at| called(lines[at]).and_then(access).is_some_and(|what| what & WRITE != 0));
    hooks.filter(|&at| reads_before_writing(&lines[at + 1..])).collect()
}

/// Whether the instructions up to the next call or jump read what they write, or write a part of it in place.
fn reads_before_writing(lines: &[&str]) -> bool {
    let mut read: Vec<&str> = Vec::new();
    for code in lines {
        let ends = |label: &str| is_label(label) && is_target(label);
        if called(code).is_some() || jump(code).is_some() || code.strip_suffix(':').is_some_and(ends) || *code == "#APP"
        {
            return false;
        }
        if code.starts_with(['.', '#']) || code.ends_with(':') {
            continue;
        }
        match inline_assembly::access(code, false) {
            Some(one) if one.does == Does::Change => return true,
            Some(one) if one.does == Does::Store && read.contains(&one.operand) => return true,
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
    fn whole_words_are_only_written() {
        assert!(!is_partial(&["movl\t$1, f(%rip)"]));
        assert!(!is_partial(&["movl\tg(%rip), %eax", "movl\t%eax, f(%rip)"]));
        assert!(!is_partial(&["movl\t%eax, f(%rip)", "movl\tf(%rip), %edx"]));
        assert!(!is_partial(&["movl\tf(%rip), %eax", "jne\t.L3", "movl\t%eax, f(%rip)"]));
    }
}
