//! iPA's Tables V and VI: pairs left after each analysis, what lock histories cost on top, and what incremental search saves.
//!
//! As at run time in the paper, every access is paired with every earlier conflicting access of another thread. The basis is
//! the time to read the trace, derive clocks and locksets and ask both about each pair; on top comes `check_reach` on the pairs
//! that are left. Searches from scratch are cut off after [`FRESH`] calls, which favours them.

use std::path::Path;
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use mayhap_predict::ipa::{Memory, Reach};
use mayhap_predict::{Budget, Ipa, Strategy};
use mayhap_trace::{EventId, Op, Relations, Trace, format};

use crate::Bench;
use crate::programs::{Recorded, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, run, seconds};

/// Calls of one search from scratch.
const FRESH: u64 = 50_000;
/// Time for all searches from scratch of one program.
const FRESH_TIME: Duration = Duration::from_secs(4);

const RACES: &str = "Pairs are instances; `lines` projects them on pairs of source lines: predicted by strategy II, of those with a proof in the run's own \
model, confirmed by replay, and strategy I's upper bound. As in the paper, lock histories leave no more than HB and locksets, and strategy II no more than \
strategy I; where they leave as many, the pairs really are reachable (the programs have true races, which replay confirms). What strategy II predicts and we \
do not prove needs a read to see another value: iPA does not look at values. The paper reports an overhead of 0.1 to 3.3 % over a basis that includes the \
instrumented run of the program, 4 to 40 s; our basis is reading the trace, clocks and locksets alone, a few milliseconds, so that the same search looks \
dearer in percent and is shorter in time. The programs are ours, in the spirit of the paper's (its own are x86 binaries under PIN).";
const CALLS: &str = "Strategy II. Calls of the search with its memory of visited pairs and without; then calls by the kind of check that settled them. \
Searches without memory are cut off after 50,000 calls each and 4 s for a program, so that the factor is a lower bound. The paper's incremental search makes \
a small part of the calls as well (its Table VI: most rows below 10 %); a row of zeros has no pair left to search for.";

/// What one pass over the pairs gives.
#[derive(Default)]
struct Pairs {
    hb: u64,
    left: Vec<(EventId, EventId)>,
}

fn pairs(trace: &Trace, relations: &Relations) -> Pairs {
    let mut by_variable: Vec<Vec<EventId>> = vec![Vec::new(); trace.tables().variables.len()];
    let mut found = Pairs::default();
    for (b, event) in trace.events().filter(|(_, e)| e.op.is_access()) {
        let earlier = &mut by_variable[event.object as usize];
        for &a in earlier.iter().filter(|&&a| trace.event(a).conflicts(&event)) {
            if !relations.ordered(trace, a, b) {
                found.hb += 1;
                if relations.locksets().common(relations.held(a), relations.held(b)).is_none() {
                    found.left.push((a, b));
                }
            }
        }
        earlier.push(b);
    }
    found
}

/// One pair for each pair of threads and locations, with the number of pairs that it stands for.
fn by_location(ipa: &Ipa<'_>, trace: &Trace, left: &[(EventId, EventId)]) -> Vec<((EventId, EventId), u64)> {
    let mut seen: HashMap<_, usize, foldhash::fast::FixedState> = HashMap::default();
    let mut list: Vec<((EventId, EventId), u64)> = Vec::new();
    for &(a, b) in left {
        let thread = |e: EventId| trace.event(e).thread;
        let (a, b) = if thread(a) < thread(b) { (a, b) } else { (b, a) };
        let locations = ipa.locations(a, b);
        let at = *seen.entry((thread(a), thread(b), locations.a, locations.b)).or_insert_with(|| {
            list.push(((a, b), 0));
            list.len() - 1
        });
        list[at].1 += 1;
    }
    list
}

