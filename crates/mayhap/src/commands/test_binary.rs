//! The tests of one C++ test binary: GoogleTest and Catch2 list their tests, and run one of them if its name is given.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Failure;

/// A framework whose tests can be listed and chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framework {
    Google,
    Catch,
}

impl Framework {
    /// The framework of a test binary, by the names of functions in it, or in its symbols if the framework is a library.
    pub(super) fn of(program: &OsStr) -> Option<Framework> {
        let bytes = std::fs::read(program).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
        let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
        if has(b"N7testing8UnitTest") {
            Some(Framework::Google)
        } else {
            has(b"N5Catch7Session").then_some(Framework::Catch)
        }
    }

    /// The tests that a test binary would run with these arguments: the name of each, and the program that runs it alone.
    pub(super) fn tests(self, program: &[OsString]) -> Result<Vec<(String, Vec<OsString>)>, Failure> {
        let path = Path::new(&program[0]);
        let question: &[&str] = match self {
            Framework::Google => &["--gtest_list_tests"],
            Framework::Catch => &["--list-tests", "--verbosity", "quiet"],
        };
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).args(question).stdin(Stdio::null());
        let output =
            command.output().map_err(|error| Failure::at(path, format_args!("cannot run it: {error}")).not_run())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = match self {
            Framework::Google => google(&text),
            Framework::Catch => catch(&text),
        };
        if names.is_empty() {
            return Err(Failure::at(path, "it lists no tests").not_run());
        }
        Ok(names.into_iter().map(|name| (name.clone(), self.alone(program, &name))).collect())
    }

    /// The program that runs one test.
    fn alone(self, program: &[OsString], name: &str) -> Vec<OsString> {
        let is_choice = |word: &OsString| match self {
            Framework::Google => word.to_string_lossy().starts_with("--gtest_filter"),
            Framework::Catch => !word.to_string_lossy().starts_with('-'),
        };
        let choice = match self {
            Framework::Google => format!("--gtest_filter={name}"),
            Framework::Catch => escaped(name),
        };
        let words = program[1..].iter().filter(|word| !is_choice(word)).cloned();
        [program[0].clone()].into_iter().chain(words).chain([choice.into()]).collect()
    }
}

/// The names in what `--gtest_list_tests` prints: suites end in a point, and their tests follow, each after two spaces. Tests that are disabled are not run.
fn google(text: &str) -> Vec<String> {
    let mut suite = "";
    let mut names = Vec::new();
    for line in text.lines() {
        let word = line.trim().split(' ').next().unwrap_or_default();
        if !line.starts_with(' ') {
            suite = if word.ends_with('.') { word } else { "" };
        } else if !suite.is_empty() && !word.is_empty() {
            let is_disabled = |name: &str| name.split('/').any(|part| part.starts_with("DISABLED_"));
            if !is_disabled(suite) && !is_disabled(word) {
                names.push(format!("{suite}{word}"));
            }
        }
    }
    names
}

/// The names in what Catch2 prints if it is to be quiet: one on each line.
fn catch(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

/// A name as Catch2 takes it: some characters mean something else.
fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|c| ['\\'].into_iter().filter(move |_| matches!(c, ',' | '[' | ']' | '*' | '\\' | '"')).chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_what_frameworks_print() {
        let printed = "Running main() from gtest_main.cc\nQueue.\n  Empty\n  DISABLED_Later\nMany/Sizes.\n  Fill/0  # GetParam() = 1\n  Fill/1  # GetParam() = 2\nDISABLED_Old.\n  One\n";
        assert_eq!(google(printed), ["Queue.Empty", "Many/Sizes.Fill/0", "Many/Sizes.Fill/1"]);
        assert_eq!(catch("a queue is empty\n\nfill, then [drain]\n"), ["a queue is empty", "fill, then [drain]"]);
        assert_eq!(escaped("fill, then [drain]"), "fill\\, then \\[drain\\]");
    }

    #[test]
    fn a_test_is_run_by_its_name_in_place_of_other_choices() {
        let words = ["./tests", "--gtest_filter=Q*", "--gtest_repeat=2"].map(OsString::from);
        let alone = Framework::Google.alone(&words, "Queue.Empty");
        assert_eq!(alone, ["./tests", "--gtest_repeat=2", "--gtest_filter=Queue.Empty"]);
        assert_eq!(Framework::of(OsStr::new("/bin/true")), None);
    }
}
