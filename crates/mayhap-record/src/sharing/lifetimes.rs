//! Objects of synchronisation whose lives end after several threads have used them: a lock that is destroyed, or that lies in a
//! block which is freed.
//!
//! Only for these does the trace have events that stand for their use and their end. An object that lives as long as the program,
//! or that one thread has for itself, costs nothing.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use foldhash::fast::FixedState;
use mayhap_wire::ring::Tag;

/// What the first pass knows of the lives of objects.
#[derive(Default)]
pub(crate) struct Lifetimes {
    /// Who used an object first, and whether others have.
    used: BTreeMap<u64, (u16, bool)>,
    /// The last use that was noted.
    last: (u64, u16),
    /// The objects whose end matters, by address.
    ended: HashSet<u64, FixedState>,
    /// Objects that came into use since the list was taken.
    new: Vec<u64>,
}

impl Lifetimes {
    /// A thread uses an object.
    #[inline]
    pub(crate) fn uses(&mut self, tag: Tag, thread: u16, address: u64) {
        if is_use(tag) && self.last != (address, thread) {
            self.last = (address, thread);
            let new = &mut self.new;
            let (first, others) = self.used.entry(address).or_insert_with(|| {
                new.push(address);
                (thread, false)
            });
            *others |= *first != thread;
        }
    }

    /// Takes the objects that came into use.
    pub(crate) fn take_new(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.new)
    }

    /// A thread ends the lives of the objects there.
    pub(crate) fn ends(&mut self, thread: u16, range: Range<u64>) {
        while let Some((&address, &(first, others))) = self.used.range(range.clone()).next() {
            self.used.remove(&address);
            if others || first != thread {
                self.ended.insert(address);
            }
        }
        self.last = (u64::MAX, 0);
    }

    /// The object there was not the program's.
    pub(crate) fn forget(&mut self, address: u64) {
        self.used.remove(&address);
        self.last = (u64::MAX, 0);
    }

    /// The objects whose end matters.
    pub(crate) fn finish(self) -> HashSet<u64, FixedState> {
        self.ended
    }
}

/// Whether the record is of a use of the object that its first word names. A thread that has waited is not counted: the object
/// may be gone when it wakes up.
pub(crate) fn is_use(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Acquire
            | Tag::SharedAcquire
            | Tag::Release
            | Tag::AnyRelease
            | Tag::Notify
            | Tag::NotifyAll
            | Tag::SemPost
            | Tag::SemWait
            | Tag::BarrierArrive
            | Tag::Use
    )
}

/// Whether records of this kind say at which site something happens that code does.
pub(crate) fn has_site(tag: Tag) -> bool {
    let memory = matches!(tag, Tag::Atomic | Tag::RangeRead | Tag::RangeWrite | Tag::Alloc | Tag::Free);
    memory || is_use(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_shared_objects_matter() {
        let mut lives = Lifetimes::default();
        lives.uses(Tag::Acquire, 1, 64);
        lives.uses(Tag::Acquire, 2, 64);
        lives.uses(Tag::Acquire, 1, 128);
        lives.uses(Tag::WaitEnd, 2, 192);
        lives.uses(Tag::SemPost, 1, 256);
        lives.ends(1, 0..65);
        lives.ends(1, 128..129);
        lives.ends(1, 192..193);
        lives.ends(2, 250..300);
        lives.uses(Tag::Acquire, 1, 320);
        lives.uses(Tag::Acquire, 2, 320);
        lives.forget(320);
        lives.ends(1, 320..321);
        let mut ended: Vec<u64> = lives.finish().into_iter().collect();
        ended.sort_unstable();
        assert_eq!(ended, [64, 256]);
    }
}
