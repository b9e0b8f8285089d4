//! The report as JUnit XML, which every CI service can show, with one test case per finding.
//!
//! Confirmed and proven findings fail; suspected and hidden ones are skipped. A report without findings is one case that
//! passes. A trace of a corpus that could not be analysed is an error.

use std::io::{self, Write};

use crate::data::Report;
use crate::escape::xml;
use crate::finding::{Baseline, Finding, Side, Verdict};
use crate::text::{Style, write_finding};

/// Writes the XML.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let broken = report.corpus.as_ref().map_or(&[][..], |corpus| &corpus.not_analysed);
    let (tests, errors) = ((report.findings.len() + broken.len()).max(1), broken.len());
    let failures = report.findings.iter().filter(|f| skipped(f).is_none()).count();
    let skips = report.findings.len() - failures;
    let seconds = report.summary.seconds;
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skips}\" time=\"{seconds:.3}\""
    );
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"mayhap\" {counts}>")?;
    writeln!(out, "  <testsuite name=\"{}\" {counts}>", xml(&report.trace.path))?;
    if report.findings.is_empty() && broken.is_empty() {
        let name = format!("{} events without a finding", report.trace.events);
        writeln!(out, "    <testcase classname=\"mayhap\" name=\"{name}\" time=\"{seconds:.3}\"/>")?;
    }
    for finding in &report.findings {
        case(out, report, finding)?;
    }
    for trace in broken {
        let (path, why, reason) = (xml(&trace.path), xml(&trace.why), xml(&trace.reason));
        writeln!(out, "    <testcase classname=\"mayhap.corpus\" name=\"{path}\" time=\"0.000\">")?;
        writeln!(out, "      <error type=\"{why}\" message=\"{reason}\"/>\n    </testcase>")?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Why a finding does not count as a failure, if it does not.
fn skipped(finding: &Finding) -> Option<String> {
    match (&finding.suppressed_by, finding.baseline, finding.verdict) {
        (Some(rule), _, _) => Some(format!("suppressed by {rule}")),
        (_, Some(Baseline::Known), _) => Some("already in the baseline".to_string()),
        (_, _, Verdict::Suspected | Verdict::Note) => Some(finding.certainty.clone()),
        _ => None,
    }
}

fn case(out: &mut dyn Write, report: &Report, finding: &Finding) -> io::Result<()> {
    let (kind, id) = (finding.kind.name(), xml(&finding.id));
    let test = finding.tests.first().map_or(String::new(), |test| format!(" in {}", xml(test)));
    write!(
        out,
        "    <testcase classname=\"mayhap.{kind}{test}\" name=\"{} ({id})\" time=\"0.000\"",
        xml(&finding.title)
    )?;
    if let Some((file, line)) = finding.events.first().and_then(place) {
        write!(out, " file=\"{}\" line=\"{line}\"", xml(file))?;
    }
    writeln!(out, ">")?;
    if let Some(reason) = skipped(finding) {
        writeln!(out, "      <skipped message=\"{}\"/>", xml(&reason))?;
    } else {
        let mut text = Vec::new();
        write_finding(&mut text, report, finding, &Style::default())?;
        let text = String::from_utf8_lossy(&text).lines().map(xml).collect::<Vec<_>>().join("\n");
        let message = xml(&finding.message);
        writeln!(out, "      <failure type=\"{kind}\" message=\"{message}\">\n{text}\n      </failure>")?;
    }
    writeln!(out, "    </testcase>")
}

fn place(side: &Side) -> Option<(&str, u32)> {
    let source = side.source.as_ref()?;
    Some((source.file.as_deref()?, source.line?))
}
