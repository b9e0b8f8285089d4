//! Checks the trace of a small program against the facts in the comments at its top:
//!
//! - `// race: NAME`: happens-before leaves conflicting accesses to a variable unordered whose name starts so
//! - `// proven: NAME`: a race on a variable whose name starts so is proven
//! - its name ends in `_norace`: there is no race by happens-before
//! - `// counts: OP=N OP>=N OP<=N`: events of each operation
//! - `// names: NAME`: a thread, lock or variable whose name starts so
//! - `// stack: THREAD OP OBJECT: f < g < h`: the functions that the first such event is in, innermost first; more may follow.
//!   `f (inlined)` is inlined, `...` is any function
//! - `// at: THREAD OP OBJECT: f`: the function of the first such event's location
//! - `// thread: NAME: E; E; E`: events of a thread that follow each other directly, as the text format writes them without places;
//!   blocks of memory are numbered in the order in which the thread's values first name them
//! - `// status: N`: the exit code, 0 unless given
//! - `// note: TEXT`: what `mayhap record` says
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use mayhap_detect::{Options, Order, detect};
use mayhap_report::stacks;
use mayhap_report::{Source, function_name, place, sources};
use mayhap_trace::{Event, EventId, Op, Relations, Trace, Value, format};

use super::Run;

/// The words after `// key:` in a program's text.
pub(crate) fn facts<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let prefix = format!("// {key}: ");
    text.lines().filter_map(|line| line.strip_prefix(prefix.as_str())).collect()
}

/// Records a program under one schedule into `trace` and holds the trace to what the program's text says.
pub(crate) fn check(
    name: &str,
    text: &str,
    program: &[&str],
    trace: &Path,
    schedule: &[&str],
) -> Result<Trace, String> {
    let run: Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["record", "--finish", "-o", trace.to_str().unwrap()])
        .args(schedule)
        .arg("--")
        .args(program)
        .env("MAYHAP_LOG", trace.with_extension("log"))
        .current_dir(trace.parent().unwrap())
        .output()
        .unwrap()
        .into();
    let status = facts(text, "status").first().map_or(0, |n| n.parse().unwrap());
    if run.code != Some(status) {
        return Err(format!("exit code {:?}, not {status}\n{}{}", run.code, run.stdout, run.stderr));
    }
    for note in facts(text, "note") {
        if !run.stderr.contains(note) {
            return Err(format!("does not say `{note}` but:\n{}", run.stderr));
        }
    }
    if run.stderr.contains("broke a rule") {
        return Err(run.stderr);
    }
    let file = trace;
    let trace = format::read(file).map_err(|error| error.to_string())?.trace;
    Relations::derive(&trace).map_err(|error| error.to_string())?;
    check_counts(&trace, text)?;
    check_names(&trace, text)?;
    check_threads(&trace, text)?;
    check_stacks(file, &trace, text)?;
    check_races(&trace, text, name.ends_with("_norace"))?;
    Ok(trace)
}

fn check_counts(trace: &Trace, text: &str) -> Result<(), String> {
    for fact in facts(text, "counts").iter().flat_map(|line| line.split_whitespace()) {
        let (word, number) = fact.split_once('=').unwrap();
        let (word, least) = word.strip_suffix('>').map_or((word, false), |word| (word, true));
        let (word, most) = word.strip_suffix('<').map_or((word, false), |word| (word, true));
        let op = Op::from_word(word.as_bytes()).unwrap_or_else(|| panic!("`{word}` is no operation"));
        let (expected, found): (usize, usize) =
            (number.parse().unwrap(), trace.columns().ops.iter().filter(|&&o| o == op).count());
        if found != expected && !(least && found > expected) && !(most && found < expected) {
            return Err(format!("{found} events {word}, not {fact}"));
        }
    }
    Ok(())
}

fn check_names(trace: &Trace, text: &str) -> Result<(), String> {
    let tables = trace.tables();
    for name in facts(text, "names").iter().flat_map(|line| line.split_whitespace()) {
        let mut all = tables.threads.iter().chain(tables.locks.iter()).chain(tables.variables.iter());
        if !all.any(|n| n.starts_with(name)) {
            return Err(format!("nothing is named {name}"));
        }
    }
    Ok(())
}

/// An event as the text format writes it, without its thread and place. A block of memory is called by its position in `blocks`:
/// how many blocks the C library allocates before `main` differs from system to system.
fn written(trace: &Trace, event: &Event, blocks: &mut Vec<u32>) -> String {
    let tables = trace.tables();
    let flags: String = event.flags.words().map(|word| format!(".{word}")).collect();
    let object = tables.object(event.op, event.object);
    let object = if object.is_empty() { String::new() } else { format!("({object})") };
    let value = tables.value(event.value).map_or(String::new(), |value| match value {
        Value::Pointer { block, offset } => {
            let known = blocks.iter().position(|&other| other == block);
            let number = known.unwrap_or_else(|| {
                blocks.push(block);
                blocks.len() - 1
            });
            format!("=&{}+{offset}", number + 1)
        }
        value => format!("={value}"),
    });
    format!("{}{flags}{object}{value}", event.op.word())
}

