//! What every reporting command does with its report: hide what is to be hidden, render it wherever it was asked for, print
//! it, and turn it into an exit code.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mayhap_report::suppress::Suppressions;
use mayhap_report::text::{Detail, Style};
use mayhap_report::{Finding, Report, Severity, Verdict, counted, html, junit, perfetto, sarif, text};
use serde::Serialize;

use crate::files::{Contents, advice_unless};
use crate::options::Environment;
use crate::output::{Format, When, json};
use crate::{Exit, Failure};
use mayhap_analyse::{Halt, Prediction};
use mayhap_job::suggest;

/// The options of every command that reports.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Output format: text, or one JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// Also write the report as JSON, for `mayhap report` and `--baseline`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,

    /// Also write the report as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Also write SARIF 2.1.0, for code scanning services and editors
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,

    /// Also write JUnit XML, for CI services
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Also write both schedules of each finding as a Chrome trace, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,

    /// Hide findings that match the rules in this file: ThreadSanitizer's syntax, or fingerprint:ID (repeatable)
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,

    /// Show only findings that this older report, saved as JSON, does not contain
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,

    /// Exit 1 on a finding of at least this certainty
    ///
    /// The default is proven; for detect, which proves nothing, it is suspected.
    #[arg(long, value_enum, value_name = "CERTAINTY")]
    pub fail_on: Option<FailOn>,

    /// Also look for source files below this folder (repeatable)
    #[arg(long, value_name = "DIR")]
    pub source_root: Vec<PathBuf>,

    /// Print one line per finding, as compilers do: `file.c:12: error: …`
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print all findings in full, however many there are
    #[arg(long, short)]
    pub verbose: bool,

    /// When to use colours [default: on a terminal, unless NO_COLOR is set]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub color: Option<When>,
}

/// What makes a command exit with 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FailOn {
    /// Findings that happened: in a recorded run or in a replay
    Confirmed,
    /// Proven findings too
    Proven,
    /// Suspected findings too
    Suspected,
    /// No finding
    Never,
}

impl FailOn {
    /// A finding of this certainty makes the command fail.
    fn covers(self, verdict: Verdict) -> bool {
        match self {
            FailOn::Confirmed => matches!(verdict, Verdict::Observed | Verdict::Confirmed),
            FailOn::Proven => verdict.is_certain(),
            FailOn::Suspected => verdict.is_certain() || verdict == Verdict::Suspected,
            FailOn::Never => false,
        }
    }
}

impl ReportArgs {
    /// Completes a report: source lines, suppressions, baseline.
    pub fn complete(&self, report: &mut Report, environment: &Environment) -> Result<(), Failure> {
        report.gather_sources(&self.roots(report));
        self.rules(environment)?.apply(report);
        if let Some(path) = &self.baseline {
            report.compare(&load(path)?);
        }
        // Traces are judged access by access, as others do it; programs are judged by their bugs.
        if !report.program.is_empty() {
            report.fold_races();
            report.fold_consequences();
        }
        if environment.halt_on_error {
            halt(report);
        }
        Ok(())
    }

    /// Returns the rules of all files.
    fn rules(&self, environment: &Environment) -> Result<Suppressions, Failure> {
        let mut rules = Suppressions::default();
        for path in self.suppressions.iter().chain(&environment.suppressions) {
            let text = std::fs::read_to_string(path).map_err(|e| Failure::at(path, e))?;
            rules.add(&text, &path.display().to_string()).map_err(|e| Failure::at(path, e))?;
        }
        Ok(rules)
    }

    /// If the environment asks for it: that predicting a trace stops at the first error that nothing hides.
    pub fn halt(&self, path: &Path, environment: &Environment) -> Result<Option<Halt>, Failure> {
        if !environment.halt_on_error {
            return Ok(None);
        }
        let (path, rules) = (path.to_path_buf(), self.rules(environment)?);
        let baseline = self.baseline.as_deref().map(load).transpose()?;
        let doubts = mayhap_trace::attachments::Doubts::load(&path);
        Ok(Some(Halt::new(move |execution, options, finding| {
            let alone = Prediction { findings: vec![finding.clone()], ..Prediction::default() };
            let mut report = suggest::report(&path, (execution, &doubts), options, &alone, Some(0));
            rules.clone().apply(&mut report);
            if let Some(baseline) = &baseline {
                report.compare(baseline);
            }
            report.findings.iter().any(is_error)
        })))
    }

    /// Where source files may be besides where locations say.
    fn roots(&self, report: &Report) -> Vec<PathBuf> {
        let path = Path::new(&report.trace.path);
        let beside = path.parent().map(Path::to_path_buf);
        // Paths begin where the program ran, which may be another folder than this one.
        let run = mayhap_trace::attachments::Run::load(path);
        let began = run.and_then(|run| run.root.or(run.folder));
        self.source_root.iter().cloned().chain(beside).chain(began).collect()
    }

    /// Checks, before the work, that every file can be read or written later.
    pub fn prepare(&self, environment: &Environment) -> Result<(), Failure> {
        self.rules(environment)?;
        if let Some(path) = &self.baseline {
            load(path)?;
        }
        let outputs = [&self.save, &self.html, &self.sarif, &self.junit, &self.perfetto];
        outputs.into_iter().flatten().try_for_each(|path| writable(path))
    }

