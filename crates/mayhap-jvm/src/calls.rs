//! Calls of Java's library that synchronise, as what they mean: one hook before the call, one after it.

use core::ffi::{CStr, c_void};
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::hooks::{LOAD, SECOND, STORE, UPDATE, Waited, here, natives};
use crate::jvm::{Jni, Ref, Value};
use crate::library::{self, Kind};
use crate::objects::Here;
use crate::runtime::how;
use crate::shadow::{self, EXTRA, FIELDS, ORDER};

type Class = Ref;

/// Forms of atomic operations.
const PLAIN: u32 = 0;
const EXCHANGE: u32 = 1;
const COMPARE: u32 = 2;

/// A call under way.
#[derive(Clone, Copy)]
struct Pending {
    pc: u64,
    block: u64,
    kind: Kind,
    /// What an atomic variable held before.
    found: u64,
    /// A lock that was tried was free.
    got: bool,
    /// The object; of an atomic variable a reference that lasts as long as the call.
    object: Ref,
}

thread_local! { static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) }; }

/// How deep calls may be nested before those that ended by exceptions are forgotten.
const DEEPEST: usize = 256;

fn begin(pending: Pending) {
    PENDING.with_borrow_mut(|all| {
        if all.len() >= DEEPEST {
            all.clear();
        }
        all.push(pending);
    });
}

/// The call that was begun at this place. Those inside it that ended by exceptions are forgotten.
fn ended(pc: u64) -> Option<Pending> {
    PENDING.with_borrow_mut(|all| {
        let at = all.iter().rposition(|pending| pending.pc == pc)?;
        let found = all[at];
        all.truncate(at);
        Some(found)
    })
}

/// What stands for everything that has no object of its own.
fn anything(here: Here) -> u64 {
    static BLOCK: OnceLock<u64> = OnceLock::new();
    *BLOCK.get_or_init(|| {
        let block = shadow::block(64).unwrap_or(0);
        (here.runtime.record)(here.at(), mayhap_wire::ring::Tag::Alloc as u32, block, FIELDS + 64);
        block
    })
}

impl Here {
    fn before_call(self, object: Ref, argument: Ref) {
        let Some(block) = self.block(object) else { return };
        let (meta, name) = (self.meta(object), self.site.method());
        let mut pending = Pending { pc: self.at(), block, kind: meta.kind, found: 0, got: false, object };
        match meta.kind {
            Kind::Own | Kind::Silent | Kind::Executor => (self.runtime.outside)(),
            Kind::Delegate => {
                let executor = self.part(object, c"e", c"Ljava/util/concurrent/ExecutorService;");
                pending.block = self.block(executor).unwrap_or(block);
                (self.runtime.outside)();
            }
            Kind::Thread => self.before_thread(object, block, name),
            Kind::Lock => self.before_lock(&mut pending, name),
            Kind::ReadLock | Kind::WriteLock => self.before_rw(&mut pending, name),
            Kind::Condition | Kind::Future => (self.runtime.outside)(),
            Kind::Semaphore => self.before_semaphore(block, name),
            Kind::Atomic => {
                self.branch();
                (self.runtime.atomic_begin)(self.at(), block + FIELDS);
                pending.found = self.atomic_value(object);
                pending.object = self.jni.global(object);
            }
            Kind::Plain => self.contents(block, name),
            Kind::Synchronized => {
                self.enter(block);
                self.contents(block, name);
                self.exit(block);
            }
            Kind::Ordered => {
                self.order(block + ORDER);
                (self.runtime.outside)();
            }
        }
        if !argument.is_null()
            && self.meta(argument).kind == Kind::Plain
            && meta.kind != Kind::Ordered
            && let Some(other) = self.block(argument)
            && name.ends_with("All")
        {
            (self.runtime.access)(self.site.pc + SECOND, other + FIELDS, false, false);
        }
        begin(pending);
    }

