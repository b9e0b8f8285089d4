//! `mayhap cc` and `mayhap c++` as the compiler of make, cmake, configure scripts and libtool's ways of linking. Each build is of a
//! program with two threads that race on `counter`; the recorded trace must contain the race.

mod common;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::Run;
use mayhap_testkit::needs;

const COUNT_C: &str = "#include \"count.h\"\nint counter;\nvoid count(void) { counter++; }\n";
const COUNT_H: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid count(void);\n";
const MAIN_C: &str = r#"
#include <pthread.h>
#include "count.h"
static void *work(void *arg) { count(); return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"#;

/// A folder with the program's sources, and links to the executable for tools that do not accept spaces.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("count.c", COUNT_C), ("count.h", COUNT_H), ("main.c", MAIN_C)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["mayhap", "mayhap-cc", "mayhap-c++"] {
        symlink(env!("CARGO_BIN_EXE_mayhap"), folder.path().join(name)).unwrap();
    }
    folder
}

/// Runs a script in the folder, which must succeed. The compiler is the environment's to choose.
fn shell(folder: &Path, script: &str) -> Run {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(folder).env("PATH", path).env("LC_ALL", "C");
    // Cargo's library path contains another build of the runtime.
    command.env_remove("LD_LIBRARY_PATH");
    let run: Run = command.output().unwrap().into();
    assert_eq!(run.code, Some(0), "{script}\n{}{}", run.stdout, run.stderr);
    run
}

/// Records a program; the race must be found.
fn races(folder: &Path, program: &str) {
    let run = common::mayhap_in(folder, &["record", "-o", "t.mhp", "--", program]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let found = common::mayhap_in(folder, &["detect", "--order", "hb", "t.mhp"]);
    assert!(found.stdout.contains("(counter)"), "{program}: {}{}", found.stdout, run.stderr);
}

/// Code that jumps through tables, calls through pointers, tails off and throws, however it is assembled: no false race is
/// reported after a branch that separates accesses, and the real one is found.
#[test]
fn basic_blocks_are_recorded_however_the_code_is_assembled() {
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_mayhap"), folder.path().join("mayhap")).unwrap();
    std::fs::write(folder.path().join("p.cc"), BLOCKS).unwrap();
    let ways = [
        "c++ -O2 -g -pthread p.cc -o p",
        "c++ -O0 -pipe -pthread p.cc -o p",
        "c++ -O3 -fno-plt -fcf-protection=none -save-temps -pthread p.cc -o p",
        "c++ -O2 -masm=intel -pthread p.cc -o p",
        "c++ -O1 -S -pthread p.cc -o p.s && mayhap c++ -pthread p.s -o p",
        "c++ -Os -fno-pie -no-pie -fno-omit-frame-pointer -c p.cc -o p.o && mayhap c++ -no-pie -pthread p.o -o p",
        "c++ -O2 -mindirect-branch=thunk -fcf-protection=none -pthread p.cc -o p",
    ];
    let clang_ways = [
        "c++ -O2 -g -pthread p.cc -o p",
        "c++ -O0 -fno-pie -no-pie -pthread p.cc -o p",
        "c++ -O3 -fno-plt -save-temps -pthread p.cc -o p",
        "c++ -O2 -masm=intel -pthread p.cc -o p",
        "c++ -O1 -S -pthread p.cc -o p.s && mayhap c++ -pthread p.s -o p",
        "c++ -Os -fcf-protection=full -fno-omit-frame-pointer -c p.cc -o p.o && mayhap c++ -pthread p.o -o p",
        "c++ -O2 -mretpoline -ffunction-sections -pthread p.cc -o p",
        "c++ -O2 -fintegrated-as -pthread p.cc -o p",
    ];
    let clang_ways = if there_is("clang++") { &clang_ways[..] } else { &[] };
    let by = |compilers, ways: &[&str]| -> Vec<String> {
        ways.iter().map(|way| format!("export MAYHAP_CC={compilers}; rm -f p p.mhp; mayhap {way}")).collect()
    };
    for way in [by("gcc MAYHAP_CXX=g++", &ways), by("clang MAYHAP_CXX=clang++", clang_ways)].concat() {
        let script = format!("{way} && mayhap record -o p.mhp -- ./p");
        shell(folder.path(), &script);
        let found = common::mayhap_in(folder.path(), &["predict", "--kinds", "race", "p.mhp"]);
        assert!(found.stdout.contains("Data race on `counter`"), "{way}: {}{}", found.stdout, found.stderr);
        assert!(!found.stdout.contains("`guarded`"), "{way}: {}", found.stdout);
    }
}

const BLOCKS: &str = r#"
#include <atomic>
#include <pthread.h>
#include <stdexcept>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, guarded, counter;
static int (*volatile chosen)(int);
static int even(int n) { return n % 2 == 0; }
__attribute__((noinline)) static int is_ready() {
    pthread_mutex_lock(&lock);
    int seen = ready;
    pthread_mutex_unlock(&lock);
    if (seen) return 1;
    return 0;
}
__attribute__((noinline)) static int tail(int n) { return chosen(n); }
/// Chosen by the loader, before anything else runs.
extern "C" {
static int plain(void) { return 1; }
int (*choose(void))(void) { return __builtin_cpu_init(), __builtin_cpu_supports("sse2") ? plain : nullptr; }
int picked(void) __attribute__((ifunc("choose")));
}
/// Keeps values below the stack pointer over a jump through a table.
__attribute__((noinline)) static unsigned long mixed(unsigned long a, unsigned long b, unsigned long c, unsigned long d, int n) {
    unsigned long e = a * b, f = b * c, g = c * d, h = d * a, i = a ^ c, j = b ^ d, k = a + d, l = b + c;
    for (int round = 0; round < 4; round++)
        switch ((n + round) % 6) {
        case 0: e += f * g; break;
        case 1: f ^= g + h; break;
        case 2: g -= h * i; break;
        case 3: h += i ^ j; break;
        case 4: i *= j + k; break;
        default: j += k * l; break;
        }
    return e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ a ^ b ^ c ^ d;
}
static unsigned long expected(unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    unsigned long f = b * c, g = c * d, h = d * a, i = a ^ c, j = b ^ d;
    unsigned long e = a * b + f * g;
    f ^= g + h;
    g -= h * i;
    h += i ^ j;
    return e ^ f ^ g ^ h ^ i ^ j ^ (a + d) ^ (b + c) ^ a ^ b ^ c ^ d;
}
__attribute__((noinline)) static void count(int n) {
    switch (n % 7) {
    case 0: counter += 1; break;
    case 1: counter += 2; break;
    case 2: counter -= 3; break;
    case 3: counter ^= 5; break;
    case 4: counter += tail(n); break;
    case 5: if (n > 100) throw std::runtime_error("large"); counter += 4; break;
    default: break;
    }
}
static void *consumer(void *) {
    while (!is_ready()) sched_yield();
    guarded += 1;
    for (int i = 0; i < 9; i++) count(i);
    return nullptr;
}
int main() {
    pthread_t thread;
    chosen = even;
    if (picked() != 1 || mixed(3, 5, 7, 11, 0) != expected(3, 5, 7, 11)) return 1;
    pthread_create(&thread, nullptr, consumer, nullptr);
    guarded = 7;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 100; i < 109; i++) try { count(i); } catch (const std::exception &) { counter -= 1; }
    pthread_join(thread, nullptr);
}
"#;

