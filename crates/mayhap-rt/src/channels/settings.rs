//! What a process has set and can be asked for: its folder, its limits, names of threads, options of sockets, handlers of signals, which numbers
//! are descriptors. A thread that asks comes after those that have set what it finds.
//!
//! Each of these stands for a word, as names and files do ([`super::files`], [`super::words`]): who sets it writes the word, who asks reads it. So a schedule in
//! which something was not yet set has the asking thread read something else, and threads that only set are not ordered.

use libc::{c_char, c_int, c_void};
use mayhap_wire::channel::key;
use mayhap_wire::ring::AtomicKind;

use super::results::wrote;
use super::words::Word;
use crate::hook::Hook;
use crate::real::real;
use crate::threads;
use crate::tls::{self, exports};

/// Something that is set and asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    /// The current folder.
    Folder,
    /// Limits of what the process may use.
    Limits,
    /// Priorities and policies of processes and threads, and their names.
    Threads,
    /// Users and groups.
    Identity,
    /// Options of sockets, flags of descriptors, modes of terminals.
    Options,
    /// The language of the C library.
    Locale,
    /// Which libraries are loaded.
    Libraries,
    /// What `prctl` sets.
    Process,
    /// Which addresses are taken, and at which of them a socket listens.
    Addresses,
    /// What a signal does.
    Action(c_int),
    /// Whether a number is a descriptor, and of what.
    Number(c_int),
}

impl Setting {
    fn word(self) -> Word {
        Word::of_position(match self {
            Setting::Folder => key(5, 0, 0),
            Setting::Limits => key(5, 1, 0),
            Setting::Threads => key(5, 2, 0),
            Setting::Identity => key(5, 3, 0),
            Setting::Options => key(5, 4, 0),
            Setting::Locale => key(5, 5, 0),
            Setting::Libraries => key(5, 6, 0),
            Setting::Process => key(5, 7, 0),
            Setting::Addresses => key(5, 8, 0),
            Setting::Action(signal) => key(6, signal as u64, 0),
            Setting::Number(fd) => key(7, fd as u64, 0),
        })
    }
}

/// The thread is about to set something.
pub(crate) fn sets(what: Setting, pc: u64) {
    if threads::were_others()
        && let Some(hook) = Hook::enter_outermost()
    {
        sets_in(&hook, what, pc);
    }
}

/// [`sets`] within a hook.
pub(super) fn sets_in(hook: &Hook, what: Setting, pc: u64) {
    if threads::were_others() {
        what.word().record(hook, pc, AtomicKind::Store);
    }
}

/// The thread asks for something by `call`.
pub(crate) fn asks<R>(what: Setting, pc: u64, call: impl FnOnce() -> R) -> R {
    if !threads::were_others() {
        return call();
    }
    let Some(mut hook) = Hook::enter_outermost() else { return call() };
    let word = what.word();
    word.hold_back(&hook, pc);
    let result = hook.exposed(call);
    word.record(&hook, pc, AtomicKind::Load);
    result
}

/// The thread has found out how something is set.
pub(super) fn finds(hook: &Hook, what: Setting, pc: u64) {
    if threads::were_others() {
        what.word().record(hook, pc, AtomicKind::Load);
    }
}

/// The thread sets something, or asks for it, or both, by `call`.
pub(crate) fn settles<R>(what: Setting, (sets_it, asks_for_it): (bool, bool), pc: u64, call: impl FnOnce() -> R) -> R {
    if sets_it {
        sets(what, pc);
    }
    if asks_for_it { asks(what, pc, call) } else { call() }
}

/// What a command of `fcntl` does: it sets something, it asks for something.
pub(super) fn of_command(command: c_int) -> (bool, bool) {
    const SET_SIGNAL: c_int = 10;
    const GET_SIGNAL: c_int = 11;
    const GET_OWNER: c_int = 16;
    match command {
        libc::F_SETFD | libc::F_SETFL | libc::F_SETOWN | SET_SIGNAL => (true, false),
        libc::F_SETLEASE | libc::F_NOTIFY | libc::F_SETPIPE_SZ | libc::F_ADD_SEALS => (true, false),
        libc::F_GETFD | libc::F_GETFL | libc::F_GETOWN | GET_SIGNAL | GET_OWNER => (false, true),
        libc::F_GETLEASE | libc::F_GETPIPE_SZ | libc::F_GET_SEALS => (false, true),
        _ => (false, false),
    }
}

