//! Rule (b): closed sections that a later release of the same lock may come to know.
//!
//! The paper keeps two queues for each lock and thread, with a copy of every other thread's acquire and release clocks. Here each
//! lock has one log of its closed sections, and each user of the lock a position in it; a section is freed when all users that
//! still release the lock have passed it.
//!
//! A release `r` of thread `t` has to find the last section `s` of another thread whose acquire is before `r`: HB orders all
//! releases of the lock, so its clock stands for all earlier ones.
//! - By WCP: if a section's acquire is before `r`, so are all earlier ones, by rule (c). The sections before `r` are a prefix
//!   of the log, and a galloping search finds its end. An acquire at time `n` of `u` is before `r` iff P(u) ≥ n.
//! - By must-order this is not so: the acquire may be before `r` while one ahead of it in the log, of a third thread, is not.
//!   K rarely changes, though. When it has changed since `t` last looked, the sections of each user are searched for the last one
//!   whose acquire K knows; but only for users whose thread passed its clock on (fork, notify, end) after an acquire of the lock.
//!   For all others K knows no more than P does: what K has from a thread's P came together with that P. When K has not changed, a
//!   section that was closed since can be known only if its thread passed its clock on while inside; such *leaky* sections are
//!   rare and listed.
//!
//! What is learnt may bring further sections into the prefix, so the search repeats until nothing changes.
//!
//! Reader locks have no total order of releases. Each user then has its sections, of either mode, in a separate list, and a
//! release searches every list for the last section that it knows; see [`Mixed`].
//!
//! Lengths are counted as the paper does: an entry for each acquire and each release for each other user of the lock, until
//! that user has passed it. Threads that never release the lock (again) have no queue.

mod mixed;

use std::collections::VecDeque;

use mayhap_trace::{Bits, NONE};

use super::sections::Sections;
use crate::census::{Census, LockUse, Use};
use crate::clock::{Clock, Clocks};

use mixed::Mixed;

/// The releasing thread.
pub(super) struct Asker<'a> {
    pub(super) thread: u32,
    pub(super) p: &'a mut Clock,
    pub(super) k: &'a Clock,
    pub(super) k_version: u32,
}

/// A closed section in a log.
struct Entry {
    thread: u32,
    /// The user, as a place among the lock's users.
    user: u32,
    acquired: u32,
    section: u32,
    /// Number of the nearest earlier entry of another thread.
    other: u32,
}

/// A user of a lock.
struct User {
    /// Number of the first entry not passed.
    next: u32,
    /// Changes of K when it last looked.
    k_version: u32,
    /// Releases to come.
    left: u32,
    /// Numbers of its own entries.
    own: VecDeque<u32>,
    voice: Voice,
}

/// Whether the thread of a user handed on its clock after an acquire of the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// It has released nothing.
    Silent,
    /// It has not, and the thread knows that it must report it.
    Awaited,
    Heard,
}

/// The log of a lock that is only taken exclusively.
struct Log {
    entries: VecDeque<Entry>,
    /// Number of the first entry.
    base: u32,
    users: Vec<User>,
    /// Users with releases to come.
    active: u32,
    /// Numbers of sections inside which their thread passed its clock on.
    leaky: VecDeque<u32>,
    /// The users about which K may know more than P.
    handed_on: Vec<u32>,
    /// Length at which to look for entries that all have passed.
    sweep_at: usize,
}

enum Queue {
    /// One thread at most.
    None,
    Log(Log),
    Mixed(Mixed),
}

/// The queues of all locks.
pub(super) struct Queues {
    locks: Vec<Queue>,
    length: u64,
    longest: u64,
}

/// Small in unit tests, so that their small traces sweep.
const FIRST_SWEEP: usize = if cfg!(test) { 2 } else { 64 };

impl Queues {
    /// `open` says that sections which are never released are queried as well, when their threads end.
    pub(super) fn new(census: &Census, open: bool) -> Self {
        let ends = |user: &Use| if open { user.acquires } else { user.releases };
        let queue = |lock: &LockUse| match (lock.users.len(), lock.shared) {
            (0 | 1, _) => Queue::None,
            (_, true) => Queue::Mixed(Mixed::new(lock, ends, open)),
            _ => Queue::Log(Log::new(lock, ends)),
        };
        Queues { locks: census.locks.iter().map(queue).collect(), length: 0, longest: 0 }
    }

    pub(super) fn longest(&self) -> u64 {
        self.longest
    }

    fn grow_by(&mut self, entries: u32) {
        self.length += u64::from(entries);
        self.longest = self.longest.max(self.length);
    }

