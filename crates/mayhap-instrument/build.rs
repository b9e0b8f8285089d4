//! Builds the runtime library, which becomes part of the executable.
//!
//! It is a library of its own with its own symbols, loaded into other people's programs, so it cannot be an ordinary
//! dependency, and stable cargo has no dependencies on built files. Building it here means that one `cargo build` gives
//! an executable that needs nothing beside it.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let crates = manifest.parent().expect("the crate lies in a folder of crates");
    for path in ["mayhap-rt/src", "mayhap-rt/build.rs", "mayhap-rt/Cargo.toml", "mayhap-wire/src"] {
        println!("cargo:rerun-if-changed={}", crates.join(path).display());
    }
    println!("cargo:rerun-if-changed={}", crates.join("mayhap-jvm/src").display());
    println!("cargo:rerun-if-changed={}", crates.join("mayhap-jvm/Cargo.toml").display());
    let library = build(crates, &out, "mayhap-rt", "cdylib", &[], "libmayhap_rt.so");
    let archive = build(crates, &out, "mayhap-rt", "staticlib", &["--features", "archive"], "libmayhap_rt.a");
    let agent = build(crates, &out, "mayhap-jvm", "cdylib", &[], "libmayhap_jvm.so");
    // Two thirds of the archive are debug information of the standard library, which it works without.
    let _ = Command::new("strip").arg("--strip-debug").arg(&archive).status();
    let headers = ["bits/c++config.h", "string"].map(|name| manifest.join("src/headers").join(name));
    println!("cargo:rerun-if-changed={}", manifest.join("src/headers").display());
    println!(
        "cargo:rustc-env=MAYHAP_RUNTIME_DIGEST={:016x}",
        digest(&[&library, &archive, &agent, &headers[0], &headers[1]])
    );
    println!("cargo:rustc-env=MAYHAP_RUNTIME={}", pack(&library).display());
    println!("cargo:rustc-env=MAYHAP_RUNTIME_ARCHIVE={}", pack(&archive).display());
    println!("cargo:rustc-env=MAYHAP_RUNTIME_AGENT={}", pack(&agent).display());
}

/// Compresses a file: it is then a quarter as large in the executable.
fn pack(file: &Path) -> PathBuf {
    let packed = file.with_added_extension("zst");
    let bytes = std::fs::read(file).expect("the runtime library was built");
    std::fs::write(&packed, zstd::bulk::compress(&bytes, 19).expect("bytes can be compressed"))
        .expect("the folder can be written");
    packed
}

/// Tells builds of the runtime apart.
fn digest(files: &[&Path]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(&std::fs::read(file).expect("it was built, or is a source"));
    }
    hasher.finish()
}

/// Builds one form of the runtime, or the agent for Java and copies it to where the executable takes it from.
fn build(crates: &Path, out: &Path, package: &str, form: &str, features: &[&str], name: &str) -> PathBuf {
    let target = out.join("runtime");
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("cargo sets it"));
    cargo
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type", form])
        .args(features)
        .arg("--manifest-path")
        .arg(crates.join(package).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    // The outer build may be clippy's, or instrumented; the runtime must be neither.
    for variable in
        ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"]
    {
        cargo.env_remove(variable);
    }
    let status = cargo.status().expect("cargo can be run");
    assert!(status.success(), "the runtime library could not be built");
    let copy = out.join(name);
    std::fs::copy(target.join("release").join(name), &copy).expect("the runtime library was built");
    copy
}
