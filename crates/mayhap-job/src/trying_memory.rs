//! Tries patterns that do not look intended to be atomic, for what they do to memory.
//!
//! Correct programs are full of such patterns, so they are not reported. But one that leads to a null pointer, a freed block or the
//! memory next to a block is a bug, whatever was intended, and a replay shows it. What does nothing of the kind is not mentioned.

use std::sync::Arc;

use mayhap_analyse::{self as predict};
use mayhap_replay::plan::Plan;
use mayhap_replay::{self as replay};
use mayhap_report::Verdict;
use mayhap_trace::Execution;
use mayhap_trace::attachments::Doubts;
use mayhap_witness::{Kind, Model};

use super::{Recording, Replays, TRIED, Work, memory};
use crate::{Error, suggest};

/// The most candidates of one trace that are tried.
const MOST: usize = 6;
/// The longest trace whose patterns are all looked for.
const LONGEST: usize = 200_000;

impl Work<'_> {
    /// Tries the patterns that were left out, and reports those that misuse memory.
    pub(super) fn try_patterns(
        &mut self,
        recording: &Recording,
        execution: &Arc<Execution<'static>>,
        options: &predict::Options,
    ) -> Result<(), Error> {
        let wanted = options.kinds.contains(&Kind::UseAfterFree) && options.kinds.contains(&Kind::Atomicity);
        let usual = !options.limits.all_patterns && options.model != Model::Sync;
        let trace = execution.trace();
        if !wanted || !usual || trace.len() > LONGEST || self.job.replays == 0 || self.interrupt.is_set() || self.halted
        {
            return Ok(());
        }
        let mut all = predict::Options { kinds: vec![Kind::Atomicity], halt: None, ..options.clone() };
        all.limits.all_patterns = true;
        let Some(prediction) = self.predict(execution, &all)? else { return Ok(()) };
        let path = &recording.path;
        let known = (&**execution, &Doubts::default());
        let found = suggest::report(path, known, &all, &prediction, Some(0)).findings;
        let new: Vec<_> = found.into_iter().filter(|f| !self.known.contains(&f.fingerprint)).take(MOST).collect();
        if new.is_empty() {
            return Ok(());
        }
        let steps = replay::steps(path, trace)?;
        let replays = Replays { path, execution, prediction: &prediction, recording };
        for mut finding in new {
            let Some(proof) = replays.proof_of(&finding.id) else { continue };
            let Ok(plan) = Plan::new(execution, &steps, proof.target(), proof.witness()) else { continue };
            self.replay(&replays, &steps, &plan, &mut finding, proof.target(), (TRIED, &mut Vec::new()))?;
            if finding.verdict == Verdict::Confirmed && finding.kind.is_memory() {
                finding.replay_command.clone_from(&self.job.again);
                self.known.insert(finding.fingerprint.clone());
                if let Some(report) = &mut self.report
                    && !memory::is_explained(&finding, report)
                {
                    report.findings.push(finding);
                }
            }
        }
        Ok(())
    }
}
