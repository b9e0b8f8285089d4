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

/// Free memory, in bytes: what the system has, or what a container leaves.
pub(crate) fn free_memory() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    });
    let container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    system.into_iter().chain(container).min().unwrap_or(4 << 30)
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
