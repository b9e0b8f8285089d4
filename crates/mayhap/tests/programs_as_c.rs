//! Small random programs printed as C, compiled by `mayhap cc`, recorded, and held against the interpreter of their language.
//!
//! Each is run once under a random schedule. Stepped in the recorded order, the interpreter must do what was recorded: the same
//! events on the same objects, with the same properties and values. Every race or deadlock that is proven of the recording must
//! happen in a replay.
//!
//! Compilers that optimise leave out, merge and move what a program does, so their recordings are not held against the interpreter
//! event by event. What is proven of them must be true all the same: some interleaving of the program has the race or deadlock.
//!
//! `MAYHAP_CASES=N` sets how many programs there are, `MAYHAP_SEED=N` which is the first.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use mayhap_testkit::program::{
    Agreement, Facts, Machine, Printed, Profile, Program, Rules, compare, explore, generate, print_c, print_together,
};
use mayhap_testkit::{cases, needs};
use mayhap_trace::{Trace, format};
use serde_json::Value;

/// Programs that are compiled into one file, and files that are worked on at the same time.
const TOGETHER: usize = 12;
const AT_ONCE: usize = 4;

/// What came of all programs.
#[derive(Default)]
struct Tally {
    programs: usize,
    agreement: Agreement,
    proven: usize,
    confirmed: usize,
    /// What differs.
    exceptions: Vec<String>,
}

fn compile(folder: &Path, programs: &[Program], compiler: &str, level: &str) {
    std::fs::write(folder.join("together.c"), print_together(programs)).unwrap();
    let built: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cc", level, "-g", "-w", "-pthread", "together.c", "-o", "together"])
        .env("MAYHAP_CC", compiler)
        .current_dir(folder)
        .output()
        .unwrap()
        .into();
    assert_eq!(built.code, Some(0), "{}", built.stderr);
}

/// The seed of the first program.
fn first() -> usize {
    std::env::var("MAYHAP_SEED").map_or(1, |seed| seed.parse().unwrap())
}

fn read(path: &Path) -> Result<Trace, String> {
    let source = format::open(path).map_err(|error| error.to_string())?;
    Trace::from_source(source).map_err(|error| error.to_string())
}

/// Records a program, compares, and replays what was proven.
fn check(folder: &Path, number: usize, program: &Program, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let kept = format!("kept{number}");
    let seed = seed.to_string();
    let argument = number.to_string();
    let options =
        ["run", "--format", "json", "--schedule", "random", "--seed", &seed, "--rounds", "1", "--patience", "2"];
    let more = ["--kinds", "race,deadlock", "--explore", "0", "--keep", &kept, "./together", &argument];
    let run = common::mayhap_in(folder, &[&options[..], &more].concat());
    let report_of = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| run.stderr.clone());
    let found = report_of(&run.stdout)?;
    let trace = std::fs::read_dir(folder.join(&kept)).map_err(|error| error.to_string())?;
    let is_trace = |path: &std::path::PathBuf| path.extension().is_some_and(|ending| ending == "mhp");
    let trace = trace.flatten().map(|entry| entry.path()).filter(is_trace).min().ok_or("no trace was kept")?;
    let compared = compare(&Machine::new(program), &print_c(program), &format!("program{number}.c"), &read(&trace)?);
    std::fs::remove_dir_all(folder.join(&kept)).map_err(|error| error.to_string())?;
    for finding in found["findings"].as_array().into_iter().flatten() {
        let is_proven = matches!(finding["verdict"].as_str(), Some("proven" | "confirmed"));
        if is_proven {
            tally.proven += 1;
            match finding["replay"]["confirmed"].as_u64() {
                Some(times) if times > 0 => tally.confirmed += 1,
                _ => tally.exceptions.push(format!(
                    "program {number} of {seed}: {} is not confirmed: {}\n{}",
                    finding["title"],
                    finding["replay"],
                    print_c(program)
                )),
            }
        }
    }
    tally.agreement.add(compared?);
    Ok(())
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.programs += other.programs;
        self.agreement.add(other.agreement);
        self.proven += other.proven;
        self.confirmed += other.confirmed;
        self.exceptions.extend(other.exceptions);
    }
}

fn check_part(part: &[(u64, Program)]) -> Tally {
    let mut tally = Tally::default();
    let folder = tempfile::tempdir().unwrap();
    let programs: Vec<Program> = part.iter().map(|(_, program)| program.clone()).collect();
    compile(folder.path(), &programs, "gcc", "-O0");
    for (number, (seed, program)) in part.iter().enumerate() {
        tally.programs += 1;
        if let Err(why) = check(folder.path(), number, program, *seed, &mut tally) {
            tally.exceptions.push(format!("seed {seed}: {why}\n{}", print_c(program)));
        }
    }
    tally
}

