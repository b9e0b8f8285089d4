//! What addresses are called: functions, files and lines for code, symbols for data.
//!
//! Read from the files that the program had loaded, after its run. A file that is gone or has no symbols yields plain
//! module offsets, which at least do not change from run to run.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};

use super::modules::Module;

/// The symbols of all modules of a run.
pub struct Symbols {
    modules: Vec<Loaded>,
    folder: Option<PathBuf>,
}

struct Loaded {
    module: Module,
    loader: Option<addr2line::Loader>,
    /// Data symbols by address in the file: start, end, name.
    data: Vec<(u64, u64, String)>,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The function, demangled; empty if it is not known.
    pub function: String,
    /// File and line, `file.c:12`; or module and offset.
    pub line: String,
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
    /// Opens the files of these modules. Paths below the current folder are shown relative to it.
    pub(super) fn load(modules: &[Module]) -> Symbols {
        let mut unique: Vec<Module> = Vec::new();
        for module in modules {
            if !unique.contains(module) {
                unique.push(module.clone());
            }
        }
        let modules = unique.into_iter().map(Loaded::open).collect();
        Symbols { modules, folder: std::env::current_dir().ok() }
    }

    /// Where an address lies; of overlapping modules the one loaded last.
    fn module(&self, address: u64) -> Option<&Loaded> {
        self.modules.iter().rev().find(|m| (m.module.low..m.module.end).contains(&address))
    }

    /// The place that returns to `pc`: the innermost function that was inlined there.
    pub(super) fn place(&self, pc: u64) -> Place {
        let Some(loaded) = self.module(pc) else { return Place { function: String::new(), line: format!("{pc:#x}") } };
        let probe = (pc - loaded.module.base).saturating_sub(1);
        let fallback = || format!("{}+{:#x}", file_name(&loaded.module.path), pc - loaded.module.base);
        let Some(loader) = &loaded.loader else { return Place { function: String::new(), line: fallback() } };
        let mut place = Place::default();
        if let Ok(mut frames) = loader.find_frames(probe)
            && let Ok(Some(frame)) = frames.next()
        {
            if let Some(function) = &frame.function {
                place.function = function.demangle().map(|name| name.into_owned()).unwrap_or_default();
            }
            if let Some(location) = &frame.location
                && let (Some(file), Some(line)) = (location.file, location.line)
            {
                place.line = format!("{}:{line}", self.shown(file));
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

    fn shown(&self, file: &str) -> String {
        match &self.folder {
            Some(folder) => Path::new(file).strip_prefix(folder).map_or(file.into(), |path| path.display().to_string()),
            None => file.into(),
        }
    }

    /// The name of the data at an address outside heap and stacks: symbol and offset, or module and offset.
    pub(super) fn data(&self, address: u64) -> Option<String> {
        let loaded = self.module(address)?;
        let offset = address - loaded.module.base;
        let after = loaded.data.partition_point(|&(start, _, _)| start <= offset);
        let found = after.checked_sub(1).map(|i| &loaded.data[i]).filter(|(_, end, _)| offset < *end);
        Some(match found {
            Some((start, _, name)) if *start == offset => name.clone(),
            Some((start, _, name)) => format!("{name}+{}", offset - start),
            None => format!("{}+{offset:#x}", file_name(&loaded.module.path)),
        })
    }

    /// Each module's path and base, for what else is to be read from it.
    pub(super) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().map(|loaded| &loaded.module)
    }
}

impl Loaded {
    fn open(module: Module) -> Loaded {
        let loader = addr2line::Loader::new(&module.path).ok();
        let data = std::fs::read(&module.path).map(|bytes| data_symbols(&bytes)).unwrap_or_default();
        Loaded { module, loader, data }
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

/// A symbol as its language writes it. A C variable `m` is no C++ type, so only names that are surely mangled change.
fn demangled(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        addr2line::demangle_auto(symbol.into(), None).into_owned()
    } else {
        symbol.into()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
}
