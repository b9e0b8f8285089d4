//! The machine's events: start, classes, threads, collections of garbage.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::class::file::{ClassFile, flag};
use crate::jvm::{CAPABILITIES, Callbacks, Jni, Jvmti, Ref, event};
use crate::objects::JVMTI;
use crate::places::Place;
use crate::rewrite::{self, HOOKS};
use crate::runtime;
use crate::shadow::{self, EXTRA};
use crate::{
    arguments, callbacks, calls, classes, conditions, fast_hooks, fast_path, handles, hooks, known, library, opening,
};

const JVMTI_VERSION: c_int = 0x3001_0000;
const OK: c_int = 0;
const FAILED: c_int = -1;

/// The class with the hooks is there: classes may call it.
static READY: AtomicBool = AtomicBool::new(false);

/// Every class gets hooks, the library's too, and nothing is recorded: so that the machine verifies all of them.
static REWRITES_ALL: AtomicBool = AtomicBool::new(false);

/// The machine's invocation interface.
type Vm = *mut *const *const c_void;

/// The machine starts. Without a recorder the agent does nothing, unless its option is `rewrite-all`.
///
/// # Safety
/// The machine calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn Agent_OnLoad(vm: Vm, options: *const c_char, _reserved: *mut c_void) -> c_int {
    // SAFETY: the machine's own text, or null.
    let options = if options.is_null() { c"" } else { unsafe { CStr::from_ptr(options) } };
    let rewrites_all = options == c"rewrite-all";
    REWRITES_ALL.store(rewrites_all, Ordering::Relaxed);
    if !(rewrites_all || runtime::load()) || !shadow::reserve() {
        return OK;
    }
    let mut environment: *mut c_void = core::ptr::null_mut();
    // SAFETY: the seventh function of the table is `GetEnv`.
    let result = unsafe {
        let get: unsafe extern "C" fn(Vm, *mut *mut c_void, c_int) -> c_int = core::mem::transmute(*(*vm).add(6));
        get(vm, &mut environment, JVMTI_VERSION)
    };
    if result != 0 {
        eprintln!("mayhap: this Java virtual machine has no tool interface; version 17 or later is needed");
        return FAILED;
    }
    let jvmti = Jvmti(environment.cast());
    let _ = JVMTI.set(jvmti);
    if jvmti.add_capabilities(&CAPABILITIES) != 0 {
        eprintln!("mayhap: this Java virtual machine does not let agents tag objects and change classes");
        return FAILED;
    }
    let mut callbacks = Callbacks([core::ptr::null(); 37]);
    for (number, function) in [
        (event::VM_INIT, initialised as *const c_void),
        (event::VM_DEATH, ends as *const c_void),
        (event::THREAD_START, thread_starts as *const c_void),
        (event::THREAD_END, thread_ends as *const c_void),
        (event::CLASS_FILE_LOAD, loads as *const c_void),
        (event::CLASS_PREPARE, is_prepared as *const c_void),
        (event::GC_START, collects as *const c_void),
        (event::GC_FINISH, collected as *const c_void),
    ] {
        callbacks.0[(number - event::VM_INIT) as usize] = function;
    }
    jvmti.set_callbacks(&callbacks, size_of::<Callbacks>() as c_int);
    for number in [event::VM_INIT, event::VM_DEATH, event::GC_START, event::GC_FINISH] {
        jvmti.set_event_mode(1, number, core::ptr::null_mut());
    }
    OK
}

extern "C" fn collects(_jvmti: Jvmti) {
    known::collects();
    if let Some(runtime) = runtime::get() {
        (runtime.pause)(true);
    }
}

extern "C" fn collected(_jvmti: Jvmti) {
    known::collected();
    if let Some(runtime) = runtime::get() {
        (runtime.pause)(false);
    }
}

extern "C" fn ends(_jvmti: Jvmti, _jni: Jni) {
    READY.store(false, Ordering::Release);
}

/// The machine can run code: the class with the hooks is defined, and classes are rewritten from here on.
extern "C" fn initialised(jvmti: Jvmti, jni: Jni, _thread: Ref) {
    if !define_hooks(jni) {
        eprintln!("mayhap: the class with the hooks could not be defined; nothing is recorded");
        return;
    }
    READY.store(true, Ordering::Release);
    for number in [event::CLASS_FILE_LOAD, event::CLASS_PREPARE, event::THREAD_START, event::THREAD_END] {
        jvmti.set_event_mode(1, number, core::ptr::null_mut());
    }
    if REWRITES_ALL.load(Ordering::Relaxed) {
        return;
    }
    known::start();
    keep_outputs(jni);
    let mut found = Vec::new();
    for class in library::with_entries() {
        let Ok(name) = CString::new(class) else { continue };
        let class = jni.find_class(name.as_ptr());
        if class.is_null() {
            jni.take_exception();
        } else {
            found.push(class);
        }
    }
    let result = jvmti.retransform(found.len() as c_int, found.as_ptr());
    if result != 0 {
        eprintln!("mayhap: classes of the library could not be changed (error {result})");
    }
}

/// Keeps the machine's own streams for output.
fn keep_outputs(jni: Jni) {
    let system = jni.find_class(c"java/lang/System".as_ptr());
    for (place, name) in calls::STANDARD.iter().zip([c"out", c"err"]) {
        let field = jni.static_field_id(system, name.as_ptr(), c"Ljava/io/PrintStream;".as_ptr());
        let stream = if field.is_null() { field } else { jni.static_object(system, field) };
        if !stream.is_null() {
            place.store(jni.global(stream), Ordering::Release);
        }
    }
    jni.take_exception();
}

