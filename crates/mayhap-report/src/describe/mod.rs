//! Turns a target and its proof into a finding with all of its text.

mod recorded;
mod story;
mod window;
pub(crate) mod words;

use mayhap_symbols::is_installed;
use mayhap_trace::VariableKind;
use mayhap_trace::attachments::stacks::{Called, Stack, Stacks};
use mayhap_trace::{EventId, Execution, Flags, LocId, LockId, Mode, Op, Relations, ThreadId, Trace, Value, VarId};
use mayhap_witness::{Checked, Model, Schedule, Target};

use crate::finding::{Blocked, Creation, Finding, Kind, Lock, ObjectKind, Replay, Severity, Side, Source, Verdict};
use crate::fingerprint;
use crate::places;

pub use recorded::Recorded;

/// Everything that is known about one target.
#[derive(Clone, Debug)]
pub struct Evidence<'e> {
    /// The kind of bug to report.
    pub kind: Kind,
    /// The bad state.
    pub target: &'e Target,
    /// The proof; `None` for a suspicion.
    pub proof: Option<&'e Checked>,
    /// What a suspicion rests on.
    pub suspicion: Option<&'e str>,
    /// The engine or detector that decided it.
    pub engine: &'e str,
    /// What the schedule must preserve of reads.
    pub model: Model,
    /// How many instances the trace contains.
    pub occurrences: u64,
    /// How many events lie between the target's events.
    pub distance: u64,
}

/// Builds the findings of one trace.
pub struct Describer<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    steps: usize,
    stacks: Stacks,
}

impl<'a> Describer<'a> {
    /// Creates a describer for a trace. Each finding keeps at most `steps` rows of schedule around its target.
    pub fn new(execution: &'a Execution<'a>, steps: usize) -> Self {
        let (trace, relations) = execution.parts();
        Describer { trace, relations, steps, stacks: Stacks::new() }
    }

    /// Adds call stacks: those of the target events and of the events that started their threads.
    pub fn with_stacks(self, stacks: Stacks) -> Self {
        Describer { stacks, ..self }
    }

    /// Builds the finding for one target.
    pub fn finding(&self, evidence: &Evidence<'_>) -> Finding {
        let Evidence { kind, target, .. } = *evidence;
        let roles = words::roles(kind, target);
        let sides: Vec<Side> =
            target.events().into_iter().zip(&roles).map(|(event, role)| self.side(event, role)).collect();
        let verdict = if evidence.proof.is_some() { Verdict::Proven } else { Verdict::Suspected };
        let schedule = evidence.proof.map(|p| &p.witness().schedule);
        let recorded = schedule.and_then(|schedule| Recorded::of(schedule, self.relations));
        let story = schedule.map(|schedule| story::tell(self, target, schedule));
        let mut finding = Finding {
            id: fingerprint::id(kind, &sides),
            kind,
            verdict,
            engine: evidence.engine.to_string(),
            model: evidence.model.name().to_string(),
            occurrences: evidence.occurrences,
            distance: evidence.distance,
            witness_after: recorded.as_ref().map(|r| r.after),
            witness_steps: recorded.as_ref().and(schedule).map(|s| s.len() as u64),
            witness: recorded.map(|r| r.rest).or_else(|| schedule.cloned()).unwrap_or_default(),
            reason: evidence.suspicion.map(str::to_string),
            fingerprint: fingerprint::fingerprint(kind, &sides),
            title: words::title(kind, target, &sides),
            severity: severity(kind, target, verdict),
            message: words::message(kind, target, &sides),
            why: words::why(self, target, &sides, story.as_ref()),
            certainty: String::new(),
            life: self.life(target),
            schedules: (self.steps > 0).then(|| {
                let changed = story.as_ref().map_or(&[][..], |s| &s.changed);
                window::around(self, target, schedule.unwrap_or(&Schedule::default()), changed)
            }),
            story: story.map(|s| s.story),
            witness_file: None,
            replay_command: None,
            replay: None,
            also: Vec::new(),
            tests: Vec::new(),
            suppressed_by: None,
            baseline: None,
            events: sides,
        };
        finding.certainty = certainty(&finding);
        finding
    }

