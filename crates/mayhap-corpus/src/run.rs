//! All tasks of a run: what the store does not have yet is done, and the manifest says what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::analyse::of_shares;
use crate::inputs::Remote;
use crate::pool::{Done, Found, Hands, Pool};
use crate::worker::{Answer, Start, Task};
use crate::{
    Entry, Error, Failed, How, Key, Limits, Manifest, Outcome, Seen, Settings, Shard, Store, fingerprint, inputs,
    is_url,
};

/// Shows how far a run has come.
pub trait Progress: Sync {
    /// So many traces of so many are done, with so many different findings.
    fn set(&self, done: u64, of: u64, findings: u64);
}

/// What to do.
pub struct Job<'a> {
    /// Folders, traces and lists of traces.
    pub inputs: &'a [PathBuf],
    /// What to look for.
    pub settings: Settings,
    /// Which part of the traces.
    pub shard: Shard,
    /// Where results are kept.
    pub store: &'a Store,
    /// How many workers at a time.
    pub workers: usize,
    /// Threads of each.
    pub threads: usize,
    /// What tasks may use.
    pub limits: Limits,
    /// Whether to try again what has failed.
    pub retry: bool,
    /// Who does tasks.
    pub hands: &'a Hands,
    /// The version of the tool, for people.
    pub tool: String,
    /// The build of the tool: results of another one are not taken.
    pub build: String,
    /// Whether to end early.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Shows how far it has come.
    pub progress: &'a dyn Progress,
}

/// What a run did.
#[derive(Debug)]
pub struct Ran {
    /// The traces and their results.
    pub manifest: Manifest,
    /// Tasks that were done now.
    pub performed: u64,
    /// Tasks whose results were there.
    pub kept: u64,
    /// Whether it ended early.
    pub stopped: bool,
}

/// What is known of a trace.
enum State {
    /// It has a result.
    Kept(String, Vec<String>),
    /// It is to be analysed; the file has this fingerprint.
    Open(String),
    /// It cannot be read.
    Unreadable(Failed),
}

/// A trace is divided if its file has so many bytes for each event of a window and each worker: then there are windows for all.
const DIVIDED: u64 = 4;

