//! `mayhap cargo`: cargo with recording built in.
//!
//! Cargo does all the work in an environment that instruments: a separate target folder, compiler options, an explicit target
//! (so that build scripts and procedural macros are not instrumented), `mayhap cc` for C code. To record, cargo runs what it
//! built through this executable ([`runner`]).

pub mod runner;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{CommandFactory, Parser};
use mayhap_instrument::toolchain::{self, TARGET, Toolchain};

use super::record::{How, code};
use super::run::temporary_folder;
use super::suite::{LONG, collected};
use crate::notes::note;
use crate::options::Environment;
use crate::reporting::ReportArgs;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;

/// Build, run or test a Rust workspace with recording
///
/// `mayhap cargo test` analyses each test as `mayhap run` would and reports all findings together, each with the names of its
/// tests; `mayhap cargo run` does the same with a program. With -o, they only record: `mayhap cargo test -o traces` (a folder
/// with one trace per test), `mayhap cargo run -o trace.mhp`. `build`, `bench` and `nextest run` work as without mayhap. All
/// builds are in target/mayhap.
///
/// Before a `--`, these arguments belong to mayhap, all others to cargo: -o/--output, --per test|binary, --seed N,
/// --schedule free|random|pct, --slice N; and for an analysis --runs N, --replays N, --no-replay, --budget TIME, --timeout S,
/// --explore[=SECONDS] (each test runs under other schedules for so long, 30 s unless a number is given, or until all executions are explored), and the options of reports (--html FILE, --sarif FILE, --junit FILE, --save FILE, --format json, --suppressions FILE,
/// --baseline REPORT, --fail-on CERTAINTY).
///
/// Exit codes of an analysis are those of `mayhap run`; otherwise they are cargo's.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    /// Cargo's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

/// The arguments that belong to mayhap.
#[derive(Default, PartialEq, Debug)]
struct Own {
    output: Option<PathBuf>,
    per: Option<String>,
    /// Passed on to `mayhap record`.
    record: Vec<String>,
    /// Passed on to `mayhap run`.
    job: Vec<String>,
    /// Options of the report.
    report: Vec<String>,
}

/// Options of `mayhap run`, and of its report, that `mayhap cargo` takes; the flag says whether a value follows.
const OF_JOB: [(&str, bool); 5] =
    [("--runs", true), ("--replays", true), ("--no-replay", false), ("--budget", true), ("--timeout", true)];
const OF_REPORT: [&str; 10] = [
    "--html",
    "--sarif",
    "--junit",
    "--save",
    "--perfetto",
    "--format",
    "--suppressions",
    "--baseline",
    "--fail-on",
    "--source-root",
];

/// The options of a report alone.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Reporting {
    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        if asks_for_help(&self.arguments) {
            return help(out);
        }
        let (own, mut arguments) = split(self.arguments)?;
        let choice = arguments.first().filter(|first| first.to_string_lossy().starts_with('+')).cloned();
        let at = usize::from(choice.is_some());
        let Some(command) = arguments.get(at).map(|command| command.to_string_lossy().into_owned()) else {
            return Err(Failure::new("a cargo command is missing, for example `mayhap cargo test`"));
        };
        if let Some(target) = option(&arguments, "--target")
            && target != TARGET
        {
            return Err(Failure::new(format_args!("recording supports {TARGET}, not {}", target.display())));
        }
        let toolchain = Toolchain::find(choice.as_deref())?;
        let mut cargo = Cargo { choice: choice.as_deref(), arguments: &arguments };
        let folder = cargo.target_folder()?;
        let mut environment = cargo.environment(&toolchain, &folder)?;
        let is_job = own.output.is_none() && matches!(command.as_str(), "test" | "t" | "run" | "r");
        let analysis = if is_job { Some(Analysis::prepare(&own, &arguments)?) } else { None };
        if let Some(output) = &own.output {
            environment.extend(runner::environment(&command, output, own.per.as_deref(), &own.record, &folder)?);
        } else if let Some(analysis) = &analysis {
            let mut words = own.job.clone();
            words.extend(analysis.paths(cargo.root()));
            let output = analysis.folder.path();
            environment.extend(runner::environment(&command, output, Some("job"), &words, &folder)?);
        } else if own != Own::default() {
            return Err(Failure::new(
                "--per, --seed, --schedule, --slice and the options of reports are for runs and tests that are recorded",
            ));
        }
        if option(&arguments, "--target-dir").is_none() {
            environment.push(("CARGO_TARGET_DIR".into(), folder.into_os_string()));
        }
        // Cargo's own option for the same, if given, comes later and wins.
        environment.push(("CARGO_BUILD_TARGET".into(), TARGET.into()));
        let mut command_line = cargo_command();
        command_line.args(std::mem::take(&mut arguments)).envs(environment);
        if analysis.is_some() {
            // Standard output is for the report.
            command_line.stdout(std::io::stderr());
        }
        let status = command_line.status();
        match (status, analysis) {
            (Ok(status), Some(analysis)) => analysis.finish(out, code(status), &format!("cargo {command}")),
            (Ok(status), None) => Ok(Exit::Program(code(status))),
            (Err(error), _) => Err(Failure::new(format_args!("cannot run cargo: {error}"))),
        }
    }
}

