//! How far deciding nondeterministic reads has come, for all workers together.

use std::sync::Mutex;

use crate::{Gauge, Options, Stage, UNPOISONED};

/// How many triplets were looked at, shown as it grows.
pub(crate) struct Progress {
    state: Mutex<(Box<dyn Gauge>, u64)>,
    all: u64,
}

impl Progress {
    pub(crate) fn new(options: &Options, all: u64) -> Self {
        Progress { state: Mutex::new((options.gauges.begin(Stage::Reads), 0)), all }
    }

    pub(crate) fn add(&self, triplets: u64) {
        let mut state = self.state.lock().expect(UNPOISONED);
        state.1 = (state.1 + triplets).min(self.all);
        let done = state.1;
        state.0.set(done, self.all);
    }
}
