//! The Rust programs that the recorder is tested with.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Run;

/// The folder of the package with the programs.
pub(crate) fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests/rust").canonicalize().unwrap()
}

/// Builds the programs, in a folder that is kept between runs; returns the executable, whose first argument is a program's name.
pub(crate) fn build() -> PathBuf {
    build_with(&["--bin", "programs"]).join("programs")
}

/// Builds the programs with hidden bugs; returns the folder that they are in.
pub(crate) fn build_hidden_bugs() -> PathBuf {
    build_with(&["--bins", "--features", "hidden_bugs"])
}

fn build_with(options: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-programs");
    let run: Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cargo", "build", "--offline", "--target-dir", target.to_str().unwrap()])
        .args(options)
        .current_dir(package())
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    target.join("x86_64-unknown-linux-gnu/debug")
}
