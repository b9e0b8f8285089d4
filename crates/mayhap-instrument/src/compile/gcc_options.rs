//! Options that keep gcc from doing without hooks what it would do without calls.

/// gcc drops fences when it instruments. It knows the sanitizer's own fence, though, which is a call.
pub(super) const FENCES: [&str; 2] = [
    "-D__atomic_thread_fence(order)=__builtin___tsan_atomic_thread_fence(order)",
    "-D__sync_synchronize()=__builtin___tsan_atomic_thread_fence(5)",
];

/// Functions that gcc replaces by loads and stores which it does not instrument, where it knows how many bytes there are. Called, the
/// runtime records what they do. clang calls them where it instruments.
const CALLED: [&str; 16] = [
    "memcpy", "mempcpy", "memmove", "memset", "memcmp", "memchr", "bcmp", "bzero", "strcpy", "stpcpy", "strncpy",
    "strcat", "strncat", "strcmp", "strncmp", "sprintf",
];
/// Those that the C++ library and programs ask for as built-in functions.
const BUILT_IN: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];

/// Nothing, which gcc does not know to be nothing: addresses of programs have 47 bits. Only C++ computes with built-in functions at compile
/// time, and only there does `__GXX_WEAK__` stand for a number, so that its name or the number chooses one of these.
const NOTHING: [&str; 5] = [
    "-D__mayhap_nothing_of(language)=__mayhap_nothing_##language",
    "-D__mayhap_nothing(language)=__mayhap_nothing_of(language)",
    "-D__mayhap_nothing___GXX_WEAK__=((__SIZE_TYPE__)__builtin_return_address(0)>>47)",
    "-D__mayhap_nothing_0=(__builtin_is_constant_evaluated()?0:(__SIZE_TYPE__)__builtin_return_address(0)>>47)",
    "-D__mayhap_nothing_1=__mayhap_nothing_0",
];

/// Options that make gcc call functions that touch memory. A built-in function is one whatever the options say, so it must not know the
/// number of bytes: nothing is added to it.
pub(super) fn call_memory_functions() -> impl Iterator<Item = String> {
    let nothing = "__mayhap_nothing(__GXX_WEAK__)";
    let built_in =
        BUILT_IN.into_iter().map(move |name| format!("-D__builtin_{name}(a,b,n)=__builtin_{name}(a,b,(n)+{nothing})"));
    let called = CALLED.into_iter().map(|name| format!("-fno-builtin-{name}"));
    let others = ["-mstringop-strategy=libcall"].into_iter().chain(NOTHING).map(str::to_owned);
    called.chain(others).chain(built_in)
}

/// What gcc must know whatever the user says. What fortified headers define calls functions as built-in ones. Equal code of different blocks
/// stays apart: which block a place of the code belongs to says which variables are alive there.
pub(super) const LAST: [&str; 3] = ["-U_FORTIFY_SOURCE", "-fno-crossjumping", "-fno-tree-tail-merge"];
