//! The results of many traces become one report.
//!
//! Traces come in the order of their paths, so the report is the same however the work was divided. A finding of several traces is
//! one finding: it has their paths as its tests, the sum of their occurrences, and of the most certain ones the one with the shortest
//! schedule.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use mayhap_report::escape::shell_word;
use mayhap_report::{Corpus, Finding, NotAnalysed, Report, SourceText, TraceInfo, counted, fingerprint, grouped};

use crate::analyse::PLACE;
use crate::{Entry, Error, Failed, Manifest, Outcome, Store};

/// A merged report, and whether something is missing in it.
#[derive(Debug)]
pub struct Merged {
    /// The report.
    pub report: Report,
    /// Whether traces were not analysed, shards are missing or candidates stayed open.
    pub undecided: bool,
}

/// One report of the traces of several manifests, each with the store that has its results, made by so many threads.
pub fn merged(parts: &[(Store, Manifest)], threads: usize) -> Result<Merged, Error> {
    let Some((_, first)) = parts.first() else { return Err(Error::Setting("there is nothing to merge".to_string())) };
    for (store, manifest) in parts {
        let other = parts[0].0.folder().display();
        if manifest.tool != first.tool {
            let versions = format!("of mayhap {}, and those of {other} of {}", manifest.tool, first.tool);
            return Err(Error::input(store.folder(), format!("its results are {versions}")));
        }
        if let Some((name, here, there)) = manifest.settings.difference(&first.settings) {
            let words = format!("its results are of other options than those of {other}: {name} {here}, not {there}");
            return Err(Error::input(store.folder(), words));
        }
    }
    let mut traces: BTreeMap<&str, (&Store, &Entry)> = BTreeMap::new();
    for (store, manifest) in parts {
        for entry in &manifest.traces {
            let known = traces.entry(&entry.path).or_insert((store, entry));
            if known.1.result.is_none() {
                *known = (store, entry);
            }
        }
    }
    let traces: Vec<(&str, (&Store, &Entry))> = traces.into_iter().collect();
    let mut whole = Whole::new(&first.tool, parts);
    for some in traces.chunks(AT_A_TIME) {
        for ((path, _), outcome) in some.iter().zip(outcomes(some, threads)) {
            match outcome {
                Some(Outcome::Report(report)) => whole.add(path, *report),
                Some(Outcome::Failed(failed)) => whole.add_failed(path, failed),
                Some(Outcome::Windows(_)) | None => whole.left += 1,
            }
        }
    }
    if let Some((store, manifest)) = parts.iter().find(|(_, manifest)| manifest.build != first.build) {
        let (here, there) = (store.folder().display(), parts[0].0.folder().display());
        let words = format!("{here} is of another build of mayhap {} than {there}", manifest.tool);
        whole.report.notes.push(words);
    }
    Ok(whole.finish(&missing(parts)))
}

/// How many results are in memory at a time.
const AT_A_TIME: usize = 64;

/// What came of some traces. Unpacking is most of the work of merging, so several threads do it.
fn outcomes(traces: &[(&str, (&Store, &Entry))], threads: usize) -> Vec<Option<Outcome>> {
    let outcome = |(_, (store, entry)): &(&str, (&Store, &Entry))| match (&entry.result, &entry.failed) {
        (Some(name), _) => store.get(name),
        (None, failed) => failed.clone().map(Outcome::Failed),
    };
    let share = traces.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = traces
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(outcome).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("reading does not panic")).collect()
    })
}

/// Traces that no manifest has, as far as that is known, in words.
fn missing(parts: &[(Store, Manifest)]) -> Vec<String> {
    let mut of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (_, manifest) in parts {
        of.entry(manifest.shard.of).or_default().push(manifest.shard.part);
    }
    let absent = |(&of, have): (&u32, &Vec<u32>)| {
        (1..=of)
            .filter(|part| !have.contains(part))
            .map(|part| format!("shard {part}/{of} is missing"))
            .collect::<Vec<_>>()
    };
    let mut words: Vec<String> = of.iter().flat_map(absent).collect();
    for of in of.into_keys() {
        let mut parts = parts.iter().map(|(_, manifest)| manifest).filter(|manifest| manifest.shard.of == of);
        let Some(first) = parts.next() else { continue };
        words.extend(parts.filter(|other| other.seen != first.seen).map(|other| {
            let (one, two) = (grouped(first.seen.traces), counted(other.seen.traces, "trace"));
            let (first, second) = (first.shard.part, other.shard.part);
            format!("shards {first}/{of} and {second}/{of} saw different traces ({one} and {two}): some may be missing")
        }));
    }
    words
}

/// The report as far as it is merged.
struct Whole {
    report: Report,
    corpus: Corpus,
    /// Findings by fingerprint and by id.
    by_fingerprint: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
    /// Source lines, by file and number.
    sources: BTreeMap<String, BTreeMap<u32, String>>,
    /// Notes, in the order in which they first appear, with how many traces have them and the first of these.
    notes: Vec<(String, u64, String)>,
    note_at: HashMap<String, usize>,
    /// Traces that nothing is known of yet.
    left: u64,
}

impl Whole {
    fn new(tool: &str, parts: &[(Store, Manifest)]) -> Whole {
        let mut inputs: Vec<&str> = Vec::new();
        for input in parts.iter().flat_map(|(_, manifest)| &manifest.inputs) {
            if !inputs.contains(&input.as_str()) {
                inputs.push(input);
            }
        }
        let info = TraceInfo { path: inputs.join(" "), ..TraceInfo::default() };
        Whole {
            report: Report::new(tool, info, ""),
            corpus: Corpus::default(),
            by_fingerprint: HashMap::new(),
            by_id: HashMap::new(),
            sources: BTreeMap::new(),
            notes: Vec::new(),
            note_at: HashMap::new(),
            left: 0,
        }
    }

