//! The life of the memory that a finding is about: where it was allocated, shared, freed and used.

use mayhap_trace::{EventId, Op, Trace};
use mayhap_witness::Target;

use crate::describe::Describer;
use crate::finding::{Finding, Kind, Moment, Severity, Source, Verdict};
use crate::places::{self, function_name};
use mayhap_symbols::is_installed;

impl Moment {
    /// The moment in words: "freed by main.1 at close_connection() server.c:40".
    pub fn words(&self) -> String {
        let by = match (self.what.as_str(), self.thread.as_str()) {
            ("ended", thread) if !thread.is_empty() => return format!("{thread} ended"),
            (_, "") => String::new(),
            ("shared", thread) => format!(" with {thread}"),
            ("left", thread) => format!(" in {thread}"),
            (_, thread) => format!(" by {thread}"),
        };
        let at = self.source.as_ref().map_or(String::new(), |source| format!(" at {}", named(source)));
        let what = match self.what.as_str() {
            "left" => "its function returned",
            "block was left" => "its block was left",
            what => what,
        };
        format!("{what}{by}{at}")
    }

    pub(crate) fn who(&self) -> String {
        let is_own = |source: &&Source| !source.file.as_deref().is_some_and(is_installed) && source.function.is_some();
        let own = self.stack.iter().find(is_own).or(self.source.as_ref().filter(is_own));
        match own.and_then(|source| source.function.as_deref()) {
            Some(function) => function_name(function),
            None if self.thread.is_empty() => "a thread".to_string(),
            None => self.thread.clone(),
        }
    }
}

pub(crate) fn named(source: &Source) -> String {
    let function = source.function.as_deref().map(function_name);
    let file = source.file.as_deref().map(|file| match source.line {
        Some(line) => format!("{}:{line}", places::base_name(file)),
        None => places::base_name(file).to_string(),
    });
    function.into_iter().chain(file).collect::<Vec<_>>().join(" ")
}

/// The stacks of a life that no event of the finding shows, each with its heading.
pub(crate) fn stacks(finding: &Finding) -> impl Iterator<Item = (String, &Moment)> {
    let is_shown = |moment: &Moment| finding.events.iter().any(|side| side.stack == moment.stack);
    let moments = finding.life.iter().filter(move |moment| {
        moment.what != "shared" && !moment.stack.is_empty() && (moment.what == "allocated" || !is_shown(moment))
    });
    moments.map(|moment| match moment.what.as_str() {
        "allocated" => ("stack of the allocation".to_string(), moment),
        what => (format!("stack where it was {what}"), moment),
    })
}

/// The whole life in one line.
pub(crate) fn words(life: &[Moment]) -> String {
    life.iter().map(Moment::words).collect::<Vec<_>>().join(" → ")
}

impl Describer<'_> {
    /// The life of the memory that a target is about, as the recorded run shows it; empty for targets that are about none.
    pub(crate) fn life(&self, target: &Target) -> Vec<Moment> {
        let Target::UseAfterFree { free, access } = target else { return Vec::new() };
        let trace = self.trace();
        let object = trace.tables().object(Op::Write, trace.event(*free).object);
        let mut life = Vec::new();
        if let Some((thread, site)) = places::allocation(object) {
            let source = places::source(site).or_else(|| places::function_of(site));
            life.push(Moment { what: "allocated".into(), thread: thread.into(), source, stack: Vec::new() });
        }
        if let Some(site) = places::opening(object) {
            life.push(Moment { what: "opened".into(), source: places::source(site), ..Moment::default() });
        }
        life.extend(shared(trace, *free).map(|event| self.moment("shared", event)));
        let kind = self.object_kind(*free);
        life.push(self.moment(kind.ended(), *free));
        let used = match trace.event(*access).op {
            _ if kind.is_life() => "used",
            Op::Read => "read",
            _ => "written",
        };
        life.push(self.moment(used, *access));
        life
    }

    fn moment(&self, what: &str, event: EventId) -> Moment {
        let side = self.side(event, "");
        Moment { what: what.to_string(), thread: side.thread, source: side.source, stack: side.stack }
    }
}

/// The event by which a second thread came to the memory.
fn shared(trace: &Trace, free: EventId) -> Option<EventId> {
    let columns = trace.columns();
    let object = columns.objects[free.index()];
    let mut accesses = (0..trace.len()).filter(|&i| columns.ops[i].is_access() && columns.objects[i] == object);
    let first = accesses.next()?;
    accesses.find(|&i| columns.threads[i] != columns.threads[first]).map(EventId::at).filter(|&event| event != free)
}

