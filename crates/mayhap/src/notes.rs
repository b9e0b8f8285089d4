//! What goes to standard error besides errors: notes, and progress on a terminal.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use mayhap_analyse::{Gauge, Gauges, Stage};

use crate::table::grouped;

/// Says something that the user should know though the command goes on.
pub fn note(message: impl fmt::Display) {
    // Where standard error is closed there is no reader.
    let _ = writeln!(std::io::stderr(), "mayhap: note: {message}");
}

/// A progress display on standard error for long work: nothing unless that is a terminal, and nothing in the first moments,
/// so that quick commands do not flicker.
pub struct Progress {
    what: &'static str,
    /// What is counted.
    unit: &'static str,
    started: Instant,
    terminal: bool,
    bar: Option<ProgressBar>,
}

const QUICK: Duration = Duration::from_millis(500);

impl Progress {
    /// Work that `what` names, as in "reading".
    pub fn new(what: &'static str) -> Self {
        Progress::counting(what, "events")
    }

    /// Work that counts other things than events.
    pub fn counting(what: &'static str, unit: &'static str) -> Self {
        Progress { what, unit, started: Instant::now(), terminal: std::io::stderr().is_terminal(), bar: None }
    }

    /// So many are done, and so many units of the whole, where the whole is known.
    pub fn set(&mut self, events: u64, done: Option<(u64, u64)>) {
        let rate = events as f64 / self.started.elapsed().as_secs_f64();
        let unit = self.unit;
        self.say(done, || format!("{} {unit}, {}/s", grouped(events), grouped(rate as u64)));
    }

    /// The same in other words.
    pub fn say(&mut self, done: Option<(u64, u64)>, words: impl FnOnce() -> String) {
        if !self.terminal || (self.bar.is_none() && self.started.elapsed() < QUICK) {
            return;
        }
        let what = self.what;
        let bar = self.bar.get_or_insert_with(|| show(what, done.map(|(_, whole)| whole)));
        bar.set_message(words());
        match done {
            Some((part, _)) => bar.set_position(part),
            None => bar.tick(),
        }
    }
}

fn show(what: &'static str, whole: Option<u64>) -> ProgressBar {
    let (bar, template) = match whole {
        Some(whole) => (ProgressBar::new(whole), "{prefix} [{bar:16}] {percent:>3}%  {msg}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{prefix} {spinner} {msg}"),
    };
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    bar.with_style(style.progress_chars("=> ")).with_prefix(what)
}

impl Gauge for Progress {
    fn set(&mut self, done: u64, of: u64) {
        Progress::set(self, done, Some((done, of)));
    }
}

/// Progress displays for what an analysis does.
pub fn gauges() -> Gauges {
    Gauges::new(|stage| {
        Box::new(match stage {
            Stage::Deciding => Progress::new("deciding"),
            Stage::Reads => Progress::counting("reads", "triplets"),
        })
    })
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
