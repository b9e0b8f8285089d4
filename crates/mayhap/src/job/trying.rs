//! Tries what locks alone would allow.
//!
//! A deadlock that needs another value between its locks is not implied by the recorded run, since the value may lead the thread
//! elsewhere. A real run decides: the threads are led as far as the program lets itself be led, and what happens is a finding.
//! What does not happen is not mentioned.

use std::sync::Arc;

use mayhap_analyse::{self as predict};
use mayhap_replay::plan::Plan;
use mayhap_replay::{self as replay};
use mayhap_report::Verdict;
use mayhap_trace::{Relations, Trace};
use mayhap_witness::{Kind, Model};

use super::{Recording, Replays, Work};
use crate::{Failure, suggest};

/// The most candidates of one trace that are tried.
const MOST: usize = 6;

impl Work<'_> {
    /// Tries deadlocks that the model does not imply but that locks alone allow.
    pub(super) fn try_deadlocks(
        &mut self,
        recording: &Recording,
        trace: &Arc<Trace>,
        relations: &Arc<Relations>,
        options: &predict::Options,
    ) -> Result<(), Failure> {
        let wanted = options.kinds.contains(&Kind::Deadlock) && options.model != Model::Sync;
        if !wanted || self.job.replays == 0 || self.interrupt.is_set() || self.halted {
            return Ok(());
        }
        let options =
            predict::Options { kinds: vec![Kind::Deadlock], model: Model::Sync, halt: None, ..options.clone() };
        let Some(prediction) = self.predict(trace, relations, &options)? else { return Ok(()) };
        let path = &recording.path;
        let found = suggest::report(path, trace, relations, &options, &prediction, Some(0)).findings;
        let new: Vec<_> = found.into_iter().filter(|f| !self.known.contains(&f.fingerprint)).take(MOST).collect();
        if new.is_empty() {
            return Ok(());
        }
        let steps = replay::steps(path, trace)?;
        let replays = Replays { path, trace, relations, prediction: &prediction, recording };
        for mut finding in new {
            let Some(proof) = replays.proof_of(&finding.id) else { continue };
            let Ok(plan) = Plan::new(trace, relations, &steps, proof.target(), proof.witness()) else { continue };
            self.replay(&replays, &steps, &plan, &mut finding, proof.target(), (u32::MAX, &mut Vec::new()))?;
            if finding.verdict == Verdict::Confirmed {
                finding.found_by_trying();
                finding.replay_command.clone_from(&self.job.again);
                self.known.insert(finding.fingerprint.clone());
                if let Some(report) = &mut self.report {
                    report.findings.push(finding);
                }
            }
        }
        Ok(())
    }
}
