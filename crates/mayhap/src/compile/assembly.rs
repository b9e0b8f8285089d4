//! What `mayhap cc` does to the assembly that gcc writes, before the assembler sees it.
//!
//! gcc's hooks for accesses get nothing but an address. Here each call of one is made a call of a hook that also gets a word of
//! its own for the number of its site, and whose name says whether the access comes behind the beginning of a basic block; so
//! the compiler need not be asked for hooks at basic blocks, which cost as much as those of the accesses.
//!
//! A *block* begins at each label that is jumped to, behind each jump and each return. In a straight stretch of code from there on
//! the first thing that matters says that a block was entered:
//! - an access says so by the name of its hook (`_block`);
//! - before any other call, a jump out of the function and a return a hook says it that changes no register. Of accesses
//!   behind calls it is known when they happen, by what such hooks said (`_call`).
//!
//! So every event that comes behind a decision has a branch before it, as with hooks at all basic blocks. What
//! decided is not looked at: more branches than needed make reorderings fewer, never wrong. Inline assembly ends a stretch.
//!
//! gcc writes AT&T syntax, one label or instruction a line. The hooks of accesses may change the registers that any call may
//! change. What stands below the stack pointer is not in use at calls, returns and jumps to other functions; at jumps through
//! registers it may be, and is spared. Functions that the loader calls to choose others (`ifunc`) run before hooks can be called,
//! and are left alone.

use std::collections::HashSet;
use std::fmt::Write;

/// What is known about how control came to a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// A block began, and nothing has said so.
    Block,
    /// A call returned, which may have entered blocks.
    Call,
    /// An access that said so.
    Nothing,
}

/// The hooks' names without what they do and how much of it.
const HOOKS: [&str; 2] = ["__tsan_", "__tsan_volatile_"];

/// The assembly with other hooks; `None` where it calls none. (All code that gcc instruments calls `__tsan_init`.)
pub fn rewrite(text: &str) -> Option<String> {
    if !text.contains("__tsan_") {
        return None;
    }
    let mut writer = Writer { out: String::with_capacity(text.len() * 5 / 4), behind: Behind::Block, sites: 0 };
    let early = resolvers(text);
    let (mut inline, mut is_early) = (false, false);
    for line in text.lines() {
        if let Some(label) = line.strip_suffix(':').filter(|label| is_label(label) && !label.starts_with(".L")) {
            is_early = early.contains(label);
        }
        match line.trim() {
            _ if is_early => {}
            "#APP" => inline = true,
            "#NO_APP" => {
                inline = false;
                writer.behind = Behind::Block;
            }
            code if !inline && writer.take(code) => continue,
            _ => {}
        }
        writer.line(line);
    }
    if writer.sites > 0 {
        let bytes = 4 * writer.sites;
        // Writing to a string never fails.
        let _ = write!(
            writer.out,
            "\t.section\t.bss.mayhap_sites,\"aw\",@nobits\n\t.balign\t4\n.LMHsites:\n\t.zero\t{bytes}\n"
        );
    }
    Some(writer.out)
}

struct Writer {
    out: String,
    behind: Behind,
    sites: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Looks at a line, puts before it what must be; whether it was written in another form.
    fn take(&mut self, code: &str) -> bool {
        if let Some((label, _)) = code.split_once(':').filter(|(label, _)| is_label(label)) {
            if is_target(label) {
                self.behind = Behind::Block;
            }
            return false;
        }
        let mut words = code.split_whitespace();
        let mut first = words.next().unwrap_or("");
        while let "rep" | "repz" | "notrack" | "bnd" | "lock" = first {
            first = words.next().unwrap_or("");
        }
        let operand = words.next().unwrap_or("");
        match first {
            "call" | "callq" => return self.call(operand),
            "ret" | "retq" => {
                self.tell();
                self.behind = Behind::Block;
            }
            "jmp" | "jmpq" if operand.starts_with('*') => {
                if self.behind == Behind::Block {
                    self.line("\tleaq\t-128(%rsp), %rsp");
                    self.tell();
                    self.line("\tleaq\t128(%rsp), %rsp");
                }
                self.behind = Behind::Block;
            }
            "jmp" | "jmpq" if !operand.starts_with(".L") => {
                self.tell();
                self.behind = Behind::Block;
            }
            jump if jump.starts_with('j') => self.behind = Behind::Block,
            _ => {}
        }
        false
    }

    fn call(&mut self, operand: &str) -> bool {
        let name = operand.strip_suffix("@PLT").unwrap_or(operand);
        if let Some(access) = access(name) {
            let suffix = match self.behind {
                Behind::Block => "_block",
                Behind::Call => "_call",
                Behind::Nothing => "",
            };
            let place = 4 * self.sites;
            let _ = write!(
                self.out,
                "\tleaq\t.LMHsites+{place}(%rip), %rsi\n\tcall\t*__mayhap_{access}{suffix}@GOTPCREL(%rip)\n"
            );
            self.sites += 1;
            self.behind = Behind::Nothing;
            return true;
        }
        // What functions are entered and left is no decision.
        if !matches!(name, "__tsan_func_entry" | "__tsan_func_exit" | "__tsan_init") {
            self.tell();
            self.behind = Behind::Call;
        }
        false
    }

    /// Says that a block was entered, before something that is no access.
    fn tell(&mut self) {
        if self.behind == Behind::Block {
            self.line("\tcall\t*__mayhap_entered@GOTPCREL(%rip)");
        }
    }
}

