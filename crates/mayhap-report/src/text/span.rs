//! Lines of styled text: their width on a terminal, padding, cutting, wrapping.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::escape::visible;

/// The colours of threads: bold, and plain.
const THREADS: [(&str, &str); 4] =
    [("\x1b[1;35m", "\x1b[35m"), ("\x1b[1;34m", "\x1b[34m"), ("\x1b[1;36m", "\x1b[36m"), ("\x1b[1;32m", "\x1b[32m")];

/// How a piece of text looks on a terminal with colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Paint {
    #[default]
    Plain,
    Bold,
    Dim,
    Error,
    Warning,
    Note,
    /// A thread by number: its name, and what the finding says of it.
    Thread(usize),
    /// One of its steps.
    Step(usize),
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Bold => "\x1b[1m",
            Paint::Dim => "\x1b[2m",
            Paint::Error => "\x1b[1;31m",
            Paint::Warning => "\x1b[1;33m",
            Paint::Note => "\x1b[1;36m",
            Paint::Thread(number) => THREADS[number % THREADS.len()].0,
            Paint::Step(number) => THREADS[number % THREADS.len()].1,
        }
    }
}

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Line {
    spans: Vec<(Paint, String)>,
}

impl Line {
    pub(super) fn new() -> Self {
        Line::default()
    }

    pub(super) fn of(paint: Paint, text: &str) -> Self {
        Line::new().add(paint, text)
    }

    /// Adds text; control characters are spelled out.
    pub(super) fn add(mut self, paint: Paint, text: &str) -> Self {
        if !text.is_empty() {
            self.spans.push((paint, visible(text).into_owned()));
        }
        self
    }

    pub(super) fn plain(self, text: &str) -> Self {
        self.add(Paint::Plain, text)
    }

    pub(super) fn line(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// Returns the width in columns.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text.width()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Pads the line with spaces to `width` columns.
    pub(super) fn padded(self, width: usize) -> Self {
        let missing = width.saturating_sub(self.width());
        self.plain(&" ".repeat(missing))
    }

    /// Cuts the line to `width` columns, the last of them an ellipsis if anything was cut.
    pub(super) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut out = Line::new();
        for (paint, text) in self.spans {
            let kept: String = text
                .chars()
                .take_while(|c| {
                    let columns = c.width().unwrap_or(0);
                    let fits = columns <= left;
                    left = if fits { left - columns } else { 0 };
                    fits
                })
                .collect();
            let whole = kept.len() == text.len();
            if !kept.is_empty() {
                out.spans.push((paint, kept));
            }
            if !whole {
                break;
            }
        }
        if width > 0 { out.add(Paint::Dim, "…") } else { out }
    }

    pub(super) fn write(&self, out: &mut dyn Write, colour: bool) -> io::Result<()> {
        let mut text = String::new();
        for (i, (paint, span)) in self.spans.iter().enumerate() {
            let last = self.spans[i + 1..].iter().all(|(_, s)| s.trim_end().is_empty());
            let span = if last { span.trim_end() } else { span.as_str() };
            if colour && *paint != Paint::Plain && !span.is_empty() {
                text.push_str(paint.code());
                text.push_str(span);
                text.push_str("\x1b[0m");
            } else {
                text.push_str(span);
            }
            if last {
                break;
            }
        }
        writeln!(out, "{text}")
    }
}

/// Breaks text at spaces into lines of at most this many columns; longer words are broken where they must be.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let text = visible(text);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let joined = line.width() + usize::from(!line.is_empty()) + word.width();
        if joined <= width {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &Line, colour: bool) -> String {
        let mut out = Vec::new();
        line.write(&mut out, colour).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_cut_and_padded_by_columns_not_characters() {
        let line = Line::of(Paint::Bold, "十二").plain("ab");
        assert_eq!(line.width(), 6);
        assert_eq!(shown(&line.clone().cut(5), false), "十二…\n");
        assert_eq!(shown(&line.clone().cut(4), false), "十…\n");
        assert_eq!(shown(&line.clone().cut(6), false), "十二ab\n");
        assert_eq!(shown(&line.padded(8).plain("|"), false), "十二ab  |\n");
    }

    #[test]
    fn nothing_in_a_line_acts_and_colour_is_only_ours() {
        let line = Line::of(Paint::Error, "a\x1b[2Jb\n").plain("  ");
        assert_eq!(shown(&line, false), "a\\u{1b}[2Jb\\n\n");
        assert_eq!(shown(&line, true), "\x1b[1;31ma\\u{1b}[2Jb\\n\x1b[0m\n");
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("0123456789ab", 8), ["01234567", "89ab"]);
        assert_eq!(wrap("", 8), [""]);
    }
}
