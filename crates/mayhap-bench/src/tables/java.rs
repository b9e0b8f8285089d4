//! The papers' Java programs, written anew, recorded and predicted, beside what the papers publish of them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Bench;
use crate::sheet::Sheet;
use crate::tool::{number, run};

const NOTE: &str = "Ours is the first half of the columns: programs of this project that have the shape and the bugs that are published, recorded by `mayhap record -- java` and \
proven by `predict`: pairs of locations that race, deadlocks, and reads that other schedules give other values (`+` where some stay open, `-` where 10 s are not enough). Events \
are those of shared memory, synchronisation and branches. The second half is published: events, threads, locks, pairs of locations that race (the most that a sound tool of the \
paper found), deadlocks. WCP: Table 1 of the WCP paper, whose counts are of the programs with their thread-local events; SeqCheck: Tables 3 and 4 of that paper, whose \
locks column counts operations and is left out here. The originals are not public with their inputs, so equal numbers are not to be expected: loops are shorter here (bufwriter, \
moldyn, tsp, readerswriters), and lines are counted once however many statements they have.";

/// The class, what the papers call it, and what they publish: where, events, threads, locks, races, deadlocks.
type Published = (&'static str, &'static str, [&'static str; 5]);

const PROGRAMS: [(&str, Published); 22] = [
    ("PAccount", ("account", "WCP", ["130", "4", "3", "4", ""])),
    ("PAirline", ("airlinetickets", "SeqCheck", ["249", "11", "", "6", ""])),
    ("PArray", ("array", "WCP", ["47", "3", "2", "0", ""])),
    ("PBoundedBuffer", ("boundedbuffer", "SeqCheck", ["2.5K", "4", "", "10", ""])),
    ("PBubblesort", ("bubblesort", "WCP", ["4K", "10", "2", "6", ""])),
    ("PBufwriter", ("bufwriter", "WCP", ["11.7M", "6", "1", "2", ""])),
    ("PCritical", ("critical", "WCP", ["55", "4", "0", "8", ""])),
    ("PMergesort", ("mergesort", "WCP", ["3K", "5", "3", "3", ""])),
    ("PPingpong", ("pingpong", "SeqCheck", ["189", "8", "", "1", ""])),
    ("PElevator", ("Elevator", "nondeterminism", ["3004", "4", "11", "", ""])),
    ("PTsp", ("tsp", "SeqCheck", ["487.1M", "5", "", "4", ""])),
    ("PProducerConsumer", ("producer-consumer", "", ["", "", "", "", ""])),
    ("PReadersWriters", ("readerswriters", "SeqCheck", ["307K", "8", "", "1", ""])),
    ("PTwoStage", ("twostage", "", ["", "", "", "", ""])),
    ("PRaytracer", ("raytracer", "WCP", ["16K", "3", "8", "3", ""])),
    ("PMoldyn", ("moldyn", "WCP", ["164K", "3", "2", "44", ""])),
    ("PTransfer", ("Transfer", "SeqCheck", ["81", "3", "", "", "1"])),
    ("PDiningPhilosophers", ("DiningPhi", "SeqCheck", ["166", "3", "", "", "1"])),
    ("PPicklock", ("Picklock", "SeqCheck", ["68", "3", "", "", "1"])),
    ("PNotADeadlock", ("NotADlk", "SeqCheck", ["62", "3", "", "", "0"])),
    ("PHashtable", ("HashTable", "SeqCheck", ["70", "3", "", "", "2"])),
    ("PStringBuffer", ("StringBuffer", "SeqCheck", ["116", "3", "", "", "2"])),
];

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = [
        "program",
        "events",
        "threads",
        "locks",
        "races",
        "deadlocks",
        "reads",
        "published in",
        "events there",
        "threads there",
        "locks there",
        "races there",
        "deadlocks there",
    ];
    let mut sheet = Sheet::new("java", "The papers' programs in Java", &columns, NOTE);
    let source = bench.root.join("crates/mayhap-jvm/tests/programs/Papers.java");
    match run(Command::new("javac").arg("-g").arg("-d").arg(bench.scratch.path()).arg(source)) {
        Ok(built) if built.code == Some(0) => {}
        Ok(built) => return Err(format!("Papers.java: {}", built.err.trim())),
        Err(error) => {
            println!("java is left out: {error}\n");
            return Ok(());
        }
    }
    for (class, published) in PROGRAMS {
        let made = row(bench, class, published, &mut sheet);
        sheet.tolerate(published.0, made)?;
    }
    bench.results.keep(&sheet)
}

fn row(bench: &Bench, class: &str, (name, paper, there): Published, sheet: &mut Sheet) -> Result<(), String> {
    bench.in_time()?;
    let trace = bench.scratch.path().join(format!("{class}.mhp"));
    let mut record = Command::new(bench.tool.path());
    record.args(["record", "--finish", "-o"]).arg(&trace).args(["--", "java", "-cp"]);
    let recorded = run(record.arg(bench.scratch.path()).arg(class))?;
    if recorded.code != Some(0) {
        return Err(format!("recording {class}: {:?}: {}", recorded.code, recorded.err.trim()));
    }
    let races = predicted(bench, &trace, "race")?;
    let deadlocks = predicted(bench, &trace, "deadlock")?;
    let mut reads = Command::new("timeout");
    reads.arg("10").arg(bench.tool.path()).args(["predict", "--kinds", "nondeterminism", "--format", "json"]);
    let reads = run(reads.arg(&trace))?.json().map_or("-".into(), |report| proven(&report));
    let shape = |key: &str| number(&races, &format!("/trace/{key}")).to_string();
    let [events, threads, locks, published_races, published_deadlocks] = there.map(String::from);
    sheet.row([
        name.to_string(),
        shape("events"),
        shape("threads"),
        shape("locks"),
        proven(&races),
        proven(&deadlocks),
        reads,
        paper.to_string(),
        events,
        threads,
        locks,
        published_races,
        published_deadlocks,
    ]);
    Ok(())
}

fn predicted(bench: &Bench, trace: &Path, kind: &str) -> Result<Value, String> {
    let args = ["--kinds", kind].map(AsRef::as_ref);
    let (json, _) = bench.tool.json(["predict".as_ref(), trace.as_os_str()].into_iter().chain(args))?;
    Ok(json)
}

/// How many are proven, and a mark where some could be more.
fn proven(report: &Value) -> String {
    let open = number(report, "/summary/unknown") > 0;
    format!("{}{}", number(report, "/summary/proven"), if open { "+" } else { "" })
}
