//! What an exploration that is complete leaves behind: every run, and why there is no other.
//!
//! Runs form a tree: each has the steps of an earlier run up to a place, and its own from there on. For every two steps of a run that could have come in the other order
//! the manifest names the run that shows it. Nothing in it need be believed: [`crate::closure`] checks it.
//!
//! JSON, described in `docs/formats/manifest.md`.

use std::collections::HashMap;

use mayhap_record::TurnStep;
use serde::{Deserialize, Serialize};

use crate::faults::Faults;
pub use crate::outcome::Made;
use crate::races::{enabled_before, races};
use crate::sleep::{self, Child, Sleeping};
use crate::steps_text;
use crate::systematic::key;

/// How the format is called, and which version is written.
pub const FORMAT: &str = "mayhap-manifest";
pub(crate) const VERSION: u32 = 3;

/// All executions of a program on one input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// A text that differs between builds of it.
    pub build: Option<String>,
    /// What differs from run to run by itself was recorded.
    pub inputs: bool,
    /// Failures that were tried because they were asked for.
    #[serde(default, skip_serializing_if = "Faults::is_none")]
    pub faults: Faults,
    /// How many distinguishable executions there are.
    pub executions: u64,
    /// How many runs failed.
    pub failures: u64,
    /// Loops that wait were followed for a few rounds only.
    pub cut_loops: bool,
    /// For each execution, the first run that shows it.
    pub classes: Vec<Class>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// One distinguishable execution.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Class {
    /// The number of the run.
    pub run: u32,
    /// What went wrong in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The run whose steps it begins with, and how many of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<[u32; 2]>,
    /// Its further steps, as [`crate::steps_text`] writes them.
    pub steps: Vec<String>,
    /// It ended with exit code 0.
    pub success: bool,
    /// It was not made: all of its steps follow from runs that were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// Its class.
    pub class: u32,
    /// Two of its steps that could have come in the other order, and the run that shows it.
    pub reversals: Vec<Reversal>,
}

/// Why the other order of two steps is no further execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reversal {
    /// The number of the first step in the run.
    pub earlier: u32,
    /// The number of the second one.
    pub later: u32,
    /// The run that does the same up to the first step, and then lets a thread go on that leads to the second one. None if such a thread sleeps there, or if none can go on
    /// there: then for each that can there is a run.
    pub run: Option<u32>,
}

/// What a thread's step chose, and the state that it led to.
type Way = (Vec<u32>, usize);

/// States of the runs, named by the threads that lead there: which run came through first, where each thread leads from there, which threads were run there in the order of
/// their first runs, and which sleep there.
struct States {
    next: HashMap<(usize, u32), Vec<Way>>,
    first: Vec<u32>,
    children: Vec<Vec<Child>>,
    sleeping: Vec<Sleeping>,
}

impl Manifest {
    /// Of the runs of an exploration that is complete; `None` if it is not, after all.
    pub fn of(
        program: Vec<String>,
        build: Option<String>,
        (inputs, faults): (bool, Faults),
        made: &[Made],
    ) -> Option<Manifest> {
        let (children, sleeping) = (vec![Vec::new()], vec![Sleeping::from([])]);
        let mut states = States { next: HashMap::new(), first: vec![0], children, sleeping };
        let paths: Vec<Vec<usize>> =
            made.iter().enumerate().map(|(number, run)| states.add(number as u32, &run.steps)).collect();
        let mut manifest = Manifest {
            format: FORMAT.into(),
            version: VERSION,
            program,
            build,
            inputs,
            faults,
            executions: 0,
            failures: made.iter().filter(|run| run.failed.is_some()).count() as u64,
            cut_loops: false,
            classes: Vec::new(),
            runs: Vec::new(),
        };
        let mut classes: HashMap<u64, u32> = HashMap::new();
        for (number, (run, path)) in made.iter().zip(&paths).enumerate() {
            let class = *classes.entry(key(&run.steps)).or_insert_with(|| {
                manifest.classes.push(Class { run: number as u32, failed: run.failed.clone() });
                manifest.classes.len() as u32 - 1
            });
            let shared = path.iter().take_while(|state| states.first[**state] < number as u32).count();
            // The first state is shared by all.
            let shared = shared.saturating_sub(1).min(run.steps.len());
            let from = (number > 0).then(|| [states.first[path[shared]], shared as u32]);
            let own = &run.steps[if from.is_some() { shared } else { 0 }..];
            let found = races(&run.steps);
            manifest.cut_loops |= found.cut_loops;
            manifest.runs.push(Run {
                from,
                steps: own.iter().map(steps_text::text).collect(),
                success: run.success,
                derived: run.is_derived,
                class,
                reversals: states.reversals(&run.steps, path)?,
            });
        }
        manifest.executions = manifest.classes.len() as u64;
        Some(manifest)
    }
}

impl States {
    /// The states that a run comes through, before its first step and after each.
    fn add(&mut self, number: u32, steps: &[TurnStep]) -> Vec<usize> {
        let mut path = vec![0];
        let mut at = 0;
        for step in steps {
            let chosen: Vec<u32> = step.choices().map(|(.., taken)| taken).collect();
            let ways = self.next.entry((at, step.thread)).or_default();
            at = match ways.iter().find(|(known, _)| *known == chosen) {
                Some((_, next)) => *next,
                None => {
                    if ways.is_empty() {
                        self.children[at].push(Child::of(step));
                    }
                    self.first.push(number);
                    ways.push((chosen, self.first.len() - 1));
                    self.children.push(Vec::new());
                    let before = sleep::before(&self.children[at], step.thread);
                    self.sleeping.push(sleep::after(&self.sleeping[at], before, step));
                    self.first.len() - 1
                }
            };
            path.push(at);
        }
        path
    }

    /// For each two steps that could have come in the other order, the run that shows it; `None` if one is not shown.
    fn reversals(&self, steps: &[TurnStep], path: &[usize]) -> Option<Vec<Reversal>> {
        let enabled = enabled_before(steps);
        let mut reversals: Vec<Reversal> = Vec::new();
        let sleeps = |at: usize, thread: u32| self.sleeping[path[at]].iter().any(|child| child.thread == thread);
        // From here on, other runs stand for this one.
        let end = steps.iter().enumerate().position(|(at, step)| sleeps(at, step.thread)).unwrap_or(steps.len());
        for race in races(steps).races.iter().filter(|race| race.later < end) {
            let (earlier, later) = (race.earlier as u32, race.later as u32);
            if reversals.iter().any(|known| (known.earlier, known.later) == (earlier, later)) {
                continue;
            }
            let state = path[race.earlier];
            let shows = |thread: &u32| self.next.get(&(state, *thread)).map(|ways| self.first[ways[0].1]);
            let is_asleep = race.initials.iter().any(|thread| sleeps(race.earlier, *thread));
            let run = race.initials.iter().find_map(shows).filter(|_| !is_asleep);
            let none_left = || enabled[race.earlier].iter().all(|t| shows(t).is_some() || sleeps(race.earlier, *t));
            if run.is_none() && !is_asleep && !none_left() {
                return None;
            }
            reversals.push(Reversal { earlier, later, run });
        }
        Some(reversals)
    }
}