/// What becomes one report.
struct Analysis {
    /// Where the jobs put their reports.
    folder: tempfile::TempDir,
    report: ReportArgs,
    /// Cargo is to run nothing.
    only_builds: bool,
}

impl Analysis {
    fn prepare(own: &Own, arguments: &[OsString]) -> Result<Analysis, Failure> {
        let parsed = Reporting::try_parse_from(&own.report);
        let report = parsed.map_err(|error| Failure::new(error.to_string().trim_start_matches("error: ")))?.report;
        report.prepare(&Environment::read()?)?;
        let only_builds = arguments.iter().any(|argument| argument == "--no-run");
        Ok(Analysis { folder: temporary_folder()?, report, only_builds })
    }

    /// Options that make the jobs show paths from the workspace.
    fn paths(&self, root: Option<PathBuf>) -> Vec<String> {
        let root = root.map(|root| root.to_string_lossy().into_owned());
        root.into_iter()
            .flat_map(|root| ["--path-base".to_string(), root.clone(), "--source-root".to_string(), root])
            .collect()
    }

    /// One report of all jobs; cargo ended with `code`.
    fn finish(self, out: &mut dyn Write, code: u8, suite: &str) -> Result<Exit, Failure> {
        let none = std::fs::read_dir(self.folder.path()).is_ok_and(|mut files| files.next().is_none());
        // Cargo said why it failed. A filter that no test has deserves a report that says so.
        if none && (code != 0 || self.only_builds) {
            return Ok(Exit::Program(code));
        }
        let whole = collected(self.folder.path(), suite)?;
        let undecided = whole.summary.unknown > 0;
        let exit = self.report.finish(out, whole, undecided)?;
        Ok(if exit != Exit::Found && code != 0 { Exit::Program(code) } else { exit })
    }
}

/// Whether these are arguments that only ask for help, which needs no workspace.
fn asks_for_help(arguments: &[OsString]) -> bool {
    let mut own = arguments.iter().take_while(|argument| *argument != "--");
    arguments.first().is_none_or(|first| first == "help")
        || own.any(|argument| argument == "--help" || argument == "-h")
}

fn help(out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut command = super::Cli::command();
    command.build();
    if let Some(command) = command.find_subcommand_mut("cargo") {
        writeln!(out, "{}", command.render_long_help())?;
    }
    writeln!(out, "The other options of a command are cargo's: see `cargo help COMMAND`.")?;
    Ok(Exit::Nothing)
}

fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Separates mayhap's arguments from cargo's.
fn split(arguments: Vec<OsString>) -> Result<(Own, Vec<OsString>), Failure> {
    let (mut own, mut rest) = (Own::default(), Vec::new());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        if text == "--" {
            rest.push(argument);
            rest.extend(arguments);
            break;
        }
        let (name, given) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
            _ => (text.as_str(), None),
        };
        if name == "--explore" {
            // As in `mayhap run --explore 5`. No test is called a number.
            let mut next = || arguments.next_if(|next| next.to_string_lossy().parse::<f64>().is_ok());
            let given = given.or_else(|| Some(next()?.to_string_lossy().into_owned()));
            let seconds = given.unwrap_or_else(|| LONG.into());
            if seconds.parse::<f64>().is_err() {
                return Err(Failure::new(format_args!("--explore=SECONDS must be a number, not `{seconds}`")));
            }
            own.job.extend([name.to_string(), seconds]);
            continue;
        }
        let of_job = OF_JOB.iter().find(|(option, _)| *option == name);
        let of_report = OF_REPORT.contains(&name);
        if let Some((option, false)) = of_job {
            own.job.push(option.to_string());
            continue;
        }
        let of_record = matches!(name, "-o" | "--output" | "--per" | "--seed" | "--schedule" | "--slice");
        if !of_record && of_job.is_none() && !of_report {
            rest.push(argument);
            continue;
        }
        let value = match given {
            Some(value) => OsString::from(value),
            None => arguments.next().ok_or_else(|| Failure::new(format_args!("{name} needs a value")))?,
        };
        let value_text = value.to_string_lossy().into_owned();
        match name {
            "-o" | "--output" => own.output = Some(value.into()),
            _ if of_report => own.report.extend([name.to_string(), value_text]),
            _ if of_job.is_some() => own.job.extend([name.to_string(), value_text]),
            "--per" if matches!(value_text.as_str(), "test" | "binary") => own.per = Some(value_text),
            "--per" => return Err(Failure::new(format_args!("--per must be `test` or `binary`, not `{value_text}`"))),
            "--schedule" if How::named(&value_text).is_none() => {
                return Err(Failure::new(format_args!(
                    "--schedule must be `free`, `random` or `pct`, not `{value_text}`"
                )));
            }
            "--seed" | "--slice" if value_text.parse::<u64>().is_err() => {
                return Err(Failure::new(format_args!("{name} must be a number, not `{value_text}`")));
            }
            _ => own.record.extend([name.to_string(), value_text]),
        }
    }
    Ok((own, rest))
}

