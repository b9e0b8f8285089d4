//! What each operation does to what is shared. The interpreter has seen to it that the operation does not have to wait.

use super::language::{Operation, Order, Patience, Place, Update};
use super::state::{Attempt, Block, Cell, Choice, Content, Effect, Phase, State, UpdateSort, Value};

pub(super) fn block_of(value: Value) -> Option<Block> {
    match value {
        Value::Address(block) => Some(block),
        Value::Integer(_) | Value::Freed => None,
    }
}

/// Runs an access. Also says whether it was a memory error.
pub(super) fn access(state: &mut State, thread: usize, operation: &Operation) -> (Effect, bool) {
    let State { threads, variables, blocks, .. } = state;
    let locals = &mut threads[thread].locals;
    let place = match operation {
        Operation::Read { place, .. } | Operation::Write { place, .. } => *place,
        Operation::Modify { variable, .. } => Place::Variable(*variable),
        Operation::Free { pointer } if locals[*pointer] == Value::ZERO => return (Effect::Nothing, false),
        Operation::Free { pointer } => Place::Through(*pointer),
        _ => unreachable!("no access"),
    };
    let content = match place {
        Place::Variable(variable) => {
            Some((Cell::Variable(variable), Content { value: variables[variable], freed: false }))
        }
        Place::Through(pointer) => block_of(locals[pointer])
            .and_then(|block| blocks.get(&block).map(|content| (Cell::Block(block), content.clone()))),
    };
    let Some((cell, content)) = content else { return (Effect::Aborted, true) };
    let old = content.value;
    let (effect, new) = match operation {
        Operation::Read { into, order, .. } => {
            locals[*into] = old;
            (Effect::Read { cell, value: old, order: *order }, None)
        }
        Operation::Write { value, order, .. } => {
            let (constant, value) = (value.is_constant(), value.value(locals));
            (Effect::Write { cell, value, order: *order, constant }, Some(value))
        }
        Operation::Modify { update, into, order, .. } => modify(locals, cell, old, update, *into, *order),
        _ if content.freed => return (Effect::Aborted, true),
        _ => match cell {
            Cell::Block(block) => (Effect::Freed(block), Some(Value::Freed)),
            Cell::Variable(_) => unreachable!("only blocks are freed"),
        },
    };
    if let Some(value) = new {
        match cell {
            Cell::Variable(variable) => variables[variable] = value,
            Cell::Block(block) => {
                let freed = content.freed || matches!(effect, Effect::Freed(_));
                blocks.insert(block, Content { value, freed });
            }
        }
    }
    (effect, content.freed)
}

fn modify(
    locals: &mut [Value],
    cell: Cell,
    read: Value,
    update: &Update,
    into: usize,
    order: Order,
) -> (Effect, Option<Value>) {
    let (sort, written, constant, result) = match update {
        Update::Exchange(value) => (UpdateSort::Exchange, value.value(locals), value.is_constant(), read),
        Update::Add(value) => {
            let sum = match (read, value.value(locals)) {
                (Value::Integer(a), Value::Integer(b)) => a.wrapping_add(b),
                _ => 0,
            };
            (UpdateSort::Add, Value::Integer(sum), false, read)
        }
        Update::Compare { expected, desired } => {
            if expected.value(locals) != read {
                locals[into] = Value::ZERO;
                return (Effect::FailedCompare { cell, read, order: order.of_failure() }, None);
            }
            (UpdateSort::Compare, desired.value(locals), desired.is_constant(), Value::Integer(1))
        }
    };
    locals[into] = result;
    (Effect::Modify { cell, read, written, order, update: sort, constant }, Some(written))
}

