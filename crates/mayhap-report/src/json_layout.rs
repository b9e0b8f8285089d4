//! How JSON documents are laid out: outer objects over several lines, inner ones and lists of numbers and strings on one.
//!
//! A schedule is a list of thousands of numbers, a story one of dozens of steps. With one field a line, as serde_json's pretty form has
//! it, a report would be three times as large and hard to read.

use std::io::{self, Write};

use serde_json::ser::{CompactFormatter, Formatter};

/// What is open: an object, or a list, and whether it has had an entry that takes lines of its own.
#[derive(Clone, Copy)]
struct Open {
    is_list: bool,
    over_lines: bool,
}

/// What is deeper in the document stays on one line: the fields of a report and its findings each have a line of their own.
const LINES: usize = 2;

/// Writes outer objects over several lines and everything else on one.
#[derive(Default)]
pub struct Layout {
    open: Vec<Open>,
}

impl Layout {
    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.open.len()).try_for_each(|_| out.write_all(b"  "))
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match self.open.pop() {
            Some(open) if open.over_lines => self.new_line(out),
            _ => Ok(()),
        }
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open.push(Open { is_list: true, over_lines: false });
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        CompactFormatter.begin_array_value(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let is_deep = self.open.len() > LINES;
        if let Some(list) = self.open.last_mut().filter(|open| open.is_list && !is_deep) {
            list.over_lines = true;
            self.new_line(out)?;
        }
        self.open.push(Open { is_list: false, over_lines: false });
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.open.len() > LINES {
            return Ok(());
        }
        if let Some(object) = self.open.last_mut() {
            object.over_lines = true;
        }
        self.new_line(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.open.len() > LINES { b":" } else { b": " })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::{Serializer, json};

    #[test]
    fn what_is_deep_stays_on_one_line() {
        let document = json!({"findings": [{"events": [{"a": 1, "b": {"c": [2]}}, {"a": 2}], "story": {"x": "y"}}]});
        let mut text = Vec::new();
        document.serialize(&mut Serializer::with_formatter(&mut text, Layout::default())).unwrap();
        let text = String::from_utf8(text).unwrap();
        let wanted = "{\n  \"findings\": [\n    {\"events\":[{\"a\":1,\"b\":{\"c\":[2]}},{\"a\":2}],\"story\":{\"x\":\"y\"}}\n  ]\n}";
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }

    #[test]
    fn lists_of_numbers_stay_on_one_line() {
        let document = json!({"a": [1, 2, [3, "x"]], "b": [{"c": 1}, {}, {"d": []}], "e": {}});
        let mut text = Vec::new();
        document.serialize(&mut Serializer::with_formatter(&mut text, Layout::default())).unwrap();
        let text = String::from_utf8(text).unwrap();
        let wanted =
            "{\n  \"a\": [1,2,[3,\"x\"]],\n  \"b\": [\n    {\"c\":1},\n    {},\n    {\"d\":[]}\n  ],\n  \"e\": {}\n}";
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }
}
