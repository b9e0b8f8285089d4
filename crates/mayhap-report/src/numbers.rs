//! Serialises lists of numbers as runs: a number, or the first and the last of several that follow each other.
//!
//! A schedule is mostly the recorded run, whose events are numbered in its order, so a schedule of thousands of steps is a handful of
//! runs. A schedule is written without building that list.

use std::ops::Range;

use mayhap_trace::EventId;
use mayhap_witness::Schedule;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, or the first and the last of several.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Run {
    One(u64),
    Several([u64; 2]),
}

/// Two numbers are shorter one after the other.
const LEAST: usize = 3;

fn runs(range: Range<u64>) -> impl Iterator<Item = Run> {
    let several = range.end - range.start >= LEAST as u64;
    let ones = if several { 0..0 } else { range.clone() };
    several.then_some(Run::Several([range.start, range.end - 1])).into_iter().chain(ones.map(Run::One))
}

/// Writes a schedule as event numbers.
pub(crate) fn serialize<S: Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
    let number = |index: usize| EventId::at(index).number();
    serializer.collect_seq(schedule.ranges().flat_map(|range| runs(number(range.start)..number(range.end - 1) + 1)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
    deserializer.deserialize_seq(Numbers)
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Schedule;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a list of event numbers, from 1, and of pairs of a first and a last one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Schedule, A::Error> {
        let mut schedule = Schedule::default();
        while let Some(run) = list.next_element()? {
            let [first, last] = match run {
                Run::One(number) => [number; 2],
                Run::Several(ends) => ends,
            };
            let event = |number: u64| {
                let wrong = || Error::invalid_value(Unexpected::Unsigned(number), &self);
                EventId::from_number(number).ok_or_else(wrong)
            };
            schedule.push_range(event(first)?.index()..event(last)?.index() + 1);
        }
        Ok(schedule)
    }
}

/// Positions in a table, as runs.
pub(crate) mod positions {
    use super::{Deserialize, Deserializer, Error, Run, Serializer, runs};

    pub(crate) fn serialize<S: Serializer>(positions: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let runs_of = positions.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        serializer.collect_seq(runs_of.flat_map(|run| runs(run[0].into()..u64::from(run[0]) + run.len() as u64)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        /// No schedule in a report has more rows.
        const MOST: usize = 100_000_000;
        let mut positions: Vec<u32> = Vec::new();
        for run in Vec::<Run>::deserialize(deserializer)? {
            let [first, last] = match run {
                Run::One(number) => [number; 2],
                Run::Several(ends) => ends,
            };
            let position = |number: u64| u32::try_from(number).map_err(|_| D::Error::custom("no such row"));
            let (first, last) = (position(first)?, position(last)?);
            if (last.saturating_sub(first) as usize).saturating_add(positions.len()) > MOST {
                return Err(D::Error::custom("too many rows"));
            }
            positions.extend(first..=last);
        }
        Ok(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Both {
        #[serde(with = "super")]
        schedule: Schedule,
        #[serde(with = "positions")]
        rows: Vec<u32>,
    }

    fn both(numbers: &[u64], rows: &[u32]) -> Both {
        let schedule = numbers.iter().filter_map(|&number| EventId::from_number(number)).collect();
        Both { schedule, rows: rows.to_vec() }
    }

    #[test]
    fn numbers_that_follow_each_other_are_written_as_the_first_and_the_last() {
        let both = both(&[1, 2, 3, 4, 9, 10, 7, 6], &[5, 6, 7, 0, 1, 3]);
        let text = serde_json::to_string(&both).unwrap();
        assert_eq!(text, r#"{"schedule":[[1,4],9,10,7,6],"rows":[[5,7],0,1,3]}"#);
        assert_eq!(serde_json::from_str::<Both>(&text).unwrap(), both);
    }

    #[test]
    fn plain_lists_are_read_and_wrong_numbers_refused() {
        let read = |text: &str| serde_json::from_str::<Both>(text);
        assert_eq!(read(r#"{"schedule":[1,2,3],"rows":[0,1,2]}"#).unwrap(), both(&[1, 2, 3], &[0, 1, 2]));
        assert!(read(r#"{"schedule":[0],"rows":[]}"#).is_err());
        assert!(read(r#"{"schedule":[],"rows":[[0,4294967295]]}"#).is_err());
        assert!(read(r#"{"schedule":[],"rows":[5000000000]}"#).is_err());
        // What runs backwards is no run.
        assert_eq!(read(r#"{"schedule":[[5,3]],"rows":[[5,3]]}"#).unwrap(), both(&[], &[]));
    }
}
