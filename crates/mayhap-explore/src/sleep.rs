//! Sleep sets: threads that need not go first, since another run in which they did stands for all that comes of it.
//!
//! Godefroid, LNCS 1032, 1996. Where several threads were run at a state, all that begins with the first one is explored in its runs. In those of the second one the first one
//! *sleeps*: it does not go on until a step conflicts with its own, since before that the two could as well have come in the other order. Two runs without a step of a
//! sleeping thread never differ only in the order of steps that do not conflict.
//!
//! Threads count in the order in which they were first run at a state, whenever that was: those of later runs do not wake or send to sleep what was run before.

use std::rc::Rc;

use mayhap_record::{Operation, TurnStep};

use crate::races::{is_shared, memory, object};

/// The most places of one step that are compared.
const MOST_PLACES: usize = 64;

/// What a step touches: a place, which of its bytes, and whether it changes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    place: Place,
    bytes: u8,
    changes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Memory(u64),
    Object(u64),
    /// Threads end, and others wait for that.
    Ends,
}

/// A thread that was run at a state, and what its step touched there; `None` where that is not known well enough for it to sleep.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) thread: u32,
    pub(crate) touches: Option<Rc<[Touch]>>,
}

/// The threads that sleep at a state.
pub(crate) type Sleeping = Rc<[Child]>;

impl Child {
    /// The thread of a step.
    pub(crate) fn of(step: &TurnStep) -> Child {
        let has_choices = step.choices().next().is_some();
        Child { thread: step.thread, touches: touches(step).filter(|_| !has_choices).map(Rc::from) }
    }

    /// Whether its step conflicts with none of these.
    fn stands_apart(&self, others: Option<&[Touch]>) -> bool {
        match (&self.touches, others) {
            (Some(mine), Some(others)) => !conflict(mine, others),
            _ => false,
        }
    }
}

/// What a step touches; `None` if that is not known, or too much.
fn touches(step: &TurnStep) -> Option<Vec<Touch>> {
    let mut all = Vec::new();
    for operation in &step.operations {
        if let Some((address, bytes, changes)) = memory(operation) {
            let end = address.saturating_add(bytes.max(1));
            if (end - address) / 8 > MOST_PLACES as u64 {
                return None;
            }
            for cell in address / 8..=(end - 1) / 8 {
                let (from, to) = (address.max(cell * 8) - cell * 8, end.min(cell * 8 + 8) - cell * 8);
                let bytes = (0xffu16 >> (8 - (to - from)) << from) as u8;
                all.push(Touch { place: Place::Memory(cell), bytes, changes });
            }
        } else if let Some(object) = object(operation) {
            all.push(Touch { place: Place::Object(object), bytes: 1, changes: !is_shared(operation) });
        }
        match operation {
            Operation::End => all.push(Touch { place: Place::Ends, bytes: 1, changes: false }),
            Operation::Join(_) | Operation::Blocked(0) => {
                all.push(Touch { place: Place::Ends, bytes: 1, changes: true });
            }
            Operation::Unclear(_) => return None,
            _ => {}
        }
    }
    (all.len() <= MOST_PLACES).then_some(all)
}

fn conflict(some: &[Touch], others: &[Touch]) -> bool {
    let both = |a: &Touch, b: &Touch| a.place == b.place && a.bytes & b.bytes != 0 && (a.changes || b.changes);
    some.iter().any(|a| others.iter().any(|b| both(a, b)))
}

/// The threads that sleep after a step: those that slept before it and those that were run before its thread at the same state, unless they conflict with it.
pub(crate) fn after(sleeping: &Sleeping, run_before: &[Child], step: &TurnStep) -> Sleeping {
    if sleeping.is_empty() && run_before.is_empty() {
        return Rc::clone(sleeping);
    }
    let done = touches(step);
    let still = |child: &&Child| child.thread != step.thread && child.stands_apart(done.as_deref());
    let slept = |thread: u32| sleeping.iter().any(|child| child.thread == thread);
    let more = run_before.iter().filter(|child| !slept(child.thread));
    sleeping.iter().chain(more).filter(still).cloned().collect()
}

/// Those of the children of a state that were first run before a thread.
pub(crate) fn before(children: &[Child], thread: u32) -> &[Child] {
    let at = children.iter().position(|child| child.thread == thread);
    &children[..at.unwrap_or(children.len())]
}
