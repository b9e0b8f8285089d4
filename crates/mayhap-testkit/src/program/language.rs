//! A tiny concurrent language: what the programs of the program-level oracle are written in.
//!
//! A program is a set of threads over shared variables, locks, conditions, semaphores and pipes. Each thread has its own
//! locals; all else is shared. Only an [`Operation`] touches what is shared, and each is one step (a wait on a condition
//! is three). Everything a thread does otherwise (assignments, `if`, `while`, `assert`) depends on its locals alone.
//!
//! Values are sequentially consistent: a read returns the last write. Memory orders decide about happens-before only.

use std::fmt;

/// A whole program. Thread 0 is main and runs from the start; the others run once they are forked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Shared variables; all start as 0 or the null pointer.
    pub variables: Vec<Sort>,
    /// Locals of each thread; all start as 0 or the null pointer.
    pub locals: Vec<Sort>,
    /// Locks.
    pub locks: Vec<LockSort>,
    /// How many condition variables there are.
    pub conditions: usize,
    /// Semaphores with their initial counts.
    pub semaphores: Vec<u32>,
    /// How many pipes there are.
    pub pipes: usize,
    /// The code of each thread.
    pub threads: Vec<Vec<Statement>>,
}

/// What a variable or local holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// A number.
    Integer,
    /// The address of an allocated cell, or null.
    Pointer,
}

/// What sort of lock a lock is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockSort {
    /// Exclusive, not recursive.
    Mutex,
    /// Many readers or one writer.
    ReadWrite,
}

/// One statement of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Sets a local.
    Assign {
        /// The local.
        into: usize,
        /// Its new value.
        value: Expression,
    },
    /// Touches what is shared.
    Do(Operation),
    /// Decides by locals.
    If {
        /// The first part runs if this is not 0.
        condition: Expression,
        /// The first part.
        then: Vec<Statement>,
        /// The second part.
        otherwise: Vec<Statement>,
    },
    /// Repeats while the condition is not 0, at most `bound` times.
    While {
        /// Tested before each round.
        condition: Expression,
        /// Rounds at most.
        bound: u32,
        /// One round.
        body: Vec<Statement>,
    },
    /// Ends the whole program if the condition is 0.
    Assert(Expression),
}

/// A value computed from locals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// A number; 0 is also the null pointer.
    Constant(i64),
    /// The value of a local.
    Local(usize),
    /// Two values combined. Pointers can only be compared for equality.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// How two values are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// 1 if equal.
    Equal,
    /// 1 if not equal.
    NotEqual,
    /// 1 if the first is less.
    Less,
}

/// What an access touches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A shared variable.
    Variable(usize),
    /// The cell that a pointer in a local points to.
    Through(usize),
}

/// How long an operation waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Patience {
    /// For as long as it takes.
    Blocking,
    /// Not at all; the local becomes 1 if it succeeded, else 0.
    Try(usize),
    /// For a limited time; the local becomes 1 if it succeeded, else 0.
    Timed(usize),
}

/// Memory orders of C11. Consume is treated as acquire, as compilers do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// No ordering.
    Relaxed,
    /// Treated as acquire.
    Consume,
    /// Synchronises with the release that it reads from.
    Acquire,
    /// Synchronises with acquires that read from it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, in one total order.
    Sequential,
}

/// How a read-modify-write makes its new value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Update {
    /// Stores the value.
    Exchange(Expression),
    /// Adds the value.
    Add(Expression),
    /// Stores `desired` if the old value is `expected`; the local becomes 1 if so, else 0.
    Compare {
        /// Compared with the old value.
        expected: Expression,
        /// Stored if equal.
        desired: Expression,
    },
}

