//! Witness files: a schedule, what it shows, and the trace it belongs to, as JSON. `docs/formats/witness.md` specifies it.
//!
//! A thread of a schedule takes its events one after the other and leaves none out, so whose turn it is, and for how many
//! events, says it all: a schedule of a million steps that switches a thousand times is a thousand pairs of numbers. The
//! older form, a list of event numbers, is still read, and written for what only it can say.
//!
//! A witness file is untrusted input. Reading one settles only that it is about this trace and names its events; whether
//! the schedule is right is for the kernel alone to say ([`mayhap_witness::Checker`]).

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use mayhap_trace::{EventId, Execution, Fingerprint, ThreadId, Trace};
use mayhap_witness::{Checked, Model, Schedule, Target, Witness};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use mayhap_record::Error;

/// What the file says it is.
pub const FORMAT: &str = "mayhap-witness";
/// The version with schedules as turns of threads.
pub const VERSION: u32 = 2;
/// The older version, with schedules as lists of events.
const LISTED: u32 = 1;

/// The contents of a witness file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WitnessFile {
    /// The trace that the event numbers are of.
    pub fingerprint: Fingerprint,
    /// How many events that trace has.
    pub events: u64,
    /// Where that trace is, if that is known.
    pub path: Option<PathBuf>,
    /// What the schedule preserves of reads.
    pub model: Model,
    /// The state that the schedule leads to.
    pub target: Target,
    /// The schedule.
    pub witness: Witness,
}

impl WitnessFile {
    /// The file of a witness that the kernel accepted. `fingerprint` is the trace's, which a caller that writes many computes once.
    pub fn of(trace: &Trace, fingerprint: Fingerprint, checked: &Checked) -> Self {
        WitnessFile {
            fingerprint,
            events: trace.len() as u64,
            path: None,
            model: checked.model(),
            target: checked.target().clone(),
            witness: checked.witness().clone(),
        }
    }

    /// The same with where the trace is.
    pub fn with_path(self, path: &Path) -> Self {
        WitnessFile { path: Some(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())), ..self }
    }

    /// Where a witness file says its trace is.
    pub fn trace_path(path: &Path) -> Result<Option<PathBuf>, Error> {
        let text = std::fs::read(path).map_err(|error| Error::at(path, error))?;
        let file: FileJson = serde_json::from_slice(&text).map_err(|e| Error::at(path, json_error(&e)))?;
        Ok(file.trace.path)
    }

    /// Writes the file.
    pub fn save(&self, path: &Path, execution: &Execution<'_>) -> Result<(), Error> {
        let failed = |e: io::Error| Error::at(path, e);
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        self.write(&mut out, execution).and_then(|()| out.flush()).map_err(failed)
    }

    /// Writes the JSON text: a line a field, and the schedule in lines of some twenty entries.
    pub fn write(&self, out: &mut dyn Write, execution: &Execution<'_>) -> io::Result<()> {
        let turns = Turns::of(&self.witness.schedule, execution);
        let target = serde_json::to_string(&TargetJson::from(&self.target))?;
        writeln!(out, "{{")?;
        writeln!(out, "  \"format\": \"{FORMAT}\",")?;
        writeln!(out, "  \"version\": {},", if turns.is_some() { VERSION } else { LISTED })?;
        writeln!(out, "  \"tool\": {{\"name\": \"mayhap\", \"version\": \"{}\"}},", env!("CARGO_PKG_VERSION"))?;
        let place = match self.path.as_deref().and_then(Path::to_str) {
            Some(path) => format!(", \"path\": {}", serde_json::to_string(path)?),
            None => String::new(),
        };
        writeln!(
            out,
            "  \"trace\": {{\"fingerprint\": \"{}\", \"events\": {}{place}}},",
            self.fingerprint, self.events
        )?;
        writeln!(out, "  \"model\": \"{}\",", self.model)?;
        writeln!(out, "  \"target\": {target},")?;
        match turns {
            Some(Turns { threads, turns }) => {
                writeln!(out, "  \"threads\": {},", serde_json::to_string(&threads)?)?;
                list(out, "turns", turns.iter().map(|(thread, count)| format!("[{thread},{count}]")))?;
            }
            None => list(out, "schedule", self.witness.schedule.iter().map(|e| e.to_string()))?,
        }
        writeln!(out, "}}")
    }

    /// Reads a witness file for `trace`. It is refused if it belongs to another trace or names events that this one does
    /// not have. Takes no more memory than a schedule of the whole trace does.
    pub fn load(path: &Path, execution: &Execution<'_>) -> Result<Self, Error> {
        let trace = execution.trace();
        let failed = |e: io::Error| Error::at(path, e);
        // No schedule is longer than the trace, and no entry takes more than 32 bytes, white space included; then the names.
        let names: usize = trace.tables().threads.iter().map(|name| 6 * name.len() + 8).sum();
        let most = (1 << 16) + 32 * trace.len() as u64 + names as u64;
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut text)).map_err(failed)?;
        if text.len() as u64 > most {
            return Err(Error::at(path, format_args!("more than {most} bytes: too long for a witness of this trace")));
        }
        Self::parse(&text, execution).map_err(|message| Error::at(path, message))
    }

    /// Reads the JSON text of a witness file, see [`Self::load`]; the error says what is wrong with it, and where.
    pub fn parse(text: &[u8], execution: &Execution<'_>) -> Result<Self, String> {
        let trace = execution.trace();
        let start: Start = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        if start.format.as_deref() != Some(FORMAT) {
            return Err(format!("not a witness file: \"format\": \"{FORMAT}\" is missing"));
        }
        let Some(version @ LISTED..=VERSION) = start.version else {
            let version = start.version.map_or("none".to_string(), |v| v.to_string());
            return Err(format!("unsupported witness version {version}; this program reads {LISTED} and {VERSION}"));
        };
        let file: FileJson = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        let fingerprint: Fingerprint = file.trace.fingerprint.parse()?;
        if fingerprint != trace.fingerprint() {
            return Err(format!(
                "the witness belongs to another trace: that one has {} events and fingerprint {fingerprint}, \
                 this one {} and {}",
                file.trace.events,
                trace.len(),
                trace.fingerprint()
            ));
        }
        let model = file.model.parse()?;
        let target = file.target.resolve(trace)?;
        let schedule = match (version, file.schedule, file.threads, file.turns) {
            (LISTED, Some(numbers), None, None) => listed(numbers, trace)?,
            (VERSION, None, Some(threads), Some(turns)) => Turns { threads, turns }.schedule(execution)?,
            (LISTED, ..) => return Err(format!("version {LISTED} has `schedule`, and neither `threads` nor `turns`")),
            _ => return Err(format!("version {VERSION} has `threads` and `turns`, and no `schedule`")),
        };
        let path = file.trace.path;
        Ok(WitnessFile { fingerprint, events: trace.len() as u64, path, model, target, witness: Witness { schedule } })
    }
}

