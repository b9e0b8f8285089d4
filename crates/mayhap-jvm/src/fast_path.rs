//! What the [hooks that are Java code](crate::fast_hooks) find: for which thread the fast path is open, and what is known of each place.
//!
//! The thread that the runtime has opened its own fast path for puts its number here, with where the word is that marks it busy, when a native hook of an
//! access ends. It takes the number away when it goes to code of the library. Another thread that opens the path replaces the number first; so who finds
//! its own number has found its own words before.

use std::cell::Cell;
use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use mayhap_wire::ring::unit;

use crate::classes::{self, Class as OwnClass};
use crate::hooks;
use crate::jvm::{Jni, Ref};
use crate::known;
use crate::objects::{Here, JVMTI};
use crate::runtime;

/// For which thread the path is open, by the machine's number for it, which no other thread ever gets; 0: none.
#[repr(C, align(64))]
struct Open {
    thread: AtomicU64,
    busy: AtomicU64,
    pointer: AtomicU64,
}

static OPEN: Open = Open { thread: AtomicU64::new(0), busy: AtomicU64::new(0), pointer: AtomicU64::new(0) };
/// Held by the thread that opens the path.
static OPENING: Mutex<()> = Mutex::new(());

/// Where the parts of [`Open`] are.
pub(crate) const BUSY: u64 = 8;
pub(crate) const POINTER: u64 = 16;

/// What is known of a place.
#[repr(C, align(32))]
pub(crate) struct Known {
    /// The unit of an access without its difference; 0 while the native hook is to be asked.
    number: AtomicU32,
    /// The high half of the word of an access, without the address.
    high: AtomicU32,
    /// The field, from the block on; a static field's address.
    offset: AtomicU64,
    /// Where in the object its block is; of a static field the thread that knows that the class is initialised.
    hidden: AtomicU64,
}

pub(crate) const HIGH: u64 = 4;
pub(crate) const OFFSET: u64 = 8;
pub(crate) const HIDDEN: u64 = 16;
/// As a power of two, how many bytes are known of a place.
pub(crate) const SITE_SHIFT: i32 = 5;
const _: () = assert!(size_of::<Known>() == 1 << SITE_SHIFT);

/// The name of the field that objects have their block in.
pub(crate) const FIELD: &str = "mayhap$block";

/// Where everything is that hooks use.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) open: u64,
    pub(crate) sites: u64,
    /// Where in a thread's object its number is.
    pub(crate) thread_number: u64,
    /// The runtime's own words: its fast path, the ring's head, where the last addresses of places begin, the last word.
    pub(crate) fast_path: u64,
    pub(crate) head: u64,
    pub(crate) last: u64,
    pub(crate) word_end: u64,
    pub(crate) word_high: u64,
    /// From the word that marks a thread busy to the one that has its last branch.
    pub(crate) branch: u64,
}

/// The machine's numbers of fields and methods that the fast path needs.
struct Machine {
    /// The field with a thread's number.
    thread_number: Ref,
    cloneable: Ref,
    unsafe_: Ref,
    /// `Unsafe.objectFieldOffset`.
    offset_of: Ref,
}

// SAFETY: references that last, and numbers.
unsafe impl Send for Machine {}
// SAFETY: as above.
unsafe impl Sync for Machine {}

static MACHINE: OnceLock<Machine> = OnceLock::new();
/// The address of what is known of the first place.
static SITES: AtomicU64 = AtomicU64::new(0);

/// The number of threads that the path is never open for.
const NEVER: u64 = u64::MAX;

thread_local! { static NUMBER: Cell<u64> = const { Cell::new(0) }; }

/// Finds everything that hooks use; what this machine does not have leaves the path closed.
pub(crate) fn prepare(jni: Jni) -> Words {
    let mut words = Words { open: core::ptr::from_ref(&OPEN) as u64, ..Words::default() };
    let bytes = classes::MOST << SITE_SHIFT;
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a fresh mapping.
    let sites = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if sites == libc::MAP_FAILED {
        // The hooks look there: nothing is known of any place.
        eprintln!("mayhap: there is no memory for the hooks");
        std::process::abort();
    }
    words.sites = sites as u64;
    let found = find(jni, &mut words);
    jni.take_exception();
    if let (Some(machine), Some(runtime)) = (found, runtime::get()) {
        let mut of_runtime = [0; 6];
        (runtime.words)(&mut of_runtime);
        [words.fast_path, words.head, words.last, words.word_end, words.word_high, words.branch] = of_runtime;
        let _ = MACHINE.set(machine);
        SITES.store(words.sites, Ordering::Release);
    }
    words
}

