//! Atomic operations. The hook performs the operation itself, so record and effect cannot come apart; it always uses
//! the strongest order, which every weaker one allows, and records the order that the program asked for.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use libc::c_int;
use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, atomic_word};

use crate::hook::Hook;
use crate::spinning::{self, Found, Unchanging};
use crate::tls::{self, exports};
use crate::{cancelling, replay};

/// What an atomic operation turned out to do, with the values before and after it (their low halves if they are wider than a word).
struct Done<T> {
    kind: AtomicKind,
    form: AtomicForm,
    order: c_int,
    found: u64,
    written: u64,
    result: T,
}

/// Runs an atomic operation under the token and records what it turned out to do.
#[inline(always)]
fn atomic<T>(address: u64, size: u8, operate: impl FnOnce() -> Done<T>) -> T {
    let pc = tls::caller();
    if cancelling::is_possible() {
        return cancelling::deferred(|| atomic_at(pc, address, size, operate));
    }
    atomic_at(pc, address, size, operate)
}

#[inline(always)]
fn atomic_at<T>(pc: u64, address: u64, size: u8, operate: impl FnOnce() -> Done<T>) -> T {
    let hook = Hook::enter_for(Tag::Atomic, pc, address).map(|(hook, _)| hook);
    let done = operate();
    if let Some(hook) = &hook {
        replay::check_atomic(hook.thread(), done.kind as u8, pc, address);
        // Bits above the order are hints (`__ATOMIC_HLE_…`).
        let word = done.form.in_word(atomic_word(done.kind, (done.order & 7) as u8, size));
        let changes = done.kind == AtomicKind::Store || done.found != done.written || size > 8;
        let is_attempt = done.kind == AtomicKind::Update || done.form == AtomicForm::Compare;
        let unchanging = Unchanging { is_attempt, kind: done.kind, pc, address, value: done.found };
        let thread = hook.thread();
        let found = match changes {
            true => Found::New,
            false => thread.waiting.look(&unchanging, thread.own.slices.load(Ordering::Relaxed)),
        };
        if found != Found::Repeated {
            hook.record(Tag::Atomic, pc, &[address, word, done.found, done.written]);
            if !changes {
                thread.waiting.recorded();
            }
        }
        if found != Found::New {
            spinning::gives_way(thread);
        }
        hook.sync_point();
    }
    done.result
}

macro_rules! widths {
    ($($module:ident $type:ty, $atomic:ty, $size:literal: $load:ident $store:ident $exchange:ident $add:ident $sub:ident
        $and:ident $or:ident $xor:ident $nand:ident $strong:ident $weak:ident $value:ident;)*) => {
        $(
            mod $module {
                use super::*;

                #[inline(always)]
                unsafe fn at<'a>(p: *mut $type) -> &'a $atomic {
                    // SAFETY: the program vouches that the place is valid and aligned for atomic use.
                    unsafe { <$atomic>::from_ptr(p) }
                }

                unsafe extern "C-unwind" fn load(p: *mut $type, order: c_int) -> $type {
                    // SAFETY: the program's own place.
                    let place = unsafe { at(p) };
                    atomic(p as u64, $size, || {
                        let result = place.load(Ordering::SeqCst);
                        let found = result as u64;
                        Done { kind: AtomicKind::Load, form: AtomicForm::Plain, order, found, written: found, result }
                    })
                }

                unsafe extern "C-unwind" fn store(p: *mut $type, value: $type, order: c_int) {
                    // SAFETY: the program's own place.
                    let place = unsafe { at(p) };
                    atomic(p as u64, $size, || {
                        let found = place.load(Ordering::SeqCst) as u64;
                        place.store(value, Ordering::SeqCst);
                        let (kind, form) = (AtomicKind::Store, AtomicForm::Plain);
                        Done { kind, form, order, found, written: value as u64, result: () }
                    })
                }

                #[inline(always)]
                unsafe fn update(p: *mut $type, order: c_int, form: AtomicForm, f: impl Fn(&$atomic) -> $type) -> $type {
                    // SAFETY: the program's own place.
                    let place = unsafe { at(p) };
                    atomic(p as u64, $size, || {
                        let result = f(place);
                        let written = place.load(Ordering::SeqCst) as u64;
                        Done { kind: AtomicKind::Update, form, order, found: result as u64, written, result }
                    })
                }

                widths!(@updates $type: exchange swap Exchange, add fetch_add Plain, sub fetch_sub Plain,
                    and fetch_and Plain, or fetch_or Plain, xor fetch_xor Plain, nand fetch_nand Plain);

                /// What was found, and whether it was what was expected and so replaced.
                unsafe fn compare(p: *mut $type, expected: $type, new: $type, orders: (c_int, c_int)) -> ($type, bool) {
                    // SAFETY: the program's own place.
                    let place = unsafe { at(p) };
                    atomic(p as u64, $size, || {
                        let form = AtomicForm::Compare;
                        match place.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(found) => {
                                let (kind, order, result) = (AtomicKind::Update, orders.0, (found, true));
                                Done { kind, form, order, found: found as u64, written: new as u64, result }
                            }
                            Err(found) => {
                                let (kind, order, result) = (AtomicKind::Load, orders.1, (found, false));
                                Done { kind, form, order, found: found as u64, written: found as u64, result }
                            }
                        }
                    })
                }

                unsafe extern "C-unwind" fn compare_in_place(p: *mut $type, expected: *mut $type, new: $type, success: c_int,
                    failure: c_int) -> c_int {
                    // SAFETY: the program's own places; `expected` is the caller's own copy.
                    unsafe {
                        let (found, replaced) = compare(p, *expected, new, (success, failure));
                        if !replaced {
                            *expected = found;
                        }
                        c_int::from(replaced)
                    }
                }

                unsafe extern "C-unwind" fn compare_value(p: *mut $type, expected: $type, new: $type, success: c_int,
                    failure: c_int) -> $type {
                    // SAFETY: the program's own place.
                    unsafe { compare(p, expected, new, (success, failure)).0 }
                }

                exports! {
                    $load => load;
                    $store => store;
                    $exchange => exchange;
                    $add => add;
                    $sub => sub;
                    $and => and;
                    $or => or;
                    $xor => xor;
                    $nand => nand;
                    $strong => compare_in_place;
                    $weak => compare_in_place;
                    $value => compare_value;
                }
            }
        )*
    };
    (@updates $type:ty: $($name:ident $method:ident $form:ident),*) => {
        $(
            unsafe extern "C-unwind" fn $name(p: *mut $type, value: $type, order: c_int) -> $type {
                // SAFETY: the program's own place.
                unsafe { update(p, order, AtomicForm::$form, |place| place.$method(value, Ordering::SeqCst)) }
            }
        )*
    };
}

