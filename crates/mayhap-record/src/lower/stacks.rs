//! The call stacks of a run: what is written with the events ([`mayhap_trace::attachments::stacks`]).

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use mayhap_symbols::Symbols;
use mayhap_trace::attachments::stacks::{Frame, Writer};
use mayhap_wire::call_frame;
use mayhap_wire::ring::MAX_FRAMES;

/// What stands for a call that is not known.
const UNKNOWN: u64 = 0;

/// The functions that a thread is in.
#[derive(Clone, Default)]
struct Calls {
    /// Where they were called from, outermost first, and how many more there are.
    pcs: Vec<u64>,
    beyond: u64,
    /// How far below the end of the thread's stack each of them begins; 0 if it is not known.
    distances: Vec<u64>,
    /// The sites of the calls.
    numbers: Vec<u32>,
    /// The stacks that the first of them make.
    stacks: Vec<u32>,
    /// What was written is not what is.
    changed: bool,
    /// Where the latest event of the innermost of them was; 0 if it had none.
    latest: u64,
}

/// An event that is written.
pub(crate) struct Now {
    /// Its number.
    pub(crate) event: u64,
    /// The thread in the recording, and in the trace's table.
    pub(crate) thread: u16,
    pub(crate) id: u32,
    /// Where it happens in the trace's table, at which site, and where that one returns to.
    pub(crate) location: u32,
    pub(crate) site: u32,
    pub(crate) pc: u64,
}

/// Writes stacks.
#[derive(Default)]
pub(crate) struct Stacks {
    writer: Writer,
    threads: Vec<Calls>,
    /// Where program counters lie.
    places: HashMap<u64, u64, FixedState>,
    /// What each location of the trace stands for now, and what each site does: a place plus 1.
    locations: Vec<u64>,
    sites: Vec<u64>,
    /// Sites that free memory: what they write is gone.
    freeing: HashSet<u32, FixedState>,
}

