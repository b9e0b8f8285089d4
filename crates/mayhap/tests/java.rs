//! `mayhap java`: programs with a bug and their correct twins, and classes of the Java library with hooks in all their code.

mod common;

use std::collections::HashSet;
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
    ("BarrierLate", "race"),
    ("Unsynchronized", "race"),
    ("Copied", "race"),
    ("Sorted", "race"),
    ("Iterated", "race"),
    ("Referred", "race"),
    ("EarlyFuture", "race"),
    ("InvokedBoth", "race"),
    ("HandleWrite", "race"),
    ("Reflection", "race"),
    ("Escaped", "race"),
    ("MixedLocks", "deadlock"),
    ("ThreeLocks", "deadlock"),
    ("Unstarted", "race"),
    ("Downgraded", "race"),
    ("Streamed", "race"),
    ("TimerTick", "race"),
];

/// How many of them run by default.
const FEW: usize = 6;

/// How often each of them runs; without a number only some do.
fn rounds() -> Option<u32> {
    std::env::var("MAYHAP_CASES").ok().map(|cases| cases.parse().unwrap_or(1))
}

fn compiled() -> Option<tempfile::TempDir> {
    if !needs::tool("javac", "default-jdk-headless") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-jvm/tests/programs");
    let names = ["Pairs", "Correct", "Unusual", "Further", "Odd", "Bugs", "Behaviours", "Papers"]
        .map(|name| format!("{name}.java"));
    for name in &names {
        fs::copy(programs.join(name), folder.path().join(name)).unwrap();
    }
    let status = Command::new("javac").arg("-g").args(names).current_dir(folder.path()).status().unwrap();
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

fn is_sure(verdict: &str) -> bool {
    ["proven", "confirmed"].contains(&verdict)
}

#[test]
fn bugs_are_proven_and_confirmed_and_twins_are_clean() {
    let Some(folder) = compiled() else { return };
    let count = rounds().map_or(FEW, |_| PROGRAMS.len());
    let mut missed = Vec::new();
    for (class, kind) in &PROGRAMS[..count] {
        let rounds = rounds().unwrap_or(1);
        let (mut sure, mut confirmed) = (0, 0);
        for _ in 0..rounds {
            let bugs = found(folder.path(), class);
            let is = |verdict: &dyn Fn(&str) -> bool| bugs.iter().any(|(found, v)| found == kind && verdict(v));
            sure += u32::from(is(&is_sure));
            confirmed += u32::from(is(&|verdict| verdict == "confirmed"));
            let twin = found(folder.path(), &format!("{class}Fixed"));
            let errors: Vec<_> = twin.iter().filter(|(_, verdict)| verdict != "note").collect();
            assert!(errors.is_empty(), "{class}Fixed: {errors:?}");
        }
        eprintln!("{class}: proven {sure} of {rounds}, confirmed {confirmed}");
        if sure < rounds {
            missed.push(*class);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// What is proven of one recorded run, and what the program said.
fn proven(folder: &Path, arguments: &[&str]) -> (Vec<String>, String) {
    let command = [&["record", "-o", "run.mhp", "--", "java", "-cp", "."], arguments].concat();
    let recorded = mayhap_in(folder, &command);
    assert_eq!(recorded.code, Some(0), "{arguments:?}: {}{}", recorded.stdout, recorded.stderr);
    let predicted = mayhap_in(folder, &["predict", "--format", "json", "run.mhp"]);
    let report: Value = serde_json::from_str(&predicted.stdout).unwrap_or_else(|_| panic!("{}", predicted.stderr));
    let findings = report["findings"].as_array().expect("a list").iter();
    let sure = findings.filter(|finding| is_sure(finding["verdict"].as_str().unwrap_or_default()));
    (sure.map(|finding| format!("{arguments:?}: {finding}")).collect(), recorded.stdout + &recorded.stderr)
}

/// What is proven in each method of a recorded run whose name begins with one of these words: kind and method.
fn proven_by_method(folder: &Path, program: &str, words: &[&str]) -> HashSet<(String, String)> {
    let recorded = mayhap_in(folder, &["record", "-o", "run.mhp", "--", "java", "-cp", ".", program]);
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.stdout, recorded.stderr);
    let predicted = mayhap_in(folder, &["predict", "--format", "json", "--kinds", "race,deadlock", "run.mhp"]);
    let report: Value = serde_json::from_str(&predicted.stdout).unwrap_or_else(|_| panic!("{}", predicted.stderr));
    let mut found = HashSet::new();
    for finding in report["findings"].as_array().expect("a list") {
        let kind = finding["kind"].as_str().unwrap_or_default();
        let events = finding["events"].as_array().expect("a list").iter();
        let frames = events.flat_map(|event| event["stack"].as_array().cloned().unwrap_or_default());
        let functions = frames.filter_map(|frame| frame["function"].as_str().map(str::to_owned));
        let names: Vec<String> =
            functions.flat_map(|name| name.split(['.', '$']).map(str::to_owned).collect::<Vec<_>>()).collect();
        let known = names.iter().filter(|name| words.iter().any(|word| name.starts_with(word)));
        let known: HashSet<&String> = known.collect();
        assert!(!known.is_empty(), "a finding in no method of the program: {finding}");
        if is_sure(finding["verdict"].as_str().unwrap_or_default()) {
            found.extend(known.into_iter().map(|name| (kind.to_owned(), name.clone())));
        }
    }
    found
}

/// The names in a source of methods that begin with a word.
fn methods(source: &str, word: &str) -> Vec<String> {
    let begin = format!("static void {word}");
    let rest = source.lines().filter_map(|line| line.trim().strip_prefix(&begin));
    rest.map(|rest| format!("{word}{}", rest.split('(').next().unwrap_or_default())).collect()
}

/// Each method does one thing; its name says what is to be found in it.
#[test]
fn each_behaviour_has_its_verdict() {
    let Some(folder) = compiled() else { return };
    let source = include_str!("../../mayhap-jvm/tests/programs/Behaviours.java");
    let kinds = ["race", "deadlock", "fine"];
    let found = proven_by_method(
        folder.path(),
        "Behaviours",
        &kinds.map(|kind| format!("{kind}_")).each_ref().map(String::as_str),
    );
    let mut count = 0;
    let mut wrong = Vec::new();
    for kind in kinds {
        for method in methods(source, &format!("{kind}_")) {
            count += 1;
            let proven: Vec<&str> =
                found.iter().filter(|(_, name)| *name == method).map(|(kind, _)| kind.as_str()).collect();
            let expected: &[&str] = if kind == "fine" { &[] } else { &[kind] };
            if proven != expected {
                wrong.push((method, proven));
            }
        }
    }
    assert!(count >= 100 && wrong.is_empty(), "{wrong:?} of {count}");
}

#[test]
fn bugs_of_many_kinds_are_proven() {
    let Some(folder) = compiled() else { return };
    let races = ["wrongLock", "boxedLock", "rows", "readLock", "copied", "unlinked", "flag", "exchanged"];
    // These are found where their threads run in one of two orders, or by trying other schedules.
    let others = ["subclass", "nested", "rwOrder"];
    let found = proven_by_method(folder.path(), "Bugs", &[&races[..], &others].concat());
    let missed: Vec<&&str> =
        races.iter().filter(|name| !found.contains(&("race".to_owned(), (**name).to_owned()))).collect();
    assert!(missed.is_empty(), "{missed:?}: {found:?}");
    assert!(found.contains(&("deadlock".to_owned(), "rwOrder".to_owned())), "{found:?}");
}

/// The programs of the papers: how many pairs of locations race, and how many deadlocks there are, at least; 0: none is proven.
const OF_PAPERS: &[(&str, usize, usize)] = &[
    ("PAccount", 1, 0),
    ("PAirline", 2, 0),
    ("PArray", 0, 0),
    ("PBubblesort", 1, 0),
    ("PBufwriter", 1, 0),
    ("PCritical", 1, 0),
    ("PElevator", 1, 0),
    ("PMergesort", 1, 0),
    ("PPingpong", 1, 0),
    ("PTsp", 1, 0),
    ("PTwoStage", 0, 0),
    ("PRaytracer", 1, 0),
    ("PMoldyn", 1, 0),
    ("PTransfer", 0, 1),
    ("PDiningPhilosophers", 0, 1),
    ("PPicklock", 0, 1),
    ("PNotADeadlock", 0, 0),
    ("PHashtable", 0, 1),
    ("PStringBuffer", 0, 1),
    ("PBoundedBuffer", 1, 0),
    ("PProducerConsumer", 1, 0),
    ("PReadersWriters", 1, 0),
];

#[test]
fn programs_of_papers_have_their_bugs() {
    let Some(folder) = compiled() else { return };
    let count = rounds().map_or(FEW, |_| OF_PAPERS.len());
    for &(class, races, deadlocks) in &OF_PAPERS[..count] {
        let (proven, _) = proven(folder.path(), &[class]);
        let of = |kind: &str| proven.iter().filter(|finding| finding.contains(&format!("\"kind\":\"{kind}\""))).count();
        let is_right = |found: usize, least: usize| found >= least && (least > 0 || found == 0);
        assert!(is_right(of("race"), races) && is_right(of("deadlock"), deadlocks), "{class}: {proven:?}");
    }
}

#[test]
fn the_demo_has_a_twin_in_java() {
    if !needs::tool("javac", "default-jdk-headless") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = mayhap_in(folder.path(), &["demo", "--java"]).stdout;
    for line in ["Bank.java is a small bank", "Data race on `Bank.takings`", "Deadlock", "=> Reproduced"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_demo_in_java_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["demo", "--java"]).env("PATH", "/nowhere").env_remove("JAVA_HOME").current_dir(folder.path());
    let demo: common::Run = command.output().unwrap().into();
    assert_eq!(demo.code, Some(2), "{}", demo.stderr);
    assert!(demo.stderr.contains("needs a JDK"), "{}", demo.stderr);
}

/// The names of the correct programs.
fn correct() -> Vec<String> {
    let files = [
        include_str!("../../mayhap-jvm/tests/programs/Correct.java"),
        include_str!("../../mayhap-jvm/tests/programs/Unusual.java"),
    ];
    let lists = files.map(|programs| {
        programs.split("ALL = {").nth(1).and_then(|rest| rest.split('}').next()).expect("a list of names")
    });
    lists.iter().flat_map(|list| list.split(',').map(|name| name.trim().trim_matches('"').to_owned())).collect()
}

#[test]
fn nothing_is_proven_of_correct_programs() {
    let Some(folder) = compiled() else { return };
    let of = |class: &str, source: &str| -> Vec<Vec<String>> {
        let names = methods(source, "").into_iter().filter(|name| name != "main");
        names.map(|name| vec![class.to_owned(), name]).collect()
    };
    let further = of("Further", include_str!("../../mayhap-jvm/tests/programs/Further.java"));
    let odd = of("Odd", include_str!("../../mayhap-jvm/tests/programs/Odd.java"));
    let names: Vec<Vec<String>> = correct().into_iter().map(|name| vec![name]).chain(further).chain(odd).collect();
    assert!(names.len() >= 180, "{}", names.len());
    match rounds() {
        // All of them one after the other, in one machine.
        None => {
            for (all, last) in
                [("CorrectAll", "Copies"), ("UnusualAll", "AtomicForms"), ("Further", "done"), ("Odd", "done")]
            {
                let (wrong, said) = proven(folder.path(), &[all]);
                assert!(wrong.is_empty(), "{wrong:?}");
                assert!(said.contains(last), "{said}");
            }
        }
        Some(rounds) => {
            for name in names {
                for _ in 0..rounds {
                    let (wrong, _) = proven(folder.path(), &name.iter().map(String::as_str).collect::<Vec<_>>());
                    assert!(wrong.is_empty(), "{wrong:?}");
                }
            }
        }
    }
}

#[test]
fn stacks_are_as_java_prints_them() {
    let Some(folder) = compiled() else { return };
    mayhap_in(folder.path(), &["record", "-o", "run.mhp", "--", "java", "-cp", ".", "Account"]);
    let text = mayhap_in(folder.path(), &["predict", "run.mhp"]).stdout;
    for line in ["Account.deposit(Pairs.java:", "Account.lambda$main$0(Pairs.java:", "Both.lambda$start$0(Pairs.java:"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn virtual_threads_are_said_to_be_unseen() {
    let Some(folder) = compiled() else { return };
    let source = "public class V { static int x; public static void main(String[] a) throws Exception { Thread t = Thread.ofVirtual().start(() -> x++); x++; t.join(); } }";
    fs::write(folder.path().join("V.java"), source).unwrap();
    let made = Command::new("javac").arg("V.java").current_dir(folder.path()).output().unwrap();
    if !made.status.success() {
        eprintln!("skipped: this version of Java has no virtual threads");
        return;
    }
    let (wrong, said) = proven(folder.path(), &["V"]);
    assert!(wrong.is_empty() && said.contains("virtual threads are not supported"), "{wrong:?} {said}");
}

/// Takes about a minute: it runs where `MAYHAP_CASES` or `CI` is set.
#[test]
fn maven_shows_which_test_has_the_race() {
    if rounds().is_none() && std::env::var_os("CI").is_none() || !needs::tool("mvn", "maven") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/maven");
    for file in ["pom.xml", "src/main/java/shop/Till.java", "src/test/java/shop/TillTest.java"] {
        let place = folder.path().join(file);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(sample.join(file), place).unwrap();
    }
    let plain = Command::new("mvn").args(["-q", "-B", "test"]).current_dir(folder.path()).status().unwrap();
    if !plain.success() {
        // What a registry has is not this test's matter.
        eprintln!("skipped: Maven cannot build the sample, since it does not reach its registry");
        return;
    }
    let agent = mayhap_in(folder.path(), &["java", "--agent"]).stdout;
    let option = format!("-DargLine={}", agent.trim_end());
    let run = mayhap_in(folder.path(), &["run", "--explore", "0", "--", "mvn", "-q", "-B", "test", &option]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("shop.TillTest.sellsToTwoCustomers(TillTest.java:"), "{}", run.stdout);
    assert!(!run.stdout.contains("greetsTwoCustomers") && !run.stdout.contains("sellsOnce"), "{}", run.stdout);
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
