//! Runs `src/protocol.rs` under the interleavings of two threads, one signal and the watchdog, by `loom`.
//!
//! **What is modelled.** The *holder* begins with the token and an open fast path. It runs an inline hook, makes the access that the
//! hook announced, shows in one of three ways that it has gone on ([`Pause`]), and runs a second hook with its access. A signal
//! interrupts it once, at every instruction boundary in turn; the handler runs a hook and an access too. The *waiter* is the watchdog: it
//! tries to take the token, and if it gets it, records and accesses, then gives the token back.
//!
//! **What is checked.** The ring must hold exactly the accesses that were made, each once, in the order in which they were made; and
//! no two threads may write the ring without the one's writes happening before the other's, which `loom` checks at each cell.
//!
//! **How much is explored.** Without a signal, all interleavings, or those with up to four preemptions where the watchdog looks twice.
//! With a signal at each of the holder's instruction boundaries in turn: those with up to two preemptions for both hooks, and
//! up to three for each hook alone ([`Stretch`], [`preemptions`]). So with a signal the exploration is not complete: an error that
//! needs four switches of threads at the wrong moments, besides the signal, would be missed. The test prints the counts.
//!
//! **What is assumed.** A light and a heavy fence together order as two sequentially consistent fences do, as in C++'s proposal for
//! asymmetric fences (P1202). Between two instructions of an inline hook, which is assembly, the compiler moves nothing: each boundary
//! is a light fence. `loom` treats light fences of two threads as a pair too, which the protocol does not rely on: the token passes
//! between threads under a lock.

#[path = "../src/protocol.rs"]
#[allow(dead_code, missing_docs, reason = "the model uses what it needs of the runtime's file")]
mod protocol;

/// What the protocol is built from in the model.
mod sync {
    use std::cell::Cell;

    use loom::sync::atomic::fence;
    pub(crate) use loom::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

    thread_local! {
        /// The heavy fence does nothing: a planted bug. `loom` runs all threads of a model on one.
        pub(crate) static NO_HEAVY_FENCE: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn light_fence() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy_fence() -> bool {
        if !NO_HEAVY_FENCE.get() {
            fence(Ordering::SeqCst);
        }
        true
    }
}

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};
use protocol::{EXAMINED, HEAD_INVALID, Observed, Progress, Stopped, Words};
use sync::{AtomicI64, AtomicU32, AtomicU64, Ordering, heavy_fence, light_fence};

/// How the holder shows that it has gone on since its first hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pause {
    /// It sleeps in the kernel.
    Sleeps,
    /// It computes for a while, in a loop whose hooks are chained.
    Computes,
    /// It leaves instrumented code.
    Leaves,
}

/// What the holder does. A signal doubles its steps, so one hook alone can be explored further than both.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stretch {
    /// It runs both hooks, with the pause between them.
    Whole,
    /// It runs the first hook and pauses.
    UpToPause,
    /// The first hook and its access are done. It pauses and runs the second hook.
    FromPause,
}

/// A bug in the protocol, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    Nothing,
    /// The watchdog closes the fast path but does not invalidate the head.
    NoInvalidation,
    /// The watchdog does not look at the holder again after it has marked the token as examined.
    NoSecondLook,
    /// The watchdog's fences do nothing.
    NoHeavyFence,
    /// The watchdog counts CPU time that the holder used before its fast hooks were stopped.
    EarlierEvidence,
    /// A hook that a signal has interrupted continues where it was.
    NoRestart,
    /// A hook does not clear the mark of a thread outside instrumented code.
    StaysOutside,
}

/// The words that a thread itself writes.
struct Own {
    number: AtomicU32,
    left: AtomicI64,
    slices: AtomicU32,
    busy: AtomicU32,
    outside: AtomicU32,
}

impl Own {
    fn new(number: u32, busy: u32) -> Own {
        let word = AtomicU32::new;
        Own { number: word(number), left: AtomicI64::new(100), slices: word(1), busy: word(busy), outside: word(0) }
    }

    fn observed(&self) -> Observed<'_> {
        let Own { number, left, slices, busy, outside } = self;
        Observed { number, left, slices, busy, outside }
    }
}

const HOLDER: u32 = 1;
const WAITER: u32 = 2;
/// The threads' pointers.
const HOLDER_POINTER: u64 = 0x1000;
const WAITER_POINTER: u64 = 0x2000;

