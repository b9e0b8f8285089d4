//! What a run prints, and how long it may take.

use std::io::Read;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mayhap_record::{self as record, Monitor, StuckWatch};
use mayhap_replay::session::{Printed, keep};
use mayhap_wire::ring::Schedule;

use super::{Replays, Work};
use crate::Failure;

/// Further runs whose output is compared before different output counts as an effect.
const FURTHER_RUNS: u64 = 2;

/// How often threads are looked at, to see whether all of them wait.
const LOOKS: Duration = Duration::from_millis(50);

/// Ends a run that takes too long or cannot go on, and keeps what it prints.
pub(super) struct Limits {
    pub(super) started: Instant,
    timeout: Duration,
    show: bool,
    texts: Vec<JoinHandle<Vec<u8>>>,
    /// The run was ended because its time was up.
    pub(super) late: bool,
    /// The run was ended because none of its threads could go on.
    pub(super) is_stuck: bool,
    stuck: StuckWatch,
    looked: Instant,
}

impl Limits {
    /// For a run that begins now; `show` passes on what it prints.
    pub(super) fn new(timeout: Duration, show: bool) -> Self {
        let now = Instant::now();
        Limits {
            started: now,
            timeout,
            show,
            texts: Vec::new(),
            late: false,
            is_stuck: false,
            stuck: StuckWatch::default(),
            looked: now,
        }
    }

    /// Keeps what the program prints, and shows it if that is wanted.
    fn keep(&self, stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
        if self.show { keep(stream, std::io::stderr()) } else { keep(stream, std::io::sink()) }
    }

    /// What the run printed, when it has ended.
    pub(super) fn printed(&mut self) -> Printed {
        let mut texts = std::mem::take(&mut self.texts).into_iter().map(|text| text.join().unwrap_or_default());
        Printed { out: texts.next().unwrap_or_default(), err: texts.next().unwrap_or_default() }
    }

    fn end(child: &mut Child) {
        // It may have ended by itself in the meantime.
        let _ = child.kill();
    }
}

impl Monitor for Limits {
    fn look(&mut self, child: &mut Child, words: u64) -> Result<(), record::Error> {
        if let Some(out) = child.stdout.take() {
            let text = self.keep(out);
            self.texts.push(text);
        }
        if let Some(err) = child.stderr.take() {
            let text = self.keep(err);
            self.texts.push(text);
        }
        if self.late || self.is_stuck {
            return Ok(());
        }
        if self.started.elapsed() >= self.timeout {
            self.late = true;
            Self::end(child);
        } else if self.looked.elapsed() >= LOOKS {
            self.looked = Instant::now();
            if self.stuck.is_stuck(child.id(), words) {
                self.is_stuck = true;
                Self::end(child);
            }
        }
        Ok(())
    }
}

impl Work<'_> {
    /// The program prints the same lines in every run, in whichever order: further runs under random schedules agree with the
    /// recorded one. Looked for once in a job.
    pub(super) fn prints_the_same(&mut self, replays: &Replays<'_>) -> Result<bool, Failure> {
        if let Some(known) = self.prints_the_same {
            return Ok(known);
        }
        let expected = replays.recording.recorded.output.as_ref().map(lines);
        let mut same = expected.is_some();
        for further in 1..=FURTHER_RUNS {
            if same {
                let seed = self.job.seed + u64::from(self.job.runs) + further;
                same = expected.as_ref() == Some(&lines(&self.run_again(seed)?));
            }
        }
        self.prints_the_same = Some(same);
        Ok(same)
    }

    /// Runs the program once more under a random schedule, for what it prints.
    fn run_again(&mut self, seed: u64) -> Result<Printed, Failure> {
        let options = record::Options { seed, ..self.recording_options(Schedule::Random, std::path::PathBuf::new()) };
        let mut command = self.command()?;
        command.stdin(self.stdin.again()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut watch = Limits::new(self.job.timeout, false);
        record::execute(command, &options, &self.job.folder, &mut watch)?;
        Ok(watch.printed())
    }
}

/// The lines of both streams, in an order of their own.
fn lines(printed: &Printed) -> Vec<Vec<u8>> {
    let both = printed.out.split(|&b| b == b'\n').chain(printed.err.split(|&b| b == b'\n'));
    let mut lines: Vec<Vec<u8>> = both.map(<[u8]>::to_vec).collect();
    lines.sort_unstable();
    lines
}
