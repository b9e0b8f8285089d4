//! How far long work has come, for a caller that shows it.

use std::fmt;
use std::sync::Arc;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Groups of candidates are decided.
    Deciding,
    /// Reads are looked at, and triplets counted.
    Reads,
}

/// Shows how far one stage has come; it is dropped when the stage is over.
pub trait Gauge: Send {
    /// So many of so many are done.
    fn set(&mut self, done: u64, of: u64);
}

/// Shows nothing.
struct Silent;

impl Gauge for Silent {
    fn set(&mut self, _done: u64, _of: u64) {}
}

/// Makes a gauge for a stage.
type Make = dyn Fn(Stage) -> Box<dyn Gauge> + Send + Sync;

/// Makes gauges; by default ones that show nothing.
#[derive(Clone, Default)]
pub struct Gauges(Option<Arc<Make>>);

impl Gauges {
    /// Gauges as `make` makes them.
    pub fn new(make: impl Fn(Stage) -> Box<dyn Gauge> + Send + Sync + 'static) -> Self {
        Gauges(Some(Arc::new(make)))
    }

    /// A stage begins.
    pub fn begin(&self, stage: Stage) -> Box<dyn Gauge> {
        self.0.as_ref().map_or_else(|| Box::new(Silent) as Box<dyn Gauge>, |make| make(stage))
    }
}

impl fmt::Debug for Gauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gauges")
    }
}
