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
    // At `->` or `.`, what is selected is accessed.
    let selector = SELECTORS.iter().find(|selector| line.get(at..).is_some_and(|rest| rest.starts_with(**selector)));
    let at = at + selector.map_or(0, |selector| selector.len());
    // At `*`, the pointer that is followed.
    let rest = line.get(at..)?;
    let at = at + rest.strip_prefix('*').filter(|rest| rest.starts_with(is_word)).map_or(0, |_| 1);
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
    let whole = around(line, column, false);
    let word = word(line, column)?;
    let word = whole.filter(|whole| whole.contains(&word.start)).unwrap_or(word);
    let from = line[..word.start].chars().count() as u32 + 1;
    Some([from, from + line[word].chars().count() as u32])
}

/// What stands between two words of one expression.
const SELECTORS: [&str; 3] = ["->", ".", "::"];

/// The text without the indices at its end: `rows` of `rows[i][j + 1]`.
fn without_indices(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth > 0 => depth -= 1,
            _ if depth == 0 => return &text[..at + c.len_utf8()],
            _ => {}
        }
    }
    text
}

/// The expression with long indices left out: `q[…].state` of `q[j = (i + front) % size].state`.
fn shortened(expression: &str) -> String {
    let mut shown = String::new();
    let mut rest = expression;
    while let Some(open) = rest.find('[') {
        let mut depth = 0;
        let closes = |c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ']' && depth == 0
        };
        let Some(close) = rest[open..].find(closes).map(|at| open + at) else { break };
        let index = &rest[open + 1..close];
        shown.push_str(&rest[..=open]);
        shown.push_str(if index.chars().all(is_word) { index } else { "…" });
        rest = &rest[close..];
    }
    shown + rest
}

/// The expression around a column, as [`around`] finds it.
pub(crate) fn at(line: &str, column: u32, called: bool) -> Option<String> {
    Some(shortened(&line[around(line, column, called)?]))
}

/// Where the expression around a column is. `called`: what is there is a call, and the memory is that of what it is called on.
fn around(line: &str, column: u32, called: bool) -> Option<Range<usize>> {
    let Range { mut start, mut end } = word(line, column)?;
    while let Some(before) = SELECTORS.iter().find_map(|selector| line[..start].strip_suffix(selector)) {
        let before = without_indices(before);
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
    // At an operator, what is accessed is what a pointer before it leads to.
    let is_inside = (start..end).contains(&(column as usize - 1));
    let reached = line[..start].strip_suffix('*').filter(|_| !is_inside);
    let is_unary = |before: &str| {
        let before = before.trim_end();
        before.is_empty() || before.ends_with(|c: char| "({[;,=<>&|!?:".contains(c)) || before.ends_with("return")
    };
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
    let star = usize::from(reached.is_some_and(is_unary) && !is_call && !called);
    is_name.then_some(start - star..end)
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
        assert_eq!(at(line, column("refs"), false), Some("s->refs".into()));
        assert_eq!(at(line, column("++;"), false), Some("s->refs".into()));
        assert_eq!(at(line, column("total"), false), Some("total".into()));
        assert_eq!(at(line, column("size"), true), Some("jobs".into()));
        assert_eq!(at(line, column("(); get"), true), Some("jobs".into()));
        assert_eq!(at(line, column("get"), true), None);
        assert_eq!(at(line, column("x ="), false), None);
        assert_eq!(at(line, column("return"), false), None);
        assert_eq!(at(line, column("waiting"), true), Some("waiting".into()));
        assert_eq!(at(line, 500, false), None);
        assert_eq!(at("\u{e9}", 2, false), None);
        assert_eq!((last("s->refs"), last("a.b"), last("x")), ("refs", "b", "x"));
    }

    #[test]
    fn indices_belong_to_the_expression() {
        let line = "if (q[j=(i+front)%size[0]].state == EMPTY) table->many[2].refs += rows[i][k]->total;";
        let column = |text: &str| line.find(text).unwrap() as u32 + 1;
        assert_eq!(at(line, column(".state"), false), Some("q[…].state".into()));
        assert_eq!(at(line, column("state"), false), Some("q[…].state".into()));
        assert_eq!(at(line, column(".refs"), false), Some("table->many[2].refs".into()));
        assert_eq!(at(line, column("->total"), false), Some("rows[i][k]->total".into()));
        assert_eq!(at(line, column("->many"), false), Some("table->many".into()));
        assert_eq!(columns_at(line, column(".refs")), Some([column("table"), column("refs") + 4]));
        let line = "unsafe { *shared.0 += 1 }; if (*p > 0) x = a * b; (*p)++; n = *q;";
        let column = |text: &str| line.find(text).unwrap() as u32 + 1;
        assert_eq!(at(line, column("*shared"), false), Some("*shared.0".into()));
        assert_eq!(at(line, column("+= 1"), false), Some("*shared.0".into()));
        assert_eq!(at(line, column("shared"), false), Some("shared.0".into()));
        assert_eq!(at(line, column("> 0"), false), Some("*p".into()));
        assert_eq!(at(line, column("p > 0"), false), Some("p".into()));
        assert_eq!(at(line, column(")++"), false), Some("*p".into()));
        assert_eq!(at(line, column("b; "), false), Some("b".into()));
        assert_eq!(at(line, column("*q"), false), Some("*q".into()));
        assert_eq!(at("(a ? b : c).x = 1", 12, false), None);
        assert_eq!(at("[0].x = 1", 4, false), None);
        assert_eq!(at("]].x = 1", 3, false), None);
        assert_eq!((shortened("a[b"), shortened("a]b["), without_indices("]")), ("a[b".into(), "a]b[".into(), "]"));
    }

    #[test]
    fn columns_of_what_a_pointer_leads_to_have_its_star() {
        assert_eq!(columns_at("    *place += 1;", 5), Some([5, 11]));
        assert_eq!(columns_at("    *place += 1;", 12), Some([5, 11]));
        assert_eq!(columns_at("    *place += 1;", 6), Some([6, 11]));
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
