//! How a recorded program ended, and what the recording lacks for it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use mayhap_wire::ring::state;
use serde::{Deserialize, Serialize};

use crate::capture::ring::Ring;
use crate::capture::store::Store;

/// The signal for a system call that is not allowed.
const SIGSYS: i32 = 31;
/// System calls that the runtime makes beside the program's own.
const SYSTEM_CALLS: &str =
    "futex, nanosleep, gettid, tgkill, membarrier, get_robust_list, open, read, close, mmap and munmap";

/// How a recorded program ended.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// As the system reports it.
    status: i32,
    /// The runtime was there.
    pub(crate) recorded: bool,
    /// Bits of [`state`].
    pub(crate) state: u32,
    /// Hooks that were not recorded because they interrupted others.
    unrecorded: u64,
    /// Why not all that was recorded was kept.
    failure: Option<String>,
    /// Steps that were not kept.
    left_out: u64,
}

impl Ending {
    pub(crate) fn of(status: ExitStatus, ring: &Ring, store: &Store) -> Ending {
        Ending {
            status: status.into_raw(),
            recorded: ring.writer().ok().flatten().is_some(),
            state: ring.state().unwrap_or(0),
            unrecorded: ring.unrecorded().unwrap_or(0),
            failure: store.failure().map(ToString::to_string),
            left_out: store.left_out(),
        }
    }

    pub(crate) fn status(&self) -> ExitStatus {
        ExitStatus::from_raw(self.status)
    }

    /// The run records its basic blocks.
    pub(crate) fn tells_branches(&self) -> bool {
        self.state & state::TELLS_BRANCHES != 0
    }

    /// What the user should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.recorded {
            notes.push("the program recorded nothing: build it with `mayhap cc`, `mayhap c++`, `mayhap cargo` or -fsanitize=thread".into());
            return notes;
        }
        if let Some(signal) = self.status().signal() {
            notes.push(format!("signal {signal} ended the program; the trace contains all events up to that moment"));
            if signal == SIGSYS {
                notes.push(format!(
                    "a seccomp filter sends that signal; it may have blocked a system call that recording needs: {SYSTEM_CALLS}"
                ));
            }
        } else if self.state & (state::EXITED | state::EXITED_AT_ONCE) == 0 {
            notes.push(if self.state & state::EXECUTED != 0 {
                "the program replaced itself by exec; what followed is not recorded".into()
            } else {
                "the program did not end through exit; the trace contains all events up to its end".into()
            });
        }
        if self.state & state::FORKED != 0 {
            notes.push("the program forked; its child processes are not recorded".into());
        }
        if self.state & state::TOO_MANY_THREADS != 0 {
            notes.push(
                "the program had more threads than a trace can number; those beyond 65,534 are not recorded".into(),
            );
        }
        if self.unrecorded > 0 {
            let n = self.unrecorded;
            notes.push(format!("{n} steps of signal handlers that interrupted the runtime are not recorded"));
        }
        if let Some(error) = &self.failure {
            let n = self.left_out;
            notes.push(format!("the trace ends early: {error}; {n} steps of the program are not in it"));
        }
        notes
    }
}
