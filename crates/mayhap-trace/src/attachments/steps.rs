//! What a replay needs of a recording ([`mayhap_wire::attachment::STEPS`]): which events are one step of a thread, where in the code and on
//! what memory. A stream of records, each a number and its fields, all varints:
//!
//! | record | fields |
//! |---|---|
//! | [`MODULE`] | length of the path, the path. Defines the next module, from 0 |
//! | [`SITE`] | module plus 1 (0: outside all), offset. Defines the next site |
//! | [`LANE`] | the creating lane plus 1 (0: none), and that it is its n-th child. Defines the next lane, a thread |
//! | [`BLOCK`] | lane, site, and that it is the n-th allocation of the lane at this site. Defines the next heap block |
//! | [`STEP`] | events, lane, kind, site plus 1, class, index and offset of the object, outcome, size. See [`mayhap_wire::schedule::Step`] |
//! | [`SKIP`] | events that belong to no step |
//! | [`INPUT`] | lane, source, whether more of it follows, result, length, bytes: what the thread got from outside |
//! | [`LIKE`] + 2 × site + n | how far the offset is from that of the last step at the site, its sign in the lowest bit. A step that is like that one but for the offset; n events before it belong to no step |
//!
//! Steps and skips stand in the order of the trace; together they cover its events.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mayhap_wire::schedule::class;
use mayhap_wire::{attachment, varint};

use super::records::Records;
use crate::format::native;
use crate::{EventId, Trace};

const MODULE: u64 = 1;
const SITE: u64 = 2;
const LANE: u64 = 3;
const BLOCK: u64 = 4;
const STEP: u64 = 5;
const SKIP: u64 = 6;
const INPUT: u64 = 7;
const LIKE: u64 = 16;

/// Writes steps. What it defines is numbered from 0.
#[derive(Debug, Default)]
pub struct Writer {
    records: Records,
    modules: u64,
    lanes: u64,
    blocks: u64,
    /// The last step at each site, and its offset.
    last: Vec<(Form, u64)>,
    /// Events since the last step.
    skipped: u64,
}

/// What of a step is often as it was in the last step at its site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// How many events it became.
    pub events: u64,
    /// The thread.
    pub lane: u64,
    /// See [`mayhap_wire::schedule::Step::kind`].
    pub kind: u8,
    /// The class of the object.
    pub class: u8,
    /// The number of the object in its class.
    pub index: u64,
    /// What came of the step.
    pub outcome: u8,
    /// Bytes accessed.
    pub size: u8,
}

impl Writer {
    /// Defines a loaded file.
    pub fn module(&mut self, path: &Path) -> u64 {
        let path = path.as_os_str().as_encoded_bytes();
        self.records.put(&[MODULE, path.len() as u64]);
        self.records.extend_from_slice(path);
        self.modules += 1;
        self.modules - 1
    }

    /// Defines a place in the code: the module that it lies in and the offset there, or an address outside all.
    pub fn site(&mut self, module: Option<u64>, offset: u64) -> u64 {
        self.records.put(&[SITE, module.map_or(0, |module| module + 1), offset]);
        self.last.push(Default::default());
        self.last.len() as u64 - 1
    }

    /// Defines a thread: the one that created it, and that it is its n-th child.
    pub fn lane(&mut self, parent: Option<u64>, nth: u64) -> u64 {
        self.records.put(&[LANE, parent.map_or(0, |parent| parent + 1), nth]);
        self.lanes += 1;
        self.lanes - 1
    }

    /// Defines a heap block: the n-th that the thread allocated at the site.
    pub fn block(&mut self, lane: u64, site: u64, nth: u32) -> u64 {
        self.records.put(&[BLOCK, lane, site, nth.into()]);
        self.blocks += 1;
        self.blocks - 1
    }

    /// The next events belong to no step.
    pub fn skip(&mut self, events: u64) {
        self.skipped += events;
    }