    /// Notes an acquire in the lengths; the section itself is queued when it closes.
    #[inline]
    pub(super) fn acquire(&mut self, lock: u32, place: u32) {
        let others = match &self.locks[lock as usize] {
            Queue::Log(log) => log.other_users(place),
            Queue::Mixed(mixed) => mixed.other_users(place),
            Queue::None => 0,
        };
        self.grow_by(others);
    }

    /// Joins into the releasing thread's P what rule (b) gives its release, and reports from which sections.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    pub(super) fn release(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        lock: u32,
        place: u32,
        shared: bool,
        asker: &mut Asker<'_>,
        tell: impl FnMut(u32),
    ) {
        match &mut self.locks[lock as usize] {
            Queue::Log(log) => {
                let passed = log.release(clocks, sections, place, asker, tell);
                self.length -= 2 * u64::from(passed);
            }
            Queue::Mixed(mixed) => mixed.release(clocks, sections, place, shared, asker, tell),
            Queue::None => {}
        }
    }

    /// Queues the section that the release closed, and counts the release as done.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state, borrowed apart")]
    pub(super) fn push(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        lock: u32,
        place: u32,
        shared: bool,
        section: u32,
        leaky: bool,
    ) {
        let (others, gone) = match &mut self.locks[lock as usize] {
            Queue::Log(log) => {
                log.push(sections, place, section, leaky);
                (log.other_users(place), log.done(place))
            }
            Queue::Mixed(mixed) => {
                let gone = mixed.push(clocks, sections, place, shared, section);
                (mixed.other_users(place), gone)
            }
            Queue::None => return,
        };
        self.grow_by(others);
        self.length = self.length.saturating_sub(2 * gone);
    }

    /// Whether the thread should report when it passes its clock on after this release, and has not been asked before.
    #[inline]
    pub(super) fn asks_for_hand_on(&mut self, lock: u32, place: u32) -> bool {
        let Queue::Log(log) = &mut self.locks[lock as usize] else { return false };
        let voice = &mut log.users[place as usize].voice;
        let silent = *voice == Voice::Silent;
        if silent {
            *voice = Voice::Awaited;
        }
        silent
    }

    /// A thread passes its clock on after an acquire of the lock. Sections that are still open are reported as leaky later.
    pub(super) fn hand_on(&mut self, lock: u32, place: u32) {
        if let Queue::Log(log) = &mut self.locks[lock as usize] {
            log.hand_on(place);
        }
    }

    /// Marks the sections that are queued.
    pub(super) fn mark(&self, marked: &mut Bits) {
        for queue in &self.locks {
            match queue {
                Queue::Log(log) => log.entries.iter().for_each(|e| marked.insert(e.section as usize)),
                Queue::Mixed(mixed) => mixed.mark(marked),
                Queue::None => {}
            }
        }
    }

    pub(super) fn memory(&self) -> usize {
        let queue = |queue: &Queue| match queue {
            Queue::Log(log) => log.memory(),
            Queue::Mixed(mixed) => mixed.memory(),
            Queue::None => 0,
        };
        self.locks.iter().map(queue).sum::<usize>() + self.locks.capacity() * size_of::<Queue>()
    }
}

impl Log {
    fn new(lock: &LockUse, ends: impl Fn(&Use) -> u32) -> Log {
        let user = |u: &Use| User { next: 0, k_version: 0, left: ends(u), own: VecDeque::new(), voice: Voice::Silent };
        Log {
            entries: VecDeque::new(),
            base: 0,
            users: lock.users.iter().map(user).collect(),
            active: lock.users.iter().filter(|u| ends(u) > 0).count() as u32,
            leaky: VecDeque::new(),
            handed_on: Vec::new(),
            sweep_at: FIRST_SWEEP,
        }
    }

    #[inline]
    fn end(&self) -> u32 {
        self.base + self.entries.len() as u32
    }

    #[inline]
    fn entry(&self, number: u32) -> &Entry {
        &self.entries[(number - self.base) as usize]
    }

    #[inline]
    fn other_users(&self, place: u32) -> u32 {
        self.active - u32::from(self.users[place as usize].left > 0)
    }

    /// Returns how many entries of others the releasing thread has passed.
    fn release(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        place: u32,
        asker: &mut Asker<'_>,
        mut tell: impl FnMut(u32),
    ) -> u32 {
        let start = self.users[place as usize].next;
        let mut next = start;
        let mut known = None;
        if let Some(last) = self.known_by_must_order(clocks, place, asker)
            && last >= next
        {
            known = Some(self.entry(last).section);
            sections.learn(clocks, asker.p, self.entry(last).section);
            next = last + 1;
        }
        loop {
            let end = self.gallop(clocks, next, asker.p);
            if end == next {
                break;
            }
            let last = self.entry(end - 1);
            let last = if last.thread != asker.thread { end - 1 } else { last.other };
            if last != NONE && last >= next {
                known = Some(self.entry(last).section);
                sections.learn(clocks, asker.p, self.entry(last).section);
            }
            next = end;
        }
        if let Some(section) = known {
            tell(section);
        }
        let user = &mut self.users[place as usize];
        user.next = next;
        let own = user.own.partition_point(|&n| n < next) - user.own.partition_point(|&n| n < start);
        next - start - own as u32
    }

