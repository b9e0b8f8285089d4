//! What addresses are called: functions, files and lines for code, symbols for data.
//!
//! Read from the files that the program had loaded, after its run. A file that is gone or has no symbols yields plain
//! module offsets, which at least do not change from run to run.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::files::{is_installed, is_library};
use crate::java::{JavaNames, Layout};

use crate::locals::Function;
use crate::members::{Members, TypeId};
use crate::module::Module;
use crate::scopes::{Block, is_in};

/// The symbols of all modules of a run.
pub struct Symbols {
    modules: Vec<Loaded>,
    folder: Option<PathBuf>,
}

struct Loaded {
    module: Module,
    loader: Option<addr2line::Loader>,
    /// The names of a Java class.
    java: Option<JavaNames>,
    /// Data symbols by address in the file: start, end, name.
    data: Vec<(u64, u64, String)>,
    /// What parts of the data are called, once it is asked for.
    members: OnceCell<Members>,
    /// The functions whose variables were asked for, and the file's bytes from then on.
    functions: RefCell<Vec<Arc<Function>>>,
    bytes: OnceCell<Vec<u8>>,
}

/// The type of heap memory.
#[derive(Clone)]
pub struct Allocated(Type);

#[derive(Clone)]
enum Type {
    Native { function: Arc<Function>, kind: TypeId },
    Java(Layout),
}

impl Allocated {
    /// What the byte at `offset` of a block of `size` bytes is called: `Session.refs`, `Session[2].refs`.
    pub fn part(&self, offset: u64, size: u64) -> Option<String> {
        match &self.0 {
            Type::Native { function, kind } => function.part(*kind, offset, size),
            Type::Java(layout) => layout.part(offset),
        }
    }
}

/// A block of a function that variables on the stack belong to.
#[derive(Clone)]
pub struct LocalBlock {
    function: Arc<Function>,
    block: Block,
    base: u64,
}

impl PartialEq for LocalBlock {
    fn eq(&self, other: &LocalBlock) -> bool {
        Arc::ptr_eq(&self.function, &other.function) && self.block == other.block
    }
}

impl LocalBlock {
    /// The place that returns to `pc` is in the block.
    pub fn contains(&self, pc: u64) -> bool {
        let probe = pc.checked_sub(self.base).and_then(|offset| offset.checked_sub(1));
        probe.is_some_and(|probe| is_in(&self.block.code, probe))
    }

    /// The place that returns to `pc` is surely reached only after the block was left. Where that is not certain it is `false`.
    pub fn is_left_at(&self, pc: u64) -> bool {
        let probe = pc.checked_sub(self.base).and_then(|offset| offset.checked_sub(1));
        probe.is_some_and(|probe| self.function.is_after(&self.block, probe))
    }
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The function, demangled; empty if it is not known.
    pub function: String,
    /// File and line, `file.c:12`; or module and offset.
    pub line: String,
    /// The column in that line, counted from 1.
    pub column: Option<u32>,
}

impl Place {
    /// It is no line of the program: it lies in a library, or in the header of one.
    pub fn is_installed(&self) -> bool {
        self.is_library() || is_installed(&self.line)
    }

    /// It lies in the languages' own code, or in a library of it that is not known any better.
    pub fn is_library(&self) -> bool {
        let line = self.line.as_str();
        // The runtime stands between the C library and `main`.
        is_library(line)
            || self.function.starts_with("mayhap_rt::")
            || self.function.starts_with("mayhap_jvm::")
            || [
                "libmayhap_rt.so",
                "libmayhap_jvm.so",
                "libjvm.so",
                "libstdc++.so",
                "libc++.so",
                "libc.so",
                "libpthread.so",
            ]
            .iter()
            .any(|l| line.starts_with(l))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.function.as_str() {
            "" => f.write_str(&self.line),
            function => write!(f, "{function} {}", self.line),
        }
    }
}

impl Symbols {
    /// Opens the files of these modules. Paths below the folder are shown relative to it.
    pub fn load(modules: &[Module], folder: Option<PathBuf>) -> Symbols {
        let mut unique: Vec<Module> = Vec::new();
        for module in modules {
            if !unique.contains(module) {
                unique.push(module.clone());
            }
        }
        let modules = unique.into_iter().map(Loaded::open).collect();
        Symbols { modules, folder }
    }

    /// Where an address lies; of overlapping modules the one loaded last.
    fn module(&self, address: u64) -> Option<&Loaded> {
        self.modules.iter().rev().find(|m| (m.module.low..m.module.end).contains(&address))
    }

