//! `mayhap ci`: ready workflow files.

use std::io::Write;

use clap::ValueEnum;

use crate::{Exit, Failure};

/// Print a ready workflow file that records tests, analyses them in shards and reports what is new
///
/// The workflow builds the tests with recording, saves a trace of each, analyses the traces with `mayhap corpus` in shards whose
/// results are kept, merges the shards, uploads SARIF and JUnit, compares with a baseline, and comments what is new. It is a start:
/// adapt the lines that build your program.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the tests run: a CI service, or a shell script for one way of running tests
    #[arg(value_enum)]
    target: Target,

    /// How the tests of a CI service are run
    #[arg(long, value_enum, default_value_t = Runner::Ctest)]
    tests: Runner,

    /// Number of shards
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    shards: u32,

    /// Command that installs mayhap on a machine of the CI service
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "cargo install --git https://github.com/OWNER/mayhap mayhap && mayhap setup"
    )]
    install: String,
}

/// What to print a file for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Target {
    /// A workflow of GitHub Actions
    Github,
    /// Jobs of GitLab CI
    Gitlab,
    /// A Jenkinsfile
    Jenkins,
    /// A script around bazel
    Bazel,
    /// A script around cmake and ctest
    Ctest,
    /// A script around cargo-nextest
    Nextest,
}

/// How tests are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Runner {
    /// cmake and ctest
    Ctest,
    /// cargo-nextest
    Nextest,
    /// cargo
    Cargo,
    /// bazel
    Bazel,
    /// make, with one program that runs all tests
    Make,
}

impl Runner {
    /// The commands that build the tests and save a trace of each in `traces`.
    fn commands(self) -> &'static str {
        match self {
            Runner::Ctest => include_str!("ci/ctest.sh"),
            Runner::Nextest => include_str!("ci/nextest.sh"),
            Runner::Cargo => include_str!("ci/cargo.sh"),
            Runner::Bazel => include_str!("ci/bazel.sh"),
            Runner::Make => include_str!("ci/make.sh"),
        }
    }
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let script = include_str!("ci/script.sh");
        let (template, name, runner) = match self.target {
            Target::Github => (include_str!("ci/github.yml"), "github", self.tests),
            Target::Gitlab => (include_str!("ci/gitlab.yml"), "gitlab", self.tests),
            Target::Jenkins => (include_str!("ci/Jenkinsfile"), "jenkins", self.tests),
            Target::Bazel => (script, "bazel", Runner::Bazel),
            Target::Ctest => (script, "ctest", Runner::Ctest),
            Target::Nextest => (script, "nextest", Runner::Nextest),
        };
        let is_jenkins = self.target == Target::Jenkins;
        // A backslash means something within Jenkins' quotes.
        let quoted = |text: &str| if is_jenkins { text.replace('\\', "\\\\") } else { text.to_string() };
        let parts = (1..=self.shards).map(|part| part.to_string()).collect::<Vec<_>>().join(", ");
        let words = template
            .replace("@SHARDS@", &self.shards.to_string())
            .replace("@PARTS@", &parts)
            .replace("@NAME@", name)
            .replace("@INSTALL@", &self.install);
        for line in words.lines() {
            let commands = match line.trim_start() {
                "@RECORD@" => quoted(runner.commands()),
                "@REPORT@" => quoted(include_str!("ci/report.sh")),
                "@COMMENT@" => quoted(include_str!("ci/comment.sh")),
                _ => {
                    writeln!(out, "{line}")?;
                    continue;
                }
            };
            let indent = &line[..line.len() - line.trim_start().len()];
            for command in commands.lines() {
                writeln!(out, "{indent}{command}")?;
            }
        }
        Ok(Exit::Nothing)
    }
}
