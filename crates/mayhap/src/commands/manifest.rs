//! What `mayhap verify` does with a manifest: checks it by itself, and if asked for, against the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use mayhap_explore::manifest::Manifest;
use mayhap_explore::run::IN_TURNS;
use mayhap_explore::turns::turns_of;
use mayhap_explore::{Next, Outcome, closure};
use mayhap_instrument::runtime;
use mayhap_report::counted;
use serde::Serialize;

use super::TIMEOUT;
use super::run::temporary_folder;
use crate::files::{Contents, advice_unless};
use crate::output::{Format, FormatArgs, json};
use crate::{Exit, Failure};
use mayhap_job::{Runs, Stdin};

/// The largest manifest that is read.
const LARGEST: u64 = 4 << 30;

#[derive(Serialize)]
struct Answer {
    verdict: &'static str,
    executions: usize,
    runs: usize,
    reversals: usize,
    /// How many runs were made again.
    repeated: usize,
    reason: Option<String>,
}

/// Checks a manifest.
pub(super) fn verify(path: &Path, again: bool, format: &FormatArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let at = |what: String| Failure::at(path, what);
    if let Some(advice) = advice_unless(path, &[Contents::Manifest, Contents::Report]) {
        return Err(at(format!("a witness is missing, or this is no manifest: {advice}")));
    }
    let size = std::fs::metadata(path).map_err(|error| Failure::at(path, error))?.len();
    if size > LARGEST {
        return Err(at(format!("{size} bytes are too many for a manifest")));
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::at(path, error))?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| at(format!("not a manifest: {error}")))?;
    let checked = closure::check(&manifest);
    let repeated = match (&checked, again) {
        (Ok(_), true) => repeat(&manifest)?,
        _ => Ok(0),
    };
    let (executions, runs, reversals) =
        checked.as_ref().map_or((0, 0, 0), |proven| (proven.executions, proven.runs, proven.reversals));
    let reason = checked.as_ref().err().cloned().or(repeated.as_ref().err().cloned());
    let exit = if reason.is_none() { Exit::Nothing } else { Exit::Found };
    let repeated = repeated.unwrap_or(0);
    if format.format == Format::Json {
        let verdict = if reason.is_none() { "accepted" } else { "rejected" };
        json(out, &Answer { verdict, executions, runs, reversals, repeated, reason })?;
        return Ok(exit);
    }
    match reason {
        Some(reason) => writeln!(out, "rejected: {reason}")?,
        None => {
            let loops = if manifest.cut_loops { ", loops that wait followed for a few rounds" } else { "" };
            let runs = counted(runs as u64, "run");
            writeln!(
                out,
                "accepted: {executions} distinguishable executions, and no other{loops}: {runs}; {reversals} pairs of steps could \
                 have come in the other order, and a run shows each",
            )?;
            let again = match repeated {
                0 => "no run was made again: that these are the program's steps is the recording's word (--run)".into(),
                repeated => format!("{} made again, with the same steps", counted(repeated as u64, "run")),
            };
            writeln!(out, "{again}")?;
        }
    }
    Ok(exit)
}

/// Makes every run again; how many, or which one went another way.
fn repeat(manifest: &Manifest) -> Result<Result<usize, String>, Failure> {
    let Some(name) = manifest.program.first() else { return Ok(Err("it names no program".into())) };
    let program: Vec<OsString> = manifest.program.iter().map(OsString::from).collect();
    if mayhap_record::build_of(&program[0]) != manifest.build {
        return Ok(Err(format!("`{name}` is not there, or was built again since then")));
    }
    let folder = temporary_folder()?;
    let runs = Runs {
        program,
        runtime: runtime::folder()?,
        fixed: true,
        stdin: Stdin::read_whole(folder.path())?,
        inputs: manifest.inputs,
        faults: manifest.faults,
        folder: folder.path().to_path_buf(),
        libraries: None,
        servers: Some(std::sync::Arc::default()),
    };
    let limit = std::time::Duration::from_secs_f64(TIMEOUT);
    for (number, steps) in closure::unfold(manifest).unwrap_or_default().iter().enumerate() {
        let turns = turns_of(steps);
        let outcome = Outcome::in_turns(&runs.make(&Next::Turns(turns, IN_TURNS), limit)?)?;
        if let Some(unseen) = outcome.unseen.first() {
            return Ok(Err(format!("run {number}: {unseen}")));
        }
        if let Some(nth) = (0..steps.len().max(outcome.steps.len())).find(|&n| steps.get(n) != outcome.steps.get(n)) {
            return Ok(Err(format!("run {number}: made again, its step {nth} is another one")));
        }
        if outcome.success != manifest.runs[number].success {
            return Ok(Err(format!("run {number}: made again, it ends otherwise")));
        }
    }
    Ok(Ok(manifest.runs.len()))
}