/// What one strategy made of the pairs.
#[derive(Default)]
struct Outcome {
    reached: u64,
    lines: usize,
    calls: u64,
    time: Duration,
    /// By check, in the engine's order.
    checks: Vec<(&'static str, u64)>,
}

fn decide(
    trace: &Trace,
    relations: &Relations,
    left: &[(EventId, EventId)],
    strategy: Strategy,
    fresh: bool,
) -> Outcome {
    let started = Instant::now();
    let mut ipa = Ipa::new(trace, relations, strategy).compare(false);
    if fresh {
        ipa = ipa.memory(Memory::None);
    }
    let budget = Budget { nodes: if fresh { FRESH } else { Budget::default().nodes }, ..Budget::default() };
    let mut outcome = Outcome::default();
    let mut lines: HashSet<(u32, u32), foldhash::fast::FixedState> = HashSet::default();
    for ((a, b), count) in by_location(&ipa, trace, left) {
        if fresh && started.elapsed() > FRESH_TIME {
            break;
        }
        let before = ipa.ipa_counters().calls();
        if matches!(ipa.check_reach(a, b, &budget), Reach::Reached(_)) {
            outcome.reached += count;
            let (x, y) = (trace.event(a).location_cell(), trace.event(b).location_cell());
            lines.insert((x.min(y), x.max(y)));
        }
        // Without memory every instance would be searched anew.
        outcome.calls += (ipa.ipa_counters().calls() - before) * if fresh { count } else { 1 };
    }
    outcome.time = started.elapsed();
    outcome.lines = lines.len();
    outcome.checks = mayhap_predict::Engine::counters(&ipa).figures.into_iter().collect();
    outcome
}

/// Calls whose check has a name that starts so.
fn calls_by(outcome: &Outcome, prefix: &str) -> u64 {
    let named =
        outcome.checks.iter().filter(|(name, _)| name.strip_prefix("calls.").is_some_and(|n| n.starts_with(prefix)));
    named.map(|(_, n)| n).sum()
}

/// Makes both tables.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = [
        "program",
        "threads",
        "memory",
        "lock",
        "other",
        "vars",
        "hb",
        "hb+ls",
        "basis",
        "ipa1",
        "time",
        "over %",
        "ipa2",
        "time",
        "over %",
        "lines",
        "proven",
        "confirmed",
        "upper",
    ];
    let mut races = Sheet::new("ipa-races", "Races by lock histories (iPA, Table V)", &columns, RACES);
    let columns = ["program", "calls", "both", "LCC", "RC", "without memory", "both", "LCC", "RC", "factor"];
    let mut calls = Sheet::new("ipa-calls", "Incremental and non-incremental search (iPA, Table VI)", &columns, CALLS);
    for recorded in record_all(bench)? {
        if let Err(late) = bench.in_time() {
            races.tolerate(&recorded.name, Err(late))?;
            continue;
        }
        let started = Instant::now();
        let source = format::open(&recorded.trace).map_err(|e| e.to_string())?;
        let trace = Trace::from_source(source).map_err(|e| e.to_string())?;
        let relations = Relations::derive(&trace).map_err(|e| e.to_string())?;
        let found = pairs(&trace, &relations);
        let basis = started.elapsed();
        let one = decide(&trace, &relations, &found.left, Strategy::One, false);
        let two = decide(&trace, &relations, &found.left, Strategy::Two, false);
        let fresh = decide(&trace, &relations, &found.left, Strategy::Two, true);
        let (proven, confirmed) = replayed(bench, &recorded)?;
        let count = |is: fn(Op) -> bool| trace.events().filter(|(_, e)| is(e.op)).count().to_string();
        let over = |o: &Outcome| format!("{:.1}", 100.0 * o.time.as_secs_f64() / basis.as_secs_f64());
        races.row([
            recorded.name.clone(),
            trace.tables().threads.len().to_string(),
            count(Op::is_access),
            count(Op::is_lock),
            count(|op| !op.is_access() && !op.is_lock()),
            trace.tables().variables.len().to_string(),
            found.hb.to_string(),
            found.left.len().to_string(),
            seconds(basis),
            one.reached.to_string(),
            seconds(one.time),
            over(&one),
            two.reached.to_string(),
            seconds(two.time),
            over(&two),
            two.lines.to_string(),
            proven.to_string(),
            confirmed,
            one.lines.to_string(),
        ]);
        let both = |o: &Outcome| o.checks.iter().find(|(n, _)| *n == "both_branches").map_or(0, |c| c.1).to_string();
        calls.row([
            recorded.name,
            two.calls.to_string(),
            both(&two),
            calls_by(&two, "LCC").to_string(),
            calls_by(&two, "RC").to_string(),
            fresh.calls.to_string(),
            both(&fresh),
            calls_by(&fresh, "LCC").to_string(),
            calls_by(&fresh, "RC").to_string(),
            format!("{:.0}", fresh.calls as f64 / two.calls.max(1) as f64),
        ]);
    }
    bench.results.keep(&races)?;
    bench.results.keep(&calls)
}

/// How many pairs of lines `predict` proves, and how many of their schedules replay.
fn replayed(bench: &Bench, recorded: &Recorded) -> Result<(u64, String), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let args = ["predict".as_ref(), recorded.trace.as_os_str(), "--kinds".as_ref(), "race".as_ref()];
    let witnesses = ["--witnesses".as_ref(), folder.path().as_os_str()];
    let (json, _) = bench.tool.json(args.into_iter().chain(witnesses))?;
    let confirmed = confirm(bench, recorded, folder.path())?;
    Ok((number(&json, "/summary/proven"), confirmed))
}

/// Replays each witness file once.
fn confirm(bench: &Bench, recorded: &Recorded, folder: &Path) -> Result<String, String> {
    let listed = std::fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut confirmed = 0;
    for file in listed.filter_map(|f| f.ok().map(|f| f.path())) {
        let mut replay = std::process::Command::new(bench.tool.path());
        replay.arg("replay").arg(&file).arg("--trace").arg(&recorded.trace).arg("--");
        let outcome = run(replay.args(&recorded.command))?;
        confirmed += u64::from(outcome.code == Some(1));
    }
    Ok(confirmed.to_string())
}
