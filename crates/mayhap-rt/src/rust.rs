//! Rust's standard library: what it does where no hook sees it.
//!
//! Programs bring `std` with them as compiled, without hooks. Of its locks they inline the fast paths, and those are seen as
//! atomic operations; the waiting is in functions of `std` itself. `mayhap cargo` has the linker put a few of these
//! functions to be called by the ones here (`--wrap`, through stubs it writes), which record what happened. Each gets the arguments of the
//! function it stands for, all of them integers and pointers in registers, and that function itself in the sixth.
//!
//! The raw `futex` system call, which `std` and others wait with, gives the token up like any other call that may block.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use libc::c_int;
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word, choice, futex, order};

use crate::channels::services;
use crate::hook::{self, Hook};
use crate::replay::{self, conditions as scheduled};
use crate::sched::{self, parking};
use crate::thread::Thread;
use crate::tls::{self, exports};
use crate::{blocking, sys};

/// The function of `std` that one of these stands for.
type Real = unsafe extern "C-unwind" fn(u64, u64, u64, u64, u64) -> u64;

exports! {
    mayhap_std_mutex_lock => mutex_lock;
    mayhap_std_rwlock_read => rwlock_read;
    mayhap_std_rwlock_write => rwlock_write;
    mayhap_std_condvar_wait => condvar_wait;
    mayhap_std_condvar_wait_timeout => condvar_wait_timeout;
    mayhap_std_condvar_notify_one => condvar_notify_one;
    mayhap_std_condvar_notify_all => condvar_notify_all;
    mayhap_std_once_call => once_call;
    mayhap_std_once_wait => once_wait;
    mayhap_std_barrier_wait => barrier_wait;
    mayhap_std_park => park;
    mayhap_std_scope_leave => scope_leave;
}

/// [`Hook::enter`], unless the library calls from inside another of these functions: those calls are an implementation detail.
fn enter() -> Option<Hook> {
    if tls::active().is_some_and(|thread| thread.own.inside.load(Ordering::Relaxed) != 0) {
        None
    } else {
        Hook::enter()
    }
}

/// Runs what the library does by means of other functions here.
fn inside<R>(thread: &Thread, call: impl FnOnce() -> R) -> R {
    thread.own.inside.store(1, Ordering::Relaxed);
    let result = call();
    thread.own.inside.store(0, Ordering::Relaxed);
    result
}

/// The slow path of a lock: blocks, and has the lock when it returns.
fn lock(lock: u64, (shared, is_mutex): (bool, bool), call: impl FnOnce() -> u64) -> u64 {
    let pc = tls::caller();
    let Some(mut hook) = enter() else { return call() };
    replay::refused(hook.thread(), Tag::StdLocked, pc, lock);
    replay::blocked(hook.thread());
    hook.record(Tag::Blocked, pc, &[lock, Tag::StdLocked as u64, u64::from(is_mutex)]);
    let result = hook.waiting_inside(call);
    replay::unblocked(hook.thread());
    hook.record(Tag::StdLocked, pc, &[lock, u64::from(shared)]);
    hook.sync_point();
    result
}

unsafe extern "C-unwind" fn mutex_lock(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    lock(a, (false, true), || unsafe { real(a, b, c, d, e) })
}

unsafe extern "C-unwind" fn rwlock_read(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    lock(a, (true, false), || unsafe { real(a, b, c, d, e) })
}

unsafe extern "C-unwind" fn rwlock_write(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    lock(a, (false, false), || unsafe { real(a, b, c, d, e) })
}

/// A wait on a condition variable, which gives the mutex up and takes it again. `woken` says by the result whether it
/// was woken.
fn wait(condition: u64, mutex: u64, woken: fn(u64) -> bool, call: impl FnOnce() -> u64) -> u64 {
    let pc = tls::caller();
    let Some(mut hook) = enter() else { return call() };
    if replay::is_next(hook.thread(), Tag::StdUnlocked as u8, pc, mutex) {
        return following(&mut hook, condition, mutex, pc, woken, call);
    }
    hook.record(Tag::StdUnlocked, pc, &[mutex]);
    hook.record(Tag::WaitBegin, pc, &[condition]);
    let result = hook.waiting_inside(call);
    hook.record(Tag::WaitEnd, pc, &[condition, u64::from(woken(result))]);
    hook.record(Tag::StdLocked, pc, &[mutex, 0]);
    result
}

