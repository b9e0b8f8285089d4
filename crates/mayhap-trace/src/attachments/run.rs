//! How a recorded program was started and how it ended: what a replay compares with. Kept with the trace as JSON.

use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use mayhap_wire::attachment;
use serde::{Deserialize, Serialize};

use crate::format::native;

/// A program's run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments, as far as they are text.
    pub program: Vec<String>,
    /// Where it ran.
    pub folder: Option<PathBuf>,
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Where the paths of source files in the trace begin, if not where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// How long it took, recording included.
    pub seconds: f64,
    /// A text that differs between builds of the executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Its standard input, as far as it was kept: it has a block of its own.
    #[serde(skip)]
    pub stdin: Option<Vec<u8>>,
}

impl Run {
    /// A run that ended so.
    pub fn new(program: &[OsString], status: ExitStatus, time: Duration) -> Run {
        Run {
            program: program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            folder: std::env::current_dir().ok(),
            code: status.code(),
            signal: status.signal(),
            root: None,
            seconds: time.as_secs_f64(),
            build: None,
            stdin: None,
        }
    }

    /// As an attachment.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What a trace file says of the run that it is of.
    pub fn load(path: &Path) -> Option<Run> {
        // Opening a pipe would wait for a writer.
        path.is_file().then_some(())?;
        let attached = |code| native::attachments(BufReader::new(File::open(path).ok()?), code).ok()?;
        let mut run: Run = serde_json::from_slice(&attached(attachment::RUN)?).ok()?;
        run.stdin = attached(attachment::STDIN);
        Some(run)
    }
}
