//! The functions of the machine that the agent calls, by their numbers in the tables of JNI and JVMTI.

use core::ffi::{CStr, c_char, c_void};

/// A reference to an object, as JNI hands them out.
pub(crate) type Ref = *mut c_void;

/// A table of functions behind a pointer: what `JNIEnv*` and `jvmtiEnv*` are.
type Table = *mut *const *const c_void;

/// An argument of a Java method.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Value {
    pub(crate) i: i32,
    pub(crate) l: Ref,
}

macro_rules! function {
    ($table:expr, $number:literal, ($($type:ty),*) $(-> $ret:ty)?) => {{
        // SAFETY: the machine's own table, whose layout its specification fixes.
        unsafe {
            core::mem::transmute::<*const c_void, unsafe extern "C" fn(Table $(, $type)*) $(-> $ret)?>(*(*$table).add($number))
        }
    }};
}

/// The calling thread's JNI.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Jni(pub(crate) Table);

macro_rules! calls {
    ($($(#[$doc:meta])* $number:literal $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        $($(#[$doc])*
        pub(crate) fn $name(self $(, $arg: $type)*) $(-> $ret)? {
            let function = function!(self.0, $number, ($($type),*) $(-> $ret)?);
            // SAFETY: the agent passes live references and names that end in zero.
            unsafe { function(self.0 $(, $arg)*) }
        })*
    };
}

impl Jni {
    calls! {
        5 define_class(name: *const c_char, loader: Ref, bytes: *const u8, length: i32) -> Ref;
        6 find_class(name: *const c_char) -> Ref;
        10 superclass(class: Ref) -> Ref;
        11 is_assignable(class: Ref, other: Ref) -> u8;
        13 throw(exception: Ref) -> i32;
        15 exception() -> Ref;
        17 clear_exception();
        21 global(object: Ref) -> Ref;
        22 delete_global(object: Ref);
        23 delete_local(object: Ref);
        24 is_same(object: Ref, other: Ref) -> u8;
        31 class_of(object: Ref) -> Ref;
        32 is_instance_of(object: Ref, class: Ref) -> u8;
        33 method_id(class: Ref, name: *const c_char, descriptor: *const c_char) -> Ref;
        36 call_object(object: Ref, method: Ref, arguments: *const Value) -> Ref;
        39 call_boolean(object: Ref, method: Ref, arguments: *const Value) -> u8;
        51 call_int(object: Ref, method: Ref, arguments: *const Value) -> i32;
        54 call_long(object: Ref, method: Ref, arguments: *const Value) -> i64;
        63 call_void(object: Ref, method: Ref, arguments: *const Value);
        94 field_id(class: Ref, name: *const c_char, descriptor: *const c_char) -> Ref;
        95 object_field(object: Ref, field: Ref) -> Ref;
        96 boolean_field(object: Ref, field: Ref) -> u8;
        97 byte_field(object: Ref, field: Ref) -> i8;
        98 char_field(object: Ref, field: Ref) -> u16;
        99 short_field(object: Ref, field: Ref) -> i16;
        100 int_field(object: Ref, field: Ref) -> i32;
        101 long_field(object: Ref, field: Ref) -> i64;
        102 float_field(object: Ref, field: Ref) -> f32;
        103 double_field(object: Ref, field: Ref) -> f64;
        110 set_long_field(object: Ref, field: Ref, value: i64);
        113 static_method_id(class: Ref, name: *const c_char, descriptor: *const c_char) -> Ref;
        116 call_static_object(class: Ref, method: Ref, arguments: *const Value) -> Ref;
        119 call_static_boolean(class: Ref, method: Ref, arguments: *const Value) -> u8;
        144 static_field_id(class: Ref, name: *const c_char, descriptor: *const c_char) -> Ref;
        145 static_object(class: Ref, field: Ref) -> Ref;
        146 static_boolean(class: Ref, field: Ref) -> u8;
        147 static_byte(class: Ref, field: Ref) -> i8;
        148 static_char(class: Ref, field: Ref) -> u16;
        149 static_short(class: Ref, field: Ref) -> i16;
        150 static_int(class: Ref, field: Ref) -> i32;
        151 static_long(class: Ref, field: Ref) -> i64;
        152 static_float(class: Ref, field: Ref) -> f32;
        153 static_double(class: Ref, field: Ref) -> f64;
        167 new_text(text: *const c_char) -> Ref;
        169 text(text: Ref, is_copy: *mut u8) -> *const c_char;
        170 release_text(text: Ref, bytes: *const c_char);
        171 array_length(array: Ref) -> i32;
        173 element(array: Ref, index: i32) -> Ref;
        200 bytes(array: Ref, start: i32, count: i32, out: *mut i8);
        201 chars(array: Ref, start: i32, count: i32, out: *mut u16);
        202 shorts(array: Ref, start: i32, count: i32, out: *mut i16);
        203 ints(array: Ref, start: i32, count: i32, out: *mut i32);
        204 longs(array: Ref, start: i32, count: i32, out: *mut i64);
        205 floats(array: Ref, start: i32, count: i32, out: *mut f32);
        206 doubles(array: Ref, start: i32, count: i32, out: *mut f64);
        217 monitor_enter(object: Ref) -> i32;
        218 monitor_exit(object: Ref) -> i32;
    }

    /// Throws what `exception` has, if it has something.
    pub(crate) fn throw_kept(self, exception: Ref) {
        if !exception.is_null() {
            self.throw(exception);
        }
    }

    /// Takes the exception that is under way, if there is one.
    pub(crate) fn take_exception(self) -> Ref {
        let exception = self.exception();
        if !exception.is_null() {
            self.clear_exception();
        }
        exception
    }
}

/// A frame of a thread's stack: its method, and where it is in that.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FrameInfo {
    pub(crate) method: Ref,
    place: i64,
}

