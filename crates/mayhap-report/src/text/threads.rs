//! The threads of a finding and their colours: a thread has the same one wherever the finding names it.

use super::span::{Line, Paint};
use crate::finding::Finding;

/// The threads of a finding, in the order of its columns.
pub(super) struct Threads<'f> {
    names: Vec<&'f str>,
}

impl<'f> Threads<'f> {
    pub(super) fn of(finding: &'f Finding) -> Self {
        let mut names: Vec<&str> = finding.story.iter().flat_map(|story| &story.threads).map(String::as_str).collect();
        for side in &finding.events {
            if !names.contains(&side.thread.as_str()) {
                names.push(&side.thread);
            }
        }
        Threads { names }
    }

    /// The colour of a thread.
    pub(super) fn paint(&self, thread: &str) -> Paint {
        self.names.iter().position(|name| *name == thread).map_or(Paint::Plain, Paint::Thread)
    }

    /// Text in which each thread has its colour.
    pub(super) fn line(&self, rest: Paint, text: &str) -> Line {
        let mut line = Line::new();
        let mut from = 0;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            match self.begins(text, at) {
                Some((number, end)) => {
                    line = line.add(rest, &text[from..at]).add(Paint::Thread(number), &text[at..end]);
                    (from, at) = (end, end);
                }
                None => at += c.len_utf8(),
            }
        }
        line.add(rest, &text[from..])
    }

    /// The thread whose name stands at this position, as a word, and where the name ends. `main()` is a function, and `main::x` and
    /// `main/heap1` are memory.
    fn begins(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let continues = |c: char| c.is_alphanumeric() || "_./:`$".contains(c);
        if text[..at].ends_with(continues) {
            return None;
        }
        let named = |name: &&str| {
            let Some(rest) = text[at..].strip_prefix(*name).filter(|_| !name.is_empty()) else { return false };
            let mut next = rest.chars();
            match (next.next(), next.next()) {
                (Some('.'), Some(c)) => !c.is_alphanumeric(),
                (Some(':'), Some(':')) => false,
                (Some(c), _) => !(c.is_alphanumeric() || "_(/`$".contains(c)),
                (None, _) => true,
            }
        };
        let number = self.names.iter().position(named)?;
        Some((number, at + self.names[number].len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_coloured_as_whole_words() {
        let threads = Threads { names: vec!["main", "main.1"] };
        let mut out = Vec::new();
        let text = "main.1 waits: main() of main, main::x, main/heap1, main.10 and main. domain";
        threads.line(Paint::Plain, text).write(&mut out, true).unwrap();
        let shown = String::from_utf8(out).unwrap().replace("\u{1b}", "^");
        let expected = "^[1;34mmain.1^[0m waits: main() of ^[1;35mmain^[0m, main::x, main/heap1, main.10 and ^[1;35mmain^[0m. domain\n";
        assert_eq!(shown, expected);
        let mut out = Vec::new();
        threads.line(Paint::Dim, "zwölf").write(&mut out, false).unwrap();
        assert_eq!(out, "zwölf\n".as_bytes());
    }
}
