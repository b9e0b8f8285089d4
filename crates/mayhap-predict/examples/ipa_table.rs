//! What lock histories cost on top of happens-before and locksets, and what incremental search saves, on real traces.
//!
//! For each trace, every access is paired with every earlier conflicting access, as iPA does at run time. The basis is the
//! time to read the trace, derive clocks and locksets, and ask must-order and locksets about each pair. On top comes
//! `check_reach` on the pairs that are left, once for each pair of locations; best of several runs. Calls are counted for
//! all pairs: incremental search answers a pair of locations that it knows without a call, non-incremental search starts
//! afresh each time. Searches from scratch are cut off after the given budget of calls, which favours them.
//!
//! `cargo run --release -p mayhap-predict --example ipa_table [RUNS]`

use std::time::{Duration, Instant};

use hashbrown::HashMap;
use mayhap_predict::ipa::{Memory, Reach};
use mayhap_predict::{Budget, Ipa, Strategy};
use mayhap_testkit::golden::real;
use mayhap_trace::format::parse_std;
use mayhap_trace::format::std_text::write_events;
use mayhap_trace::{EventId, Relations, Trace};

const TRACES: [&str; 9] =
    ["account", "bubblesort", "bufwriter", "derby", "ftpserver", "lang", "mergesort", "moldyn", "twostage"];
/// Calls of one search from scratch.
const FRESH: u64 = 50_000;

/// The text of a trace of the corpus.
fn text(name: &str) -> String {
    let trace = real(name);
    let mut text = Vec::new();
    write_events(&mut text, trace.columns(), trace.tables()).expect("a vector takes all");
    String::from_utf8(text).expect("traces are text")
}

/// The conflicting pairs that must-order and locksets leave, and how many there were.
fn pairs_left(trace: &Trace, relations: &Relations, left: &mut Vec<(EventId, EventId)>) -> u64 {
    let mut by_variable: Vec<Vec<EventId>> = vec![Vec::new(); trace.tables().variables.len()];
    let mut pairs = 0;
    left.clear();
    for (b, event) in trace.events().filter(|(_, e)| e.op.is_access()) {
        let earlier = &mut by_variable[event.object as usize];
        for &a in earlier.iter().filter(|&&a| trace.event(a).conflicts(&event)) {
            pairs += 1;
            let ordered = relations.ordered(trace, a, b);
            if !ordered && relations.locksets().common(relations.held(a), relations.held(b)).is_none() {
                left.push((a, b));
            }
        }
        earlier.push(b);
    }
    pairs
}

/// One pair for each pair of locations, with the number of pairs that it stands for.
fn by_location(ipa: &Ipa<'_>, trace: &Trace, left: &[(EventId, EventId)]) -> Vec<((EventId, EventId), u64)> {
    let mut seen: HashMap<(u16, u16, u32, u32), usize, foldhash::fast::FixedState> = HashMap::default();
    let mut list: Vec<((EventId, EventId), u64)> = Vec::new();
    let mut last = None;
    for &(a, b) in left {
        let threads = &trace.columns().threads;
        let (ta, tb) = (threads[a.index()], threads[b.index()]);
        let (a, b, ta, tb) = if ta < tb { (a, b, ta, tb) } else { (b, a, tb, ta) };
        let locations = ipa.locations(a, b);
        let key = (ta, tb, locations.a, locations.b);
        let at = match last {
            Some((same, at)) if same == key => at,
            _ => *seen.entry(key).or_insert_with(|| {
                list.push(((a, b), 0));
                list.len() - 1
            }),
        };
        last = Some((key, at));
        list[at].1 += 1;
    }
    list
}

struct Line {
    events: usize,
    pairs: u64,
    left: usize,
    locations: usize,
    basis: Duration,
    /// By strategy: extra time, reached pairs, calls, calls from scratch.
    strategies: [(Duration, u64, u64, u64); 2],
}

fn measure(name: &str, runs: usize) -> Line {
    let text = text(name);
    let mut best = Line {
        events: 0,
        pairs: 0,
        left: 0,
        locations: 0,
        basis: Duration::MAX,
        strategies: [(Duration::MAX, 0, 0, 0); 2],
    };
    let mut left = Vec::new();
    for run in 0..runs {
        let clock = Instant::now();
        let trace = parse_std(&text).expect("the corpus is well-formed");
        let relations = Relations::derive(&trace).expect("the corpus is well-formed");
        best.pairs = pairs_left(&trace, &relations, &mut left);
        best.basis = best.basis.min(clock.elapsed());
        (best.events, best.left) = (trace.len(), left.len());
        for (strategy, result) in [Strategy::One, Strategy::Two].into_iter().zip(&mut best.strategies) {
            let clock = Instant::now();
            let mut ipa = Ipa::new(&trace, &relations, strategy).compare(false);
            let list = by_location(&ipa, &trace, &left);
            let mut reached = 0;
            for &((a, b), count) in &list {
                let reach = ipa.check_reach(a, b, &Budget::default());
                reached += if matches!(reach, Reach::Reached(_)) { count } else { 0 };
            }
            result.0 = result.0.min(clock.elapsed());
            (result.1, result.2) = (reached, ipa.ipa_counters().calls());
            best.locations = list.len();
            if run == 0 {
                let mut fresh = Ipa::new(&trace, &relations, strategy).memory(Memory::None).compare(false);
                for &((a, b), count) in &list {
                    let before = fresh.ipa_counters().calls();
                    fresh.check_reach(a, b, &Budget { nodes: FRESH, ..Budget::default() });
                    result.3 += count * (fresh.ipa_counters().calls() - before);
                }
            }
        }
    }
    best
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    println!(
        "trace         events    pairs     left  locations  basis ms | I: reached  extra %      calls   fresh calls  saved | II: reached  extra %      calls   fresh calls  saved"
    );
    let mut basis = Duration::ZERO;
    let mut sums = [(Duration::ZERO, 0u64, 0u64); 2];
    for name in TRACES {
        let line = measure(name, runs);
        basis += line.basis;
        print!(
            "{name:10} {:9} {:8} {:8} {:10} {:9.3}",
            line.events,
            line.pairs,
            line.left,
            line.locations,
            line.basis.as_secs_f64() * 1e3
        );
        for (sum, (extra, reached, calls, fresh)) in sums.iter_mut().zip(line.strategies) {
            let percent = 100.0 * extra.as_secs_f64() / line.basis.as_secs_f64();
            print!(" | {reached:10} {percent:8.2} {calls:10} {fresh:13} {:5.0}x", fresh as f64 / calls.max(1) as f64);
            *sum = (sum.0 + extra, sum.1 + calls, sum.2 + fresh);
        }
        println!();
    }
    print!("{:49} {:9.3}", "all", basis.as_secs_f64() * 1e3);
    for (extra, calls, fresh) in sums {
        let percent = 100.0 * extra.as_secs_f64() / basis.as_secs_f64();
        print!(" | {:10} {percent:8.2} {calls:10} {fresh:13} {:5.0}x", "", fresh as f64 / calls.max(1) as f64);
    }
    println!();
}
