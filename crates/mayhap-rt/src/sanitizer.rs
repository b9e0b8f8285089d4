//! The interface that programs which know the sanitizers expect besides ThreadSanitizer's own, so that they link and run: the common
//! functions, unaligned accesses, memory that instrumented libraries report, and other names of the functions that a sanitizer stands in
//! front of.

use libc::{c_char, c_int, c_void, size_t};
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::tls::{self, exports};

type Place = *mut c_void;

exports! {
    __sanitizer_unaligned_load16 => load16;
    __sanitizer_unaligned_load32 => load32;
    __sanitizer_unaligned_load64 => load64;
    __sanitizer_unaligned_store16 => store16;
    __sanitizer_unaligned_store32 => store32;
    __sanitizer_unaligned_store64 => store64;
    __tsan_external_read => external_read;
    __tsan_external_write => external_write;
}

fn range(tag: Tag, place: Place, bytes: u64) {
    let pc = tls::caller();
    if let Some(mut hook) = Hook::enter_outermost() {
        hook.announces();
        hook.record(tag, pc, &[place as u64, bytes]);
    }
}

macro_rules! unaligned {
    ($($load:ident $store:ident $type:ty;)*) => {
        $(
            unsafe extern "C" fn $load(place: *const $type) -> $type {
                range(Tag::RangeRead, place.cast_mut().cast(), size_of::<$type>() as u64);
                // SAFETY: the caller's own place.
                unsafe { place.read_unaligned() }
            }

            unsafe extern "C" fn $store(place: *mut $type, value: $type) {
                range(Tag::RangeWrite, place.cast(), size_of::<$type>() as u64);
                // SAFETY: the caller's own place.
                unsafe { place.write_unaligned(value) }
            }
        )*
    };
}

unaligned! {
    load16 store16 u16;
    load32 store32 u32;
    load64 store64 u64;
}

/// A library's object is read: its first byte stands for all of it.
unsafe extern "C" fn external_read(place: Place, _caller: Place, _tag: Place) {
    range(Tag::RangeRead, place, 1);
}

unsafe extern "C" fn external_write(place: Place, _caller: Place, _tag: Place) {
    range(Tag::RangeWrite, place, 1);
}

unsafe extern "C" {
    fn malloc_usable_size(block: Place) -> size_t;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_allocated_size(block: Place) -> size_t {
    // SAFETY: the caller's own block, or null.
    unsafe { malloc_usable_size(block) }
}

#[unsafe(no_mangle)]
extern "C" fn __sanitizer_get_ownership(block: Place) -> c_int {
    c_int::from(!block.is_null())
}

#[unsafe(no_mangle)]
extern "C" fn __sanitizer_get_estimated_allocated_size(bytes: size_t) -> size_t {
    bytes
}

/// Texts that a program asks for are empty.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_pc(_pc: Place, _form: *const c_char, out: *mut c_char, room: size_t) {
    if room > 0 && !out.is_null() {
        // SAFETY: the caller's own room.
        unsafe { *out = 0 };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_global(data: Place, form: *const c_char, out: *mut c_char, room: size_t) {
    // SAFETY: the caller's own arguments.
    unsafe { __sanitizer_symbolize_pc(data, form, out, room) };
}

/// Functions that say yes.
macro_rules! agreeing {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> usize {
                1
            }
        )*
    };
}

agreeing! {
    __sanitizer_verify_contiguous_container __sanitizer_verify_double_ended_contiguous_container
    __sanitizer_acquire_crash_state __tsan_external_register_tag
}

/// Functions that do nothing and return nothing, 0 or null.
macro_rules! silent {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> *const c_void {
                core::ptr::null()
            }
        )*
    };
}

