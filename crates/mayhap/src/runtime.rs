//! The runtime library that programs are linked with. It is part of this executable, so that one file is all that needs
//! to be installed; when first needed it is put into the user's cache folder, where linkers and loaders find it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Failure;

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmayhap_rt.so"));

/// The library's file name.
pub const NAME: &str = "libmayhap_rt.so";

/// Names that gcc's link step and programs built with plain `gcc -fsanitize=thread` look for.
const STAND_IN_FOR: [&str; 3] = ["libtsan.so", "libtsan.so.0", "libtsan.so.2"];

/// The folder that holds the runtime library, which is put there if it is not.
pub fn folder() -> Result<PathBuf, Failure> {
    let mut failures = Vec::new();
    for base in candidates() {
        let folder = base.join(format!("mayhap/{}-{:016x}", env!("CARGO_PKG_VERSION"), digest()));
        match install(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => failures.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(Failure::new(format_args!("no place for the runtime library: {}", failures.join("; "))))
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    [variable("MAYHAP_CACHE"), cache, Some(std::env::temp_dir())].into_iter().flatten()
}

/// Tells builds of the runtime apart: programs keep the path of the one they were linked with.
fn digest() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::with_seed(1).build_hasher();
    hasher.write(LIBRARY);
    hasher.finish()
}

fn install(folder: &Path) -> io::Result<()> {
    let library = folder.join(NAME);
    let complete = fs::metadata(&library).is_ok_and(|found| found.len() == LIBRARY.len() as u64)
        && STAND_IN_FOR.iter().all(|name| folder.join(name).exists());
    if complete {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    // Others may be doing the same: each writes a file of its own and renames it.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, LIBRARY)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    file.as_file().set_permissions(readable)?;
    file.persist(&library).map_err(|error| error.error)?;
    for name in STAND_IN_FOR {
        match symlink(NAME, folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
