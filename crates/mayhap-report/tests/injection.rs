//! Names come from programs. Whatever they contain, they are shown literally.

mod common;

use common::cases;
use mayhap_report::escape::acts;
use mayhap_report::text::{self, Detail, Style};
use mayhap_report::{Report, junit, perfetto, sarif};
use serde_json::Value;

const CORPUS: &[&str] = &[
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u{9b}2J",
    "a\nb\r\nc",
    "tab\there",
    "nul\0nul",
    "<script>alert(1)</script>",
    "]]><x a='b' c=\"d\">&amp;&#0;",
    "<!-- --> <?xml?>",
    "\u{202e}gpj.exe\u{2066}",
    "zero\u{200b}width\u{feff}",
    "line\u{2028}separator",
    "\u{ffff}\u{fffe}",
    "`; rm -rf / #",
    "%s%n{{7*7}}${x}",
    "十二 zwölf 🧵",
    "\u{e0041}tag",
    "",
];

/// The report with every name in it replaced.
fn poisoned(report: &Report, name: &str) -> Report {
    let mut json = serde_json::to_value(report).unwrap();
    poison(&mut json, name);
    serde_json::from_value(json).unwrap()
}

/// Strings under these keys are fixed words; everything else is a name or contains one.
const OURS: &[&str] = &["format", "kind", "verdict", "severity", "mark", "baseline"];

fn poison(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().filter(|(key, _)| !OURS.contains(&key.as_str())).for_each(|(_, v)| poison(v, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|v| poison(v, name)),
        Value::String(text) => *text = format!("{text}{name}"),
        _ => {}
    }
}

#[test]
fn nothing_acts_on_a_terminal() {
    for case in cases() {
        for name in CORPUS {
            let report = poisoned(&case.report, name);
            for (width, detail) in [(60, Detail::Verbose), (140, Detail::Verbose), (80, Detail::Quiet)] {
                let mut out = Vec::new();
                text::write(&mut out, &report, &Style { width, colour: false, detail }).unwrap();
                let text = String::from_utf8(out).unwrap();
                let found = text.chars().find(|&c| c != '\n' && acts(c));
                assert_eq!(found, None, "{} with {name:?} at {width}:\n{text:?}", case.name);
            }
        }
    }
}

#[test]
fn xml_stays_well_formed() {
    for case in cases() {
        for name in CORPUS {
            let mut out = Vec::new();
            junit::write(&mut out, &poisoned(&case.report, name)).unwrap();
            let xml = String::from_utf8(out).unwrap();
            let document = roxmltree::Document::parse(&xml).unwrap_or_else(|e| panic!("{name:?}: {e}\n{xml}"));
            let tags: Vec<&str> =
                document.descendants().filter(|n| n.is_element()).map(|n| n.tag_name().name()).collect();
            assert_eq!(tags.len(), 4, "{name:?} adds no element: {tags:?}");
        }
    }
}

#[test]
fn json_documents_stay_valid() {
    let schema: Value = serde_json::from_str(include_str!("data/sarif-schema-2.1.0.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for name in CORPUS {
        for case in cases().iter().take(3) {
            let report = poisoned(&case.report, name);
            let json = sarif::document(&report);
            let errors: Vec<String> = schema.iter_errors(&json).map(|e| format!("{}: {e}", e.instance_path)).collect();
            assert!(errors.is_empty(), "{name:?}: {errors:?}");
            assert!(perfetto::document(&report)["traceEvents"].is_array());
        }
    }
}
