//! Predicts from runs that were explored.
//!
//! A run under another schedule may come to code that the recorded one has not been to. What its trace implies is worth as much as what the recorded run implies: it is
//! predicted and replayed like that.

use mayhap_explore::Tried;
use mayhap_replay::session::Recorded;
use mayhap_trace::attachments::Run;
use mayhap_trace::format;

use super::progress::Progress;
use super::{FOLLOWED, Recording, Work};
use crate::Error;


/// The round of analysis that such runs count as.
const ROUND: u32 = 2;

impl Work<'_> {
    /// Keeps the trace of a run that came to new code, unless enough are kept.
    pub(super) fn keep_for_prediction(&self, tried: Tried, progress: &mut Progress) -> Result<(), Error> {
        // What is kept of an interrupted exploration has no traces, and must come to the same.
        let resumes = self.job.explore.as_ref().is_some_and(|exploring| exploring.resume);
        if self.job.replays == 0 || resumes || progress.kept.len() >= FOLLOWED {
            return Ok(());
        }
        let path = self.job.folder.join(format!("explored{}.mhp", progress.runs));
        let mut run = Run::new(&self.job.program, tried.capture.status, tried.took);
        run.build = mayhap_record::build_of(&self.job.program[0]);
        run.root.clone_from(&self.job.root);
        run.stdin = self.stdin.kept().map(|(bytes, _)| bytes);
        let writer = format::create(&path).map_err(|error| Error::at(&path, error))?;
        tried.capture.write(writer, &path, &run)?;
        let recorded = Recorded { run, output: Some(tried.printed), late: false };
        progress.kept.push(Recording { path, recorded, failed: None });
        Ok(())
    }

    /// Predicts from these runs, and replays what is new.
    pub(super) fn predict_from(&mut self, kept: Vec<Recording>) -> Result<(), Error> {
        for recording in kept {
            if self.interrupt.is_set() || self.halted {
                break;
            }
            self.analyse(&recording, ROUND, &mut Vec::new())?;
        }
        Ok(())
    }
}
