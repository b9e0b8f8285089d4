//! Checks that the recipes of `docs/ci.md` work: its shell commands are run unchanged on a project that has a race, and its
//! YAML is YAML that names commands and options there are.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Run;
use mayhap_testkit::needs;
use serde_json::Value;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md")).unwrap()
}

/// The indented lines between two texts of the page, without their indentation.
fn recipe(from: &str, to: &str) -> String {
    let page = page();
    let part = page.split_once(from).unwrap_or_else(|| panic!("no {from}")).1.split_once(to).unwrap().0.to_string();
    part.lines().filter_map(|line| line.strip_prefix("    ")).map(|line| format!("{line}\n")).collect()
}

/// A folder with a program whose run has a race, and with `mayhap` on the path.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["mayhap", "mayhap-cc", "mayhap-c++"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mayhap"), bin.join(name)).unwrap();
        }
        let source = "#include <pthread.h>\nint hits;\nstatic void *hit(void *a) { hits++; return a; }\n\
            int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, hit, 0);\n    hit(0);\n    pthread_join(t, 0);\n\
            return 0;\n}\n";
        let project = Project { folder };
        project.write("tests.c", source);
        project.write("mayhap.supp", "# none yet\n");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn shell(&self, script: &str) -> Run {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.args(["-c", script]).env("PATH", path).env_remove("MAYHAP_OPTIONS").env_remove("MAKEFLAGS");
        command.env_remove("CARGO_TARGET_DIR").current_dir(self.folder.path());
        command.output().unwrap().into()
    }

    /// The file is SARIF by the official schema's essentials and has results.
    fn assert_sarif(&self, name: &str) {
        let sarif: Value = serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap();
        assert_eq!((sarif["version"].as_str(), sarif["runs"].as_array().unwrap().len()), (Some("2.1.0"), 1));
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty(), "{name} has no result");
        assert_eq!(results[0]["ruleId"], "mayhap/race");
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with(".c"), "{place}");
    }
}

#[test]
fn the_recipe_for_make_builds_records_and_predicts() {
    if !needs::tool("make", "make") {
        return;
    }
    let project = Project::new();
    let rules = "tests: tests.c\n\t$(CC) -g -pthread -o $@ $<\nclean:\n\trm -f tests\n";
    project.write("Makefile", &format!("{}{rules}", recipe("**make.**", "## Starting")));
    let run = project.shell("make predict");
    assert!(run.stdout.contains("Data race on `hits`"), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, Some(2), "make fails when mayhap does");
    project.assert_sarif("mayhap.sarif");
}

#[test]
fn the_recipe_for_ctest_records_and_predicts_each_test() {
    if ![("cmake", "cmake"), ("ctest", "cmake")].iter().all(|(tool, package)| needs::tool(tool, package)) {
        return;
    }
    let project = Project::new();
    project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nenable_testing()\nfind_package(Threads)\n\
         add_executable(t tests.c)\ntarget_link_libraries(t Threads::Threads)\nadd_test(NAME racy COMMAND t \"a b\")\n\
         add_executable(u quiet.c)\nadd_test(NAME quiet COMMAND u)\n",
    );
    project.write("quiet.c", "int hits;\nint main(void) { hits++; return 0; }\n");
    let script = recipe("**cmake and ctest.**", "`mayhap-cc` and");
    let run = project.shell(&script);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Data race on `hits`"), "{}", run.stdout);
    project.assert_sarif("mayhap.sarif");
    let cases = fs::read_to_string(project.path("mayhap.xml")).unwrap();
    assert!(
        cases.contains("<failure") && run.stdout.contains("2 traces: 2 analysed, 1 with findings"),
        "{}",
        run.stdout
    );
}

/// Building a Rust project with recording takes a while: not part of every run.
#[test]
fn the_recipe_for_nextest_records_and_predicts_each_test() {
    if std::env::var_os("MAYHAP_CASES").is_none() || !needs::tool("cargo-nextest", "cargo-nextest") {
        return;
    }
    let project = Project::new();
    project.write("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    fs::create_dir(project.path("src")).unwrap();
    project.write(
        "src/lib.rs",
        "#[test]\nfn racy() {\n    static mut HITS: u32 = 0;\n    let hit = || unsafe { HITS += 1 };\n\
         let other = std::thread::spawn(hit);\n    hit();\n    other.join().unwrap();\n}\n",
    );
    let run = project.shell(&recipe("**cargo-nextest.**", "**make.**"));
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Data race on `"), "{}", run.stdout);
}

#[test]
fn the_steps_and_the_baseline_work_as_they_stand() {
    let project = Project::new();
    let steps = recipe("The steps are always the same:", "The recording of")
        .replace("mayhap cc …", "mayhap cc -g -pthread -o tests tests.c");
    let run = project.shell(&steps);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    project.assert_sarif("mayhap.sarif");
    assert!(project.path("mayhap.xml").is_file() && project.path("mayhap.json").is_file());
    fs::rename(project.path("test.mhp"), project.path("tests.mhp")).unwrap();
    let known = project.shell(&recipe("## Starting on a program", "A finding is recognised"));
    assert_eq!(known.code, Some(0), "with the baseline nothing is new: {}{}", known.stdout, known.stderr);
    assert!(known.stdout.contains("already in the baseline, hidden"), "{}", known.stdout);
}

/// The commands of a job, in order.
fn commands(yaml: &serde_yaml_ng::Value) -> Vec<String> {
    let text = |value: &serde_yaml_ng::Value| value.as_str().map(String::from);
    let steps = yaml["jobs"]["predict"]["steps"].as_sequence();
    match steps {
        Some(steps) => steps.iter().filter_map(|step| text(&step["run"])).collect(),
        None => yaml["mayhap"]["script"].as_sequence().unwrap().iter().filter_map(text).collect(),
    }
}

#[test]
fn the_yaml_is_yaml_and_its_commands_run() {
    let page = page();
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let yaml: serde_yaml_ng::Value = serde_yaml_ng::from_str(block).unwrap();
        let project = Project::new();
        project.write("Makefile", "tests: tests.c\n\t$(CC) -g -pthread -o $@ $<\n");
        let built = project.shell("mayhap cc -g -pthread -o t tests.c && mayhap record -o t.mhp -- ./t");
        assert_eq!(built.code, Some(0), "{}", built.stderr);
        project.shell("mayhap predict t.mhp --kinds deadlock --save mayhap-baseline.json");
        let mut ran = 0;
        for command in commands(&yaml).iter().filter(|c| !c.starts_with("cargo install") && !c.starts_with("exit")) {
            let run = project.shell(command);
            let expected = if command.starts_with("mayhap predict") { 1 } else { 0 };
            assert_eq!(run.code, Some(expected), "{command}: {}{}", run.stdout, run.stderr);
            ran += 1;
        }
        assert_eq!(ran, 3);
        project.assert_sarif("mayhap.sarif");
        for artifact in ["mayhap.html", "mayhap.sarif"] {
            assert!(block.contains(artifact) && project.path(artifact).is_file(), "{artifact}");
        }
    }
}
