//! Escapes names for output. They come from programs and files, so they may contain characters that control a terminal or
//! disguise what is shown.

use std::borrow::Cow;
use std::path::Path;

/// Whether the character would move the cursor, colour the text, break the line, be invisible or change the writing direction.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Spells out every character that [`acts`], as `\n` or `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let spelled = |c: char| -> String {
        match c {
            '\n' => "\\n".to_string(),
            '\r' => "\\r".to_string(),
            '\t' => "\\t".to_string(),
            c if acts(c) => c.escape_unicode().to_string(),
            c => c.to_string(),
        }
    };
    Cow::Owned(text.chars().map(spelled).collect())
}

/// Escapes text for an XML element or attribute. Characters that XML cannot contain, or that [`acts`] finds, are spelled out.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push_str(&c.escape_unicode().to_string()),
            c => out.push(c),
        }
    }
    out
}

/// A path as a shell takes it for one word.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_spelled_out() {
        assert_eq!(visible("a\x1b[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\\n\\tc");
        assert_eq!(visible("\u{202e}evil\u{2066}\u{200b}"), "\\u{202e}evil\\u{2066}\\u{200b}");
        assert_eq!(visible("\u{9b}31m"), "\\u{9b}31m");
        assert!(matches!(visible("zwölf 十二"), Cow::Borrowed(_)));
        assert_eq!(xml("<a b=\"c\">&'\u{0}\u{ffff}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\\u{0}\\u{ffff}");
    }
}
