//! What cargo runs instead of a program or a test binary it built: `mayhap record` on it.
//!
//! A test binary of the usual kind lists its tests, and each is recorded in a process of its own, so that a trace is about one
//! test and carries its name. What does not list tests (a program, a benchmark or test with a `main` of its own) is recorded whole.
//! `cargo nextest` runs each test by itself already.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::commands::record::{How, code};
use crate::commands::suite::{Test, analyse};
use crate::notes::note;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;
use mayhap_record::{Options, command, record, record_as};

/// The name that this executable has as a runner.
pub const NAME: &str = "mayhap-runner";

/// The file or folder to record to.
const OUTPUT: &str = "MAYHAP_CARGO_OUTPUT";
/// `file`, `test` or `binary`; for an analysis `program` or `job`, which is one of tests.
const PER: &str = "MAYHAP_CARGO_PER";
/// `--seed` and the like.
const OPTIONS: &str = "MAYHAP_CARGO_OPTIONS";
/// When `mayhap cargo` began, in nanoseconds: traces that are newer are of this run.
const BEGAN: &str = "MAYHAP_CARGO_BEGAN";

/// How long a test binary may take to list its tests.
const LISTED: Duration = Duration::from_secs(10);

/// What makes cargo run things through the runner.
pub(super) fn environment(
    command: &str,
    output: &Path,
    per: Option<&str>,
    options: &[String],
    folder: &Path,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let per = match (command, per) {
        ("run" | "r", Some("job")) => "program",
        (_, Some("job")) => "job",
        ("run" | "r", None) => "file",
        ("test" | "t" | "bench" | "nextest", per) => per.unwrap_or("test"),
        ("run" | "r", Some(_)) => return Err(Failure::new("--per is about tests")),
        _ => return Err(Failure::new(format_args!("cargo {command} runs nothing that -o could record"))),
    };
    let output = std::path::absolute(output).map_err(|error| Failure::at(output, error))?;
    let link = folder.join("mayhap-bin").join(NAME);
    let failed = |error| Failure::at(&link, error);
    let executable = std::env::current_exe().map_err(failed)?;
    if std::fs::read_link(&link).ok().as_ref() != Some(&executable) {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&executable, &link).map_err(failed)?;
    }
    if link.to_string_lossy().contains(char::is_whitespace) {
        return Err(Failure::at(&link, "cargo cannot use a runner whose path has spaces: give another --target-dir"));
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let runner = format!("CARGO_TARGET_{}_RUNNER", super::TARGET.replace('-', "_").to_uppercase());
    Ok(vec![
        (runner.into(), link.into_os_string()),
        (OUTPUT.into(), output.into_os_string()),
        (PER.into(), per.into()),
        (OPTIONS.into(), options.join("\x1f").into()),
        (BEGAN.into(), began.to_string().into()),
    ])
}

/// The runner itself: records a program that cargo built.
pub fn run(program: Vec<OsString>) -> Result<Exit, Failure> {
    let (Some(output), Some(binary)) = (std::env::var_os(OUTPUT).map(PathBuf::from), program.first().cloned()) else {
        return Err(Failure::new("this is what `mayhap cargo` has cargo run, not a command of its own"));
    };
    let per = std::env::var(PER).unwrap_or_default();
    let runner = Runner { output, binary: binary.clone(), began: began() };
    let arguments = &program[1..];
    if arguments.iter().any(|argument| argument == "--list") {
        let status = Command::new(&binary).args(arguments).status();
        return status
            .map(|status| Exit::Program(code(status)))
            .map_err(|error| Failure::at(Path::new(&binary), error));
    }
    if per == "program" || per == "job" {
        return runner.analyse(&program, per == "job");
    }
    if per == "file" {
        return runner.one(&program, runner.output.clone());
    }
    if let (true, Some(name)) = (is_exact(arguments), names(arguments).first()) {
        return runner.one(&program, runner.path(Some(&name.to_string_lossy())));
    }
    match (per.as_str(), tests(&binary, arguments)) {
        ("test", Some(tests)) => runner.each(tests, arguments),
        _ => runner.one(&program, runner.path(None)),
    }
}

