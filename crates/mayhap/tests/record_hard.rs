//! Recording when the environment fails: full disks, paths that cannot be written, a recorder that is killed,
//! other users, namespaces, a missing /proc. The program must run unchanged, and the user must get a message.

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Run;
use mayhap_testkit::needs;
use mayhap_trace::{Relations, format};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
long counter, wanted, mark;

static void *work(void *arg) {
    for (long i = 0; i < wanted; i++) {
        pthread_mutex_lock(&lock);
        if (++counter == mark) {
            puts("reached");
            fflush(stdout);
        }
        pthread_cond_signal(&turn);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(int count, char **arguments) {
    pthread_t a, b;
    wanted = count > 1 ? atol(arguments[1]) : 1000;
    mark = count > 2 ? atol(arguments[2]) : -1;
    puts("started");
    fflush(stdout);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_mutex_lock(&lock);
    while (counter < wanted) pthread_cond_wait(&turn, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf("counted %ld\n", counter);
    return counter == 2 * wanted ? 5 : 1;
}
"#;

/// A folder that all users may enter, with the program compiled and a copy of the executable that others may run.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("p.c"), PROGRAM).unwrap();
    let run = common::mayhap_in(folder.path(), &["cc", "-O1", "-pthread", "p.c", "-o", "p"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    std::fs::copy(env!("CARGO_BIN_EXE_mayhap"), folder.path().join("mayhap")).unwrap();
    folder
}

fn shell(folder: &Path, script: &str) -> Run {
    // Cargo's library path contains another build of the runtime.
    Command::new("sh").args(["-c", script]).env_remove("LD_LIBRARY_PATH").current_dir(folder).output().unwrap().into()
}

fn whole_trace(path: &Path) {
    if mayhap_record::is_unfinished(path) {
        mayhap_record::finish(path, &mut |_| {}).unwrap();
    }
    let trace = format::read(path).unwrap().trace;
    Relations::derive(&trace).unwrap();
    assert!(trace.len() > 1000, "{} events", trace.len());
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        needs::forbidden("only root can do what this test does");
    }
    root
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_before_the_program_starts() {
    let folder = prepared();
    for place in ["/no/such/folder/t.mhp", "/proc/t.mhp", "p.c/t.mhp"] {
        let run = common::mayhap_in(folder.path(), &["record", "-o", place, "--", "./p"]);
        assert_eq!(run.code, Some(2), "{place}: {}", run.stderr);
        assert!(run.stderr.contains("mayhap: error:"), "{}", run.stderr);
        assert_eq!(run.stdout, "", "the program started");
    }
    let run = common::mayhap_in(folder.path(), &["record", "-o", "t.mhp", "--", "./no-such-program"]);
    assert_eq!(run.code, Some(4));
    assert!(run.stderr.contains("no-such-program"), "{}", run.stderr);
}

#[test]
fn where_no_memory_can_be_shared_the_user_is_told() {
    let folder = prepared();
    // Blocks of 512 bytes; the signal for files that become too large is ignored, as shells and services do.
    let script = "trap '' XFSZ; ulimit -f 40; ./mayhap record -o t.mhp -- ./p 20000";
    let run = shell(folder.path(), script);
    // The limit holds for the memory that recorder and program share, too: too small for that, it is an error at once.
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("cannot create shared memory"), "{}", run.stderr);
    assert_eq!(run.stdout, "", "the program started");
}

#[test]
fn when_the_disk_is_full_the_program_goes_on_and_the_trace_ends_early() {
    if !is_root() {
        return;
    }
    let folder = prepared();
    let script = "mkdir small; mount -t tmpfs -o size=4k none small || exit 77
./mayhap record -o small/t.mhp --schedule random -- ./p 200000; code=$?; cp small/t.mhp t.mhp; umount small; exit $code";
    let run = shell(folder.path(), script);
    if run.code == Some(77) {
        needs::forbidden("mounting is not permitted");
        return;
    }
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stdout.contains("counted 400000"), "{}", run.stdout);
    assert!(run.stderr.contains("trace ends early"), "{}", run.stderr);
    whole_trace(&folder.path().join("t.mhp"));
}

#[test]
fn when_the_recorder_is_killed_the_program_goes_on() {
    let folder = prepared();
    // The program says when its counter reaches the mark: at its first step, after a few, and after many.
    for mark in ["1", "1000", "200000"] {
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_mayhap"))
            .args(["record", "-o", "t.mhp", "--", "./p", "300000", mark])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The program holds the other end for as long as it runs.
        let mut lines = BufReader::new(recorder.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "started");
        assert_eq!(lines.next().unwrap().unwrap(), "reached");
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "counted 600000");
    }
}

#[test]
fn other_users_record_too() {
    if !is_root() {
        return;
    }
    let folder = prepared();
    // Without a writable home, in a separate folder.
    let script = "mkdir own && chown 65534 own && chmod 755 mayhap p && cd own &&
HOME=/nonexistent setpriv --reuid=65534 --regid=65534 --clear-groups ../mayhap record -o t.mhp -- ../p";
    let run = shell(folder.path(), script);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    whole_trace(&folder.path().join("own/t.mhp"));
    let compile = "cd own && HOME=/nonexistent TMPDIR=. setpriv --reuid=65534 --regid=65534 --clear-groups \\
../mayhap cc -O1 -pthread ../p.c -o mine && ./mine 10; exit $?";
    let run = shell(folder.path(), compile);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
}

#[test]
fn without_a_place_for_the_runtime_the_user_is_told() {
    if !is_root() {
        return;
    }
    let folder = prepared();
    let script = "mkdir closed && chmod 555 closed && HOME=/nonexistent TMPDIR=$PWD/closed \\
setpriv --reuid=65534 --regid=65534 --clear-groups ./mayhap cc -c p.c -o /dev/null";
    let run = shell(folder.path(), script);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("cannot store the runtime library"), "{}", run.stderr);
}

