//! The HTML page in a browser: what it shows, how it is used, and what it never does.
//!
//! Without Chromium, each test says that it is skipped and passes; where `CI` is set it fails.

#[path = "browser/accessibility.rs"]
mod accessibility;
#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/hostile.rs"]
mod hostile;
#[path = "browser/large.rs"]
mod large;
#[path = "common/refuted.rs"]
mod refuted;
#[path = "browser/samples.rs"]
mod samples;

use std::path::PathBuf;

use chromium::Browser;
use mayhap_report::{Finding, Kind, Report, html};
use serde_json::json;

/// A page in a separate folder.
pub(crate) struct Page {
    pub(crate) file: PathBuf,
    _folder: tempfile::TempDir,
}

pub(crate) fn page(report: &Report) -> Page {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file).unwrap());
    html::write(&mut out, report).unwrap();
    out.into_inner().unwrap();
    Page { file, _folder: folder }
}

/// A browser that shows a report.
fn shows(report: &Report) -> Option<(Browser, Page)> {
    let mut browser = Browser::start(1280, 900)?;
    let page = page(report);
    browser.open(&page.file);
    Some((browser, page))
}

fn every_kind() -> Option<(Browser, Page)> {
    shows(&samples::report(samples::every_kind()))
}

fn show(browser: &mut Browser, finding: &Finding) {
    browser.eval(&format!("location.hash = {}", json!(finding.id)));
    let title = finding.title.replace('`', "");
    browser.until(&format!("document.querySelector('#title')?.textContent === {}", json!(title)));
    browser.settle();
}

#[test]
fn a_refuted_question_is_shown_as_a_cycle_of_reasons() {
    let Some((mut browser, _page)) = shows(&refuted::report()) else { return };
    assert_eq!(browser.text("#title"), "This cannot happen");
    assert_eq!((browser.count(".side"), browser.count(".cycle > li"), browser.count(".premises > li")), (2, 3, 1));
    assert!(browser.text(".cycle > li").contains("lock L: its sections exclude each other"));
    assert_eq!(browser.text(".cycle > li a"), " [A]");
    assert_eq!(browser.count(".side b.thread"), 2);
    assert_eq!(browser.count(".side code b"), 0, "names make no markup");
    assert!(browser.text(".side").contains("<b>cells</b>[11]"));
}

#[test]
fn each_kind_is_shown_with_both_interleavings() {
    let Some((mut browser, _page)) = every_kind() else { return };
    let findings = samples::every_kind();
    // Steps that are next, arrows of a changed read in each panel, arrows to the holder of a lock.
    let expected = [(2, 0, 0, 2), (2, 1, 1, 0), (0, 0, 0, 0), (1, 1, 1, 0)];
    for (finding, (next, changed_before, changed_after, waits)) in findings.iter().zip(expected) {
        show(&mut browser, finding);
        assert_eq!(browser.count(".side"), finding.events.len() as u64);
        assert_eq!(browser.count(".panel"), 2);
        assert_eq!(browser.count(".possible .step.next"), next, "{}", finding.title);
        assert_eq!(browser.count(".observed .step.target"), finding.events.len() as u64);
        assert_eq!(browser.count(".observed .drawing .arrow.changed"), changed_before, "{}", finding.title);
        assert_eq!(browser.count(".possible .drawing .arrow.changed"), changed_after, "{}", finding.title);
        assert_eq!(browser.count(".possible .drawing .arrow.waits"), waits, "{}", finding.title);
        let rows = finding.schedules.as_ref().unwrap();
        assert_eq!(browser.count(".observed .step"), rows.rows.len() as u64);
        assert_eq!(browser.count(".possible .step"), rows.witness.len() as u64 + next);
        assert!(browser.count(".observed .section") > 0);
        assert!(browser.count(".source .here") == finding.events.len() as u64);
        assert!(browser.text(".command code").starts_with("mayhap replay "));
    }
    // What is only suspected has no schedule to show.
    show(&mut browser, &findings[4]);
    assert_eq!(browser.count(".panel"), 1);
    assert_eq!(browser.text(".finding .verdict"), "Suspected");
    browser.assert_clean();
}

