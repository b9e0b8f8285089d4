//! Functions of the C library that read the program's memory and say something about it: numbers in texts, texts in texts, dates, the
//! environment. What they find may decide what the program does next, so it is recorded that they read.

use libc::{c_char, c_int, c_ulong, size_t};
use mayhap_wire::channel::doubt;
use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, atomic_word, order};

use crate::hook::Hook;
use crate::pass_on::{Registers, pass_on};
use crate::real::real;
use crate::{openmp, replay};

mod libc_real {
    use super::*;
    real! {
        fn strnlen(text: *const c_char, n: size_t) -> size_t;
        fn strspn(text: *const c_char, of: *const c_char) -> size_t;
        fn strcspn(text: *const c_char, of: *const c_char) -> size_t;
        fn strstr(text: *const c_char, part: *const c_char) -> *const c_char;
        fn strtoul(text: *const c_char, end: *mut *const c_char, base: c_int) -> c_ulong;
        fn strtod(text: *const c_char, end: *mut *const c_char) -> f64;
    }
}

/// The bytes of a broken-down time.
const TM: u64 = 56;

/// What a function does to memory that an argument points to, by the argument's place. Null pointers are left out.
#[derive(Clone, Copy)]
enum Does {
    /// Reads a text to the zero at its end.
    Text(usize),
    /// Reads a text of wide characters.
    Wide(usize),
    /// Reads a text of wide characters, but no more of them than another argument says.
    WideUpTo(usize, usize),
    /// Writes the second argument's text of wide characters to where the first one begins or, if it comes `after`, ends.
    WideCopies { after: bool },
    /// Reads a text to the end of the number that it begins with, in the base that an argument says, or ten.
    Integer(usize, Option<usize>),
    /// Reads a text to the end of the floating-point number that it begins with.
    Float(usize),
    /// Reads two texts to where they differ, capital letters aside, or end, but no more bytes than an argument says.
    Compares(Option<usize>),
    /// Reads a text to where bytes of another begin, or end.
    Spans { of: bool },
    /// Looks for a text in another.
    Finds,
    /// Reads so many bytes.
    Reads(usize, u64),
    /// Writes so many bytes.
    Writes(usize, u64),
    /// Reads as many pieces as another argument says, each of so many bytes.
    ReadsOf(usize, usize, u64),
    /// Writes as many pieces as another argument says, each of so many bytes.
    WritesOf(usize, usize, u64),
    /// Reads and writes as many pieces as a second argument says, whose size is a third.
    Sorts(usize, usize, usize),
    /// Cuts the next piece from the text that the argument points to the pointer of, unless another argument has the text.
    Cuts { place: usize, text: Option<usize>, at: usize },
    /// Reads the environment, which the library guards.
    Environment,
    /// Changes the environment.
    ChangesEnvironment,
    /// Replaces the six letters at the end of a text.
    Template,
    /// Reads memory in a way that is not modelled.
    Unmodelled,
}
use Does::*;

/// Notes what a call does to memory.
fn note(all: &[Does], registers: *const Registers, pc: u64) {
    if openmp::is_library(pc) {
        return;
    }
    let Some(mut hook) = Hook::enter_outermost() else { return };
    hook.announces();
    // SAFETY: the registers of a call, which its caller put there.
    let arguments = unsafe { &(*registers).general };
    for does in all {
        // SAFETY: the arguments are of a function that does this.
        unsafe { note_one(&hook, pc, *does, arguments) };
    }
}

