//! Causal precedence (CP), by repeated passes of WCP.
//!
//! Smaragdakis, Evans, Sadowski, Yi, Flanagan, POPL'12, as definition 2 of the WCP paper states it: (a) a release before the
//! *acquire* of a later section of the same lock if the two sections hold conflicting accesses; (b) the same if they hold
//! ordered events; (c) HB before or after CP is CP.
//!
//! The rules find the same pairs of sections as those of WCP, but the edge goes to the acquire, which is already past when the
//! reason is found. So each pass notes which sections a section learnt of, and the next pass gives them to its acquire, until a
//! pass finds nothing new: the least fixpoint, from below. Fork, join, wait, notify and reader locks are as in WCP. A section that
//! is never released ends with its thread.
//!
//! Deviation: the paper closes its rules over all pairs of events (with Datalog, on windows of a few hundred events). Here the
//! clocks of a pass stand for all pairs.
//!
//! Invariants: sections are numbered by their acquires, in the same way in each pass, and keep their numbers when their clocks are
//! freed; HB clocks and times are the same in each pass. Cost: passes × the cost of WCP, with one pass for each link of the
//! longest chain of reasons that go back in time (few in practice, as many as sections at worst). Memory: as WCP, and a record
//! for each section, which is why traces beyond a stated size are cut into windows.
//!
//! What it proves: as WCP, the first race reported is one in some correct reordering, or there is one with a deadlock.

use std::rc::Rc;

use hashbrown::HashMap;
use mayhap_trace::{Bits, Error, NONE, Tables};

use super::Cp;
use super::sections::Sections;
use crate::census::Census;
use crate::clock::{Clock, Clocks};
use crate::rules::Rules;
use crate::stream::{Access, Feed, Pass, Sync};

/// For each section, the sections whose releases are before its acquire by rule (a) or (b).
#[derive(Clone, Default)]
pub(super) struct Edges {
    /// For a lock that is only taken exclusively, the latest section stands for all.
    latest: Vec<u32>,
    /// For a reader lock, all sections.
    mixed: HashMap<u32, Vec<u32>, foldhash::fast::FixedState>,
    found: u64,
    /// For each section, one beyond the last that needs it at its acquire, by the edges that the pass began with.
    needed: Vec<u32>,
}

impl Edges {
    /// Computes how long a pass needs each section.
    pub(super) fn begin_pass(&mut self) {
        self.needed.clear();
        self.needed.resize(self.latest.len(), 0);
        let latest = self.latest.iter().zip(0..).filter(|(other, _)| **other != NONE);
        let mixed = self.mixed.iter().flat_map(|(&section, others)| others.iter().map(move |other| (other, section)));
        for (&other, section) in latest.chain(mixed) {
            let needed = &mut self.needed[other as usize];
            *needed = (*needed).max(section + 1);
        }
    }

    /// Marks the sections that later acquires need, when this many sections were opened.
    pub(super) fn mark(&self, marked: &mut Bits, opened: u32) {
        let needed = self.needed.iter().enumerate().filter(|(_, needed)| **needed > opened);
        needed.for_each(|(section, _)| marked.insert(section));
    }

    /// Gives the acquire of `section` what earlier passes found.
    #[inline]
    pub(super) fn open(&mut self, clocks: &mut Clocks, sections: &Sections, p: &mut Clock, section: u32) {
        if self.latest.len() <= section as usize {
            self.latest.resize(section as usize + 1, NONE);
        }
        let latest = self.latest[section as usize];
        if latest != NONE {
            sections.learn(clocks, p, latest);
        } else if !self.mixed.is_empty() {
            for &other in self.mixed.get(&section).into_iter().flatten() {
                sections.learn(clocks, p, other);
            }
        }
    }

    /// Notes that the release of `other` is before the acquire of `section`. `mixed`: readers take their lock, too.
    #[inline]
    pub(super) fn tell(&mut self, section: u32, other: u32, mixed: bool) {
        if mixed {
            let others = self.mixed.entry(section).or_default();
            if !others.contains(&other) {
                others.push(other);
                self.found += 1;
            }
            return;
        }
        let latest = &mut self.latest[section as usize];
        if *latest == NONE || *latest < other {
            *latest = other;
            self.found += 1;
        }
    }

    pub(super) fn memory(&self) -> usize {
        let mixed: usize = self.mixed.values().map(|others| others.capacity() * 4 + 32).sum();
        (self.latest.capacity() + self.needed.capacity()) * 4 + mixed
    }
}

/// Finds all edges, pass by pass. Returns what makes the rules of the final passes.
pub(crate) fn saturate<F: Feed + ?Sized>(feed: &mut F, census: &Rc<Census>) -> Result<impl Fn() -> Cp + use<F>, Error> {
    let mut edges = Edges::default();
    loop {
        let before = edges.found;
        let mut pass = Saturation(Cp::with(census.clone(), edges));
        feed.feed(&mut pass)?;
        pass.0.finish();
        edges = pass.0.edges;
        if edges.found == before {
            break;
        }
    }
    let census = census.clone();
    Ok(move || Cp::with(census.clone(), edges.clone()))
}

/// A pass that only looks for edges.
struct Saturation(Cp);

impl Pass for Saturation {
    fn grow(&mut self, tables: &Tables) {
        self.0.grow(tables);
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        self.0.before_check(&access);
        self.0.after_check(&access);
        false
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        self.0.sync(sync);
    }
}
