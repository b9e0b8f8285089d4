//! Tools that some tests need beyond cargo and gcc: a browser, another compiler, a debugger, valgrind.
//!
//! A test that lacks its tool cannot check anything. On a developer's machine it says what is missing and passes. Where the
//! environment variable `CI` is set it fails, so that no test is skipped unnoticed.

use std::io::Write;
use std::process::{Command, Stdio};

/// Whether a command can be run. If not, [`missing`] names the Debian package that contains it.
pub fn tool(command: &str, package: &str) -> bool {
    let run = Command::new(command).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = run.is_ok_and(|status| status.success());
    if !found {
        missing(&format!("there is no {command} (install the package {package})"));
    }
    found
}

/// Says that a test is skipped because something is missing. Panics where `CI` is set.
pub fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "a test cannot be skipped where CI is set, but {what}");
    say(what);
}

/// Says that a test is skipped because the system does not permit what it needs, such as mounting. No package would help, so this
/// is no failure in CI either.
pub fn forbidden(what: &str) {
    say(what);
}

/// Writes to standard error itself: the test harness hides what passing tests print through `println!`.
fn say(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {what}");
}
