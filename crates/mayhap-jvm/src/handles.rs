//! `VarHandle` and `java.lang.reflect.Field`: accesses to fields of the program that the library does.

use core::ffi::CStr;
use std::sync::atomic::Ordering;

use crate::classes::{self, FoundField};
use crate::hooks::{LOAD, STORE, UPDATE, WRITE, here, natives};
use crate::jvm::{Jni, Ref};
use crate::library::{self, Kind};
use crate::objects::Here;
use crate::pending::Pending;
use crate::shadow::{self, FIELDS};

type Class = Ref;

/// In a handle's block: its field is not known.
const UNKNOWN: u64 = 1;

/// Forms of atomic operations.
const PLAIN: u32 = 0;
const EXCHANGE: u32 = 1;
const COMPARE: u32 = 2;

/// What a method of a handle does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
    Atomic,
}

/// `None` if the method accesses nothing.
fn mode(method: &str, is_updater: bool) -> Option<Mode> {
    match method {
        "toString" | "hashCode" | "equals" | "getClass" => None,
        _ if is_updater => Some(Mode::Atomic),
        "get" => Some(Mode::Read),
        "set" => Some(Mode::Write),
        _ if ["get", "set", "compareAnd", "weakCompareAnd"].iter().any(|begin| method.starts_with(begin)) => {
            Some(Mode::Atomic)
        }
        _ => None,
    }
}

impl Here {
    fn call_object(self, object: Ref, name: &CStr, descriptor: &CStr) -> Ref {
        if object.is_null() {
            return object;
        }
        let found = self.jni.call_object(object, self.method(object, name, descriptor), [0u64; 1].as_ptr().cast());
        if self.jni.take_exception().is_null() { found } else { core::ptr::null_mut() }
    }

    fn text(self, text: Ref) -> Option<String> {
        if text.is_null() {
            return None;
        }
        let bytes = self.jni.text(text, core::ptr::null_mut());
        // SAFETY: the machine returns text that ends in zero.
        let copy = (!bytes.is_null()).then(|| unsafe { CStr::from_ptr(bytes) }.to_string_lossy().into_owned());
        self.jni.release_text(text, bytes);
        copy
    }

