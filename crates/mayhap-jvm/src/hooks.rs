//! The native methods that rewritten code calls: accesses, monitors, threads.

use core::ffi::CStr;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use mayhap_wire::ring::Tag;

use crate::classes::{Class as OwnClass, Resolved};
use crate::jvm::{Jni, Ref, Value};
use crate::objects::{self, Here};
use crate::opening::Accessed;
use crate::runtime::{self, how};
use crate::shadow::{self, EXTRA, FIELDS, ORDER};
use crate::{pending, position};

/// Kinds and forms of atomic operations, by the numbers of the runtime.
pub(crate) const LOAD: u32 = 0;
pub(crate) const STORE: u32 = 1;
pub(crate) const UPDATE: u32 = 2;

/// What a hook runs with; nothing where nothing is recorded. The place's class is known afterwards.
#[inline]
pub(crate) fn here(jni: Jni, site: i32) -> Option<Here> {
    let here = objects::place(jni, site)?;
    let Here { runtime, site, .. } = here;
    if !site.class.is_library {
        position::is_inside();
    }
    site.class.make_known(runtime);
    // Also where nothing else is recorded: the next place does not know of it.
    here.branch();
    Some(here)
}

/// The number of the calling thread, for the owners of locks.
pub(crate) fn me() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! { static NUMBER: Cell<u32> = const { Cell::new(0) }; }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// A place of the runtime does one thing. Those of a hook are apart: its access, anything else, and the branch before.
const OTHER: u64 = 1;
const BRANCH: u64 = 2;
/// Where a place reads, too, it writes here.
pub(crate) const WRITE: u64 = 3;

impl Here {
    /// The place of what is no plain access.
    pub(crate) fn at(self) -> u64 {
        self.site.pc + OTHER
    }

    /// The thread is about to synchronise: it may have been led here by what it read.
    pub(crate) fn branch(self) {
        if self.site.branched {
            (self.runtime.branched)(self.site.pc + BRANCH);
        }
    }

