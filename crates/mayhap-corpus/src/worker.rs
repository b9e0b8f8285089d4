//! A worker process: takes tasks from its standard input, keeps results in the store, answers on its standard output.
//!
//! Both are lines of JSON. The first line is [`Start`]; each further one is a [`Task`], and has one [`Answer`]. A worker ends when
//! its input does. It limits its own memory: a task that needs more aborts the process and nothing else.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use serde::{Deserialize, Serialize};

use crate::analyse::{Suggest, analyse};
use crate::store::fingerprint;
use crate::{Failed, How, Key, Limits, Outcome, Settings, Store};

/// What a worker is told first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// What to look for.
    pub settings: Settings,
    /// The build of the tool.
    pub build: String,
    /// Where results go.
    pub store: PathBuf,
    /// Bytes of memory that it may use.
    pub memory: u64,
    /// What a task may use in all.
    pub limits: Limits,
    /// Threads for one trace.
    pub threads: usize,
}

/// One trace to analyse.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Where it is.
    pub path: PathBuf,
    /// The fingerprint of the file; a recording has another one once it is a trace.
    pub fingerprint: String,
}

/// What came of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The name of the result in the store.
    pub result: String,
    /// Fingerprints of the findings.
    pub findings: Vec<String>,
}

/// Works until the input ends.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, suggest: Suggest<'_>) -> io::Result<()> {
    let Some(start) = line::<Start>(input)? else { return Ok(()) };
    // Without the process that asked, nothing is to be done. Where limits cannot be set, the worker goes on without.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(start.memory), maximum: Some(start.memory) });
    let store = Store::open(&start.store).map_err(io::Error::other)?;
    while let Some(task) = line::<Task>(input)? {
        let was_recording = mayhap_record::is_unfinished(&task.path);
        let outcome = analyse(&task.path, &start.settings, start.threads, suggest);
        if let Outcome::Failed(Failed { how: How::OutOfMemory, .. }) = outcome {
            // As if it had been aborted: with more memory it may succeed.
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let answer = keep(&task, &outcome, was_recording, &start, &store).map_err(io::Error::other)?;
        serde_json::to_writer(&mut *output, &answer)?;
        writeln!(output)?;
        output.flush()?;
    }
    Ok(())
}

/// Keeps what came of a task.
fn keep(
    task: &Task,
    outcome: &Outcome,
    was_recording: bool,
    start: &Start,
    store: &Store,
) -> Result<Answer, crate::Error> {
    let trace = match (outcome, was_recording) {
        (Outcome::Report(_), true) => changed(&task.path)?,
        _ => task.fingerprint.clone(),
    };
    let key = Key { trace, settings: start.settings.clone(), build: start.build.clone() };
    let result = store.put(&key, outcome, start.limits)?;
    let findings = match outcome {
        Outcome::Report(report) => report.findings.iter().map(|finding| finding.fingerprint.clone()).collect(),
        Outcome::Failed(_) => Vec::new(),
    };
    Ok(Answer { result, findings })
}

/// The fingerprint of what was a recording and is a trace now.
fn changed(path: &Path) -> Result<String, crate::Error> {
    fingerprint(path).map_err(crate::Error::file(path))
}

/// The next line; `None` at the end.
fn line<T: for<'a> Deserialize<'a>>(input: &mut dyn BufRead) -> io::Result<Option<T>> {
    let mut text = String::new();
    match input.read_line(&mut text)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&text)?)),
    }
}
