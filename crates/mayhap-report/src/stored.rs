//! The report as it is stored: the steps of all schedules in one table, each step and each name once.
//!
//! The schedules of the findings of one trace have most of their rows in common. A stored finding therefore has none of its own; the
//! report has one table of rows, and for each finding with schedules the positions of its rows there, as runs. Rows are the same if all
//! of them is, names included, so findings of several traces can share a table.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Report;
use crate::data::{Corpus, Exploration, SourceText, Summary, Tool, TraceInfo};
use crate::finding::Finding;
use crate::numbers::positions;
use crate::refutation::Refutation;
use crate::schedules::{Changed, Row, Schedules};

/// All schedules of a report.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    /// Threads by [`Row::thread`].
    threads: Vec<String>,
    /// Objects by [`Row::object`].
    objects: Vec<String>,
    /// Locations by [`Row::location`].
    locations: Vec<String>,
    /// All rows, by event.
    rows: Vec<Row>,
    /// The schedules of the findings that have some, in their order.
    of: Vec<Part>,
}

/// The schedules of one finding.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    /// Its position among the findings.
    finding: usize,
    /// Its rows in recorded order: positions in [`Stored::rows`].
    #[serde(with = "positions")]
    rows: Vec<u32>,
    /// The rows in the order of the witness: positions in [`Stored::rows`].
    #[serde(with = "positions")]
    witness: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<Changed>,
    observed_total: u64,
    witness_total: u64,
    #[serde(default)]
    witness_skipped: u64,
}

/// What makes two rows the same.
type Key<'r> = (u64, &'r str, &'r str, Option<&'r str>, Option<&'r str>, Option<u64>);

fn key<'r>(schedules: &'r Schedules, row: &'r Row) -> Key<'r> {
    let name = |names: &'r [String], at: Option<u32>| names.get(at? as usize).map(String::as_str);
    (
        row.event,
        name(&schedules.threads, Some(row.thread)).unwrap_or_default(),
        &row.op,
        name(&schedules.objects, row.object),
        name(&schedules.locations, row.location),
        row.partner,
    )
}

/// Names by number, in order of appearance.
#[derive(Default)]
struct Names<'r> {
    numbers: HashMap<&'r str, u32, foldhash::fast::RandomState>,
    names: Vec<String>,
}

impl<'r> Names<'r> {
    fn of(&mut self, name: &'r str) -> u32 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name.to_string());
            self.names.len() as u32 - 1
        })
    }
}

impl Stored {
    /// Collects the schedules of findings; `None` if there are none.
    fn of(findings: &[Finding]) -> Option<Stored> {
        let all = || findings.iter().enumerate().filter_map(|(at, f)| Some((at, f.schedules.as_ref()?)));
        let mut places: BTreeMap<Key<'_>, u32> = BTreeMap::new();
        for (_, schedules) in all() {
            places.extend(schedules.rows.iter().map(|row| (key(schedules, row), 0)));
        }
        let (mut threads, mut objects, mut locations) = (Names::default(), Names::default(), Names::default());
        let mut rows = Vec::with_capacity(places.len());
        for (&(event, thread, op, object, location, partner), place) in &mut places {
            *place = rows.len() as u32;
            rows.push(Row {
                event,
                thread: threads.of(thread),
                op: op.to_string(),
                object: object.map(|name| objects.of(name)),
                location: location.map(|name| locations.of(name)),
                partner,
            });
        }
        let part = |(finding, schedules): (usize, &Schedules)| {
            let own: Vec<u32> = schedules.rows.iter().map(|row| places[&key(schedules, row)]).collect();
            Part {
                finding,
                witness: schedules.witness.iter().filter_map(|&row| own.get(row as usize).copied()).collect(),
                rows: own,
                changed: schedules.changed.clone(),
                observed_total: schedules.observed_total,
                witness_total: schedules.witness_total,
                witness_skipped: schedules.witness_skipped,
            }
        };
        let of: Vec<Part> = all().map(part).collect();
        let (threads, objects, locations) = (threads.names, objects.names, locations.names);
        (!of.is_empty()).then_some(Stored { threads, objects, locations, rows, of })
    }

