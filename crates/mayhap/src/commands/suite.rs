//! `mayhap test`: a whole test suite, one report. `mayhap cargo test` shares what is here.
//!
//! Each test is a job for itself: a process `mayhap run` with the test's folder and environment. Their reports become one.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mayhap_report::{Report, Verdict, counted};
use serde::Deserialize;

use super::run::{span, temporary_folder};
use super::test_binary::Framework;
use crate::notes::note;
use crate::options::Environment;
use crate::reporting::{ReportArgs, load};
use crate::{Exit, Failure};
use mayhap_job::Interrupt;

/// Analyse every test of a suite, and report all findings together, each with the names of its tests
///
/// `mayhap test -- ctest …` asks ctest for the tests that it would run, and records, predicts and replays each of them as
/// `mayhap run` does. `mayhap test -- ./tests` does the same with the tests of a test binary that uses GoogleTest or Catch2. The tests
/// must be built with `mayhap cc` or `mayhap c++`. For Rust: `mayhap cargo test`. With -o, the tests are only recorded.
///
/// Exit codes: 0 nothing found, 1 something observed, confirmed or proven, 2 bad usage or bad input, 3 undecided and nothing proven, 4 no test could
/// be run, or the job was interrupted, and nothing found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only record: write a trace of each test into this folder, for `mayhap corpus`
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["budget", "runs", "no_replay", "explore", "ReportArgs"])]
    output: Option<PathBuf>,

    /// Time limit for the whole suite, such as 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = span)]
    budget: Option<Duration>,

    /// Number of runs to record of each test, each with a different interleaving
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: u32,

    /// Prove findings without replaying them
    #[arg(long)]
    no_replay: bool,

    /// Seconds for which each test is explored under other schedules, unless all its executions were explored before
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = LONG)]
    explore: Option<f64>,

    #[command(flatten)]
    report: ReportArgs,

    /// ctest and its arguments, or a test binary and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CTEST")]
    program: Vec<OsString>,
}

impl Test {
    /// A command of this executable where the test runs, and with its environment.
    fn command(&self, name: &str) -> Result<Command, Failure> {
        let own = std::env::current_exe();
        let own = own.map_err(|error| Failure::new(format_args!("cannot find this executable: {error}")))?;
        let mut command = Command::new(own);
        command.arg(name).envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }
}

/// Seconds for which each test is explored: suites have many, so each has less time than a program on its own.
const USUAL: f64 = 0.5;
/// The same if exploring is asked for.
pub(super) const LONG: &str = "30";

/// A test of a suite.
pub(super) struct Test {
    /// Its name in the suite.
    pub(super) name: String,
    /// The program and its arguments.
    pub(super) program: Vec<OsString>,
    /// Where it runs, if not here.
    pub(super) folder: Option<PathBuf>,
    /// Further environment variables.
    pub(super) environment: Vec<(String, String)>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        self.report.prepare(&Environment::read()?)?;
        let is_ctest = Path::new(&self.program[0]).file_name().is_some_and(|name| name == "ctest");
        let tests = match Framework::of(&self.program[0]) {
            _ if is_ctest => ctest(&self.program)?,
            Some(framework) => {
                let tests = framework.tests(&self.program)?.into_iter();
                tests.map(|(name, program)| Test { name, program, folder: None, environment: Vec::new() }).collect()
            }
            None => {
                return Err(Failure::new(format_args!(
                    "{}: neither ctest nor a test binary with GoogleTest or Catch2, whose tests this command runs; for one program: \
                     mayhap run -- PROGRAM; for Rust: mayhap cargo test",
                    self.program[0].to_string_lossy()
                )));
            }
        };
        if let Some(folder) = &self.output {
            return recorded(&tests, folder);
        }
        let folder = temporary_folder()?;
        let interrupt = Interrupt::catch(self.budget);
        let started = Instant::now();
        let mut options = vec!["--runs".to_string(), self.runs.to_string()];
        options.extend(self.explore.iter().flat_map(|seconds| ["--explore".to_string(), seconds.to_string()]));
        options.extend(self.no_replay.then(|| "--no-replay".to_string()));
        // The tests run in folders of their own; the report is read here.
        let here = std::env::current_dir().ok().and_then(|here| here.into_os_string().into_string().ok());
        options.extend(here.into_iter().flat_map(|here| ["--path-base".to_string(), here]));
        let mut left_out = 0;
        for (number, test) in tests.iter().enumerate() {
            if interrupt.is_set() {
                left_out += 1;
                continue;
            }
            let budget = self.budget.map(|budget| budget.saturating_sub(started.elapsed()));
            let budget = budget.iter().flat_map(|left| ["--budget".to_string(), format!("{}s", left.as_secs_f64())]);
            let options: Vec<String> = options.iter().cloned().chain(budget).collect();
            let words = analyse(test, &options, &folder.path().join(format!("{number:06}.json")))?;
            // Ignore a closed standard error: there is no other place to report to.
            let _ = writeln!(std::io::stderr(), "test {} ... {}", test.name, words);
        }
        let mut whole = collected(folder.path(), &self.program.join(OsStr::new(" ")).to_string_lossy())?;
        let mut undecided = whole.summary.unknown > 0;
        if left_out > 0 {
            let reason = if interrupt.is_pressed() { "interrupted" } else { "the budget is used up" };
            whole.notes.push(format!("{reason}: {} not run", counted(left_out, "test")));
            undecided = true;
        }
        let analysed = std::fs::read_dir(folder.path()).is_ok_and(|mut files| files.next().is_some());
        let exit = self.report.finish(out, whole, undecided)?;
        let unfinished = interrupt.is_pressed() || !analysed;
        Ok(if unfinished && exit != Exit::Found { Exit::Interrupted } else { exit })
    }
}

