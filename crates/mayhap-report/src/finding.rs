//! One finding: what collides, where, how it happens and how certain it is.

use mayhap_witness::Schedule;
use serde::{Deserialize, Serialize};

use crate::schedules::Schedules;

/// A bug that a reordering contains, or that a detector suspects.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Finding {
    /// Identifies the finding within the report and across runs: a hash of kind and locations.
    pub id: String,
    /// The kind.
    pub kind: Kind,
    /// How certain it is.
    pub verdict: Verdict,
    /// The engine that decided it, or the order of the detector that reported it.
    pub engine: String,
    /// The model: what its schedule preserves of reads.
    pub model: String,
    /// How many instances the trace contains.
    pub occurrences: u64,
    /// How many events lie between the first and the last of its events.
    pub distance: u64,
    /// The events that collide, in the order of the target's definition.
    pub events: Vec<Side>,
    /// The schedule; event numbers in the JSON.
    #[serde(with = "numbers")]
    pub witness: Schedule,
    /// For a long schedule, or a trace that was analysed in windows: the schedule continues after this many events, which run
    /// as recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_after: Option<u64>,
    /// How many steps a long schedule has in total, including those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_steps: Option<u64>,
    /// What a suspicion rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Identifies the finding even after lines have moved: a hash of kind, functions, files and objects.
    #[serde(default)]
    pub fingerprint: String,
    /// The title: "Data race on `head`: worker() writes while drain() reads".
    #[serde(default)]
    pub title: String,
    /// How severe it is.
    #[serde(default)]
    pub severity: Severity,
    /// What can happen, in one or two sentences.
    #[serde(default)]
    pub message: String,
    /// Why nothing prevents it, in one sentence.
    #[serde(default)]
    pub why: String,
    /// The certainty and its evidence, in one sentence.
    #[serde(default)]
    pub certainty: String,
    /// How it happens, step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// The recorded and the possible schedule around the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Schedules>,
    /// The witness file, where one was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_file: Option<String>,
    /// The command that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_command: Option<String>,
    /// The outcome of the replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The suppression that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed_by: Option<String>,
    /// Whether the baseline contains it, if there is a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Finding {
    /// Counts the steps of its schedule.
    pub fn steps(&self) -> u64 {
        self.witness_steps.unwrap_or(self.witness.len() as u64)
    }

    /// Whether neither a suppression nor the baseline hides it.
    pub fn is_shown(&self) -> bool {
        self.suppressed_by.is_none() && self.baseline != Some(Baseline::Known)
    }
}

/// The kind of a bug.
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

    /// Whether the kind is a guess about what the program means: a bug only if it does harm.
    pub fn is_pattern(self) -> bool {
        matches!(self, Kind::Atomicity | Kind::Order | Kind::Nondeterminism)
    }

    /// The name that starts a title.
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

/// Serialises a schedule as a list of event numbers without building that list, which can be larger than everything else.
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

/// How certain a finding is, the most certain first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It happened in a recorded run.
    Observed,
    /// A replay reproduced it.
    Confirmed,
    /// The proof checker (kernel) accepted a schedule, and nothing that the recording could not see bears on it.
    Proven,
    /// There is evidence, but a doubt remains: no proof, or something that the recording cannot see.
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

    /// All verdicts, the most certain first.
    pub const ALL: [Verdict; 5] =
        [Verdict::Observed, Verdict::Confirmed, Verdict::Proven, Verdict::Suspected, Verdict::Note];

    /// Whether the program can certainly do this, which makes it an error.
    pub fn is_certain(self) -> bool {
        matches!(self, Verdict::Observed | Verdict::Confirmed | Verdict::Proven)
    }
}

/// How severe a finding is, the most severe first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Undefined behaviour or a hang.
    Error,
    /// Probably unintended.
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

/// Whether the report that a finding was compared with contains it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// The baseline does not contain it.
    New,
    /// The baseline contains it.
    Known,
}

/// One event of a finding and everything known about it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Its number: the position in the trace, from 1.
    pub event: u64,
    /// The thread.
    pub thread: String,
    /// The operation, as in the text format: `r`, `w`, `acq`, …
    pub op: String,
    /// The variable, lock, thread or condition.
    pub object: String,
    /// The location, as in the trace.
    pub location: Option<String>,
    /// Its role in the finding: `first access`, `second access`, `remote access`, `blocked`, `write seen`, …
    #[serde(default)]
    pub role: String,
    /// The location, split into its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The call stack, innermost frame first, inlined functions included; `source` is one of its frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
    /// The marked part of the source line: the first column, from 1, and the column after the last, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<[u32; 2]>,
    /// Whether it frees the memory, which counts as a write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
    /// The locks held just before it.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// How its thread was started, if the trace contains that.
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
    /// Whether it is held in shared (reader) mode.
    #[serde(default)]
    pub shared: bool,
    /// The event that took it.
    pub event: u64,
    /// The location of that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// How a thread was started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Creation {
    /// The event that created it.
    pub event: u64,
    /// The thread that created it.
    pub thread: String,
    /// The location, as in the trace.
    pub location: Option<String>,
    /// The location, split into its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The call stack, innermost frame first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
}

/// How a finding happens: the steps that matter, by thread, in the recorded and in the possible run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Story {
    /// The threads that are shown, one per column.
    pub threads: Vec<String>,
    /// The recorded run, in order.
    pub observed: Vec<Step>,
    /// The possible run, in order.
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
    /// The short form of the location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Its role in the finding.
    #[serde(default)]
    pub mark: Mark,
    /// A remark: "sees worker's write, not main's".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// How many of the critical sections shown contain it.
    #[serde(default)]
    pub depth: usize,
    /// How many steps, of any thread, were left out just before it.
    #[serde(default)]
    pub skipped: u64,
}

/// The role of a step in the finding.
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
    /// It is an event of the finding, and its thread waits there forever.
    Blocked,
    /// It is a read that sees another write than in the recorded run.
    Changed,
}

/// The outcome of replaying a finding.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Replay {
    /// How often the schedule was forced onto the program.
    pub runs: u32,
    /// How often the bug happened.
    pub confirmed: u32,
    /// The effect on the program: "crashes with SIGSEGV", "prints 1 instead of 2".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Why the schedule could not be followed, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<String>,
}
