//! What people try on their first day: each does what they expect, or says what to do instead.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Run, mayhap_in};

const RACE: &str = "#include <pthread.h>\n#include <stdio.h>\nint total;\nstatic void *work(void *p) { total++; return p; }\n\
int main(int argc, char **argv) { pthread_t a, b; (void)argv; pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0);\n\
pthread_join(a, 0); pthread_join(b, 0); printf(\"%d arguments\\n\", argc - 1); return 0; }\n";

fn folder_with(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn with(variable: &str, value: &Path, here: &Path, arguments: &[&str]) -> Run {
    Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(arguments)
        .env(variable, value)
        .current_dir(here)
        .output()
        .unwrap()
        .into()
}

#[test]
fn options_may_follow_a_source_file() {
    let folder = folder_with("race.c", RACE);
    let here = folder.path();
    let run = mayhap_in(
        here,
        &["run", "race.c", "--html", "r.html", "--no-replay", "--save", "r.json", "one", "--", "--html"],
    );
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("2 arguments"), "{}", run.stderr);
    assert!(fs::read_to_string(here.join("r.html")).unwrap().contains("race.c"));
    // No name of a folder that is gone is shown anywhere.
    let temporary = std::env::temp_dir().join("mayhap-");
    for text in [fs::read_to_string(here.join("r.json")).unwrap(), run.stdout] {
        assert!(!text.contains(temporary.to_str().unwrap()), "{text}");
    }
}

#[test]
fn files_given_for_something_else_are_named() {
    let folder = folder_with("race.c", RACE);
    let here = folder.path();
    fs::write(here.join("notes.txt"), "hello").unwrap();
    fs::write(here.join("main.rs"), "fn main() {}").unwrap();
    fs::write(here.join("t.std"), "T1|w(x)|1\n").unwrap();
    fs::write(here.join("start.sh"), "#!/bin/sh\n").unwrap();
    for (arguments, code, part) in [
        (&["run", "./start.sh"][..], 4, "the file is not executable; to make it so: chmod +x ./start.sh"),
        (&["run", "--htlm", "r.html", "race.c"], 2, "unknown option --htlm; a similar one is --html"),
        (&["explore", "--frobnicate", "./absent"], 2, "unknown option --frobnicate; mayhap help explore"),
        (&["race.c"], 2, "race.c: not a command: this is C or C++ source; to record and analyse it: mayhap run race.c"),
        (&["t.std"], 2, "mayhap predict t.std"),
        (&["predict", "absent.std"], 2, "absent.std: No such file or directory\n"),
        (&["run", "notes.txt"], 2, "text of no known kind"),
        (&["run", "main.rs"], 2, "Rust source"),
        (&["run", "t.std"], 2, "mayhap predict t.std"),
        (&["run", "./absent"], 4, "no such program"),
        (
            &["predict", "race.c"],
            2,
            "not a trace: this is C or C++ source; to record and analyse it: mayhap run race.c",
        ),
        (&["record", "-o", "t.mhp", "race.c"], 2, "C or C++ source; to record its program: mayhap cc -g race.c"),
        (&["convert", "t.std", "t.xyz"], 2, "mayhap: error: t.xyz: unknown format"),
        (&["replay", "t.std"], 2, "not a witness: this is a trace"),
        (&["verify", "t.std", "t.std"], 2, "not a witness: this is a trace"),
        (&["report", "t.std"], 2, "not a report: this is a trace"),
    ] {
        let run = mayhap_in(here, arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn paths_are_checked_before_the_program_runs() {
    let folder = folder_with("race.c", RACE);
    let here = folder.path();
    for (option, path) in [("--html", "no/x.html"), ("--suppressions", "absent"), ("--baseline", "absent")] {
        let run = mayhap_in(here, &["run", option, path, "race.c"]);
        assert_eq!(run.code, Some(2), "{option}");
        assert!(run.stderr.contains(path) && !run.stderr.contains("arguments"), "{option}: {}", run.stderr);
    }
    // A file that turns out to be unwritable only at the end does not lose the report.
    let run = mayhap_in(here, &["run", "--no-replay", "--html", "/dev/full", "race.c"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stdout.contains("Data race on `total`"), "{}", run.stdout);
    assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);
    let run = with("TMPDIR", Path::new("/no/such/folder"), here, &["run", "race.c"]);
    assert!(run.stderr.contains("TMPDIR selects another one"), "{}", run.stderr);
    assert!(!run.stderr.contains("/no/such/folder/"), "{}", run.stderr);
}

/// The option that lacks its value would take the next one, which is not the user's.
#[test]
fn the_compiler_itself_says_what_an_option_lacks() {
    let folder = folder_with("race.c", RACE);
    let run = mayhap_in(folder.path(), &["cc", "race.c", "-o"]);
    assert_ne!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{}", run.stderr);
}

#[test]
fn what_already_failed_has_a_place_and_the_locks_that_are_held() {
    let relock = "#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *work(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return 0; }\n";
    let folder = folder_with("relock.c", relock);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "relock.c"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("main.1 waits for `m`; holds `m` since relock.c:3"), "{}", run.stdout);
    // The thread that ends the program has touched nothing that another one uses.
    let crash = "#include <pthread.h>\n#include <stdlib.h>\nstatic void *work(void *p) { abort(); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return 0; }\n";
    let folder = folder_with("crash.c", crash);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "crash.c"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("crashed with SIGABRT in work()"), "{}", run.stdout);
    assert!(run.stdout.contains("--> crash.c:3 in work()"), "{}", run.stdout);
    assert!(run.stdout.contains("main.1 ends the program; no lock held"), "{}", run.stdout);
}

#[test]
fn a_null_pointer_is_shown_where_it_is_used_and_an_exception_by_its_type() {
    let null = "#include <thread>\n#include <cstdio>\nstruct Node { int value; Node *next; };\nNode *head;\n\
        int sum() { Node *node = head; return node->value; }\n\
        int main() {\n    std::thread a([] { printf(\"%d\\n\", sum()); });\n    a.join();\n}\n";
    let folder = folder_with("null.cpp", null);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "null.cpp"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("--> null.cpp:5 in sum()"), "{}", run.stdout);
    let thrown = "#include <thread>\n#include <stdexcept>\n\
        int main() {\n    std::thread a([] { throw std::runtime_error(\"no entry\"); });\n    a.join();\n}\n";
    let folder = folder_with("thrown.cpp", thrown);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "thrown.cpp"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("crashed with an uncaught std::runtime_error"), "{}", run.stdout);
    assert!(run.stdout.contains("--> thrown.cpp:4 in a lambda"), "{}", run.stdout);
    assert!(run.stdout.contains("It said: uncaught exception std::runtime_error: no entry"), "{}", run.stdout);
}