/// # Safety
/// The arguments are of a function that does this.
unsafe fn note_one(hook: &Hook, pc: u64, does: Does, arguments: &[u64; 6]) {
    let range = |tag: Tag, address: u64, bytes: u64| {
        if address != 0 && bytes > 0 {
            hook.record(tag, pc, &[address, bytes]);
        }
    };
    // SAFETY: as the caller vouches.
    unsafe {
        match does {
            Text(at) => range(Tag::RangeRead, arguments[at], length(arguments[at])),
            Integer(at, base) => {
                let (text, base) = (arguments[at], base.map_or(10, |base| arguments[base] as c_int));
                let mut end = text as *const c_char;
                libc_real::strtoul(end, &raw mut end, base);
                range(Tag::RangeRead, text, number(text, end as u64));
            }
            Float(at) => {
                let mut end = arguments[at] as *const c_char;
                libc_real::strtod(end, &raw mut end);
                range(Tag::RangeRead, arguments[at], number(arguments[at], end as u64));
            }
            Compares(most) => {
                let most = most.map_or(u64::MAX, |most| arguments[most]);
                let bytes = compared(arguments[0], arguments[1], most);
                range(Tag::RangeRead, arguments[0], bytes);
                range(Tag::RangeRead, arguments[1], bytes);
            }
            Spans { of } => {
                let (text, bytes) = (arguments[0] as *const c_char, arguments[1] as *const c_char);
                let span = if of { libc_real::strspn(text, bytes) } else { libc_real::strcspn(text, bytes) };
                range(Tag::RangeRead, arguments[0], span as u64 + 1);
                range(Tag::RangeRead, arguments[1], length(arguments[1]));
            }
            Finds => finds(&range, arguments[0], arguments[1]),
            Wide(at) => range(Tag::RangeRead, arguments[at], wide_length(arguments[at], u64::MAX)),
            WideUpTo(at, most) => {
                range(Tag::RangeRead, arguments[at], wide_length(arguments[at], arguments[most].saturating_mul(4)));
            }
            WideCopies { after } => {
                let [to, from, ..] = *arguments;
                let skipped = if after { wide_length(to, u64::MAX) - 4 } else { 0 };
                range(Tag::RangeWrite, to + skipped, wide_length(from, u64::MAX));
            }
            Reads(at, bytes) => range(Tag::RangeRead, arguments[at], bytes),
            Writes(at, bytes) => range(Tag::RangeWrite, arguments[at], bytes),
            ReadsOf(at, count, bytes) => {
                range(Tag::RangeRead, arguments[at], arguments[count].saturating_mul(bytes));
            }
            WritesOf(at, count, bytes) => {
                range(Tag::RangeWrite, arguments[at], arguments[count].saturating_mul(bytes));
            }
            Sorts(at, count, size) => {
                let bytes = arguments[count].saturating_mul(arguments[size]);
                range(Tag::RangeRead, arguments[at], bytes);
                // A single one stays where it is.
                range(Tag::RangeWrite, arguments[at], if arguments[count] > 1 { bytes } else { 0 });
            }
            Cuts { place, text, at } => {
                cuts(&range, arguments[place], text.map_or(0, |text| arguments[text]), text.is_some(), arguments[at])
            }
            Environment => environment(hook, pc, AtomicKind::Load, order::ACQUIRE),
            ChangesEnvironment => environment(hook, pc, AtomicKind::Update, order::SEQ_CST),
            Template => {
                let bytes = length(arguments[0]);
                range(Tag::RangeWrite, arguments[0] + bytes.saturating_sub(7), bytes.saturating_sub(1).min(6));
            }
            Unmodelled => hook.record(Tag::Doubt, pc, &[u64::from(doubt::DESCRIPTOR)]),
        }
    }
}

/// A part of a text is looked for.
///
/// # Safety
/// Both are texts.
unsafe fn finds(range: &dyn Fn(Tag, u64, u64), text: u64, part: u64) {
    // SAFETY: as the caller vouches.
    let (found, part_length) =
        unsafe { (libc_real::strstr(text as *const c_char, part as *const c_char) as u64, length(part)) };
    // SAFETY: as above.
    let until = if found == 0 { unsafe { length(text) } } else { found - text + part_length - 1 };
    range(Tag::RangeRead, text, until);
    range(Tag::RangeRead, part, part_length);
}

/// A part is cut off a text, the given one or, if there is none, the one whose rest is noted at a place. `skips`: separators before the
/// part are left out.
///
/// # Safety
/// The place holds a pointer to a text or null, the separators are a text, and so is what is given unless it is null.
unsafe fn cuts(range: &dyn Fn(Tag, u64, u64), place: u64, given: u64, skips: bool, separators: u64) {
    if given == 0 {
        range(Tag::RangeRead, place, 8);
    }
    // SAFETY: as the caller vouches.
    unsafe {
        let from = if given == 0 && place != 0 { (place as *const u64).read() } else { given };
        if from != 0 {
            let of = separators as *const c_char;
            let skipped = if skips { libc_real::strspn(from as *const c_char, of) } else { 0 };
            let begin = from + skipped as u64;
            let end = begin + libc_real::strcspn(begin as *const c_char, of) as u64;
            range(Tag::RangeRead, from, end - from + 1);
            range(Tag::RangeWrite, end, u64::from((end as *const u8).read() != 0));
        }
    }
    range(Tag::RangeWrite, place, 8);
}