/// Runs the next step of a wait. None if the thread does not hold the mutex.
pub(super) fn wait(
    state: &mut State,
    thread: usize,
    choice: Choice,
    (condition, mutex, timed): (usize, usize, Option<usize>),
) -> Option<Effect> {
    let me = &mut state.threads[thread];
    match (me.phase, choice) {
        (Phase::Outside, _) => {
            release(state, thread, mutex)?;
            state.conditions[condition].begin(thread);
            Some(Effect::WaitBegan { condition, mutex })
        }
        (Phase::Waiting, Choice::Go) => {
            state.conditions[condition].take(thread);
            if let Some(into) = timed {
                me.locals[into] = Value::Integer(1);
            }
            Some(Effect::Woken { condition, timed: timed.is_some() })
        }
        (Phase::Waiting, Choice::TimeOut) => {
            state.conditions[condition].leave(thread);
            let into = timed.expect("only timed waits time out");
            me.locals[into] = Value::ZERO;
            Some(Effect::TimedOut { condition })
        }
        (Phase::Returned, _) => {
            state.locks[mutex].enter(thread, false);
            Some(Effect::Acquired { lock: mutex, shared: false, attempt: Attempt::Blocking })
        }
    }
}

/// Gives up a lock. None if the thread does not hold it.
pub(super) fn release(state: &mut State, thread: usize, lock: usize) -> Option<Effect> {
    let holders = &mut state.locks[lock];
    if holders.owner == Some(thread) {
        holders.owner = None;
        return Some(Effect::Released { lock, shared: false });
    }
    let place = holders.readers.iter().position(|&reader| reader == thread)?;
    holders.readers.remove(place);
    Some(Effect::Released { lock, shared: true })
}

/// Runs an operation that is no access and can go wrong in no way.
pub(super) fn synchronise(state: &mut State, thread: usize, operation: &Operation) -> Effect {
    let me = &mut state.threads[thread];
    let report = |locals: &mut [Value], patience: Patience, success: bool| match patience {
        Patience::Blocking => Attempt::Blocking,
        Patience::Try(into) => {
            locals[into] = Value::Integer(success.into());
            Attempt::Try
        }
        Patience::Timed(into) => {
            locals[into] = Value::Integer(success.into());
            Attempt::Timed
        }
    };
    match operation {
        Operation::Fence(order) => Effect::Fence(*order),
        Operation::Acquire { lock, shared, patience } => {
            let (lock, shared) = (*lock, *shared);
            let success = !state.locks[lock].are_against(shared);
            let attempt = report(&mut me.locals, *patience, success);
            if success {
                state.locks[lock].enter(thread, shared);
                Effect::Acquired { lock, shared, attempt }
            } else {
                Effect::FailedAcquire { lock, shared, attempt }
            }
        }
        Operation::Signal(condition) | Operation::Broadcast(condition) => {
            let all = matches!(operation, Operation::Broadcast(_));
            state.conditions[*condition].notify(all, ());
            Effect::Notified { condition: *condition, all }
        }
        Operation::Post(semaphore) => {
            state.semaphores[*semaphore] += 1;
            Effect::Posted(*semaphore)
        }
        Operation::Take { semaphore, patience } => {
            let success = state.semaphores[*semaphore] > 0;
            let (semaphore, attempt) = (*semaphore, report(&mut me.locals, *patience, success));
            if success {
                state.semaphores[semaphore] -= 1;
                Effect::Taken { semaphore, attempt }
            } else {
                Effect::FailedTake { semaphore, attempt }
            }
        }
        Operation::Send { pipe, value } => {
            let value = value.value(&me.locals);
            let queue = &mut state.pipes[*pipe];
            queue.messages.push_back(value);
            queue.sent += 1;
            Effect::Sent { pipe: *pipe, number: queue.sent - 1, value }
        }
        Operation::Receive { pipe, into } => {
            let queue = &mut state.pipes[*pipe];
            let value = queue.messages.pop_front().expect("a receive waits for a message");
            queue.received += 1;
            me.locals[*into] = value;
            Effect::Received { pipe: *pipe, number: queue.received - 1, value }
        }
        Operation::Allocate { into } => {
            let block = Block { thread, number: me.allocations };
            me.allocations += 1;
            me.locals[*into] = Value::Address(block);
            state.blocks.insert(block, Content { value: Value::ZERO, freed: false });
            Effect::Allocated(block)
        }
        _ => unreachable!("stepped elsewhere"),
    }
}