#[test]
fn a_hang_names_the_wait_that_explains_it_and_only_locks_that_are_held() {
    let hang = "#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\npthread_cond_t c = PTHREAD_COND_INITIALIZER;\nint done;\n\
        static void *work(void *p) { pthread_mutex_lock(&m); while (!done)\npthread_cond_wait(&c, &m);\npthread_mutex_unlock(&m); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_mutex_lock(&m); done = 0; pthread_mutex_unlock(&m);\n\
        pthread_join(t, 0); return 0; }\n";
    let folder = folder_with("hang.c", hang);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "--no-replay", "hang.c"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("--> hang.c:6 in work()"), "{}", run.stdout);
    // A wait gives the lock back, and `main` had given it back before.
    assert_eq!(run.stdout.matches("; no lock held").count(), 2, "{}", run.stdout);
}

/// Runs a program, and presses Ctrl-C when it has made the file `started`.
fn interrupted(folder: &Path, program: &str) -> Run {
    let child = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["run", program])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.join("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    Run::from(child.wait_with_output().unwrap())
}

/// A server never ends by itself: what was recorded until it was stopped is analysed.
#[test]
fn a_program_that_never_ends_is_analysed_up_to_ctrl_c_and_within_the_budget() {
    let server = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\nint served;\n\
        static void *serve(void *p) { for (;;) {\nserved++;\nif (served == 3) fclose(fopen(\"started\", \"w\"));\nusleep(1000); } return p; }\n\
        int main(void) { pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, serve, 0); pthread_join(t[0], 0); }\n";
    let folder = folder_with("server.c", server);
    let run = interrupted(folder.path(), "server.c");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Data race on `served`"), "{}", run.stdout);
    assert!(run.stdout.contains("proven ·") && run.stdout.contains("interrupted; partial results"), "{}", run.stdout);

    let run = mayhap_in(folder.path(), &["run", "--budget", "4s", "--fail-on", "proven", "server.c"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Data race on `served`"), "{}", run.stdout);
    assert!(run.stdout.contains("its share of the budget, and analysed up to there"), "{}", run.stdout);
}

#[test]
fn ctrl_c_ends_a_program_that_goes_on_forever() {
    let spin = "#include <pthread.h>\n#include <stdio.h>\nstatic volatile int go;\nstatic void *work(void *p) { while (!go) ; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); fclose(fopen(\"started\", \"w\")); pthread_join(t, 0); return 0; }\n";
    let folder = folder_with("spin.c", spin);
    let run = interrupted(folder.path(), "spin.c");
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stdout.contains("interrupted; partial results"), "{}", run.stdout);
    assert!(run.stdout.starts_with("no findings"), "{}", run.stdout);
}

#[test]
fn one_thread_has_nothing_to_reorder() {
    let folder = folder_with("one.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n");
    let run = mayhap_in(folder.path(), &["run", "one.c"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("one thread: there is nothing to reorder"), "{}", run.stdout);
}

#[test]
fn a_budget_ends_the_job() {
    let folder = folder_with("race.c", RACE);
    let run = mayhap_in(folder.path(), &["run", "--budget", "0s", "race.c"]);
    assert_eq!(run.code, Some(3), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("the budget is used up; partial results"), "{}", run.stdout);
    let run = mayhap_in(folder.path(), &["run", "--budget", "soon", "race.c"]);
    assert!(run.stderr.contains("not a time such as 60s"), "{}", run.stderr);
}

#[test]
fn a_rebuilt_program_is_noticed() {
    let folder = folder_with("race.c", RACE);
    let here = folder.path();
    let compile =
        || assert_eq!(mayhap_in(here, &["cc", "-g", "-O1", "-pthread", "race.c", "-o", "race"]).code, Some(0));
    compile();
    assert_eq!(mayhap_in(here, &["record", "-o", "t.mhp", "--", "./race"]).code, Some(0));
    assert_eq!(mayhap_in(here, &["predict", "t.mhp", "--witnesses", "w"]).code, Some(1));
    let witness = fs::read_dir(here.join("w")).unwrap().next().unwrap().unwrap().path();
    let replay = || mayhap_in(here, &["replay", witness.to_str().unwrap()]);
    assert!(!replay().stderr.contains("not the build"));
    fs::write(here.join("race.c"), RACE.replace("total++", "total += 2")).unwrap();
    compile();
    let run = replay();
    assert!(run.stderr.contains("./race is not the build that was recorded"), "{}", run.stderr);
}

#[test]
fn findings_of_a_repaired_trace_say_so() {
    let text = "T1|fork(T2)|1\nT1|rel(l)|2\nT1|w(x)|3\nT2|w(x)|4\n";
    let folder = folder_with("t.std", text);
    let run = mayhap_in(folder.path(), &["predict", "t.std", "--repair", "--save", "r.json"]);
    // What was dropped may have prevented it.
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 event that broke a rule and was left out may prevent it"), "{}", run.stdout);
    assert!(run.stdout.contains("mayhap check t.std --race 2,3 --repair"), "{}", run.stdout);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(report["trace"]["repaired"], 1);
    assert_eq!(report["findings"][0]["verdict"], "suspected");
}

#[test]
fn a_fork_that_names_no_running_thread_is_noticed() {
    let folder = folder_with("t.std", "T1|fork(124)|1\nT1|w(x)|2\nT124|w(x)|3\n");
    let run = mayhap_in(folder.path(), &["predict", "t.std"]);
    assert!(run.stderr.contains("thread 124 is forked and has no events, and T124 has events"), "{}", run.stderr);
    let folder = folder_with("t.std", "T1|fork(T2)|1\nT1|w(x)|2\nT3|w(x)|3\n");
    let run = mayhap_in(folder.path(), &["predict", "t.std"]);
    assert_eq!(run.stderr, "");
}

#[test]
fn help_is_there_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (&["help", "cc"][..], "CC=\"mayhap cc\""),
        (&["cargo", "--help"], "mayhap cargo test"),
        (&["cargo", "test", "--help"], "mayhap cargo test"),
    ] {
        let run = mayhap_in(folder.path(), arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.contains(part), "{arguments:?}: {}", run.stdout);
    }
}

/// Programs with one bug each, in what the standard library's containers do for them.
#[test]
fn findings_in_cpp_are_in_the_programs_own_code_and_one_for_each_bug() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/front_door");
    for name in ["vec", "latest", "deque", "string", "table"] {
        let file = format!("{name}.cpp");
        fs::copy(programs.join(&file), here.join(&file)).unwrap();
        let run = mayhap_in(
            here,
            &[
                "run",
                "--kinds",
                "race",
                "--no-replay",
                "--explore",
                "0",
                "--format",
                "json",
                "--sarif",
                "s.json",
                &file,
            ],
        );
        assert_eq!(run.code, Some(1), "{name}: {}", run.stderr);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let findings: Vec<_> = findings.iter().filter(|finding| finding["verdict"] != "note").collect();
        assert_eq!(findings.len(), 1, "{name}: {findings:#?}");
        for side in findings[0]["events"].as_array().unwrap() {
            assert_eq!(side["source"]["file"], file.as_str(), "{name}: {side:#}");
        }
        let title = findings[0]["title"].as_str().unwrap();
        assert!(!title.contains("std::") && !title.contains("operator()"), "{title}");
        let sarif: serde_json::Value = serde_json::from_slice(&fs::read(here.join("s.json")).unwrap()).unwrap();
        let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place, file.as_str(), "{name}");
    }
}

#[test]
fn what_a_run_does_not_imply_is_listed_on_request() {
    let text = "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int ready, data, seen;\n\
static void *fill(void *p) { data = 7; pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m); return p; }\n\
static void *use(void *p) { int is_there; do { pthread_mutex_lock(&m); is_there = ready; pthread_mutex_unlock(&m); } while (!is_there);\n\
seen = data; return p; }\n\
int main(void) { pthread_t a, b; pthread_create(&a, 0, fill, 0); pthread_create(&b, 0, use, 0); pthread_join(a, 0); pthread_join(b, 0);\n\
return seen != 7; }\n";
    let folder = folder_with("once.c", text);
    let run = mayhap_in(folder.path(), &["run", "--explain", "--explore", "0", "once.c"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let said = ["Not implied by this run: ", "race (main.1 at once.c:3; main.2 at once.c:5)", "    why  "];
    assert!(said.iter().all(|words| run.stdout.contains(words)), "{}", run.stdout);
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "once.c"]);
    assert!(run.code == Some(0) && !run.stdout.contains("Not implied by this run:"), "{}", run.stdout);
}

/// Whether lines are the expected ones, of which `…` stands for any number.
fn is_as_shown(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|skipped| is_as_shown(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, lines)| line == first && is_as_shown(rest, lines))
        }
    }
}

