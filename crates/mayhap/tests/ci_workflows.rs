//! What `mayhap ci` prints: YAML is YAML, scripts are scripts, every `mayhap` command in them is one, and the steps work.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use common::mayhap_in;
use mayhap::commands::Cli;
use mayhap_testkit::needs;

const SERVICES: [&str; 3] = ["github", "gitlab", "jenkins"];
const SCRIPTS: [&str; 3] = ["bazel", "ctest", "nextest"];
const RUNNERS: [&str; 5] = ["ctest", "nextest", "cargo", "bazel", "make"];

fn printed(args: &[&str]) -> String {
    let run = mayhap_in(Path::new("."), &[&["ci"], args].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let blanks = ["@RECORD@", "@REPORT@", "@COMMENT@", "@INSTALL@", "@SHARDS@", "@PARTS@", "@NAME@"];
    assert!(!blanks.iter().any(|blank| run.stdout.contains(blank)), "{}", run.stdout);
    run.stdout
}

/// All files that can be printed, by what was asked for.
fn all() -> Vec<(String, String)> {
    let services = SERVICES.iter().flat_map(|service| RUNNERS.map(|runner| vec![*service, "--tests", runner]));
    let every = services.chain(SCRIPTS.iter().map(|script| vec![*script]));
    every.map(|args| (args.join(" "), printed(&args))).collect()
}

/// The text between the place where `mayhap` begins a command and where the shell ends it.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', '/'])) {
        for (at, _) in line.match_indices("mayhap ") {
            let starts = line[..at].trim_end().is_empty()
                || [" exec ", "'exec ", "run: ", "- ", "sh \"", "sh '", "eval \"", "-exec ", "; "]
                    .iter()
                    .any(|before| line[..at].ends_with(before));
            if starts {
                let end = [" || ", " > ", " ';'", " < "].iter().filter_map(|end| line[at..].find(end)).min();
                found.push(line[at..end.map_or(line.len(), |end| at + end)].trim_end_matches(['"', '\'']).to_string());
            }
        }
    }
    found
}

/// The words of a command, with something in the place of each variable.
fn words(command: &str) -> Vec<String> {
    let shard = command.replace("${{ matrix.shard }}", "1").replace("$CI_NODE_INDEX/$CI_NODE_TOTAL", "1/2");
    let shard = shard.replace("${part}", "1").replace("\"$1\"", "1/2").replace("$CI_NODE_INDEX", "1");
    let baseline = shard.replace("$baseline", "--baseline old.json");
    baseline.split_whitespace().map(|word| word.trim_matches(['"', '\'', '\\']).to_string()).collect()
}

#[test]
fn every_command_is_one_that_mayhap_takes() {
    let mut checked = 0;
    for (name, text) in all() {
        let found = commands(&text);
        assert!(found.iter().any(|command| command.starts_with("mayhap corpus traces --shard")), "{name}: {found:?}");
        assert!(found.iter().any(|command| command.starts_with("mayhap corpus --merge")), "{name}: {found:?}");
        for command in found {
            Cli::try_parse_from(words(&command)).unwrap_or_else(|error| panic!("{name}: {command}: {error}"));
            checked += 1;
        }
    }
    assert!(checked >= 18 * 3, "{checked}");
}

#[test]
fn yaml_is_yaml_and_has_the_shards() {
    for runner in RUNNERS {
        let parsed = |service: &str| -> serde_yaml_ng::Value {
            let text = printed(&[service, "--tests", runner, "--shards", "3"]);
            serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{service}: {error}\n{text}"))
        };
        let github = parsed("github");
        let shards = github["jobs"]["analyse"]["strategy"]["matrix"]["shard"].as_sequence().unwrap();
        assert_eq!(shards.len(), 3);
        let runs = |job: &str| -> Vec<String> {
            let steps = github["jobs"][job]["steps"].as_sequence().unwrap();
            steps.iter().filter_map(|step| step["run"].as_str().map(String::from)).collect()
        };
        for script in ["record", "analyse", "report"].into_iter().flat_map(runs) {
            check_script(&script);
        }
        let gitlab = parsed("gitlab");
        // It is included: what it says of all jobs, or of stages, would be said of the project's own.
        let names = gitlab.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap());
        names.for_each(|name| assert!(name.starts_with("mayhap-") || name == ".mayhap", "{name}"));
        assert_eq!(gitlab["mayhap-analyse"]["parallel"].as_u64(), Some(3));
        for job in ["mayhap-record", "mayhap-analyse", "mayhap-report"] {
            assert_eq!(gitlab[job]["extends"], ".mayhap");
            for part in ["script", "after_script"] {
                for script in gitlab[job][part].as_sequence().into_iter().flatten() {
                    check_script(script.as_str().unwrap());
                }
            }
        }
    }
}

