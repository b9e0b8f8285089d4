//! Plain-text tables for terminals of 80 columns.

use std::io::{self, Write};

pub use mayhap_report::grouped;

/// How a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A table: a header, columns that are as wide as they must be, two spaces between them.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// Prints header and rows, indented by two.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |i: usize| {
            let cells = self.rows.iter().map(|row| row[i].chars().count());
            cells.chain([self.columns[i].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let header = self.columns.iter().map(|(name, _)| name.to_string()).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                line.push_str("  ");
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}")),
                    Align::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A name cut in its middle to `most` characters: both ends tell names apart. Control characters are shown escaped.
pub fn shortened(name: &str, most: usize) -> String {
    let clean: Vec<char> =
        name.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] }).collect();
    if clean.len() <= most {
        return clean.into_iter().collect();
    }
    let head = (most - 1) / 2;
    let tail = most - 1 - head;
    clean[..head].iter().chain(['…'].iter()).chain(&clean[clean.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_names_shortened() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(shortened("org.example.Foo", 20), "org.example.Foo");
        assert_eq!(shortened("org.example.Foo", 9), "org.….Foo");
        assert_eq!(shortened("a\x1b[31m", 20), "a\\u{1b}[31m");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["é".to_string(), "12".to_string()]);
        table.row(["long name".to_string(), "3".to_string()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  name        n\n  é          12\n  long name   3\n");
    }
}
