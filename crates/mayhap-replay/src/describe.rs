//! Steps and what came instead of them, in words.

use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::{LEAVE, READ, RETURN, WRITE, class};

use mayhap_symbols::Symbols;
use mayhap_trace::attachments::steps::{Step, Steps};

/// What a step of this kind does.
pub fn verb(kind: u8) -> &'static str {
    match kind {
        READ => return "read of",
        WRITE => return "write of",
        RETURN => return "return from the function of",
        LEAVE => return "end of the block of",
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
        Some(Tag::Use) => "use of a descriptor",
        Some(Tag::Close) => "close of a descriptor",
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
