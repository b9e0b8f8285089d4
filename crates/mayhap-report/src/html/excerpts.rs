//! Source excerpts: each stretch of lines once, however many findings point at it.

use std::collections::HashMap;

use serde::Serialize;

use crate::Source;

/// Lines shown before and after the one that a finding is about.
const BEFORE: usize = 3;
const AFTER: usize = 2;
/// A line longer than this is cut: generated code has lines that nobody reads.
const LONGEST: usize = 400;

#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Excerpts<'s> {
    all: Vec<Excerpt>,
    #[serde(skip)]
    known: HashMap<(String, u32), Option<usize>>,
    #[serde(skip)]
    files: HashMap<String, Option<Vec<String>>>,
    #[serde(skip)]
    read: &'s dyn Fn(&str) -> Option<String>,
}

#[derive(Serialize)]
struct Excerpt {
    file: String,
    /// The number of the first line.
    first: usize,
    lines: Vec<String>,
}

impl<'s> Excerpts<'s> {
    /// `read` gives the text of a file, if it is to be had.
    pub(super) fn new(read: &'s dyn Fn(&str) -> Option<String>) -> Self {
        Excerpts { all: Vec::new(), known: HashMap::new(), files: HashMap::new(), read }
    }

    /// The number of the excerpt around a place in the source.
    pub(super) fn around(&mut self, source: Option<&Source>) -> Option<usize> {
        let (file, line) = (source?.file.as_ref()?, source?.line?);
        if let Some(&known) = self.known.get(&(file.clone(), line)) {
            return known;
        }
        let number = self.cut(file, line as usize).map(|excerpt| {
            self.all.push(excerpt);
            self.all.len() - 1
        });
        self.known.insert((file.clone(), line), number);
        number
    }

    fn cut(&mut self, file: &str, line: usize) -> Option<Excerpt> {
        let read = self.read;
        let lines = self.files.entry(file.to_string()).or_insert_with(|| {
            read(file).map(|text| text.lines().map(|l| l.chars().take(LONGEST).collect()).collect())
        });
        let lines = lines.as_ref()?;
        if line == 0 || line > lines.len() {
            return None;
        }
        let first = line.saturating_sub(BEFORE).max(1);
        let last = (line + AFTER).min(lines.len());
        Some(Excerpt { file: file.to_string(), first, lines: lines[first - 1..last].to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(file: &str, line: u32) -> Source {
        Source { file: Some(file.to_string()), line: Some(line), ..Source::default() }
    }

    #[test]
    fn excerpts_stay_within_the_file_and_are_shared() {
        let text = |file: &str| (file == "a.c").then(|| (1..=10).map(|n| format!("line {n}\n")).collect());
        let mut excerpts = Excerpts::new(&text);
        let number = excerpts.around(Some(&source("a.c", 2)));
        assert_eq!(number, Some(0));
        assert_eq!((excerpts.all[0].first, excerpts.all[0].lines.len()), (1, 4));
        assert_eq!(excerpts.around(Some(&source("a.c", 10))), Some(1));
        assert_eq!(excerpts.all[1].lines, ["line 7", "line 8", "line 9", "line 10"]);
        assert_eq!(excerpts.around(Some(&source("a.c", 2))), Some(0));
        for absent in [source("a.c", 0), source("a.c", 11), source("b.c", 1)] {
            assert_eq!(excerpts.around(Some(&absent)), None);
        }
        assert_eq!(excerpts.around(None), None);
    }
}
