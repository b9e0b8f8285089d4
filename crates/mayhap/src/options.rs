//! `MAYHAP_OPTIONS`: settings from the environment as sanitizers have them, `key=value` separated by colons or spaces.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::Failure;
use crate::output::When;

/// The settings of the environment. Command-line options take precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// A file for the report instead of standard output; the process id is appended to its name.
    pub log_path: Option<PathBuf>,
    /// The exit code when there are findings.
    pub exitcode: Option<u8>,
    /// Whether to stop at the first error.
    pub halt_on_error: bool,
    /// Files of rules that hide findings.
    pub suppressions: Vec<PathBuf>,
    /// Whether to use colours.
    pub color: Option<When>,
    /// A value above 0 prints all findings in full.
    pub verbosity: Option<u32>,
}

const KEYS: &str = "log_path, exitcode, halt_on_error, suppressions, color, verbosity";

impl Environment {
    /// Reads `MAYHAP_OPTIONS`.
    pub fn read() -> Result<Environment, Failure> {
        match std::env::var("MAYHAP_OPTIONS") {
            Ok(text) => Self::parse(&text).map_err(|e| Failure::new(format_args!("MAYHAP_OPTIONS: {e}"))),
            Err(std::env::VarError::NotPresent) => Ok(Environment::default()),
            Err(std::env::VarError::NotUnicode(_)) => Err(Failure::new("MAYHAP_OPTIONS is not UTF-8")),
        }
    }

    fn parse(text: &str) -> Result<Environment, String> {
        let mut all = Environment::default();
        for (key, value) in settings(text)? {
            let wrong = |wanted: &str| format!("{key}={value}: expected {wanted}");
            match key.as_str() {
                "log_path" => all.log_path = log_path(&value),
                "exitcode" => all.exitcode = Some(value.parse().map_err(|_| wrong("a number from 0 to 255"))?),
                "halt_on_error" => all.halt_on_error = flag(&value).ok_or_else(|| wrong("0 or 1"))?,
                "suppressions" => all.suppressions.push(PathBuf::from(&value)),
                "color" => {
                    all.color = Some(When::from_str(&value, true).map_err(|_| wrong("auto, always or never"))?);
                }
                "verbosity" => all.verbosity = Some(value.parse().map_err(|_| wrong("a number"))?),
                _ => return Err(format!("unknown option `{key}`; the options are {KEYS}")),
            }
        }
        Ok(all)
    }

    /// Runs `print` with the destination of reports.
    pub fn with_output(
        &self,
        out: &mut dyn Write,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.log_path else { return print(out) };
        if path.as_os_str() == "stderr" {
            return print(&mut std::io::stderr());
        }
        let path = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
        let mut file = BufWriter::new(File::create(&path).map_err(|e| Failure::at(&path, e))?);
        print(&mut file)?;
        file.flush().map_err(|e| Failure::at(&path, e))
    }
}

/// Returns the log file; `stdout` is the default destination.
fn log_path(value: &str) -> Option<PathBuf> {
    (value != "stdout").then(|| PathBuf::from(value))
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Splits at colons, commas and white space; a quoted value may contain any of these.
fn settings(text: &str) -> Result<Vec<(String, String)>, String> {
    let separates = |c: char| c == ':' || c == ',' || c.is_whitespace();
    let mut all = Vec::new();
    let mut rest = text.trim_start_matches(separates);
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').filter(|(key, _)| !key.contains(separates)).ok_or_else(|| {
            format!("`{}` is not of the form key=value", rest.split(separates).next().unwrap_or(rest))
        })?;
        let (value, after) = match after.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => after[1..].split_once(quote).ok_or_else(|| format!("{key}: the quote is not closed"))?,
            None => after.split_at(after.find(separates).unwrap_or(after.len())),
        };
        all.push((key.to_string(), value.to_string()));
        rest = after.trim_start_matches(separates);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_sanitizers_read_theirs() {
        let all = Environment::parse(":log_path=/tmp/x exitcode=66:halt_on_error=1,suppressions='a b:c' color=never")
            .unwrap();
        assert_eq!(all.log_path, Some(PathBuf::from("/tmp/x")));
        assert_eq!((all.exitcode, all.halt_on_error, all.color), (Some(66), true, Some(When::Never)));
        assert_eq!(all.suppressions, [PathBuf::from("a b:c")]);
        assert_eq!(Environment::parse("").unwrap(), Environment::default());
        assert_eq!(Environment::parse("log_path=stdout verbosity=2").unwrap().verbosity, Some(2));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (text, part) in [
            ("exitcde=1", "unknown option `exitcde`"),
            ("exitcode=300", "0 to 255"),
            ("halt_on_error=maybe", "0 or 1"),
            ("verbosity", "`verbosity` is not of the form key=value"),
            ("suppressions='a", "not closed"),
            ("color=blue", "auto, always or never"),
        ] {
            let error = Environment::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
