//! Reads the call stacks of a recorded trace: [`mayhap_record::stacks`] writes them and describes the format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use mayhap_report::{Source, Stacks, place};
use mayhap_trace::format::native;
use mayhap_trace::{Event, EventId, Relations, Trace};
use mayhap_wire::{attachment, varint};
use mayhap_witness::Target;

use mayhap_analyse::windows::Window;
use mayhap_record::stacks::{FORGET, FRAME, LOCATION, PLACE, STACK, THREAD};

/// The stacks of the targets' events and of the starts of their threads. None where the trace has none: it was recorded by
/// something else, or what it has of them is damaged.
pub fn of<'t>(path: &Path, trace: &Trace, relations: &Relations, targets: impl Iterator<Item = &'t Target>) -> Stacks {
    at(path, trace, &wanted(trace, relations, targets))
}

/// The events of targets, and the starts of their threads.
fn wanted<'t>(trace: &Trace, relations: &Relations, targets: impl Iterator<Item = &'t Target>) -> BTreeSet<EventId> {
    let mut wanted = BTreeSet::new();
    for event in targets.flat_map(Target::events) {
        wanted.insert(event);
        wanted.extend(relations.fork_of(trace.event(event).thread));
    }
    wanted
}

/// The stacks of some events.
pub fn at(path: &Path, trace: &Trace, wanted: &BTreeSet<EventId>) -> Stacks {
    match wanted.is_empty() {
        true => Stacks::new(),
        false => attached(path).and_then(|bytes| parse(&bytes, trace, wanted)).unwrap_or_default(),
    }
}

/// What a trace has of stacks.
pub fn attached(path: &Path) -> Option<Vec<u8>> {
    let file = BufReader::with_capacity(1 << 17, File::open(path).ok()?);
    native::attachments(file, attachment::STACKS).ok().flatten()
}

/// The same as [`of`] for a part of the trace that the stacks are of.
pub fn of_window<'t>(
    bytes: &[u8],
    window: &Window,
    relations: &Relations,
    targets: impl Iterator<Item = &'t Target>,
) -> Stacks {
    let wanted = wanted(&window.trace, relations, targets);
    let numbers = wanted.iter().map(|&event| (EventId::from_number(window.whole(event.number())), event));
    let by_number: BTreeMap<EventId, EventId> = numbers.filter_map(|(whole, event)| Some((whole?, event))).collect();
    let found = parse_where(bytes, by_number.keys().copied(), &|whole| window.trace.event(by_number[&whole]));
    found.unwrap_or_default().into_iter().map(|(whole, stack)| (by_number[&whole], stack)).collect()
}

/// What is known at a moment of the trace.
#[derive(Default)]
struct Reader<'b> {
    frames: Vec<&'b [u8]>,
    places: Vec<Vec<usize>>,
    /// The stack below, and the place on top.
    stacks: Vec<(Option<usize>, usize)>,
    threads: BTreeMap<u64, usize>,
    locations: BTreeMap<u64, usize>,
}

/// Reads the items as far as they are about events that are wanted; `None` where they make no sense.
pub fn parse(bytes: &[u8], trace: &Trace, wanted: &BTreeSet<EventId>) -> Option<Stacks> {
    let wanted = wanted.iter().copied().filter(|event| event.index() < trace.len());
    parse_where(bytes, wanted, &|event| trace.event(event))
}

