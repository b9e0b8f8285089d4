//! What watching costs: the bundled programs, computing for a second or so, under mayhap and its peers.

use std::path::Path;
use std::process::Command;

use super::peers::{build, timed};
use crate::Bench;
use crate::programs::{Bundled, bundled};
use crate::sheet::Sheet;
use crate::tool::{run, seconds};

const NOTE: &str = "Wall clock of the best of three runs (helgrind and drd: one), as a multiple of the program built by gcc -O1 alone; `mayhap` is `mayhap record` to its end, trace on disk included. Threads run one \
at a time under mayhap, helgrind and drd, at once under libtsan, which is therefore the fastest by far on programs that compute in parallel. mayhap pays for writing down \
every access that may matter, helgrind for looking each up at once; which is dearer depends on how many accesses of a program are shared.";

/// Seconds that one run may take.
const LIMIT: u32 = 30;

/// How much longer the bundled programs take under each tool.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = ["program", "alone", "mayhap", "libtsan", "helgrind", "drd"];
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
    sheet.row([
        label.to_string(),
        seconds(std::time::Duration::from_secs_f64(base)),
        times(best(3, &recording)?),
        times(if with_tsan { best(3, &plain(&tsan))? } else { None }),
        times(best(1, &under("helgrind"))?),
        times(best(1, &under("drd"))?),
    ]);
    Ok(())
}
