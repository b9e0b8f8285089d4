//! Exploring small correct programs to the end: the report says "all N", nothing fails, and N is what the program-level oracle counts.
//!
//! Programs are generated in the oracle's language and printed as C; fifteen are written by hand. `MAYHAP_CASES=N` takes N programs of each kind, and `MAYHAP_SEED=N` begins
//! at that seed.

mod common;

use std::path::Path;
use std::process::Command;

use common::rust;

use mayhap_testkit::program::language::{Operation, Order, Patience, Statement};
use mayhap_testkit::program::{
    Machine, Outcome, Profile, Program, Rules, executions, explore, generate, print_c, print_together,
};

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |n| n.parse().unwrap())
}

/// States that the oracle may visit, and the most executions that a program has.
const LIMIT: usize = 60_000;
const MOST: usize = 40;
/// Programs that are compiled into one file.
const TOGETHER: usize = 16;

/// Which accesses of a program are made atomic: its only races then are between atomic accesses.
fn atomic(statements: &[Statement]) -> Vec<Statement> {
    let order = |order: &Option<Order>| Some(order.unwrap_or(Order::Relaxed));
    map(statements, &|operation| match operation {
        Operation::Read { place, into, order: o } => Operation::Read { place, into, order: order(&o) },
        Operation::Write { place, value, order: o } => Operation::Write { place, value, order: order(&o) },
        other => other,
    })
}

/// The clock forbids to say that these are all executions: attempts with a time limit do not wait, and waits have none.
fn without_time_limits(statements: &[Statement]) -> Vec<Statement> {
    let at_once = |patience| match patience {
        Patience::Timed(into) => Patience::Try(into),
        other => other,
    };
    map(statements, &|operation| match operation {
        Operation::Acquire { lock, shared, patience } => {
            Operation::Acquire { lock, shared, patience: at_once(patience) }
        }
        Operation::Take { semaphore, patience } => Operation::Take { semaphore, patience: at_once(patience) },
        Operation::Wait { condition, mutex, .. } => Operation::Wait { condition, mutex, timed: None },
        other => other,
    })
}

fn map(statements: &[Statement], change: &dyn Fn(Operation) -> Operation) -> Vec<Statement> {
    let all = |statements: &[Statement]| map(statements, change);
    let one = |statement: &Statement| match statement.clone() {
        Statement::Do(operation) => Statement::Do(change(operation)),
        Statement::If { condition, then, otherwise } => {
            Statement::If { condition, then: all(&then), otherwise: all(&otherwise) }
        }
        Statement::While { condition, bound, body } => Statement::While { condition, bound, body: all(&body) },
        other => other,
    };
    statements.iter().map(one).collect()
}

/// How many executions a program has, if it always ends well, no plain accesses of it race, and there are neither too many nor one.
fn count(program: &Program) -> Option<usize> {
    let machine = Machine::new(program);
    let facts = explore(&machine, Rules::Free, true, LIMIT).ok()?;
    let ends = |outcome: &Outcome| matches!(outcome, Outcome::Ended { .. });
    let is_correct = facts.failures().is_empty()
        && facts.outcomes.iter().all(ends)
        && facts.unordered.is_empty()
        && facts.memory_errors.is_empty();
    let all = executions(&machine, LIMIT).filter(|_| is_correct)?;
    Some(all.len()).filter(|count| (1..=MOST).contains(count))
}

/// A program with its seed and how many executions it has.
struct Case {
    name: String,
    program: Program,
    executions: usize,
}

/// Programs of a kind: with plain accesses if those do not race, else with atomic ones.
fn generated(profile: Profile, count_of: usize) -> Vec<Case> {
    let mut found = Vec::new();
    for seed in number("MAYHAP_SEED", 0) as u64.. {
        let mut program = generate(profile, seed);
        program.threads = program.threads.iter().map(|body| without_time_limits(body)).collect();
        let mut executions = count(&program);
        if executions.is_none() {
            program.threads = program.threads.iter().map(|body| atomic(body)).collect();
            executions = count(&program);
        }
        // One execution says little.
        let Some(executions) = executions.filter(|executions| *executions > 1 || seed % 8 == 0) else { continue };
        found.push(Case { name: format!("{profile:?} {seed}"), program, executions });
        if found.len() == count_of {
            break;
        }
    }
    found
}

fn compile(folder: &Path, programs: &[Program]) {
    std::fs::write(folder.join("together.c"), print_together(programs)).unwrap();
    let built: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cc", "-O0", "-g", "-w", "-pthread", "together.c", "-o", "together"])
        .current_dir(folder)
        .output()
        .unwrap()
        .into();
    assert_eq!(built.code, Some(0), "{}", built.stderr);
}

