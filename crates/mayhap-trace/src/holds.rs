//! Who holds which lock, with re-entrancy counted.
//!
//! A thread may hold a lock in both modes at once (downgrading from writer to reader does); the two holds are counted apart.
//! Sections exclude each other when they belong to different threads and at least one is exclusive.

use crate::id::{EventId, LockId, ThreadId};

/// A lock mode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// Alone.
    Exclusive,
    /// Together with other readers.
    Shared,
}

/// One thread's hold of one lock in one mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// The holder.
    pub thread: ThreadId,
    /// The outermost acquire.
    pub acquire: EventId,
    depth: u32,
}

/// The holds of all locks at one point of a trace.
#[derive(Clone, Default, Debug)]
pub struct Holds {
    exclusive: Vec<Option<Hold>>,
    shared: Vec<Vec<Hold>>,
}

impl Holds {
    /// The hold of another thread that keeps `thread` from acquiring `lock` in `mode`.
    #[inline]
    pub fn blocker(&self, thread: ThreadId, lock: LockId, mode: Mode) -> Option<Hold> {
        let exclusive = self.exclusive.get(lock.index()).copied().flatten().filter(|h| h.thread != thread);
        match mode {
            Mode::Shared => exclusive,
            Mode::Exclusive => exclusive.or_else(|| {
                self.shared.get(lock.index()).and_then(|readers| readers.iter().find(|h| h.thread != thread).copied())
            }),
        }
    }

    /// Some hold of the lock, by any thread and in any mode.
    pub fn holder(&self, lock: LockId) -> Option<Hold> {
        self.writer(lock).or_else(|| self.shared.get(lock.index()).and_then(|readers| readers.first().copied()))
    }

    /// The exclusive hold of the lock, by any thread.
    pub fn writer(&self, lock: LockId) -> Option<Hold> {
        self.exclusive.get(lock.index()).copied().flatten()
    }

    /// Takes the lock, which nothing may block. `true` if this opens the section, `false` if it is re-entrant.
    #[inline]
    pub fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: Mode, event: EventId) -> bool {
        if mode == Mode::Exclusive
            && let Some(hold @ None) = self.exclusive.get_mut(lock.index())
        {
            *hold = Some(Hold { thread, acquire: event, depth: 1 });
            return true;
        }
        if self.exclusive.len() <= lock.index() {
            self.exclusive.resize(lock.index() + 1, None);
            self.shared.resize_with(lock.index() + 1, Vec::new);
        }
        if let Some(hold) = self.hold_mut(thread, lock, mode) {
            hold.depth += 1;
            return false;
        }
        let hold = Hold { thread, acquire: event, depth: 1 };
        match mode {
            Mode::Exclusive => self.exclusive[lock.index()] = Some(hold),
            Mode::Shared => self.shared[lock.index()].push(hold),
        }
        true
    }

    /// Gives the lock up by one level. `None` if the thread does not hold it; else the hold and whether the section closed.
    #[inline]
    pub fn release(&mut self, thread: ThreadId, lock: LockId, mode: Mode) -> Option<(Hold, bool)> {
        if mode == Mode::Exclusive
            && let Some(acquire) = self.give_up(thread, lock)
        {
            return Some((Hold { thread, acquire, depth: 0 }, true));
        }
        let hold = self.hold_mut(thread, lock, mode)?;
        hold.depth -= 1;
        let hold = *hold;
        if hold.depth == 0 {
            match mode {
                Mode::Exclusive => self.exclusive[lock.index()] = None,
                Mode::Shared => self.shared[lock.index()].retain(|h| h.thread != thread),
            }
        }
        Some((hold, hold.depth == 0))
    }

    /// Takes a lock alone that was used before and that nobody holds; `false` if it is not such a lock, and then nothing is taken.
    #[inline]
    pub(crate) fn take_free(&mut self, thread: ThreadId, lock: LockId, event: EventId) -> bool {
        match (self.exclusive.get_mut(lock.index()), self.shared.get(lock.index())) {
            (Some(hold @ None), Some(readers)) if readers.is_empty() => {
                *hold = Some(Hold { thread, acquire: event, depth: 1 });
                true
            }
            _ => false,
        }
    }

    /// Gives up a lock that the thread holds alone and took once. Returns its acquire, or `None` if it does not hold it so.
    #[inline]
    pub(crate) fn give_up(&mut self, thread: ThreadId, lock: LockId) -> Option<EventId> {
        let hold = self.exclusive.get_mut(lock.index())?;
        hold.take_if(|hold| hold.thread == thread && hold.depth == 1).map(|hold| hold.acquire)
    }

    #[inline]
    fn hold_mut(&mut self, thread: ThreadId, lock: LockId, mode: Mode) -> Option<&mut Hold> {
        match mode {
            Mode::Exclusive => self.exclusive.get_mut(lock.index())?.as_mut().filter(|h| h.thread == thread),
            Mode::Shared => self.shared.get_mut(lock.index())?.iter_mut().find(|h| h.thread == thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_do_not() {
        let (t, u, l) = (ThreadId::at(0), ThreadId::at(1), LockId::at(0));
        let mut holds = Holds::default();
        assert!(holds.acquire(t, l, Mode::Shared, EventId::at(0)));
        assert_eq!(holds.blocker(u, l, Mode::Shared), None);
        assert_eq!(holds.blocker(u, l, Mode::Exclusive).map(|h| h.thread), Some(t));
        assert!(holds.acquire(u, l, Mode::Shared, EventId::at(1)));
        assert!(!holds.acquire(u, l, Mode::Shared, EventId::at(2)));
        assert!(!holds.release(u, l, Mode::Shared).unwrap().1);
        assert!(holds.release(u, l, Mode::Shared).unwrap().1);
        assert!(holds.release(u, l, Mode::Shared).is_none());
        assert_eq!(holds.blocker(t, l, Mode::Exclusive), None);
    }
}
