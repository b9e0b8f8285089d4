//! Programs that can block forever, though an ordinary run of them ends, each with a correct twin (`NAME_fixed`). `mayhap run` must find that
//! they do, by proof or by trying and exploring, with a run in which it happens; and nothing in the twin. The comments at the top of a
//! program say:
//!
//! - `// kind: hang deadlock`: the kinds that the finding may have, since a hang in which threads wait for each other is a deadlock
//! - `// bug: …`: what is wrong
//! - `// expect: NAME …`: a thread waits for something with one of these in its name, or is called so
//!
//! `MAYHAP_PROGRAM=NAME` takes those whose names start so.

mod common;

use common::rust;
use std::path::{Path, PathBuf};

const SUFFIX: &str = "_fixed";

/// The programs with these extensions, without their twins.
fn programs(extensions: &[&str]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blocking");
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let extension = file.extension().unwrap().to_str().unwrap();
        extensions.contains(&extension) && !name.ends_with(SUFFIX) && name.starts_with(&wanted)
    });
    files.sort();
    files
}

fn twin(file: &Path) -> PathBuf {
    let (name, extension) = (file.file_stem().unwrap().to_str().unwrap(), file.extension().unwrap().to_str().unwrap());
    file.with_file_name(format!("{name}{SUFFIX}.{extension}"))
}

/// The words after `// key:` in a program's text.
fn fact(text: &str, key: &str) -> Vec<String> {
    let prefix = format!("// {key}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(prefix.as_str())).unwrap_or_else(|| panic!("no {key}"));
    line.split_whitespace().map(str::to_owned).collect()
}

/// The findings of `mayhap run` that are errors.
fn errors(program: &Path, folder: &Path) -> Vec<serde_json::Value> {
    let run = common::mayhap_in(folder, &["run", "--format", "json", "--patience", "3", program.to_str().unwrap()]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let findings = document["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["verdict"] != "note" && finding["verdict"] != "suspected").cloned().collect()
}

fn is_expected(finding: &serde_json::Value, kinds: &[String], names: &[String]) -> bool {
    let text = |event: &serde_json::Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let happened = finding["verdict"] == "confirmed" || finding["verdict"] == "observed";
    happened
        && kinds.iter().any(|kind| finding["kind"] == kind.as_str())
        && finding["events"].as_array().unwrap().iter().any(|event| {
            let (object, thread) = (text(event, "object"), text(event, "thread"));
            names.iter().any(|name| object.contains(name.as_str()) || thread == *name)
        })
}

/// Checks a program and its twin; `executable` makes what is run of a source file.
fn check(file: &Path, folder: &Path, executable: impl Fn(&Path) -> PathBuf) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let (kinds, names) = (fact(&text, "kind"), fact(&text, "expect"));
    assert!(!fact(&text, "bug").is_empty());
    let found = errors(&executable(file), folder);
    if !found.iter().any(|finding| is_expected(finding, &kinds, &names)) {
        let titles: Vec<&serde_json::Value> = found.iter().map(|finding| &finding["title"]).collect();
        return Err(format!("{}: no {kinds:?} on {names:?}, but {titles:?}", file.display()));
    }
    let wrong = errors(&executable(&twin(file)), folder);
    if let Some(finding) = wrong.first() {
        return Err(format!("{}: its twin has {}: {}", file.display(), finding["title"], finding["certainty"]));
    }
    Ok(())
}

#[test]
fn blocking_bugs_of_c_and_cxx_programs_are_found_and_their_twins_are_clean() {
    let folder = tempfile::tempdir().unwrap();
    let results = programs(&["c", "cpp"]).into_iter().map(|file| check(&file, folder.path(), Path::to_path_buf));
    let wrong: Vec<String> = results.filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn blocking_bugs_of_rust_programs_are_found_and_their_twins_are_clean() {
    let built = rust::build_hidden_bugs();
    let folder = tempfile::tempdir().unwrap();
    let executable = |file: &Path| built.join(file.file_stem().unwrap());
    let wrong: Vec<String> =
        programs(&["rs"]).iter().filter_map(|file| check(file, folder.path(), executable).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
