//! Sync-preserving races (SyncP): races with a witness that keeps the observed order of the critical sections of each lock.
//!
//! Mathur, Pavlogiannis, Viswanathan, POPL'21. A set of events is *closed* if it is closed under program order, must-order and
//! reads-from, and if for two acquires of one lock in it, whose sections exclude each other, the release of the earlier one is
//! in it. The least closed set with the predecessors of two conflicting accesses, run in observed order, is a correct
//! reordering of the data model; the two accesses race in this class iff neither is in it.
//!
//! Deviations: reader locks (sections of two readers do not exclude each other) and must-order, which the paper does not have.
//! A wait needs the notify that it had, a failed acquire the section that made it fail, a failed wait all earlier waits of its
//! semaphore. Atomic accesses do not race with each other; they are closed under reads-from as all others are. An access that is
//! joined to an earlier one of its step is compared only with accesses before it: what comes after might run between the two.
//! The paper scans the acquires in an ideal. But a section that is closed within the ideal requires nothing, so only the sections
//! that are open at the ideal's rim count, one for each lock held there; see [`ideal`]. Variables that one lock protects in all
//! accesses are left out in advance.
//!
//! Method: accesses of a variable are grouped by thread, operation, location and locks held. For each group and each other thread
//! there is one ideal, and a position in the group's list. As the other thread proceeds to its next access, the ideal only grows;
//! an access of the group that the ideal contains can no longer race with that thread and is passed for good. The first access
//! that is not passed decides whether there is a race with the group.
//!
//! Invariants: all events of an ideal are before the later access in the trace, so that one pass over the trace suffices.
//! Beyond 4096 threads, ideals are computed edge by edge: the clocks of that many threads would not fit.
//! Cost: per access of a variable without common lock, the groups of other threads × growth of their ideals, each step the
//! threads that are inside a section × locks held × logarithm of the acquires. Memory: 4 bytes per event, 12 bytes for each read
//! of another thread's write, a record for each section and each such access; up to 256 threads, a clock for each such access.
//!
//! What it proves: each race reported has a witness in the data model (the ideal in observed order), and each race of this
//! class is reported.

mod ideal;

use hashbrown::HashMap;
use mayhap_trace::{Bits, Error, LocksetId, Tables};

use crate::clock::Clock;
use crate::detection::Options;
use crate::lockset::{Modes, unprotected};
use crate::pairs::Pairs;
use crate::passes::Found;
use crate::stream::{Access, Feed, Pass, Sync};
use crate::tally::{Tally, place};

use ideal::Past;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// With more threads than that, threads have no clocks.
const MOST_CLOCKS: usize = 4096;

pub(crate) fn detect<F: Feed + ?Sized>(feed: &mut F, options: &Options, found: &mut Found) -> Result<(), Error> {
    detect_with(MOST_CLOCKS, feed, options, found)
}

fn detect_with<F: Feed + ?Sized>(
    most_clocks: usize,
    feed: &mut F,
    options: &Options,
    found: &mut Found,
) -> Result<(), Error> {
    let (events, candidates) = unprotected(feed)?;
    found.events = events;
    if candidates.count() == 0 {
        return Ok(());
    }
    let past = Past::new(most_clocks);
    let mut pass = SyncP::new(past, &candidates, options, std::mem::replace(&mut found.pairs, Pairs::new(false)));
    found.events = feed.feed(&mut pass)?;
    found.memory = pass.memory();
    found.pairs = pass.pairs;
    found.tally = pass.tally;
    Ok(())
}

/// An access and what its predecessors require.
struct Member {
    access: Access,
    /// Number of earlier events of its thread.
    rank: u32,
    /// Events of other threads that must come before; see [`Past::before`].
    before: Clock,
}

/// How far one other thread has come with a group.
struct Meeting {
    thread: usize,
    /// First member that is not passed.
    next: u32,
    ideal: Clock,
}

/// The accesses of one variable by one thread with the same operation, location and locks held.
struct Group {
    held: LocksetId,
    members: Vec<Member>,
    meetings: Vec<Meeting>,
}

impl Group {
    fn conflicts(&self, access: &Access) -> bool {
        let own = &self.members[0].access;
        own.races_with(access)
    }
}

/// The key of a group within its variable.
type Key = (u32, bool, bool, u64, LocksetId);

#[derive(Default)]
struct Variable {
    groups: Vec<Group>,
    index: Map<Key, u32>,
}

struct SyncP<'o> {
    options: &'o Options,
    past: Past,
    modes: Modes,
    /// Slot of each variable without common lock.
    slots: Map<usize, u32>,
    variables: Vec<Variable>,
    pairs: Pairs,
    tally: Tally,
}

impl<'o> SyncP<'o> {
    fn new(past: Past, candidates: &Bits, options: &'o Options, pairs: Pairs) -> Self {
        let slots: Map<usize, u32> = candidates.iter().zip(0..).collect();
        let variables = (0..slots.len()).map(|_| Variable::default()).collect();
        SyncP { options, past, modes: Modes::default(), slots, variables, pairs, tally: Tally::default() }
    }

