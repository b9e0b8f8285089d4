//! One finding: what collides, where, how it happens and how certain it is.

use mayhap_trace::attachments::ThreadNames;
use mayhap_witness::Schedule;
use serde::{Deserialize, Serialize};

use crate::numbers;
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
    /// The schedule; in the JSON event numbers, and pairs of a first and a last one.
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
    /// The life of the memory that it is about, from its allocation to its use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub life: Vec<Moment>,
    /// How it happens, step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// The recorded and the possible schedule around the target. A stored report has those of all findings in one place.
    #[serde(default, skip_serializing)]
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
    /// Fingerprints of findings that were folded into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The tests of a suite whose runs contain it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
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

    /// Adds what the program called its threads.
    pub fn name_threads(&mut self, names: &ThreadNames) {
        for side in &mut self.events {
            side.thread_name = names.get(&side.thread).map(str::to_string);
        }
    }

    /// A thread for people, with the name that the program gave it: `main.1 "uploader"`.
    pub fn thread_label(&self, thread: &str) -> String {
        let side = self.events.iter().find(|side| side.thread == thread);
        match side.and_then(|side| side.thread_name.as_deref()) {
            Some(name) => format!("{thread} \"{name}\""),
            None => thread.to_string(),
        }
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
    /// Memory used after it was freed.
    #[serde(rename = "use-after-free")]
    UseAfterFree,
    /// Memory freed twice.
    #[serde(rename = "double-free")]
    DoubleFree,
    /// A null pointer used.
    #[serde(rename = "null-dereference")]
    NullDereference,
    /// Memory next to a block used.
    #[serde(rename = "heap-overflow")]
    HeapOverflow,
    /// Memory read that no thread has written.
    Uninitialised,
    /// Memory freed by a function that does not go with the one that allocated it.
    #[serde(rename = "mismatched-free")]
    MismatchedFree,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 13] = [
        Kind::Race,
        Kind::Deadlock,
        Kind::Atomicity,
        Kind::Order,
        Kind::Nondeterminism,
        Kind::Crash,
        Kind::Hang,
        Kind::UseAfterFree,
        Kind::DoubleFree,
        Kind::NullDereference,
        Kind::HeapOverflow,
        Kind::Uninitialised,
        Kind::MismatchedFree,
    ];

    /// Returns the word in JSON and ids.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::Deadlock => "deadlock",
            Kind::Atomicity => "atomicity",
            Kind::Order => "order",
            Kind::Nondeterminism => "nondeterminism",
            Kind::Crash => "crash",
            Kind::Hang => "hang",
            Kind::UseAfterFree => "use-after-free",
            Kind::DoubleFree => "double-free",
            Kind::NullDereference => "null-dereference",
            Kind::HeapOverflow => "heap-overflow",
            Kind::Uninitialised => "uninitialised",
            Kind::MismatchedFree => "mismatched-free",
        }
    }

    /// Whether the kind is a guess about what the program means: a bug only if it does harm.
    pub fn is_pattern(self) -> bool {
        matches!(self, Kind::Atomicity | Kind::Order | Kind::Nondeterminism | Kind::DoubleFree)
    }

    /// Whether it is an error in the use of memory.
    pub fn is_memory(self) -> bool {
        matches!(
            self,
            Kind::UseAfterFree
                | Kind::DoubleFree
                | Kind::NullDereference
                | Kind::HeapOverflow
                | Kind::Uninitialised
                | Kind::MismatchedFree
        )
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
            Kind::UseAfterFree => "Use after free",
            Kind::DoubleFree => "Double free",
            Kind::NullDereference => "Null dereference",
            Kind::HeapOverflow => "Heap overflow",
            Kind::Uninitialised => "Uninitialised read",
            Kind::MismatchedFree => "Mismatched free",
        }
    }
}