/// The same for events that somebody else knows.
fn parse_where(
    mut bytes: &[u8],
    wanted: impl Iterator<Item = EventId>,
    event_of: &dyn Fn(EventId) -> Event,
) -> Option<Stacks> {
    let mut reader = Reader::default();
    let mut found = Stacks::new();
    let mut left = wanted.peekable();
    let mut at = 0u64;
    while !bytes.is_empty() && left.peek().is_some() {
        let item = varint::take(&mut bytes)?;
        let mut field = || varint::take(&mut bytes);
        match item {
            FRAME => {
                let length = usize::try_from(field()?).ok()?;
                let (text, rest) = bytes.split_at_checked(length)?;
                reader.frames.push(text);
                bytes = rest;
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
                match (item, value) {
                    (LOCATION, place) => _ = reader.locations.insert(key, known(place, reader.places.len())?),
                    (_, 0) => _ = reader.threads.remove(&key),
                    (_, stack) => _ = reader.threads.insert(key, known(stack - 1, reader.stacks.len())?),
                }
            }
            // It stands before the item that says since when: until then nothing is wanted that needs what is forgotten.
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

/// How many events lie between the last item about events and the next one.
fn skip_to_event(mut bytes: &[u8]) -> Option<u64> {
    loop {
        let item = varint::take(&mut bytes)?;
        let mut field = || varint::take(&mut bytes);
        match item {
            FRAME => {
                let length = usize::try_from(field()?).ok()?;
                bytes = bytes.split_at_checked(length)?.1;
            }
            PLACE => {
                for _ in 0..field()? {
                    field()?;
                }
            }
            STACK => _ = (field()?, field()?),
            THREAD | LOCATION => return field(),
            _ => return None,
        }
    }
}

fn known(index: u64, count: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < count)
}

impl Reader<'_> {
    /// The stack of an event, innermost first.
    fn stack(&self, event: Event) -> Vec<Source> {
        let location = event.location.and_then(|location| self.locations.get(&(location.index() as u64)));
        let mut stack = Vec::new();
        self.add(&mut stack, location.copied());
        let mut at = self.threads.get(&(event.thread.index() as u64)).copied();
        while let Some(top) = at {
            let (below, place) = self.stacks[top];
            self.add(&mut stack, Some(place));
            at = below;
        }
        // What starts programs and threads is nobody's code.
        while stack.len() > 1 && stack.pop_if(|frame| frame.line.is_none()).is_some() {}
        stack
    }

    fn add(&self, stack: &mut Vec<Source>, at: Option<usize>) {
        let frames = at.map_or(&[][..], |place| &self.places[place]);
        for (i, &frame) in frames.iter().enumerate() {
            let text = String::from_utf8_lossy(self.frames[frame]).into_owned();
            let source = place(&text).unwrap_or(Source { function: Some(text), ..Source::default() });
            stack.push(Source { inlined: i + 1 < frames.len(), ..source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_trace::format::parse_std;

    /// Items as they are written, each number a varint; texts stand for frames.
    fn bytes(items: &[&[u64]], texts: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let put = |bytes: &mut Vec<u8>, number: u64| {
            let mut buffer = [0; varint::LONGEST];
            let length = varint::put(number, &mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..length]);
        };
        for text in texts {
            put(&mut bytes, FRAME);
            put(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text.as_bytes());
        }
        items.iter().for_each(|item| item.iter().for_each(|&number| put(&mut bytes, number)));
        bytes
    }

    fn functions(stacks: &Stacks, event: usize) -> Vec<String> {
        let name = |s: &Source| s.function.clone().unwrap() + if s.inlined { "*" } else { "" };
        stacks[&EventId::at(event)].iter().map(name).collect()
    }

    #[test]
    fn stacks_are_those_of_the_moment() {
        let trace = parse_std("t|w(x)|f a.c:1\nt|w(x)|f a.c:1\nt|w(x)|f a.c:1\nt|w(x)|f a.c:1\n").unwrap();
        let items: [&[u64]; 13] = [
            &[PLACE, 2, 0, 1], // f, inlined into g
            &[PLACE, 1, 2],    // called from main
            &[PLACE, 1, 3],    // from the start
            &[PLACE, 1, 0],    // f alone
            &[STACK, 0, 2],
            &[STACK, 1, 1],
            &[LOCATION, 0, 0, 0],
            &[THREAD, 0, 0, 2],
            &[LOCATION, 2, 0, 3],
            &[FORGET],
            &[STACK, 0, 1],
            &[THREAD, 1, 0, 1],
            &[THREAD, 5, 0, 0],
        ];
        let bytes = bytes(&items, &["f a.c:1", "g a.c:2", "main a.c:3", "libc.so.6+0x10"]);
        let wanted: BTreeSet<EventId> = (0..4).map(EventId::at).collect();
        let stacks = parse(&bytes, &trace, &wanted).unwrap();
        assert_eq!(functions(&stacks, 0), ["f*", "g", "main"]);
        assert_eq!(functions(&stacks, 1), ["f*", "g", "main"]);
        assert_eq!(functions(&stacks, 2), ["f", "main"]);
        assert_eq!(functions(&stacks, 3), ["f", "main"]);
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
}
