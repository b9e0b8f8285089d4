//! Random well-formed traces, the same for the same seed and profile.
//!
//! A trace is grown event by event: a random thread does a random thing that the rules of locks, threads and conditions
//! allow at that point. What the profile gives no weight to does not occur.

use mayhap_trace::{Columns, Event, LocId, LockId, NONE, Op, Tables, ThreadId, Trace};

use crate::{Random, subtrace};

/// What random traces look like. Weights say how often a thread tries an operation; 0 is never.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Threads at most; each trace has some number from 2 on.
    pub threads: usize,
    /// Events at most, before open ends are closed; each trace has some number from half of it on.
    pub events: usize,
    /// Locks at most; each trace has some number from 1 on.
    pub locks: usize,
    /// Variables at most; each trace has some number from 1 on.
    pub variables: usize,
    /// Conditions at most; each trace has some number from 1 on.
    pub conditions: usize,
    /// Weight of reads.
    pub reads: u32,
    /// Weight of writes.
    pub writes: u32,
    /// Weight of exclusive acquires.
    pub acquires: u32,
    /// Weight of shared acquires.
    pub shared_acquires: u32,
    /// Weight of releases of either mode.
    pub releases: u32,
    /// Weight of forks. With 0 all threads run from the start, else only the first does.
    pub forks: u32,
    /// Weight of joins.
    pub joins: u32,
    /// Weight of notifies, of one or all.
    pub notifies: u32,
    /// Weight of waits; half of those under a lock release it before and take it again after.
    pub waits: u32,
    /// Weight of branches.
    pub branches: u32,
    /// Locks are released in the reverse order of their acquires.
    pub nested: bool,
    /// How many locks a thread holds at a time.
    pub depth: usize,
    /// Percent of acquires that go to a lock which the thread already holds.
    pub reentrant: u32,
    /// Percent of steps at which the thread of the step before goes on.
    pub burst: u32,
    /// Percent of sections that stay open at the end.
    pub open: u32,
    /// Threads begin with `begin` (sometimes before their fork) and finish with `end`.
    pub marks: bool,
    /// How many source locations there are; 0 gives each event its own.
    pub sites: usize,
}

impl Profile {
    /// Accesses under a few locks: sections nest, all threads run from the start.
    pub fn races() -> Profile {
        Profile {
            threads: 3,
            events: 22,
            locks: 2,
            variables: 2,
            conditions: 1,
            reads: 3,
            writes: 3,
            acquires: 5,
            shared_acquires: 0,
            releases: 4,
            forks: 0,
            joins: 0,
            notifies: 0,
            waits: 0,
            branches: 0,
            nested: true,
            depth: 2,
            reentrant: 0,
            burst: 40,
            open: 20,
            marks: false,
            sites: 0,
        }
    }

    /// Mostly locks, deeply nested: deadlocks and lock orders.
    pub fn nested() -> Profile {
        Profile { locks: 3, depth: 3, acquires: 8, releases: 6, reads: 2, writes: 2, ..Profile::races() }
    }

    /// Sections seldom overlap, locks nest in all orders: many deadlocks.
    pub fn deadlocks() -> Profile {
        Profile { events: 26, burst: 60, reads: 1, writes: 1, acquires: 9, releases: 6, ..Profile::nested() }
    }

    /// Locks released in any order.
    pub fn non_nested() -> Profile {
        Profile { nested: false, ..Profile::nested() }
    }

    /// Locks taken again by their holder.
    pub fn reentrant() -> Profile {
        Profile { reentrant: 30, events: 26, ..Profile::nested() }
    }

    /// Reader locks, also upgraded and downgraded.
    pub fn readers() -> Profile {
        Profile { shared_acquires: 3, nested: false, reentrant: 10, ..Profile::races() }
    }

    /// One thread starts the others and may wait for them.
    pub fn fork_join() -> Profile {
        Profile { threads: 4, events: 26, forks: 6, joins: 1, ..Profile::races() }
    }

    /// Waits and notifies.
    pub fn conditions() -> Profile {
        Profile { notifies: 2, waits: 2, conditions: 2, ..Profile::races() }
    }