    /// Writes the files that were asked for.
    pub fn write_files(&self, report: &Report) -> Result<(), Failure> {
        if let Some(path) = &self.save {
            create(path, |out| document(out, report))?;
        }
        if let Some(path) = &self.html {
            create(path, |out| html::write(out, report))?;
        }
        if let Some(path) = &self.sarif {
            create(path, |out| document(out, &sarif::document(report)))?;
        }
        if let Some(path) = &self.junit {
            create(path, |out| junit::write(out, report))?;
        }
        if let Some(path) = &self.perfetto {
            create(path, |out| document(out, &perfetto::document(report)))?;
        }
        Ok(())
    }

    /// Prints the report.
    pub fn print(&self, out: &mut dyn Write, report: &Report, environment: &Environment) -> Result<(), Failure> {
        match self.format {
            Format::Json => json(out, report),
            Format::Text => Ok(text::write(out, report, &self.style(environment))?),
        }
    }

    /// How text is laid out.
    pub fn style(&self, environment: &Environment) -> Style {
        let detail = match (self.quiet, self.verbose, environment.verbosity) {
            (true, _, _) => Detail::Quiet,
            (_, true, _) => Detail::Verbose,
            (_, _, Some(0)) | (_, _, None) => Detail::Normal,
            _ => Detail::Verbose,
        };
        let to_terminal = io::stdout().is_terminal() && environment.log_path.is_none();
        Style { width: width(to_terminal), colour: colour(self.color.or(environment.color), to_terminal), detail }
    }

    /// The exit code that a report comes to; `undecided`: something stayed open.
    pub fn exit(&self, report: &Report, undecided: bool, environment: &Environment) -> Exit {
        let limit = self.fail_on.unwrap_or(FailOn::Proven);
        match (report.shown().any(|f| limit.covers(f.verdict)), undecided) {
            (true, _) => environment.exitcode.map_or(Exit::Found, Exit::Program),
            (false, true) => Exit::Undecided,
            (false, false) => Exit::Nothing,
        }
    }

    /// Something was asked for that needs more than what is printed.
    pub fn wants_more(&self, environment: &Environment) -> bool {
        let files = [&self.save, &self.html, &self.sarif, &self.junit, &self.perfetto, &self.baseline];
        let rules = self.suppressions.len() + environment.suppressions.len();
        let detail = self.format == Format::Text && self.style(environment).detail != Detail::Normal;
        files.iter().any(|file| file.is_some()) || rules > 0 || detail
    }

    /// Completes, writes, prints: all that is left to do with a report that is shown as it is.
    pub fn finish(&self, out: &mut dyn Write, mut report: Report, undecided: bool) -> Result<Exit, Failure> {
        let environment = Environment::read()?;
        self.complete(&mut report, &environment)?;
        // Printed first: a file that cannot be written does not lose the report.
        environment.with_output(out, |out| self.print(out, &report, &environment))?;
        out.flush()?;
        self.write_files(&report)?;
        Ok(self.exit(&report, undecided, &environment))
    }
}

/// Something that `halt_on_error` halts on: proven, shown, and more than a note.
fn is_error(finding: &Finding) -> bool {
    finding.is_shown() && finding.verdict.is_certain() && finding.severity != Severity::Note
}

/// Leaves out what comes after the first error.
fn halt(report: &mut Report) {
    let Some(first) = report.findings.iter().position(is_error) else { return };
    let before = report.findings.len();
    let mut at = 0..;
    report.findings.retain(|f| at.next().is_some_and(|at: usize| at <= first) || !f.is_shown());
    let left_out = before - report.findings.len();
    if left_out > 0 {
        report.notes.push(format!("halt_on_error: {} left out", counted(left_out as u64, "further finding")));
    }
}

/// Reads a saved report.
pub fn load(path: &Path) -> Result<Report, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::at(path, e))?;
    Report::parse(&bytes).map_err(|e| match advice_unless(path, &[Contents::Report]) {
        Some(advice) => Failure::at(path, format_args!("not a report: {advice}")),
        None => Failure::at(path, e),
    })
}

/// Checks that a file can be written. What is in it stays until it is.
fn writable(path: &Path) -> Result<(), Failure> {
    let is_new = path.symlink_metadata().is_err();
    OpenOptions::new().append(true).create(true).open(path).map_err(|e| Failure::at(path, e))?;
    if is_new {
        // It is created again when there is something to write.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

fn document(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, document)?;
    writeln!(out)
}

fn create(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::at(path, e);
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    write(&mut out).and_then(|()| out.flush()).map_err(failed)
}

/// Columns of the terminal, of `COLUMNS`, or a hundred.
fn width(to_terminal: bool) -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let measured = || match to_terminal {
        true => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
        false => None,
    };
    said.or_else(measured).unwrap_or(Style::default().width)
}

/// `--color` and `MAYHAP_OPTIONS` first, then `NO_COLOR` and `CLICOLOR_FORCE` as others read them, then the terminal.
fn colour(asked: Option<When>, to_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match asked {
        Some(When::Always) => true,
        Some(When::Never) => false,
        Some(When::Auto) | None if set("NO_COLOR") => false,
        _ if set("CLICOLOR_FORCE") && std::env::var_os("CLICOLOR_FORCE").is_some_and(|v| v != "0") => true,
        _ => to_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}
