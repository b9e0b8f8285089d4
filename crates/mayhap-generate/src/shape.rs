//! What a generated trace is to look like.

use std::fmt;

use mayhap_trace::ThreadId;

/// The parameters of a generated trace. The same shape gives the same events, on any machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// How many events, exactly.
    pub events: u64,
    /// How many threads, main among them. Main forks all others first and joins them last.
    pub threads: u32,
    /// How many locks.
    pub locks: u32,
    /// How many variables, apart from those of planted races.
    pub variables: u32,
    /// Where the randomness starts.
    pub seed: u64,
    /// The part of the accesses that goes to shared variables.
    pub sharing: f64,
    /// The part of the accesses to shared variables that holds the variable's lock.
    pub protected: f64,
    /// The part of the accesses that reads.
    pub reads: f64,
    /// How deep critical sections nest, at most.
    pub nesting: u32,
    /// Mean number of accesses in a critical section.
    pub section: u32,
    /// The part of the critical sections that takes its lock as a reader.
    pub readers: f64,
    /// Mean number of events that a thread runs before another takes over.
    pub run: u32,
    /// The part of the thread switches inside a critical section that happen there instead of after it.
    pub preemption: f64,
    /// The part of the reads that a branch follows.
    pub branches: f64,
    /// The part of the events outside critical sections that waits or notifies.
    pub signals: f64,
    /// How many races to plant: pairs of accesses, each to a separate variable.
    pub races: u64,
    /// The part of the planted races that happens-before misses; they need locks and shared variables.
    pub hidden: f64,
    /// How many deadlocks to plant: pairs of threads that nest two separate locks in opposite orders.
    pub deadlocks: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            events: 1_000_000,
            threads: 8,
            locks: 100,
            variables: 10_000,
            seed: 0,
            sharing: 0.4,
            protected: 1.0,
            reads: 0.7,
            nesting: 2,
            section: 5,
            readers: 0.0,
            run: 20,
            preemption: 0.1,
            branches: 0.0,
            signals: 0.0,
            races: 0,
            hidden: 0.0,
            deadlocks: 0,
        }
    }
}

/// Why no trace has this shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeError(pub(crate) String);

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ShapeError {}

/// Events of a planted race that happens-before sees, of one that it misses, and of a planted deadlock.
pub(crate) const PLAIN_RACE: u64 = 2;
pub(crate) const HIDDEN_RACE: u64 = 8;
pub(crate) const DEADLOCK: u64 = 8;

impl Shape {
    /// How many of the first `count` planted races are hidden from happens-before: spread evenly.
    pub(crate) fn hidden_among(&self, count: u64) -> u64 {
        let possible = self.locks > 0 && self.sharing > 0.0;
        if possible { (count as f64 * self.hidden) as u64 } else { 0 }
    }

    /// Events that planting takes in all.
    pub(crate) fn planted_events(&self) -> u64 {
        let hidden = self.hidden_among(self.races);
        let races = hidden.saturating_mul(HIDDEN_RACE).saturating_add((self.races - hidden).saturating_mul(PLAIN_RACE));
        races.saturating_add(self.deadlocks.saturating_mul(DEADLOCK))
    }

    /// Says what is wrong with the shape, if anything.
    pub fn validate(&self) -> Result<(), ShapeError> {
        let fail = |message: String| Err(ShapeError(message));
        let fractions = [
            ("sharing", self.sharing),
            ("protected", self.protected),
            ("reads", self.reads),
            ("readers", self.readers),
            ("preemption", self.preemption),
            ("branches", self.branches),
            ("signals", self.signals),
            ("hidden", self.hidden),
        ];
        for (name, value) in fractions {
            if !(0.0..=1.0).contains(&value) {
                return fail(format!("{name} is a part of a whole, from 0 to 1, not {value}"));
            }
        }
        let counts = [
            ("threads", self.threads, ThreadId::LIMIT as u32),
            ("variables", self.variables, 1 << 30),
            ("nesting", self.nesting, 1 << 20),
            ("section", self.section, 1 << 20),
            ("run", self.run, 1 << 30),
        ];
        for (name, value, most) in counts {
            if !(1..=most).contains(&value) {
                return fail(format!("{name} is from 1 to {most}, not {value}"));
            }
        }
        if self.locks > 1 << 30 {
            return fail(format!("locks is at most {}, not {}", 1 << 30, self.locks));
        }
        if self.events > u64::from(mayhap_trace::NONE) {
            return fail(format!("a trace has at most {} events, not {}", mayhap_trace::NONE, self.events));
        }
        if self.threads < 2 && self.races + self.deadlocks > 0 {
            return fail("a planted race or deadlock needs two threads".to_string());
        }
        if self.races.max(self.deadlocks) > 1 << 30 {
            return fail(format!("at most {} races and deadlocks can be planted", 1 << 30));
        }
        let starts_and_ends = 2 * u64::from(self.threads - 1);
        let least = starts_and_ends + self.planted_events();
        if self.events < least {
            return fail(format!(
                "{} events are too few: {starts_and_ends} fork and join the threads, {} are planted",
                self.events,
                self.planted_events()
            ));
        }
        Ok(())
    }
}
