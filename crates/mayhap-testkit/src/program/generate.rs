//! Random programs, the same for the same seed and profile: small enough to run all their interleavings, and weighted
//! towards the idioms whose timing decides what happens.

use super::language::{LockSort, Operation, Program, Sort, Statement};
use crate::Random;

/// What random programs are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Mutexes and reader-writer locks, nested.
    Locks,
    /// Atomics of all memory orders, and fences.
    Atomics,
    /// Condition variables and semaphores.
    Conditions,
    /// Try and timed operations.
    Tries,
    /// Pipes.
    Pipes,
    /// Pointers, allocation and freeing.
    Pointers,
    /// Values that go from thread to thread before one decides by them.
    Flow,
    /// Everything.
    Mixed,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 8] = [
        Profile::Locks,
        Profile::Atomics,
        Profile::Conditions,
        Profile::Tries,
        Profile::Pipes,
        Profile::Pointers,
        Profile::Flow,
        Profile::Mixed,
    ];

    /// How often a thread does each [`Idiom`].
    fn weights(self) -> &'static [(Idiom, u32)] {
        use Idiom::*;
        match self {
            Profile::Locks => &[(Access, 8), (Section, 10), (Decide, 2), (Local, 1), (Check, 1)],
            Profile::Atomics => {
                &[(Access, 5), (Atomic, 12), (Spin, 3), (Decide, 5), (Fence, 2), (Local, 1), (Section, 1)]
            }
            Profile::Conditions => {
                &[(Access, 6), (Section, 2), (Await, 4), (Notify, 4), (Semaphore, 5), (Decide, 2), (Check, 1)]
            }
            Profile::Tries => &[(Access, 8), (Section, 3), (Attempt, 8), (Semaphore, 3), (Decide, 2), (Local, 1)],
            Profile::Pipes => &[(Access, 8), (Message, 8), (Section, 2), (Decide, 3), (Local, 1)],
            Profile::Pointers => &[(Access, 3), (Pointer, 10), (Section, 2), (Decide, 2), (Atomic, 1)],
            Profile::Flow => &[(Access, 3), (Copy, 7), (Guard, 8), (Atomic, 1), (Section, 1)],
            Profile::Mixed => &[
                (Access, 10),
                (Section, 3),
                (Atomic, 4),
                (Spin, 1),
                (Fence, 1),
                (Attempt, 2),
                (Await, 1),
                (Notify, 1),
                (Semaphore, 2),
                (Message, 2),
                (Pointer, 3),
                (Decide, 4),
                (Copy, 2),
                (Guard, 2),
                (Local, 1),
                (Check, 1),
            ],
        }
    }
}

/// What a thread may do at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Idiom {
    Access,
    Section,
    Attempt,
    Atomic,
    Spin,
    Fence,
    Await,
    Notify,
    Semaphore,
    Message,
    Pointer,
    Decide,
    Copy,
    Guard,
    Local,
    Check,
}

/// Returns a random program.
pub fn generate(profile: Profile, seed: u64) -> Program {
    let mut random = Random::new(seed);
    let threads = *random.pick(&[2, 2, 2, 3, 3, 3, 3, 4]);
    let integers = if profile == Profile::Flow { 3 } else { 1 + random.below(3) };
    let pointers = usize::from(matches!(profile, Profile::Pointers | Profile::Mixed));
    let sorts = |integers: usize, pointers: usize| {
        let mut sorts = vec![Sort::Integer; integers];
        sorts.extend(vec![Sort::Pointer; pointers]);
        sorts
    };
    let second = if random.percent(35) { LockSort::ReadWrite } else { LockSort::Mutex };
    let program = Program {
        variables: sorts(integers, pointers),
        locals: sorts(3, pointers),
        locks: vec![LockSort::Mutex, second],
        conditions: 1,
        semaphores: vec![*random.pick(&[0, 0, 1])],
        pipes: 1,
        threads: Vec::new(),
    };
    let total = 6 + random.below(9);
    let mut generator = Generator { random, program, profile, budget: 0, kept: Vec::new() };
    generator.threads(threads, total);
    generator.program
}

pub(super) struct Generator {
    pub(super) random: Random,
    pub(super) program: Program,
    profile: Profile,
    /// Operations that the current thread may still have.
    pub(super) budget: usize,
    /// Locks that the current thread may have taken for good. Taking one again would be re-entrant, which traces leave out.
    pub(super) kept: Vec<usize>,
}

impl Generator {
    fn threads(&mut self, threads: usize, total: usize) {
        // The last thread is forked by main, or by the one before.
        let nested = threads > 2 && self.random.percent(25);
        let mut bodies = Vec::new();
        for thread in 0..threads {
            let share = total / threads + usize::from(thread < total % threads);
            let last = threads - 1;
            let children: Vec<usize> = match thread {
                0 => (1..if nested { last } else { threads }).collect(),
                thread if nested && thread + 1 == last => vec![last],
                _ => Vec::new(),
            };
            bodies.push(self.thread(share, &children));
        }
        self.program.threads = bodies;
    }

    /// A body that forks and joins the children around what it does itself.
    fn thread(&mut self, share: usize, children: &[usize]) -> Vec<Statement> {
        let mut body = Vec::new();
        self.kept.clear();
        let mut left = share;
        let mut some = |generator: &mut Generator, at_most: usize, body: &mut Vec<Statement>| {
            generator.budget = left.min(at_most);
            left -= generator.budget;
            generator.block(0, &mut Vec::new(), body);
            left += generator.budget;
        };
        if !children.is_empty() && self.random.percent(25) {
            some(self, 1, &mut body);
        }
        for &child in children {
            body.push(Statement::Do(Operation::Fork(child)));
            if self.random.percent(30) {
                some(self, 1, &mut body);
            }
        }
        let after = usize::from(!children.is_empty() && self.random.percent(30));
        some(self, share.saturating_sub(after), &mut body);
        for &child in children {
            body.push(Statement::Do(Operation::Join(child)));
        }
        if !children.is_empty() {
            some(self, share, &mut body);
        }
        body
    }

    /// Statements until the budget is used up, or at random when nested.
    pub(super) fn block(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        let weights = self.profile.weights();
        let sum: u32 = weights.iter().map(|(_, weight)| weight).sum();
        for round in 0.. {
            if self.budget == 0 || round > 12 || (depth > 0 && round > 0 && self.random.percent(45)) {
                return;
            }
            let mut ticket = self.random.below(sum as usize) as u32;
            let idiom = weights.iter().find(|(_, weight)| {
                let found = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                found
            });
            let idiom = idiom.map_or(Idiom::Access, |(idiom, _)| *idiom);
            self.idiom(idiom, depth, held, out);
        }
    }
}