/// Records each test into a folder. Exits as a test suite does: 1 if a test failed, or was not recorded.
fn recorded(tests: &[Test], folder: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
    let interrupt = Interrupt::catch(None);
    let (mut names, mut failed) = (BTreeSet::new(), 0);
    for test in tests {
        if interrupt.is_set() {
            return Ok(Exit::Interrupted);
        }
        let name = file_name(&test.name);
        let numbered = |n: u32| if n == 1 { name.clone() } else { format!("{name}-{n}") };
        let name = (1..).map(numbered).find(|name| names.insert(name.clone())).unwrap_or_default();
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.into()).join(format!("{name}.mhp"));
        // What is there of an earlier run is not this test's.
        let _ = std::fs::remove_file(&path);
        let mut command = test.command("record")?;
        command.arg("--finish").arg("-o").arg(&path).arg("--").args(&test.program);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.map_err(|error| Failure::new(format_args!("cannot run this executable: {error}")))?;
        let words = match (path.is_file(), status.code()) {
            (false, _) => "not recorded".to_string(),
            (true, Some(0)) => "ok".to_string(),
            (true, _) => format!("FAILED ({status})"),
        };
        failed += u32::from(words != "ok");
        // Ignore a closed standard error: there is no other place to report to.
        let _ = writeln!(std::io::stderr(), "test {} ... {words}", test.name);
    }
    Ok(if failed > 0 { Exit::Program(1) } else { Exit::Nothing })
}

/// The name of a test as that of a file, which every system and CI service takes.
fn file_name(test: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '_' };
    let name: String = test.chars().map(plain).take(200).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

/// Does the job of one test, whose report goes to `file`. Returns what came of it: `ok`, `2 findings`, or why there is no report.
pub(super) fn analyse(test: &Test, options: &[String], file: &Path) -> Result<String, Failure> {
    let mut command = test.command("run")?;
    if !options.iter().any(|option| option == "--explore") {
        command.arg("--explore").arg(USUAL.to_string());
    }
    command.args(options).arg("--save").arg(file).arg("--test-name").arg(&test.name).arg("--");
    command.args(&test.program);
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let output = output.map_err(|error| Failure::new(format_args!("cannot run this executable: {error}")))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("mayhap: error: "));
    Ok(match load(file) {
        Ok(report) => {
            let found = report.findings.iter().filter(|finding| finding.verdict != Verdict::Note).count();
            let words = if found == 0 { "ok".to_string() } else { counted(found as u64, "finding") };
            match report.exploration.filter(|_| options.iter().any(|option| option == "--explore")) {
                Some(all) if all.complete => format!("{words}, all {} executions explored", all.executions),
                Some(some) => format!("{words}, {} explored", counted(some.schedules, "schedule")),
                None => words,
            }
        }
        Err(_) => format!("not analysed: {}", said.unwrap_or("the job ended early")),
    })
}

/// The reports in a folder, as one.
pub(super) fn collected(folder: &Path, suite: &str) -> Result<Report, Failure> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|error| Failure::at(folder, error))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let reports = files.iter().map(|file| load(file)).collect::<Result<Vec<_>, _>>()?;
    let tests = reports.len();
    let mut whole = Report::of_suite(env!("CARGO_PKG_VERSION"), suite, reports);
    whole.program = vec![suite.to_string()];
    // Most tests of most suites have one thread.
    let one_thread = |note: &String| note.ends_with(mayhap_job::ONE_THREAD);
    let single = whole.notes.iter().filter(|note| one_thread(note)).count();
    whole.notes.retain(|note| !one_thread(note));
    let single =
        if single > 0 { format!(", {single} of them with one thread: nothing to reorder") } else { String::new() };
    whole.notes.push(format!("{} analysed{single}", counted(tests as u64, "test")));
    Ok(whole)
}

/// What ctest says of its tests.
#[derive(Deserialize)]
struct Listing {
    tests: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: serde_json::Value,
}

/// The tests that ctest would run with these arguments.
fn ctest(program: &[OsString]) -> Result<Vec<Test>, Failure> {
    let path = Path::new(&program[0]);
    let output = Command::new(&program[0]).args(&program[1..]).arg("--show-only=json-v1").output();
    let output = output.map_err(|error| Failure::at(path, format_args!("cannot run it: {error}")).not_run())?;
    let listing: Listing = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure::at(path, format_args!("it lists no tests (ctest 3.14 or newer can): {}", said.trim())).not_run()
    })?;
    let mut tests = Vec::new();
    for test in listing.tests {
        let property = |name: &str| test.properties.iter().find(|p| p.name == name).map(|p| &p.value);
        if property("DISABLED").and_then(serde_json::Value::as_bool) == Some(true) {
            continue;
        }
        if test.command.is_empty() {
            note(format_args!("{}: not built, so it has no program", test.name));
            continue;
        }
        let environment = property("ENVIRONMENT").and_then(serde_json::Value::as_array).into_iter().flatten();
        let pair = |entry: &serde_json::Value| {
            entry.as_str()?.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()))
        };
        tests.push(Test {
            environment: environment.filter_map(pair).collect(),
            folder: property("WORKING_DIRECTORY").and_then(serde_json::Value::as_str).map(PathBuf::from),
            program: test.command.iter().map(OsString::from).collect(),
            name: test.name,
        });
    }
    Ok(tests)
}
