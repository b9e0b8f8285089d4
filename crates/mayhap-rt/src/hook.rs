//! What every hook does first and last.

use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use mayhap_wire::ring::{SiteKind, Tag};

use crate::channels::services;
use crate::protocol;
use crate::replay::{self, Decision};
use crate::sched::{Grant, Token, parking};
use crate::thread::Thread;
use crate::tls;
use crate::{access, calls, fast_path, judge, ring, sched, signals, sites, threads, values};

pub(crate) static RECORDING: AtomicBool = AtomicBool::new(false);

/// Whether a ring is in use and a recorder reads it.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// From here on hooks record.
pub(crate) fn start() {
    RECORDING.store(true, Ordering::Release);
}

/// From here on hooks do nothing.
pub(crate) fn stop() {
    RECORDING.store(false, Ordering::Release);
}

/// A hook under way in a thread that holds the token. Dropping it ends the hook; the token stays with the thread.
pub(crate) struct Hook {
    thread: &'static Thread,
    grant: Grant,
    /// The thread came from code without hooks and returns there, and everything it announced is done.
    outside: bool,
}

impl Drop for Hook {
    #[inline(always)]
    fn drop(&mut self) {
        protocol::end_hook(self.thread.observed(), || {
            if self.outside {
                sched::go_outside(self.thread);
            } else {
                sched::arm(self.thread);
            }
        });
        signals::deliver(self.thread);
    }
}

impl Hook {
    #[inline(always)]
    fn of(thread: &'static Thread, grant: Grant) -> Hook {
        Hook { thread, grant, outside: false }
    }

    /// Begins a hook, and gets the token first if the thread does not hold it. `None` where nothing is to be recorded.
    #[inline(always)]
    pub(crate) fn enter() -> Option<Hook> {
        Hook::enter_if(true)
    }

    /// Does what [`Self::enter`] does; `may_pass` says whether the token may pass to another thread before the announced access.
    #[inline(always)]
    pub(crate) fn enter_if(may_pass: bool) -> Option<Hook> {
        let Some(thread) = tls::active() else { return first_hook() };
        if thread.own.busy.load(Ordering::Relaxed) != 0 {
            return interrupted();
        }
        match begin(thread) {
            Some(grant) => Some(Hook::of(thread, grant).after_announced(may_pass)),
            None => slow(thread, may_pass),
        }
    }

    /// Records the values of what was announced before, if it is done.
    #[inline(always)]
    fn after_announced(self, is_done: bool) -> Hook {
        if is_done {
            values::record(self.token(), self.thread);
        }
        self
    }

    /// Does what [`Self::enter_if`] does for a plain access. A replay must know the access; it always takes the slow path.
    #[inline(always)]
    pub(crate) fn enter_access(may_pass: bool, kind: u8, pc: u64, address: u64) -> Option<Hook> {
        let Some(thread) = tls::active() else {
            let hook = first_hook()?;
            replay::hold_back(hook.token(), hook.thread, kind, pc, address);
            return Some(hook);
        };
        if thread.own.busy.load(Ordering::Relaxed) != 0 {
            return interrupted();
        }
        match begin(thread) {
            Some(grant) => Some(Hook::of(thread, grant).after_announced(may_pass)),
            None => slow_access(thread, may_pass, kind, pc, address),
        }
    }

    /// Does what [`Self::enter`] does for an operation that a replay must hold back before it happens. The record that follows
    /// is then not held back again.
    pub(crate) fn enter_for(tag: Tag, pc: u64, object: u64) -> Option<(Hook, Decision)> {
        let hook = Hook::enter()?;
        let decision = replay::hold_back(hook.token(), hook.thread, tag as u8, pc, object);
        judge::operates(tag, object, pc);
        Some((hook, decision))
    }

