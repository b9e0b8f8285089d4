//! Programs whose memory lies at the same addresses in every run.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What sets a program up to have the same addresses in every run.
const FIXER: [&str; 3] = ["setarch", "x86_64", "-R"];

/// There is a way to fix addresses, and it is allowed here.
pub fn can_be_fixed() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let mut test = Command::new(FIXER[0]);
        test.args(&FIXER[1..]).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        test.status().is_ok_and(|status| status.success())
    })
}

/// The program with fixed addresses.
pub fn fixed(program: &[OsString]) -> Vec<OsString> {
    FIXER.iter().map(OsString::from).chain(program.iter().cloned()).collect()
}
