//! Static libraries: the functions that they define.

use std::io;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol, SymbolKind};

/// The names in an archive's own table of symbols.
pub fn index(bytes: &[u8]) -> io::Result<Vec<&str>> {
    let archive = ArchiveFile::parse(bytes).map_err(io::Error::other)?;
    let symbols = archive.symbols().map_err(io::Error::other)?;
    let mut names = Vec::new();
    for symbol in symbols.into_iter().flatten() {
        let symbol = symbol.map_err(io::Error::other)?;
        names.extend(std::str::from_utf8(symbol.name()));
    }
    Ok(names)
}

/// The global functions that the members of an archive define, by their symbols. Members that are no object files have none.
pub fn functions(bytes: &[u8]) -> io::Result<Vec<String>> {
    let archive = ArchiveFile::parse(bytes).map_err(io::Error::other)?;
    let mut names = Vec::new();
    for member in archive.members().flatten() {
        let Ok(data) = member.data(bytes) else { continue };
        let Ok(file) = object::File::parse(data) else { continue };
        let functions = file.symbols().filter(|s| s.is_global() && s.is_definition() && s.kind() == SymbolKind::Text);
        names.extend(functions.filter_map(|symbol| Some(symbol.name().ok()?.to_string())));
    }
    Ok(names)
}

/// A symbol as its language writes it.
pub fn demangled(symbol: &str) -> String {
    addr2line::demangle_auto(symbol.into(), None).into_owned()
}
