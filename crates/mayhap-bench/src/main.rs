//! The evidence: the papers' tables, the peers beside us, and how cost grows, printed in one go.
//!
//! Every table is measured by running the `mayhap` executable beside this one, as a user would, and goes to the terminal and,
//! as Markdown and CSV, to the folder of results. Ratios are of one run of one machine; the header names both.
#![forbid(unsafe_code)]

mod plot;
mod programs;
mod sheet;
mod tables;
mod tool;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use sheet::Results;
use tool::Tool;

/// Prints the tables that show what mayhap claims
///
/// Without names all tables are made. Figures go to bench/results as Markdown, CSV and SVG.
#[derive(Debug, Parser)]
#[command(name = "mayhap-bench", version)]
struct Args {
    /// ipa, wcp, nondeterminism, polygraph, seqcheck, peers, growth
    tables: Vec<String>,

    /// Smaller inputs, for a first look
    #[arg(long)]
    quick: bool,

    /// Events of the longest trace of the growth table
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    longest: u64,

    /// The folder for results
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// What every table needs.
struct Bench {
    tool: Tool,
    results: Results,
    /// The project's folder.
    root: PathBuf,
    /// For traces and programs that are made on the way.
    scratch: tempfile::TempDir,
    quick: bool,
    longest: u64,
}

/// One table: its name and what makes it.
type Maker = (&'static str, fn(&mut Bench) -> Result<(), String>);

const TABLES: [Maker; 7] = [
    ("ipa", tables::ipa::make),
    ("wcp", tables::wcp::make),
    ("nondeterminism", tables::nondeterminism::make),
    ("polygraph", tables::polygraph::make),
    ("seqcheck", tables::seqcheck::make),
    ("peers", tables::peers::make),
    ("growth", tables::growth::make),
];

fn run(args: Args) -> Result<(), String> {
    let unknown = args.tables.iter().find(|name| TABLES.iter().all(|(known, _)| known != name));
    if let Some(name) = unknown {
        let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        return Err(format!("`{name}` is no table: {}", names.join(", ")));
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = args.results.unwrap_or_else(|| root.join("bench/results"));
    let scratch = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let results = Results::new(folder, tool::machine(&root))?;
    let mut bench = Bench { tool: Tool::find()?, results, root, scratch, quick: args.quick, longest: args.longest };
    println!("{}\n", bench.results.machine());
    for (name, make) in TABLES {
        if args.tables.is_empty() || args.tables.iter().any(|wanted| wanted == name) {
            make(&mut bench).map_err(|e| format!("table {name}: {e}"))?;
        }
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