    /// The names in files that are not loaded anywhere: [`Self::place_in`] and [`Self::data_in`] find them by number.
    pub fn of_files(paths: &[PathBuf]) -> Symbols {
        let module = |path: &PathBuf| Module { base: 0, low: 0, end: 0, path: path.clone(), changed: false };
        let modules = paths.iter().map(|path| Loaded::open(module(path))).collect();
        Symbols { modules, folder: std::env::current_dir().ok() }
    }

    /// The place that returns to `pc`: the innermost function that was inlined there.
    pub fn place(&self, pc: u64) -> Place {
        match self.module(pc) {
            Some(loaded) => self.place_of(loaded, pc - loaded.module.base),
            None => Place { line: format!("{pc:#x}"), ..Place::default() },
        }
    }

    /// All functions that are inlined where `pc` returns to, innermost first.
    pub fn frames(&self, pc: u64) -> Vec<Place> {
        let found = self.module(pc).map(|loaded| (loaded, pc - loaded.module.base));
        let mut places: Vec<Place> =
            found.and_then(|(loaded, offset)| self.java_place(loaded, offset)).into_iter().collect();
        if let Some((Loaded { loader: Some(loader), .. }, offset)) = found
            && let Ok(mut frames) = loader.find_frames(offset.saturating_sub(1))
        {
            while let Ok(Some(frame)) = frames.next() {
                places.push(self.frame(&frame));
            }
        }
        // What the compiler says no line for says nothing.
        places.retain(|place| !place.function.is_empty() && !place.line.is_empty());
        if places.is_empty() { vec![self.place(pc)] } else { places }
    }

    /// A frame as far as its debug information goes.
    fn frame(&self, frame: &addr2line::Frame<'_, impl addr2line::gimli::Reader>) -> Place {
        let mut place = Place::default();
        if let Some(function) = &frame.function {
            let name = function.demangle().map(|name| name.into_owned()).unwrap_or_default();
            place.function = plain_name(&name).unwrap_or(name);
        }
        if let Some(location) = &frame.location
            && let (Some(file), Some(line)) = (location.file, location.line)
        {
            place.line = format!("{}:{line}", self.shown(file));
            place.column = location.column.filter(|&column| column > 0);
        }
        place
    }

    /// The place that returns to `pc` is in the runtime, which starts threads for the program.
    pub fn is_runtime(&self, pc: u64) -> bool {
        let file = self.module(pc).map(|loaded| file_name(&loaded.module.path)).unwrap_or_default();
        file.starts_with("libmayhap_rt") || file.starts_with("libmayhap_jvm") || file.starts_with("libtsan.so")
    }

    /// The place that returns to `pc` is where the runtime calls the handlers of signals.
    pub fn is_signal(&self, pc: u64) -> bool {
        let found = self.module(pc).and_then(|loaded| {
            let loader = loaded.loader.as_ref()?;
            loader.find_symbol((pc - loaded.module.base).saturating_sub(1))
        });
        found.is_some_and(|symbol| demangled(symbol).starts_with("mayhap_rt::signals::arrive"))
    }

    /// Returns the same for an offset in a file by number.
    pub fn place_in(&self, file: usize, offset: u64) -> Place {
        self.place_of(&self.modules[file], offset)
    }

    fn java_place(&self, loaded: &Loaded, offset: u64) -> Option<Place> {
        let java = loaded.java.as_ref()?;
        let (function, line) = java.place(offset)?;
        Some(Place { function: function.into(), line: java.in_folder(line, self.folder.as_deref()), column: None })
    }

    fn place_of(&self, loaded: &Loaded, offset: u64) -> Place {
        if let Some(place) = self.java_place(loaded, offset) {
            return place;
        }
        let probe = offset.saturating_sub(1);
        let fallback = || format!("{}+{offset:#x}", file_name(&loaded.module.path));
        let Some(loader) = &loaded.loader else { return Place { line: fallback(), ..Place::default() } };
        let mut place = Place::default();
        if let Ok(mut frames) = loader.find_frames(probe) {
            // Of the inlined functions the innermost that is not the language's own; else the one that all are inlined in.
            while let Ok(Some(frame)) = frames.next() {
                place = self.frame(&frame);
                let file = frame.location.as_ref().and_then(|location| location.file);
                if !file.is_some_and(is_installed) {
                    break;
                }
            }
        }
        if place.function.is_empty() {
            let symbol = loader.find_symbol(probe).unwrap_or("");
            place.function = demangled(symbol);
        }
        if place.line.is_empty() {
            place.line = fallback();
        }
        place
    }

