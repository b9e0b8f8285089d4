//! Hooks that are part of the code: in loops, what the runtime's own hooks do where all is as it nearly always is stands in front of their
//! calls, and they are called where it is not. What they do, and why, is described in `mayhap-rt/src/outlined_hooks.rs`; what they know of
//! the runtime, in [`mayhap_wire::fast_path`]. Each also gets an entry in the
//! module's table of inline hooks, by which the runtime finds one that a signal interrupted.
//!
//! They may change what a call may change: registers that calls need not keep, and flags.

use std::fmt::Write;
use std::mem::offset_of;

use mayhap_wire::fast_path::{
    self, BASE, NOTE_NAME, NOTE_SECTION, NOTE_TYPE, OWNER, PLACE_LAST as LAST, RING, ROOM, SYMBOL,
};
use mayhap_wire::ring::{Header, unit};

/// The registers with the addresses of accesses that are announced together.
const ADDRESSES: [&str; 4] = ["%rdi", "%rdx", "%rcx", "%r8"];
const HEAD: usize = offset_of!(Header, head);

/// One access of a hook.
pub(super) struct Accessed {
    /// What its place is called.
    pub(super) place: String,
    /// Its address is always as far from the first one's: so it has moved as far as that since they were announced together last.
    pub(super) follows: bool,
}

/// A hook that becomes part of the code.
pub(super) struct InlineHook {
    /// Where it is to be in what was written.
    pub(super) at: usize,
    /// The line that it stands for.
    pub(super) line: usize,
    /// That of its first access.
    pub(super) number: usize,
    pub(super) places: Vec<Accessed>,
    /// There is one, a read that may come again before any other access does.
    pub(super) may_repeat: bool,
    /// The call that stands for it otherwise.
    pub(super) call: String,
}

impl InlineHook {
    /// Writes it. `behind`: every path here passes another inline hook, which left the ring in `%r9`, its head in `%r10` and where
    /// its units are in `%r11`. The runtime's hooks leave the same there, or what is no ring.
    pub(super) fn write(&self, out: &mut String, behind: bool) {
        let InlineHook { number, places, may_repeat, call, .. } = self;
        let half = unit::HALF;
        // Writing to a string never fails.
        let _ = writeln!(out, ".LMHb{number}:");
        let _ = if behind {
            write!(out, "\tcmpq\t{HEAD}(%r9), %r10\n\tjne\t.LMHs{number}\n")
        } else {
            // The other register may have an address.
            let own = if places.len() == 1 { "%rcx" } else { "%rax" };
            write!(
                out,
                "\tmovq\t{SYMBOL}@GOTPCREL(%rip), %r11\n\tmovq\t%fs:0, {own}\n\tmovq\t{RING}(%r11), %r9\n\
                 \tcmpq\t{OWNER}(%r11), {own}\n\tjne\t.LMHs{number}\n\tmovq\t{HEAD}(%r9), %r10\n\
                 \tcmpq\t{ROOM}(%r11), %r10\n\tjae\t.LMHs{number}\n\tmovq\t{BASE}(%r11), %r11\n"
            )
        };
        let leads = places.iter().any(|access| access.follows);
        for (nth, (Accessed { place, follows }, address)) in places.iter().zip(ADDRESSES).enumerate() {
            let _ = if *follows {
                write!(out, "\tmovl\t%esi, %eax\n\torl\t{place}(%rip), %eax\n")
            } else {
                write!(
                    out,
                    "\tleaq\t{half}({address}), %rax\n\tsubq\t{place}+{LAST}(%rip), %rax\n\
                     \tcmpq\t${}, %rax\n\tja\t.LMHs{number}\n{}\torl\t{place}(%rip), %eax\n",
                    2 * half - 1,
                    if nth == 0 && leads { "\tmovl\t%eax, %esi\n" } else { "" }
                )
            };
            if *may_repeat {
                let _ = write!(
                    out,
                    "\tcmpl\t%eax, -4(%r11,%r10,4)\n\tjne\t.LMHw{number}\n\tcmpq\t%rdi, {place}+{LAST}(%rip)\n\
                     \tje\t.LMHs{number}\n.LMHw{number}:\n"
                );
            }
            let _ = writeln!(out, "\tmovl\t%eax, {}(%r11,%r10,4)", 4 * nth);
        }
        let _ = write!(out, "\taddq\t${}, %r10\n.LMHc{number}:\n\tmovq\t%r10, {HEAD}(%r9)\n", places.len());
        for (Accessed { place, .. }, address) in places.iter().zip(ADDRESSES) {
            let _ = writeln!(out, "\tmovq\t{address}, {place}+{LAST}(%rip)");
        }
        let _ = write!(out, ".LMHe{number}:\n\tjmp\t.LMHd{number}\n.LMHs{number}:\n{call}.LMHd{number}:\n");
    }

    /// Writes its entry in the module's table of inline hooks. `anchor` is a hook in the same section of code: the linker keeps or
    /// drops the entry together with that section.
    pub(super) fn describe(&self, out: &mut String, anchor: usize) {
        let InlineHook { number, places, .. } = self;
        let place = &places[0].place;
        let _ = write!(
            out,
            "\t.pushsection\t{NOTE_SECTION},\"ao?\",@note,.LMHb{anchor}\n\t.balign\t4\n\t.long\t{}, {}, {NOTE_TYPE}\n\
             \t.asciz\t\"{NOTE_NAME}\"\n\t.long\t.LMHb{number}-.\n\t.word\t.LMHc{number}-.LMHb{number}, .LMHe{number}-.LMHb{number}\n\
             \t.long\t{place}-.\n\t.long\t{}\n\t.popsection\n",
            NOTE_NAME.len() + 1,
            size_of::<fast_path::InlineHook>(),
            places.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::rewrite;

    /// Each inline hook has an entry, which is linked to the section of its code.
    #[test]
    fn every_inline_hook_is_described() {
        let access = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read4@PLT\n\tjne\t.L";
        let text = [
            "f:\n.L1:\n".to_owned(),
            format!("{access}1\n{access}1\n"),
            format!("\t.section\t.text.g,\"axG\",@progbits,g,comdat\ng:\n.L2:\n{access}2\n"),
        ];
        let out = rewrite(&text.concat(), &HashSet::new()).unwrap();
        let sections: Vec<&str> = out.lines().filter(|line| line.contains(".pushsection")).collect();
        let expected = [0, 0, 2].map(|anchor| format!("\t.pushsection\tmayhap.hooks,\"ao?\",@note,.LMHb{anchor}"));
        assert_eq!(sections, expected);
        let entry: Vec<&str> = out.lines().skip_while(|line| *line != expected[2]).skip(1).take(8).collect();
        let rest =
            ["\t.long\t.LMHb2-.", "\t.word\t.LMHc2-.LMHb2, .LMHe2-.LMHb2", "\t.long\t.LMHsites+48-.", "\t.long\t1"];
        assert_eq!(entry[..3], ["\t.balign\t4", "\t.long\t8, 16, 1", "\t.asciz\t\"mayhap!\""]);
        assert_eq!((&entry[3..7], entry[7]), (&rest[..], "\t.popsection"));
        for label in ["b", "c", "e", "s", "d"] {
            for number in 0..3 {
                assert!(out.contains(&format!(".LMH{label}{number}:\n")), "{label} {number}");
            }
        }
    }
}