/// Everything that the threads share.
struct Shared {
    fast_path: AtomicU64,
    head: AtomicU64,
    token: AtomicU32,
    holder: Own,
    waiter: Own,
    ring: [UnsafeCell<u32>; 8],
    /// The program's memory that all accesses go to.
    memory: AtomicU32,
    /// What the kernel knows of the holder: it sleeps, or how long it has run.
    asleep: AtomicU32,
    computed: AtomicU32,
    /// The scheduler's lock, and the sign that the token was given back.
    lock: Mutex<()>,
    free: Condvar,
    /// The accesses in the order in which they were made. Not part of the model: it orders nothing.
    accesses: std::sync::Mutex<Vec<u32>>,
}

impl Shared {
    fn new(stretch: Stretch) -> Shared {
        let is_begun = stretch == Stretch::FromPause;
        Shared {
            fast_path: AtomicU64::new(HOLDER_POINTER),
            head: AtomicU64::new(u64::from(is_begun)),
            token: AtomicU32::new(HOLDER),
            holder: Own::new(HOLDER, 0),
            // It is in a hook, and waits for the token.
            waiter: Own::new(WAITER, 1),
            ring: std::array::from_fn(|at| UnsafeCell::new(u32::from(is_begun && at == 0))),
            memory: AtomicU32::new(0),
            asleep: AtomicU32::new(0),
            computed: AtomicU32::new(0),
            lock: Mutex::new(()),
            free: Condvar::new(),
            accesses: std::sync::Mutex::new(if is_begun { vec![1] } else { Vec::new() }),
        }
    }

    fn words(&self) -> Words<'_> {
        Words { fast_path: &self.fast_path, head: &self.head, token: &self.token }
    }

    fn put(&self, at: u64, event: u32) {
        // SAFETY: `loom` checks that no other thread accesses the cell meanwhile.
        self.ring[at as usize].with_mut(|cell| unsafe { *cell = event });
    }

    /// Moves the ring's head. Hooks do that by a plain store; `loom` does not know the order of a store and of another thread's
    /// read-modify-write that read an older value, and an exchange writes the same.
    fn commit(&self, head: u64) {
        self.head.swap(head, Ordering::Release);
    }

    fn access(&self, event: u32) {
        self.memory.store(event, Ordering::Relaxed);
        self.accesses.lock().unwrap().push(event);
    }

    /// Both threads have ended: the ring must tell what happened.
    fn check(&self) {
        let accesses = self.accesses.lock().unwrap();
        let units = protocol::units(&self.head) as usize;
        // SAFETY: no thread is left.
        let recorded: Vec<u32> = self.ring[..units].iter().map(|cell| cell.with(|cell| unsafe { *cell })).collect();
        let sorted = |events: &[u32]| {
            let mut events = events.to_vec();
            events.sort_unstable();
            events
        };
        assert_eq!(sorted(&recorded), sorted(&accesses), "events are lost or recorded twice");
        // A handler's accesses may come between a hook and its access: the order within one thread is not compared.
        let before_waiter = |events: &[u32]| sorted(events.split(|event| *event == WAITER_EVENT).next().unwrap_or(&[]));
        assert_eq!(
            before_waiter(&recorded),
            before_waiter(&accesses),
            "the recorded order is not that of the accesses"
        );
    }
}

/// A thread of the program.
struct Runner<'a> {
    shared: &'a Shared,
    own: &'a Own,
    pointer: u64,
    /// The head as the last hook left it in a register.
    kept: Option<u64>,
    handlers: u32,
    /// Its called hooks open the fast path when they end. Those that compilers call for plain accesses do not.
    opens: bool,
    /// The instruction boundary at which the signal comes, counted from 1, and the one that the thread has come to.
    signal_at: usize,
    boundary: usize,
    planted: Planted,
}

/// What the handler and the waiter record.
const HANDLER_EVENT: u32 = 100;
const WAITER_EVENT: u32 = 10;