/// Returns the events of the older form.
fn listed(numbers: Vec<u64>, trace: &Trace) -> Result<Schedule, String> {
    let step = |(i, number): (usize, u64)| {
        trace.by_number(number).ok_or_else(|| format!("step {} of the schedule: {}", i + 1, absent(number, trace)))
    };
    numbers.into_iter().enumerate().map(step).collect()
}

/// Writes an array, the last field of the file, in lines of some twenty entries.
fn list(out: &mut dyn Write, name: &str, entries: impl Iterator<Item = String>) -> io::Result<()> {
    write!(out, "  \"{name}\": [")?;
    let mut end = "";
    for (i, entry) in entries.enumerate() {
        let lead = match i {
            0 => "\n    ",
            _ if i % 20 == 0 => ",\n    ",
            _ => ", ",
        };
        write!(out, "{lead}{entry}")?;
        end = "\n  ";
    }
    writeln!(out, "{end}]")
}

/// A schedule as turns: who, counted from 1 in a list of names, and how many of its next events.
struct Turns {
    threads: Vec<String>,
    turns: Vec<(u32, u64)>,
}

impl Turns {
    /// The turns of a schedule; `None` if some thread does not take its events one after the other from its first on.
    fn of(schedule: &Schedule, execution: &Execution<'_>) -> Option<Turns> {
        let (trace, relations) = execution.parts();
        let mut all = Turns { threads: Vec::new(), turns: Vec::new() };
        let mut numbers = vec![0u32; trace.tables().threads.len()];
        let mut ran = vec![0usize; trace.tables().threads.len()];
        for event in schedule.iter() {
            let thread = trace.event(event).thread;
            let at = thread.index();
            if relations.thread_events(thread).get(ran[at]) != Some(&event) {
                return None;
            }
            ran[at] += 1;
            if numbers[at] == 0 {
                all.threads.push(trace.tables().thread(thread).to_string());
                numbers[at] = all.threads.len() as u32;
            }
            match all.turns.last_mut() {
                Some((last, count)) if *last == numbers[at] => *count += 1,
                _ => all.turns.push((numbers[at], 1)),
            }
        }
        Some(all)
    }

