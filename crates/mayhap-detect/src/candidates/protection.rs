//! What keeps all accesses of a variable apart, so that nothing needs to be asked of pairs of them: one lock, or must-order where a thread
//! makes the variable before others know it, or looks at it when they have ended.

use std::cell::OnceCell;

use mayhap_trace::{EventId, Execution, LockId, LocksetId, Mode, Op, Relations, Trace};

use super::shared_cells;

/// An access of a shared variable, with what is asked of all of them.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) event: EventId,
    /// Its rank among the events of its thread.
    pub(super) rank: u32,
    /// The locks held.
    pub(super) held: LocksetId,
    /// How many locks its thread has given up before.
    pub(super) releases: u32,
    pub(super) thread: u16,
    pub(super) op: Op,
}

/// The accesses of each variable that several threads access and at least one writes, gathered when a search first asks for them.
pub struct SharedAccesses<'s> {
    execution: &'s Execution<'s>,
    gathered: OnceCell<(Vec<Access>, Vec<u32>)>,
}

impl<'s> SharedAccesses<'s> {
    /// Nothing is gathered yet.
    pub fn new(execution: &'s Execution<'s>) -> Self {
        SharedAccesses { execution, gathered: OnceCell::new() }
    }

    /// Gives the memory back, until a search asks again.
    pub fn forget(&mut self) {
        self.gathered.take();
    }

    pub(super) fn execution(&self) -> &'s Execution<'s> {
        self.execution
    }

    /// The accesses in observed order, one slice a variable.
    pub(super) fn variables(&self) -> impl Iterator<Item = &[Access]> {
        let (accesses, bounds) = self.gathered.get_or_init(|| gather(self.execution));
        bounds.windows(2).filter(|w| w[0] < w[1]).map(|w| &accesses[w[0] as usize..w[1] as usize])
    }
}

fn gather(execution: &Execution<'_>) -> (Vec<Access>, Vec<u32>) {
    let (trace, relations) = execution.parts();
    let mut releases = vec![0u32; trace.tables().threads.len()];
    let start = EventId::at(0);
    let empty = Access { event: start, rank: 0, held: LocksetId::EMPTY, releases: 0, thread: 0, op: Op::Read };
    shared_cells(trace, empty, |event, op, thread| {
        let releases = &mut releases[usize::from(thread)];
        *releases += u32::from(op.is_release());
        let rank = if op.is_access() { relations.rank(event) as u32 } else { 0 };
        Access { event, rank, held: relations.held(event), releases: *releases, thread, op }
    })
}

/// The locks that are held at every access, and exclusively at every write.
pub(super) fn common_locks(relations: &Relations, accesses: &[Access]) -> Vec<LockId> {
    let locksets = relations.locksets();
    let Some(first) = accesses.first() else { return Vec::new() };
    let mut common: Vec<LockId> = locksets.get(first.held).iter().map(|&(lock, _)| lock).collect();
    let mut last = None;
    for access in accesses {
        let (set, is_write) = (access.held, access.op == Op::Write);
        if last == Some((set, is_write)) {
            continue;
        }
        last = Some((set, is_write));
        let held = locksets.get(set);
        common.retain(|&lock| held.iter().any(|&(l, mode)| l == lock && (mode == Mode::Exclusive || !is_write)));
        if common.is_empty() {
            break;
        }
    }
    common
}

/// One cell for each thread, empty for each variable anew. It holds the position of an access.
pub(super) struct Threads {
    /// The variable that the cell was filled for, and what is in it.
    cells: Vec<(u32, u32)>,
    variable: u32,
}

impl Threads {
    pub(super) fn new(trace: &Trace) -> Threads {
        Threads { cells: vec![(0, 0); trace.tables().threads.len()], variable: 0 }
    }

    /// Empties all cells.
    pub(super) fn clear(&mut self) {
        self.variable += 1;
    }

    /// Puts a position into the thread's cell, and returns what was in it.
    #[inline]
    pub(super) fn insert(&mut self, thread: u16, position: usize) -> Option<usize> {
        let cell = (self.variable, position as u32);
        let (variable, before) = std::mem::replace(&mut self.cells[usize::from(thread)], cell);
        (variable == self.variable).then_some(before as usize)
    }
}

/// The accesses of a variable without those at the beginning and the end that must-order puts before or after all accesses of other
/// threads.
pub(super) fn without_ends<'a>(
    trace: &Trace,
    relations: &Relations,
    accesses: &'a [Access],
    threads: &mut Threads,
) -> &'a [Access] {
    let same_as = |one: Option<&Access>| {
        let one = one.map(|access| access.thread);
        move |access: &&Access| Some(access.thread) == one
    };
    let ordered = |a: &Access, b: &Access| relations.ordered(trace, a.event, b.event);
    // The first access of each other thread decides for all of them; so does the last.
    let run = accesses.iter().take_while(same_as(accesses.first())).count();
    let mut begin = run;
    threads.clear();
    for access in &accesses[run..] {
        if begin > 0 && threads.insert(access.thread, 0).is_none() {
            begin = accesses[..begin].partition_point(|before| ordered(before, access));
        }
    }
    let rest = &accesses[begin..];
    let run = rest.len() - rest.iter().rev().take_while(same_as(rest.last())).count();
    let mut end = run;
    threads.clear();
    for access in rest[..run].iter().rev() {
        if end < rest.len() && threads.insert(access.thread, 0).is_none() {
            end += rest[end..].partition_point(|after| !ordered(access, after));
        }
    }
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    /// The numbers of the accesses of the only shared variable between the ends, and how many locks are held at all of them.
    fn between(text: &str) -> (Vec<u64>, usize) {
        let execution = Execution::derive(parse_std(text).unwrap()).unwrap();
        let (trace, relations) = execution.parts();
        let shared = SharedAccesses::new(&execution);
        let accesses = shared.variables().next().unwrap();
        let inner = without_ends(trace, relations, accesses, &mut Threads::new(trace));
        (inner.iter().map(|access| access.event.number()).collect(), common_locks(relations, inner).len())
    }

    #[test]
    fn what_comes_before_the_fork_and_after_the_join_is_left_out() {
        let section = "t|acq(l)|b\nt|w(x)|c\nt|rel(l)|d\nm|acq(l)|e\nm|r(x)|f\nm|rel(l)|g\n";
        let text = format!("m|w(x)|a\nm|fork(t)|a\n{section}m|join(t)|h\nm|r(x)|i\n");
        assert_eq!(between(&text), (vec![4, 7], 1));
        // The thread's own access before stays, since what follows it there is not one thread's.
        let open = format!("m|fork(t)|a\nm|w(x)|a\n{section}m|r(x)|i\nm|join(t)|h\n");
        assert_eq!(between(&open), (vec![2, 4, 7, 9], 0));
    }

    #[test]
    fn an_end_is_one_for_all_threads_or_for_none() {
        let text = "m|w(x)|a\nm|fork(t)|a\nt|w(x)|b\nu|w(x)|c\nm|join(t)|d\nm|r(x)|e\n";
        assert_eq!(between(text), (vec![1, 3, 4, 6], 0));
    }

    #[test]
    fn cells_are_empty_for_each_variable() {
        let mut threads = Threads::new(&parse_std("m|w(x)|a\n").unwrap());
        threads.clear();
        assert_eq!(threads.insert(0, 3), None);
        assert_eq!(threads.insert(0, 4), Some(3));
        threads.clear();
        assert_eq!(threads.insert(0, 5), None);
    }
}
