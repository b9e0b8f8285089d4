//! What already went wrong in a recorded run: threads that wait for each other, a run that stopped, a crash.
//!
//! Nothing is predicted here, so there is no schedule and no proof: the verdict is *observed*.

use mayhap_trace::attachments::waiting::{Waiting, What};
use mayhap_trace::{EventId, Relations, Trace};

use crate::describe::{Describer, place};
use crate::finding::{END, Finding, Kind, Lock, MISUSE, Moment, PANIC, Severity, Side, Source, Verdict};
use crate::fingerprint;
use crate::life;
use crate::places::{function_name, lock_name};
use mayhap_symbols::is_installed;

/// What a moment is in which a thread panicked.
pub const PANICKED: &str = "panicked";
/// How many accesses before a crash are shown.
const LAST: usize = 3;

impl Describer<'_> {
    /// A run that stopped because each of its threads waits. If some of them wait for each other it is a deadlock.
    pub fn stuck(&self, waiting: &[Waiting]) -> Option<Finding> {
        let cycle = Waiting::cycle(waiting);
        let kind = if cycle.is_some() { Kind::Deadlock } else { Kind::Hang };
        let mut threads = cycle.unwrap_or_else(|| waiting.iter().collect());
        if kind == Kind::Hang {
            // Waits for a thread's end only follow from others.
            threads.sort_by_key(|waiting| waiting.what == What::Thread);
        }
        if threads.is_empty() {
            return None;
        }
        let sides: Vec<Side> = threads.iter().map(|waiting| self.waiting_side(waiting)).collect();
        let waits: Vec<String> = threads.iter().map(|waiting| wait(waiting)).collect();
        let title = match (kind, threads.as_slice()) {
            (Kind::Deadlock, [one]) if one.what == What::Lock => {
                format!("Deadlock: {} waits for `{}`, which it already holds", one.thread, lock_name(&one.object))
            }
            (Kind::Deadlock, all) => format!("Deadlock of {} threads: {}", all.len(), waits.join(" and ")),
            (_, all) => format!("The program hangs: {}", brief(all, &waits)),
        };
        let message = match kind {
            Kind::Deadlock => "The recorded run stopped here: none of these threads can ever continue.",
            _ => "The recorded run stopped here: every thread waits for something that no other thread will do.",
        };
        Some(self.observed(kind, title, message.to_string(), reasons(&threads), sides))
    }

    /// A run that a signal or an error code ended; `how` says which in a few words, `at` where the program was, if that is known.
    pub fn crashed(&self, how: &str, why: &str, at: Option<&Moment>) -> Finding {
        self.ended(how, why, at.map(|at| (at, if at.what == PANICKED { PANIC } else { END })))
    }

    /// A run that ended too early; `at` has the last moment of it and what the thread did then, if that is known.
    fn ended(&self, how: &str, why: &str, at: Option<(&Moment, &str)>) -> Finding {
        let trace = self.trace();
        // The thread that ended it, or ran last, or if nothing of it was recorded with a place, whichever ran before it.
        let known = at.and_then(|(at, _)| trace.tables().threads.find(&at.thread)).map(mayhap_trace::ThreadId::at);
        let whose = known.or_else(|| self.steps_before_end().next().map(|id| trace.event(id).thread));
        let of_last: Vec<EventId> =
            self.steps_before_end().filter(|&id| self.is_placed(id, whose)).take(LAST).collect();
        let is_known = !of_last.is_empty();
        let last = if is_known {
            of_last
        } else {
            self.steps_before_end().filter(|&id| self.is_placed(id, None)).take(LAST).collect()
        };
        let mut sides: Vec<Side> = last.iter().map(|&id| self.side(id, "step before")).collect();
        // What the language's library does by itself, such as ending a thread, says less than a line of the program.
        let is_own = |side: &Side| side.source.as_ref().is_some_and(|at| !at.file.as_deref().is_some_and(is_installed));
        if sides.iter().any(is_own) {
            sides.retain(is_own);
        }
        if let Some(first) = sides.first_mut() {
            first.role = "last step".to_string();
        }
        // Several steps of one line are one for the reader.
        sides.dedup_by(|later, first| later.source.is_some() && later.source == first.source);
        let first = sides.first().filter(|_| is_known).and_then(|side| side.source.as_ref());
        let place = first.and_then(|source| source.function.clone());
        let mut after = place.map_or(String::new(), |function| format!(" in or after {}", function_name(&function)));
        if let Some(end) = at.and_then(|(at, role)| self.last_moment(at, role)) {
            let function = end.source.as_ref().and_then(|source| source.function.as_deref());
            after = function.map_or(String::new(), |function| format!(" in {}", function_name(function)));
            // Beside a line of the program, steps without one say nothing.
            let has_file = |side: &Side| side.source.as_ref().is_some_and(|at| at.file.is_some());
            let is_placed = has_file(&end);
            sides.retain(|side| side.source != end.source && (has_file(side) || !is_placed));
            sides.insert(0, end);
        }
        let message = "The recorded run ended this way. Its last recorded steps are shown.".to_string();
        self.observed(Kind::Crash, format!("The program {how}{after}"), message, why.to_string(), sides)
    }

    /// The last steps of the run, the latest first.
    fn steps_before_end(&self) -> impl Iterator<Item = EventId> {
        let all = (0..self.trace().len()).rev().map(EventId::at);
        all.filter(|&id| self.relations().is_relevant(id)).take(10_000)
    }

    /// Whether it is known where the step was, and the thread did it, if one is asked for.
    fn is_placed(&self, id: EventId, thread: Option<mayhap_trace::ThreadId>) -> bool {
        let event = self.trace().event(id);
        let is_asked_for = thread.is_none_or(|thread| event.thread == thread);
        is_asked_for && event.location.is_some() && event.op != mayhap_trace::Op::Branch
    }

    /// A run in which the runtime saw memory misused; `what` is what its last moment does, as in "reads 4 bytes".
    pub fn misused(&self, kind: Kind, what: &str, life: Vec<Moment>) -> Finding {
        let mut finding = self.ended("", "", life.last().map(|used| (used, MISUSE)));
        let who = life.last().map_or("a thread".to_string(), Moment::who);
        finding.title = format!("{}: {who} {what}", life::title(kind, &life));
        finding.message = "The recorded run did this. Its last recorded steps are shown.".to_string();
        finding.kind = kind;
        finding.life = life;
        finding.id = fingerprint::id(kind, &finding.events);
        finding.fingerprint = fingerprint::fingerprint(kind, &finding.events);
        finding
    }

    /// Where memory was misused, or a thread ended the program. It has the number of the thread's last event, since this did not become one.
    fn last_moment(&self, used: &Moment, role: &str) -> Option<Side> {
        let is_own = |source: &Source| source.line.is_some() && !source.file.as_deref().is_some_and(is_installed);
        let source = used.source.clone().filter(is_own)?;
        let base = self.last_of(&used.thread).map(|id| (id, self.side(id, role)));
        let (number, locks, created) = base.map_or((1, Vec::new(), None), |(id, side)| {
            (side.event.max(1), self.locks_after(id, side.locks), side.created)
        });
        let file = source.file.as_deref().unwrap_or_default();
        let location = [source.function.clone().unwrap_or_default(), format!("{file}:{}", source.line.unwrap_or(0))];
        Some(Side {
            event: number,
            // Threads of runs that were not recorded have no names.
            thread: if used.thread.is_empty() { "a thread".to_string() } else { used.thread.clone() },
            op: "r".to_string(),
            location: Some(location.join(" ").trim().to_string()),
            role: role.to_string(),
            source: Some(source),
            stack: used.stack.clone(),
            locks,
            created,
            ..Side::default()
        })
    }

    /// A run that was ended because it took too long.
    pub fn ran_too_long(&self, seconds: u64) -> Finding {
        self.did_not_end(
            format!("The program did not end within {seconds} seconds"),
            "The recorded run was ended after that time (--timeout). Its last recorded steps are shown.",
        )
    }

    /// A run that stopped, though no thread was recorded that waits.
    pub fn stopped(&self) -> Finding {
        self.did_not_end(
            "The program hangs: all of its threads sleep".to_string(),
            "The recorded run stopped here: every thread slept in the kernel until another one would wake it. What they \
             wait for was not recorded; the last recorded steps are shown.",
        )
    }

    fn did_not_end(&self, title: String, message: &str) -> Finding {
        let mut finding = self.crashed("", "", None);
        finding.kind = Kind::Hang;
        finding.title = title;
        finding.message = message.to_string();
        finding.id = fingerprint::id(Kind::Hang, &finding.events);
        finding.fingerprint = fingerprint::fingerprint(Kind::Hang, &finding.events);
        finding
    }

    fn observed(&self, kind: Kind, title: String, message: String, why: String, sides: Vec<Side>) -> Finding {
        Finding {
            id: fingerprint::id(kind, &sides),
            kind,
            verdict: Verdict::Observed,
            engine: "none".to_string(),
            model: "none".to_string(),
            occurrences: 1,
            fingerprint: fingerprint::fingerprint(kind, &sides),
            title,
            severity: Severity::Error,
            message,
            why,
            certainty: "Observed: it happened in the recorded run.".to_string(),
            events: sides,
            ..Finding::default()
        }
    }

    /// Where a thread waits. It has the number of the thread's last event, since the wait did not become one.
    fn waiting_side(&self, waiting: &Waiting) -> Side {
        let last = self.last_of(&waiting.thread);
        let base = last.map(|id| self.side(id, "blocked")).unwrap_or_default();
        Side {
            event: base.event.max(1),
            thread: waiting.thread.clone(),
            op: op(waiting.what).to_string(),
            object: waiting.object.clone(),
            location: waiting.location.clone(),
            role: "blocked".to_string(),
            source: waiting.location.as_deref().and_then(place),
            stack: waiting.stack.iter().filter_map(|frame| place(frame)).collect(),
            locks: last.map_or_else(Vec::new, |id| self.locks_after(id, base.locks)),
            created: base.created,
            ..Side::default()
        }
    }

    /// The locks that a thread holds after its last step, which held `before` and may itself have taken or released one.
    fn locks_after(&self, last: EventId, mut before: Vec<Lock>) -> Vec<Lock> {
        let (trace, event) = (self.trace(), self.trace().event(last));
        let Some(lock) = event.lock() else { return before };
        if event.op.is_release() {
            let name = trace.tables().locks.get(lock.index());
            // A lock that is taken several times is given back as often.
            if let Some(at) = before.iter().rposition(|held| held.name == name) {
                before.remove(at);
            }
        } else if event.op.is_acquire() {
            before.push(Lock {
                name: trace.tables().locks.get(lock.index()).to_string(),
                shared: event.op.is_shared(),
                event: last.number(),
                location: trace.tables().location(event.location).map(str::to_string),
            });
        }
        before
    }

    fn last_of(&self, name: &str) -> Option<EventId> {
        let (trace, relations): (&Trace, &Relations) = (self.trace(), self.relations());
        let thread = trace.tables().threads.find(name)?;
        relations.thread_events(mayhap_trace::ThreadId::at(thread)).last().copied()
    }
}

