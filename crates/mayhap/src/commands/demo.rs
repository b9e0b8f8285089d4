//! `mayhap demo`: `mayhap run` on a small bundled program, explained step by step.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mayhap_detect::{Order, detect};
use mayhap_report::{Kind, Verdict};
use mayhap_trace::Trace;

use super::check::EngineArgs;
use super::java::beside_java;
use super::predict::KindName;
use super::run::{compile, hide_folder, search, temporary_folder};
use crate::options::Environment;
use crate::output::{Format, json};
use crate::reporting::ReportArgs;
use crate::{Exit, Failure};
use mayhap_job::{Job, Stage};
use mayhap_replay::{Outcome, Replayed};

/// The bundled program in one language.
struct Bank {
    file: &'static str,
    source: &'static str,
    /// How often it runs alone: a virtual machine takes a while to start.
    plain_runs: u32,
    /// How it is made ready for recording.
    made: &'static str,
    /// The command that does the same with the user's program.
    own: &'static str,
    again: &'static str,
}

const IN_C: Bank = Bank {
    file: "bank.c",
    source: include_str!("../../demo/bank.c"),
    plain_runs: 50,
    made: "`mayhap cc` compiled it: like gcc, but with recording built in.",
    own: "mayhap run prog.c\n    mayhap cc -g prog.c -o prog -pthread && mayhap run -- ./prog",
    again: "mayhap demo --keep DIR",
};

const IN_JAVA: Bank = Bank {
    file: "Bank.java",
    source: include_str!("../../demo/Bank.java"),
    plain_runs: 10,
    made: "`javac` compiled it unchanged: classes are made ready for recording when they are loaded.",
    own: "mayhap java -cp classes Main\n    mayhap run -- mvn test -DargLine=\"$(mayhap java --agent)\"",
    again: "mayhap demo --java --keep DIR",
};

impl Bank {
    /// Writes and compiles the program; returns its command line.
    fn make(&self, folder: &Path) -> Result<Vec<OsString>, Failure> {
        let source = folder.join(self.file);
        std::fs::write(&source, self.source).map_err(|error| Failure::at(&source, error))?;
        if self.file.ends_with(".java") {
            return compile_java(&source, folder);
        }
        // Messages show the program's own name, not the folder that it was built in.
        let mut shown = OsString::from("-ffile-prefix-map=");
        shown.push(folder);
        shown.push("/=");
        compile("cc", &[source.into_os_string()], folder, &[shown])
    }
}

/// Compiles a Java program of one file; returns the command line that runs it.
fn compile_java(source: &Path, folder: &Path) -> Result<Vec<OsString>, Failure> {
    let compiler = beside_java("javac");
    let made = Command::new(&compiler).arg("-g").arg("-d").arg(folder).arg(source).stdout(io::stderr()).status();
    let made = made.map_err(|error| {
        let compiler = compiler.display();
        Failure::new(format_args!("cannot run {compiler}: {error}; the demo in Java needs a JDK, version 17 or later"))
    })?;
    if !made.success() {
        return Err(Failure::at(source, "compilation failed"));
    }
    let class = source.file_stem().unwrap_or_default();
    Ok(vec![beside_java("java").into(), "-cp".into(), folder.into(), class.into()])
}

/// Watch mayhap find, prove and reproduce three bugs in a small program whose tests pass
///
/// Compiles a bundled C program (this needs gcc or clang), records one successful run, finds a race, a deadlock and an
/// atomicity violation in it, and reproduces each of them. With --java the program is one in Java (this needs a JDK).
///
/// Exit codes: 0 all three bugs were reproduced, 1 at least one was not, 2 no compiler, or files cannot be written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show a Java program in place of the one in C
    #[arg(long)]
    java: bool,

    /// Keep the program, the trace and the witnesses in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        match self.report.format {
            Format::Text => self.shown(out, None),
            // Standard output carries the document and nothing else.
            Format::Json => self.shown(&mut io::sink(), Some(out)),
        }
    }

    /// Tells the story on `out`; `document` is where the report goes as JSON.
    fn shown(self, out: &mut dyn Write, document: Option<&mut dyn Write>) -> Result<Exit, Failure> {
        let environment = Environment::read()?;
        self.report.prepare(&environment)?;
        let temporary = temporary_folder()?;
        let folder = self.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::at(&folder, error))?;
        let bank = if self.java { IN_JAVA } else { IN_C };

        section(out, "1. A program that works")?;
        say(out, &format!("{} is a small bank: seven threads transfer money, pay it out and count it.", bank.file))?;
        let program = bank.make(&folder)?;
        say(out, bank.made)?;
        let good = plain_runs(&program, bank.plain_runs);
        let how_often = if good == bank.plain_runs { "every time".to_string() } else { format!("{good} times") };
        say(out, &format!("Run alone {} times, it succeeded {how_often}.", bank.plain_runs))?;

        let job = Job {
            program,
            runs: 1,
            seed: 0,
            schedule: None,
            inputs: false,
            values: true,
            linger: mayhap_record::LINGER,
            rounds: 1,
            replays: 1,
            predict: Box::new(|trace: &Trace| {
                let kinds = [KindName::Race, KindName::Deadlock, KindName::Atomicity, KindName::Order];
                search(trace, &kinds, &EngineArgs::default())
            }),
            folder: folder.clone(),
            keep: self.keep.is_some(),
            again: Some(bank.again.to_string()),
            page: self.report.html.is_some(),
            timeout: Duration::from_secs(20),
            patience: Duration::from_secs(2),
            budget: None,
            root: None,
            show_output: false,
            explore: None,
        };
        let mut failed = Ok(());
        let mut done = job.run(&mut |stage| {
            if failed.is_ok() {
                failed = tell(out, &stage);
            }
        })?;
        failed?;
        let confirmed = done.report.findings.iter().filter(|f| f.verdict == Verdict::Confirmed).count();
        self.report.complete(&mut done.report, &environment)?;
        done.report.program = vec![bank.file.to_string()];
        if self.keep.is_none() {
            hide_folder(&mut done.report, &folder);
        }
        section(out, "5. Summary")?;
        say(out, &format!("{confirmed} bugs that no test run had shown, each proven and then reproduced."))?;
        say(out, "To do the same with your own program:")?;
        writeln!(out, "\n    {}", bank.own)?;
        if let Some(folder) = &self.keep {
            say(out, &format!("\nThe program, the trace and the witnesses are in {}.", folder.display()))?;
        }
        if let Some(document) = document {
            json(document, &done.report)?;
        }
        self.report.write_files(&done.report)?;
        Ok(if confirmed >= 3 { Exit::Nothing } else { Exit::Found })
    }
}

