//! Locked scopes: what lies between an acquire and its release, sorted for the questions that engines ask.
//!
//! Scopes of one lock, thread and mode are disjoint and stand in program order in one [`List`]; a thread that holds a lock
//! in both modes has two lists. Two scopes exclude each other when they are of different threads and not both shared.

use mayhap_trace::{Execution, Mode, ThreadId};

use super::order::Point;

/// The rank that stands for "never released".
pub(super) const OPEN: u32 = u32::MAX;

/// One section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope {
    pub(super) thread: usize,
    /// Rank of the acquire.
    pub(super) acquire: u32,
    /// Rank of the release, or [`OPEN`].
    pub(super) release: u32,
}

impl Scope {
    pub(super) fn first(&self) -> Point {
        Point { thread: self.thread, rank: self.acquire }
    }

    /// The release; meaningless for an open scope.
    pub(super) fn last(&self) -> Point {
        Point { thread: self.thread, rank: self.release }
    }

    pub(super) fn is_open(&self) -> bool {
        self.release == OPEN
    }
}

/// The scopes of one lock in one thread and mode, in program order.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// Tells it from all others of the trace; they count from 0.
    pub(super) number: u32,
    pub(super) thread: usize,
    pub(super) mode: Mode,
    pub(super) scopes: Vec<Scope>,
}

impl List {
    pub(super) fn excludes(&self, other: &List) -> bool {
        self.thread != other.thread && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }

    /// The last scope whose acquire has a rank below `rank`.
    pub(super) fn latest(&self, rank: u32) -> Option<&Scope> {
        self.latest_from(0, rank)
    }

    /// The same among the scopes from the one at `begin` on.
    pub(super) fn latest_from(&self, begin: usize, rank: u32) -> Option<&Scope> {
        let scopes = &self.scopes[begin..];
        let count = scopes.partition_point(|s| s.acquire < rank);
        count.checked_sub(1).map(|i| &scopes[i])
    }
}

/// A scope by its lock, list and place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ScopeAt {
    pub(super) lock: u32,
    pub(super) list: u32,
    pub(super) place: u32,
}

/// All scopes of a trace.
pub(super) struct Scopes {
    /// Per lock.
    pub(super) lists: Vec<Vec<List>>,
    /// Per thread, the releases of all its closed scopes in program order.
    pub(super) releases: Vec<Vec<(u32, ScopeAt)>>,
    /// Per thread and rank, the first and last rank of the scopes around the event, overlapping ones taken together; the
    /// event's own rank where there is none.
    pub(super) hull: Vec<Vec<(u32, u32)>>,
    /// Per thread, lock and list of those of its lists that exclude another.
    contended: Vec<Vec<(u32, u32)>>,
    /// Of these, the ones that matter now; and their locks.
    live: Vec<Vec<(u32, u32)>>,
    pub(super) live_locks: Vec<u32>,
}

impl Scopes {
    pub(super) fn of(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut scopes = Scopes {
            lists: vec![Vec::new(); trace.tables().locks.len()],
            releases: vec![Vec::new(); relations.threads()],
            hull: Vec::with_capacity(relations.threads()),
            contended: vec![Vec::new(); relations.threads()],
            live: Vec::new(),
            live_locks: Vec::new(),
        };
        for thread in 0..relations.threads() {
            let events = relations.thread_events(ThreadId::at(thread));
            let mut hull: Vec<(u32, u32)> = (0..events.len() as u32).map(|rank| (rank, rank)).collect();
            let (mut depth, mut begin) = (0, 0);
            for (rank, &id) in events.iter().enumerate() {
                let event = trace.event(id);
                if event.op.is_acquire() {
                    if depth == 0 {
                        begin = rank;
                    }
                    depth += 1;
                    let release = relations.matching_release(id).map_or(OPEN, |r| relations.rank(r) as u32);
                    let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
                    scopes.add(event.object, mode, Scope { thread, acquire: rank as u32, release });
                }
                if event.op.is_release() {
                    depth -= 1;
                    if depth == 0 {
                        hull[begin..=rank].fill((begin as u32, rank as u32));
                    }
                }
            }
            if depth > 0 {
                let end = events.len() as u32 - 1;
                hull[begin..].fill((begin as u32, end));
            }
            scopes.releases[thread].sort_unstable_by_key(|&(rank, _)| rank);
            scopes.hull.push(hull);
        }
        for (lock, lists) in scopes.lists.iter().enumerate() {
            for (i, list) in lists.iter().enumerate().filter(|(_, list)| lists.iter().any(|l| l.excludes(list))) {
                scopes.contended[list.thread].push((lock as u32, i as u32));
            }
        }
        scopes.live.clone_from(&scopes.contended);
        (0..).zip(scopes.lists.iter_mut().flatten()).for_each(|(number, list)| list.number = number);
        scopes
    }

    fn add(&mut self, lock: u32, mode: Mode, scope: Scope) {
        let lists = &mut self.lists[lock as usize];
        let known = lists.iter().position(|l| l.thread == scope.thread && l.mode == mode);
        let list = known.unwrap_or_else(|| {
            lists.push(List { number: 0, thread: scope.thread, mode, scopes: Vec::new() });
            lists.len() - 1
        });
        let place = lists[list].scopes.len() as u32;
        lists[list].scopes.push(scope);
        if !scope.is_open() {
            self.releases[scope.thread].push((scope.release, ScopeAt { lock, list: list as u32, place }));
        }
    }

    /// Keeps as live what belongs to the locks that `matters` names.
    pub(super) fn keep_live(&mut self, matters: impl Fn(&[List]) -> bool) {
        self.live_locks.clear();
        let locks = self.lists.iter().enumerate().filter(|(_, lists)| matters(lists)).map(|(lock, _)| lock as u32);
        self.live_locks.extend(locks);
        for (live, all) in self.live.iter_mut().zip(&self.contended) {
            live.clear();
            live.extend(all.iter().filter(|(lock, _)| self.live_locks.binary_search(lock).is_ok()));
        }
    }

    /// The live lists of a thread, each with those of other threads that it excludes.
    pub(super) fn contended(&self, thread: usize) -> impl Iterator<Item = (&List, impl Iterator<Item = &List>)> {
        self.live[thread].iter().map(|&(lock, list)| {
            let lists = &self.lists[lock as usize];
            let mine = &lists[list as usize];
            (mine, lists.iter().filter(|l| l.excludes(mine)))
        })
    }

    pub(super) fn scope(&self, at: ScopeAt) -> &Scope {
        &self.lists[at.lock as usize][at.list as usize].scopes[at.place as usize]
    }
}
