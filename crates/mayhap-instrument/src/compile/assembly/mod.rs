//! What `mayhap cc` does to the assembly that gcc and clang write, before the assembler sees it.
//!
//! The compilers' hooks for accesses get nothing but an address. Here each call of one is made a call of a hook that also gets a *place*:
//! memory of its own that says what the access is, and keeps its number. It also says whether the access comes after the
//! beginning of a basic block; so the compiler need not be asked for hooks at basic blocks, which cost as much as those of the accesses.
//!
//! A *block* begins at each label that is jumped to, after each jump and each return. In a straight stretch of code from there on
//! the first thing that matters says that a block was entered:
//! - an access says so in its place;
//! - before any other call, a jump out of the function and a return a hook says it that changes no register. Of accesses
//!   after calls it is known when they happen, by what such hooks said (`_call`).
//!
//! So every event that comes after a decision has a branch before it, as with hooks at all basic blocks. What
//! decided is not looked at: more branches than needed make reorderings fewer, never wrong. Inline assembly ends a stretch.
//!
//! Accesses of one stretch are announced together where their addresses are known early enough ([`group`]). Before calls of functions
//! that are elsewhere, a hook says that all that was announced is done ([`uninstrumented_calls`]): they may take long, or wait.
//!
//! Both write AT&T syntax, one label or instruction a line. The hooks of accesses may change the registers that any call may
//! change. What stands below the stack pointer is not in use at calls, returns and jumps to other functions; at jumps through
//! registers it may be, and is spared. Functions that the loader calls to choose others (`ifunc`) run before hooks can be called,
//! and are left alone. Nothing may come between the instructions that the address of a thread's variable is asked with
//! (`__tls_get_addr`): the linker looks for them as they are.

mod group;
mod hook_chains;
mod inline_assembly;
mod inline_hooks;
mod instruction;
#[cfg(test)]
mod loop_tests;
mod loops;
mod partial_writes;
#[cfg(test)]
mod tests;
mod unhooked_locals;
mod uninstrumented_calls;

use std::collections::{HashMap, HashSet};

use group::{BEHIND_BLOCK, BEHIND_CALL, Group, Often, WRITE};
use hook_chains::Announces;
use inline_hooks::InlineHook;
use instruction::{RDI, Registers};
use loops::Loops;
use mayhap_wire::inline_assembly::Does;
use uninstrumented_calls::{Call, UninstrumentedCalls};

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
const HOOKS: [&str; 4] = ["__tsan_", "__tsan_volatile_", "__tsan_unaligned_", "__tsan_unaligned_volatile_"];

/// How the names of functions begin that stand for jumps through registers.
const THUNKS: [&str; 3] = ["__x86_indirect_thunk_", "__llvm_retpoline_", "__llvm_lvi_thunk_"];

/// Directives that may stand between the accesses of a group.
const HARMLESS: [&str; 5] = [".loc", ".cfi_", ".p2align", ".align", ".balign"];

/// The assembly with other hooks; `None` where it calls none. (All code that gcc instruments calls `__tsan_init`.) `in_front` are
/// the functions that the runtime stands in front of.
pub fn rewrite(text: &str, in_front: &HashSet<&str>) -> Option<String> {
    if !text.contains("__tsan_") {
        return None;
    }
    let mut writer = Writer {
        out: String::with_capacity(text.len() * 3 / 2),
        places: String::new(),
        behind: Behind::Block,
        sites: 0,
        group: None,
        uninstrumented: UninstrumentedCalls::new(text, in_front),
        loops: Loops::new(text),
        inline_hooks: Vec::new(),
        announces: HashMap::new(),
        registers: Registers::new(),
        unhooked: unhooked_locals::find(text),
        partial: partial_writes::find(text),
        number: 0,
        source: None,
        in_function: false,
        in_section: false,
    };
    let early = resolvers(text);
    let (mut inline, mut is_early) = (false, false);
    for (number, line) in text.lines().enumerate() {
        writer.number = number;
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
            code if !inline => {
                writer.note_function(code);
                if let Some(access) = writer.unhooked.remove(&number) {
                    writer.close();
                    writer.inline_hook(&access);
                }
                writer.take(line, code);
                continue;
            }
            code if writer.in_function => {
                writer.take_inline(line, code);
                continue;
            }
            _ => {}
        }
        writer.close();
        writer.line(line);
    }
    writer.close();
    let places = std::mem::take(&mut writer.places);
    let sites = writer.sites;
    let mut out = writer.finish();
    if sites > 0 {
        out.push_str("\t.section\t.data.mayhap_sites,\"aw\",@progbits\n\t.balign\t8\n.LMHsites:\n");
        out.push_str(&places);
    }
    Some(out)
}

