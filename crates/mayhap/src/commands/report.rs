//! `mayhap report`: a saved report in other forms.

use std::io::Write;
use std::path::PathBuf;

use crate::reporting::{ReportArgs, load};
use crate::{Exit, Failure};

/// Show a saved report, or turn it into HTML, SARIF, JUnit or a Chrome trace
///
/// Reports are saved by `--save FILE` or `--format json` of predict and run. Suppressions and a baseline are applied anew.
///
/// Exit codes: as of the command that made the report.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report: JSON as `--save` writes it
    #[arg(value_name = "REPORT")]
    saved: PathBuf,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let report = load(&self.saved)?;
        let undecided = report.summary.unknown > 0;
        self.report.finish(out, report, undecided)
    }
}