/// States of a mutex of `std`.
mod mutex {
    pub(super) const FREE: u32 = 0;
    pub(super) const TAKEN: u32 = 1;
    pub(super) const WANTED: u32 = 2;
}

/// A wait in a replay: it ends when the schedule says so, not when the library wakes it.
fn following(
    hook: &mut Hook,
    condition: u64,
    mutex: u64,
    pc: u64,
    woken: fn(u64) -> bool,
    call: impl FnOnce() -> u64,
) -> u64 {
    let thread = hook.thread();
    // SAFETY: the program waits with this mutex, whose first word is its state.
    let state = unsafe { AtomicU32::from_ptr(mutex as *mut u32) };
    hook.record(Tag::StdUnlocked, pc, &[mutex]);
    hook.record(Tag::WaitBegin, pc, &[condition]);
    scheduled::wait(thread, condition as usize);
    if state.swap(mutex::FREE, Ordering::Release) == mutex::WANTED {
        sys::futex_wake(state);
    }
    replay::hold_back(hook.token(), thread, Tag::WaitEnd as u8, pc, condition);
    let outcome = replay::outcome(thread);
    let mut is_woken = outcome != Some(0);
    if outcome.is_some() {
        scheduled::chosen(thread);
        hook.record(Tag::WaitEnd, pc, &[condition, u64::from(is_woken)]);
        replay::hold_back(hook.token(), thread, Tag::StdLocked as u8, pc, mutex);
    }
    if state.compare_exchange(mutex::FREE, mutex::TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        replay::would_block(thread, Tag::StdLocked, pc, mutex);
        replay::blocked(thread);
        hook.blocking(|| {
            while state.swap(mutex::WANTED, Ordering::Acquire) != mutex::FREE {
                sys::futex_wait(state, mutex::WANTED, None);
            }
        });
        replay::unblocked(thread);
    }
    if outcome.is_none() {
        // The replay is over: from here on the wait is an ordinary one.
        is_woken = scheduled::done(thread) || woken(hook.blocking(call));
        hook.record(Tag::WaitEnd, pc, &[condition, u64::from(is_woken)]);
    }
    hook.record(Tag::StdLocked, pc, &[mutex, 0]);
    u64::from(is_woken)
}

unsafe extern "C-unwind" fn condvar_wait(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    wait(a, b, |_| true, || unsafe { real(a, b, c, d, e) })
}

unsafe extern "C-unwind" fn condvar_wait_timeout(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // Returns a `bool`: the low byte.
    // SAFETY: the caller's own arguments.
    wait(a, b, |result| result & 0xff != 0, || unsafe { real(a, b, c, d, e) })
}

fn notify(condition: u64, tag: Tag, call: impl FnOnce() -> u64) -> u64 {
    let pc = tls::caller();
    let Some(mut hook) = enter() else { return call() };
    note(&hook, pc, condition, futex::NOTIFIES);
    hook.record(tag, pc, &[condition]);
    // A thread that a schedule holds back is marked, not woken.
    let result = match scheduled::notify(condition as usize, tag == Tag::NotifyAll) {
        true => 0,
        // Threads that the seed lets go on are not in the kernel: the library's call to wake them must be seen.
        false if parking::is_on() => hook.exposed(call),
        false => call(),
    };
    hook.sync_point();
    result
}

unsafe extern "C-unwind" fn condvar_notify_one(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    notify(a, Tag::Notify, || unsafe { real(a, b, c, d, e) })
}

unsafe extern "C-unwind" fn condvar_notify_all(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    // SAFETY: the caller's own arguments.
    notify(a, Tag::NotifyAll, || unsafe { real(a, b, c, d, e) })
}

/// A `Once::call` under way: stands in for the closure, so that its end is recorded before others can find it done.
#[repr(C)]
struct OnceCall {
    /// The closure as a trait object: data and virtual table.
    data: u64,
    table: *const usize,
    control: u64,
    pc: u64,
    ran: bool,
}

/// Drop glue, size, alignment, `call_once`, `call_mut`.
const TABLE: usize = 5;

