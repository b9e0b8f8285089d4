//! Suppressions: rules that hide findings, in ThreadSanitizer's syntax.
//!
//! Each line is `type:pattern`; a line that starts with `#` is a comment. The types `race`, `race_top`, `deadlock` and `called_from_lib`
//! are ThreadSanitizer's. Its `thread`, `mutex` and `signal` are accepted but hide nothing, since mayhap has no such reports. The types
//! `atomicity`, `order` and `nondeterminism`, which work like `race`, and `fingerprint`, whose pattern is a finding's fingerprint or id,
//! are additions.
//!
//! A pattern matches anywhere in a name; `*` matches anything, `^` and `$` anchor it to the start and the end. The names are the functions
//! and files in a side's location and stack, those in the stack that started its thread, and the variable or lock itself. `race_top` looks
//! only at the innermost function, its file and the variable. `called_from_lib` looks at the files and modules below the innermost frame.

use crate::data::Report;
use crate::finding::{Finding, Kind, Side, Source};

/// What a rule applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Kind(Kind),
    RaceTop,
    CalledFromLib,
    Fingerprint,
    /// A ThreadSanitizer type for reports that mayhap does not have.
    Foreign,
}

/// One rule, and whether it has hidden anything.
#[derive(Clone, Debug)]
struct Rule {
    text: String,
    origin: String,
    sort: Sort,
    pattern: String,
    used: bool,
}

/// All rules, in the order of their files.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

/// A line that is not a valid rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BadRule {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Suppressions {
    /// Adds the rules of a file; `origin` names it in notes.
    pub fn add(&mut self, text: &str, origin: &str) -> Result<(), BadRule> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |message: String| BadRule { line: number, message };
            let (name, pattern) = line
                .split_once(':')
                .ok_or_else(|| bad(format!("`{line}` is not a suppression: expected type:pattern")))?;
            let sort = sort(name).ok_or_else(|| {
                bad(format!(
                    "unknown suppression type `{name}`: expected race, race_top, deadlock, called_from_lib, atomicity, order, \
                     nondeterminism, fingerprint (thread, mutex and signal are accepted and hide nothing)"
                ))
            })?;
            if pattern.is_empty() {
                return Err(bad("the pattern is empty".to_string()));
            }
            let origin = format!("{origin}:{number}");
            self.rules.push(Rule { text: line.to_string(), origin, sort, pattern: pattern.to_string(), used: false });
        }
        Ok(())
    }

    /// Marks the findings that a rule hides, counts them, and notes rules without effect.
    pub fn apply(&mut self, report: &mut Report) {
        for finding in &mut report.findings {
            for rule in &mut self.rules {
                if hides(rule, finding) {
                    rule.used = true;
                    finding.suppressed_by.get_or_insert_with(|| rule.text.clone());
                }
            }
        }
        report.summary.suppressed = report.findings.iter().filter(|f| f.suppressed_by.is_some()).count() as u64;
        for rule in &self.rules {
            match rule.sort {
                Sort::Foreign => report.notes.push(format!(
                    "suppression `{}` ({}) has no effect: mayhap has no reports of that type",
                    rule.text, rule.origin
                )),
                _ if !rule.used => {
                    report.notes.push(format!("suppression `{}` ({}) matched no finding", rule.text, rule.origin));
                }
                _ => {}
            }
        }
    }
}

fn sort(name: &str) -> Option<Sort> {
    Some(match name {
        "race_top" => Sort::RaceTop,
        "called_from_lib" => Sort::CalledFromLib,
        "fingerprint" => Sort::Fingerprint,
        "thread" | "mutex" | "signal" => Sort::Foreign,
        name => Sort::Kind(Kind::ALL.into_iter().find(|k| k.name() == name)?),
    })
}

fn hides(rule: &Rule, finding: &Finding) -> bool {
    let any = |mut names: Vec<&str>| {
        names.retain(|name| !name.is_empty());
        names.iter().any(|name| matches(&rule.pattern, name))
    };
    match rule.sort {
        Sort::Foreign => false,
        Sort::Fingerprint => any(vec![&finding.fingerprint, &finding.id]),
        Sort::Kind(kind) => finding.kind == kind && finding.events.iter().any(|side| any(names(side))),
        Sort::RaceTop => finding.kind == Kind::Race && finding.events.iter().any(|side| any(top(side))),
        Sort::CalledFromLib => finding.events.iter().any(|side| any(callers(side))),
    }
}

fn of_source(source: &Source) -> impl Iterator<Item = &str> {
    source.function.as_deref().into_iter().chain(source.file.as_deref())
}

fn top(side: &Side) -> Vec<&str> {
    let source = side.source.iter().flat_map(of_source);
    source.chain(side.location.as_deref()).chain([side.object.as_str()]).collect()
}