/// Checks programs part by part, several parts at once.
fn check_all(programs: usize, first: usize, check_part: impl Fn(&[(u64, Program)]) -> Tally + Sync) -> Tally {
    let total = Mutex::new(Tally::default());
    let profiles = Profile::ALL.iter().cycle();
    let all: Vec<(u64, Program)> = profiles
        .zip(1..)
        .skip(first - 1)
        .map(|(profile, seed)| (seed, generate(*profile, seed)))
        .take(programs)
        .collect();
    let parts = Mutex::new(all.chunks(TOGETHER));
    let next = || parts.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(part) = next() {
                    let tally = check_part(part);
                    let mut total = total.lock().unwrap();
                    tally.exceptions.iter().for_each(|exception| println!("{exception}"));
                    total.add(tally);
                    println!("{} programs, {} exceptions", total.programs, total.exceptions.len());
                }
            });
        }
    });
    total.into_inner().unwrap()
}

#[test]
fn recordings_of_c_are_what_the_definition_says() {
    let tally = check_all(cases(8), first(), check_part);
    println!(
        "{} programs: {:?}; {} proven, {} confirmed",
        tally.programs, tally.agreement, tally.proven, tally.confirmed
    );
    let exceptions = &tally.exceptions;
    assert!(exceptions.is_empty(), "{} exceptions:\n{}", exceptions.len(), exceptions.join("\n"));
}

/// States that an exploration may visit.
const LIMIT: usize = 200_000;

/// The statements that an event can be of: the one on its line. Where clang has merged loads, or made a store of an exchange, the code has no line in the
/// debug information; it is reported at the line before, without a column, and is of some later statement of its function.
fn sites(event: &Value, file: &str, printed: &Printed) -> Option<Vec<u32>> {
    let line: usize = event["location"].as_str()?.rsplit_once(&format!("{file}:"))?.1.parse().ok()?;
    let rest = printed.text.lines().skip(line).take_while(|text| *text != "}").count();
    let last = if event["column"].is_null() { line + rest } else { line };
    let sites: Vec<u32> = (line..=last).filter_map(|line| printed.site(line)).map(|site| site as u32).collect();
    (!sites.is_empty()).then_some(sites)
}

/// Some interleaving of the program has the finding. None if its events are not statements of the program.
fn is_true(finding: &Value, file: &str, printed: &Printed, facts: &Facts) -> Option<bool> {
    let events = finding["events"].as_array().unwrap();
    let sites: Vec<Vec<u32>> = events.iter().map(|event| sites(event, file, printed)).collect::<Option<_>>()?;
    match (finding["kind"].as_str(), &sites[..]) {
        (Some("race"), [first, second]) => {
            let mut races = facts.both_next.iter().chain(&facts.unordered);
            let has = |a: u32, b: u32| first.contains(&a) && second.contains(&b);
            Some(races.any(|(a, b)| has(a.0, b.0) || has(b.0, a.0)))
        }
        (Some("deadlock"), _) => {
            let mut sites: Vec<u32> = sites.iter().map(|sites| sites[0]).collect();
            sites.sort_unstable();
            Some(facts.deadlocks.contains(&sites))
        }
        _ => None,
    }
}

/// What is proven of one optimised program is true of it.
fn check_optimised(
    folder: &Path,
    number: usize,
    program: &Program,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let Ok(facts) = explore(&Machine::new(program), Rules::Free, true, LIMIT) else { return Ok(()) };
    let (seed, argument) = (seed.to_string(), number.to_string());
    let options = ["run", "--format", "json", "--schedule", "random", "--seed", &seed, "--no-replay", "--explore", "0"];
    let run =
        common::mayhap_in(folder, &[&options[..], &["--kinds", "race,deadlock", "./together", &argument]].concat());
    let report: Value = serde_json::from_str(&run.stdout).map_err(|_| run.stderr.clone())?;
    let (printed, file) = (print_c(program), format!("program{number}.c"));
    for finding in report["findings"].as_array().into_iter().flatten().filter(|finding| finding["verdict"] == "proven")
    {
        tally.proven += 1;
        match is_true(finding, &file, &printed, &facts) {
            Some(true) => tally.confirmed += 1,
            Some(false) => return Err(format!("{} is not true of the program", finding["message"])),
            None => return Err(format!("{} is not about the program", finding["message"])),
        }
    }
    Ok(())
}

fn check_optimised_part(part: &[(u64, Program)]) -> Tally {
    let mut tally = Tally::default();
    let programs: Vec<Program> = part.iter().map(|(_, program)| program.clone()).collect();
    let compilers = if needs::tool("clang", "clang") { &["gcc", "clang"][..] } else { &["gcc"] };
    for compiler in compilers {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), &programs, compiler, "-O2");
        for (number, (seed, program)) in part.iter().enumerate() {
            tally.programs += 1;
            if let Err(why) = check_optimised(folder.path(), number, program, *seed, &mut tally) {
                tally.exceptions.push(format!("seed {seed}, {compiler}: {why}\n{}", print_c(program)));
            }
        }
    }
    tally
}

#[test]
fn what_is_proven_of_optimised_c_is_true_of_the_program() {
    let tally = check_all(cases(12), first(), check_optimised_part);
    println!("{} programs: {} proven, {} true", tally.programs, tally.proven, tally.confirmed);
    let exceptions = &tally.exceptions;
    assert!(exceptions.is_empty(), "{} exceptions:\n{}", exceptions.len(), exceptions.join("\n"));
    assert!(tally.proven > 0, "nothing was proven");
}
