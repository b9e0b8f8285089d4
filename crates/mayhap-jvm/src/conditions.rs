//! `java.util.concurrent.locks.Condition`.

use crate::hooks::{Waited, here, natives};
use crate::jvm::{Jni, Ref, Value};
use crate::objects::Here;
use crate::runtime::how;
use crate::shadow::{self, FIELDS, ORDER};
use core::ffi::c_void;

type Class = Ref;

impl Here {
    /// Whether what a lock keeps its state in belongs to a reader-writer lock.
    fn is_of_rw(self, sync: Ref) -> bool {
        let class = self.jni.class_of(sync);
        let name = self.jvmti.class_name(class);
        self.jni.delete_local(class);
        name.contains("ReentrantReadWriteLock")
    }

    /// Whether a lock is one whose state the agent mirrors. A program can build others.
    fn is_of_known_lock(self, sync: Ref) -> bool {
        let class = self.jni.class_of(sync);
        let name = self.jvmti.class_name(class);
        self.jni.delete_local(class);
        name.starts_with("java/util/concurrent/locks/Reentrant")
    }

    /// Waits on a condition of a lock that the program has built: all that is done with the lock keeps its order.
    fn await_real(self, condition: Ref, lock: u64, limit: Option<u64>) -> Waited {
        self.order(lock + ORDER);
        (self.runtime.outside)();
        let mut left = 1;
        match limit {
            None => {
                self.jni.call_void(condition, self.method(condition, c"await", c"()V"), core::ptr::null());
            }
            Some(limit) => {
                let argument = [limit.min(i64::MAX as u64)];
                let method = self.method(condition, c"awaitNanos", c"(J)J");
                left = self.jni.call_long(condition, method, argument.as_ptr().cast());
            }
        }
        let thrown = self.jni.take_exception();
        self.order(lock + ORDER);
        self.jni.throw_kept(thrown);
        if left > 0 { Waited::Woken } else { Waited::TimedOut }
    }

    /// `Condition.await`: says how it ended.
    fn await_condition(self, condition: Ref, limit: Option<u64>) -> Waited {
        let sync = self.part(condition, c"this$0", c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;");
        let (Some(block), Some(lock)) = (self.block(condition), self.block(sync)) else { return Waited::Woken };
        if !self.is_of_known_lock(sync) {
            return self.await_real(condition, lock, limit);
        }
        if !self.is_owner(lock) {
            let method = self.method(condition, c"signal", c"()V");
            // The library's own method throws what a thread without the lock must get.
            self.jni.call_void(condition, method, core::ptr::null());
            return Waited::Woken;
        }
        let state = self.method(sync, c"getState", c"()I");
        let argument = [u64::from(self.jni.call_int(sync, state, core::ptr::null()).unsigned_abs())];
        let arguments = argument.as_ptr().cast::<Value>();
        self.jni.call_boolean(sync, self.method(sync, c"release", c"(I)Z"), arguments);
        let is_rw = self.is_of_rw(sync);
        let state = (lock + FIELDS) as *mut c_void;
        if is_rw {
            (self.runtime.lock)(self.at(), how::RW_UNLOCK, state);
        }
        let waited = self.wait_on(block, lock, limit);
        if is_rw {
            (self.runtime.lock)(self.at(), how::WRITE_LOCK, state);
        }
        self.jni.call_void(sync, self.method(sync, c"acquire", c"(I)V"), arguments);
        if waited == Waited::Interrupted && self.is_interruptible() {
            self.throw_interrupted(condition);
        }
        waited
    }

    fn signal(self, condition: Ref, all: bool) {
        let Some(block) = self.block(condition) else { return };
        let own = self.part(condition, c"this$0", c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;");
        if let Some(lock) = self.block(own).filter(|_| !self.is_of_known_lock(own)) {
            self.order(lock + ORDER);
            let method = self.method(condition, if all { c"signalAll" } else { c"signal" }, c"()V");
            return self.jni.call_void(condition, method, core::ptr::null());
        }
        self.branch();
        (self.runtime.notify)(self.at(), shadow::condition(block), all);
        // Throws if the thread does not have the lock; no thread waits there.
        let method = self.method(condition, c"signal", c"()V");
        self.jni.call_void(condition, method, core::ptr::null());
    }
}

#[unsafe(export_name = "Java_java_lang_Mayhap_awaitJL")]
extern "C" fn await_time(jni: Jni, _class: Class, condition: Ref, time: i64, unit: Ref, site: i32) -> u8 {
    let Some(here) = here(jni, site) else { return 1 };
    u8::from(here.await_condition(condition, Some(here.nanoseconds(time, unit))) == Waited::Woken)
}

#[unsafe(export_name = "Java_java_lang_Mayhap_awaitNanosJ")]
extern "C" fn await_nanos(jni: Jni, _class: Class, condition: Ref, time: i64, site: i32) -> i64 {
    let Some(here) = here(jni, site) else { return 0 };
    let started = std::time::Instant::now();
    here.await_condition(condition, Some(time.max(0) as u64));
    time - i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

natives! { NATIVES:
    await_ "await" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| _ = here.await_condition(condition, None);
    signal "signal" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| here.signal(condition, false);
    signal_all "signalAll" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| here.signal(condition, true);
}

/// The native methods that return how a wait ended.
pub(crate) static TIMED: &[(&str, &str)] =
    &[("awaitJL", "(Ljava/lang/Object;JLjava/lang/Object;I)Z"), ("awaitNanosJ", "(Ljava/lang/Object;JI)J")];
