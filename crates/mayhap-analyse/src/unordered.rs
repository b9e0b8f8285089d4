//! Races by happens-before: accesses that are never next to each other, but that nothing orders either.
//!
//! Where a program synchronises by atomics, two accesses may have to run in one order for their values' sake and still race by the
//! rules of the language: a relaxed flag hands a value over without publishing what came before it. Such pairs are asked about
//! after the search has refuted that both can be next.

use mayhap_detect::candidates::Group;
use mayhap_predict::{Context, Engine, Rung, Verdict};
use mayhap_trace::Trace;
use mayhap_witness::{Checked, Target};

use crate::Options;

/// The most groups of one trace that are asked about. What is beyond is counted as undecided.
const MOST_GROUPS: usize = 2_000;
/// The most instances of a group that are asked about, nearest first.
const MOST_INSTANCES: usize = 4;

/// A race by happens-before that was proven.
pub(crate) struct Unordered {
    pub(crate) group: usize,
    pub(crate) proof: Checked,
    pub(crate) rung: Rung,
}

/// The trace has atomic accesses or fences, so that happens-before is more than locks and threads.
fn has_atomics(trace: &Trace) -> bool {
    let columns = trace.columns();
    (0..columns.flags.len()).any(|i| columns.flags_at(i).is_atomic())
}

/// Of the groups with these numbers, which were refuted: those that race by happens-before, and how many were not asked about.
pub(crate) fn races(
    context: &Context<'_>,
    groups: &[Group],
    refuted: &[usize],
    options: &Options,
) -> (Vec<Unordered>, usize) {
    if refuted.is_empty() || !has_atomics(context.trace) {
        return (Vec::new(), 0);
    }
    let mut engine = options.engine.engine(context, options.literal);
    let asked = &refuted[..refuted.len().min(MOST_GROUPS)];
    let found = asked.iter().filter_map(|&group| {
        let (proof, rung) = first_proof(engine.as_mut(), &groups[group].targets, options)?;
        Some(Unordered { group, proof, rung })
    });
    (found.collect(), refuted.len() - asked.len())
}

fn first_proof(engine: &mut dyn Engine, targets: &[Target], options: &Options) -> Option<(Checked, Rung)> {
    targets.iter().take(MOST_INSTANCES).find_map(|target| {
        let Target::Race(a, b) = *target else { return None };
        match engine.decide(&Target::UnorderedRace(a, b), options.model, &options.budget) {
            Verdict::Proven(proof, rung) => Some((proof, rung)),
            _ => None,
        }
    })
}
