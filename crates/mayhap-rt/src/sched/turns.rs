//! Turns: which thread makes the next step is given, for as far as it is given.
//!
//! For exploring, every hook at which the token may pass begins a *step*, and the recording marks it. A list of turns, each a thread and a number
//! of steps, says which threads make them. After its end a thread goes on until it cannot, or until it has made [`LONGEST`] steps in a row; or, where
//! slices are longer than 1, threads change at random. Weights in the list say how many steps threads are expected to make: then a random thread makes
//! each step, and one that has more steps left is chosen more often.
//!
//! Everything here is for the holder of the token, or runs under the scheduler's lock.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use mayhap_wire::ring::{CHOICE_SHIFT, TURN_CHOICE, TURN_FAULTS, TURN_WEIGHT, choice, state};

use crate::{ring, sys};

/// The most steps in a row that a thread makes by itself while others wait: it may spin until one of them goes on.
const LONGEST: u32 = 200;

/// The list: pairs of a thread's number and how many steps it makes.
static TURNS: AtomicPtr<[u32; 2]> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The turn that is under way, and how many of its steps were made.
static AT: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicU32 = AtomicU32::new(0);
/// Steps in a row after the list's end.
static IN_ROW: AtomicU32 = AtomicU32::new(0);

/// The choices that are made because they were asked for, as bits.
static FAULTS: AtomicU32 = AtomicU32::new(0);

/// How many waits of each thread ended before they were woken, and the most that do: a loop around a wait would have no end.
static EARLY: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
const MOST_EARLY: u32 = 2;

/// The steps that threads are expected to have left; threads of higher numbers share the last entry.
static LEFT: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
/// Not 0: there are such expectations.
static WEIGHTED: AtomicU32 = AtomicU32::new(0);

/// Reads the list from a file. Without one there are no turns given.
pub(super) fn open(path: *const libc::c_char) {
    // SAFETY: the path ends in zero; a fresh private mapping that stays.
    unsafe {
        let file = sys::call(libc::SYS_open, [path as usize, (libc::O_RDONLY | libc::O_CLOEXEC) as usize, 0, 0, 0, 0]);
        if file < 0 {
            return;
        }
        let size = sys::call(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]).max(0) as usize;
        if size >= size_of::<[u32; 2]>() {
            let (protection, flags) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
            let address = sys::call(libc::SYS_mmap, [sys::aside(size), size, protection, flags, file as usize, 0]);
            if address > 0 {
                TURNS.store(address as *mut [u32; 2], Ordering::Relaxed);
                let first = read_faults();
                AT.store(first, Ordering::Relaxed);
                COUNT.store(read_weights(first, size / size_of::<[u32; 2]>()), Ordering::Relaxed);
            }
        }
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
    }
}

/// An entry of the list.
fn entry(at: usize) -> [u32; 2] {
    // SAFETY: callers know that the list has that many entries, and its mapping stays.
    unsafe { TURNS.load(Ordering::Relaxed).add(at).read() }
}

/// Takes from the beginning of the list which choices are made because they were asked for; returns how many entries that were.
fn read_faults() -> usize {
    let [mark, asked] = entry(0);
    if mark == TURN_FAULTS {
        FAULTS.store(asked, Ordering::Relaxed);
    }
    (mark == TURN_FAULTS).into()
}

/// Takes the weights from the end of a list of this length; returns how many turns come before them.
fn read_weights(first: usize, length: usize) -> usize {
    let mut turns = length;
    while turns > first {
        let [thread, steps] = entry(turns - 1);
        if thread & TURN_WEIGHT == 0 {
            break;
        }
        left(1 + (thread & !TURN_WEIGHT)).store(steps, Ordering::Relaxed);
        WEIGHTED.store(1, Ordering::Relaxed);
        turns -= 1;
    }
    turns
}

/// The steps that a thread has left, by scheduler number.
fn left(owner: u32) -> &'static AtomicU32 {
    &LEFT[(owner as usize - 1).min(LEFT.len() - 1)]
}

/// How likely the thread, by scheduler number, is to be next, among those that can.
pub(super) fn weight(owner: u32) -> u64 {
    if WEIGHTED.load(Ordering::Relaxed) == 0 { 1 } else { u64::from(left(owner).load(Ordering::Relaxed)).max(1) }
}

/// The turn that is under way: its thread, by scheduler number, and its steps. `None` after the list's end.
fn turn() -> Option<(u32, u32)> {
    let at = AT.load(Ordering::Relaxed);
    if at >= COUNT.load(Ordering::Relaxed) {
        return None;
    }
    let [thread, steps] = entry(at);
    if thread & TURN_CHOICE != 0 {
        // The last step made no such choice.
        leave_list();
        return None;
    }
    Some((thread + 1, steps))
}

/// What comes of a choice in the step that is under way, of a thread by scheduler number; `None` if the choice is not made. `usual`: it is made even if not asked for.
pub(super) fn choose(owner: u32, kind: u32, alternatives: u32, usual: bool) -> Option<u32> {
    let ends_wait = matches!(kind, choice::TIMEOUT | choice::WAKEUP);
    let early = &EARLY[(owner as usize - 1).min(EARLY.len() - 1)];
    if ends_wait && early.load(Ordering::Relaxed) >= MOST_EARLY {
        return None;
    }
    let at = AT.load(Ordering::Relaxed);
    let here = (at < COUNT.load(Ordering::Relaxed)).then(|| entry(at));
    if let Some([thread, what]) = here
        && thread == (owner - 1) | TURN_CHOICE
        && what >> CHOICE_SHIFT == kind
    {
        AT.store(at + 1, Ordering::Relaxed);
        let taken = (what & ((1 << CHOICE_SHIFT) - 1)).min(alternatives - 1);
        early.fetch_add(u32::from(ends_wait && taken != 0), Ordering::Relaxed);
        return Some(taken);
    }
    (usual || FAULTS.load(Ordering::Relaxed) >> kind & 1 != 0).then_some(0)
}

/// The thread that makes the next step, by scheduler number; `None` if that is not given.
pub(super) fn next() -> Option<u32> {
    turn().map(|(thread, _)| thread)
}

/// The list cannot be followed any further.
pub(super) fn leave_list() {
    AT.store(COUNT.load(Ordering::Relaxed), Ordering::Relaxed);
    ring::set_state(state::LEFT_TURNS);
}

/// The holder, by scheduler number, must pass the token on before its next step.
pub(super) fn must_pass(owner: u32) -> bool {
    let is_over = || match super::mean_slice() {
        _ if WEIGHTED.load(Ordering::Relaxed) != 0 => true,
        0 | 1 => IN_ROW.load(Ordering::Relaxed) >= LONGEST,
        mean => super::locked(super::random).is_multiple_of(u64::from(mean)),
    };
    next().map_or_else(is_over, |next| next != owner)
}

/// The holder begins a step.
pub(super) fn begin_step(owner: u32) {
    let steps_left = left(owner);
    steps_left.store(steps_left.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    let Some((thread, steps)) = turn() else {
        let in_row = IN_ROW.load(Ordering::Relaxed);
        IN_ROW.store(if in_row >= LONGEST { 0 } else { in_row + 1 }, Ordering::Relaxed);
        return;
    };
    if thread != owner {
        leave_list();
        return;
    }
    let made = MADE.load(Ordering::Relaxed) + 1;
    let ends = made >= steps;
    MADE.store(if ends { 0 } else { made }, Ordering::Relaxed);
    if ends {
        AT.fetch_add(1, Ordering::Relaxed);
    }
}
