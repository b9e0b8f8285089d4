//! The runtime's record of one thread, grouped by who may write each part. Every thread may read all of it.
//!
//! All fields are atomics, because other threads read them at any time. The groups say which of them may be changed by a plain
//! load and store: those with one writer at a time.

use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use libc::c_void;
use mayhap_wire::ring::source;

use crate::calls::Calls;
use crate::protocol::Observed;
use crate::signals::Kept;
use crate::spinning::Loop;
use crate::values::Values;

/// The runtime's record of a thread. Records are used again for later threads, and their memory is never given back. Memory of
/// zeros is a valid record. Whatever its group, the creator resets a record before its next thread runs.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// The thread's numbers.
    pub(crate) identity: Identity,
    /// The state that only the thread itself changes, most of it at every hook.
    pub(crate) own: Own,
    /// The thread's place in the schedule that a replay follows.
    pub(crate) replay: Replay,
    /// The thread's place in the queue for the token.
    pub(crate) queue: Queue,
    /// The state that is guarded by the token.
    pub(crate) guarded: Guarded,
    /// The state that any thread may change at any time.
    pub(crate) shared: Shared,
    /// The work with which the thread begins.
    pub(crate) origin: Origin,
    /// The signals that wait for the end of the hook under way. Only the thread itself and its signal handlers write them.
    pub(crate) kept: Kept,
    /// The accesses whose values are recorded. Only the thread itself writes them.
    pub(crate) values: Values,
    /// The operations by which the thread may be waiting. Only the thread itself writes them.
    pub(crate) waiting: Loop,
    /// The functions that the thread is in. Only the thread itself writes them.
    pub(crate) calls: Calls,
}

impl Thread {
    /// The words that the watchdog reads.
    #[inline(always)]
    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed {
            number: &self.identity.owner,
            left: &self.own.left,
            slices: &self.own.slices,
            busy: &self.own.busy,
            outside: &self.own.outside,
        }
    }
}

/// **Written once**: the creator writes these before the thread runs its first hook, or the thread itself does when the runtime
/// first sees it.
#[repr(C)]
pub(crate) struct Identity {
    /// The thread's number in the scheduler: its number in the recording plus 1.
    pub(crate) owner: AtomicU32,
    /// The kernel's number of the thread.
    pub(crate) tid: AtomicU32,
}

/// **Written by the thread itself** and by no other thread. The hooks' fields share a cache line.
#[repr(C)]
pub(crate) struct Own {
    /// The hooks left in this slice; at 0 the thread asks the scheduler. It counts down at every hook, so it also shows progress.
    pub(crate) left: AtomicI64,
    /// The ring's head at which the slice ends.
    pub(crate) slice_end: AtomicU64,
    /// The basic block that was entered last, until the next record or access reports it; 0: none.
    pub(crate) branch: AtomicU64,
    /// Not 0: the thread is inside a hook.
    pub(crate) busy: AtomicU32,
    /// Not 0: all accesses that were announced are done, and the thread is in code without hooks.
    pub(crate) outside: AtomicU32,
    /// How many signal handlers the thread is in, one inside the other.
    pub(crate) handlers: AtomicU32,
    /// Not 0: the ring does not know yet in which functions the thread is (see [`crate::calls`]).
    pub(crate) unrecorded_frames: AtomicU32,
    /// How many slices the thread has begun.
    pub(crate) slices: AtomicU32,
    /// How many more hooks of a signal handler keep the token (see [`crate::signals`]).
    pub(crate) patience: AtomicU32,
    /// The ring's head right after a write of memory that was announced (see [`crate::access`]).
    pub(crate) announced: AtomicU64,
    /// The last read, as its word in the ring.
    pub(crate) repeat: AtomicU64,
    /// The ring's head right after [`Self::repeat`].
    pub(crate) repeat_at: AtomicU64,
    /// How often [`Self::repeat`] came in a row before.
    pub(crate) repeats: AtomicU32,
    /// Not 0: the slice ends because the thread repeats itself (see [`crate::spinning`]).
    pub(crate) spins: AtomicU32,
    /// How many more times the thread sleeps at once when it waits for the token, since that did not come soon.
    pub(crate) sleeps: AtomicU32,
    /// Not 0: the thread is in a function of Rust's library that calls others that the runtime stands in front of
    /// (see [`crate::rust`]).
    pub(crate) inside: AtomicU32,
    /// A word that a function of Rust's library under way changes unseen (see [`crate::rust`]).
    pub(crate) hidden: AtomicU64,
    /// Not 0: the thread is in a call of the C library outside of any hook. What the library does there for itself, such as allocating a stack,
    /// is not recorded: whether it does depends on the moment.
    pub(crate) quiet: AtomicU32,
    /// The innermost `pthread_once` under way (see [`crate::waits`]).
    pub(crate) once: AtomicPtr<c_void>,
    /// The word that the last raw futex call waited on (see [`crate::rust`]).
    pub(crate) futex: AtomicU64,
    /// The OpenMP team that the thread is in (see [`crate::openmp`]).
    pub(crate) team: AtomicPtr<c_void>,
    /// The OpenMP team whose threads this thread is starting; the creator gives a new thread its own.
    pub(crate) starts: AtomicPtr<c_void>,
    /// Not 0: a signal handler has come that ends the call in which the thread waits (see [`crate::channels`]).
    pub(crate) interrupted: AtomicU32,
    /// How many rounds of destructors have run (see [`crate::threads`]).
    pub(crate) rounds: AtomicU32,
    /// Not 0: the thread may be cancelled anywhere (see [`crate::cancelling`]).
    pub(crate) cancellable: AtomicU32,
    /// Where the stack ended when the program called the function that the thread waits in; 0 if it does not wait or that is not known. Kept
    /// where memory is judged (see [`crate::judge`]).
    pub(crate) stands: AtomicU64,
    /// Where the program called that function.
    pub(crate) stands_pc: AtomicU64,
    /// The stack pointer with which the program called a function of the C++ library that the thread is in; 0 if it is in none.
    pub(crate) library_call: AtomicU64,
    /// A function that the C++ library has called for the thread to make a promise ready when it has ended; 0 if there is none (see
    /// `exit_promises`).
    pub(crate) promises: AtomicU64,
}