/// What a hook of an access announces: `read4`.
fn access(name: &str) -> Option<&str> {
    let access = HOOKS.iter().find_map(|prefix| name.strip_prefix(prefix).filter(|rest| is_access(rest)))?;
    Some(access)
}

fn is_access(name: &str) -> bool {
    let size = name.strip_prefix("read").or_else(|| name.strip_prefix("write"));
    matches!(size, Some("1" | "2" | "4" | "8" | "16"))
}

fn is_label(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"._$\"".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Labels of gcc's own that nobody jumps to have letters behind `.L`.
fn is_target(label: &str) -> bool {
    label.strip_prefix(".L").is_none_or(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The functions that choose others when the program is loaded.
fn resolvers(text: &str) -> HashSet<&str> {
    if !text.contains("@gnu_indirect_function") {
        return HashSet::new();
    }
    let pairs = |directive| {
        let rest = text.lines().filter_map(move |line| line.trim().strip_prefix(directive));
        rest.filter_map(|rest| rest.split_once(',')).map(|(name, what)| (name.trim(), what.trim()))
    };
    let chosen: HashSet<&str> =
        pairs(".type").filter(|(_, what)| *what == "@gnu_indirect_function").map(|(name, _)| name).collect();
    pairs(".set").filter(|(name, _)| chosen.contains(name)).map(|(_, resolver)| resolver).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(lines: &[&str]) -> Vec<String> {
        let out = rewrite(&lines.join("\n")).unwrap();
        out.lines().map(|line| line.trim().replace('\t', " ")).filter(|line| !line.starts_with("leaq")).collect()
    }

    fn hook(name: &str) -> String {
        format!("call *__mayhap_{name}@GOTPCREL(%rip)")
    }

    const TELL: &str = "call *__mayhap_entered@GOTPCREL(%rip)";

    #[test]
    fn the_first_access_of_a_block_says_so() {
        let out = rewritten(&[
            "f:",
            ".LFB0:",
            "call\t__tsan_func_entry",
            "call\t__tsan_read4@PLT",
            ".LVL1:",
            "call\t__tsan_write16",
            "testl\t%eax, %eax",
            "jne\t.L3",
            "call\t__tsan_volatile_write8",
            ".L3:",
            "call\t__tsan_read1",
        ]);
        let hooks: Vec<&String> = out.iter().filter(|line| line.contains("__mayhap")).collect();
        assert_eq!(hooks, [&hook("read4_block"), &hook("write16"), &hook("write8_block"), &hook("read1_block")]);
        assert!(out.ends_with(&[".balign 4".into(), ".LMHsites:".into(), ".zero 16".into()]));
    }

    #[test]
    fn before_anything_else_the_word_is_set() {
        let out = rewritten(&["f:", "call\tputs@PLT", "call\t__tsan_read4", "call\tputs", "ret", ".L2:", "rep ret"]);
        let expected = ["f:", TELL, "call puts@PLT", &hook("read4_call"), "call puts", "ret", ".L2:", TELL, "rep ret"];
        assert_eq!(out[..expected.len()], expected);
        let out = rewritten(&["f:", "call\t__tsan_write_range", "jmp\t*%r11", "g:", "jmp\tother", ".L5:", "jmp\t.L5"]);
        let expected = ["f:", TELL, "call __tsan_write_range", "jmp *%r11", "g:", TELL, "jmp other", ".L5:", "jmp .L5"];
        assert_eq!(out, expected);
    }

    #[test]
    fn jumps_through_registers_spare_what_is_below_the_stack() {
        let out =
            rewritten(&["f:", "call\t__tsan_read4", "je\t.L2", "notrack jmp\t*%rax", ".L2:", "jmp\t*.L4(,%rax,8)"]);
        let spared = ["leaq -128(%rsp), %rsp", TELL, "leaq 128(%rsp), %rsp"];
        let all = rewrite("f:\n\tcall\t__tsan_read4\n\tje\t.L2\n\tnotrack jmp\t*%rax\n").unwrap();
        assert_eq!(out.iter().filter(|line| *line == TELL).count(), 2);
        assert!(all.replace('\t', " ").contains(&format!(" {}\n notrack", spared.join("\n "))), "{all}");
    }

    #[test]
    fn what_the_loader_calls_is_left_alone() {
        let text =
            "choose:\n\tcall\t__tsan_read4\n\tret\n\t.type\tf, @gnu_indirect_function\n\t.set\tf,choose\ng:\n\tret\n";
        let out = rewrite(text).unwrap();
        assert!(out.starts_with("choose:\n\tcall\t__tsan_read4\n\tret\n"), "{out}");
        assert!(out.contains("g:\n\tcall\t*__mayhap_entered"), "{out}");
    }

    #[test]
    fn inline_assembly_is_left_alone_and_ends_a_stretch() {
        let out = rewritten(&[
            "f:",
            "call\t__tsan_read4",
            "#APP",
            "1: call\t__tsan_read4; jmp 1b",
            "#NO_APP",
            "call\t__tsan_read4",
        ]);
        assert_eq!(out[1..5], [&hook("read4_block"), "#APP", "1: call __tsan_read4; jmp 1b", "#NO_APP"]);
        assert_eq!(out[5], hook("read4_block"));
    }

    #[test]
    fn assembly_without_hooks_stays_as_it_is() {
        assert_eq!(rewrite("main:\n\tcall\tputs\n\tret\n"), None);
    }
}
