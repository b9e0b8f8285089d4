//! One finding: what collides, where, how it comes about and how sure that is.

use mayhap_witness::Schedule;
use serde::{Deserialize, Serialize};

use crate::schedules::Schedules;

/// A bug that a reordering contains, or that something which proves nothing points to.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Finding {
    /// Names it within the report, and in other runs: kind and locations.
    pub id: String,
    /// The kind.
    pub kind: Kind,
    /// How sure it is.
    pub verdict: Verdict,
    /// The engine that decided it, or the detector's order.
    pub engine: String,
    /// What its schedule preserves of reads.
    pub model: String,
    /// How many instances the trace has.
    pub occurrences: u64,
    /// How many events lie between the first and the last of its events.
    pub distance: u64,
    /// The events that collide, in the order of the target's definition.
    pub events: Vec<Side>,
    /// The schedule; event numbers in the JSON.
    #[serde(with = "numbers")]
    pub witness: Schedule,
    /// Of a long schedule, or a trace that was taken in windows: it comes after this many events, which run as they were
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_after: Option<u64>,
    /// How many steps a long schedule has, with those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_steps: Option<u64>,
    /// What a suspicion rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Names it when lines have moved: kind, functions, files and objects, in no order.
    #[serde(default)]
    pub fingerprint: String,
    /// In plain words: "Data race on `head`: worker() writes while drain() reads".
    #[serde(default)]
    pub title: String,
    /// How grave it is.
    #[serde(default)]
    pub severity: Severity,
    /// One or two sentences: what can happen.
    #[serde(default)]
    pub message: String,
    /// One sentence: why nothing prevents it.
    #[serde(default)]
    pub why: String,
    /// One sentence: how sure that is, and by whose word.
    #[serde(default)]
    pub certainty: String,
    /// How it comes about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// Observed and possible schedule around the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Schedules>,
    /// The witness file, where one was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_file: Option<String>,
    /// The command that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_command: Option<String>,
    /// What replaying came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The suppression that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed_by: Option<String>,
    /// How it stands to the baseline, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Finding {
    /// How many steps its schedule has.
    pub fn steps(&self) -> u64 {
        self.witness_steps.unwrap_or(self.witness.len() as u64)
    }

    /// Neither a suppression nor the baseline hides it.
    pub fn is_shown(&self) -> bool {
        self.suppressed_by.is_none() && self.baseline != Some(Baseline::Known)
    }
}

/// What kind of bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Data race.
    #[default]
    Race,
    /// Deadlock.
    Deadlock,
    /// Atomicity violation.
    Atomicity,
    /// Order violation.
    Order,
    /// Nondeterministic read.
    Nondeterminism,
    /// A recorded run that crashed, aborted or ended with an error.
    Crash,
    /// A recorded run that did not go on.
    Hang,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] =
        [Kind::Race, Kind::Deadlock, Kind::Atomicity, Kind::Order, Kind::Nondeterminism, Kind::Crash, Kind::Hang];

    /// The word in JSON and ids.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::Deadlock => "deadlock",
            Kind::Atomicity => "atomicity",
            Kind::Order => "order",
            Kind::Nondeterminism => "nondeterminism",
            Kind::Crash => "crash",
            Kind::Hang => "hang",
        }
    }

    /// A guess about what the program means: it is a bug only if it does harm.
    pub fn is_pattern(self) -> bool {
        matches!(self, Kind::Atomicity | Kind::Order | Kind::Nondeterminism)
    }

    /// What people call it, at the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Race => "Data race",
            Kind::Deadlock => "Deadlock",
            Kind::Atomicity => "Atomicity violation",
            Kind::Order => "Order violation",
            Kind::Nondeterminism => "Nondeterministic read",
            Kind::Crash => "Crash",
            Kind::Hang => "Hang",
        }
    }
}

/// A schedule as a list of event numbers. It is never held as such a list, which can be longer than all else together.
mod numbers {
    use mayhap_trace::EventId;
    use mayhap_witness::Schedule;
    use serde::de::{Error, SeqAccess, Unexpected, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(schedule.iter().map(EventId::number))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
        deserializer.deserialize_seq(Numbers)
    }

    struct Numbers;

    impl<'de> Visitor<'de> for Numbers {
        type Value = Schedule;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("a list of event numbers, from 1")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Schedule, A::Error> {
            let mut schedule = Schedule::default();
            while let Some(number) = list.next_element()? {
                let wrong = || Error::invalid_value(Unexpected::Unsigned(number), &self);
                schedule.push(EventId::from_number(number).ok_or_else(wrong)?);
            }
            Ok(schedule)
        }
    }
}

