//! Traces of the shapes in the nondeterminism paper's Table A1, from a seed.
//!
//! Each thread works through sections of randomly chosen locks. A lock guards some variables; a few hot ones take most of
//! the accesses, so that the number of triplets comes out as in the paper. Now and then a thread touches a variable
//! without its lock, or waits for another thread's signal. Threads change at random, also inside sections.

use mayhap_testkit::Random;
use mayhap_trace::{Trace, format};

/// What a trace is made of.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    pub(crate) events: usize,
    pub(crate) lock_events: usize,
    pub(crate) locks: usize,
    pub(crate) accesses: usize,
    pub(crate) variables: usize,
    /// Waits and notifies.
    pub(crate) signals: usize,
    /// The first variables take these shares of the accesses, in thousandths.
    pub(crate) hot: &'static [usize],
    /// How many triplets the paper's trace has.
    pub(crate) triplets: u64,
    /// Seconds that the paper took.
    pub(crate) paper_seconds: f64,
}

pub(crate) const DAISY: Shape = Shape {
    name: "DaisyTest",
    threads: 3,
    events: 3_000,
    lock_events: 420,
    locks: 10,
    accesses: 2_000,
    variables: 45,
    signals: 15,
    hot: &[720, 140],
    triplets: 383_007,
    paper_seconds: 244.0,
};

pub(crate) const THRIFT3: Shape = Shape {
    name: "ThriftTrace3",
    threads: 6,
    events: 20_640,
    lock_events: 1_724,
    locks: 158,
    accesses: 8_818,
    variables: 519,
    signals: 349,
    hot: &[136, 113, 60, 40],
    triplets: 479_142,
    paper_seconds: 243.0,
};

#[derive(Clone, Default)]
struct Thread {
    held: Option<usize>,
    /// Accesses still to do in the section.
    left: usize,
}

impl Shape {
    /// The trace of a seed.
    pub(crate) fn trace(&self, seed: u64) -> Trace {
        let mut random = Random::new(seed);
        let mut threads = vec![Thread::default(); self.threads];
        let mut owner: Vec<Option<usize>> = vec![None; self.locks];
        let mut text = String::new();
        let mut line = |thread: usize, event: String| text += &format!("T{thread}|{event}\n");
        (1..self.threads).for_each(|t| line(0, format!("fork(T{t})")));
        let (mut accesses, mut signals, mut sections) = (0, 0, 0);
        let per_section = self.accesses * 2 / self.lock_events;
        let filler = self.events - self.accesses - self.lock_events - self.signals - 2 * (self.threads - 1);
        let (mut filled, mut posted, mut current) = (0, 0, 0);
        while accesses < self.accesses || threads.iter().any(|t| t.held.is_some()) {
            if random.below(12) == 0 {
                current = random.below(self.threads);
            }
            let me = current;
            if filled * self.accesses < filler * accesses {
                line(me, "br".to_string());
                filled += 1;
            }
            if let Some(lock) = threads[me].held {
                if threads[me].left == 0 || accesses >= self.accesses {
                    line(me, format!("rel(l{lock})"));
                    owner[lock] = None;
                    threads[me].held = None;
                } else {
                    threads[me].left -= 1;
                    accesses += 1;
                    line(me, self.access(&mut random, Some(lock)));
                }
            } else if signals * self.accesses < self.signals * accesses {
                if signals % 2 == 0 {
                    line(me, "notify(s)".to_string());
                    posted = me;
                } else {
                    // A wait is answered by another thread's notify.
                    current = if posted == me { (me + 1) % self.threads } else { me };
                    if threads[current].held.is_some() {
                        continue;
                    }
                    line(current, "wait(s)".to_string());
                }
                signals += 1;
            } else if sections * 2 < self.lock_events && random.below(8) > 0 {
                let lock = self.lock(&mut random);
                if owner[lock].is_some() {
                    current = random.below(self.threads);
                    continue;
                }
                line(me, format!("acq(l{lock})"));
                owner[lock] = Some(me);
                threads[me] = Thread { held: Some(lock), left: 1 + random.below(2 * per_section - 2) };
                sections += 1;
            } else {
                accesses += 1;
                line(me, self.access(&mut random, None));
            }
        }
        (1..self.threads).for_each(|t| line(0, format!("join(T{t})")));
        format::parse_std(&text).expect("the generator keeps the rules")
    }

    /// Locks of hot variables are taken as often as their accesses ask for.
    fn lock(&self, random: &mut Random) -> usize {
        self.variable(random) % self.locks
    }

    fn variable(&self, random: &mut Random) -> usize {
        let mut share = random.below(1000);
        for (variable, &hot) in self.hot.iter().enumerate() {
            if share < hot {
                return variable;
            }
            share -= hot;
        }
        self.hot.len() + random.below(self.variables - self.hot.len())
    }

    fn access(&self, random: &mut Random, lock: Option<usize>) -> String {
        let variable = match lock {
            // Of the variables that the lock guards, the hot one first.
            Some(lock) if lock < self.hot.len() && random.below(10) > 0 => lock,
            Some(lock) => {
                let count = (self.variables - lock).div_ceil(self.locks);
                lock + self.locks * random.below(count)
            }
            None => self.variable(random),
        };
        let op = if random.below(100) < 50 { 'r' } else { 'w' };
        format!("{op}(x{variable})")
    }
}
