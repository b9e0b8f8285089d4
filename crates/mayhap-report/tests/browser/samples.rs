//! Reports to look at: small ones of every kind, made from lines of the text format, and large ones.

use std::collections::BTreeMap;

use mayhap_report::{
    Changed, Creation, Finding, Kind, Lock, Replay, Report, Row, Schedules, Severity, Side, Source, SourceText, Step,
    Story, TraceInfo, Verdict,
};
use mayhap_trace::EventId;

/// Numbers names as they come.
#[derive(Default)]
struct Numbered {
    names: Vec<String>,
    by_name: BTreeMap<String, u32>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.by_name.get(name) {
            return number;
        }
        self.names.push(name.to_string());
        self.by_name.insert(name.to_string(), self.names.len() as u32 - 1);
        self.names.len() as u32 - 1
    }
}

/// One event of the text format.
pub(crate) struct Line<'l> {
    pub(crate) thread: &'l str,
    pub(crate) op: &'l str,
    pub(crate) object: &'l str,
    pub(crate) location: &'l str,
}

/// `thread|op(object)|location`
fn line(text: &str) -> Line<'_> {
    let (thread, rest) = text.split_once('|').unwrap();
    let (op, rest) = rest.split_once('(').unwrap();
    let (object, location) = rest.rsplit_once(")|").unwrap();
    Line { thread, op, object, location }
}

/// A finding about `events` of the trace `lines`, with the schedule `witness`; numbers count from 1.
pub(crate) fn finding(kind: Kind, lines: &[&str], events: &[u64], witness: &[u64]) -> Finding {
    let lines: Vec<Line<'_>> = lines.iter().map(|text| line(text)).collect();
    finding_of(kind, &lines, events, witness)
}

