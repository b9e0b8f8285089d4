//! What goes to standard error besides errors: notes, and progress on a terminal.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Says something that the user should know though the command goes on.
pub fn note(message: impl fmt::Display) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "mayhap: note: {message}");
}

/// A progress display on standard error, for long work; nothing at all unless that is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Counts up to `total`, or just counts where the total is not known. `what` is the verb in front.
    pub fn new(what: &'static str, total: Option<u64>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        // Nothing is drawn in the first moments, so that quick commands do not flicker.
        let target = ProgressDrawTarget::stderr_with_hz(8);
        let bar = ProgressBar::with_draw_target(total, target).with_message(what);
        let template = match total {
            Some(_) => "{msg} [{bar:30}] {percent:>3}%  {human_pos} events  {per_sec}  {eta} left",
            None => "{msg} {spinner} {human_pos} events  {per_sec}",
        };
        bar.set_style(
            ProgressStyle::with_template(template).expect("the template is well-formed").progress_chars("=> "),
        );
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress(bar)
    }

    /// So much is done.
    pub fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// So much more is done.
    pub fn add(&self, more: u64) {
        self.0.inc(more);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
