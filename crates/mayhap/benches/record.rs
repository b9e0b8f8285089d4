//! What recording costs, beside libtsan and Helgrind: `cargo bench -p mayhap --bench record`.
//!
//! Five programs of two threads and twelve that are hard to record (`benches/programs`), each built plain, with `-fsanitize=thread` and with `mayhap cc`, by the same
//! compiler with the same options. Rounds run all of them one after the other, so that what else the machine does meets all
//! alike; the table has the best round. The time of `mayhap record` is all of it, from its start until the recording is
//! on the disk; how long the first command that reads it takes to make it a trace stands apart (`finish s`), with the events of the
//! trace. `job` is all of `mayhap run --no-replay --explore 0`, from the start of the program to the printed report, by libtsan's time, and `rest s` what
//! of it is neither recording nor making the trace: analysis and report. `bytes` are those of the recording by the units that it has, one for most accesses. Reports of libtsan are switched off: only
//! its watching is paid for.
//!
//! `MAYHAP_BENCH_PROGRAMS=DIR` adds programs: `DIR/NAME/{native,tsan,mayhap}` are executables and `DIR/NAME/args` has their
//! arguments, one a line. `MAYHAP_BENCH_ROUNDS=N` sets the rounds, `MAYHAP_BENCH_SCALE=P` the length of the bundled programs in
//! percent, `MAYHAP_BENCH_HELGRIND=1` adds Helgrind where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name, argument that sets the length, what it is.
const PROGRAMS: [(&str, u64, &str); 17] = [
    ("sort.c", 40, "memory, private"),
    ("matrix.c", 300, "memory, read by all"),
    ("grid.c", 200, "memory, shared borders, barriers"),
    ("bank.c", 400_000, "locks"),
    ("queue.c", 8_000, "locks, conditions, handed over memory"),
    ("buffers.c", 40, "large private buffers"),
    ("spin.c", 2_000, "hand-off by spinning"),
    ("exceptions.cpp", 20_000, "C++ exceptions in threads"),
    ("threads.c", 2_000, "many short threads"),
    ("recursion.c", 200, "deep recursion"),
    ("virtual.cpp", 600, "virtual calls"),
    ("strings.cpp", 40_000, "a string map under a lock"),
    ("allocate.c", 100_000, "allocation-heavy"),
    ("cache.c", 100_000, "a reader-writer lock"),
    ("pool.cpp", 6_000, "a thread pool with futures"),
    ("parser.c", 10_000, "recursive descent into private trees"),
    ("join.c", 20_000, "a hash join with a lock a group"),
];

/// One way of running a program.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Native,
    Tsan,
    Mayhap,
    /// The whole job, to the printed report.
    Job,
    Helgrind,
}

/// What one run cost.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
    /// Highest resident memory of all processes together, in KiB.
    memory: u64,
}

struct Program {
    name: String,
    what: String,
    folder: PathBuf,
    args: Vec<String>,
}

