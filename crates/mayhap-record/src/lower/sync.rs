//! What the lowering keeps of synchronisation objects, by their address.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use foldhash::fast::FixedState;
use mayhap_trace::{CondId, ConditionKind, EventId, Pairing, Served, ThreadId};

/// What a condition of the trace stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Wake {
    /// A condition variable.
    Condition,
    /// Something done once.
    Once,
    /// A thread that was parked.
    Park,
    /// The end of a Rust scope's threads.
    Scope,
    /// The n-th round of a barrier.
    Round(u64),
}

impl Wake {
    /// What the condition is in the trace.
    pub(crate) fn kind(self) -> ConditionKind {
        match self {
            Wake::Condition => ConditionKind::Condition,
            Wake::Once => ConditionKind::Once,
            // A thread may find itself unparked by a call that was not recorded, so its waits keep their notifies.
            Wake::Park => ConditionKind::Unspecified,
            Wake::Scope => ConditionKind::Scope,
            Wake::Round(_) => ConditionKind::Barrier,
        }
    }
}

/// A barrier's state.
#[derive(Default)]
pub(crate) struct Barrier {
    /// How many take part; 0 if that is not known, and a round is over when the first thread leaves.
    pub(crate) count: u64,
    round: u64,
    arrived: u64,
    /// Rounds that threads have arrived in and not left, with whether the thread was the last.
    inside: HashMap<u16, (u64, bool)>,
}

impl Barrier {
    /// A thread arrives: the round, and whether it is the first and the last in it.
    pub(crate) fn arrive(&mut self, thread: u16) -> (u64, bool, bool) {
        let round = self.round;
        let first = self.arrived == 0;
        self.arrived += 1;
        if self.count == 0 {
            self.inside.insert(thread, (round, false));
            return (round, first, true);
        }
        let last = self.arrived >= self.count;
        if last {
            self.round += 1;
            self.arrived = 0;
        }
        self.inside.insert(thread, (round, last));
        (round, first, last)
    }

    /// A thread leaves: the round it waited for, unless it was the last to arrive.
    pub(crate) fn leave(&mut self, thread: u16) -> Option<u64> {
        let (round, last) = self.inside.remove(&thread)?;
        if self.count == 0 && round == self.round {
            self.round += 1;
            self.arrived = 0;
        }
        (!last).then_some(round)
    }
}

/// What is known of a semaphore.
#[derive(Default)]
struct Semaphore {
    /// Its count before the first event.
    initial: u32,
    /// Its count now.
    count: u32,
    condition: Option<u32>,
}

/// Locks that were asked for lately: address and lock.
struct Recent([(u64, u32); 64]);

impl Default for Recent {
    fn default() -> Self {
        Recent([(u64::MAX, 0); 64])
    }
}

impl Recent {
    fn slot(address: u64) -> usize {
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
    }
}

/// All synchronisation objects that are alive.
#[derive(Default)]
pub(crate) struct Objects {
    locks: BTreeMap<u64, u32>,
    conditions: BTreeMap<(u64, Wake), u32>,
    semaphores: BTreeMap<u64, Semaphore>,
    barriers: BTreeMap<u64, Barrier>,
    /// Which notify would serve a wait, whatever the kind of the condition: a program may be woken without one.
    notifies: Pairing,
    /// How a thread holds a lock: shared or not, and how often. Not [`mayhap_trace::Holds`]: a release that was recorded does
    /// not say its mode, and a recording may have two owners of a lock that one of them gave up unseen.
    holds: HashMap<(u32, u16), (bool, u32), FixedState>,
    /// The locks at some addresses.
    recent: Recent,
}

impl Objects {
    /// The memory gets a new life: what was there is gone.
    pub(crate) fn forget(&mut self, range: Range<u64>) {
        fn drop_from<T>(map: &mut BTreeMap<u64, T>, range: &Range<u64>) {
            while let Some((&key, _)) = map.range(range.clone()).next() {
                map.remove(&key);
            }
        }
        drop_from(&mut self.locks, &range);
        for entry in &mut self.recent.0 {
            if range.contains(&entry.0) {
                entry.0 = u64::MAX;
            }
        }
        drop_from(&mut self.semaphores, &range);
        drop_from(&mut self.barriers, &range);
        let keys: Vec<_> = self
            .conditions
            .range((range.start, Wake::Condition)..(range.end, Wake::Condition))
            .map(|(&key, _)| key)
            .collect();
        for key in keys {
            self.conditions.remove(&key);
        }
    }

    pub(crate) fn lock(&mut self, address: u64) -> Option<u32> {
        let recent = &mut self.recent.0[Recent::slot(address)];
        if recent.0 != address {
            *recent = (address, *self.locks.get(&address)?);
        }
        Some(recent.1)
    }

    pub(crate) fn set_lock(&mut self, address: u64, lock: u32) {
        self.locks.insert(address, lock);
    }

    pub(crate) fn hold(&mut self, lock: u32, thread: u16, shared: bool) {
        self.holds.entry((lock, thread)).or_insert((shared, 0)).1 += 1;
    }