    fn add(&mut self, path: &str, report: Report) {
        let whole = &mut self.report;
        whole.trace.events += report.trace.events;
        whole.trace.threads = whole.trace.threads.max(report.trace.threads);
        whole.trace.locks += report.trace.locks;
        whole.trace.variables += report.trace.variables;
        whole.trace.repaired += report.trace.repaired;
        whole.summary.add(&report.summary);
        match whole.model.as_str() {
            "" => whole.model = report.model,
            model if model != report.model => whole.model = "mixed".to_string(),
            _ => {}
        }
        self.corpus.traces += 1;
        self.corpus.analysed += 1;
        self.corpus.with_findings += u64::from(!report.findings.is_empty());
        for note in report.notes {
            self.add_note(note, path);
        }
        for text in report.sources {
            let lines = self.sources.entry(text.file).or_default();
            for (number, line) in (text.from..).zip(text.lines) {
                lines.entry(number).or_insert(line);
            }
        }
        let place = shell_word(Path::new(PLACE));
        for mut finding in report.findings {
            finding.tests = vec![path.to_string()];
            finding.replay_command =
                finding.replay_command.map(|command| command.replacen(&place, &shell_word(Path::new(path)), 1));
            self.add_finding(finding);
        }
    }

    fn add_finding(&mut self, finding: Finding) {
        let known = self.by_fingerprint.get(&finding.fingerprint).or_else(|| self.by_id.get(&finding.id));
        let at = known.copied().unwrap_or(self.report.findings.len());
        self.by_fingerprint.entry(finding.fingerprint.clone()).or_insert(at);
        self.by_id.entry(finding.id.clone()).or_insert(at);
        match self.report.findings.get_mut(at) {
            Some(known) => join(known, finding),
            None => self.report.findings.push(finding),
        }
    }

    fn add_note(&mut self, note: String, path: &str) {
        match self.note_at.get(&note) {
            Some(&at) => self.notes[at].1 += 1,
            None => {
                self.note_at.insert(note.clone(), self.notes.len());
                self.notes.push((note, 1, path.to_string()));
            }
        }
    }

    fn add_failed(&mut self, path: &str, failed: Failed) {
        self.corpus.traces += 1;
        let (why, reason) = (failed.how.name().to_string(), failed.reason);
        self.corpus.not_analysed.push(NotAnalysed { path: path.to_string(), why, reason });
    }

    fn finish(self, missing: &[String]) -> Merged {
        let Whole { mut report, mut corpus, sources, notes, left, .. } = self;
        corpus.traces += left;
        if report.model.is_empty() {
            report.model = "mixed".to_string();
        }
        // The most certain instance of a finding may have the id of another finding: both are one.
        let mut by_id: HashMap<String, usize> = HashMap::new();
        let mut findings: Vec<Finding> = Vec::with_capacity(report.findings.len());
        for finding in report.findings {
            match by_id.get(&finding.id) {
                Some(&at) => join(&mut findings[at], finding),
                None => {
                    by_id.insert(finding.id.clone(), findings.len());
                    findings.push(finding);
                }
            }
        }
        findings.sort_by_key(|finding| (finding.verdict, finding.severity));
        fingerprint::number(&mut findings);
        report.findings = findings;
        report.sources = texts(sources);
        let not = corpus.not_analysed.len() as u64;
        let mut said = format!(
            "{}: {} analysed, {} with findings",
            counted(corpus.traces, "trace"),
            grouped(corpus.analysed),
            grouped(corpus.with_findings)
        );
        if not > 0 {
            said += &format!("; {} could not be analysed", grouped(not));
        }
        report.notes.push(said);
        if left > 0 {
            report.notes.push(format!("{} not analysed yet: the run was interrupted", counted(left, "trace")));
        }
        report.notes.extend(missing.iter().cloned());
        report
            .notes
            .extend(corpus.not_analysed.iter().map(|not| format!("not analysed: {}: {}", not.path, not.reason)));
        report.notes.extend(notes.into_iter().map(|(note, count, path)| match count {
            1 => format!("{path}: {note}"),
            _ => format!("{note} ({} traces, the first is {path})", grouped(count)),
        }));
        let undecided = report.summary.unknown > 0 || not + left > 0 || !missing.is_empty();
        report.corpus = Some(corpus);
        Merged { report, undecided }
    }
}

/// Adds another trace's instance of a finding: the more certain one is shown, of equal ones that with the shorter schedule.
fn join(known: &mut Finding, other: Finding) {
    let occurrences = known.occurrences + other.occurrences;
    let mut tests = std::mem::take(&mut known.tests);
    tests.extend(other.tests.iter().cloned());
    tests.sort();
    tests.dedup();
    let rank = |finding: &Finding| (finding.verdict, finding.steps(), finding.distance);
    if rank(&other) < rank(known) {
        let fingerprint = std::mem::take(&mut known.fingerprint);
        *known = other;
        // It is known by its first name.
        known.fingerprint = fingerprint;
    }
    (known.occurrences, known.tests) = (occurrences, tests);
}

/// Lines as runs of neighbours.
fn texts(sources: BTreeMap<String, BTreeMap<u32, String>>) -> Vec<SourceText> {
    let mut texts: Vec<SourceText> = Vec::new();
    for (file, lines) in sources {
        for (number, line) in lines {
            match texts.last_mut() {
                Some(text) if text.file == file && text.from + text.lines.len() as u32 == number => {
                    text.lines.push(line)
                }
                _ => texts.push(SourceText { file: file.clone(), from: number, lines: vec![line] }),
            }
        }
    }
    texts
}
