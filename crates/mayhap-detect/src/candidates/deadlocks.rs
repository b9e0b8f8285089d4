//! Deadlock candidates: cycles of acquires, each of a lock that the next thread holds.
//!
//! A blocking acquire made while other locks are held is a request: thread, lock and mode wanted, locks held. Requests that agree
//! in these, and in the location, are one abstract request with many instances. A candidate is a simple cycle of abstract
//! requests of different threads in which each wants a lock that the next one holds (in a mode that excludes it), and no two
//! hold the same lock exclusively: a common guard lock makes the cycle impossible.
//!
//! A cycle's instances are the combinations of its requests' instances that must-order leaves unordered; up to
//! [`Limits::instances`] of them are kept, nearest first. Cycles have up to [`Limits::cycle`] threads. Each cycle is found
//! once, from its request with the least number.
//!
//! Edges of the lock graph that are on no cycle are dropped first, and at most [`STEPS`] paths are followed. The answer says
//! whether that limit ended the search.
//!
//! Cost: O(requests × paths through them); instances as many as are kept, times the threads of the cycle.

use hashbrown::{HashMap, HashSet};
use mayhap_trace::{EventId, LockId, LocksetId, Mode, Relations, ThreadId, Trace};
use mayhap_witness::{Kind, Target};

use super::{Candidates, Limits, Nearest, place};

/// The maximum number of paths to follow: a bound for programs that take their locks in every order.
const STEPS: u64 = 2_000_000;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Acquires that agree in thread, lock, mode, location and locks held.
struct Request {
    thread: ThreadId,
    wants: LockId,
    shared: bool,
    held: LocksetId,
    place: u64,
    instances: Vec<EventId>,
}

/// Candidates by the set of locations of their acquires.
pub fn deadlocks(trace: &Trace, relations: &Relations, limits: &Limits) -> Candidates {
    let requests = requests(trace, relations);
    let mut search = Search {
        trace,
        relations,
        limits,
        holders: holders(relations, &requests),
        requests: &requests,
        path: Vec::new(),
        groups: Vec::new(),
        by_places: Map::default(),
        steps: STEPS,
    };
    for start in 0..requests.len() {
        search.path.push(start);
        search.extend();
        search.path.pop();
    }
    let gap = (search.steps == 0).then(|| format!("the search for lock cycles ended after {STEPS} paths"));
    // A cycle starts at the thread with the lowest id.
    let target = |cycle: &[EventId]| {
        let first = (0..cycle.len()).min_by_key(|&i| trace.event(cycle[i]).thread).unwrap_or(0);
        Target::Deadlock([&cycle[first..], &cycle[..first]].concat())
    };
    let group = |g: Nearest| g.into_group(Kind::Deadlock, target);
    Candidates { groups: search.groups.into_iter().map(group).collect(), gap }
}

fn requests(trace: &Trace, relations: &Relations) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    let mut index: Map<(ThreadId, LockId, bool, LocksetId, u64), usize> = Map::default();
    for (id, event) in trace.events() {
        let Some(lock) = event.lock().filter(|_| event.op.is_acquire() && relations.is_relevant(id)) else { continue };
        let held = relations.held(id);
        if held == LocksetId::EMPTY || trace.only_tries(id) {
            continue;
        }
        let shared = event.op.is_shared();
        let place = place(trace, id);
        let number = *index.entry((event.thread, lock, shared, held, place)).or_insert_with(|| {
            let thread = event.thread;
            requests.push(Request { thread, wants: lock, shared, held, place, instances: Vec::new() });
            requests.len() - 1
        });
        requests[number].instances.push(id);
    }
    requests
}

/// For each lock on a possible cycle, the requests made while it is held, and whether it is held exclusively.
fn holders(relations: &Relations, requests: &[Request]) -> Map<LockId, Vec<(usize, Mode)>> {
    let cyclic = cyclic_edges(relations, requests);
    let mut holders: Map<LockId, Vec<(usize, Mode)>> = Map::default();
    for (number, request) in requests.iter().enumerate() {
        for &(lock, mode) in relations.locksets().get(request.held) {
            if cyclic.contains(&(lock, request.wants)) {
                holders.entry(lock).or_default().push((number, mode));
            }
        }
    }
    holders
}

