//! What the threads of random programs do: accesses, sections, waits and all else whose timing may matter.

use super::generate::{Generator, Idiom};
use super::language::{Expression, LockSort, Operation, Operator, Order, Patience, Place, Sort, Statement, Update};

impl Generator {
    /// Adds an idiom.
    pub(super) fn idiom(&mut self, idiom: Idiom, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
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
            Idiom::Copy => self.copy(out),
            Idiom::Guard => self.guard(depth, held, out),
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

    /// Writes what was read to another variable.
    fn copy(&mut self, out: &mut Vec<Statement>) {
        let (from, to, into) = (self.variable(), self.variable(), self.local());
        self.put(Operation::Read { place: Place::Variable(from), into, order: None }, out);
        let value = match self.random.below(4) {
            0 => Expression::binary(Operator::Add, Expression::Local(into), Expression::Constant(1)),
            _ => Expression::Local(into),
        };
        self.put(Operation::Write { place: Place::Variable(to), value, order: None }, out);
    }

    /// Does something if a variable is no longer 0.
    fn guard(&mut self, depth: usize, held: &mut Vec<usize>, out: &mut Vec<Statement>) {
        if depth >= 2 {
            return self.access(out);
        }
        let (from, into) = (self.variable(), self.local());
        self.put(Operation::Read { place: Place::Variable(from), into, order: None }, out);
        let mut then = Vec::new();
        self.block(depth + 1, held, &mut then);
        let set = Expression::binary(Operator::NotEqual, Expression::Local(into), Expression::Constant(0));
        out.push(Statement::If { condition: set, then, otherwise: Vec::new() });
    }
}