/// Does what is not done yet. What is wrong with a trace does not end it.
pub fn run(job: &Job<'_>) -> Result<Ran, Error> {
    let all = inputs::traces(job.inputs)?;
    let seen = Seen::new(all.keys());
    let traces: Vec<(PathBuf, Option<Remote>)> =
        (0..).zip(all).filter(|(n, _)| job.shard.has(*n)).map(|(_, trace)| trace).collect();
    let states = look(job, &traces);
    let results: Mutex<Vec<Option<String>>> = Mutex::new(vec![None; traces.len()]);
    let (found, done) = (Found::default(), AtomicU64::new(0));
    let of = traces.len() as u64;
    for (n, state) in states.iter().enumerate() {
        match state {
            State::Kept(name, findings) => {
                results.lock().expect("no slot panics")[n] = Some(name.clone());
                job.progress.set(done.fetch_add(1, Ordering::Relaxed) + 1, of, found.add(findings));
            }
            State::Unreadable(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
            State::Open(_) => {}
        }
    }
    let plan = Plan::new(job, &traces, &states);
    let kept = of - states.iter().filter(|state| !matches!(state, State::Kept(..))).count() as u64;
    let finished = |n: usize, name: &str, findings: &[String]| {
        let members = plan.alike.get(&n).map_or(std::slice::from_ref(&n), Vec::as_slice);
        let mut results = results.lock().expect("no slot panics");
        members.iter().for_each(|&member| results[member] = Some(name.to_string()));
        let done = done.fetch_add(members.len() as u64, Ordering::Relaxed) + members.len() as u64;
        job.progress.set(done, of, found.add(findings));
    };
    let shares: Mutex<BTreeMap<(usize, u64), String>> = Mutex::new(plan.shares.clone());
    let ended = |task: usize, name: &str, findings: &[String]| match (plan.owners[task], plan.tasks[task].1.share) {
        (n, Some([part, _])) => {
            shares.lock().expect("no slot panics").insert((n, part), name.to_string());
            job.progress.set(done.load(Ordering::Relaxed), of, found.add(findings));
        }
        (n, None) => finished(n, name, findings),
    };
    let mut performed = perform(job, plan.tasks.clone(), &ended)?;
    // Shares count as one.
    performed -= plan.tasks.iter().filter(|(_, task)| task.share.is_some()).count().min(performed as usize) as u64;
    let shares = shares.into_inner().expect("no slot panics");
    for (&n, &parts) in &plan.divided {
        if let Some((name, findings)) =
            join(job, &traces[n].0, &states[n], (0..parts).map(|part| shares.get(&(n, part))))?
        {
            performed += 1;
            finished(n, &name, &findings);
        }
    }
    let results = results.into_inner().expect("no slot panics");
    let entry = |(((path, _), state), result): ((&(PathBuf, _), State), Option<String>)| Entry {
        path: inputs::shown(path),
        result,
        failed: if let State::Unreadable(failed) = state { Some(failed) } else { None },
    };
    let manifest = Manifest {
        shard: job.shard,
        seen,
        tool: job.tool.clone(),
        build: job.build.clone(),
        settings: job.settings.clone(),
        inputs: job.inputs.iter().map(|input| input.display().to_string()).collect(),
        traces: traces.iter().zip(states).zip(results).map(entry).collect(),
    };
    job.store.put_manifest(&manifest)?;
    Ok(Ran { manifest, performed, kept, stopped: (job.stop)() })
}

/// What is to be done.
#[derive(Default)]
struct Plan {
    tasks: Vec<(usize, Task)>,
    /// The trace of each task.
    owners: Vec<usize>,
    /// Traces of the same contents, by the one that is analysed.
    alike: BTreeMap<usize, Vec<usize>>,
    /// Traces that are divided, and into how many shares of their windows.
    divided: BTreeMap<usize, u64>,
    /// Shares whose results are there.
    shares: BTreeMap<(usize, u64), String>,
}

impl Plan {
    fn new(job: &Job<'_>, traces: &[(PathBuf, Option<Remote>)], states: &[State]) -> Plan {
        let mut plan = Plan::default();
        let mut same: BTreeMap<&str, usize> = BTreeMap::new();
        for (n, (state, (path, remote))) in states.iter().zip(traces).enumerate() {
            let State::Open(fingerprint) = state else { continue };
            let is_recording = !is_url(path) && mayhap_record::is_unfinished(path);
            // Traces of the same contents are one task; a recording is one for itself, since it must become a trace.
            if !is_recording {
                let first = *same.entry(fingerprint).or_insert(n);
                plan.alike.entry(first).or_default().push(n);
                if first != n {
                    continue;
                }
            }
            let task = Task { path: path.clone(), fingerprint: fingerprint.clone(), share: None, is_recording };
            match if is_recording { 1 } else { shares(job, size(path, remote.as_ref())) } {
                1 => plan.add(n, task),
                parts => {
                    plan.divided.insert(n, parts);
                    for part in 0..parts {
                        let task = Task { share: Some([part, parts]), ..task.clone() };
                        match known(job, &key(job, &contents(job, fingerprint), task.share)) {
                            Some((name, _)) => drop(plan.shares.insert((n, part), name)),
                            None => plan.add(n, task),
                        }
                    }
                }
            }
        }
        plan
    }

    fn add(&mut self, owner: usize, task: Task) {
        self.tasks.push((self.tasks.len(), task));
        self.owners.push(owner);
    }
}

/// Into how many shares of its windows a trace is divided.
fn shares(job: &Job<'_>, size: u64) -> u64 {
    let window = job.settings.window as u64;
    let workers = job.workers as u64;
    if window > 0 && workers > 1 && size / window >= DIVIDED * workers { workers } else { 1 }
}

/// The bytes of a trace, as far as they are known.
fn size(path: &Path, remote: Option<&Remote>) -> u64 {
    remote.map_or_else(|| std::fs::metadata(path).map_or(0, |file| file.len()), |remote| remote.size)
}

/// The fingerprint of a trace's contents, by which its results are kept. That of a version of an object is known once it was fetched.
fn contents(job: &Job<'_>, fingerprint: &str) -> String {
    let is_object = fingerprint.contains("://");
    is_object.then(|| job.store.fetched(fingerprint)).flatten().unwrap_or_else(|| fingerprint.to_string())
}

/// Makes one result of the shares of a trace, if all are there.
fn join<'a>(
    job: &Job<'_>,
    path: &Path,
    state: &State,
    shares: impl Iterator<Item = Option<&'a String>>,
) -> Result<Option<(String, Vec<String>)>, Error> {
    let (Some(names), State::Open(fingerprint)) = (shares.collect::<Option<Vec<_>>>(), state) else { return Ok(None) };
    let (mut windows, mut failed) = (Vec::new(), None);
    for name in names {
        match job.store.get(name) {
            Some(Outcome::Windows(part)) => windows.push(*part),
            Some(Outcome::Failed(why)) => failed = failed.or(Some(why)),
            Some(Outcome::Report(_)) | None => return Ok(None),
        }
    }
    let outcome = failed.map_or_else(|| of_shares(path, windows, &job.settings), Outcome::Failed);
    let name = job.store.put(&key(job, &contents(job, fingerprint), None), &outcome, job.limits)?;
    Ok(Some((name, outcome.fingerprints())))
}

