//! The assembler that `mayhap cc` makes compilers call: it rewrites the file ([`mayhap_instrument::compile::assembly`]) and runs
//! the real assembler.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::record::code;
use crate::{Exit, Failure};
use mayhap_instrument::compile::assembly::rewrite;
use mayhap_instrument::runtime;

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 6] = ["-o", "-I", "--defsym", "-MD", "--MD", "-D"];

/// A type of section that GNU's assembler does not know and warns of; clang writes it for new versions of C++, and leaves the section empty.
const OF_LLVM: &str = ",@llvm_linker_options";

/// Assembles a file, given the arguments of an assembler.
pub fn assemble(mut arguments: Vec<OsString>) -> Result<Exit, Failure> {
    let real = real().ok_or_else(|| Failure::new("no assembler found: `as` is not on the path"))?;
    let input = input(&arguments);
    let text = match input.map(|at| arguments[at].as_os_str()) {
        Some(path) if path != "-" => std::fs::read(path).unwrap_or_default(),
        _ => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text)?;
            text
        }
    };
    let from_stdin = input.is_none_or(|at| arguments[at] == "-");
    let in_front = runtime::in_front()?;
    let in_front = in_front.iter().map(String::as_str).collect();
    let rewritten = std::str::from_utf8(&text).ok().and_then(|text| rewrite(text, &in_front));
    let rewritten = rewritten.map(|text| text.replace(OF_LLVM, ",@progbits"));
    if rewritten.is_none() && !from_stdin {
        let error = Command::new(&real).args(arguments).exec();
        return Err(Failure::at(&real, format_args!("cannot run it: {error}")));
    }
    let text = rewritten.map_or(text, String::into_bytes);
    let mut file = tempfile::Builder::new().prefix("mayhap").suffix(".s").tempfile().map_err(no_room)?;
    file.write_all(&text).map_err(no_room)?;
    match input {
        Some(at) => arguments[at] = file.path().into(),
        None => arguments.push(file.path().into()),
    }
    let status = Command::new(&real).args(arguments).status();
    let status = status.map_err(|error| Failure::at(&real, format_args!("cannot run it: {error}")))?;
    Ok(Exit::Program(code(status)))
}

/// A temporary file cannot be made; its name says nothing to the user.
fn no_room(error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull => Failure::new("the assembler's input cannot be written: No space left on device"),
        _ => Failure::new(format_args!("the assembler's input cannot be written: {error}")),
    }
}

/// The position of the file to assemble among the arguments; `None` if it is standard input.
fn input(arguments: &[OsString]) -> Option<usize> {
    let is_value = |at: usize| at > 0 && WITH_VALUE.iter().any(|option| arguments[at - 1] == *option);
    let is_file = |text: &OsStr| text == "-" || !text.as_encoded_bytes().starts_with(b"-");
    (0..arguments.len()).find(|&at| is_file(&arguments[at]) && !is_value(at))
}

/// The first assembler on the path that is not this executable.
pub(super) fn real() -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join("as"));
    let is_other = |file: &Path| file.canonicalize().is_ok_and(|real| Some(real) != own) && file.is_file();
    found.into_iter().find(|file| is_other(file))
}
