//! Counts the instructions of the parts whose speed matters most and compares them with the counts in a file.
//!
//! Valgrind's callgrind runs each workload and counts only what happens inside it. Instruction counts hardly depend on the machine
//! or its load, so that a loss of a few per cent shows, which times on a busy machine would hide. They depend on the compilers; the
//! file says which ones made its counts, and counts of other compilers are only shown.
#![forbid(unsafe_code)]

mod counts;
mod hooks;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;

use counts::Counts;

/// Counts the instructions of detectors, kernel, engine and hooks, and compares them with bench/instructions.toml
///
/// Exit codes: 0 no count is more than 5 % above the file's, or the compilers differ; 1 some are; 2 they could not be counted.
#[derive(Debug, Parser)]
#[command(name = "bench/instructions")]
struct Args {
    /// Write the counts to the file instead of comparing them
    #[arg(long)]
    update: bool,

    /// Run one workload without counting; callgrind runs this program so
    #[arg(long, value_name = "NAME", hide = true)]
    workload: Option<String>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench/instructions: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Some(name) = &args.workload {
        return workloads::run(&root, name).map(|()| true);
    }
    let mut counts = Counts::new(compilers()?);
    for name in workloads::NAMES {
        let own = std::env::current_exe().map_err(|error| format!("cannot find this executable: {error}"))?;
        let mut command = callgrind("*workloads::measured*");
        command.arg(own).args(["--workload", name]);
        counts.add(name, collected(&mut command)?);
    }
    hooks::count(&root, &mut counts)?;
    let file = root.join("bench/instructions.toml");
    if args.update {
        counts.write(&file)?;
        print!("{}", counts.table(None));
        return Ok(true);
    }
    let stored = Counts::read(&file)?;
    print!("{}", counts.table(Some(&stored)));
    Ok(!counts.is_comparable(&stored) || counts.losses(&stored) == 0)
}

/// A command that runs a program under callgrind and counts while one of its functions runs.
fn callgrind(function: &str) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(format!("--toggle-collect={function}"));
    command
}

/// Runs a program under callgrind; the count is in what callgrind prints at the end.
fn collected(command: &mut Command) -> Result<u64, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} cannot be run: {error} (install valgrind)"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} failed:\n{text}"));
    }
    let count = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    match count {
        Some(count) if count > 0 => Ok(count),
        _ => Err(format!("{command:?} counted nothing:\n{text}")),
    }
}

/// The versions of the compilers, without quotes.
fn compilers() -> Result<String, String> {
    let version = |command: &str| {
        let output = Command::new(command).arg("--version").output().map_err(|error| format!("{command}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).replace('"', "");
        Ok::<_, String>(text.lines().next().unwrap_or_default().trim().to_string())
    };
    Ok(format!("{}, {}", version("rustc")?, version("gcc")?))
}

/// The executable `mayhap`, which is built next to this one.
fn mayhap() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find this executable: {error}"))?;
    let path = own.parent().unwrap_or(Path::new(".")).join("mayhap");
    if path.is_file() { Ok(path) } else { Err(format!("{} is missing: run bench/instructions", path.display())) }
}
