//! Libraries without hooks that synchronise threads on their own: their code has instructions that lock the bus, exchange with memory, or
//! enter the kernel.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind, SymbolKind};

use crate::machine_code::is_before_leaving;
use crate::symbols::Symbols;

/// Beginnings of the names of libraries that the runtime knows: it stands in front of what they do.
const KNOWN: [&str; 20] = [
    "ld-linux",
    "linux-vdso",
    "libBrokenLocale.so",
    "libanl.so",
    "libasan.so",
    "libc++",
    "libc.so",
    "libdl.so",
    "libgcc_s.so",
    "libgomp.so",
    "libiomp",
    "libm.so",
    "libmayhap",
    "libmvec.so",
    "libnss_",
    "libomp",
    "libpthread.so",
    "librt.so",
    "libstdc++.so",
    "libtsan.so",
];

/// What a file says of itself.
#[derive(Default)]
struct File {
    name: String,
    /// It calls hooks.
    hooked: bool,
    /// Its calls of libraries are recorded.
    tells_calls: bool,
    /// What it defines for others.
    defines: HashSet<Vec<u8>>,
    /// The functions that the loader puts into its slots, by address in the file.
    slots: HashMap<u64, Vec<u8>>,
    synchronises: OnceCell<bool>,
    bytes: Vec<u8>,
}

/// The files of a program, looked into when they are asked about.
#[derive(Default)]
pub struct Libraries {
    files: HashMap<usize, File>,
}

impl Libraries {
    fn file(&mut self, symbols: &Symbols, number: usize) -> &File {
        self.files.entry(number).or_insert_with(|| {
            let Some(module) = symbols.modules().nth(number) else { return File::default() };
            let name = module.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = module.read().unwrap_or_default();
            File { name, ..parse(bytes) }
        })
    }

    /// The name of the library that a call to this address goes to, if it has no hooks and synchronises on its own. The address may be that of
    /// a slot that the loader fills when the function is first called.
    pub fn called(&mut self, symbols: &Symbols, address: u64) -> Option<String> {
        let (number, module) = symbols.module_at(address)?;
        let base = module.base;
        let file = self.file(symbols, number);
        let Some(function) = file.slots.get(&(address - base)).cloned() else {
            return file.orders_threads().then(|| file.name.clone());
        };
        let count = symbols.modules().count();
        let definer = (0..count).find(|&other| self.file(symbols, other).defines.contains(&function))?;
        let file = self.file(symbols, definer);
        file.orders_threads().then(|| file.name.clone())
    }

    /// The name of the function that a call to this address goes to, if one of the system's libraries defines it. The address may be that of a
    /// slot, as in [`Libraries::called`].
    pub fn called_in_system(&mut self, symbols: &Symbols, address: u64) -> Option<String> {
        let (number, module) = symbols.module_at(address)?;
        let place = address - module.base;
        let file = self.file(symbols, number);
        let Some(function) = file.slots.get(&place).cloned() else {
            return file.is_known().then(|| function_at(&file.bytes, place)).flatten();
        };
        let count = symbols.modules().count();
        let definer = (0..count).find(|&other| self.file(symbols, other).defines.contains(&function))?;
        let name = || crate::archive::demangled(&String::from_utf8_lossy(&function));
        self.file(symbols, definer).is_known().then(name)
    }

    /// The name of a loaded file, if it has no hooks and synchronises on its own.
    pub fn loaded(&mut self, symbols: &Symbols, address: u64) -> Option<String> {
        let (number, _) = symbols.module_at(address)?;
        let file = self.file(symbols, number);
        file.orders_threads().then(|| file.name.clone())
    }

    /// The names of such libraries that are called by code with hooks which do not record calls.
    pub fn unwatched(&mut self, symbols: &Symbols) -> Vec<String> {
        let count = symbols.modules().count();
        let mut wanted: HashSet<Vec<u8>> = HashSet::new();
        for number in 0..count {
            let file = self.file(symbols, number);
            if file.hooked && !file.tells_calls {
                wanted.extend(file.slots.values().cloned());
            }
        }
        let mut names = Vec::new();
        for number in (0..count).filter(|_| !wanted.is_empty()) {
            let file = self.file(symbols, number);
            if file.defines.iter().any(|name| wanted.contains(name)) && file.orders_threads() {
                names.push(file.name.clone());
            }
        }
        names.dedup();
        names
    }
}

impl Libraries {
    /// The first function with hooks that has an atomic instruction without one, as the compiler leaves Rust's `fetch_max` and `fetch_min`.
    pub fn unhooked_atomic(&mut self, symbols: &Symbols) -> Option<String> {
        (0..symbols.modules().count()).find_map(|number| {
            let file = self.file(symbols, number);
            // What `mayhap cc` compiles has a hook at each.
            (file.hooked && !file.tells_calls).then(|| unhooked_atomic(file)).flatten()
        })
    }
}

