//! The runtime that `mayhap cc` links into the program under test. The compilers' own `-fsanitize=thread` and coverage
//! instrumentation calls the hooks in here; together with interposed library functions they record what every thread does.
//!
//! In: calls of hooks and of interposed functions, and a schedule to follow if there is one. Out: records in a ring. This crate must never
//! know traces, analyses, or what a record is for.
//!
//! **Order.** Only the thread that holds the *token* runs instrumented code ([`sched`]). A hook runs just before the
//! access it announces and the token does not pass before that access is done, so the order of records is the order
//! of what happened, and everything the runtime keeps is guarded by the token alone.
//!
//! **Output.** Records go into a ring in memory shared with `mayhap record` ([`ring`]). They survive whatever becomes
//! of this process, because that process holds the memory too. Without a ring (the program runs by itself) every hook
//! returns at once.
//!
//! Ground rules
//! - Nothing unwinds out of a hook. A panic in here is a bug and ends the process at the C boundary.
//! - Hooks do not allocate: `malloc` is one of them. State is static or mapped.
//! - Hooks preserve `errno`: system calls of the runtime itself bypass libc ([`sys`]).
//! - Every hook may be called before [`init`], after `main`, from a thread the runtime has never seen, from a signal
//!   handler that interrupted another hook (then it does nothing), and in a forked child (then it does nothing).
//! - Interposed functions do what the real ones do, with their results and errors.
//!
//! x86-64 Linux with glibc only.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
// Interposed functions have the names and contracts of the ones they stand for; the C standard documents those.
#![allow(clippy::missing_safety_doc)]
#![cfg_attr(
    feature = "archive",
    allow(non_snake_case, reason = "names that C++ gives, under which nothing is exported here")
)]

mod access;
mod annotations;
mod atomics;
mod blocking;
mod calls;
mod cancelling;
mod channels;
mod conditions;
mod containers;
#[cfg(not(feature = "archive"))]
mod cxx_calls;
#[cfg(not(feature = "archive"))]
mod cxx_streams;
#[cfg(not(feature = "archive"))]
mod exceptions;
#[cfg(not(feature = "archive"))]
mod exit_promises;
mod fast_path;
mod file_words;
#[cfg(not(feature = "archive"))]
mod foreign;
#[cfg(not(feature = "archive"))]
mod fork_server;
#[cfg(not(feature = "archive"))]
mod glib;
mod heap;
mod hook;
mod init;
mod inline_assembly;
mod inline_hooks;
mod inputs;
mod judge;
mod linger;
mod lock;
mod locks;
mod mappings;
mod memory;
mod modules;
mod opaque_calls;
mod openmp;
mod outlined_hooks;
mod pass_on;
mod printing;
mod process;
mod protocol;
mod raw_calls;
mod real;
mod replay;
mod ring;
mod rust;
mod sanitizer;
mod sched;
mod signals;
mod sites;
mod spinning;
#[cfg(not(feature = "archive"))]
mod strings;
mod sync;
mod sys;
mod text_reading;
mod thread;
mod thread_names;
mod thread_records;
mod threads;
mod tls;
#[cfg(not(feature = "archive"))]
mod tree_walks;
mod values;
mod waits;
mod watch;