    fn access(self, address: u64, is_volatile: bool, written: Option<u64>) {
        let (pc, word) = (self.at(), shadow::word(address));
        if is_volatile {
            self.branch();
            (self.runtime.atomic_begin)(pc, address);
            let found = word.load(Ordering::Relaxed);
            word.store(written.unwrap_or(found), Ordering::Relaxed);
            let kind = if written.is_some() { STORE } else { LOAD };
            (self.runtime.atomic_end)(pc, address, kind, 0, found, written.unwrap_or(found));
            return;
        }
        (self.runtime.access)(self.site.pc, address, written.is_some(), self.site.branched);
        if let Some(value) = written {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// A field of an object is about to be read, and held `real` just before.
    fn reads_field(self, object: Ref, real: u64) {
        if let Resolved::At { offset, is_volatile } = self.site.field(false)
            && let Some(block) = self.block(object)
        {
            self.finds(block, block + offset, object, real, is_volatile);
            self.access(block + offset, is_volatile, None);
            self.opens_field(object, block, offset, is_volatile);
        }
    }

    fn writes_field(self, object: Ref, value: u64) {
        if let Resolved::At { offset, is_volatile } = self.site.field(false)
            && let Some(block) = self.block(object)
        {
            self.access(block + offset, is_volatile, Some(value));
            self.opens_field(object, block, offset, is_volatile);
        }
    }

    /// A static field is about to be read, and held `real` just before.
    fn reads_static(self, real: u64) {
        let is_seen = self.uses_owner();
        if let Resolved::At { offset, is_volatile } = self.site.field(true) {
            let block = self.site.found().map_or(0, |(class, _)| class.base);
            self.finds(block, offset, core::ptr::null_mut(), real, is_volatile);
            self.access(offset, is_volatile, None);
            self.opens_static(offset, is_volatile, is_seen);
        }
    }

    fn writes_static(self, value: u64) {
        let is_seen = self.uses_owner();
        if let Resolved::At { offset, is_volatile } = self.site.field(true) {
            self.access(offset, is_volatile, Some(value));
            self.opens_static(offset, is_volatile, is_seen);
        }
    }

    /// Compares what the place's field held just before the hook with what is known of it. Another thread may have written since, so the field is read
    /// again where they differ.
    #[inline]
    fn finds(self, block: u64, address: u64, object: Ref, real: u64, is_volatile: bool) {
        if shadow::word(address).load(Ordering::Relaxed) != real
            && let Some((class, field)) = self.site.found()
            && let Some(real) = self.real_field(field, class.mirror(), object)
        {
            self.takes_over(block, address, real, is_volatile);
        }
    }

    /// The class that the place's static field belongs to is used; says whether the thread knows now that it is initialised.
    #[inline]
    fn uses_owner(self) -> bool {
        thread_local! { static LAST: [Cell<u64>; 16] = const { [const { Cell::new(0) }; 16] }; }
        let Some(class) = self.site.owner() else { return false };
        // A class takes whole pages.
        let is_last = |last: &[Cell<u64>; 16]| last[(class.base >> 12) as usize % 16].get() == class.base;
        if LAST.with(is_last) {
            return true;
        }
        let is_initialised = !class.has_initialiser || class.is_initialised.load(Ordering::Acquire);
        self.sees_initialised(class);
        if is_initialised {
            LAST.with(|last| last[(class.base >> 12) as usize % 16].set(class.base));
        }
        is_initialised
    }

    /// What the initialisers of a class and of those that it extends did comes before what other threads do with it.
    fn sees_initialised(self, class: &'static OwnClass) {
        thread_local! { static SEEN: RefCell<HashSet<u64>> = RefCell::default(); }
        let mut next = Some(class);
        while let Some(class) = next {
            let is_done = !class.has_initialiser || class.is_initialised.load(Ordering::Acquire);
            let is_new = is_done && SEEN.with_borrow_mut(|seen| seen.insert(class.base));
            if is_new && class.has_initialiser {
                class.make_known(self.runtime);
                (self.runtime.record)(self.at(), Tag::OnceSeen as u32, class.base + ORDER, 0);
            }
            next = if is_new || !is_done { class.extends() } else { None };
        }
    }

    /// A static method or a constructor of the place's class runs.
    pub(crate) fn sees_own_initialised(self) {
        self.sees_initialised(self.site.class);
    }

    /// The block of an array and the address of an element; nothing of one that does not exist.
    #[inline]
    fn element(self, array: Ref, index: i32) -> Option<(u64, u64)> {
        if array.is_null() || index < 0 {
            return None;
        }
        let (block, length) = self.array(array)?;
        (index < length).then_some((block, block + FIELDS + 8 * index as u64))
    }

    /// An element of an array is about to be read, and held `real` just before. Where that is not what is known of it, it is read again: another thread
    /// may have written since.
    fn reads_element(self, array: Ref, index: i32, real: u64, kind: u8) {
        let Some((block, address)) = self.element(array, index) else { return };
        if shadow::word(address).load(Ordering::Relaxed) != real {
            self.takes_over(block, address, self.real_element(array, kind, index), false);
        }
        self.access(address, false, None);
        self.opens(Accessed::Element);
    }

    fn writes_element(self, array: Ref, index: i32, value: u64) {
        if let Some((_, address)) = self.element(array, index) {
            self.access(address, false, Some(value));
            self.opens(Accessed::Element);
        }
    }

    /// What a reference is as a value.
    fn value(self, object: Ref) -> u64 {
        self.block(object).unwrap_or(0)
    }

    /// Takes the lock of a block.
    pub(crate) fn enter(self, block: u64) {
        let (owner, count) = shadow::owner(block);
        let me = me();
        if owner.load(Ordering::Relaxed) == me {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return;
        }
        self.branch();
        (self.runtime.lock)(self.at(), how::LOCK, shadow::mutex(block));
        self.owns(block, 1);
    }

    pub(crate) fn owns(self, block: u64, times: u32) {
        let (owner, count) = shadow::owner(block);
        owner.store(me(), Ordering::Relaxed);
        count.store(times, Ordering::Relaxed);
    }

    /// Whether the calling thread has the lock of a block.
    pub(crate) fn is_owner(self, block: u64) -> bool {
        shadow::owner(block).0.load(Ordering::Relaxed) == me()
    }

    /// Gives up the lock of a block.
    pub(crate) fn exit(self, block: u64) {
        let (owner, count) = shadow::owner(block);
        if owner.load(Ordering::Relaxed) != me() {
            return;
        }
        let left = count.load(Ordering::Relaxed) - 1;
        count.store(left, Ordering::Relaxed);
        if left == 0 {
            owner.store(0, Ordering::Relaxed);
            self.branch();
            (self.runtime.lock)(self.at(), how::UNLOCK, shadow::mutex(block));
        }
    }

    /// Changes a word whose changes keep their order.
    pub(crate) fn order(self, address: u64) {
        self.branch();
        (self.runtime.atomic_begin)(self.at(), address);
        let found = shadow::word(address).fetch_add(1, Ordering::Relaxed);
        (self.runtime.atomic_end)(self.at(), address, UPDATE, 0, found, found + 1);
        // What the library decides by it is not seen.
        (self.runtime.branched)(self.site.pc + BRANCH);
    }

    /// Something is handed over by this object.
    pub(crate) fn done(self, block: u64) {
        shadow::word(block + ORDER).store(1, Ordering::Release);
        (self.runtime.record)(self.at(), Tag::OnceDone as u32, block + ORDER, 0);
    }

    /// What was handed over by this object is taken.
    pub(crate) fn seen(self, block: u64) {
        if shadow::word(block + ORDER).load(Ordering::Acquire) == 1 {
            (self.runtime.record)(self.at(), Tag::OnceSeen as u32, block + ORDER, 0);
        }
    }

    /// A thread is about to be started.
    pub(crate) fn starts(self, thread: Ref) {
        let Some(block) = self.block(thread) else { return };
        if shadow::word(block + EXTRA).load(Ordering::Relaxed) == 0 && !self.is_internal(thread) {
            self.branch();
            let child = (self.runtime.fork)(self.at());
            shadow::word(block + EXTRA).store(child as u64, Ordering::Release);
        }
    }

    /// Whether the thread is one that serves the machine alone.
    fn is_internal(self, thread: Ref) -> bool {
        let class = self.jni.class_of(thread);
        let name = self.jvmti.class_name(class);
        self.jni.delete_local(class);
        name.starts_with("jdk/internal/") || name.starts_with("java/lang/ref/")
    }

    /// Waits on the condition of a block with the lock of another, which the calling thread has. Says whether it was woken, and not interrupted.
    pub(crate) fn wait_on(self, condition: u64, lock: u64, limit: Option<u64>) -> Waited {
        if self.is_interruptible() && self.is_interrupted() {
            return Waited::Interrupted;
        }
        let times = shadow::owner(lock).1.swap(0, Ordering::Relaxed);
        shadow::owner(lock).0.store(0, Ordering::Relaxed);
        let deadline = limit.map(deadline);
        let time = deadline.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        self.begins_to_wait(condition, false);
        self.branch();
        let result = (self.runtime.wait)(self.at(), shadow::condition(condition), shadow::mutex(lock), time);
        self.owns(lock, times);
        match (self.was_interrupted(condition), result) {
            (true, _) => Waited::Interrupted,
            (_, libc::ETIMEDOUT) => Waited::TimedOut,
            _ => Waited::Woken,
        }
    }

    /// The calling thread is about to wait for a condition or a semaphore in a way that an interrupt ends.
    pub(crate) fn begins_to_wait(self, condition: u64, is_semaphore: bool) {
        let waiter = Waiter { thread: self.thread_block(), condition, is_semaphore, interrupted: false };
        locked(|waiters| waiters.push(waiter));
    }

    /// It waits no more: says whether it was interrupted.
    pub(crate) fn was_interrupted(self, condition: u64) -> bool {
        let own = self.thread_block();
        locked(|waiters| {
            let at = waiters.iter().position(|other| other.thread == own && other.condition == condition);
            at.is_some_and(|at| waiters.swap_remove(at).interrupted)
        })
    }

    /// The block of the calling thread's own object.
    pub(crate) fn thread_block(self) -> u64 {
        thread_local! { static BLOCK: Cell<u64> = const { Cell::new(0) }; }
        if BLOCK.get() == 0 {
            BLOCK.set(self.find_thread_block());
        }
        BLOCK.get()
    }

    fn find_thread_block(self) -> u64 {
        self.block(self.thread_object()).unwrap_or(0)
    }

    pub(crate) fn thread_object(self) -> Ref {
        let class = self.jni.find_class(c"java/lang/Thread".as_ptr());
        let method = self.jni.static_method_id(class, c"currentThread".as_ptr(), c"()Ljava/lang/Thread;".as_ptr());
        self.jni.call_static_object(class, method, core::ptr::null())
    }

    /// Whether the calling thread was interrupted and has not noticed it.
    pub(crate) fn is_interrupted(self) -> bool {
        let thread = self.thread_object();
        let method = self.method(thread, c"isInterrupted", c"()Z");
        self.jni.call_boolean(thread, method, core::ptr::null()) != 0
    }

    /// Whether an interrupt ends the wait that the code asks for.
    pub(crate) fn is_interruptible(self) -> bool {
        self.site.method() != "awaitUninterruptibly"
    }

    /// Whether the calling thread has the object's own monitor.
    fn holds(self, object: Ref) -> bool {
        let class = self.jni.find_class(c"java/lang/Thread".as_ptr());
        let method = self.jni.static_method_id(class, c"holdsLock".as_ptr(), c"(Ljava/lang/Object;)Z".as_ptr());
        let argument = Value { l: object };
        self.jni.call_static_boolean(class, method, &argument) != 0
    }

    fn real(self, object: Ref, name: &CStr) {
        let method = self.method(object, name, c"()V");
        self.jni.call_void(object, method, core::ptr::null());
    }

    /// `Object.wait`.
    fn wait(self, object: Ref, limit: Option<u64>) {
        let Some(block) = self.block(object) else { return };
        if !self.is_owner(block) {
            return self.real(object, c"wait");
        }
        let mut times = 0;
        while self.holds(object) {
            self.jni.monitor_exit(object);
            times += 1;
        }
        let waited = self.wait_on(block, block, limit);
        for _ in 0..times {
            self.jni.monitor_enter(object);
        }
        if waited == Waited::Interrupted {
            self.throw_interrupted(object);
        }
    }

    /// The machine's own wait throws what an interrupted thread must get.
    pub(crate) fn throw_interrupted(self, object: Ref) {
        self.order(self.thread_block() + ORDER);
        let method = self.method(object, c"wait", c"(JI)V");
        let was_owned = self.holds(object);
        if !was_owned {
            self.jni.monitor_enter(object);
        }
        for _ in 0..1000 {
            // A millisecond. Each argument takes a word.
            self.jni.call_void(object, method, [1u64, 0].as_ptr().cast());
            if !self.jni.exception().is_null() {
                break;
            }
        }
        if !was_owned {
            let kept = self.jni.take_exception();
            self.jni.monitor_exit(object);
            self.jni.throw_kept(kept);
        }
    }

    fn notify(self, object: Ref, all: bool) {
        let Some(block) = self.block(object) else { return };
        if !self.is_owner(block) {
            return self.real(object, if all { c"notifyAll" } else { c"notify" });
        }
        self.branch();
        (self.runtime.notify)(self.at(), shadow::condition(block), all);
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Woken,
    TimedOut,
    Interrupted,
}

/// A thread that waits, by the blocks of what takes part.
#[derive(Clone, Copy)]
struct Waiter {
    thread: u64,
    /// The block of the condition, or of the semaphore.
    condition: u64,
    is_semaphore: bool,
    interrupted: bool,
}

static WAITERS: Mutex<Vec<Waiter>> = Mutex::new(Vec::new());

fn locked<R>(f: impl FnOnce(&mut Vec<Waiter>) -> R) -> R {
    f(&mut WAITERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// The moment that is so many nanoseconds from now.
fn deadline(nanoseconds: u64) -> libc::timespec {
    // SAFETY: the structure is plain data that the call fills.
    let mut now: libc::timespec = unsafe { core::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let total = now.tv_nsec as u64 + nanoseconds % 1_000_000_000;
    now.tv_sec += (nanoseconds / 1_000_000_000 + total / 1_000_000_000).min(1 << 32) as i64;
    now.tv_nsec = (total % 1_000_000_000) as i64;
    now
}

type Class = Ref;

/// Declares native methods: name, descriptor, arguments, and what is done where something is recorded.
macro_rules! natives {
    ($list:ident: $($function:ident $name:literal $descriptor:literal ($($arg:ident: $type:ty),*) $(-> $ret:ident: $out:ty)?, $site:ident, |$here:ident| $body:expr;)*) => {
        $(#[unsafe(export_name = concat!("Java_java_lang_Mayhap_", $name))]
        extern "C" fn $function(jni: Jni, _class: Class $(, $arg: $type)*) $(-> $out)? {
            if let Some($here) = here(jni, $site) {
                $body;
            }
            $($ret)?
        })*

        /// The names of the methods and their types.
        pub(crate) static $list: &[(&str, &str)] = &[$(($name, $descriptor),)*];
    };
}
pub(crate) use natives;

fn nanoseconds(milliseconds: i64, more: i32) -> Option<u64> {
    let all = u64::try_from(milliseconds)
        .unwrap_or(0)
        .saturating_mul(1_000_000)
        .saturating_add(u64::from(more.unsigned_abs()));
    (all != 0).then_some(all)
}

natives! { NATIVES:
    get_int "getISlowly" "(Ljava/lang/Object;II)V" (object: Ref, value: i32, site: i32), site, |here| here.reads_field(object, value as u32 as u64);
    get_float "getFSlowly" "(Ljava/lang/Object;FI)V" (object: Ref, value: f32, site: i32), site, |here| here.reads_field(object, value.to_bits().into());
    get_object "getLSlowly" "(Ljava/lang/Object;Ljava/lang/Object;I)V" (object: Ref, value: Ref, site: i32), site, |here| here.reads_field(object, here.value(value));
    get_long "getJSlowly" "(Ljava/lang/Object;JI)V" (object: Ref, value: i64, site: i32), site, |here| here.reads_field(object, value as u64);
    get_double "getDSlowly" "(Ljava/lang/Object;DI)V" (object: Ref, value: f64, site: i32), site, |here| here.reads_field(object, value.to_bits());
    put_int "putISlowly" "(Ljava/lang/Object;II)V" (object: Ref, value: i32, site: i32), site, |here| here.writes_field(object, value as u32 as u64);
    put_float "putFSlowly" "(Ljava/lang/Object;FI)V" (object: Ref, value: f32, site: i32), site, |here| here.writes_field(object, value.to_bits().into());
    put_object "putLSlowly" "(Ljava/lang/Object;Ljava/lang/Object;I)V" (object: Ref, value: Ref, site: i32), site, |here| here.writes_field(object, here.value(value));
    put_long "putJSlowly" "(JLjava/lang/Object;I)J" (value: i64, object: Ref, site: i32) -> value: i64, site, |here| here.writes_field(object, value as u64);
    put_double "putDSlowly" "(DLjava/lang/Object;I)D" (value: f64, object: Ref, site: i32) -> value: f64, site, |here| here.writes_field(object, value.to_bits());
    get_static_int "getStaticISlowly" "(II)V" (value: i32, site: i32), site, |here| here.reads_static(value as u32 as u64);
    get_static_float "getStaticFSlowly" "(FI)V" (value: f32, site: i32), site, |here| here.reads_static(value.to_bits().into());
    get_static_object "getStaticLSlowly" "(Ljava/lang/Object;I)V" (value: Ref, site: i32), site, |here| here.reads_static(here.value(value));
    get_static_long "getStaticJSlowly" "(JI)V" (value: i64, site: i32), site, |here| here.reads_static(value as u64);
    get_static_double "getStaticDSlowly" "(DI)V" (value: f64, site: i32), site, |here| here.reads_static(value.to_bits());
    put_static_int "putStaticISlowly" "(II)V" (value: i32, site: i32), site, |here| here.writes_static(value as u32 as u64);
    put_static_float "putStaticFSlowly" "(FI)V" (value: f32, site: i32), site, |here| here.writes_static(value.to_bits().into());
    put_static_object "putStaticLSlowly" "(Ljava/lang/Object;I)V" (value: Ref, site: i32), site, |here| here.writes_static(here.value(value));
    put_static_long "putStaticJSlowly" "(JI)V" (value: i64, site: i32), site, |here| here.writes_static(value as u64);
    put_static_double "putStaticDSlowly" "(DI)V" (value: f64, site: i32), site, |here| here.writes_static(value.to_bits());
    load_int "loadISlowly" "(Ljava/lang/Object;III)V" (array: Ref, index: i32, value: i32, site: i32), site, |here| here.reads_element(array, index, value as u32 as u64, b'I');
    load_long "loadJSlowly" "(Ljava/lang/Object;IJI)V" (array: Ref, index: i32, value: i64, site: i32), site, |here| here.reads_element(array, index, value as u64, b'J');
    load_float "loadFSlowly" "(Ljava/lang/Object;IFI)V" (array: Ref, index: i32, value: f32, site: i32), site, |here| here.reads_element(array, index, value.to_bits().into(), b'F');
    load_double "loadDSlowly" "(Ljava/lang/Object;IDI)V" (array: Ref, index: i32, value: f64, site: i32), site, |here| here.reads_element(array, index, value.to_bits(), b'D');
    load_object "loadLSlowly" "(Ljava/lang/Object;ILjava/lang/Object;I)V" (array: Ref, index: i32, value: Ref, site: i32), site, |here| here.reads_element(array, index, here.value(value), b'L');
    load_byte "loadBSlowly" "(Ljava/lang/Object;III)V" (array: Ref, index: i32, value: i32, site: i32), site, |here| here.reads_element(array, index, value as u32 as u64, b'B');
    load_char "loadCSlowly" "(Ljava/lang/Object;III)V" (array: Ref, index: i32, value: i32, site: i32), site, |here| here.reads_element(array, index, value as u32 as u64, b'C');
    load_short "loadSSlowly" "(Ljava/lang/Object;III)V" (array: Ref, index: i32, value: i32, site: i32), site, |here| here.reads_element(array, index, value as u32 as u64, b'S');
    store_int "storeISlowly" "(ILjava/lang/Object;II)I" (value: i32, array: Ref, index: i32, site: i32) -> value: i32, site, |here| here.writes_element(array, index, value as u32 as u64);
    store_long "storeJSlowly" "(JLjava/lang/Object;II)J" (value: i64, array: Ref, index: i32, site: i32) -> value: i64, site, |here| here.writes_element(array, index, value as u64);
    store_float "storeFSlowly" "(FLjava/lang/Object;II)F" (value: f32, array: Ref, index: i32, site: i32) -> value: f32, site, |here| here.writes_element(array, index, value.to_bits().into());
    store_double "storeDSlowly" "(DLjava/lang/Object;II)D" (value: f64, array: Ref, index: i32, site: i32) -> value: f64, site, |here| here.writes_element(array, index, value.to_bits());
    store_object "storeLSlowly" "(Ljava/lang/Object;Ljava/lang/Object;II)Ljava/lang/Object;" (value: Ref, array: Ref, index: i32, site: i32) -> value: Ref, site, |here| here.writes_element(array, index, here.value(value));
    alloc "allocSlowly" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| here.allocated(object);
    enter "enter" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| if let Some(block) = here.block(object) { here.enter(block) };
    exit "exit" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| if let Some(block) = here.block(object) { here.exit(block) };
    wait "wait" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| here.wait(object, None);
    wait_time "waitJ" "(Ljava/lang/Object;JI)V" (object: Ref, time: i64, site: i32), site, |here| here.wait(object, nanoseconds(time, 0));
    wait_long "waitJI" "(Ljava/lang/Object;JII)V" (object: Ref, time: i64, more: i32, site: i32), site, |here| here.wait(object, nanoseconds(time, more));
    notify "notify" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| here.notify(object, false);
    notify_all "notifyAll" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| here.notify(object, true);
    initialised "initialised" "(I)V" (site: i32), site, |here| here.initialised();
    starts "starts" "(Ljava/lang/Object;I)V" (thread: Ref, site: i32), site, |here| here.starts(thread);
    interrupts "interrupts" "(Ljava/lang/Object;I)V" (thread: Ref, site: i32), site, |here| here.interrupts(thread);
    done "done" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| if let Some(block) = here.block(object) { here.done(block) };
    seen "seen" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| if let Some(block) = here.block(object) { here.seen(block) };
    order "order" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| if let Some(block) = here.block(object) { here.order(block + ORDER) };
}

impl Here {
    fn allocated(self, object: Ref) {
        let Some(block) = (!object.is_null()).then(|| self.fresh_block(object)).flatten() else { return };
        if self.is_nested(object) {
            self.elements(object, 2);
        }
        self.shows_allocated(object, block);
    }

    /// Whether the object is an array of arrays.
    fn is_nested(self, object: Ref) -> bool {
        self.meta(object).is_nested
    }

    /// The initialiser of the place's class has run.
    fn initialised(self) {
        let class = self.site.class;
        (self.runtime.record)(self.at(), Tag::OnceDone as u32, class.base + ORDER, 0);
        class.is_initialised.store(true, Ordering::Release);
    }

    /// A thread is about to be interrupted. If it waits, it must wake up.
    fn interrupts(self, thread: Ref) {
        let Some(block) = self.block(thread) else { return };
        self.order(block + ORDER);
        let waiter = locked(|waiters| {
            let found = waiters.iter_mut().find(|waiter| waiter.thread == block)?;
            found.interrupted = true;
            Some(*found)
        });
        if let Some(waiter) = waiter.filter(|waiter| waiter.is_semaphore) {
            // The thread takes this permit and then finds that it was interrupted.
            (self.runtime.semaphore)(self.at(), 3, (waiter.condition + FIELDS) as *mut core::ffi::c_void, 0);
        } else if let Some(waiter) = waiter {
            (self.runtime.notify)(self.at(), shadow::condition(waiter.condition), true);
        }
    }
}

#[unsafe(export_name = "Java_java_lang_Mayhap_out")]
extern "C" fn out(_jni: Jni, _class: Class) {
    position::goes_outside();
    if let Some(runtime) = runtime::get().filter(|_| !pending::is_in_atomic()) {
        (runtime.outside)();
    }
}

/// The thread goes to code of the library that does not wait.
#[unsafe(export_name = "Java_java_lang_Mayhap_aside")]
extern "C" fn aside(_jni: Jni, _class: Class) {
    position::goes_outside();
}
