//! What an engine counted, as data that a report can carry.

/// Named figures in the order in which an engine lists them.
///
/// A name is one word or a path of words (`calls.HB1`), so that JSON can nest them; values are sums since the engine was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EngineCounters {
    /// Name and value of each figure.
    pub figures: Vec<(&'static str, u64)>,
}

impl EngineCounters {
    /// Returns the value of a figure; `None` if the engine does not count it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.figures.iter().find(|&&(n, _)| n == name).map(|&(_, value)| value)
    }
}
