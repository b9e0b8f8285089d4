//! The recording hooks: a C program built by `mayhap cc`, recorded and not, with callgrind around the program itself.
//!
//! Only the program runs under callgrind, so the counts are those of its hooks and its own work, not the recorder's.

use std::path::Path;
use std::process::Command;

use crate::counts::Counts;
use crate::{callgrind, collected, mayhap};

/// Compiles `bench/programs/hooks.c` and counts each of its functions.
pub(crate) fn count(root: &Path, counts: &mut Counts) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    let (mayhap, program) = (mayhap()?, folder.path().join("hooks"));
    let mut compile = Command::new(&mayhap);
    compile.args(["cc", "-O2", "-g", "-pthread"]).arg(root.join("bench/programs/hooks.c")).arg("-o").arg(&program);
    // The runtime of this build, not one that an older build left in the cache.
    let cache = folder.path().join("cache");
    let compiled = compile.env("MAYHAP_CACHE", &cache).status().map_err(|error| format!("mayhap cc: {error}"))?;
    if !compiled.success() {
        return Err("bench/programs/hooks.c does not compile".into());
    }
    for (name, function) in [("accesses", "access_loop"), ("locks", "lock_loop"), ("atomics", "atomic_loop")] {
        let counted = callgrind(function);
        let mut record = Command::new(&mayhap);
        record.args(["record", "-o"]).arg(folder.path().join("hooks.mhp")).arg("--");
        record.arg(counted.get_program()).args(counted.get_args()).arg(&program).env("MAYHAP_CACHE", &cache);
        counts.add(&format!("hooks {name}"), collected(&mut record)?);
        let mut alone = callgrind(function);
        counts.add(&format!("hooks {name}, not recorded"), collected(alone.arg(&program))?);
    }
    Ok(())
}