/// The bytes of a text with the zero at its end.
///
/// # Safety
/// It is null, or a text.
unsafe fn length(text: u64) -> u64 {
    // SAFETY: as the caller vouches.
    if text == 0 { 0 } else { unsafe { libc_real::strnlen(text as *const c_char, usize::MAX) as u64 + 1 } }
}

/// The bytes that are read of a text for a number that ends there: one more, or if there is no number, all that may come before one.
///
/// # Safety
/// It is a text.
unsafe fn number(text: u64, end: u64) -> u64 {
    if end > text {
        return end - text + 1;
    }
    // SAFETY: as the caller vouches.
    unsafe {
        let spaces = libc_real::strspn(text as *const c_char, c" \t\n\x0b\x0c\r".as_ptr());
        let signs = libc_real::strspn((text as *const c_char).add(spaces), c"+-".as_ptr()).min(1);
        (spaces + signs) as u64 + 1
    }
}

/// The bytes that a comparison looks at that takes capital letters for others.
///
/// # Safety
/// Both are texts, or as long.
unsafe fn compared(a: u64, b: u64, most: u64) -> u64 {
    // SAFETY: as the caller vouches: neither has ended before.
    let byte = |text: u64, at: u64| unsafe { ((text + at) as *const u8).read() };
    let mut at = 0;
    while at < most && byte(a, at) != 0 && byte(a, at).eq_ignore_ascii_case(&byte(b, at)) {
        at += 1;
    }
    (at + 1).min(most)
}

/// The bytes of a text of wide characters with the zero at its end, but at most so many.
///
/// # Safety
/// It is null, or such a text, or as long.
unsafe fn wide_length(text: u64, most: u64) -> u64 {
    let mut bytes = 0;
    // SAFETY: as the caller vouches.
    while text != 0 && bytes < most && unsafe { ((text + bytes) as *const u32).read_unaligned() } != 0 {
        bytes += 4;
    }
    if text == 0 { 0 } else { (bytes + 4).min(most) }
}

/// Threads that use the environment do so one after the other, as far as the C library knows.
fn environment(hook: &Hook, pc: u64, kind: AtomicKind, order: u8) {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let address = &raw const environ as u64;
    replay::check_atomic(hook.thread(), kind as u8, pc, address);
    hook.record(Tag::Atomic, pc, &[address, AtomicForm::Plain.in_word(atomic_word(kind, order, 8))]);
}

/// What is noted before a function that does all this.
macro_rules! does {
    ($($does:expr),*) => {
        |registers, _, pc| note(&[$($does),*], registers, pc)
    };
}

