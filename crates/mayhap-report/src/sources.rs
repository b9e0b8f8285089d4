//! The source lines that findings refer to. They are stored in the report so that it can be shown on any machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::data::{Report, SourceText};
use crate::expression;
use crate::finding::{Finding, Side, Source};
use crate::places::{self, spoken};

/// How many lines are kept before and after each line that a finding refers to.
const AROUND: u32 = 6;
/// Larger files are not treated as source.
const LARGEST: u64 = 16 << 20;
/// Longer lines are cut.
const LONGEST: usize = 1000;

impl Report {
    /// Reads the lines that the findings refer to, from the files that locations name or from files below one of `roots`. If a
    /// file does not exist, the lines that the report already has are kept.
    pub fn gather_sources(&mut self, roots: &[PathBuf]) {
        let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        let sides = self.findings.iter().flat_map(|f| &f.events).chain(self.refutation.iter().flat_map(|r| &r.events));
        let places = sides.flat_map(|side| {
            let created = side.created.iter().flat_map(|c| c.source.iter().chain(&c.stack));
            side.source.iter().chain(&side.stack).chain(created)
        });
        for place in places {
            if let Source { file: Some(file), line: Some(line), .. } = place {
                let lines = wanted.entry(file).or_default();
                lines.extend(line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND));
            }
        }
        let kept = std::mem::take(&mut self.sources);
        let of = |file: &str, lines: &BTreeSet<u32>| match read(file, lines, roots) {
            found if !found.is_empty() => found,
            _ => kept.iter().filter(|t| t.file == file).cloned().collect(),
        };
        self.sources = wanted.into_iter().flat_map(|(file, lines)| of(file, &lines)).collect();
        let mut findings = std::mem::take(&mut self.findings);
        for finding in &mut findings {
            for side in &mut finding.events {
                side.highlight = self.highlight(side);
            }
            self.name_memory(finding);
        }
        self.findings = findings;
        if let Some(mut refutation) = self.refutation.take() {
            refutation.events.iter_mut().for_each(|side| side.highlight = self.highlight(side));
            self.refutation = Some(refutation);
        }
    }

    /// The lines around a line: the number of the first one, and the lines. `None` if the line is not in the report.
    pub fn excerpt(&self, file: &str, line: u32, before: u32, after: u32) -> Option<(u32, &[String])> {
        let holds = |text: &&SourceText| {
            text.file == file && (text.from..text.from.saturating_add(text.lines.len() as u32)).contains(&line)
        };
        let text = self.sources.iter().find(holds)?;
        let first = text.from.max(line.saturating_sub(before));
        let end = (text.from + text.lines.len() as u32).min(line.saturating_add(after).saturating_add(1));
        Some((first, &text.lines[(first - text.from) as usize..(end - text.from) as usize]))
    }
}

impl Report {
    /// Puts what the source calls a piece of heap or stack memory into the title, if both accesses call it the same.
    fn name_memory(&self, finding: &mut Finding) {
        let [first, second, ..] = finding.events.as_slice() else { return };
        if first.object != second.object {
            return;
        }
        let Some(unnamed) = places::unnamed(&first.object) else { return };
        let expression = |side: &Side| {
            let source = side.source.as_ref()?;
            let (_, lines) = self.excerpt(source.file.as_deref()?, source.line?, 0, 0)?;
            // An access in a function that was called there is one to what that function was called on.
            let innermost =
                side.stack.first().is_none_or(|frame| (&frame.file, frame.line) == (&source.file, source.line));
            expression::at(lines.first()?, side.column?, !innermost)
        };
        let (Some(name), Some(other)) = (expression(first), expression(second)) else { return };
        if expression::last(&name) == expression::last(&other) {
            finding.title = finding.title.replacen(&spoken(&first.object), &format!("`{name}` ({unnamed})"), 1);
        }
    }

    /// Where the name of the side's object occurs in the line: the only occurrence, or the one nearest to the column of the
    /// access. A line without the name is marked at the column.
    fn highlight(&self, side: &Side) -> Option<[u32; 2]> {
        let source = side.source.as_ref()?;
        let (_, lines) = self.excerpt(source.file.as_deref()?, source.line?, 0, 0)?;
        let line = lines.first()?;
        // Look for the member as the source spells it, then for the variable that contains it.
        let path = side.object.split(['+', '#', '[']).next().and_then(|path| path.rsplit("::").next());
        let names = identifier(&side.object).map(|name| path.into_iter().chain([name]));
        let named = names.into_iter().flatten().find_map(|name| nearest(name, line, side.column));
        named.or_else(|| expression::columns_at(line, side.column?))
    }
}

