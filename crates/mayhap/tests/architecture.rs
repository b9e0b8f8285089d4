//! What the architecture forbids: crate edges outside the table, modules that depend on each other in a circle, long files and
//! functions, `unsafe` where there must be none, machine paths.

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/sizes.rs"]
mod sizes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use circles::Crate;
use serde_json::Value;

/// Which crates of the workspace each crate may use. `ARCHITECTURE.md` says why.
const EDGES: &[(&str, &[&str])] = &[
    ("mayhap-wire", &[]),
    ("mayhap-rt", &["mayhap-wire"]),
    ("mayhap-jvm", &["mayhap-wire"]),
    ("mayhap-symbols", &[]),
    ("mayhap-instrument", &["mayhap-wire", "mayhap-symbols"]),
    ("mayhap-trace", &["mayhap-wire"]),
    ("mayhap-record", &["mayhap-wire", "mayhap-trace", "mayhap-symbols"]),
    ("mayhap-witness", &["mayhap-trace"]),
    ("mayhap-detect", &["mayhap-trace", "mayhap-witness"]),
    ("mayhap-predict", &["mayhap-trace", "mayhap-witness"]),
    ("mayhap-analyse", &["mayhap-trace", "mayhap-witness", "mayhap-detect", "mayhap-predict"]),
    ("mayhap-replay", &["mayhap-wire", "mayhap-trace", "mayhap-witness", "mayhap-record", "mayhap-symbols"]),
    ("mayhap-explore", &["mayhap-wire", "mayhap-trace", "mayhap-record", "mayhap-replay"]),
    ("mayhap-report", &["mayhap-trace", "mayhap-witness", "mayhap-analyse", "mayhap-symbols"]),
    (
        "mayhap-corpus",
        &[
            "mayhap-trace",
            "mayhap-record",
            "mayhap-witness",
            "mayhap-detect",
            "mayhap-predict",
            "mayhap-analyse",
            "mayhap-report",
        ],
    ),
    ("mayhap-generate", &["mayhap-trace"]),
    (
        "mayhap-job",
        &[
            "mayhap-wire",
            "mayhap-instrument",
            "mayhap-trace",
            "mayhap-record",
            "mayhap-witness",
            "mayhap-analyse",
            "mayhap-replay",
            "mayhap-explore",
            "mayhap-report",
        ],
    ),
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
            "mayhap-explore",
            "mayhap-report",
            "mayhap-corpus",
            "mayhap-job",
            "mayhap-generate",
        ],
    ),
    ("mayhap-testkit", &["mayhap-trace", "mayhap-witness", "mayhap-generate"]),
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
    "mayhap-explore",
    "mayhap-generate",
    "mayhap-trace",
    "mayhap-witness",
    "mayhap-detect",
    "mayhap-predict",
    "mayhap-report",
    "mayhap-corpus",
    "mayhap-job",
    "mayhap",
    "mayhap-testkit",
    "mayhap-bench",
];

/// Modules of one crate that may depend on each other in a circle, and why.
const CIRCLES: &[(&str, &[&str], &str)] = &[
    ("mayhap-predict", &["learn", "polygraph", "saturate"], "the graph keeps what was learned from saturating it"),
    ("mayhap-predict", &["problem", "slice"], "a problem is made of slices, and a slice is cut for a problem"),
    (
        "mayhap-rt",
        &[
            "access",
            "blocking",
            "calls",
            "cancelling",
            "channels",
            "conditions",
            "fast_path",
            "heap",
            "hook",
            "inline_hooks",
            "inputs",
            "judge",
            "lock",
            "locks",
            "modules",
            "opaque_calls",
            "openmp",
            "outlined_hooks",
            "process",
            "replay",
            "ring",
            "sched",
            "signals",
            "sites",
            "spinning",
            "thread",
            "thread_records",
            "threads",
            "tls",
            "values",
            "waits",
            "watch",
        ],
        "a hook may block, blocking passes the token, and passing it ends or begins hooks of other threads",
    ),
    ("mayhap-rt", &["channels::connections", "channels::file_locks"], "both key what threads share by descriptors"),
    (
        "mayhap-rt",
        &["openmp::library", "openmp::tasks", "openmp::tool"],
        "the library's calls and its tool's callbacks are one protocol",
    ),
];

/// The most lines that the command line may have.
const COMMAND_LINE: usize = 8000;
/// The most lines of a file, and of a function outside tests.
const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 80;

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

/// The crates of the workspace, by name, and their folders.
fn crates() -> Vec<(String, PathBuf)> {
    let folder =
        |package: &Value| Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_path_buf();
    packages().iter().map(|package| (package["name"].as_str().unwrap().to_string(), folder(package))).collect()
}

