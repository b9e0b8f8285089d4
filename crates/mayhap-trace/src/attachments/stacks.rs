//! The call stacks of a run ([`mayhap_wire::attachment::STACKS`]). A stream of records, each a number and its fields, all varints:
//!
//! | record | fields |
//! |---|---|
//! | [`FRAME`] | length, text: function, file and line, as locations read. Defines the next frame, from 0 |
//! | [`SPECIAL`] | kind, argument: see [`Frame`]. Defines the next frame |
//! | [`PLACE`] | how many frames, each frame, innermost first; all but the last are inlined. Defines the next place, from 0 |
//! | [`STACK`] | the stack below plus 1 (0: none), the place of the innermost call. Defines the next stack, from 0 |
//! | [`THREAD`] | events since the last such record, thread, stack plus 1 (0: empty). The thread's stack from that event on |
//! | [`LOCATION`] | events since the last such record, location, place. The place that the location stands for from that event on |
//! | [`FORGET`] | none. Stacks are numbered from 0 again, and no thread has one |
//!
//! `THREAD` and `LOCATION` count from each other, in the order of the trace. Threads and locations are those of the trace's tables.
//! An event happens at its location's place, and was called as its thread's stack says. The innermost frame of one that frees memory is
//! [`Frame::Free`]. Older traces have texts in brackets in place of special frames.
//!
//! Memory of the writer: the program's call sites, and [`MOST`] stacks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use mayhap_wire::{attachment, varint};

use super::records::Records;
use crate::format::native;
use crate::{Event, EventId, Trace};

const FRAME: u64 = 1;
const PLACE: u64 = 2;
const STACK: u64 = 3;
const THREAD: u64 = 4;
const LOCATION: u64 = 5;
const FORGET: u64 = 6;
const SPECIAL: u64 = 7;

/// Stacks that are remembered at a time.
const MOST: usize = 1 << 18;

/// A function that an event happened in, or what stands for one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// Function, file and line, as locations read.
    Place(String),
    /// The event frees memory: always the innermost frame.
    Free,
    /// A call that was not recorded.
    NotRecorded,
    /// A signal interrupted what is below.
    Signal,
    /// At least so many calls that are not kept.
    More(u64),
}

impl Frame {
    /// Returns the kind and the argument of a special frame.
    fn code(&self) -> Option<(u64, u64)> {
        match self {
            Frame::Place(_) => None,
            Frame::Free => Some((1, 0)),
            Frame::NotRecorded => Some((2, 0)),
            Frame::Signal => Some((3, 0)),
            Frame::More(calls) => Some((4, *calls)),
        }
    }

    fn special(kind: u64, argument: u64) -> Option<Frame> {
        match kind {
            1 => Some(Frame::Free),
            2 => Some(Frame::NotRecorded),
            3 => Some(Frame::Signal),
            4 => Some(Frame::More(argument)),
            _ => None,
        }
    }

    /// A frame from its text, which in older traces may stand for a special one.
    fn parse(text: &[u8]) -> Frame {
        match text {
            b"[free]" => Frame::Free,
            b"[not recorded]" => Frame::NotRecorded,
            b"[signal]" => Frame::Signal,
            _ => Frame::Place(String::from_utf8_lossy(text).into_owned()),
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Place(text) => f.write_str(text),
            Frame::Free => f.write_str("[free]"),
            Frame::NotRecorded => f.write_str("[not recorded]"),
            Frame::Signal => f.write_str("[signal]"),
            Frame::More(calls) => write!(f, "[at least {calls} more calls]"),
        }
    }
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// The function.
    pub frame: Frame,
    /// It is inlined into the next one.
    pub inlined: bool,
}

/// How an event came about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stack {
    /// The event is a write because it frees memory.
    pub frees: bool,
    /// The functions, innermost first.
    pub frames: Vec<Called>,
}

/// Stacks of events.
pub type Stacks = BTreeMap<EventId, Stack>;

/// Writes stacks.
#[derive(Debug, Default)]
pub struct Writer {
    records: Records,
    frames: HashMap<Frame, u64>,
    places: HashMap<Vec<u64>, u64>,
    /// By the stack below plus 1, and the place on top.
    stacks: HashMap<(u64, u64), u32>,
    /// The event that the last record was about.
    at: u64,
}

impl Writer {
    /// The place where these functions are, innermost first, all but the last inlined.
    pub fn place(&mut self, frames: &[Frame]) -> u64 {
        let mut numbers = Vec::new();
        for frame in frames {
            let count = self.frames.len() as u64;
            let number = *self.frames.entry(frame.clone()).or_insert(count);
            if number == count {
                self.define(frame);
            }
            numbers.push(number);
        }
        let count = self.places.len() as u64;
        if let Some(&place) = self.places.get(&numbers) {
            return place;
        }
        self.records.put(&[PLACE, numbers.len() as u64]);
        self.records.put(&numbers);
        self.places.insert(numbers, count);
        count
    }

