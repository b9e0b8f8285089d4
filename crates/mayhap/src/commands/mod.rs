//! The subcommands, one file each.
//!
//! A subcommand is a struct `Args` (its arguments, whose doc comments are its help) with
//! `run(self, out: &mut dyn Write) -> Result<Exit, Failure>`, a variant of [`Command`] and a line in [`Cli::run`].

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::{Exit, Failure};

pub use arguments::arrange;
pub use assemble::assemble;

mod arguments;
mod assemble;
pub mod cargo;
pub mod cc;
pub mod check;
pub mod ci;
pub mod convert;
pub mod corpus;
pub mod demo;
pub mod detect;
mod elsewhere;
pub mod explore;
pub mod generate;
pub mod java;
mod manifest;
pub mod manual;
mod nondeterminism;
pub mod predict;
pub mod record;
mod refutation;
pub mod replay;
pub mod report;
mod ruled_out;
pub mod run;
pub mod stats;
pub mod suite;
mod test_binary;
pub mod verify;

/// Seconds without progress before a run of the program counts as hung, unless `--patience` says otherwise.
const PATIENCE: f64 = 5.0;
/// The time limit for one run of the program, in seconds, unless `--timeout` says otherwise.
const TIMEOUT: f64 = 120.0;

/// Finds bugs that a different thread timing would have triggered, from one recorded run, with proof
#[derive(Debug, Parser)]
#[command(
    name = "mayhap",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 nothing found, 1 findings, 2 bad usage or bad input, 3 undecided and nothing proven,\n\
        4 the program could not be run as asked, or the job was interrupted, and nothing found."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    // In the order of the help: one's own programs first, then suites and CI, then traces.
    Run(run::Args),
    Explore(explore::Args),
    Demo(demo::Args),
    Cc(cc::Args),
    #[command(name = "c++")]
    Cxx(cc::Args),
    Cargo(cargo::Args),
    Java(java::Args),
    Test(suite::Args),
    Record(record::Args),
    Replay(replay::Args),
    Report(report::Args),
    Ci(ci::Args),
    Corpus(corpus::Args),
    Predict(predict::Args),
    Check(check::Args),
    Detect(detect::Args),
    Verify(verify::Args),
    Stats(stats::Args),
    Convert(convert::Args),
    Generate(generate::Args),
    Setup(manual::Setup),
    Completions(manual::Completions),
    Man(manual::Man),
    /// Analyses traces for `mayhap corpus`
    #[command(hide = true)]
    CorpusWorker,
    /// Makes runs for `mayhap explore --ray`
    #[command(hide = true)]
    ExploreWorker,
    /// Runs a program for cargo
    #[command(hide = true, name = "cargo-runner")]
    Runner {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<std::ffi::OsString>,
    },
}

impl Cli {
    /// Runs the command; its output goes to `out`.
    pub fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        match self.command {
            Command::Predict(args) => args.run(out),
            Command::Check(args) => args.run(out),
            Command::Stats(args) => args.run(out),
            Command::Convert(args) => args.run(out),
            Command::Detect(args) => args.run(out),
            Command::Generate(args) => args.run(out),
            Command::Verify(args) => args.run(out),
            Command::Cc(args) => args.run(cc::Language::C),
            Command::Cxx(args) => args.run(cc::Language::Cxx),
            Command::Cargo(args) => args.run(out),
            Command::Record(args) => args.run(),
            Command::Replay(args) => args.run(out),
            Command::Run(args) => args.run(out),
            Command::Java(args) => args.run(out),
            Command::Test(args) => args.run(out),
            Command::Corpus(args) => args.run(out),
            Command::Ci(args) => args.run(out),
            Command::CorpusWorker => corpus::work(),
            Command::ExploreWorker => elsewhere::work(),
            Command::Explore(args) => args.run(out),
            Command::Demo(args) => args.run(out),
            Command::Report(args) => args.run(out),
            Command::Setup(args) => args.run(out),
            Command::Completions(args) => args.run(out),
            Command::Man(args) => args.run(),
            Command::Runner { program } => cargo::runner::run(program),
        }
    }
}