struct Writer<'a> {
    out: String,
    /// What is written to the section of places.
    places: String,
    behind: Behind,
    /// How many places there are, without those of the group.
    sites: usize,
    /// The accesses that may get company.
    group: Option<Group<'a>>,
    uninstrumented: UninstrumentedCalls<'a>,
    loops: Loops<'a>,
    /// Hooks that become part of the code.
    inline_hooks: Vec<InlineHook>,
    /// The lines that are those, or were announced by others.
    announces: HashMap<usize, Announces>,
    /// What they hold where there is no group.
    registers: Registers<'a>,
    /// The accesses to local variables that the compiler gave no hook, by their lines.
    unhooked: HashMap<usize, inline_assembly::Access<'a>>,
    /// The lines of hooks of writes that keep some bits of what was there.
    partial: HashSet<usize>,
    /// Of the line.
    number: usize,
    /// File and line of the last place in the source that has a line.
    source: Option<String>,
    /// The line is inside a function: assembly there is code.
    in_function: bool,
    /// Inline assembly has gone to another section.
    in_section: bool,
}

impl<'a> Writer<'a> {
    fn line(&mut self, line: &str) {
        match &mut self.group {
            Some(group) => group.line(line),
            None => {
                self.out.push_str(line);
                self.out.push('\n');
            }
        }
    }

    /// All that was written, with the hooks that are part of the code.
    fn finish(mut self) -> String {
        let counts = self.inline_hooks.iter().map(|hook| (hook.line, Announces::InlineHook(hook.places.len() as u64)));
        self.announces.extend(counts);
        let behind = hook_chains::find(&self.loops, &self.announces);
        let mut out = String::with_capacity(self.out.len() + 500 * self.inline_hooks.len());
        let mut done = 0;
        let mut anchor = None;
        for hook in &self.inline_hooks {
            let between = &self.out[done..hook.at];
            out.push_str(between);
            if between.lines().any(changes_section) {
                anchor = None;
            }
            hook.write(&mut out, behind.contains(&hook.line));
            hook.describe(&mut out, *anchor.get_or_insert(hook.number));
            done = hook.at;
        }
        out.push_str(&self.out[done..]);
        out
    }

    /// Ends the group, and the stretch of code in which it is known what registers hold.
    fn close(&mut self) {
        self.registers = Registers::new();
        if let Some(group) = self.group.take() {
            self.sites += group.close(&mut self.out, &mut self.places, &mut self.inline_hooks);
        }
    }

    /// Writes a line, or what stands for it, and before it what must be.
    fn take(&mut self, line: &str, code: &'a str) {
        let code = bare(code);
        if let Some((label, behind)) = code.split_once(':').filter(|(label, _)| is_label(label)) {
            if is_target(label) || self.loops.is_mentioned(label) || !behind.is_empty() {
                self.close();
                self.behind = Behind::Block;
            }
            return self.line(line);
        }
        if let Some(place) = code.strip_prefix(".loc") {
            return self.source_line(line, place);
        }
        if code.starts_with('.') {
            if !HARMLESS.iter().any(|harmless| code.starts_with(harmless)) {
                self.close();
            }
            return self.line(line);
        }
        let mut words = code.split_whitespace();
        let mut first = words.next().unwrap_or("");
        while let "rep" | "repz" | "notrack" | "bnd" | "lock" = first {
            first = words.next().unwrap_or("");
        }
        let operand = words.next().unwrap_or("");
        match first {
            "" => {}
            // Clang's own assembler takes the prefix by itself, others warn of it.
            "data16" if operand.is_empty() => {
                self.close();
                return self.line("\t.byte\t0x66");
            }
            "call" | "callq" => return self.call(line, operand),
            "ret" | "retq" => {
                self.close();
                self.mark_entered();
                self.behind = Behind::Block;
            }
            jump if jump.starts_with('j') => {
                self.close();
                if matches!(jump, "jmp" | "jmpq") {
                    self.jump(operand);
                }
                self.behind = Behind::Block;
            }
            _ => {
                if let Some(group) = &mut self.group {
                    if group.instruction(line, code) {
                        return;
                    }
                    self.close();
                } else if self.registers.follow(code).is_none() {
                    self.registers = Registers::new();
                }
            }
        }
        self.line(line);
    }

