//! Checks the book: every page is in it, every link and anchor of its pages leads somewhere, and mdBook builds it where it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().unwrap()
}

/// A page's text without blocks of code, whose brackets are no links.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with("    ") {
            // Odd pieces between backticks are code.
            for (i, piece) in line.split('`').enumerate() {
                kept.push_str(if i % 2 == 0 { piece } else { "" });
            }
        }
        kept.push('\n');
    }
    kept
}

/// What links of a page lead to.
fn links(text: &str) -> Vec<String> {
    prose(text).split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
}

/// The anchors of a page, as mdBook and GitHub make them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        if in_code || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = found.entry(anchor.clone()).or_default();
        anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// The pages that the book has, relative to its folder.
fn chapters() -> Vec<String> {
    links(&fs::read_to_string(docs().join("SUMMARY.md")).unwrap())
}

#[test]
fn every_page_is_in_the_book_once() {
    let chapters = chapters();
    let unique: BTreeSet<&String> = chapters.iter().collect();
    assert_eq!(unique.len(), chapters.len(), "a page is in the book twice");
    let mut pages = BTreeSet::new();
    for folder in ["", "formats"] {
        for file in fs::read_dir(docs().join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("SUMMARY.md") {
                pages.insert(path.strip_prefix(docs()).unwrap().to_str().unwrap().to_string());
            }
        }
    }
    assert_eq!(pages.iter().collect::<BTreeSet<_>>(), unique);
}

#[test]
fn links_and_anchors_of_the_book_lead_somewhere() {
    let texts: BTreeMap<PathBuf, String> = chapters()
        .iter()
        .map(|page| {
            (docs().join(page), fs::read_to_string(docs().join(page)).unwrap_or_else(|e| panic!("{page}: {e}")))
        })
        .collect();
    let mut checked = 0;
    for (page, text) in &texts {
        for link in links(text).iter().filter(|link| !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let at = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let said = || format!("{} links to {link}", page.display());
            let at = at.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", said()));
            // A picture may be stored elsewhere and linked into the book's folder.
            assert!(
                at.starts_with(docs()) || docs().join("images").join(at.file_name().unwrap()).exists(),
                "{}",
                said()
            );
            if at.extension().is_some_and(|extension| extension == "md") {
                let text = texts.get(&at).unwrap_or_else(|| panic!("{}, which is not in the book", said()));
                assert!(anchor.is_empty() || anchors(text).contains(anchor), "{}: no such heading", said());
            }
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked} links");
}

#[test]
fn mdbook_builds_the_book() {
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!("skipped: mdbook is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = docs().parent().unwrap().to_path_buf();
    let built = Command::new("mdbook").arg("build").arg("--dest-dir").arg(folder.path()).arg(&root).output().unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && !said.contains("ERROR"), "{said}");
    for page in chapters() {
        assert!(folder.path().join(page).with_extension("html").exists(), "{said}");
    }
    assert!(folder.path().join("images/prediction.svg").exists());
    assert!(folder.path().join("images/growth-events.svg").exists());
}

#[test]
fn anchors_are_made_as_mdbook_makes_them() {
    let text = "# From a: `mayhap run` to b\n## Limits\n```\n# code\n```\n## Limits\n";
    let expected = ["from-a-mayhap-run-to-b", "limits", "limits-1"];
    assert_eq!(anchors(text), expected.map(String::from).into());
    assert_eq!(links("[a](b.md#c) `[x](y)` ![p](i.svg)\n    [code](z)\n"), ["b.md#c", "i.svg"]);
}