/// Looks at all traces: which results are there?
fn look(job: &Job<'_>, traces: &[(PathBuf, Option<Remote>)]) -> Vec<State> {
    let next = AtomicUsize::new(0);
    let states: Mutex<Vec<(usize, State)>> = Mutex::new(Vec::with_capacity(traces.len()));
    let work = || {
        let mut mine = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, remote)) = traces.get(n) else { break };
            mine.push((n, state(job, path, remote.as_ref())));
        }
        states.lock().expect("no slot panics").append(&mut mine);
    };
    std::thread::scope(|scope| (0..job.workers.max(1)).for_each(|_| drop(scope.spawn(work))));
    let mut states = states.into_inner().expect("no slot panics");
    states.sort_by_key(|(n, _)| *n);
    states.into_iter().map(|(_, state)| state).collect()
}

fn state(job: &Job<'_>, path: &Path, remote: Option<&Remote>) -> State {
    let Some(name) = path.to_str() else { return State::Unreadable(Failed::damaged("its name is not UTF-8")) };
    if let Some(reason) = (!is_url(path)).then(|| inputs::no_file(path)).flatten() {
        return State::Unreadable(Failed::damaged(reason));
    }
    let object = remote.map(|remote| format!("{name} {}", remote.version));
    let contents = match &object {
        Some(object) => job.store.fetched(object),
        None => match fingerprint(path) {
            Ok(contents) => Some(contents),
            Err(error) => return State::Unreadable(Failed::damaged(error.to_string())),
        },
    };
    let kept = contents.as_ref().and_then(|contents| known(job, &key(job, contents, None)));
    match (kept, object.or(contents)) {
        (Some((name, findings)), _) => State::Kept(name, findings),
        (None, open) => State::Open(open.unwrap_or_default()),
    }
}

/// The name of a result and the fingerprints of its findings, if it is there and need not be tried again.
fn known(job: &Job<'_>, key: &Key) -> Option<(String, Vec<String>)> {
    let header = job.store.header(key)?;
    match &header.failed {
        Some(failed) if job.retry || failed.may_succeed(header.limits, job.limits) => None,
        _ => Some((key.name(), header.findings)),
    }
}