#[test]
fn namespaces_and_a_missing_proc_are_no_hindrance() {
    let folder = prepared();
    let trace = folder.path().join("t.mhp");
    // As in a container: other process ids, a separate /proc.
    for (what, script) in [
        ("pid namespace", "unshare --pid --fork --mount-proc ./mayhap record -o t.mhp -- ./p"),
        ("user namespace", "unshare --user --map-root-user ./mayhap record -o t.mhp -- ./p"),
        ("no ASLR", "setarch -R ./mayhap record -o t.mhp -- ./p"),
        ("no /proc", "unshare --mount sh -c 'mount -t tmpfs none /proc && ./mayhap record -o t.mhp -- ./p'"),
    ] {
        // Where the system does not allow the namespace itself, there is nothing to check.
        let allowed = script.replace("./mayhap record -o t.mhp -- ./p", "true");
        if shell(folder.path(), &allowed).code != Some(0) {
            needs::forbidden(&format!("the system does not permit this: {what}"));
            continue;
        }
        let run = shell(folder.path(), script);
        assert_eq!(run.code, Some(5), "{what}: {}", run.stderr);
        whole_trace(&trace);
    }
}

#[test]
fn an_instrumented_program_that_runs_itself_is_recorded_once() {
    let folder = prepared();
    let source = "#include <unistd.h>\nint main(int n, char **a) { if (n < 2) execl(a[0], a[0], \"again\", (char *)0); return 4; }";
    std::fs::write(folder.path().join("e.c"), source).unwrap();
    assert_eq!(common::mayhap_in(folder.path(), &["cc", "e.c", "-o", "e"]).code, Some(0));
    let run = common::mayhap_in(folder.path(), &["record", "-o", "t.mhp", "--", "./e"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("replaced itself by exec"), "{}", run.stderr);
}
