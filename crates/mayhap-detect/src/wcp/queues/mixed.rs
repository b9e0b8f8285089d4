//! The queue of a reader lock.
//!
//! Sections of one thread in one mode follow each other, so the clock of a later one stands for those of earlier ones; nothing
//! else is known. A release of a reader's section looks only for exclusive sections of others, that of an exclusive section for
//! all. Cost: per release, users of the lock × logarithm of their sections, each time it learns something new.

use std::collections::VecDeque;

use super::{Asker, FIRST_SWEEP};
use mayhap_trace::Bits;

use crate::census::{LockUse, Use};
use crate::clock::{Clock, Clocks};
use crate::wcp::sections::Sections;

struct Entry {
    acquired: u32,
    released: u32,
    section: u32,
}

struct User {
    thread: u32,
    left: u32,
    /// Closed sections, by mode: exclusive, shared.
    sections: [VecDeque<Entry>; 2],
    /// P at its latest release, if there is one to come.
    p: Clock,
}

pub(super) struct Mixed {
    users: Vec<User>,
    active: u32,
    length: usize,
    sweep_at: usize,
    /// Nothing is freed. Sections of one thread in different modes may overlap; what one of them has learnt may still matter for the
    /// other, which began earlier.
    keep: bool,
}

impl Mixed {
    pub(super) fn new(lock: &LockUse, ends: impl Fn(&Use) -> u32, keep: bool) -> Mixed {
        let user = |u: &Use| User { thread: u.thread, left: ends(u), sections: Default::default(), p: Clock::ZERO };
        let active = lock.users.iter().filter(|u| ends(u) > 0).count() as u32;
        Mixed { users: lock.users.iter().map(user).collect(), active, length: 0, sweep_at: FIRST_SWEEP, keep }
    }

    #[inline]
    pub(super) fn other_users(&self, place: u32) -> u32 {
        self.active - u32::from(self.users[place as usize].left > 0)
    }

    pub(super) fn release(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        place: u32,
        shared: bool,
        asker: &mut Asker<'_>,
        mut tell: impl FnMut(u32),
    ) {
        let modes = if shared { 1 } else { 2 };
        let mut learnt = true;
        while learnt {
            learnt = false;
            for other in self.users.iter().filter(|u| u.thread != asker.thread) {
                let thread = other.thread as usize;
                let in_p = clocks.get(asker.p, thread);
                let time = in_p.max(clocks.get(asker.k, thread));
                for list in &other.sections[..modes] {
                    let known = list.partition_point(|e| e.acquired <= time);
                    if let Some(last) = known.checked_sub(1).map(|i| &list[i]) {
                        tell(last.section);
                        if last.released > clocks.get(asker.p, thread) {
                            sections.learn(clocks, asker.p, last.section);
                            learnt = true;
                        }
                    }
                }
            }
        }
        clocks.assign(&mut self.users[place as usize].p, asker.p);
    }

    /// Queues a section. Returns how many entries were freed, each counted for all users but its own.
    pub(super) fn push(
        &mut self,
        clocks: &mut Clocks,
        sections: &Sections,
        place: u32,
        shared: bool,
        section: u32,
    ) -> u64 {
        let closed = sections.get(section);
        let entry = Entry { acquired: closed.acquired, released: closed.released, section };
        let user = &mut self.users[place as usize];
        user.sections[usize::from(shared)].push_back(entry);
        user.left -= 1;
        if user.left == 0 {
            self.active -= 1;
            clocks.release(std::mem::take(&mut user.p));
        }
        self.length += 1;
        if self.keep || self.length < self.sweep_at { 0 } else { self.sweep(clocks) }
    }

    /// Frees the sections that every thread that still releases the lock knows.
    #[cold]
    fn sweep(&mut self, clocks: &Clocks) -> u64 {
        let mut gone = 0;
        for place in 0..self.users.len() {
            let user = &self.users[place];
            let oldest = user.sections.iter().filter_map(|list| list.front()).map(|e| e.released).min();
            let Some(oldest) = oldest else { continue };
            // A thread that comes to the lock late is late among its users, and knows nothing yet.
            let others = self.users.iter().enumerate().rev().filter(|&(o, u)| o != place && u.left > 0);
            let mut known = u32::MAX;
            for (_, other) in others {
                known = known.min(clocks.get(&other.p, user.thread as usize));
                if known < oldest {
                    break;
                }
            }
            for list in &mut self.users[place].sections {
                let passed = list.partition_point(|e| e.released <= known);
                list.drain(..passed);
                gone += passed;
            }
        }
        self.length -= gone;
        self.sweep_at = (2 * self.length).max(FIRST_SWEEP);
        gone as u64 * u64::from(self.active.saturating_sub(1))
    }

    pub(super) fn mark(&self, marked: &mut Bits) {
        for entry in self.users.iter().flat_map(|u| &u.sections).flatten() {
            marked.insert(entry.section as usize);
        }
    }

    pub(super) fn memory(&self) -> usize {
        let user = |u: &User| u.sections.iter().map(|s| s.capacity() * size_of::<Entry>()).sum::<usize>();
        self.users.iter().map(user).sum::<usize>() + self.users.capacity() * size_of::<User>()
    }
}
