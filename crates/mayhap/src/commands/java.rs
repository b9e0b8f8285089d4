//! `mayhap java`: a drop-in for `java` that also looks for bugs.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Parser;

use super::Cli;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;
use mayhap_record as record;

/// Run a Java program as `java` does, find bugs that another thread timing would trigger, prove and reproduce them
///
/// All arguments are those of `java`: `mayhap java -cp classes Main`. It is the same as `mayhap run -- java …`, which takes further options
/// before the two dashes. The machine is that of JAVA_HOME, or else the first on the PATH; version 17 or later is needed.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// `--agent` alone prints the option that makes a virtual machine recordable when another program starts it, such as Maven or Gradle;
    /// otherwise the arguments of `java`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        if self.arguments == ["--agent"] {
            writeln!(out, "{}", record::agent_option(&runtime::folder()?).display())?;
            return Ok(Exit::Nothing);
        }
        let words = ["mayhap", "run", "--"].into_iter().map(OsString::from);
        let program = words.chain([beside_java("java").into()]).chain(self.arguments);
        let cli = Cli::try_parse_from(program).map_err(|error| Failure::new(error.to_string()))?;
        cli.run(out)
    }
}

/// A program of the Java installation in use: `java` itself, or one that lies beside it.
pub(super) fn beside_java(program: &str) -> PathBuf {
    let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin").join(program));
    home.filter(|file| file.is_file()).unwrap_or_else(|| program.into())
}
