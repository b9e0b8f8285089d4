//! Calls into the library that are under way.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use crate::jvm::Ref;
use crate::library::Kind;
use crate::position;
use crate::shadow::{self, EXTRA};

/// A call under way.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) pc: u64,
    pub(crate) block: u64,
    pub(crate) kind: Kind,
    /// What an atomic variable held before.
    pub(crate) found: u64,
    /// A lock that was tried was free.
    pub(crate) got: bool,
    /// The object; of an atomic variable a reference that lasts as long as the call.
    pub(crate) object: Ref,
    /// The method that is called.
    pub(crate) name: &'static str,
    /// How many methods that the library may call the thread was in.
    pub(crate) level: usize,
    /// The array that the object shows, by a reference that lasts as long as the call; or null.
    pub(crate) array: Ref,
    /// The word whose changes keep the order of calls like this one.
    pub(crate) word: u64,
}

/// The block that stands for what an object of the library shows: that of another object if it is a view.
pub(crate) fn whole(block: u64) -> u64 {
    match shadow::word(block + EXTRA).load(Ordering::Relaxed) {
        0 => block,
        whole => whole,
    }
}

/// The innermost call into the library at the present level: with the word that keeps its order, if it is to be kept.
pub(crate) fn pending_order() -> Option<Option<u64>> {
    let level = position::level();
    PENDING.with_borrow(|all| {
        let last = all.last().filter(|pending| pending.level == level)?;
        Some((last.kind == Kind::Ordered).then_some(last.word))
    })
}

/// Whether the thread is in an operation on an atomic variable: it must keep its turn until that is done.
pub(crate) fn is_in_atomic() -> bool {
    PENDING.with_borrow(|all| all.last().is_some_and(|pending| matches!(pending.kind, Kind::Atomic | Kind::Handle)))
}

thread_local! { static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) }; }

/// How deep calls may be nested before those that ended by exceptions are forgotten.
const DEEPEST: usize = 256;

pub(crate) fn begin(pending: Pending) {
    PENDING.with_borrow_mut(|all| {
        if all.len() >= DEEPEST {
            all.clear();
        }
        all.push(pending);
    });
}

/// The call that was begun at this place. Those inside it that ended by exceptions are forgotten.
pub(crate) fn ended(pc: u64) -> Option<Pending> {
    PENDING.with_borrow_mut(|all| {
        let at = all.iter().rposition(|pending| pending.pc == pc)?;
        let found = all[at];
        all.truncate(at);
        Some(found)
    })
}

/// Forgets the calls at the present level, which have ended by an exception, and returns the innermost.
pub(crate) fn abandoned() -> Option<Pending> {
    let level = position::level();
    PENDING.with_borrow_mut(|all| {
        let last = all.last().copied().filter(|pending| pending.level >= level);
        let kept = all.iter().rposition(|pending| pending.level < level).map_or(0, |at| at + 1);
        all.truncate(kept);
        last
    })
}
