//! The interpreter against programs whose executions are counted by hand, and against the same programs in C.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use super::language::{Expression, LockSort, Operation, Operator, Order, Patience, Place, Sort, Statement, Update};
use super::*;
use crate::Random;

fn act(operation: Operation) -> Statement {
    Statement::Do(operation)
}

fn read(variable: usize, into: usize) -> Statement {
    act(Operation::Read { place: Place::Variable(variable), into, order: None })
}

fn write(variable: usize, value: i64) -> Statement {
    act(Operation::Write { place: Place::Variable(variable), value: Expression::Constant(value), order: None })
}

fn load(variable: usize, into: usize, order: Order) -> Statement {
    act(Operation::Read { place: Place::Variable(variable), into, order: Some(order) })
}

fn store(variable: usize, value: i64, order: Order) -> Statement {
    let value = Expression::Constant(value);
    act(Operation::Write { place: Place::Variable(variable), value, order: Some(order) })
}

fn lock(lock: usize) -> Statement {
    act(Operation::Acquire { lock, shared: false, patience: Patience::Blocking })
}

fn unlock(lock: usize) -> Statement {
    act(Operation::Release(lock))
}

fn when(condition: Expression, then: Vec<Statement>) -> Statement {
    Statement::If { condition, then, otherwise: Vec::new() }
}

/// Main forks and joins threads with these bodies; sites of the first body start at twice their number.
fn program(bodies: Vec<Vec<Statement>>) -> Program {
    let forks = (1..=bodies.len()).map(|thread| act(Operation::Fork(thread)));
    let joins = (1..=bodies.len()).map(|thread| act(Operation::Join(thread)));
    let mut threads = vec![forks.chain(joins).collect()];
    threads.extend(bodies);
    Program {
        variables: vec![Sort::Integer, Sort::Integer, Sort::Pointer],
        locals: vec![Sort::Integer, Sort::Integer, Sort::Pointer],
        locks: vec![LockSort::Mutex, LockSort::Mutex],
        conditions: 1,
        semaphores: vec![0],
        pipes: 1,
        threads,
    }
}

fn facts(program: &Program) -> Facts {
    explore(&Machine::new(program), Rules::Free, true, 100_000).unwrap()
}

/// Returns the final values of the first variable.
fn ends(facts: &Facts) -> BTreeSet<Value> {
    let first = |outcome: &Outcome| match outcome {
        Outcome::Ended { variables, .. } => Some(variables[0]),
        _ => None,
    };
    facts.outcomes.iter().filter_map(first).collect()
}

fn increment() -> Vec<Statement> {
    let value = Expression::binary(Operator::Add, Expression::Local(0), Expression::Constant(1));
    vec![read(0, 0), act(Operation::Write { place: Place::Variable(0), value, order: None })]
}

#[test]
fn an_increment_in_two_steps_can_be_lost_and_races() {
    let facts = facts(&program(vec![increment(), increment()]));
    assert_eq!(ends(&facts), [1, 2].map(Value::Integer).into());
    // Sites 4 and 5 are the first thread's read and write, 6 and 7 the second's.
    let side = |site: u32| (site, site % 2 == 1);
    let races = |a: u32, b: u32| facts.both_next.contains(&(side(a), side(b)));
    assert!(races(4, 7) && races(5, 6) && races(5, 7) && !races(4, 6));
    assert_eq!(facts.values[&4], [0, 1].map(Value::Integer).into());
}

#[test]
fn an_increment_under_a_lock_is_not_lost_and_does_not_race() {
    let guarded = || [vec![lock(0)], increment(), vec![unlock(0)]].concat();
    let facts = facts(&program(vec![guarded(), guarded()]));
    assert_eq!(ends(&facts), [Value::Integer(2)].into());
    assert!(facts.both_next.is_empty() && facts.unordered.is_empty() && facts.deadlocks.is_empty());
}

#[test]
fn states_of_independent_threads_multiply() {
    let body = |variable| vec![write(variable, 1), write(variable, 2)];
    let machine = Machine::new(&program(vec![body(0), body(1)]));
    let facts = explore(&machine, Rules::Free, false, 1_000).unwrap();
    // Before the second fork the first thread has run 0 to 2 steps; then each has; then both joins. Before the forks: 1.
    assert_eq!(facts.states, 1 + 3 + 9 + 3 + 1);
}

