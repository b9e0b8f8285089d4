//! What random traces look like.

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
    /// Weight of atomic read-modify-writes: fetch-and-op, exchange, compare-exchange that succeeds or fails.
    pub updates: u32,
    /// Weight of fences.
    pub fences: u32,
    /// Weight of failed attempts to acquire a lock or to take from a semaphore or token.
    pub failed: u32,
    /// Percent of reads and writes that are atomic, of any order.
    pub atomic: u32,
    /// How many different values there are; 0 leaves values out, otherwise a few are still unknown.
    pub values: usize,
    /// Percent of writes whose value is a constant of the code.
    pub constants: u32,
    /// Percent of writes that stand for freeing the memory.
    pub frees: u32,
    /// Percent of acquires that are try or timed locks.
    pub attempts: u32,
    /// Conditions are condition variables, semaphores, tokens or of no kind, at random.
    pub kinds: bool,
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
            updates: 0,
            fences: 0,
            failed: 0,
            atomic: 0,
            values: 0,
            constants: 0,
            frees: 0,
            attempts: 0,
            kinds: false,
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

    /// Returns all features at once.
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

    /// Values and branches.
    pub fn values() -> Profile {
        Profile {
            values: 2,
            branches: 2,
            reads: 5,
            writes: 4,
            constants: 15,
            frees: 15,
            events: 20,
            ..Profile::races()
        }
    }

    /// Atomic accesses of all orders, read-modify-writes and fences, with values and branches.
    pub fn atomics() -> Profile {
        Profile {
            events: 18,
            atomic: 60,
            updates: 2,
            fences: 1,
            acquires: 1,
            releases: 1,
            branches: 1,
            ..Profile::values()
        }
    }

    /// Locks that are tried, in vain or not, of both modes.
    pub fn attempts() -> Profile {
        Profile { failed: 4, attempts: 30, shared_acquires: 2, branches: 1, ..Profile::races() }
    }

    /// Condition variables, semaphores and tokens.
    pub fn waits() -> Profile {
        Profile { kinds: true, notifies: 4, waits: 5, conditions: 2, failed: 1, branches: 1, ..Profile::races() }
    }

    /// What recorded programs have, all at once.
    pub fn programs() -> Profile {
        Profile {
            threads: 4,
            events: 24,
            forks: 4,
            joins: 1,
            notifies: 2,
            waits: 2,
            failed: 1,
            attempts: 20,
            kinds: true,
            conditions: 2,
            shared_acquires: 1,
            marks: true,
            ..Profile::atomics()
        }
    }

    /// The profiles whose traces have what recorded programs have besides: values, atomics, attempts, kinds of conditions.
    pub fn recorded() -> Vec<(&'static str, Profile)> {
        vec![
            ("values", Profile::values()),
            ("atomics", Profile::atomics()),
            ("attempts", Profile::attempts()),
            ("waits", Profile::waits()),
            ("programs", Profile::programs()),
        ]
    }

    /// [`Profile::all`] and [`Profile::recorded`].
    pub fn every() -> Vec<(&'static str, Profile)> {
        Profile::all().into_iter().chain(Profile::recorded()).collect()
    }

    /// All profiles with their names whose traces have only what published traces have.
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

    /// Returns the same with other largest numbers of threads and events.
    pub fn sized(self, threads: usize, events: usize) -> Profile {
        Profile { threads, events, ..self }
    }
}