/// A class is ready: its fields can be asked for.
extern "C" fn is_prepared(jvmti: Jvmti, jni: Jni, _thread: Ref, class: Ref) {
    if runtime::get().is_some()
        && let Some(known) = classes::named(&jvmti.class_name(class)).filter(|known| !known.is_library)
    {
        known.has_mirror(jni.global(class));
    }
}

fn define_hooks(jni: Jni) -> bool {
    let Some(words) = opening::prepare(jni) else { return false };
    let Some(bytes) = fast_hooks::class(&natives(), &words) else { return false };
    let Ok(name) = CString::new(HOOKS) else { return false };
    let class = jni.define_class(name.as_ptr(), core::ptr::null_mut(), bytes.as_ptr(), bytes.len() as i32);
    if !class.is_null() && REWRITES_ALL.load(Ordering::Relaxed) {
        link(jni, class);
    }
    !class.is_null()
}

/// All native methods of the class with the hooks. The machine finds them in this library by their names.
fn natives() -> Vec<(&'static str, &'static str)> {
    let listed = hooks::NATIVES.iter().chain(calls::NATIVES).chain(arguments::NATIVES).chain(handles::NATIVES);
    let listed = listed.chain(conditions::NATIVES).chain(conditions::TIMED).chain(calls::ATTEMPTS);
    let listed = listed.chain(callbacks::NATIVES).chain(callbacks::BRACKETS).chain(callbacks::CAUGHT).copied();
    let listed = listed.chain(opening::NATIVES.iter().copied());
    listed.chain([("out", "()V"), ("aside", "()V")]).collect()
}

/// Calls each hook once, with nothing: the machine finds native methods by code of the library, which is about to get hooks.
fn link(jni: Jni, class: Ref) {
    for (name, descriptor) in natives() {
        let (Ok(name), Ok(descriptor)) = (CString::new(name), CString::new(descriptor)) else { continue };
        let method = jni.static_method_id(class, name.as_ptr(), descriptor.as_ptr());
        if !method.is_null() {
            jni.call_static_object(class, method, [0u64; 8].as_ptr().cast());
        }
    }
}

extern "C" fn thread_starts(jvmti: Jvmti, _jni: Jni, thread: Ref) {
    let block = jvmti.tag(thread) as u64;
    if block == 0 {
        return;
    }
    let child = shadow::word(block + EXTRA).load(Ordering::Acquire);
    if let Some(runtime) = runtime::get().filter(|_| child != 0) {
        (runtime.begin)(child as *const c_void);
    }
}

extern "C" fn thread_ends(_jvmti: Jvmti, _jni: Jni, _thread: Ref) {
    if let Some(runtime) = runtime::get() {
        (runtime.end)();
    }
}

/// A class is loaded or changed.
extern "C" fn loads(
    jvmti: Jvmti,
    _jni: Jni,
    changed: Ref,
    loader: Ref,
    name: *const c_char,
    _domain: Ref,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    if name.is_null() || !READY.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: the machine's own text and bytes.
    let (name, bytes) =
        unsafe { (CStr::from_ptr(name).to_string_lossy(), core::slice::from_raw_parts(bytes, length as usize)) };
    let is_library = (loader.is_null() || library::is_library(&name)) && !REWRITES_ALL.load(Ordering::Relaxed);
    if is_library && !library::with_entries().contains(&&*name) {
        return;
    }
    let rewritten = catch_unwind(|| rewritten(bytes, is_library, changed.is_null())).ok().flatten();
    let Some(rewritten) = rewritten else { return };
    let mut place = core::ptr::null_mut();
    if jvmti.allocate(rewritten.len() as i64, &mut place) == 0 && !place.is_null() {
        // SAFETY: fresh memory of this size; the machine's own places for the answer.
        unsafe {
            core::ptr::copy_nonoverlapping(rewritten.as_ptr(), place, rewritten.len());
            *new_length = rewritten.len() as i32;
            *new_bytes = place;
        }
    }
}

/// The class with hooks in its code, if it is to have any.
fn rewritten(bytes: &[u8], is_library: bool, is_new: bool) -> Option<Vec<u8>> {
    let mut file = ClassFile::read(bytes)?;
    // A class that is changed keeps the fields that it has.
    let had_field = || classes::named(&file.name).is_some_and(classes::Class::has_hidden);
    let is_first = !file.is_interface && library::is_library(&file.superclass);
    if !is_library && is_first && !REWRITES_ALL.load(Ordering::Relaxed) && (is_new || had_field()) {
        file.add_field(fast_path::FIELD, "J")?;
    }
    let mut places: Vec<(u32, Place)> = Vec::new();
    let mut number = |place: Place| {
        let number = classes::next_number();
        places.push((number, place));
        number
    };
    if is_library && library::entries_of(&file.name).any(|entry| !file.methods.iter().any(|own| own.name == entry)) {
        not_seen(&format!(
            "this version of Java has another {} than those that are known",
            file.name.replace('/', ".")
        ));
    }
    if !is_library && file.methods.iter().any(|method| method.flags & flag::NATIVE != 0) {
        not_seen(&format!("{} has native methods", file.name.replace('/', ".")));
    }
    let mut skipped = Vec::new();
    let out = match is_library {
        true => rewrite::library_class(&mut file, &mut number)?,
        false => rewrite::class(&mut file, &mut number, &mut skipped)?,
    };
    if !skipped.is_empty() {
        let class = file.name.replace('/', ".");
        not_seen(&format!("methods of {class} would become too long with hooks ({})", skipped.join(", ")));
    }
    classes::enter(&file, bytes, places)?;
    Some(out)
}

/// Something will not be seen: then nothing is proven.
fn not_seen(what: &str) {
    if let Some(runtime) = runtime::get() {
        (runtime.unseen)();
        eprintln!("mayhap: {what}: this is not recorded, so findings of this run are at most suspected");
    }
}