fn began() -> SystemTime {
    let nanoseconds = std::env::var(BEGAN).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    UNIX_EPOCH + Duration::from_nanos(nanoseconds)
}

fn is_exact(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| argument == "--exact")
}

/// The arguments of a test binary that are names.
fn names(arguments: &[OsString]) -> Vec<&OsString> {
    const WITH_VALUE: [&str; 6] = ["--test-threads", "--skip", "--logfile", "--color", "--format", "-Z"];
    let mut names = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if WITH_VALUE.contains(&text.as_ref()) {
            arguments.next();
        } else if !text.starts_with('-') {
            names.push(argument);
        }
    }
    names
}

/// What a command that succeeds prints; `None` if it takes longer than a list of tests does: a `main` of its own may do anything.
fn printed_soon(mut command: Command) -> Option<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).ok().map(|_| text)
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if begun.elapsed() < LISTED => std::thread::sleep(Duration::from_millis(5)),
            None => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let text = reader.join().ok()??;
    status.success().then_some(text)
}

/// The tests that a test binary would run with these arguments; `None` if it is none that lists its tests.
fn tests(binary: &OsStr, arguments: &[OsString]) -> Option<Vec<String>> {
    let list = |more: &[&str]| {
        let mut command = Command::new(binary);
        command.args(arguments).args(["--list", "--format", "terse"]).args(more);
        let text = printed_soon(command)?;
        let known = |line: &&str| line.ends_with(": test") || line.ends_with(": benchmark");
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        // A program that ignores its arguments and says something else lists nothing.
        if !lines.iter().all(known) {
            return None;
        }
        Some(lines.iter().filter_map(|line| Some(line.strip_suffix(": test")?.to_string())).collect::<Vec<_>>())
    };
    let mut all = list(&[])?;
    if !arguments.iter().any(|argument| argument == "--ignored" || argument == "--include-ignored") {
        let ignored = list(&["--ignored"])?;
        all.retain(|test| !ignored.contains(test));
    }
    Some(all)
}

struct Runner {
    output: PathBuf,
    binary: OsString,
    began: SystemTime,
}

impl Runner {
    /// Where the trace of a test goes, or that of the whole binary. Two binaries of a package may have the same name.
    fn path(&self, test: Option<&str>) -> PathBuf {
        let name =
            Path::new(&self.binary).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // Cargo adds a hash to the names of test binaries.
        let name = match name.rsplit_once('-') {
            Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name.to_string(),
            _ => name,
        };
        let stem = match test {
            Some(test) => self.output.join(name).join(test.replace("::", "-").replace('/', "_")),
            None => self.output.join(name),
        };
        let of_this_run =
            |path: &Path| path.metadata().and_then(|file| file.modified()).is_ok_and(|time| time >= self.began);
        let numbered = |n: u32| {
            PathBuf::from(if n == 1 {
                format!("{}.mhp", stem.display())
            } else {
                format!("{}-{n}.mhp", stem.display())
            })
        };
        (1..).map(numbered).find(|path| !of_this_run(path)).unwrap_or_else(|| numbered(1))
    }

