//! The call stacks of a run, written beside its events as an optional block of the native format
//! ([`mayhap_wire::attachment::STACKS`]); [`crate::stacks`] reads it. A stream of items, each a number and its fields, all
//! varints:
//!
//! | item | fields |
//! |---|---|
//! | [`FRAME`] | length, text: function, file and line, as locations read. Defines the next frame, from 0 |
//! | [`PLACE`] | how many frames, each frame, innermost first; all but the last are inlined. Defines the next place, from 0 |
//! | [`STACK`] | the stack below plus 1 (0: none), the place of the innermost call. Defines the next stack, from 0 |
//! | [`THREAD`] | events since the last such item, thread, stack plus 1 (0: empty). The thread's stack from that event on |
//! | [`LOCATION`] | events since the last such item, location, place. The place that the location stands for from that event on |
//! | [`FORGET`] | none. Stacks are numbered from 0 again, and no thread has one |
//!
//! `THREAD` and `LOCATION` count from each other, in the order of the trace. Threads and locations are those of the trace's tables.
//! An event happens at its location's place, and was called as its thread's stack says. The innermost frame of one that frees memory is
//! [`FREES`].
//!
//! Memory: the program's call sites, and [`MOST`] stacks.

use std::collections::{HashMap, HashSet};

use mayhap_trace::attachments::FREES;
use mayhap_wire::ring::MAX_FRAMES;

use crate::lower::items::Items;
use mayhap_symbols::Symbols;

/// Numbers of the items.
pub const FRAME: u64 = 1;
/// See the table.
pub const PLACE: u64 = 2;
/// See the table.
pub const STACK: u64 = 3;
/// See the table.
pub const THREAD: u64 = 4;
/// See the table.
pub const LOCATION: u64 = 5;
/// See the table.
pub const FORGET: u64 = 6;

/// Stacks that are remembered at a time.
const MOST: usize = 1 << 18;
/// No stack, or none that was written.
const NONE: u32 = u32::MAX;
/// What stands for a call that is not known.
const UNKNOWN: u64 = 0;

/// The functions that a thread is in.
#[derive(Clone, Default)]
struct Calls {
    /// Where they were called from, outermost first, and how many more there are.
    pcs: Vec<u64>,
    beyond: u64,
    /// The stacks that the first of them make.
    stacks: Vec<u32>,
    /// What was written is not what is.
    changed: bool,
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
    bytes: Items,
    threads: Vec<Calls>,
    frames: HashMap<String, u64>,
    places: HashMap<u64, u64>,
    /// By their frames: what the compiler made of one line is one place.
    distinct: HashMap<Vec<u64>, u64>,
    beyond: HashMap<u64, u64>,
    /// By the stack below and the place on top.
    stacks: HashMap<(u32, u64), u32>,
    /// What each location of the trace stands for now, and what each site does: a place plus 1.
    locations: Vec<u64>,
    sites: Vec<u64>,
    /// Sites that free memory: what they write is gone.
    freeing: HashSet<u32>,
    /// The event that the last item was about.
    at: u64,
}

impl Stacks {
    fn put(&mut self, numbers: &[u64]) {
        self.bytes.put(numbers);
    }

    /// What has been written, once it is enough or `all` is wanted.
    pub(crate) fn take(&mut self, all: bool) -> Option<Vec<u8>> {
        self.bytes.take(all)
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
        calls.stacks.truncate(kept);
        calls.beyond = depth - kept as u64;
        calls.changed = true;
    }

    /// Below `depth` calls the thread calls from where `pc` returns to.
    pub(crate) fn called(&mut self, thread: u16, depth: u64, pc: u64) {
        self.returned(thread, depth);
        self.calls(thread).pcs.push(pc);
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
        self.freeing.insert(site);
    }

    /// An event happens now.
    #[inline]
    pub(crate) fn note(&mut self, symbols: &Symbols, now: &Now) {
        if let Some(calls) = self.threads.get(usize::from(now.thread))
            && calls.changed
        {
            self.tell(symbols, now);
        }
        let place = self.sites.get(now.site as usize).copied().unwrap_or(0);
        if place == 0 || self.locations.get(now.location as usize) != Some(&place) {
            self.locate(symbols, now);
        }
    }

