//! A worker process: takes tasks from its standard input, keeps results in the store, answers on its standard output.
//!
//! Both are lines of JSON. The first line is [`Start`]; each further one is a [`Task`], and has one [`Answer`]. A worker ends when
//! its input does. A worker that has no store, since it is on another machine, answers with the result itself. It limits its own memory: a task that needs more aborts the process and nothing else.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use serde::{Deserialize, Serialize};

use crate::analyse::{Suggest, analyse, finish};
use crate::store::{fingerprint, pack};
use crate::{Failed, How, Key, Limits, Outcome, Settings, Store, objects};

/// The first message to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// What to look for.
    pub settings: Settings,
    /// The build of the tool.
    pub build: String,
    /// Where results go; `None` if they go into the answers.
    pub store: Option<PathBuf>,
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
    /// Where it is: a path, or the URL of an object.
    pub path: PathBuf,
    /// The fingerprint of the file; a recording has another one once it is a trace. Of an object that was not fetched yet, its URL
    /// and version.
    pub fingerprint: String,
    /// Which windows of the trace: every so many-th, from the so many-th on; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<[u64; 2]>,
    /// Whether the file was a recording when its fingerprint was taken.
    #[serde(default)]
    pub is_recording: bool,
}

/// What came of a task.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The name of the result in the store.
    pub result: String,
    /// Fingerprints of the findings.
    pub findings: Vec<String>,
    /// The fingerprint of an object's contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// The result itself in base64, if the worker has no store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<String>,
    /// Why the result could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Works until the input ends.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, suggest: Suggest<'_>) -> io::Result<()> {
    let Some(start) = line::<Start>(input)? else { return Ok(()) };
    // Without the process that asked, nothing is to be done. Where limits cannot be set, the worker goes on without.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(start.memory), maximum: Some(start.memory) });
    let store = start.store.as_deref().map(Store::open).transpose().map_err(io::Error::other)?;
    while let Some(task) = line::<Task>(input)? {
        let (task, outcome, fetched) = match objects::is_url(&task.path) {
            true => fetched(task, &start, suggest),
            false => {
                let (task, outcome) = local(task, &start, suggest);
                (task, outcome, None)
            }
        };
        if let Outcome::Failed(Failed { how: How::OutOfMemory, .. }) = outcome {
            // As if it had been aborted: with more memory it may succeed.
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let answer = match keep(&task, &outcome, &start, store.as_ref()) {
            Ok(answer) => Answer { fetched, ..answer },
            Err(error) => Answer { trouble: Some(error.to_string()), ..Answer::default() },
        };
        serde_json::to_writer(&mut *output, &answer)?;
        writeln!(output)?;
        output.flush()?;
    }
    Ok(())
}

/// Does the task of a file, which has another fingerprint afterwards if it was a recording. A result is kept under the contents of
/// the file, so these must be what was analysed.
fn local(mut task: Task, start: &Start, suggest: Suggest<'_>) -> (Task, Outcome) {
    let failed = |how, reason: String| Outcome::Failed(Failed { how, reason });
    let notes = match finish(&task.path) {
        Ok(notes) => notes,
        Err(outcome) => return (task, outcome),
    };
    if task.is_recording {
        match fingerprint(&task.path) {
            Ok(finished) => task.fingerprint = finished,
            Err(error) => return (task, failed(How::Changed, error.to_string())),
        }
    }
    let outcome = analyse(&task.path, task.share, &start.settings, start.threads, suggest);
    match fingerprint(&task.path) {
        Ok(now) if now == task.fingerprint => (task, with(notes, outcome)),
        Ok(_) => (task, failed(How::Changed, "the file changed while it was analysed".to_string())),
        Err(error) => (task, failed(How::Changed, error.to_string())),
    }
}

/// Puts what was said of a recording in front of what is said of its trace.
fn with(notes: Vec<String>, mut outcome: Outcome) -> Outcome {
    if let Outcome::Report(report) = &mut outcome {
        report.notes.splice(0..0, notes);
    }
    outcome
}

/// Does the task of an object: fetches it first. Returns the fingerprint of its contents, too.
fn fetched(task: Task, start: &Start, suggest: Suggest<'_>) -> (Task, Outcome, Option<String>) {
    let unreachable = |reason: String| Outcome::Failed(Failed { how: How::Unreachable, reason });
    let (copy, version) = match objects::fetch(&task.path) {
        Ok(fetched) => fetched,
        Err(error) => return (task, unreachable(error.to_string()), None),
    };
    // What has changed since it was listed is another version, whose contents are remembered when it is listed.
    let is_listed = task.fingerprint.ends_with(&format!(" {version}"));
    if !is_listed && task.share.is_some() {
        let reason = "the object changed while it was analysed".to_string();
        return (task, Outcome::Failed(Failed { how: How::Changed, reason }), None);
    }
    let known = match fingerprint(copy.path()) {
        Ok(known) => known,
        Err(error) => return (task, unreachable(error.to_string()), None),
    };
    let outcome = match finish(copy.path()) {
        Ok(notes) => with(notes, analyse(copy.path(), task.share, &start.settings, start.threads, suggest)),
        Err(outcome) => outcome,
    };
    (Task { fingerprint: known.clone(), ..task }, outcome, is_listed.then_some(known))
}

/// Keeps what came of a task.
fn keep(task: &Task, outcome: &Outcome, start: &Start, store: Option<&Store>) -> Result<Answer, crate::Error> {
    let trace = task.fingerprint.clone();
    let key = Key { trace, share: task.share, settings: start.settings.clone(), build: start.build.clone() };
    let findings = outcome.fingerprints();
    let (result, packed) = match store {
        Some(store) => (store.put(&key, outcome, start.limits)?, None),
        None => (key.name(), Some(STANDARD.encode(pack(&key, outcome, start.limits)?))),
    };
    Ok(Answer { result, findings, packed, ..Answer::default() })
}

/// The next line; `None` at the end.
fn line<T: for<'a> Deserialize<'a>>(input: &mut dyn BufRead) -> io::Result<Option<T>> {
    let mut text = String::new();
    match input.read_line(&mut text)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&text)?)),
    }
}
