//! The events of a finding and the life of its memory, in the words that the text report uses.

use serde::Serialize;

use super::excerpts::Excerpts;
use crate::describe::words::{bare_verb, locks_since};
use crate::finding::{Creation, Moment, Side, Source};
use crate::life::named;
use crate::places::{brief, function_name, lock_name};
use crate::text::{is_foreign, started_at};

/// An event of a finding, and the excerpt that shows it.
#[derive(Serialize)]
pub(super) struct PageSide<'r> {
    event: u64,
    thread: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_name: Option<&'r str>,
    role: &'r str,
    does: &'static str,
    object: String,
    location: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Frame<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highlight: Option<[u32; 2]>,
    /// The locks held, each with the place where it was taken.
    locks: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<Frame<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<PageCreation<'r>>,
    excerpt: Option<usize>,
}

/// A call.
#[derive(Serialize)]
struct Frame<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inlined: bool,
    /// It is in a library.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
}

/// How a thread was started.
#[derive(Serialize)]
struct PageCreation<'r> {
    words: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<Frame<'r>>,
}

/// A moment in the life of memory.
#[derive(Serialize)]
pub(super) struct PageMoment<'r> {
    what: &'r str,
    thread: &'r str,
    place: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<Frame<'r>>,
}

impl<'r> PageSide<'r> {
    pub(super) fn of(side: &'r Side, excerpts: &mut Excerpts<'r>) -> Self {
        PageSide {
            event: side.event,
            thread: &side.thread,
            thread_name: side.thread_name.as_deref(),
            role: &side.role,
            does: bare_verb(side),
            object: if matches!(side.op.as_str(), "r" | "w") { brief(&side.object) } else { lock_name(&side.object) },
            location: side.location.as_deref(),
            source: side.source.as_ref().map(Frame::of),
            highlight: side.highlight,
            locks: locks_since(side),
            stack: frames(&side.stack),
            created: side.created.as_ref().map(|created| PageCreation::of(created, &side.thread)),
            excerpt: excerpts.around(side.source.as_ref()),
        }
    }
}

impl<'r> PageCreation<'r> {
    fn of(created: &'r Creation, thread: &str) -> Self {
        let words = format!("{thread} was started by {}{}", created.thread, started_at(created));
        PageCreation { words, stack: frames(&created.stack) }
    }
}

impl<'r> PageMoment<'r> {
    pub(super) fn of(moment: &'r Moment) -> Self {
        PageMoment {
            what: &moment.what,
            thread: &moment.thread,
            place: moment.source.as_ref().map(named),
            stack: frames(&moment.stack),
        }
    }
}

impl<'r> Frame<'r> {
    fn of(source: &'r Source) -> Self {
        Frame {
            function: source.function.as_deref().map(function_name),
            file: source.file.as_deref(),
            line: source.line,
            inlined: source.inlined,
            foreign: is_foreign(source),
        }
    }
}

fn frames(stack: &[Source]) -> Vec<Frame<'_>> {
    stack.iter().map(Frame::of).collect()
}
