//! Steps and what came instead of them, in words.

use std::fmt;

use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::{READ, WRITE, class};

use crate::session::{Effect, Outcome, Replayed};
use mayhap_symbols::Symbols;
use mayhap_trace::attachments::steps::{Step, Steps};

/// What a step of this kind does.
pub fn verb(kind: u8) -> &'static str {
    match kind {
        READ => return "read of",
        WRITE => return "write of",
        _ => {}
    }
    match Tag::from_code(kind) {
        Some(Tag::Fork) => "start of a thread",
        Some(Tag::Join) => "join of",
        Some(Tag::Acquire) => "lock of",
        Some(Tag::SharedAcquire) => "read lock of",
        Some(Tag::Release | Tag::AnyRelease) => "unlock of",
        Some(Tag::WaitEnd) => "end of a wait on",
        Some(Tag::Notify) => "notify of",
        Some(Tag::NotifyAll) => "notify of all on",
        Some(Tag::SemPost) => "post of",
        Some(Tag::SemWait) => "wait for",
        Some(Tag::BarrierArrive) => "arrival at",
        Some(Tag::BarrierLeave) => "leaving of",
        Some(Tag::OnceDone) => "end of the initialisation",
        Some(Tag::OnceSeen) => "initialisation found done",
        Some(Tag::Atomic) => "atomic operation on",
        Some(Tag::RangeRead) => "read of a range at",
        Some(Tag::RangeWrite) => "write of a range at",
        Some(Tag::Free) => "free of",
        Some(Tag::Failed) => "failed attempt at",
        Some(Tag::Send) => "write to a channel",
        Some(Tag::Receive) => "read from a channel",
        Some(Tag::Ready) => "channel found ready",
        Some(Tag::HangUp) => "close of a channel",
        Some(Tag::KeyedAcquire) => "lock of a file or stream",
        Some(Tag::KeyedRelease) => "unlock of a file or stream",
        Some(Tag::Unmap) => "unmapping of",
        Some(Tag::End) => "the end of the thread",
        _ => "something else",
    }
}

/// What a thread that is paused before a step of this kind is about to do, as the end of the sentence "it …".
pub fn action(kind: u8) -> &'static str {
    match kind {
        READ => return "reads",
        WRITE => return "writes",
        _ => {}
    }
    match Tag::from_code(kind) {
        Some(Tag::Join) => "joins",
        Some(Tag::Acquire) => "locks",
        Some(Tag::SharedAcquire) => "read-locks",
        Some(Tag::Release | Tag::AnyRelease) => "unlocks",
        Some(Tag::Atomic) => "performs an atomic operation on",
        Some(Tag::RangeRead) => "reads a range at",
        Some(Tag::RangeWrite) => "writes a range at",
        Some(Tag::Free) => "frees",
        _ => "continues with",
    }
}

/// Where a step of the recorded run is, in the names of its files.
pub struct Places<'a> {
    /// All steps.
    pub steps: &'a Steps,
    /// The files as they are now.
    pub files: Symbols,
}

impl<'a> Places<'a> {
    /// The names of a recorded run.
    pub fn new(steps: &'a Steps) -> Self {
        Places { steps, files: Symbols::of_files(&steps.modules) }
    }

    /// The place of a step in the source.
    pub fn place(&self, step: &Step) -> String {
        match step.site.map(|site| self.steps.sites[site as usize]) {
            Some(site) => match site.module {
                Some(module) => self.files.place_in(module as usize, site.offset).to_string(),
                None => format!("{:#x}", site.offset),
            },
            None => String::new(),
        }
    }

    /// What a step is about.
    pub fn object(&self, step: &Step) -> String {
        let object = step.object;
        match object.class {
            class::GLOBAL => self.files.data_in(object.index as usize, object.offset),
            class::HEAP => {
                let block = self.steps.blocks[object.index as usize];
                let site = Step { site: Some(block.site), ..*step };
                let offset = if object.offset == 0 { String::new() } else { format!(" + {}", object.offset) };
                format!(
                    "the block that {} allocated at {}{offset}",
                    self.steps.lane_name(block.lane),
                    self.place(&site)
                )
            }
            class::STACK => format!("a variable on the stack of {}", self.steps.lane_name(object.index)),
            class::LANE => self.steps.lane_name(object.index),
            _ => String::new(),
        }
    }

    /// The whole step in words.
    pub fn step(&self, step: &Step) -> String {
        let words = [self.steps.lane_name(step.lane) + ":", verb(step.kind).into(), self.object(step)];
        let place = self.place(step);
        let at = if place.is_empty() { place } else { format!("at {place}") };
        words.into_iter().chain([at]).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Outcome {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Confirmed => "confirmed",
            Outcome::Diverged { .. } => "diverged",
            Outcome::NotReached(_) => "not reached",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Confirmed => f.write_str("confirmed"),
            Outcome::Diverged { step, expected, got, sources } => {
                write!(f, "diverged at step {step}: expected {expected}, got {got}")?;
                if sources.is_empty() { Ok(()) } else { write!(f, "; {}", suspects(sources)) }
            }
            Outcome::NotReached(why) => write!(f, "not reached: {why}"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::None => f.write_str("no visible effect"),
            Effect::Core => {
                f.write_str("effect not examined: the process ended with a core dump when the state was reached")
            }
            Effect::Crash { signal, message } => {
                write!(f, "crash ({})", signal_name(*signal))?;
                message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            Effect::Hang => f.write_str("hang: the program makes no progress"),
            Effect::Deadlock => f.write_str("deadlock: the threads wait for each other forever"),
            Effect::Exit { code, recorded } => write!(f, "exit code {code} instead of {recorded}"),
            Effect::Output { line } => write!(f, "different output: {line}"),
            Effect::Unknown => f.write_str("effect unknown: the program was stopped at its time limit"),
        }
    }
}

/// A source of divergence that no call gives away.
pub const ADDRESSES: &str = "addresses";

/// What may have led a run elsewhere, and what to do about it.
pub fn suspects(sources: &[&str]) -> String {
    if sources == [ADDRESSES] {
        return "where its memory lies seems to lead the program elsewhere: with addresses that change from run to run it does not \
                always do the same, with fixed ones it does. Record and replay under `setarch -R`"
            .into();
    }
    let all = sources.join(", ");
    format!("the program uses {all}, a nondeterministic input: record with --record-inputs")
}

/// The name of a signal that ends programs.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.into()
}

/// What a replay came to, in one line.
pub fn effect_and_outcome(replayed: &Replayed) -> String {
    match &replayed.outcome {
        Outcome::Confirmed => format!("confirmed; {}", replayed.effect),
        outcome => outcome.to_string(),
    }
}
