//! Recordings that are made traces when they are first read.

mod common;

use std::path::Path;

use mayhap_trace::format;
use mayhap_wire::ring::Schedule;

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
static int shared;
static void *work(void *argument) {
    for (int i = 0; i < 50; i++) shared += *(int *)argument;
    return 0;
}
int main(void) {
    pthread_t thread;
    int line = getchar();
    pthread_create(&thread, 0, work, &line);
    work(&line);
    pthread_join(thread, 0);
    return 3;
}
"#;

/// Records the program with these options into `t.mhp`.
fn record(folder: &Path, options: &[&str]) {
    std::fs::write(folder.join("p.c"), PROGRAM).unwrap();
    if !folder.join("p").exists() {
        common::mayhap_in(folder, &["cc", "-O1", "-g", "-pthread", "p.c", "-o", "p"]);
    }
    let script = format!("echo 7 | \"$0\" record {} -o t.mhp -- ./p", options.join(" "));
    let mut shell = std::process::Command::new("sh");
    let run = shell.args(["-c", &script, env!("CARGO_BIN_EXE_mayhap")]).current_dir(folder).output().unwrap();
    assert_eq!(run.status.code(), Some(3), "{run:?}");
}

/// The trace as text.
fn text(folder: &Path) -> String {
    let converted = common::mayhap_in(folder, &["convert", "t.mhp", "t.std"]);
    assert_eq!(converted.code, Some(0), "{}", converted.stderr);
    std::fs::read_to_string(folder.join("t.std")).unwrap()
}

#[test]
fn a_trace_that_is_kept_in_memory_is_the_one_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &[]);
    let (program, path) = (folder.path().join("p"), folder.path().join("kept.mhp"));
    let runtime = mayhap_instrument::runtime::folder().unwrap();
    let mut command = mayhap_record::command(&[program.clone().into()], &runtime).unwrap();
    command.stdin(std::process::Stdio::null());
    let options = mayhap_record::Options {
        output: path.clone(),
        seed: 0,
        schedule: Schedule::Free,
        slice: mayhap_record::usual_slice(Schedule::Free),
        inputs: true,
        values: true,
        linger: mayhap_record::LINGER,
        limits: mayhap_record::Limits::default(),
        finish: true,
        root: None,
    };
    let unwatched = &mut mayhap_record::Unwatched;
    let capture = mayhap_record::execute_for_trace(command, &options, folder.path(), unwatched).unwrap();
    let run = mayhap_trace::attachments::Run::new(&[program.into()], capture.status, Default::default());
    let (made, kept) = capture.write_and_keep(format::create(&path).unwrap(), &path, &run).unwrap();
    let kept = kept.expect("all of it was written");
    assert!(made.events > 10 && kept.len() as u64 == made.events, "{}", made.events);
    assert!(kept == format::read(&path).unwrap().trace);
}

#[test]
fn the_first_command_that_reads_a_recording_makes_it_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["--finish"]);
    let trace = folder.path().join("t.mhp");
    assert!(!mayhap_record::is_unfinished(&trace));
    // Two runs may differ, so every command gets the same recording.
    record(folder.path(), &[]);
    let recording = std::fs::read(&trace).unwrap();
    mayhap_record::finish(&trace, &mut |_| {}).unwrap();
    let (at_once, size) = (text(folder.path()), trace.metadata().unwrap().len());
    for command in [&["stats"][..], &["detect", "--order", "hb"], &["predict"], &["predict", "--window", "0"]] {
        std::fs::write(&trace, &recording).unwrap();
        assert!(mayhap_record::is_unfinished(&trace), "{command:?}");
        let refused = format::read(&trace).unwrap_err().to_string();
        assert!(refused.contains("recording, not a trace yet"), "{refused}");
        // Where the commands are run does not matter.
        let elsewhere = tempfile::tempdir().unwrap();
        let run = common::mayhap_in(elsewhere.path(), &[command, &[trace.to_str().unwrap()]].concat());
        assert!(matches!(run.code, Some(0 | 1)), "{command:?}: {}", run.stderr);
        assert!(!mayhap_record::is_unfinished(&trace), "{command:?}");
        assert_eq!(text(folder.path()), at_once, "{command:?}");
        assert_eq!(trace.metadata().unwrap().len(), size, "with all that goes with it");
    }
    // With its program, its end and its standard input.
    record(folder.path(), &[]);
    mayhap_record::finish(&trace, &mut |_| {}).unwrap();
    let run = mayhap_trace::attachments::Run::load(&trace).unwrap();
    assert_eq!((run.program, run.code, run.stdin), (vec!["./p".to_owned()], Some(3), Some(b"7\n".to_vec())));
}

#[test]
fn a_program_that_is_another_by_then_lends_no_names() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &[]);
    let other = PROGRAM.replace("shared", "different");
    std::fs::write(folder.path().join("other.c"), other).unwrap();
    common::mayhap_in(folder.path(), &["cc", "-O1", "-g", "-pthread", "other.c", "-o", "p"]);
    let run = common::mayhap_in(folder.path(), &["predict", "t.mhp"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("p has changed since the program ran"), "{}", run.stderr);
    assert!(!run.stdout.contains("different") && run.stdout.contains("p+0x"), "{}", run.stdout);
}

#[test]
fn a_recording_that_was_cut_off_or_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &[]);
    let trace = folder.path().join("t.mhp");
    let whole = std::fs::read(&trace).unwrap();
    for length in (8..whole.len()).step_by(whole.len() / 50) {
        std::fs::write(&trace, &whole[..length]).unwrap();
        let refused = mayhap_record::finish(&trace, &mut |_| {}).unwrap_err().to_string();
        assert!(refused.contains("incomplete"), "{refused}");
    }
    let run = common::mayhap_in(folder.path(), &["stats", "t.mhp"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("the recording is incomplete"), "{}", run.stderr);
    for at in (8..whole.len()).step_by(whole.len() / 100 + 1) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        std::fs::write(&trace, changed).unwrap();
        let refused = mayhap_record::finish(&trace, &mut |_| {}).unwrap_err().to_string();
        assert!(
            ["checksum", "does not fit", "cut off", "incomplete"].iter().any(|why| refused.contains(why)),
            "byte {at}: {refused}"
        );
    }
}

#[test]
fn a_recording_takes_the_place_of_an_older_one_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &[]);
    let older = std::fs::read(folder.path().join("t.mhp")).unwrap();
    let other_name = folder.path().join("kept.mhp");
    std::fs::hard_link(folder.path().join("t.mhp"), &other_name).unwrap();
    record(folder.path(), &["--seed", "7"]);
    assert!(mayhap_record::is_unfinished(&folder.path().join("t.mhp")));
    assert!(std::fs::read(folder.path().join("t.mhp")).unwrap() != older, "the new one has other options");
    assert_eq!(std::fs::read(other_name).unwrap(), older, "what had another name too is as it was");
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["kept.mhp", "p", "p.c", "t.mhp"]);
}