    /// The field that a `VarHandle` or a `Field` is for; kept in its block.
    fn field_of(self, handle: Ref, block: u64, is_reflection: bool) -> Option<&'static FoundField> {
        let word = shadow::word(block + FIELDS);
        if word.load(Ordering::Acquire) == 0 {
            let found = match is_reflection {
                true => self.reflected(handle),
                // An updater was seen when it was made, or never.
                false if self.is_updater() => None,
                false => self.handled(handle),
            };
            let found = found.map_or(UNKNOWN, |found| core::ptr::from_ref(Box::leak(Box::new(found))) as u64);
            word.store(found, Ordering::Release);
        }
        let found = word.load(Ordering::Acquire);
        // SAFETY: only leaked ones are stored there.
        (found != UNKNOWN).then(|| unsafe { &*(found as *const FoundField) })
    }

    fn reflected(self, field: Ref) -> Option<FoundField> {
        let class = self.call_object(field, c"getDeclaringClass", c"()Ljava/lang/Class;");
        let name = self.text(self.call_object(field, c"getName", c"()Ljava/lang/String;"))?;
        let class = classes::named(&self.jvmti.class_name(class))?;
        class.field(&name, false).or_else(|| class.field(&name, true))
    }

    fn handled(self, handle: Ref) -> Option<FoundField> {
        let described = self.call_object(handle, c"describeConstable", c"()Ljava/util/Optional;");
        let described = self.call_object(described, c"get", c"()Ljava/lang/Object;");
        let name = self.text(self.call_object(described, c"constantName", c"()Ljava/lang/String;"))?;
        let types = self.call_object(handle, c"coordinateTypes", c"()Ljava/util/List;");
        let class = self.call_object(types, c"get", c"(I)Ljava/lang/Object;");
        if class.is_null() {
            return None;
        }
        classes::named(&self.jvmti.class_name(class))?.field(&name, false)
    }

    /// Whether the method belongs to an `AtomicIntegerFieldUpdater` or its like.
    fn is_updater(self) -> bool {
        self.site.method_class().ends_with("FieldUpdater")
    }

    /// A `VarHandle` or an updater was made for the field of this class and name.
    fn names(self, handle: Ref, class: Ref, name: Ref) {
        let (Some(block), Some(name)) = (self.block(handle), self.text(name)) else { return };
        let found = match class.is_null() {
            true => None,
            false => classes::named(&self.jvmti.class_name(class)),
        };
        let found = found.and_then(|class| class.field(&name, false).or_else(|| class.field(&name, true)));
        let found = found.map_or(UNKNOWN, |found| core::ptr::from_ref(Box::leak(Box::new(found))) as u64);
        shadow::word(block + FIELDS).store(found, Ordering::Release);
    }

    pub(crate) fn is_reflection(self) -> bool {
        const ACCESSES: [&str; 9] = ["", "Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "Double"];
        let name = self.site.method();
        self.site.method_class() == "java/lang/reflect/Field"
            && name.get(..3).is_some_and(|begin| matches!(begin, "get" | "set"))
            && ACCESSES.contains(&&name[3..])
    }

    /// A method of a `VarHandle` is called.
    pub(crate) fn before_handle(self, pending: &mut Pending, handle: Ref, object: Ref) {
        let Some(mode) = mode(self.site.method(), self.is_updater()) else {
            pending.kind = Kind::Silent;
            return;
        };
        match self.field_of(handle, pending.block, false) {
            Some(field) => self.before_access(pending, field, object, mode),
            None => self.before_unknown(pending, "a VarHandle of elements of arrays or of an unknown field is used"),
        }
    }

    /// A method of a `Field` is called.
    pub(crate) fn before_reflection(self, pending: &mut Pending, handle: Ref, object: Ref) {
        let mode = if self.site.method().starts_with("get") { Mode::Read } else { Mode::Write };
        match self.field_of(handle, pending.block, true) {
            Some(field) if field.is_volatile => self.before_access(pending, field, object, Mode::Atomic),
            Some(field) => self.before_access(pending, field, object, mode),
            // A field of the library, or one that never changes.
            None => self.order(pending.word),
        }
    }

    fn before_unknown(self, pending: &mut Pending, what: &'static str) {
        self.not_seen(what);
        pending.kind = Kind::Ordered;
        self.order(pending.word);
    }

    fn before_access(self, pending: &mut Pending, field: &'static FoundField, object: Ref, mode: Mode) {
        let block = if field.field.is_static { Some(field.class.base) } else { self.block(object) };
        let real = self.real_field(field.field, field.class.mirror(), object);
        let (Some(block), Some(real)) = (block, real) else {
            pending.kind = Kind::Silent;
            return;
        };
        let address = if field.field.is_static { field.offset } else { block + field.offset };
        self.branch();
        self.takes_over(block, address, real, mode == Mode::Atomic);
        match mode {
            Mode::Atomic => {
                (self.runtime.atomic_begin)(self.at(), address);
                if library::applies(self.site.method()) {
                    (self.runtime.atomic_end)(self.at(), address, LOAD, 0, real, real);
                    self.branch();
                    (self.runtime.atomic_begin)(self.at(), address);
                }
            }
            Mode::Read => (self.runtime.access)(self.site.pc, address, false, false),
            Mode::Write => (self.runtime.access)(self.site.pc + WRITE, address, true, false),
        }
        pending.kind = Kind::Handle;
        pending.block = address;
        pending.found = real;
        pending.word = core::ptr::from_ref(field) as u64;
        pending.object = if object.is_null() { object } else { self.jni.global(object) };
    }

    /// The method has returned.
    pub(crate) fn after_handle(self, pending: &Pending, name: &str, result: Option<i64>) {
        // SAFETY: only leaked ones are stored there.
        let field = unsafe { &*(pending.word as *const FoundField) };
        let real = self.real_field(field.field, field.class.mirror(), pending.object).unwrap_or(pending.found);
        if !pending.object.is_null() {
            self.jni.delete_global(pending.object);
        }
        let (address, found) = (pending.block, pending.found);
        let is_atomic = match self.is_reflection() {
            true => field.is_volatile,
            false => mode(name, self.is_updater()) == Some(Mode::Atomic),
        };
        if is_atomic {
            let (kind, form) = match name {
                _ if name.starts_with("getAndSet") => (UPDATE, EXCHANGE),
                _ if name.starts_with("getAnd") => (UPDATE, PLAIN),
                _ if name.starts_with("get") => (LOAD, PLAIN),
                _ if name.starts_with("set") || name == "lazySet" => (STORE, PLAIN),
                _ if name.ends_with("AndGet") => (UPDATE, PLAIN),
                _ if result == Some(1) && name.contains("Set") || real != found => (UPDATE, COMPARE),
                _ => (LOAD, COMPARE),
            };
            (self.runtime.atomic_end)(self.at(), address, kind, form, found, real);
        }
        shadow::word(address).store(real, Ordering::Relaxed);
    }
}

natives! { NATIVES:
    named "named" "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;I)V" (handle: Ref, class: Ref, name: Ref, site: i32), site, |here| here.names(handle, class, name);
}