impl OnceCall {
    /// Calls the closure through this entry of its virtual table.
    unsafe fn run(&mut self, entry: usize, state: u64, b: u64, c: u64) -> u64 {
        self.ran = true;
        // SAFETY: the entry is the closure's function, called as `std` would.
        let function: unsafe extern "C-unwind" fn(u64, u64, u64, u64) -> u64 =
            unsafe { core::mem::transmute(*self.table.add(entry)) };
        let _done = OnceDone { control: self.control, pc: self.pc };
        // SAFETY: as above.
        unsafe { function(self.data, state, b, c) }
    }
}

/// The closure ends, by return or by panic. The token stays here until `std` has marked the end.
struct OnceDone {
    control: u64,
    pc: u64,
}

impl Drop for OnceDone {
    fn drop(&mut self) {
        if let Some(hook) = Hook::enter() {
            hook.record(Tag::OnceDone, self.pc, &[self.control]);
            // Inlined code looks at the state before it calls any function.
            let store = atomic_word(AtomicKind::Store, order::RELEASE, 4);
            hook.record(Tag::Atomic, self.pc, &[self.control, store]);
        }
    }
}

unsafe extern "C-unwind" fn once_entry3(call: *mut OnceCall, a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: `once_call` passed its own call.
    unsafe { (*call).run(3, a, b, c) }
}

unsafe extern "C-unwind" fn once_entry4(call: *mut OnceCall, a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: `once_call` passed its own call.
    unsafe { (*call).run(4, a, b, c) }
}

/// `Once::call(&self, ignore_poisoning, &mut dyn FnMut(&OnceState))`.
unsafe extern "C-unwind" fn once_call(control: u64, b: u64, data: u64, table: u64, e: u64, real: Real) -> u64 {
    if !hook::is_recording() {
        // SAFETY: the caller's own arguments.
        return unsafe { real(control, b, data, table, e) };
    }
    let mut call = OnceCall { data, table: table as *const usize, control, pc: tls::caller(), ran: false };
    let came = wait_if_seen(call.pc, control);
    let _hidden = Hidden::begin(control);
    // SAFETY: the virtual table of an `FnMut` has these entries.
    let mut stand_in: [usize; TABLE] = unsafe { core::array::from_fn(|i| *call.table.add(i)) };
    stand_in[3] = once_entry3 as *const () as usize;
    stand_in[4] = once_entry4 as *const () as usize;
    // SAFETY: the caller's own arguments, with a closure that does the same; both live until the call returns.
    let result = unsafe { real(control, b, &raw mut call as u64, stand_in.as_ptr() as u64, e) };
    if !call.ran {
        seen_done(control, call.pc, came);
    }
    result
}

/// In a replay, a thread that finds it done waits for its turn; says whether it has.
fn wait_if_seen(pc: u64, control: u64) -> bool {
    let Some(hook) = Some(()).filter(|()| replay::active()).and_then(|()| Hook::enter()) else { return false };
    let is_next = replay::is_next(hook.thread(), Tag::OnceSeen as u8, pc, control);
    if is_next {
        replay::hold_back(hook.token(), hook.thread(), Tag::OnceSeen as u8, pc, control);
    }
    is_next
}

fn seen_done(control: u64, pc: u64, came: bool) {
    if let Some(hook) = Hook::enter() {
        if came {
            hook.thread().replay.held_back.store(Tag::OnceSeen as u32, Ordering::Relaxed);
        }
        hook.record(Tag::OnceSeen, pc, &[control]);
    }
}

unsafe extern "C-unwind" fn once_wait(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    let pc = tls::caller();
    let came = wait_if_seen(pc, a);
    let _hidden = Hidden::begin(a);
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(a, b, c, d, e) };
    seen_done(a, pc, came);
    result
}

unsafe extern "C-unwind" fn barrier_wait(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter() else {
        // SAFETY: the caller's own arguments.
        return unsafe { real(a, b, c, d, e) };
    };
    let thread = hook.thread();
    hook.record(Tag::BarrierArrive, pc, &[a]);
    // SAFETY: the caller's own arguments.
    let result = hook.waiting_inside(|| inside(thread, || unsafe { real(a, b, c, d, e) }));
    hook.record(Tag::BarrierLeave, pc, &[a]);
    result
}

