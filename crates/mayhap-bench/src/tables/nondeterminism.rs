//! The nondeterminism paper's Tables I and A1 on the corpus and on recorded programs.

use std::path::Path;

use crate::Bench;
use crate::programs::{corpus, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, seconds};

const NOTE: &str = "A triplet is a read, the write it saw and another write it might see. Proven ones have a schedule, refuted ones a sound argument, \
unknown is what the budget left; `locations` are the groups that a report shows. The paper decides its triplets by a criterion that its own examples break \
(docs/soundness.md): ours is corrected, and still decides every triplet here. The rate counts the whole process on one thread, reading included. The paper's, from its \
tables: 650 triplets a second over the 16 traces that need both phases, 2,350 over the 9 that need one, 386 (ThriftTrace1) to 36,000 (conpool, 97 events) on \
single ones, on a 2.67 GHz i7. Ours are of other traces and another machine, so only the order of magnitude compares: leaving aside rows of some \
milliseconds, the slowest here is some five times its fastest trace of more than a thousand events (philo, 7,500), and most are far above, since triplets that share \
a read and a write are decided together. As in the paper most triplets \
are infeasible (there 80 %), here more so. Small traces are mostly the start of the process.";

/// Generated shapes: few writers and many readers, as in a producer and its consumers; all threads updating everything under locks;
/// much unprotected; and long runs between switches.
const SHAPES: [(&str, &str); 4] = [
    ("generated: readers", "--events 20k --threads 8 --locks 8 --variables 40 --reads 0.9 --section 8 --seed 1"),
    ("generated: updates", "--events 20k --threads 4 --locks 16 --variables 200 --reads 0.5 --branches 0.3 --seed 2"),
    ("generated: unprotected", "--events 5k --threads 4 --locks 4 --variables 100 --protected 0.7 --seed 3"),
    ("generated: long runs", "--events 50k --threads 6 --locks 20 --variables 1000 --run 500 --signals 0.01 --seed 4"),
];

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["trace", "events", "triplets", "proven", "refuted", "unknown", "locations", "s", "triplets/s"];
    let title = "Nondeterministic reads (Tables I and A1 of the nondeterminism paper)";
    let mut sheet = Sheet::new("nondeterminism", title, &columns, NOTE);
    let mut traces: Vec<(String, std::path::PathBuf)> =
        corpus(bench).into_iter().map(|(name, path)| (name.to_string(), path)).collect();
    traces.extend(record_all(bench)?.into_iter().map(|r| (r.name, r.trace)));
    if bench.quick {
        traces.retain(|(name, _)| name != "derby" && name != "ftpserver");
    }
    for (name, options) in SHAPES {
        let path = bench.scratch.path().join(format!("{name}.mhp"));
        let words = options.split(' ').map(AsRef::as_ref);
        bench.tool.run(["generate".as_ref(), "-o".as_ref(), path.as_os_str()].into_iter().chain(words))?;
        traces.push((name.to_string(), path));
    }
    for (name, path) in traces {
        let made = row(bench, &name, &path, &mut sheet);
        sheet.tolerate(&name, made)?;
    }
    bench.results.keep(&sheet)
}

fn row(bench: &Bench, name: &str, path: &Path, sheet: &mut Sheet) -> Result<(), String> {
    bench.in_time()?;
    let args = ["--kinds", "nondeterminism", "--threads", "1"].map(AsRef::as_ref);
    let (json, run) = bench.tool.json(["predict".as_ref(), path.as_os_str()].into_iter().chain(args))?;
    let of = |key: &str| number(&json, &format!("/summary/{key}"));
    let candidates = of("candidates");
    let findings = json["findings"].as_array().map_or(0, Vec::len);
    sheet.row([
        name.to_string(),
        number(&json, "/trace/events").to_string(),
        candidates.to_string(),
        of("proven").to_string(),
        of("refuted").to_string(),
        of("unknown").to_string(),
        findings.to_string(),
        seconds(run.wall),
        format!("{:.0}", candidates as f64 / run.wall.as_secs_f64()),
    ]);
    Ok(())
}
