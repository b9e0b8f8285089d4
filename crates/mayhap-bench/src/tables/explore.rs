//! Exploring: how many schedules each strategy takes until the bug of a small program shows.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::sheet::Sheet;
use crate::tool::{number, run};

const NOTE: &str = "The mean number of schedules until the first failure, the recorded run included, over seeds 1000, 2000, … In brackets: trials of those seeds \
that found nothing in 400 schedules; they count as 401. The programs are those of crates/mayhap/tests/explore_bugs. `rf` and the first runs of `mixed` do not depend on the seed.";

const STRATEGIES: [&str; 6] = ["mixed", "rf", "pct", "pos", "random", "surw"];
const MOST: u64 = 400;

/// The schedules until the first failure; `None` if there was none.
fn schedules(bench: &Bench, program: &str, strategy: &str, seed: u64) -> Result<Option<u64>, String> {
    let (seed, most) = (seed.to_string(), MOST.to_string());
    let words =
        ["explore", "--no-predict", "--first", "--max-schedules", &most, "--strategy", strategy, "--seed", &seed];
    let words = words.into_iter().chain(["--format", "json", "--", program]);
    let document = bench.tool.run(words)?.json()?;
    let found = document["findings"].as_array().is_some_and(|findings| !findings.is_empty());
    Ok(match number(&document, "/exploration/failures") {
        0 if found => Some(1),
        0 => None,
        _ => Some(number(&document, "/exploration/schedules") + 1),
    })
}

/// For each strategy, the mean of a program's schedules, and its cell.
fn row(bench: &Bench, name: &str, file: &Path, trials: u64) -> Result<Vec<(f64, String)>, String> {
    let program = bench.scratch.path().join(name).display().to_string();
    let mut compile = Command::new(bench.tool.path());
    let built = run(compile.args(["cc", "-O1", "-g", "-pthread", "-o", &program]).arg(file))?;
    if built.code != Some(0) {
        return Err(format!("{name}: {}", built.err.trim()));
    }
    let mut cells = Vec::new();
    for strategy in STRATEGIES {
        let made = (1..=trials).map(|trial| schedules(bench, &program, strategy, 1000 * trial));
        let counts = made.collect::<Result<Vec<_>, _>>()?;
        let missed = counts.iter().filter(|count| count.is_none()).count();
        let sum: u64 = counts.iter().map(|count| count.unwrap_or(MOST + 1)).sum();
        let mean = sum as f64 / trials as f64;
        cells.push((mean, if missed > 0 { format!("{mean:.1} ({missed})") } else { format!("{mean:.1}") }));
    }
    Ok(cells)
}

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let folder = bench.root.join("crates/mayhap/tests/explore_bugs");
    let read = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "c"));
    files.sort();
    let trials = if bench.quick { 2 } else { 20 };
    let columns: Vec<&'static str> = ["program"].into_iter().chain(STRATEGIES).collect();
    let mut sheet = Sheet::new("explore", format!("Schedules until the bug shows, {trials} trials"), &columns, NOTE);
    let mut logs = [0.0; STRATEGIES.len()];
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match bench.in_time().and_then(|()| row(bench, &name, &file, trials)) {
            // A row counts as a whole or not at all.
            Ok(made) => {
                logs.iter_mut().zip(&made).for_each(|(log, (mean, _))| *log += mean.ln());
                sheet.rows.push([name].into_iter().chain(made.into_iter().map(|(_, cell)| cell)).collect());
            }
            Err(error) => sheet.tolerate(&name, Err(error))?,
        }
    }
    let count = sheet.rows.len().max(1) as f64;
    let means = logs.map(|log| format!("{:.2}", (log / count).exp()));
    sheet.rows.push(["geometric mean".to_string()].into_iter().chain(means).collect());
    bench.results.keep(&sheet)
}
