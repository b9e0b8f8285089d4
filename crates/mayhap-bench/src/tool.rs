//! Running programs and measuring them: wall and processor time, peak memory, what they printed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use wait4::Wait4;

/// The `mayhap` executable.
pub(crate) struct Tool {
    path: PathBuf,
    /// What one run may take; see [`SLOW`].
    pub(crate) limit: Duration,
    /// When runs must be over, give or take a few seconds.
    pub(crate) until: Instant,
}

/// The time limit of a run when no time is left; most take less.
const LAST: Duration = Duration::from_secs(10);

/// How the error of a run begins that took longer than it may.
pub(crate) const SLOW: &str = "it takes too long";

/// One run of a program.
pub(crate) struct Run {
    /// From start to end.
    pub(crate) wall: Duration,
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Peak resident memory in bytes.
    pub(crate) memory: u64,
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Run {
    /// The JSON document that was printed.
    pub(crate) fn json(&self) -> Result<Value, String> {
        serde_json::from_str(&self.out).map_err(|e| format!("no JSON ({e}): {}", self.err.trim()))
    }
}

/// Runs a command to its end, its output into files so that no pipe can fill up.
pub(crate) fn run(command: &mut Command) -> Result<Run, String> {
    let failed = |e: std::io::Error| format!("{:?}: {e}", command.get_program());
    let folder = tempfile::tempdir().map_err(failed)?;
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let started = Instant::now();
    let files = (File::create(&out).map_err(failed)?, File::create(&err).map_err(failed)?);
    let program = command.get_program().to_os_string();
    let child = command
        .stdin(Stdio::null())
        .stdout(files.0)
        .stderr(files.1)
        .spawn()
        .map_err(|e| format!("{program:?}: {e}"))?;
    let used = child.wait4().map_err(|e| format!("{program:?}: {e}"))?;
    let wall = started.elapsed();
    let read = |path: &Path| fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    Ok(Run {
        wall,
        cpu: used.rusage.utime + used.rusage.stime,
        memory: used.rusage.maxrss,
        code: used.status.code(),
        out: read(&out),
        err: read(&err),
    })
}

impl Tool {
    /// The executable that was built next to this program.
    pub(crate) fn find() -> Result<Tool, String> {
        let own = std::env::current_exe().map_err(|e| format!("where am I? {e}"))?;
        let path = own.with_file_name("mayhap");
        match path.exists() {
            true => Ok(Tool { path, limit: Duration::from_secs(120), until: Instant::now() }),
            false => Err(format!("{} is missing; bench/run builds both", path.display())),
        }
    }

    /// Returns the executable.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a subcommand; exit code 2 (bad input) is an error, the others are answers.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Run, String> {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_os_string()).collect();
        let mut command = Command::new("timeout");
        let limit = self.until.saturating_duration_since(Instant::now()).clamp(LAST, self.limit);
        let run = run(command.arg(limit.as_secs().to_string()).arg(&self.path).args(&args))?;
        match run.code {
            Some(0 | 1 | 3) => Ok(run),
            Some(124) => Err(format!("{SLOW}: mayhap {args:?} ran for more than {} s", limit.as_secs())),
            code => Err(format!("mayhap {args:?} ended with {code:?}: {}", run.err.trim())),
        }
    }

    /// Runs a subcommand and takes its JSON.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<(Value, Run), String> {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_os_string()).collect();
        let run = self.run(args.iter().map(OsString::as_os_str).chain(["--format".as_ref(), "json".as_ref()]))?;
        Ok((run.json()?, run))
    }
}

/// Returns a number of a JSON document; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Seconds with three figures.
pub(crate) fn seconds(time: Duration) -> String {
    let s = time.as_secs_f64();
    match s {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s => format!("{:.1} ms", s * 1e3),
    }
}

/// Bytes as MB.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Which machine and which commit the figures are of.
pub(crate) fn machine(root: &Path) -> String {
    let field = |file: &str, key: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with(key)).unwrap_or_default();
        line.split_once(':').map_or(String::from("unknown"), |(_, v)| v.trim().to_string())
    };
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output();
        output.map_or(String::new(), |o| String::from_utf8_lossy(&o.stdout).trim().to_string())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]);
    let changed = if git(&["status", "--porcelain", "--untracked-files=no"]).is_empty() { "" } else { ", changed" };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "Machine: {}, {cores} cores, {} memory, Linux {}. Commit {}{changed}.",
        field("/proc/cpuinfo", "model name"),
        field("/proc/meminfo", "MemTotal"),
        fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        if commit.is_empty() { "unknown" } else { &commit },
    )
}
