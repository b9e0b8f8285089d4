//! How long files and functions are.

use std::fs;
use std::path::{Path, PathBuf};

/// A file or function, and its lines.
pub(crate) struct Sized {
    pub(crate) lines: usize,
    pub(crate) name: String,
}

/// Every Rust file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// The functions of a text that is formatted as rustfmt does, without those of its test modules.
pub(crate) fn functions(text: &str) -> Vec<Sized> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let indent = line.len() - line.trim_start().len();
        let closes = |line: &&str| line.trim_end() == format!("{}}}", " ".repeat(indent));
        if line.trim() == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|next| next.trim_end().ends_with('{')) {
            at += lines[at..].iter().position(&closes).unwrap_or(0) + 1;
            continue;
        }
        if let Some(name) = function(line) {
            let length = lines[at..].iter().position(closes).unwrap_or(0) + 1;
            // A declaration in a trait, or all in one line, ends before anything else is closed.
            let declared = lines[at..at + length].iter().find(|line| line.ends_with('{') || line.ends_with(';'));
            if declared.is_some_and(|line| line.ends_with('{')) && !line.trim_end().ends_with('}') {
                all.push(Sized { lines: length, name: name.to_string() });
            }
        }
        at += 1;
    }
    all
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    for word in
        ["pub(crate) ", "pub(super) ", "pub ", "const ", "async ", "unsafe ", "extern \"C\" ", "extern \"C-unwind\" "]
    {
        words = words.strip_prefix(word).unwrap_or(words);
    }
    let name = words.strip_prefix("fn ")?;
    Some(&name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())])
}
