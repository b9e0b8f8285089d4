//! Which notify serves which wait, by the kind of the condition.
//!
//! | kind | a wait takes |
//! |---|---|
//! | condition variable | the earliest notify after the wait began that no earlier wait took; a notify of all serves any number |
//! | semaphore | one of the initial count while that lasts, then the notifies in their order |
//! | token | the latest notify since a wait took the token |
//! | every other | the latest notify of another thread; it may serve any number |
//!
//! Waits come in the order in which they return. For a condition variable, taking the earliest suitable notify serves as
//! many waits as any choice could: a wait that returns later can use every notify that this one leaves.
//!
//! Cost: constant for each event but for condition variables, where a wait searches (logarithmic). Memory: constant for
//! each condition; for a condition variable 12 bytes for each notify, for a semaphore 4 for each that no wait took.

use std::collections::VecDeque;

use crate::id::{CondId, EventId, ThreadId};
use crate::kinds::ConditionKind;

/// What served a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// A notify.
    By(EventId),
    /// The initial count of a semaphore.
    Initial,
}

impl Served {
    /// The notify, if it was one.
    pub fn notify(self) -> Option<EventId> {
        match self {
            Served::By(notify) => Some(notify),
            Served::Initial => None,
        }
    }
}

/// Pairs waits with notifies as events go by.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    conditions: Vec<Option<State>>,
}

#[derive(Clone, Debug)]
enum State {
    /// The two latest notifies that come from different threads, newest first.
    Latest([Option<(ThreadId, EventId)>; 2]),
    Condition(Notifies),
    Semaphore {
        initial: u32,
        posts: VecDeque<EventId>,
    },
    Token(Option<EventId>),
}

/// All notifies of a condition variable, and which of them can still serve a wait.
#[derive(Clone, Debug, Default)]
struct Notifies {
    events: Vec<EventId>,
    all: Vec<bool>,
    /// Where to look for the first notify from here on that is not used up: at itself if it is not.
    next: Vec<u32>,
}

impl Notifies {
    fn push(&mut self, event: EventId, all: bool) {
        self.next.push(self.events.len() as u32);
        self.events.push(event);
        self.all.push(all);
    }

    /// The position of the first notify after `began` that is not used up.
    fn first_after(&self, began: Option<EventId>) -> Option<usize> {
        let mut at = self.start(began);
        while let Some(&next) = self.next.get(at) {
            if next as usize == at {
                return Some(at);
            }
            at = next as usize;
        }
        None
    }

    /// Uses up a notify of one, and shortens the way to it over all that are used up.
    fn take(&mut self, began: Option<EventId>, at: usize) {
        let after = if self.all[at] { at } else { at + 1 } as u32;
        let mut from = self.start(began);
        while from != at {
            from = std::mem::replace(&mut self.next[from], after) as usize;
        }
        self.next[at] = after;
    }

    /// The position of the first notify after `began`, used up or not.
    fn start(&self, began: Option<EventId>) -> usize {
        began.map_or(0, |began| self.events.partition_point(|&e| e <= began))
    }
}

impl State {
    fn of(kind: ConditionKind) -> State {
        match kind {
            ConditionKind::Condition => State::Condition(Notifies::default()),
            ConditionKind::Semaphore { initial } => State::Semaphore { initial, posts: VecDeque::new() },
            ConditionKind::Token => State::Token(None),
            _ => State::Latest([None, None]),
        }
    }
}

impl Pairing {
    fn state(&mut self, condition: CondId, kind: ConditionKind) -> &mut State {
        let index = condition.index();
        if self.conditions.len() <= index {
            self.conditions.resize(index + 1, None);
        }
        self.conditions[index].get_or_insert_with(|| State::of(kind))
    }

    /// Takes a notify. The kind of a condition must not change once it was used.
    pub fn notify(&mut self, condition: CondId, kind: ConditionKind, thread: ThreadId, event: EventId, all: bool) {
        match self.state(condition, kind) {
            State::Latest(latest) => {
                if latest[0].is_some_and(|(from, _)| from != thread) {
                    latest[1] = latest[0];
                }
                latest[0] = Some((thread, event));
            }
            State::Condition(notifies) => notifies.push(event, all),
            State::Semaphore { posts, .. } => posts.push_back(event),
            State::Token(set) => *set = Some(event),
        }
    }

    /// What would serve a wait of `thread` that returns now and began with event `began`; `None` if nothing can.
    pub fn peek(
        &self,
        condition: CondId,
        kind: ConditionKind,
        thread: ThreadId,
        began: Option<EventId>,
    ) -> Option<Served> {
        let fresh;
        let state = match self.conditions.get(condition.index()) {
            Some(Some(state)) => state,
            _ => {
                fresh = State::of(kind);
                &fresh
            }
        };
        match state {
            State::Latest(latest) => {
                latest.iter().flatten().find(|(from, _)| *from != thread).map(|&(_, event)| Served::By(event))
            }
            State::Condition(notifies) => notifies.first_after(began).map(|at| Served::By(notifies.events[at])),
            State::Semaphore { initial: 0, posts } => posts.front().map(|&event| Served::By(event)),
            State::Semaphore { .. } => Some(Served::Initial),
            State::Token(set) => set.map(Served::By),
        }
    }