/// **Written by the thread itself**, except where a field names others. Used in a replay only (see [`crate::replay`]).
#[repr(C)]
pub(crate) struct Replay {
    /// The thread's slot in the schedule plus 1; the creator writes it before the thread runs.
    pub(crate) thread_slot: AtomicU32,
    /// How many children the thread has created.
    pub(crate) children: AtomicU32,
    /// Whether the thread is in a step. **The watchdog clears it too**, when it takes the token from a thread that sleeps: both
    /// exchange it.
    pub(crate) in_step: AtomicU32,
    /// The step that the thread is in, plus 1.
    pub(crate) step: AtomicU32,
    /// Not 0: the hook under way is that step.
    pub(crate) at_step: AtomicU32,
    /// What the hook under way was held back as.
    pub(crate) held_back: AtomicU32,
    /// The step that the thread waits for, plus 1.
    pub(crate) waits_for: AtomicU32,
    /// Of each source, where the thread's next recorded answer may be at the earliest.
    pub(crate) inputs: [AtomicU32; source::COUNT],
}

/// **Written by any thread under the scheduler's lock**.
#[repr(C)]
pub(crate) struct Queue {
    /// Not 0: the token was handed to this thread.
    pub(crate) granted: AtomicU32,
    /// The thread's priority in the PCT schedule.
    pub(crate) priority: AtomicU32,
    /// The next thread in the queue.
    pub(crate) next: AtomicPtr<Thread>,
    /// Not 0: the thread is in the queue.
    pub(crate) queued: AtomicU32,
    /// Not 0: the thread has been in the queue. A futex word for the thread's creator.
    pub(crate) arrived: AtomicU32,
    /// Not 0: the thread has done its last step. The thread itself writes it, under the token.
    pub(crate) ended: AtomicU32,
    /// The object that the thread is parked on (see [`crate::sched::parking`]); 0 if it is not parked.
    pub(crate) parked_on: AtomicU64,
    /// When the thread's sleep ends, in nanoseconds of sleep that was skipped before; 0 if it does not sleep. The thread itself writes it, under the token.
    pub(crate) sleeps_until: AtomicU64,
    /// How many threads had parked before it did.
    pub(crate) parked_at: AtomicU64,
}

/// **Written by the holder of the token**, which may be another thread.
#[repr(C)]
pub(crate) struct Guarded {
    /// The program's handle of the thread (see [`crate::threads`]).
    pub(crate) pthread: AtomicUsize,
    /// The condition that the thread waits on in a replay.
    pub(crate) waits_on: AtomicUsize,
    /// Not 0: that condition was notified.
    pub(crate) notified: AtomicU32,
}

/// **Written by any thread at any time**, by atomic read-modify-writes.
#[repr(C)]
pub(crate) struct Shared {
    /// How far the thread's life has gone (see [`crate::threads`]).
    pub(crate) life: AtomicU32,
    /// A futex word that counts calls to look at the schedule again (see [`crate::replay`]).
    pub(crate) turn: AtomicU32,
    /// The next in the list of all threads. Written once, before the record is in the list.
    pub(crate) all_next: AtomicPtr<Thread>,
    /// The one before it in that list. Written once, after that one is in the list.
    pub(crate) all_newer: AtomicPtr<Thread>,
}

/// **Written by the creator** before the thread runs.
#[repr(C)]
pub(crate) struct Origin {
    /// The program's function that the thread runs.
    pub(crate) start: AtomicUsize,
    /// The argument of that function.
    pub(crate) argument: AtomicPtr<c_void>,
    /// The signals to block once the thread has its record.
    pub(crate) mask: AtomicU64,
    /// Of a thread of the program's own logic, the record of the thread that runs it.
    pub(crate) carrier: AtomicPtr<c_void>,
    /// Not 0: the thread's creation is recorded. A futex word.
    pub(crate) known: AtomicU32,
}
