//! The first pass over a trace: which threads use which lock, and which variables can race at all.
//!
//! WCP keeps a queue for each lock and thread. Knowing in advance which threads release a lock, and how often, it queues nothing for
//! threads that do not use the lock or no longer use it; and objects of a single thread need no state.

use hashbrown::HashMap;
use mayhap_trace::{Bits, Error, Op, Tables};

use crate::stream::{Access, Feed, Pass, Sync};

/// One thread's use of one lock.
pub(crate) struct Use {
    pub(crate) thread: u32,
    /// How many sections it opens, and how many of them it closes.
    pub(crate) acquires: u32,
    pub(crate) releases: u32,
}

/// Who uses a lock.
#[derive(Default)]
pub(crate) struct LockUse {
    pub(crate) users: Vec<Use>,
    /// Whether some thread takes it as a reader.
    pub(crate) shared: bool,
}

/// What the first look found.
#[derive(Default)]
pub(crate) struct Census {
    /// Users of each lock, in the order of their first acquire.
    pub(crate) locks: Vec<LockUse>,
    /// Place of a (lock, thread) among the lock's users.
    places: HashMap<(u32, u32), u32, foldhash::fast::FixedState>,
    /// First thread to touch each variable, and what came later.
    owners: Vec<Owner>,
    /// Variables that several threads touch and some write.
    conflicting: Bits,
}

#[derive(Clone, Copy)]
struct Owner {
    /// The thread + 1; 0 for none.
    thread: u32,
    shared: bool,
    written: bool,
}

impl Census {
    pub(crate) fn take<F: Feed + ?Sized>(feed: &mut F) -> Result<Census, Error> {
        let mut census = Census::default();
        feed.feed(&mut census)?;
        for (variable, owner) in std::mem::take(&mut census.owners).iter().enumerate() {
            if owner.shared && owner.written {
                census.conflicting.insert(variable);
            }
        }
        Ok(census)
    }

    /// Whether any two accesses of the variable conflict.
    #[inline]
    pub(crate) fn conflicts(&self, variable: usize) -> bool {
        self.conflicting.contains(variable)
    }

    /// The place of `thread` among the users of `lock`.
    #[inline]
    pub(crate) fn place(&self, lock: u32, thread: u32) -> u32 {
        self.places[&(lock, thread)]
    }

    fn user(&mut self, lock: u32, thread: u32) -> &mut Use {
        let users = &mut self.locks[lock as usize].users;
        let place = *self.places.entry((lock, thread)).or_insert_with(|| {
            users.push(Use { thread, acquires: 0, releases: 0 });
            users.len() as u32 - 1
        });
        &mut users[place as usize]
    }
}

impl Pass for Census {
    fn prepare(&mut self, conflicting: Option<&[bool]>) -> bool {
        let known = conflicting.into_iter().flatten().enumerate().filter(|(_, conflicts)| **conflicts);
        known.for_each(|(variable, _)| self.conflicting.insert(variable));
        conflicting.is_none()
    }

    fn grow(&mut self, tables: &Tables) {
        self.locks.resize_with(self.locks.len().max(tables.locks.len()), LockUse::default);
        let variables = self.owners.len().max(tables.variables.len());
        self.owners.resize(variables, Owner { thread: 0, shared: false, written: false });
    }

    #[inline]
    fn access(&mut self, access: Access) -> bool {
        let owner = &mut self.owners[access.variable];
        let thread = access.thread as u32 + 1;
        owner.shared |= owner.thread != 0 && owner.thread != thread;
        owner.thread = thread;
        owner.written |= access.write;
        false
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        let event = sync.event;
        let thread = event.thread.cell();
        match event.op {
            Op::Acquire => self.user(event.object, thread).acquires += 1,
            Op::SharedAcquire => {
                self.user(event.object, thread).acquires += 1;
                self.locks[event.object as usize].shared = true;
            }
            Op::Release | Op::SharedRelease => self.user(event.object, thread).releases += 1,
            _ => {}
        }
    }
}
