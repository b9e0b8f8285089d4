//! `mayhap java`: programs with a bug and their correct twins, and classes of the Java library with hooks in all their code.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::mayhap_in;
use mayhap_testkit::needs;
use serde_json::Value;

/// The programs and what is wrong in each; `NameFixed` is the correct twin. Only the first ones run by default.
const PROGRAMS: &[(&str, &str)] = &[
    ("Account", "race"),
    ("TwoLocks", "deadlock"),
    ("ReadersWriters", "race"),
    ("Bounded", "race"),
    ("DoubleChecked", "race"),
    ("Transfer", "deadlock"),
    ("Airline", "race"),
    ("Publish", "race"),
    ("Bubblesort", "race"),
    ("Bufwriter", "race"),
    ("Mergesort", "race"),
    ("Critical", "race"),
    ("Elevator", "race"),
    ("Tsp", "race"),
    ("ProducerConsumer", "race"),
    ("TwoStage", "race"),
    ("Pool", "race"),
    ("Result", "race"),
    ("Cache", "race"),
    ("Latched", "race"),
    ("Permits", "race"),
    ("Interrupted", "race"),
    ("QueueHandOver", "race"),
];

/// How many of them run by default.
const FEW: usize = 8;

fn compiled() -> Option<tempfile::TempDir> {
    if !needs::tool("javac", "default-jdk-headless") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-jvm/tests/programs/Pairs.java");
    fs::copy(source, folder.path().join("Pairs.java")).unwrap();
    let status = Command::new("javac").args(["-g", "Pairs.java"]).current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    Some(folder)
}

/// The kinds of what is proven or confirmed, and how sure each is.
fn found(folder: &Path, class: &str) -> Vec<(String, String)> {
    let run = mayhap_in(folder, &["run", "--explore", "0", "--format", "json", "--", "java", "-cp", ".", class]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{class}: {}", run.stderr));
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("a list").iter();
    findings.map(|finding| (text(finding, "kind"), text(finding, "verdict"))).collect()
}

#[test]
fn bugs_are_proven_and_confirmed_and_twins_are_clean() {
    let Some(folder) = compiled() else { return };
    let count = std::env::var("MAYHAP_CASES").map_or(FEW, |_| PROGRAMS.len());
    for (class, kind) in &PROGRAMS[..count] {
        let bugs = found(folder.path(), class);
        let sure =
            bugs.iter().any(|(found, verdict)| found == kind && ["proven", "confirmed"].contains(&verdict.as_str()));
        assert!(sure, "{class}: {bugs:?}");
        let twin = found(folder.path(), &format!("{class}Fixed"));
        let errors: Vec<_> = twin.iter().filter(|(_, verdict)| verdict != "note").collect();
        assert!(errors.is_empty(), "{class}Fixed: {errors:?}");
    }
}

#[test]
fn a_deadlock_of_monitors_is_forced() {
    let Some(folder) = compiled() else { return };
    let bugs = found(folder.path(), "TwoLocks");
    assert!(bugs.contains(&("deadlock".into(), "confirmed".into())), "{bugs:?}");
}

#[test]
fn java_is_run_with_its_own_arguments() {
    let Some(folder) = compiled() else { return };
    let run = mayhap_in(folder.path(), &["java", "-cp", ".", "AccountFixed"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("30"), "{}", run.stderr);
    let agent = mayhap_in(folder.path(), &["java", "--agent"]);
    assert!(agent.stdout.starts_with("-agentpath:") && agent.stdout.trim_end().ends_with("libmayhap_jvm.so"));
}

/// Loads every class of the library that it can, with hooks in all code: the machine verifies each.
const LOADER: &str = r#"
import java.net.URI;
import java.nio.file.*;
import java.util.stream.*;
public class Loader {
    public static void main(String[] args) throws Exception {
        Path root = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base");
        int loaded = 0, wrong = 0, most = Integer.parseInt(args[0]);
        java.util.List<Path> files;
        try (Stream<Path> all = Files.walk(root)) { files = all.filter(p -> p.toString().endsWith(".class")).collect(Collectors.toList()); }
        int step = Math.max(1, files.size() / most);
        for (int i = 0; i < files.size(); i += step) {
            String name = root.relativize(files.get(i)).toString().replace('/', '.').replaceAll("\\.class$", "");
            if (name.equals("module-info")) continue;
            try { Class<?> c = Class.forName(name, false, null); java.lang.invoke.MethodHandles.lookup(); c.getDeclaredMethods(); loaded++; }
            catch (VerifyError | ClassFormatError e) { wrong++; System.out.println(e); }
            catch (Throwable e) { }
        }
        System.out.println(loaded + " loaded, " + wrong + " wrong");
    }
}
"#;

#[test]
fn classes_of_the_library_with_hooks_verify() {
    let Some(folder) = compiled() else { return };
    fs::write(folder.path().join("Loader.java"), LOADER).unwrap();
    let status = Command::new("javac").arg("Loader.java").current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    let agent = mayhap_in(folder.path(), &["java", "--agent"]).stdout.trim_end().to_owned();
    let most = std::env::var("MAYHAP_CASES").map_or("400".to_owned(), |_| "1000000".into());
    let output = Command::new("java")
        .args([&format!("{agent}=rewrite-all"), "-Xverify:all", "-cp", ".", "Loader", &most])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(" loaded, 0 wrong"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let loaded: u32 = text.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(loaded > 300, "{text}");
}