/// The same for lines in their parts.
pub(crate) fn finding_of(kind: Kind, lines: &[Line<'_>], events: &[u64], witness: &[u64]) -> Finding {
    let schedules = schedules(lines, witness);
    let place = |event: u64| lines[event as usize - 1].location.to_string();
    let told: Vec<Step> = (1..=lines.len() as u64).map(|event| Step { event, ..Step::default() }).collect();
    let roles: &[&str] = match kind {
        Kind::Race => &["first access", "second access"],
        Kind::Atomicity => &["first access", "remote access", "second access"],
        Kind::Nondeterminism | Kind::Order => &["write seen", "read", "other write"],
        Kind::Deadlock | Kind::Hang => &["blocked", "blocked", "blocked"],
        Kind::Crash => &["last access"],
        _ => &["free", "access"],
    };
    Finding {
        life: Vec::new(),
        id: format!("{}-{:016x}", kind.name(), events.iter().sum::<u64>()),
        kind,
        verdict: Verdict::Proven,
        engine: "auto".to_string(),
        model: "branch".to_string(),
        occurrences: 3,
        distance: 4,
        events: events.iter().zip(roles).map(|(&e, role)| side(lines, e, role)).collect(),
        witness_after: None,
        witness_steps: None,
        witness: witness.iter().filter_map(|&number| EventId::from_number(number)).collect(),
        reason: None,
        fingerprint: "f".repeat(16),
        title: format!("{} at {}", kind.title(), place(events[0])),
        severity: Severity::Error,
        message: "What can happen, in a sentence.".to_string(),
        why: "No lock is held on both sides.".to_string(),
        certainty: "Proven: the kernel accepted a schedule.".to_string(),
        story: Some(Story { threads: Vec::new(), observed: told.clone(), possible: told }),
        schedules: Some(schedules),
        witness_file: None,
        replay_command: Some("mayhap replay race.json -- ./prog --threads 2".to_string()),
        replay: None,
        also: Vec::new(),
        tests: Vec::new(),
        suppressed_by: None,
        baseline: None,
    }
}

fn side(lines: &[Line<'_>], event: u64, role: &str) -> Side {
    let line = &lines[event as usize - 1];
    let source = source(line.location);
    Side {
        event,
        thread: line.thread.to_string(),
        op: line.op.to_string(),
        object: line.object.to_string(),
        location: Some(line.location.to_string()),
        role: role.to_string(),
        stack: vec![source.clone(), Source { function: Some("main".to_string()), ..source.clone() }],
        source: Some(source),
        locks: held(lines, event),
        created: Some(Creation {
            event: 1,
            thread: "main".to_string(),
            location: Some("main prog.c:40".to_string()),
            ..Creation::default()
        }),
        ..Side::default()
    }
}

/// "function file:line" in its parts.
fn source(location: &str) -> Source {
    let (function, rest) = location.rsplit_once(' ').unwrap_or(("", location));
    let (file, line) = rest.rsplit_once(':').unwrap_or((rest, ""));
    Source {
        function: Some(function.to_string()),
        file: Some(file.to_string()),
        line: line.parse().ok(),
        column: None,
        inlined: false,
    }
}

fn held(lines: &[Line<'_>], event: u64) -> Vec<Lock> {
    let thread = lines[event as usize - 1].thread;
    let mut held: Vec<Lock> = Vec::new();
    for (i, line) in lines[..event as usize - 1].iter().enumerate().filter(|(_, l)| l.thread == thread) {
        match line.op {
            "acq" => held.push(Lock {
                name: line.object.to_string(),
                shared: false,
                event: i as u64 + 1,
                location: Some(line.location.to_string()),
            }),
            "rel" => held.retain(|lock| lock.name != line.object),
            _ => {}
        }
    }
    held
}

/// Rows of all lines, and what the witness changes of what reads see.
fn schedules(lines: &[Line<'_>], witness: &[u64]) -> Schedules {
    let (mut threads, mut objects, mut locations) = (Numbered::default(), Numbered::default(), Numbered::default());
    let row = |(i, line): (usize, &Line<'_>)| Row {
        event: i as u64 + 1,
        thread: threads.number(line.thread),
        op: line.op.to_string(),
        object: (!line.object.is_empty()).then(|| objects.number(line.object)),
        location: Some(locations.number(line.location)),
        partner: None,
    };
    let rows: Vec<Row> = lines.iter().enumerate().map(row).collect();
    let observed = seen(lines, (1..=lines.len() as u64).collect());
    let possible = seen(lines, witness.to_vec());
    let differs = |(read, sees): (&u64, &Option<u64>)| {
        (observed.get(read) != Some(sees)).then_some(Changed { event: *read, sees: *sees })
    };
    Schedules {
        threads: threads.names,
        objects: objects.names,
        locations: locations.names,
        observed_total: rows.len() as u64,
        witness_total: witness.len() as u64,
        rows,
        witness: witness.iter().map(|e| *e as u32 - 1).collect(),
        changed: possible.iter().filter_map(differs).collect(),
        witness_skipped: 0,
    }
}

/// The write that each read sees.
fn seen(lines: &[Line<'_>], order: Vec<u64>) -> BTreeMap<u64, Option<u64>> {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for event in order {
        let line = &lines[event as usize - 1];
        match line.op {
            "w" => drop(last.insert(line.object, event)),
            "r" => drop(seen.insert(event, last.get(line.object).copied())),
            _ => {}
        }
    }
    seen
}

pub(crate) fn report(findings: Vec<Finding>) -> Report {
    let trace = TraceInfo { path: "prog.mhp".to_string(), events: 15, threads: 3, locks: 2, variables: 2, repaired: 0 };
    let mut report = Report::new("0.1.0", trace, "branch");
    report.summary.candidates = 12;
    report.summary.proven = findings.len() as u64;
    report.findings = findings;
    let lines = include_str!("prog.c").lines().map(str::to_string).collect();
    report.sources = vec![SourceText { file: "prog.c".to_string(), from: 1, lines }];
    report
}

const RACE: &[&str] = &[
    "main|fork(main.1)|main prog.c:40",
    "main|fork(main.2)|main prog.c:41",
    "main.1|w(queue.head)|push prog.c:12",
    "main.1|acq(m)|push prog.c:13",
    "main.1|w(queue.size)|push prog.c:14",
    "main.1|rel(m)|push prog.c:15",
    "main.2|acq(m)|pop prog.c:24",
    "main.2|r(queue.size)|pop prog.c:25",
    "main.2|rel(m)|pop prog.c:26",
    "main.2|r(queue.head)|pop prog.c:28",
];

const DEADLOCK: &[&str] = &[
    "main|fork(main.1)|main prog.c:40",
    "main|fork(main.2)|main prog.c:41",
    "main.1|acq(a)|left prog.c:12",
    "main.1|acq(b)|left prog.c:13",
    "main.1|w(n)|left prog.c:14",
    "main.1|rel(b)|left prog.c:15",
    "main.1|rel(a)|left prog.c:16",
    "main.2|acq(b)|right prog.c:22",
    "main.2|acq(a)|right prog.c:23",
    "main.2|w(n)|right prog.c:24",
    "main.2|rel(a)|right prog.c:25",
    "main.2|rel(b)|right prog.c:26",
];

const ATOMICITY: &[&str] = &[
    "main|fork(main.1)|main prog.c:40",
    "main|fork(main.2)|main prog.c:41",
    "main.1|acq(m)|deposit prog.c:12",
    "main.1|r(balance)|deposit prog.c:13",
    "main.1|rel(m)|deposit prog.c:14",
    "main.1|acq(m)|deposit prog.c:15",
    "main.1|w(balance)|deposit prog.c:16",
    "main.1|rel(m)|deposit prog.c:17",
    "main.2|acq(m)|withdraw prog.c:22",
    "main.2|w(balance)|withdraw prog.c:23",
    "main.2|rel(m)|withdraw prog.c:24",
];

const NONDETERMINISM: &[&str] = &[
    "main|w(total)|main prog.c:39",
    "main|fork(main.1)|main prog.c:40",
    "main.1|acq(m)|add prog.c:12",
    "main.1|w(total)|add prog.c:13",
    "main.1|rel(m)|add prog.c:14",
    "main|acq(m)|main prog.c:42",
    "main|r(total)|main prog.c:43",
    "main|rel(m)|main prog.c:44",
];

/// One finding of each kind.
pub(crate) fn every_kind() -> Vec<Finding> {
    let mut confirmed = finding(Kind::Deadlock, DEADLOCK, &[4, 9], &[1, 2, 3, 8]);
    confirmed.verdict = Verdict::Confirmed;
    confirmed.replay = Some(Replay { runs: 3, confirmed: 3, effect: Some("hangs".to_string()), ..Replay::default() });
    let mut suspected = finding(Kind::Order, NONDETERMINISM, &[4, 7], &[]);
    suspected.verdict = Verdict::Suspected;
    suspected.reason = Some("weak causal precedence leaves it unordered".to_string());
    let findings = vec![
        confirmed,
        finding(Kind::Race, RACE, &[3, 10], &[1, 2, 7, 8, 9]),
        finding(Kind::Atomicity, ATOMICITY, &[4, 10, 7], &[1, 2, 3, 4, 5, 9, 10, 11, 6, 7]),
        finding(Kind::Nondeterminism, NONDETERMINISM, &[4, 7, 1], &[1, 2, 6]),
        suspected,
    ];
    findings.into_iter().enumerate().map(|(i, finding)| moved(finding, 20 * i as u64)).collect()
}

/// Moves the events of a finding further down the trace, so that the findings of one report have different events.
pub(crate) fn moved(mut finding: Finding, by: u64) -> Finding {
    let schedules = finding.schedules.iter_mut();
    schedules
        .flat_map(|s| s.rows.iter_mut().map(|row| &mut row.event).chain(s.changed.iter_mut().map(|c| &mut c.event)))
        .for_each(|event| *event += by);
    let stories = finding.story.iter_mut();
    stories.flat_map(|s| s.observed.iter_mut().chain(&mut s.possible)).for_each(|step| step.event += by);
    for side in &mut finding.events {
        side.event += by;
        side.locks.iter_mut().for_each(|lock| lock.event += by);
    }
    finding.witness = finding.witness.iter().map(|event| EventId::at(event.index() + by as usize)).collect();
    finding
}

/// So many races between functions of different names.
pub(crate) fn many(count: usize) -> Report {
    let one = |i: usize| {
        let location = |f: &str, l: usize| format!("{f}_{i} src/module_{}.c:{}", i % 97, l + i);
        let lines: Vec<String> = RACE
            .iter()
            .map(|text| {
                let (start, _) = text.rsplit_once('|').unwrap();
                format!("{start}|{}", location("work", 10))
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut finding = finding(Kind::ALL[i % 2], &lines, &[3, 10], &[1, 2, 7, 8, 9]);
        finding.id = format!("race-{i:016x}");
        finding.title = format!("Data race on `queue_{i}.head`: work_{i}() writes while drain_{i}() reads");
        if i.is_multiple_of(3) {
            finding.verdict = Verdict::Suspected;
        }
        moved(finding, 10 * i as u64)
    };
    report((0..count).map(one).collect())
}

/// A race at the end of this many steps of eight threads, whose sections run in another order than observed.
pub(crate) fn long(steps: usize) -> Report {
    let mut lines: Vec<String> = (1..8).map(|t| format!("main|fork(main.{t})|main prog.c:{}", 40 + t)).collect();
    let mut sections: Vec<Vec<u64>> = Vec::new();
    while lines.len() + 6 < steps {
        let i = sections.len();
        let (thread, lock, variable) = (format!("main.{}", 1 + i % 7), i % 5, i % 101);
        let first = lines.len() as u64 + 1;
        for (op, object, at) in [
            ("acq", format!("m{lock}"), 3),
            ("r", format!("v{variable}"), 4),
            ("w", format!("v{variable}"), 5),
            ("rel", format!("m{lock}"), 6),
        ] {
            lines.push(format!("{thread}|{op}({object})|work_{} prog.c:{at}", i % 300));
        }
        sections.push((first..first + 4).collect());
    }
    let at = lines.len() as u64;
    lines.push("main.1|w(shared)|last prog.c:60".to_string());
    lines.push("main.2|r(shared)|last prog.c:61".to_string());
    // Neighbouring sections of different locks change places here and there.
    for i in (0..sections.len().saturating_sub(1)).step_by(10) {
        if i % 5 != (i + 1) % 5 {
            sections.swap(i, i + 1);
        }
    }
    let witness: Vec<u64> = (1..8).chain(sections.into_iter().flatten()).collect();
    let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut finding = finding(Kind::Race, &texts, &[at + 1, at + 2], &witness);
    let end = |from: u64| (from..=at + 2).map(|event| Step { event, ..Step::default() }).collect::<Vec<_>>();
    finding.story = Some(Story { threads: Vec::new(), observed: end(at - 15), possible: end(at - 15) });
    let mut report = report(vec![finding]);
    report.trace.events = lines.len() as u64;
    report
}
