//! Runs that a server forks are those that new processes make: the same steps, the same addresses and files, the same output and the same end. Programs of which that
//! could not be so get new processes.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mayhap_explore::run::IN_TURNS;
use mayhap_explore::{Attempt, Explorer, Faults, Next, Tried};
use mayhap_instrument::runtime;
use mayhap_job::{Runs, Servers, Stdin};
use mayhap_wire::ring::Schedule;

/// Prints addresses of all kinds, its arguments, what it reads and which descriptors are free; ends as its argument says.
const CURIOUS: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int before, total;
__attribute__((constructor)) static void constructed(void) { before++; }
static void *add(void *p) {
    int here = 0;
    total++;
    printf("%p %p %d %d\n", (void *)&here, p, total, gettid() == getpid());
    return p;
}
static void *other_way(void *p) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return p;
}
int main(int count, char **words) {
    pthread_t threads[2];
    char line[16] = "";
    // Not in the threads: whether one takes over memory of another that has ended depends on when the kernel ends that.
    void *block = malloc(40);
    char *read = fgets(line, sizeof line, stdin);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, block);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    int file = open("/dev/null", O_RDONLY);
    printf("%p %p %p %d %d %s %s", (void *)main, (void *)&count, (void *)words[0], before, file, getenv("PATH"), read ? read : "");
    fprintf(stderr, "%d\n", fcntl(3, F_GETFD) == 0 && fcntl(4, F_GETFD) == -1);
    if (!strcmp(words[1], "abort"))
        abort();
    if (!strcmp(words[1], "hang")) {
        pthread_mutex_lock(&first);
        pthread_create(&threads[0], 0, other_way, 0);
        usleep(1000);
        pthread_mutex_lock(&second);
    }
    return atoi(words[1]);
}
"#;

/// Opens a file and maps shared memory before the runtime starts, by a library that is loaded before it.
const EARLY: &str = r#"
#include <fcntl.h>
static int file;
__attribute__((constructor)) static void opened(void) { file = open("/dev/zero", O_RDONLY); }
int early(void) { return file; }
"#;
const USES_EARLY: &str = "int early(void);\nint main(void) { return early() < 0; }\n";

fn command(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn runs(folder: &Path, program: &[&str], servers: Option<Arc<Servers>>) -> Runs {
    std::fs::write(folder.join("input"), "a line\nanother\n").unwrap();
    let file: PathBuf = folder.join(program[0]);
    let program = std::iter::once(file.into_os_string()).chain(program[1..].iter().map(Into::into));
    Runs {
        program: program.collect(),
        runtime: runtime::folder().unwrap(),
        fixed: true,
        stdin: Stdin::of(folder.join("input")),
        inputs: false,
        faults: Faults::default(),
        folder: folder.to_path_buf(),
        libraries: None,
        servers,
    }
}

const LIMIT: Duration = Duration::from_secs(60);

fn same(next: &Next, forked: &Tried, new: &Tried) {
    assert_eq!(Explorer::outcome(next, forked).unwrap(), Explorer::outcome(next, new).unwrap(), "{next:?}");
    assert_eq!(forked.capture.status, new.capture.status);
    assert_eq!(forked.is_stuck, new.is_stuck);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&forked.printed.out), text(&new.printed.out), "{next:?}");
    assert_eq!(text(&forked.printed.err), text(&new.printed.err), "{next:?}");
}

#[test]
fn forked_runs_are_those_of_new_processes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("curious.c"), CURIOUS).unwrap();
    let mayhap = env!("CARGO_BIN_EXE_mayhap");
    command(folder.path(), mayhap, &["cc", "-g", "-O1", "-pthread", "-o", "curious", "curious.c"]);
    for how in ["0", "3", "abort", "hang"] {
        let servers = Arc::new(Servers::default());
        let forking = runs(folder.path(), &["curious", how], Some(Arc::clone(&servers)));
        let plain = runs(folder.path(), &["curious", how], None);
        let mut all = vec![Next::Turns(Vec::new(), IN_TURNS)];
        all.extend([3, 6, 9, 12].map(|steps| Next::Turns(vec![[0, 30], [1, steps], [2, 5], [1, 4]], IN_TURNS)));
        all.extend((1..3).map(|seed| Next::Drawn(Attempt { schedule: Schedule::Pct, slice: 5, seed })));
        // The first run is a new process anyway.
        forking.make(&all[0], LIMIT).unwrap();
        for next in &all {
            same(next, &forking.make(next, LIMIT).unwrap(), &plain.make(next, LIMIT).unwrap());
        }
        assert_eq!(servers.forked(), all.len(), "{how}");
    }
}

#[test]
fn programs_that_share_something_before_the_runtime_starts_get_new_processes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("early.c"), EARLY).unwrap();
    std::fs::write(folder.path().join("uses.c"), USES_EARLY).unwrap();
    let mayhap = env!("CARGO_BIN_EXE_mayhap");
    command(folder.path(), "cc", &["-shared", "-fPIC", "-Wl,-z,initfirst", "-o", "libearly.so", "early.c"]);
    command(folder.path(), mayhap, &["cc", "-g", "-o", "uses", "uses.c", "-L.", "-learly", "-Wl,-rpath,$ORIGIN"]);
    let servers = Arc::new(Servers::default());
    let runs = runs(folder.path(), &["uses"], Some(Arc::clone(&servers)));
    for _ in 0..3 {
        let tried = runs.make(&Next::Turns(Vec::new(), IN_TURNS), LIMIT).unwrap();
        assert_eq!(tried.capture.status.code(), Some(0));
    }
    assert_eq!(servers.forked(), 0);
}