/// Bash can parse it.
fn check_script(text: &str) {
    let plain = text.replace("${{ matrix.shard }}", "1").replace("${{ github.event.pull_request.number }}", "1");
    let output = Command::new("bash").args(["-n", "-c", &plain]).output().unwrap();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_command_that_installs_may_have_any_characters() {
    let install = "echo \"a: b\" # c && { curl -H 'X: y' $URL | sh; }";
    for service in ["github", "gitlab"] {
        let text = printed(&[service, "--install", install]);
        let parsed: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
        let at = match service {
            "github" => &parsed["jobs"]["record"]["steps"][1]["run"],
            _ => &parsed[".mayhap"]["before_script"][0],
        };
        assert_eq!(at.as_str().map(str::trim), Some(install));
    }
}

#[test]
fn scripts_are_scripts_and_jenkins_has_balanced_braces() {
    SCRIPTS.iter().for_each(|script| check_script(&printed(&[script])));
    for runner in RUNNERS {
        let text = printed(&["jenkins", "--tests", runner]);
        let scripts: Vec<&str> = text.split("'''").collect();
        assert_eq!(scripts.len() % 2, 1, "quotes are closed");
        scripts.iter().skip(1).step_by(2).for_each(|script| check_script(&script.replace("\\\\", "\\")));
        let pipeline: String = scripts.iter().step_by(2).copied().collect();
        assert_eq!(pipeline.matches('{').count(), pipeline.matches('}').count());
    }
}

#[test]
fn the_script_for_ctest_records_analyses_in_shards_and_reports_what_is_new() {
    if ![("cmake", "cmake"), ("ctest", "cmake")].iter().all(|(tool, package)| needs::tool(tool, package)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("bin")).unwrap();
    for name in ["mayhap", "mayhap-cc", "mayhap-c++"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mayhap"), at("bin").join(name)).unwrap();
    }
    let source = "#include <pthread.h>\n#include <unistd.h>\nint hits;\nstatic void *hit(void *a) { hits++; return a; }\n\
        int main(int c, char **v) {\n    if (c > 1 && access(v[1], F_OK)) return 3;\n    pthread_t t;\n    pthread_create(&t, 0, hit, 0);\n    hit(0);\n    return pthread_join(t, 0);\n}\n";
    fs::write(at("racy.c"), source).unwrap();
    fs::create_dir(at("data")).unwrap();
    fs::write(at("data/here"), "").unwrap();
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nenable_testing()\nfind_package(Threads)\n\
        add_executable(racy racy.c)\ntarget_link_libraries(racy Threads::Threads)\nadd_test(NAME first COMMAND racy)\n\
        add_test(NAME Odd/second:0 COMMAND racy here)\n\
        set_tests_properties(Odd/second:0 PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/data)\n";
    fs::write(at("CMakeLists.txt"), lists).unwrap();
    fs::write(at("mayhap.sh"), printed(&["ctest", "--shards", "2"])).unwrap();
    let path = format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap());
    let step = |words: &[&str]| -> common::Run {
        let mut command = Command::new("bash");
        command.arg("mayhap.sh").args(words).current_dir(folder.path()).env("PATH", &path);
        command.env_remove("MAYHAP_OPTIONS").env_remove("MAKEFLAGS").output().unwrap().into()
    };
    for (words, code) in
        [(&["record"][..], 0), (&["analyse", "1/2"], 0), (&["analyse", "2/2"], 0), (&["report"], 1), (&["baseline"], 0)]
    {
        let run = step(words);
        assert_eq!(run.code, Some(code), "{words:?}: {}{}", run.stdout, run.stderr);
        assert!(!run.stdout.contains("some tests failed"), "{}", run.stderr);
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(at("mayhap.json")).unwrap()).unwrap();
    assert_eq!(report["findings"][0]["tests"], serde_json::json!(["traces/Odd_second_0.mhp", "traces/first.mhp"]));
    assert!(at("mayhap.sarif").is_file() && at("mayhap.xml").is_file() && at("mayhap.html").is_file());
    let known = step(&["report"]);
    assert_eq!(known.code, Some(0), "{}{}", known.stdout, known.stderr);
    assert!(known.stdout.contains("already in the baseline, hidden"), "{}", known.stdout);
    // What is reported with a baseline is as good a baseline: what is known stays known.
    assert_eq!(step(&["baseline"]).code, Some(0));
    assert_eq!(step(&["report"]).code, Some(0));
    // A round on one machine goes by nothing of a round in shards.
    assert_eq!(step(&["all"]).code, Some(0));
    assert!(!step(&["report"]).stdout.contains("missing"));
}
