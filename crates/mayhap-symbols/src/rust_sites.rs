//! What an atomic operation of a Rust program means, judged by the functions inlined around it.
//!
//! Rust's locks are atomics: of `std`'s and `parking_lot`'s locks a program inlines the fast paths, so the debug
//! information of the operation's place names the method it belongs to (`<std::sys::sync::mutex::futex::Mutex>::lock`).
//! A place that only names `core::sync::atomic` was not inlined into the method that used it, as in unoptimised code:
//! it is *opaque*, and may be any lock's.

/// What an atomic operation does to a lock or a parked thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Takes the lock, if it changed anything.
    Take {
        /// Together with others.
        shared: bool,
        /// What follows if it did not change anything.
        otherwise: Otherwise,
    },
    /// Gives the lock up, whether here or in a slow path that follows.
    Give {
        /// It was held together with others.
        shared: bool,
        /// To wait on a condition, after which the thread has it again.
        waits: bool,
    },
    /// Waits for the lock in code of the lock's own.
    Slow {
        /// Together with others.
        shared: bool,
    },
    /// Tries for some time, or hands the lock on and takes it again, in code of the lock's own: who has it then is not seen.
    Timed,
    /// Keeps the lock, but together with others.
    Downgrade,
    /// Holds the lock alone from here on and no longer together with others, if it changed anything.
    Upgrade,
    /// Looks at the lock without taking it.
    Look,
    /// Belongs to a lock and says nothing of its own.
    Nothing,
    /// Wakes a parked thread.
    Unpark,
    /// Looks whether all threads of a scope have ended.
    ScopeWait,
}

/// What a lock's operation leads to that did not take the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Otherwise {
    /// The lock is not taken.
    Fails,
    /// A function that records when it has the lock.
    IsTold,
    /// Code of the lock's own; the first step beyond it has the lock.
    Waits,
}

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In code that is not part of a lock.
    Plain,
    /// Nobody can say.
    Opaque,
    /// In code of a lock whose steps other than this meaning's do not count as the program's.
    Lock(Meaning),
}

/// Whose code a step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// `parking_lot`'s.
    Lock,
    /// The standard library's, called by anybody.
    Library,
    /// The program's.
    Program,
}

/// What an atomic operation means, from the functions at its place, innermost first.
pub fn place(functions: &[String]) -> Place {
    let mut beyond = functions.iter().map(String::as_str).skip_while(|name| is_atomic(name)).peekable();
    if let Some(first) = beyond.peek().copied() {
        let second = beyond.nth(1).unwrap_or("");
        let conditions = ["parking_lot::condvar::Condvar", "parking_lot::raw_condvar::RawCondvar"];
        let mut own = functions.iter().take_while(|name| owner_of(name) != Owner::Program);
        let waits = own.any(|name| conditions.iter().any(|condition| name.contains(condition)));
        return meaning(first, second, waits).map_or(Place::Plain, Place::Lock);
    }
    // A generic function of the atomic itself names the closure that it was called with.
    let closure = functions.iter().find_map(|name| name.split_once("update::<"));
    match closure {
        Some((_, closure)) => meaning(closure, "", false).map_or(Place::Plain, Place::Lock),
        None => Place::Opaque,
    }
}

fn is_atomic(function: &str) -> bool {
    function.trim_start_matches('<').starts_with("core::sync::atomic::")
}

/// Whose code a place is: that of the innermost function that is not the library's. A closure of the program's that a lock's function
/// calls, such as the condition of `wait_while`, is the program's even where it is inlined there.
pub fn owner(functions: &[String]) -> Owner {
    functions.iter().map(|name| owner_of(name)).find(|&owner| owner != Owner::Library).unwrap_or(Owner::Library)
}

fn owner_of(function: &str) -> Owner {
    match crate_of(function) {
        // The crates' own tests are programs like others.
        "parking_lot" | "parking_lot_core" | "lock_api" if is_test(function) => Owner::Program,
        "parking_lot" | "parking_lot_core" | "lock_api" => Owner::Lock,
        // Methods of built-in types, and a crate that parking_lot keeps its lists in.
        "" | "core" | "std" | "alloc" | "smallvec" => Owner::Library,
        _ => Owner::Program,
    }
}

/// The function is in a module of tests.
fn is_test(function: &str) -> bool {
    function.split("::").any(|part| part == "tests" || part.ends_with("_test"))
}

