//! Accesses that are announced together: the first one's hook gets the addresses of those that follow in the same straight stretch
//! of code, where they can be computed from registers that calls keep.
//!
//! The token passes at hooks only, so nothing of another thread comes between the accesses of a group, whether they
//! are announced at once or one by one. A replay may want a thread to stop before any one access (`mayhap_apart` is not 0 then):
//! so the hooks of later ones stay where they were, after a jump over them.

use std::fmt::Write;
use std::ops::Range;

use mayhap_wire::fast_path::PLACE_BYTES;

use super::inline_hooks::{Accessed, InlineHook};
use super::instruction::{R8, RAX, RCX, RDI, RDX, Register, Registers, Value};

/// Where hooks get the addresses of all accesses but the first.
const ADDRESSES: [Register; 3] = [RDX, RCX, R8];

/// What is said of an access in its place: its size, and these.
pub(super) const WRITE: u32 = 1 << 8;
pub(super) const BEHIND_BLOCK: u32 = 1 << 9;
pub(super) const BEHIND_CALL: u32 = 1 << 10;

/// The first access of a group, those that follow, and the text after the first one's hook.
pub(super) struct Group<'a> {
    /// The first one's place.
    first: usize,
    /// What is said of each access.
    what: Vec<u32>,
    /// The first one's address, where it is known.
    address: Option<Value<'a>>,
    /// The addresses of all but the first.
    addresses: Vec<Value<'a>>,
    registers: Registers<'a>,
    /// What set `%rdi`, if it could as well be done later.
    setter: Option<Setter>,
    held: String,
    /// Where it is in a loop.
    often: Option<Often>,
}

/// Of accesses in a loop.
pub(super) struct Often {
    /// Where the first is announced.
    pub(super) line: usize,
    /// The first is a read that may be the next access too.
    pub(super) may_repeat: bool,
}

/// An instruction that sets `%rdi`.
struct Setter {
    /// Where it stands in the text.
    line: Range<usize>,
    /// What registers it reads, a bit each.
    read: u16,
}

impl<'a> Group<'a> {
    /// A group whose first access is at this place.
    pub(super) fn new(first: usize, what: u32, address: Option<Value<'a>>, often: Option<Often>) -> Self {
        Group {
            first,
            what: vec![what],
            address,
            addresses: Vec::new(),
            registers: Registers::new(),
            setter: None,
            held: String::new(),
            often,
        }
    }

    /// What they hold.
    pub(super) fn registers(&self) -> &Registers<'a> {
        &self.registers
    }

    /// Adds a line that is no instruction.
    pub(super) fn line(&mut self, line: &str) {
        self.held.push_str(line);
        self.held.push('\n');
    }

    /// Adds an instruction; not if it is not known what it does.
    pub(super) fn instruction(&mut self, line: &str, code: &'a str) -> bool {
        let Some(done) = self.registers.follow(code) else { return false };
        let begin = self.held.len();
        self.line(line);
        let rdi = 1 << RDI;
        if done.sets && done.written == rdi {
            let read = done.named & !rdi;
            // The jump over the hook uses `%rax`.
            let is_free = read & (1 << RAX) == 0;
            self.setter = is_free.then_some(Setter { line: begin..self.held.len(), read });
        } else if let Some(setter) = &self.setter
            && (done.named & rdi != 0 || done.written & setter.read != 0)
        {
            self.setter = None;
        }
        true
    }

    /// Adds an access, if its address can be computed where the first one is announced.
    pub(super) fn access(&mut self, what: u32) -> bool {
        let Some(address) = self.registers.get(RDI).filter(|_| self.addresses.len() < ADDRESSES.len()) else {
            return false;
        };
        let place = self.first + self.what.len();
        self.addresses.push(address);
        self.what.push(what);
        let mut set = String::new();
        if let Some(setter) = self.setter.take() {
            set.push_str(&self.held[setter.line.clone()]);
            self.held.replace_range(setter.line, "");
        }
        self.held.push_str("\tmovq\tmayhap_apart@GOTPCREL(%rip), %rax\n\tcmpb\t$0, (%rax)\n");
        // Writing to a string never fails.
        let _ = writeln!(self.held, "\tje\t.LMHpc{place}");
        self.held.push_str(&set);
        call(&mut self.held, place, 1, what);
        let _ = writeln!(self.held, ".LMHpc{place}:");
        self.registers.called();
        true
    }

    /// Writes the group, and its places; how many those are.
    pub(super) fn close(self, out: &mut String, places: &mut String, inline_hooks: &mut Vec<InlineHook>) -> usize {
        for (address, register) in self.addresses.iter().zip(ADDRESSES) {
            address.write(register, out);
        }
        let first = self.first;
        let mut hook = String::new();
        call(&mut hook, first, self.what.len(), self.what[0]);
        if let Some(Often { line, may_repeat }) = self.often.filter(|_| self.what[0] & BEHIND_CALL == 0) {
            let follows = |address: &Value| self.address.is_some_and(|first| first.goes_with(address));
            let follow = std::iter::once(false).chain(self.addresses.iter().map(follows));
            let places: Vec<Accessed> =
                follow.zip(first..).map(|(follows, place)| Accessed { place: name(place), follows }).collect();
            let may_repeat = may_repeat && places.len() == 1;
            inline_hooks.push(InlineHook { at: out.len(), line, number: first, places, may_repeat, call: hook });
        } else {
            out.push_str(&hook);
        }
        if self.what.len() > 1 {
            let _ = writeln!(out, ".LMHpc{first}:");
        }
        out.push_str(&self.held);
        for (what, place) in self.what.iter().zip(first..) {
            let _ = match place == first {
                true => writeln!(places, "\t.long\t0, {what}, 0, 0, 0, 0"),
                false => writeln!(places, "\t.long\t0, {what}, 0, 0, .LMHpc{place}-.LMHpc{first}, 0"),
            };
        }
        self.what.len()
    }
}

/// What a place is called.
fn name(place: usize) -> String {
    format!(".LMHsites+{}", PLACE_BYTES * place)
}

/// The hook of so many accesses from a place on.
fn call(out: &mut String, place: usize, count: usize, what: u32) {
    let suffix = if what & BEHIND_CALL == 0 { "" } else { "_call" };
    let name = name(place);
    let _ = write!(out, "\tleaq\t{name}(%rip), %rsi\n\tcall\t*__mayhap_access{count}{suffix}@GOTPCREL(%rip)\n");
}
