//! Names that a program under test might choose to attack the reader of the report. They are shown literally and do nothing.

use mayhap_report::{Finding, Kind, Report, Source, function_name};
use serde_json::json;

use crate::chromium::Browser;
use crate::samples::Line;
use crate::{page, samples};

/// Each would set `ran`, open a dialog or ask the network for something if it were treated as markup or script.
const HOSTILE: &[&str] = &[
    "</script><script>window.ran = 'script'</script>",
    "<script>window.ran = 'script'</script>",
    "<!--<script>",
    "--></script><img src=x onerror=\"window.ran='img'\">",
    "<img src=x onerror=window.ran='img'>",
    "<svg onload=window.ran='svg'>",
    "<svg><script>window.ran='svg'</script></svg>",
    "\" onmouseover=\"window.ran='attribute'\" x=\"",
    "' autofocus onfocus='window.ran=1",
    "javascript:window.ran='url'",
    "data:text/html,<script>window.ran=1</script>",
    "<a href=\"javascript:window.ran='url'\">click</a>",
    "<iframe src=\"https://attacker.example/\"></iframe>",
    "<link rel=stylesheet href=https://attacker.example/a.css>",
    "<base href=https://attacker.example/>",
    "<meta http-equiv=refresh content=0;url=https://attacker.example/>",
    "url(https://attacker.example/x.png)",
    "@import 'https://attacker.example/a.css';",
    "</style><style>*{display:none}</style>",
    "<form action=https://attacker.example/><button>",
    "{{constructor.constructor('window.ran=1')()}}",
    "${window.ran='template'}",
    "`;window.ran=1;`",
    "__proto__",
    "constructor",
    "</title><title>other",
    "&lt;script&gt;window.ran=1&lt;/script&gt;",
    "&#60;script&#62;",
    "\\u003cscript\\u003e",
    "%3Cscript%3E",
    "<template><script>window.ran=1</script></template>",
    "<details open ontoggle=window.ran=1>",
    "a<b>bold</b>c",
    "]]>",
    "<![CDATA[<script>window.ran=1</script>]]>",
];

/// Names with characters that hide or reorder others, and how they must be shown.
const HIDDEN: &[(&str, &str)] = &[
    ("abc\u{202e}def", "abc\\u{202e}def"),
    ("a\u{0}b", "a\\u{0}b"),
    ("bell\u{7}esc\u{1b}[31m", "bell\\u{7}esc\\u{1b}[31m"),
    ("zero\u{200b}width", "zero\\u{200b}width"),
    ("line\u{2028}separator\u{2029}", "line\\u{2028}separator\\u{2029}"),
    ("\u{feff}mark", "\\u{feff}mark"),
    ("iso\u{2066}late\u{2069}", "iso\\u{2066}late\\u{2069}"),
    ("tag\u{e0041}", "tag\\u{e0041}"),
    ("שלום 漢字 🦀 é", "שלום 漢字 🦀 é"),
];

/// A finding in which everything that a program or a trace can name is `name`.
fn named(name: &str) -> Finding {
    let steps = [
        ("main", "fork"),
        ("main", "fork"),
        ("T", "w"),
        ("T", "acq"),
        ("T", "rel"),
        ("U", "acq"),
        ("U", "rel"),
        ("U", "r"),
    ];
    let names: Vec<(String, &str)> = steps.iter().map(|(thread, op)| (format!("{thread}{name}"), *op)).collect();
    let lines: Vec<Line<'_>> =
        names.iter().map(|(thread, op)| Line { thread, op, object: name, location: name }).collect();
    let mut finding = samples::finding_of(Kind::Race, &lines, &[3, 8], &[1, 2, 6, 7]);
    let texts = [&mut finding.id, &mut finding.title, &mut finding.message, &mut finding.why, &mut finding.certainty];
    for text in texts.into_iter().chain([&mut finding.fingerprint, &mut finding.engine, &mut finding.model]) {
        *text = name.to_string();
    }
    finding.replay_command = Some(name.to_string());
    let frame = Source {
        function: Some(name.to_string()),
        file: Some(name.to_string()),
        line: Some(1),
        column: None,
        inlined: false,
    };
    for side in &mut finding.events {
        side.role = name.to_string();
        side.source = Some(frame.clone());
        side.stack = vec![frame.clone(); 3];
        side.thread = name.to_string();
        side.object = name.to_string();
        side.location = Some(name.to_string());
        if let Some(created) = &mut side.created {
            created.thread = name.to_string();
            created.location = Some(name.to_string());
            created.stack = vec![frame.clone(); 2];
        }
    }
    finding
}

