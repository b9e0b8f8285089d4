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
        let mut behind =
            Behind { wrapped: core::ptr::null_mut(), lock: core::ptr::null_mut(), array: core::ptr::null_mut() };
        if WRAPPERS.iter().any(|begin| name.starts_with(begin)) {
            let found = WRAPPED.into_iter().map(find).find(|field| !field.is_null());
            behind.wrapped = found.unwrap_or(core::ptr::null_mut());
        } else if name.starts_with("java/util/Collections$Synchronized") {
            behind.lock = find((c"mutex", c"Ljava/lang/Object;"));
        } else if let Some(field) = array_field(name) {
            behind.array = find(field);
        }
        behind
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
