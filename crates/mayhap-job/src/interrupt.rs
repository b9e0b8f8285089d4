//! What ends a job early: Ctrl-C (the first time with what it has, the second time at once), or its budget.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use mayhap_record::{Capture, Recording};
use mayhap_trace::attachments::Run;
use mayhap_trace::{Trace, format};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::Error;

/// How often a thread that waits looks whether the job is to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long work may go on that makes of an interrupted run what can be shown.
const MOMENT: Duration = Duration::from_millis(700);

/// How long the run that Ctrl-C ended is analysed.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Whether the job is to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    pressed: Arc<AtomicBool>,
    deadline: Option<Instant>,
    /// Ctrl-C ended a recorded run, which is analysed all the same.
    cut: bool,
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
        Interrupt { pressed: flag, deadline: budget.and_then(|time| Instant::now().checked_add(time)), cut: false }
    }

    /// The job is to end, for either reason.
    pub fn is_set(&self) -> bool {
        self.is_pressed() || self.is_late()
    }

    /// Ctrl-C was pressed.
    pub fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }

    /// Ctrl-C was pressed, now or to end the recorded run.
    pub fn is_interrupted(&self) -> bool {
        self.is_pressed() || self.cut
    }

    /// Gives the job some seconds to analyse the recorded run that Ctrl-C ended. Pressed again, it ends that, too.
    pub(crate) fn analyse_what_is_there(&mut self) {
        if self.pressed.swap(false, Ordering::Relaxed) {
            self.cut = true;
            let end = Instant::now() + LAST_LOOK;
            self.deadline = Some(self.deadline.map_or(end, |deadline| deadline.min(end)));
        }
    }

    /// The run that Ctrl-C ended is analysed: nothing is to follow.
    pub(crate) fn end_if_cut(&mut self) {
        if self.cut {
            self.deadline = Some(Instant::now());
        }
    }

    /// The budget is used up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The time that a run may take at most: `limit`, or what is left of the budget.
    pub fn within(&self, limit: Duration) -> Duration {
        self.deadline.map_or(limit, |deadline| limit.min(deadline.saturating_duration_since(Instant::now())))
    }

    /// The time that a recorded run may take at most, if `more` follow: `limit`, or its share of that half of the budget that is for recording.
    /// `true` if that is the budget's.
    pub(crate) fn for_recording(&self, limit: Duration, more: u32) -> (Duration, bool) {
        let share = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()) / (2 * (more + 1)));
        match share {
            Some(share) if share < limit => (share, true),
            _ => (limit, false),
        }
    }

    /// Makes the trace of a run, and returns it if it is to be kept in memory, too; `None` if Ctrl-C is pressed and that takes more than a moment.
    pub(crate) fn make_trace(
        &self,
        taken: Capture,
        path: PathBuf,
        run: Run,
        keep: bool,
    ) -> Result<Option<(Recording, Option<Trace>)>, Error> {
        let made = self.unless_pressed(move || {
            let writer = format::create(&path).map_err(|error| Error::at(&path, error))?;
            Ok(match keep {
                true => taken.write_and_keep(writer, &path, &run)?,
                false => (taken.write(writer, &path, &run)?, None),
            })
        })?;
        made.transpose()
    }

    /// Has work done by another thread, which is left alone when the job is to end: `None`.
    pub fn unless_set<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<Option<T>, Error> {
        self.unless(Interrupt::is_set, Duration::ZERO, work)
    }

    /// Has work done by another thread, which is left alone when Ctrl-C is pressed and the work takes more than a moment: `None`.
    pub fn unless_pressed<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        self.unless(|this| this.is_pressed() || this.cut && this.is_late(), MOMENT, work)
    }

    fn unless<T: Send + 'static>(
        &self,
        is_over: fn(&Interrupt) -> bool,
        mut patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            // Nobody may be waiting any more.
            let _ = send.send(work());
        });
        loop {
            match receive.recv_timeout(LOOK) {
                Ok(result) => return Ok(Some(result)),
                Err(RecvTimeoutError::Timeout) if !is_over(self) => {}
                Err(RecvTimeoutError::Timeout) if patience > LOOK => patience -= LOOK,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::new("a part of the analysis ended unexpectedly"));
                }
            }
        }
    }
}
