//! `ReentrantLock` and `ReentrantReadWriteLock`: the locks of the shadow memory that stand for them.
//!
//! A thread takes the shadow's lock before the machine's, and gives it up before the machine's. So a thread never waits for the shadow's lock while it has the
//! machine's: an attempt that gets the machine's lock alone gives it back, and fails.
//!
//! A reader-writer lock has two locks in the shadow memory. Writers take the mutex of the block first, which no other thread takes, and then the reader-writer
//! lock after it. A thread that exchanges its write lock for a read lock gives up the second alone and takes it again for reading, while it still has the
//! mutex: no writer can come in between, in the program or in a reordering of it, and readers can.

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::library::Kind;
use crate::objects::Here;
use crate::pending::Pending;
use crate::runtime::how;
use crate::shadow::{self, FIELDS};

/// How often the thread that has a reader-writer lock for writing has it for reading, too: a word after the lock.
const READS: u64 = FIELDS + 56;

impl Here {
    pub(crate) fn before_lock(self, pending: &mut Pending, name: &str, limit: Option<u64>) {
        let Some(sync) = self.sync_of(pending.object, Kind::Lock) else { return };
        pending.block = sync;
        match name {
            "lock" | "lockInterruptibly" => self.enter(sync),
            "unlock" => self.exit(sync),
            "tryLock" => self.before_try(pending, limit, &|| self.try_enter(sync)),
            _ => {}
        }
    }

    pub(crate) fn before_rw(self, pending: &mut Pending, name: &str, limit: Option<u64>) {
        let Some(sync) = self.sync_of(pending.object, pending.kind) else { return };
        pending.block = sync;
        let writes = pending.kind == Kind::WriteLock;
        self.branch();
        match name {
            "lock" | "lockInterruptibly" => {
                self.lock_rw(sync, writes);
                pending.got = true;
            }
            "tryLock" => self.before_try(pending, limit, &|| self.try_rw(sync, writes)),
            "unlock" => self.unlock_rw(sync, writes),
            _ => {}
        }
    }

    /// Tries to take the shadow's lock, as long as the call may wait.
    fn before_try(self, pending: &mut Pending, limit: Option<u64>, attempt: &dyn Fn() -> bool) {
        pending.got = self.try_for(limit, attempt);
        if !pending.got {
            pending.object = self.jni.global(pending.object);
            if !self.takes_nothing() {
                (self.runtime.outside)();
            }
        }
    }

    /// Tries until it works or the time of the call is over: a thread that got the program's lock before its shadow would be in the way of another.
    pub(crate) fn try_for(self, limit: Option<u64>, attempt: &dyn Fn() -> bool) -> bool {
        let started = std::time::Instant::now();
        let mut pause = 200;
        loop {
            if attempt() {
                return true;
            }
            if limit.is_none_or(|limit| started.elapsed().as_nanos() >= limit.into()) {
                return false;
            }
            (self.runtime.outside)();
            std::thread::sleep(std::time::Duration::from_micros(pause));
            pause = (2 * pause).min(20_000);
        }
    }

    fn try_enter(self, block: u64) -> bool {
        if self.is_owner(block) {
            self.enter(block);
            return true;
        }
        self.branch();
        let got = (self.runtime.lock)(self.at(), how::TRY_LOCK, shadow::mutex(block)) == 0;
        if got {
            self.owns(block, 1);
        }
        got
    }

    /// The thread takes a reader-writer lock again that it has for writing; says whether it has it.
    fn takes_again(self, sync: u64, writes: bool) -> bool {
        let has = self.is_owner(sync);
        if has && writes {
            self.enter(sync);
        } else if has {
            shadow::word(sync + READS).fetch_add(1, Ordering::Relaxed);
        }
        has
    }

    fn lock_rw(self, sync: u64, writes: bool) {
        if self.takes_again(sync, writes) {
            return;
        }
        if writes {
            self.enter(sync);
        }
        (self.runtime.lock)(self.at(), if writes { how::WRITE_LOCK } else { how::READ_LOCK }, state(sync));
    }

    fn try_rw(self, sync: u64, writes: bool) -> bool {
        if self.takes_again(sync, writes) {
            return true;
        }
        if writes && !self.try_enter(sync) {
            return false;
        }
        let how = if writes { how::TRY_WRITE } else { how::TRY_READ };
        let got = (self.runtime.lock)(self.at(), how, state(sync)) == 0;
        if writes && !got {
            self.exit(sync);
        }
        got
    }

    pub(crate) fn unlock_rw(self, sync: u64, writes: bool) {
        let reads = shadow::word(sync + READS);
        match (self.is_owner(sync), writes) {
            (true, false) => {
                let left = reads.load(Ordering::Relaxed).saturating_sub(1);
                reads.store(left, Ordering::Relaxed);
            }
            (true, true) => {
                if shadow::owner(sync).1.load(Ordering::Relaxed) == 1 {
                    (self.runtime.lock)(self.at(), how::RW_UNLOCK, state(sync));
                    for _ in 0..reads.swap(0, Ordering::Relaxed) {
                        (self.runtime.lock)(self.at(), how::READ_LOCK, state(sync));
                    }
                }
                self.exit(sync);
            }
            (false, false) => {
                (self.runtime.lock)(self.at(), how::RW_UNLOCK, state(sync));
            }
            // The library throws an exception.
            (false, true) => {}
        }
    }

    /// An attempt has ended; says what it is to return to the program.
    pub(crate) fn after_try(self, pending: &Pending, result: bool) -> bool {
        if pending.got {
            match pending.kind {
                _ if result => {}
                Kind::Lock => self.exit(pending.block),
                kind => self.unlock_rw(pending.block, kind == Kind::WriteLock),
            }
            return result;
        }
        let has_both = result
            && match pending.kind {
                Kind::Lock => self.try_enter(pending.block),
                kind => self.try_rw(pending.block, kind == Kind::WriteLock),
            };
        if result && !has_both {
            // The thread that has the shadow's lock is about to take this one.
            let unlock = self.method(pending.object, c"unlock", c"()V");
            self.jni.call_void(pending.object, unlock, core::ptr::null());
        }
        self.jni.delete_global(pending.object);
        has_both
    }
}

/// The lock after the block's own, for what keeps the state of a reader-writer lock.
fn state(sync: u64) -> *mut c_void {
    (sync + FIELDS) as *mut c_void
}
