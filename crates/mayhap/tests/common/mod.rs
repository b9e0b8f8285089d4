//! Running the binary.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod expect;
pub(crate) mod rust;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How a run ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs `mayhap` in a directory, so that paths in messages are the same everywhere.
pub(crate) fn mayhap_in(directory: &Path, args: &[&str]) -> Run {
    Command::new(env!("CARGO_BIN_EXE_mayhap")).args(args).current_dir(directory).output().unwrap().into()
}

/// The same with this many megabytes of address space.
pub(crate) fn mayhap_within(megabytes: u32, directory: &Path, args: &[&str]) -> Run {
    let script = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_mayhap")]).args(args).current_dir(directory);
    command.output().unwrap().into()
}

/// The real traces of the corpus.
pub(crate) fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/traces").canonicalize().unwrap()
}
