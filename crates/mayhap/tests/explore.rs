//! Exploring: the same seed gives the same run, and bugs that need other values are found.
//!
//! `MAYHAP_CASES=N` makes N runs with each seed.

mod common;

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

fn cases(usual: usize) -> usize {
    std::env::var("MAYHAP_CASES").map_or(usual, |n| n.parse().unwrap())
}

fn compile(folder: &Path, name: &str, text: &str) {
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, text).unwrap();
    let run: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cc", "-g", "-O1", "-pthread", "-o", name, file.to_str().unwrap()])
        .current_dir(folder)
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// A queue with a condition, a semaphore, a barrier, a race, and a sleep.
const BUSY: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t filled;
static int queue[64], head, tail, done, racy;
static long sum;
static void *put(void *p) {
    for (int i = 0; i < 6; i++) {
        pthread_mutex_lock(&lock);
        queue[tail++ % 64] = i;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        racy++;
    }
    usleep(1000);
    pthread_barrier_wait(&both);
    sem_post(&filled);
    return p;
}
static void *take(void *p) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (head == tail && !done)
            pthread_cond_wait(&changed, &lock);
        if (head == tail) {
            pthread_mutex_unlock(&lock);
            return p;
        }
        sum += queue[head++ % 64];
        pthread_mutex_unlock(&lock);
    }
}
int main(void) {
    pthread_t t[4];
    sem_init(&filled, 0, 0);
    pthread_barrier_init(&both, 0, 2);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, i < 2 ? put : take, 0);
    sem_wait(&filled);
    sem_wait(&filled);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return sum != 30;
}
"#;

/// Whether the value of an access is known may depend on the moment; the order of events does not.
#[test]
fn the_same_seed_gives_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "busy", BUSY);
    let mut traces = HashSet::new();
    for schedule in ["pct", "random", "pos"] {
        for seed in ["1", "2"] {
            let mut first = None;
            for _ in 0..cases(5) {
                let how = [
                    "record",
                    "--no-values",
                    "--schedule",
                    schedule,
                    "--slice",
                    "5",
                    "--seed",
                    seed,
                    "-o",
                    "t.std",
                    "--",
                    "./busy",
                ];
                let run = common::mayhap_in(folder.path(), &how);
                assert_eq!(run.code, Some(0), "{}", run.stderr);
                let trace = std::fs::read_to_string(folder.path().join("t.std")).unwrap();
                assert!(*first.get_or_insert(trace.clone()) == trace, "{schedule}, seed {seed}: another run");
            }
            traces.extend(first);
        }
    }
    assert_eq!(traces.len(), 6, "other seeds and schedules give other runs");
}

