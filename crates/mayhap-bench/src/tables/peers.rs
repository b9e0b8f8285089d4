//! Other tools: libtsan, helgrind and drd on programs with hidden bugs and on their correct twins.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::sheet::Sheet;
use crate::tool::{Run, run, seconds};

const NOTE: &str = "One run of each tool. `found` on a program with a bug is right, on its correct twin it is a false alarm. libtsan, helgrind and drd report what is \
unordered in the order that ran, so that they miss bugs that a lock or the start of a thread happened to order; helgrind and libtsan also report lock-order \
inversions, whether or not they can happen, and drd reports what it takes for races around conditions. mayhap proves its findings from the same kind of run, which is \
why it finds more and raises no false alarm here; what it misses needs code that the run did not execute, or is not a bug of the kinds it knows. Times are wall clock, \
the program built with the tool's own flags; mayhap's is recording and prediction together, the peers' the run. Most programs sleep for tens of milliseconds on \
purpose, so times say little here; the next table has what recording costs. `hung` is a run that was ended after 10 s: nested_monitor really deadlocks under libtsan, which \
reports the inverted order before and not that no thread moves.";

const RAPID: &str = "RAPID is run on the same traces where RAPID_HOME names its folder.";

/// What one tool said of one program.
struct Said {
    found: bool,
    time: String,
}