    /// Takes a wait of `thread` that returns now and began with event `began`; `None`, and nothing changes, if nothing can
    /// serve it.
    pub fn wait(
        &mut self,
        condition: CondId,
        kind: ConditionKind,
        thread: ThreadId,
        began: Option<EventId>,
    ) -> Option<Served> {
        let served = self.peek(condition, kind, thread, began)?;
        match self.state(condition, kind) {
            State::Latest(_) => {}
            State::Condition(notifies) => {
                if let Some(at) = notifies.first_after(began) {
                    notifies.take(began, at);
                }
            }
            State::Semaphore { initial: initial @ 1.., .. } => *initial -= 1,
            State::Semaphore { posts, .. } => drop(posts.pop_front()),
            State::Token(set) => *set = None,
        }
        Some(served)
    }

    /// How many waits a semaphore or token could serve now; `None` for conditions that do not count.
    pub fn count(&self, condition: CondId, kind: ConditionKind) -> Option<u64> {
        match (self.conditions.get(condition.index()).and_then(Option::as_ref), kind) {
            (Some(State::Semaphore { initial, posts }), _) => Some(u64::from(*initial) + posts.len() as u64),
            (Some(State::Token(set)), _) => Some(u64::from(set.is_some())),
            (None, ConditionKind::Semaphore { initial }) => Some(u64::from(initial)),
            (None, ConditionKind::Token) => Some(0),
            _ => None,
        }
    }

    /// The notify that a wait of a semaphore or token would take next, if there is one.
    pub fn first_waiting(&self, condition: CondId) -> Option<EventId> {
        match self.conditions.get(condition.index())?.as_ref()? {
            State::Semaphore { posts, .. } => posts.front().copied(),
            State::Token(set) => *set,
            State::Latest(_) | State::Condition(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: CondId = CondId::at(0);

    fn thread(index: usize) -> ThreadId {
        ThreadId::at(index)
    }

    fn by(event: usize) -> Option<Served> {
        Some(Served::By(EventId::at(event)))
    }

    #[test]
    fn a_wait_sees_the_latest_notify_of_another_thread() {
        let kind = ConditionKind::Unspecified;
        let mut pairing = Pairing::default();
        assert_eq!(pairing.wait(C, kind, thread(1), None), None);
        for (t, event) in [(1, 0), (2, 1), (2, 2)] {
            pairing.notify(C, kind, thread(t), EventId::at(event), false);
        }
        assert_eq!([1, 2, 3].map(|t| pairing.wait(C, kind, thread(t), None)), [by(2), by(0), by(2)]);
    }

    #[test]
    fn a_notify_of_a_condition_variable_serves_one_wait_that_had_begun() {
        let kind = ConditionKind::Condition;
        let mut pairing = Pairing::default();
        for (event, all) in [(1, false), (3, false), (5, true), (7, false)] {
            pairing.notify(C, kind, thread(0), EventId::at(event), all);
        }
        let mut wait = |began| pairing.wait(C, kind, thread(1), Some(EventId::at(began)));
        assert_eq!([wait(2), wait(2), wait(4), wait(0), wait(0)], [by(3), by(5), by(5), by(1), by(5)]);
        assert_eq!([wait(6), wait(6), wait(5)], [by(7), None, None]);
    }

    #[test]
    fn a_semaphore_counts_and_a_token_does_not() {
        let (kind, mut pairing) = (ConditionKind::Semaphore { initial: 1 }, Pairing::default());
        assert_eq!(pairing.count(C, kind), Some(1));
        pairing.notify(C, kind, thread(0), EventId::at(4), false);
        pairing.notify(C, kind, thread(0), EventId::at(5), false);
        assert_eq!((pairing.count(C, kind), pairing.first_waiting(C)), (Some(3), Some(EventId::at(4))));
        let mut wait = || pairing.wait(C, kind, thread(0), None);
        assert_eq!([wait(), wait(), wait(), wait()], [Some(Served::Initial), by(4), by(5), None]);
        let (kind, mut pairing) = (ConditionKind::Token, Pairing::default());
        pairing.notify(C, kind, thread(0), EventId::at(4), false);
        pairing.notify(C, kind, thread(0), EventId::at(5), false);
        let mut wait = || pairing.wait(C, kind, thread(0), None);
        assert_eq!([wait(), wait()], [by(5), None]);
        assert_eq!(pairing.count(C, kind), Some(0));
    }
}