#[test]
fn the_first_day_is_as_its_page_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for file in fs::read_dir(docs.join("examples/first-day")).unwrap().map(|file| file.unwrap()) {
        fs::copy(file.path(), here.join(file.file_name())).unwrap();
    }
    let plain = Command::new("cc").args(["-pthread", "race.c", "-o", "plain"]).current_dir(here).status().unwrap();
    assert!(plain.success());
    let page = fs::read_to_string(docs.join("first-day.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```console\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(blocks.len() >= 20, "{} blocks", blocks.len());
    for block in blocks {
        let (command, rest) = block.split_once('\n').unwrap();
        let (expected, code) = rest.split_once("\n$ echo $?\n").expect(command);
        let arguments: Vec<&str> = command.strip_prefix("$ mayhap ").unwrap().split(' ').collect();
        let run = mayhap_in(here, &arguments);
        let shown = if run.stdout.is_empty() { &run.stderr } else { &run.stdout };
        // What the program says stands on standard error, too.
        let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with("server: ")).collect();
        let expected: Vec<&str> = expected.lines().collect();
        assert!(is_as_shown(&expected, &lines), "{command}:\n{shown}\n{}", run.stderr);
        assert_eq!(run.code.map(|code| code.to_string()).as_deref(), Some(code), "{command}");
    }
}
