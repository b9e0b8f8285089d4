//! Which places of a Rust program lie in code without hooks: the standard library as it comes compiled.
//!
//! Such code guards its own data by its own locks, which are not visible, so what it does through interposed functions would
//! look like races. A function has hooks if it calls `__tsan_func_entry`, as the compiler makes every function do that accesses
//! memory or calls another. Instrumented code moves memory by functions of the runtime, not of the C library. What files
//! are read into and written from is the caller's memory, no matter which function calls.

use std::collections::{BTreeMap, HashMap, HashSet};

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};

use crate::symbols::Symbols;

/// Of the return addresses `pcs`: where such code moves memory, and all that lie in it.
pub fn rust_library(symbols: &Symbols, pcs: &[u64]) -> (HashSet<u64>, HashSet<u64>) {
    let (mut moves, mut silent) = (HashSet::new(), HashSet::new());
    for module in symbols.modules() {
        let wanted: Vec<u64> = pcs.iter().copied().filter(|pc| (module.low..module.end).contains(pc)).collect();
        let Ok(bytes) = module.read() else { continue };
        let Ok(file) = object::File::parse(&*bytes) else { continue };
        let functions = functions(&file);
        if wanted.is_empty() || functions.is_empty() {
            continue;
        }
        let code = Code::of(&file);
        let mut known = HashMap::new();
        for pc in wanted {
            let at = pc - module.base;
            let function = functions.range(..at).next_back().filter(|(_, end)| at <= **end);
            let is_silent = function
                .is_some_and(|(&start, &end)| !*known.entry(start).or_insert_with(|| code.has_hooks(start, end)));
            if is_silent {
                silent.insert(pc);
            }
            if code.calls(at, &code.moves) || (is_silent && !code.calls(at, &code.transfers)) {
                moves.insert(pc);
            }
        }
    }
    (moves, silent)
}

/// Returns the Rust functions of a file: starts and ends.
fn functions(file: &object::File<'_>) -> BTreeMap<u64, u64> {
    let text = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let rust = text.filter(|symbol| symbol.name().is_ok_and(is_rust));
    rust.map(|symbol| (symbol.address(), symbol.address() + symbol.size())).collect()
}

/// Mangled by Rust, in either scheme: the older one ends in a hash.
fn is_rust(symbol: &str) -> bool {
    let hashed = || symbol.len() > 20 && symbol.ends_with('E') && symbol[..symbol.len() - 17].ends_with("17h");
    symbol.starts_with("_R") || (symbol.is_ascii() && symbol.starts_with("_ZN") && hashed())
}

/// The machine code of a file, and where it finds functions of others.
struct Code<'a> {
    file: &'a object::File<'a>,
    /// Where the file has the addresses of functions that move memory, of those that read and write files, and of the hook at function
    /// entry.
    moves: HashSet<u64>,
    transfers: HashSet<u64>,
    entry: HashSet<u64>,
    /// The piece of code that jumps to the latter.
    stub: Option<u64>,
}

impl<'a> Code<'a> {
    fn of(file: &'a object::File<'a>) -> Self {
        let mut code =
            Code { file, moves: HashSet::new(), transfers: HashSet::new(), entry: HashSet::new(), stub: None };
        if let (Some(relocations), Some(table)) = (file.dynamic_relocations(), file.dynamic_symbol_table()) {
            for (slot, relocation) in relocations {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                match table.symbol_by_index(index).as_ref().map(ObjectSymbol::name) {
                    Ok(Ok("memcpy" | "memmove" | "memset")) => _ = code.moves.insert(slot),
                    Ok(Ok("read" | "write" | "recv" | "send" | "pread" | "pwrite" | "pread64" | "pwrite64")) => {
                        _ = code.transfers.insert(slot);
                    }
                    Ok(Ok("__tsan_func_entry")) => _ = code.entry.insert(slot),
                    _ => {}
                }
            }
        }
        code.stub = code.find_stub();
        code
    }

    fn bytes(&self, start: u64, end: u64) -> Option<&'a [u8]> {
        self.file.sections().find_map(|section| section.data_range(start, end - start).ok().flatten())
    }

    /// The instruction that ends at `at` is `call [rip + slot]` with one of these slots.
    fn calls(&self, at: u64, slots: &HashSet<u64>) -> bool {
        match self.bytes(at.saturating_sub(6), at) {
            Some(&[0xff, 0x15, a, b, c, d]) => slots.contains(&target(at, [a, b, c, d])),
            _ => false,
        }
    }

    /// A function calls the hook at function entry, directly or through the stub. Where that hook is nowhere to be found
    /// nothing is known, and all have hooks.
    fn has_hooks(&self, start: u64, end: u64) -> bool {
        let Some(bytes) = self.bytes(start, end) else { return true };
        let calls = |(i, window): (usize, &[u8])| match *window {
            [0xff, 0x15, a, b, c, d] => self.entry.contains(&target(start + i as u64 + 6, [a, b, c, d])),
            [0xe8, a, b, c, d, _] => Some(target(start + i as u64 + 5, [a, b, c, d])) == self.stub,
            _ => false,
        };
        self.entry.is_empty() || bytes.windows(6).enumerate().any(calls)
    }

    /// The entry of the procedure linkage table for the hook at function entry: sixteen bytes, with `jmp [rip + slot]`.
    fn find_stub(&self) -> Option<u64> {
        let tables = self.file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt")));
        for table in tables {
            let (start, bytes) = (table.address(), table.data().ok()?);
            for (i, window) in bytes.windows(6).enumerate() {
                if let [0xff, 0x25, a, b, c, d] = *window
                    && self.entry.contains(&target(start + i as u64 + 6, [a, b, c, d]))
                {
                    return Some(start + (i as u64 / 16) * 16);
                }
            }
        }
        None
    }
}

/// The address that a displacement from the end of an instruction leads to.
fn target(end: u64, displacement: [u8; 4]) -> u64 {
    end.wrapping_add_signed(i32::from_le_bytes(displacement).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mangling_schemes_are_known_and_cpp_is_not() {
        assert!(is_rust("_RNvNtCs1234_7mycrate3foo3bar"));
        assert!(is_rust("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"));
        assert!(!is_rust("_ZN3foo3barEv"));
        assert!(!is_rust("memcpy"));
    }
}
