//! The Rust toolchain that builds the program: whether it can instrument, and which functions of its standard library are
//! to be stood in for.
//!
//! `std` comes compiled, without hooks. The functions in which its locks wait are wrapped by functions of the runtime: the linker
//! is asked to `--wrap` them, and a few lines of assembly per function connect the two. Their mangled names
//! differ from toolchain to toolchain, so they are looked up in the library itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use mayhap_symbols::archive;

use crate::Error;

/// The one target that the runtime is for.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Functions of `std` by their names since Rust 1.86 or earlier, and the runtime's for them. All that begin with `!` must be
/// there.
const FUNCTIONS: [(&str, &str); 20] = [
    ("!std::sys::sync::mutex::futex::Mutex::lock_contended", "mutex_lock"),
    ("!std::sys::sync::rwlock::futex::RwLock::read_contended", "rwlock_read"),
    ("!std::sys::sync::rwlock::futex::RwLock::write_contended", "rwlock_write"),
    ("!std::sys::sync::condvar::futex::Condvar::wait", "condvar_wait"),
    ("!std::sys::sync::condvar::futex::Condvar::wait_timeout", "condvar_wait_timeout"),
    ("std::sync::condvar::Condvar::notify_one", "condvar_notify_one"),
    ("std::sync::condvar::Condvar::notify_all", "condvar_notify_all"),
    ("std::sync::poison::condvar::Condvar::notify_one", "condvar_notify_one"),
    ("std::sync::poison::condvar::Condvar::notify_all", "condvar_notify_all"),
    ("std::sync::nonpoison::condvar::Condvar::notify_one", "condvar_notify_one"),
    ("std::sync::nonpoison::condvar::Condvar::notify_all", "condvar_notify_all"),
    ("!std::sys::sync::once::futex::Once::call", "once_call"),
    ("std::sync::once::Once::wait", "once_wait"),
    ("std::sync::once::Once::wait_force", "once_wait"),
    ("!std::sync::barrier::Barrier::wait", "barrier_wait"),
    ("std::thread::park", "park"),
    ("std::thread::functions::park", "park"),
    ("std::thread::thread::Thread::park", "park"),
    ("std::thread::functions::park_timeout", "park"),
    ("!std::thread::scoped::ScopeData::decrement_num_running_threads", "scope_leave"),
];

/// A toolchain that can do it.
pub struct Toolchain {
    /// Symbols of `std` and the runtime's functions for them.
    pub functions: Vec<(String, &'static str)>,
}

impl Toolchain {
    /// Looks at the toolchain that `cargo` with this choice (`+nightly`) would use.
    pub fn find(choice: Option<&OsStr>) -> Result<Toolchain, Error> {
        let version = rustc(choice, &["--version"])?;
        let unsuited = |why: String| Error::new(format_args!("{version} cannot build a program to be recorded: {why}"));
        let verbose = rustc(choice, &["-vV"])?;
        let host = verbose.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("?");
        if host != TARGET {
            return Err(unsuited(format!("it builds for {host}, and recording is for {TARGET}")));
        }
        let flags = instrument().into_iter().chain(["--print", "cfg"].map(String::from)).collect::<Vec<_>>();
        rustc(choice, &flags).map_err(|failure| unsuited(failure.to_string()))?;
        let sysroot = rustc(choice, &["--print", "sysroot"])?;
        let folder = Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib");
        let library = standard_library(&folder)
            .ok_or_else(|| unsuited(format!("there is no standard library in {}", folder.display())))?;
        let functions = functions(&library).map_err(unsuited)?;
        Ok(Toolchain { functions })
    }

    /// Assembles the stubs into this folder; returns the object file.
    pub fn stubs(&self, folder: &Path) -> Result<PathBuf, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::at(folder, error);
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let text = assembly(&self.functions);
        let (source, object) = (folder.join("std.s"), folder.join("std.o"));
        if object.is_file() && std::fs::read_to_string(&source).is_ok_and(|there| there == text) {
            return Ok(object);
        }
        std::fs::write(&source, &text).map_err(|error| failed(&error))?;
        let output = Command::new("cc").arg("-c").arg(&source).arg("-o").arg(&object).output();
        match output {
            Ok(output) if output.status.success() => Ok(object),
            Ok(output) => Err(failed(&String::from_utf8_lossy(&output.stderr).trim())),
            Err(error) => Err(Error::new(format_args!("cc, which Rust links with, cannot be run: {error}"))),
        }
    }
}

