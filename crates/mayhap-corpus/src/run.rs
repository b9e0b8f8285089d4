//! All tasks of a run: what the store does not have yet is done, and the manifest says what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::pool::{Done, Found, Pool, Program};
use crate::worker::{Start, Task};
use crate::{Entry, Error, Failed, How, Key, Limits, Manifest, Outcome, Settings, Shard, Store, fingerprint, inputs};

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
    /// How workers are started.
    pub program: Program,
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

/// Does what is not done yet. What is wrong with a trace does not end it.
pub fn run(job: &Job<'_>) -> Result<Ran, Error> {
    let all = inputs::traces(job.inputs)?;
    let traces: Vec<PathBuf> = (0..).zip(all).filter(|(n, _)| job.shard.has(*n)).map(|(_, path)| path).collect();
    let states = look(job, &traces);
    let results: Mutex<Vec<Option<String>>> = Mutex::new(vec![None; traces.len()]);
    let (found, done) = (Found::default(), AtomicU64::new(0));
    let of = traces.len() as u64;
    let mut tasks = Vec::new();
    // Traces of the same contents are one task; a recording is one for itself, since it must become a trace.
    let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (n, state) in states.iter().enumerate() {
        match state {
            State::Kept(name, findings) => {
                results.lock().expect("no slot panics")[n] = Some(name.clone());
                job.progress.set(done.fetch_add(1, Ordering::Relaxed) + 1, of, found.add(findings));
            }
            State::Unreadable(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
            State::Open(fingerprint) if mayhap_record::is_unfinished(&traces[n]) => {
                tasks.push((n, Task { path: traces[n].clone(), fingerprint: fingerprint.clone() }));
            }
            State::Open(fingerprint) => {
                let alike = same.entry(fingerprint).or_default();
                alike.push(n);
                if alike.len() == 1 {
                    tasks.push((n, Task { path: traces[n].clone(), fingerprint: fingerprint.clone() }));
                }
            }
        }
    }
    let alike: BTreeMap<usize, &[usize]> = same.values().map(|all| (all[0], all.as_slice())).collect();
    let kept = of - states.iter().filter(|state| !matches!(state, State::Kept(..))).count() as u64;
    let finished = |n: usize, name: &str, findings: &[String]| {
        let members = alike.get(&n).copied().unwrap_or(std::slice::from_ref(&n));
        let mut results = results.lock().expect("no slot panics");
        members.iter().for_each(|&member| results[member] = Some(name.to_string()));
        let done = done.fetch_add(members.len() as u64, Ordering::Relaxed) + members.len() as u64;
        job.progress.set(done, of, found.add(findings));
    };
    let performed = perform(job, tasks, &finished)?;
    let results = results.into_inner().expect("no slot panics");
    let entry = |((path, state), result): ((&PathBuf, State), Option<String>)| Entry {
        path: path.display().to_string(),
        result,
        failed: if let State::Unreadable(failed) = state { Some(failed) } else { None },
    };
    let manifest = Manifest {
        shard: job.shard,
        tool: job.tool.clone(),
        settings: job.settings.clone(),
        inputs: job.inputs.iter().map(|input| input.display().to_string()).collect(),
        traces: traces.iter().zip(states).zip(results).map(entry).collect(),
    };
    job.store.put_manifest(&manifest)?;
    Ok(Ran { manifest, performed, kept, stopped: (job.stop)() })
}

/// Looks at all traces: which results are there?
fn look(job: &Job<'_>, traces: &[PathBuf]) -> Vec<State> {
    let next = AtomicUsize::new(0);
    let states: Mutex<Vec<(usize, State)>> = Mutex::new(Vec::with_capacity(traces.len()));
    let work = || {
        let mut mine = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = traces.get(n) else { break };
            mine.push((n, state(job, path)));
        }
        states.lock().expect("no slot panics").append(&mut mine);
    };
    std::thread::scope(|scope| (0..job.workers.max(1)).for_each(|_| drop(scope.spawn(work))));
    let mut states = states.into_inner().expect("no slot panics");
    states.sort_by_key(|(n, _)| *n);
    states.into_iter().map(|(_, state)| state).collect()
}

fn state(job: &Job<'_>, path: &std::path::Path) -> State {
    if path.to_str().is_none() {
        return State::Unreadable(Failed::damaged("its name is not UTF-8"));
    }
    let trace = match fingerprint(path) {
        Ok(trace) => trace,
        Err(error) => return State::Unreadable(Failed::damaged(error.to_string())),
    };
    let key = Key { trace, settings: job.settings.clone(), build: job.build.clone() };
    match job.store.header(&key) {
        Some(header) => match &header.failed {
            Some(failed) if job.retry || failed.may_succeed(header.limits, job.limits) => State::Open(key.trace),
            _ => State::Kept(key.name(), header.findings),
        },
        None => State::Open(key.trace),
    }
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
        let trace = by_number[&n].fingerprint.clone();
        let key = Key { trace, settings: job.settings.clone(), build: job.build.clone() };
        match job.store.put(&key, &Outcome::Failed(failed), job.limits) {
            Ok(name) => finished(n, &name, &[]),
            Err(error) => drop(trouble.lock().expect("no slot panics").get_or_insert(error)),
        }
    };
    let pool = |workers: usize| {
        let memory = job.limits.memory / workers as u64;
        let start = Start {
            settings: job.settings.clone(),
            build: job.build.clone(),
            store: job.store.folder().to_path_buf(),
            memory,
            limits: job.limits,
            threads: job.threads,
        };
        Pool { program: &job.program, start, workers, timeout: job.limits.time, stop: job.stop }
    };
    let first: Done<'_> = &|n, ended| match ended {
        Ok(answer) => {
            performed.fetch_add(1, Ordering::Relaxed);
            finished(n, &answer.result, &answer.findings);
        }
        Err(failed) if failed.how == How::TimedOut => {
            performed.fetch_add(1, Ordering::Relaxed);
            keep(n, failed);
        }
        Err(_) => drop(again.lock().expect("no slot panics").insert(n)),
    };
    pool(workers).run(&tasks, first)?;
    let again = again.into_inner().expect("no slot panics");
    let last: Done<'_> = &|n, ended| {
        performed.fetch_add(1, Ordering::Relaxed);
        match ended {
            Ok(answer) => finished(n, &answer.result, &answer.findings),
            Err(failed) => keep(n, failed),
        }
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