#[test]
fn filter_and_search_narrow_the_list() {
    let Some((mut browser, _page)) = every_kind() else { return };
    assert_eq!(browser.count(".entry"), 5);
    browser.click(".chip[data-filter=race]");
    assert_eq!(browser.count(".entry"), 4);
    assert!(browser.text("#tally").contains("4 of 5"));
    browser.click(".chip[data-filter=proven]");
    assert_eq!(browser.count(".entry"), 2);
    browser.click(".chip[data-filter=race]");
    browser.click(".chip[data-filter=proven]");
    assert_eq!(browser.count(".entry"), 5);
    browser.key("/");
    browser.type_text("WITHDRAW balance");
    assert_eq!(browser.count(".entry"), 1);
    assert!(browser.text("#title").contains("Atomicity"), "what matches is shown");
    browser.type_text(" no such thing");
    assert_eq!(browser.count(".entry"), 0);
    assert!(browser.text("#main").contains("No finding matches"));
    browser.key("Escape");
    assert_eq!(browser.count(".entry"), 5);
    browser.assert_clean();
}

#[test]
fn keys_go_through_findings_and_steps() {
    let Some((mut browser, _page)) = every_kind() else { return };
    let title = |b: &mut Browser| b.text("#title");
    assert!(title(&mut browser).starts_with("Deadlock"));
    browser.key("n");
    assert!(title(&mut browser).starts_with("Data race"));
    browser.key("p");
    assert!(title(&mut browser).starts_with("Deadlock"));
    browser.eval("document.querySelector('#list').focus()");
    browser.key("ArrowDown");
    browser.key("Enter");
    assert!(title(&mut browser).starts_with("Data race"));
    assert_eq!(browser.eval("document.activeElement.id"), json!("title"), "Enter takes the focus to the finding");

    let inspector = |b: &mut Browser| b.text(".inspector");
    browser.key("j");
    assert!(inspector(&mut browser).starts_with("event 21 · main: starts main.1"), "{}", inspector(&mut browser));
    browser.key("j");
    browser.key("j");
    assert!(inspector(&mut browser).contains("main.2: locks m"), "{}", inspector(&mut browser));
    assert_eq!(browser.count(".band.selected"), 2, "the same step is marked in both panels");
    browser.key("k");
    assert!(inspector(&mut browser).contains("main: starts main.2"));
    browser.eval("document.querySelector('.observed .viewport').focus()");
    browser.key("End");
    assert!(inspector(&mut browser).starts_with("event 30 · main.2: reads queue.head"), "{}", inspector(&mut browser));
    browser.key("ArrowUp");
    assert!(inspector(&mut browser).contains("event 29"));
    assert_eq!(
        browser.text(".observed [role=option]"),
        inspector(&mut browser),
        "a screen reader is told what the picture marks"
    );
    browser.key("g");
    assert!(inspector(&mut browser).contains("queue.head"));
    browser.key("?");
    assert_eq!(browser.eval("document.querySelector('#help').open"), json!(true));
    browser.key("Escape");
    assert_eq!(browser.eval("document.querySelector('#help').open"), json!(false));
    browser.key("/");
    assert_eq!(browser.eval("document.activeElement.id"), json!("search"));
    browser.assert_clean();
}

#[test]
fn pointing_at_a_step_marks_it_in_both_interleavings() {
    let Some((mut browser, _page)) = every_kind() else { return };
    browser.eval("document.querySelector('.panels').scrollIntoView({block: 'center'})");
    let at = browser.eval(
        "(() => { const b = document.querySelector('.observed .step.op-acq .pill').getBoundingClientRect(); \
         return [b.x + 20, b.y + b.height / 2]; })()",
    );
    browser.hover(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    assert_eq!(browser.count(".observed .step.linked"), 1);
    assert_eq!(browser.count(".possible .step.linked"), 1);
    assert!(browser.text(".inspector").contains("main.1: locks a"));
    browser.hover(2.0, 2.0);
    assert_eq!(browser.count(".step.linked"), 0);
    browser.assert_clean();
}

#[test]
fn zooming_changes_the_height_of_rows() {
    let Some((mut browser, _page)) = every_kind() else { return };
    let height = |b: &mut Browser| {
        b.eval("document.querySelector('.observed .step .pill').getBoundingClientRect().height").as_f64().unwrap()
    };
    let before = height(&mut browser);
    browser.key("+");
    assert!(height(&mut browser) > before + 5.0);
    browser.key("-");
    assert!((height(&mut browser) - before).abs() < 0.1);
    assert!(browser.count(".observed .step .label") > 0);
    for _ in 0..3 {
        browser.key("-");
    }
    assert!(height(&mut browser) <= 13.0);
    browser.key("0");
    assert!((height(&mut browser) - before).abs() < 0.1, "a short interleaving fits at its usual size");
    browser.assert_clean();
}

#[test]
fn the_theme_follows_the_system_until_it_is_chosen() {
    let Some((mut browser, page)) = every_kind() else { return };
    let ground =
        |b: &mut Browser| b.eval("getComputedStyle(document.body).backgroundColor").as_str().unwrap().to_string();
    browser.media("screen", "light");
    let light = ground(&mut browser);
    browser.media("screen", "dark");
    let dark = ground(&mut browser);
    assert_ne!(light, dark);
    browser.click("#theme");
    assert_eq!(ground(&mut browser), light);
    browser.key("t");
    assert_eq!(ground(&mut browser), dark);
    browser.key("t");
    browser.open(&page.file);
    assert_eq!(ground(&mut browser), light, "the choice is kept");
    browser.assert_clean();
}

#[test]
fn commands_are_copied() {
    let Some((mut browser, _page)) = every_kind() else { return };
    browser.send("Browser.grantPermissions", json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}));
    browser.send("Page.bringToFront", json!({}));
    browser.click(".command .copy");
    browser.until("document.querySelector('.command .copy').textContent === 'Copied'");
    let copied = browser.eval("navigator.clipboard.readText()");
    assert_eq!(copied, json!("mayhap replay race.json -- ./prog --threads 2"));
    browser.assert_clean();
}

