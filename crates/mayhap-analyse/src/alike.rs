//! Which findings are listed where many are about the same object.
//!
//! A variable that fifty threads use without a lock races at every pair of its places. That is one bug; a list of a hundred thousand
//! schedules for it helps nobody, and takes more memory than all else. So a trace has room for some findings of each kind: each object
//! has at least one, and what room is left goes to the objects in turns. The others are proven all the same. They are counted as
//! proven, and with a listed finding of their object, but their schedules are not kept.
//!
//! For a deadlock the object is one lock of its cycle.
//!
//! Cost: O(groups × log).

use std::collections::BTreeMap;

use mayhap_detect::candidates::Group;
use mayhap_trace::Trace;
use mayhap_witness::{Kind, Target};

/// Room for findings of one kind: this many, or for a long trace one for so many events.
const LEAST_ROOM: usize = 64;
const EVENTS_EACH: usize = 32;

/// Returns how many findings of a kind are listed, if there are no more objects than that. Those about freed memory all are, because
/// other findings are left out for them.
pub(crate) fn room(trace: &Trace, kind: Kind) -> usize {
    match kind {
        Kind::UseAfterFree | Kind::DoubleFree => usize::MAX,
        _ => LEAST_ROOM.max(trace.len() / EVENTS_EACH),
    }
}

/// What a finding is about, as a number of its kind.
pub(crate) fn object(trace: &Trace, kind: Kind, target: &Target) -> u32 {
    let mut objects = target.events().into_iter().map(|event| trace.event(event).object);
    let first = objects.next();
    let object = if kind == Kind::Deadlock { objects.chain(first).min() } else { first };
    object.unwrap_or(u32::MAX)
}

/// Of groups in the order of their candidates, given with their objects: those that are listed.
pub(crate) fn listed(objects: &[u32], room: usize) -> Vec<bool> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    objects.iter().for_each(|&object| *counts.entry(object).or_default() += 1);
    let each = each(counts.values().copied(), room);
    counts.clear();
    let mut is_listed = |object: &u32| {
        let before = counts.entry(*object).or_default();
        *before += 1;
        *before <= each
    };
    objects.iter().map(&mut is_listed).collect()
}

/// How many findings of each object fit, at least one.
fn each(counts: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut counts: Vec<usize> = counts.collect();
    counts.sort_unstable();
    let (mut left, mut objects) = (room, counts.len());
    for count in counts {
        if count.saturating_mul(objects) > left {
            return (left / objects).max(1);
        }
        left -= count;
        objects -= 1;
    }
    usize::MAX
}

/// The objects of groups.
pub(crate) fn objects(trace: &Trace, groups: &[Group]) -> Vec<u32> {
    let object = |group: &Group| group.targets.first().map_or(u32::MAX, |target| object(trace, group.kind, target));
    groups.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_listed() {
        assert_eq!(listed(&[1, 1, 2, 1], 4), [true; 4]);
        assert_eq!(listed(&[], 4), [false; 0]);
    }

    #[test]
    fn room_goes_to_the_objects_in_turns_and_each_has_one() {
        assert_eq!(listed(&[1, 1, 1, 1, 2, 3, 3], 5), [true, true, false, false, true, true, true]);
        assert_eq!(listed(&[1, 1, 2, 2, 3], 1), [true, false, true, false, true]);
    }
}