fn main() {
    let mayhap = Path::new(env!("CARGO_BIN_EXE_mayhap"));
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (rounds, scale) = (number("MAYHAP_BENCH_ROUNDS", 5), number("MAYHAP_BENCH_SCALE", 100));
    let folder = tempfile::tempdir().expect("a folder for programs");
    let mut programs = bundled(mayhap, folder.path(), scale);
    programs.extend(given());
    let mut ways = vec![Way::Native, Way::Tsan, Way::Mayhap, Way::Job];
    if number("MAYHAP_BENCH_HELGRIND", 0) != 0 && Command::new("valgrind").arg("--version").output().is_ok() {
        ways.push(Way::Helgrind);
    }
    println!(
        "{:<10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>11} {:>9} {:>8} {:>8} {:>8} {:>11} {:>9}  what",
        "program",
        "native s",
        "libtsan",
        "helgrind",
        "mayhap",
        "wall/ts",
        "cpu/ts",
        "job/ts",
        "bytes",
        "units",
        "KB",
        "MB more",
        "finish s",
        "rest s",
        "events",
        "trace KB"
    );
    let mut ratios = Vec::new();
    for program in &programs {
        ratios.push(table_row(program, &ways, rounds, mayhap, folder.path()));
    }
    let mean =
        |f: fn(&(f64, f64, f64)) -> f64| (ratios.iter().map(|r| f(r).ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!(
        "geometric mean of mayhap's slowdown over libtsan's: wall {:.2}, CPU {:.2}, whole job {:.2}; worst: wall {:.2}, whole job {:.2}",
        mean(|r| r.0),
        mean(|r| r.1),
        mean(|r| r.2),
        ratios.iter().map(|r| r.0).fold(0.0, f64::max),
        ratios.iter().map(|r| r.2).fold(0.0, f64::max)
    );
}

/// Runs a program in all ways and prints its row: wall-clock and CPU time of recording and wall-clock time of the whole job relative to libtsan's.
fn table_row(program: &Program, ways: &[Way], rounds: u64, mayhap: &Path, folder: &Path) -> (f64, f64, f64) {
    let trace = folder.join(format!("{}.mhp", program.name));
    let mut best: Vec<Option<Cost>> = vec![None; ways.len()];
    for round in 0..rounds {
        for (way, best) in ways.iter().zip(&mut best) {
            if *way == Way::Helgrind && round > 0 {
                continue;
            }
            let cost = run(program, *way, mayhap, &trace);
            *best = Some(match *best {
                Some(b) => {
                    Cost { wall: b.wall.min(cost.wall), cpu: b.cpu.min(cost.cpu), memory: b.memory.max(cost.memory) }
                }
                None => cost,
            });
        }
    }
    let of = |way: Way| ways.iter().position(|w| *w == way).and_then(|at| best[at]);
    let one = |way| of(way).unwrap_or_else(|| unreachable!("every way was run"));
    let (native, tsan, recorded, job) = (one(Way::Native), one(Way::Tsan), one(Way::Mayhap), one(Way::Job));
    let size = || fs::metadata(&trace).map_or(0, |m| m.len());
    let (bytes, units) = (size(), mayhap_record::units(&trace).expect("a recording"));
    let started = Instant::now();
    let finished = mayhap_record::finish(&trace, &mut |_| {}).expect("the recording becomes a trace");
    let finishing = started.elapsed().as_secs_f64();
    let times = |cost: Option<Cost>| cost.map_or("-".into(), |c| format!("{:.1}x", c.wall / native.wall));
    println!(
        "{:<10} {:>9.3} {:>9} {:>9} {:>9} {:>7.2} {:>7.2} {:>7.2} {:>7.2} {:>11} {:>9} {:>8.0} {:>8.2} {:>8.2} {:>11} {:>9}  {}",
        program.name,
        native.wall,
        times(Some(tsan)),
        times(of(Way::Helgrind)),
        times(Some(recorded)),
        recorded.wall / tsan.wall,
        recorded.cpu / tsan.cpu,
        job.wall / tsan.wall,
        bytes as f64 / units as f64,
        units,
        bytes / 1024,
        recorded.memory.saturating_sub(native.memory) as f64 / 1024.0,
        finishing,
        (job.wall - recorded.wall - finishing).max(0.0),
        finished.events,
        size() / 1024,
        program.what,
    );
    (recorded.wall / tsan.wall, recorded.cpu / tsan.cpu, job.wall / tsan.wall)
}

fn bundled(mayhap: &Path, folder: &Path, scale: u64) -> Vec<Program> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs");
    let compilers = [("MAYHAP_CC", "gcc"), ("MAYHAP_CXX", "g++")]
        .map(|(variable, compiler)| std::env::var(variable).unwrap_or(compiler.into()));
    PROGRAMS
        .iter()
        .map(|&(file, length, what)| {
            let (name, language) = file.split_once('.').unwrap_or((file, "c"));
            let (compiler, wrapper) = if language == "c" { (&compilers[0], "cc") } else { (&compilers[1], "c++") };
            let folder = folder.join(name);
            fs::create_dir_all(&folder).expect("a folder for the program");
            for way in ["native", "tsan", "mayhap"] {
                let mut command = if way == "mayhap" { Command::new(mayhap) } else { Command::new(compiler) };
                if way == "mayhap" {
                    command.arg(wrapper);
                }
                command.args(["-O2", "-g", "-pthread"]).arg(sources.join(file)).arg("-o");
                command.arg(folder.join(way));
                if way == "tsan" {
                    command.arg("-fsanitize=thread");
                }
                let status = command.status().expect("the compiler runs");
                assert!(status.success(), "{name} could not be built: {command:?}");
            }
            let length = (length * scale / 100).max(1).to_string();
            Program { name: name.into(), what: what.into(), folder, args: vec![length] }
        })
        .collect()
}

/// Programs that were built elsewhere.
fn given() -> Vec<Program> {
    let Some(folder) = std::env::var_os("MAYHAP_BENCH_PROGRAMS") else { return Vec::new() };
    let mut programs: Vec<Program> = fs::read_dir(folder)
        .expect("the folder of programs can be read")
        .flatten()
        .filter(|entry| entry.path().join("native").is_file())
        .map(|entry| {
            let args = fs::read_to_string(entry.path().join("args")).unwrap_or_default();
            Program {
                name: entry.file_name().to_string_lossy().into_owned(),
                what: "given".into(),
                folder: entry.path(),
                args: args.lines().map(str::to_string).collect(),
            }
        })
        .collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

fn run(program: &Program, way: Way, mayhap: &Path, trace: &Path) -> Cost {
    let executable = |name: &str| program.folder.join(name);
    let mut command = match way {
        Way::Native => Command::new(executable("native")),
        Way::Tsan => Command::new(executable("tsan")),
        Way::Mayhap => {
            let mut command = Command::new(mayhap);
            command.args(["record", "-o"]).arg(trace).arg("--").arg(executable("mayhap"));
            command
        }
        Way::Job => {
            let mut command = Command::new(mayhap);
            command.args(["run", "--no-replay", "--explore", "0", "--"]).arg(executable("mayhap"));
            command
        }
        Way::Helgrind => {
            let mut command = Command::new("valgrind");
            command.args(["--tool=helgrind", "-q"]).arg(executable("native"));
            command
        }
    };
    command.args(&program.args).env("TSAN_OPTIONS", "report_bugs=0").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let before = children_cpu();
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut memory = 0;
    loop {
        memory = memory.max(resident(child.id(), matches!(way, Way::Mayhap | Way::Job)));
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            // With findings, libtsan and the job end with other codes.
            assert!(status.success() || matches!(way, Way::Tsan | Way::Job), "{command:?}: {status}");
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Cost { wall: start.elapsed().as_secs_f64(), cpu: children_cpu() - before, memory }
}

/// CPU seconds of all processes that have ended and were waited for, from `/proc`.
fn children_cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    // Fields 16 and 17 of the file, the first after the bracket being field 3; a tick is 10 ms.
    (ticks(13) + ticks(14)) / 100.0
}

/// The highest resident memory of a process so far, with its children's.
fn resident(pid: u32, with_children: bool) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    let mut sum: u64 = own.unwrap_or(0);
    if with_children {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            sum += resident(child, true);
        }
    }
    sum
}
