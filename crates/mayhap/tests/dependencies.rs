//! Checks the dependencies against `deny.toml`: licences, duplicate versions and sources. `cargo deny check` does the same and also
//! knows security advisories, but it is not installed everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// The parts of `deny.toml` that are checked here.
#[derive(Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

/// A crate that may exist in a second version: `name@version`, where the version may be a prefix.
#[derive(Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
}

impl Skip {
    fn matches(&self, package: &Package) -> bool {
        let (name, version) = self.spec.split_once('@').expect("a skipped crate has a version");
        let rest = package.version.strip_prefix(version);
        name == package.name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn deny() -> Deny {
    toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap()
}

fn packages(deny: &Deny) -> Vec<Package> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked", "--offline"]).current_dir(root());
    for target in &deny.graph.targets {
        command.args(["--filter-platform", target]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    assert!(metadata.packages.len() > 20, "only {} packages", metadata.packages.len());
    metadata.packages
}

/// Whether a licence expression can be met with accepted licences. In `SPDX` expressions `AND` binds closer than `OR`; old crates
/// write `/` for `OR`.
fn accepted(expression: &str, allow: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "+WITH+");
    let words: Vec<String> = spaced.split_whitespace().map(|word| word.replace("+WITH+", " WITH ")).collect();
    let mut rest = &words[..];
    let met = any(&mut rest, allow);
    assert!(rest.is_empty(), "`{expression}` is not a licence expression");
    met
}

fn any(rest: &mut &[String], allow: &BTreeSet<String>) -> bool {
    let mut met = all(rest, allow);
    while rest.first().is_some_and(|word| word == "OR") {
        *rest = &rest[1..];
        met |= all(rest, allow);
    }
    met
}

fn all(rest: &mut &[String], allow: &BTreeSet<String>) -> bool {
    let mut met = one(rest, allow);
    while rest.first().is_some_and(|word| word == "AND") {
        *rest = &rest[1..];
        met &= one(rest, allow);
    }
    met
}

fn one(rest: &mut &[String], allow: &BTreeSet<String>) -> bool {
    let Some((word, after)) = rest.split_first() else { return false };
    *rest = after;
    if word != "(" {
        return allow.contains(word);
    }
    let met = any(rest, allow);
    assert_eq!(rest.first().map(String::as_str), Some(")"), "a bracket is not closed");
    *rest = &rest[1..];
    met
}

#[test]
fn every_licence_is_accepted() {
    let deny = deny();
    for package in packages(&deny) {
        let Package { name, version, license, .. } = package;
        let license = license.unwrap_or_else(|| panic!("{name} {version} names no licence"));
        assert!(accepted(&license, &deny.licenses.allow), "{name} {version}: {license} is not accepted by deny.toml");
    }
}

#[test]
fn no_crate_exists_in_two_versions_without_a_reason() {
    let deny = deny();
    let all = packages(&deny);
    let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in &all {
        versions.entry(&package.name).or_default().push(package);
    }
    for (name, packages) in &versions {
        let skipped = |package: &&&Package| deny.bans.skip.iter().any(|skip| skip.matches(package));
        let wanted: Vec<&str> = packages.iter().filter(|p| !skipped(p)).map(|p| p.version.as_str()).collect();
        assert!(wanted.len() < 2, "{name} exists in the versions {wanted:?}: deny.toml does not say why");
    }
    for skip in &deny.bans.skip {
        let duplicated = versions.values().any(|all| all.len() > 1 && all.iter().any(|package| skip.matches(package)));
        assert!(duplicated, "{} ({}) is no duplicate any more: remove it from deny.toml", skip.spec, skip.reason);
    }
}

#[test]
fn every_dependency_comes_from_one_registry() {
    let all = packages(&deny());
    let sources: BTreeSet<&str> = all.iter().filter_map(|package| package.source.as_deref()).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
}

#[test]
fn licence_expressions_are_understood() {
    let allow = ["MIT", "Unicode-3.0"].map(String::from).into();
    for (expression, expected) in [
        ("MIT OR Apache-2.0", true),
        ("Apache-2.0/MIT", true),
        ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0 OR MIT AND Unicode-3.0", true),
        ("GPL-3.0", false),
    ] {
        assert_eq!(accepted(expression, &allow), expected, "{expression}");
    }
}

/// `pip install .` builds what the lock file of the Python package says. One that lags behind would be resolved anew, in the user's clone.
#[test]
fn the_python_package_is_locked_to_what_its_crates_need() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let parsed = |path: PathBuf| -> toml::Table { std::fs::read_to_string(path).unwrap().parse().unwrap() };
    let workspace = parsed(root.join("Cargo.toml"));
    let lock = parsed(root.join("python/Cargo.lock"));
    let packages = lock["package"].as_array().unwrap();
    let text = |value: &toml::Value| value.as_str().unwrap().to_string();
    let mut checked = 0;
    for package in packages.iter().filter(|package| !package.as_table().unwrap().contains_key("source")) {
        let name = text(&package["name"]);
        let manifest = match name.as_str() {
            "mayhap-python" => root.join("python/Cargo.toml"),
            _ => root.join("crates").join(&name).join("Cargo.toml"),
        };
        let manifest = parsed(manifest);
        let locked = package.get("dependencies").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        for (needed, how) in manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten() {
            // A name alone is that of the only version.
            let found = locked.iter().map(text).find(|found| found.split(' ').next() == Some(needed));
            let found = found.unwrap_or_else(|| panic!("python/Cargo.lock: {name} needs {needed}: build the package"));
            let all = packages.iter().filter(|package| text(&package["name"]) == *needed);
            let only = all.map(|package| text(&package["version"])).next().unwrap_or_default();
            let version = found.split(' ').nth(1).map_or(only, str::to_string);
            let shared = &workspace["workspace"]["dependencies"];
            let asked = if how.get("workspace").is_some() { &shared[needed.as_str()] } else { how };
            let Some(asked) = asked.as_str().or_else(|| asked.get("version")?.as_str()) else { continue };
            assert!(version.starts_with(asked.trim_start_matches('=')), "{name}: {needed} {asked}, locked {version}");
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}
