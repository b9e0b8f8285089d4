//! SeqCheck's Tables 3 to 5: races, deadlocks and atomicity violations by method, on the corpus and on recorded programs.

use std::path::Path;

use serde_json::Value;

use crate::Bench;
use crate::programs::{corpus, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, seconds};

const RACES: &str = "SHB, WCP and SyncP are one pass and suspected: racy locations of the later event. seqcheck and auto are pairs of locations, each proven by a \
schedule that the kernel accepted, so columns compare within a kind only. Where seqcheck is below auto, auto's exact search finds reorderings that the greedy \
order cannot; it is never above. WCP can be above both where it is unsound. As in the paper, predicting finds more than the passes do. Unlike \
in the paper, where SeqCheck took half an hour and each pass 6 to 7 hours over all benchmarks, our passes are cheaper than any prover (SyncP's memory grows with the trace, \
see growth); against the paper's own method we win by auto, which proves as much in a part of the time. Distance is the largest between the two events of a proven race, in events. The \
paper's Java traces beyond those of the corpus are not bundled here.";
const OTHERS: &str = "Deadlocks of 2 to 8 threads, and atomicity violations: two accesses of one thread at most 100 of its events apart that appear intended to be atomic, with a \
remote access between them (`predict` leaves out pairs that the run itself interleaved, so counts are below the paper's bare patterns; --no-intent-filter reports them). \
Every proven one has a schedule; refuted ones are impossible in this run's model; unknown is what a budget left open. Both prove \
the same here; auto is the faster, since its cheap stages settle most candidates before anything is closed transitively, where seqcheck as published closes \
anew for each. That is where we beat the paper's method; its own figures are of other traces.";

/// Makes the tables.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["trace", "events", "syncp", "s", "wcp", "s", "shb", "s", "seqcheck", "s", "auto", "s", "distance"];
    let mut races = Sheet::new("seqcheck-races", "Data races by method (SeqCheck, Table 3)", &columns, RACES);
    let columns = ["trace", "events", "kind", "candidates", "seqcheck", "s", "auto", "refuted", "unknown", "s"];
    let title = "Deadlocks and atomicity violations (SeqCheck, Tables 4 and 5)";
    let mut others = Sheet::new("seqcheck-others", title, &columns, OTHERS);
    let mut traces: Vec<(String, std::path::PathBuf)> =
        corpus(bench).into_iter().map(|(name, path)| (name.to_string(), path)).collect();
    traces.extend(record_all(bench)?.into_iter().map(|r| (r.name, r.trace)));
    for (name, path) in &traces {
        let made = race_row(bench, name, path, &mut races);
        races.tolerate(name, made)?;
        let made = other_row(bench, name, path, "atomicity", &mut others);
        others.tolerate(&format!("atomicity in {name}"), made)?;
    }
    for (name, path) in deadlocks(bench)? {
        let made = other_row(bench, &name, &path, "deadlock", &mut others);
        others.tolerate(&format!("deadlocks in {name}"), made)?;
    }
    bench.results.keep(&races)?;
    bench.results.keep(&others)
}

fn deadlocks(bench: &Bench) -> Result<Vec<(String, std::path::PathBuf)>, String> {
    let folder = bench.root.join("corpus/traces/deadlock");
    let listed = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<_> = listed.filter_map(|f| f.ok().map(|f| f.path())).collect();
    files.retain(|f| f.to_string_lossy().contains(".std"));
    files.sort();
    let name = |f: &Path| {
        f.file_name().unwrap_or_default().to_string_lossy().split('.').next().unwrap_or_default().to_string()
    };
    Ok(files.into_iter().map(|f| (name(&f), f)).collect())
}

fn race_row(bench: &Bench, name: &str, path: &Path, sheet: &mut Sheet) -> Result<(), String> {
    bench.in_time()?;
    let detect = |order: &str| {
        let (json, run) = bench.tool.json(["detect".as_ref(), path.as_os_str(), "--order".as_ref(), order.as_ref()])?;
        Ok::<_, String>((number(&json, "/racy_locations").to_string(), seconds(run.wall)))
    };
    let (syncp, wcp, shb) = (detect("syncp")?, detect("wcp")?, detect("shb")?);
    let (seqcheck, seqcheck_time) = predict(bench, path, "race", "seqcheck")?;
    let (auto, auto_time) = predict(bench, path, "race", "auto")?;
    let findings = auto["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let distance = findings.iter().filter(|f| f["verdict"] == "proven").map(|f| number(f, "/distance")).max();
    sheet.row([
        name.to_string(),
        number(&auto, "/trace/events").to_string(),
        syncp.0,
        syncp.1,
        wcp.0,
        wcp.1,
        shb.0,
        shb.1,
        number(&seqcheck, "/summary/proven").to_string(),
        seqcheck_time,
        number(&auto, "/summary/proven").to_string(),
        auto_time,
        distance.map_or("-".to_string(), |d| d.to_string()),
    ]);
    Ok(())
}

fn predict(bench: &Bench, path: &Path, kind: &str, engine: &str) -> Result<(Value, String), String> {
    let args = ["--kinds", kind, "--engine", engine, "--threads", "1"].map(AsRef::as_ref);
    let (json, run) = bench.tool.json(["predict".as_ref(), path.as_os_str()].into_iter().chain(args))?;
    Ok((json, seconds(run.wall)))
}

fn other_row(bench: &Bench, name: &str, path: &Path, kind: &'static str, sheet: &mut Sheet) -> Result<(), String> {
    bench.in_time()?;
    let (seqcheck, seqcheck_time) = predict(bench, path, kind, "seqcheck")?;
    let (auto, auto_time) = predict(bench, path, kind, "auto")?;
    let of = |json: &Value, key: &str| number(json, &format!("/summary/{key}")).to_string();
    if number(&auto, "/summary/candidates") == 0 {
        return Ok(());
    }
    sheet.row([
        name.to_string(),
        number(&auto, "/trace/events").to_string(),
        kind.to_string(),
        of(&auto, "candidates"),
        of(&seqcheck, "proven"),
        seqcheck_time,
        of(&auto, "proven"),
        of(&auto, "refuted"),
        of(&auto, "unknown"),
        auto_time,
    ]);
    Ok(())
}