#[test]
fn locks_in_both_orders_can_deadlock() {
    let nested = |a, b| vec![lock(a), lock(b), unlock(b), unlock(a)];
    let facts = facts(&program(vec![nested(0, 1), nested(1, 0)]));
    assert_eq!(facts.deadlocks, [vec![5, 9]].into());
    assert!(facts.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Stuck(who) if who.len() == 3)));
}

#[test]
fn a_signal_that_comes_first_is_lost() {
    let wait = act(Operation::Wait { condition: 0, mutex: 0, timed: None });
    let waiter = vec![lock(0), wait.clone(), unlock(0)];
    let facts = facts(&program(vec![waiter, vec![act(Operation::Signal(0))]]));
    assert_eq!(facts.lost_wake_ups(), [5].into());
    assert_eq!(ends(&facts), [Value::ZERO].into());
    let guarded = vec![
        lock(0),
        read(0, 0),
        Statement::While { condition: Expression::is(0, 0), bound: 3, body: vec![wait, read(0, 0)] },
        unlock(0),
    ];
    let facts =
        super::tests::facts(&program(vec![guarded, vec![lock(0), write(0, 1), act(Operation::Signal(0)), unlock(0)]]));
    assert_eq!(facts.lost_wake_ups(), [].into());
}

/// Thread 1 writes x and publishes by y, thread 2 reads y and then x: sites 4 to 8.
fn message_passing(publish: Vec<Statement>, receive: Vec<Statement>) -> Program {
    let after = publish.len() as u32;
    assert!(after <= 2);
    let first = [vec![write(0, 1)], publish].concat();
    let second = [receive, vec![when(Expression::is(0, 1), vec![read(0, 1)])]].concat();
    program(vec![first, second])
}

fn is_racy(program: &Program) -> (bool, bool) {
    let facts = facts(program);
    (!facts.both_next.is_empty(), !facts.unordered.is_empty())
}

#[test]
fn memory_orders_decide_about_happens_before() {
    use Order::*;
    let fence = |order| act(Operation::Fence(order));
    let passing = |publish, receive| is_racy(&message_passing(publish, receive));
    assert_eq!(passing(vec![store(1, 1, Relaxed)], vec![load(1, 0, Relaxed)]), (false, true));
    assert_eq!(passing(vec![store(1, 1, Release)], vec![load(1, 0, Relaxed)]), (false, true));
    assert_eq!(passing(vec![store(1, 1, Release)], vec![load(1, 0, Acquire)]), (false, false));
    assert_eq!(passing(vec![store(1, 1, Sequential)], vec![load(1, 0, Sequential)]), (false, false));
    let fenced = vec![fence(Release), store(1, 1, Relaxed)];
    assert_eq!(passing(fenced.clone(), vec![load(1, 0, Relaxed), fence(Acquire)]), (false, false));
    assert_eq!(passing(fenced, vec![fence(Acquire), load(1, 0, Relaxed)]), (false, true));
}

#[test]
fn a_release_sequence_goes_on_through_read_modify_writes_only() {
    use Order::*;
    let publish = vec![write(0, 1), store(1, 1, Release)];
    let update = |order| {
        let update = Update::Add(Expression::Constant(1));
        act(Operation::Modify { variable: 1, update, into: 0, order })
    };
    let receive = |value| vec![load(1, 0, Acquire), when(Expression::is(0, value), vec![read(0, 1)])];
    let through = program(vec![publish.clone(), vec![update(Relaxed)], receive(2)]);
    assert_eq!(is_racy(&through), (false, false));
    let broken = program(vec![publish, vec![store(1, 2, Relaxed)], receive(2)]);
    assert!(is_racy(&broken).1);
}

#[test]
fn one_compare_exchange_of_two_succeeds() {
    let compare = |desired| {
        let update = Update::Compare { expected: Expression::Constant(0), desired: Expression::Constant(desired) };
        vec![act(Operation::Modify { variable: 0, update, into: 0, order: Order::Sequential })]
    };
    let facts = facts(&program(vec![compare(1), compare(2)]));
    let winners = facts.outcomes.iter().map(|outcome| match outcome {
        Outcome::Ended { variables, locals } => (variables[0], locals[1][0], locals[2][0]),
        other => panic!("{other:?}"),
    });
    let [zero, one, two] = [0, 1, 2].map(Value::Integer);
    assert_eq!(winners.collect::<BTreeSet<_>>(), [(one, one, zero), (two, zero, one)].into());
}

