//! Ctrl-C: the first time the job comes to an end with what it has, the second time at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether somebody wants the job to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    pub fn catch() -> Interrupt {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Where a signal cannot be caught the job ends with it, as any program would. The order matters: the exit
            // looks at the flag before the other handler sets it.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag));
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
        }
        Interrupt(flag)
    }

    /// Somebody does.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
