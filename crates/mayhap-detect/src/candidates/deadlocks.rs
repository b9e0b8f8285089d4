//! Deadlock candidates: cycles of acquires, each of a lock that the next thread holds.
//!
//! A blocking acquire made while other locks are held is a request: thread, lock and mode wanted, locks held. Requests that agree
//! in these, and in the location, are one abstract request with many instances. A candidate is a simple cycle of abstract
//! requests of different threads in which each wants a lock that the next one holds (in a mode that excludes it), and no two
//! hold the same lock exclusively: a common guard lock makes the cycle impossible.
//!
//! A cycle's instances are the combinations of its requests' instances that must-order leaves unordered; up to
//! [`Limits::instances`] of them are kept, nearest first. Each cycle is found once, from its request with the least number.
//!
//! Short cycles are searched first, so that a search which ends early has missed only longer ones. It follows at most [`STEPS`]
//! paths and keeps at most [`GROUPS`] groups. If that, or [`Limits::cycle`], left something out, the answer says so.
//!
//! Cost: O(acquires) where locks nest in one order; else O(requests × paths through them), times the threads of a cycle.

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, LockId, LocksetId, Mode, Op, Relations, ThreadId, Trace};
use mayhap_witness::{Kind, Target};

use super::lock_graph::LockGraph;
use super::{Candidates, Limits, Nearest, place};

/// The maximum number of paths to follow: a bound for programs that take their locks in every order.
const STEPS: u64 = 2_000_000;

/// The maximum number of groups: each is a question for an engine.
const GROUPS: usize = 20_000;

/// The maximum number of combinations of instances to look at for one cycle.
const COMBINATIONS: u64 = 4096;

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
pub fn deadlocks(execution: &Execution<'_>, limits: &Limits) -> Candidates {
    let (trace, relations) = execution.parts();
    let graph = LockGraph::new(trace, relations);
    let requests = requests(trace, relations, &graph);
    let mut search = Search {
        trace,
        relations,
        limits,
        holders: holders(relations, &requests, &graph),
        requests: &requests,
        path: Path::new(trace),
        lengths: 0..=1,
        longer: true,
        groups: Vec::new(),
        by_places: Map::default(),
        steps: STEPS,
        full: false,
    };
    search.all_lengths();
    let gap = search.gap();
    // A cycle starts at the thread with the lowest id.
    let target = |cycle: &[EventId]| {
        let first = (0..cycle.len()).min_by_key(|&i| trace.event(cycle[i]).thread).unwrap_or(0);
        Target::Deadlock([&cycle[first..], &cycle[..first]].concat())
    };
    let group = |g: Nearest| g.into_group(Kind::Deadlock, target);
    Candidates { groups: search.groups.into_iter().map(group).collect(), gap }
}

