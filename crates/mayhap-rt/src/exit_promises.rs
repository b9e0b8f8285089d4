//! Promises that libstdc++ makes ready when their thread has ended (`set_value_at_thread_exit`): in its own code, after the thread's last
//! destructor. Nothing that is recorded says so, so each such end of a thread is in doubt.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use crate::real::{real, real_address};
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
        let function = real_address!(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv);
        thread.own.promises.store(function as u64, Ordering::Relaxed);
    }
    // SAFETY: the caller's own argument.
    unsafe { library::_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(promise) }
}