    /// The next step: its form, the site, and the offset in its object.
    pub fn step(&mut self, form: Form, site: Option<u64>, offset: u64) {
        let skipped = std::mem::take(&mut self.skipped);
        if let Some(at) = site
            && let Some(last) = self.last.get_mut(at as usize)
        {
            let (before, from) = std::mem::replace(last, (form, offset));
            if before == form && skipped <= 1 {
                let distance = offset.wrapping_sub(from);
                let distance = distance << 1 ^ ((distance as i64) >> 63) as u64;
                return self.records.put(&[LIKE + 2 * at + skipped, distance]);
            }
        }
        if skipped > 0 {
            self.records.put(&[SKIP, skipped]);
        }
        let Form { events, lane, kind, class, index, outcome, size } = form;
        let site = site.map_or(0, |site| site + 1);
        let record = [STEP, events, lane, kind.into(), site, class.into(), index, offset, outcome.into(), size.into()];
        self.records.put(&record);
    }

    /// Something that a thread got from outside: where from, whether more of it follows, what the call returned, and what came with it.
    pub fn input(&mut self, lane: u64, source: u64, more: bool, result: u64, bytes: &[u8]) {
        self.records.put(&[INPUT, lane, source, more.into(), result, bytes.len() as u64]);
        self.records.extend_from_slice(bytes);
    }

    /// What has been written, once it is enough or `all` is wanted.
    pub fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        if all && self.skipped > 0 {
            let skipped = std::mem::take(&mut self.skipped);
            self.records.put(&[SKIP, skipped]);
        }
        self.records.take(all)
    }
}

/// A place in the code: a module, if it lies in one, and the offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Index into [`Steps::modules`].
    pub module: Option<u32>,
    /// The offset, or the address outside all modules.
    pub offset: u64,
}

/// A thread, by who created it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The creating lane.
    pub parent: Option<u32>,
    /// Which child of its parent it is, from 1; 0 for the first thread.
    pub nth: u32,
}

/// A heap block, by who allocated it where.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Block {
    /// The allocating lane.
    pub lane: u32,
    /// Where.
    pub site: u32,
    /// Which allocation of the lane there it is, from 1.
    pub nth: u32,
}

/// What a step is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// One of [`mayhap_wire::schedule::class`].
    pub class: u8,
    /// Module, block or lane.
    pub index: u32,
    /// The offset in it.
    pub offset: u64,
}

/// One thing that a thread did in one go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its first event; where it has none, the next event of the trace.
    pub start: u32,
    /// How many events it became.
    pub events: u32,
    /// The thread.
    pub lane: u32,
    /// See [`mayhap_wire::schedule::Step::kind`].
    pub kind: u8,
    /// Where in the code, if that is known.
    pub site: Option<u32>,
    /// On what.
    pub object: Object,
    /// What came of it.
    pub outcome: u8,
    /// Bytes accessed, 0 if unknown.
    pub size: u8,
}

impl Step {
    /// Returns its events.
    pub fn events(&self) -> impl Iterator<Item = EventId> + use<> {
        (self.start..self.start + self.events).map(|e| EventId::at(e as usize))
    }
}

/// All steps of a recorded run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Files that were loaded.
    pub modules: Vec<PathBuf>,
    /// Places in the code.
    pub sites: Vec<Site>,
    /// Threads.
    pub lanes: Vec<Lane>,
    /// Heap blocks.
    pub blocks: Vec<Block>,
    /// Steps in the order of the trace.
    pub steps: Vec<Step>,
    /// What threads got from outside, each lane's in order.
    pub inputs: Vec<Input>,
}

/// The steps of a trace make no sense for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

/// Something that a thread got from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// The thread.
    pub lane: u32,
    /// One of [`mayhap_wire::ring::source`].
    pub source: u8,
    /// What the call returned.
    pub result: u64,
    /// What came with it.
    pub bytes: Vec<u8>,
    /// The next of the same lane continues it.
    more: bool,
}

impl Steps {
    /// Reads the steps from a native trace; `None` where it has none.
    pub fn read(file: impl Read, trace: &Trace) -> Option<Result<Steps, Damaged>> {
        let bytes = native::attachments(file, attachment::STEPS).ok().flatten()?;
        Some(Steps::parse(&bytes, trace.len() as u64).ok_or(Damaged))
    }

