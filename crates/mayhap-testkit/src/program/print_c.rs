//! Prints a program as C, one statement a line, so that a line of the C file is a statement of the program.
//!
//! Compiled with `-DOUTCOME`, the C program prints its final state as [`super::print_outcome`] does; without, it does
//! nothing but what the program says. Shared variables are `long`; atomic accesses use the `__atomic` builtins, so that
//! one variable may be accessed both ways.

use std::fmt::{self, Write};

use super::code::Code;
use super::facts::Outcome;
use super::language::{Expression, LockSort, Operation, Order, Patience, Place, Program, Sort, Statement, Update};
use super::state::Value;

/// A program as C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// The text of the C file.
    pub text: String,
    /// The line of each statement, from 1, by site.
    pub lines: Vec<usize>,
}

impl Printed {
    /// Returns the statement on a line.
    pub fn site(&self, line: usize) -> Option<usize> {
        self.lines.iter().position(|&l| l == line)
    }
}

impl fmt::Display for Printed {
    /// Returns the threads' code alone, with line numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("static void body"));
        let code = lines.take_while(|(_, line)| !line.starts_with("int main"));
        let mut plain =
            code.filter(|(_, line)| !line.starts_with('#') && !line.contains("result[") && !line.contains("(void)"));
        plain.try_for_each(|(number, line)| writeln!(f, "{:3} {line}", number + 1))
    }
}

/// Prints a program.
pub fn print_c(program: &Program) -> Printed {
    let mut printer =
        Printer { program, out: String::new(), line: 1, lines: vec![0; Code::of(program).sites], site: 0 };
    printer.preamble();
    // A thread is forked by code that stands before its own, but sites count in the order of threads.
    for thread in 0..program.threads.len() {
        printer.thread(thread);
    }
    printer.main();
    Printed { text: printer.out, lines: printer.lines }
}

/// Prints several programs into one C file, whose argument says which of them runs. The n-th program has the names and lines of a
/// file `programN.c`; its shared things have `_N` added to their names.
pub fn print_together(programs: &[Program]) -> String {
    let mut out = PREAMBLE.to_string();
    let head = PREAMBLE.lines().count();
    let mut calls = String::new();
    for (number, program) in programs.iter().enumerate() {
        let count = |what: &str, count: usize| (0..count).map(|i| format!("{what}{i}")).collect::<Vec<_>>();
        let mut names = vec!["body".to_string(), "main".to_string()];
        names.extend(count("x", program.variables.len()));
        names.extend(count("m", program.locks.len()));
        names.extend(count("c", program.conditions));
        names.extend(count("s", program.semaphores.len()));
        names.extend(count("p", program.pipes));
        names.extend(count("t", program.threads.len()));
        names.extend(count("thread", program.threads.len()));
        names.iter().for_each(|name| out.push_str(&format!("#define {name} {name}_{number}\n")));
        out.push_str(&format!("#line {} \"program{number}.c\"\n", head + 1));
        print_c(program).text.lines().skip(head).for_each(|line| {
            out.push_str(line);
            out.push('\n');
        });
        names.iter().for_each(|name| out.push_str(&format!("#undef {name}\n")));
        calls.push_str(&format!("        case {number}: return main_{number}();\n"));
    }
    out.push_str("#line 1 \"together.c\"\nint main(int count, char **arguments) {\n");
    out.push_str("    switch (count > 1 ? atoi(arguments[1]) : -1) {\n");
    out.push_str(&calls);
    out.push_str("        default: return 3;\n    }\n}\n");
    out
}

/// What the C program prints at the end of an execution that ends so; nothing unless all threads ended.
pub fn print_outcome(outcome: &Outcome) -> Option<String> {
    let Outcome::Ended { variables, locals } = outcome else { return None };
    let number = |value: &Value| match value {
        Value::Integer(number) => number.to_string(),
        // Addresses differ from run to run.
        Value::Address(_) | Value::Freed => "address".to_string(),
    };
    let rows = std::iter::once(variables).chain(locals);
    let rows: Vec<String> = rows.map(|row| row.iter().map(number).collect::<Vec<_>>().join(" ")).collect();
    Some(rows.join("\n") + "\n")
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
    line: usize,
    lines: Vec<usize>,
    site: usize,
}

const PREAMBLE: &str = "\
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static const struct timespec at_once = { 0, 0 };
static struct timespec soon(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += 1000000;
    if (now.tv_nsec >= 1000000000) { now.tv_sec++; now.tv_nsec -= 1000000000; }
    return now;
}
";