silent! {
    __sanitizer_set_report_path __sanitizer_set_report_fd __sanitizer_get_report_path __sanitizer_set_death_callback
    __sanitizer_print_stack_trace __sanitizer_sandbox_on_notify __sanitizer_report_error_summary
    __sanitizer_print_memory_profile __sanitizer_get_module_and_offset_for_pc __sanitizer_set_interceptor_metadata
    __sanitizer_annotate_contiguous_container __sanitizer_annotate_double_ended_contiguous_container
    __sanitizer_contiguous_container_find_bad_address __sanitizer_double_ended_contiguous_container_find_bad_address
    __sanitizer_start_switch_fiber __sanitizer_finish_switch_fiber
    __sanitizer_get_heap_size __sanitizer_get_current_allocated_bytes __sanitizer_get_free_bytes
    __sanitizer_get_unmapped_bytes __sanitizer_purge_allocator __sanitizer_install_malloc_and_free_hooks
    __sanitizer_get_allocated_begin __sanitizer_install_pc_hooks __sanitizer_cov_dump __sanitizer_cov_reset
    __sanitizer_dump_coverage __sanitizer_dump_trace_pc_guard_coverage __sanitizer_on_print
    __lsan_enable __lsan_disable __lsan_ignore_object __lsan_do_leak_check __lsan_do_recoverable_leak_check
    __lsan_register_root_region __lsan_unregister_root_region
    __tsan_external_register_header __tsan_external_assign_tag
    __tsan_get_current_report __tsan_get_report_data __tsan_get_report_stack __tsan_get_report_mop
    __tsan_get_report_loc __tsan_get_report_mutex __tsan_get_report_thread __tsan_get_report_unique_tid
    __tsan_get_report_tag __tsan_locate_address __tsan_get_alloc_stack __tsan_testonly_barrier_init
    __tsan_testonly_barrier_wait
}

/// The names under which a program finds what the sanitizer's own functions call: these come first.
#[cfg(not(feature = "archive"))]
macro_rules! intercepted {
    ($($name:ident $target:literal;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(concat!("jmp ", $target, "@PLT"))
            }
        )*
    };
}

#[cfg(not(feature = "archive"))]
intercepted! {
    __interceptor_malloc "malloc";
    __interceptor_calloc "calloc";
    __interceptor_realloc "realloc";
    __interceptor_free "free";
    __interceptor_posix_memalign "posix_memalign";
    __interceptor_aligned_alloc "aligned_alloc";
    __interceptor_memcpy "memcpy";
    __interceptor_memmove "memmove";
    __interceptor_memset "memset";
    __interceptor_memcmp "memcmp";
    __interceptor_memchr "memchr";
    __interceptor_strlen "strlen";
    __interceptor_strcmp "strcmp";
    __interceptor_strncmp "strncmp";
    __interceptor_strcpy "strcpy";
    __interceptor_strncpy "strncpy";
    __interceptor_strchr "strchr";
    __interceptor_strrchr "strrchr";
    __interceptor_read "read";
    __interceptor_write "write";
    __interceptor_mmap "mmap";
    __interceptor_munmap "munmap";
    __interceptor_sigaction "sigaction";
    __interceptor_signal "signal";
    __interceptor_pthread_create "pthread_create";
    __interceptor_pthread_join "pthread_join";
    __interceptor_pthread_detach "pthread_detach";
    __interceptor_pthread_mutex_init "pthread_mutex_init";
    __interceptor_pthread_mutex_destroy "pthread_mutex_destroy";
    __interceptor_pthread_mutex_lock "pthread_mutex_lock";
    __interceptor_pthread_mutex_trylock "pthread_mutex_trylock";
    __interceptor_pthread_mutex_unlock "pthread_mutex_unlock";
    __interceptor_pthread_cond_wait "pthread_cond_wait";
    __interceptor_pthread_cond_signal "pthread_cond_signal";
    __interceptor_pthread_cond_broadcast "pthread_cond_broadcast";
    __interceptor_pthread_rwlock_rdlock "pthread_rwlock_rdlock";
    __interceptor_pthread_rwlock_wrlock "pthread_rwlock_wrlock";
    __interceptor_pthread_rwlock_unlock "pthread_rwlock_unlock";
    __interceptor_pthread_once "pthread_once";
    __interceptor_sem_wait "sem_wait";
    __interceptor_sem_post "sem_post";
}