fn find(jni: Jni, words: &mut Words) -> Option<Machine> {
    let there = |reference: Ref| (!reference.is_null()).then_some(reference);
    let class = there(jni.find_class(c"jdk/internal/misc/Unsafe".as_ptr()))?;
    let get = c"getUnsafe";
    let get = there(jni.static_method_id(class, get.as_ptr(), c"()Ljdk/internal/misc/Unsafe;".as_ptr()))?;
    let unsafe_ = there(jni.global(jni.call_static_object(class, get, core::ptr::null())))?;
    let descriptor = c"(Ljava/lang/Class;Ljava/lang/String;)J";
    let offset_of = there(jni.method_id(class, c"objectFieldOffset".as_ptr(), descriptor.as_ptr()))?;
    let thread = there(jni.find_class(c"java/lang/Thread".as_ptr()))?;
    let thread_number = there(jni.field_id(thread, c"tid".as_ptr(), c"J".as_ptr()))?;
    let cloneable = there(jni.global(there(jni.find_class(c"java/lang/Cloneable".as_ptr()))?))?;
    let machine = Machine { thread_number, cloneable, unsafe_, offset_of };
    words.thread_number = machine.offset(jni, thread, "tid")?;
    Some(machine)
}

impl Machine {
    /// Where in its objects a field of the class is.
    fn offset(&self, jni: Jni, class: Ref, field: &str) -> Option<u64> {
        let name = jni.new_text(CString::new(field).ok()?.as_ptr());
        let arguments = [class as u64, name as u64];
        let offset = jni.call_long(self.unsafe_, self.offset_of, arguments.as_ptr().cast());
        jni.delete_local(name);
        let is_there = jni.take_exception().is_null();
        u64::try_from(offset).ok().filter(|offset| is_there && *offset != 0 && *offset < 1 << 31)
    }
}

/// What is known of the place with this number; `None` where the path stays closed.
pub(crate) fn site(number: u32) -> Option<&'static Known> {
    let sites = SITES.load(Ordering::Acquire);
    if sites == 0 || number as usize >= classes::MOST {
        return None;
    }
    // SAFETY: the memory is there for so many places, and stays.
    Some(unsafe { &*((sites + (u64::from(number) << SITE_SHIFT)) as *const Known) })
}

/// The calling thread goes to code of the library.
#[inline]
pub(crate) fn close() {
    let number = NUMBER.get();
    if number != 0 && OPEN.thread.load(Ordering::Relaxed) == number {
        OPEN.thread.store(0, Ordering::Release);
    }
}

/// What an access is of.
#[derive(Clone, Copy)]
pub(crate) enum Accessed {
    /// A field of an object with this block, from the block on.
    Field {
        object: Ref,
        block: u64,
        offset: u64,
    },
    /// `is_seen`: the thread needs not look again whether the class is initialised.
    Static {
        address: u64,
        is_seen: bool,
    },
    Element,
}

impl Here {
    /// A field was accessed. Each access to one that is volatile is left to the native hook.
    #[inline]
    pub(crate) fn opens_field(self, object: Ref, block: u64, offset: u64, is_volatile: bool) {
        if !is_volatile {
            self.opens(Accessed::Field { object, block, offset });
        }
    }

    #[inline]
    pub(crate) fn opens_static(self, address: u64, is_volatile: bool, is_seen: bool) {
        if !is_volatile {
            self.opens(Accessed::Static { address, is_seen });
        }
    }

    /// An access of this kind was recorded: the next one at this place may take the fast path.
    pub(crate) fn opens(self, accessed: Accessed) {
        let (Some(known), Some(machine)) = (self.site.known, MACHINE.get()) else { return };
        let mut opened = [0; 2];
        if !(self.runtime.opened)(&mut opened) {
            return;
        }
        let thread = self.thread_number(machine);
        if thread == NEVER {
            return;
        }
        if OPEN.thread.load(Ordering::Relaxed) != thread
            && let Ok(_guard) = OPENING.try_lock()
        {
            OPEN.thread.store(0, Ordering::SeqCst);
            OPEN.busy.store(opened[0], Ordering::Release);
            OPEN.pointer.store(opened[1], Ordering::Release);
            OPEN.thread.store(thread, Ordering::SeqCst);
        }
        match accessed {
            Accessed::Field { object, block, offset } => {
                let Some((place, field)) = self.hidden_field(machine) else { return };
                self.shows(machine, object, block, field);
                known.offset.store(offset, Ordering::Relaxed);
                known.hidden.store(place, Ordering::Relaxed);
            }
            Accessed::Static { address, is_seen } => {
                known.offset.store(address, Ordering::Relaxed);
                known.hidden.store(if is_seen { thread } else { 0 }, Ordering::Relaxed);
            }
            Accessed::Element => {}
        }
        if known.number.load(Ordering::Relaxed) == 0 {
            self.is_known(known);
        }
    }

    /// An object was made here that has this block: from here on hooks see that themselves.
    pub(crate) fn shows_allocated(self, object: Ref, block: u64) {
        let (Some(known), Some(machine)) = (self.site.known.filter(|_| !self.site.branched), MACHINE.get()) else {
            return;
        };
        if let Some((place, field)) = self.meta(object).class.and_then(|class| hidden(self.jni, machine, class))
            && self.shows(machine, object, block, field)
        {
            known.hidden.store(place, Ordering::Relaxed);
            known.number.store(1, Ordering::Release);
        }
    }

