//! A Python with the packages of a test. `./test` installs them where it can.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has a package: the one that is named, or that of `./test`.
pub(crate) fn with(package: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ray/bin/python");
    let python = std::env::var_os("MAYHAP_PYTHON").map_or(own, PathBuf::from);
    let question = format!("import importlib.util as u; assert u.find_spec('{package}')");
    let found = Command::new(&python).args(["-c", &question]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: {} has no {package}", python.display());
    }
    is_there.then_some(python)
}
