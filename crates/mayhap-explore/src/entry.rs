//! What a journal keeps of a run: what was made, and all that was learnt from it.

use mayhap_record::UnorderedPair;
use serde::{Deserialize, Serialize};

use crate::explorer::Next;
use crate::outcome::Outcome;
use crate::run::Attempt;
use crate::steps_text;
use mayhap_wire::ring::Schedule;

/// A run that was made, as it is kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry<T> {
    /// What was asked for.
    pub made: Next,
    /// What was learnt.
    pub outcome: Outcome,
    /// What else came of it.
    pub rest: T,
}

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    schedule: String,
    slice: u32,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turns: Option<Vec<[u32; 2]>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unseen: Vec<String>,
    late: bool,
    too_long: bool,
    success: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    races: Vec<UnorderedPair>,
    rest: T,
}

/// Schedules and their names.
const SCHEDULES: [(Schedule, &str); 5] = [
    (Schedule::Free, "free"),
    (Schedule::Random, "random"),
    (Schedule::Pct, "pct"),
    (Schedule::Pos, "pos"),
    (Schedule::Turns, "turns"),
];

/// The name of a schedule, as `mayhap record --schedule` takes it.
pub fn name(schedule: Schedule) -> &'static str {
    SCHEDULES.iter().find(|(known, _)| *known == schedule).map_or("free", |(_, name)| name)
}

impl<T: Serialize + for<'de> Deserialize<'de>> Entry<T> {
    /// As bytes for a journal.
    pub fn to_bytes(self) -> Vec<u8> {
        let (attempt, turns) = match self.made {
            Next::Drawn(attempt) => (attempt, None),
            Next::Turns(turns, attempt) => (attempt, Some(turns)),
        };
        let kept = Kept {
            schedule: name(attempt.schedule).into(),
            slice: attempt.slice,
            seed: attempt.seed,
            turns,
            steps: self.outcome.steps.iter().map(steps_text::text).collect(),
            unseen: self.outcome.unseen,
            late: self.outcome.late,
            too_long: self.outcome.too_long,
            success: self.outcome.success,
            races: self.outcome.races,
            rest: self.rest,
        };
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    /// From the bytes of a journal; the error says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Entry<T>, String> {
        let kept: Kept<T> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let schedule = SCHEDULES.iter().find(|(_, name)| *name == kept.schedule);
        let (schedule, _) = schedule.ok_or_else(|| format!("no schedule is called `{}`", kept.schedule))?;
        let attempt = Attempt { schedule: *schedule, slice: kept.slice, seed: kept.seed };
        let steps = kept.steps.iter().map(|text| steps_text::step(text).ok_or_else(|| format!("no step: `{text}`")));
        let outcome = Outcome {
            steps: steps.collect::<Result<_, _>>()?,
            unseen: kept.unseen,
            late: kept.late,
            too_long: kept.too_long,
            success: kept.success,
            races: kept.races,
        };
        let made = match kept.turns {
            Some(turns) => Next::Turns(turns, attempt),
            None => Next::Drawn(attempt),
        };
        Ok(Entry { made, outcome, rest: kept.rest })
    }
}

#[cfg(test)]
mod tests {
    use mayhap_record::{Operation, TurnStep};

    use super::*;
    use crate::run::IN_TURNS;

    #[test]
    fn entries_survive_being_kept() {
        let step = TurnStep { thread: 1, code: 5, operations: vec![Operation::Write(64, 4), Operation::End] };
        let outcome = Outcome {
            steps: vec![step],
            unseen: vec!["the clock".into()],
            success: true,
            races: vec![[3, u64::MAX]],
            ..Outcome::default()
        };
        let entry = Entry { made: Next::Turns(vec![[0, 3], [1, 1]], IN_TURNS), outcome, rest: vec![1, 2] };
        assert_eq!(Entry::from_bytes(&entry.clone().to_bytes()), Ok(entry));
        let drawn = Attempt { schedule: Schedule::Pos, slice: 5, seed: 7 };
        let entry = Entry { made: Next::Drawn(drawn), outcome: Outcome::default(), rest: "x".to_string() };
        assert_eq!(Entry::from_bytes(&entry.clone().to_bytes()), Ok(entry));
        assert!(Entry::<u8>::from_bytes(b"{}").is_err());
    }
}