pass_on! {
    atoi find_atoi does!(Integer(0, None));
    atol find_atol does!(Integer(0, None));
    atoll find_atoll does!(Integer(0, None));
    atof find_atof does!(Float(0));
    strtol find_strtol does!(Integer(0, Some(2)), Writes(1, 8));
    strtoll find_strtoll does!(Integer(0, Some(2)), Writes(1, 8));
    strtoul find_strtoul does!(Integer(0, Some(2)), Writes(1, 8));
    strtoull find_strtoull does!(Integer(0, Some(2)), Writes(1, 8));
    strtoimax find_strtoimax does!(Integer(0, Some(2)), Writes(1, 8));
    strtoumax find_strtoumax does!(Integer(0, Some(2)), Writes(1, 8));
    strtod find_strtod does!(Float(0), Writes(1, 8));
    strtof find_strtof does!(Float(0), Writes(1, 8));
    strtold find_strtold does!(Float(0), Writes(1, 8));
    strstr find_strstr does!(Finds);
    strcasestr find_strcasestr does!(Text(0), Text(1));
    strspn find_strspn does!(Spans { of: true });
    strcspn find_strcspn does!(Spans { of: false });
    strpbrk find_strpbrk does!(Spans { of: false });
    strcasecmp find_strcasecmp does!(Compares(None));
    strncasecmp find_strncasecmp does!(Compares(Some(2)));
    strcoll find_strcoll does!(Text(0), Text(1));
    strverscmp find_strverscmp does!(Text(0), Text(1));
    strtok_r find_strtok_r does!(Text(1), Cuts { place: 2, text: Some(0), at: 1 });
    strsep find_strsep does!(Text(1), Cuts { place: 0, text: None, at: 1 });
    memmem find_memmem does!(ReadsOf(0, 1, 1), ReadsOf(2, 3, 1));
    fnmatch find_fnmatch does!(Text(0), Text(1));
    regexec find_regexec does!(Text(1));
    inet_addr find_inet_addr does!(Text(0));
    inet_aton find_inet_aton does!(Text(0), Writes(1, 4));
    inet_pton find_inet_pton does!(Text(1));
    sscanf find_sscanf does!(Text(0), Text(1));
    __isoc99_sscanf find_sscanf_c99 does!(Text(0), Text(1));
    vsscanf find_vsscanf does!(Text(0), Text(1));
    __isoc99_vsscanf find_vsscanf_c99 does!(Text(0), Text(1));
    strptime find_strptime does!(Text(0), Text(1));
    mktime find_mktime does!(Reads(0, TM), Writes(0, TM));
    timegm find_timegm does!(Reads(0, TM), Writes(0, TM));
    strftime find_strftime does!(Text(2), Reads(3, TM));
    gmtime_r find_gmtime_r does!(Reads(0, 8), Writes(1, TM));
    localtime_r find_localtime_r does!(Reads(0, 8), Writes(1, TM));
    rand_r find_rand_r does!(Reads(0, 4), Writes(0, 4));
    qsort find_qsort does!(Sorts(0, 1, 2));
    qsort_r find_qsort_r does!(Sorts(0, 1, 2));
    wcslen find_wcslen does!(Wide(0));
    wcscmp find_wcscmp does!(Wide(0), Wide(1));
    wcsstr find_wcsstr does!(Wide(0), Wide(1));
    wcstol find_wcstol does!(Wide(0), Writes(1, 8));
    wcstoul find_wcstoul does!(Wide(0), Writes(1, 8));
    wcstod find_wcstod does!(Wide(0), Writes(1, 8));
    wmemcmp find_wmemcmp does!(ReadsOf(0, 2, 4), ReadsOf(1, 2, 4));
    wmemcpy find_wmemcpy does!(ReadsOf(1, 2, 4), WritesOf(0, 2, 4));
    wmemmove find_wmemmove does!(ReadsOf(1, 2, 4), WritesOf(0, 2, 4));
    wmemset find_wmemset does!(WritesOf(0, 2, 4));
    wcscpy find_wcscpy does!(Wide(1), WideCopies { after: false });
    wcpcpy find_wcpcpy does!(Wide(1), WideCopies { after: false });
    wcscat find_wcscat does!(Wide(0), Wide(1), WideCopies { after: true });
    wcsncpy find_wcsncpy does!(WideUpTo(1, 2), WritesOf(0, 2, 4));
    wcpncpy find_wcpncpy does!(WideUpTo(1, 2), WritesOf(0, 2, 4));
    wcsncmp find_wcsncmp does!(WideUpTo(0, 2), WideUpTo(1, 2));
    wcscasecmp find_wcscasecmp does!(Wide(0), Wide(1));
    wcsncasecmp find_wcsncasecmp does!(WideUpTo(0, 2), WideUpTo(1, 2));
    wcsnlen find_wcsnlen does!(WideUpTo(0, 1));
    wcschr find_wcschr does!(Wide(0));
    wcschrnul find_wcschrnul does!(Wide(0));
    wcsrchr find_wcsrchr does!(Wide(0));
    wcsspn find_wcsspn does!(Wide(0), Wide(1));
    wcscspn find_wcscspn does!(Wide(0), Wide(1));
    wcspbrk find_wcspbrk does!(Wide(0), Wide(1));
    wcscoll find_wcscoll does!(Wide(0), Wide(1));
    wcsdup find_wcsdup does!(Wide(0));
    wcstoll find_wcstoll does!(Wide(0), Writes(1, 8));
    wcstoull find_wcstoull does!(Wide(0), Writes(1, 8));
    wcstof find_wcstof does!(Wide(0), Writes(1, 8));
    wcstold find_wcstold does!(Wide(0), Writes(1, 8));
    wcstoimax find_wcstoimax does!(Wide(0), Writes(1, 8));
    wcstoumax find_wcstoumax does!(Wide(0), Writes(1, 8));
    wmempcpy find_wmempcpy does!(ReadsOf(1, 2, 4), WritesOf(0, 2, 4));
    wcsftime find_wcsftime does!(Wide(2), Reads(3, TM));
    swscanf find_swscanf does!(Wide(0), Wide(1));
    vswscanf find_vswscanf does!(Wide(0), Wide(1));
    strtol_l find_strtol_l does!(Integer(0, Some(2)), Writes(1, 8));
    strtoul_l find_strtoul_l does!(Integer(0, Some(2)), Writes(1, 8));
    strtoll_l find_strtoll_l does!(Integer(0, Some(2)), Writes(1, 8));
    strtoull_l find_strtoull_l does!(Integer(0, Some(2)), Writes(1, 8));
    strtod_l find_strtod_l does!(Float(0), Writes(1, 8));
    strtof_l find_strtof_l does!(Float(0), Writes(1, 8));
    strtold_l find_strtold_l does!(Float(0), Writes(1, 8));
    strcasecmp_l find_strcasecmp_l does!(Compares(None));
    strncasecmp_l find_strncasecmp_l does!(Compares(Some(2)));
    strcoll_l find_strcoll_l does!(Text(0), Text(1));
    strftime_l find_strftime_l does!(Text(2), Reads(3, TM));
    strptime_l find_strptime_l does!(Text(0), Text(1));
    strchrnul find_strchrnul does!(Text(0));
    rawmemchr find_rawmemchr does!(Unmodelled);
    memrchr find_memrchr does!(Unmodelled);
    memccpy find_memccpy does!(Unmodelled);
    strxfrm find_strxfrm does!(Text(1), Writes(0, 1), Unmodelled);
    strfry find_strfry does!(Unmodelled);
    swab find_swab does!(ReadsOf(0, 2, 1), WritesOf(1, 2, 1));
    a64l find_a64l does!(Unmodelled);
    basename find_basename does!(Text(0));
    dirname find_dirname does!(Text(0), Unmodelled);
    getopt find_getopt does!(Unmodelled);
    getopt_long find_getopt_long does!(Unmodelled);
    getsubopt find_getsubopt does!(Unmodelled);
    argz_add find_argz_add does!(Unmodelled);
    argz_append find_argz_append does!(Unmodelled);
    argz_count find_argz_count does!(Unmodelled);
    argz_next find_argz_next does!(Unmodelled);
    argz_delete find_argz_delete does!(Unmodelled);
    envz_add find_envz_add does!(Unmodelled);
    envz_get find_envz_get does!(Unmodelled);
    envz_entry find_envz_entry does!(Unmodelled);
    envz_remove find_envz_remove does!(Unmodelled);
    lsearch find_lsearch does!(Unmodelled);
    insque find_insque does!(Unmodelled);
    remque find_remque does!(Unmodelled);
    iconv find_iconv does!(Unmodelled);
    mblen find_mblen does!(Unmodelled);
    mbrlen find_mbrlen does!(Unmodelled);
    mbtowc find_mbtowc does!(Unmodelled);
    mbrtowc find_mbrtowc does!(Unmodelled);
    mbsinit find_mbsinit does!(Reads(0, 8));
    mbstowcs find_mbstowcs does!(Text(1), Writes(0, 4), Unmodelled);
    mbsrtowcs find_mbsrtowcs does!(Unmodelled);
    wcstombs find_wcstombs does!(Wide(1), Writes(0, 1), Unmodelled);
    wcsrtombs find_wcsrtombs does!(Unmodelled);
    wcsxfrm find_wcsxfrm does!(Wide(1), Unmodelled);
    wcstok find_wcstok does!(Unmodelled);
    open_memstream find_open_memstream does!(Unmodelled);
    regcomp find_regcomp does!(Text(1), Writes(0, 64));
    asctime find_asctime does!(Reads(0, TM));
    asctime_r find_asctime_r does!(Reads(0, TM), Writes(1, 26));
    ctime find_ctime does!(Reads(0, 8));
    ctime_r find_ctime_r does!(Reads(0, 8), Writes(1, 26));
    gmtime find_gmtime does!(Reads(0, 8));
    localtime find_localtime does!(Reads(0, 8));
    uname find_uname does!(Writes(0, 390));
    getrusage find_getrusage does!(Writes(1, 144));
    gethostname find_gethostname does!(Writes(0, 1));
    times find_times does!(Writes(0, 32));
    sysinfo find_sysinfo does!(Writes(0, 112));
    inet_ntop find_inet_ntop does!(Writes(2, 1));
    mkstemp find_mkstemp does!(Text(0), Template);
    mkostemp find_mkostemp does!(Text(0), Template);
    mkdtemp find_mkdtemp does!(Text(0), Template);
    swprintf find_swprintf does!(Wide(2), Writes(0, 4));
    vswprintf find_vswprintf does!(Wide(2), Writes(0, 4));
    getsockname find_getsockname does!(Writes(1, 2), Writes(2, 4));
    getpeername find_getpeername does!(Writes(1, 2), Writes(2, 4));
    sigemptyset find_sigemptyset does!(Writes(0, 8));
    sigfillset find_sigfillset does!(Writes(0, 8));
    sigaddset find_sigaddset does!(Reads(0, 8), Writes(0, 8));
    sigdelset find_sigdelset does!(Reads(0, 8), Writes(0, 8));
    sigismember find_sigismember does!(Reads(0, 8));
    pthread_attr_getstacksize find_getstacksize does!(Unmodelled, Writes(1, 8));
    pthread_attr_getdetachstate find_getdetachstate does!(Unmodelled, Writes(1, 4));
    pthread_mutexattr_gettype find_gettype does!(Reads(0, 4), Writes(1, 4));
    pthread_mutexattr_settype find_settype does!(Writes(0, 4));
    getenv find_getenv does!(Text(0), Environment);
    secure_getenv find_secure_getenv does!(Text(0), Environment);
    setenv find_setenv does!(Text(0), Text(1), ChangesEnvironment);
    unsetenv find_unsetenv does!(Text(0), ChangesEnvironment);
    putenv find_putenv does!(Text(0), ChangesEnvironment);
    clearenv find_clearenv does!(ChangesEnvironment);
}