    /// Branches.
    pub fn branches() -> Profile {
        Profile { branches: 2, reads: 4, ..Profile::races() }
    }

    /// All features at once.
    pub fn everything() -> Profile {
        Profile {
            threads: 4,
            events: 30,
            locks: 3,
            variables: 2,
            conditions: 2,
            shared_acquires: 2,
            forks: 5,
            joins: 1,
            notifies: 1,
            waits: 1,
            branches: 1,
            nested: false,
            reentrant: 15,
            marks: true,
            sites: 6,
            ..Profile::races()
        }
    }

    /// All profiles with their names.
    pub fn all() -> Vec<(&'static str, Profile)> {
        vec![
            ("races", Profile::races()),
            ("nested", Profile::nested()),
            ("deadlocks", Profile::deadlocks()),
            ("non_nested", Profile::non_nested()),
            ("reentrant", Profile::reentrant()),
            ("readers", Profile::readers()),
            ("fork_join", Profile::fork_join()),
            ("conditions", Profile::conditions()),
            ("branches", Profile::branches()),
            ("everything", Profile::everything()),
        ]
    }

    /// The same with other largest numbers of threads and events.
    pub fn sized(self, threads: usize, events: usize) -> Profile {
        Profile { threads, events, ..self }
    }
}

/// How many generated traces a test should run: the variable `MAYHAP_CASES`, or `default`.
///
/// # Panics
/// If the variable is not a number.
pub fn cases(default: usize) -> usize {
    match std::env::var("MAYHAP_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("MAYHAP_CASES is `{text}`, not a number")),
        Err(_) => default,
    }
}

/// An endless supply of random traces of one profile, each with its seed.
#[derive(Clone, Debug)]
pub struct Generator {
    profile: Profile,
    seed: u64,
}

impl Generator {
    /// Traces of `profile`, the first with seed `seed`.
    pub fn new(profile: Profile, seed: u64) -> Self {
        Generator { profile, seed }
    }

    /// The trace of one seed.
    pub fn trace(profile: &Profile, seed: u64) -> Trace {
        let mut random = Random::new(seed);
        let mut some = |least: usize, most: usize| least + random.below((most + 1).saturating_sub(least));
        let profile = Profile {
            threads: some(2, profile.threads),
            events: some(profile.events / 2, profile.events),
            locks: some(1, profile.locks),
            variables: some(1, profile.variables),
            conditions: some(1, profile.conditions),
            ..profile.clone()
        };
        Growth::new(&profile, random).run()
    }
}

impl Iterator for Generator {
    type Item = (u64, Trace);

