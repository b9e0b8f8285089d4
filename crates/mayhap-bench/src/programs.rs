//! The bundled programs in two settings each, built with recording and recorded.

use std::path::PathBuf;
use std::process::Command;

use crate::Bench;
use crate::tool::run;

/// How runs are recorded.
const SCHEDULE: [&str; 7] = ["record", "--finish", "--schedule", "random", "--seed", "1", "-o"];

/// A recorded run of a bundled program.
pub(crate) struct Recorded {
    /// Program and arguments.
    pub(crate) name: String,
    /// The executable and its arguments.
    pub(crate) command: Vec<String>,
    /// The trace.
    pub(crate) trace: PathBuf,
}

/// Returns the lines of `settings.txt`: a program and its arguments in each setting.
fn settings(text: &str) -> Vec<(String, Vec<Vec<String>>)> {
    let words = |part: &str| part.split_whitespace().map(String::from).collect::<Vec<_>>();
    let lines = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let parsed = lines.map(|line| {
        let mut parts: Vec<Vec<String>> = line.split('|').map(words).collect();
        let program = parts[0].remove(0);
        (program, parts)
    });
    parsed.collect()
}

/// A bundled program.
pub(crate) struct Bundled {
    /// Its name.
    pub(crate) name: String,
    /// Its source.
    pub(crate) source: PathBuf,
    /// Its arguments in each setting.
    pub(crate) settings: Vec<Vec<String>>,
}

/// Returns every bundled program.
pub(crate) fn bundled(bench: &Bench) -> Result<Vec<Bundled>, String> {
    let folder = bench.root.join("bench/programs");
    let file = folder.join("settings.txt");
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let with_source = |(name, settings): (String, _)| {
        let source = folder.join(format!("{name}.c"));
        Bundled { name, source, settings }
    };
    Ok(settings(&text).into_iter().map(with_source).collect())
}

/// Builds and records every program in its first two settings; only the first for a quick look. Threads take turns at random.
/// All tables get the same runs: what is recorded already is not recorded again.
pub(crate) fn record_all(bench: &Bench) -> Result<Vec<Recorded>, String> {
    let mut recorded = Vec::new();
    for Bundled { name: program, source, settings } in bundled(bench)? {
        let executable = bench.scratch.path().join(&program);
        if !executable.exists() {
            let mut compile = Command::new(bench.tool.path());
            let built = run(compile.args(["cc", "-O1", "-g", "-pthread", "-o"]).arg(&executable).arg(source))?;
            if built.code != Some(0) {
                return Err(format!("{program}.c: {}", built.err.trim()));
            }
        }
        for (number, arguments) in settings.into_iter().enumerate().take(if bench.quick { 1 } else { 2 }) {
            let trace = bench.scratch.path().join(format!("{program}{number}.mhp"));
            let mut command = vec![executable.display().to_string()];
            command.extend(arguments.iter().cloned());
            if !trace.exists() {
                let done = run(Command::new(bench.tool.path()).args(SCHEDULE).arg(&trace).arg("--").args(&command))?;
                if done.code != Some(0) {
                    return Err(format!("recording {program}: {:?}: {}", done.code, done.err.trim()));
                }
            }
            recorded.push(Recorded { name: format!("{program} {}", arguments.join(" ")), command, trace });
        }
    }
    Ok(recorded)
}

/// The traces of the corpus, by name.
pub(crate) fn corpus(bench: &Bench) -> Vec<(&'static str, PathBuf)> {
    let names = ["account", "mergesort", "twostage", "bubblesort", "lang", "ftpserver", "bufwriter", "moldyn", "derby"];
    let path = |name: &str| {
        let suffix = if name == "derby" { ".gz" } else { "" };
        bench.root.join(format!("corpus/traces/{name}.std{suffix}"))
    };
    names.into_iter().map(|name| (name, path(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn a_line_has_a_program_and_two_settings() {
        let all = settings("# comment\n\nbank  2 40 | 6 400\n");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, "bank");
        assert_eq!(all[0].1, [["2", "40"], ["6", "400"]]);
    }
}