// What GNU's C++ library does in its own object code.
#[cfg(not(feature = "archive"))]
pass_on! {
    _ZSt11_Hash_bytesPKvmm find_hash does!(ReadsOf(0, 1, 1));
    _ZNKSt10filesystem7__cxx114path11parent_pathEv find_cxx_parent does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path12has_filenameEv find_cxx_has_name does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path13has_root_nameEv find_cxx_has_root_name does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path13has_root_pathEv find_cxx_has_root does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path13relative_pathEv find_cxx_relative does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path14root_directoryEv find_cxx_root_folder does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path15has_parent_pathEv find_cxx_has_parent does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path16lexically_normalEv find_cxx_normal does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path17_M_find_extensionEv find_cxx_extension does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path17has_relative_pathEv find_cxx_has_relative does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path18has_root_directoryEv find_cxx_has_root_folder does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path18lexically_relativeERKS1_ find_cxx_relative_to does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path7compareERKS1_ find_cxx_compare does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path7compareESt17basic_string_viewIcSt11char_traitsIcEE find_cxx_compare_text does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path9root_nameEv find_cxx_root_name does!(Unmodelled);
    _ZNKSt10filesystem7__cxx114path9root_pathEv find_cxx_root does!(Unmodelled);
    _ZNKSt6localeeqERKS_ find_cxx_same_locale does!(Unmodelled);
    _ZSt10from_charsPKcS0_RdSt12chars_format find_cxx_double does!(Unmodelled);
    _ZSt10from_charsPKcS0_ReSt12chars_format find_cxx_long_double does!(Unmodelled);
    _ZSt10from_charsPKcS0_RfSt12chars_format find_cxx_float does!(Unmodelled);
}