/// The crate of a function or of the type it is a method of; empty for a built-in type.
fn crate_of(function: &str) -> &str {
    let path = function.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    match path.find(|c: char| !c.is_alphanumeric() && c != '_') {
        Some(end) if path[end..].starts_with("::") => &path[..end],
        Some(_) => "",
        // A function of C has no path.
        None => path,
    }
}

fn meaning(function: &str, caller: &str, waits: bool) -> Option<Meaning> {
    use Otherwise::{Fails, IsTold, Waits};
    let take = |shared, otherwise| Some(Meaning::Take { shared, otherwise });
    let give = |shared| Some(Meaning::Give { shared, waits });
    if let Some(method) = method(function, "std::sys::sync::mutex::futex::Mutex") {
        return match method {
            "lock" => take(false, IsTold),
            "try_lock" => take(false, Fails),
            "unlock" => give(false),
            _ => Some(Meaning::Nothing),
        };
    }
    if let Some(method) = method(function, "std::sys::sync::rwlock::futex::RwLock") {
        return match method {
            "read" => take(true, IsTold),
            "try_read" => take(true, Fails),
            "write" => take(false, IsTold),
            "try_write" => take(false, Fails),
            "read_unlock" => give(true),
            "write_unlock" => give(false),
            "downgrade" => Some(Meaning::Downgrade),
            _ => Some(Meaning::Nothing),
        };
    }
    if let Some(method) = method(function, "std::sys::sync::thread_parking::futex::Parker") {
        return (method == "unpark").then_some(Meaning::Unpark);
    }
    if function.starts_with("std::thread::scoped::scope") {
        return Some(Meaning::ScopeWait);
    }
    if let Some(method) = method(function, "parking_lot::raw_mutex::RawMutex") {
        return match method {
            "lock" => take(false, Waits),
            "lock_slow" => Some(Meaning::Slow { shared: false }),
            "try_lock" => take(false, Fails),
            "try_lock_for" | "try_lock_until" | "bump" | "bump_slow" => Some(Meaning::Timed),
            "is_locked" => Some(Meaning::Look),
            "unlock" | "unlock_inner" | "unlock_fair" => give(false),
            _ => Some(Meaning::Nothing),
        };
    }
    parking_lot_rwlock(function, caller)
}

/// A reader-writer lock of `parking_lot`. An upgradable reader counts as a reader: it excludes writers, and nothing is written
/// under it.
fn parking_lot_rwlock(function: &str, caller: &str) -> Option<Meaning> {
    use Otherwise::{Fails, Waits};
    let take = |shared, otherwise| Some(Meaning::Take { shared, otherwise });
    let give = |shared| Some(Meaning::Give { shared, waits: false });
    let of = "parking_lot::raw_rwlock::RawRwLock";
    let method = match method(function, of)? {
        "try_lock_shared_fast" | "try_lock_upgradable_fast" => method(caller, of).unwrap_or("try_lock_shared"),
        method => method,
    };
    match method {
        "lock_shared" | "lock_shared_recursive" | "lock_upgradable" => take(true, Waits),
        "lock_exclusive" => take(false, Waits),
        "lock_shared_slow" | "lock_upgradable_slow" => Some(Meaning::Slow { shared: true }),
        "lock_exclusive_slow" => Some(Meaning::Slow { shared: false }),
        "try_lock_shared" | "try_lock_shared_recursive" | "try_lock_shared_slow" => take(true, Fails),
        "try_lock_upgradable" | "try_lock_upgradable_slow" => take(true, Fails),
        "try_lock_exclusive" => take(false, Fails),
        "try_lock_exclusive_for" | "try_lock_exclusive_until" => Some(Meaning::Timed),
        name if name.starts_with("try_lock_") && (name.ends_with("_for") || name.ends_with("_until")) => {
            Some(Meaning::Timed)
        }
        name if name.starts_with("bump_") => Some(Meaning::Timed),
        "is_locked" | "is_locked_exclusive" => Some(Meaning::Look),
        "unlock_shared" | "unlock_upgradable" | "unlock_upgradable_fair" => give(true),
        "unlock_exclusive" | "unlock_exclusive_fair" => give(false),
        "upgrade" | "try_upgrade" => Some(Meaning::Upgrade),
        "downgrade" | "downgrade_to_upgradable" => Some(Meaning::Downgrade),
        _ => Some(Meaning::Nothing),
    }
}

