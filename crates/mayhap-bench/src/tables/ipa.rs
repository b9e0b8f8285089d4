//! iPA's Tables V and VI: pairs left after each analysis, what lock histories cost on top, and what incremental search saves.
//!
//! What is measured is in [`crate::histories`].

use std::path::Path;
use std::time::{Duration, Instant};

use mayhap_predict::Strategy;
use mayhap_predict::ipa::Memory;
use mayhap_trace::format::parse_std;
use mayhap_trace::format::std_text::write_events;
use mayhap_trace::{Execution, Op, Trace, format};

use crate::Bench;
use crate::histories::{Outcome, Pairs, decide};
use crate::programs::{Recorded, corpus, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, run, seconds};

/// Time for all searches from scratch of one program.
const FRESH_TIME: Duration = Duration::from_secs(4);
/// Time for all searches from scratch of one trace of the corpus: enough for every one of them.
const CORPUS_TIME: Duration = Duration::from_secs(60);

const RACES: &str = "Pairs are instances; `lines` projects them on pairs of source lines: predicted by strategy II, of those with a proof in the run's own \
model, confirmed by replay, and strategy I's upper bound. As in the paper, lock histories leave no more than HB and locksets, and strategy II no more than \
strategy I; where they leave as many, the pairs really are reachable (the programs have true races, which replay confirms). What strategy II predicts and we \
do not prove needs a read to see another value: iPA does not look at values. The paper reports an overhead of 0.1 to 3.3 % over a basis that includes the \
instrumented run of the program, 3.4 to 40 s; our basis is reading the trace, clocks and locksets alone, a few milliseconds, so that the same search looks \
dearer in percent and is shorter in time. The programs are ours, in the spirit of the paper's (its own are x86 binaries under PIN).";
const CALLS: &str = "Strategy II. Calls of the search with its memory of visited pairs and without; then calls by the kind of check that settled them. \
Potential calls are those of a search over the whole grid of locations between start and target, for each search made. \
Searches without memory are cut off after 50,000 calls each and 4 s for a program, so that the factor is a lower bound. In the paper, incremental search makes \
0.5 to 3.9 % of the potential calls and saves a factor of 1.5 to 10 against non-incremental search (its Table VI); where many pairs of accesses meet at the same \
locations ours saves far more, since straight runs of one thread after the other are tried first. On the player, whose pairs mostly stand in a third thread's way, \
it saves nothing: such pairs are refused before any search, by one call each with and without memory.";

const COST: &str = "The nine real traces, best of several runs. `over %` is what strategy I, and II, cost on top of the basis (reading the trace, clocks and \
locksets, asking both about every pair), with the engine's own tables built anew. The paper's headline, below 4 %, holds for all traces together, although its basis includes \
the instrumented run of the program (3.4 to 40 s) and ours is some milliseconds. One by one it holds for bufwriter and moldyn; ftpserver and derby, with more lock \
events for each pair, lie close to it. Traces whose basis is a quarter of a millisecond or less do not pay for the tables: on bubblesort the searches \
for 2,423 pairs of locations cost more than twice the basis. Calls without memory are cut off at 50,000 a search, so that what memory saves is a lower bound.";

/// Calls whose check has a name that starts so.
fn calls_by(outcome: &Outcome, prefix: &str) -> u64 {
    let named =
        outcome.counters.iter().filter(|(name, _)| name.strip_prefix("calls.").is_some_and(|n| n.starts_with(prefix)));
    named.map(|(_, n)| n).sum()
}