fn names(side: &Side) -> Vec<&str> {
    let created = side.created.iter().flat_map(|c| c.source.iter().chain(&c.stack));
    top(side).into_iter().chain(side.stack.iter().chain(created).flat_map(of_source)).collect()
}

fn callers(side: &Side) -> Vec<&str> {
    side.stack
        .iter()
        .skip(1)
        .flat_map(|frame| frame.file.as_deref().into_iter().chain(frame.function.as_deref()))
        .collect()
}

/// Matches a ThreadSanitizer pattern: a substring, with `*` for anything and `^` and `$` as anchors.
fn matches(pattern: &str, name: &str) -> bool {
    let (from_start, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (to_end, pattern) = match pattern.strip_suffix('$') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let parts: Vec<&str> = pattern.split('*').collect();
    let mut rest = name;
    for (i, part) in parts.iter().enumerate() {
        let first = i == 0 && from_start;
        let last = i + 1 == parts.len() && to_end;
        let found = match (first, last) {
            (true, true) => (rest == *part).then_some(rest.len()),
            (true, false) => rest.starts_with(part).then_some(part.len()),
            (false, true) => rest.ends_with(part).then_some(rest.len()),
            (false, false) => rest.find(part).map(|at| at + part.len()),
        };
        match found {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceInfo;
    use crate::places::source;

    #[test]
    fn patterns_are_those_of_thread_sanitizer() {
        for (pattern, name, expected) in [
            ("foo", "my_foo_bar", true),
            ("foo", "fo", false),
            ("^foo", "foobar", true),
            ("^foo", "myfoo", false),
            ("foo$", "myfoo", true),
            ("foo$", "foobar", false),
            ("^foo$", "foo", true),
            ("^foo$", "foofoo", false),
            ("a*c", "xabbbcx", true),
            ("^a*c$", "abc", true),
            ("^a*c$", "abcd", false),
            ("*", "anything", true),
            ("std::*::push", "std::vector<int>::push", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    fn report() -> Report {
        let side = |op: &str, object: &str, location: &str| Side {
            op: op.to_string(),
            object: object.to_string(),
            location: Some(location.to_string()),
            source: source(location),
            stack: [location, "caller lib/uses.c:3"].iter().filter_map(|l| source(l)).collect(),
            ..Side::default()
        };
        let finding = |id: &str, kind, object: &str| Finding {
            id: id.to_string(),
            fingerprint: format!("{id}-f"),
            kind,
            events: vec![side("w", object, "push src/q.c:3"), side("r", object, "pop src/q.c:9")],
            ..Finding::default()
        };
        let mut report = Report::new("0", TraceInfo::default(), "data");
        report.findings = vec![finding("race-1", Kind::Race, "head"), finding("deadlock-2", Kind::Deadlock, "m")];
        report
    }

    #[test]
    fn rules_hide_by_kind_function_file_object_and_fingerprint() {
        for (rule, hidden) in [
            ("race:^push$", vec!["race-1"]),
            ("race:src/q.c", vec!["race-1"]),
            ("race:^head$", vec!["race-1"]),
            ("race:caller", vec!["race-1"]),
            ("race_top:caller", vec![]),
            ("race_top:pop", vec!["race-1"]),
            ("deadlock:pop", vec!["deadlock-2"]),
            ("called_from_lib:lib/", vec!["race-1", "deadlock-2"]),
            ("fingerprint:race-1-f", vec!["race-1"]),
            ("fingerprint:^deadlock-2$", vec!["deadlock-2"]),
            ("mutex:pop", vec![]),
            ("race:nowhere", vec![]),
        ] {
            let (mut rules, mut report) = (Suppressions::default(), report());
            rules.add(&format!("# why\n\n  {rule}\n"), "supp.txt").unwrap();
            rules.apply(&mut report);
            let found: Vec<&str> =
                report.findings.iter().filter(|f| f.suppressed_by.is_some()).map(|f| f.id.as_str()).collect();
            assert_eq!(found, hidden, "{rule}");
            assert_eq!(report.summary.suppressed as usize, hidden.len());
            assert_eq!(report.notes.len(), usize::from(hidden.is_empty()), "{rule}: {:?}", report.notes);
        }
    }

    #[test]
    fn bad_rules_are_refused_with_their_line() {
        let error = |text: &str| Suppressions::default().add(text, "f").unwrap_err().to_string();
        assert!(error("race:a\nnonsense").starts_with("line 2: `nonsense` is not a suppression"));
        assert!(error("rcae:a").contains("unknown suppression type `rcae`"));
        assert!(error("race:").contains("the pattern is empty"));
    }
}
