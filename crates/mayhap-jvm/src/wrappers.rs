//! Objects of the library that stand for others: wrappers of collections, the locks of synchronized ones, lists and buffers that show an array.

use core::ffi::CStr;

use crate::jvm::Ref;
use crate::objects::{Behind, Here};
use crate::pending::Pending;

/// Wrappers without a lock and without a state of their own.
const WRAPPERS: [&str; 4] = [
    "java/util/Collections$Unmodifiable",
    "java/util/Collections$Checked",
    "java/util/Collections$SetFromMap",
    "java/util/Collections$AsLIFOQueue",
];

/// The names of their fields.
const WRAPPED: [(&CStr, &CStr); 3] =
    [(c"c", c"Ljava/util/Collection;"), (c"m", c"Ljava/util/Map;"), (c"q", c"Ljava/util/Deque;")];

/// Classes of atomic variables, and the kind and the type of what they hold.
static ATOMICS: [(&CStr, u8, &CStr); 4] = [
    (c"java/util/concurrent/atomic/AtomicInteger", b'I', c"I"),
    (c"java/util/concurrent/atomic/AtomicBoolean", b'I', c"I"),
    (c"java/util/concurrent/atomic/AtomicLong", b'J', c"J"),
    (c"java/util/concurrent/atomic/AtomicReference", b'L', c"Ljava/lang/Object;"),
];

/// The most elements of an array behind a list or a buffer whose accesses are recorded.
const MOST: i32 = 1024;

/// The field with the array of a list or a buffer, and its type.
fn array_field(class: &str) -> Option<(&'static CStr, &'static CStr)> {
    if matches!(class, "java/util/Arrays$ArrayList" | "java/util/Arrays$ArrayItr") {
        return Some((c"a", c"[Ljava/lang/Object;"));
    }
    let descriptor = match class.strip_prefix("java/nio/Heap")?.split("Buffer").next()? {
        "Byte" => c"[B",
        "Char" => c"[C",
        "Short" => c"[S",
        "Int" => c"[I",
        "Long" => c"[J",
        "Float" => c"[F",
        "Double" => c"[D",
        _ => return None,
    };
    Some((c"hb", descriptor))
}

impl Here {
    /// What the fields of a class of the library are for.
    pub(crate) fn behind(self, class: Ref, name: &str) -> Behind {
        let find = |(field, descriptor): (&CStr, &CStr)| {
            let found = self.jni.field_id(class, field.as_ptr(), descriptor.as_ptr());
            if found.is_null() {
                self.jni.take_exception();
            }
            found
        };
        let none = core::ptr::null_mut();
        let mut behind = Behind { wrapped: none, lock: none, array: none, value: none, value_kind: 0 };
        if WRAPPERS.iter().any(|begin| name.starts_with(begin)) {
            let found = WRAPPED.into_iter().map(find).find(|field| !field.is_null());
            behind.wrapped = found.unwrap_or(core::ptr::null_mut());
        } else if name.starts_with("java/util/Collections$Synchronized") {
            behind.lock = find((c"mutex", c"Ljava/lang/Object;"));
        } else if let Some(field) = array_field(name) {
            behind.array = find(field);
        } else if let Some((atomic, kind, descriptor)) = self.atomic(class, name) {
            // A class that extends it may have a field of this name, too.
            let class = self.jni.find_class(atomic.as_ptr());
            behind.value = self.jni.field_id(class, c"value".as_ptr(), descriptor.as_ptr());
            behind.value_kind = *kind;
            self.jni.delete_local(class);
            self.jni.take_exception();
        }
        behind
    }

    /// The class of atomic variables that a class is or extends, and what those hold.
    fn atomic(self, class: Ref, name: &str) -> Option<&'static (&'static CStr, u8, &'static CStr)> {
        let names = [vec![name.to_owned()], self.superclasses(class)].concat();
        ATOMICS.iter().find(|(atomic, ..)| names.iter().any(|name| name.as_bytes() == atomic.to_bytes()))
    }

    /// The collection that does what an object is asked for: the object itself, unless it is a wrapper.
    pub(crate) fn unwrapped(self, object: Ref) -> Ref {
        let mut object = object;
        while !object.is_null() {
            let field = self.meta(object).behind.wrapped;
            if field.is_null() {
                break;
            }
            object = self.jni.object_field(object, field);
        }
        object
    }

    /// The block with the lock of a synchronized collection.
    pub(crate) fn lock_of(self, object: Ref, block: u64) -> u64 {
        let field = self.meta(object).behind.lock;
        if field.is_null() {
            return block;
        }
        self.block(self.jni.object_field(object, field)).unwrap_or(block)
    }

    /// A method of an object is about to be called. If it shows an array that the program uses, too, that is looked at.
    pub(crate) fn array_behind(self, object: Ref, pending: &mut Pending) {
        let field = self.meta(object).behind.array;
        if field.is_null() {
            return;
        }
        let array = self.jni.object_field(object, field);
        if array.is_null() || self.jvmti.tag(array) == 0 {
            return;
        }
        if self.jni.array_length(array) > MOST {
            return self.not_seen("a large array is accessed through a list or a buffer that shows it");
        }
        self.whole_array(array, false);
        pending.array = self.jni.global(array);
    }

    /// The method has ended.
    pub(crate) fn array_changed(self, pending: &Pending) {
        if !pending.array.is_null() {
            self.whole_array(pending.array, true);
            self.jni.delete_global(pending.array);
        }
    }
}