/// What touches shared things. All indices are into the tables of the [`Program`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Reads into a local; atomic if it has an order.
    Read {
        /// What is read.
        place: Place,
        /// The local that gets the value.
        into: usize,
        /// The memory order of an atomic read.
        order: Option<Order>,
    },
    /// Writes a value; atomic if it has an order.
    Write {
        /// What is written.
        place: Place,
        /// The value.
        value: Expression,
        /// The memory order of an atomic write.
        order: Option<Order>,
    },
    /// Reads and writes an integer in one step. `into` gets the old value, or whether a compare succeeded.
    Modify {
        /// The variable.
        variable: usize,
        /// How.
        update: Update,
        /// The local that gets the result.
        into: usize,
        /// The memory order.
        order: Order,
    },
    /// A fence.
    Fence(Order),
    /// Takes a lock.
    Acquire {
        /// The lock.
        lock: usize,
        /// As a reader.
        shared: bool,
        /// How long it waits.
        patience: Patience,
    },
    /// Gives up a lock that the thread holds, in whichever mode.
    Release(usize),
    /// Releases the mutex, waits for a notice, takes the mutex again.
    Wait {
        /// The condition.
        condition: usize,
        /// The mutex, which the thread holds.
        mutex: usize,
        /// A timed wait says in this local whether it was woken (1) or timed out (0).
        timed: Option<usize>,
    },
    /// Wakes one waiter of a condition.
    Signal(usize),
    /// Wakes all waiters of a condition.
    Broadcast(usize),
    /// Increments a semaphore.
    Post(usize),
    /// Decrements a semaphore that is not 0.
    Take {
        /// The semaphore.
        semaphore: usize,
        /// How long it waits.
        patience: Patience,
    },
    /// Starts a thread.
    Fork(usize),
    /// Waits for a thread's end.
    Join(usize),
    /// Writes one message to a pipe. Never waits: pipes hold more than a program writes.
    Send {
        /// The pipe.
        pipe: usize,
        /// The message.
        value: Expression,
    },
    /// Reads one message from a pipe, waiting for one.
    Receive {
        /// The pipe.
        pipe: usize,
        /// The local that gets the message.
        into: usize,
    },
    /// Allocates a cell that holds 0.
    Allocate {
        /// The local that gets its address.
        into: usize,
    },
    /// Frees the cell that the local points to.
    Free {
        /// The local with the address.
        pointer: usize,
    },
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 6] =
        [Order::Relaxed, Order::Consume, Order::Acquire, Order::Release, Order::AcquireRelease, Order::Sequential];

    /// Reads of this order synchronise with the release they read from.
    pub fn acquires(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Release)
    }

    /// Writes of this order are what acquires synchronise with.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease | Order::Sequential)
    }

    /// The order of a compare-exchange that fails, which is a load.
    pub fn of_failure(self) -> Order {
        match self {
            Order::Release => Order::Relaxed,
            Order::AcquireRelease => Order::Acquire,
            other => other,
        }
    }
}

impl Operation {
    /// An access through a pointer: its address is computed.
    pub fn has_computed_address(&self) -> bool {
        matches!(
            self,
            Operation::Read { place: Place::Through(_), .. }
                | Operation::Write { place: Place::Through(_), .. }
                | Operation::Free { .. }
        )
    }
}

impl Expression {
    /// Returns a combination of two values.
    pub fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
        Expression::Binary(operator, Box::new(left), Box::new(right))
    }

    /// The local equals the constant.
    pub fn is(local: usize, constant: i64) -> Expression {
        Expression::binary(Operator::Equal, Expression::Local(local), Expression::Constant(constant))
    }

    /// The value is the same in every run.
    pub fn is_constant(&self) -> bool {
        match self {
            Expression::Constant(_) => true,
            Expression::Local(_) => false,
            Expression::Binary(_, left, right) => left.is_constant() && right.is_constant(),
        }
    }
}

impl Program {
    /// How many operations the code has.
    pub fn operations(&self) -> usize {
        self.threads.iter().map(|body| count(body)).sum()
    }
}

fn count(body: &[Statement]) -> usize {
    body.iter()
        .map(|statement| match statement {
            Statement::Do(_) => 1,
            Statement::If { then, otherwise, .. } => count(then) + count(otherwise),
            Statement::While { body, .. } => count(body),
            Statement::Assign { .. } | Statement::Assert(_) => 0,
        })
        .sum()
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Constant(value) => write!(f, "{value}"),
            Expression::Local(local) => write!(f, "l{local}"),
            Expression::Binary(operator, left, right) => write!(f, "({left} {} {right})", operator.symbol()),
        }
    }
}

impl Operator {
    /// All operators.
    pub const ALL: [Operator; 5] =
        [Operator::Add, Operator::Subtract, Operator::Equal, Operator::NotEqual, Operator::Less];

    /// As C writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
        }
    }
}
