//! Makes runs, several at the same time if that is wanted.
//!
//! What a run comes to is a function of its schedule. So runs that are likely to be chosen are made ahead by other threads, and what they came to waits until they are
//! chosen. Which runs are chosen, in which order, and what is learnt from them is the same for any number of threads.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mayhap_explore::{Faults, Next, Tried, run};
use mayhap_replay::fixed_addresses;

use super::Stdin;
use crate::Error;

/// Results that wait to be chosen, for each thread.
const WAITING: usize = 8;

/// What it takes to make a run.
pub struct Runs {
    /// The program and its arguments.
    pub program: Vec<OsString>,
    /// The folder of the runtime library.
    pub runtime: PathBuf,
    /// Addresses are the same in every run, also where the schedule is drawn.
    pub fixed: bool,
    /// What it reads.
    pub stdin: Stdin,
    /// What differs from run to run by itself is recorded.
    pub inputs: bool,
    /// Failures that are tried.
    pub faults: Faults,
    /// For files of the run.
    pub folder: PathBuf,
}

impl Runs {
    /// Makes a run; no two at the same time have the same number.
    pub fn make(&self, next: &Next, limit: Duration, number: usize) -> Result<Tried, Error> {
        let fixed = self.fixed || matches!(next, Next::Turns(..));
        let program = if fixed { fixed_addresses::fixed(&self.program) } else { self.program.clone() };
        let mut command = mayhap_record::command(&program, &self.runtime)?;
        command.stdin(self.stdin.again()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let attempt = match next {
            Next::Drawn(attempt) => attempt,
            Next::Turns(turns, attempt) => {
                // Names of equal length: the environment decides where the stack begins.
                run::follow(&mut command, turns, self.faults, &self.folder.join(format!("turns{number:03}")))?;
                attempt
            }
        };
        Ok(run::run(command, *attempt, self.inputs, &self.folder, limit)?)
    }
}

/// Runs that other threads make ahead.
pub(super) struct Ahead {
    runs: Runs,
    limit: Duration,
    /// How many threads make runs, besides the one that chooses.
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<Next>,
    running: HashSet<Next>,
    done: HashMap<Next, Result<Tried, Error>>,
    ends: bool,
}

/// Calls `work` while as many runs are made at the same time.
pub(super) fn with<T>(
    runs: Runs,
    limit: Duration,
    at_once: usize,
    work: impl FnOnce(&Ahead) -> Result<T, Error>,
) -> Result<T, Error> {
    let threads = at_once.saturating_sub(1);
    let ahead = Ahead { runs, limit, threads, state: Mutex::default(), changed: Condvar::new() };
    std::thread::scope(|scope| {
        for number in 1..=threads {
            let ahead = &ahead;
            scope.spawn(move || ahead.serve(number));
        }
        // Also if the work panics, the threads must end.
        let _end = End(&ahead);
        work(&ahead)
    })
}

struct End<'a>(&'a Ahead);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ends = true;
        self.0.changed.notify_all();
    }
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the likeliest runs made ahead; `likely` says which, at most so many.
    pub(super) fn want(&self, likely: impl FnOnce(usize) -> Vec<Next>) {
        if self.threads == 0 {
            return;
        }
        let most = self.threads * WAITING;
        let likely = likely(most);
        let mut state = self.lock();
        if state.done.len() >= 2 * most {
            // What is likely no more would take the place of what is.
            state.done.retain(|next, _| likely.contains(next));
        }
        let is_new = |next: &Next| !state.running.contains(next) && !state.done.contains_key(next);
        state.wanted = likely.into_iter().filter(is_new).collect();
        self.changed.notify_all();
    }

    /// What a run came to that is chosen now.
    pub(super) fn make(&self, next: &Next) -> Result<Tried, Error> {
        let mut state = self.lock();
        loop {
            if let Some(done) = state.done.remove(next) {
                return done;
            }
            if !state.running.contains(next) {
                state.wanted.retain(|wanted| wanted != next);
                drop(state);
                return self.runs.make(next, self.limit, 0);
            }
            state = self.wait(state);
        }
    }

    /// Makes wanted runs until the end.
    fn serve(&self, number: usize) {
        let mut state = self.lock();
        while !state.ends {
            let room = state.done.len() < 2 * self.threads * WAITING;
            let Some(next) = state.wanted.pop_front().filter(|_| room) else {
                state = self.wait(state);
                continue;
            };
            state.running.insert(next.clone());
            drop(state);
            let tried = self.runs.make(&next, self.limit, number);
            state = self.lock();
            state.running.remove(&next);
            state.done.insert(next, tried);
            self.changed.notify_all();
        }
    }
}