    /// The trace that the findings are of.
    pub(crate) fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// What follows from the trace.
    pub(crate) fn relations(&self) -> &'a Relations {
        self.relations
    }

    /// Counts the events that take part in schedules.
    fn relevant(&self) -> u64 {
        let threads = (0..self.relations.threads()).map(ThreadId::at);
        threads.map(|thread| self.relations.thread_events(thread).len() as u64).sum()
    }

    /// Collects everything known about an event.
    pub(crate) fn side(&self, id: EventId, role: &str) -> Side {
        let (event, tables) = (self.trace.event(id), self.trace.tables());
        let mut stack = self.stack(id);
        let source = own_source(self.source(event.location), &stack);
        let column = source.as_ref().and_then(|source| column(source, &stack));
        stack.iter_mut().for_each(|frame| frame.column = None);
        Side {
            event: id.number(),
            thread: tables.thread(event.thread).to_string(),
            thread_name: None,
            op: event.op.word().to_string(),
            object: tables.object(event.op, event.object).to_string(),
            location: self.location(event.location),
            role: role.to_string(),
            source,
            stack,
            column,
            highlight: None,
            value: self.value(id).map(|value| value.to_string()),
            frees: self.frees(id),
            object_kind: self.object_kind(id),
            locks: self.locks(id),
            created: self.created(event.thread),
        }
    }

    /// What an access read or wrote in the recorded run, if the trace says it. A read without a value saw that of its write.
    pub(crate) fn value(&self, id: EventId) -> Option<Value> {
        let own = |id: EventId| self.trace.tables().value(self.trace.event(id).value);
        let seen = || if self.trace.event(id).op == Op::Read { own(self.relations.read_from(id)?) } else { None };
        own(id).or_else(seen)
    }

    fn location(&self, location: Option<LocId>) -> Option<String> {
        self.trace.tables().location(location).map(str::to_string)
    }

    fn source(&self, location: Option<LocId>) -> Option<Source> {
        self.trace.tables().location(location).and_then(place)
    }

    fn stack(&self, id: EventId) -> Vec<Source> {
        self.stacks.get(&id).map(sources).unwrap_or_default()
    }

    /// What the access is about.
    pub(crate) fn object_kind(&self, id: EventId) -> ObjectKind {
        let event = self.trace.event(id);
        let variable = VarId::from_cell(event.object).filter(|_| event.op.is_access());
        match variable.map(|variable| self.trace.tables().variable_kind(variable)) {
            Some(VariableKind::Object) => ObjectKind::Object,
            Some(VariableKind::Descriptor) => ObjectKind::Descriptor,
            Some(VariableKind::Library) => ObjectKind::Library,
            Some(VariableKind::Local) => ObjectKind::Local,
            Some(VariableKind::BlockLocal) => ObjectKind::BlockLocal,
            Some(_) if self.frees(id) && self.is_on_stack(id) => ObjectKind::Stack,
            _ => ObjectKind::Memory,
        }
    }

    /// Whether the access is of what lies on a thread's stack, which the thread frees when it ends.
    fn is_on_stack(&self, id: EventId) -> bool {
        let event = self.trace.event(id);
        places::thread_of_stack(self.trace.tables().object(event.op, event.object)).is_some()
    }

    /// Whether the event is a write only because it frees memory.
    pub(crate) fn frees(&self, id: EventId) -> bool {
        self.trace.event(id).flags.has(Flags::FREE) || self.stacks.get(&id).is_some_and(|stack| stack.frees)
    }

    fn locks(&self, id: EventId) -> Vec<Lock> {
        let held = self.relations.locksets().get(self.relations.held(id));
        let lock = |&(lock, mode): &(LockId, Mode)| {
            let acquire = self.acquire(id, lock, mode);
            Lock {
                name: self.trace.tables().locks.get(lock.index()).to_string(),
                shared: mode == Mode::Shared,
                event: acquire.map_or(0, EventId::number),
                location: acquire.and_then(|a| self.location(self.trace.event(a).location)),
            }
        };
        held.iter().map(lock).collect()
    }

    /// The acquire by which the event's thread holds a lock.
    pub(crate) fn acquire(&self, id: EventId, lock: LockId, mode: Mode) -> Option<EventId> {
        let before = &self.relations.thread_events(self.trace.event(id).thread)[..self.relations.rank(id)];
        let takes = |&&e: &&EventId| {
            let event = self.trace.event(e);
            event.lock() == Some(lock) && event.op.is_acquire() && event.op.is_shared() == (mode == Mode::Shared)
        };
        before.iter().rev().find(takes).copied()
    }

    fn created(&self, thread: ThreadId) -> Option<Creation> {
        let fork = self.relations.fork_of(thread)?;
        let event = self.trace.event(fork);
        let stack: Vec<Source> = self.stack(fork).into_iter().map(|frame| Source { column: None, ..frame }).collect();
        Some(Creation {
            event: fork.number(),
            thread: self.trace.tables().thread(event.thread).to_string(),
            location: self.location(event.location),
            source: own_source(self.source(event.location), &stack),
            stack,
        })
    }
}

