//! The page for people who cannot see it, or cannot see it well.

use serde_json::{Value, json};

use crate::{every_kind, samples, show};

/// Roles that need a name.
const NAMED: &[&str] = &[
    "button",
    "searchbox",
    "textbox",
    "listbox",
    "option",
    "link",
    "dialog",
    "toolbar",
    "navigation",
    "region",
    "table",
];

#[test]
fn everything_that_can_be_used_has_a_name() {
    let Some((mut browser, _page)) = every_kind() else { return };
    browser.eval("document.querySelector('.as-text summary').click()");
    browser.key("j");
    browser.until("document.querySelectorAll('.tables table').length === 2");
    let tree = browser.send("Accessibility.getFullAXTree", json!({}));
    let mut seen = Vec::new();
    for node in tree["nodes"].as_array().unwrap() {
        let role = node["role"]["value"].as_str().unwrap_or("");
        if node["ignored"] == json!(true) || !NAMED.contains(&role) {
            continue;
        }
        let name = node["name"]["value"].as_str().unwrap_or("");
        // A step that the recorded run does not have is not an option there.
        let hidden = role == "option" && node["properties"].as_array().is_some_and(|p| p.is_empty());
        assert!(!name.trim().is_empty() || hidden, "a {role} without a name: {node}");
        seen.push(role.to_string());
    }
    for role in ["button", "searchbox", "listbox", "option", "link", "toolbar", "navigation", "table"] {
        assert!(seen.iter().any(|s| s == role), "there is no {role}: {seen:?}");
    }
}

#[test]
fn the_keyboard_reaches_everything_in_the_order_of_the_page() {
    let Some((mut browser, _page)) = every_kind() else { return };
    browser.eval("document.activeElement.blur()");
    let mut order: Vec<String> = Vec::new();
    for _ in 0..40 {
        browser.key("Tab");
        let what = "(() => { const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.className || e.tagName; })()";
        order.push(browser.eval(what).as_str().unwrap_or("").to_string());
    }
    let place =
        |name: &str| order.iter().position(|n| n.contains(name)).unwrap_or_else(|| panic!("{name} not in {order:?}"));
    assert_eq!(order[0], "skip");
    let stops = [
        "skip",
        "keys",
        "theme",
        "search",
        "chip",
        "list",
        "Next step",
        "Zoom in",
        "Recorded interleaving",
        "Possible interleaving",
        "Source of",
        "Copy the command",
    ];
    for pair in stops.windows(2) {
        assert!(place(pair[0]) < place(pair[1]), "{} comes before {}: {order:?}", pair[0], pair[1]);
    }
    // The ring of the focus can be seen.
    browser.eval("document.querySelector('#list').focus()");
    browser.key("Tab");
    let ring = browser.eval("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(ring, json!("solid"));
}

/// The text alternative contains what the picture shows.
#[test]
fn the_picture_is_there_as_tables() {
    let Some((mut browser, _page)) = every_kind() else { return };
    let findings = samples::every_kind();
    show(&mut browser, &findings[3]);
    browser.eval("document.querySelector('.as-text summary').click()");
    browser.until("document.querySelectorAll('.tables table').length === 2");
    let possible = browser.text(".tables table:nth-of-type(2)");
    assert!(
        possible.contains(
            "next, has not run; part of the finding; sees the write of event 61 (main); sees a different write"
        ),
        "{possible}"
    );
    let observed = browser.text(".tables table");
    assert!(observed.contains("sees the write of event 64 (main.1)"), "{observed}");
}

/// Every text has a contrast of at least 4.5 to 1 with its background, as the guidelines require.
const CONTRAST: &str = r#"(() => {
  const parse = (text) => {
    const n = text.match(/[\d.]+/g).map(Number);
    return n.length === 3 ? [...n, 1] : n;
  };
  const light = ([r, g, b]) => {
    const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const ground = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.getClientRects().length || e.closest('script, style, .unseen, svg')) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(parse(style.color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${node.data.trim().slice(0, 40)} .${e.className} ${ratio.toFixed(2)}`);
  }
  // In the drawings, text is drawn over shapes.
  for (const text of document.querySelectorAll('.drawing text, .drawing tspan')) {
    if (text.childElementCount > 0) continue;
    const box = text.closest('g')?.querySelector('.pill');
    const fill = box ? parse(getComputedStyle(box).fill) : [0, 0, 0, 0];
    const under = over(fill.length === 4 ? fill : [...fill, 1], ground(text.closest('.viewport')));
    const [a, b] = [light(parse(getComputedStyle(text).fill)), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`drawn ${text.textContent} ${ratio.toFixed(2)}`);
  }
  return bad;
})()"#;

#[test]
fn text_has_contrast_in_both_themes() {
    let Some((mut browser, _page)) = every_kind() else { return };
    for scheme in ["light", "dark"] {
        browser.media("screen", scheme);
        for finding in samples::every_kind() {
            show(&mut browser, &finding);
            assert_eq!(browser.eval(CONTRAST), Value::Array(Vec::new()), "{scheme}");
        }
    }
}