/// Whether a tool is installed.
fn there_is(command: &str) -> bool {
    needs::tool(command, if command == "clang++" { "clang" } else { command })
}

#[test]
fn make_builds_archives_shared_libraries_and_dependencies() {
    if !there_is("make") {
        return;
    }
    let folder = sources();
    let makefile = "CFLAGS = -O1 -MMD -MF $*.d
all: with_archive with_library
%.o: %.c
\t$(CC) $(CFLAGS) -fPIC -c $< -o $@
libcount.a: count.o
\t$(AR) rcs $@ $^
libcount.so: count.o
\t$(CC) -shared -Wl,--no-undefined $^ -o $@
with_archive: main.o libcount.a
\t$(CC) main.o -L. -l:libcount.a -pthread -o $@
with_library: main.o libcount.so
\t$(CC) main.o -L. -l:libcount.so -Wl,-rpath,'$$ORIGIN' -pthread -o $@
";
    std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
    shell(folder.path(), "CC='mayhap cc' make -e -s");
    assert!(std::fs::read_to_string(folder.path().join("count.d")).unwrap().contains("count.h"));
    races(folder.path(), "./with_archive");
    races(folder.path(), "./with_library");
    // Without `mayhap record`, the program runs unchanged.
    shell(folder.path(), "./with_archive && ./with_library");
}