#[test]
fn memory_can_be_freed_too_early() {
    let share = Operation::Write { place: Place::Variable(2), value: Expression::Local(2), order: None };
    let first = vec![act(Operation::Allocate { into: 2 }), act(share), act(Operation::Free { pointer: 2 })];
    let set = Expression::binary(Operator::NotEqual, Expression::Local(2), Expression::Constant(0));
    let through = act(Operation::Read { place: Place::Through(2), into: 0, order: None });
    let facts = facts(&program(vec![first, vec![read(2, 2), when(set, vec![through])]]));
    assert_eq!(facts.memory_errors, [9].into());
}

#[test]
fn a_failed_try_means_that_the_lock_is_held() {
    let attempt = act(Operation::Acquire { lock: 0, shared: false, patience: Patience::Try(0) });
    let trier = vec![attempt, Statement::Assert(Expression::is(0, 1))];
    let facts = facts(&program(vec![trier.clone(), vec![write(0, 1)]]));
    assert_eq!(facts.failures(), [].into());
    let facts = super::tests::facts(&program(vec![trier, vec![lock(0), unlock(0)]]));
    assert_eq!(facts.failures(), [5].into());
}

#[test]
fn pipes_deliver_in_order() {
    let send = |value| act(Operation::Send { pipe: 0, value: Expression::Constant(value) });
    let receive = |into| act(Operation::Receive { pipe: 0, into });
    let facts = facts(&program(vec![vec![send(1), send(2)], vec![receive(0), receive(1)]]));
    let received = facts.outcomes.iter().map(|outcome| match outcome {
        Outcome::Ended { locals, .. } => (locals[2][0], locals[2][1]),
        other => panic!("{other:?}"),
    });
    assert_eq!(received.collect::<Vec<_>>(), [(Value::Integer(1), Value::Integer(2))]);
}

#[test]
fn what_a_run_shows_to_be_possible_is_possible() {
    for (case, profile) in Profile::ALL.iter().cycle().enumerate().take(crate::cases(70)) {
        let machine = Machine::new(&generate(*profile, case as u64));
        let recording = Recording::random(&machine, &mut Random::new(case as u64)).unwrap();
        let feasible = explore(&machine, Rules::Feasible(&recording), true, 100_000);
        let along = explore(&machine, Rules::Along(&recording), true, 100_000);
        let (Ok(feasible), Ok(along)) = (&feasible, &along) else {
            assert!(!matches!(feasible, Err(Failed::Misuse(_) | Failed::Undecided(_))), "{profile:?} {case}");
            continue;
        };
        assert!(feasible.both_next.is_subset(&along.both_next), "{profile:?} {case}");
        assert!(feasible.unordered.is_subset(&along.unordered), "{profile:?} {case}");
        assert!(feasible.deadlocks.is_subset(&along.deadlocks), "{profile:?} {case}");
        assert!(feasible.last_writes.is_subset(&along.last_writes), "{profile:?} {case}");
    }
}

/// Runs a program natively a few times; what it prints must be an outcome that the interpreter knows.
#[test]
fn native_runs_end_as_the_interpreter_says() {
    let folder = std::env::temp_dir().join(format!("mayhap-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut compared = 0;
    for (case, profile) in Profile::ALL.iter().cycle().enumerate().take(14) {
        let program = generate(*profile, 1_000 + case as u64);
        let facts = facts(&program);
        // Freed memory holds anything; a program that can hang may not end.
        if !facts.memory_errors.is_empty() || facts.outcomes.iter().any(|o| !matches!(o, Outcome::Ended { .. })) {
            continue;
        }
        let outcomes: BTreeSet<String> = facts.outcomes.iter().filter_map(print_outcome).collect();
        let (source, binary) = (folder.join(format!("{case}.c")), folder.join(format!("{case}")));
        std::fs::File::create(&source).unwrap().write_all(print_c(&program).text.as_bytes()).unwrap();
        let compiled = Command::new("gcc")
            .args(["-O1", "-Wall", "-Wno-unused", "-Werror", "-pthread", "-DOUTCOME", "-o"])
            .args([&binary, &source])
            .status()
            .unwrap();
        assert!(compiled.success(), "{}", print_c(&program).text);
        for _ in 0..5 {
            let run = Command::new(&binary).stderr(Stdio::null()).output().unwrap();
            let printed = String::from_utf8(run.stdout).unwrap();
            assert!(outcomes.contains(&printed), "{printed}is none of {outcomes:?}\n{}", print_c(&program).text);
        }
        compared += 1;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(compared >= 4, "only {compared} programs were compared");
}
