//! Checks that the console blocks of README and docs are real output, and that links lead to files.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text without the seconds that a run took, and without how many of the demo's plain runs succeeded.
fn untimed(text: &str) -> String {
    let words = |line: &str| match (line.rsplit_once("; "), line.rsplit_once("it succeeded ")) {
        (Some((before, time)), _) if time.ends_with(" s") => format!("{before}; … s"),
        (_, Some((before, _))) => format!("{before}it succeeded …"),
        _ => line.to_string(),
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn console_blocks_are_true() {
    let pages = ["README.md", "docs/nondeterminism.md", "docs/reading-a-report.md"];
    let text: String = pages.iter().map(|page| fs::read_to_string(root().join(page)).unwrap()).collect();
    let blocks: Vec<&str> = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 4);
    for block in blocks {
        let (command, expected) = block.split_once('\n').unwrap();
        let arguments = command.strip_prefix("$ mayhap ").expect("a block begins with its command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let mut run = common::mayhap_in(&root(), &arguments);
        // If the demo's threads happen to run in the opposite order, it reports the same bugs from the other side.
        let attempts = if arguments == ["demo"] { 9 } else { 0 };
        for _ in 0..attempts {
            if untimed(&run.stdout) == untimed(expected) {
                break;
            }
            run = common::mayhap_in(&root(), &arguments);
        }
        assert_eq!(untimed(&run.stdout), untimed(expected), "{command}");
        assert!(run.code.is_some_and(|code| code != 2), "{command}: {}", run.stderr);
    }
}

/// All pages that people read.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|page| root().join(page)).into();
    for folder in ["docs", "docs/formats"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
    }
    pages
}

#[test]
fn links_lead_to_files() {
    let mut links = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap()) {
            if !target.is_empty() && !target.starts_with("http") {
                assert!(path.parent().unwrap().join(target).exists(), "{} links to {target}", path.display());
                links += 1;
            }
        }
    }
    assert!(links > 40, "{links} links");
}

/// Pages name source files as `crates/NAME/src/…` or `NAME/src/…`.
#[test]
fn source_files_that_pages_name_exist() {
    let mut named = 0;
    // The test `architecture` checks the crates that the map of the code names.
    for path in pages().iter().filter(|path| !path.ends_with("ARCHITECTURE.md")) {
        let text = fs::read_to_string(path).unwrap();
        for word in
            text.split('`').skip(1).step_by(2).filter(|word| word.contains("/src/") && word.starts_with(['c', 'm']))
        {
            let file = word.strip_prefix("crates/").unwrap_or(word);
            if file.starts_with("mayhap") && !file.contains(['{', '*', ' ', '…', '<', 'N']) {
                assert!(root().join("crates").join(file).exists(), "{} names {word}", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 10, "{named} files");
}