/// The value of one of cargo's options, before any `--`.
fn option(arguments: &[OsString], name: &str) -> Option<OsString> {
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if argument == name {
            return arguments.next().cloned();
        }
        if let Some(value) = argument.to_string_lossy().strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.into());
        }
    }
    None
}

/// What is needed to query cargo.
struct Cargo<'a> {
    choice: Option<&'a OsStr>,
    arguments: &'a [OsString],
}

impl Cargo<'_> {
    /// Asks cargo about the user's workspace.
    fn ask(&self, question: &[&str]) -> Option<serde_json::Value> {
        let mut cargo = cargo_command();
        cargo.args(self.choice).args(question).env("RUSTC_BOOTSTRAP", "1");
        if let Some(manifest) = option(self.arguments, "--manifest-path").filter(|_| question[0] == "metadata") {
            cargo.arg("--manifest-path").arg(manifest);
        }
        let output = cargo.output().ok()?;
        if output.status.success() { serde_json::from_slice(&output.stdout).ok() } else { None }
    }

    /// Where to build: a separate folder in the workspace's target folder, or the one that the user names.
    fn target_folder(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = option(self.arguments, "--target-dir") {
            return std::path::absolute(&folder).map_err(|error| Failure::at(Path::new(&folder), error));
        }
        let metadata = self.ask(&["metadata", "--no-deps", "--format-version", "1"]);
        match metadata.as_ref().and_then(|metadata| metadata["target_directory"].as_str()) {
            Some(folder) => Ok(Path::new(folder).join("mayhap")),
            None => Err(Failure::new("no Cargo.toml here or in a parent folder, or cargo cannot read it")),
        }
    }

    /// The folder of the workspace.
    fn root(&self) -> Option<PathBuf> {
        let metadata = self.ask(&["metadata", "--no-deps", "--format-version", "1"])?;
        Some(PathBuf::from(metadata["workspace_root"].as_str()?))
    }

    /// The compiler options that the user has set, from all places that cargo reads them from.
    fn user_flags(&self, kind: &str) -> Vec<String> {
        let (plain, encoded) = (kind.to_uppercase(), format!("CARGO_ENCODED_{}", kind.to_uppercase()));
        if let Ok(flags) = std::env::var(encoded) {
            return flags.split('\x1f').filter(|flag| !flag.is_empty()).map(String::from).collect();
        }
        if let Ok(flags) = std::env::var(plain) {
            return flags.split_whitespace().map(String::from).collect();
        }
        let configured = |key: &str| {
            let question = ["-Zunstable-options", "config", "get", "--format", "json-value", key];
            match self.ask(&question)? {
                serde_json::Value::String(flags) => Some(flags.split_whitespace().map(String::from).collect()),
                serde_json::Value::Array(flags) => {
                    Some(flags.iter().filter_map(|flag| Some(flag.as_str()?.to_string())).collect())
                }
                _ => None,
            }
        };
        configured(&format!("target.{TARGET}.{kind}"))
            .or_else(|| configured(&format!("build.{kind}")))
            .unwrap_or_default()
    }

    /// The environment variables that make cargo instrument.
    fn environment(&mut self, toolchain: &Toolchain, folder: &Path) -> Result<Vec<(OsString, OsString)>, Failure> {
        let library = runtime::folder()?;
        let stubs = toolchain.stubs(&folder.join("mayhap-std"))?;
        let mut ours = toolchain::instrument();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        ours.push(format!("-Zpre-link-arg={}", text(&library.join(runtime::NAME))));
        ours.push(format!("-Clink-arg=-Wl,--enable-new-dtags,-rpath,{}", text(&library)));
        ours.push(format!("-Clink-arg={}", text(&stubs)));
        ours.extend(toolchain.functions.iter().map(|(symbol, _)| format!("-Clink-arg=-Wl,--wrap={symbol}")));
        let mut environment: Vec<(OsString, OsString)> = vec![("RUSTC_BOOTSTRAP".into(), "1".into())];
        for kind in ["rustflags", "rustdocflags"] {
            let mut flags = self.user_flags(kind);
            flags.retain(|flag| !conflicts(flag));
            flags.extend(ours.iter().filter(|flag| kind == "rustflags" || !flag.starts_with("-Csplit")).cloned());
            if kind == "rustdocflags" && !flags.iter().any(|flag| flag.contains("opt-level")) {
                // Profiles are not for documentation tests.
                flags.push("-Copt-level=1".into());
            }
            environment.push((format!("CARGO_ENCODED_{}", kind.to_uppercase()).into(), flags.join("\x1f").into()));
        }
        // Without optimisation the compiler inlines nothing, and the fast paths of locks cannot be recognised. Optimisation
        // across crates removes calls that the linker must redirect.
        for (name, value) in [("DEV_OPT_LEVEL", "1"), ("DEV_LTO", "off"), ("RELEASE_LTO", "off")] {
            let name = format!("CARGO_PROFILE_{name}");
            if std::env::var_os(&name).is_none() {
                environment.push((name.into(), value.into()));
            }
        }
        environment.extend(c_compilers(folder)?);
        Ok(environment)
    }
}