impl Runner<'_> {
    /// The boundary between two instructions; says whether a signal handler ran there.
    fn boundary(&mut self) -> bool {
        light_fence();
        self.boundary += 1;
        if self.boundary != self.signal_at {
            return false;
        }
        let outside = protocol::handler_begins(self.shared.words(), self.own.observed(), self.pointer);
        self.handlers += 1;
        self.outlined_hook(HANDLER_EVENT);
        self.handlers -= 1;
        protocol::handler_ends(self.shared.words(), self.own.observed(), self.pointer, outside);
        true
    }

    /// A boundary inside an inline hook before its commit; says whether the hook begins again.
    fn begins_again(&mut self) -> bool {
        self.boundary() && self.planted != Planted::NoRestart
    }

    /// An inline hook and the access that it announces. A chained one takes the head from the register.
    fn inline_hook(&mut self, event: u32, is_chained: bool) {
        let shared = self.shared;
        let head = loop {
            if self.begins_again() {
                continue;
            }
            if !is_chained && shared.fast_path.load(Ordering::Acquire) != self.pointer {
                return self.outlined_hook(event);
            }
            if self.begins_again() {
                continue;
            }
            let head = shared.head.load(Ordering::Acquire);
            let may_continue = if is_chained { self.kept == Some(head) } else { head & HEAD_INVALID == 0 };
            if !may_continue {
                return self.outlined_hook(event);
            }
            if self.begins_again() {
                continue;
            }
            shared.put(head, event);
            if self.begins_again() {
                continue;
            }
            break head;
        };
        shared.commit(head + 1);
        self.kept = Some(head + 1);
        self.boundary();
        shared.access(event);
    }

    /// A hook that is called, and the access that it announces. Signals wait while the thread is busy.
    fn outlined_hook(&mut self, event: u32) {
        let left = self.own.left.load(Ordering::Relaxed) - 1;
        let outside = self.own.outside.load(Ordering::Relaxed);
        protocol::begin_hook(&self.shared.fast_path, self.own.observed(), self.pointer, left);
        if self.planted == Planted::StaysOutside {
            self.own.outside.store(outside, Ordering::Relaxed);
        }
        if self.shared.token.load(Ordering::Relaxed) != self.number() {
            self.gain();
        }
        self.record(event);
        self.boundary();
        self.shared.access(event);
    }

    fn number(&self) -> u32 {
        self.own.number.load(Ordering::Relaxed)
    }

    /// Writes the ring and ends the hook. The thread holds the token.
    fn record(&mut self, event: u32) {
        let shared = self.shared;
        let head = protocol::units(&shared.head);
        shared.put(head, event);
        shared.commit(head + 1);
        // What the runtime's hooks leave in the register is no head.
        self.kept = None;
        protocol::end_hook(self.own.observed(), || {
            if self.opens && self.handlers == 0 {
                protocol::open(&shared.fast_path, self.pointer);
            }
        });
    }

    /// Waits for the token.
    fn gain(&self) {
        let mut guard = self.shared.lock.lock().unwrap();
        loop {
            match self.shared.token.load(Ordering::Relaxed) {
                0 => break self.shared.token.store(self.number(), Ordering::Release),
                // It was being examined, and has kept the token.
                owner if owner == self.number() => break,
                _ => guard = self.shared.free.wait(guard).unwrap(),
            }
        }
    }

    /// Gives the token up.
    fn leave(&self) {
        let guard = self.shared.lock.lock().unwrap();
        self.shared.token.store(0, Ordering::Release);
        self.shared.free.notify_all();
        drop(guard);
    }
}

fn run_holder(shared: &Shared, pause: Pause, stretch: Stretch, signal_at: usize, planted: Planted) -> usize {
    let own = &shared.holder;
    let (pointer, opens) = (HOLDER_POINTER, pause != Pause::Leaves);
    let kept = (stretch == Stretch::FromPause).then_some(1);
    let mut holder = Runner { shared, own, pointer, kept, handlers: 0, opens, signal_at, boundary: 0, planted };
    if stretch != Stretch::FromPause {
        holder.inline_hook(1, false);
    }
    holder.boundary();
    match pause {
        Pause::Sleeps => {
            shared.asleep.store(1, Ordering::SeqCst);
            // The kernel passes a barrier when it wakes a thread, also for a signal.
            shared.asleep.swap(0, Ordering::SeqCst);
            light_fence();
        }
        Pause::Computes => shared.computed.store(1, Ordering::Release),
        Pause::Leaves => protocol::leave_code(&shared.fast_path, own.observed(), HOLDER_POINTER),
    }
    if stretch != Stretch::UpToPause {
        holder.inline_hook(2, pause == Pause::Computes);
    }
    holder.boundary
}