impl From<mayhap_witness::Kind> for Kind {
    fn from(kind: mayhap_witness::Kind) -> Self {
        match kind {
            mayhap_witness::Kind::UseAfterFree => Kind::UseAfterFree,
            mayhap_witness::Kind::DoubleFree => Kind::DoubleFree,
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
    /// Returns the word in JSON.
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
    /// Returns the word in JSON.
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

/// The role of the step that misuses memory.
pub(crate) const MISUSE: &str = "misuse of memory";
/// The role of the step that ends the program.
pub(crate) const END: &str = "end of the program";
/// The role of a panic that ends the program.
pub(crate) const PANIC: &str = "panic";

/// One event of a finding and everything known about it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Its number: the position in the trace, from 1.
    pub event: u64,
    /// The thread.
    pub thread: String,
    /// What the program called the thread, if it gave it a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
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
    /// The column of the access in the source line, counted from 1, where the debug information has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The marked part of the source line: the first column, from 1, and the column after the last, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<[u32; 2]>,
    /// What it read or wrote in the recorded run, where that is known: a number, or `&BLOCK+OFFSET` for an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it frees the memory, which counts as a write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
    /// What the object is, where it is an object whose life is meant: reading is using it, freeing is ending it.
    #[serde(default, skip_serializing_if = "ObjectKind::is_memory")]
    pub object_kind: ObjectKind,
    /// The locks held just before it.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// How its thread was started, if the trace contains that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Creation>,
}

/// What an access is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Memory, or something else that is not accessed.
    #[default]
    Memory,
    /// The life of a lock, a condition or the like.
    Object,
    /// The life of a descriptor.
    Descriptor,
    /// The life of a library that the program loads.
    Library,
    /// A variable of a function that returns.
    Local,
    /// A variable of a block that its function leaves.
    #[serde(rename = "block")]
    BlockLocal,
    /// What lies on the stack of a thread that ends.
    Stack,
}

impl ObjectKind {
    /// Whether it is nothing with a life of its own.
    pub fn is_memory(&self) -> bool {
        *self == ObjectKind::Memory
    }

    /// Whether accesses of it stand for uses of something that is no memory.
    pub(crate) fn is_life(self) -> bool {
        matches!(self, ObjectKind::Object | ObjectKind::Descriptor | ObjectKind::Library)
    }

    /// What a use does.
    pub(crate) fn uses(self, otherwise: &'static str) -> &'static str {
        if self.is_life() { "uses" } else { otherwise }
    }

    /// What its end does.
    pub(crate) fn ends(self) -> &'static str {
        match self {
            ObjectKind::Memory => "frees",
            ObjectKind::Object => "destroys",
            ObjectKind::Descriptor => "closes",
            ObjectKind::Library => "unloads",
            ObjectKind::Local => "returns from the function of",
            ObjectKind::BlockLocal => "leaves the block of",
            ObjectKind::Stack => "ends, and with it",
        }
    }

    /// What has happened to it after its end.
    pub(crate) fn ended(self) -> &'static str {
        match self {
            ObjectKind::Memory => "freed",
            ObjectKind::Object => "destroyed",
            ObjectKind::Descriptor => "closed",
            ObjectKind::Library => "unloaded",
            ObjectKind::Local => "left",
            ObjectKind::BlockLocal => "block was left",
            ObjectKind::Stack => "ended",
        }
    }
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
    #[serde(default, skip_serializing_if = "is_default")]
    pub mark: Mark,
    /// A remark: "sees worker's write, not main's".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// How many of the critical sections shown contain it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub depth: usize,
    /// How many steps, of any thread, were left out just before it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skipped: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
    /// What a thread that was to go on waited for, if the trace does not know it as waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
}

/// A thread that waits for something that the recording did not see.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    /// The thread.
    pub thread: String,
    /// What it does: "sleeps in the system call futex", "spins".
    pub how: String,
    /// Where, innermost first.
    #[serde(default)]
    pub stack: Vec<String>,
}

/// A moment in the life of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Moment {
    /// What happens to the memory: `allocated`, `opened`, `shared`, `freed`, `destroyed`, `closed`, `freed again`, `read`, `written`,
    /// `used`.
    pub what: String,
    /// The thread; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The call stack, innermost frame first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Source>,
}