/// Removes compiler options that cannot be combined with recording.
fn conflicts(flag: &str) -> bool {
    let compact = flag.replace(' ', "");
    let conflicting =
        ["-Zsanitizer=", "-Clto", "-Clinker-plugin-lto", "-Cprefer-dynamic", "-Ctarget-feature=+crt-static"];
    let found = conflicting.iter().any(|start| compact.starts_with(start)) && !compact.ends_with("=off");
    if found {
        note(format_args!("{flag} left out: it cannot be combined with recording"));
    }
    found
}

/// Makes crates build their C and C++ code with recording, through links to this executable.
fn c_compilers(folder: &Path) -> Result<Vec<(OsString, OsString)>, Failure> {
    let links = folder.join("mayhap-bin");
    let failed = |error| Failure::at(&links, error);
    std::fs::create_dir_all(&links).map_err(failed)?;
    let executable = std::env::current_exe().map_err(failed)?;
    let underscored = TARGET.replace('-', "_");
    let mut environment = Vec::new();
    for (variable, link, own) in [("CC", "mayhap-cc", "MAYHAP_CC"), ("CXX", "mayhap-c++", "MAYHAP_CXX")] {
        let path = links.join(link);
        if std::fs::read_link(&path).ok().as_ref() != Some(&executable) {
            let _ = std::fs::remove_file(&path);
            symlink(&executable, &path).map_err(failed)?;
        }
        let of_target = format!("{variable}_{underscored}");
        let users = [&of_target, &format!("TARGET_{variable}"), variable].into_iter().find_map(std::env::var_os);
        if let Some(compiler) = users.filter(|_| std::env::var_os(own).is_none()) {
            environment.push((own.into(), compiler));
        }
        environment.push((of_target.into(), path.into_os_string()));
    }
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_words(line: &str) -> Result<(Own, Vec<OsString>), String> {
        split(line.split(' ').map(OsString::from).collect()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn our_arguments_are_taken_out_and_cargos_are_kept() {
        let (own, rest) = split_words("test -o traces -p one --seed=3 -- --exact -o x").unwrap();
        assert_eq!(own.output, Some("traces".into()));
        assert_eq!(own.record, ["--seed", "3"]);
        assert_eq!(rest, ["test", "-p", "one", "--", "--exact", "-o", "x"]);
        assert_eq!(option(&rest, "-p"), Some("one".into()));
        assert_eq!(option(&rest, "--exact"), None);
        assert_eq!(split_words("test --explore --lib").unwrap().0.job, ["--explore", "30"]);
        let (own, rest) = split_words("test --explore 0 vec").unwrap();
        assert_eq!((own.job, rest), (vec!["--explore".into(), "0".into()], vec!["test".into(), "vec".into()]));
        assert_eq!(split_words("test --explore=2.5").unwrap().0.job, ["--explore", "2.5"]);
        assert!(split_words("test --explore=long").unwrap_err().contains("a number"));
        assert!(split_words("test --per module").unwrap_err().contains("`test` or `binary`"));
        assert!(split_words("test --schedule fair").unwrap_err().contains("pct"));
        assert!(split_words("test -o").unwrap_err().contains("needs a value"));
    }

    #[test]
    fn help_needs_no_workspace() {
        let asks = |line: &str| asks_for_help(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        for line in ["", "--help", "-h", "help", "test --help", "run -p x -h"] {
            assert!(asks(line), "{line}");
        }
        assert!(!asks("test -- --help"));
    }

    #[test]
    fn flags_that_exclude_recording_are_left_out() {
        assert!(conflicts("-Zsanitizer=address"));
        assert!(conflicts("-Clto=fat"));
        assert!(!conflicts("-Clto=off"));
        assert!(!conflicts("-Ctarget-cpu=native"));
    }
}
