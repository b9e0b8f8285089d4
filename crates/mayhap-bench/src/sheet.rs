//! A table as data, and its three forms: terminal, Markdown, CSV.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::SLOW;

/// A table with a title and a paragraph of what it shows.
pub(crate) struct Sheet {
    /// The file's name, without ending.
    pub(crate) name: &'static str,
    /// The heading.
    pub(crate) title: String,
    /// Column names.
    pub(crate) columns: Vec<&'static str>,
    /// Cells as they are shown.
    pub(crate) rows: Vec<Vec<String>>,
    /// Where we are better than the paper or the peer, where not, and why.
    pub(crate) note: &'static str,
    /// Rows that would have taken too long.
    left_out: Vec<String>,
}

impl Sheet {
    /// Creates a table without rows yet.
    pub(crate) fn new(
        name: &'static str,
        title: impl Into<String>,
        columns: &[&'static str],
        note: &'static str,
    ) -> Self {
        Sheet { name, title: title.into(), columns: columns.to_vec(), rows: Vec::new(), note, left_out: Vec::new() }
    }

    /// Goes on without a row that would have taken too long; other errors stay errors.
    pub(crate) fn tolerate(&mut self, name: &str, made: Result<(), String>) -> Result<(), String> {
        match made {
            Err(e) if e.starts_with(SLOW) => {
                self.left_out.push(name.to_string());
                Ok(())
            }
            made => made,
        }
    }

    /// Returns the paragraph under the table.
    fn paragraph(&self) -> String {
        match &self.left_out[..] {
            [] => self.note.to_string(),
            names => format!("{} Left out, for time: {}.", self.note, names.join(", ")),
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.columns.len(), "a cell for each column of {}", self.name);
        self.rows.push(cells.to_vec());
    }

    fn widths(&self) -> Vec<usize> {
        let cells = |i: usize| self.rows.iter().map(move |row| row[i].chars().count());
        (0..self.columns.len()).map(|i| cells(i).chain([self.columns[i].chars().count()]).max().unwrap_or(0)).collect()
    }

    /// Aligned for a terminal: first column left, the others right.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(i, (cell, width))| match i {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        let mut text = format!("{}\n{}\n", self.title, line(self.columns.clone()));
        for row in &self.rows {
            text.push_str(&line(row.iter().map(String::as_str).collect()));
            text.push('\n');
        }
        text
    }

    /// Returns a Markdown table with its title and paragraph.
    pub(crate) fn markdown(&self, machine: &str) -> String {
        let escape = |cell: &str| cell.replace('|', "\\|");
        let mut text = format!("# {}\n\n{machine}\n\n| {} |\n", self.title, self.columns.join(" | "));
        let rule: Vec<&str> = (0..self.columns.len()).map(|i| if i == 0 { "---" } else { "--:" }).collect();
        let _ = writeln!(text, "| {} |", rule.join(" | "));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|c| escape(c)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        let _ = writeln!(text, "\n{}", self.paragraph());
        text
    }

    /// Comma-separated values, quoted where needed.
    pub(crate) fn csv(&self) -> String {
        let quote = |cell: &str| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.to_string(),
        };
        let mut text = format!("{}\n", self.columns.join(","));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|c| quote(c)).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }
}

/// The folder for results, with the machine they are of.
pub(crate) struct Results {
    folder: PathBuf,
    machine: String,
}

impl Results {
    /// Makes the folder.
    pub(crate) fn new(folder: PathBuf, machine: String) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Results { folder, machine })
    }

    /// Processor, memory, system and commit.
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns a file of the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Prints a table and keeps it.
    pub(crate) fn keep(&self, sheet: &Sheet) -> Result<(), String> {
        println!("{}\n{}\n", sheet.text(), sheet.paragraph());
        self.write(&format!("{}.md", sheet.name), &sheet.markdown(&self.machine))?;
        self.write(&format!("{}.csv", sheet.name), &sheet.csv())
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path: &Path = &self.folder.join(name);
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new("s", "Title", &["name", "count"], "A note.");
        sheet.row(["a,b".to_string(), "1".to_string()]);
        sheet.row(["c|d".to_string(), "1,000".to_string()]);
        sheet
    }

    #[test]
    fn a_terminal_aligns_numbers_to_the_right() {
        assert_eq!(sheet().text(), "Title\nname  count\na,b       1\nc|d   1,000\n");
    }

    #[test]
    fn commas_are_quoted_and_bars_escaped() {
        assert_eq!(sheet().csv(), "name,count\n\"a,b\",1\nc|d,\"1,000\"\n");
        assert!(sheet().markdown("machine").contains("| c\\|d | 1,000 |"));
    }
}
