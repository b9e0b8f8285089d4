//! The corpus: traces with facts that every detector and engine must find. `corpus/README.md` says what the files mean.
//!
//! Everything here panics on a missing or malformed file: the corpus is part of the source.

mod facts;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use mayhap_trace::format::parse_std;
use mayhap_trace::{EventId, Execution, Trace};

pub use facts::{
    AllEventsFact, CaseFacts, ChoiceFact, Count, IpaCounts, IpaFact, OrderFact, Pair, PairFact, Published, RaceSets,
    SeqcheckFact, SequenceFact, TripletFact, Truth,
};

/// A golden trace and its facts.
#[derive(Debug)]
pub struct Case {
    /// Folder and file, such as `wcp/fig1a`.
    pub name: String,
    /// The trace.
    pub trace: Trace,
    /// What follows from it.
    pub execution: Execution<'static>,
    /// What is true of it.
    pub facts: CaseFacts,
}

impl Case {
    /// Returns the one event with this location.
    ///
    /// # Panics
    /// If there is none or more than one.
    #[track_caller]
    pub fn event(&self, location: &str) -> EventId {
        match self.events(location)[..] {
            [event] => event,
            ref events => panic!("{}: {} events are called {location}", self.name, events.len()),
        }
    }

    /// Returns all events with this location.
    pub fn events(&self, location: &str) -> Vec<EventId> {
        let tables = self.trace.tables();
        self.trace.events().filter(|(_, e)| tables.location(e.location) == Some(location)).map(|(id, _)| id).collect()
    }

    /// Returns the events with these locations, one each.
    #[track_caller]
    pub fn all(&self, locations: &[String]) -> Vec<EventId> {
        locations.iter().map(|l| self.event(l)).collect()
    }

    /// Returns the location of an event.
    pub fn location(&self, event: EventId) -> &str {
        self.trace.tables().location(self.trace.event(event).location).unwrap_or("")
    }

    /// Pairs of events as sorted, distinct pairs of locations.
    pub fn locations(&self, pairs: &[(EventId, EventId)]) -> Vec<(String, String)> {
        let mut names: Vec<(String, String)> =
            pairs.iter().map(|(a, b)| (self.location(*a).to_string(), self.location(*b).to_string())).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Returns the folder of the corpus.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// All golden cases, sorted by name.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = subfolders(&folder().join("golden")).iter().flat_map(|paper| cases_in(paper)).collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!cases.is_empty(), "the corpus has golden cases");
    cases
}

/// The golden case of this name, such as `wcp/fig5`.
pub fn case(name: &str) -> Case {
    load(&folder().join("golden").join(name).with_extension("toml"), name.to_string())
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|e| e.expect("the folder can be listed").path()).filter(|p| p.is_dir()).collect()
}

fn cases_in(paper: &Path) -> Vec<Case> {
    let name = |path: &Path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    let files = files(paper, "toml");
    assert_eq!(files.len(), self::files(paper, "std").len(), "{}: each trace has its facts", paper.display());
    files.iter().map(|file| load(file, format!("{}/{}", name(paper), name(file)))).collect()
}

fn load(file: &Path, name: String) -> Case {
    let facts = toml::from_str(&text(file)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let trace = parse_std(&text(&file.with_extension("std"))).unwrap_or_else(|e| panic!("{name}: {e}"));
    let execution = Execution::derive(trace.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
    Case { name, trace, execution, facts }
}

/// The traces of `corpus/regressions`, by name.
pub fn regressions() -> Vec<(String, Trace)> {
    let named = |file: PathBuf| {
        let trace = parse_std(&text(&file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        (file.file_stem().expect("a file has a name").to_string_lossy().into_owned(), trace)
    };
    files(&folder().join("regressions"), "std").into_iter().map(named).collect()
}

/// Returns a trace of `corpus/traces`, such as `derby` or `deadlock/Dbcp1`.
pub fn real(name: &str) -> Trace {
    let plain = folder().join("traces").join(format!("{name}.std"));
    let packed = plain.with_extension("std.gz");
    let text = if plain.exists() {
        text(&plain)
    } else {
        let file = fs::File::open(&packed).unwrap_or_else(|e| panic!("{}: {e}", packed.display()));
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|e| panic!("{name}: {e}"));
        text
    };
    parse_std(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The names of the traces of `corpus/traces/deadlock`, for [`real`].
pub fn deadlock_traces() -> Vec<String> {
    let stem = |file: PathBuf| format!("deadlock/{}", file.file_stem().expect("a file has a name").to_string_lossy());
    files(&folder().join("traces/deadlock"), "std").into_iter().map(stem).collect()
}

/// What published tools report on the traces of `corpus/traces`, by the name for [`real`].
pub fn published() -> BTreeMap<String, Published> {
    let file = folder().join("traces/published.toml");
    toml::from_str(&text(&file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Returns the files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|e| e.expect("the folder can be listed").path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_trace_is_there() {
        for (name, published) in published() {
            let trace = real(&name);
            assert_eq!(trace.len(), published.events, "{name}");
            Execution::derive(&trace).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        for name in deadlock_traces() {
            Execution::derive(real(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!((published().len(), deadlock_traces().len()), (9, 6));
    }

    #[test]
    fn every_case_claims_something_of_events_it_has() {
        let cases = cases();
        assert_eq!(cases.len(), 35);
        for case in &cases {
            let f = &case.facts;
            let pairs = f.race.iter().map(|r| &r.events).chain(f.both_next.iter().map(|r| &r.events));
            let edges = f.all_events.iter().flat_map(|a| &a.before).chain(&f.wcp.ordered).chain(&f.wcp.unordered);
            let mut claims = 0;
            for (a, b) in pairs.chain(edges) {
                assert_ne!(case.event(a), case.event(b));
                claims += 1;
            }
            claims += f.sequence.iter().map(|s| case.all(&s.events).len()).sum::<usize>();
            claims += f.triplet.len() + usize::from(f.deadlock.data.is_some());
            let sets = [&f.races.hb, &f.races.cp, &f.races.wcp, &f.races.data];
            claims += sets.iter().filter(|set| set.is_some()).count();
            assert!(claims > 0, "{} claims nothing", case.name);
        }
    }
}