/// The operation that a wait would have become.
fn op(what: What) -> &'static str {
    match what {
        What::Lock => "acq",
        What::Condition | What::Semaphore | What::Barrier | What::Unpark | What::Data | What::Room => "wait",
        What::Thread => "join",
    }
}

/// What each thread waits for and which thread keeps it.
fn reasons(threads: &[&Waiting]) -> String {
    let reason = |waiting: &&Waiting| match (waiting.what, waiting.holders.as_slice()) {
        (What::Lock, [_, ..]) => {
            let object = lock_name(&waiting.object);
            format!("{} waits for `{object}`, held by {}", waiting.thread, waiting.holders.join(" and "))
        }
        _ => wait(waiting),
    };
    format!("{}.", threads.iter().map(reason).collect::<Vec<_>>().join("; "))
}

/// What a thread waits for, as a part of a sentence.
fn wait(waiting: &Waiting) -> String {
    let function = waiting.location.as_deref().and_then(place).and_then(|source| source.function);
    let who = function.map_or_else(|| waiting.thread.clone(), |function| function_name(&function));
    let object = lock_name(&waiting.object);
    match waiting.what {
        What::Lock => format!("{who} waits for `{object}`"),
        What::Condition => format!("{who} waits for a notify of `{object}`"),
        What::Semaphore => format!("{who} waits for a post of `{object}`"),
        What::Barrier => format!("{who} waits at the barrier `{object}`"),
        What::Thread => format!("{who} waits for the end of {object}"),
        What::Unpark => format!("{who} waits to be unparked"),
        What::Data => format!("{who} waits for data from the {object}"),
        What::Room => format!("{who} waits for room in the {object}"),
    }
}

/// The waits that explain a hang: those for a thread's end only follow from others.
fn brief(all: &[&Waiting], waits: &[String]) -> String {
    let causes: Vec<&str> =
        all.iter().zip(waits).filter(|(w, _)| w.what != What::Thread).map(|(_, text)| text.as_str()).collect();
    if causes.is_empty() { waits.join(" and ") } else { causes.join(" and ") }
}