fn check_threads(trace: &Trace, text: &str) -> Result<(), String> {
    for fact in facts(text, "thread") {
        let (thread, expected) = fact.split_once(": ").unwrap();
        let expected: Vec<&str> = expected.split("; ").collect();
        let own = trace.events().filter(|(_, event)| trace.tables().thread(event.thread) == thread);
        let mut blocks = Vec::new();
        let found: Vec<String> = own.map(|(_, event)| written(trace, &event, &mut blocks)).collect();
        if !found.windows(expected.len()).any(|window| window.iter().eq(&expected)) {
            return Err(format!("{fact}, but {}", found.join("; ")));
        }
    }
    Ok(())
}

/// The first event of which a fact speaks.
fn first_event(trace: &Trace, words: &str) -> Result<EventId, String> {
    let [thread, op, object] = words.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("`{words}` is no event") };
    let (op, tables) = (Op::from_word(op.as_bytes()).unwrap(), trace.tables());
    let is_it = |event: &Event| {
        tables.thread(event.thread) == thread && event.op == op && tables.object(event.op, event.object) == object
    };
    trace.events().find(|(_, event)| is_it(event)).map(|(id, _)| id).ok_or_else(|| format!("no event {words}"))
}

/// A frame as facts name it.
fn frame(source: &Source) -> String {
    let function = match source.function.as_deref().unwrap_or("?") {
        special if special.starts_with('[') => special.to_string(),
        function => function_name(function).trim_end_matches("()").to_string(),
    };
    function + if source.inlined { " (inlined)" } else { "" }
}

fn check_stacks(file: &Path, trace: &Trace, text: &str) -> Result<(), String> {
    let mut wrong = Vec::new();
    for fact in facts(text, "stack") {
        let (words, expected) = fact.split_once(": ").unwrap();
        let event = first_event(trace, words)?;
        let stack = stacks::at(file, trace, &BTreeSet::from([event])).remove(&event).unwrap_or_default();
        let free = stack.frees.then(|| "[free] (inlined)".to_string());
        let found: Vec<String> = free.into_iter().chain(sources(&stack).iter().map(frame)).collect();
        let expected: Vec<&str> = expected.split(" < ").collect();
        let alike = |(expected, found): (&&str, &String)| *expected == "..." || expected == found;
        if found.len() < expected.len() || !expected.iter().zip(&found).all(alike) {
            wrong.push(format!("{fact}, but {}", found[..found.len().min(12)].join(" < ")));
        }
    }
    for fact in facts(text, "at") {
        let (words, expected) = fact.split_once(": ").unwrap();
        let location = trace.tables().location(trace.event(first_event(trace, words)?).location).unwrap_or("nowhere");
        if place(location).is_none_or(|source| frame(&source) != expected) {
            wrong.push(format!("{fact}, but {location}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn check_races(trace: &Trace, text: &str, none: bool) -> Result<(), String> {
    let found = detect(&mut &*trace, Order::Hb, &Options::default()).map_err(|error| error.to_string())?;
    let name = |race: &mayhap_detect::Race| {
        let (_, event) = race.first;
        found.tables.object(event.op, event.object).to_string()
    };
    let mut names: Vec<String> = found.races.iter().map(name).collect();
    names.sort();
    names.dedup();
    if none && !names.is_empty() {
        return Err(format!("races on {names:?}"));
    }
    for wanted in facts(text, "race") {
        if !names.iter().any(|name| name.starts_with(wanted)) {
            return Err(format!("no race on {wanted}, only on {names:?}"));
        }
    }
    Ok(())
}

/// The variables with races that are proven under a model, from `mayhap predict`.
pub(crate) fn proven(trace: &Path, model: &str) -> Result<Vec<String>, String> {
    let arguments = ["predict", "--kinds", "race", "--format", "json", "--model", model];
    let arguments: Vec<&str> = arguments.into_iter().chain([trace.to_str().unwrap()]).collect();
    let run = super::mayhap_in(trace.parent().unwrap(), &arguments);
    if run.code == Some(2) {
        return Err(run.stderr);
    }
    let report: serde_json::Value = serde_json::from_str(&run.stdout).map_err(|error| error.to_string())?;
    let findings = report["findings"].as_array().ok_or("no findings in the report")?;
    let proven = findings.iter().filter(|finding| finding["verdict"] == "proven");
    Ok(proven.map(|finding| finding["events"][0]["object"].as_str().unwrap_or("?").to_string()).collect())
}