/// The thread waits until another thread unparks it, or for some time. The futex that it sleeps on is its parker's address.
unsafe extern "C-unwind" fn park(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    let pc = tls::caller();
    let thread = tls::active();
    if let Some(thread) = thread {
        thread.own.futex.store(0, Ordering::Relaxed);
    }
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::Blocked, pc, &[0, Tag::Parked as u64]);
    }
    if !parking::is_on() {
        blocking::leave();
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(a, b, c, d, e) };
    if let Some(hook) = Hook::enter() {
        let futex = hook.thread().own.futex.load(Ordering::Relaxed);
        hook.record(Tag::Parked, pc, &[futex]);
    }
    result
}

/// A thread of a scope ends. Recorded before the one that waits for the scope can see it.
unsafe extern "C-unwind" fn scope_leave(a: u64, b: u64, c: u64, d: u64, e: u64, real: Real) -> u64 {
    let pc = tls::caller();
    let hook = Hook::enter();
    if let Some(hook) = &hook {
        hook.record(Tag::ScopeLeft, pc, &[a]);
    }
    // SAFETY: the caller's own arguments.
    unsafe { real(a, b, c, d, e) }
}

/// A function of Rust's library is under way that changes this word unseen.
struct Hidden {
    thread: Option<&'static Thread>,
    before: u64,
}

impl Hidden {
    fn begin(word: u64) -> Hidden {
        let thread = tls::active();
        Hidden { thread, before: thread.map_or(0, |thread| thread.own.hidden.swap(word, Ordering::Relaxed)) }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            thread.own.hidden.store(self.before, Ordering::Relaxed);
        }
    }
}

/// Where threads go in turns: what is done with threads that sleep on a word.
fn note(hook: &Hook, pc: u64, word: u64, what: u64) {
    if sched::in_turns() {
        let own = &hook.thread().own;
        let is_hidden = own.inside.load(Ordering::Relaxed) != 0 || own.hidden.load(Ordering::Relaxed) == word;
        hook.record(Tag::Futex, pc, &[word, if is_hidden { futex::OTHER } else { what }]);
    }
}

/// A wait for a wake-up of a futex word.
#[derive(Clone, Copy)]
enum Slept {
    /// The kernel must wait.
    Not,
    /// The thread was parked, was not woken, and must go on waiting in the kernel.
    Still,
    /// It is over, and this is what the call returns.
    Over(isize),
}

/// Where the seed decides all: a wait for a wake-up of a futex word. `is_plain`: for any wake-up, for as long as it takes.
fn parked_futex(pc: u64, address: usize, op: c_int, expected: u32, limited: bool, is_plain: bool) -> Slept {
    if !parking::is_on() || !matches!(op & libc::FUTEX_CMD_MASK, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) {
        return Slept::Not;
    }
    let Some(mut hook) = Hook::enter_outermost() else { return Slept::Not };
    let mut value = 0u32;
    if !sys::peek(address as u64, (&raw mut value).cast(), 4) {
        return Slept::Not;
    }
    if value != expected {
        note(&hook, pc, address as u64, futex::CHANGED);
        return Slept::Over(-(libc::EAGAIN as isize));
    }
    note(&hook, pc, address as u64, if is_plain { futex::SLEEPS } else { futex::OTHER });
    if hook.parked(address as u64, limited, || Some(())).is_some() {
        services::woken(&hook, pc, address as u64);
        return Slept::Over(0);
    }
    let _ = hook.suspend();
    Slept::Still
}

/// A wake-up came that was not seen, so a thread that is parked may have been meant.
static MISSED_WAKE: AtomicBool = AtomicBool::new(false);

/// What a parked thread expects of a word when it goes to the kernel because no thread can go on. It has slept since the word was as it expected, and nothing has woken it: that the word
/// has changed since must not.
fn expected_asleep(address: usize, expected: usize) -> usize {
    let mut value = 0u32;
    let is_stuck = parking::is_stuck() && !MISSED_WAKE.load(Ordering::Relaxed);
    if is_stuck && sys::peek(address as u64, (&raw mut value).cast(), 4) { value as usize } else { expected }
}