/// The columns of a name in a source line: of its only occurrence, or of the one nearest to a column.
fn nearest(name: &str, line: &str, column: Option<u32>) -> Option<[u32; 2]> {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // Within a string literal it is only a word: an odd number of quotes comes before.
    let quoted = |at: usize| line[..at].replace("\\\"", "").matches('"').count() % 2 == 1;
    let whole = line.match_indices(name).filter(|(at, _)| {
        !part_of_word(line[..*at].chars().next_back())
            && !part_of_word(line[at + name.len()..].chars().next())
            && !quoted(*at)
    });
    let all: Vec<usize> = whole.map(|(at, _)| at).collect();
    let at = match (all.as_slice(), column) {
        (&[one], _) => one,
        (several, Some(column)) => *several.iter().min_by_key(|at| (**at as u32 + 1).abs_diff(column))?,
        _ => return None,
    };
    let from = line[..at].chars().count() as u32 + 1;
    Some([from, from + name.chars().count() as u32])
}

/// The name of a global as source code spells it: `ns::queue+8` is `queue`.
fn identifier(object: &str) -> Option<&str> {
    let name = object.split(['+', '#', '[', '.']).next()?.rsplit("::").next()?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

/// The wanted lines that a file contains, as runs of consecutive lines.
fn read(file: &str, wanted: &BTreeSet<u32>, roots: &[PathBuf]) -> Vec<SourceText> {
    let Some(text) = find(file, roots) else { return Vec::new() };
    let mut texts: Vec<SourceText> = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if !wanted.contains(&number) {
            continue;
        }
        let line: String = line.chars().take(LONGEST).collect();
        match texts.last_mut().filter(|t| t.from + t.lines.len() as u32 == number) {
            Some(text) => text.lines.push(line),
            None => texts.push(SourceText { file: file.to_string(), from: number, lines: vec![line] }),
        }
    }
    texts
}

/// Reads a file that a location names, as it is or below one of the roots.
fn find(file: &str, roots: &[PathBuf]) -> Option<String> {
    let candidates = std::iter::once(PathBuf::from(file)).chain(roots.iter().map(|root| root.join(file)));
    candidates.into_iter().find_map(|path| contents(&path))
}

fn contents(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, Side, TraceInfo};

    #[test]
    fn lines_around_what_is_spoken_of_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (1..=40).map(|i| format!("line {i}\n")).collect();
        std::fs::write(folder.path().join("a.c"), text).unwrap();
        let side = |line: u32| Side {
            source: Some(Source { file: Some("a.c".to_string()), line: Some(line), ..Source::default() }),
            ..Side::default()
        };
        let mut report = Report::new("0", TraceInfo::default(), "data");
        report.findings = vec![Finding { events: vec![side(3), side(38), side(90)], ..Finding::default() }];
        report.gather_sources(&[folder.path().to_path_buf()]);
        let spans: Vec<_> = report.sources.iter().map(|t| (t.from, t.lines.len())).collect();
        assert_eq!(spans, [(1, 9), (32, 9)]);
        let (first, lines) = report.excerpt("a.c", 3, 1, 1).unwrap();
        assert_eq!((first, lines), (2, &["line 2", "line 3", "line 4"].map(String::from)[..]));
        assert_eq!(report.excerpt("a.c", 40, 2, 9).unwrap().1.len(), 3);
        assert_eq!(report.excerpt("a.c", 20, 1, 1), None);
        assert_eq!(report.excerpt("b.c", 3, 1, 1), None);
    }

    #[test]
    fn the_object_is_marked_where_it_stands_once() {
        let mut report = Report::new("0", TraceInfo::default(), "data");
        let marked = |report: &mut Report, line: &str, object: &str| {
            report.sources = vec![SourceText { file: "a.c".to_string(), from: 1, lines: vec![line.to_string()] }];
            let source = Source { file: Some("a.c".to_string()), line: Some(1), ..Source::default() };
            report.highlight(&Side { object: object.to_string(), source: Some(source), ..Side::default() })
        };
        assert_eq!(marked(&mut report, r#"print("\"sum\" is", sum);"#, "sum"), Some([21, 24]));
        assert_eq!(marked(&mut report, "sum = sum + 1;", "sum"), None);
        assert_eq!(marked(&mut report, "é sums, sum_, ns::sum", "ns::sum+8"), Some([19, 22]));
        assert_eq!(marked(&mut report, "heap3", "main/heap3@a.c:1"), None);
        assert_eq!(marked(&mut report, "use(shop.price, shop.name);", "shop.price"), Some([5, 15]));
        assert_eq!(marked(&mut report, "use(shop->price);", "shop.price"), Some([5, 9]));
        assert_eq!(nearest("sum", "sum = sum + 1;", Some(7)), Some([7, 10]));
    }
}
