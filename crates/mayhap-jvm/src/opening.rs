//! Opens the [fast path](crate::fast_path): after an access that a native hook has recorded, the next one at the place may be recorded by the hook's Java code.

use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use mayhap_wire::ring::unit;

use crate::classes::Class as OwnClass;
use crate::fast_path::{self, FIELD, Known, NEVER, NUMBER, Words};
use crate::jvm::{Jni, Ref};
use crate::known;
use crate::objects::{self, Here, JVMTI};
use crate::runtime;

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
/// Finds everything that hooks use; what this machine does not have leaves the path closed. `None` without memory.
pub(crate) fn prepare(jni: Jni) -> Option<Words> {
    let mut words = fast_path::reserve()?;
    let found = find(jni, &mut words);
    jni.take_exception();
    if let (Some(machine), Some(runtime)) = (found, runtime::get()) {
        let mut of_runtime = [0; 6];
        (runtime.words)(&mut of_runtime);
        [words.fast_path, words.head, words.last, words.word_end, words.word_high, words.branch] = of_runtime;
        let _ = MACHINE.set(machine);
        fast_path::start(&words);
    }
    Some(words)
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
        fast_path::open(thread, opened[0], opened[1]);
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
    match objects::place(jni, site) {
        Some(here) if !object.is_null() && here.meta(object).elements.is_some() => jni.array_length(object),
        _ => 0,
    }
}

/// Where objects of an object's class have their block, if this one has it there; 0 otherwise.
#[unsafe(export_name = "Java_java_lang_Mayhap_hidden")]
extern "C" fn hidden_of(jni: Jni, _class: Ref, object: Ref, site: i32) -> i32 {
    let (Some(machine), Some(here)) = (MACHINE.get(), objects::place(jni, site)) else { return 0 };
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