impl Printer<'_> {
    fn put(&mut self, depth: usize, text: &str) {
        writeln!(self.out, "{}{text}", "    ".repeat(depth)).expect("writing to a string");
        self.line += 1;
    }

    fn preamble(&mut self) {
        self.out.push_str(PREAMBLE);
        self.line += PREAMBLE.lines().count();
        let program = self.program;
        for (i, sort) in program.variables.iter().enumerate() {
            let ty = if *sort == Sort::Integer { "long " } else { "long *" };
            self.put(0, &format!("static {ty}x{i};"));
        }
        for (i, sort) in program.locks.iter().enumerate() {
            match sort {
                LockSort::Mutex => self.put(0, &format!("static pthread_mutex_t m{i} = PTHREAD_MUTEX_INITIALIZER;")),
                LockSort::ReadWrite => {
                    self.put(0, &format!("static pthread_rwlock_t m{i} = PTHREAD_RWLOCK_INITIALIZER;"));
                }
            }
        }
        (0..program.conditions)
            .for_each(|i| self.put(0, &format!("static pthread_cond_t c{i} = PTHREAD_COND_INITIALIZER;")));
        (0..program.semaphores.len()).for_each(|i| self.put(0, &format!("static sem_t s{i};")));
        (0..program.pipes).for_each(|i| self.put(0, &format!("static int p{i}[2];")));
        (1..program.threads.len()).for_each(|i| self.put(0, &format!("static pthread_t t{i};")));
        (1..program.threads.len()).for_each(|i| self.put(0, &format!("static void *thread{i}(void *);")));
        self.put(0, "#ifdef OUTCOME");
        self.put(0, &format!("static long result[{}][{}];", program.threads.len(), program.locals.len().max(1)));
        self.put(0, "#endif");
    }

    fn thread(&mut self, thread: usize) {
        let program = self.program;
        match thread {
            0 => self.put(0, "static void body(void) {"),
            _ => self.put(0, &format!("static void *thread{thread}(void *nothing) {{")),
        }
        for (i, sort) in program.locals.iter().enumerate() {
            let ty = if *sort == Sort::Integer { "long " } else { "long *" };
            self.put(1, &format!("{ty}l{i} = 0; (void)l{i};"));
        }
        self.body(1, &program.threads[thread]);
        self.put(0, "#ifdef OUTCOME");
        for i in 0..program.locals.len() {
            self.put(1, &format!("result[{thread}][{i}] = (long)l{i};"));
        }
        self.put(0, "#endif");
        if thread > 0 {
            self.put(1, "return nothing;");
        }
        self.put(0, "}");
    }

    fn main(&mut self) {
        let program = self.program;
        self.put(0, "int main(void) {");
        for (i, initial) in program.semaphores.iter().enumerate() {
            self.put(1, &format!("sem_init(&s{i}, 0, {initial});"));
        }
        (0..program.pipes).for_each(|i| self.put(1, &format!("if (pipe(p{i})) return 2;")));
        self.put(1, "body();");
        self.put(0, "#ifdef OUTCOME");
        let row = |names: Vec<(String, Sort)>| -> Vec<String> {
            let print = |(name, sort): &(String, Sort)| match sort {
                Sort::Integer => format!("printf(\"%ld\", (long){name});"),
                Sort::Pointer => format!("printf(\"%s\", {name} ? \"address\" : \"0\");"),
            };
            let cells: Vec<String> = names.iter().map(print).collect();
            vec![cells.join(" printf(\" \"); ") + " printf(\"\\n\");"]
        };
        let variables = program.variables.iter().enumerate().map(|(i, sort)| (format!("x{i}"), *sort)).collect();
        let mut rows = row(variables);
        for thread in 0..program.threads.len() {
            let local = |(i, sort): (usize, &Sort)| (format!("result[{thread}][{i}]"), *sort);
            rows.extend(row(program.locals.iter().enumerate().map(local).collect()));
        }
        rows.iter().for_each(|row| self.put(1, row));
        self.put(0, "#endif");
        self.put(1, "return 0;");
        self.put(0, "}");
    }

    fn body(&mut self, depth: usize, body: &[Statement]) {
        for statement in body {
            self.lines[self.site] = self.line;
            self.site += 1;
            match statement {
                Statement::Assign { into, value } => self.put(depth, &format!("l{into} = {value};")),
                Statement::Do(operation) => {
                    let text = self.operation(operation);
                    self.put(depth, &text);
                }
                Statement::Assert(condition) => self.put(depth, &format!("if (!({condition})) abort();")),
                Statement::If { condition, then, otherwise } => {
                    self.put(depth, &format!("if ({condition}) {{"));
                    self.body(depth + 1, then);
                    if !otherwise.is_empty() {
                        self.put(depth, "} else {");
                        self.body(depth + 1, otherwise);
                    }
                    self.put(depth, "}");
                }
                Statement::While { condition, bound, body } => {
                    let counter = format!("n{}", self.site);
                    let head = format!("for (int {counter} = 0; {counter} < {bound} && {condition}; {counter}++) {{");
                    self.put(depth, &head);
                    self.body(depth + 1, body);
                    self.put(depth, "}");
                }
            }
        }
    }

    fn operation(&self, operation: &Operation) -> String {
        match operation {
            Operation::Read { place, into, order: None } => format!("l{into} = {};", name(place)),
            Operation::Read { place, into, order: Some(order) } => {
                format!("l{into} = __atomic_load_n(&{}, {});", name(place), word(*order))
            }
            Operation::Write { place, value, order: None } => format!("{} = {value};", name(place)),
            Operation::Write { place, value, order: Some(order) } => {
                format!("__atomic_store_n(&{}, {value}, {});", name(place), word(*order))
            }
            Operation::Modify { variable, update, into, order } => modify(*variable, update, *into, *order),
            Operation::Fence(order) => format!("__atomic_thread_fence({});", word(*order)),
            Operation::Acquire { lock, shared, patience } => self.acquire(*lock, *shared, *patience),
            Operation::Release(lock) => match self.program.locks[*lock] {
                LockSort::Mutex => format!("pthread_mutex_unlock(&m{lock});"),
                LockSort::ReadWrite => format!("pthread_rwlock_unlock(&m{lock});"),
            },
            Operation::Wait { condition, mutex, timed: None } => {
                format!("pthread_cond_wait(&c{condition}, &m{mutex});")
            }
            Operation::Wait { condition, mutex, timed: Some(into) } => {
                let wait = format!("pthread_cond_timedwait(&c{condition}, &m{mutex}, &end) == 0");
                format!("{{ struct timespec end = soon(); l{into} = {wait}; }}")
            }
            Operation::Signal(condition) => format!("pthread_cond_signal(&c{condition});"),
            Operation::Broadcast(condition) => format!("pthread_cond_broadcast(&c{condition});"),
            Operation::Post(semaphore) => format!("sem_post(&s{semaphore});"),
            Operation::Take { semaphore, patience } => match patience {
                Patience::Blocking => format!("sem_wait(&s{semaphore});"),
                Patience::Try(into) => format!("l{into} = sem_trywait(&s{semaphore}) == 0;"),
                Patience::Timed(into) => format!("l{into} = sem_timedwait(&s{semaphore}, &at_once) == 0;"),
            },
            Operation::Fork(thread) => format!("pthread_create(&t{thread}, 0, thread{thread}, 0);"),
            Operation::Join(thread) => format!("pthread_join(t{thread}, 0);"),
            Operation::Send { pipe, value } => {
                format!("{{ char byte = (char)({value}); if (write(p{pipe}[1], &byte, 1) != 1) abort(); }}")
            }
            Operation::Receive { pipe, into } => {
                format!("{{ char byte; if (read(p{pipe}[0], &byte, 1) != 1) abort(); l{into} = byte; }}")
            }
            Operation::Allocate { into } => format!("l{into} = calloc(1, sizeof(long));"),
            Operation::Free { pointer } => format!("free(l{pointer});"),
        }
    }

    fn acquire(&self, lock: usize, shared: bool, patience: Patience) -> String {
        let (family, what) = match (self.program.locks[lock], shared) {
            (LockSort::Mutex, _) => ("mutex", ""),
            (LockSort::ReadWrite, false) => ("rwlock", "wr"),
            (LockSort::ReadWrite, true) => ("rwlock", "rd"),
        };
        match patience {
            Patience::Blocking => format!("pthread_{family}_{what}lock(&m{lock});"),
            Patience::Try(into) => format!("l{into} = pthread_{family}_try{what}lock(&m{lock}) == 0;"),
            Patience::Timed(into) => format!("l{into} = pthread_{family}_timed{what}lock(&m{lock}, &at_once) == 0;"),
        }
    }
}

fn name(place: &Place) -> String {
    match place {
        Place::Variable(variable) => format!("x{variable}"),
        Place::Through(pointer) => format!("*l{pointer}"),
    }
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "__ATOMIC_RELAXED",
        Order::Consume => "__ATOMIC_CONSUME",
        Order::Acquire => "__ATOMIC_ACQUIRE",
        Order::Release => "__ATOMIC_RELEASE",
        Order::AcquireRelease => "__ATOMIC_ACQ_REL",
        Order::Sequential => "__ATOMIC_SEQ_CST",
    }
}

fn modify(variable: usize, update: &Update, into: usize, order: Order) -> String {
    let (success, failure) = (word(order), word(order.of_failure()));
    match update {
        Update::Exchange(value) => format!("l{into} = __atomic_exchange_n(&x{variable}, {value}, {success});"),
        Update::Add(value) => format!("l{into} = __atomic_fetch_add(&x{variable}, {value}, {success});"),
        Update::Compare { expected, desired } => {
            let desired: &Expression = desired;
            format!(
                "{{ long expected = {expected}; l{into} = \
                 __atomic_compare_exchange_n(&x{variable}, &expected, {desired}, 0, {success}, {failure}); }}"
            )
        }
    }
}
