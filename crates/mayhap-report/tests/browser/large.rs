//! Large reports stay usable: only what is visible is in the document.
//!
//! The tests bound the number of elements and the memory. `--nocapture` prints the times for docs/html-report.md.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::chromium::Browser;
use crate::{page, samples};

/// Elements that a page may have, however much there is to show.
const ELEMENTS: u64 = 4_000;

fn millis(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

#[test]
fn ten_thousand_findings() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let page = page(&samples::many(10_000));
    let size = std::fs::metadata(&page.file).unwrap().len();
    let load = browser.open(&page.file);
    assert!(browser.text("#tally").contains("10,000"));
    assert!(browser.count("*") < ELEMENTS);
    let memory = browser.memory();

    browser.key("/");
    let start = Instant::now();
    browser.type_text("queue_9876.head");
    let search = start.elapsed();
    assert_eq!(browser.count(".entry"), 1);
    assert!(browser.text("#title").contains("queue_9876.head"));
    browser.key("Escape");

    browser.key("End");
    assert!(browser.text("#title").contains("queue_9999.head"), "{}", browser.text("#title"));
    assert!(browser.count("*") < ELEMENTS);
    let start = Instant::now();
    for _ in 0..10 {
        browser.key("p");
    }
    let step = start.elapsed() / 10;
    assert!(browser.text("#title").contains("queue_9989.head"));
    assert!(memory < 800 << 20);
    println!(
        "10,000 findings: file {:.1} MB, loaded and drawn in {}, {} MB of memory, search {}, next finding {}",
        size as f64 / 1e6,
        millis(load),
        memory >> 20,
        millis(search),
        millis(step)
    );
    browser.assert_clean();
}

#[test]
fn a_million_steps() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let report = samples::long(1_000_000);
    let page = page(&report);
    let size = std::fs::metadata(&page.file).unwrap().len();
    let load = browser.open(&page.file);
    if let Some(folder) = std::env::var_os("MAYHAP_SHOTS") {
        browser.screenshot(&std::path::Path::new(&folder).join("million.png"));
    }
    browser.assert_clean();
    // The story comes first; all steps are a key away.
    assert!(browser.text(".observed .fold text").contains("steps left out"));
    let start = Instant::now();
    browser.key("s");
    let unfold = start.elapsed();
    assert!(browser.count("*") < ELEMENTS);
    assert!(browser.count(".possible .step.next") == 2, "the target is in sight");

    // Go to the middle with the scroll bar, which is not exact at this size, and on with the wheel, which is.
    let start = Instant::now();
    browser.eval("document.querySelectorAll('.viewport').forEach((v) => { v.scrollTop = v.scrollHeight / 2; })");
    browser.settle();
    let scroll = start.elapsed();
    let first = "Number(document.querySelector('.observed .drawing .number').textContent)";
    let middle = browser.eval(first).as_f64().unwrap();
    assert!((400_000.0..600_000.0).contains(&middle), "{middle}");
    let wheel = "document.querySelector('.observed .viewport').dispatchEvent(new WheelEvent('wheel', {deltaY: 52, cancelable: true}))";
    browser.eval(wheel);
    browser.settle();
    assert_eq!(browser.eval(first).as_f64().unwrap(), middle + 2.0, "two rows of 26 pixels");

    let start = Instant::now();
    browser.key("0");
    let fit = start.elapsed();
    assert!(browser.count(".observed .drawing .density") > 7, "from afar, lanes are shades");
    assert!(browser.count("*") < ELEMENTS);
    let start = Instant::now();
    for _ in 0..12 {
        browser.key("+");
    }
    let zoom = start.elapsed() / 12;
    assert!(browser.count(".observed .step") > 10);
    browser.eval("document.querySelector('.possible .viewport').focus()");
    browser.key("End");
    assert!(browser.text(".inspector").contains("reads shared"), "{}", browser.text(".inspector"));
    browser.key("Home");
    assert!(browser.text(".inspector").starts_with("event 1 "));
    let start = Instant::now();
    for _ in 0..10 {
        browser.key("j");
    }
    let step = start.elapsed() / 10;
    assert_eq!(browser.eval("document.querySelectorAll('.band.selected').length"), json!(2));
    let memory = browser.memory();
    assert!(memory < 1000 << 20);
    println!(
        "a witness of {} steps: file {:.1} MB, loaded and drawn in {}, {} MB of memory, all steps {}, scroll {}, fit {}, zoom {}, step {}",
        report.findings[0].witness.len(),
        size as f64 / 1e6,
        millis(load),
        memory >> 20,
        millis(unfold),
        millis(scroll),
        millis(fit),
        millis(zoom),
        millis(step)
    );
    browser.assert_clean();
}
