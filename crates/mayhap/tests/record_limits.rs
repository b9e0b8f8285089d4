//! What is left out of a recording on request is left out, and `mayhap record` says how much.

mod common;

use std::path::Path;

use mayhap_trace::{Op, Relations, Trace, format};

const PROGRAM: &str = r#"
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long noise[64], signal_;
static __attribute__((noinline)) void count(long *place) { (*place)++; }
static __attribute__((noinline)) void chatter(int i) { noise[i % 64] = i; }
static void *work(void *arg) {
    for (int i = 0; i < 20000; i++) {
        chatter(i);
        if (i % 1000 == 0) {
            pthread_mutex_lock(&lock);
            count(&signal_);
            pthread_mutex_unlock(&lock);
        }
    }
    return arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"#;

/// Records the program with these options; the trace and what was said.
fn recorded(folder: &Path, options: &[&str]) -> (Trace, String) {
    let mut arguments = vec!["record", "--finish", "-o", "t.mhp"];
    arguments.extend(options);
    arguments.extend(["--", "./program"]);
    let run = common::mayhap_in(folder, &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stderr.contains("broke a rule"), "{}", run.stderr);
    let trace = format::read(folder.join("t.mhp")).unwrap().trace;
    Relations::derive(&trace).unwrap();
    (trace, run.stderr)
}

fn accesses(trace: &Trace, variable: &str) -> usize {
    let tables = trace.tables();
    trace.events().filter(|(_, e)| e.op.is_access() && tables.object(e.op, e.object).starts_with(variable)).count()
}

#[test]
fn what_is_left_out_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    let compiled = common::mayhap_in(folder, &["cc", "-O1", "-pthread", "program.c", "-o", "program"]);
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);

    let (all, said) = recorded(folder, &[]);
    assert_eq!((accesses(&all, "noise"), accesses(&all, "signal_")), (40_000, 80), "{said}");

    for options in [["--exclude", "chat*"], ["--only", "count"]] {
        let (some, said) = recorded(folder, &options);
        assert_eq!((accesses(&some, "noise"), accesses(&some, "signal_")), (0, 80), "{options:?}");
        assert!(said.contains("40000 accesses in functions or files that are excluded"), "{said}");
    }
    let (none, _) = recorded(folder, &["--exclude", "program.c"]);
    assert!(none.columns().ops.iter().all(|op| !op.is_access()));
    assert!(none.columns().ops.contains(&Op::Acquire));

    let (short, said) = recorded(folder, &["--max-size", "3K"]);
    assert!(said.contains("the trace ends early: it has reached the largest size allowed"), "{said}");
    assert!((1..all.len()).contains(&short.len()), "{} of {}", short.len(), all.len());

    let (last, said) = recorded(folder, &["--last", "1000"]);
    assert!(said.contains("the trace contains only the last steps"), "{said}");
    let kept = accesses(&last, "noise");
    // Some of the last steps are basic blocks that were entered.
    assert!((400..=1000).contains(&kept), "{kept}");
    let end = |trace: &Trace| trace.columns().ops.iter().filter(|&&op| op == Op::Join).count();
    assert_eq!(end(&last), 2);
}

#[test]
fn what_is_left_out_is_left_out_when_the_trace_is_made_later() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    let compiled = common::mayhap_in(folder, &["cc", "-O1", "-pthread", "program.c", "-o", "program"]);
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);
    let options = ["record", "-o", "t.mhp", "--last", "20000", "--only", "count", "--", "./program"];
    assert_eq!(common::mayhap_in(folder, &options).code, Some(0));
    let path = folder.join("t.mhp");
    assert!(mayhap_record::is_unfinished(&path));
    let finished = mayhap_record::finish(&path, &mut |_| {}).unwrap();
    let said = finished.notes.join("\n");
    assert!(said.contains("only the last steps") && said.contains("that are excluded"), "{said}");
    let trace = format::read(&path).unwrap().trace;
    assert_eq!(accesses(&trace, "noise"), 0);
    assert!((1..80).contains(&accesses(&trace, "signal_")), "{}", accesses(&trace, "signal_"));
}

#[test]
fn sizes_have_units() {
    let folder = tempfile::tempdir().unwrap();
    let run = common::mayhap_in(folder.path(), &["record", "-o", "t.mhp", "--max-size", "12Q", "--", "true"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("K, M or G"), "{}", run.stderr);
}