#[test]
fn cmake_takes_the_wrappers_for_compilers() {
    if !there_is("cmake") {
        return;
    }
    let folder = sources();
    let lists = "cmake_minimum_required(VERSION 3.10)
project(counting C CXX)
find_package(Threads REQUIRED)
add_library(count SHARED count.c)
add_executable(main main.cpp)
target_link_libraries(main count Threads::Threads)
";
    std::fs::write(folder.path().join("CMakeLists.txt"), lists).unwrap();
    std::fs::copy(folder.path().join("main.c"), folder.path().join("main.cpp")).unwrap();
    let script = "cmake -S . -B build -DCMAKE_C_COMPILER=$PWD/mayhap-cc -DCMAKE_CXX_COMPILER=$PWD/mayhap-c++
cmake --build build";
    let run = shell(folder.path(), script);
    assert!(run.stdout.contains("The C compiler identification is"), "{}", run.stdout);
    races(folder.path(), "build/main");
}

#[test]
fn one_step_response_files_and_standard_input() {
    let folder = sources();
    std::fs::write(folder.path().join("arguments"), "main.c count.c '-O1' -pthread -o 'by response'").unwrap();
    shell(folder.path(), "mayhap cc @arguments; mv 'by response' response");
    races(folder.path(), "./response");
    shell(folder.path(), "cat main.c | mayhap cc -I. -O1 -pthread -x c - -x none count.c -o piped");
    races(folder.path(), "./piped");
    shell(folder.path(), "mayhap cc -O1 -S count.c && mayhap cc -c count.s && mayhap cc -E main.c > main.i");
    shell(folder.path(), "mayhap cc -O1 -pthread main.i count.o -o stages");
    races(folder.path(), "./stages");
    shell(folder.path(), "mayhap cc -O1 -c main.c count.c && mayhap cc -r -nostdlib main.o count.o -o both.o");
    shell(folder.path(), "mayhap cc both.o -pthread -o merged");
    races(folder.path(), "./merged");
}

#[test]
fn clang_does_the_same() {
    if !there_is("clang") {
        return;
    }
    let folder = sources();
    shell(folder.path(), "export MAYHAP_CC=clang; mayhap cc -O1 -pthread main.c count.c -o one_step");
    races(folder.path(), "./one_step");
    shell(folder.path(), "export MAYHAP_CC=clang; mayhap cc -O1 -fPIC -shared -Wl,-z,defs count.c -o libcount.so");
    shell(folder.path(), "MAYHAP_CC=clang mayhap cc -O1 main.c -L. -lcount -Wl,-rpath,. -pthread -o with_library");
    races(folder.path(), "./with_library");
}

#[test]
fn libtool_links_shared_libraries_without_the_compilers_libraries() {
    let folder = sources();
    let script = "mayhap cc -O1 -fPIC -c count.c
mayhap c++ -fPIC -shared -nostdlib -Wl,--no-undefined $(gcc -print-file-name=crti.o) $(gcc -print-file-name=crtbeginS.o) \\
    count.o -lc -lgcc $(gcc -print-file-name=crtendS.o) $(gcc -print-file-name=crtn.o) -Wl,-soname,libcount.so -o libcount.so
mayhap cc -O1 main.c -L. -lcount -Wl,-rpath,. -pthread -o main";
    shell(folder.path(), script);
    races(folder.path(), "./main");
}

/// What a configure script asks must be answered as by the compiler itself, down to whether it said anything.
#[test]
fn configure_scripts_come_to_the_same_conclusions() {
    let function = |name: &str| format!("char {name}(); int main(void) {{ return {name}(); }}");
    let cases = [
        (function("reallocarray"), ""),
        (function("cfree"), ""),
        (function("no_such_function"), ""),
        (function("pthread_mutex_clocklock"), ""),
        (function("thrd_create"), ""),
        (function("__tsan_no_such_hook"), ""),
        ("int main(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); return 0; }".into(), "-Werror -Wall"),
        ("_Atomic int a; int main(void) { return a++; }".into(), "-Werror"),
        ("__thread int t; int main(void) { return t; }".into(), ""),
        ("static int f(void) __attribute__((ifunc(\"r\"))); int main(void) { return 0; }".into(), "-Werror"),
        ("int main(void) { return 0; }".into(), "-Werror -fno-such-option"),
        ("int main(void) { return 0; }".into(), "-Werror -Wl,--no-such-option"),
        ("int main(void) { return 0; }".into(), "-Werror -Wl,-z,relro,-z,now -pie -fPIE"),
        ("int main(void) { return 0; }".into(), "-Werror -lno_such_library"),
        ("int main(void) { return 0 }".into(), ""),
        ("int main(void) { int x; return 0; }".into(), "-Wall -Werror"),
    ];
    let folder = sources();
    for (text, options) in cases {
        std::fs::write(folder.path().join("conftest.c"), &text).unwrap();
        let answer = |compiler: &str| {
            let script = format!(
                "{compiler} {options} conftest.c -o conftest 2>err && echo 0 || echo $?; test -s err && echo said || :"
            );
            shell(folder.path(), &script).stdout
        };
        assert_eq!(answer("mayhap cc"), answer("gcc"), "{options}: {text}");
    }
    // Sizes and sections of objects aside, questions are answered word for word.
    for question in ["--version", "-dumpmachine", "-print-search-dirs", "-dumpversion", "-print-multiarch", "-v"] {
        let answer = |compiler: &str| shell(folder.path(), &format!("{compiler} {question} 2>&1")).stdout;
        assert_eq!(answer("mayhap cc"), answer("gcc"), "{question}");
    }
}