    /// Does what [`Self::enter`] does for functions that the runtime and the C library also call for themselves inside other
    /// hooks: such a call is no lost event. When the hook ends, the function's work is done.
    #[inline(always)]
    pub(crate) fn enter_outermost() -> Option<Hook> {
        let Some(thread) = tls::active() else { return Hook::enter() };
        if (thread.own.busy.load(Ordering::Relaxed) | thread.own.quiet.load(Ordering::Relaxed)) != 0 {
            return None;
        }
        let outside = thread.own.outside.load(Ordering::Relaxed) != 0;
        let mut hook = Hook::enter()?;
        hook.outside = outside;
        Some(hook)
    }

    /// The thread goes to code without hooks when the hook ends, and everything it announced is done.
    pub(crate) fn ends_outside(&mut self) {
        self.outside = true;
    }

    /// The announced operation is still to be done when the hook ends.
    pub(crate) fn announces(&mut self) {
        self.outside = false;
    }

    /// The thread the hook runs in.
    #[inline(always)]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.thread
    }

    /// The proof that the thread holds the token, until the hook ends or blocks.
    #[inline(always)]
    pub(crate) fn token(&self) -> Token<'_> {
        self.grant.token()
    }

    /// The number of the interposed function's call site.
    pub(crate) fn site(&self, pc: u64) -> u32 {
        sites::number(self.token(), pc, SiteKind::Other, 0)
    }

    /// Records something other than a plain access.
    pub(crate) fn record(&self, tag: Tag, pc: u64, following: &[u64]) {
        if replay::active() {
            self.follow(tag, pc, following);
        }
        if judge::is_active() {
            judge::announces(tag, following, pc);
        }
        let site = self.site(pc);
        access::put_branch(self.token(), self.thread);
        if !matches!(tag, Tag::Alloc | Tag::Free | Tag::RangeRead | Tag::RangeWrite) {
            self.thread.values.want(values::AFTER_SYNC);
        }
        // Memory, inputs and failures are no events and have no stack.
        if !matches!(tag, Tag::Alloc | Tag::SemInit | Tag::Input | Tag::Channel | Tag::Open | Tag::SendEnd) {
            calls::record_frames(self.token(), self.thread);
        }
        ring::record(self.token(), tag, site, following);
        // Threads that wait for what is given up here can try again, once this thread has done it and passes the token on.
        let gives_up = matches!(
            tag,
            Tag::Release
                | Tag::AnyRelease
                | Tag::KeyedRelease
                | Tag::SemPost
                | Tag::OnceDone
                | Tag::StdUnlocked
                | Tag::Send
                | Tag::SendEnd
                | Tag::Receive
                | Tag::HangUp
        );
        if parking::is_on() && gives_up {
            parking::unpark(following.first().copied().unwrap_or(0), usize::MAX);
        }
    }

    /// Has a replay hold a record back, unless it held back the operation that the record is about.
    #[cold]
    fn follow(&self, tag: Tag, pc: u64, following: &[u64]) {
        let object = following.first().copied().unwrap_or(0);
        match tag {
            Tag::Alloc => replay::allocated(self.thread, pc, object),
            Tag::Renew if self.thread.replay.held_back.swap(0, Ordering::Relaxed) == tag as u32 => {}
            Tag::Renew
            | Tag::BarrierInit
            | Tag::WaitBegin
            | Tag::Woken
            | Tag::Fence
            | Tag::Failed
            | Tag::Blocked
            | Tag::SemInit
            | Tag::Input
            | Tag::Tried
            | Tag::Channel
            | Tag::Open
            | Tag::SendEnd
            | Tag::SignalSent
            | Tag::SignalTaken
            | Tag::Benign
            | Tag::Heeded
            | Tag::Futex
            | Tag::Doubt => {}
            Tag::Free if object == 0 => {}
            // Most mappings matter to no other thread and are no steps.
            Tag::Unmap if self.thread.replay.held_back.swap(0, Ordering::Relaxed) == tag as u32 => {}
            Tag::Unmap if !replay::is_next(self.thread, tag as u8, pc, object) => {}
            // What is found ready depends on how fast others are, and so may whether an initialisation is found done.
            Tag::Ready | Tag::OnceSeen if !replay::is_next(self.thread, tag as u8, pc, object) => {}
            // Rust's library reports these as steps where it had a separate hook, and not at all where it had none.
            Tag::StdLocked | Tag::StdUnlocked | Tag::Parked | Tag::ScopeLeft
                if !replay::is_next(self.thread, tag as u8, pc, object) => {}
            _ if self.thread.replay.held_back.swap(0, Ordering::Relaxed) == tag as u32 => {}
            _ => {
                replay::hold_back(self.token(), self.thread, tag as u8, pc, object);
                // The next record of this hook, of several ranges say, is another step.
                self.thread.replay.held_back.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Runs a call that may block without the token, and has the token again afterwards.
    pub(crate) fn blocking<R>(&mut self, call: impl FnOnce() -> R) -> R {
        judge::stands(self.thread);
        release(self.thread);
        let result = call();
        self.grant = reacquire(self.thread);
        judge::goes_on(self.thread);
        result
    }

    /// Where the seed decides all, waits for other threads to change `object` until `attempt` has a result. `None` if the thread must wait in the
    /// kernel: [`Self::blocking`] comes next then, since the token is gone. `limited`: the wait has a time limit.
    pub(crate) fn parked<R>(
        &mut self,
        object: u64,
        limited: bool,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if !parking::is_on() {
            return None;
        }
        self.thread.own.announced.store(0, Ordering::Relaxed);
        judge::stands(self.thread);
        let mut result = None;
        while result.is_none() && parking::park(self.thread, object, limited) {
            self.grant = sched::ensure(self.thread, sched::in_turns());
            result = attempt();
        }
        judge::goes_on(self.thread);
        result
    }

    /// Which of several alternatives is taken that something other than the order decides.
    pub(crate) fn choose(&self, kind: u32, alternatives: u32, usual: bool) -> u32 {
        sched::choose(self.token(), self.thread, kind, alternatives, usual)
    }

    /// Begins a further step, before which other threads may come.
    pub(crate) fn next_step(&mut self) {
        self.grant = sched::ensure(self.thread, true);
    }

    /// Runs a call of code without hooks that may wait by raw system calls. Where the seed decides all, those calls give the token up.
    pub(crate) fn waiting_inside<R>(&mut self, call: impl FnOnce() -> R) -> R {
        if parking::is_on() { self.exposed(call) } else { self.blocking(call) }
    }

    /// Runs a call that is not expected to block and keeps the token, so that what follows is recorded before anything of another thread.
    /// If the call blocks all the same, [`crate::watch`] takes the token away.
    pub(crate) fn exposed<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let thread = self.thread;
        let held_back = thread.replay.held_back.load(Ordering::Relaxed);
        thread.own.announced.store(0, Ordering::Relaxed);
        thread.own.busy.store(0, Ordering::Relaxed);
        signals::deliver(thread);
        let result = call();
        thread.own.busy.store(1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.grant = sched::ensure(thread, false);
        thread.replay.held_back.store(held_back, Ordering::Relaxed);
        result
    }

    /// Gives the token up before a call that may block and may end by unwinding. Until [`Suspended::resume`], the thread is in no
    /// hook.
    pub(crate) fn suspend(self) -> Suspended {
        // The hook does not end here: it has no token to arm the fast path with.
        let hook = ManuallyDrop::new(self);
        release(hook.thread);
        Suspended { thread: hook.thread }
    }

    /// Ends the hook and gives the token up.
    pub(crate) fn leave(self) {
        sched::leave(self.thread);
    }

    /// Ends the hook and lets all waiting threads go first.
    pub(crate) fn give_way(self) {
        judge::stands(self.thread);
        sched::give_way(self.token(), self.thread);
        judge::goes_on(self.thread);
    }

    /// Lets the schedule pass the token on after synchronisation.
    pub(crate) fn sync_point(&self) {
        sched::sync_point(self.token(), self.thread);
    }
}

/// A hook whose thread has given the token up for a call that may block.
pub(crate) struct Suspended {
    thread: &'static Thread,
}

impl Suspended {
    /// Gets the token back; the hook goes on.
    pub(crate) fn resume(self) -> Hook {
        Hook::of(self.thread, reacquire(self.thread))
    }
}

/// The thread gives the token up within a hook. Until [`reacquire`], its signal handlers have hooks.
fn release(thread: &'static Thread) {
    thread.own.announced.store(0, Ordering::Relaxed);
    replay::in_call(thread, true);
    sched::leave(thread);
    thread.own.busy.store(0, Ordering::Relaxed);
    signals::deliver(thread);
}

/// The thread gets the token back within a hook.
fn reacquire(thread: &'static Thread) -> Grant {
    thread.own.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let held_back = thread.replay.held_back.load(Ordering::Relaxed);
    let grant = sched::ensure(thread, true);
    thread.replay.held_back.store(held_back, Ordering::Relaxed);
    replay::in_call(thread, false);
    grant
}

/// Begins a hook of the thread; `None` if it must ask the scheduler for the token or for another slice.
#[inline(always)]
fn begin(thread: &'static Thread) -> Option<Grant> {
    let left = thread.own.left.load(Ordering::Relaxed) - 1;
    protocol::begin_hook(fast_path::owner(), thread.observed(), fast_path::own_pointer(), left);
    let must_ask = left <= 0
        || ring::head() >= thread.own.slice_end.load(Ordering::Relaxed)
        || sched::OWNER.load(Ordering::Relaxed) != thread.identity.owner.load(Ordering::Relaxed);
    // SAFETY: the thread is busy and has then found its own number in `OWNER`.
    if must_ask { None } else { Some(unsafe { Grant::assume() }) }
}

#[cold]
#[inline(never)]
fn slow_access(thread: &'static Thread, may_pass: bool, kind: u8, pc: u64, address: u64) -> Option<Hook> {
    // A thread that is cancelled anywhere unwinds from here. The personality function refuses that in a function with something to drop,
    // unless the compiler knows that the call may unwind; `abandon` ends the hook then.
    let hook = ManuallyDrop::new(slow(thread, may_pass)?);
    replay::hold_back(hook.token(), thread, kind, pc, address);
    Some(ManuallyDrop::into_inner(hook))
}

/// Runs `f`, which may take the scheduler's lock, so that no signal handler finds it taken.
pub(crate) fn while_busy(thread: &Thread, f: impl FnOnce()) {
    thread.own.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    f();
    compiler_fence(Ordering::SeqCst);
    thread.own.busy.store(0, Ordering::Relaxed);
    signals::deliver(thread);
}

/// The calling thread leaves any hook that it is in and will not come back: it was cancelled, or a signal handler jumps.
pub(crate) fn abandon(thread: &Thread) {
    judge::goes_on(thread);
    if thread.own.busy.load(Ordering::Relaxed) != 0 {
        // Some of the accesses that it was announcing together may be recorded and others not, which inline hooks would not notice.
        fast_path::lock();
        ring::invalidate_head();
        sched::withdraw(thread);
        thread.own.busy.store(0, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn slow(thread: &'static Thread, may_pass: bool) -> Option<Hook> {
    if !is_recording() {
        end_without_token(thread);
        return None;
    }
    let hook = Hook::of(thread, sched::ensure(thread, may_pass)).after_announced(may_pass);
    is_recording().then_some(hook)
}

/// Ends a hook that does not record.
fn end_without_token(thread: &'static Thread) {
    protocol::end_hook(thread.observed(), fast_path::close);
    signals::deliver(thread);
}

/// The hook of a thread without a record: nothing is recorded, or the thread has finished, or the runtime sees it for the first
/// time.
#[cold]
#[inline(never)]
fn first_hook() -> Option<Hook> {
    if !is_recording() || !tls::is_new() {
        return None;
    }
    let thread = threads::adopt()?;
    let hook = Hook::of(thread, sched::ensure(thread, true));
    threads::begin(hook.token(), thread);
    services::begins(&hook);
    Some(hook)
}

/// A signal handler interrupted another hook of this thread.
#[cold]
#[inline(never)]
fn interrupted() -> Option<Hook> {
    if let Some(header) = ring::header() {
        header.unrecorded.0.fetch_add(1, Ordering::Relaxed);
    }
    None
}