/// Threads that sleep on a futex word are about to be woken; says how many of them are parked, and go on. `is_plain`: any of them are woken, and none
/// is moved to another word.
fn wake(pc: u64, address: usize, most: usize, is_plain: bool) -> usize {
    let Some(hook) = Hook::enter_outermost() else {
        MISSED_WAKE.store(true, Ordering::Relaxed);
        return 0;
    };
    let word = address as u64;
    if !parking::is_on() {
        services::wakes(&hook, pc, word);
        return 0;
    }
    let parked = parking::parked_on(word);
    let what = match most {
        _ if !is_plain => futex::OTHER,
        1 => futex::WAKES,
        most if most >= parked => futex::WAKES_ALL,
        _ => futex::OTHER,
    };
    note(&hook, pc, word, what);
    services::wakes(&hook, pc, word);
    let later = if what == futex::WAKES { hook.choose(choice::WAITER, parked as u32, true) } else { 0 };
    parking::unpark_after(word, later, if is_plain { most } else { usize::MAX })
}

/// The kernel is about to change the second word of a call that wakes, in one step.
fn changes_word(pc: u64, address: u64, how: u32) {
    let Some(hook) = Hook::enter_outermost() else { return };
    // SAFETY: the caller's own word, unless the call fails.
    let found = unsafe { (*(address as *const AtomicU32)).load(Ordering::Relaxed) };
    let (operation, number) = (how >> 28, (how >> 12) & 0xfff);
    let number = if operation & 8 != 0 { 1 << (number & 31) } else { number };
    let written = match operation & 7 {
        0 => number,
        1 => found.wrapping_add(number),
        2 => found | number,
        3 => found & !number,
        _ => found ^ number,
    };
    let word = atomic_word(AtomicKind::Update, order::SEQ_CST, 4);
    hook.record(Tag::Atomic, pc, &[address, word, found.into(), written.into()]);
}

/// A futex call that the program makes itself.
pub(crate) unsafe fn futex([a, op, c, d, e, f]: [usize; 6]) -> i64 {
    let waits = matches!(
        op as c_int & libc::FUTEX_CMD_MASK,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI
    );
    let sleeper = tls::active().filter(|_| waits);
    if let Some(thread) = sleeper {
        thread.own.futex.store(a as u64, Ordering::Relaxed);
        replay::asleep(thread, true);
    }
    let pc = tls::caller();
    let command = op as c_int & libc::FUTEX_CMD_MASK;
    let all_bits = f as u32 == u32::MAX;
    let is_plain = d == 0 && (command == libc::FUTEX_WAIT || all_bits);
    let slept = if waits { parked_futex(pc, a, op as c_int, c as u32, d != 0, is_plain) } else { Slept::Not };
    if !matches!(slept, Slept::Over(_)) && sleeper.is_some() {
        blocking::leave();
    }
    let wakes = matches!(
        op as c_int & libc::FUTEX_CMD_MASK,
        libc::FUTEX_WAKE
            | libc::FUTEX_WAKE_BITSET
            | libc::FUTEX_WAKE_OP
            | libc::FUTEX_REQUEUE
            | libc::FUTEX_CMP_REQUEUE
    );
    let changes = op as c_int & libc::FUTEX_CMD_MASK == libc::FUTEX_WAKE_OP;
    if changes && e != 0 && e.is_multiple_of(4) {
        changes_word(pc, e as u64, f as u32);
    }
    let is_plain = command == libc::FUTEX_WAKE || command == libc::FUTEX_WAKE_BITSET && all_bits;
    let woken = if wakes { wake(pc, a, c, is_plain) } else { 0 };
    let c = if matches!(slept, Slept::Still) { expected_asleep(a, c) } else { c };
    let result = match slept {
        Slept::Over(result) => result,
        _ if woken > 0 && woken >= c && !changes => woken as isize,
        // SAFETY: the caller's own arguments.
        _ => unsafe { sys::call(libc::SYS_futex, [a, op, c, d, e, f]) },
    };
    if let Some(thread) = sleeper {
        replay::asleep(thread, false);
        if result == 0
            && !matches!(slept, Slept::Over(_))
            && let Some(hook) = Hook::enter_outermost()
        {
            services::woken(&hook, pc, a as u64);
        }
    }
    sys::returned(result) as i64
}
