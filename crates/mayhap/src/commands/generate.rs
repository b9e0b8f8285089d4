//! `mayhap generate`: random traces of a given shape.

use std::io::Write;
use std::path::PathBuf;

use crate::input::Opened;
use crate::notes::note;
use crate::transfer::transfer;
use crate::{Exit, Failure};
use mayhap_generate::{Generator, Shape};
use mayhap_trace::format::StdOptions;

/// Write a random trace of a given shape
///
/// The trace looks like that of a program in which one lock guards each shared variable, critical sections nest in one
/// global lock order, and the scheduler switches threads now and then, even inside critical sections. The main thread
/// forks all other threads at the start and joins them at the end. Unless --protected is below 1, the only races and
/// deadlocks are the planted ones, and each of them can happen in every model.
///
/// The same options always give the same bytes. Events are written as they are generated, so memory use is small.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File to write: .std, .mhp or .data, optionally followed by .gz or .zst
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Exact number of events; suffixes such as 10M and 2k are accepted
    #[arg(long, value_name = "N", value_parser = count::<u64>, default_value_t = Shape::default().events)]
    events: u64,

    /// Number of threads, main included
    #[arg(long, value_name = "N", value_parser = count::<u32>, default_value_t = Shape::default().threads)]
    threads: u32,

    /// Number of locks
    #[arg(long, value_name = "N", value_parser = count::<u32>, default_value_t = Shape::default().locks)]
    locks: u32,

    /// Number of variables; half of them are shared, the rest are divided among the threads
    #[arg(long, value_name = "N", value_parser = count::<u32>, default_value_t = Shape::default().variables)]
    variables: u32,

    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Number of races to plant, each on a separate variable that is accessed exactly twice
    #[arg(long, value_name = "N", value_parser = count::<u64>, default_value_t = 0, help_heading = "Planted bugs")]
    races: u64,

    /// Fraction of the planted races that happens-before misses because a lock orders the accesses in this run
    #[arg(long, value_name = "PART", default_value_t = Shape::default().hidden, help_heading = "Planted bugs")]
    hidden: f64,

    /// Number of deadlocks to plant, each by two threads that nest two separate locks in opposite orders
    #[arg(long, value_name = "N", value_parser = count::<u64>, default_value_t = 0, help_heading = "Planted bugs")]
    deadlocks: u64,

    /// Fraction of the accesses that go to shared variables
    #[arg(long, value_name = "PART", default_value_t = Shape::default().sharing, help_heading = "Shape")]
    sharing: f64,

    /// Fraction of the accesses to shared variables that hold the lock; the others may race
    #[arg(long, value_name = "PART", default_value_t = Shape::default().protected, help_heading = "Shape")]
    protected: f64,

    /// Fraction of the accesses that are reads
    #[arg(long, value_name = "PART", default_value_t = Shape::default().reads, help_heading = "Shape")]
    reads: f64,

    /// Maximum nesting depth of critical sections
    #[arg(long, value_name = "N", default_value_t = Shape::default().nesting, help_heading = "Shape")]
    nesting: u32,

    /// Mean number of accesses in a critical section
    #[arg(long, value_name = "N", default_value_t = Shape::default().section, help_heading = "Shape")]
    section: u32,

    /// Fraction of the critical sections that take their lock as a reader, and only read
    #[arg(long, value_name = "PART", default_value_t = Shape::default().readers, help_heading = "Shape")]
    readers: f64,

    /// Mean number of events that a thread runs before another takes over
    #[arg(long, value_name = "N", default_value_t = Shape::default().run, help_heading = "Shape")]
    run: u32,

    /// Fraction of the thread switches due inside a critical section that happen there instead of at its end
    #[arg(long, value_name = "PART", default_value_t = Shape::default().preemption, help_heading = "Shape")]
    preemption: f64,

    /// Fraction of the reads that are followed by a branch
    #[arg(long, value_name = "PART", default_value_t = Shape::default().branches, help_heading = "Shape")]
    branches: f64,

    /// Fraction of the events outside critical sections that wait for or notify a condition
    #[arg(long, value_name = "PART", default_value_t = Shape::default().signals, help_heading = "Shape")]
    signals: f64,
}

impl Args {
    fn shape(&self) -> Shape {
        Shape {
            events: self.events,
            threads: self.threads,
            locks: self.locks,
            variables: self.variables,
            seed: self.seed,
            sharing: self.sharing,
            protected: self.protected,
            reads: self.reads,
            nesting: self.nesting,
            section: self.section,
            readers: self.readers,
            run: self.run,
            preemption: self.preemption,
            branches: self.branches,
            signals: self.signals,
            races: self.races,
            hidden: self.hidden,
            deadlocks: self.deadlocks,
        }
    }

    pub(super) fn run(self, _out: &mut dyn Write) -> Result<Exit, Failure> {
        let shape = self.shape();
        if shape.hidden > 0.0 && (shape.locks == 0 || shape.sharing == 0.0) && shape.races > 0 {
            note(
                "without locks and shared variables no race can be hidden from happens-before: all are planted as plain races",
            );
        }
        let generator = Generator::new(shape).map_err(Failure::new)?;
        let mut generator = Opened::new("generating", Box::new(generator)).of_events(self.events);
        transfer(&mut generator, &[], &self.output, StdOptions::default(), Failure::new)?;
        Ok(Exit::Nothing)
    }
}

/// Parses a count, with an optional `k`, `M` or `G` for thousands, millions or billions.
pub(super) fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number such as 5000, 5k, 5M or 5G".to_string())?;
    let number = number.checked_mul(unit).and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| "the number is too large".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units() {
        assert_eq!(count::<u64>("42"), Ok(42));
        assert_eq!(count::<u64>("10M"), Ok(10_000_000));
        assert_eq!(count::<u32>("5G"), Err("the number is too large".to_string()));
        assert!(count::<u64>("").is_err() && count::<u64>("k").is_err() && count::<u64>("1é").is_err());
    }
}