/// The columns of the table of races.
const RACE_COLUMNS: [&str; 19] = [
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

/// The columns of the table of calls.
const CALL_COLUMNS: [&str; 12] =
    ["program", "potential", "calls", "%", "both", "LCC", "RC", "without memory", "both", "LCC", "RC", "factor"];

/// Makes both tables.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let mut races = Sheet::new("ipa-races", "Races by lock histories (iPA, Table V)", &RACE_COLUMNS, RACES);
    let mut calls =
        Sheet::new("ipa-calls", "Incremental and non-incremental search (iPA, Table VI)", &CALL_COLUMNS, CALLS);
    for recorded in record_all(bench)? {
        if let Err(late) = bench.in_time() {
            races.tolerate(&recorded.name, Err(late))?;
            continue;
        }
        let started = Instant::now();
        let source = format::open(&recorded.trace).map_err(|e| e.to_string())?;
        let trace = Trace::from_source(source).map_err(|e| e.to_string())?;
        let execution = Execution::derive(&trace).map_err(|e| e.to_string())?;
        let found = Pairs::of(&execution);
        let basis = started.elapsed();
        let decided = |strategy, memory| decide(&execution, &found.left, strategy, memory, FRESH_TIME);
        let one = decided(Strategy::One, Memory::Full);
        let two = decided(Strategy::Two, Memory::Full);
        let fresh = decided(Strategy::Two, Memory::None);
        let (proven, confirmed) = match replayed(bench, &recorded) {
            Err(late) => {
                races.tolerate(&recorded.name, Err(late))?;
                continue;
            }
            Ok(replayed) => replayed,
        };
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
        let figure = |o: &Outcome, name| o.counters.iter().find(|(n, _)| *n == name).map_or(0, |c| c.1);
        let both = |o: &Outcome| figure(o, "both_branches").to_string();
        let potential = figure(&two, "potential_moves");
        calls.row([
            recorded.name,
            potential.to_string(),
            two.calls.to_string(),
            format!("{:.2}", 100.0 * two.calls as f64 / potential.max(1) as f64),
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

/// Makes the table of the cost on the traces of the corpus.
pub(crate) fn make_cost(bench: &mut Bench) -> Result<(), String> {
    let columns = [
        "trace",
        "events",
        "pairs",
        "hb+ls",
        "locations",
        "basis",
        "ipa1",
        "over %",
        "calls",
        "without memory",
        "ipa2",
        "over %",
        "calls",
        "without memory",
    ];
    let mut sheet = Sheet::new("ipa-cost", "Lock histories on top of HB and locksets (iPA)", &columns, COST);
    let (mut basis, mut sums) = (Duration::ZERO, [(Duration::ZERO, 0, 0); 2]);
    let over = |time: Duration, basis: Duration| format!("{:.2}", 100.0 * time.as_secs_f64() / basis.as_secs_f64());
    for (name, path) in corpus(bench) {
        let cost = Cost::of(&path, if bench.quick { 2 } else { 15 })?;
        basis += cost.basis;
        for (sum, (outcome, fresh)) in sums.iter_mut().zip(&cost.strategies) {
            *sum = (sum.0 + outcome.time, sum.1 + outcome.calls, sum.2 + fresh);
        }
        let [(one, one_fresh), (two, two_fresh)] = &cost.strategies;
        sheet.row([
            name.to_string(),
            cost.events.to_string(),
            cost.pairs.to_string(),
            cost.left.to_string(),
            one.locations.to_string(),
            seconds(cost.basis),
            one.reached.to_string(),
            over(one.time, cost.basis),
            one.calls.to_string(),
            one_fresh.to_string(),
            two.reached.to_string(),
            over(two.time, cost.basis),
            two.calls.to_string(),
            two_fresh.to_string(),
        ]);
    }
    let empty = String::new;
    let [one, two] = sums;
    sheet.row([
        "all".to_string(),
        empty(),
        empty(),
        empty(),
        empty(),
        seconds(basis),
        empty(),
        over(one.0, basis),
        one.1.to_string(),
        one.2.to_string(),
        empty(),
        over(two.0, basis),
        two.1.to_string(),
        two.2.to_string(),
    ]);
    bench.results.keep(&sheet)
}

/// What one trace of the corpus costs: the best of several runs.
struct Cost {
    events: usize,
    pairs: u64,
    left: usize,
    basis: Duration,
    /// By strategy, with the calls of searches from scratch.
    strategies: [(Outcome, u64); 2],
}

impl Cost {
    fn of(path: &Path, runs: usize) -> Result<Cost, String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let trace = format::open(path).and_then(Trace::from_source).map_err(|e| failed(&e))?;
        let mut text = Vec::new();
        write_events(&mut text, trace.columns(), trace.tables()).map_err(|e| failed(&e))?;
        let text = String::from_utf8(text).map_err(|e| failed(&e))?;
        let mut best: Option<Cost> = None;
        for _ in 0..runs {
            let started = Instant::now();
            let trace = parse_std(&text).map_err(|e| failed(&e))?;
            let execution = Execution::derive(&trace).map_err(|e| failed(&e))?;
            let found = Pairs::of(&execution);
            let basis = started.elapsed();
            let decided = |strategy, memory| decide(&execution, &found.left, strategy, memory, CORPUS_TIME);
            let outcomes = [Strategy::One, Strategy::Two].map(|strategy| decided(strategy, Memory::Full));
            best = Some(match best {
                Some(cost) => cost.or_better(basis, outcomes),
                None => {
                    let fresh = |strategy| decided(strategy, Memory::None).calls;
                    let [one, two] = outcomes;
                    let strategies = [(one, fresh(Strategy::One)), (two, fresh(Strategy::Two))];
                    Cost { events: trace.len(), pairs: found.all, left: found.left.len(), basis, strategies }
                }
            });
        }
        best.ok_or_else(|| "no run".to_string())
    }

    fn or_better(mut self, basis: Duration, outcomes: [Outcome; 2]) -> Cost {
        self.basis = self.basis.min(basis);
        for ((best, _), outcome) in self.strategies.iter_mut().zip(outcomes) {
            best.time = best.time.min(outcome.time);
        }
        self
    }
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
