//! What every hook does first and last.

use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use mayhap_wire::ring::{SiteKind, Tag};

use crate::replay::{self, Go};
use crate::tls::{self, Thread};
use crate::{access, calls, gate, ring, sched, signals, sites, threads};

pub(crate) static RECORDING: AtomicBool = AtomicBool::new(false);

/// A ring is in use and somebody reads it.
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

/// A hook under way in a thread that holds the token. Dropped, it ends the hook; the token stays with the thread.
pub(crate) struct Hook {
    thread: &'static Thread,
    /// The thread came from code without hooks and goes back there, with nothing left to be done.
    outside: bool,
}

impl Drop for Hook {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        if self.outside {
            sched::go_outside(self.thread);
        } else {
            sched::arm(self.thread);
        }
        compiler_fence(Ordering::SeqCst);
        self.thread.busy.store(0, Ordering::Relaxed);
        signals::deliver(self.thread);
    }
}

impl Hook {
    #[inline(always)]
    fn of(thread: &'static Thread) -> Hook {
        Hook { thread, outside: false }
    }

    /// Begins a hook: gets the token if need be. `None` where nothing is to be recorded.
    #[inline(always)]
    pub(crate) fn enter() -> Option<Hook> {
        Hook::enter_if(true)
    }

    /// [`Self::enter`] where `may_pass` says whether the token may pass to another thread before what is announced.
    #[inline(always)]
    pub(crate) fn enter_if(may_pass: bool) -> Option<Hook> {
        let Some(thread) = tls::active() else { return first_hook() };
        if thread.busy.load(Ordering::Relaxed) != 0 {
            return interrupted();
        }
        if begin(thread) {
            return slow(thread, may_pass);
        }
        Some(Hook::of(thread))
    }

    /// [`Self::enter_if`] for a plain access. A replay wants to know what it is; it takes the slow path always.
    #[inline(always)]
    pub(crate) fn enter_access(may_pass: bool, kind: u8, pc: u64, address: u64) -> Option<Hook> {
        let Some(thread) = tls::active() else {
            let hook = first_hook()?;
            replay::gate(hook.thread, kind, pc, address);
            return Some(hook);
        };
        if thread.busy.load(Ordering::Relaxed) != 0 {
            return interrupted();
        }
        if begin(thread) {
            return slow_access(thread, may_pass, kind, pc, address);
        }
        Some(Hook::of(thread))
    }

    /// [`Self::enter`] for what a replay must hold back before it is done. The record that follows is then not held back
    /// again.
    pub(crate) fn enter_for(tag: Tag, pc: u64, object: u64) -> Option<(Hook, Go)> {
        let hook = Hook::enter()?;
        let go = replay::gate(hook.thread, tag as u8, pc, object);
        Some((hook, go))
    }

    /// [`Self::enter`] for functions that the runtime and the C library also call for themselves inside other hooks: that
    /// is no lost event. What they do is done when the hook ends.
    #[inline(always)]
    pub(crate) fn enter_outermost() -> Option<Hook> {
        let Some(thread) = tls::active() else { return Hook::enter() };
        if thread.busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        let outside = thread.outside.load(Ordering::Relaxed) != 0;
        let mut hook = Hook::enter()?;
        hook.outside = outside;
        Some(hook)
    }

    /// What was announced is still to be done when the hook ends.
    pub(crate) fn announces(&mut self) {
        self.outside = false;
    }

