//! Objects and their blocks: a field that was added to an object's class, or the tag of the object, is the address of its block.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};

use mayhap_wire::ring::Tag;

use crate::classes::{self, Class, Site};
use crate::jvm::{Jni, Jvmti, Ref};
use crate::known;
use crate::library::{self, Kind};
use crate::runtime::{self, Runtime};
use crate::shadow::{self, EXTRA, FIELDS};

pub(crate) static JVMTI: OnceLock<Jvmti> = OnceLock::new();

/// The fields of a class in which its objects have what they stand for; null if there is none.
#[derive(Clone, Copy)]
pub(crate) struct Behind {
    /// The collection that a wrapper hands every call to.
    pub(crate) wrapped: Ref,
    /// The lock of a synchronized collection.
    pub(crate) lock: Ref,
    /// The array that a list or a buffer shows.
    pub(crate) array: Ref,
    /// What an atomic variable holds, and of which kind that is.
    pub(crate) value: Ref,
    pub(crate) value_kind: u8,
}

/// What is known of the class of an object.
pub(crate) struct Meta {
    pub(crate) kind: Kind,
    pub(crate) class: Option<&'static Class>,
    /// The kind of the elements of an array.
    pub(crate) elements: Option<u8>,
    /// It is an array of arrays.
    pub(crate) is_nested: bool,
    is_class: bool,
    /// It is a part of a map.
    pub(crate) is_entry: bool,
    /// Objects of the class are equal if they hold the same.
    pub(crate) is_compared: bool,
    /// The fields in which an object has what it stands for.
    pub(crate) behind: Behind,
    /// The machine's number of the field in which an object has its block. Others have it as their tag, which takes the machine longer.
    field: Option<Ref>,
}

// SAFETY: references that last, and numbers.
unsafe impl Sync for Meta {}

/// Held while an object gets its tag.
static TAGGING: Mutex<()> = Mutex::new(());

/// What a hook runs with.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub(crate) jni: Jni,
    pub(crate) jvmti: Jvmti,
    pub(crate) runtime: &'static Runtime,
    pub(crate) site: &'static Site,
}

/// What a hook at a place has to work with; nothing where nothing is recorded.
#[inline]
pub(crate) fn place(jni: Jni, site: i32) -> Option<Here> {
    let (runtime, jvmti, site) = (runtime::get()?, *JVMTI.get()?, classes::site(site)?);
    (runtime.is_recording)().then_some(Here { jni, jvmti, runtime, site })
}

impl Here {
    /// The block of an object; `None` for null.
    #[inline]
    pub(crate) fn block(self, object: Ref) -> Option<u64> {
        if object.is_null() {
            return None;
        }
        let position = known::position(object);
        if let Some((block, _)) = position.and_then(known::Position::known) {
            return Some(block);
        }
        let meta = self.meta(object);
        let block = match self.mark(object, meta) {
            0 => self.new_block(object, meta, true),
            block => Some(block),
        };
        if let (Some(position), Some(block)) = (position, block) {
            position.has_block(block, None);
        }
        block
    }

    /// The block of an array that is not null, and its length.
    #[inline]
    pub(crate) fn array(self, array: Ref) -> Option<(u64, i32)> {
        let position = known::position(array);
        if let Some((block, Some(length))) = position.and_then(known::Position::known) {
            return Some((block, length));
        }
        let (length, block) = (self.jni.array_length(array), self.block(array)?);
        if let Some(position) = position {
            position.has_block(block, Some(length));
        }
        Some((block, length))
    }

    /// The block of an object that was made just now.
    pub(crate) fn fresh_block(self, object: Ref) -> Option<u64> {
        let meta = self.meta(object);
        match self.mark(object, meta) {
            0 => self.new_block(object, meta, false),
            block => Some(block),
        }
    }

    /// The block that an object has; 0 if it has none.
    #[inline]
    fn mark(self, object: Ref, meta: &Meta) -> u64 {
        match meta.field {
            Some(field) => self.jni.long_field(object, field) as u64,
            None => self.jvmti.tag(object) as u64,
        }
    }