    /// The functions at the place that returns to `pc`, the innermost inlined one first; none without debug information.
    pub fn functions(&self, pc: u64) -> Vec<String> {
        let mut functions = Vec::new();
        if let Some(loaded) = self.module(pc)
            && let Some(loader) = &loaded.loader
            && let Ok(mut frames) = loader.find_frames((pc - loaded.module.base).saturating_sub(1))
        {
            while let Ok(Some(frame)) = frames.next() {
                functions.push(self.frame(&frame).function);
            }
        }
        functions
    }

    fn shown(&self, file: &str) -> String {
        let file = &*straight(file);
        let rust = file.strip_prefix("/rustc/").and_then(|rest| rest.split_once('/'));
        if let Some((_, file)) = rust {
            return file.into();
        }
        match &self.folder {
            Some(folder) => Path::new(file).strip_prefix(folder).map_or(file.into(), |path| path.display().to_string()),
            None => file.into(),
        }
    }

    /// The name of the data at an address outside heap and stacks: symbol and offset, or module and offset.
    pub fn data(&self, address: u64) -> Option<String> {
        let loaded = self.module(address)?;
        Some(data_of(loaded, address - loaded.module.base))
    }

    /// Returns the same for an offset in a file by number.
    pub fn data_in(&self, file: usize, offset: u64) -> String {
        data_of(&self.modules[file], offset)
    }

    /// What a variable on the stack is called, while the function around the place that returns to `pc` has this stack pointer.
    pub fn local(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<String> {
        let loaded = self.module(pc)?;
        let probe = (pc - loaded.module.base).checked_sub(1)?;
        loaded.function(probe).name(probe, stack_pointer, address)
    }

    /// The block that a variable on the stack belongs to, if that is not its function, and if no variable of anything else ever lies in the same
    /// eight bytes.
    pub fn local_block(&self, pc: u64, stack_pointer: u64, address: u64) -> Option<LocalBlock> {
        let loaded = self.module(pc)?;
        let probe = (pc - loaded.module.base).checked_sub(1)?;
        let function = loaded.function(probe);
        let block = function.block(probe, stack_pointer, address)?.clone();
        Some(LocalBlock { function, block, base: loaded.module.base })
    }

    /// The type of the memory that is allocated at the place that returns to `pc`, if the debug information knows it.
    pub fn allocated(&self, pc: u64) -> Option<Allocated> {
        let loaded = self.module(pc)?;
        if let Some(java) = &loaded.java {
            return Some(Allocated(Type::Java(java.layout(pc - loaded.module.base)?)));
        }
        let probe = (pc - loaded.module.base).checked_sub(1)?;
        let line = loaded.loader.as_ref()?.find_location(probe).ok()??.line?;
        let function = loaded.function(probe);
        let kind = function.allocated(probe, line.into())?;
        function.is_unambiguous(kind).then_some(Allocated(Type::Native { function, kind }))
    }

    /// The module that an address lies in, and its number.
    pub fn module_at(&self, address: u64) -> Option<(usize, &Module)> {
        let at = self.modules.iter().rposition(|m| (m.module.low..m.module.end).contains(&address))?;
        Some((at, &self.modules[at].module))
    }

    /// Each module's path and base, for what else is to be read from it.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().map(|loaded| &loaded.module)
    }
}

fn data_of(loaded: &Loaded, offset: u64) -> String {
    if let Some(name) = loaded.java.as_ref().and_then(|java| java.data(offset)) {
        return name;
    }
    let after = loaded.data.partition_point(|&(start, _, _)| start <= offset);
    let found = after.checked_sub(1).map(|i| &loaded.data[i]).filter(|(_, end, _)| offset < *end);
    match found {
        Some((start, _, name)) => {
            let part = loaded.members().name(name, *start, offset - start);
            let plain = || if *start == offset { name.clone() } else { format!("{name}+{}", offset - start) };
            part.unwrap_or_else(plain)
        }
        None => format!("{}+{offset:#x}", file_name(&loaded.module.path)),
    }
}