/// The title of an error in the use of memory that has this life.
pub(crate) fn title(kind: Kind, life: &[Moment]) -> &'static str {
    let has = |what: &str| life.iter().any(|moment| moment.what == what);
    match kind {
        Kind::UseAfterFree if has("left") => "Use after return",
        Kind::UseAfterFree if has("block was left") => "Use after scope",
        kind => kind.title(),
    }
}

/// How the lives of memory and of other objects end.
const ENDS: [&str; 9] =
    ["freed", "destroyed", "initialised again", "closed", "unloaded", "unmapped", "left", "block was left", "ended"];

/// How doubts end that a replay settles.
const REPLAY_DECIDES: &str = "a replay decides";

/// The doubt of a proof in which a thread comes to an object after its end.
pub(crate) const ANOTHER_LIFE: &str = "the thread comes there only after the end, when another may have begun its life in the same place; a replay decides";

impl Finding {
    /// Whether a doubt stands that a replay settles, by what comes of it.
    pub fn is_for_replays(&self) -> bool {
        self.verdict == Verdict::Suspected && self.reason.as_deref().is_some_and(|why| why.ends_with(REPLAY_DECIDES))
    }

    /// Why a proof may not hold of the program, where that depends on what code without hooks writes.
    pub(crate) fn unseen_doubt(&self) -> Option<&'static str> {
        match (self.kind, &self.events[..]) {
            (Kind::UseAfterFree, [free, access]) => {
                let common = free.locks.iter().any(|lock| access.locks.iter().any(|other| other.name == lock.name));
                common.then_some(
                    "both threads hold the same lock, and what keeps one from finding the memory may be written by code \
                     that is not recorded; a replay decides",
                )
            }
            (Kind::DoubleFree, _) => Some("what the thread does with the old value was not recorded; a replay decides"),
            _ => None,
        }
    }

    /// A replay showed what becomes of the finding: an error in the use of memory, with the moments of that memory's life.
    pub fn shown_by_replay(&mut self, kind: Kind, what: &str, life: Vec<Moment>) {
        self.severity = Severity::Error;
        if self.kind == kind && !self.life.is_empty() {
            // The recorded life also says how the memory came to be shared.
            for moment in life {
                match self.life.iter_mut().find(|known| known.what == moment.what) {
                    Some(known) if known.stack.is_empty() => *known = moment,
                    Some(_) => {}
                    None if moment.what == "allocated" => self.life.insert(0, moment),
                    None => {}
                }
            }
            return;
        }
        let who = life.last().map_or("a thread".to_string(), Moment::who);
        let end = life.iter().rev().skip(1).find(|moment| ENDS.contains(&moment.what.as_str()));
        let (ender, ended) = end.map_or(("another thread".into(), "freed"), |end| (end.who(), end.what.as_str()));
        let does = match (kind, ended) {
            (Kind::DoubleFree, "closed") => format!("{who} closes again what {ender} closed"),
            (Kind::DoubleFree, _) => format!("{who} frees again what {ender} freed"),
            (Kind::UseAfterFree, "ended") => format!("{who} uses memory of a thread that has ended"),
            (Kind::UseAfterFree, "left") => format!("{who} uses a variable of a function that has returned"),
            (Kind::UseAfterFree, "block was left") => format!("{who} uses a variable of a block that was left"),
            (Kind::UseAfterFree, ended) => format!("{who} uses what {ender} {ended}"),
            (Kind::NullDereference, _) => format!("{who} uses a null pointer"),
            _ => format!("{who} {what}"),
        };
        let cause = format!("A replay showed it. The cause: {}.", self.title);
        self.message = format!("{cause} {}", self.message);
        self.title = format!("{}: {does}", title(kind, &life));
        self.kind = kind;
        self.life = life;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_one_line() {
        let source = |function: &str, line| {
            let function = Some(function.to_string());
            Some(Source { function, file: Some("/src/a.c".into()), line: Some(line), ..Source::default() })
        };
        let moment = |what: &str, thread: &str, source| Moment {
            what: what.into(),
            thread: thread.into(),
            source,
            stack: Vec::new(),
        };
        let life = [
            moment("allocated", "main", source("open(int)", 3)),
            moment("shared", "main.1", None),
            moment("freed", "main", source("close", 9)),
            moment("read", "main.1", source("serve", 20)),
        ];
        let line = "allocated by main at open() a.c:3 → shared with main.1 → freed by main at close() a.c:9 → read by \
                    main.1 at serve() a.c:20";
        assert_eq!(words(&life), line);
    }
}