#[test]
fn what_cannot_be_combined_is_left_out_and_said() {
    let folder = sources();
    let run = shell(folder.path(), "mayhap cc -O1 -flto -fsanitize=address,undefined main.c count.c -pthread -o main");
    assert!(run.stderr.contains("note: -flto left out"), "{}", run.stderr);
    assert!(run.stderr.contains("note: -fsanitize=address,undefined left out"), "{}", run.stderr);
    races(folder.path(), "./main");
    let looping = shell(folder.path(), "MAYHAP_CC=mayhap-cc mayhap cc main.c 2>&1 || :");
    assert!(looping.stdout.contains("names the wrapper"), "{}", looping.stdout);
}

#[test]
fn programs_linked_statically_are_recorded() {
    let folder = sources();
    shell(folder.path(), "cp main.c main.cpp");
    let mut builds = vec![
        ("static", "mayhap cc -O1 -static main.c count.c -pthread -o static"),
        ("static_pie", "mayhap cc -O1 -static-pie -fPIE main.c count.c -pthread -o static_pie"),
        (
            "static_objects",
            "mayhap cc -O1 -static -c main.c count.c; mayhap cc -static main.o count.o -o static_objects",
        ),
        ("static_cxx", "mayhap c++ -O1 -static main.cpp count.o -pthread -o static_cxx"),
    ];
    if there_is("clang") {
        builds.push(("static_clang", "MAYHAP_CC=clang mayhap cc -O1 -static main.c count.c -pthread -o static_clang"));
    }
    for (name, script) in builds {
        let run = shell(folder.path(), script);
        assert!(!run.stderr.contains("left out"), "{}", run.stderr);
        let program = format!("./{name}");
        shell(folder.path(), &format!("! ldd {program} 2>/dev/null | grep -q '=>'; {program}"));
        races(folder.path(), &program);
    }
}

/// A program that was built for libtsan with the plain compiler.
#[test]
fn programs_built_for_libtsan_are_recorded() {
    let folder = sources();
    shell(folder.path(), "gcc -g -O1 -fsanitize=thread main.c count.c -pthread -o theirs");
    races(folder.path(), "./theirs");
}

const READY_C: &str = r#"
#include <pthread.h>
#include <sched.h>
extern int value, ready;
extern pthread_mutex_t lock;
void await(void) {
    for (int seen = 0; !seen; sched_yield()) {
        pthread_mutex_lock(&lock);
        seen = ready;
        pthread_mutex_unlock(&lock);
    }
    value = 2;
}
"#;
const SETS_READY_C: &str = r#"
#include <pthread.h>
int value, ready;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void await(void);
static void *work(void *arg) { await(); return arg; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    value = 1;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    return 0;
}
"#;

/// Code built with a plain compiler records no basic blocks, while the rest does: its accesses count as decided.
#[test]
fn objects_built_for_libtsan_may_be_linked_in() {
    let folder = sources();
    std::fs::write(folder.path().join("ready.c"), READY_C).unwrap();
    std::fs::write(folder.path().join("sets_ready.c"), SETS_READY_C).unwrap();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| there_is(compiler)) {
        for option in ["", "-static", "-Wl,-z,now", "-fno-plt"] {
            let script = format!(
                "export MAYHAP_CC={compiler}; {compiler} -O1 {option} -fsanitize=thread -c ready.c\n\
                 mayhap cc -O1 {option} -c sets_ready.c; mayhap cc {option} sets_ready.o ready.o -pthread -o mixed"
            );
            let run = shell(folder.path(), &script);
            assert!(!run.stderr.contains("-mllvm"), "{script}: {}", run.stderr);
            let run = common::mayhap_in(folder.path(), &["record", "-o", "t.mhp", "--", "./mixed"]);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            let found = common::mayhap_in(folder.path(), &["predict", "--kinds", "race", "t.mhp"]);
            assert_eq!(found.code, Some(0), "{script}: {}", found.stdout);
        }
    }
}