    fn is_known(self, known: &Known) {
        let number = (self.runtime.site)(self.site.pc);
        if number == 0 || number > unit::MAX_SITE {
            return;
        }
        let branched = u32::from(self.site.branched);
        known.high.store(number << 15 | branched << 31, Ordering::Relaxed);
        let mark = if self.site.branched { unit::BRANCHED } else { 0 };
        known.number.store(number << unit::SITE_SHIFT | mark, Ordering::Release);
    }

    /// The field in which objects of a class have their block: not if they could be copied, with the field.
    pub(crate) fn field_with_block(self, class: Ref, known: &'static OwnClass) -> Option<Ref> {
        let machine = MACHINE.get()?;
        let is_copied = self.jni.is_assignable(class, machine.cloneable) != 0;
        hidden(self.jni, machine, known).filter(|_| !is_copied).map(|(_, field)| field)
    }

    fn thread_number(self, machine: &Machine) -> u64 {
        if NUMBER.get() == 0 {
            let thread = self.thread_object();
            let class = self.jni.class_of(thread);
            // One that changes its carrier would take the path with it.
            let is_virtual = self.jvmti.class_name(class).starts_with("java/lang/VirtualThread");
            let number = self.jni.long_field(thread, machine.thread_number) as u64;
            NUMBER.set(if is_virtual { NEVER } else { number });
            self.jni.delete_local(class);
            self.jni.delete_local(thread);
        }
        NUMBER.get()
    }

    /// Where objects of the place's class have their block, and the machine's number of that field.
    fn hidden_field(self, machine: &Machine) -> Option<(u64, Ref)> {
        if let Some(&(place, field)) = self.site.hidden.get() {
            return Some((place, field as Ref));
        }
        let (place, field) = hidden(self.jni, machine, self.site.field_class()?)?;
        let _ = self.site.hidden.set((place, field as u64));
        Some((place, field))
    }

    /// The object has its block in a field from here on, unless a copy of the object could have it, too.
    fn shows(self, machine: &Machine, object: Ref, block: u64, field: Ref) -> bool {
        if self.jni.long_field(object, field) as u64 == block {
            return true;
        }
        let is_copied = self.jni.is_instance_of(object, machine.cloneable) != 0;
        if !is_copied {
            self.jni.set_long_field(object, field, block as i64);
        }
        !is_copied
    }
}

/// Where objects of a class have their block, and the machine's number of that field.
fn hidden(jni: Jni, machine: &Machine, class: &'static OwnClass) -> Option<(u64, Ref)> {
    let holder = class.holder()?;
    let found = holder.hidden.get_or_init(|| {
        let mirror = holder.mirror();
        let place = machine.offset(jni, mirror, FIELD)?;
        let name = CString::new(FIELD).ok()?;
        let field = jni.field_id(mirror, name.as_ptr(), c"J".as_ptr());
        jni.take_exception();
        (!field.is_null()).then_some((place, field as u64))
    });
    found.map(|(place, field)| (place, field as Ref))
}

/// The block of an object that has one; 0 for others.
#[unsafe(export_name = "Java_java_lang_Mayhap_block")]
extern "C" fn block(_jni: Jni, _class: Ref, object: Ref) -> i64 {
    let Some(jvmti) = JVMTI.get().filter(|_| !object.is_null()) else { return 0 };
    let known = known::position(object).and_then(known::Position::known);
    known.map_or_else(|| jvmti.tag(object), |(block, _)| block as i64)
}

/// The length of an array; 0 for other objects.
#[unsafe(export_name = "Java_java_lang_Mayhap_length")]
extern "C" fn length(jni: Jni, _class: Ref, object: Ref, site: i32) -> i32 {
    match hooks::place(jni, site) {
        Some(here) if !object.is_null() && here.meta(object).elements.is_some() => jni.array_length(object),
        _ => 0,
    }
}

/// Where objects of an object's class have their block, if this one has it there; 0 otherwise.
#[unsafe(export_name = "Java_java_lang_Mayhap_hidden")]
extern "C" fn hidden_of(jni: Jni, _class: Ref, object: Ref, site: i32) -> i32 {
    let (Some(machine), Some(here)) = (MACHINE.get(), hooks::place(jni, site)) else { return 0 };
    if object.is_null() {
        return 0;
    }
    let class = here.meta(object).class;
    let found = class.and_then(|class| hidden(jni, machine, class));
    match (found, here.block(object)) {
        (Some((place, field)), Some(block)) if here.shows(machine, object, block, field) => place as i32,
        _ => 0,
    }
}

/// The native methods that the hooks call besides.
pub(crate) static NATIVES: &[(&str, &str)] =
    &[("block", "(Ljava/lang/Object;)J"), ("length", "(Ljava/lang/Object;I)I"), ("hidden", "(Ljava/lang/Object;I)I")];
