//! The runtime library that programs are linked with, shared or as an archive. It is part of this executable, so that one file is all that needs
//! to be installed; when first needed it is put into the user's cache folder, where linkers and loaders find it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Error;

/// The library, compressed, as are the archive and the agent.
static LIBRARY: &[u8] = include_bytes!(env!("MAYHAP_RUNTIME"));

/// The same for programs that are linked statically.
static ARCHIVE: &[u8] = include_bytes!(env!("MAYHAP_RUNTIME_ARCHIVE"));

/// The agent for Java virtual machines, which loads the runtime.
static AGENT: &[u8] = include_bytes!(env!("MAYHAP_RUNTIME_AGENT"));

/// Where it is in a cache folder. Builds of the runtime are distinguished: programs keep the path of the one they were linked with.
const FOLDER: &str = concat!("mayhap/", env!("CARGO_PKG_VERSION"), "-", env!("MAYHAP_RUNTIME_DIGEST"));

/// The library's file name.
pub const NAME: &str = "libmayhap_rt.so";

/// The archive's file name.
pub const ARCHIVE_NAME: &str = "libmayhap_rt.a";

/// The agent's file name.
pub const AGENT_NAME: &str = "libmayhap_jvm.so";

/// Options for the linker that put the archive's functions in front of the C library's.
pub const WRAPS_NAME: &str = "wraps";

/// What makes gcc instrument without knowing that it links for a sanitizer: it refuses to do that statically.
pub const SPECS_NAME: &str = "static.specs";
const SPECS: &str = "*cc1_options:\n+ -fsanitize=thread -fsanitize-coverage=trace-pc\n\n";

/// Headers that stand in front of the C++ library's.
pub const HEADERS_NAME: &str = "include";
const HEADERS: [(&str, &str); 2] =
    [("bits/c++config.h", include_str!("headers/bits/c++config.h")), ("string", include_str!("headers/string"))];

/// Names that gcc's link step and programs built with plain `gcc -fsanitize=thread` look for.
const STAND_IN_FOR: [&str; 3] = ["libtsan.so", "libtsan.so.0", "libtsan.so.2"];

/// The folder that holds the runtime library, which is put there if it is not.
pub fn folder() -> Result<PathBuf, Error> {
    let mut failures = Vec::new();
    for base in candidates() {
        let folder = base.join(FOLDER);
        match install(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => failures.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(Error::new(format_args!("cannot store the runtime library anywhere: {}", failures.join("; "))))
}

/// The folder where this executable is called `as`, for compilers to find; `None` where there can be none.
pub fn assembler(runtime: &Path) -> Option<PathBuf> {
    use std::hash::{BuildHasher, Hasher};
    let own = std::env::current_exe().ok()?;
    let mut hasher = foldhash::quality::FixedState::with_seed(1).build_hasher();
    hasher.write(own.as_os_str().as_encoded_bytes());
    let folder = runtime.join(format!("as-{:016x}", hasher.finish()));
    let link = folder.join("as");
    if !link.exists() {
        fs::create_dir_all(&folder).ok()?;
        match symlink(&own, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
    }
    link.exists().then_some(folder)
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    [variable("MAYHAP_CACHE"), cache, Some(std::env::temp_dir())].into_iter().flatten()
}

fn install(folder: &Path) -> io::Result<()> {
    let library = folder.join(NAME);
    // The library comes last: where it is whole, so is all else.
    if fs::metadata(&library).is_ok_and(|found| Some(found.len()) == unpacked_size(LIBRARY)) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    for name in STAND_IN_FOR {
        match symlink(NAME, folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let archive = unpack(ARCHIVE)?;
    write(folder, ARCHIVE_NAME, &archive)?;
    write(folder, WRAPS_NAME, wraps(&archive)?.as_bytes())?;
    write(folder, SPECS_NAME, SPECS.as_bytes())?;
    let headers = folder.join(HEADERS_NAME);
    fs::create_dir_all(headers.join("bits"))?;
    for (name, text) in HEADERS {
        write(&headers, name, text.as_bytes())?;
    }
    write(folder, AGENT_NAME, &unpack(AGENT)?)?;
    write(folder, NAME, &unpack(LIBRARY)?)
}

/// The size that a compressed file states for its contents.
fn unpacked_size(packed: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(packed).ok().flatten()
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    zstd::decode_all(packed)
}

/// Others may be doing the same: each writes a file of its own and renames it.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, bytes)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    file.as_file().set_permissions(readable)?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    Ok(())
}

/// The functions that the runtime stands in front of, as the options that the linker gets.
pub fn in_front() -> Result<Vec<String>, Error> {
    let path = folder()?.join(WRAPS_NAME);
    let text = fs::read_to_string(&path).map_err(|error| Error::at(&path, error))?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("--wrap=")).map(String::from).collect())
}

/// Returns an option for each function that the runtime stands in front of: the archive has it under the name `__wrap_NAME`.
fn wraps(archive: &[u8]) -> io::Result<String> {
    let names = mayhap_symbols::archive::index(archive)?;
    let names = names.into_iter().filter_map(|name| name.strip_prefix("__wrap_"));
    Ok(names.map(|name| format!("--wrap={name}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_puts_the_archive_in_front() {
        let wraps = wraps(&unpack(ARCHIVE).unwrap()).unwrap();
        for name in ["pthread_create", "malloc", "__tsan_atomic32_load", "_Znwm", "execve", "longjmp"] {
            assert!(wraps.lines().any(|line| line == format!("--wrap={name}")), "{name}");
        }
        assert!(!wraps.contains("dlopen"));
    }
}