    fn next(&mut self) -> Option<(u64, Trace)> {
        let seed = self.seed;
        self.seed += 1;
        Some((seed, Generator::trace(&self.profile, seed)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Unborn,
    Running,
    Over,
}

/// A trace as it grows.
struct Growth<'p> {
    profile: &'p Profile,
    random: Random,
    columns: Columns,
    tables: Tables,
    lives: Vec<Life>,
    begun: Vec<bool>,
    /// Per thread, its holds in the order of acquires, re-entrant ones again: lock and whether shared.
    holds: Vec<Vec<(usize, bool)>>,
    /// Per condition, the threads that have notified it.
    notified: Vec<Vec<usize>>,
}

impl<'p> Growth<'p> {
    fn new(profile: &'p Profile, random: Random) -> Self {
        let mut tables = Tables::default();
        let mut name = |kind: &str, n: usize| {
            let names = match kind {
                "T" => &mut tables.threads,
                "l" => &mut tables.locks,
                "x" => &mut tables.variables,
                _ => &mut tables.conditions,
            };
            for i in 1..=n {
                names.define(format!("{kind}{i}").as_bytes()).expect("names are new");
            }
        };
        name("T", profile.threads);
        name("l", profile.locks);
        name("x", profile.variables);
        name("c", profile.conditions);
        let mut lives = vec![if profile.forks > 0 { Life::Unborn } else { Life::Running }; profile.threads];
        lives[0] = Life::Running;
        Growth {
            profile,
            random,
            columns: Columns::default(),
            tables,
            lives,
            begun: vec![false; profile.threads],
            holds: vec![Vec::new(); profile.threads],
            notified: vec![Vec::new(); profile.conditions],
        }
    }

    fn run(mut self) -> Trace {
        let p = self.profile;
        let weights = [
            (Op::Read, p.reads),
            (Op::Write, p.writes),
            (Op::Acquire, p.acquires),
            (Op::SharedAcquire, p.shared_acquires),
            (Op::Release, p.releases),
            (Op::Fork, p.forks),
            (Op::Join, p.joins),
            (Op::Notify, p.notifies),
            (Op::Wait, p.waits),
            (Op::Branch, p.branches),
        ];
        let total: u32 = weights.iter().map(|w| w.1).sum();
        // All threads may come to their end early, and then nothing more can happen.
        let mut thread = 0;
        for _ in 0..50 * p.events {
            if self.columns.len() >= p.events {
                break;
            }
            if !self.random.percent(p.burst) {
                thread = self.random.below(p.threads);
            }
            if self.lives[thread] != Life::Running {
                thread = self.random.below(p.threads);
                continue;
            }
            let mut ticket = self.random.below(total as usize) as u32;
            let chosen = weights.iter().find(|(_, weight)| {
                let here = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                here
            });
            self.attempt(thread, chosen.expect("the ticket is below the total").0);
        }
        self.finish();
        subtrace(&Trace::from_parts(self.columns, self.tables), |_| true)
    }

    /// Does the operation if the rules allow it now.
    fn attempt(&mut self, thread: usize, op: Op) {
        match op {
            Op::Read | Op::Write => {
                let variable = self.random.below(self.profile.variables);
                self.emit(thread, op, variable);
            }
            Op::Acquire | Op::SharedAcquire => self.acquire(thread, op),
            Op::Release => self.release(thread),
            Op::Fork => {
                if let Some(child) = self.other_thread(thread, Life::Unborn) {
                    if self.profile.marks && self.random.percent(20) {
                        self.begin(child);
                    }
                    self.emit(thread, Op::Fork, child);
                    self.lives[child] = Life::Running;
                }
            }
            Op::Join => {
                if let Some(child) = self.other_thread(thread, Life::Running) {
                    self.end(child);
                    self.emit(thread, Op::Join, child);
                }
            }
            Op::Notify => {
                let condition = self.random.below(self.profile.conditions);
                let op = if self.random.percent(30) { Op::NotifyAll } else { Op::Notify };
                self.emit(thread, op, condition);
                self.notified[condition].push(thread);
            }
            Op::Wait => self.wait(thread),
            _ => self.emit(thread, Op::Branch, NONE as usize),
        }
    }

    fn other_thread(&mut self, me: usize, life: Life) -> Option<usize> {
        let others: Vec<usize> = (0..self.lives.len()).filter(|&t| t != me && self.lives[t] == life).collect();
        if others.is_empty() { None } else { Some(*self.random.pick(&others)) }
    }

    fn acquire(&mut self, thread: usize, op: Op) {
        let shared = op.is_shared();
        let again = !self.holds[thread].is_empty() && self.random.percent(self.profile.reentrant);
        let lock = if again { self.random.pick(&self.holds[thread]).0 } else { self.random.below(self.profile.locks) };
        let room = self.holds[thread].len() < self.profile.depth && self.holds[thread].iter().all(|h| h.0 != lock);
        if (again || room) && self.is_free(thread, lock, shared) {
            self.emit(thread, op, lock);
            self.holds[thread].push((lock, shared));
        }
    }

    fn is_free(&self, thread: usize, lock: usize, shared: bool) -> bool {
        let others = self.holds.iter().enumerate().filter(|&(t, _)| t != thread);
        others.flat_map(|(_, holds)| holds).all(|&(l, s)| l != lock || (s && shared))
    }

    fn release(&mut self, thread: usize) {
        let held = self.holds[thread].len();
        if held > 0 {
            let at = if self.profile.nested { held - 1 } else { self.random.below(held) };
            self.release_at(thread, at);
        }
    }

    fn release_at(&mut self, thread: usize, at: usize) {
        let (lock, shared) = self.holds[thread].remove(at);
        self.emit(thread, if shared { Op::SharedRelease } else { Op::Release }, lock);
    }

    fn wait(&mut self, thread: usize) {
        let condition = self.random.below(self.profile.conditions);
        if !self.notified[condition].iter().any(|&t| t != thread) {
            return;
        }
        let top = self.holds[thread].last().copied();
        match top.filter(|_| self.random.percent(50)) {
            Some((lock, false)) if self.holds[thread].iter().filter(|h| h.0 == lock).count() == 1 => {
                self.release_at(thread, self.holds[thread].len() - 1);
                self.emit(thread, Op::Wait, condition);
                self.emit(thread, Op::Acquire, lock);
                self.holds[thread].push((lock, false));
            }
            _ => self.emit(thread, Op::Wait, condition),
        }
    }

    /// Closes what the profile does not leave open, and ends the threads.
    fn finish(&mut self) {
        for thread in 0..self.lives.len() {
            if self.lives[thread] == Life::Running {
                self.close_sections(thread);
                self.end(thread);
            }
        }
    }

    fn close_sections(&mut self, thread: usize) {
        for at in (0..self.holds[thread].len()).rev() {
            if !self.random.percent(self.profile.open) {
                self.release_at(thread, at);
            } else if self.profile.nested {
                break;
            }
        }
    }

    fn end(&mut self, thread: usize) {
        self.lives[thread] = Life::Over;
        if self.profile.marks && self.begun[thread] {
            self.push(thread, Op::End, NONE as usize);
        }
    }

    fn begin(&mut self, thread: usize) {
        self.begun[thread] = true;
        self.push(thread, Op::Begin, NONE as usize);
    }

    fn emit(&mut self, thread: usize, op: Op, object: usize) {
        if self.profile.marks && !self.begun[thread] {
            self.begin(thread);
        }
        self.push(thread, op, object);
    }

    fn push(&mut self, thread: usize, op: Op, object: usize) {
        let site = match self.profile.sites {
            0 => format!("e{}", self.columns.len() + 1),
            n => format!("s{}", self.random.below(n) + 1),
        };
        let location = self.tables.locations.intern(site.as_bytes()).expect("few locations");
        let location = LocId::from_cell(location);
        let object = if object == NONE as usize { NONE } else { LockId::at(object).cell() };
        self.columns.push(Event::new(ThreadId::at(thread), op, object, location));
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::Relations;

    use super::*;

    #[test]
    fn generated_traces_are_well_formed() {
        for (name, profile) in Profile::all() {
            for (seed, trace) in Generator::new(profile, 0).take(500) {
                Relations::derive(&trace).unwrap_or_else(|e| panic!("{name} {seed}: {e}"));
            }
        }
    }

    #[test]
    fn every_operation_and_shape_occurs() {
        let mut seen = vec![0; Op::ALL.len()];
        let (mut inner, mut open, mut early) = (0, 0, 0);
        for (_, trace) in Generator::new(Profile::everything(), 1).take(500) {
            let relations = Relations::derive(&trace).unwrap();
            for (id, event) in trace.events() {
                seen[event.op as usize] += 1;
                inner += usize::from(event.op.is_lock() && !relations.is_relevant(id));
                let unclosed =
                    event.op.is_acquire() && relations.is_relevant(id) && relations.matching_release(id).is_none();
                open += usize::from(unclosed);
                let fork = relations.fork_of(event.thread);
                early += usize::from(event.op == Op::Begin && fork.is_some_and(|f| f > id));
            }
        }
        // Marks of tried acquires and what came with version 2 are not generated here.
        seen.truncate(Op::Try as usize);
        assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
        assert!(inner > 20 && open > 20 && early > 20, "{inner} {open} {early}");
    }

    #[test]
    fn a_seed_names_one_trace() {
        let profile = Profile::everything();
        assert_eq!(Generator::trace(&profile, 7), Generator::trace(&profile, 7));
        assert_ne!(Generator::trace(&profile, 7), Generator::trace(&profile, 8));
    }
}