/// The requests that may be part of a cycle.
fn requests(trace: &Trace, relations: &Relations, graph: &LockGraph) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    let mut index: Map<(ThreadId, LockId, bool, LocksetId, u64), usize> = Map::default();
    for (id, event) in trace.events_of(Op::is_acquire) {
        let Some(lock) = event.lock().filter(|_| relations.is_relevant(id)) else { continue };
        let held = relations.held(id);
        if trace.only_tries(id) || !relations.locksets().get(held).iter().any(|&(h, _)| graph.on_cycle(h, lock)) {
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
fn holders(relations: &Relations, requests: &[Request], graph: &LockGraph) -> Map<LockId, Vec<(usize, Mode)>> {
    let mut holders: Map<LockId, Vec<(usize, Mode)>> = Map::default();
    for (number, request) in requests.iter().enumerate() {
        for &(lock, mode) in relations.locksets().get(request.held) {
            if graph.on_cycle(lock, request.wants) {
                holders.entry(lock).or_default().push((number, mode));
            }
        }
    }
    holders
}

/// A path of requests, with what decides quickly whether one more fits.
struct Path {
    requests: Vec<usize>,
    /// Whether a request of this thread is on the path.
    threads: Vec<bool>,
    /// How many requests of the path hold each lock, and how many of them exclusively.
    holds: Vec<(u32, u32)>,
}

impl Path {
    fn new(trace: &Trace) -> Self {
        let tables = trace.tables();
        Path {
            requests: Vec::new(),
            threads: vec![false; tables.threads.len()],
            holds: vec![(0, 0); tables.locks.len()],
        }
    }

    /// Whether the request is of another thread than those of the path and shares no guard lock with them.
    fn fits(&self, request: &Request, held: &[(LockId, Mode)]) -> bool {
        let apart = |&(lock, mode): &(LockId, Mode)| {
            let (any, exclusive) = self.holds[lock.index()];
            exclusive == 0 && (mode == Mode::Shared || any == 0)
        };
        !self.threads[request.thread.index()] && held.iter().all(apart)
    }

    fn push(&mut self, number: usize, request: &Request, held: &[(LockId, Mode)]) {
        self.requests.push(number);
        self.threads[request.thread.index()] = true;
        for &(lock, mode) in held {
            let (any, exclusive) = &mut self.holds[lock.index()];
            *any += 1;
            *exclusive += u32::from(mode == Mode::Exclusive);
        }
    }

    fn pop(&mut self, request: &Request, held: &[(LockId, Mode)]) {
        self.requests.pop();
        self.threads[request.thread.index()] = false;
        for &(lock, mode) in held {
            let (any, exclusive) = &mut self.holds[lock.index()];
            *any -= 1;
            *exclusive -= u32::from(mode == Mode::Exclusive);
        }
    }
}

struct Search<'s> {
    trace: &'s Trace,
    relations: &'s Relations,
    limits: &'s Limits,
    requests: &'s [Request],
    holders: Map<LockId, Vec<(usize, Mode)>>,
    path: Path,
    /// How many threads the cycles have that are searched now.
    lengths: std::ops::RangeInclusive<usize>,
    /// Whether a path was left that may belong to a longer cycle.
    longer: bool,
    groups: Vec<Nearest>,
    by_places: Map<Vec<u64>, usize>,
    /// The remaining part of [`STEPS`].
    steps: u64,
    /// Whether a cycle was dropped because there are [`GROUPS`] groups.
    full: bool,
}

impl Search<'_> {
    /// Searches for cycles of two threads, then three, four, then up to twice as many each time.
    fn all_lengths(&mut self) {
        while self.longer && self.steps > 0 {
            let from = self.lengths.end() + 1;
            let to = if from <= 4 { from } else { 2 * (from - 1) };
            if from > self.limits.cycle {
                return;
            }
            self.lengths = from..=to.min(self.limits.cycle);
            self.longer = false;
            for start in 0..self.requests.len() {
                self.visit(start);
            }
        }
    }

    /// Says what the limits left out.
    fn gap(&self) -> Option<String> {
        if self.steps == 0 {
            Some(format!("the search for lock cycles ended after {STEPS} paths"))
        } else if self.full {
            Some(format!("only {GROUPS} lock cycles were kept"))
        } else {
            let cycle = self.limits.cycle;
            self.longer.then(|| format!("lock cycles of more than {cycle} threads were not searched (--cycle)"))
        }
    }

    /// Follows the paths that go on with this request.
    fn visit(&mut self, number: usize) {
        let request = &self.requests[number];
        let held = self.relations.locksets().get(request.held);
        if self.path.fits(request, held) {
            self.path.push(number, request, held);
            self.extend(number);
            self.path.pop(request, held);
        }
    }

    /// Extends the path by requests of threads that hold the lock that its last request wants.
    fn extend(&mut self, last: usize) {
        if self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let (first, length) = (self.path.requests[0], self.path.requests.len());
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
            if next == first && self.lengths.contains(&length) {
                self.close();
            } else if next > first && length < *self.lengths.end() {
                self.visit(next);
            } else if next > first {
                self.longer = true;
            }
        }
    }

    fn close(&mut self) {
        let path = &self.path.requests;
        let mut places: Vec<u64> = path.iter().map(|&p| self.requests[p].place).collect();
        places.sort_unstable();
        if self.groups.len() == GROUPS && !self.by_places.contains_key(&places) {
            self.full = true;
            return;
        }
        let group = *self.by_places.entry(places).or_insert_with(|| {
            self.groups.push(Nearest::default());
            self.groups.len() - 1
        });
        let mut nearest = std::mem::take(&mut self.groups[group]);
        // Each instance of the first request meets the instances of the others that are nearest to it.
        let mut left = COMBINATIONS;
        for &first in &self.requests[path[0]].instances {
            self.combine(&mut vec![first], &mut nearest, &mut left);
        }
        self.groups[group] = nearest;
    }

    /// Offers the combinations of instances that begin with the chosen ones. Each combination costs one of `left`.
    fn combine(&self, chosen: &mut Vec<EventId>, nearest: &mut Nearest, left: &mut u64) {
        let path = &self.path.requests;
        let Some(&request) = path.get(chosen.len()) else {
            *left = left.saturating_sub(1);
            nearest.offer(chosen, self.limits.instances);
            return;
        };
        let instances = &self.requests[request].instances;
        let middle = instances.partition_point(|&e| e < chosen[0]);
        // Two of each side: with more threads the combinations multiply.
        let around = if path.len() == 2 { self.limits.instances } else { 2 };
        let near = &instances[middle.saturating_sub(around)..instances.len().min(middle + around)];
        nearest.beyond += (instances.len() - near.len()) as u64;
        for &instance in near {
            let unordered =
                chosen.iter().all(|&c| !self.relations.ordered(self.trace, c.min(instance), c.max(instance)));
            if !unordered {
                continue;
            }
            if *left == 0 {
                nearest.beyond += 1;
                return;
            }
            chosen.push(instance);
            self.combine(chosen, nearest, left);
            chosen.pop();
        }
    }
}
