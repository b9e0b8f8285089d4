//! Whether a program prints the same in every run.

use mayhap_explore::{Sampler, Strategy};
use mayhap_replay::effect::normalised;
use mayhap_replay::session::Printed;

use super::{Replays, Work};
use crate::Error;

/// Further runs, under as many schedules, whose output is compared before different output counts as an effect.
const FURTHER_RUNS: usize = 6;

impl Work<'_> {
    /// The program prints the same lines in every run, in whichever order: further runs under other schedules agree with the
    /// recorded one. Looked for once in a job.
    pub(super) fn prints_the_same(&mut self, replays: &Replays<'_>) -> Result<bool, Error> {
        if let Some(known) = self.prints_the_same {
            return Ok(known);
        }
        let expected = replays.recording.recorded.output.as_ref().map(lines);
        let steps = self.first.as_ref().map_or(0, |(_, steps)| *steps);
        let mut same = expected.is_some();
        for attempt in Sampler::new(Strategy::Mixed, self.job.seed + u64::from(self.job.runs), steps).take(FURTHER_RUNS)
        {
            if same {
                let printed = self.attempt(attempt, self.job.timeout)?.printed;
                same = expected.as_ref() == Some(&lines(&printed));
            }
        }
        self.prints_the_same = Some(same);
        Ok(same)
    }
}

/// What explored runs that ended well printed, compared with the recorded run.
#[derive(Default)]
pub(super) struct Outputs {
    alike: u64,
    others: u64,
    /// The first line that is other in one of them.
    first: Option<String>,
}

impl Outputs {
    /// Compares what a run printed.
    pub(super) fn add(&mut self, recorded: &Printed, printed: &Printed) {
        let (expected, found) = (lines(recorded), lines(printed));
        if expected == found {
            self.alike += 1;
            return;
        }
        self.others += 1;
        self.first.get_or_insert_with(|| {
            let only_in = |these: &[String], those: &[String]| {
                these.iter().find(|line| !those.contains(line)).map_or("nothing".into(), |line| format!("`{line}`"))
            };
            format!("{} instead of {}", only_in(&found, &expected), only_in(&expected, &found))
        });
    }

    /// What to say of runs that printed something else; nothing if the program prints now this, now that.
    pub(super) fn note(&self) -> Option<String> {
        let (others, all) = (self.others, self.others + self.alike);
        let first = self.first.as_ref().filter(|_| others * RARE <= all)?;
        Some(format!("the program printed other lines in {others} of {all} explored runs that ended well: {first}"))
    }
}

/// Of so many runs, at most one may print other lines for that to be remarkable.
const RARE: u64 = 2;

/// The lines of both streams, in an order of their own, without what differs from run to run by itself.
fn lines(printed: &Printed) -> Vec<String> {
    let (out, err) = (String::from_utf8_lossy(&printed.out), String::from_utf8_lossy(&printed.err));
    let mut lines: Vec<String> = out.lines().chain(err.lines()).map(|line| normalised(line, printed.process)).collect();
    lines.sort_unstable();
    lines
}
