//! What the architecture forbids: crate edges outside the table, `unsafe` where there must be none, machine paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crates of the workspace each crate may use. `ARCHITECTURE.md` says why.
const EDGES: &[(&str, &[&str])] = &[
    ("mayhap-wire", &[]),
    ("mayhap-rt", &["mayhap-wire"]),
    ("mayhap-symbols", &[]),
    ("mayhap-instrument", &["mayhap-wire", "mayhap-symbols"]),
    ("mayhap-trace", &["mayhap-wire"]),
    ("mayhap-record", &["mayhap-wire", "mayhap-trace", "mayhap-symbols"]),
    ("mayhap-witness", &["mayhap-trace"]),
    ("mayhap-detect", &["mayhap-trace", "mayhap-witness"]),
    ("mayhap-predict", &["mayhap-trace", "mayhap-witness"]),
    ("mayhap-analyse", &["mayhap-trace", "mayhap-witness", "mayhap-detect", "mayhap-predict"]),
    ("mayhap-replay", &["mayhap-wire", "mayhap-trace", "mayhap-witness", "mayhap-record", "mayhap-symbols"]),
    ("mayhap-report", &["mayhap-trace", "mayhap-witness", "mayhap-analyse", "mayhap-symbols"]),
    ("mayhap-generate", &["mayhap-trace"]),
    (
        "mayhap",
        &[
            "mayhap-wire",
            "mayhap-instrument",
            "mayhap-symbols",
            "mayhap-trace",
            "mayhap-record",
            "mayhap-witness",
            "mayhap-detect",
            "mayhap-predict",
            "mayhap-analyse",
            "mayhap-replay",
            "mayhap-report",
            "mayhap-generate",
        ],
    ),
    ("mayhap-testkit", &["mayhap-trace", "mayhap-witness"]),
    ("mayhap-programs", &[]),
    ("mayhap-bench", &["mayhap-trace", "mayhap-witness", "mayhap-detect", "mayhap-predict"]),
];

/// Crates whose roots must forbid `unsafe`: all but the runtime.
const SAFE: &[&str] = &[
    "mayhap-wire",
    "mayhap-instrument",
    "mayhap-symbols",
    "mayhap-record",
    "mayhap-analyse",
    "mayhap-replay",
    "mayhap-generate",
    "mayhap-trace",
    "mayhap-witness",
    "mayhap-detect",
    "mayhap-predict",
    "mayhap-report",
    "mayhap",
    "mayhap-testkit",
    "mayhap-bench",
];

/// Tests of any crate may use this one.
const DEV_ONLY: &str = "mayhap-testkit";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_string());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// A dependency between crates of the workspace.
struct Edge {
    from: String,
    to: String,
    dev: bool,
}

fn edges(packages: &[Value]) -> Vec<Edge> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_string();
    let members: Vec<String> = packages.iter().map(name).collect();
    let all = packages.iter().flat_map(|p| p["dependencies"].as_array().unwrap().iter().map(move |d| (p, d)));
    all.map(|(p, d)| Edge { from: name(p), to: name(d), dev: d["kind"] == "dev" })
        .filter(|edge| members.contains(&edge.to))
        .collect()
}

fn is_allowed(edge: &Edge) -> bool {
    let table = EDGES.iter().find(|(name, _)| *name == edge.from);
    (edge.dev && edge.to == DEV_ONLY) || table.is_some_and(|(_, uses)| uses.contains(&edge.to.as_str()))
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let packages = packages();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        assert!(EDGES.iter().any(|(n, _)| *n == name), "the crate {name} is not in the table of crates");
    }
    let edges = edges(&packages);
    assert!(edges.len() >= 4, "the workspace has edges");
    for edge in &edges {
        assert!(is_allowed(edge), "{} may not use {}", edge.from, edge.to);
    }
}

#[test]
fn the_table_forbids_what_it_should() {
    let edge = |from: &str, to: &str, dev| Edge { from: from.to_string(), to: to.to_string(), dev };
    assert!(!is_allowed(&edge("mayhap-witness", "mayhap-predict", false)));
    assert!(!is_allowed(&edge("mayhap-rt", "mayhap-trace", false)));
    assert!(!is_allowed(&edge("mayhap-trace", "mayhap-testkit", false)));
    assert!(is_allowed(&edge("mayhap-trace", "mayhap-testkit", true)));
    assert!(!is_allowed(&edge("mayhap-trace", "mayhap-detect", true)));
}

#[test]
fn crates_that_must_be_safe_forbid_unsafe_code() {
    let mut roots = 0;
    for package in packages() {
        if !SAFE.contains(&package["name"].as_str().unwrap()) {
            continue;
        }
        for target in package["targets"].as_array().unwrap() {
            let is_root = target["kind"].as_array().unwrap().iter().any(|k| k == "lib" || k == "bin");
            if is_root {
                let path = target["src_path"].as_str().unwrap();
                let text = fs::read_to_string(path).unwrap();
                assert!(text.contains("#![forbid(unsafe_code)]"), "{path} does not forbid unsafe code");
                roots += 1;
            }
        }
    }
    assert!(roots >= 3);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    // Put together so that this file does not hold them itself.
    let marks =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"], ["/Us", "ers/"], ["arti", "factory"]].map(|m| m.concat());
    let mut files = 0;
    visit(&root(), &mut |path| {
        let text = fs::read(path).unwrap();
        for mark in &marks {
            let found = text.windows(mark.len()).any(|w| w == mark.as_bytes());
            assert!(!found, "{} holds {mark}", path.display());
        }
        files += 1;
    });
    assert!(files > 30, "only {files} files were looked at");
}

/// Every file of the repository, as git sees it.
fn visit(root: &Path, see: &mut dyn FnMut(&Path)) {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    match listed {
        Ok(output) if output.status.success() => {
            let names = output.stdout.split(|&b| b == 0).filter(|name| !name.is_empty());
            for path in names.map(|name| root.join(String::from_utf8_lossy(name).as_ref())).filter(|p| p.is_file()) {
                see(&path);
            }
        }
        _ => walk(root, see),
    }
}

/// Where there is no git: every file but what building leaves.
fn walk(directory: &Path, see: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != ".git" {
            walk(&path, see);
        } else if path.is_file() {
            see(&path);
        }
    }
}