/// Tries to take the token as the watchdog does, or as one with a planted bug would.
fn revoke(shared: &Shared, planted: Planted, has_gone_on: impl FnOnce(Progress, Stopped) -> bool) -> bool {
    let (words, holder) = (shared.words(), shared.holder.observed());
    let no_invalidation = match planted {
        Planted::NoInvalidation => true,
        Planted::NoSecondLook => false,
        _ => return protocol::revoke(words, holder, has_gone_on),
    };
    if holder.busy.load(Ordering::Relaxed) != 0 || holder.outside.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let stopped = if no_invalidation {
        let closed = protocol::close_to_all(words.fast_path);
        heavy_fence();
        if closed { Stopped::Now } else { Stopped::Before }
    } else {
        protocol::stop_fast_hooks(words).unwrap()
    };
    let before = protocol::progress(words, holder);
    if !has_gone_on(before, stopped) {
        return false;
    }
    words.token.store(EXAMINED, Ordering::SeqCst);
    heavy_fence();
    if no_invalidation && !protocol::is_unmoved(words, holder, false, before) {
        let head_is_valid = !protocol::is_head_invalid(words.head);
        let unmoved = head_is_valid
            && holder.busy.load(Ordering::SeqCst) == 0
            && words.fast_path.load(Ordering::SeqCst) == 0
            && protocol::progress(words, holder) == before;
        if !unmoved {
            words.token.store(HOLDER, Ordering::SeqCst);
            return false;
        }
    }
    true
}

/// The first in the queue: examines the holder, and runs if it gets the token.
fn run_waiter(shared: &Shared, pause: Pause, planted: Planted) -> bool {
    let guard = shared.lock.lock().unwrap();
    let taken = match pause {
        Pause::Sleeps => revoke(shared, planted, |_, _| shared.asleep.load(Ordering::SeqCst) == 1),
        Pause::Leaves => revoke(shared, planted, |_, _| false),
        Pause::Computes => {
            // CPU time is evidence if it was used since the holder was first seen with the same progress and stopped hooks.
            let mut seen = None;
            let mut examine = || {
                revoke(shared, planted, |progress, stopped| {
                    let computed = shared.computed.load(Ordering::Acquire);
                    let is_earlier = stopped == Stopped::Before || planted == Planted::EarlierEvidence;
                    if is_earlier
                        && let Some((progress_then, computed_then)) = seen
                        && progress == progress_then
                    {
                        return computed != computed_then;
                    }
                    seen = Some((progress, computed));
                    false
                })
            };
            examine() || examine()
        }
    };
    if taken {
        shared.token.store(WAITER, Ordering::Release);
    }
    drop(guard);
    if taken {
        let own = &shared.waiter;
        let pointer = WAITER_POINTER;
        let (signal_at, boundary) = (0, 0);
        let mut waiter =
            Runner { shared, own, pointer, kept: None, handlers: 0, opens: false, signal_at, boundary, planted };
        waiter.record(WAITER_EVENT);
        light_fence();
        shared.access(WAITER_EVENT);
        waiter.leave();
    }
    taken
}

/// What a run of the model has seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    interleavings: usize,
    /// In how many of them the waiter got the token.
    taken: usize,
    /// How many instruction boundaries the holder has at most.
    boundaries: usize,
}

/// How often a thread may be preempted in the interleavings that are explored; `None`: all interleavings. More would take longer than a
/// test may: each further preemption makes about six times as many. `MAYHAP_PREEMPTIONS=all` or a number explores more.
fn preemptions(pause: Pause, stretch: Stretch, signal_at: usize) -> Option<usize> {
    match (std::env::var("MAYHAP_PREEMPTIONS"), pause, stretch) {
        (Ok(bound), ..) => bound.parse().ok(),
        (Err(_), Pause::Computes, Stretch::Whole) if signal_at == 0 => Some(4),
        (Err(_), ..) if signal_at == 0 => None,
        // Where the holder computes, the watchdog looks twice.
        (Err(_), Pause::Computes, _) | (Err(_), _, Stretch::Whole) => Some(2),
        (Err(_), ..) => Some(3),
    }
}