/// One finding per name, and all names in the report's own fields.
fn report<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Report {
    let findings = names.clone().zip(0u64..).map(|(name, i)| samples::moved(named(name), 10 * i)).collect();
    let mut report = samples::report(findings);
    let all = names.clone().collect::<Vec<_>>().join(" ");
    report.program = names.clone().map(str::to_string).collect();
    report.notes = report.program.clone();
    report.trace.path = all.clone();
    report.model = all.clone();
    report.tool.version = all;
    report
}

/// Shows the finding at a place of the list and goes through what has names: the picture, the tables, the tooltips.
fn visit(browser: &mut Browser, place: usize) {
    if place > 0 {
        browser.key("n");
    }
    browser.until(&format!("document.querySelector('.entry[aria-selected=true]')?.dataset.index === '{place}'"));
    browser.eval("document.querySelectorAll('#main summary').forEach((s) => s.click())");
    browser.key("j");
}

#[test]
fn hostile_names_are_text() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let page = page(&report(HOSTILE.iter().copied()));
    browser.open(&page.file);
    assert_eq!(browser.text("#trace"), HOSTILE.join(" "));
    for (place, name) in HOSTILE.iter().enumerate() {
        visit(&mut browser, place);
        // The backquotes of a title mark code; everything else is unchanged.
        assert_eq!(browser.text("#title"), name.replace('`', ""));
        assert_eq!(browser.text("#main .side .act code"), *name);
        assert_eq!(browser.text("#main .stack li code"), function_name(name));
        assert_eq!(browser.text("#main .command code"), *name);
        assert_eq!(browser.text("#main .head title"), format!("main{name}"));
        assert_eq!(browser.text("#main td:nth-child(2)"), format!("main{name}"));
        assert_eq!(browser.text(&format!("#notes li:nth-child({})", place + 1)), *name);
        assert_eq!(browser.eval("document.querySelectorAll('script').length"), json!(2), "{name}");
        assert_eq!(browser.count("iframe, img, base, form, object, embed, a:not(.skip)"), 0, "{name}");
    }
    browser.media("print", "light");
    browser.until(&format!("document.querySelectorAll('#paper article').length === {}", HOSTILE.len()));
    browser.assert_clean();
}

#[test]
fn characters_that_hide_are_written_out() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let page = page(&report(HIDDEN.iter().map(|(name, _)| *name)));
    browser.open(&page.file);
    for (place, (_, shown)) in HIDDEN.iter().enumerate() {
        visit(&mut browser, place);
        assert_eq!(browser.text("#title"), *shown);
        assert_eq!(browser.text("#main .side .act code"), *shown);
        assert_eq!(browser.text(".entry[aria-selected=true] .name"), *shown);
        assert!(browser.text(".inspector").contains(shown), "{}", browser.text(".inspector"));
        assert!(browser.text("#trace").contains(shown));
        assert!(browser.eval("document.title").as_str().unwrap().contains(shown));
    }
    browser.assert_clean();
}

/// Without the policy the page would still make no markup of names; with it, not even a mistake could.
#[test]
fn the_policy_is_in_force() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let page = page(&report(["x"].into_iter()));
    browser.open(&page.file);
    let refused = "(() => { try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; } })()";
    assert_eq!(browser.eval(refused), json!(true), "markup from text is refused");
    browser.eval("(() => { const s = document.createElementNS('http://www.w3.org/1999/xhtml', 'img'); s.src = 'http://127.0.0.1:9/'; document.body.append(s); })()");
    browser.until("window.violations.some((v) => v.startsWith('img-src'))");
}