impl Loaded {
    fn open(module: Module) -> Loaded {
        let java = module.read().ok().and_then(|bytes| JavaNames::read(&bytes));
        let loader = if module.changed { None } else { addr2line::Loader::new(&module.path).ok() };
        let data = module.read().map(|bytes| data_symbols(&bytes)).unwrap_or_default();
        Loaded {
            module,
            loader,
            java,
            data,
            members: OnceCell::new(),
            functions: RefCell::default(),
            bytes: OnceCell::new(),
        }
    }

    /// The place in a Java class.
    /// The function that an instruction belongs to.
    fn function(&self, pc: u64) -> Arc<Function> {
        let mut functions = self.functions.borrow_mut();
        if let Some(known) = functions.iter().find(|function| function.contains(pc)) {
            return known.clone();
        }
        let bytes = self.bytes.get_or_init(|| self.module.read().unwrap_or_default());
        let function = Arc::new(Function::of(bytes, pc));
        functions.push(function.clone());
        function
    }

    fn members(&self) -> &Members {
        let read = || self.module.read().map(|bytes| Members::of(&bytes)).unwrap_or_default();
        self.members.get_or_init(read)
    }
}

fn data_symbols(bytes: &[u8]) -> Vec<(u64, u64, String)> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let mut symbols: Vec<(u64, u64, String)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0 && symbol.is_definition())
        .filter_map(|symbol| {
            let name = demangled(symbol.name().ok()?);
            Some((symbol.address(), symbol.address() + symbol.size(), name))
        })
        .collect();
    // Of several names for one place the same one in every run.
    symbols.sort();
    symbols.dedup_by_key(|(start, _, _)| *start);
    symbols
}

/// A path without `/./`, and without the ways back that clang's own paths have (`/usr/bin/../lib/…`) if it then still leads to the same file.
fn straight(file: &str) -> Cow<'_, str> {
    if file.contains("/./") {
        let plain: Vec<&str> = file.split("/./").map(|part| part.strip_prefix("./").unwrap_or(part)).collect();
        return straight(&plain.join("/")).into_owned().into();
    }
    if !file.contains("/../") {
        return file.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in file.split('/') {
        match part {
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let same =
        |a: &str, b: &str| std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b));
    if same(file, &path) { path.into() } else { file.into() }
}

/// A symbol as its language writes it. A C variable `m` is no C++ type, so only names that are surely mangled change.
fn demangled(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        addr2line::demangle_auto(symbol.into(), None).into_owned()
    } else {
        symbol.into()
    }
}

/// The name in a C++ symbol that could not be demangled, without its arguments: `_ZSt4swapIiE…` is `std::swap`.
fn plain_name(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_Z")?;
    let is_nested = rest.starts_with('N');
    rest = rest.trim_start_matches(['N', 'K', 'L']);
    let mut parts = Vec::new();
    if let Some(after) = rest.strip_prefix("St") {
        parts.push("std");
        rest = after;
    }
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&digits| digits > 0) {
        let length: usize = rest[..digits].parse().ok()?;
        parts.push(rest.get(digits..digits.checked_add(length)?)?);
        rest = &rest[digits + length..];
        if !is_nested {
            break;
        }
    }
    let is_name = parts.last().is_some_and(|last| *last != "std");
    is_name.then(|| parts.join("::"))
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_that_cannot_be_demangled_keep_their_name() {
        assert_eq!(plain_name("_ZSt4swapIP6ConfigENSt9enable_if").as_deref(), Some("std::swap"));
        assert_eq!(plain_name("_ZN3foo3BarIiE3bazEv").as_deref(), Some("foo::Bar"));
        assert_eq!(plain_name("_ZNKSt6vectorIiE4sizeEv").as_deref(), Some("std::vector"));
        for other in ["std::swap", "_ZSt", "_Z", "_Z99x"] {
            assert_eq!(plain_name(other), None, "{other}");
        }
    }

    #[test]
    fn ways_back_are_left_out_where_that_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("c.h"), "").unwrap();
        assert_eq!(straight(&format!("{here}/a/b/../../c.h")), format!("{here}/c.h"));
        assert_eq!(straight("src/./a/././b.h"), "src/a/b.h");
        // There is no such file, so nothing is known.
        assert_eq!(straight("/no/such/../file.c"), "/no/such/../file.c");
        assert_eq!(straight("../src/file.c"), "../src/file.c");
        std::os::unix::fs::symlink("a/b", folder.path().join("link")).unwrap();
        let through = format!("{here}/link/../c.h");
        assert_eq!(straight(&through), through, "it leads elsewhere");
    }
}