fn key(job: &Job<'_>, fingerprint: &str, share: Option<[u64; 2]>) -> Key {
    Key { trace: fingerprint.to_string(), share, settings: job.settings.clone(), build: job.build.clone() }
}

/// Takes what a worker that has no store answered.
fn accept(job: &Job<'_>, task: &Task, answer: &Answer) -> Result<(), Error> {
    if let Some(trouble) = &answer.trouble {
        return Err(Error::Keep(trouble.clone()));
    }
    if let Some(packed) = &answer.packed {
        let wrong = |error| Error::Cluster(format!("an answer that is none: {error}"));
        job.store.put_packed(&answer.result, STANDARD.decode(packed).map_err(wrong)?)?;
    }
    answer.fetched.as_ref().map_or(Ok(()), |contents| job.store.put_fetched(&task.fingerprint, contents))
}

/// Has tasks done by workers: first all of them, each with its share of the memory, then alone and with all of it those that
/// crashed or had too little. Returns how many were done.
fn perform(
    job: &Job<'_>,
    mut tasks: Vec<(usize, Task)>,
    finished: &(dyn Fn(usize, &str, &[String]) + Sync),
) -> Result<u64, Error> {
    // The largest first: the last one to end keeps no other waiting.
    let size = |task: &Task| std::fs::metadata(&task.path).map_or(0, |file| file.len());
    tasks.sort_by_cached_key(|(n, task)| (std::cmp::Reverse(size(task)), *n));
    let workers = job.workers.clamp(1, tasks.len().max(1));
    let performed = AtomicU64::new(0);
    let again: Mutex<BTreeSet<usize>> = Mutex::default();
    let trouble: Mutex<Option<Error>> = Mutex::default();
    let by_number: BTreeMap<usize, Task> = tasks.iter().cloned().collect();
    let keep = |n: usize, failed: Failed| {
        performed.fetch_add(1, Ordering::Relaxed);
        let task = &by_number[&n];
        match job.store.put(&key(job, &task.fingerprint, task.share), &Outcome::Failed(failed), job.limits) {
            Ok(name) => finished(n, &name, &[]),
            Err(error) => drop(trouble.lock().expect("no slot panics").get_or_insert(error)),
        }
    };
    let take = |n: usize, answer: &Answer| {
        performed.fetch_add(1, Ordering::Relaxed);
        match accept(job, &by_number[&n], answer) {
            Ok(()) => finished(n, &answer.result, &answer.findings),
            Err(error) => drop(trouble.lock().expect("no slot panics").get_or_insert(error)),
        }
    };
    let stop = || (job.stop)() || trouble.lock().expect("no slot panics").is_some();
    let pool = |workers: usize| {
        let store = match job.hands {
            Hands::Processes(_) => job.store.shared_folder().map(Path::to_path_buf),
            Hands::Cluster(_) => None,
        };
        let start = Start {
            settings: job.settings.clone(),
            build: job.build.clone(),
            store,
            memory: (job.limits.memory / workers as u64).min(job.hands.largest()),
            limits: job.limits,
            threads: job.threads,
        };
        Pool { hands: job.hands, start, workers, timeout: job.limits.time, stop: &stop }
    };
    let first: Done<'_> = &|n, ended| match ended {
        Ok(answer) => take(n, &answer),
        Err(failed) if failed.how == How::TimedOut => keep(n, failed),
        Err(_) => drop(again.lock().expect("no slot panics").insert(n)),
    };
    pool(workers).run(&tasks, first)?;
    let again = again.into_inner().expect("no slot panics");
    let last: Done<'_> = &|n, ended| match ended {
        Ok(answer) => take(n, &answer),
        Err(failed) => keep(n, failed),
    };
    for n in again {
        // Each has a process of its own, which no other task has used.
        pool(1).run(&[(n, by_number[&n].clone())], last)?;
    }
    match trouble.into_inner().expect("no slot panics") {
        Some(error) => Err(error),
        None => Ok(performed.into_inner()),
    }
}