    /// The contents of an object of the library are read or written.
    fn contents(self, block: u64, name: &str) {
        let whole = shadow::word(block + EXTRA).load(Ordering::Relaxed);
        self.touch(if whole == 0 { block } else { whole }, !library::only_reads(name));
    }

    fn touch(self, block: u64, writes: bool) {
        let address = block + FIELDS;
        (self.runtime.access)(self.site.pc, address, writes, self.site.branched);
        if writes {
            // No two states are known to be the same.
            shadow::word(address).fetch_add(1, Ordering::Relaxed);
        }
    }

    fn before_thread(self, thread: Ref, block: u64, name: &str) {
        let child = shadow::word(block + EXTRA).load(Ordering::Acquire);
        match name {
            "start" => self.starts(thread),
            "join" if child != 0 && self.takes_nothing() => {
                self.branch();
                (self.runtime.join)(self.at(), child as *const c_void);
            }
            _ => (self.runtime.outside)(),
        }
    }

    fn takes_nothing(self) -> bool {
        matches!(&self.site.what, crate::rewrite::What::Call(member) if member.descriptor.starts_with("()"))
    }

    fn before_lock(self, pending: &mut Pending, name: &str) {
        let Some(sync) = self.sync_of(pending.object, Kind::Lock) else { return };
        pending.block = sync;
        match name {
            "lock" | "lockInterruptibly" => self.enter(sync),
            "unlock" => self.exit(sync),
            "tryLock" => {
                pending.got = self.try_enter(sync);
                if !pending.got && !self.takes_nothing() {
                    (self.runtime.outside)();
                }
            }
            _ => {}
        }
    }

    fn try_enter(self, block: u64) -> bool {
        if self.is_owner(block) {
            self.enter(block);
            return true;
        }
        self.branch();
        let got = (self.runtime.lock)(self.at(), how::TRY_LOCK, shadow::mutex(block)) == 0;
        if got {
            self.owns(block, 1);
        }
        got
    }

    /// Reader-writer locks: their state has a lock of its own after the block's.
    fn before_rw(self, pending: &mut Pending, name: &str) {
        let Some(sync) = self.sync_of(pending.object, pending.kind) else { return };
        pending.block = sync;
        let lock = (sync + FIELDS) as *mut c_void;
        let (writes, pc) = (pending.kind == Kind::WriteLock, self.at());
        self.branch();
        match name {
            "lock" | "lockInterruptibly" => {
                if !(writes && self.again(sync)) {
                    (self.runtime.lock)(pc, if writes { how::WRITE_LOCK } else { how::READ_LOCK }, lock);
                    if writes {
                        self.owns(sync, 1);
                    }
                }
                pending.got = true;
            }
            "tryLock" => {
                pending.got = writes && self.again(sync)
                    || (self.runtime.lock)(pc, if writes { how::TRY_WRITE } else { how::TRY_READ }, lock) == 0;
                if pending.got && writes && !self.is_owner(sync) {
                    self.owns(sync, 1);
                }
            }
            "unlock" => {
                let (owner, count) = shadow::owner(sync);
                if writes && self.is_owner(sync) {
                    let left = count.load(Ordering::Relaxed) - 1;
                    count.store(left, Ordering::Relaxed);
                    if left > 0 {
                        return;
                    }
                    owner.store(0, Ordering::Relaxed);
                }
                (self.runtime.lock)(pc, how::RW_UNLOCK, lock);
            }
            _ => {}
        }
    }

    /// The thread takes a lock again that it has.
    fn again(self, block: u64) -> bool {
        let has = self.is_owner(block);
        if has {
            self.enter(block);
        }
        has
    }