    fn one(&self, program: &[OsString], output: PathBuf) -> Result<Exit, Failure> {
        if let Some(folder) = output.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
        }
        let recording = record(program, &runtime::folder()?, &options(output)?)?;
        recording.notes.iter().for_each(note);
        Ok(Exit::Program(code(recording.status)))
    }

    /// Records each test by itself and says how it went, as the test binary would.
    fn each(&self, tests: Vec<String>, arguments: &[OsString]) -> Result<Exit, Failure> {
        let names = names(arguments);
        let kept: Vec<&OsString> =
            arguments.iter().filter(|argument| !names.contains(argument) && *argument != "--exact").collect();
        let mut failed = Vec::new();
        let mut out = std::io::stdout();
        writeln!(out, "\nrecording {} tests", tests.len())?;
        for test in &tests {
            let output = self.path(Some(test));
            if let Some(folder) = output.parent() {
                std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
            }
            let mut program = vec![self.binary.clone(), "--exact".into(), test.into()];
            program.extend(kept.iter().map(|&argument| argument.clone()));
            let no_file = |error| Failure::new(format_args!("no temporary file: {error}"));
            let log = tempfile::tempfile().map_err(no_file)?;
            let mut test_command = command(&program, &runtime::folder()?)?;
            test_command.stdout(log.try_clone().map_err(no_file)?).stderr(log.try_clone().map_err(no_file)?);
            let recording = record_as(test_command, &program, &options(output.clone())?, || None)?;
            let good = recording.status.success();
            let shown =
                std::env::current_dir().ok().and_then(|folder| Some(output.strip_prefix(folder).ok()?.to_path_buf()));
            let shown = shown.unwrap_or(output);
            writeln!(
                out,
                "test {test} ... {}, {} events in {}",
                if good { "ok" } else { "FAILED" },
                recording.events,
                shown.display()
            )?;
            recording.notes.iter().for_each(note);
            if !good {
                failed.push((test, said(log)));
            }
        }
        for (test, text) in &failed {
            writeln!(out, "\n---- {test} ----\n{}", text.trim())?;
        }
        let result = if failed.is_empty() { "ok" } else { "FAILED" };
        writeln!(out, "\ntest result: {result}. {} passed; {} failed\n", tests.len() - failed.len(), failed.len())?;
        // What a test binary exits with.
        Ok(Exit::Program(if failed.is_empty() { 0 } else { 101 }))
    }
}

impl Runner {
    /// Analyses each test of a test binary, or the whole program.
    fn analyse(&self, program: &[OsString], has_tests: bool) -> Result<Exit, Failure> {
        let arguments = &program[1..];
        let is_documentation = self.binary.to_string_lossy().contains("rustdoctest");
        if is_documentation {
            let status = Command::new(&self.binary).args(arguments).status();
            return status
                .map(|status| Exit::Program(code(status)))
                .map_err(|error| Failure::at(Path::new(&self.binary), error));
        }
        let text = std::env::var(OPTIONS).unwrap_or_default();
        let options: Vec<String> = text.split('\x1f').filter(|word| !word.is_empty()).map(String::from).collect();
        let target = self.path(None).file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // A program is never asked for tests: it would do its work.
        let tests = match has_tests.then(|| tests(&self.binary, arguments)).flatten() {
            Some(names) => names.into_iter().map(|name| self.test(&target, name, arguments)).collect(),
            None => vec![Test { name: target, program: program.to_vec(), folder: None, environment: Vec::new() }],
        };
        let mut out = std::io::stdout();
        for test in tests {
            let words = analyse(&test, &options, &self.numbered())?;
            writeln!(out, "test {} ... {}", test.name, words)?;
        }
        Ok(Exit::Nothing)
    }

    /// A test of a test binary, by itself.
    fn test(&self, target: &str, name: String, arguments: &[OsString]) -> Test {
        let names = names(arguments);
        let kept = arguments.iter().filter(|argument| !names.contains(argument) && *argument != "--exact").cloned();
        let program = [self.binary.clone(), "--exact".into(), name.clone().into()].into_iter().chain(kept).collect();
        // With more threads the harness waits for the only test with a time limit, and a test that hangs would not be stuck.
        let threads = Some(("RUST_TEST_THREADS", "1")).filter(|(name, _)| std::env::var_os(name).is_none());
        let environment = threads.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Test { name: format!("{target}::{name}"), program, folder: None, environment }
    }

    /// The next free file of the folder.
    fn numbered(&self) -> PathBuf {
        let path = |n: u32| self.output.join(format!("{n:06}.json"));
        (0..).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(0))
    }
}

/// What a program printed into the file that it got.
fn said(mut file: std::fs::File) -> String {
    use std::io::Seek;
    let mut text = Vec::new();
    if file.rewind().is_ok() {
        // What cannot be read is not shown.
        let _ = file.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn options(output: PathBuf) -> Result<Options, Failure> {
    let text = std::env::var(OPTIONS).unwrap_or_default();
    let words: Vec<&str> = text.split('\x1f').collect();
    let value = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
    let number = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
    let how = value("--schedule").and_then(How::named).unwrap_or(How::Free);
    let slice = number("--slice").map(|n| n.clamp(1, u32::MAX.into()) as u32);
    Ok(how.options(output, number("--seed").unwrap_or(0), slice))
}
