//! Signals at any moment: each access is recorded exactly once, those of the handler and those of the code that it interrupts.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use mayhap_testkit::needs;
use mayhap_trace::{Event, Flags, Op, format};

/// Handlers count what they do, and so does the thread that they interrupt, by single accesses, groups, far accesses and chained hooks; a second thread reads
/// the counts meanwhile, so that the trace keeps them.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

volatile long ticks, near_steps, odd_steps, even_steps;
long far_steps, table[1 << 16];
volatile long wanted;

static void tick(int signal) {
    (void)signal;
    ticks++;
    table[ticks * 7919 % (1 << 16)]++;
}

static void *look(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    while (ticks < wanted) {
        *(long *)argument += near_steps + odd_steps + even_steps;
        usleep(1000);
    }
    return argument;
}

int run(int count, char **arguments) {
    long sum = 0;
    pthread_t other;
    wanted = count > 1 ? atol(arguments[1]) : 200;
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = tick}, before;
    sigaction(SIGALRM, &action, 0);
    if (sigaction(SIGALRM, 0, &before) != 0 || before.sa_handler != tick) abort();
    pthread_create(&other, 0, look, &sum);
    setitimer(ITIMER_REAL, &every, 0);
    for (long i = 0; ticks < wanted; i++) {
        near_steps++;
        long *far = &table[i * 40503 % (1 << 16)];
        *far += i;
        if (*far & 1)
            odd_steps++;
        else
            even_steps++;
        far_steps += *far & 2;
    }
    setitimer(ITIMER_REAL, &never, 0);
    if (signal(SIGALRM, SIG_IGN) != tick) abort();
    pthread_join(other, 0);
    printf("%ld %ld %ld %ld\n", ticks, near_steps, odd_steps, even_steps);
    return 0;
}
"#;

/// Where the code lies that is interrupted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Home {
    Program,
    StaticProgram,
    Library,
    /// A library that the program loads while it runs.
    LoadedLibrary,
}

const CALLS: &str = "int run(int, char **); int main(int count, char **arguments) { return run(count, arguments); }";
const LOADS: &str = r#"
#include <dlfcn.h>
int main(int count, char **arguments) {
    void *library = dlopen("./librun.so", RTLD_NOW);
    if (!library) return 9;
    int (*run)(int, char **) = (int (*)(int, char **))dlsym(library, "run");
    int result = run(count, arguments);
    return dlclose(library) ? 8 : result;
}
"#;

fn build(folder: &Path, compiler: &str, optimised: &str, home: Home) {
    std::fs::write(folder.join("run.c"), PROGRAM).unwrap();
    std::fs::write(folder.join("main.c"), if home == Home::LoadedLibrary { LOADS } else { CALLS }).unwrap();
    let steps: &[&[&str]] = match home {
        Home::Program => &[&["run.c", "main.c", "-o", "p"]],
        Home::StaticProgram => &[&["-c", "run.c"], &["-c", "main.c"], &["-static", "run.o", "main.o", "-o", "p"]],
        Home::Library => {
            &[&["-fPIC", "-shared", "run.c", "-o", "librun.so"], &["main.c", "./librun.so", "-Wl,-rpath,.", "-o", "p"]]
        }
        Home::LoadedLibrary => &[&["-fPIC", "-shared", "run.c", "-o", "librun.so"], &["main.c", "-ldl", "-o", "p"]],
    };
    for step in steps {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        command.args(["cc", optimised, "-g", "-pthread"]).args(*step).env("MAYHAP_CC", compiler);
        let built: common::Run = command.current_dir(folder).output().unwrap().into();
        assert_eq!(built.code, Some(0), "{}", built.stderr);
    }
}

fn check(compiler: &str, optimised: &str, home: Home) {
    if !needs::tool(compiler, compiler) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), compiler, optimised, home);
    let wanted = std::env::var("MAYHAP_CASES").unwrap_or("200".into());
    let run = common::mayhap_in(folder.path(), &["record", "-o", "t.mhp", "--", "./p", &wanted]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said: Vec<u64> = run.stdout.split_whitespace().map(|number| number.parse().unwrap()).collect();
    // Handlers that interrupt the slow path of a hook are counted but not recorded.
    let lost = run.stderr.lines().find(|line| line.contains("steps of signal handlers"));
    let lost: u64 = lost.map_or(0, |line| line.split_whitespace().find_map(|word| word.parse().ok()).unwrap());
    let finished = common::mayhap_in(folder.path(), &["stats", "t.mhp"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let trace = format::read(folder.path().join("t.mhp")).unwrap().trace;
    let mut writes: HashMap<String, u64> = HashMap::new();
    // The end of a library's variables when it is unloaded is an event of its own.
    let is_write = |event: &Event| event.op == Op::Write && !event.flags.has(Flags::FREE);
    for (_, event) in trace.events().filter(|(_, event)| is_write(event)) {
        *writes.entry(trace.tables().object(event.op, event.object).to_string()).or_default() += 1;
    }
    let of = |name: &str| writes.get(name).copied().unwrap_or(0);
    println!(
        "{compiler} {optimised} {home:?}: {said:?} said, {lost} lost, {} and {} written",
        of("ticks"),
        of("near_steps")
    );
    assert_eq!(["near_steps", "odd_steps", "even_steps"].map(of).as_slice(), &said[1..]);
    assert!(of("ticks") <= said[0] && of("ticks") + lost >= said[0], "{} of {}, {lost} lost", of("ticks"), said[0]);
    assert!(of("ticks") > 0);
}

#[test]
fn accesses_are_recorded_once_whatever_interrupts_them() {
    check("gcc", "-O2", Home::Program);
}

#[test]
fn accesses_of_unoptimised_code_are_recorded_once() {
    check("gcc", "-O0", Home::Program);
}

#[test]
fn accesses_of_clang_code_are_recorded_once() {
    check("clang", "-O2", Home::Program);
    check("clang", "-O1", Home::Program);
}

#[test]
fn accesses_in_libraries_and_static_programs_are_recorded_once() {
    for home in [Home::StaticProgram, Home::Library, Home::LoadedLibrary] {
        check("gcc", "-O2", home);
    }
}