impl From<mayhap_witness::Kind> for Kind {
    fn from(kind: mayhap_witness::Kind) -> Self {
        match kind {
            mayhap_witness::Kind::Race => Kind::Race,
            mayhap_witness::Kind::Deadlock => Kind::Deadlock,
            mayhap_witness::Kind::Atomicity => Kind::Atomicity,
            mayhap_witness::Kind::Order => Kind::Order,
            mayhap_witness::Kind::Nondeterminism => Kind::Nondeterminism,
        }
    }
}

/// How sure a finding is; the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It happened in a recorded run.
    Observed,
    /// It happened in a replay.
    Confirmed,
    /// The proof checker accepted a schedule, and nothing that the recording could not see bears on it.
    Proven,
    /// A doubt remains, or only a partial order says so.
    #[default]
    Suspected,
    /// A pattern that did no harm.
    Note,
}

impl Verdict {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Observed => "observed",
            Verdict::Confirmed => "confirmed",
            Verdict::Proven => "proven",
            Verdict::Suspected => "suspected",
            Verdict::Note => "note",
        }
    }

    /// All verdicts, the surest first.
    pub const ALL: [Verdict; 5] =
        [Verdict::Observed, Verdict::Confirmed, Verdict::Proven, Verdict::Suspected, Verdict::Note];

    /// It is certain that the program can do this: an error.
    pub fn is_certain(self) -> bool {
        matches!(self, Verdict::Observed | Verdict::Confirmed | Verdict::Proven)
    }
}

/// How grave a finding is; the gravest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Undefined behaviour or a hang.
    Error,
    /// Probably not meant.
    #[default]
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// How a finding stands to the report that it was compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// The baseline does not have it.
    New,
    /// The baseline has it.
    Known,
}

/// One event of a finding, and what is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Its number: the position in the trace, from 1.
    pub event: u64,
    /// Who did it.
    pub thread: String,
    /// The operation, as in the text format: `r`, `w`, `acq`, …
    pub op: String,
    /// To what.
    pub object: String,
    /// Where, as the trace says it.
    pub location: Option<String>,
    /// What it is to the finding: `first access`, `second access`, `remote access`, `blocked`, `write seen`, …
    #[serde(default)]
    pub role: String,
    /// The location in its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The calls that led there, innermost first, with what is inlined; `source` is one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
    /// The part of the source line that it is about: first column, from 1, and the column after the last, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<[u32; 2]>,
    /// It frees the memory, which counts as a write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
    /// The locks held just before it.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// How its thread began, if the trace has that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Creation>,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// The function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// In a stack: the function is inlined into the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// A lock that is held.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Held together with other readers.
    #[serde(default)]
    pub shared: bool,
    /// The event that took it.
    pub event: u64,
    /// Where that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// How a thread began.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Creation {
    /// The event that created it.
    pub event: u64,
    /// The thread that did.
    pub thread: String,
    /// Where, as the trace says it.
    pub location: Option<String>,
    /// The same in its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The calls that led there, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
}

/// How a finding comes about: only the steps that matter, by thread, as observed and as possible.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Story {
    /// The threads that are told of, one a column.
    pub threads: Vec<String>,
    /// What was observed, in order.
    pub observed: Vec<Step>,
    /// What is possible instead, in order.
    pub possible: Vec<Step>,
}

/// One step of a story.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// The event.
    pub event: u64,
    /// The thread: a position in [`Story::threads`].
    pub column: usize,
    /// What it does: "locks m", "writes head".
    pub text: String,
    /// Where: the short form of the location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What it is to the finding.
    #[serde(default)]
    pub mark: Mark,
    /// What else is to be said of it: "sees worker's write, not main's".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// In how many critical sections of its thread, of those that are told of, it stands.
    #[serde(default)]
    pub depth: usize,
    /// Steps of any thread that were left out just before it.
    #[serde(default)]
    pub skipped: u64,
}

/// What a step is to the finding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It leads there.
    #[default]
    Plain,
    /// It is an event of the finding, and runs.
    Target,
    /// It is an event of the finding and is next in its thread.
    Next,
    /// It is an event of the finding, and its thread waits there for ever.
    Blocked,
    /// A read that sees another write than observed.
    Changed,
}

/// What replaying a finding came to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Replay {
    /// How often the schedule was forced onto the program.
    pub runs: u32,
    /// How often the bug happened.
    pub confirmed: u32,
    /// What it did to the program: "crashes with SIGSEGV", "prints 1 instead of 2".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Why the schedule could not be followed, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<String>,
}