fn section(out: &mut dyn Write, title: &str) -> io::Result<()> {
    writeln!(out, "{}{title}", if title.starts_with('1') { "" } else { "\n" })
}

fn say(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "   {text}")?;
    out.flush()
}

/// Counts the successful runs among some plain runs.
fn plain_runs(program: &[OsString], runs: u32) -> u32 {
    (0..runs).filter(|_| ends_well(program).unwrap_or(false)).count() as u32
}

/// Runs the program alone. It can deadlock, so the run has a time limit.
fn ends_well(program: &[OsString]) -> io::Result<bool> {
    let mut command = Command::new(&program[0]);
    let mut child =
        command.args(&program[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(5) {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill()?;
    child.wait().map(|_| false)
}

/// Explains a stage of the job.
fn tell(out: &mut dyn Write, stage: &Stage<'_>) -> io::Result<()> {
    match stage {
        Stage::Recording { .. } => {
            section(out, "2. One run is recorded")?;
            say(out, "Every access to shared memory, every lock, every wait, in one total order of events.")
        }
        Stage::Recorded { trace, run } => {
            let ended = if run.code == Some(0) { "This run succeeded, too." } else { "This run failed." };
            say(out, &format!("{} threads. {ended}", trace.tables().threads.len()))?;
            section(out, "3. What else could have happened")?;
            say(
                out,
                "The same events in another order are still a run of this program, as long as critical sections do not",
            )?;
            say(out, "overlap, waits still get their wake-ups, and values that steer control flow are unchanged.")?;
            say(out, "mayhap searches for such orders that contain a bug. A small, independent proof checker (the")?;
            say(out, "kernel) verifies each of them.")?;
            suspicions(out, trace)
        }
        Stage::Predicting | Stage::Exploring(_) => Ok(()),
        Stage::Predicted { new, .. } => {
            say(out, &format!("mayhap proves {} bugs:", new.len()))?;
            for finding in *new {
                say(out, &format!("- {}", finding.title))?;
            }
            section(out, "4. Reproducing the bugs")?;
            say(out, "The program runs again, and its threads are paused so that they follow each proven order.")
        }
        Stage::Replaying { finding } => {
            writeln!(out)?;
            say(out, &format!("{}.", finding.title))?;
            explanation(finding.kind).map_or(Ok(()), |text| say(out, text))
        }
        Stage::Replayed { finding, last } => happened(out, finding, last),
    }
}

/// What a lockset-based tool would report, which only checks whether one lock protects all accesses.
fn suspicions(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    let mut input: &Trace = trace;
    let Ok(found) = detect(&mut input, Order::Lockset, &mayhap_detect::Options::default()) else { return Ok(()) };
    let tables = trace.tables();
    let mut names: Vec<&str> = found
        .races
        .iter()
        .map(|race| {
            let event = trace.event(race.first.0);
            tables.object(event.op, event.object)
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    say(
        out,
        &format!("(A tool that only checks which locks protect which variables would report {}.", names.join(", ")),
    )?;
    say(out, " But `rate` is used correctly: semaphores make one thread wait for the other.)")
}

/// The mistake in the program. Which findings there are depends a little on the recorded run.
fn explanation(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Race => {
            "In the recorded run the journal's lock happened to order the two accesses, so other tools report nothing."
        }
        Kind::Deadlock => {
            "The threads take the two locks in opposite orders. In the recorded run one finished before the other began."
        }
        Kind::Atomicity => "Each access holds the lock, but another thread can run between the two.",
        Kind::Order => "Nothing makes the reader wait; in the recorded run the write came first by chance.",
        _ => return None,
    })
}

/// Prints what a replay showed.
fn happened(out: &mut dyn Write, finding: &mayhap_report::Finding, last: &Replayed) -> io::Result<()> {
    if last.outcome != Outcome::Confirmed {
        return say(out, &format!("=> {}", last.outcome));
    }
    for side in &last.sides {
        say(out, &format!("{} is paused just before it {}", side.thread, side.what))?;
    }
    let effect = finding.replay.as_ref().and_then(|replay| replay.effect.as_deref()).unwrap_or("no visible effect");
    say(out, &format!("=> Reproduced; {effect}"))
}
