//! What a running program looks like between two steps.

use std::collections::{BTreeMap, VecDeque};

use super::language::{Expression, Operator, Order};
use super::queue::WaitQueue;

/// A value of a variable, local or cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// A number; 0 is also the null pointer.
    Integer(i64),
    /// The address of an allocated cell.
    Address(Block),
    /// What lies in freed memory.
    Freed,
}

/// An allocated cell, named by what never changes between runs: the n-th allocation of a thread. Cells are not reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block {
    /// The thread that allocated it.
    pub thread: usize,
    /// How many allocations of that thread came before.
    pub number: u32,
}

/// What an access touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cell {
    /// A shared variable.
    Variable(usize),
    /// An allocated cell.
    Block(Block),
}

/// What one step did to what is shared. The fields are called after what the program calls them.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Read a cell.
    Read { cell: Cell, value: Value, order: Option<Order> },
    /// Wrote a cell; `constant`: the value is a constant of the code.
    Write { cell: Cell, value: Value, order: Option<Order>, constant: bool },
    /// Read and wrote a cell in one step.
    Modify { cell: Cell, read: Value, written: Value, order: Order, update: UpdateSort, constant: bool },
    /// A compare-exchange that failed; the order is the one of failure.
    FailedCompare { cell: Cell, read: Value, order: Order },
    /// A fence.
    Fence(Order),
    /// Took a lock.
    Acquired { lock: usize, shared: bool, attempt: Attempt },
    /// Did not get a lock.
    FailedAcquire { lock: usize, shared: bool, attempt: Attempt },
    /// Gave up a lock.
    Released { lock: usize, shared: bool },
    /// Released the mutex and began to wait.
    WaitBegan { condition: usize, mutex: usize },
    /// Was woken; still has to take the mutex again.
    Woken { condition: usize, timed: bool },
    /// Gave up waiting; still has to take the mutex again.
    TimedOut { condition: usize },
    /// Woke one waiter or all.
    Notified { condition: usize, all: bool },
    /// Incremented a semaphore.
    Posted(usize),
    /// Decremented a semaphore.
    Taken { semaphore: usize, attempt: Attempt },
    /// Found the semaphore at 0.
    FailedTake { semaphore: usize, attempt: Attempt },
    /// Started a thread.
    Forked(usize),
    /// Saw a thread's end.
    Joined(usize),
    /// Wrote the n-th message of a pipe.
    Sent { pipe: usize, number: u32, value: Value },
    /// Read the n-th message of a pipe.
    Received { pipe: usize, number: u32, value: Value },
    /// Allocated a cell.
    Allocated(Block),
    /// Freed a cell.
    Freed(Block),
    /// Freed the null pointer.
    Nothing,
    /// The whole program ended: an assertion failed, or an address was null or freed twice.
    Aborted,
}

/// How a read-modify-write made its new value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateSort {
    /// Not from the old value.
    Exchange,
    /// From the old value.
    Add,
    /// Only because the old value was the expected one.
    Compare,
}

/// How an acquire or take was attempted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Attempt {
    /// It waits for as long as it takes.
    Blocking,
    /// It does not wait.
    Try,
    /// It waits for a limited time.
    Timed,
}

/// Which step of its statement a step is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// The only step, or the first of a wait.
    Whole,
    /// A wait returns.
    Return,
    /// A wait that returned or timed out takes its mutex again.
    Reacquire,
}

/// A thread decided by its locals, after it had read since it last did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decision {
    /// The statement that decides.
    pub site: usize,
    /// It decides by a computed address or by what it sends, not by a condition.
    pub implicit: bool,
}

/// What a step of a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Happened {
    /// The thread.
    pub thread: usize,
    /// The statement.
    pub site: usize,
    /// Which step of it.
    pub part: Part,
    /// What it did.
    pub effect: Effect,
    /// The step touched memory that was freed, or null.
    pub memory_error: bool,
    /// What the thread then decided, before it came to its next step.
    pub decision: Option<Decision>,
    /// What a thread that was forked decided before it came to its first step.
    pub born: Option<Decision>,
}

/// A running program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub(crate) threads: Vec<Thread>,
    pub(crate) variables: Vec<Value>,
    pub(crate) blocks: BTreeMap<Block, Content>,
    pub(crate) locks: Vec<Holders>,
    pub(crate) conditions: Vec<WaitQueue<()>>,
    pub(crate) semaphores: Vec<u32>,
    pub(crate) pipes: Vec<Pipe>,
    /// The whole program has ended by a failure at this site.
    pub(crate) aborted: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Thread {
    pub(crate) life: Life,
    /// The next instruction: after settling a step, a failing assertion, or the end of the code.
    pub(crate) at: usize,
    pub(crate) phase: Phase,
    pub(crate) locals: Vec<Value>,
    /// Rounds that each loop has had.
    pub(crate) rounds: Vec<u32>,
    /// It has read something since it last decided. What a thread is forked with counts as read.
    pub(crate) has_read: bool,
    pub(crate) allocations: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Life {
    Unborn,
    Running,
    Ended,
    Joined,
}

/// Where a thread is within a wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase {
    Outside,
    Waiting,
    Returned,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Content {
    pub(crate) value: Value,
    pub(crate) freed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Holders {
    pub(crate) owner: Option<usize>,
    /// Sorted.
    pub(crate) readers: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Pipe {
    pub(crate) sent: u32,
    pub(crate) received: u32,
    pub(crate) messages: VecDeque<Value>,
}

impl Holders {
    /// The threads that keep an acquire waiting; the asking thread itself may be among them.
    pub(crate) fn against(&self, shared: bool) -> impl Iterator<Item = usize> + '_ {
        self.owner.into_iter().chain(self.readers.iter().copied().filter(move |_| !shared))
    }

    pub(crate) fn are_against(&self, shared: bool) -> bool {
        self.against(shared).next().is_some()
    }

    pub(crate) fn enter(&mut self, thread: usize, shared: bool) {
        if shared {
            self.readers.push(thread);
            self.readers.sort_unstable();
        } else {
            self.owner = Some(thread);
        }
    }
}

impl Value {
    /// Null, or the number zero.
    pub const ZERO: Value = Value::Integer(0);

    fn number(self) -> i64 {
        match self {
            Value::Integer(number) => number,
            Value::Address(_) | Value::Freed => 0,
        }
    }
}

impl Expression {
    pub(crate) fn value(&self, locals: &[Value]) -> Value {
        match self {
            Expression::Constant(value) => Value::Integer(*value),
            Expression::Local(local) => locals[*local],
            Expression::Binary(operator, left, right) => {
                let (left, right) = (left.value(locals), right.value(locals));
                let (a, b) = (left.number(), right.number());
                Value::Integer(match operator {
                    Operator::Add => a.wrapping_add(b),
                    Operator::Subtract => a.wrapping_sub(b),
                    Operator::Equal => (left == right).into(),
                    Operator::NotEqual => (left != right).into(),
                    Operator::Less => (a < b).into(),
                })
            }
        }
    }

    pub(crate) fn holds(&self, locals: &[Value]) -> bool {
        self.value(locals) != Value::ZERO
    }
}

/// What a thread does next, if it may choose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// The next step as it stands.
    Go,
    /// A timed wait gives up.
    TimeOut,
}