    fn before_semaphore(self, block: u64, name: &str) {
        let semaphore = (block + FIELDS) as *mut c_void;
        self.branch();
        match name {
            "acquire" | "acquireUninterruptibly" if self.takes_nothing() => {
                (self.runtime.semaphore)(self.at(), 1, semaphore, 0);
            }
            "release" if self.takes_nothing() => {
                (self.runtime.semaphore)(self.at(), 3, semaphore, 0);
            }
            "tryAcquire" if self.takes_nothing() => {
                (self.runtime.semaphore)(self.at(), 2, semaphore, 0);
            }
            // How many is not known here: what threads do keeps its order.
            _ => {
                self.order(block + ORDER);
                (self.runtime.outside)();
            }
        }
    }

    fn atomic_value(self, object: Ref) -> u64 {
        let class = self.jni.class_of(object);
        let name = self.jvmti.class_name(class);
        let value = c"value".as_ptr();
        let field = |descriptor: &CStr| self.jni.field_id(class, value, descriptor.as_ptr());
        match name.as_str() {
            "java/util/concurrent/atomic/AtomicLong" => self.jni.long_field(object, field(c"J")) as u64,
            "java/util/concurrent/atomic/AtomicReference" => {
                let held = self.jni.object_field(object, field(c"Ljava/lang/Object;"));
                self.block(held).unwrap_or(0)
            }
            _ => self.jni.int_field(object, field(c"I")) as u32 as u64,
        }
    }

    /// The call has returned; `result` is what it returned, if that is a number or a truth value.
    fn after_call(self, result: Option<i64>, returned: Ref) {
        let Some(pending) = ended(self.at()) else { return };
        let name = self.site.method();
        let child = shadow::word(pending.block + EXTRA).load(Ordering::Acquire);
        match pending.kind {
            Kind::Thread if child != 0 => match name {
                "start" => (self.runtime.forked)(child as *const c_void),
                "join" if self.takes_nothing() => {}
                _ => drop((self.runtime.joined)(self.at(), child as *const c_void)),
            },
            Kind::Lock if name == "tryLock" => self.after_try(&pending, result),
            Kind::Lock | Kind::ReadLock | Kind::WriteLock => drop(self.block(returned)),
            Kind::Atomic => self.after_atomic(&pending, name, result),
            Kind::Future if matches!(result, None | Some(1)) => self.seen(pending.block),
            Kind::Plain if !returned.is_null() && self.meta(returned).kind == Kind::Plain => {
                self.is_view(pending.block, returned, name)
            }
            Kind::Ordered => self.order(pending.block + ORDER),
            // The last worker is gone, and all tasks are done.
            Kind::Executor | Kind::Delegate if matches!(name, "awaitTermination" | "isTerminated" | "close") => {
                self.order(pending.block + ORDER);
            }
            Kind::Semaphore if !self.takes_nothing() || name == "drainPermits" => self.order(pending.block + ORDER),
            _ => {}
        }
    }

    /// Says once that virtual threads are not recorded, if the call makes any.
    fn say_virtual(self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if library::is_virtual(self.site.method()) && !SAID.swap(true, Ordering::Relaxed) {
            eprintln!(
                "mayhap: virtual threads are not supported: what they do is not recorded, so nothing is proven of this run"
            );
            (self.runtime.unseen)();
        }
    }

    /// Iterators and views show what another object holds.
    fn is_view(self, block: u64, returned: Ref, name: &str) {
        let views =
            ["iterator", "listIterator", "descendingIterator", "keySet", "values", "entrySet", "subList", "stream"];
        if views.contains(&name)
            && let Some(view) = self.block(returned)
        {
            let whole = shadow::word(block + EXTRA).load(Ordering::Relaxed);
            shadow::word(view + EXTRA).store(if whole == 0 { block } else { whole }, Ordering::Relaxed);
        }
    }

    fn after_try(self, pending: &Pending, result: Option<i64>) {
        match (pending.got, result) {
            // It waited for the lock and got it.
            (false, Some(1)) => self.enter(pending.block),
            (true, Some(0)) => self.exit(pending.block),
            _ => {}
        }
    }

