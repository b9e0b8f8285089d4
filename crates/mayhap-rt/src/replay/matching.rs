//! Which of a thread's hooks is which of its steps.
//!
//! What must stay the same between runs are the operations on what threads share. The schedule has no steps for synchronisation by
//! objects of one thread, so such hooks may come or not: what a library initialises when it is first used, a lock of an object that
//! is not shared. Steps may be left out, too, if no other thread can tell: an access, an initialisation that is found done, an
//! attempt that fails. So a hook that is not the thread's next step may be one soon after it.
//!
//! This decides only how a run gets to the goal. Whether the goal is reached is seen in the run itself.

use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::{LEAVE, READ, RETURN, Step, WRITE};

use super::map;

/// How many steps of a thread are looked at for one that a hook may be.
const AHEAD: usize = 256;

/// Whether a mismatch may be a divergence: accesses may be ones that the recording dropped.
fn is_synchronisation(kind: u8) -> bool {
    kind != READ
        && kind != WRITE
        && !matches!(
            Tag::from_code(kind),
            Some(Tag::Atomic | Tag::RangeRead | Tag::RangeWrite | Tag::Free)
                | Some(Tag::Send | Tag::Receive | Tag::Ready | Tag::HangUp | Tag::Use | Tag::Close)
                | None
        )
}

/// Whether this is the step.
pub(super) fn is(step: &Step, kind: u8, pc: u64, object: u64) -> bool {
    let takes = |kind| {
        matches!(
            Tag::from_code(kind),
            Some(Tag::Acquire | Tag::SharedAcquire | Tag::SemWait | Tag::Join | Tag::Receive | Tag::KeyedAcquire)
        )
    };
    let same = step.kind == kind || (step.kind == Tag::Failed as u8 && takes(kind));
    same && map::is_site(step, pc) && map::is_object(step, object)
}

/// Whether the program may go on without the step.
fn is_optional(step: &Step) -> bool {
    !is_synchronisation(step.kind) || is_finding(step)
}

/// Whether the step only finds out something that may be otherwise, or that the program need not ask for; or the end of a function or a block that no hook has noticed.
fn is_finding(step: &Step) -> bool {
    matches!(step.kind, RETURN | LEAVE) || matches!(Tag::from_code(step.kind), Some(Tag::OnceSeen | Tag::Failed))
}

/// Whether an access may come although the step has not: it is a finding, or belongs to waiting by atomics or descriptors, which takes as many
/// steps as others are slow.
fn is_waiting(step: &Step) -> bool {
    is_finding(step) || matches!(Tag::from_code(step.kind), Some(Tag::Atomic | Tag::Ready | Tag::Send | Tag::Receive))
}

/// Whether operations of this kind affect no other thread if no other thread uses their object.
fn may_pass(kind: u8) -> bool {
    matches!(
        Tag::from_code(kind),
        Some(Tag::Acquire | Tag::Release | Tag::SharedAcquire | Tag::AnyRelease)
            | Some(Tag::Notify | Tag::NotifyAll | Tag::SemPost | Tag::SemWait | Tag::OnceDone)
    )
}

/// Whether a hook that is no step may come: what it does concerns no other thread, as far as the schedule knows.
pub(super) fn may_come(kind: u8, object: u64) -> bool {
    match Tag::from_code(kind) {
        _ if !is_synchronisation(kind) => true,
        Some(Tag::OnceSeen) => true,
        // Of a thread that the schedule does not know.
        Some(Tag::Join) => object == u64::MAX,
        _ => may_pass(kind) && !map::is_shared(object),
    }
}

/// The thread's step after `cursor` that a hook is, if all steps before that one may be left out. An access that is not the next
/// step may be any of those that were not recorded, so it is not taken for one after another access.
pub(super) fn fit(cursor: u32, within: impl Fn(&u32) -> bool, kind: u8, pc: u64, object: u64) -> Option<u32> {
    let may_leave_out = if is_synchronisation(kind) { is_optional } else { is_waiting };
    let mut at = cursor;
    for _ in 0..AHEAD {
        let step = map::steps().get((at as usize).checked_sub(1)?).filter(|_| within(&at))?;
        if is(step, kind, pc, object) {
            return Some(at);
        }
        if !may_leave_out(step) {
            return None;
        }
        at = step.next;
    }
    None
}

/// Whether all steps of a thread from `cursor` to the goal may be left out.
pub(super) fn need_not_come(cursor: u32, leading: u32) -> bool {
    let mut at = cursor;
    for _ in 0..AHEAD {
        if at == 0 || at > leading {
            return true;
        }
        match map::steps().get(at as usize - 1) {
            Some(step) if is_optional(step) => at = step.next,
            _ => return false,
        }
    }
    false
}
