//! Stacks for tasks. What a task has on its stack is its own, so tasks that one thread runs must not share one: each is recorded as a
//! thread.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use libc::c_void;

use crate::lock::Lock;
use crate::sys;

/// Bytes of a stack, of which only those that are used take memory.
const SIZE: usize = 8 << 20;
/// Stacks that are kept for further tasks.
const KEPT: usize = 512;

static LOCK: Lock = Lock::new();
static FREE: [AtomicU64; KEPT] = [const { AtomicU64::new(0) }; KEPT];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A stack, by its lowest address.
pub(super) struct Stack(u64);

impl Stack {
    pub(super) fn range(&self) -> Range<u64> {
        self.0..self.0 + SIZE as u64
    }
}

/// A stack that no task uses; `None` if there is no memory.
pub(super) fn take() -> Option<Stack> {
    let kept = LOCK.with(|| {
        let count = COUNT.load(Ordering::Relaxed).checked_sub(1)?;
        COUNT.store(count, Ordering::Relaxed);
        Some(FREE[count].load(Ordering::Relaxed))
    });
    let low = kept.unwrap_or_else(|| sys::map(SIZE) as u64);
    (low != 0).then_some(Stack(low))
}

/// The task is done. What is not kept stays unused.
pub(super) fn give_back(stack: Stack) {
    LOCK.with(|| {
        let count = COUNT.load(Ordering::Relaxed);
        if let Some(place) = FREE.get(count) {
            place.store(stack.0, Ordering::Relaxed);
            COUNT.store(count + 1, Ordering::Relaxed);
        }
    });
}

/// Calls a function on another stack.
///
/// # Safety
/// The stack ends there and nothing else uses it; the function may be called with this argument, and returns.
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn call(
    end: u64,
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}
