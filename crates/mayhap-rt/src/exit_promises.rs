//! Promises that libstdc++ makes ready when their thread has ended (`set_value_at_thread_exit`): in its own code, after the thread's last
//! destructor. Nothing that is recorded says so, so each such end of a thread is in doubt.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use mayhap_wire::channel::doubt;
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::opaque_calls;
use crate::real::{real, real_address};
use crate::thread::Thread;
use crate::tls::{self, exports};

#[expect(non_snake_case, reason = "the name that C++ gives it")]
mod library {
    use super::*;
    real! {
        fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(promise: *mut c_void);
    }
}

exports! {
    _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv => set;
}

unsafe extern "C-unwind" fn set(promise: *mut c_void) {
    if let Some(thread) = tls::active() {
        thread.own.promises.store(1, Ordering::Relaxed);
    }
    // SAFETY: the caller's own argument.
    unsafe { library::_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(promise) }
}

/// The thread ends: what it promised is ready.
pub(crate) fn thread_ends(hook: &Hook, thread: &Thread) {
    if thread.own.promises.swap(0, Ordering::Relaxed) != 0 && opaque_calls::are_recorded() {
        let function = real_address!(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv) as u64;
        hook.record(Tag::Doubt, 0, &[u64::from(doubt::FUNCTION), function]);
    }
}
