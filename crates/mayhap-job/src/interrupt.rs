//! What ends a job early: Ctrl-C (the first time with what it has, the second time at once), or its budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether the job is to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    pressed: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Listens from now on; `budget` is the time that the whole job may take.
    pub fn catch(budget: Option<Duration>) -> Interrupt {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Where a signal cannot be caught the job ends with it, as any program would. The order matters: the exit
            // looks at the flag before the other handler sets it.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag));
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
        }
        Interrupt { pressed: flag, deadline: budget.and_then(|time| Instant::now().checked_add(time)) }
    }

    /// The job is to end, for either reason.
    pub fn is_set(&self) -> bool {
        self.is_pressed() || self.is_late()
    }

    /// Ctrl-C was pressed.
    pub fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }

    /// The budget is used up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The time that a run may take at most: `limit`, or what is left of the budget.
    pub fn within(&self, limit: Duration) -> Duration {
        self.deadline.map_or(limit, |deadline| limit.min(deadline.saturating_duration_since(Instant::now())))
    }
}
