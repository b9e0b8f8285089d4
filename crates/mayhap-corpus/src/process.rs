//! What all processes that are started here have in common.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// How often code that waits for a process looks whether it is to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// How much of what a process prints to standard error is kept.
const KEPT: usize = 1 << 14;

/// How workers are started: the executable and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// What makes it a worker.
    pub arguments: Vec<String>,
}

/// The end of what a process prints.
pub(crate) fn last_words(mut pipe: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = pipe.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..n]);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
