//! How the time of each kind of finding grows with events, as exponents.

use std::path::PathBuf;

use crate::Bench;
use crate::sheet::Sheet;
use crate::tool::{SLOW, megabytes, seconds};

const KINDS: [&str; 5] = ["race", "deadlock", "atomicity", "order", "nondeterminism"];
const NOTE: &str = "`mayhap generate` with its default shape, 10 planted races and 3 deadlocks; `mayhap predict --kinds K --quiet` with all workers. Seconds are processor \
time, user and system. The exponent is that of the events between this row and the one before: 1 is linear. Atomicity and nondeterminism have a total effort that \
grows with the trace; what it leaves undecided is counted as unknown.";

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["kind", "events", "s", "exponent", "MB", "proven", "not implied", "unknown"];
    let mut sheet = Sheet::new("kinds", "How the cost of each kind grows", &columns, NOTE);
    let longest = if bench.quick { 1_000_000 } else { bench.longest.min(10_000_000) };
    let events: Vec<u64> =
        std::iter::successors(Some(100_000), |n| Some(n * 10)).take_while(|n| *n <= longest).collect();
    let traces = events.iter().map(|&n| Ok((n, generate(bench, n)?))).collect::<Result<Vec<_>, String>>()?;
    bench.tool.limit *= 10;
    for kind in KINDS {
        let mut before: Option<f64> = None;
        for (events, trace) in &traces {
            let name = format!("{kind} {events}");
            let args = ["predict", "--kinds", kind, "--quiet"].map(AsRef::as_ref);
            let run = match bench.in_time().and_then(|()| bench.tool.run(args.into_iter().chain([trace.as_os_str()]))) {
                Err(late) if late.starts_with(SLOW) => {
                    sheet.tolerate(&name, Err(late))?;
                    continue;
                }
                run => run?,
            };
            let cpu = run.cpu.as_secs_f64();
            let exponent = before.replace(cpu).map_or("-".to_string(), |b| format!("{:.2}", (cpu / b).log10()));
            let [proven, refuted, unknown] = tally(&run.out);
            let cells = [seconds(run.cpu), exponent, megabytes(run.memory), proven, refuted, unknown];
            let [s, exponent, memory, proven, refuted, unknown] = cells;
            sheet.row([kind.to_string(), events.to_string(), s, exponent, memory, proven, refuted, unknown]);
        }
    }
    bench.tool.limit /= 10;
    bench.results.keep(&sheet)
}

/// How many candidates were proven, refuted and unknown, as the last lines of a prediction say.
fn tally(output: &str) -> [String; 3] {
    let line = output.lines().find_map(|line| line.split_once(" candidates: ")).map_or("", |(_, counts)| counts);
    let mut counts = line.split([' ', ';']).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    std::array::from_fn(|_| counts.next().unwrap_or("-").to_string())
}

fn generate(bench: &Bench, events: u64) -> Result<PathBuf, String> {
    let trace = bench.scratch.path().join(format!("kinds-{events}.mhp"));
    let events = events.to_string();
    let words = ["generate", "--events", &events, "--races", "10", "--deadlocks", "3", "-o"].map(AsRef::as_ref);
    bench.tool.run(words.into_iter().chain([trace.as_os_str()]))?;
    Ok(trace)
}