/// Explores programs; what differs from what the oracle says, and how many schedules and executions there were.
fn check(cases: &[Case]) -> (Vec<String>, u64, usize) {
    let (mut wrong, mut schedules, mut executions) = (Vec::new(), 0, 0);
    for part in cases.chunks(TOGETHER) {
        let folder = tempfile::tempdir().unwrap();
        let programs: Vec<Program> = part.iter().map(|case| case.program.clone()).collect();
        compile(folder.path(), &programs);
        for (nth, case) in part.iter().enumerate() {
            let nth = nth.to_string();
            let words = ["explore", "--strategy", "rf", "--no-predict", "--format", "json"];
            let run = common::mayhap_in(folder.path(), &[&words[..], &["--", "./together", &nth]].concat());
            let document: serde_json::Value =
                serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
            let exploration = &document["exploration"];
            let right = exploration["executions"] == case.executions as u64
                && exploration["complete"] == true
                && exploration["failures"] == 0
                && run.code == Some(0);
            println!("{}: {} executions, {exploration}", case.name, case.executions);
            if !right {
                let printed = print_c(&case.program);
                wrong.push(format!("{}: {} executions, but {exploration}\n{printed}", case.name, case.executions));
            }
            schedules += exploration["schedules"].as_u64().unwrap_or(0);
            executions += case.executions;
        }
    }
    (wrong, schedules, executions)
}

