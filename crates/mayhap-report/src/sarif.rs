//! The report as SARIF 2.1.0, for code scanning services and editors.
//!
//! Each finding is a result. Its first side is the location; the other sides and the lock acquires are related locations. The
//! witness is a code flow with a thread flow for each thread and an `executionOrder` across them. A side without a source file
//! refers to the trace file: in a text trace, event numbers are line numbers.

use serde_json::{Map, Value, json};

use crate::data::Report;
use crate::finding::{Baseline, Finding, Kind, Severity, Side, Source, Step, Verdict};
use crate::life;
use crate::places::{self, function_name};
use crate::rules::{RULES, Rule};
use crate::schedules::{Row, Schedules};

/// The maximum number of steps in a code flow.
const STEPS: usize = 1_000;
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Builds the SARIF document.
pub fn document(report: &Report) -> Value {
    let driver = json!({
        "name": report.tool.name,
        "version": report.tool.version,
        "semanticVersion": report.tool.version,
        "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
    });
    let notifications: Vec<Value> =
        report.notes.iter().map(|note| json!({"level": "note", "message": {"text": note}})).collect();
    let mut invocation = json!({"executionSuccessful": true, "toolExecutionNotifications": notifications});
    if !report.program.is_empty() {
        invocation["properties"] = json!({"program": report.program});
    }
    let run = json!({
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": report.findings.iter().map(|f| result(report, f)).collect::<Vec<_>>(),
        "properties": {"trace": report.trace, "model": report.model, "summary": report.summary},
    });
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn rule(rule: &Rule) -> Value {
    let severity = match rule.kind {
        kind if kind.is_memory() => Severity::Error,
        Kind::Race | Kind::Deadlock | Kind::Order | Kind::Crash | Kind::Hang => Severity::Error,
        Kind::Atomicity => Severity::Warning,
        _ => Severity::Note,
    };
    let mut tags = vec!["concurrency".to_string(), "correctness".to_string()];
    let mut described = json!({
        "id": format!("mayhap/{}", rule.kind.name()),
        "name": rule.kind.title().split(' ').map(capitalised).collect::<String>(),
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.full},
        "help": {
            "text": format!("{}\n\n{}", rule.full, rule.help),
            "markdown": format!("{}\n\n**What to do.** {}", rule.full, rule.help),
        },
        "defaultConfiguration": {"level": level(severity)},
        "properties": {"precision": "very-high",
                       "problem.severity": if severity == Severity::Note { "recommendation" } else { level(severity) }},
    });
    if let Some((weakness, score)) = rule.weakness {
        tags.extend(["security".to_string(), format!("external/cwe/cwe-{weakness}")]);
        described["properties"]["security-severity"] = json!(score);
    }
    described["properties"]["tags"] = json!(tags);
    described
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn result(report: &Report, finding: &Finding) -> Value {
    let rank = match finding.verdict {
        Verdict::Observed | Verdict::Confirmed => 100.0,
        Verdict::Proven => 90.0,
        Verdict::Suspected => 40.0,
        Verdict::Note => 10.0,
    };
    let mut result = json!({
        "ruleId": format!("mayhap/{}", finding.kind.name()),
        "ruleIndex": finding.kind as usize,
        "level": level(finding.severity),
        "message": {"text": format!("{}. {} {} {}", finding.title, finding.message, finding.why, finding.certainty).trim_end()},
        "locations": [primary(report, finding)],
        "relatedLocations": related(report, finding),
        "partialFingerprints": {"mayhapFingerprint/v1": finding.fingerprint},
        "fingerprints": {"mayhapId/v1": finding.id},
        "occurrenceCount": finding.occurrences.max(1),
        "rank": rank,
        "properties": {"verdict": finding.verdict, "engine": finding.engine, "model": finding.model,
                       "distance": finding.distance, "steps": finding.steps()},
    });
    let flows = flows(report, finding);
    if !flows.is_empty() {
        result["codeFlows"] = Value::Array(flows);
    }
    let stacks: Vec<Value> = finding.events.iter().filter(|s| !s.stack.is_empty()).map(|s| stack(report, s)).collect();
    let lived = life::stacks(finding).map(|(heading, moment)| {
        let by = if moment.thread.is_empty() { String::new() } else { format!(" by {}", moment.thread) };
        frames(report, &format!("{heading}{by}"), &moment.stack)
    });
    let stacks: Vec<Value> = stacks.into_iter().chain(lived).collect();
    if !stacks.is_empty() {
        result["stacks"] = Value::Array(stacks);
    }
    if !finding.tests.is_empty() {
        result["properties"]["tests"] = json!(finding.tests);
    }
    if let Some(command) = &finding.replay_command {
        result["properties"]["replay"] = json!(command);
    }
    if let Some(rule) = &finding.suppressed_by {
        result["suppressions"] = json!([{"kind": "external", "justification": format!("suppression {rule}")}]);
    }
    if let Some(baseline) = finding.baseline {
        result["baselineState"] = json!(if baseline == Baseline::Known { "unchanged" } else { "new" });
    }
    result
}

/// Returns the related locations: the other sides, where locks were taken and where the threads were started.
fn related(report: &Report, finding: &Finding) -> Vec<Value> {
    let mut all = Vec::new();
    for side in finding.events.iter().skip(1) {
        all.push(located(report, side, Some(all.len() + 1)));
    }
    let mut seen = Vec::new();
    for side in &finding.events {
        let at = |location: &Option<String>| location.as_deref().and_then(places::source);
        let locks = side.locks.iter().map(|lock| {
            let text = format!("{} takes `{}` here and still holds it at event {}", side.thread, lock.name, side.event);
            (lock.event, at(&lock.location), text)
        });
        let created = side.created.iter().map(|created| {
            (created.event, created.source.clone(), format!("{} starts {} here", created.thread, side.thread))
        });
        for (event, source, text) in locks.chain(created) {
            if event > 0 && !seen.contains(&event) {
                seen.push(event);
                all.push(location(report, event, source.as_ref(), &text, Some(all.len() + 1)));
            }
        }
    }
    all
}

/// Where a finding is. Services refuse results without a place: one without events is in the program.
fn primary(report: &Report, finding: &Finding) -> Value {
    match finding.events.first() {
        Some(side) => located(report, side, None),
        None => location(report, 1, None, &finding.title, None),
    }
}

fn located(report: &Report, side: &Side, id: Option<usize>) -> Value {
    let text = format!("{}: {} {}", side.role, side.thread, crate::describe::words::verb(side));
    location(report, side.event, side.source.as_ref(), &text, id)
}

fn location(report: &Report, event: u64, source: Option<&Source>, text: &str, id: Option<usize>) -> Value {
    let mut location = Map::new();
    if let Some(id) = id {
        location.insert("id".into(), json!(id));
    }
    location.insert("message".into(), json!({"text": text}));
    location.insert("physicalLocation".into(), physical(report, event, source));
    if let Some(function) = source.and_then(|s| s.function.as_ref()) {
        let short = function_name(function);
        let names = json!([{"name": short.trim_end_matches("()"), "fullyQualifiedName": function, "kind": "function"}]);
        location.insert("logicalLocations".into(), names);
    }
    Value::Object(location)
}

fn physical(report: &Report, event: u64, source: Option<&Source>) -> Value {
    if let Some(Source { file: Some(file), line: Some(line), column, .. }) = source {
        let mut region = json!({"startLine": line});
        if let Some(column) = column {
            region["startColumn"] = json!(column);
        }
        if let Some((_, lines)) = report.excerpt(file, *line, 0, 0) {
            region["snippet"] = json!({"text": lines.join("\n")});
        }
        return json!({"artifactLocation": artifact(file), "region": region});
    }
    let mut physical = json!({"artifactLocation": artifact(&report.trace.path)});
    if report.trace.path.ends_with(".std") && event > 0 {
        physical["region"] = json!({"startLine": event});
    }
    physical
}

/// Converts a path to a URI; relative paths are relative to the source root.
fn artifact(path: &str) -> Value {
    let encoded: String = path.bytes().map(encode).collect();
    match path.starts_with('/') {
        true => json!({"uri": format!("file://{encoded}")}),
        false => {
            // A first part with a colon would read as a scheme, so colons are encoded.
            let relative = encoded.trim_start_matches("./");
            json!({"uri": relative, "uriBaseId": "%SRCROOT%"})
        }
    }
}

fn encode(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => (byte as char).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

fn stack(report: &Report, side: &Side) -> Value {
    frames(report, &format!("stack of {} at event {}", side.thread, side.event), &side.stack)
}

fn frames(report: &Report, message: &str, stack: &[Source]) -> Value {
    let frame = |source: &Source| {
        let text = source.function.as_deref().map_or("?".to_string(), function_name);
        json!({"location": location(report, 0, Some(source), &text, None)})
    };
    json!({"message": {"text": message}, "frames": stack.iter().map(frame).collect::<Vec<_>>()})
}

/// One step of a code flow.
struct FlowStep {
    event: u64,
    thread: String,
    text: String,
    source: Option<Source>,
    importance: &'static str,
}

/// Returns the code flows: the possible run, then the recorded run.
fn flows(report: &Report, finding: &Finding) -> Vec<Value> {
    if finding.steps() == 0 && finding.story.is_none() {
        return Vec::new();
    }
    let story = finding.story.as_ref();
    let events = |steps: Option<&Vec<Step>>| steps.map_or(Vec::new(), |s| s.iter().map(|step| step.event).collect());
    let targets: Vec<u64> = finding.events.iter().map(|s| s.event).collect();
    let Some(schedules) = &finding.schedules else { return Vec::new() };
    let mut flows = Vec::new();
    let mut witness: Vec<&Row> = schedules.witness.iter().filter_map(|&i| schedules.rows.get(i as usize)).collect();
    let runs: Vec<u64> = witness.iter().map(|row| row.event).collect();
    witness.extend(schedules.rows.iter().filter(|row| is_next(finding, row) && !runs.contains(&row.event)));
    let important: Vec<u64> = events(story.map(|s| &s.possible));
    flows.push(flow(report, "possible run", &trimmed(&witness, schedules, &targets, &important)));
    let observed: Vec<&Row> = schedules.rows.iter().collect();
    let important: Vec<u64> = events(story.map(|s| &s.observed));
    flows.push(flow(report, "recorded run", &trimmed(&observed, schedules, &targets, &important)));
    flows
}

/// Whether the event is the next one of its thread when the witness has run: blocked, about to collide, or about to read.
fn is_next(finding: &Finding, row: &Row) -> bool {
    let read = |side: &Side| side.role == "read";
    finding.events.iter().any(|side| {
        side.event == row.event && (!matches!(finding.kind, Kind::Nondeterminism | Kind::Order) || read(side))
    })
}

/// Trims a schedule to the [`STEPS`] steps around the target.
fn trimmed(rows: &[&Row], schedules: &Schedules, targets: &[u64], important: &[u64]) -> Vec<FlowStep> {
    let at = |row: &&Row| targets.contains(&row.event);
    let last = rows.iter().rposition(at).unwrap_or(rows.len().saturating_sub(1));
    let end = rows.len().min(last + STEPS / 10 + 1);
    let start = end.saturating_sub(STEPS);
    let name = |names: &[String], index: Option<u32>| index.and_then(|i| names.get(i as usize)).cloned();
    let step = |row: &&Row| {
        let location = name(&schedules.locations, row.location);
        let object = name(&schedules.objects, row.object).unwrap_or_default();
        let side = Side { op: row.op.clone(), object, ..Side::default() };
        FlowStep {
            event: row.event,
            thread: name(&schedules.threads, Some(row.thread)).unwrap_or_default(),
            text: crate::describe::words::verb(&side),
            source: location.as_deref().and_then(crate::describe::place),
            importance: match row {
                row if targets.contains(&row.event) => "essential",
                row if important.contains(&row.event) => "important",
                _ => "unimportant",
            },
        }
    };
    rows[start..end].iter().map(step).collect()
}

fn flow(report: &Report, name: &str, steps: &[FlowStep]) -> Value {
    let mut threads: Vec<(&str, Vec<Value>)> = Vec::new();
    for (order, step) in (1u32..).zip(steps) {
        let text = format!("{} {} (event {})", step.thread, step.text, step.event);
        let place = json!({
            "location": location(report, step.event, step.source.as_ref(), &text, None),
            "executionOrder": order,
            "importance": step.importance,
        });
        match threads.iter_mut().find(|(thread, _)| *thread == step.thread) {
            Some((_, places)) => places.push(place),
            None => threads.push((&step.thread, vec![place])),
        }
    }
    let flow = |(thread, places): &(&str, Vec<Value>)| json!({"id": thread, "message": {"text": format!("thread {thread}")}, "locations": places});
    json!({"message": {"text": name}, "threadFlows": threads.iter().map(flow).collect::<Vec<_>>()})
}
