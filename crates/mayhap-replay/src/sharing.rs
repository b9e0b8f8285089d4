//! What threads synchronise by: what several use must come again as it came, what one uses may come or not.

use std::collections::{BTreeSet, HashMap};

use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::class;

use mayhap_trace::attachments::steps::{Object, Step, Steps};

/// Which objects several threads synchronise by.
pub(crate) struct Sharing {
    objects: HashMap<Key, Users>,
}

/// Class, module or block or thread, and offset of an object.
type Key = (u8, u32, u64);

fn key(object: Object) -> Key {
    (object.class, object.index, object.offset)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Users {
    One(u32),
    Several,
}

impl Sharing {
    pub(crate) fn of(steps: &Steps) -> Sharing {
        let mut objects = HashMap::new();
        for step in steps.steps.iter().filter(|step| has_object(step.kind)) {
            let users = objects.entry(key(step.object)).or_insert(Users::One(step.lane));
            if *users != Users::One(step.lane) || step.object.class == class::ANY {
                *users = Users::Several;
            }
        }
        Sharing { objects }
    }

    /// Whether a replay need not wait for the step: no other thread can tell whether it was made.
    pub(crate) fn is_private(&self, step: &Step) -> bool {
        let finds_undone = step.kind == Tag::OnceSeen as u8 && step.events == 0;
        finds_undone || may_be_private(step.kind) && self.objects.get(&key(step.object)) != Some(&Users::Several)
    }

    /// The objects that several threads synchronise by, as far as it is known what they are.
    pub(crate) fn objects(&self) -> BTreeSet<Key> {
        let shared = self.objects.iter().filter(|(_, users)| **users == Users::Several);
        shared.map(|(&key, _)| key).filter(|&(class, ..)| class != class::ANY).collect()
    }
}

/// Whether steps of this kind are about memory by which threads synchronise.
fn has_object(kind: u8) -> bool {
    let of_memory = matches!(
        Tag::from_code(kind),
        Some(Tag::WaitEnd | Tag::BarrierArrive | Tag::BarrierLeave | Tag::OnceSeen | Tag::Failed)
    );
    of_memory || may_be_private(kind)
}

/// Whether a step of this kind concerns no other thread if no other thread uses its object.
fn may_be_private(kind: u8) -> bool {
    matches!(
        Tag::from_code(kind),
        Some(Tag::Acquire | Tag::Release | Tag::SharedAcquire | Tag::AnyRelease)
            | Some(Tag::Notify | Tag::NotifyAll | Tag::SemPost | Tag::SemWait | Tag::OnceDone)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::steps;

    #[test]
    fn a_lock_of_one_thread_is_private_and_one_of_two_is_not() {
        let (take, give) = (Tag::Acquire as u8, Tag::Release as u8);
        let mut all = steps(&[(0, take, 1), (0, give, 1), (0, take, 1), (1, take, 1), (1, take, 1)]);
        let object = |offset| Object { class: class::GLOBAL, index: 0, offset };
        for (step, offset) in all.steps.iter_mut().zip([8, 8, 16, 16]) {
            step.object = object(offset);
        }
        let sharing = Sharing::of(&all);
        // What the last lock is, is not known.
        let private: Vec<bool> = all.steps.iter().map(|step| sharing.is_private(step)).collect();
        assert_eq!(private, [true, true, false, false, false]);
        assert_eq!(sharing.objects(), BTreeSet::from([(class::GLOBAL, 0, 16)]));
    }

    #[test]
    fn an_initialisation_that_is_found_undone_needs_no_turn() {
        let all = steps(&[(0, Tag::OnceSeen as u8, 0), (1, Tag::OnceSeen as u8, 1)]);
        let sharing = Sharing::of(&all);
        assert_eq!([0, 1].map(|step| sharing.is_private(&all.steps[step])), [true, false]);
    }
}
