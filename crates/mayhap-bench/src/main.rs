//! Prints the evidence: the papers' tables, other tools on the same programs, and how cost grows.
//!
//! Every table is measured by running the `mayhap` executable next to this one, as a user would. It is printed to the terminal and
//! stored as Markdown and CSV in the folder of results. Ratios come from one run on one machine; the header names both.
#![forbid(unsafe_code)]

mod histories;
mod plot;
mod programs;
mod sheet;
mod tables;
mod tool;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use sheet::Results;
use tool::{SLOW, Tool};

/// Prints the tables that show what mayhap claims
///
/// Without names all tables are made. Figures go to bench/results as Markdown, CSV and SVG.
#[derive(Debug, Parser)]
#[command(name = "mayhap-bench", version)]
struct Args {
    /// growth, kinds, ipa, ipa-cost, wcp, nondeterminism, polygraph, seqcheck, peers, slowdown, explore, java
    tables: Vec<String>,

    /// Smaller inputs, for a first look
    #[arg(long)]
    quick: bool,

    /// Events of the longest trace of the growth table
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    longest: u64,

    /// Minutes for all tables: each ends with its share of them, and says what it left out
    #[arg(long, value_name = "N", default_value_t = 25)]
    minutes: u64,

    /// The folder for results
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Everything that the tables need.
struct Bench {
    tool: Tool,
    results: Results,
    /// The project's folder.
    root: PathBuf,
    /// The folder for temporary traces and programs.
    scratch: tempfile::TempDir,
    quick: bool,
    longest: u64,
    /// When the current table starts no further row.
    until: Instant,
}

impl Bench {
    /// An error for the next row if there is no time for it.
    fn in_time(&self) -> Result<(), String> {
        if Instant::now() < self.until {
            Ok(())
        } else {
            Err(format!("{SLOW}: the table's share of the time is used up"))
        }
    }
}

/// One table: its name, what makes it, and its share of the time in percent.
type Maker = (&'static str, fn(&mut Bench) -> Result<(), String>, u32);

const TABLES: [Maker; 12] = [
    // First: a process counts the memory of the one that started it as its own, and other tables need much here.
    ("growth", tables::growth::make, 42),
    ("kinds", tables::kinds::make, 10),
    ("ipa", tables::ipa::make, 4),
    ("ipa-cost", tables::ipa::make_cost, 4),
    ("wcp", tables::wcp::make, 4),
    ("nondeterminism", tables::nondeterminism::make, 6),
    ("polygraph", tables::polygraph::make, 2),
    ("seqcheck", tables::seqcheck::make, 10),
    ("peers", tables::peers::make, 20),
    ("slowdown", tables::slowdown::make, 8),
    ("explore", tables::explore::make, 40),
    ("java", tables::java::make, 4),
];

fn run(args: Args) -> Result<(), String> {
    let unknown = args.tables.iter().find(|name| TABLES.iter().all(|(known, ..)| known != name));
    if let Some(name) = unknown {
        let names: Vec<&str> = TABLES.iter().map(|(name, ..)| *name).collect();
        return Err(format!("unknown table `{name}`: expected {}", names.join(", ")));
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = args.results.unwrap_or_else(|| root.join("bench/results"));
    let scratch = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let results = Results::new(folder, tool::machine(&root))?;
    let (quick, longest, until) = (args.quick, args.longest, Instant::now());
    let mut bench = Bench { tool: Tool::find()?, results, root, scratch, quick, longest, until };
    println!("{}\n", bench.results.machine());
    let wanted = |name: &str| args.tables.is_empty() || args.tables.iter().any(|wanted| wanted == name);
    let mut shares: u32 = TABLES.iter().filter(|(name, ..)| wanted(name)).map(|(.., share)| share).sum();
    let end = Instant::now() + Duration::from_secs(60 * args.minutes);
    for (name, make, share) in TABLES.into_iter().filter(|(name, ..)| wanted(name)) {
        // What a table leaves of its time goes to those after it.
        let started = Instant::now();
        bench.until = started + end.saturating_duration_since(started) * share / shares;
        bench.tool.until = bench.until;
        shares -= share;
        match make(&mut bench) {
            Err(e) if e.starts_with(SLOW) => println!("{name} is left out: {e}\n"),
            made => made.map_err(|e| format!("table {name}: {e}"))?,
        }
        println!("({name}: {:.0} s)\n", started.elapsed().as_secs_f64());
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("mayhap-bench: {message}");
            ExitCode::from(2)
        }
    }
}
