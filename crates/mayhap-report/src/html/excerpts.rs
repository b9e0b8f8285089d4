//! Source excerpts, each stored once however many findings refer to it.

use std::collections::HashMap;

use serde::Serialize;

use crate::{Report, Source};

/// How many lines are shown before and after the marked line.
const BEFORE: u32 = 3;
const AFTER: u32 = 2;

#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Excerpts<'r> {
    all: Vec<Excerpt<'r>>,
    #[serde(skip)]
    known: HashMap<(&'r str, u32), Option<usize>>,
    #[serde(skip)]
    report: &'r Report,
}

#[derive(Serialize)]
struct Excerpt<'r> {
    file: &'r str,
    /// The number of the first line.
    first: u32,
    lines: &'r [String],
}

impl<'r> Excerpts<'r> {
    /// Creates an empty table of excerpts from a report's lines.
    pub(super) fn of(report: &'r Report) -> Self {
        Excerpts { all: Vec::new(), known: HashMap::new(), report }
    }

    /// Returns the number of the excerpt around a place in the source.
    pub(super) fn around(&mut self, source: Option<&'r Source>) -> Option<usize> {
        let (file, line) = (source?.file.as_deref()?, source?.line?);
        let Excerpts { all, known, report } = self;
        *known.entry((file, line)).or_insert_with(|| {
            let (first, lines) = report.excerpt(file, line, BEFORE, AFTER)?;
            all.push(Excerpt { file, first, lines });
            Some(all.len() - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceText, TraceInfo};

    #[test]
    fn excerpts_stay_within_what_is_kept_and_are_shared() {
        let mut report = Report::new("0.1.0", TraceInfo::default(), "data");
        let lines = (5..=12).map(|n| format!("line {n}")).collect();
        report.sources = vec![SourceText { file: "a.c".to_string(), from: 5, lines }];
        let place = |file: &str, line| Source { file: Some(file.to_string()), line: Some(line), ..Source::default() };
        let places = [place("a.c", 6), place("a.c", 12), place("a.c", 6), place("a.c", 4), place("b.c", 6)];
        let mut excerpts = Excerpts::of(&report);
        let numbers: Vec<Option<usize>> = places.iter().map(|place| excerpts.around(Some(place))).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(0), None, None]);
        assert_eq!((excerpts.all[0].first, excerpts.all[0].lines.len()), (5, 4));
        assert_eq!(excerpts.all[1].lines, ["line 9", "line 10", "line 11", "line 12"]);
        assert_eq!(excerpts.around(None), None);
    }
}
