//! Reads which events of a trace are one step of a thread: [`mayhap_record::steps`] writes it and describes the format.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mayhap_trace::format::native;
use mayhap_trace::{EventId, Trace};
use mayhap_wire::schedule::class;
use mayhap_wire::{attachment, varint};

use mayhap_record::Error;
use mayhap_record::steps::{BLOCK, INPUT, LANE, LIKE, MODULE, SITE, SKIP, STEP};

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
    /// The how manyth child, from 1; 0 for the first thread.
    pub nth: u32,
}

/// A heap block, by who allocated it where.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Block {
    /// The allocating lane.
    pub lane: u32,
    /// Where.
    pub site: u32,
    /// The how manyth allocation of the lane there, from 1.
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
    /// Its events.
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
    /// Reads the steps of a recorded trace.
    pub fn load(path: &Path, trace: &Trace) -> Result<Steps, Error> {
        let file = File::open(path).map_err(|error| Error::at(path, error))?;
        let none = "the trace does not say how to replay it: record the program with `mayhap record -o TRACE.mhp`";
        let bytes = native::attachments(BufReader::with_capacity(1 << 17, file), attachment::STEPS)
            .map_err(|_| Error::at(path, none))?
            .ok_or_else(|| Error::at(path, none))?;
        Steps::parse(&bytes, trace.len() as u64)
            .ok_or_else(|| Error::at(path, "the steps for a replay are damaged or of another version"))
    }

    /// Reads the items; `None` where they make no sense for a trace of so many events.
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
