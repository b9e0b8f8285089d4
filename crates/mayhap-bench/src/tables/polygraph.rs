//! The polygraph paper's Table 1 on small examples: what locksets, UCG, polygraphs and CP find, and the time of a check.

use crate::Bench;
use crate::sheet::Sheet;
use crate::tool::number;

const NOTE: &str = "Races as pairs of locations. Lockset and UCG over-approximate, as in the paper; CP misses what needs sections reordered, and reports more \
than is real where only its first race is sure (cp2, UpdateTimer); polygraph decides, and `exact` agrees with it on every row. We beat the paper in that every \
count of polygraph is proven by the kernel, and the rest refuted. The traces are written from the published descriptions (the paper's own are not in it), and are \
shorter than the paper's. The paper's table has nine of CP's examples, cp1 to cp8 without cp3, cp2 and cp5 in two forms each; all nine are here. Its counts of UCG, \
polygraph and CP are ours on all of the seventeen cp and vt rows but cp2 and cp2b (paper: 3, 1, 1 for both), where our traces have one race more. Of the eight bug \
patterns, Loadscript, FileTransport and TimerThread agree; UpdateTimer and SeekToItem (paper: 1, 1, 1), MysqlLog (2, 2, 2), NodeState (CP: 1) and CreateThread \
(UCG: 2) do not, since a description leaves open which accesses a trace has. Its seven larger programs (thrift, apache, mysql, pfscan, aget and others) are not here. Time per check is the engine's own, best of \
five, without starting the process; the paper's checks took 8 to 80 ms on these rows, on a 2.8 GHz Pentium D and longer traces.";

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns =
        ["example", "threads", "locks", "vars", "events", "lockset", "ucg", "polygraph", "exact", "cp", "us/check"];
    let mut sheet =
        Sheet::new("polygraph", "Races in examples of the literature (polygraph paper, Table 1)", &columns, NOTE);
    let folder = bench.root.join("bench/literature");
    let listed = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<_> = listed.filter_map(|f| f.ok().map(|f| f.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "std"));
    files.sort();
    let mut sums = [0u64; 5];
    for file in files {
        let path = file.as_os_str();
        let detect = |order: &str| {
            let (json, _) = bench.tool.json(["detect".as_ref(), path, "--order".as_ref(), order.as_ref()])?;
            Ok::<u64, String>(number(&json, "/racy_location_pairs"))
        };
        let predict = |engine: &str| {
            let args = [
                "predict".as_ref(),
                path,
                "--kinds".as_ref(),
                "race".as_ref(),
                "--engine".as_ref(),
                engine.as_ref(),
                "--threads".as_ref(),
                "1".as_ref(),
            ];
            Ok::<_, String>(bench.tool.json(args)?.0)
        };
        let (ucg, polygraph, exact) = (predict("ucg")?, predict("polygraph")?, predict("exact")?);
        let candidates = number(&polygraph, "/summary/candidates");
        let mut time = f64::MAX;
        for _ in 0..5 {
            let again = predict("polygraph")?;
            let spent = again.pointer("/summary/seconds").and_then(serde_json::Value::as_f64);
            time = time.min(spent.unwrap_or(f64::MAX));
        }
        let counts = [
            detect("lockset")?,
            number(&ucg, "/summary/suspected"),
            number(&polygraph, "/summary/proven"),
            number(&exact, "/summary/proven"),
            detect("cp")?,
        ];
        sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        let [lockset, ucg, proven, exact, cp] = counts.map(|n| n.to_string());
        let of_trace = |key: &str| number(&polygraph, &format!("/trace/{key}")).to_string();
        sheet.row([
            file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            of_trace("threads"),
            of_trace("locks"),
            of_trace("variables"),
            of_trace("events"),
            lockset,
            ucg,
            proven,
            exact,
            cp,
            format!("{:.0}", time * 1e6 / candidates.max(1) as f64),
        ]);
    }
    let [lockset, ucg, proven, exact, cp] = sums.map(|n| n.to_string());
    let empty = String::new;
    sheet.row(["together".to_string(), empty(), empty(), empty(), empty(), lockset, ucg, proven, exact, cp, empty()]);
    bench.results.keep(&sheet)
}
