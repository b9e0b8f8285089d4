//! Distinct pairs of locations that race, found in a second pass over the racy variables.
//!
//! Per variable, operation, thread and location the latest access suffices: accesses of one thread are ordered, so if any
//! one of them is unordered with an event, the latest is. (For locksets the key also contains the locks held.) The first pass has
//! found the racy variables, so all others cost nothing here.
//!
//! Cost: per access of a racy variable, the number of such keys of the variable; constant once all its keys are paired with
//! this one, unless distances are asked for.

use hashbrown::HashMap;
use mayhap_trace::{Bits, Event, EventId, LocId, NONE, Op, ThreadId};

use crate::detection::Race;
use crate::stream::Access;
use crate::tally::place;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// The latest access of one key.
pub(crate) struct Latest {
    access: Access,
    /// Time of the access, or the locks held.
    pub(crate) stamp: u32,
    /// Among the first this many keys of the variable, all that conflict are paired with this one's location.
    paired: u32,
}

impl Latest {
    pub(crate) fn thread(&self) -> usize {
        self.access.thread
    }

    fn conflicts(&self, other: &Access) -> bool {
        self.access.races_with(other)
    }
}

/// Key of an access within its variable: thread, write, place, locks held (0 for orders).
type Key = (u32, bool, bool, u64, u32);

#[derive(Default)]
struct History {
    latest: Vec<Latest>,
    index: Map<Key, u32>,
}

/// The pairs found so far.
pub(crate) struct Pairs {
    /// History of each racy variable, by `slot`.
    histories: Vec<History>,
    slots: Vec<u32>,
    races: Vec<Race>,
    known: Map<(u64, u64), u32>,
    distance: bool,
}

impl Pairs {
    pub(crate) fn new(distance: bool) -> Self {
        Pairs { histories: Vec::new(), slots: Vec::new(), races: Vec::new(), known: Map::default(), distance }
    }

    /// Restarts with these racy variables, but keeps the pairs found.
    pub(crate) fn restart(&mut self, variables: &Bits) {
        self.slots.clear();
        self.histories.clear();
        for variable in variables.iter() {
            self.slots.resize(variable + 1, NONE);
            self.slots[variable] = self.histories.len() as u32;
            self.histories.push(History::default());
        }
    }

    /// The variable's slot, if it is racy.
    #[inline]
    pub(crate) fn slot(&self, variable: usize) -> Option<u32> {
        self.slots.get(variable).copied().filter(|&slot| slot != NONE)
    }

    /// Processes an access to a racy variable. `held` is part of its key, `stamp` is stored with it; `unordered` says whether an
    /// earlier conflicting access is unordered with this one.
    pub(crate) fn access(
        &mut self,
        slot: u32,
        access: Access,
        held: u32,
        stamp: u32,
        unordered: impl Fn(&Latest) -> bool,
    ) {
        let history = &mut self.histories[slot as usize];
        let key = (access.thread as u32, access.write, access.flags.is_atomic(), place(&access), held);
        let found = history.index.get(&key).copied();
        let count = history.latest.len() as u32;
        let mut paired = found.map_or(0, |own| history.latest[own as usize].paired);
        if paired != count || self.distance {
            let mut complete = true;
            for earlier in &history.latest {
                if earlier.conflicts(&access) {
                    let unordered = unordered(earlier);
                    if unordered {
                        note(&mut self.races, &mut self.known, &earlier.access, &access, self.distance);
                    }
                    complete &= unordered || self.known.contains_key(&pair(&earlier.access, &access));
                }
            }
            paired = if complete { count } else { 0 };
        }
        match found {
            Some(own) => history.latest[own as usize] = Latest { access, stamp, paired },
            None => {
                history.index.insert(key, count);
                history.latest.push(Latest { access, stamp, paired: if paired == count { count + 1 } else { 0 } });
            }
        }
    }

    /// Whether the pair of locations is known to race.
    pub(crate) fn known(&self, first: &Access, second: &Access) -> bool {
        self.known.contains_key(&pair(first, second))
    }

    /// Notes that two accesses race.
    pub(crate) fn note(&mut self, first: &Access, second: &Access) {
        note(&mut self.races, &mut self.known, first, second, self.distance);
    }

    pub(crate) fn into_races(self) -> Vec<Race> {
        self.races
    }

    pub(crate) fn memory(&self) -> usize {
        let history = |h: &History| {
            h.latest.capacity() * size_of::<Latest>() + h.index.capacity() * (size_of::<(Key, u32)>() + 1)
        };
        self.histories.iter().map(history).sum::<usize>() + self.slots.capacity() * 4
    }
}

fn pair(first: &Access, second: &Access) -> (u64, u64) {
    let (a, b) = (place(first), place(second));
    (a.min(b), a.max(b))
}

fn note(races: &mut Vec<Race>, known: &mut Map<(u64, u64), u32>, first: &Access, second: &Access, distance: bool) {
    let apart = u64::from(second.id - first.id);
    let race = || Race { first: event(first), second: event(second), distance: distance.then_some(apart) };
    let index = *known.entry(pair(first, second)).or_insert_with(|| {
        races.push(race());
        races.len() as u32 - 1
    });
    let known = &mut races[index as usize];
    if known.second.0 == EventId::at(second.id as usize) && known.first.0 < EventId::at(first.id as usize) {
        // Of several partners that the first instance has, the nearest.
        known.first = event(first);
    }
    if known.distance.is_some_and(|d| apart < d) {
        known.distance = Some(apart);
    }
}

fn event(access: &Access) -> (EventId, Event) {
    let op = if access.write { Op::Write } else { Op::Read };
    let location = LocId::from_cell(access.location);
    let event = Event::new(ThreadId::at(access.thread), op, access.variable as u32, location).with_flags(access.flags);
    (EventId::at(access.id as usize), event)
}