/// The edges of the lock graph (held, wanted) that remain when locks without an incoming or outgoing edge are dropped repeatedly.
/// If locks nest in one order everywhere in the program, nothing remains.
fn cyclic_edges(relations: &Relations, requests: &[Request]) -> HashSet<(LockId, LockId), foldhash::fast::FixedState> {
    let held = |r: &Request| relations.locksets().get(r.held).iter().map(|&(lock, _)| lock).collect::<Vec<_>>();
    let mut edges: HashSet<(LockId, LockId), foldhash::fast::FixedState> =
        requests.iter().flat_map(|r| held(r).into_iter().map(|lock| (lock, r.wants))).collect();
    loop {
        let before = edges.len();
        let from: HashSet<LockId, foldhash::fast::FixedState> = edges.iter().map(|e| e.0).collect();
        let to: HashSet<LockId, foldhash::fast::FixedState> = edges.iter().map(|e| e.1).collect();
        edges.retain(|(held, wanted)| to.contains(held) && from.contains(wanted));
        if edges.len() == before {
            return edges;
        }
    }
}

struct Search<'s> {
    trace: &'s Trace,
    relations: &'s Relations,
    limits: &'s Limits,
    requests: &'s [Request],
    holders: Map<LockId, Vec<(usize, Mode)>>,
    path: Vec<usize>,
    groups: Vec<Nearest>,
    by_places: Map<Vec<u64>, usize>,
    /// The remaining part of [`STEPS`].
    steps: u64,
}

impl Search<'_> {
    /// Extends the path by requests of threads that hold the lock that its last request wants.
    fn extend(&mut self) {
        if self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let (first, last) = (self.path[0], self.path[self.path.len() - 1]);
        let request = &self.requests[last];
        let Some(holders) = self.holders.get(&request.wants) else { return };
        let next: Vec<usize> =
            holders.iter().filter(|(_, m)| !(request.shared && *m == Mode::Shared)).map(|(n, _)| *n).collect();
        let mut before = None;
        for next in next {
            // A lock that is held in both modes is listed twice.
            if before.replace(next) == Some(next) {
                continue;
            }
            if next == first && self.path.len() > 1 {
                self.close();
            } else if next > first && self.path.len() < self.limits.cycle && self.fits(next) {
                self.path.push(next);
                self.extend();
                self.path.pop();
            }
        }
    }

    /// Whether the request is of another thread than those of the path and shares no guard lock with them.
    fn fits(&self, next: usize) -> bool {
        let request = &self.requests[next];
        self.path.iter().all(|&p| {
            let other = &self.requests[p];
            other.thread != request.thread && self.relations.locksets().common(other.held, request.held).is_none()
        })
    }

    fn close(&mut self) {
        let mut places: Vec<u64> = self.path.iter().map(|&p| self.requests[p].place).collect();
        places.sort_unstable();
        let group = *self.by_places.entry(places).or_insert_with(|| {
            self.groups.push(Nearest::default());
            self.groups.len() - 1
        });
        let mut nearest = std::mem::take(&mut self.groups[group]);
        // Each instance of the first request meets the instances of the others that are nearest to it.
        for &first in &self.requests[self.path[0]].instances {
            let mut chosen = vec![first];
            self.combine(&mut chosen, &mut nearest);
        }
        self.groups[group] = nearest;
    }

    fn combine(&self, chosen: &mut Vec<EventId>, nearest: &mut Nearest) {
        let Some(&request) = self.path.get(chosen.len()) else {
            nearest.offer(chosen, self.limits.instances);
            return;
        };
        let instances = &self.requests[request].instances;
        let middle = instances.partition_point(|&e| e < chosen[0]);
        // Two of each side: with more threads the combinations multiply.
        let around = if self.path.len() == 2 { self.limits.instances } else { 2 };
        let near = &instances[middle.saturating_sub(around)..instances.len().min(middle + around)];
        nearest.beyond += (instances.len() - near.len()) as u64;
        for &instance in near {
            let unordered =
                chosen.iter().all(|&c| !self.relations.ordered(self.trace, c.min(instance), c.max(instance)));
            if unordered {
                chosen.push(instance);
                self.combine(chosen, nearest);
                chosen.pop();
            }
        }
    }
}
