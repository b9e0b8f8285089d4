//! Races by happens-before: for each access that runs first, which later accesses it need not happen before.
//!
//! The clocks of a schedule depend on the way, not only on the state that it leads to. But for one first access it is enough
//! to know what happens after it: a bit for each thread, lock, variable, condition and notify. Breadth-first search over
//! states with these bits; one search answers for all second accesses.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use mayhap_trace::{ConditionKind, EventId, MemoryOrder, Op};
use mayhap_witness::Witness;

use super::space::{Node, State};
use super::{Oracle, TooBig};

/// What happens after the first access, bit by bit; all zero until it runs.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct After {
    threads: u16,
    /// Threads that an acquire fence would put after it, and those whose last release fence was after it.
    seen: u16,
    fenced: u16,
    exclusive: u64,
    shared: u64,
    /// Per variable, the threads at the heads of release sequences that its last write is in and that are after it.
    published: Vec<u16>,
    posted: u64,
    /// Notifies, by event, that were after it.
    notifies: Vec<usize>,
    /// Per condition variable, its notifies in order, and whether each is used up.
    ran: Vec<Vec<(usize, bool)>>,
    /// Per thread that waits for a condition variable, how many of its notifies ran before.
    began: Vec<usize>,
}

/// Witnesses of the unordered pairs with one first access, by second access.
pub(super) type Seconds = BTreeMap<usize, Witness>;

impl Oracle {
    /// A schedule that runs both accesses and leaves them unordered by happens-before.
    pub fn unordered_race(&self, a: EventId, b: EventId) -> Result<Option<Witness>, TooBig> {
        let [a, b] = [a, b].map(EventId::index);
        for (first, second) in [(a, b), (b, a)] {
            if let Some(witness) = self.seconds(first)?.get(&second) {
                return Ok(Some(witness.clone()));
            }
        }
        Ok(None)
    }

    fn seconds(&self, first: usize) -> Result<Seconds, TooBig> {
        let mut known = self.seconds.borrow_mut();
        if let Some(seconds) = known.get(&first) {
            return Ok(seconds.clone());
        }
        let seconds = self.search_seconds(first)?;
        known.insert(first, seconds.clone());
        Ok(seconds)
    }

    fn search_seconds(&self, first: usize) -> Result<Seconds, TooBig> {
        let (space, facts) = (&self.space, &self.space.facts);
        let mut found = Seconds::default();
        let is_second = |n: &Node| facts.events[first].races_with(&facts.events[n.event]);
        let mut wanted = space.threads.iter().flatten().filter(|n| is_second(n)).count();
        let start =
            After { ran: vec![Vec::new(); facts.kinds.len()], began: vec![0; space.threads.len()], ..After::default() };
        let variables = space.threads.iter().flatten().filter(|n| n.op.is_access()).map(|n| n.object + 1).max();
        let start = After { published: vec![0; variables.unwrap_or(0)], ..start };
        let mut seen: HashSet<(u128, After), foldhash::fast::RandomState> = HashSet::default();
        let mut queue = vec![(space.pack(&space.start()), start, 0, 0)];
        seen.insert((queue[0].0, queue[0].1.clone()));
        let mut at = 0;
        while at < queue.len() && wanted > 0 {
            let (word, after) = (queue[at].0, queue[at].1.clone());
            let state = space.unpack(word);
            for node in (0..space.threads.len()).filter_map(|t| space.next(&state, t)) {
                let ran = space.has_run(&state, first);
                let ends = ran && is_second(node);
                let mut demands = self.standing.clone();
                demands.free = if ends { vec![first, node.event] } else { vec![first] };
                let Some(next) = space.step(&state, node, &demands) else { continue };
                let mut then = after.clone();
                self.follow(&mut then, &state, &next, node, first);
                if ends && then.threads >> node.thread & 1 == 0 && !found.contains_key(&node.event) {
                    let mut schedule = way(&queue, at);
                    schedule.push(EventId::at(node.event));
                    found.insert(node.event, Witness { schedule: schedule.into() });
                    wanted -= 1;
                }
                demands.free = vec![first];
                let goes_on = !ends || space.step(&state, node, &demands).is_some();
                let key = (space.pack(&next), then);
                if goes_on && !seen.contains(&key) {
                    if queue.len() == self.limit {
                        return Err(TooBig);
                    }
                    seen.insert(key.clone());
                    queue.push((key.0, key.1, at, node.event));
                }
            }
            at += 1;
        }
        Ok(found)
    }

