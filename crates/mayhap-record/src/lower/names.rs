//! Names for variables, locks, conditions and threads: the same in every run that does the same, and readable.
//!
//! | memory | name |
//! |---|---|
//! | global or static variable | `symbol`, `symbol.member`, `symbol[3]`; `symbol+8` where its type is not known |
//! | heap | `main.1/heap3@file.c:12+8`: 8 bytes into the third block that thread `main.1` allocated, at file.c:12 |
//! | | `main.1/heap3@file.c:12:Session.refs` where the type of the memory is known |
//! | stack | `run::total` of the first thread, `main.1/worker::buffer[3]` of others; where the debug information knows no such variable |
//! | | `main.1/stack-504`: 504 bytes below where the frames of `main.1` begin |
//! | anything else | its address, as `memory 0x7f…`; only this one changes from run to run |
//!
//! Threads are named by creation: `main`, its second child `main.2`, that one's first child `main.2.1`.

use std::collections::HashSet;

use mayhap_trace::{NameError, Names};

use crate::memory::{Block, BlockKind, Blocks};
use mayhap_symbols::Symbols;

/// The name of an address at this moment of the run; `line` is where a site lies in the source.
pub(crate) fn address(
    symbols: &Symbols,
    blocks: &Blocks,
    line: impl Fn(u32) -> String,
    thread_name: impl Fn(u16) -> String,
    address: u64,
) -> String {
    match blocks.containing(address) {
        Some(Block { kind: BlockKind::Stack(frames), thread, .. }) => {
            let (sign, distance) = if address <= *frames { ('-', frames - address) } else { ('+', address - frames) };
            format!("{}/stack{sign}{distance}", thread_name(*thread))
        }
        Some(Block { kind: BlockKind::Heap { nth, site }, thread, start, .. }) => {
            let block = format!("{}/heap{nth}@{}", thread_name(*thread), line(*site));
            if address == *start { block } else { format!("{block}+{}", address - start) }
        }
        _ => symbols.data(address).unwrap_or_else(|| format!("memory {address:#x}")),
    }
}

/// Enters a name that is to be new: a name that is taken gets a number appended.
pub(crate) fn define(names: &mut Names, name: &str) -> Result<u32, NameError> {
    let free = numbered(name, |name| names.find(name).is_none());
    names.define(free.as_bytes())
}

/// Names of variables that are in no heap block. Each variable of a heap block is looked for among them, so it must be quick.
pub(crate) type Taken = HashSet<String, foldhash::fast::RandomState>;

/// [`define`] for a variable that is in no heap block; `taken` are the names of all those.
pub(crate) fn define_variable(taken: &mut Taken, names: &mut Names, name: &str) -> Result<u32, NameError> {
    let free = numbered(name, |name| !taken.contains(name));
    let id = names.append(&free);
    taken.insert(free);
    id
}

/// The name, or the name with the first appended number that makes it free.
fn numbered(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbers = (2u64..).map(|nth| format!("{name}#{nth}"));
    std::iter::once(name.to_owned()).chain(numbers).find(|name| is_free(name)).unwrap_or_default()
}