    /// The thread the hook runs in.
    #[inline(always)]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.thread
    }

    /// The number of the interposed function's call site.
    pub(crate) fn site(&self, pc: u64) -> u32 {
        // SAFETY: a hook holds the token.
        unsafe { sites::number(pc, SiteKind::Other, 0) }
    }

    /// Records something other than a plain access.
    pub(crate) fn record(&self, tag: Tag, pc: u64, following: &[u64]) {
        if replay::active() {
            self.follow(tag, pc, following);
        }
        let site = self.site(pc);
        // SAFETY: a hook holds the token.
        unsafe {
            access::put_branch(self.thread);
            // Memory and what is no event have no stack.
            if !matches!(tag, Tag::Alloc | Tag::Renew | Tag::Input | Tag::Failed) {
                calls::tell(self.thread);
            }
            ring::record(tag, site, following);
        }
    }

    /// What a replay makes of a record: it is held back, unless it was before what it tells of.
    #[cold]
    fn follow(&self, tag: Tag, pc: u64, following: &[u64]) {
        let object = following.first().copied().unwrap_or(0);
        match tag {
            Tag::Alloc => replay::allocated(self.thread, pc, object),
            Tag::Renew
            | Tag::BarrierInit
            | Tag::WaitBegin
            | Tag::Woken
            | Tag::Fence
            | Tag::Failed
            | Tag::Input
            | Tag::Tried => {}
            // What Rust's library tells is a step where it had a hook of its own, and nothing where it had not.
            Tag::StdLocked | Tag::StdUnlocked | Tag::Parked | Tag::ScopeLeft
                if !replay::is_next(self.thread, tag as u8, pc, object) => {}
            _ if self.thread.gated.swap(0, Ordering::Relaxed) == tag as u32 => {}
            _ => drop(replay::gate(self.thread, tag as u8, pc, object)),
        }
    }

    /// Runs a call that may block without the token, and has the token again afterwards.
    pub(crate) fn blocking<R>(&self, call: impl FnOnce() -> R) -> R {
        self.suspend();
        let result = call();
        self.resume();
        result
    }

    /// Gives the token up before a call that may block. Until [`Self::resume`], hooks of this thread are on their own.
    pub(crate) fn suspend(&self) {
        self.thread.announced.store(0, Ordering::Relaxed);
        replay::in_call(self.thread, true);
        sched::leave(self.thread);
        self.thread.busy.store(0, Ordering::Relaxed);
        signals::deliver(self.thread);
    }

    /// Gets the token back.
    pub(crate) fn resume(&self) {
        self.thread.busy.store(1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let gated = self.thread.gated.load(Ordering::Relaxed);
        sched::ensure(self.thread, true);
        self.thread.gated.store(gated, Ordering::Relaxed);
        replay::in_call(self.thread, false);
    }

    /// Lets the schedule pass the token on after synchronisation.
    pub(crate) fn sync_point(&self) {
        sched::sync_point(self.thread);
    }
}

/// Begins a hook of the thread; whether it must ask the scheduler.
#[inline(always)]
fn begin(thread: &'static Thread) -> bool {
    // The order of these matters to `watch`, and to a signal handler.
    thread.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    gate::close();
    thread.outside.store(0, Ordering::Relaxed);
    let left = thread.left.load(Ordering::Relaxed) - 1;
    thread.left.store(left, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    left <= 0
        || ring::head() >= thread.slice_end.load(Ordering::Relaxed)
        || sched::OWNER.load(Ordering::Relaxed) != thread.owner.load(Ordering::Relaxed)
}

#[cold]
#[inline(never)]
fn slow_access(thread: &'static Thread, may_pass: bool, kind: u8, pc: u64, address: u64) -> Option<Hook> {
    let hook = slow(thread, may_pass)?;
    replay::gate(thread, kind, pc, address);
    Some(hook)
}

/// Runs `f`, which may take the scheduler's lock, so that no signal handler finds it taken.
pub(crate) fn while_busy(thread: &Thread, f: impl FnOnce()) {
    thread.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    f();
    compiler_fence(Ordering::SeqCst);
    thread.busy.store(0, Ordering::Relaxed);
    signals::deliver(thread);
}

/// The calling thread leaves whatever hook it is in and will not come back: it was cancelled, or a signal handler jumps.
pub(crate) fn abandon(thread: &Thread) {
    if thread.busy.load(Ordering::Relaxed) != 0 {
        // Of accesses that it was announcing together some may be told and others not, which hooks in the code would not notice.
        gate::lock();
        ring::seal();
        sched::withdraw(thread);
        thread.busy.store(0, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn slow(thread: &'static Thread, may_pass: bool) -> Option<Hook> {
    let hook = Hook::of(thread);
    if !is_recording() {
        return None;
    }
    sched::ensure(thread, may_pass);
    is_recording().then_some(hook)
}

/// A thread without a record: either nothing is recorded, or it has finished, or the runtime sees it for the first time.
#[cold]
#[inline(never)]
fn first_hook() -> Option<Hook> {
    if !is_recording() || !tls::is_new() {
        return None;
    }
    let hook = Hook::of(threads::adopt()?);
    sched::ensure(hook.thread, true);
    threads::begin(hook.thread);
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