/// Makes the tables.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let folder = bench.root.join("crates/mayhap/tests/hidden_bugs");
    let columns = ["program", "bug", "mayhap", "time", "libtsan", "time", "helgrind", "time", "drd", "time"];
    let mut sheet = Sheet::new("peers", "Peers on programs with hidden bugs and their twins", &columns, NOTE);
    let mut totals = [[0u32; 4]; 2];
    let mut programs = [0u32; 2];
    let mut files = sources(&folder)?;
    if bench.quick {
        files.truncate(6);
    }
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Err(late) = bench.in_time() {
            sheet.tolerate(&name, Err(late))?;
            continue;
        }
        let correct = name.ends_with("_fixed");
        let native = bench.scratch.path().join("peer-native");
        build(&mut Command::new(compiler(&file).0), &file, &native)?;
        let said =
            [mayhap(bench, &file)?, libtsan(bench, &file)?, valgrind(&native, "helgrind")?, valgrind(&native, "drd")?];
        programs[usize::from(correct)] += 1;
        for (total, said) in totals[usize::from(correct)].iter_mut().zip(&said) {
            *total += u32::from(said.as_ref().is_some_and(|s| s.found));
        }
        let found = |said: &Option<Said>| match said {
            None => "-".to_string(),
            Some(Said { found: true, .. }) if correct => "FALSE".to_string(),
            Some(Said { found: true, .. }) => "found".to_string(),
            Some(_) => if correct { "clean" } else { "missed" }.to_string(),
        };
        let time = |said: &Option<Said>| said.as_ref().map_or(String::new(), |s| s.time.clone());
        let [m, t, h, d] = &said;
        sheet.row([
            name,
            if correct { "no" } else { "yes" }.to_string(),
            found(m),
            time(m),
            found(t),
            time(t),
            found(h),
            time(h),
            found(d),
            time(d),
        ]);
    }
    for (label, at) in [("found of bugs", 0), ("false of twins", 1)] {
        let of = |tool: usize| format!("{}/{}", totals[at][tool], programs[at]);
        let none = String::new;
        sheet.row([label.to_string(), none(), of(0), none(), of(1), none(), of(2), none(), of(3), none()]);
    }
    bench.results.keep(&sheet)?;
    rapid(bench)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = listed.filter_map(|f| f.ok().map(|f| f.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c" || e == "cpp"));
    files.sort();
    Ok(files)
}

fn compiler(file: &Path) -> (&'static str, &'static str) {
    match file.extension().is_some_and(|e| e == "cpp") {
        true => ("g++", "c++"),
        false => ("gcc", "cc"),
    }
}

pub(super) fn build(command: &mut Command, file: &Path, to: &Path) -> Result<(), String> {
    let built = run(command.args(["-g", "-O1", "-pthread", "-o"]).arg(to).arg(file))?;
    match built.code {
        Some(0) => Ok(()),
        _ => Err(format!("{}: {}", file.display(), built.err.trim())),
    }
}

/// Returns a command that a program under observation cannot hang.
pub(super) fn timed(seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.arg(seconds.to_string());
    command
}

/// Seconds after which a program hangs: on its own, each ends within one.
const HANGS: u32 = 10;
/// How `timeout` ends then.
const HUNG: Option<i32> = Some(124);

/// The time of a run, or that it hung.
fn time(run: &Run) -> String {
    if run.code == HUNG { "hung".to_string() } else { seconds(run.wall) }
}

fn mayhap(bench: &Bench, file: &Path) -> Result<Option<Said>, String> {
    let (program, trace) = (bench.scratch.path().join("peer"), bench.scratch.path().join("peer.mhp"));
    build(Command::new(bench.tool.path()).arg(compiler(file).1), file, &program)?;
    let record = run(timed(HANGS).arg(bench.tool.path()).args(["record", "-o"]).arg(&trace).arg("--").arg(&program))?;
    let kinds = ["--kinds", "race,deadlock,atomicity,order"].map(AsRef::as_ref);
    let predict = bench.tool.run(["predict".as_ref(), trace.as_os_str()].into_iter().chain(kinds))?;
    Ok(Some(Said { found: predict.code == Some(1), time: seconds(record.wall + predict.wall) }))
}

fn libtsan(bench: &Bench, file: &Path) -> Result<Option<Said>, String> {
    let program = bench.scratch.path().join("peer-tsan");
    if build(Command::new(compiler(file).0).arg("-fsanitize=thread"), file, &program).is_err() {
        return Ok(None);
    }
    let done = run(timed(HANGS).arg(&program).env("TSAN_OPTIONS", "detect_deadlocks=1:second_deadlock_stack=1"))?;
    Ok(Some(Said { found: done.err.contains("WARNING: ThreadSanitizer"), time: time(&done) }))
}

fn valgrind(program: &Path, tool: &str) -> Result<Option<Said>, String> {
    let Ok(done) = run(timed(HANGS).args(["valgrind", &format!("--tool={tool}"), "--error-exitcode=99"]).arg(program))
    else {
        return Ok(None);
    };
    // `timeout` returns 127 if there is no such command. A tool that hangs has no exit code.
    let words = ["lock order", "Possible data race", "Conflicting"];
    let found = if done.code == HUNG { words.iter().any(|w| done.err.contains(w)) } else { done.code == Some(99) };
    match done.code {
        Some(127) => Ok(None),
        _ => Ok(Some(Said { found, time: time(&done) })),
    }
}

/// RAPID's own detectors on the corpus, where it is installed.
fn rapid(bench: &Bench) -> Result<(), String> {
    let Some(home) = std::env::var_os("RAPID_HOME").map(PathBuf::from) else {
        println!("{RAPID} It does not here.\n");
        return Ok(());
    };
    let columns = ["trace", "order", "rapid", "mayhap", "factor"];
    let mut sheet = Sheet::new("rapid", "RAPID on the same traces", &columns, RAPID);
    for (name, path) in crate::programs::corpus(bench) {
        let plain = bench.scratch.path().join(format!("{name}.std"));
        bench.tool.run(["convert".as_ref(), path.as_os_str(), plain.as_os_str()])?;
        for (order, class) in [("hb", "HBEpoch"), ("shb", "SHB"), ("wcp", "WCP"), ("syncp", "SyncPreserving")] {
            let classpath = format!("{0}/rapid.jar:{0}/lib/*:{0}/lib/jgrapht/*", home.display());
            let theirs = run(timed(HANGS)
                .args(["java", "-classpath", &classpath, class, "-f=std"])
                .arg(format!("-p={}", plain.display())))?;
            let ours = bench.tool.run(["detect".as_ref(), plain.as_os_str(), "--order".as_ref(), order.as_ref()])?;
            sheet.row([
                name.to_string(),
                order.to_string(),
                seconds(theirs.wall),
                seconds(ours.wall),
                format!("{:.0}", theirs.wall.as_secs_f64() / ours.wall.as_secs_f64()),
            ]);
        }
    }
    bench.results.keep(&sheet)
}