    #[cold]
    fn locate(&mut self, symbols: &Symbols, now: &Now) {
        let place =
            if self.freeing.contains(&now.site) { self.free_at(symbols, now.pc) } else { self.place(symbols, now.pc) };
        for (places, index) in [(&mut self.sites, now.site), (&mut self.locations, now.location)] {
            if places.len() <= index as usize {
                places.resize(index as usize + 1, 0);
            }
            places[index as usize] = place + 1;
        }
        let since = now.event - std::mem::replace(&mut self.at, now.event);
        self.put(&[LOCATION, since, now.location.into(), place]);
    }

    #[cold]
    fn tell(&mut self, symbols: &Symbols, now: &Now) {
        let thread = usize::from(now.thread);
        if self.stacks.len() >= MOST {
            self.stacks.clear();
            self.put(&[FORGET]);
            for calls in &mut self.threads {
                calls.stacks.clear();
                calls.changed = true;
            }
        }
        let mut calls = std::mem::take(&mut self.threads[thread]);
        while let Some(&pc) = calls.pcs.get(calls.stacks.len()) {
            let below = calls.stacks.last().copied().unwrap_or(NONE);
            let place = self.place(symbols, pc);
            calls.stacks.push(self.stack(below, place));
        }
        let mut top = calls.stacks.last().copied().unwrap_or(NONE);
        if calls.beyond > 0 {
            let place = self.left_out(calls.beyond);
            top = self.stack(top, place);
        }
        calls.changed = false;
        self.threads[thread] = calls;
        let since = now.event - std::mem::replace(&mut self.at, now.event);
        self.put(&[THREAD, since, now.id.into(), u64::from(top.wrapping_add(1))]);
    }

    fn stack(&mut self, below: u32, place: u64) -> u32 {
        if let Some(&stack) = self.stacks.get(&(below, place)) {
            return stack;
        }
        let stack = self.stacks.len() as u32;
        self.stacks.insert((below, place), stack);
        self.put(&[STACK, u64::from(below.wrapping_add(1)), place]);
        stack
    }

    /// The place that `pc` returns to.
    fn place(&mut self, symbols: &Symbols, pc: u64) -> u64 {
        if let Some(&place) = self.places.get(&pc) {
            return place;
        }
        let frames: Vec<String> = match pc {
            UNKNOWN => vec!["[not recorded]".into()],
            _ if symbols.is_signal(pc) => vec!["[signal]".into()],
            _ if symbols.is_runtime(pc) => Vec::new(),
            _ => symbols.frames(pc).iter().map(ToString::to_string).collect(),
        };
        let place = self.new_place(&frames);
        self.places.insert(pc, place);
        place
    }

    /// The place that `pc` returns to, as one where memory is freed.
    fn free_at(&mut self, symbols: &Symbols, pc: u64) -> u64 {
        let mut frames = vec![FREES.to_string()];
        frames.extend(symbols.frames(pc).iter().map(ToString::to_string));
        self.new_place(&frames)
    }

    /// What stands for calls that are not kept: so many, rounded down, that there are few such places.
    fn left_out(&mut self, calls: u64) -> u64 {
        let calls = 1 << calls.ilog2();
        if let Some(&place) = self.beyond.get(&calls) {
            return place;
        }
        let place = self.new_place(&[format!("[at least {calls} more calls]")]);
        self.beyond.insert(calls, place);
        place
    }

    fn new_place(&mut self, frames: &[String]) -> u64 {
        let mut numbers = Vec::new();
        for text in frames {
            let count = self.frames.len() as u64;
            let frame = *self.frames.entry(text.clone()).or_insert(count);
            if frame == count {
                self.put(&[FRAME, text.len() as u64]);
                self.bytes.extend_from_slice(text.as_bytes());
            }
            numbers.push(frame);
        }
        let count = self.distinct.len() as u64;
        if let Some(&place) = self.distinct.get(&numbers) {
            return place;
        }
        self.put(&[PLACE, numbers.len() as u64]);
        self.put(&numbers);
        self.distinct.insert(numbers, count);
        count
    }
}
