//! The nondeterminism paper's Tables I and A1 on the corpus and on recorded programs.

use crate::Bench;
use crate::programs::{corpus, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, seconds};

const NOTE: &str = "A triplet is a read, the write it saw and another write it might see. Proven ones have a schedule; all others are refuted, \
and unknown is what the budget left. Rate counts the whole process on one thread. The shapes of the paper's largest traces (DaisyTest, \
ThriftTrace3) are measured, beside the decision as published, by `cargo bench -p mayhap-predict --bench nondeterminism`.";

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["trace", "events", "triplets", "proven", "refuted", "unknown", "reads", "s", "triplets/s"];
    let title = "Nondeterministic reads (Tables I and A1 of the nondeterminism paper)";
    let mut sheet = Sheet::new("nondeterminism", title, &columns, NOTE);
    let mut traces: Vec<(String, std::path::PathBuf)> =
        corpus(bench).into_iter().map(|(name, path)| (name.to_string(), path)).collect();
    traces.extend(record_all(bench)?.into_iter().map(|r| (r.name, r.trace)));
    if bench.quick {
        traces.retain(|(name, _)| name != "derby" && name != "ftpserver");
    }
    for (name, path) in traces {
        let args = ["--kinds", "nondeterminism", "--threads", "1"].map(AsRef::as_ref);
        let (json, run) = bench.tool.json(["predict".as_ref(), path.as_os_str()].into_iter().chain(args))?;
        let of = |key: &str| number(&json, &format!("/summary/{key}"));
        let candidates = of("candidates");
        let findings = json["findings"].as_array().map_or(0, Vec::len);
        sheet.row([
            name,
            number(&json, "/trace/events").to_string(),
            candidates.to_string(),
            of("proven").to_string(),
            of("refuted").to_string(),
            of("unknown").to_string(),
            findings.to_string(),
            seconds(run.wall),
            format!("{:.0}", candidates as f64 / run.wall.as_secs_f64()),
        ]);
    }
    bench.results.keep(&sheet)
}
