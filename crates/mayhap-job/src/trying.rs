//! Tries what the recorded run does not imply, or what is no bug by itself.
//!
//! A deadlock that needs another value between its locks is not implied by the recorded run, since the value may lead the thread
//! elsewhere. A read that is tested before it is used is expected to see other values, and most programs bear them. In both
//! cases a real run decides: the threads are led as far as the program lets itself be led, and what goes wrong is a finding.
//! What does not happen, or does no harm, is not mentioned.

use std::sync::Arc;

use mayhap_analyse::{self as predict};
use mayhap_replay::outcome::Effect;
use mayhap_replay::plan::Plan;
use mayhap_replay::{self as replay};
use mayhap_report::{Finding, Verdict};
use mayhap_trace::Execution;
use mayhap_trace::attachments::Doubts;
use mayhap_witness::{Kind, Model};

use super::{Recording, Replays, TRIED, Work, following, memory};
use crate::{Error, suggest};

/// The most candidates of one trace and kind that are tried.
const MOST: usize = 6;
/// In longer traces reads that can see something else are not looked for: exploring finds what they lead to, too.
const READS_IN: usize = 1 << 18;
/// What looking for them may take.
const READS_EFFORT: u64 = 20_000_000;

impl Work<'_> {
    /// Tries what a trace does not imply, unless it is only looked at for its races.
    pub(super) fn try_rest(
        &mut self,
        recording: &Recording,
        execution: &Arc<Execution<'static>>,
        options: &predict::Options,
        round: u32,
    ) -> Result<(), Error> {
        if round == following::RACES {
            return Ok(());
        }
        self.try_others(recording, execution, options)?;
        self.try_patterns(recording, execution, options)
    }

    /// Tries what `options` leave out.
    fn try_others(
        &mut self,
        recording: &Recording,
        execution: &Arc<Execution<'static>>,
        options: &predict::Options,
    ) -> Result<(), Error> {
        if options.kinds.contains(&Kind::Deadlock) && options.model != Model::Sync {
            let sync = predict::Options { kinds: vec![Kind::Deadlock], model: Model::Sync, ..options.clone() };
            self.try_all(recording, execution, sync, |_, finding| {
                let happened = finding.verdict == Verdict::Confirmed;
                if happened {
                    finding.found_by_trying();
                }
                happened
            })?;
        }
        if options.kinds.contains(&Kind::Order) && !options.limits.all_patterns {
            let mut all = predict::Options { kinds: vec![Kind::Order], ..options.clone() };
            all.limits.all_patterns = true;
            self.try_all(recording, execution, all, |work, finding| {
                // Programs whose output depends on such a read are common.
                let harm = work.harmful.remove(&finding.id).filter(|effect| !matches!(effect, Effect::Output { .. }));
                finding.graded(harm.is_some());
                harm.is_some()
            })?;
        }
        self.try_reads(recording, execution, options)
    }

    /// Tries reads that can see another write, which are no bugs by themselves: under locks they may lead to a crash that no race shows.
    fn try_reads(
        &mut self,
        recording: &Recording,
        execution: &Arc<Execution<'static>>,
        options: &predict::Options,
    ) -> Result<(), Error> {
        // Where the user asks for certain kinds, others are none of them.
        let usual = [Kind::UseAfterFree, Kind::Race, Kind::Deadlock, Kind::Atomicity, Kind::Order];
        let is_wanted =
            usual.iter().all(|kind| options.kinds.contains(kind)) && !options.kinds.contains(&Kind::Nondeterminism);
        if !is_wanted || execution.trace().len() > READS_IN {
            return Ok(());
        }
        let kinds = vec![Kind::Nondeterminism];
        let reads = predict::Options { kinds, effort: Some(READS_EFFORT), ..options.clone() };
        self.try_all(recording, execution, reads, |work, finding| {
            let harm = work.harmful.remove(&finding.id);
            let is_bug =
                harm.is_some_and(|e| matches!(e, Effect::Crash { .. } | Effect::Memory(_) | Effect::Exit { .. }));
            finding.graded(is_bug);
            is_bug
        })
    }

    /// Replays what is found with these options and new, and reports what `is_bug` says yes to.
    fn try_all(
        &mut self,
        recording: &Recording,
        execution: &Arc<Execution<'static>>,
        options: predict::Options,
        is_bug: impl Fn(&mut Self, &mut Finding) -> bool,
    ) -> Result<(), Error> {
        if self.job.replays == 0 || self.interrupt.is_set() || self.halted {
            return Ok(());
        }
        let options = predict::Options { halt: None, ..options };
        let Some(prediction) = self.predict(execution, &options)? else { return Ok(()) };
        let path = &recording.path;
        let known = (&**execution, &Doubts::default());
        let found = suggest::report(path, known, &options, &prediction, Some(0)).findings;
        let new: Vec<_> = found.into_iter().filter(|f| !self.known.contains(&f.fingerprint)).take(MOST).collect();
        if new.is_empty() {
            return Ok(());
        }
        let steps = replay::steps(path, execution.trace())?;
        let replays = Replays { path, execution, prediction: &prediction, recording };
        for mut finding in new {
            let was = finding.kind;
            let Some(proof) = replays.proof_of(&finding.id) else { continue };
            let Ok(plan) = Plan::new(execution, &steps, proof.target(), proof.witness()) else { continue };
            self.replay(&replays, &steps, &plan, &mut finding, proof.target(), (TRIED, &mut Vec::new()))?;
            if is_bug(self, &mut finding) {
                finding.replay_command.clone_from(&self.job.again);
                self.known.insert(finding.fingerprint.clone());
                if let Some(report) = &mut self.report
                    && !memory::is_reported(&finding, was, report)
                {
                    report.findings.push(finding);
                }
            }
        }
        Ok(())
    }
}