/// The tool interface.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Jvmti(pub(crate) Table);

// SAFETY: the interface may be used from every thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

impl Jvmti {
    calls! {
        1 set_event_mode(mode: i32, event: i32, thread: Ref) -> i32;
        45 allocate(bytes: i64, place: *mut *mut u8) -> i32;
        46 deallocate(place: *mut u8) -> i32;
        47 class_signature(class: Ref, signature: *mut *mut c_char, generic: *mut *mut c_char) -> i32;
        64 declaring_class(method: Ref, class: *mut Ref) -> i32;
        103 stack_trace(thread: Ref, start: i32, most: i32, frames: *mut FrameInfo, count: *mut i32) -> i32;
        105 get_tag(object: Ref, tag: *mut i64) -> i32;
        106 set_tag(object: Ref, tag: i64) -> i32;
        121 set_callbacks(callbacks: *const Callbacks, bytes: i32) -> i32;
        141 add_capabilities(capabilities: *const [u32; 4]) -> i32;
        151 retransform(count: i32, classes: *const Ref) -> i32;
    }

    pub(crate) fn tag(self, object: Ref) -> i64 {
        let mut tag = 0;
        self.get_tag(object, &mut tag);
        tag
    }

    /// The names of the classes whose methods the calling thread is in, innermost first, and at most so many.
    pub(crate) fn classes_on_stack<const MOST: usize>(self, jni: Jni) -> Vec<String> {
        let mut frames = [FrameInfo { method: core::ptr::null_mut(), place: 0 }; MOST];
        let mut count = 0;
        if self.stack_trace(core::ptr::null_mut(), 0, MOST as i32, frames.as_mut_ptr(), &mut count) != 0 {
            return Vec::new();
        }
        let name = |frame: &FrameInfo| {
            let mut class = core::ptr::null_mut();
            if self.declaring_class(frame.method, &mut class) != 0 {
                return String::new();
            }
            let name = self.class_name(class);
            jni.delete_local(class);
            name
        };
        frames.iter().take(usize::try_from(count).unwrap_or(0)).map(name).collect()
    }

    /// The name of a class, as class files have it.
    pub(crate) fn class_name(self, class: Ref) -> String {
        let mut signature = core::ptr::null_mut();
        if self.class_signature(class, &mut signature, core::ptr::null_mut()) != 0 || signature.is_null() {
            return String::new();
        }
        // SAFETY: the machine returns text that ends in zero.
        let name = unsafe { CStr::from_ptr(signature) }.to_string_lossy().into_owned();
        self.deallocate(signature.cast());
        match name.strip_prefix('L').and_then(|name| name.strip_suffix(';')) {
            Some(name) => name.into(),
            None => name,
        }
    }
}

/// The events that the agent takes, by number from 50 on.
pub(crate) mod event {
    pub(crate) const VM_INIT: i32 = 50;
    pub(crate) const VM_DEATH: i32 = 51;
    pub(crate) const THREAD_START: i32 = 52;
    pub(crate) const THREAD_END: i32 = 53;
    pub(crate) const CLASS_FILE_LOAD: i32 = 54;
    pub(crate) const CLASS_PREPARE: i32 = 56;
    pub(crate) const GC_START: i32 = 81;
    pub(crate) const GC_FINISH: i32 = 82;
}

/// The table of callbacks: event 50 is the first of 37.
#[repr(C)]
pub(crate) struct Callbacks(pub(crate) [*const c_void; 37]);

/// Bits of capabilities: tags, events of garbage collection, changing classes that are loaded.
pub(crate) const CAPABILITIES: [u32; 4] = [1 | 1 << 31, 1 << (37 - 32), 0, 0];
