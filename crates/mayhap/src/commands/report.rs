//! `mayhap report`: show a saved report in another form.

use std::io::Write;
use std::path::PathBuf;

use crate::reporting::{ReportArgs, load};
use crate::{Exit, Failure};

/// Show a saved report, or convert it to HTML, SARIF, JUnit or a Chrome trace
///
/// `--save FILE` and `--format json` of predict and run save reports. Suppressions and the baseline are applied again.
///
/// Exit codes are those of the command that wrote the report.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report, a JSON file as written by `--save`
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