    /// Gives the findings their schedules.
    fn hand_out(self, findings: &mut [Finding]) {
        for part in &self.of {
            if let Some(finding) = findings.get_mut(part.finding) {
                finding.schedules = Some(self.schedules(part));
            }
        }
    }

    /// The schedules of one finding, with only the names that it needs.
    fn schedules(&self, part: &Part) -> Schedules {
        let (mut threads, mut objects, mut locations) = (Names::default(), Names::default(), Names::default());
        let mut place: HashMap<u32, u32> = HashMap::new();
        let mut rows = Vec::with_capacity(part.rows.len());
        for &at in &part.rows {
            let Some(row) = self.rows.get(at as usize) else { continue };
            place.insert(at, rows.len() as u32);
            rows.push(Row {
                event: row.event,
                thread: threads.of(self.threads.get(row.thread as usize).map_or("", String::as_str)),
                op: row.op.clone(),
                object: row.object.and_then(|at| self.objects.get(at as usize)).map(|name| objects.of(name)),
                location: row.location.and_then(|at| self.locations.get(at as usize)).map(|name| locations.of(name)),
                partner: row.partner,
            });
        }
        Schedules {
            threads: threads.names,
            objects: objects.names,
            locations: locations.names,
            rows,
            witness: part.witness.iter().filter_map(|at| place.get(at).copied()).collect(),
            changed: part.changed.clone(),
            observed_total: part.observed_total,
            witness_total: part.witness_total,
            witness_skipped: part.witness_skipped,
        }
    }
}

/// A report with its schedules apart, to be written.
#[derive(Serialize)]
struct Written<'r> {
    format: &'r str,
    version: u32,
    tool: &'r Tool,
    trace: &'r TraceInfo,
    model: &'r str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    program: &'r [String],
    findings: &'r [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    schedules: Option<Stored>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refutation: &'r Option<Refutation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nondeterminism: &'r Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exploration: &'r Option<Exploration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corpus: &'r Option<Corpus>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sources: &'r [SourceText],
    summary: &'r Summary,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'r [String],
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { format, version, tool, trace, model, program, findings, refutation, .. } = self;
        let Report { nondeterminism, exploration, corpus, sources, summary, notes, .. } = self;
        let schedules = Stored::of(findings);
        let version = *version;
        let written = Written {
            format,
            version,
            tool,
            trace,
            model,
            program,
            findings,
            schedules,
            refutation,
            nondeterminism,
            exploration,
            corpus,
            sources,
            summary,
            notes,
        };
        written.serialize(serializer)
    }
}

/// A report as it is read, of this version or the first, in which each finding has its schedules.
#[derive(Deserialize)]
struct Read {
    format: String,
    version: u32,
    tool: Tool,
    trace: TraceInfo,
    model: String,
    #[serde(default)]
    program: Vec<String>,
    findings: Vec<Finding>,
    #[serde(default)]
    schedules: Option<Stored>,
    #[serde(default)]
    refutation: Option<Refutation>,
    #[serde(default)]
    nondeterminism: Option<serde_json::Value>,
    #[serde(default)]
    exploration: Option<Exploration>,
    #[serde(default)]
    corpus: Option<Corpus>,
    #[serde(default)]
    sources: Vec<SourceText>,
    summary: Summary,
    #[serde(default)]
    notes: Vec<String>,
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Report, D::Error> {
        Read::deserialize(deserializer).map(Report::from)
    }
}