    /// Follows happens-before through one event. Before the first access nothing is after it, but notifies are counted.
    fn follow(&self, after: &mut After, state: &State, next: &State, node: &Node, first: usize) {
        let me = node.thread;
        if node.event == first {
            after.threads |= 1 << me;
        }
        let mine = after.threads >> me & 1 == 1;
        let order = node.flags.order();
        let has = |mask: u64| mask >> node.object & 1 == 1;
        let mut becomes = mine;
        match node.op {
            Op::Fork => after.threads |= u16::from(mine) << node.object,
            Op::Join => becomes |= after.threads >> node.object & 1 == 1,
            Op::Acquire => becomes |= has(after.exclusive | after.shared),
            Op::SharedAcquire => becomes |= has(after.exclusive),
            Op::Release => after.exclusive |= u64::from(mine) << node.object,
            Op::SharedRelease => after.shared |= u64::from(mine) << node.object,
            Op::Notify | Op::NotifyAll => self.follow_notify(after, node, mine),
            Op::Wait => becomes |= self.follow_wait(after, node),
            Op::Read if order.is_some_and(MemoryOrder::acquires) => becomes |= after.published[node.object] != 0,
            Op::Read if order.is_some() => {
                after.seen |= u16::from(after.published[node.object] != 0) << me;
            }
            Op::Write => {
                let continued = match order {
                    Some(_) if self.space.facts.is_read_modify_write(node.event) => u16::MAX,
                    Some(_) => 1 << me,
                    None => 0,
                };
                let releases = mine && order.is_some_and(MemoryOrder::releases);
                let fenced = order.is_some() && after.fenced >> me & 1 == 1;
                let heads = &mut after.published[node.object];
                *heads = *heads & continued | u16::from(releases || fenced) << me;
            }
            Op::Fence => {
                becomes |= order.is_some_and(MemoryOrder::acquires) && after.seen >> me & 1 == 1;
                if order.is_some_and(MemoryOrder::releases) {
                    after.fenced |= u16::from(becomes) << me;
                }
            }
            _ => {}
        }
        after.threads |= u16::from(becomes) << me;
        for t in (0..self.space.threads.len()).filter(|&t| t == me || !self.space.started(state, t)) {
            let waits = self.space.next(next, t).filter(|n| n.op == Op::Wait);
            after.began[t] = waits.map_or(0, |n| after.ran[n.object].len());
        }
    }

    fn follow_notify(&self, after: &mut After, node: &Node, mine: bool) {
        match self.space.facts.kinds[node.object] {
            ConditionKind::Semaphore { .. } | ConditionKind::Token => after.posted |= u64::from(mine) << node.object,
            kind => {
                if kind == ConditionKind::Condition {
                    after.ran[node.object].push((node.event, false));
                }
                if mine {
                    after.notifies.push(node.event);
                    after.notifies.sort_unstable();
                }
            }
        }
    }

    /// Whether the wait happens after a notify that is after the first access.
    fn follow_wait(&self, after: &mut After, node: &Node) -> bool {
        let facts = &self.space.facts;
        let notify = match facts.kinds[node.object] {
            ConditionKind::Semaphore { .. } | ConditionKind::Token => return after.posted >> node.object & 1 == 1,
            ConditionKind::Condition => {
                let wakes_all = |n: usize| facts.events[n].op == Op::NotifyAll;
                let from = after.began[node.thread];
                let usable = after.ran[node.object][from..].iter_mut().find(|(n, used)| !*used || wakes_all(*n));
                usable.map(|(notify, used)| {
                    *used = true;
                    *notify
                })
            }
            _ => facts.notify[node.event],
        };
        notify.is_some_and(|n| after.notifies.contains(&n))
    }
}

/// Returns the schedule that led to an entry of the queue.
fn way(queue: &[(u128, After, usize, usize)], mut at: usize) -> Vec<EventId> {
    let mut schedule = Vec::new();
    while at != 0 {
        schedule.push(EventId::at(queue[at].3));
        at = queue[at].2;
    }
    schedule.reverse();
    schedule
}
