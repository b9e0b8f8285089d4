//! Counts, the file that keeps them, and the table that compares two sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

/// A count may exceed the stored one by this fraction before it is a loss.
const TOLERANCE: f64 = 0.05;

/// Instruction counts by workload.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Counts {
    /// The compilers that built what was counted.
    compilers: String,
    counts: BTreeMap<String, u64>,
    /// The workloads in the order of the table.
    #[serde(skip)]
    order: Vec<String>,
}

impl Counts {
    /// No counts yet.
    pub(crate) fn new(compilers: String) -> Self {
        Counts { compilers, counts: BTreeMap::new(), order: Vec::new() }
    }

    /// Adds the count of a workload.
    pub(crate) fn add(&mut self, name: &str, count: u64) {
        self.order.push(name.to_string());
        self.counts.insert(name.to_string(), count);
    }

    /// Reads the file.
    pub(crate) fn read(file: &Path) -> Result<Counts, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Writes the file.
    pub(crate) fn write(&self, file: &Path) -> Result<(), String> {
        let mut text = String::from(
            "# Instructions of each workload of bench/instructions, which compares them and rewrites this file with --update.\n",
        );
        let _ = writeln!(text, "compilers = \"{}\"\n\n[counts]", self.compilers);
        for name in &self.order {
            let _ = writeln!(text, "\"{name}\" = {}", self.counts[name]);
        }
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Whether the counts are of the same compilers.
    pub(crate) fn is_comparable(&self, stored: &Counts) -> bool {
        self.compilers == stored.compilers
    }

    /// How many times as many instructions a workload takes now.
    fn ratio(&self, stored: &Counts, name: &str) -> Option<f64> {
        Some(self.counts[name] as f64 / *stored.counts.get(name)? as f64)
    }

    /// Counts the workloads that take more than the tolerance more than stored, or that the file does not have.
    pub(crate) fn losses(&self, stored: &Counts) -> usize {
        self.order.iter().filter(|name| self.ratio(stored, name).is_none_or(|ratio| ratio > 1.0 + TOLERANCE)).count()
    }

    /// The table, with what is stored where there is something to compare with.
    pub(crate) fn table(&self, stored: Option<&Counts>) -> String {
        let mut text = format!("{:<30} {:>14} {:>14} {:>9}\n", "workload", "stored", "now", "change");
        for name in &self.order {
            let now = self.counts[name];
            let old = stored.and_then(|stored| stored.counts.get(name));
            let change = stored.and_then(|stored| self.ratio(stored, name)).map(|ratio| 100.0 * (ratio - 1.0));
            let remark = match change {
                Some(change) if change > 100.0 * TOLERANCE => "  LOSS",
                Some(change) if change < -100.0 * TOLERANCE => "  gain: run bench/instructions --update",
                None if stored.is_some() => "  NEW: run bench/instructions --update",
                _ => "",
            };
            let old = old.map_or("-".to_string(), u64::to_string);
            let change = change.map_or("-".to_string(), |change| format!("{change:+.2} %"));
            let _ = writeln!(text, "{name:<30} {old:>14} {now:>14} {change:>9}{remark}");
        }
        if let Some(stored) = stored.filter(|stored| !self.is_comparable(stored)) {
            let _ = writeln!(text, "note: not comparable, since the stored counts are of {}", stored.compilers);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(all: &[(&str, u64)]) -> Counts {
        let mut counts = Counts::new("rustc 1".into());
        all.iter().for_each(|(name, count)| counts.add(name, *count));
        counts
    }

    #[test]
    fn more_than_five_per_cent_is_a_loss() {
        let stored = counts(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let now = counts(&[("a", 1049), ("b", 1051), ("c", 900)]);
        assert_eq!(now.losses(&stored), 1);
        let table = now.table(Some(&stored));
        assert!(table.lines().any(|line| line.starts_with('b') && line.ends_with("+5.10 %  LOSS")), "{table}");
        assert!(table.lines().any(|line| line.starts_with('c') && line.contains("gain")), "{table}");
        assert_eq!(counts(&[("d", 1)]).losses(&stored), 1, "a workload without a stored count must be entered");
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("counts.toml");
        let written = counts(&[("hooks locks, not recorded", 7), ("kernel", 12)]);
        written.write(&file).unwrap();
        let read = Counts::read(&file).unwrap();
        assert_eq!((read.compilers, read.counts), (written.compilers, written.counts));
    }
}