impl From<Read> for Report {
    fn from(read: Read) -> Report {
        let Read { format, tool, trace, model, program, mut findings, schedules, refutation, nondeterminism, .. } =
            read;
        if let Some(schedules) = schedules {
            schedules.hand_out(&mut findings);
        }
        let Read { exploration, corpus, sources, summary, notes, .. } = read;
        // What is written again is written as this version has it.
        let version = read.version.max(crate::VERSION);
        Report {
            format,
            version,
            tool,
            trace,
            model,
            program,
            findings,
            refutation,
            nondeterminism,
            exploration,
            corpus,
            sources,
            summary,
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedules(events: &[u64], witness: &[u32]) -> Schedules {
        let row = |&event: &u64| Row {
            event,
            thread: (event % 2) as u32,
            op: "w".to_string(),
            object: Some(0),
            location: (event > 3).then_some(0),
            partner: None,
        };
        // Names are in the order in which the rows need them.
        let odd = events.first().is_some_and(|event| event % 2 == 1);
        let mut names = ["even".to_string(), "odd".to_string()];
        let mut rows: Vec<Row> = events.iter().map(row).collect();
        if odd {
            names.reverse();
            rows.iter_mut().for_each(|row| row.thread = 1 - row.thread);
        }
        Schedules {
            threads: names.to_vec(),
            objects: vec!["x".to_string()],
            locations: vec!["a.c:1".to_string()],
            rows,
            witness: witness.to_vec(),
            changed: vec![Changed { event: 2, sees: None }],
            observed_total: 9,
            witness_total: 8,
            witness_skipped: 5,
        }
    }

    fn report(all: Vec<Option<Schedules>>) -> Report {
        let mut report = Report::new("0.1.0", TraceInfo::default(), "data");
        report.findings = all.into_iter().map(|schedules| Finding { schedules, ..Finding::default() }).collect();
        report
    }

    #[test]
    fn schedules_survive_and_each_row_is_stored_once() {
        let report =
            report(vec![Some(schedules(&[1, 2, 3, 4], &[1, 0, 2])), None, Some(schedules(&[2, 3, 4, 5], &[3, 0]))]);
        let text = serde_json::to_string(&report).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["schedules"]["rows"].as_array().unwrap().len(), 5);
        assert_eq!(document["schedules"]["of"][1]["rows"], serde_json::json!([[1, 4]]));
        assert!(document["findings"][0].get("schedules").is_none());
        assert_eq!(Report::parse(text.as_bytes()).unwrap(), report);
    }

    #[test]
    fn rows_of_other_traces_are_other_rows() {
        let mut other = schedules(&[4, 5], &[0, 1]);
        other.objects[0] = "y".to_string();
        let report = report(vec![Some(schedules(&[4, 5], &[1, 0])), Some(other)]);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(Report::parse(text.as_bytes()).unwrap(), report);
    }

    #[test]
    fn reports_of_the_first_version_are_read() {
        let report = report(vec![Some(schedules(&[1, 2, 4], &[1, 0, 2]))]);
        let mut document = serde_json::to_value(&report).unwrap();
        document["version"] = 1.into();
        document.as_object_mut().unwrap().remove("schedules");
        document["findings"][0]["schedules"] =
            serde_json::to_value(report.findings[0].schedules.as_ref().unwrap()).unwrap();
        document["findings"][0]["witness"] = serde_json::json!([1, 2, 3]);
        let read = Report::parse(document.to_string().as_bytes()).unwrap();
        assert_eq!(read.findings[0].schedules, report.findings[0].schedules);
        assert_eq!((read.findings[0].witness.len(), read.version), (3, crate::VERSION));
    }

    #[test]
    fn positions_that_do_not_exist_are_passed_over() {
        let report = report(vec![Some(schedules(&[1, 2], &[1, 0]))]);
        let mut document = serde_json::to_value(&report).unwrap();
        document["schedules"]["of"][0]["rows"] = serde_json::json!([0, 77]);
        document["schedules"]["of"].as_array_mut().unwrap().push(serde_json::json!({
            "finding": 99, "rows": [], "witness": [], "observed_total": 0, "witness_total": 0
        }));
        let read = Report::parse(document.to_string().as_bytes()).unwrap();
        let schedules = read.findings[0].schedules.as_ref().unwrap();
        assert_eq!((schedules.rows.len(), &schedules.witness[..]), (1, &[0][..]));
    }
}