/// Compiles a program of `explore_bugs` where it lies.
fn compile_bug(folder: &Path, name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/explore_bugs/{name}.c"));
    let words = ["cc", "-g", "-O1", "-pthread", "-o", "bug", file.to_str().unwrap()];
    let run = common::mayhap_in(folder, &words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// Some of the programs of `mayhap-bench explore`, and the most schedules that each may take.
#[test]
fn bugs_that_need_other_values_are_found() {
    let programs = [
        ("check_then_act", 20),
        ("dekker_gives_up_late", 40),
        ("early_in_a_long_run", 80),
        ("if_instead_of_while", 20),
        ("one_condition_two_sides", 60),
        ("stack_pops_across_pushes", 40),
        ("three_locks_in_a_circle", 20),
        ("three_stages", 20),
        ("try_means_done", 10),
        ("upgrade_unchecked", 20),
        ("use_after_drop", 10),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut missed = Vec::new();
    for (name, most) in programs {
        compile_bug(folder.path(), name);
        let most = most.to_string();
        let how = ["explore", "--no-predict", "--first", "--max-schedules", &most, "--format", "json", "--", "./bug"];
        let run = common::mayhap_in(folder.path(), &how);
        let document: serde_json::Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        println!("{name}: {}", document["exploration"]);
        if run.code != Some(1) || document["findings"].as_array().is_none_or(Vec::is_empty) {
            missed.push(format!("{name}: {:?} {}", run.code, document["exploration"]));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Attempts that succeed may fail in another order, and readers hold a lock together: such orders are not left out when the report says all.
#[test]
fn attempts_and_readers_are_gone_through() {
    let tries = r#"
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int failed;
static void *attempt(void *p) {
    if (pthread_mutex_trylock(&lock)) atomic_store(&failed, 1);
    else pthread_mutex_unlock(&lock);
    return p;
}
static void *hold(void *p) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, hold, 0);
    pthread_create(&b, 0, attempt, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return atomic_load(&failed) ? 3 : 0;
}
"#;
    let readers = r#"
#include <pthread.h>
#include <stdatomic.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int x, seen;
static void *write_it(void *p) {
    pthread_rwlock_rdlock(&lock);
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    pthread_rwlock_unlock(&lock);
    return p;
}
static void *read_it(void *p) {
    pthread_rwlock_rdlock(&lock);
    atomic_store(&seen, atomic_load(&x));
    pthread_rwlock_unlock(&lock);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, write_it, 0);
    pthread_create(&b, 0, read_it, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return atomic_load(&seen) == 1 ? 3 : 0;
}
"#;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("tries", tries), ("readers", readers)] {
        compile(folder.path(), name, text);
        let program = format!("./{name}");
        let how = ["explore", "--strategy", "rf", "--no-predict", "--format", "json", "--", &program];
        let run = common::mayhap_in(folder.path(), &how);
        let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let explored = &document["exploration"];
        assert!(explored["failures"].as_u64() > Some(0) && explored["complete"] == true, "{name}: {explored}");
    }
}

#[test]
fn a_failure_found_in_turns_happens_again_in_the_same_turns() {
    let folder = tempfile::tempdir().unwrap();
    compile_bug(folder.path(), "lost_update");
    let explore = ["explore", "--strategy", "rf", "--no-predict", "--keep", "kept", "--format", "json", "--", "./bug"];
    let run = common::mayhap_in(folder.path(), &explore);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let kept = std::fs::read_dir(folder.path().join("kept")).unwrap().map(|entry| entry.unwrap().path());
    let turns = kept.into_iter().find(|path| path.extension().is_some_and(|e| e == "turns")).expect("turns are kept");
    for _ in 0..3 {
        let again = ["record", "--turns", turns.to_str().unwrap(), "-o", "again.mhp", "--", "./bug"];
        assert_eq!(common::mayhap_in(folder.path(), &again).code, Some(128 + 6));
    }
}

/// A crash that exploring finds too is the effect of the finding whose replays crash so: one bug, one finding.
#[test]
fn a_crash_of_a_confirmed_finding_is_not_reported_again() {
    let late = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int ready;
static void *set(void *p) {
    atomic_store(&ready, 1);
    return p;
}
static void *use(void *p) {
    if (!atomic_load(&ready)) abort();
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, set, 0);
    pthread_create(&b, 0, use, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;
    let both_enter = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int busy;
static int inside;
static void *enter(void *p) {
    if (!atomic_load(&busy)) {
        atomic_store(&busy, 1);
        if (++inside != 1) abort();
        inside--;
        atomic_store(&busy, 0);
    }
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enter, 0);
    pthread_create(&b, 0, enter, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("late", late), ("both_enter", both_enter)] {
        compile(folder.path(), name, text);
        let program = format!("./{name}");
        // The recorded run may crash by itself: then there is nothing to predict.
        let recorded_well = |document: &serde_json::Value| {
            document["findings"].as_array().unwrap().iter().all(|finding| finding["verdict"] != "observed")
        };
        let runs = (0..20).map(|_| common::mayhap_in(folder.path(), &["run", "--format", "json", "--", &program]));
        let documents = runs.map(|run| serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap());
        let document = documents.into_iter().find(recorded_well).expect("a run that ends well");
        let findings = document["findings"].as_array().unwrap();
        let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
        assert!(!kinds.contains(&"crash"), "{name}: {kinds:?}");
        let crashes = |finding: &&serde_json::Value| finding["replay"]["effect"] == "crash (SIGABRT)";
        assert!(findings.iter().any(|finding| crashes(&finding)), "{name}: {}", document["findings"]);
    }
}

/// A queue of one place, whose push gives its place free in this order.
const ONE_PLACE: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
enum { LOCKED = 1, PUSHED = 2 };
static atomic_int state;
static int slot;
static void *push(void *p) {
    int empty = 0;
    usleep(20000);
    if (atomic_compare_exchange_strong(&state, &empty, LOCKED | PUSHED)) {
        slot = 7;
        atomic_fetch_and_explicit(&state, ~LOCKED, ORDER);
    }
    return p;
}
int main(void) {
    pthread_t t;
    int full = PUSHED, got = 7;
    pthread_create(&t, 0, push, 0);
    if (atomic_compare_exchange_strong(&state, &full, LOCKED)) {
        got = slot;
        atomic_fetch_and_explicit(&state, ~LOCKED, memory_order_release);
    }
    pthread_join(t, 0);
    return got != 7;
}
"#;

/// A race behind a value that the recorded run did not read, and that makes no run fail, is a finding, once.
#[test]
fn races_that_only_another_schedule_shows_are_found_once() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, order) in [("wrong", "memory_order_relaxed"), ("right", "memory_order_release")] {
        compile(here, name, &ONE_PLACE.replace("ORDER", order));
    }
    let findings = |words: &[&str], program: &str| {
        let run = common::mayhap_in(here, &[words, &["--format", "json", "--", program]].concat());
        let document: serde_json::Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        let findings = document["findings"].as_array().unwrap().clone();
        findings
            .iter()
            .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["verdict"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let race = ["race confirmed"];
    assert_eq!(findings(&["run", "--explore", "0"], "./wrong"), [""; 0], "the recorded run implies it");
    for words in [
        &["run"][..],
        &["explore"],
        &["explore", "--strategy", "rf"],
        &["explore", "-j", "2"],
        &["explore", "--resume", "kept"],
    ] {
        assert_eq!(findings(words, "./wrong"), race, "{words:?}");
    }
    // Once more: no run is made, and the finding is there again.
    assert_eq!(findings(&["explore", "--resume", "kept"], "./wrong"), race);
    assert_eq!(findings(&["explore"], "./right"), [""; 0]);
    assert_eq!(findings(&["explore", "--no-predict"], "./wrong"), [""; 0]);
}
