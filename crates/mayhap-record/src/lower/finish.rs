//! From a recording to a trace file.

use std::path::{Path, PathBuf};

use mayhap_symbols::{OpenMp, Symbols};
use mayhap_trace::format::TraceWriter;
use mayhap_trace::{Columns, ErrorKind, Source, Trace};
use mayhap_wire::attachment;
use mayhap_wire::ring::state;

use crate::Error;
use crate::capture::ending::Ending;
use crate::capture::is_full;
use crate::capture::store::Store;
use crate::limits::Limits;
use crate::lower::Lowering;
use crate::lower::reading::Reading;
use crate::sharing::first_pass::{Begun, first_pass};
use mayhap_trace::attachments::doubts::What;
use mayhap_trace::attachments::{Doubts, Run};

/// A run that was recorded and is over.
pub(crate) struct Finished<'a> {
    /// What it recorded.
    pub(crate) store: Store,
    /// How it was started.
    pub(crate) run: &'a Run,
    /// How it ended.
    pub(crate) ending: &'a Ending,
    /// What is to be left out of the trace.
    pub(crate) limits: Limits,
    /// Files that are not what they were when the program ran.
    pub(crate) changed: &'a [PathBuf],
    /// What a first pass has learnt already.
    pub(crate) begun: Option<Begun>,
    /// The trace is to be kept in memory, too.
    pub(crate) keep: bool,
}

impl<'a> Finished<'a> {
    /// A run whose files are as they were, of which nothing was learnt yet and whose trace is in a file only.
    pub(crate) fn new(store: Store, run: &'a Run, ending: &'a Ending, limits: Limits) -> Finished<'a> {
        Finished { store, run, ending, limits, changed: &[], begun: None, keep: false }
    }
}

/// What came of making a trace.
pub(crate) struct Made {
    /// How many events the trace has.
    pub(crate) events: u64,
    /// What the user should know of it.
    pub(crate) notes: Vec<String>,
    /// The trace, if it is to be kept and all of it was written.
    pub(crate) kept: Option<Trace>,
}

/// Makes the trace of a run. `watch` sees the number of events now and then.
pub(crate) fn make(
    mut writer: Box<dyn TraceWriter>,
    output: &Path,
    finished: Finished<'_>,
    watch: &mut dyn FnMut(u64),
) -> Result<Made, Error> {
    let Finished { store, run, ending, limits, changed, begun, keep } = finished;
    let failed = |error| Error::at(output, error);
    let (facts, filter, looked) =
        first_pass(&store, ending.tells_branches(), changed, begun).map_err(|error| Error::at(output, error))?;
    let mut notes = Vec::new();
    let mut doubts = Doubts::default();
    let unseen = unseen(ending.state, facts.modules.first().map(|module| module.path.as_path()));
    if let Some(unseen) = &unseen {
        notes.push(format!(
            "{unseen} is not visible: events that only it orders look unordered, so nothing can be proven"
        ));
        doubts.add_whole(What::OpenMp, unseen.as_str());
    }
    if ending.state & state::UNSEEN_JAVA != 0 {
        notes.push("part of what the Java program does is not recorded: nothing can be proven".into());
        doubts.add_whole(What::Java, "");
    }
    let symbols = Symbols::load(&facts.modules, run.root.clone().or_else(|| run.folder.clone()));
    let keeps_part = writer.keep_part();
    let ended = Run { stdin: None, ..run.clone() };
    writer.attach(attachment::RUN, &ended.to_bytes()).map_err(failed)?;
    if let Some(input) = &run.stdin {
        writer.attach(attachment::STDIN, input).map_err(failed)?;
    }
    if limits.last.is_some() {
        doubts.add_whole(What::Beginning, "");
    }
    let reading = Reading::new(store, filter, looked, limits.last);
    let mut lowering = Lowering::new(reading, facts, symbols, limits);
    lowering.begin_doubts(doubts);
    let (mut chunks, mut columns) = (0, keep.then(Columns::default));
    let count = |_: &dyn Source, chunk: &Columns| {
        chunks += 1;
        watch(chunks * mayhap_trace::CHUNK as u64);
        columns.iter_mut().for_each(|columns| columns.append(chunk));
    };
    match mayhap_trace::format::copy(&mut lowering, writer, count) {
        Ok(new) => notes.extend(new),
        Err(error) if keeps_part && matches!(&error.kind, ErrorKind::Io(error) if is_full(error)) => {
            columns = None;
            notes.push(format!("the trace ends early: {error}"))
        }
        Err(error) => return Err(failed(error)),
    }
    notes.extend(left_out(&lowering));
    let events = lowering.events();
    let kept = columns.map(|mut columns| {
        columns.shrink_to_fit();
        Trace::from_parts(columns, Box::new(lowering).into_tables())
    });
    Ok(Made { events, notes, kept })
}

/// What is not in the trace, in words.
fn left_out(lowering: &Lowering) -> Vec<String> {
    let mut notes: Vec<String> = lowering.unlifted().into_iter().chain(lowering.unseen()).collect();
    if lowering.left_out() > 0 {
        let n = lowering.left_out();
        notes.push(format!("the trace contains only the last steps; {n} earlier accesses are not in it"));
    }
    if lowering.excluded() > 0 {
        let n = lowering.excluded();
        notes.push(format!("{n} accesses in functions or files that are excluded are not in the trace"));
    }
    if lowering.dropped() > 0 {
        notes.push(format!("{} events broke a rule of locks or threads and were left out", lowering.dropped()));
    }
    notes
}

/// What synchronises the program out of the runtime's sight: a library of OpenMP that is not known to tell, or that is a part of the
/// program itself, where nothing can be loaded before it.
fn unseen(bits: u32, program: Option<&Path>) -> Option<String> {
    let linked = program.map(OpenMp::of).unwrap_or_default();
    let hidden = linked.gcc || (linked.llvm && bits & state::OPENMP_TELLS == 0);
    ((hidden && !linked.wrapped) || bits & state::UNSEEN_ORDER != 0).then(open_mp)
}

fn open_mp() -> String {
    "synchronisation by the program's OpenMP library".into()
}
