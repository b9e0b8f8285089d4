//! What a line of C, C++ or Rust calls the memory that is accessed at one of its columns: `queue->tail`, `self.total`.
//!
//! The text is only looked at, not parsed: a word, and what the words around it select or are selected from. The result is a label for
//! people and never decides anything.

use std::ops::Range;

/// Words that name no memory.
const RESERVED: [&str; 18] = [
    "auto", "const", "delete", "do", "else", "for", "fn", "if", "int", "let", "match", "mut", "new", "return",
    "sizeof", "unsafe", "void", "while",
];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The word that a column (in bytes, from 1) is in, or that ends shortly before it.
fn word(line: &str, column: u32) -> Option<Range<usize>> {
    let at = column.checked_sub(1)? as usize;
    let (before, after) = (line.get(..at)?, line.get(at..)?);
    if after.starts_with(is_word) {
        let start = at - before.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
        let end = at + after.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
        return Some(start..end);
    }
    let end = before.trim_end_matches(|c: char| !is_word(c)).len();
    let start = end - line[..end].chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    (start < end && at - end <= 3).then_some(start..end)
}

/// The columns, in characters from 1, of the expression at a column: the first, and the one after the last. Of a call it is the function's name.
pub(crate) fn columns_at(line: &str, column: u32) -> Option<[u32; 2]> {
    let start_of = |part: &str| part.as_ptr() as usize - line.as_ptr() as usize;
    let whole = at(line, column, false).map(|name| start_of(name)..start_of(name) + name.len());
    let word = word(line, column)?;
    let word = whole.filter(|whole| whole.contains(&word.start)).unwrap_or(word);
    let from = line[..word.start].chars().count() as u32 + 1;
    Some([from, from + line[word].chars().count() as u32])
}

/// What stands between two words of one expression.
const SELECTORS: [&str; 3] = ["->", ".", "::"];

/// The expression around a column. `called`: what is there is a call, and the memory is that of what it is called on.
pub(crate) fn at(line: &str, column: u32, called: bool) -> Option<&str> {
    let Range { mut start, mut end } = word(line, column)?;
    while let Some(before) = SELECTORS.iter().find_map(|selector| line[..start].strip_suffix(selector)) {
        let word = before.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
        if word == 0 {
            return None;
        }
        start = before.len() - word;
    }
    while let Some(selector) = SELECTORS.iter().find(|selector| line[end..].starts_with(**selector)) {
        let after = &line[end + selector.len()..];
        let word = after.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
        if word == 0 {
            break;
        }
        end += selector.len() + word;
    }
    let is_call = line[end..].starts_with('(');
    if is_call || called {
        // The last word is the function: `jobs.push` is about `jobs`.
        let whole = &line[start..end];
        let cut = SELECTORS[..2].iter().filter_map(|selector| whole.rfind(selector)).max();
        end = match (is_call, cut) {
            (true, Some(cut)) => start + cut,
            (true, None) => return None,
            (false, _) => end,
        };
    }
    let name = &line[start..end];
    let is_name = name.starts_with(|c: char| is_word(c) && !c.is_ascii_digit()) && !RESERVED.contains(&name);
    is_name.then_some(name)
}

/// The last word of an expression.
pub(crate) fn last(expression: &str) -> &str {
    expression.rsplit(['.', '>', ':']).next().unwrap_or(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_around_a_column_name_the_memory() {
        let line = "    [&] { s->refs++; total++; jobs.size(); get()->x = 1; return waiting.empty(); }";
        let column = |text: &str| line.find(text).unwrap() as u32 + 1;
        assert_eq!(at(line, column("refs"), false), Some("s->refs"));
        assert_eq!(at(line, column("++;"), false), Some("s->refs"));
        assert_eq!(at(line, column("total"), false), Some("total"));
        assert_eq!(at(line, column("size"), true), Some("jobs"));
        assert_eq!(at(line, column("(); get"), true), Some("jobs"));
        assert_eq!(at(line, column("get"), true), None);
        assert_eq!(at(line, column("x ="), false), None);
        assert_eq!(at(line, column("return"), false), None);
        assert_eq!(at(line, column("waiting"), true), Some("waiting"));
        assert_eq!(at(line, 500, false), None);
        assert_eq!(at("\u{e9}", 2, false), None);
        assert_eq!((last("s->refs"), last("a.b"), last("x")), ("refs", "b", "x"));
    }

    #[test]
    fn columns_of_words_count_characters() {
        assert_eq!(columns_at("\tlog.add(i);", 6), Some([6, 9]));
        assert_eq!(columns_at("if (s->refs == 0)", 6), Some([5, 12]));
        assert_eq!(columns_at("\ts->refs++;", 5), Some([2, 9]));
        assert_eq!(columns_at("return waiting;", 1), Some([1, 7]));
        assert_eq!(columns_at("x += y", 3), Some([1, 2]));
        assert_eq!(columns_at("\u{e9}t\u{e9} = 1", 1), Some([1, 4]));
        assert_eq!(columns_at("short", 20), None);
        assert_eq!(columns_at("", 1), None);
    }
}