/// Functions with at most five arguments, all of them numbers or addresses.
macro_rules! settings {
    ($real:ident; $($name:ident => $inner:ident $does:expr, $what:expr $(, $place:literal: $bytes:literal)?;)*) => {
        mod $real {
            use super::*;
            real! { $(fn $name(a: usize, b: usize, c: usize, d: usize, e: usize) -> isize;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            pub(crate) unsafe extern "C-unwind" fn $inner(a: usize, b: usize, c: usize, d: usize, e: usize) -> isize {
                let pc = tls::caller();
                // SAFETY: the caller's own arguments in the same registers; what it did not pass is ignored.
                let result = settles($what, $does, pc, || unsafe { $real::$name(a, b, c, d, e) });
                $(wrote(pc, [a, b, c, d, e][$place] as *const u8, $bytes);)?
                result
            }
        )*
    };
}

const SETS: (bool, bool) = (true, false);
const ASKS: (bool, bool) = (false, true);

settings! { libc_settings;
    chdir => change_folder SETS, Setting::Folder;
    fchdir => change_to_folder SETS, Setting::Folder;
    getcwd => folder ASKS, Setting::Folder, 0: 1;
    get_current_dir_name => name_of_folder ASKS, Setting::Folder;
    setrlimit => set_limit SETS, Setting::Limits;
    setrlimit64 => set_large_limit SETS, Setting::Limits;
    getrlimit => limit ASKS, Setting::Limits, 1: 16;
    getrlimit64 => large_limit ASKS, Setting::Limits, 1: 16;
    setpriority => set_priority SETS, Setting::Threads;
    nice => be_nice SETS, Setting::Threads;
    getpriority => priority ASKS, Setting::Threads;
    pthread_setschedparam => set_policy SETS, Setting::Threads;
    pthread_setschedprio => set_thread_priority SETS, Setting::Threads;
    sched_setscheduler => set_scheduler SETS, Setting::Threads;
    sched_setparam => set_parameters SETS, Setting::Threads;
    pthread_getschedparam => policy ASKS, Setting::Threads, 1: 4;
    pthread_getname_np => name_of_thread ASKS, Setting::Threads, 1: 1;
    sched_getscheduler => scheduler ASKS, Setting::Threads;
    sched_getparam => parameters ASKS, Setting::Threads, 1: 4;
    setuid => set_user SETS, Setting::Identity;
    seteuid => set_effective_user SETS, Setting::Identity;
    setreuid => set_users SETS, Setting::Identity;
    setresuid => set_all_users SETS, Setting::Identity;
    setgid => set_group SETS, Setting::Identity;
    setegid => set_effective_group SETS, Setting::Identity;
    setregid => set_two_groups SETS, Setting::Identity;
    setresgid => set_all_groups SETS, Setting::Identity;
    setgroups => set_groups SETS, Setting::Identity;
    setsid => begin_session SETS, Setting::Identity;
    setpgid => set_process_group SETS, Setting::Identity;
    getuid => user ASKS, Setting::Identity;
    geteuid => effective_user ASKS, Setting::Identity;
    getresuid => users ASKS, Setting::Identity;
    getgid => group ASKS, Setting::Identity;
    getegid => effective_group ASKS, Setting::Identity;
    getresgid => all_groups ASKS, Setting::Identity;
    getgroups => groups ASKS, Setting::Identity;
    getsid => session ASKS, Setting::Identity;
    getpgid => process_group ASKS, Setting::Identity;
    getpgrp => own_process_group ASKS, Setting::Identity;
    setsockopt => set_option SETS, Setting::Options;
    getsockopt => option ASKS, Setting::Options, 3: 4;
    tcsetattr => set_terminal SETS, Setting::Options;
    tcgetattr => terminal ASKS, Setting::Options, 1: 60;
    tcsetpgrp => set_foreground SETS, Setting::Options;
    tcgetpgrp => foreground ASKS, Setting::Options;
    localeconv => conventions ASKS, Setting::Locale;
    nl_langinfo => words ASKS, Setting::Locale;
}

mod libc_real {
    use super::*;
    real! {
        fn setlocale(c: c_int, n: *const c_char) -> *mut c_char;
        fn prlimit(p: c_int, r: c_int, n: *const c_void, o: *mut c_void) -> c_int;
        fn prlimit64(p: c_int, r: c_int, n: *const c_void, o: *mut c_void) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    setlocale => set_locale;
    prlimit => set_or_get_limit;
    prlimit64 => set_or_get_large_limit;
}

unsafe extern "C-unwind" fn set_locale(c: c_int, n: *const c_char) -> *mut c_char {
    let does = if n.is_null() { ASKS } else { SETS };
    // SAFETY: the caller's own arguments.
    settles(Setting::Locale, does, tls::caller(), || unsafe { libc_::setlocale(c, n) })
}

/// Calls that set a limit and return what it was.
macro_rules! limits {
    ($($inner:ident $name:ident;)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $inner(p: c_int, r: c_int, n: *const c_void, o: *mut c_void) -> c_int {
                let does = (!n.is_null(), !o.is_null());
                // SAFETY: the caller's own arguments.
                settles(Setting::Limits, does, tls::caller(), || unsafe { libc_::$name(p, r, n, o) })
            }
        )*
    };
}

limits! {
    set_or_get_limit prlimit;
    set_or_get_large_limit prlimit64;
}