    /// Reads the records; `None` where they make no sense for a trace of so many events.
    pub fn parse(mut bytes: &[u8], events: u64) -> Option<Steps> {
        let mut all = Steps::default();
        let mut at = 0u64;
        // The last step of each site.
        let mut last: Vec<Option<Step>> = Vec::new();
        while !bytes.is_empty() {
            let item = varint::take(&mut bytes)?;
            let mut field = || varint::take(&mut bytes);
            let small = |value: u64| u32::try_from(value).ok();
            match item {
                MODULE => {
                    let length = usize::try_from(field()?).ok()?;
                    let (path, rest) = bytes.split_at_checked(length)?;
                    bytes = rest;
                    all.modules.push(PathBuf::from(OsStr::from_bytes(path)));
                }
                SITE => {
                    let module = small(field()?)?.checked_sub(1);
                    let offset = field()?;
                    all.sites.push(Site { module, offset });
                }
                LANE => {
                    let parent = small(field()?)?.checked_sub(1);
                    all.lanes.push(Lane { parent, nth: small(field()?)? });
                }
                BLOCK => {
                    let block = Block { lane: small(field()?)?, site: small(field()?)?, nth: small(field()?)? };
                    all.blocks.push(block);
                }
                STEP => {
                    let mut field = || field().and_then(small);
                    let (count, lane, kind) = (field()?, field()?, field()? as u8);
                    let site = field()?.checked_sub(1);
                    let (class, index) = (field()? as u8, field()?);
                    let offset = varint::take(&mut bytes)?;
                    let (outcome, size) = (varint::take(&mut bytes)? as u8, varint::take(&mut bytes)? as u8);
                    let object = Object { class, index, offset };
                    let step = Step { start: small(at)?, events: count, lane, kind, site, object, outcome, size };
                    if let Some(site) = site {
                        // A site comes before the steps that name it.
                        last.resize(all.sites.len(), None);
                        *last.get_mut(site as usize)? = Some(step);
                    }
                    all.steps.push(step);
                    at += u64::from(count);
                }
                LIKE.. => {
                    let last = last.get_mut(usize::try_from((item - LIKE) / 2).ok()?)?.as_mut()?;
                    let distance = field()?;
                    at += (item - LIKE) % 2;
                    last.start = small(at)?;
                    last.object.offset =
                        last.object.offset.wrapping_add((distance >> 1) ^ (distance & 1).wrapping_neg());
                    all.steps.push(*last);
                    at += u64::from(last.events);
                }
                SKIP => at += field()?,
                INPUT => {
                    let (lane, source, more) = (small(field()?)?, field()? as u8, field()? != 0);
                    let (result, length) = (field()?, usize::try_from(field()?).ok()?);
                    let (data, rest) = bytes.split_at_checked(length)?;
                    let data = data.to_vec();
                    bytes = rest;
                    match all.inputs.iter_mut().rfind(|input| input.lane == lane).filter(|input| input.more) {
                        Some(input) => {
                            input.bytes.extend(data);
                            input.more = more;
                        }
                        None => all.inputs.push(Input { lane, source, result, bytes: data, more }),
                    }
                }
                _ => return None,
            }
        }
        (at <= events && all.is_whole()).then_some(all)
    }

    /// Everything that is named is there.
    fn is_whole(&self) -> bool {
        let (modules, sites, lanes) = (self.modules.len(), self.sites.len(), self.lanes.len());
        self.sites.iter().all(|site| site.module.is_none_or(|m| (m as usize) < modules))
            && self.lanes.iter().all(|lane| lane.parent.is_none_or(|p| (p as usize) < lanes))
            && self.blocks.iter().all(|block| (block.lane as usize) < lanes && (block.site as usize) < sites)
            && self.inputs.iter().all(|input| (input.lane as usize) < lanes)
            && self.steps.iter().all(|step| {
                let objects = match step.object.class {
                    class::GLOBAL => modules,
                    class::HEAP => self.blocks.len(),
                    class::STACK | class::LANE => lanes,
                    _ => usize::MAX,
                };
                (step.lane as usize) < lanes
                    && step.site.is_none_or(|site| (site as usize) < sites)
                    && (step.object.index as usize) < objects
            })
    }

