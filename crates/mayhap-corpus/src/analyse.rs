//! One trace, analysed: what a worker does.

use std::path::{Path, PathBuf};

use mayhap_analyse::Options;
use mayhap_analyse::windows::Share;
use mayhap_report::prediction::Windows;
use mayhap_report::{Report, counted, prediction};
use mayhap_trace::attachments::doubts::What;
use mayhap_trace::attachments::{Doubts, Run, ThreadNames};
use mayhap_trace::validate::{self, Repaired};
use mayhap_trace::{Execution, Missing, Trace, format};
use mayhap_witness::{Model, Target};

use crate::{Failed, How, Outcome, Settings};

/// The command that asks about a target of a trace again; whether the trace was recorded decides if it can be replayed.
pub type Suggest<'a> = &'a dyn Fn(&Path, &Target, Model, bool) -> String;

/// What stands for the path in a result: traces of the same contents, wherever they are, have one result.
pub(crate) const PLACE: &str = "<trace>";

/// Makes a trace of a recording, in its place. Returns what is to be said of it; nothing if the file is no recording.
pub(crate) fn finish(path: &Path) -> Result<Vec<String>, Outcome> {
    if !mayhap_record::is_unfinished(path) {
        return Ok(Vec::new());
    }
    match mayhap_record::finish(path, &mut |_| {}) {
        Ok(recording) => Ok(recording.notes),
        Err(error) => Err(failed(without(path, error.to_string()))),
    }
}

/// Analyses one trace, or a share of its windows. The report names no path.
pub fn analyse(
    path: &Path,
    share: Option<[u64; 2]>,
    settings: &Settings,
    threads: usize,
    suggest: Suggest<'_>,
) -> Outcome {
    let done = match share {
        Some([part, of]) => {
            windows(path, settings, threads, Share { part, of }).map(|windows| Outcome::Windows(Box::new(windows)))
        }
        None => report(path, settings, threads, suggest).map(|report| Outcome::Report(Box::new(report))),
    };
    done.unwrap_or_else(failed)
}

fn failed(reason: String) -> Outcome {
    match is_lack_of_memory(&reason) {
        true => Outcome::Failed(Failed { how: How::OutOfMemory, reason }),
        false => Outcome::Failed(Failed::damaged(reason)),
    }
}

/// The report of a trace, from all shares of its windows.
pub(crate) fn of_shares(path: &Path, shares: Vec<Windows>, settings: &Settings) -> Outcome {
    match prediction::of_windows(shares, settings.window) {
        Some(mut report) => {
            complete(path, settings, &mut report);
            Outcome::Report(Box::new(report))
        }
        None => Outcome::Failed(Failed::damaged(NO_EVENTS)),
    }
}

/// Whether a message is about memory that there was not: libraries that do not abort report it as any other error.
fn is_lack_of_memory(reason: &str) -> bool {
    ["Cannot allocate memory", "out of memory", "not enough memory", "Resource temporarily unavailable"]
        .iter()
        .any(|words| reason.contains(words))
}

fn report(path: &Path, settings: &Settings, threads: usize, suggest: Suggest<'_>) -> Result<Report, String> {
    let mut notes = Vec::new();
    let mut report = match settings.window {
        0 => whole(path, settings, threads, suggest, &mut notes)?,
        size => {
            let all = windows(path, settings, threads, Share::WHOLE)?;
            prediction::of_windows(vec![all], size).ok_or_else(|| NO_EVENTS.to_string())?
        }
    };
    complete(path, settings, &mut report);
    report.notes.splice(0..0, notes);
    Ok(report)
}

/// Adds names and sources, and takes out what is not the same twice.
fn complete(path: &Path, settings: &Settings, report: &mut Report) {
    let names = ThreadNames::load(path);
    report.findings.iter_mut().for_each(|finding| finding.name_threads(&names));
    report.gather_sources(&roots(path, settings));
    report.trace.path.clear();
    // How long it took.
    report.summary.seconds = 0.0;
    report.summary.counters.clear();
}

fn whole(
    path: &Path,
    settings: &Settings,
    threads: usize,
    suggest: Suggest<'_>,
    notes: &mut Vec<String>,
) -> Result<Report, String> {
    let (trace, repaired) = load(path, settings, notes)?;
    let execution = Execution::derive(trace).map_err(|error| error.to_string())?;
    let options = settings.options(execution.trace(), threads).map_err(|error| error.to_string())?;
    let prediction = mayhap_analyse::predict(&execution, &options).map_err(|error| error.to_string())?;
    let doubts = doubts(path, repaired.as_ref());
    let place = Path::new(PLACE);
    let again = |target: &Target, recorded: bool| {
        let command = suggest(place, target, options.model, recorded);
        // A repaired trace is only known by those that repair it, too.
        let repair = if settings.repair && command.starts_with("mayhap check ") { " --repair" } else { "" };
        format!("{command}{repair}")
    };
    let mut report = prediction::report(path, (&execution, &doubts), &options, &prediction, None, &again);
    report.was_repaired(repaired.as_ref().map_or(0, Repaired::total));
    Ok(report)
}

/// Reads the trace, and repairs it if asked for.
fn load(path: &Path, settings: &Settings, notes: &mut Vec<String>) -> Result<(Trace, Option<Repaired>), String> {
    let loaded = format::read(path).map_err(|error| error.to_string())?;
    notes.extend(loaded.notes);
    notes.extend(loaded.missing.as_ref().map(incomplete));
    let (trace, repaired) = match settings.repair {
        true => {
            let (trace, repaired) = validate::repair(loaded.trace);
            (trace, Some(repaired))
        }
        false => (loaded.trace, None),
    };
    if trace.is_empty() { Err(NO_EVENTS.to_string()) } else { Ok((trace, repaired)) }
}

const NO_EVENTS: &str = "the trace has no events";

fn windows(path: &Path, settings: &Settings, threads: usize, share: Share) -> Result<Windows, String> {
    let source = format::open(path).map_err(|error| error.to_string())?;
    // A setting that makes no sense is found out before the first window.
    settings.options(&Trace::default(), threads).map_err(|error| error.to_string())?;
    let options = |trace: &Trace| -> Options { settings.options(trace, threads).expect("the settings make sense") };
    let which = (settings.window, share);
    prediction::windows_of(path, source, &Doubts::load(path), which, &options).map_err(|error| error.to_string())
}

fn incomplete(missing: &Missing) -> String {
    let there = match missing.promised {
        Some(promised) => format!("it has {} of {promised} events", missing.delivered),
        None => format!("it has {} events", missing.delivered),
    };
    format!("the file is incomplete: {there}; {}", missing.reason)
}

/// What the recording of the trace could not see; a repair is a doubt of its own.
fn doubts(path: &Path, repaired: Option<&Repaired>) -> Doubts {
    match repaired.map(Repaired::total).filter(|&dropped| dropped > 0) {
        Some(dropped) => {
            let mut doubts = Doubts::default();
            doubts.add_whole(What::Dropped, counted(dropped, "event"));
            doubts
        }
        None => Doubts::load(path),
    }
}

/// Where source files may be: where the program ran, and beside the trace.
fn roots(path: &Path, settings: &Settings) -> Vec<PathBuf> {
    let beside = path.parent().map(Path::to_path_buf);
    let began = Run::load(path).and_then(|run| run.root.or(run.folder));
    settings.source_roots.iter().cloned().chain(beside).chain(began).collect()
}

/// A message without the path, which the report names already.
fn without(path: &Path, message: String) -> String {
    message.strip_prefix(&format!("{}: ", path.display())).map(str::to_string).unwrap_or(message)
}