/// Explores the interleavings with the signal at one boundary of the holder; 0: no signal.
fn explore(pause: Pause, stretch: Stretch, signal_at: usize, planted: Planted) -> Seen {
    let counts: Arc<[AtomicUsize; 3]> = Arc::default();
    let seen = counts.clone();
    sync::NO_HEAVY_FENCE.set(planted == Planted::NoHeavyFence);
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.preemption_bound = preemptions(pause, stretch, signal_at);
    builder.check(move || {
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        // `loom` runs the threads of a model on one.
        let shared = Rc::new(Shared::new(stretch));
        let waiter = {
            let (shared, seen) = (shared.clone(), seen.clone());
            loom::thread::spawn(move || {
                if run_waiter(&shared, pause, planted) {
                    seen[1].fetch_add(1, relaxed);
                }
            })
        };
        let boundaries = run_holder(&shared, pause, stretch, signal_at, planted);
        waiter.join().unwrap();
        shared.check();
        seen[0].fetch_add(1, relaxed);
        seen[2].fetch_max(boundaries, relaxed);
    });
    let [interleavings, taken, boundaries] =
        [0, 1, 2].map(|nth: usize| counts[nth].load(std::sync::atomic::Ordering::Relaxed));
    Seen { interleavings, taken, boundaries }
}

/// Explores one way to pause without a signal, and each stretch with a signal at each boundary of the holder.
fn explore_all(pause: Pause) {
    let quiet = explore(pause, Stretch::Whole, 0, Planted::Nothing);
    assert!(quiet.taken > 0, "the waiter never got the token");
    let most = |signal_at, stretch| match preemptions(pause, stretch, signal_at) {
        Some(bound) => format!("with up to {bound} preemptions"),
        None => "which are all".to_string(),
    };
    println!("{pause:?}: {} interleavings, {}", quiet.interleavings, most(0, Stretch::Whole));
    for stretch in [Stretch::Whole, Stretch::UpToPause, Stretch::FromPause] {
        let (mut interleavings, mut boundaries, mut signal_at) = (0, 1, 1);
        while signal_at <= boundaries {
            let seen = explore(pause, stretch, signal_at, Planted::Nothing);
            interleavings += seen.interleavings;
            boundaries = boundaries.max(seen.boundaries);
            signal_at += 1;
        }
        let most = most(1, stretch);
        println!("{pause:?}, signal, {stretch:?}: {interleavings} interleavings at {boundaries} boundaries, {most}");
    }
}

#[test]
fn order_is_kept_when_the_holder_sleeps() {
    explore_all(Pause::Sleeps);
}

#[test]
fn order_is_kept_when_the_holder_computes() {
    explore_all(Pause::Computes);
}

#[test]
fn order_is_kept_when_the_holder_leaves_instrumented_code() {
    explore_all(Pause::Leaves);
}

/// The model must find this bug in one of the situations.
fn finds(planted: Planted, situations: impl IntoIterator<Item = (Pause, usize)>) {
    for (pause, signal_at) in situations {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| explore(pause, Stretch::Whole, signal_at, planted))) {
            let text = panic.downcast_ref::<String>().map_or("", String::as_str).lines().next().unwrap_or("");
            return println!("{planted:?} is found when the holder {pause:?}, signal at {signal_at}: {text}");
        }
    }
    panic!("{planted:?} is not found");
}

#[test]
fn a_head_that_is_not_invalidated_is_found() {
    finds(Planted::NoInvalidation, [(Pause::Computes, 0)]);
}

#[test]
fn evidence_from_before_the_stop_is_found() {
    finds(Planted::EarlierEvidence, [(Pause::Computes, 0)]);
}

#[test]
fn a_missing_second_look_is_found() {
    finds(Planted::NoSecondLook, [(Pause::Sleeps, 0)]);
}

#[test]
fn a_missing_fence_is_found() {
    finds(Planted::NoHeavyFence, [(Pause::Sleeps, 0), (Pause::Computes, 0), (Pause::Leaves, 0)]);
}

#[test]
fn an_interrupted_hook_that_continues_is_found() {
    finds(Planted::NoRestart, (1..5).map(|signal_at| (Pause::Sleeps, signal_at)));
}

#[test]
fn a_hook_that_stays_outside_is_found() {
    finds(Planted::StaysOutside, [(Pause::Leaves, 0)]);
}