/// The place in the program's own code: that of the location, or if that is a library's, with or without debug information, the innermost
/// call there.
fn own_source(source: Option<Source>, stack: &[Source]) -> Option<Source> {
    let is_foreign = |source: &Source| source.file.as_deref().is_none_or(is_installed);
    if !source.as_ref().is_some_and(is_foreign) {
        return source;
    }
    let own = stack.iter().find(|frame| frame.line.is_some() && !is_foreign(frame));
    own.map(|frame| Source { column: None, inlined: false, ..frame.clone() }).or(source)
}

/// The column of a place, as the stack has it.
fn column(source: &Source, stack: &[Source]) -> Option<u32> {
    let same = |frame: &&Source| frame.line == source.line && frame.file == source.file;
    source.column.or_else(|| stack.iter().find(same)?.column)
}

/// The functions of a stack, without those at its end that start programs and threads: they are no part of the program's source.
pub fn sources(stack: &Stack) -> Vec<Source> {
    let source = |Called { frame, inlined }: &Called| {
        let text = frame.to_string();
        let source = place(&text).unwrap_or(Source { function: Some(text), ..Source::default() });
        Source { inlined: *inlined, ..source }
    };
    let mut sources: Vec<Source> = stack.frames.iter().map(source).collect();
    let least = if stack.frees { 0 } else { 1 };
    while sources.len() > least && sources.pop_if(|frame| frame.line.is_none()).is_some() {}
    sources
}

/// The parts of a location, as far as it has any.
pub fn place(location: &str) -> Option<Source> {
    places::source(location).or_else(|| places::function_of(location))
}

/// Undefined behaviour and hangs are errors; a suspicion is never an error. A sequence that the user asked about need not be a
/// bug at all.
fn severity(kind: Kind, target: &Target, verdict: Verdict) -> Severity {
    let grave = match kind {
        _ if matches!(target, Target::Sequence { .. }) => Severity::Note,
        kind if kind.is_memory() => Severity::Error,
        Kind::Race | Kind::Deadlock | Kind::Order | Kind::Crash | Kind::Hang => Severity::Error,
        Kind::Atomicity => Severity::Warning,
        _ => Severity::Note,
    };
    if verdict == Verdict::Suspected { grave.max(Severity::Warning) } else { grave }
}

/// Returns the finding's certainty and its evidence, in one or two sentences.
fn certainty(finding: &Finding) -> String {
    let steps = words::counted(finding.steps(), "step");
    match (&finding.verdict, &finding.replay) {
        (Verdict::Observed, _) => "Observed: it happened in the recorded run.".to_string(),
        (Verdict::Note, Some(Replay { runs, confirmed, .. })) if *confirmed > 0 => {
            format!("A pattern without visible harm: {confirmed} of {runs} replays showed it, and nothing went wrong.")
        }
        (Verdict::Note, _) => {
            format!("A pattern without visible harm: a schedule of {steps} leads there, and no replay went wrong.")
        }
        (Verdict::Suspected, _) => {
            let reason = finding.reason.as_deref().unwrap_or("nothing that proves it was found");
            format!("Suspected, not proven: {reason}.")
        }
        (Verdict::Confirmed, Some(Replay { runs, confirmed, effect, .. })) => {
            let effect = effect.as_ref().map_or(String::new(), |e| format!("; {}", e.trim_end_matches('.')));
            let replays = if *runs == 1 { "replay" } else { "replays" };
            let proof = format!("The proof checker (kernel) had accepted its schedule of {steps}.");
            format!("Confirmed: reproduced in {confirmed} of {runs} {replays}{effect}. {proof}")
        }
        (_, replay) => {
            let replayed = match replay {
                Some(Replay { runs, diverged: Some(why), .. }) => {
                    format!(" Not reproduced (replayed {}): {why}.", words::times(*runs))
                }
                Some(Replay { runs, .. }) => format!(" Not reproduced (replayed {}).", words::times(*runs)),
                None => String::new(),
            };
            let model = words::model(&finding.model);
            let free = words::free_reads(finding);
            let proof = format!("the proof checker (kernel) accepted a schedule of {steps} that leads there");
            format!("Proven: {proof}; {model}{free}.{replayed}")
        }
    }
}

