//! The subcommands, one file each.
//!
//! A subcommand is a struct `Args` (its arguments, whose doc comments are its help) with
//! `run(self, out: &mut dyn Write) -> Result<Exit, Failure>`, a variant of [`Command`] and a line in [`Cli::run`].

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::{Exit, Failure};

pub use assemble::assemble;

mod assemble;
pub mod cargo;
pub mod cc;
pub mod check;
pub mod convert;
pub mod demo;
pub mod detect;
pub mod generate;
pub mod manual;
mod nondeterminism;
pub mod predict;
pub mod record;
mod refutation;
pub mod replay;
pub mod report;
pub mod run;
pub mod stats;
pub mod verify;

/// Finds bugs that a different thread timing would have triggered, from one recorded run, with proof
#[derive(Debug, Parser)]
#[command(
    name = "mayhap",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 nothing found, 1 findings, 2 bad usage or bad input, 3 undecided and nothing proven."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Predict(predict::Args),
    Check(check::Args),
    Stats(stats::Args),
    Convert(convert::Args),
    Detect(detect::Args),
    Generate(generate::Args),
    Verify(verify::Args),
    Cc(cc::Args),
    #[command(name = "c++")]
    Cxx(cc::Args),
    Cargo(cargo::Args),
    Record(record::Args),
    Replay(replay::Args),
    Run(run::Args),
    Demo(demo::Args),
    Report(report::Args),
    Completions(manual::Completions),
    Man(manual::Man),
    /// Runs a program for cargo
    #[command(hide = true)]
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
            Command::Cargo(args) => args.run(),
            Command::Record(args) => args.run(),
            Command::Replay(args) => args.run(out),
            Command::Run(args) => args.run(out),
            Command::Demo(args) => args.run(out),
            Command::Report(args) => args.run(out),
            Command::Completions(args) => args.run(out),
            Command::Man(args) => args.run(),
            Command::Runner { program } => cargo::runner::run(program),
        }
    }
}
