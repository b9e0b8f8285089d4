//! What there is to know of a whole file: whether it is still the same, whose it is, and which library it is linked with.

use std::fs::File;
use std::path::Path;

use object::elf::DT_NEEDED;
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object, ObjectSymbol, ReadCache};

/// What the linker put into a file to tell it from others.
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let cache = ReadCache::new(&mut file);
    let parsed = object::File::parse(&cache).ok()?;
    Some(parsed.build_id().ok()??.to_vec())
}

/// The names of the libraries that the loader loads because the file itself says so.
pub fn needed_libraries(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let names = || {
        let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let (entries, link) = sections.dynamic(endian, &*bytes).ok()??;
        let texts = sections.strings(endian, &*bytes, link).ok()?;
        let needed = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
        let names = needed.filter_map(|entry| entry.string(endian, texts).ok());
        Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    };
    names().unwrap_or_default()
}

/// How a program is linked with a library of OpenMP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenMp {
    /// gcc's is part of the program itself.
    pub gcc: bool,
    /// LLVM's is part of the program itself.
    pub llvm: bool,
    /// gcc's is part of it, after the functions of the runtime.
    pub wrapped: bool,
}

impl OpenMp {
    /// Looks for the libraries' functions among those that the program defines.
    pub fn of(program: &Path) -> OpenMp {
        let bytes = std::fs::read(program).unwrap_or_default();
        let file = object::File::parse(&*bytes).ok();
        let names = file.iter().flat_map(|file| file.symbols()).filter(|symbol| symbol.is_definition());
        let mut found = OpenMp::default();
        for name in names.filter_map(|symbol| symbol.name_bytes().ok()) {
            match name {
                b"GOMP_parallel" => found.gcc = true,
                b"__wrap_GOMP_parallel" => found.wrapped = true,
                b"__kmpc_fork_call" => found.llvm = true,
                _ => {}
            }
        }
        found
    }
}

/// The file came with the system: it is the language's own, or a header of an installed library. Reports show the line of the program that
/// led there.
pub fn is_installed(file: &str) -> bool {
    is_library(file) || file.starts_with("/usr/include/") || file.starts_with("/usr/local/include/")
}

/// The file is one of the languages' own: it says little about whose code it is.
pub fn is_library(file: &str) -> bool {
    let rust = ["library/core/", "library/std/", "library/alloc/", "library/test/src/"];
    let others = ["/include/c++/", "-linux-gnu/c++/", "/parking_lot-", "/parking_lot_core-", "/lock_api-"];
    rust.iter().any(|part| file.starts_with(part) || file.contains(&format!("/{part}")))
        || others.iter().any(|part| file.contains(part))
}