/// How the reason ends why two accesses may be ordered after all, though they run in the order that was recorded.
pub(crate) const NO_REPLAY_DECIDES: &str = "no replay can decide that";

impl Finding {
    /// Enters the outcome of replaying the finding and updates its certainty.
    pub fn replayed(&mut self, replay: Replay) {
        // A replay also confirms what the trace alone could not prove, if there was a schedule to follow.
        let can_decide = !self.reason.as_deref().is_some_and(|reason| reason.ends_with(NO_REPLAY_DECIDES));
        if replay.confirmed > 0 && can_decide && (self.verdict == Verdict::Proven || self.story.is_some()) {
            // What was seen to happen is in no doubt any more.
            if self.verdict == Verdict::Suspected && self.reason.take().is_some() && !self.kind.is_pattern() {
                self.severity = Severity::Error;
            }
            self.verdict = Verdict::Confirmed;
        }
        // What only a replay can decide, it has decided.
        if replay.runs > 0 && replay.confirmed == 0 && self.is_for_replays() {
            self.verdict = Verdict::Note;
            self.severity = Severity::Note;
        }
        let unseen = replay.blocked.as_ref().filter(|_| replay.confirmed == 0).map(|blocked| {
            let place = blocked.stack.first().map_or(String::new(), |place| format!(" at {place}"));
            let Blocked { thread, how, .. } = blocked;
            format!("in a replay {thread} {how}{place} and cannot go on: something that the recording did not see orders the threads")
        });
        self.replay = Some(replay);
        self.certainty = certainty(self);
        if let Some(why) = unseen {
            self.doubted(&why);
        }
    }

    /// Says that the schedule was not implied by the recorded run, but tried.
    pub fn found_by_trying(&mut self) {
        if let Some(Replay { runs, confirmed, effect, .. }) = &self.replay {
            let effect = effect.as_ref().map_or(String::new(), |effect| format!("; {}", effect.trim_end_matches('.')));
            self.certainty = format!(
                "Confirmed: found by trying what the locks allow; reproduced in {confirmed} of {runs} replays{effect}."
            );
        }
    }

    /// Says that the run in which it happened was made under another schedule.
    pub fn found_by_exploring(&mut self) {
        self.verdict = Verdict::Confirmed;
        self.message = self.message.replace("The recorded run", "A run under another schedule");
        self.certainty =
            "Confirmed: found by exploring; it happened in a run under another schedule. The command below makes \
                          the same run again."
                .to_string();
    }

    /// Grades a pattern by its harm: an atomicity violation, an order violation or a nondeterministic read is a guess about
    /// what the program means, so it is an error only if a replay showed that something goes wrong.
    pub fn graded(&mut self, harm: bool) {
        if !self.kind.is_pattern() || self.verdict == Verdict::Observed {
            return;
        }
        if harm {
            self.severity = Severity::Error;
        } else {
            self.verdict = Verdict::Note;
            self.severity = Severity::Note;
        }
        self.certainty = certainty(self);
    }

    /// Whether a schedule was found, but something that the recording did not see may prevent it.
    pub fn witness_is_doubted(&self) -> bool {
        self.verdict == Verdict::Suspected && self.replay_command.is_some()
    }

    /// Downgrades a proof to a suspicion: it holds for the trace, but there is a reason why the program may not be able to follow it.
    pub fn doubted(&mut self, why: &str) {
        if self.verdict == Verdict::Proven {
            self.verdict = Verdict::Suspected;
            self.severity = self.severity.max(Severity::Warning);
            self.reason = Some(why.to_string());
            self.certainty = certainty(self);
        }
    }
}
