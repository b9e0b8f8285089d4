//! What waits learn from the notifies that [`mayhap_trace::Pairing`] pairs them with.

use hashbrown::HashMap;
use mayhap_trace::{ConditionKind, Kinds, Op, Tables};

use crate::stream::Sync;

/// What notifies hand on until no wait can take it any more.
pub(crate) struct Signals<S> {
    /// Conditions whose waits are paired with the latest notify of another thread: the two latest that come from different
    /// threads, newest first. Two suffice: a wait of the newest one's thread sees the other.
    latest: Vec<[Option<(usize, S)>; 2]>,
    kinds: Kinds<ConditionKind>,
    /// Notifies of all other conditions, by event.
    others: HashMap<u32, S, foldhash::fast::FixedState>,
    /// The latest notify of each token that no wait has taken.
    tokens: HashMap<u32, u32, foldhash::fast::FixedState>,
}

impl<S> Default for Signals<S> {
    fn default() -> Self {
        let (others, tokens) = (HashMap::default(), HashMap::default());
        Signals { latest: Vec::new(), kinds: Kinds::default(), others, tokens }
    }
}

impl<S> Signals<S> {
    pub(crate) fn grow(&mut self, tables: &Tables) {
        self.latest.resize_with(self.latest.len().max(tables.conditions.len()), || [None, None]);
        if !tables.condition_kinds.is_empty() {
            self.kinds = tables.condition_kinds.clone();
        }
    }

    fn kind(&self, sync: &Sync<'_>) -> ConditionKind {
        self.kinds.get(sync.event.object as usize)
    }

    /// Enters a notify; returns what no wait can take any more.
    pub(crate) fn notify(&mut self, sync: &Sync<'_>, signal: S) -> Option<S> {
        let kind = self.kind(sync);
        if !kind.has_fixed_pairs() {
            self.others.insert(sync.id, signal);
            let before =
                if kind == ConditionKind::Token { self.tokens.insert(sync.event.object, sync.id) } else { None };
            return before.and_then(|id| self.others.remove(&id));
        }
        let thread = sync.event.thread.index();
        let [newest, other] = &mut self.latest[sync.event.object as usize];
        let before = newest.replace((thread, signal));
        let out = match before {
            Some((from, _)) if from != thread => std::mem::replace(other, before),
            same => same,
        };
        out.map(|(_, signal)| signal)
    }

    /// What a wait learns.
    pub(crate) fn seen_by(&self, sync: &Sync<'_>) -> Option<&S> {
        debug_assert!(sync.event.op == Op::Wait);
        if !self.kind(sync).has_fixed_pairs() {
            return self.others.get(&sync.partner?);
        }
        let (condition, thread) = (sync.event.object as usize, sync.event.thread.index());
        self.latest[condition].iter().flatten().find(|(from, _)| *from != thread).map(|(_, signal)| signal)
    }

    /// What no other wait can take after this one.
    pub(crate) fn used_by(&mut self, sync: &Sync<'_>) -> Option<S> {
        match self.kind(sync) {
            ConditionKind::Semaphore { .. } => self.others.remove(&sync.partner?),
            ConditionKind::Token => {
                self.tokens.remove(&sync.event.object);
                self.others.remove(&sync.partner?)
            }
            // A notify of all serves others too; that of a condition variable is kept for its sake.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_testkit::trace;

    #[test]
    fn a_wait_sees_its_notify() {
        let check = |text: &str, expected: &[Option<u32>]| {
            let trace = trace(text);
            let relations = mayhap_trace::Relations::derive(&trace).unwrap();
            let mut signals = Signals::default();
            signals.grow(trace.tables());
            let mut seen = Vec::new();
            for (id, event) in trace.events() {
                let partner = (event.op == Op::Wait).then(|| relations.notify_of(id)).flatten().map(|n| n.cell());
                let sync = Sync { id: id.cell(), event: &event, partner };
                if event.op.is_notify() {
                    signals.notify(&sync, id.number() as u32);
                } else if event.op == Op::Wait {
                    seen.push(signals.seen_by(&sync).copied());
                    signals.used_by(&sync);
                }
            }
            assert_eq!(seen, expected, "{text}");
        };
        check(
            "A notify c; B notify c; B notify c; A wait c; B wait c; C wait c; A notify c; A wait c; B wait c",
            &[Some(3), Some(1), Some(3), Some(3), Some(7)],
        );
        check("#! sem s 1; A notify s; A notify s; B wait s; B wait s; A wait s", &[None, Some(1), Some(2)]);
        check("#! token p; A notify p; A notify p; B wait p; B notify p; B wait p", &[Some(2), Some(4)]);
        check("#! cond c; A w x; B w x; C notifyall c; A wait c; B wait c", &[Some(3), Some(3)]);
    }
}
