//! What reports call memory and threads: variables on stacks, members of blocks, names that programs give their threads.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The races that one run of a program contains: titles by the objects that they are about.
fn races(compiler: &str, file: &str, flags: &[&str]) -> (Value, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/names").join(file);
    fs::copy(source, folder.path().join(file)).unwrap();
    let mut words = vec![compiler];
    words.extend(flags);
    words.extend(["-g", "-pthread", file, "-o", "prog"]);
    let built = common::mayhap_in(folder.path(), &words);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let words = ["run", "--no-replay", "--explore", "0", "--kinds", "race", "--format", "json", "--", "./prog"];
    let run = common::mayhap_in(folder.path(), &words);
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", run.stdout, run.stderr));
    let mut found = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap() {
        for event in finding["events"].as_array().unwrap() {
            let title = finding["title"].as_str().unwrap().to_string();
            found.insert(event["object"].as_str().unwrap().to_string(), title);
        }
    }
    (report, found)
}

#[test]
fn memory_without_a_symbol_has_the_names_of_the_debug_information() {
    for flags in [&["-O0"][..], &["-O2"]] {
        let (report, found) = races("cc", "memory.c", flags);
        let objects: BTreeSet<&str> = found.keys().map(String::as_str).collect();
        for stack in ["main::total", "of_a_function::local.errors[2]", "main.9/inner::own"] {
            assert!(objects.contains(stack), "{flags:?}: {stack} is not in {objects:?}");
        }
        for block in [":Session.stats.errors[1]", ":Session[2].refs"] {
            let of = |object: &&&str| object.contains("@memory.c:") && object.ends_with(block);
            let name = objects.iter().find(of).unwrap_or_else(|| panic!("{flags:?}: no {block} in {objects:?}"));
            assert!(found[*name].contains("memory.c:"), "{}", found[*name]);
        }
        let sides = report["findings"].as_array().unwrap().iter().flat_map(|f| f["events"].as_array().unwrap());
        let named: BTreeSet<&str> = sides.filter_map(|side| side["thread_name"].as_str()).collect();
        assert_eq!(named, ["counter", "filler", "toucher", "user"].into(), "{flags:?}");
    }
}

#[test]
fn places_in_the_compiled_library_of_cpp_are_lines_of_the_program() {
    let text = include_str!("names/started.cpp");
    let lines = |mark: &str| -> Vec<u64> {
        (1..).zip(text.lines()).filter(|(_, line)| line.ends_with(mark)).map(|(number, _)| number).collect()
    };
    for compiler in ["g++", "clang++"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("started.cpp"), text).unwrap();
        let words = ["c++", "-O2", "-g", "-pthread", "started.cpp", "-o", "prog"];
        let mut build = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        let built: common::Run =
            build.args(words).env("MAYHAP_CXX", compiler).current_dir(folder.path()).output().unwrap().into();
        assert_eq!(built.code, Some(0), "{}", built.stderr);
        let words = ["run", "--no-replay", "--explore", "0", "--kinds", "race", "--format", "json", "--", "./prog"];
        let run = common::mayhap_in(folder.path(), &words);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let sides: Vec<&Value> =
            report["findings"].as_array().unwrap().iter().flat_map(|f| f["events"].as_array().unwrap()).collect();
        let started: BTreeSet<u64> =
            sides.iter().map(|side| side["created"]["source"]["line"].as_u64().unwrap_or(0)).collect();
        assert_eq!(started.into_iter().collect::<Vec<_>>(), lines("// started here"), "{compiler}: {report:#}");
        let reads: BTreeSet<u64> = sides
            .iter()
            .filter(|side| side["op"] == "r")
            .map(|side| side["source"]["line"].as_u64().unwrap_or(0))
            .collect();
        assert_eq!(reads.into_iter().collect::<Vec<_>>(), lines("// read here"), "{compiler}: {report:#}");
    }
}