#[test]
fn no_modules_depend_on_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        for circle in Crate::read(&folder.join("src")).circles() {
            let is_known = |modules: &[&str]| circle.iter().all(|module| modules.contains(&module.as_str()));
            if !CIRCLES.iter().any(|(of, modules, _)| *of == name && is_known(modules)) {
                wrong.push(format!("{name}: {}", circle.join(" <-> ")));
            }
        }
    }
    assert!(wrong.is_empty(), "modules depend on each other in a circle:\n{}", wrong.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    let crates = crates();
    for (name, modules, why) in CIRCLES {
        let (_, folder) = crates.iter().find(|(of, _)| of == name).unwrap();
        let circles = Crate::read(&folder.join("src")).circles();
        assert!(circles.iter().any(|circle| circle == modules), "{name}: {} ({why})", modules.join(" <-> "));
    }
}

#[test]
fn a_planted_circle_is_found() {
    let of = |texts: &[(&str, &str)]| {
        let mut planted = Crate::default();
        for (module, text) in texts {
            let path = module.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
            planted.insert(path, text);
        }
        planted.circles()
    };
    let reader = ("reader", "use crate::writer::{Line, page::Page};");
    assert_eq!(of(&[reader, ("writer", "pub struct Line;"), ("writer::page", "")]), Vec::<Vec<String>>::new());
    let both = vec![vec!["reader".to_string(), "writer".to_string()]];
    assert_eq!(of(&[reader, ("writer", ""), ("writer::page", "fn f() -> crate::reader::Text {}")]), both);
    assert_eq!(of(&[("", "pub use reader::Text;"), reader, ("writer", "use super::Text;")]), both);
    let three = [("a", "use crate::b;"), ("b", "use super::{c::C};"), ("c", "use crate::a::{self, A};")];
    assert_eq!(of(&three), [["a", "b", "c"]]);
    // A module and its parts are one; comments and tests do not count.
    assert!(of(&[("a", "use crate::a::b::B;"), ("a::b", "use super::A;")]).is_empty());
    let tests = "#[cfg(test)]\nmod tests {\n    use crate::reader::Text;\n}\n// crate::reader::Text\n";
    assert!(of(&[reader, ("writer", tests)]).is_empty());
}

#[test]
fn files_and_functions_are_short() {
    let mut wrong = Vec::new();
    for (_, folder) in crates() {
        for path in sizes::files(&folder.join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let (shown, lines) = (path.strip_prefix(root()).unwrap_or(&path).display(), text.lines().count());
            if lines > LONGEST_FILE {
                wrong.push(format!("{shown}: {lines} lines"));
            }
            let long = sizes::functions(&text).into_iter().filter(|function| function.lines > LONGEST_FUNCTION);
            wrong.extend(long.map(|function| format!("{shown}: {}: {} lines", function.name, function.lines)));
        }
    }
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}

#[test]
fn the_command_line_stays_small() {
    let folder = root().join("crates/mayhap/src");
    let lines: usize = sizes::files(&folder).iter().map(|path| fs::read_to_string(path).unwrap().lines().count()).sum();
    assert!(lines <= COMMAND_LINE, "crates/mayhap/src has {lines} lines; move what is no command to a room of its own");
}

#[test]
fn every_room_opens_with_what_it_is_for() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        let Ok(text) = fs::read_to_string(folder.join("src/lib.rs")) else { continue };
        let opening: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let opening = opening.join(" ").replace("//! ", "").to_lowercase();
        if !["in:", "out:", "must never"].iter().all(|part| opening.contains(part)) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "lib.rs says not what comes in, what goes out and what it must never know: {wrong:?}");
}

#[test]
fn long_functions_are_seen() {
    let text =
        format!("impl A {{\n    pub fn long() {{\n{}    }}\n\n    fn short() {{}}\n}}\n", "        x();\n".repeat(80));
    let found: Vec<(usize, String)> = sizes::functions(&text).into_iter().map(|f| (f.lines, f.name)).collect();
    assert_eq!(found, [(82, "long".to_string())]);
}

/// Prints the lines of each crate, the longest files and the longest functions: `bench/sizes`.
#[test]
#[ignore = "it checks nothing"]
fn sizes_of_everything() {
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    println!("{:>8}  crate", "lines");
    for (name, folder) in crates() {
        let mut sum = 0;
        for path in sizes::files(&folder.join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let lines = text.lines().count();
            sum += lines;
            functions.extend(sizes::functions(&text).into_iter().map(|f| (f.lines, format!("{shown}: {}", f.name))));
            files.push((lines, shown));
        }
        println!("{sum:>8}  {name}");
    }
    for (what, mut all) in [("file", files), ("function", functions)] {
        all.sort_by(|a, b| b.cmp(a));
        println!("\n{:>8}  {what}", "lines");
        all.iter().take(20).for_each(|(lines, name)| println!("{lines:>8}  {name}"));
    }
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

/// Without git: every file except build output.
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