    fn define(&mut self, frame: &Frame) {
        match (frame, frame.code()) {
            (_, Some((kind, argument))) => self.records.put(&[SPECIAL, kind, argument]),
            (Frame::Place(text), None) => {
                self.records.put(&[FRAME, text.len() as u64]);
                self.records.extend_from_slice(text.as_bytes());
            }
            _ => {}
        }
    }

    /// Returns the stack with this place on top.
    pub fn stack(&mut self, below: Option<u32>, place: u64) -> u32 {
        let below = below.map_or(0, |below| u64::from(below) + 1);
        if let Some(&stack) = self.stacks.get(&(below, place)) {
            return stack;
        }
        let stack = self.stacks.len() as u32;
        self.stacks.insert((below, place), stack);
        self.records.put(&[STACK, below, place]);
        stack
    }

    /// Forgets all stacks if there are many; `true` if it did, and threads have none then.
    pub fn forget_many(&mut self) -> bool {
        let many = self.stacks.len() >= MOST;
        if many {
            self.stacks.clear();
            self.records.put(&[FORGET]);
        }
        many
    }

    /// From this event on, the thread has this stack.
    pub fn thread(&mut self, event: u64, thread: u32, stack: Option<u32>) {
        let since = event - std::mem::replace(&mut self.at, event);
        self.records.put(&[THREAD, since, thread.into(), stack.map_or(0, |stack| u64::from(stack) + 1)]);
    }

    /// From this event on, the location stands for this place.
    pub fn location(&mut self, event: u64, location: u32, place: u64) {
        let since = event - std::mem::replace(&mut self.at, event);
        self.records.put(&[LOCATION, since, location.into(), place]);
    }

    /// What has been written, once it is enough or `all` is wanted.
    pub fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        self.records.take(all)
    }
}

/// What a trace file has of stacks.
pub fn attached(path: &Path) -> Option<Vec<u8>> {
    let file = BufReader::with_capacity(1 << 17, File::open(path).ok()?);
    native::attachments(file, attachment::STACKS).ok().flatten()
}

/// What is known at a moment of the trace.
#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    places: Vec<Vec<usize>>,
    /// The stack below, and the place on top.
    stacks: Vec<(Option<usize>, usize)>,
    threads: BTreeMap<u64, usize>,
    locations: BTreeMap<u64, usize>,
}

/// Reads the stacks of the events that are wanted; `None` where they make no sense.
pub fn parse(bytes: &[u8], trace: &Trace, wanted: &BTreeSet<EventId>) -> Option<Stacks> {
    let wanted = wanted.iter().copied().filter(|event| event.index() < trace.len());
    parse_where(bytes, wanted, &|event| trace.event(event))
}

/// The same for events that the caller knows, such as those of a part of the trace that the stacks are of.
pub fn parse_where(
    mut bytes: &[u8],
    wanted: impl Iterator<Item = EventId>,
    event_of: &dyn Fn(EventId) -> Event,
) -> Option<Stacks> {
    let mut reader = Reader::default();
    let mut found = Stacks::new();
    let mut left = wanted.peekable();
    let mut at = 0u64;
    while !bytes.is_empty() && left.peek().is_some() {
        let record = varint::take(&mut bytes)?;
        let mut field = || varint::take(&mut bytes);
        match record {
            FRAME => {
                let length = usize::try_from(field()?).ok()?;
                let (text, rest) = bytes.split_at_checked(length)?;
                reader.frames.push(Frame::parse(text));
                bytes = rest;
            }
            SPECIAL => {
                let (kind, argument) = (field()?, field()?);
                reader.frames.push(Frame::special(kind, argument)?);
            }
            PLACE => {
                let count = field()?;
                let frames = (0..count).map(|_| known(field()?, reader.frames.len())).collect::<Option<Vec<_>>>()?;
                reader.places.push(frames);
            }
            STACK => {
                let below = match field()? {
                    0 => None,
                    below => Some(known(below - 1, reader.stacks.len())?),
                };
                let place = known(field()?, reader.places.len())?;
                reader.stacks.push((below, place));
            }
            THREAD | LOCATION => {
                at = at.checked_add(field()?)?;
                // What changes now is not so before.
                while let Some(event) = left.next_if(|event| (event.index() as u64) < at) {
                    found.insert(event, reader.stack(event_of(event)));
                }
                let (key, value) = (field()?, field()?);
                match (record, value) {
                    (LOCATION, place) => _ = reader.locations.insert(key, known(place, reader.places.len())?),
                    (_, 0) => _ = reader.threads.remove(&key),
                    (_, stack) => _ = reader.threads.insert(key, known(stack - 1, reader.stacks.len())?),
                }
            }
            // It stands before the record that says since when: until then nothing is wanted that needs what is forgotten.
            FORGET => {
                let next = skip_to_event(bytes)?;
                while let Some(event) = left.next_if(|event| (event.index() as u64) < at + next) {
                    found.insert(event, reader.stack(event_of(event)));
                }
                reader.stacks.clear();
                reader.threads.clear();
            }
            _ => return None,
        }
    }
    found.extend(left.map(|event| (event, reader.stack(event_of(event)))));
    Some(found)
}

