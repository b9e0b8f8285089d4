//! What replays show of the program's use of memory becomes part of the findings.

use mayhap_replay::memory::{Frame, Moment as Seen};
use mayhap_replay::{Effect, MemoryError, MemoryErrorKind};
use mayhap_report::{Describer, Finding, Kind, Moment, Report, Source, Verdict, place};

/// Enters what replays of a finding came to, if that is an error in the use of memory that no other finding reports.
pub(super) fn show(finding: &mut Finding, effect: &Effect, report: Option<&Report>) {
    let Effect::Memory(error) = effect else { return };
    let kind = kind(error.kind);
    let life = life(error);
    let known = report.is_some_and(|report| report.findings.iter().any(|other| is_same(other, kind, &life)));
    if !known || finding.kind.is_pattern() || finding.kind == kind {
        finding.shown_by_replay(kind, &error.what, life);
    }
}

/// Said of replays that came to a use after the end and misused nothing.
pub(super) const NOT_SHOWN: &str = "the schedule was followed, but what the thread used there was in its life";

/// Whether a replay that came to its goal shows the finding. What only a replay can decide, it must do.
pub(super) fn is_shown(finding: &Finding, effect: &Effect) -> bool {
    let harmless = matches!(effect, Effect::None | Effect::Output { .. } | Effect::Exit { .. });
    !(harmless && finding.kind == Kind::UseAfterFree && finding.is_for_replays())
}

/// Whether the report has the error that replays of a finding showed, which was of kind `was` before. That is then its cause once more.
pub(super) fn is_reported(finding: &Finding, was: Kind, report: &Report) -> bool {
    let predicted = finding.kind == Kind::UseAfterFree && was == Kind::UseAfterFree;
    let is_repeated = finding.kind != was && is_explained(finding, report);
    finding.kind.is_memory() && !predicted && (is_repeated || is_known(finding, report))
}

/// Whether the report has an error of this kind at this place.
fn is_known(finding: &Finding, report: &Report) -> bool {
    report.findings.iter().any(|other| is_same(other, finding.kind, &finding.life))
}

/// Whether the report has the error that a run showed, or a use of the same memory at another place.
pub(super) fn is_explained(finding: &Finding, report: &Report) -> bool {
    let ended = |life: &[Moment]| life.len().checked_sub(2).and_then(|at| life[at].source.clone());
    let same =
        |other: &Finding| other.kind == finding.kind && is_sure(other) && ended(&other.life) == ended(&finding.life);
    let is_use = finding.kind == Kind::UseAfterFree && ended(&finding.life).is_some();
    is_known(finding, report) || is_use && report.findings.iter().any(same)
}

fn is_sure(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Observed | Verdict::Confirmed)
}

/// Whether a finding reports the same error: of its kind, and used at the same place.
fn is_same(finding: &Finding, kind: Kind, life: &[Moment]) -> bool {
    let last = |life: &[Moment]| life.last().and_then(|moment| moment.source.clone());
    finding.kind == kind && is_sure(finding) && last(&finding.life).is_some() && last(&finding.life) == last(life)
}

/// The finding of a run in which the runtime saw memory misused.
pub(super) fn observed(describer: &Describer<'_>, error: &MemoryError) -> Finding {
    describer.misused(kind(error.kind), &error.what, life(error))
}

fn kind(kind: MemoryErrorKind) -> Kind {
    match kind {
        MemoryErrorKind::UseAfterFree | MemoryErrorKind::UseAfterReturn | MemoryErrorKind::UseAfterScope => {
            Kind::UseAfterFree
        }
        MemoryErrorKind::DoubleFree => Kind::DoubleFree,
        MemoryErrorKind::NullDereference => Kind::NullDereference,
        MemoryErrorKind::HeapOverflow => Kind::HeapOverflow,
        MemoryErrorKind::Uninitialised => Kind::Uninitialised,
        MemoryErrorKind::MismatchedFree => Kind::MismatchedFree,
    }
}

fn life(error: &MemoryError) -> Vec<Moment> {
    let used = match error.what.split(' ').next() {
        Some("reads") => "read",
        Some("writes") => "written",
        Some("frees") => "freed again",
        _ => "used",
    };
    let moments =
        [("allocated", error.allocated.as_ref()), (&*error.ended, error.freed.as_ref()), (used, Some(&error.used))];
    moments.into_iter().filter_map(|(what, moment)| Some(moment_of(what, moment?))).collect()
}

pub(super) fn moment_of(what: &str, seen: &Seen) -> Moment {
    let source = |frame: &Frame| {
        let named = [frame.function.as_str(), frame.line.as_str()].join(" ");
        place(named.trim()).unwrap_or(Source { function: Some(named), ..Source::default() })
    };
    Moment {
        what: what.to_string(),
        thread: seen.thread.clone(),
        source: seen.place().map(source),
        stack: seen.stack.iter().map(source).collect(),
    }
}