    /// The end of the prefix of entries whose acquires P knows, given that it reaches `from`.
    #[inline]
    fn gallop(&self, clocks: &Clocks, from: u32, p: &Clock) -> u32 {
        let end = self.end();
        let known = |number: u32| {
            let entry = self.entry(number);
            clocks.get(p, entry.thread as usize) >= entry.acquired
        };
        if from == end || !known(from) {
            return from;
        }
        let (mut low, mut step) = (from, 1);
        while low + step < end && known(low + step) {
            low += step;
            step *= 2;
        }
        // Known at `low`, and not at `low + step` or beyond the end.
        let mut high = (low + step).min(end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if known(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The last entry of another thread whose acquire the releasing thread knows by K and has not processed before.
    #[inline]
    fn known_by_must_order(&mut self, clocks: &Clocks, place: u32, asker: &Asker<'_>) -> Option<u32> {
        let before = std::mem::replace(&mut self.users[place as usize].k_version, asker.k_version);
        if before != asker.k_version {
            return self.search_by_must_order(clocks, place, asker);
        }
        let next = self.users[place as usize].next;
        let known = |number: &u32| {
            let entry = self.entry(*number);
            entry.thread != asker.thread && clocks.get(asker.k, entry.thread as usize) >= entry.acquired
        };
        self.leaky.iter().rev().copied().take_while(|&number| number >= next).find(known)
    }

    #[cold]
    fn search_by_must_order(&self, clocks: &Clocks, place: u32, asker: &Asker<'_>) -> Option<u32> {
        let last_of = |&other: &u32| {
            let own = &self.users[other as usize].own;
            let thread = self.entry(*own.back()?).thread as usize;
            let time = clocks.get(asker.k, thread);
            if other == place || time == 0 {
                return None;
            }
            let known = own.partition_point(|&number| self.entry(number).acquired <= time);
            known.checked_sub(1).map(|last| own[last])
        };
        self.handed_on.iter().filter_map(last_of).max()
    }

    /// Notes that the user's thread passes its clock on after an acquire of the lock.
    fn hand_on(&mut self, place: u32) {
        let user = &mut self.users[place as usize];
        if std::mem::replace(&mut user.voice, Voice::Heard) != Voice::Heard {
            self.handed_on.push(place);
        }
    }

    fn push(&mut self, sections: &Sections, place: u32, section: u32, leaky: bool) {
        let number = self.end();
        let (thread, acquired) = (sections.get(section).thread, sections.get(section).acquired);
        let other = match self.entries.back() {
            Some(last) if last.thread == thread => last.other,
            Some(_) => number - 1,
            None => NONE,
        };
        self.entries.push_back(Entry { thread, user: place, acquired, section, other });
        self.users[place as usize].own.push_back(number);
        if leaky {
            self.leaky.push_back(number);
            self.hand_on(place);
        }
        if self.entries.len() >= self.sweep_at {
            self.sweep();
        }
    }

    /// Counts a release as done. Returns how many entries it leaves unread if it was the user's last.
    fn done(&mut self, place: u32) -> u64 {
        let end = self.end();
        let user = &mut self.users[place as usize];
        user.left -= 1;
        if user.left > 0 {
            return 0;
        }
        self.active -= 1;
        let unread = end - user.next;
        let own = user.own.len() - user.own.partition_point(|&n| n < user.next);
        u64::from(unread) - own as u64
    }

    /// Frees the entries that every thread that still releases the lock has passed.
    #[cold]
    fn sweep(&mut self) {
        let active = self.users.iter().filter(|u| u.left > 0);
        let passed = active.map(|u| u.next).min().unwrap_or(self.end()).min(self.end());
        while self.base < passed {
            let entry = self.entries.pop_front().expect("entries up to the end");
            self.users[entry.user as usize].own.pop_front();
            self.base += 1;
        }
        while self.leaky.front().is_some_and(|&number| number < self.base) {
            self.leaky.pop_front();
        }
        self.sweep_at = (2 * self.entries.len()).max(FIRST_SWEEP);
    }

    fn memory(&self) -> usize {
        let own: usize = self.users.iter().map(|u| u.own.capacity() * 4).sum();
        self.entries.capacity() * size_of::<Entry>() + self.users.capacity() * size_of::<User>() + own
    }
}
