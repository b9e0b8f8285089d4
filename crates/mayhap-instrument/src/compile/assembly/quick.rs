//! Hooks that are part of the code: in loops, what the runtime's own hooks do where all is as it nearly always is stands in front of their
//! calls, and they are called where it is not. What they do, and why, is told in `mayhap-rt/src/places.rs`; what they know of
//! the runtime, in [`mayhap_wire::gate`].
//!
//! They may change what a call may change: registers that calls need not keep, and flags.

use std::fmt::Write;
use std::mem::offset_of;

use mayhap_wire::gate::{BASE, OWNER, RING, ROOM, SYMBOL};
use mayhap_wire::ring::{Header, unit};

/// The registers with the addresses of accesses that are announced together.
const ADDRESSES: [&str; 4] = ["%rdi", "%rdx", "%rcx", "%r8"];
const HEAD: usize = offset_of!(Header, head);
/// Where a place has what was accessed last.
const LAST: usize = 8;

/// One access of a hook.
pub(super) struct Accessed {
    /// What its place is called.
    pub(super) place: String,
    /// Its address is always as far from the first one's: so it has moved as far as that since they were announced together last.
    pub(super) follows: bool,
}

/// A hook that becomes part of the code.
pub(super) struct Quick {
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

impl Quick {
    /// Writes it. `behind`: it is only come to from other such hooks, which left the ring in `%r9`, its head in `%r10` and where
    /// its units are in `%r11`. The runtime's hooks leave the same there, or what is no ring.
    pub(super) fn write(&self, out: &mut String, behind: bool) {
        let Quick { number, places, may_repeat, call, .. } = self;
        let half = unit::HALF;
        // Writing to a string never fails.
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
        let _ = write!(out, "\taddq\t${}, %r10\n\tmovq\t%r10, {HEAD}(%r9)\n", places.len());
        for (Accessed { place, .. }, address) in places.iter().zip(ADDRESSES) {
            let _ = writeln!(out, "\tmovq\t{address}, {place}+{LAST}(%rip)");
        }
        let _ = write!(out, "\tjmp\t.LMHd{number}\n.LMHs{number}:\n{call}.LMHd{number}:\n");
    }
}
