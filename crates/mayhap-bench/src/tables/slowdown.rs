//! What watching costs: the bundled programs, computing for a second or so, under mayhap and its peers.

use std::path::Path;
use std::process::Command;

use super::peers::{build, timed};
use crate::Bench;
use crate::programs::{Bundled, bundled};
use crate::sheet::Sheet;
use crate::tool::{run, seconds};

const NOTE: &str = "Wall clock of the best of three runs (helgrind and drd: one), as a multiple of the program built by gcc -O1 alone. `mayhap` is `mayhap record` to its \
end, the recording on disk included; `first read` is what the first command that reads the recording takes besides, since it makes a trace of it then (once). The peers \
analyse while the program runs: what compares with them is both columns together. Threads run one at a time under mayhap, helgrind and drd, at once under libtsan. A run of \
milliseconds is mostly the start of the tool, which favours tools that start quickly; account and elevator are all locks, where each switch between threads counts, and \
tsp computes. mayhap pays for writing down every access that may matter, helgrind and drd for running the program in an interpreter and looking each access up at once. Recording alone \
costs less than libtsan, which is where we are better; with the first read we cost more than libtsan on most programs, and no more than helgrind and drd. A dash is a \
run that was ended after 30 s.";

/// Seconds that one run may take.
const LIMIT: u32 = 30;

/// How much longer the bundled programs take under each tool.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["program", "alone", "mayhap", "first read", "libtsan", "helgrind", "drd"];
    let mut sheet = Sheet::new("slowdown", "Times as long as the program alone", &columns, NOTE);
    let programs = if bench.quick { 2 } else { usize::MAX };
    for Bundled { name, source, settings } in bundled(bench)?.into_iter().take(programs) {
        let arguments = settings.last().ok_or_else(|| format!("{name} has no setting"))?;
        let label = format!("{name} {}", arguments.join(" "));
        let made = row(bench, &label, &source, arguments, &mut sheet);
        sheet.tolerate(&label, made)?;
    }
    bench.results.keep(&sheet)
}

fn row(bench: &Bench, label: &str, source: &Path, arguments: &[String], sheet: &mut Sheet) -> Result<(), String> {
    bench.in_time()?;
    let file = |name: &str| bench.scratch.path().join(name);
    let (alone, tsan, recorded) = (file("slow-alone"), file("slow-tsan"), file("slow-mayhap"));
    build(&mut Command::new("gcc"), source, &alone)?;
    build(Command::new(bench.tool.path()).arg("cc"), source, &recorded)?;
    let with_tsan = build(Command::new("gcc").arg("-fsanitize=thread"), source, &tsan).is_ok();
    // The best of some runs: what else the machine does only adds.
    let best = |runs: u32, command: &dyn Fn() -> Command| {
        let mut least: Option<f64> = None;
        for _ in 0..runs {
            let done = run(command().args(arguments))?;
            if matches!(done.code, Some(124 | 127)) {
                return Ok(None);
            }
            let time = done.wall.as_secs_f64();
            least = Some(least.map_or(time, |t| t.min(time)));
        }
        Ok::<_, String>(least)
    };
    let plain = |program: &Path| {
        let program = program.to_path_buf();
        move || {
            let mut command = timed(LIMIT);
            command.arg(&program);
            command
        }
    };
    let under = |tool: &str| {
        let (tool, program) = (format!("--tool={tool}"), alone.clone());
        move || {
            let mut command = timed(LIMIT);
            command.args(["valgrind", &tool]).arg(&program);
            command
        }
    };
    let trace = file("slow.mhp");
    let recording = || {
        let mut command = timed(LIMIT);
        command.arg(bench.tool.path()).args(["record", "-o"]).arg(&trace).arg("--").arg(&recorded);
        command
    };
    let base = best(5, &plain(&alone))?.ok_or("it takes too long: alone")?;
    let times = |time: Option<f64>| time.map_or("-".to_string(), |t| format!("{:.1}", t / base));
    let recording = best(3, &recording)?;
    let read = run(timed(LIMIT).arg(bench.tool.path()).arg("stats").arg(&trace))?;
    let first_read = (read.code == Some(0)).then_some(read.wall.as_secs_f64());
    sheet.row([
        label.to_string(),
        seconds(std::time::Duration::from_secs_f64(base)),
        times(recording),
        times(first_read),
        times(if with_tsan { best(3, &plain(&tsan))? } else { None }),
        times(best(1, &under("helgrind"))?),
        times(best(1, &under("drd"))?),
    ]);
    Ok(())
}