    /// Writes what line of the source follows. Code that clang merged or made anew has line 0, which GNU's assembler passes over: such code would seem to
    /// be at the column of the statement before. It gets that statement's line, and no column.
    fn source_line(&mut self, line: &str, place: &str) {
        let mut words = place.split_whitespace();
        let (file, number) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        match &self.source {
            Some(last) if number == "0" => self.line(&format!("\t.loc\t{last} 0")),
            _ => self.line(line),
        }
        if number != "0" {
            self.source = Some(format!("{file} {number}"));
        }
    }

    /// Notes where functions begin and end.
    fn note_function(&mut self, code: &str) {
        if code.starts_with(".cfi_startproc") || code.starts_with(".type") && code.ends_with("@function") {
            self.in_function = true;
        } else if code.starts_with(".cfi_endproc") || code.starts_with(".size") {
            self.in_function = false;
        }
    }

    /// Writes a line of inline assembly, and before each instruction what must be.
    fn take_inline(&mut self, line: &str, code: &str) {
        self.close();
        let code = bare(code);
        if code.is_empty() || code.starts_with('#') {
            return self.line(line);
        }
        if code.starts_with('.') || self.in_section {
            // Code that stands there as bytes cannot be read.
            let is_code =
                [".byte", ".long", ".quad", ".insn", ".macro", ".intel_syntax"].iter().any(|d| code.starts_with(d));
            if is_code && !self.in_section {
                self.inline_hook(&inline_assembly::Access::unknown());
            }
            self.in_section |= [".pushsection", ".section", ".subsection"].iter().any(|d| code.starts_with(d));
            self.in_section &= ![".popsection", ".previous", ".text"].iter().any(|d| code.starts_with(d));
            return self.line(line);
        }
        let Some(instructions) = inline_assembly::instructions(code) else {
            self.inline_hook(&inline_assembly::Access::unknown());
            return self.line(line);
        };
        for instruction in instructions {
            if let Some(access) = inline_assembly::access(instruction.code, instruction.locked) {
                self.inline_hook(&access);
            }
            if instruction.label || instruction.code.starts_with('j') {
                self.behind = Behind::Block;
            }
            self.line(&instruction.text);
        }
    }

    fn inline_hook(&mut self, access: &inline_assembly::Access<'_>) {
        let mut hook = String::new();
        // Of what a compiler wrote it is known after calls, too, which blocks they entered.
        let is_compiled = matches!(access.does, Does::Read | Does::Write | Does::ReadAndWrite);
        let entered = self.behind == Behind::Block || self.behind == Behind::Call && !is_compiled;
        inline_assembly::write_hook(access, entered, &mut hook);
        self.out.push_str(&hook);
        self.behind = Behind::Nothing;
    }

    /// What comes before a jump.
    fn jump(&mut self, operand: &str) {
        let call = self.uninstrumented.call(function(operand));
        let may_be_inside = operand.starts_with('*') || THUNKS.iter().any(|thunk| operand.starts_with(thunk));
        if may_be_inside && (call != Call::Stays || self.behind == Behind::Block) {
            self.line("\tleaq\t-128(%rsp), %rsp");
            self.mark_entered();
            self.leave(call);
            self.line("\tleaq\t128(%rsp), %rsp");
        } else if !may_be_inside && !operand.starts_with(".L") {
            self.mark_entered();
            self.leave(call);
        }
    }

