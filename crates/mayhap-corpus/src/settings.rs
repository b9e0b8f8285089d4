//! What to look for in every trace, as plain data: part of a result's key, and part of the first message to workers.

use std::path::PathBuf;
use std::time::Duration;

use mayhap_analyse::Options;
use mayhap_analyse::engines::EngineName;
use mayhap_detect::candidates;
use mayhap_predict::Budget;
use mayhap_trace::Trace;
use mayhap_witness::{Kind, Model};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What to look for, and how. Results of different settings are different results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The kinds of findings, by name.
    pub kinds: Vec<String>,
    /// The engine, by name.
    pub engine: String,
    /// Whether the engine is taken as its paper has it.
    pub as_published: bool,
    /// What reads must keep seeing, by name; `None` for each trace's default.
    pub model: Option<String>,
    /// Instances to try per group of candidates.
    pub instances: usize,
    /// Events between two accesses that count as one step.
    pub distance: usize,
    /// Threads in a deadlock.
    pub cycle: Option<usize>,
    /// Whether probably benign patterns are reported too.
    pub all_patterns: bool,
    /// Whether every pair of accesses is decided.
    pub all_instances: bool,
    /// What all candidates of a kind may take together; `None` for an amount that grows with the trace.
    pub effort: Option<u64>,
    /// Search decisions per answer.
    pub nodes: u64,
    /// Seconds per answer.
    pub seconds: Option<f64>,
    /// Events to reorder per answer.
    pub region: u32,
    /// Events per window; 0 for the whole trace at once.
    pub window: usize,
    /// Whether events that break a rule are dropped.
    pub repair: bool,
    /// Where source files may be besides where locations say.
    pub source_roots: Vec<PathBuf>,
}

/// What one task may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory that all workers may use together.
    pub memory: u64,
    /// How long one trace may take.
    pub time: Duration,
}

impl Limits {
    /// The least memory that a worker can do anything with.
    pub const LEAST: u64 = 64 << 20;
}

impl Settings {
    /// The same as one text, which is equal where the settings are.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("settings are names and numbers")
    }

    /// A setting in which these differ, by name, with both values.
    pub fn difference(&self, other: &Settings) -> Option<(String, String, String)> {
        let values = |settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(values)) => values,
            _ => unreachable!("settings are names and numbers"),
        };
        let other = values(other);
        let mut all = values(self).into_iter();
        let words = |value: Option<&serde_json::Value>| value.map_or_else(String::new, ToString::to_string);
        let (name, value) = all.find(|(name, value)| other.get(name) != Some(value))?;
        Some((name.replace('_', " "), value.to_string(), words(other.get(&name))))
    }

    /// The kinds, in the order in which they are looked for.
    fn kinds(&self) -> Result<Vec<Kind>, Error> {
        let kind = |name: &String| {
            let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            found.ok_or_else(|| Error::Setting(format!("unknown kind `{name}`")))
        };
        let mut kinds = self.kinds.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        // What comes first covers what comes later.
        kinds.sort();
        kinds.dedup();
        Ok(kinds)
    }

    /// What to predict in a trace, with so many threads.
    pub fn options(&self, trace: &Trace, threads: usize) -> Result<Options, Error> {
        let engine = EngineName::ALL.into_iter().find(|engine| engine.name() == self.engine);
        let engine = engine.ok_or_else(|| Error::Setting(format!("unknown engine `{}`", self.engine)))?;
        let model = self.model.as_deref().map(str::parse::<Model>).transpose().map_err(Error::Setting)?;
        let time = self.seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| Error::Setting(error.to_string()))?;
        Ok(Options {
            kinds: self.kinds()?,
            engine,
            literal: self.as_published,
            model: model.unwrap_or_else(|| Model::default_for(trace)),
            limits: candidates::Limits {
                instances: self.instances.max(1),
                distance: self.distance,
                cycle: self.cycle.unwrap_or(usize::MAX),
                all_patterns: self.all_patterns,
            },
            all_instances: self.all_instances,
            budget: Budget { nodes: self.nodes, time, region: self.region, ..Budget::default() },
            effort: self.effort,
            threads,
            halt: None,
            gauges: mayhap_analyse::Gauges::default(),
        })
    }
}