    /// What is known of the object's class.
    pub(crate) fn meta(self, object: Ref) -> &'static Meta {
        let class = self.jni.class_of(object);
        let meta = self.meta_of(class);
        self.jni.delete_local(class);
        meta
    }

    fn meta_of(self, class: Ref) -> &'static Meta {
        let position = known::position(class);
        let tag = match position.and_then(known::Position::known) {
            Some((tag, _)) => tag,
            None => self.jvmti.tag(class) as u64,
        };
        let known = if tag == 0 { 0 } else { shadow::word(tag + EXTRA).load(Ordering::Acquire) };
        if known != 0 {
            if let Some(position) = position {
                position.has_block(tag, None);
            }
            // SAFETY: only leaked ones are stored there.
            return unsafe { &*(known as *const Meta) };
        }
        let name = self.jvmti.class_name(class);
        let own = classes::named(&name).filter(|class| !class.is_library);
        let elements = name.strip_prefix('[').and_then(|rest| rest.as_bytes().first().copied());
        let kind = if elements.is_some() { Kind::Own } else { self.kind(class, &name) };
        let meta: &'static Meta = Box::leak(Box::new(Meta {
            kind,
            class: own,
            elements,
            is_nested: elements == Some(b'['),
            is_class: name == "java/lang/Class",
            is_entry: library::is_entry(&name),
            is_compared: kind == Kind::Plain && self.extends(class, &library::COMPARED),
            behind: self.behind(class, &name),
            field: own.filter(|_| kind == Kind::Own).and_then(|own| self.field_with_block(class, own)),
        }));
        let _guard = TAGGING.lock();
        let mut tag = self.jvmti.tag(class) as u64;
        if tag == 0 {
            tag = own.map(|own| own.base).or_else(|| shadow::block(64)).unwrap_or(0);
            if tag == 0 {
                return meta;
            }
            self.jvmti.set_tag(class, tag as i64);
        }
        shadow::word(tag + EXTRA).store(core::ptr::from_ref(meta) as u64, Ordering::Release);
        meta
    }

    fn kind(self, class: Ref, name: &str) -> Kind {
        let is_own = !library::is_library(name);
        let mut names = self.superclasses(class);
        names.insert(0, name.to_owned());
        let of_library: Vec<&str> = names.iter().map(String::as_str).filter(|name| library::is_library(name)).collect();
        match library::kind_of(&of_library) {
            // What the library has of it holds nothing and calls the program's own methods.
            _ if is_own && of_library.first().is_some_and(|name| name.starts_with("java/util/Abstract")) => Kind::Own,
            Kind::Own if !is_own => library::other_kind(name),
            kind => kind,
        }
    }

    /// The names of the classes that a class extends, the nearest first.
    pub(crate) fn superclasses(self, class: Ref) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = self.jni.superclass(class);
        while !at.is_null() {
            names.push(self.jvmti.class_name(at));
            at = self.jni.superclass(at);
        }
        names
    }

    fn extends(self, class: Ref, others: &[&str]) -> bool {
        self.superclasses(class).iter().any(|name| others.contains(&name.as_str()))
    }

    #[cold]
    fn new_block(self, object: Ref, meta: &Meta, is_late: bool) -> Option<u64> {
        if meta.is_class {
            // The object is a class: what it stands for has a block already.
            self.meta_of(object);
            return Some(self.jvmti.tag(object) as u64).filter(|&tag| tag != 0);
        }
        let bytes = match meta {
            Meta { elements: Some(_), .. } => 8 * u64::try_from(self.jni.array_length(object)).unwrap_or(0),
            Meta { class: Some(class), .. } => class.bytes(),
            _ => 64,
        };
        let block = {
            let _guard = TAGGING.lock();
            let known = self.mark(object, meta);
            if known != 0 {
                return Some(known);
            }
            let block = shadow::block(bytes)?;
            match meta.field {
                Some(field) => self.jni.set_long_field(object, field, block as i64),
                None => drop(self.jvmti.set_tag(object, block as i64)),
            }
            block
        };
        let pc = match meta.class {
            Some(class) => {
                class.make_known(self.runtime);
                class.allocation()
            }
            None => self.at(),
        };
        (self.runtime.record)(pc, Tag::Alloc as u32, block, FIELDS + bytes.max(8));
        if is_late && meta.kind == Kind::Own {
            self.is_late(block);
        }
        self.parts(object, meta, block);
        Some(block)
    }

    /// Objects that belong to another one from the start get their blocks with it.
    fn parts(self, object: Ref, meta: &Meta, block: u64) {
        match meta.kind {
            Kind::Lock | Kind::ReadLock | Kind::WriteLock => drop(self.sync_of(object, meta.kind)),
            Kind::Semaphore => {
                let permits =
                    self.jni.call_int(object, self.method(object, c"availablePermits", c"()I"), core::ptr::null());
                let place = (block + FIELDS) as *mut core::ffi::c_void;
                (self.runtime.semaphore)(self.at(), 0, place, u32::try_from(permits).unwrap_or(0));
            }
            _ => {}
        }
    }

    pub(crate) fn method(self, object: Ref, name: &core::ffi::CStr, descriptor: &core::ffi::CStr) -> Ref {
        let class = self.jni.class_of(object);
        let method = self.jni.method_id(class, name.as_ptr(), descriptor.as_ptr());
        self.jni.delete_local(class);
        method
    }

    /// The value of a field that holds an object; null without such a field.
    pub(crate) fn part(self, object: Ref, name: &core::ffi::CStr, descriptor: &core::ffi::CStr) -> Ref {
        let class = self.jni.class_of(object);
        let field = self.jni.field_id(class, name.as_ptr(), descriptor.as_ptr());
        self.jni.delete_local(class);
        if field.is_null() {
            self.jni.take_exception();
            return core::ptr::null_mut();
        }
        self.jni.object_field(object, field)
    }

    /// The block of what a lock of the library keeps its state in.
    pub(crate) fn sync_of(self, lock: Ref, kind: Kind) -> Option<u64> {
        let descriptor = match kind {
            Kind::Lock => c"Ljava/util/concurrent/locks/ReentrantLock$Sync;",
            _ => c"Ljava/util/concurrent/locks/ReentrantReadWriteLock$Sync;",
        };
        let sync = self.part(lock, c"sync", descriptor);
        let block = self.block(sync);
        self.jni.delete_local(sync);
        block
    }

    /// Makes blocks for the arrays in an array.
    pub(crate) fn elements(self, array: Ref, depth: u32) {
        if array.is_null() || depth == 0 || !matches!(self.meta(array).elements, Some(b'L' | b'[')) {
            return;
        }
        if let Some(block) = self.block(array) {
            self.is_late(block);
        }
        for index in 0..self.jni.array_length(array).min(4096) {
            let element = self.jni.element(array, index);
            if !element.is_null() {
                self.fresh_block(element);
            }
            self.elements(element, depth - 1);
            self.jni.delete_local(element);
        }
    }
}