    fn call(&mut self, line: &str, operand: &str) {
        let name = function(operand);
        if let Some(what) = access(name) {
            if self.partial.contains(&self.number) {
                self.close();
                let size = (what & !WRITE) as u8;
                self.inline_hook(&inline_assembly::Access { does: Does::Read, size, order: 0, operand: "(%rdi)" });
            }
            let behind = match self.behind {
                Behind::Block => BEHIND_BLOCK,
                Behind::Call => BEHIND_CALL,
                Behind::Nothing => 0,
            };
            if self.group.as_mut().is_some_and(|group| group.access(what)) {
                self.announces.insert(self.number, Announces::Nothing);
            } else {
                let address = self.group.as_ref().map_or(&self.registers, Group::registers).now(RDI);
                self.close();
                let often = self.loops.contain(self.number).then(|| Often {
                    line: self.number,
                    may_repeat: what & WRITE == 0 && self.loops.may_repeat(self.number),
                });
                self.group = Some(Group::new(self.sites, what | behind, address, often));
            }
            self.behind = Behind::Nothing;
            return;
        }
        self.close();
        // What functions are entered and left is no decision.
        if !matches!(name, "__tsan_func_entry" | "__tsan_func_exit" | "__tsan_init" | "__tls_get_addr") {
            self.mark_entered();
            self.leave(self.uninstrumented.call(name));
            self.behind = Behind::Call;
        }
        self.line(line);
    }

    /// Says that a block was entered, before something that is no access.
    fn mark_entered(&mut self) {
        if self.behind == Behind::Block {
            self.line("\tcall\t*__mayhap_entered@GOTPCREL(%rip)");
        }
    }

    fn leave(&mut self, call: Call) {
        match call {
            Call::Stays => {}
            Call::Leaves => self.line("\tcall\t*__mayhap_leaving@GOTPCREL(%rip)"),
            Call::Unseen => self.line("\tcall\t*__mayhap_leaving_unseen@GOTPCREL(%rip)"),
        }
    }
}

/// Whether code after the line may be in another section than code before it.
fn changes_section(line: &str) -> bool {
    let line = line.trim_start();
    [".section", ".text", ".pushsection", ".popsection", ".previous", ".subsection"]
        .iter()
        .any(|name| line.starts_with(name))
}

/// The function that is called or jumped to, as far as its name stands there.
fn function(operand: &str) -> &str {
    let from_table = operand.strip_prefix('*').and_then(|operand| operand.strip_suffix("@GOTPCREL(%rip)"));
    from_table.unwrap_or_else(|| operand.strip_suffix("@PLT").unwrap_or(operand))
}

/// The function that an instruction calls.
fn called(code: &str) -> Option<&str> {
    let (name, operand) = code.split_once(['\t', ' '])?;
    matches!(name, "call" | "callq").then(|| function(operand.trim()))
}

/// What a hook announces, as its place says it: size, and whether it is a write.
fn access(name: &str) -> Option<u32> {
    HOOKS.iter().find_map(|prefix| {
        let name = name.strip_prefix(prefix)?;
        let (size, write) = match name.strip_prefix("write") {
            Some(size) => (size, WRITE),
            None => (name.strip_prefix("read")?, 0),
        };
        matches!(size, "1" | "2" | "4" | "8" | "16").then(|| size.parse::<u32>().ok().map(|size| size | write))?
    })
}

fn is_label(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"._$\"".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Labels that jumps may lead to: of the compilers' own, gcc's are `.L12` and clang's `.LBB1_2`. Others have other letters after `.L`.
fn is_target(label: &str) -> bool {
    let is_digit = |first: char| first.is_ascii_digit();
    label.strip_prefix(".L").is_none_or(|rest| {
        rest.starts_with(is_digit)
            || rest.strip_prefix("BB").is_some_and(|rest| rest.starts_with(is_digit) && rest.contains('_'))
    })
}

/// A line without the space around it, and without the comment at its end. Two comments are none: they stand around inline assembly.
fn bare(line: &str) -> &str {
    let line = line.trim();
    match line.find('#') {
        Some(at) if !line.contains('"') && !matches!(line, "#APP" | "#NO_APP") => line[..at].trim_end(),
        _ => line,
    }
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
