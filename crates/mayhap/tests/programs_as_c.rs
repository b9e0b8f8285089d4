//! Small random programs printed as C, compiled by `mayhap cc`, recorded, and held against the interpreter of their language.
//!
//! Each is run once under a random schedule. Stepped in the recorded order, the interpreter must do what was recorded: the same
//! events on the same objects, with the same properties and values. Every race or deadlock that is proven of the recording must
//! happen in a replay.
//!
//! `MAYHAP_CASES=N` sets how many programs there are, `MAYHAP_SEED=N` which is the first.

mod common;

use std::path::Path;
use std::sync::Mutex;

use mayhap_testkit::cases;
use mayhap_testkit::program::{Agreement, Machine, Profile, Program, compare, generate, print_c, print_together};
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

fn compile(folder: &Path, programs: &[Program]) {
    std::fs::write(folder.join("together.c"), print_together(programs)).unwrap();
    let options = ["cc", "-O0", "-g", "-w", "-pthread", "together.c", "-o", "together"];
    let built = common::mayhap_in(folder, &options);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
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
    compile(folder.path(), &programs);
    for (number, (seed, program)) in part.iter().enumerate() {
        tally.programs += 1;
        if let Err(why) = check(folder.path(), number, program, *seed, &mut tally) {
            tally.exceptions.push(format!("seed {seed}: {why}\n{}", print_c(program)));
        }
    }
    tally
}

fn check_all(programs: usize, first: usize) -> Tally {
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
    let first = std::env::var("MAYHAP_SEED").map_or(1, |seed| seed.parse().unwrap());
    let tally = check_all(cases(8), first);
    println!(
        "{} programs: {:?}; {} proven, {} confirmed",
        tally.programs, tally.agreement, tally.proven, tally.confirmed
    );
    let exceptions = &tally.exceptions;
    assert!(exceptions.is_empty(), "{} exceptions:\n{}", exceptions.len(), exceptions.join("\n"));
}