    /// The events that the turns stand for.
    fn schedule(&self, execution: &Execution<'_>) -> Result<Schedule, String> {
        let (trace, relations) = execution.parts();
        let names = &trace.tables().threads;
        let known = |name: &String| names.find(name).ok_or_else(|| format!("threads: the trace has no `{name}`"));
        let threads = self.threads.iter().map(known).collect::<Result<Vec<usize>, String>>()?;
        let mut ran = vec![0usize; names.len()];
        let mut schedule = Schedule::default();
        for (i, &(number, count)) in self.turns.iter().enumerate() {
            let turn = i + 1;
            let at = *(number as usize)
                .checked_sub(1)
                .and_then(|n| threads.get(n))
                .ok_or_else(|| format!("turn {turn}: there is no thread {number} in `threads`"))?;
            let left = &relations.thread_events(ThreadId::at(at))[ran[at]..];
            let taken = usize::try_from(count).ok().and_then(|count| left.get(..count)).ok_or_else(|| {
                format!("turn {turn}: `{}` has {} further events, not {count}", names.get(at), left.len())
            })?;
            schedule.extend(taken.iter().copied());
            ran[at] += taken.len();
        }
        Ok(schedule)
    }
}

fn absent(number: u64, trace: &Trace) -> String {
    format!("there is no event {number} in a trace of {} events", trace.len())
}

/// Says the position first, as all errors do.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("line {}, column {}: {message}", error.line(), error.column())
}

/// The version, which decides whether the rest can be understood.
#[derive(Deserialize)]
struct Start {
    format: Option<String>,
    version: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    #[serde(rename = "tool")]
    _tool: ToolJson,
    trace: TraceJson,
    model: String,
    target: TargetJson,
    /// Of the older version.
    schedule: Option<Vec<u64>>,
    threads: Option<Vec<String>>,
    turns: Option<Vec<(u32, u64)>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolJson {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceJson {
    fingerprint: String,
    events: u64,
    #[serde(default)]
    path: Option<PathBuf>,
}

/// A target as JSON has it: event numbers from 1, and `"init"` for the initial value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum TargetJson {
    /// Two accesses, both next.
    Race {
        /// The two.
        events: [u64; 2],
    },
    /// Two accesses that run, unordered by happens-before.
    #[serde(rename = "unordered-race")]
    UnorderedRace {
        /// The two.
        events: [u64; 2],
    },
    /// A free that runs, and an access that is next.
    #[serde(rename = "use-after-free")]
    UseAfterFree {
        /// The free.
        free: u64,
        /// The access.
        access: u64,
    },
    /// Blocked acquires.
    Deadlock {
        /// One of each thread of the cycle.
        events: Vec<u64>,
    },
    /// An access between two of another thread.
    Atomicity {
        /// The first local access.
        first: u64,
        /// The access of another thread.
        remote: u64,
        /// The second local access.
        second: u64,
    },
    /// Events in this order.
    Order {
        /// The events.
        events: Vec<u64>,
        /// Pairs of them with nothing in between.
        #[serde(default)]
        adjacent: Vec<[u64; 2]>,
    },
    /// A read that may see another write.
    Nondeterminism {
        /// The write it saw.
        write: WriteJson,
        /// The read.
        read: u64,
        /// The other write.
        other: WriteJson,
    },
}

/// A write, or the initial value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteJson(Option<u64>);

impl Serialize for WriteJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(number) => serializer.serialize_u64(number),
            None => serializer.serialize_str("init"),
        }
    }
}

impl<'de> Deserialize<'de> for WriteJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match (value.as_u64(), value.as_str()) {
            (Some(number), _) => Ok(WriteJson(Some(number))),
            (_, Some("init")) => Ok(WriteJson(None)),
            _ => Err(D::Error::custom("a write is an event number or \"init\"")),
        }
    }
}

