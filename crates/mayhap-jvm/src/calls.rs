//! Calls of Java's library that synchronise, as what they mean: one hook before the call, one after it.

use core::ffi::c_void;
use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::hooks::{LOAD, STORE, UPDATE, WRITE, here, natives};
use crate::jvm::{Jni, Ref};
use crate::library::{self, Kind};
use crate::objects::{Behind, Here};
use crate::pending::{self, Pending, begin, ended, whole};
use crate::places::What;
use crate::position;
use crate::shadow::{self, EXTRA, FIELDS, ORDER};

type Class = Ref;

/// Forms of atomic operations.
const PLAIN: u32 = 0;
const EXCHANGE: u32 = 1;
const COMPARE: u32 = 2;

/// A word of a semaphore's block says how it is used.
const COUNTS: u64 = FIELDS + 40;
const SINGLE: u64 = 1;
const ORDERED: u64 = 2;

/// The machine's own streams for output: references that last.
pub(crate) static STANDARD: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];

thread_local! {
    /// The time limit of the call that comes next, in nanoseconds.
    static LIMIT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What stands for everything that has no object of its own.
pub(crate) fn anything(here: Here) -> u64 {
    static BLOCK: OnceLock<u64> = OnceLock::new();
    *BLOCK.get_or_init(|| {
        let block = shadow::block(64).unwrap_or(0);
        (here.runtime.record)(here.at(), mayhap_wire::ring::Tag::Alloc as u32, block, FIELDS + 64);
        block
    })
}

impl Here {
    fn before_call(self, object: Ref, argument: Ref) {
        let object = self.unwrapped(object);
        let Some(block) = self.block(object) else { return };
        let (kind, name) = (self.kind_here(object), self.site.method());
        let (level, word) = (position::level(), whole(block) + ORDER);
        if self.site.method_class().ends_with("/misc/Unsafe") {
            self.not_seen("memory is accessed through Unsafe");
        }
        let array = core::ptr::null_mut();
        let mut pending =
            Pending { pc: self.at(), block, kind, found: 0, got: false, object, level, array, word, name };
        self.array_behind(object, &mut pending);
        let limit = if self.takes_nothing() { None } else { LIMIT.replace(None) };
        match kind {
            // What it calls is the program's own.
            Kind::Own if !library::is_library(self.site.method_class()) => {
                begin(pending);
                return (self.runtime.call)(self.at(), position::stack());
            }
            Kind::Own | Kind::Silent | Kind::Executor => {}
            Kind::Delegate => {
                let executor = self.part(object, c"e", c"Ljava/util/concurrent/ExecutorService;");
                pending.block = self.block(executor).unwrap_or(block);
            }
            Kind::Thread => self.before_thread(object, block, name),
            Kind::Lock => self.before_lock(&mut pending, name, limit),
            Kind::ReadLock | Kind::WriteLock => self.before_rw(&mut pending, name, limit),
            Kind::Condition | Kind::Future => {}
            Kind::Semaphore => self.before_semaphore(&mut pending, name, limit),
            Kind::Atomic => {
                if library::applies(name) {
                    // What the program's function does with the value comes after the read of it.
                    self.atomic_read(object, block);
                }
                self.branch();
                (self.runtime.atomic_begin)(self.at(), block + FIELDS);
                pending.found = self.atomic_value(object);
                pending.object = self.jni.global(object);
            }
            Kind::Plain => self.before_plain(&mut pending, object),
            Kind::Synchronized => {
                let lock = self.lock_of(object, block);
                self.enter(lock);
                self.contents(block, self.only_reads());
                self.exit(lock);
            }
            Kind::Output if self.is_standard_output(object) => pending.kind = Kind::Silent,
            Kind::Handle => self.before_handle(&mut pending, object, argument),
            Kind::Ordered if self.is_reflection() => self.before_reflection(&mut pending, object, argument),
            Kind::Ordered => {
                if name == "enqueue" {
                    // A reference hands something to its queue.
                    self.order(anything(self) + ORDER);
                }
                self.order(pending.word);
            }
            Kind::Anything | Kind::Output => {
                // A task for a pool.
                if !argument.is_null() && self.meta(argument).kind == Kind::Future {
                    self.block(argument).into_iter().for_each(|task| self.done(task));
                }
                pending.word = anything(self) + ORDER;
                pending.kind = Kind::Ordered;
                self.order(pending.word);
            }
        }
        let keeps_turn = pending.kind != Kind::Ordered
            && matches!(kind, Kind::Plain | Kind::Synchronized | Kind::Atomic | Kind::Handle | Kind::Lock)
            || matches!(kind, Kind::ReadLock | Kind::WriteLock | Kind::Semaphore | Kind::Thread)
            || pending.kind == Kind::Handle;
        begin(pending);
        position::goes_outside();
        if !keeps_turn {
            (self.runtime.outside)();
        }
    }

    /// A call of an object whose contents are one variable.
    fn before_plain(self, pending: &mut Pending, object: Ref) {
        let block = pending.block;
        let advances = library::advances(self.site.method_class(), pending.name, self.takes_nothing());
        let is_view = whole(block) != block;
        self.contents(block, self.only_reads() && (is_view || !advances));
        if advances && is_view {
            self.touch(block, false, 0);
            self.touch(block, true, WRITE);
        }
        if self.site.method_class().starts_with("java/util/stream/") && self.is_parallel(object) {
            pending.word = anything(self) + ORDER;
            pending.kind = Kind::Ordered;
            self.order(pending.word);
        }
    }

    /// What an object is to the method that is called here: a method of the program's own may do anything.
    fn kind_here(self, object: Ref) -> Kind {
        let meta = self.meta(object);
        let is_own = match &self.site.what {
            What::Call(method) => !self.site.is_super && meta.class.is_some_and(|class| class.declares(method)),
            _ => false,
        };
        if is_own { Kind::Own } else { meta.kind }
    }

    /// Whether the called method of a collection only looks.
    fn only_reads(self) -> bool {
        library::only_reads(self.site.method()) || self.site.method_class().starts_with("java/util/stream/")
    }

    /// The contents of an object of the library are read, and perhaps changed: what they are then depends on what they were.
    pub(crate) fn contents(self, block: u64, only_reads: bool) {
        self.touch(whole(block), false, 0);
        if !only_reads {
            self.touch(whole(block), true, WRITE);
        }
    }

    fn touch(self, block: u64, writes: bool, place: u64) {
        let address = block + FIELDS;
        (self.runtime.access)(self.site.pc + place, address, writes, self.site.branched);
        if writes {
            // No two states are known to be the same.
            shadow::word(address).fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_parallel(self, stream: Ref) -> bool {
        let class = self.jni.class_of(stream);
        let method = self.jni.method_id(class, c"isParallel".as_ptr(), c"()Z".as_ptr());
        self.jni.delete_local(class);
        if method.is_null() {
            self.jni.take_exception();
            return false;
        }
        self.jni.call_boolean(stream, method, core::ptr::null()) != 0
    }

    /// Whether the object is what the machine started with as its output or its output for errors.
    fn is_standard_output(self, object: Ref) -> bool {
        STANDARD.iter().any(|known| {
            let known = known.load(Ordering::Acquire);
            !known.is_null() && self.jni.is_same(known, object) != 0
        })
    }

    fn before_thread(self, thread: Ref, block: u64, name: &str) {
        let child = shadow::word(block + EXTRA).load(Ordering::Acquire);
        match name {
            "isInterrupted" => self.order(block + ORDER),
            "start" => self.starts(thread),
            "join" if child != 0 && self.takes_nothing() => {
                self.branch();
                (self.runtime.join)(self.at(), child as *const c_void);
            }
            _ => (self.runtime.outside)(),
        }
    }

    pub(crate) fn takes_nothing(self) -> bool {
        matches!(&self.site.what, What::Call(member) if member.descriptor.starts_with("()"))
    }

    /// Semaphores: once a thread takes or gives several permits at once, what is done with the semaphore only keeps its order.
    fn before_semaphore(self, pending: &mut Pending, name: &str, limit: Option<u64>) {
        let block = pending.block;
        let semaphore = (block + FIELDS) as *mut c_void;
        let counts = shadow::word(block + COUNTS);
        let is_single = match &self.site.what {
            What::Call(member) => !member.descriptor.starts_with("(I") && name != "drainPermits",
            _ => false,
        };
        let state = counts.load(Ordering::Relaxed);
        if state == ORDERED || !is_single && name.contains("cquire") || !is_single && name.contains("elease") {
            if state == SINGLE {
                // Threads may wait where the permits are not counted any more.
                self.not_seen("a semaphore is used for one permit and for several at once");
                for _ in 0..64 {
                    (self.runtime.semaphore)(self.at(), 3, semaphore, 0);
                }
            }
            counts.store(ORDERED, Ordering::Relaxed);
            pending.kind = Kind::Ordered;
            self.order(pending.word);
            return (self.runtime.outside)();
        }
        counts.store(SINGLE, Ordering::Relaxed);
        self.branch();
        match name {
            "acquire" => {
                self.begins_to_wait(block, true);
                let is_interrupted = self.is_interrupted();
                if !is_interrupted {
                    (self.runtime.semaphore)(self.at(), 1, semaphore, 0);
                }
                if self.was_interrupted(block) || is_interrupted {
                    // The permit was for waking up.
                    pending.kind = Kind::Silent;
                    (self.runtime.outside)();
                }
            }
            "acquireUninterruptibly" => {
                (self.runtime.semaphore)(self.at(), 1, semaphore, 0);
            }
            "release" => {
                (self.runtime.semaphore)(self.at(), 3, semaphore, 0);
            }
            "tryAcquire" => {
                pending.got = self.try_for(limit, &|| (self.runtime.semaphore)(self.at(), 2, semaphore, 0) == 0);
                if !pending.got && !self.takes_nothing() {
                    (self.runtime.outside)();
                }
            }
            "drainPermits" => self.not_seen("a semaphore's permits are drained"),
            _ => self.order(pending.word),
        }
    }

    /// Says once for each reason that something is not seen: then nothing is proven.
    pub(crate) fn not_seen(self, what: &'static str) {
        static SAID: Mutex<Vec<&str>> = Mutex::new(Vec::new());
        (self.runtime.unseen)();
        let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !said.contains(&what) {
            said.push(what);
            eprintln!("mayhap: {what}: this is not recorded, so findings of this run are at most suspected");
        }
    }

    fn atomic_value(self, object: Ref) -> u64 {
        let Behind { value, value_kind, .. } = self.meta(object).behind;
        match value_kind {
            _ if value.is_null() => 0,
            b'J' => self.jni.long_field(object, value) as u64,
            b'L' => self.block(self.jni.object_field(object, value)).unwrap_or(0),
            _ => self.jni.int_field(object, value) as u32 as u64,
        }
    }

    /// The library reads an atomic variable.
    pub(crate) fn atomic_read(self, object: Ref, block: u64) {
        self.branch();
        (self.runtime.atomic_begin)(self.at(), block + FIELDS);
        let found = self.atomic_value(object);
        (self.runtime.atomic_end)(self.at(), block + FIELDS, LOAD, PLAIN, found, found);
    }

    /// The call has returned; `result` is what it returned, if that is a number or a truth value.
    fn after_call(self, result: Option<i64>, returned: Ref) {
        if let Some(pending) = ended(self.at()) {
            self.after_pending(pending, result, returned);
        }
    }

    /// An attempt to take a lock has returned; says what it is to return to the program.
    fn after_attempt(self, result: bool) -> bool {
        let Some(pending) = ended(self.at()) else { return result };
        match pending.kind {
            Kind::Lock | Kind::ReadLock | Kind::WriteLock => self.after_try(&pending, result),
            _ => {
                self.after_pending(pending, Some(result.into()), core::ptr::null_mut());
                result
            }
        }
    }

    fn after_pending(self, pending: Pending, result: Option<i64>, returned: Ref) {
        self.array_changed(&pending);
        let name = self.site.method();
        let child = shadow::word(pending.block + EXTRA).load(Ordering::Acquire);
        match pending.kind {
            Kind::Thread if child != 0 => match name {
                "start" => (self.runtime.forked)(child as *const c_void),
                "join" if self.takes_nothing() => {}
                "isInterrupted" => self.order(pending.block + ORDER),
                _ => drop((self.runtime.joined)(self.at(), child as *const c_void)),
            },
            Kind::Lock | Kind::ReadLock | Kind::WriteLock => drop(self.block(returned)),
            Kind::Own => (self.runtime.returned)(self.at()),
            Kind::Atomic => self.after_atomic(&pending, name, result),
            Kind::Handle => self.after_handle(&pending, name, result),
            Kind::Future if matches!(result, None | Some(1)) => self.seen(pending.block),
            Kind::Plain | Kind::Synchronized => self.returns(&pending, returned, name),
            Kind::Ordered => {
                self.order(pending.word);
                self.returns(&pending, returned, name);
                if !returned.is_null() && self.meta(returned).kind == Kind::Future {
                    self.block(returned).into_iter().for_each(|future| self.seen(future));
                }
            }
            // The last worker is gone, and all tasks are done.
            Kind::Executor | Kind::Delegate if matches!(name, "awaitTermination" | "isTerminated" | "close") => {
                self.order(pending.block + ORDER);
            }
            Kind::Executor | Kind::Delegate if name == "invokeAll" && !returned.is_null() => self.seen_all(returned),
            Kind::Executor | Kind::Delegate if name.ends_with("Count") || name == "getPoolSize" => {
                self.not_seen("a program asks an executor how many tasks it has");
            }
            Kind::Semaphore if name == "tryAcquire" && !pending.got && result == Some(1) => {
                (self.runtime.semaphore)(self.at(), 1, (pending.block + FIELDS) as *mut c_void, 0);
            }
            Kind::Semaphore if name == "tryAcquire" && pending.got && result == Some(0) => {
                (self.runtime.semaphore)(self.at(), 3, (pending.block + FIELDS) as *mut c_void, 0);
            }
            _ => {}
        }
    }

    /// All tasks in a list are done.
    fn seen_all(self, list: Ref) {
        let all =
            self.jni.call_object(list, self.method(list, c"toArray", c"()[Ljava/lang/Object;"), core::ptr::null());
        if self.jni.take_exception().is_null() && !all.is_null() {
            for index in 0..self.jni.array_length(all) {
                let task = self.jni.element(all, index);
                self.block(task).into_iter().for_each(|task| self.seen(task));
                self.jni.delete_local(task);
            }
        }
    }

    /// The calls into the library at the present level have ended by an exception.
    pub(crate) fn ended_by_exception(self) {
        let last = pending::abandoned();
        self.order(self.thread_block() + ORDER);
        let Some(pending) = last else { return };
        self.array_changed(&pending);
        let name = pending.name;
        match pending.kind {
            Kind::Ordered => self.order(pending.word),
            Kind::Future => self.seen(pending.block),
            Kind::Lock if name.starts_with("lock") || pending.got => self.exit(pending.block),
            Kind::ReadLock | Kind::WriteLock if pending.got => {
                self.unlock_rw(pending.block, pending.kind == Kind::WriteLock);
            }
            Kind::Lock | Kind::ReadLock | Kind::WriteLock if name == "tryLock" => {
                self.jni.delete_global(pending.object);
            }
            Kind::Semaphore if name == "acquire" || pending.got => {
                (self.runtime.semaphore)(self.at(), 3, (pending.block + FIELDS) as *mut c_void, 0);
            }
            Kind::Atomic => {
                self.jni.delete_global(pending.object);
                (self.runtime.atomic_end)(
                    pending.pc,
                    pending.block + FIELDS,
                    LOAD,
                    PLAIN,
                    pending.found,
                    pending.found,
                );
            }
            _ => {}
        }
    }

    pub(crate) fn nanoseconds(self, time: i64, unit: Ref) -> u64 {
        let to_nanos = self.method(unit, c"toNanos", c"(J)J");
        let argument = [time as u64];
        self.jni.call_long(unit, to_nanos, argument.as_ptr().cast()).max(0) as u64
    }

    fn has_limit(self, time: i64, unit: Ref) {
        if !unit.is_null() {
            LIMIT.set(Some(self.nanoseconds(time, unit)));
        }
    }

    /// A static method of the library is called that may hand something from one thread to another.
    fn before_static(self) {
        self.say_virtual();
        let of_thread = self.site.method_class() == "java/lang/Thread";
        let block = if of_thread { self.thread_block() } else { anything(self) };
        let (level, word, name) = (position::level(), block + ORDER, self.site.method());
        let object = core::ptr::null_mut();
        let (kind, array) = (Kind::Ordered, core::ptr::null_mut());
        let pending = Pending { pc: self.at(), block, kind, found: 0, got: false, object, level, array, word, name };
        self.order(word);
        begin(pending);
        position::goes_outside();
        (self.runtime.outside)();
    }

    /// Says once that virtual threads are not recorded, if the call makes any.
    fn say_virtual(self) {
        if library::is_virtual(self.site.method()) {
            self.not_seen("virtual threads are not supported");
        }
    }

    /// Iterators and views show what another object holds.
    fn returns(self, pending: &Pending, returned: Ref, name: &str) {
        if returned.is_null() {
            return;
        }
        let meta = self.meta(returned);
        // What the library has made just now and may share is a part of the object that it comes from.
        let is_part = pending.kind == Kind::Ordered && meta.kind == Kind::Ordered && self.jvmti.tag(returned) == 0;
        let is_stream = self.site.method_class().starts_with("java/util/stream/");
        let shows = library::returns_view(name) || is_stream || meta.is_entry || is_part;
        if matches!(meta.kind, Kind::Plain | Kind::Ordered | Kind::Synchronized) && shows {
            self.is_view(pending.block, returned);
        }
    }

    pub(crate) fn is_view(self, block: u64, view: Ref) {
        if let Some(view) = self.block(view)
            && whole(block) != view
        {
            shadow::word(view + EXTRA).store(whole(block), Ordering::Relaxed);
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
}

natives! { NATIVES:
    limit "limit" "(JLjava/lang/Object;I)V" (time: i64, unit: Ref, site: i32), site, |here| here.has_limit(time, unit);
    before "before" "(Ljava/lang/Object;Ljava/lang/Object;I)V" (object: Ref, argument: Ref, site: i32), site, |here| here.before_call(object, argument);
    before_static "beforeStatic" "(I)V" (site: i32), site, |here| here.before_static();
    after "after" "(I)V" (site: i32), site, |here| here.after_call(None, core::ptr::null_mut());
    after_int "afterI" "(II)V" (result: i32, site: i32), site, |here| here.after_call(Some(result.into()), core::ptr::null_mut());
    after_long "afterJ" "(JI)V" (result: i64, site: i32), site, |here| here.after_call(Some(result), core::ptr::null_mut());
    after_object "afterL" "(Ljava/lang/Object;I)V" (result: Ref, site: i32), site, |here| here.after_call(None, result);
}

#[unsafe(export_name = "Java_java_lang_Mayhap_afterTry")]
extern "C" fn after_try(jni: Jni, _class: Class, result: i32, site: i32) -> u8 {
    let Some(here) = here(jni, site) else { return (result != 0).into() };
    here.after_attempt(result != 0).into()
}

/// The native method that may change what an attempt returns.
pub(crate) static ATTEMPTS: &[(&str, &str)] = &[("afterTry", "(II)Z")];