/// Where code may compare and exchange with the bus locked, as offsets.
fn compare_exchanges(code: &[u8]) -> impl Iterator<Item = usize> {
    let is_prefix = |byte: &u8| matches!(byte, 0x40..=0x4f | 0x66);
    (0..code.len()).filter(move |&at| {
        let rest = &code[at..];
        rest[0] == 0xf0 && {
            let prefixes = rest[1..].iter().take_while(|byte| is_prefix(byte)).count();
            matches!(rest.get(1 + prefixes..), Some([0x0f, 0xb0 | 0xb1, ..]))
        }
    })
}

fn unhooked_atomic(read: &File) -> Option<String> {
    let file = object::File::parse(&*read.bytes).ok()?;
    let mut functions: Vec<_> = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text).collect();
    functions.sort_by_key(|function| function.address());
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let (start, code) = (section.address(), section.data().unwrap_or_default());
        for address in compare_exchanges(code).map(|at| start + at as u64) {
            let next = functions.partition_point(|function| function.address() <= address);
            let Some(function) = next.checked_sub(1).map(|last| &functions[last]) else { continue };
            let from = function.address().saturating_sub(start) as usize;
            let body = code.get(from..from.saturating_add(function.size() as usize)).unwrap_or_default();
            if function.address() >= start && has_hooks_but_not_all(read, body, function.address()) {
                return function.name().ok().map(crate::archive::demangled);
            }
        }
    }
    None
}

/// The function calls hooks, and has an instruction that locks the bus all the same.
fn has_hooks_but_not_all(read: &File, body: &[u8], address: u64) -> bool {
    let (mut calls_hooks, mut locks) = (false, false);
    for instruction in Decoder::with_ip(64, body, address, DecoderOptions::NONE) {
        locks |= instruction.has_lock_prefix();
        calls_hooks |= instruction.is_ip_rel_memory_operand()
            && read.slots.get(&instruction.ip_rel_memory_address()).is_some_and(|name| name == b"__tsan_func_entry");
    }
    calls_hooks && locks
}

impl File {
    /// It is a library of the system, which the runtime knows.
    fn is_known(&self) -> bool {
        KNOWN.iter().any(|begin| self.name.starts_with(begin))
    }

    fn orders_threads(&self) -> bool {
        let is_library = self.name.contains(".so") && !self.is_known();
        is_library && !self.hooked && *self.synchronises.get_or_init(|| synchronises(&self.bytes))
    }
}

/// The name of the function that a library exports there. Of several, the shortest is what programs know it by.
fn function_at(bytes: &[u8], address: u64) -> Option<String> {
    let file = object::File::parse(bytes).ok()?;
    let is_there = |symbol: &object::Symbol<'_, '_>| {
        !symbol.is_undefined() && (symbol.address()..symbol.address() + symbol.size().max(1)).contains(&address)
    };
    let names = file.dynamic_symbols().filter(is_there).filter_map(|symbol| symbol.name().ok());
    names.min_by_key(|name| (name.starts_with('_'), name.len(), *name)).map(crate::archive::demangled)
}

fn parse(bytes: Vec<u8>) -> File {
    let mut read = File::default();
    if let Ok(file) = object::File::parse(&*bytes) {
        for symbol in file.dynamic_symbols() {
            let name = symbol.name_bytes().unwrap_or_default();
            if symbol.is_undefined() {
                read.hooked |= name.starts_with(b"__tsan_");
                read.tells_calls |= std::str::from_utf8(name).is_ok_and(is_before_leaving);
            } else {
                read.defines.insert(name.to_vec());
            }
        }
        let table = file.dynamic_symbol_table();
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if let RelocationTarget::Symbol(index) = relocation.target()
                && let Some(symbol) = table.as_ref().and_then(|table| table.symbol_by_index(index).ok())
                && symbol.is_undefined()
                && let Ok(name) = symbol.name_bytes()
            {
                read.slots.insert(address, name.to_vec());
            }
        }
    }
    read.bytes = bytes;
    read
}

/// Whether code of the file can hand something over between threads without being seen.
fn synchronises(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return true };
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    code.filter_map(|section| Some((section.address(), section.data().ok()?))).any(|(address, data)| {
        let decoder = Decoder::with_ip(64, data, address, DecoderOptions::NONE);
        decoder.into_iter().any(|instruction| {
            let has_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
            instruction.has_lock_prefix()
                || instruction.mnemonic() == Mnemonic::Xchg && has_memory
                || instruction.mnemonic() == Mnemonic::Syscall
        })
    })
}
