//! Servers that fork runs, and wait between them.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mayhap_explore::run;
use mayhap_record::{ForkServer, program_file};

/// The servers of a program. Several runs at the same time take one each.
#[derive(Default)]
pub struct Servers(Mutex<State>);

#[derive(Default)]
struct State {
    /// Those that fork no run now, and whether their runs follow turns: then they have one more variable in their environment.
    idle: Vec<(bool, ForkServer)>,
    /// Runs that were asked for, and those of them that were forked.
    asked: usize,
    forked: usize,
    /// Runs of this program must be new processes.
    impossible: bool,
}

impl Servers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server for a run, which is started with such a command if there is none. Not for the first run: it may be the only one.
    pub(super) fn take<E>(
        &self,
        in_turns: bool,
        program: &OsStr,
        runtime: &Path,
        command: impl FnOnce() -> Result<(Command, Option<File>), E>,
    ) -> Result<Option<ForkServer>, E> {
        let mut state = self.lock();
        state.asked += 1;
        if state.impossible || state.asked == 1 {
            return Ok(None);
        }
        if let Some(at) = state.idle.iter().position(|(turns, _)| *turns == in_turns) {
            return Ok(Some(state.idle.swap_remove(at).1));
        }
        drop(state);
        let Some(file) = program_file(program) else { return Ok(None) };
        let server = run::serve(command()?.0, &file, runtime);
        self.lock().impossible |= server.is_none();
        Ok(server)
    }

    /// The server's run has ended, and it can fork another one.
    pub(super) fn give_back(&self, in_turns: bool, server: ForkServer) {
        let mut state = self.lock();
        state.forked += 1;
        state.idle.push((in_turns, server));
    }

    /// How many runs were forked.
    pub fn forked(&self) -> usize {
        self.lock().forked
    }
}
