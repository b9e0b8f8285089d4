//! What runs look like as traces.

use mayhap_trace::format::std_text::write_events;
use mayhap_trace::{ConditionKind, Relations};

use super::super::language::{
    Expression, LockSort, Operation, Operator, Order, Patience, Place, Program, Sort, Statement, Update,
};
use super::super::{Machine, Profile, generate};
use super::*;
use crate::Random;

fn act(operation: Operation) -> Statement {
    Statement::Do(operation)
}

fn program(threads: Vec<Vec<Statement>>) -> Program {
    Program {
        variables: vec![Sort::Integer, Sort::Pointer],
        locals: vec![Sort::Integer, Sort::Pointer],
        locks: vec![LockSort::Mutex, LockSort::ReadWrite],
        conditions: 1,
        semaphores: vec![1],
        pipes: 1,
        threads,
    }
}

/// The events of a run that does not depend on who runs when, without locations.
fn events(program: &Program) -> Vec<String> {
    let machine = Machine::new(program);
    let recording = Recording::random(&machine, &mut Random::new(1)).unwrap();
    let lowered = lower(&machine, &recording);
    let mut text = Vec::new();
    write_events(&mut text, lowered.trace.columns(), lowered.trace.tables()).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once('|').unwrap().0.to_string())
        .collect()
}

fn main_events(body: Vec<Statement>) -> Vec<String> {
    events(&program(vec![body])).iter().map(|event| event.replace("main|", "")).collect()
}

fn modify(update: Update, order: Order) -> Statement {
    act(Operation::Modify { variable: 0, update, into: 0, order })
}

#[test]
fn read_modify_writes_are_joined() {
    let compare =
        |expected| Update::Compare { expected: Expression::Constant(expected), desired: Expression::Local(0) };
    let body = vec![
        modify(Update::Add(Expression::Constant(5)), Order::Relaxed),
        modify(Update::Exchange(Expression::Constant(7)), Order::AcquireRelease),
        modify(compare(7), Order::Sequential),
        modify(compare(9), Order::Release),
    ];
    let expected = [
        "r.rlx(x0)=0",
        "w.rlx.joined(x0)=5",
        "r.ar(x0)=5",
        "w.ar.joined.const.indep(x0)=7",
        "r.sc(x0)=7",
        "br.joined",
        "w.sc.joined(x0)=5",
        "r.rlx(x0)=5",
        "br.joined",
    ];
    assert_eq!(main_events(body), expected);
}

#[test]
fn failed_attempts_are_events_of_their_own() {
    let acquire = |lock, shared, patience| act(Operation::Acquire { lock, shared, patience });
    let take = |patience| act(Operation::Take { semaphore: 0, patience });
    let body = vec![
        acquire(0, false, Patience::Timed(0)),
        acquire(0, false, Patience::Try(0)),
        acquire(1, true, Patience::Try(0)),
        acquire(1, false, Patience::Try(0)),
        take(Patience::Try(0)),
        take(Patience::Timed(0)),
        act(Operation::Post(0)),
    ];
    let expected = [
        "acq.timed(m0)",
        "facq.try(m0)",
        "racq.try(m1)",
        "facq.try(m1)",
        "wait.try(s0)",
        "fwait.timed(s0)",
        "notify(s0)",
    ];
    assert_eq!(main_events(body), expected);
}

#[test]
fn branches_stand_where_something_read_decides() {
    let read = |place, into| act(Operation::Read { place, into, order: None });
    let write = |place, value| act(Operation::Write { place, value, order: None });
    let test = || Statement::If { condition: Expression::Local(0), then: Vec::new(), otherwise: Vec::new() };
    let sum = Expression::binary(Operator::Add, Expression::Local(0), Expression::Constant(1));
    let body = vec![
        test(),
        read(Place::Variable(0), 0),
        test(),
        test(),
        act(Operation::Allocate { into: 1 }),
        write(Place::Variable(1), Expression::Local(1)),
        read(Place::Variable(1), 1),
        write(Place::Through(1), sum),
        read(Place::Through(1), 0),
        act(Operation::Send { pipe: 0, value: Expression::Local(0) }),
        act(Operation::Free { pointer: 1 }),
    ];
    let expected = [
        "r(x0)=0",
        "br",
        "w(x1)=&0+0",
        "r(x1)=&0+0",
        "br.implicit",
        "w(main#0)=1",
        "r(main#0)=1",
        "br.implicit",
        "notify(p0.message0)",
        "w.free(main#0)",
    ];
    assert_eq!(main_events(body), expected);
}

#[test]
fn a_timed_wait_that_times_out_leaves_no_wait() {
    let body = vec![
        act(Operation::Acquire { lock: 0, shared: false, patience: Patience::Blocking }),
        act(Operation::Wait { condition: 0, mutex: 0, timed: Some(0) }),
        act(Operation::Release(0)),
    ];
    assert_eq!(main_events(body), ["acq(m0)", "rel(m0)", "acq(m0)", "rel(m0)"]);
}

#[test]
fn each_message_and_each_end_of_a_pipe_is_ordered() {
    let send = || act(Operation::Send { pipe: 0, value: Expression::Constant(1) });
    let receive = || act(Operation::Receive { pipe: 0, into: 0 });
    let main = vec![send(), act(Operation::Fork(1)), act(Operation::Join(1)), receive()];
    let program = program(vec![main, vec![receive(), send()]]);
    let expected = [
        "main|notify(p0.message0)",
        "main|notify(p0.send1)",
        "main|fork(t1)",
        "t1|wait(p0.message0)",
        "t1|notify(p0.receive1)",
        "t1|br.implicit",
        "t1|wait(p0.send1)",
        "t1|notify(p0.message1)",
        "main|join(t1)",
        "main|wait(p0.receive1)",
        "main|wait(p0.message1)",
    ];
    assert_eq!(events(&program), expected);
}

#[test]
fn kinds_are_those_of_the_program() {
    let machine = Machine::new(&program(vec![vec![act(Operation::Post(0))]]));
    let recording = Recording::random(&machine, &mut Random::new(0)).unwrap();
    let tables = lower(&machine, &recording).trace.into_parts().1;
    assert_eq!(tables.condition_kinds.get(0), ConditionKind::Condition);
    assert_eq!(tables.condition_kinds.get(1), ConditionKind::Semaphore { initial: 1 });
    assert_eq!((tables.lock_kinds.get(0), tables.lock_kinds.get(1)), (LockKind::Mutex, LockKind::RwLock));
}

#[test]
fn traces_of_generated_programs_are_well_formed() {
    for (seed, profile) in Profile::ALL.iter().cycle().enumerate().take(crate::cases(500)) {
        let machine = Machine::new(&generate(*profile, seed as u64));
        let recording = Recording::random(&machine, &mut Random::new(seed as u64)).unwrap();
        let lowered = lower(&machine, &recording);
        assert_eq!(lowered.origins.len(), lowered.trace.len());
        if let Err(error) = Relations::derive(&lowered.trace) {
            panic!("{profile:?} {seed}: {error}");
        }
    }
}