/// The method of this type that a function is, as either mangling scheme writes it: `<T>::m`, `<T as Trait>::m`, `T::m`.
fn method<'a>(function: &'a str, of: &str) -> Option<&'a str> {
    let rest = function.trim_start_matches('<').strip_prefix(of)?;
    let rest = match rest.strip_prefix(" as ") {
        Some(of_trait) => of_trait.split_once(">::")?.1,
        None => rest.trim_start_matches('>').strip_prefix("::")?,
    };
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(functions: &[&str]) -> Place {
        place(&functions.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_method_around_an_atomic_says_what_it_means() {
        let take = |shared, otherwise| Place::Lock(Meaning::Take { shared, otherwise });
        let swap = "core::sync::atomic::atomic_swap::<u32>";
        assert_eq!(
            of(&[swap, "<core::sync::atomic::AtomicU32>::swap", "<std::sys::sync::mutex::futex::Mutex>::unlock"]),
            Place::Lock(Meaning::Give { shared: false, waits: false })
        );
        assert_eq!(of(&[swap, "std::sys::sync::mutex::futex::Mutex::lock"]), take(false, Otherwise::IsTold));
        assert_eq!(
            of(&[swap, "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock"]),
            take(false, Otherwise::Waits)
        );
        assert_eq!(
            of(&[
                "<core::sync::atomic::AtomicU32>::fetch_update::<<std::sys::sync::rwlock::futex::RwLock>::try_read::{closure#0}>"
            ]),
            take(true, Otherwise::Fails)
        );
        assert_eq!(
            of(&[
                swap,
                "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::unlock",
                "<parking_lot::condvar::Condvar>::wait_until_internal::{closure#1}"
            ]),
            Place::Lock(Meaning::Give { shared: false, waits: true })
        );
    }

    #[test]
    fn what_is_not_inlined_is_opaque_and_what_is_elsewhere_is_plain() {
        assert_eq!(
            of(&["core::sync::atomic::atomic_swap::<u32>", "<core::sync::atomic::AtomicU32>::swap"]),
            Place::Opaque
        );
        assert_eq!(of(&[]), Place::Opaque);
        assert_eq!(
            of(&[
                "core::sync::atomic::atomic_add",
                "<alloc::sync::Arc<lock_api::mutex::Mutex<parking_lot::raw_mutex::RawMutex, u64>> as core::clone::Clone>::clone"
            ]),
            Place::Plain
        );
        assert_eq!(of(&["work"]), Place::Plain);
    }

    #[test]
    fn the_crate_says_whose_code_it_is() {
        let owner = |name: &str| owner(&[name.to_string()]);
        assert_eq!(owner("<parking_lot_core::word_lock::WordLock>::lock_slow"), Owner::Lock);
        assert_eq!(owner("<[core::cell::Cell<u8>]>::iter"), Owner::Library);
        assert_eq!(owner("<usize as core::cmp::Ord>::max"), Owner::Library);
        assert_eq!(owner("<&mycrate::Thing as core::fmt::Debug>::fmt"), Owner::Program);
        assert_eq!(owner("mycrate::main::{closure#0}"), Owner::Program);
        assert_eq!(owner("work"), Owner::Program);
        assert_eq!(owner("parking_lot::condvar::tests::wait_while::{closure#0}"), Owner::Program);
    }

    #[test]
    fn a_closure_that_a_lock_calls_is_the_programs() {
        let waits = "<parking_lot::condvar::Condvar>::wait_while_until_internal::<bool, mycrate::main::{closure#0}>";
        let owner = |names: &[&str]| owner(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(owner(&["mycrate::main::{closure#0}", waits, "mycrate::main"]), Owner::Program);
        assert_eq!(owner(&[waits, "mycrate::main"]), Owner::Lock);
        let unlock = "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::unlock";
        let give = |names: &[&str]| place(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let waiting = |waits| Place::Lock(Meaning::Give { shared: false, waits });
        assert_eq!(give(&["core::sync::atomic::atomic_sub", unlock, waits, "mycrate::main"]), waiting(true));
        let closure = ["core::sync::atomic::atomic_sub", unlock, "mycrate::main::{closure#0}", waits, "mycrate::main"];
        assert_eq!(give(&closure), waiting(false));
    }
}
