//! Random programs, the same for the same seed and profile: small enough to run all their interleavings, and weighted
//! towards the idioms whose timing decides what happens.

use super::language::{
    Expression, LockSort, Operation, Operator, Order, Patience, Place, Program, Sort, Statement, Update,
};
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
    /// Everything.
    Mixed,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 7] = [
        Profile::Locks,
        Profile::Atomics,
        Profile::Conditions,
        Profile::Tries,
        Profile::Pipes,
        Profile::Pointers,
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
                (Local, 1),
                (Check, 1),
            ],
        }
    }
}

/// What a thread may do at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Idiom {
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
    Local,
    Check,
}

/// A random program.
pub fn generate(profile: Profile, seed: u64) -> Program {
    let mut random = Random::new(seed);
    let threads = *random.pick(&[2, 2, 2, 3, 3, 3, 3, 4]);
    let integers = 1 + random.below(3);
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

struct Generator {
    random: Random,
    program: Program,
    profile: Profile,
    /// Operations that the current thread may still have.
    budget: usize,
    /// Locks that the current thread may have taken for good. Taking one again would be re-entrant, which traces leave out.
    kept: Vec<usize>,
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
    fn block(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
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

    fn idiom(&mut self, idiom: Idiom, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        match idiom {
            Idiom::Access => self.access(out),
            Idiom::Section => self.section(depth, held, out),
            Idiom::Attempt => self.attempt(depth, held, out),
            Idiom::Atomic => self.atomic(out),
            Idiom::Spin => self.spin(depth, held, out),
            Idiom::Fence => {
                let order = self.order();
                self.put(Operation::Fence(order), out);
            }
            Idiom::Await => self.wait(held, out),
            Idiom::Notify => self.notify(held, out),
            Idiom::Semaphore => self.semaphore(out),
            Idiom::Message => self.message(out),
            Idiom::Pointer => self.pointer(depth, out),
            Idiom::Decide => self.decide(depth, held, out),
            Idiom::Local => {
                let (into, value) = (self.local(), self.expression());
                out.push(Statement::Assign { into, value });
            }
            Idiom::Check => out.push(Statement::Assert(self.condition())),
        }
    }

    fn put(&mut self, operation: Operation, out: &mut Vec<Statement>) {
        self.budget = self.budget.saturating_sub(1);
        out.push(Statement::Do(operation));
    }

    fn local(&mut self) -> usize {
        self.random.below(3)
    }

    fn variable(&mut self) -> usize {
        let integers = self.program.variables.iter().filter(|sort| **sort == Sort::Integer).count();
        self.random.below(integers)
    }

    fn constant(&mut self) -> Expression {
        Expression::Constant(*self.random.pick(&[0, 1, 1, 2]))
    }

    fn expression(&mut self) -> Expression {
        let local = Expression::Local(self.local());
        match self.random.below(10) {
            0..=4 => self.constant(),
            5..=6 => local,
            7..=8 => Expression::binary(Operator::Add, local, Expression::Constant(1)),
            _ => {
                let operator = *self.random.pick(&Operator::ALL);
                Expression::binary(operator, local, Expression::Local(self.local()))
            }
        }
    }

    fn condition(&mut self) -> Expression {
        let operator = *self.random.pick(&[Operator::Equal, Operator::Equal, Operator::NotEqual, Operator::Less]);
        let local = Expression::Local(self.local());
        let constant = self.constant();
        Expression::binary(operator, local, constant)
    }

    fn order(&mut self) -> Order {
        match self.random.below(12) {
            0..=3 => Order::Relaxed,
            4..=5 => Order::Sequential,
            6..=8 => Order::Acquire,
            _ => *self.random.pick(&[Order::Release, Order::Release, Order::AcquireRelease]),
        }
    }

    fn load_order(&mut self) -> Order {
        *self.random.pick(&[
            Order::Relaxed,
            Order::Relaxed,
            Order::Relaxed,
            Order::Acquire,
            Order::Acquire,
            Order::Acquire,
            Order::Sequential,
            Order::Consume,
        ])
    }

    fn store_order(&mut self) -> Order {
        *self.random.pick(&[Order::Relaxed, Order::Relaxed, Order::Release, Order::Release, Order::Sequential])
    }

    fn access(&mut self, out: &mut Vec<Statement>) {
        let place = Place::Variable(self.variable());
        if self.random.percent(50) {
            let into = self.local();
            self.put(Operation::Read { place, into, order: None }, out);
        } else {
            let value = self.expression();
            self.put(Operation::Write { place, value, order: None }, out);
        }
    }

    fn atomic(&mut self, out: &mut Vec<Statement>) {
        let variable = self.variable();
        let (place, into) = (Place::Variable(variable), self.local());
        let operation = match self.random.below(12) {
            0..=3 => Operation::Read { place, into, order: Some(self.load_order()) },
            4..=7 => Operation::Write { place, value: self.expression(), order: Some(self.store_order()) },
            8 => {
                let update = Update::Exchange(self.expression());
                Operation::Modify { variable, update, into, order: self.order() }
            }
            9 => Operation::Modify { variable, update: Update::Add(self.constant()), into, order: self.order() },
            _ => {
                let update = Update::Compare { expected: self.constant(), desired: self.expression() };
                Operation::Modify { variable, update, into, order: self.order() }
            }
        };
        self.put(operation, out);
    }

    /// A lock made of a variable: taken by a compare-exchange or an exchange, given up by a store.
    fn spin(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        if depth >= 2 {
            return self.atomic(out);
        }
        let (variable, into) = (self.variable(), self.local());
        let compares = self.random.percent(60);
        let (zero, one) = (Expression::Constant(0), Expression::Constant(1));
        let (update, taken) = if compares {
            (Update::Compare { expected: zero.clone(), desired: one }, 1)
        } else {
            (Update::Exchange(one), 0)
        };
        let order = *self.random.pick(&[Order::Acquire, Order::AcquireRelease, Order::Relaxed, Order::Sequential]);
        self.put(Operation::Modify { variable, update, into, order }, out);
        let mut then = Vec::new();
        self.block(depth + 1, held, &mut then);
        let order = *self.random.pick(&[Order::Release, Order::Release, Order::Relaxed, Order::Sequential]);
        self.put(Operation::Write { place: Place::Variable(variable), value: zero, order: Some(order) }, &mut then);
        out.push(Statement::If { condition: Expression::is(into, taken), then, otherwise: Vec::new() });
    }

    /// A lock that the thread does not hold.
    fn lock(&mut self, held: &[usize]) -> Option<usize> {
        let free: Vec<usize> =
            (0..self.program.locks.len()).filter(|lock| !held.contains(lock) && !self.kept.contains(lock)).collect();
        (!free.is_empty()).then(|| *self.random.pick(&free))
    }

    fn shared(&mut self, lock: usize) -> bool {
        self.program.locks[lock] == LockSort::ReadWrite && self.random.percent(50)
    }

    fn section(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        let Some(lock) = self.lock(held).filter(|_| depth < 3) else { return self.access(out) };
        let shared = self.shared(lock);
        self.put(Operation::Acquire { lock, shared, patience: Patience::Blocking }, out);
        held.push(lock);
        self.block(depth + 1, held, out);
        held.pop();
        self.put(Operation::Release(lock), out);
    }

    /// A try or timed lock; what depends on its result comes at once or later, and it is nearly always given up.
    fn attempt(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        let own = self.random.percent(5);
        let is_mutex = |lock: &usize| self.program.locks[*lock] == LockSort::Mutex;
        let lock = if own { held.last().copied().filter(is_mutex) } else { self.lock(held) };
        let Some(lock) = lock.filter(|_| depth < 3) else { return self.access(out) };
        let (shared, into) = (self.shared(lock), self.local());
        let patience = if self.random.percent(60) { Patience::Try(into) } else { Patience::Timed(into) };
        self.put(Operation::Acquire { lock, shared, patience }, out);
        if self.random.percent(40) {
            // The result must still be there when it is looked at.
            let place = Place::Variable(self.variable());
            let value = self.constant();
            self.put(Operation::Write { place, value, order: None }, out);
        }
        if held.contains(&lock) {
            return;
        }
        if self.random.percent(6) {
            self.kept.push(lock);
            return;
        }
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        held.push(lock);
        self.block(depth + 1, held, &mut then);
        held.pop();
        self.put(Operation::Release(lock), &mut then);
        if self.random.percent(40) {
            self.block(depth + 1, held, &mut otherwise);
        }
        out.push(Statement::If { condition: Expression::is(into, 1), then, otherwise });
    }

    /// Waits under the first mutex, for a value or for the bare notice.
    fn wait(&mut self, held: &mut [usize], out: &mut Vec<Statement>) {
        let takes = !held.contains(&0);
        if takes && self.kept.contains(&0) {
            return self.access(out);
        }
        if takes {
            self.put(Operation::Acquire { lock: 0, shared: false, patience: Patience::Blocking }, out);
        }
        let timed = self.random.percent(25).then(|| self.local());
        let wait = Operation::Wait { condition: 0, mutex: 0, timed };
        let (place, into) = (Place::Variable(self.variable()), (timed.unwrap_or(0) + 1) % 3);
        let read = Operation::Read { place, into, order: None };
        match self.random.below(4) {
            0 => self.put(wait, out),
            1 => {
                self.put(read, out);
                let mut then = Vec::new();
                self.put(wait, &mut then);
                out.push(Statement::If { condition: Expression::is(into, 0), then, otherwise: Vec::new() });
            }
            _ => {
                self.put(read.clone(), out);
                let mut body = Vec::new();
                self.put(wait, &mut body);
                self.put(read, &mut body);
                out.push(Statement::While { condition: Expression::is(into, 0), bound: 2, body });
            }
        }
        if self.random.percent(40) {
            self.access(out);
        }
        if takes {
            self.put(Operation::Release(0), out);
        }
    }

    fn notify(&mut self, held: &mut [usize], out: &mut Vec<Statement>) {
        let takes = !held.contains(&0) && !self.kept.contains(&0) && self.random.percent(70);
        if takes {
            self.put(Operation::Acquire { lock: 0, shared: false, patience: Patience::Blocking }, out);
        }
        if self.random.percent(80) {
            let (place, value) = (Place::Variable(self.variable()), Expression::Constant(1));
            self.put(Operation::Write { place, value, order: None }, out);
        }
        let inside = takes && self.random.percent(60);
        let notice = if self.random.percent(65) { Operation::Signal(0) } else { Operation::Broadcast(0) };
        if inside {
            self.put(notice.clone(), out);
        }
        if takes {
            self.put(Operation::Release(0), out);
        }
        if !inside {
            self.put(notice, out);
        }
    }

    fn semaphore(&mut self, out: &mut Vec<Statement>) {
        let into = self.local();
        let patience = match self.random.below(6) {
            0..=2 => return self.put(Operation::Post(0), out),
            3..=4 => Patience::Blocking,
            _ => *self.random.pick(&[Patience::Try(into), Patience::Timed(into)]),
        };
        self.put(Operation::Take { semaphore: 0, patience }, out);
    }

    fn message(&mut self, out: &mut Vec<Statement>) {
        if self.random.percent(55) {
            let value = self.expression();
            self.put(Operation::Send { pipe: 0, value }, out);
        } else {
            let into = self.local();
            self.put(Operation::Receive { pipe: 0, into }, out);
        }
    }

    fn pointer(&mut self, depth: usize, out: &mut Vec<Statement>) {
        let sort = |sorts: &[Sort]| sorts.iter().position(|sort| *sort == Sort::Pointer);
        let (Some(variable), Some(pointer)) = (sort(&self.program.variables), sort(&self.program.locals)) else {
            return self.access(out);
        };
        let place = Place::Variable(variable);
        let order = self.random.percent(30).then(|| self.load_order());
        match self.random.below(10) {
            0..=2 => {
                self.put(Operation::Allocate { into: pointer }, out);
                if self.random.percent(60) {
                    self.through(pointer, out);
                }
                let order = self.random.percent(30).then(|| self.store_order());
                self.put(Operation::Write { place, value: Expression::Local(pointer), order }, out);
            }
            3..=6 => {
                self.put(Operation::Read { place, into: pointer, order }, out);
                let mut then = Vec::new();
                self.through(pointer, &mut then);
                if depth < 2 && self.random.percent(30) {
                    self.through(pointer, &mut then);
                }
                let set = Expression::binary(Operator::NotEqual, Expression::Local(pointer), Expression::Constant(0));
                match self.random.below(10) {
                    0 => out.append(&mut then),
                    _ => out.push(Statement::If { condition: set, then, otherwise: Vec::new() }),
                }
            }
            7 => self.put(Operation::Write { place, value: Expression::Constant(0), order: None }, out),
            8 => self.put(Operation::Free { pointer }, out),
            _ => {
                let mut then = Vec::new();
                self.through(pointer, &mut then);
                let set = Expression::binary(Operator::NotEqual, Expression::Local(pointer), Expression::Constant(0));
                out.push(Statement::If { condition: set, then, otherwise: Vec::new() });
            }
        }
    }

    fn through(&mut self, pointer: usize, out: &mut Vec<Statement>) {
        let place = Place::Through(pointer);
        match self.random.below(7) {
            0..=2 => {
                let into = self.local();
                self.put(Operation::Read { place, into, order: None }, out);
            }
            3..=5 => {
                let value = self.expression();
                self.put(Operation::Write { place, value, order: None }, out);
            }
            _ => self.put(Operation::Free { pointer }, out),
        }
    }

    fn decide(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        if depth >= 2 {
            return self.access(out);
        }
        let condition = self.condition();
        let mut then = Vec::new();
        self.block(depth + 1, held, &mut then);
        if self.random.percent(15) {
            out.push(Statement::While { condition, bound: 2, body: then });
            return;
        }
        let mut otherwise = Vec::new();
        if self.random.percent(30) {
            self.block(depth + 1, held, &mut otherwise);
        }
        out.push(Statement::If { condition, then, otherwise });
    }
}