#[test]
fn oracle_all_executions_of_generated_programs_are_found() {
    let kinds = [
        Profile::Locks,
        Profile::Atomics,
        Profile::Conditions,
        Profile::Tries,
        Profile::Pipes,
        Profile::Pointers,
        Profile::Flow,
    ];
    let (mut wrong, mut schedules, mut executions, mut programs) = (Vec::new(), 0, 0, 0);
    for profile in kinds {
        let cases = generated(profile, number("MAYHAP_CASES", 5));
        let (found, more_schedules, more_executions) = check(&cases);
        wrong.extend(found);
        schedules += more_schedules;
        executions += more_executions;
        programs += cases.len();
    }
    println!("{programs} programs, {executions} executions, {schedules} schedules, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Small well-known programs, written anew, and how many executions Nidhugg has published for each: up to the order of steps that conflict, but for writes that no thread
/// sees (optimal partial order reduction with observers), and up to what reads see.
const PEERS: [(&str, u32, u64, u64); 30] = [
    ("readers", 4, 16, 16),
    ("readers", 6, 64, 64),
    ("lastzero", 4, 28, 28),
    ("fib_bench", 1, 11, 11),
    ("fib_bench", 2, 140, 140),
    ("account", 1, 4, 4),
    ("account", 2, 33, 27),
    ("linuxrwlock", 1, 6, 6),
    ("linuxrwlock", 2, 70, 70),
    ("pgsql", 1, 3, 3),
    ("pgsql", 2, 63, 63),
    ("indexer", 12, 8, 8),
    ("indexer", 13, 64, 64),
    ("filesystem", 14, 2, 2),
    ("filesystem", 16, 8, 8),
    ("filesystem", 18, 32, 32),
    ("dijkstra", 2, 27, 27),
    ("dijkstra", 4, 85, 85),
    ("peterson", 1, 310, 301),
    ("redundant_co", 1, 11, 7),
    ("redundant_co", 2, 55, 19),
    ("lastwrite", 4, 4, 4),
    ("sigma", 3, 6, 6),
    ("sigma", 4, 24, 24),
    ("lamport", 1, 418, 322),
    ("mutex_order", 2, 2, 2),
    ("mutex_order", 3, 6, 6),
    ("mutex_vs_trylock", 1, 3, 3),
    ("mutex_vs_trylock", 2, 16, 16),
    ("cmpxchg", 3, 5, 5),
];

/// Programs of these in which no two writes that a read can see have the same value: executions are those up to what reads see.
const OTHER_WRITE_OTHER_VALUE: [&str; 8] =
    ["readers", "fib_bench", "pgsql", "indexer", "filesystem", "mutex_order", "cmpxchg", "lastwrite"];

fn compile_peer(folder: &Path, name: &str, size: u32, more: &[&str]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/explore_peers/{name}.c"));
    let size = format!("-DN={size}");
    let words = ["cc", "-g", "-O1", "-pthread", "-o", "peer", file.to_str().unwrap(), &size];
    let run = common::mayhap_in(folder, &[&words[..], more].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

fn explored(folder: &Path, program: &[&str]) -> (Option<i32>, serde_json::Value) {
    let words = ["explore", "--strategy", "rf", "--no-predict", "--format", "json"];
    let run = common::mayhap_in(folder, &[&words[..], program].concat());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    (run.code, document["exploration"].clone())
}

/// The same verdicts as Nidhugg, and at most twice as many runs; never more executions, since those that only another write tells apart count once.
#[test]
fn well_known_programs_take_at_most_twice_the_published_executions() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, size, published, by_reads) in PEERS {
        compile_peer(folder.path(), name, size, &[]);
        let (code, exploration) = explored(folder.path(), &["--", "./peer"]);
        let (schedules, executions) = (&exploration["schedules"], &exploration["executions"]);
        println!("| `{name}` | {size} | {published} | {by_reads} | {schedules} | {executions} |");
        let is_exact = OTHER_WRITE_OTHER_VALUE.contains(&name);
        let is_right = code == Some(0)
            && exploration["complete"] == true
            && schedules.as_u64().is_some_and(|schedules| schedules <= 2 * published)
            && executions.as_u64().is_some_and(|count| if is_exact { count == by_reads } else { count <= by_reads });
        if !is_right {
            wrong.push(format!("{name} {size}: {published} published, {exploration}"));
        }
    }
    for (name, size) in [("fib_bench", 1), ("account", 2), ("sigma", 3)] {
        compile_peer(folder.path(), name, size, &["-DWRONG"]);
        let (code, exploration) = explored(folder.path(), &["--", "./peer"]);
        if code != Some(1) || exploration["complete"] != true {
            wrong.push(format!("{name} {size} has a bug: {code:?} {exploration}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Correct twins of programs with blocking bugs, and how many executions each has: which of two threads comes first, or whether a thread finds that it need not wait.
#[test]
fn fixed_twins_are_explored_to_the_end() {
    let twins = [
        ("abba_value_fixed.c", 2),
        ("barrier_with_lock_fixed.c", 2),
        ("check_outside_lock_fixed.c", 2),
        ("flag_without_lock_fixed.c", 2),
        ("join_with_lock_fixed.c", 2),
        ("lost_wakeup_fixed.c", 2),
        ("missing_unlock_fixed.c", 2),
        ("pipe_with_lock_fixed.c", 1),
        ("reader_waits_for_writer_fixed.c", 2),
        ("self_deadlock_fixed.c", 2),
        ("semaphore_with_lock_fixed.c", 1),
        ("signal_for_two_fixed.c", 4),
        ("tokens_crossed_fixed.c", 2),
        ("wait_with_outer_lock_fixed.c", 2),
        ("cxx_future_with_lock_fixed.cpp", 4),
        ("cxx_stop_one_fixed.cpp", 4),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, executions) in twins {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blocking").join(name);
        let compiler = if name.ends_with(".c") { "cc" } else { "c++" };
        let words = [compiler, "-g", "-O1", "-pthread", "-o", "twin", file.to_str().unwrap()];
        let run = common::mayhap_in(folder.path(), &words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let (code, exploration) = explored(folder.path(), &["--", "./twin"]);
        println!("{name}: {exploration}");
        if code != Some(0) || exploration["complete"] != true || exploration["executions"] != executions {
            wrong.push(format!("{name}: {code:?} {exploration}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Locks, events and semaphores that sleep on a word of memory, as the kernel lets them; and the same with a bug.
#[test]
fn programs_that_sleep_on_words_are_explored_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, executions) in [("lock", 8), ("event", 9), ("semaphore", 9)] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/explore_futex/{name}.c"));
        let compile = |more: &[&str]| {
            let words = ["cc", "-g", "-O1", "-pthread", "-o", "sleeps", file.to_str().unwrap()];
            let run = common::mayhap_in(folder.path(), &[&words[..], more].concat());
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        };
        compile(&[]);
        let (code, exploration) = explored(folder.path(), &["--manifest", "all.json", "--", "./sleeps"]);
        println!("{name}: {exploration}");
        if code != Some(0) || exploration["complete"] != true || exploration["executions"] != executions {
            wrong.push(format!("{name}: {code:?} {exploration}"));
        }
        let verified = common::mayhap_in(folder.path(), &["verify", "--run", "all.json"]);
        if verified.code != Some(0) {
            wrong.push(format!("{name}: {}{}", verified.stdout, verified.stderr));
        }
        compile(&["-DWRONG"]);
        let (code, exploration) = explored(folder.path(), &["--", "./sleeps"]);
        if code != Some(1) {
            wrong.push(format!("{name} has a bug: {code:?} {exploration}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same of Rust programs, with `std`'s mutexes and conditions. The words of mutexes say whether another thread waits: a thread finds that, too.
#[test]
fn fixed_twins_in_rust_are_explored_to_the_end() {
    let built = rust::build_hidden_bugs();
    let folder = tempfile::tempdir().unwrap();
    let twins =
        [("rust_abba_value_fixed", 7), ("rust_join_with_lock_fixed", 7), ("rust_wait_without_predicate_fixed", 7)];
    for (name, executions) in twins {
        let (code, exploration) = explored(folder.path(), &["--", built.join(name).to_str().unwrap()]);
        assert_eq!((code, &exploration["complete"]), (Some(0), &true.into()), "{name}: {exploration}");
        assert_eq!(exploration["executions"], executions, "{name}: {exploration}");
    }
}