    /// A thread gives a lock up: whether it held it shared, `None` if it did not hold it.
    pub(crate) fn unhold(&mut self, lock: u32, thread: u16) -> Option<bool> {
        let (shared, depth) = self.holds.get_mut(&(lock, thread))?;
        let shared = *shared;
        *depth -= 1;
        if *depth == 0 {
            self.holds.remove(&(lock, thread));
        }
        Some(shared)
    }

    /// The threads that hold a lock.
    pub(crate) fn holders(&self, lock: u32) -> Vec<u16> {
        let mut holders: Vec<u16> = self.holds.keys().filter(|(held, _)| *held == lock).map(|&(_, t)| t).collect();
        holders.sort_unstable();
        holders
    }

    pub(crate) fn condition(&self, address: u64, wake: Wake) -> Option<u32> {
        self.conditions.get(&(address, wake)).copied()
    }

    pub(crate) fn set_condition(&mut self, address: u64, wake: Wake, condition: u32) {
        self.conditions.insert((address, wake), condition);
    }

    /// A thread has notified a condition; `now` is the event count after that.
    pub(crate) fn notified(&mut self, condition: u32, thread: u16, now: u64) {
        if let Some(event) = EventId::from_number(now) {
            let (condition, thread) = (CondId::at(condition as usize), ThreadId::at(usize::from(thread)));
            self.notifies.notify(condition, ConditionKind::Unspecified, thread, event, false);
        }
    }

    /// Another thread than this one has notified the condition, after the event count was `since`.
    pub(crate) fn was_notified(&self, condition: u32, thread: u16, since: u64) -> bool {
        let (condition, thread) = (CondId::at(condition as usize), ThreadId::at(usize::from(thread)));
        let latest = self.notifies.peek(condition, ConditionKind::Unspecified, thread, None);
        latest.and_then(Served::notify).is_some_and(|notify| notify.number() > since)
    }

    /// A semaphore begins its life with this count.
    pub(crate) fn semaphore_begins(&mut self, address: u64, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.semaphores.insert(address, Semaphore { initial: count, count, condition: None });
    }

    /// A semaphore is raised.
    pub(crate) fn post(&mut self, address: u64) {
        let count = &mut self.semaphores.entry(address).or_default().count;
        *count = count.saturating_add(1);
    }

    /// A semaphore is lowered: whether its initial count must have been greater than was known.
    pub(crate) fn take_post(&mut self, address: u64) -> bool {
        let semaphore = self.semaphores.entry(address).or_default();
        let unexplained = semaphore.count == 0;
        if unexplained {
            semaphore.initial = semaphore.initial.saturating_add(1);
        } else {
            semaphore.count -= 1;
        }
        unexplained
    }

    pub(crate) fn semaphore_initial(&self, address: u64) -> u32 {
        self.semaphores.get(&address).map_or(0, |semaphore| semaphore.initial)
    }

    pub(crate) fn semaphore_condition(&self, address: u64) -> Option<u32> {
        self.semaphores.get(&address).and_then(|semaphore| semaphore.condition)
    }

    pub(crate) fn set_semaphore_condition(&mut self, address: u64, condition: u32) {
        self.semaphores.entry(address).or_default().condition = Some(condition);
    }

    pub(crate) fn barrier(&mut self, address: u64) -> &mut Barrier {
        self.barriers.entry(address).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_arrive_does_not_wait() {
        let mut barrier = Barrier { count: 2, ..Barrier::default() };
        assert_eq!(barrier.arrive(1), (0, true, false));
        assert_eq!(barrier.arrive(2), (0, false, true));
        assert_eq!(barrier.leave(2), None);
        // The next round begins before all have left this one.
        assert_eq!(barrier.arrive(2), (1, true, false));
        assert_eq!(barrier.leave(1), Some(0));
        assert_eq!(barrier.arrive(1), (1, false, true));
    }

    #[test]
    fn a_round_of_unknown_size_ends_when_the_first_leaves() {
        let mut barrier = Barrier::default();
        assert_eq!(barrier.arrive(1), (0, true, true));
        assert_eq!(barrier.arrive(2), (0, false, true));
        assert_eq!(barrier.leave(2), Some(0));
        assert_eq!(barrier.arrive(2), (1, true, true));
        assert_eq!(barrier.leave(1), Some(0));
        assert_eq!(barrier.arrive(1), (1, false, true));
    }

    #[test]
    fn counts_that_nothing_explains_were_there_from_the_beginning() {
        let mut objects = Objects::default();
        objects.semaphore_begins(8, 1);
        objects.post(8);
        assert_eq!([objects.take_post(8), objects.take_post(8), objects.take_post(8)], [false, false, true]);
        assert_eq!(objects.semaphore_initial(8), 2);
        objects.forget(0..16);
        assert_eq!(objects.semaphore_initial(8), 0);
    }

    #[test]
    fn a_wait_needs_a_notify_of_another_thread_since_it_began() {
        let mut objects = Objects::default();
        objects.notified(7, 1, 10);
        assert!(objects.was_notified(7, 2, 5));
        assert!(!objects.was_notified(7, 2, 10));
        assert!(!objects.was_notified(7, 1, 5));
        objects.notified(7, 2, 12);
        assert!(objects.was_notified(7, 1, 11));
        assert!(objects.was_notified(7, 2, 9));
    }
}