impl Stacks {
    /// What has been written, once it is enough or `all` is wanted.
    pub(crate) fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        self.writer.take(all)
    }

    fn calls(&mut self, thread: u16) -> &mut Calls {
        let index = usize::from(thread);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Calls::default());
        }
        &mut self.threads[index]
    }

    /// Of the thread's calls only the outermost `depth` are left.
    pub(crate) fn returned(&mut self, thread: u16, depth: u64) {
        let calls = self.calls(thread);
        let kept = depth.min(MAX_FRAMES as u64) as usize;
        // Where the beginning of a run was left out, calls are missing.
        calls.pcs.resize(kept, UNKNOWN);
        calls.distances.resize(kept, UNKNOWN);
        calls.numbers.resize(kept, 0);
        calls.stacks.truncate(kept);
        calls.beyond = depth - kept as u64;
        calls.changed = true;
        calls.latest = UNKNOWN;
    }

    /// The site of the call by which the thread came into the function at a depth; 0 if it is not known.
    pub(crate) fn call_site(&self, thread: u16, depth: usize) -> u32 {
        self.threads.get(usize::from(thread)).and_then(|calls| calls.numbers.get(depth)).copied().unwrap_or(0)
    }

    /// How many functions the thread is in; `None` if they are too many to be kept.
    pub(crate) fn depth(&self, thread: u16) -> Option<usize> {
        let calls = self.threads.get(usize::from(thread)).filter(|calls| calls.beyond == 0)?;
        Some(calls.pcs.len())
    }

    /// The thread calls at a site, from where `pc` returns to; `address` is what the ring says of the call.
    pub(crate) fn called(&mut self, thread: u16, address: u64, site: u32, pc: u64) {
        self.returned(thread, call_frame::depth(address));
        let calls = self.calls(thread);
        calls.pcs.push(pc);
        calls.distances.push(call_frame::distance(address));
        calls.numbers.push(site);
    }

    /// Of the functions that the thread is in, the one whose frame reaches `distance` below the end of its stack: its depth, how far below it the
    /// function's stack pointer was, and a program counter in the function. `now` is that of the innermost one if it is known.
    pub(crate) fn frame_at(&self, thread: u16, distance: u64, now: Option<u64>) -> Option<(usize, u64, u64)> {
        let calls = self.threads.get(usize::from(thread)).filter(|calls| calls.beyond == 0)?;
        let at = calls.distances.iter().position(|&begins| begins > distance)?;
        let pc = calls.pcs.get(at + 1).copied().unwrap_or(now.unwrap_or(calls.latest));
        (pc != UNKNOWN).then_some((at, calls.distances[at], pc))
    }

    /// The program counters of the thread's calls, innermost first.
    pub(crate) fn callers(&self, thread: u16) -> impl Iterator<Item = u64> + '_ {
        self.threads.get(usize::from(thread)).into_iter().flat_map(|calls| calls.pcs.iter().rev().copied())
    }

    /// The site with this number is another one from now on.
    pub(crate) fn redefine(&mut self, site: u32) {
        if let Some(place) = self.sites.get_mut(site as usize) {
            *place = 0;
        }
        self.freeing.remove(&site);
    }

    /// What happens at the site frees memory.
    pub(crate) fn frees(&mut self, site: u32) {
        if self.freeing.insert(site)
            && let Some(place) = self.sites.get_mut(site as usize)
        {
            *place = 0;
        }
    }

    /// An event happens now.
    #[inline]
    pub(crate) fn note(&mut self, symbols: &Symbols, now: &Now) {
        if let Some(calls) = self.threads.get_mut(usize::from(now.thread)) {
            calls.latest = now.pc;
            if calls.changed {
                self.enter(symbols, now);
            }
        }
        let place = self.sites.get(now.site as usize).copied().unwrap_or(0);
        if place == 0 || self.locations.get(now.location as usize) != Some(&place) {
            self.locate(symbols, now);
        }
    }

    #[cold]
    fn locate(&mut self, symbols: &Symbols, now: &Now) {
        let place = match self.sites.get(now.site as usize) {
            // Several sites of a line take turns.
            Some(&known) if known != 0 => known - 1,
            _ if self.freeing.contains(&now.site) => self.free_at(symbols, now.pc),
            _ => self.place(symbols, now.pc),
        };
        for (places, index) in [(&mut self.sites, now.site), (&mut self.locations, now.location)] {
            if places.len() <= index as usize {
                places.resize(index as usize + 1, 0);
            }
            places[index as usize] = place + 1;
        }
        self.writer.location(now.event, now.location, place);
    }

    #[cold]
    fn enter(&mut self, symbols: &Symbols, now: &Now) {
        let thread = usize::from(now.thread);
        if self.writer.forget_many() {
            for calls in &mut self.threads {
                calls.stacks.clear();
                calls.changed = true;
            }
        }
        let mut calls = std::mem::take(&mut self.threads[thread]);
        while let Some(&pc) = calls.pcs.get(calls.stacks.len()) {
            let below = calls.stacks.last().copied();
            let place = self.place(symbols, pc);
            calls.stacks.push(self.writer.stack(below, place));
        }
        let mut top = calls.stacks.last().copied();
        if calls.beyond > 0 {
            // Rounded down, so that there are few such places.
            let place = self.writer.place(&[Frame::More(1 << calls.beyond.ilog2())]);
            top = Some(self.writer.stack(top, place));
        }
        calls.changed = false;
        self.threads[thread] = calls;
        self.writer.thread(now.event, now.id, top);
    }

    /// The place that `pc` returns to.
    fn place(&mut self, symbols: &Symbols, pc: u64) -> u64 {
        if let Some(&place) = self.places.get(&pc) {
            return place;
        }
        let frames = match pc {
            UNKNOWN => vec![Frame::NotRecorded],
            _ if symbols.is_signal(pc) => vec![Frame::Signal],
            _ if symbols.is_runtime(pc) => Vec::new(),
            _ => frames(symbols, pc).collect(),
        };
        let place = self.writer.place(&frames);
        self.places.insert(pc, place);
        place
    }

    /// The place that `pc` returns to, as one where memory is freed.
    fn free_at(&mut self, symbols: &Symbols, pc: u64) -> u64 {
        let frames: Vec<Frame> = std::iter::once(Frame::Free).chain(frames(symbols, pc)).collect();
        self.writer.place(&frames)
    }
}

/// The functions at the place that `pc` returns to.
fn frames(symbols: &Symbols, pc: u64) -> impl Iterator<Item = Frame> {
    symbols.frames(pc).into_iter().map(|place| {
        let column = place.column.map_or(String::new(), |column| format!(":{column}"));
        Frame::Place(format!("{place}{column}"))
    })
}