widths! {
    atomic8 u8, AtomicU8, 1: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
        __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
        __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val;
    atomic16 u16, AtomicU16, 2: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
        __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong
        __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val;
    atomic32 u32, AtomicU32, 4: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
        __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong
        __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val;
    atomic64 u64, AtomicU64, 8: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
        __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong
        __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val;
    atomic128 u128, wide::Atomic128, 16: __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange
        __tsan_atomic128_fetch_add __tsan_atomic128_fetch_sub __tsan_atomic128_fetch_and __tsan_atomic128_fetch_or
        __tsan_atomic128_fetch_xor __tsan_atomic128_fetch_nand __tsan_atomic128_compare_exchange_strong
        __tsan_atomic128_compare_exchange_weak __tsan_atomic128_compare_exchange_val;
}

exports! {
    __tsan_atomic_thread_fence => thread_fence;
    __tsan_atomic_signal_fence => signal_fence;
}

unsafe extern "C-unwind" fn thread_fence(order: c_int) {
    let pc = tls::caller();
    fence(Ordering::SeqCst);
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::Fence, pc, &[(order & 7) as u64]);
    }
}

extern "C" fn signal_fence(_order: c_int) {}

/// Sixteen bytes at once, which stable Rust has no atomic type for.
mod wide {
    use core::arch::asm;
    use core::cell::UnsafeCell;
    use core::sync::atomic::Ordering;

    #[repr(C, align(16))]
    pub(super) struct Atomic128(UnsafeCell<u128>);

    impl Atomic128 {
        pub(super) unsafe fn from_ptr<'a>(p: *mut u128) -> &'a Atomic128 {
            // SAFETY: the caller vouches for the place.
            unsafe { &*p.cast() }
        }

        /// Replaces `expected` by `new`; always says what was there.
        pub(super) fn compare_exchange(
            &self,
            expected: u128,
            new: u128,
            _: Ordering,
            _: Ordering,
        ) -> Result<u128, u128> {
            let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
            let swapped: u8;
            // SAFETY: the place is valid and aligned; rbx, which LLVM keeps for itself, is restored.
            unsafe {
                asm!("xchg {new_low}, rbx", "lock cmpxchg16b [{place}]", "sete {swapped}", "mov rbx, {new_low}",
                    new_low = inout(reg) new as u64 => _, place = in(reg) self.0.get(), swapped = out(reg_byte) swapped,
                    inout("rax") low, inout("rdx") high, in("rcx") (new >> 64) as u64, options(nostack));
            }
            let found = u128::from(low) | (u128::from(high) << 64);
            (low, high) = (0, 0);
            let _ = (low, high);
            if swapped != 0 { Ok(found) } else { Err(found) }
        }

        pub(super) fn load(&self, order: Ordering) -> u128 {
            match self.compare_exchange(0, 0, order, order) {
                Ok(found) | Err(found) => found,
            }
        }

        fn update(&self, f: impl Fn(u128) -> u128) -> u128 {
            let mut found = self.load(Ordering::SeqCst);
            loop {
                match self.compare_exchange(found, f(found), Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(before) => return before,
                    Err(now) => found = now,
                }
            }
        }

        pub(super) fn store(&self, value: u128, _: Ordering) {
            self.update(|_| value);
        }

        pub(super) fn swap(&self, value: u128, _: Ordering) -> u128 {
            self.update(|_| value)
        }

        pub(super) fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| x.wrapping_add(value))
        }

        pub(super) fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| x.wrapping_sub(value))
        }

        pub(super) fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| x & value)
        }

        pub(super) fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| x | value)
        }

        pub(super) fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| x ^ value)
        }

        pub(super) fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
            self.update(|x| !(x & value))
        }
    }
}