#[test]
fn paper_has_every_finding_and_no_controls() {
    let Some((mut browser, _page)) = every_kind() else { return };
    browser.media("print", "dark");
    browser.until("document.querySelectorAll('#paper article').length === 5");
    let hidden = |b: &mut Browser, what: &str| {
        b.eval(&format!("[...document.querySelectorAll('{what}')].every((e) => e.offsetParent === null)"))
            == json!(true)
    };
    assert!(hidden(&mut browser, ".sidebar, .buttons, #main, .copy"));
    assert_eq!(browser.count("#paper .drawing.still"), 9, "two a proof, one for what is suspected");
    assert_eq!(browser.count("#paper details:not([open])"), 0);
    assert_eq!(browser.eval("getComputedStyle(document.body).backgroundColor"), json!("rgb(255, 255, 255)"));
    let pdf = browser.send("Page.printToPDF", json!({"printBackground": true}));
    assert!(pdf["data"].as_str().unwrap().len() > 20_000);
    browser.media("screen", "light");
    browser.until("document.querySelectorAll('#paper article').length === 0");
    browser.assert_clean();
}

#[test]
fn a_narrow_page_shows_one_thing_at_a_time_and_never_overflows() {
    let Some((mut browser, page)) = every_kind() else { return };
    browser.resize(420, 900);
    browser.open(&page.file);
    browser.eval("location.hash = ''");
    let overflow = "document.documentElement.scrollWidth > innerWidth";
    let seen = |b: &mut Browser, what: &str| {
        b.eval(&format!("document.querySelector('{what}').offsetParent !== null")) == json!(true)
    };
    browser.eval("document.body.dataset.view = 'list'");
    assert!(seen(&mut browser, ".list") && !seen(&mut browser, "#main article"));
    assert_eq!(browser.eval(overflow), json!(false));
    browser.click(".entry");
    assert!(!seen(&mut browser, ".list") && seen(&mut browser, "#main article"));
    for finding in samples::every_kind() {
        show(&mut browser, &finding);
        assert_eq!(browser.eval(overflow), json!(false), "{}", finding.title);
        assert_eq!(browser.eval("document.querySelector('#main').scrollWidth <= 420"), json!(true));
    }
    browser.click(".back");
    assert!(seen(&mut browser, ".list"));
    browser.assert_clean();
}

/// Pictures for people to look at, of the first finding of each kind in a saved report or in the samples:
/// `MAYHAP_SHOTS=folder MAYHAP_REPORT=saved.json cargo test -p mayhap-report --test browser pictures`.
#[test]
fn pictures() {
    let Some(folder) = std::env::var_os("MAYHAP_SHOTS").map(PathBuf::from) else { return };
    let report = match std::env::var_os("MAYHAP_REPORT") {
        Some(file) => Report::parse(&std::fs::read(file).unwrap()).unwrap(),
        None => samples::report(samples::every_kind()),
    };
    let Some((mut browser, page)) = shows(&report) else { return };
    std::fs::copy(&page.file, folder.join("report.html")).unwrap();
    for kind in Kind::ALL {
        let Some(finding) = report.findings.iter().find(|f| f.kind == kind) else { continue };
        for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 420), ("dark", 420)] {
            browser.media("screen", scheme);
            browser.resize(width, 900);
            show(&mut browser, finding);
            // As high as the finding is.
            let height = browser.eval("innerHeight - main.clientHeight + main.scrollHeight - 20").as_u64().unwrap();
            browser.resize(width, height as u32);
            browser.settle();
            browser.screenshot(&folder.join(format!("html-{}-{width}-{scheme}.png", kind.name())));
        }
    }
    browser.assert_clean();
}