/// How many events lie between the last record about events and the next one.
fn skip_to_event(mut bytes: &[u8]) -> Option<u64> {
    loop {
        let record = varint::take(&mut bytes)?;
        let mut field = || varint::take(&mut bytes);
        match record {
            FRAME => {
                let length = usize::try_from(field()?).ok()?;
                bytes = bytes.split_at_checked(length)?.1;
            }
            PLACE => {
                for _ in 0..field()? {
                    field()?;
                }
            }
            STACK | SPECIAL => _ = (field()?, field()?),
            THREAD | LOCATION => return field(),
            _ => return None,
        }
    }
}

fn known(index: u64, count: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < count)
}

impl Reader {
    /// Returns the stack of an event.
    fn stack(&self, event: Event) -> Stack {
        let location = event.location.and_then(|location| self.locations.get(&(location.index() as u64)));
        let mut frames = Vec::new();
        self.add(&mut frames, location.copied());
        let frees = frames.first().is_some_and(|called: &Called| called.frame == Frame::Free);
        frames.drain(..usize::from(frees));
        let mut at = self.threads.get(&(event.thread.index() as u64)).copied();
        while let Some(top) = at {
            let (below, place) = self.stacks[top];
            self.add(&mut frames, Some(place));
            at = below;
        }
        Stack { frees, frames }
    }

    fn add(&self, stack: &mut Vec<Called>, at: Option<usize>) {
        let frames = at.map_or(&[][..], |place| &self.places[place]);
        for (i, &frame) in frames.iter().enumerate() {
            stack.push(Called { frame: self.frames[frame].clone(), inlined: i + 1 < frames.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse_std;

    fn place(text: &str) -> Frame {
        Frame::Place(text.into())
    }

    fn functions(stacks: &Stacks, event: usize) -> Vec<String> {
        let name = |called: &Called| {
            let text = called.frame.to_string();
            text.split(' ').next().unwrap_or("").to_string() + if called.inlined { "*" } else { "" }
        };
        stacks[&EventId::at(event)].frames.iter().map(name).collect()
    }

    #[test]
    fn stacks_are_those_of_the_moment() {
        let trace = parse_std("t|w(x)|f a.c:1\nt|w(x)|f a.c:1\nt|w(x)|f a.c:1\nt|w(x)|f a.c:1\n").unwrap();
        let mut writer = Writer::default();
        let inner = writer.place(&[place("f a.c:1"), place("g a.c:2")]);
        let main = writer.place(&[place("main a.c:3")]);
        let start = writer.place(&[Frame::Signal]);
        let alone = writer.place(&[Frame::Free, place("f a.c:1")]);
        let below = writer.stack(None, start);
        let stack = writer.stack(Some(below), main);
        writer.location(0, 0, inner);
        writer.thread(0, 0, Some(stack));
        writer.location(2, 0, alone);
        writer.records.put(&[FORGET]);
        writer.stacks.clear();
        let stack = writer.stack(None, main);
        writer.thread(3, 0, Some(stack));
        writer.thread(8, 0, None);
        let bytes = writer.take(true).unwrap();
        let wanted: BTreeSet<EventId> = (0..4).map(EventId::at).collect();
        let stacks = parse(&bytes, &trace, &wanted).unwrap();
        assert_eq!(functions(&stacks, 0), ["f*", "g", "main", "[signal]"]);
        assert_eq!(functions(&stacks, 1), ["f*", "g", "main", "[signal]"]);
        assert_eq!(functions(&stacks, 2), ["f", "main", "[signal]"]);
        assert_eq!(functions(&stacks, 3), ["f", "main"]);
        assert_eq!((0..4).map(|e| stacks[&EventId::at(e)].frees).collect::<Vec<_>>(), [false, false, true, true]);
        // Damage is no stack, never a wrong one and never the end of the program.
        for length in 0..bytes.len() {
            let _ = parse(&bytes[..length], &trace, &wanted);
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let _ = parse(&bytes, &trace, &wanted);
            }
        }
    }

    #[test]
    fn older_traces_have_texts_for_special_frames() {
        for frame in [Frame::Free, Frame::NotRecorded, Frame::Signal, place("f a.c:1")] {
            assert_eq!(Frame::parse(frame.to_string().as_bytes()), frame);
        }
    }
}
