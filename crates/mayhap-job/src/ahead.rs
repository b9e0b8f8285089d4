//! Makes runs, several at the same time if that is wanted.
//!
//! What a run comes to is a function of its schedule. So runs that are likely to be chosen are made ahead by other threads, and what they came to waits until they are
//! chosen. Which runs are chosen, in which order, and what is learnt from them is the same for any number of threads.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mayhap_explore::{Explorer, Faults, Next, Outcome, Tried, run};
use mayhap_record::Start;
use mayhap_replay::fixed_addresses;

use super::Stdin;
use super::elsewhere::{Elsewhere, There};
use super::servers::Servers;
use crate::Error;

/// Results that wait to be chosen, for each thread.
const WAITING: usize = 8;

/// Where the loader looks for libraries.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

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
    /// A folder with libraries that the program needs and the machine may lack.
    pub libraries: Option<PathBuf>,
    /// What forks runs where that makes no difference; without, each is a new process.
    pub servers: Option<Arc<Servers>>,
}

impl Runs {
    /// Makes a run.
    pub fn make(&self, next: &Next, limit: Duration) -> Result<Tried, Error> {
        let in_turns = matches!(next, Next::Turns(..));
        let attempt = match next {
            Next::Drawn(attempt) | Next::Turns(_, attempt) => *attempt,
        };
        let servers = self.servers.as_ref().filter(|_| self.fixed || in_turns);
        if let Some(servers) = servers
            && let Some(server) = servers.take(in_turns, &self.program[0], &self.runtime, || self.command(next))?
        {
            let (command, _turns) = self.command(next)?;
            let start = Start::Forked(&server, command, self.stdin.open()?.into());
            if let Ok(tried) = run::run(start, attempt, self.inputs, &self.folder, limit) {
                servers.give_back(in_turns, server);
                return Ok(tried);
            }
            // The server has come to an end, by a signal to all processes of the terminal for example.
        }
        let (mut command, _turns) = self.command(next)?;
        command.stdin(self.stdin.again()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(run::run(Start::New(command), attempt, self.inputs, &self.folder, limit)?)
    }

    /// The command of a run, and a file that must stay open until the run is over.
    fn command(&self, next: &Next) -> Result<(Command, Option<File>), Error> {
        let fixed = self.fixed || matches!(next, Next::Turns(..));
        let program = if fixed { fixed_addresses::fixed(&self.program) } else { self.program.clone() };
        let mut command = mayhap_record::command(&program, &self.runtime)?;
        if let Some(libraries) = &self.libraries {
            let found = command.get_envs().find(|(name, _)| *name == LIBRARY_PATH).and_then(|(_, value)| value);
            let found = found.map(std::ffi::OsStr::to_os_string).unwrap_or_default();
            let all = std::env::split_paths(&found).chain([libraries.clone()]);
            command.env(LIBRARY_PATH, std::env::join_paths(all).map_err(Error::new)?);
        }
        let turns = match next {
            Next::Turns(turns, _) => Some(run::follow(&mut command, turns, self.faults)?),
            Next::Drawn(_) => None,
        };
        Ok((command, turns))
    }
}

/// A run that was made.
pub(super) enum Made {
    /// On this machine.
    Here(Box<Tried>),
    /// On another one; it ended well, and this was learnt from it.
    Elsewhere(Box<Outcome>),
}

/// Runs that other threads make ahead.
pub(super) struct Ahead<'a> {
    runs: Runs,
    elsewhere: Option<&'a dyn Elsewhere>,
    /// Whether runs in turns on a machine are those that are made here, by its name.
    alike: Mutex<HashMap<String, bool>>,
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
    done: HashMap<Next, Result<Made, Error>>,
    ends: bool,
}

/// Calls `work` while as many runs are made at the same time, here and elsewhere.
pub(super) fn with<T>(
    runs: Runs,
    limit: Duration,
    (at_once, elsewhere): (usize, Option<&dyn Elsewhere>),
    work: impl FnOnce(&Ahead<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let threads = elsewhere.map_or(at_once.saturating_sub(1), Elsewhere::at_once);
    let (alike, state, changed) = (Mutex::default(), Mutex::default(), Condvar::new());
    let ahead = Ahead { runs, elsewhere, alike, limit, threads, state, changed };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| ahead.serve());
        }
        // Also if the work panics, the threads must end.
        let _end = End(&ahead);
        work(&ahead)
    })
}

struct End<'a>(&'a Ahead<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ends = true;
        self.0.changed.notify_all();
    }
}

impl Ahead<'_> {
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
    pub(super) fn make(&self, next: &Next) -> Result<Made, Error> {
        let mut state = self.lock();
        loop {
            if let Some(done) = state.done.remove(next) {
                return done;
            }
            if !state.running.contains(next) {
                state.wanted.retain(|wanted| wanted != next);
                drop(state);
                return self.make_here(next);
            }
            state = self.wait(state);
        }
    }

    /// Makes wanted runs until the end.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.ends {
            let room = state.done.len() < 2 * self.threads * WAITING;
            let Some(next) = state.wanted.pop_front().filter(|_| room) else {
                state = self.wait(state);
                continue;
            };
            state.running.insert(next.clone());
            drop(state);
            let made = self.make_anywhere(&next);
            state = self.lock();
            state.running.remove(&next);
            state.done.insert(next, made);
            self.changed.notify_all();
        }
    }

    fn make_here(&self, next: &Next) -> Result<Made, Error> {
        Ok(Made::Here(Box::new(self.runs.make(next, self.limit)?)))
    }

    /// Makes a run elsewhere. One that failed is made here, since all of it is looked at; so is one of a machine whose runs differ.
    fn make_anywhere(&self, next: &Next) -> Result<Made, Error> {
        let Some(elsewhere) = self.elsewhere else { return self.make_here(next) };
        let Some(There { outcome, machine }) = elsewhere.make(next, self.limit)? else {
            return self.make_here(next);
        };
        let known = self.alike.lock().unwrap_or_else(PoisonError::into_inner).get(&machine).copied();
        match (next, known) {
            (Next::Drawn(_), _) | (_, Some(true)) => Ok(Made::Elsewhere(Box::new(outcome))),
            (_, Some(false)) => self.make_here(next),
            (_, None) => {
                let here = self.runs.make(next, self.limit)?;
                let is_alike = Explorer::outcome(next, &here)? == outcome;
                self.alike.lock().unwrap_or_else(PoisonError::into_inner).insert(machine, is_alike);
                Ok(Made::Here(Box::new(here)))
            }
        }
    }

    /// Machines whose runs in turns are not those that are made here.
    pub(super) fn different(&self) -> Vec<String> {
        let alike = self.alike.lock().unwrap_or_else(PoisonError::into_inner);
        alike.iter().filter(|(_, is_alike)| !**is_alike).map(|(machine, _)| machine.clone()).collect()
    }
}
