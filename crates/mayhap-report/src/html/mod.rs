//! The report as one HTML file that needs nothing else: no network, no other file, no server.
//!
//! The file is a fixed page that contains the report as JSON. A content security policy allows the page's own script and style
//! by their hashes and forbids everything else, requests included. The JSON is escaped so that no text in it can end its
//! element. The script turns what it reads into text nodes, never into markup. Names that a program under test chose are
//! therefore shown literally, whatever they look like.

mod encode;
mod excerpts;
mod model;
mod sides;

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::Report;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");

/// The script's parts, each after those that it uses.
const SCRIPT: &[&str] = &[
    include_str!("page/dom.js"),
    include_str!("page/data.js"),
    include_str!("page/source.js"),
    include_str!("page/interleaving.js"),
    include_str!("page/overview.js"),
    include_str!("page/panel.js"),
    include_str!("page/picture.js"),
    include_str!("page/list.js"),
    include_str!("page/finding.js"),
    include_str!("page/coverage.js"),
    include_str!("page/main.js"),
];

/// Writes the page.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let script = format!("'use strict';\n(() => {{\n{}}})();\n", SCRIPT.join("\n"));
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the page closes its placeholders");
        out.write_all(before.as_bytes())?;
        match name {
            "script" => out.write_all(script.as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script-hash" => out.write_all(hash(&script).as_bytes())?,
            "style-hash" => out.write_all(hash(STYLE).as_bytes())?,
            "report" => {
                serde_json::to_writer(&mut Escaped(out), &model::Page::of(report)).map_err(io::Error::from)?;
            }
            other => unreachable!("the page has no placeholder {other}"),
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The hash of a script or style as a content security policy spells it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Escapes characters that could end a script element or open another one, and the two line separators that older
/// JavaScript treats as line ends.
///
/// JSON has these characters only inside strings, so the result is equivalent JSON. The JSON writer never splits the bytes of
/// a character between two calls.
struct Escaped<'w>(&'w mut dyn Write);

impl Write for Escaped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (escape, length) = match byte {
                b'<' => ("\\u003c", 1),
                b'>' => ("\\u003e", 1),
                b'&' => ("\\u0026", 1),
                0xe2 if bytes[at..].starts_with("\u{2028}".as_bytes()) => ("\\u2028", 3),
                0xe2 if bytes[at..].starts_with("\u{2029}".as_bytes()) => ("\\u2029", 3),
                _ => continue,
            };
            self.0.write_all(&bytes[start..at])?;
            self.0.write_all(escape.as_bytes())?;
            start = at + length;
        }
        self.0.write_all(&bytes[start..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, TraceInfo};

    fn page(report: &Report) -> String {
        let mut out = Vec::new();
        write(&mut out, report).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
        text.split_once(start).unwrap().1.split_once(end).unwrap().0
    }

    #[test]
    fn no_text_of_a_report_ends_its_element() {
        let path = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029} 🦀é";
        let trace = TraceInfo { path: path.to_string(), ..TraceInfo::default() };
        let page = page(&Report::new("0.1.0", trace, "data"));
        let json = between(&page, "id=\"report\">", "</script>");
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["trace"]["path"], path);
        assert_eq!(page.matches("<script").count(), 2);
    }

    #[test]
    fn the_policy_allows_the_script_and_style_that_are_there_and_nothing_else() {
        let page = page(&Report::new("0.1.0", TraceInfo::default(), "data"));
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        for weakness in ["unsafe", "http", "*", "blob:", "filesystem:"] {
            assert!(!policy.contains(weakness), "{policy}");
        }
        let script = between(&page, "<script>", "</script>");
        let style = between(&page, "<style>", "</style>");
        assert!(policy.contains(&format!("script-src '{}'", hash(script))), "{policy}");
        assert!(policy.contains(&format!("style-src '{}'", hash(style))), "{policy}");
        assert!(!page.contains("{{"), "a placeholder is left");
    }

    #[test]
    fn the_script_makes_no_markup_and_asks_for_nothing() {
        let script = SCRIPT.join("\n");
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "fetch(",
            "XMLHttp",
            "import(",
        ] {
            assert!(!script.contains(word), "the script uses {word}");
        }
        assert!(!PAGE.contains(" style=") && !PAGE.contains(" onclick="), "the policy would refuse this");
    }

    #[test]
    fn every_kind_has_a_name_on_the_page() {
        let script = SCRIPT.join("\n");
        let names = between(&script, "const KINDS = {", "};").replace('\'', "");
        for kind in Kind::ALL {
            assert!(names.contains(&format!("{}:", kind.name())), "{} is missing", kind.name());
        }
    }
}