    fn after_atomic(self, pending: &Pending, name: &str, result: Option<i64>) {
        let address = pending.block + FIELDS;
        let written = self.atomic_value(pending.object);
        self.jni.delete_global(pending.object);
        let (kind, form) = match name {
            "get" | "getPlain" | "getAcquire" | "getOpaque" | "intValue" | "longValue" | "toString" => (LOAD, PLAIN),
            "set" | "lazySet" | "setPlain" | "setRelease" | "setOpaque" => (STORE, PLAIN),
            "getAndSet" => (UPDATE, EXCHANGE),
            "compareAndSet" | "weakCompareAndSet" | "weakCompareAndSetPlain" | "weakCompareAndSetVolatile" => {
                (if result == Some(1) { UPDATE } else { LOAD }, COMPARE)
            }
            _ => (UPDATE, PLAIN),
        };
        (self.runtime.atomic_end)(self.at(), address, kind, form, pending.found, written);
        shadow::word(address).store(written, Ordering::Relaxed);
    }

    /// `Condition.await`: says how it ended.
    fn await_condition(self, condition: Ref, limit: Option<u64>) -> Waited {
        let sync = self.part(condition, c"this$0", c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;");
        let (Some(block), Some(lock)) = (self.block(condition), self.block(sync)) else { return Waited::Woken };
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
        let waited = self.wait_on(block, lock, limit);
        self.jni.call_void(sync, self.method(sync, c"acquire", c"(I)V"), arguments);
        if waited == Waited::Interrupted {
            self.throw_interrupted(condition);
        }
        waited
    }

    fn signal(self, condition: Ref, all: bool) {
        let Some(block) = self.block(condition) else { return };
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
    let to_nanos = here.method(unit, c"toNanos", c"(J)J");
    let argument = [time as u64];
    let nanos = here.jni.call_long(unit, to_nanos, argument.as_ptr().cast());
    u8::from(here.await_condition(condition, Some(nanos.max(0) as u64)) == Waited::Woken)
}

#[unsafe(export_name = "Java_java_lang_Mayhap_awaitNanosJ")]
extern "C" fn await_nanos(jni: Jni, _class: Class, condition: Ref, time: i64, site: i32) -> i64 {
    let Some(here) = here(jni, site) else { return 0 };
    let started = std::time::Instant::now();
    here.await_condition(condition, Some(time.max(0) as u64));
    time - i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

natives! { NATIVES:
    before "before" "(Ljava/lang/Object;Ljava/lang/Object;I)V" (object: Ref, argument: Ref, site: i32), site, |here| here.before_call(object, argument);
    before_static "beforeStatic" "(I)V" (site: i32), site, |here| {
        here.say_virtual();
        here.order(anything(here) + ORDER);
        (here.runtime.outside)();
        begin(Pending { pc: here.at(), block: anything(here), kind: Kind::Ordered, found: 0, got: false, object: core::ptr::null_mut() });
    };
    after "after" "(I)V" (site: i32), site, |here| here.after_call(None, core::ptr::null_mut());
    after_int "afterI" "(II)V" (result: i32, site: i32), site, |here| here.after_call(Some(result.into()), core::ptr::null_mut());
    after_long "afterJ" "(JI)V" (result: i64, site: i32), site, |here| here.after_call(Some(result), core::ptr::null_mut());
    after_object "afterL" "(Ljava/lang/Object;I)V" (result: Ref, site: i32), site, |here| here.after_call(None, result);
    await_ "await" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| _ = here.await_condition(condition, None);
    signal "signal" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| here.signal(condition, false);
    signal_all "signalAll" "(Ljava/lang/Object;I)V" (condition: Ref, site: i32), site, |here| here.signal(condition, true);
}

/// The native methods that return how a wait ended.
pub(crate) static TIMED: &[(&str, &str)] =
    &[("awaitJL", "(Ljava/lang/Object;JLjava/lang/Object;I)Z"), ("awaitNanosJ", "(Ljava/lang/Object;JI)J")];