/// Returns the compiler's options that instrument.
pub fn instrument() -> Vec<String> {
    [
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=3",
        "-Cllvm-args=-sanitizer-coverage-trace-pc-guard",
        "-Cllvm-args=-tsan-instrument-read-before-write=1",
        "-Cdebuginfo=2",
        "-Cstrip=none",
        "-Csplit-debuginfo=off",
    ]
    .map(String::from)
    .into()
}

/// What the compiler prints.
fn rustc(choice: Option<&OsStr>, arguments: &[impl AsRef<OsStr>]) -> Result<String, Error> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&program)
        .args(choice)
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .map_err(|error| Error::at(Path::new(&program), format_args!("cannot run it: {error}")))?;
    if !output.status.success() {
        return Err(Error::new(String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn standard_library(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut libraries = files.filter(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or("");
        name.starts_with("libstd-") && name.ends_with(".rlib")
    });
    libraries.next()
}

/// The symbols of the functions to stand in for.
fn functions(library: &Path) -> Result<Vec<(String, &'static str)>, String> {
    let bytes = std::fs::read(library).map_err(|error| format!("{}: {error}", library.display()))?;
    let symbols = archive::functions(&bytes).map_err(|error| format!("{}: {error}", library.display()))?;
    let mut found = Vec::new();
    let mut missing: Vec<&str> = FUNCTIONS.iter().filter_map(|(name, _)| name.strip_prefix('!')).collect();
    // The methods are of types and modules of `std` itself: most names need no demangling.
    for mangled in symbols.into_iter().filter(|mangled| mangled.contains("3std")) {
        let name = plain(&archive::demangled(&mangled));
        if let Some((_, function)) = FUNCTIONS.iter().find(|(wanted, _)| wanted.trim_start_matches('!') == name) {
            found.push((mangled, *function));
            missing.retain(|wanted| *wanted != name);
        }
    }
    match missing.first() {
        None => Ok(found),
        Some(name) => Err(format!("its standard library has no function {name}, so that locks could not be seen")),
    }
}

/// A function's name as both mangling schemes have it: without brackets around types and without a hash.
fn plain(name: &str) -> String {
    let name: String = name.chars().filter(|c| !matches!(c, '<' | '>')).collect();
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => before.to_string(),
        _ => name,
    }
}

/// Each wrapped function goes to the runtime's, with the real one in the sixth argument. A program without `std` has none.
fn assembly(functions: &[(String, &str)]) -> String {
    let mut text = String::from("\t.intel_syntax noprefix\n\t.text\n");
    for (symbol, function) in functions {
        text += &format!(
            "\t.weak __real_{symbol}\n\t.globl __wrap_{symbol}\n\t.hidden __wrap_{symbol}\n\t.type __wrap_{symbol}, @function\n\
             __wrap_{symbol}:\n\tmov r9, qword ptr __real_{symbol}@GOTPCREL[rip]\n\tjmp mayhap_std_{function}@PLT\n"
        );
    }
    text += "\t.section .note.GNU-stack,\"\",@progbits\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_mangling_schemes_are_the_same() {
        let name = "std::sys::sync::mutex::futex::Mutex::lock_contended";
        assert_eq!(plain("<std::sys::sync::mutex::futex::Mutex>::lock_contended"), name);
        assert_eq!(plain("std::sys::sync::mutex::futex::Mutex::lock_contended::h0123456789abcdef"), name);
    }

    #[test]
    fn this_toolchain_has_the_functions() {
        let toolchain = Toolchain::find(None).unwrap();
        for (name, function) in FUNCTIONS {
            assert!(!name.starts_with('!') || toolchain.functions.iter().any(|(_, f)| *f == function), "{name}");
        }
    }
}