    /// The step that an event belongs to.
    pub fn of(&self, event: EventId) -> Option<usize> {
        let event = event.index() as u32;
        // Of several steps that start there, all but the last have no events.
        let at = self.steps.partition_point(|step| step.start <= event).checked_sub(1)?;
        let step = &self.steps[at];
        (event < step.start + step.events).then_some(at)
    }

    /// The name of a lane, as traces name threads.
    pub fn lane_name(&self, lane: u32) -> String {
        match self.lanes.get(lane as usize) {
            Some(Lane { parent: Some(parent), nth }) if *parent < lane => format!("{}.{nth}", self.lane_name(*parent)),
            Some(Lane { nth: 0, .. }) => "main".into(),
            Some(Lane { nth, .. }) => format!("thread{nth}"),
            None => "?".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &number in numbers {
            let mut buffer = [0; varint::LONGEST];
            let length = varint::put(number, &mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..length]);
        }
        bytes
    }

    /// Two threads; a step of two events, one without events, two events of no step, a step of one event.
    const ITEMS: [u64; 46] = [
        MODULE, 0, SITE, 1, 0x40, LANE, 0, 0, LANE, 1, 1, BLOCK, 1, 0, 3, // what steps name
        STEP, 2, 0, 10, 1, 2, 0, 8, 0, 4, // on the block, plus 8
        STEP, 0, 1, 11, 0, 0, 0, 0, 16, 0, // an attempt that failed
        SKIP, 2, //
        STEP, 1, 1, 12, 1, 0, 0, 0, 0,
    ];

    #[test]
    fn events_find_their_steps() {
        let steps = Steps::parse(&bytes(&[&ITEMS[..], &[0]].concat()), 5).unwrap();
        let of = |event: usize| steps.of(EventId::at(event));
        assert_eq!((0..5).map(of).collect::<Vec<_>>(), [Some(0), Some(0), None, None, Some(2)]);
        assert_eq!(steps.steps[1].outcome, 16);
        assert_eq!(steps.steps[0].object, Object { class: class::HEAP, index: 0, offset: 8 });
        assert_eq!((steps.lane_name(0), steps.lane_name(1)), ("main".into(), "main.1".into()));
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let good = bytes(&[&ITEMS[..], &[0]].concat());
        assert!(Steps::parse(&good, 4).is_none(), "more events than the trace has");
        assert!((1..good.len()).filter(|&n| Steps::parse(&good[..n], 5).is_some()).all(|n| {
            // Only whole items are accepted.
            let steps = Steps::parse(&good[..n], 5).unwrap();
            steps.steps.len() < 3
        }));
        let no_such_lane = [LANE, 0, 0, STEP, 1, 1, 12, 0, 0, 0, 0, 0, 0];
        assert!(Steps::parse(&bytes(&no_such_lane), 5).is_none());
        let no_such_block = [LANE, 0, 0, STEP, 1, 0, 12, 0, 2, 0, 0, 0, 0];
        assert!(Steps::parse(&bytes(&no_such_block), 5).is_none());
        assert!(Steps::parse(&bytes(&[99]), 5).is_none());
    }

    #[test]
    fn an_input_in_pieces_is_one() {
        let mut items = bytes(&[LANE, 0, 0, INPUT, 0, 2, 1, 5, 2]);
        items.extend_from_slice(b"ab");
        items.extend_from_slice(&bytes(&[INPUT, 0, 2, 0, 5, 3]));
        items.extend_from_slice(b"cde");
        let steps = Steps::parse(&items, 0).unwrap();
        assert_eq!(steps.inputs.len(), 1);
        assert_eq!((steps.inputs[0].bytes.as_slice(), steps.inputs[0].result), (&b"abcde"[..], 5));
    }
}