impl From<&Target> for TargetJson {
    fn from(target: &Target) -> Self {
        let numbers = |events: &[EventId]| events.iter().map(|e| e.number()).collect();
        let write = |w: &Option<EventId>| WriteJson(w.map(EventId::number));
        match target {
            Target::Race(a, b) => TargetJson::Race { events: [a.number(), b.number()] },
            Target::UnorderedRace(a, b) => TargetJson::UnorderedRace { events: [a.number(), b.number()] },
            Target::UseAfterFree { free, access } => {
                TargetJson::UseAfterFree { free: free.number(), access: access.number() }
            }
            Target::Deadlock(requests) => TargetJson::Deadlock { events: numbers(requests) },
            Target::Atomicity { first, remote, second } => {
                TargetJson::Atomicity { first: first.number(), remote: remote.number(), second: second.number() }
            }
            Target::Sequence { events, adjacent } => TargetJson::Order {
                events: numbers(events),
                adjacent: adjacent.iter().map(|(x, y)| [x.number(), y.number()]).collect(),
            },
            Target::Nondeterminism { write: w, read, other } => {
                TargetJson::Nondeterminism { write: write(w), read: read.number(), other: write(other) }
            }
        }
    }
}

impl TargetJson {
    /// The target, if the trace has all events that it names.
    pub fn resolve(&self, trace: &Trace) -> Result<Target, String> {
        let event = |n: u64| trace.by_number(n).ok_or_else(|| format!("target: {}", absent(n, trace)));
        let events = |numbers: &[u64]| numbers.iter().map(|&n| event(n)).collect::<Result<Vec<_>, _>>();
        let write = |w: &WriteJson| w.0.map(event).transpose();
        Ok(match self {
            TargetJson::Race { events: [a, b] } => Target::Race(event(*a)?, event(*b)?),
            TargetJson::UnorderedRace { events: [a, b] } => Target::UnorderedRace(event(*a)?, event(*b)?),
            TargetJson::UseAfterFree { free, access } => {
                Target::UseAfterFree { free: event(*free)?, access: event(*access)? }
            }
            TargetJson::Deadlock { events: requests } => Target::Deadlock(events(requests)?),
            TargetJson::Atomicity { first, remote, second } => {
                Target::Atomicity { first: event(*first)?, remote: event(*remote)?, second: event(*second)? }
            }
            TargetJson::Order { events: list, adjacent } => {
                let pair = |[x, y]: &[u64; 2]| Ok::<_, String>((event(*x)?, event(*y)?));
                let adjacent = adjacent.iter().map(pair).collect::<Result<_, _>>()?;
                Target::Sequence { events: events(list)?, adjacent }
            }
            TargetJson::Nondeterminism { write: w, read, other } => {
                Target::Nondeterminism { write: write(w)?, read: event(*read)?, other: write(other)? }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution() -> Execution<'static> {
        let trace =
            mayhap_trace::format::parse_std("T1|w(x)|1\nT2|r(x)|2\nT1|w(x)|3\nT1|begin|4\nT1|w(x)|5\n").unwrap();
        Execution::derive(trace).unwrap()
    }

    fn file(target: Target, schedule: &[usize]) -> WitnessFile {
        let execution = execution();
        let witness = Witness { schedule: schedule.iter().map(|&i| EventId::at(i)).collect() };
        WitnessFile {
            fingerprint: execution.trace().fingerprint(),
            events: 5,
            path: None,
            model: Model::Branch,
            target,
            witness,
        }
    }

    fn text(file: &WitnessFile) -> String {
        let execution = execution();
        let mut text = Vec::new();
        file.write(&mut text, &execution).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn parse(text: &str) -> Result<WitnessFile, String> {
        let execution = execution();
        WitnessFile::parse(text.as_bytes(), &execution)
    }

    #[test]
    fn what_is_written_is_read() {
        let [a, b, c] = [0, 1, 2].map(EventId::at);
        let targets = [
            Target::Race(a, b),
            Target::Deadlock(vec![a, b, c]),
            Target::Atomicity { first: a, remote: b, second: c },
            Target::Sequence { events: vec![c, a], adjacent: vec![(c, a)] },
            Target::Sequence { events: vec![c], adjacent: vec![] },
            Target::Nondeterminism { write: Some(a), read: b, other: None },
            Target::Nondeterminism { write: None, read: b, other: Some(c) },
        ];
        for target in targets {
            for schedule in [&[][..], &[0], &[0, 2, 4, 1], &[1, 0, 2], &[2, 0], &[0, 2, 3], &[0, 2, 1].repeat(30)] {
                let file = file(target.clone(), schedule);
                assert_eq!(parse(&text(&file)), Ok(file));
            }
        }
    }

    #[test]
    fn schedules_are_turns_and_what_is_none_a_list() {
        let target = || Target::Race(EventId::at(0), EventId::at(1));
        let turns = text(&file(target(), &[0, 2, 1, 4]));
        assert!(turns.contains("\"version\": 2,"), "{turns}");
        assert!(
            turns.contains("\"threads\": [\"T1\",\"T2\"],\n  \"turns\": [\n    [1,2], [2,1], [1,1]\n  ]\n}"),
            "{turns}"
        );
        let list = text(&file(target(), &[2, 0]));
        assert!(list.contains("\"version\": 1,") && list.contains("\"schedule\": [\n    3, 1\n  ]\n}"), "{list}");
    }

    #[test]
    fn bad_files_are_refused_with_a_reason() {
        let target = Target::Nondeterminism { write: None, read: EventId::at(1), other: None };
        // Event 2 of T1 before event 1: a list.
        let good = text(&file(target, &[2, 1])).replace("3, 2", "1, 2");
        let refuse = |from: &str, to: &str| {
            assert!(good.contains(from), "{from} is not in {good}");
            parse(&good.replace(from, to)).unwrap_err()
        };
        assert_eq!(refuse("1, 2", "1, 6"), "step 2 of the schedule: there is no event 6 in a trace of 5 events");
        assert_eq!(refuse("1, 2", "0"), "step 1 of the schedule: there is no event 0 in a trace of 5 events");
        assert_eq!(refuse("\"read\":2", "\"read\":9"), "target: there is no event 9 in a trace of 5 events");
        assert_eq!(
            refuse("\"branch\"", "\"maybe\""),
            "unknown model `maybe`: expected data, value, branch, causal or sync"
        );
        assert_eq!(
            refuse("\"version\": 1,", "\"version\": 3,"),
            "unsupported witness version 3; this program reads 1 and 2"
        );
        assert_eq!(
            refuse("\"version\": 1,", "\"version\": 2,"),
            "version 2 has `threads` and `turns`, and no `schedule`"
        );
        assert_eq!(refuse(FORMAT, "x"), "not a witness file: \"format\": \"mayhap-witness\" is missing");
        assert!(refuse("1, 2", "1, -2").starts_with("line 9, column 9: invalid value: integer `-2`"));
        assert!(refuse("nondeterminism", "wish").contains("unknown variant `wish`"));
        assert!(refuse("\"init\"", "\"start\"").contains("a write is an event number or \"init\""));
        assert!(refuse("schedule", "steps").contains("unknown field `steps`"));
        let hex = execution().trace().fingerprint().to_string();
        assert!(
            refuse(&hex, &"0".repeat(32)).starts_with("the witness belongs to another trace: that one has 5 events")
        );
        assert!(refuse(&hex, "xyz").contains("is not a fingerprint"));
        assert!(parse(&"[".repeat(1 << 20)).is_err());
        assert!(parse("").unwrap_err().starts_with("line 1, column 0: EOF"));
        let execution = execution();
        assert!(WitnessFile::parse(b"\xff\xfe", &execution).is_err());
    }

    #[test]
    fn turns_that_nobody_can_take_are_refused() {
        let good = text(&file(Target::Race(EventId::at(0), EventId::at(1)), &[0, 2, 1]));
        let refuse = |from: &str, to: &str| {
            assert!(good.contains(from), "{from} is not in {good}");
            parse(&good.replace(from, to)).unwrap_err()
        };
        assert_eq!(refuse("[1,2]", "[1,4]"), "turn 1: `T1` has 3 further events, not 4");
        assert_eq!(
            refuse("[2,1]", "[2,18446744073709551615]"),
            "turn 2: `T2` has 1 further events, not 18446744073709551615"
        );
        assert_eq!(refuse("[2,1]", "[3,1]"), "turn 2: there is no thread 3 in `threads`");
        assert_eq!(refuse("[2,1]", "[0,1]"), "turn 2: there is no thread 0 in `threads`");
        assert_eq!(refuse("\"T2\"", "\"T9\""), "threads: the trace has no `T9`");
        assert_eq!(
            refuse("\"version\": 2,", "\"version\": 1,"),
            "version 1 has `schedule`, and neither `threads` nor `turns`"
        );
        assert!(refuse("[2,1]", "[2]").contains("invalid length 1"));
        // A file of the older version without its schedule.
        assert_eq!(
            parse(&good.replace("\"version\": 2,", "\"version\": 1,").replace("\"threads\": [\"T1\",\"T2\"],", ""))
                .unwrap_err(),
            "version 1 has `schedule`, and neither `threads` nor `turns`"
        );
    }
}