    /// Compares an access with all groups, and enters it into its own.
    fn meet(&mut self, slot: u32, access: Access) -> bool {
        let held = self.modes.held(access.thread);
        let rank = self.past.count(access.thread);
        let variable = &mut self.variables[slot as usize];
        let mut racy = false;
        for group in &mut variable.groups {
            if !group.conflicts(&access) || self.modes.sets().common(group.held, held).is_some() {
                continue;
            }
            let known = self.pairs.known(&group.members[0].access, &access);
            if racy && known && !self.options.distance {
                continue;
            }
            let Some(first) = group.first_race(&mut self.past, access.thread, rank) else { continue };
            racy = true;
            if !known || self.options.distance {
                let nearest = group.nearest_race(&mut self.past, first, access.thread, rank);
                self.pairs.note(&group.members[nearest].access, &access);
            }
        }
        if access.flags.is_joined() {
            return racy;
        }
        let key = (access.thread as u32, access.write, access.flags.is_atomic(), place(&access), held);
        let groups = &mut variable.groups;
        let own = *variable.index.entry(key).or_insert_with(|| {
            groups.push(Group { held, members: Vec::new(), meetings: Vec::new() });
            groups.len() as u32 - 1
        });
        let before = self.past.before(access.thread);
        groups[own as usize].members.push(Member { access, rank, before });
        racy
    }

    fn memory(&self) -> usize {
        let group =
            |g: &Group| g.members.capacity() * size_of::<Member>() + g.meetings.capacity() * size_of::<Meeting>();
        let groups: usize = self.variables.iter().flat_map(|v| &v.groups).map(group).sum();
        self.past.memory() + self.pairs.memory() + groups
    }
}

impl Group {
    /// The first member that races with the access of `thread` that comes now, as its event number `rank`.
    fn first_race(&mut self, past: &mut Past, thread: usize, rank: u32) -> Option<usize> {
        let at = self.meeting(thread);
        let race = self.advance(past, at, rank);
        let ideal = &mut self.meetings[at].ideal;
        if !ideal.is_small() {
            // One for each pair of threads would take too much memory. It is built again if the thread comes back.
            past.clocks.release(std::mem::take(ideal));
        }
        race
    }

    /// Returns the place of the meeting with a thread.
    fn meeting(&mut self, thread: usize) -> usize {
        self.meetings.iter().position(|m| m.thread == thread).unwrap_or_else(|| {
            self.meetings.push(Meeting { thread, next: 0, ideal: Clock::ZERO });
            self.meetings.len() - 1
        })
    }

    /// Passes members until one races with the access number `rank` that the meeting's thread makes now.
    fn advance(&mut self, past: &mut Past, at: usize, rank: u32) -> Option<usize> {
        let meeting = &mut self.meetings[at];
        let (own, thread) = (self.members[0].access.thread, meeting.thread);
        past.add_thread(&mut meeting.ideal, thread, rank);
        loop {
            let passed = past.clocks.get(&meeting.ideal, own);
            let rest = &self.members[meeting.next as usize..];
            meeting.next += rest.partition_point(|m| m.rank < passed) as u32;
            let member = self.members.get(meeting.next as usize)?;
            past.add(&mut meeting.ideal, &member.before, own, member.rank);
            past.close(&mut meeting.ideal);
            if past.clocks.get(&meeting.ideal, own) <= member.rank {
                debug_assert!(past.clocks.get(&meeting.ideal, thread) <= rank, "ideals are in the past");
                return Some(meeting.next as usize);
            }
        }
    }

    /// Of the members from `first`, which races, the last that does.
    fn nearest_race(&self, past: &mut Past, first: usize, thread: usize, rank: u32) -> usize {
        let own = self.members[0].access.thread;
        for at in (first + 1..self.members.len()).rev() {
            let member = &self.members[at];
            let mut ideal = Clock::ZERO;
            past.add_thread(&mut ideal, thread, rank);
            past.add(&mut ideal, &member.before, own, member.rank);
            past.close(&mut ideal);
            let races = past.clocks.get(&ideal, own) <= member.rank;
            past.clocks.release(ideal);
            if races {
                return at;
            }
        }
        first
    }
}

impl Pass for SyncP<'_> {
    fn grow(&mut self, tables: &Tables) {
        self.past.grow(tables);
        self.modes.grow(tables.threads.len());
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let racy = match self.slots.get(&access.variable) {
            Some(&slot) => self.meet(slot, access),
            None => false,
        };
        self.past.access(access.thread, access.variable, access.write);
        if racy {
            self.tally.add(&access);
        }
        racy && self.options.first
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        self.modes.sync(sync.event);
        self.past.sync(sync);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Whole;
    use mayhap_testkit::{Generator, Profile, cases};

    /// The races, and how many events are racy.
    fn races(most_clocks: usize, mut input: &mayhap_trace::Trace) -> (Vec<(usize, usize)>, u64) {
        let options = Options { distance: true, ..Options::default() };
        let mut found = Found::new(&options);
        detect_with(most_clocks, &mut Whole::new(&mut input), &options, &mut found).unwrap();
        let events = found.tally.events;
        let pairs = found.pairs.into_races().iter().map(|r| (r.first.0.index(), r.second.0.index())).collect();
        (pairs, events)
    }

    #[test]
    fn walking_finds_what_clocks_find() {
        let each = cases(3_000).div_ceil(Profile::all().len());
        let mut racy = 0;
        for (name, profile) in Profile::all() {
            for (seed, trace) in Generator::new(profile.sized(5, 40), 700_000_000).take(each) {
                let found = races(0, &trace);
                racy += found.1;
                assert_eq!(found, races(usize::MAX, &trace), "{name}, seed {seed}");
            }
        }
        assert!(racy > 0);
    }
}
