//! What `mayhap cc` hands to the compiler: the user's arguments, those that instrument, and those that link the runtime.
//!
//! The arguments are only looked at as far as the answer depends on them ([`survey`]): what stage the compiler stops at,
//! whether there is anything to compile or link, and the few that recording cannot live with. All others pass
//! through in their order. gcc links `-ltsan` by itself when it instruments, before everything else; a folder in front of the
//! library path makes that the runtime. Where gcc does not (`-nostdlib`), and for clang, which is asked to link no
//! runtime of its own, the runtime is named. Programs linked statically get it as an archive ([`link_statically`]).

pub mod assembly;
mod gcc_options;
mod response;

use std::ffi::OsString;
use std::path::Path;

use crate::runtime;
use gcc_options::{FENCES, LAST, call_memory_functions};

/// Which language's compiler is meant: which libraries it links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// Whose options the compiler understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// gcc and g++.
    Gcc,
    /// clang and clang++.
    Clang,
}

/// What the compiler is to be called with.
#[derive(PartialEq, Eq, Debug)]
pub struct Call {
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// How far the compiler goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Stage {
    Preprocess,
    Compile,
    /// Objects become one object: `-r`.
    Merge,
    #[default]
    Link,
}

/// What decides which arguments are added.
#[derive(Default, Debug)]
struct Survey {
    stage: Stage,
    /// There is something to compile or link.
    has_input: bool,
    /// There is something to compile, not only to link.
    has_source: bool,
    /// There is assembly to assemble.
    has_assembly: bool,
    /// The compiler's own libraries are not linked.
    bare: bool,
    /// No shared libraries are linked.
    linked_statically: bool,
    /// The C++ library is linked whatever the language.
    cxx: bool,
    /// The assembly is not for the assembler that comes with the wrapper: it is asked for, or written in other ways.
    other_assembly: bool,
    /// A library of OpenMP is linked.
    open_mp: bool,
    /// Why this call cannot be recorded.
    foreign: Option<String>,
}

/// The arguments with those that instrument and link; `folder` holds the runtime, and `assembler` is the folder of the assembler that
/// records basic blocks, where there is one.
pub fn translate(
    arguments: Vec<OsString>,
    language: Language,
    family: Family,
    folder: &Path,
    assembler: Option<&Path>,
) -> Call {
    let mut notes = Vec::new();
    let kept = keep(arguments, &mut notes, 0);
    let survey = survey(&kept);
    // Asked only for its version or settings, the compiler must answer as it would. So it must where the last option lacks its value,
    // which an option added here would become.
    let lacks_value = kept.last().is_some_and(|last| VALUED.iter().any(|option| last == option));
    if !survey.has_input || lacks_value {
        return Call { arguments: kept, notes };
    }
    if let Some(why) = survey.foreign {
        notes.push(why);
        return Call { arguments: kept, notes };
    }
    let mut all = Vec::with_capacity(kept.len() + 16);
    let named = family == Family::Clang || survey.bare;
    let links = survey.stage == Stage::Link;
    let archive = links && survey.linked_statically;
    if archive {
        all.extend(link_statically(language == Language::Cxx || survey.cxx, survey.open_mp, folder));
    } else if links {
        // In front, so that no other library of these names comes first.
        all.push(joined("-L", folder));
        if named {
            all.push(folder.join(runtime::NAME).into());
        }
    }
    // The user's own choices come later and win. gcc warns of fences that it does not instrument, even where they are calls:
    // with -Werror, or in a configure script, that would change what happens.
    all.push("-g".into());
    let assembles =
        survey.stage != Stage::Preprocess && (family == Family::Gcc || survey.has_source && !survey.has_assembly);
    let assembler = assembler.filter(|_| assembles && !archive && !survey.other_assembly);
    if family == Family::Gcc {
        all.push("-Wno-tsan".into());
        all.extend(FENCES.map(OsString::from));
        all.extend(call_memory_functions().map(OsString::from));
    }
    all.extend(assembler.map(|folder| joined("-B", &folder.join(""))));
    if survey.has_source {
        all.extend(["-isystem".into(), folder.join(runtime::HEADERS_NAME).into_os_string()]);
    }
    all.extend(kept);
    if family == Family::Gcc {
        all.extend(LAST.map(OsString::from));
    }
    match family {
        Family::Gcc if archive => all.push(joined("-specs=", &folder.join(runtime::SPECS_NAME))),
        Family::Gcc if assembler.is_some() => all.push("-fsanitize=thread".into()),
        Family::Gcc => all.extend(["-fsanitize=thread", "-fsanitize-coverage=trace-pc"].map(OsString::from)),
        Family::Clang => {
            let blocks = if assembler.is_some() { "-fno-integrated-as" } else { "-fsanitize-coverage=trace-pc-guard" };
            all.extend(["-fsanitize=thread", blocks].map(OsString::from));
            // It warns of these where it only links.
            if survey.has_source {
                all.extend(LLVM.iter().flat_map(|option| ["-mllvm", option]).map(OsString::from));
            }
            if survey.stage >= Stage::Merge {
                all.push("-fno-sanitize-link-runtime".into());
            }
        }
    }
    if links && !archive {
        all.extend(["-Xlinker", "--enable-new-dtags", "-Xlinker", "-rpath", "-Xlinker"].map(OsString::from));
        all.push(folder.into());
    }
    Call { arguments: all, notes }
}

/// What LLVM is asked for: reads right before writes have hooks, and variables that lie in memory stay there in the debug information, which
/// names them and says when their block ends. Otherwise it may say only what value they had.
const LLVM: [&str; 2] = ["-tsan-instrument-read-before-write=1", "-instcombine-lower-dbg-declare=0"];

/// A function of each part of gcc's OpenMP library that the runtime stands in front of.
const OPEN_MP: [&str; 11] = [
    "GOMP_parallel",
    "GOMP_barrier",
    "GOMP_critical_start",
    "GOMP_loop_dynamic_next",
    "GOMP_loop_ull_dynamic_next",
    "GOMP_ordered_start",
    "GOMP_sections_start",
    "GOMP_single_start",
    "GOMP_task",
    "GOMP_target_ext",
    "omp_set_lock",
];

/// The runtime as an archive, in front of the program, and each of its functions in front of the C library's. Nothing refers
/// to the archive before the program does, and to parts of the C++ library it refers only where they are.
fn link_statically(cxx: bool, open_mp: bool, folder: &Path) -> Vec<OsString> {
    let mut options =
        vec![folder.join(runtime::ARCHIVE_NAME).into(), joined("-Wl,@", &folder.join(runtime::WRAPS_NAME))];
    let needed = ["_Znwm", "_ZnwmSt11align_val_t", "__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort"];
    let open_mp = OPEN_MP.iter().filter(|_| open_mp);
    for name in ["__tsan_init"].iter().chain(needed.iter().filter(|_| cxx)).chain(open_mp) {
        options.push(format!("-Wl,-u,{name}").into());
    }
    options
}

/// The arguments without those that recording cannot live with. A response file that has some is replaced by what it says.
fn keep(arguments: Vec<OsString>, notes: &mut Vec<String>, depth: u32) -> Vec<OsString> {
    let mut kept = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if let Some(inside) = response::read(&argument, depth) {
            let before = inside.clone();
            let after = keep(inside, notes, depth + 1);
            if after == before {
                kept.push(argument);
            } else {
                kept.extend(after);
            }
        } else {
            kept.extend(keep_one(argument, notes));
        }
    }
    kept
}

fn keep_one(argument: OsString, notes: &mut Vec<String>) -> Option<OsString> {
    let text = argument.to_string_lossy();
    if let Some(list) = text.strip_prefix("-fsanitize=") {
        let (others, mixed) = without_conflicts(list);
        if mixed {
            notes.push(format!("{text} left out: it cannot be combined with recording"));
        }
        return (!others.is_empty()).then(|| format!("-fsanitize={others}").into());
    }
    match &*text {
        "-fwhole-program" | "-flto" => {
            notes.push(format!("{text} left out: recording needs calls that link-time optimisation removes"));
            None
        }
        _ if text.starts_with("-flto=") => {
            notes.push(format!("{text} left out: recording needs calls that link-time optimisation removes"));
            None
        }
        "-fno-sanitize=thread" | "-fno-sanitize=all" => {
            notes.push(format!("{text} left out: `mayhap cc` adds it itself"));
            None
        }
        // There is no other libtsan to choose.
        "-static-libtsan" => None,
        _ => Some(argument),
    }
}

/// A list of sanitizers without those that exclude `thread`, and whether there were any besides `thread` itself.
fn without_conflicts(list: &str) -> (String, bool) {
    let conflicting = ["address", "leak", "memory", "hwaddress", "kernel-address", "kernel-hwaddress", "all"];
    let mixed = list.split(',').any(|name| conflicting.contains(&name));
    let others: Vec<&str> = list.split(',').filter(|name| *name != "thread" && !conflicting.contains(name)).collect();
    (others.join(","), mixed)
}

/// Options whose value may be the next argument.
const VALUED: [&str; 50] = [
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-x",
    "-T",
    "-u",
    "-A",
    "-B",
    "-e",
    "-z",
    "-G",
    "-include",
    "-imacros",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isystem",
    "-iquote",
    "-isysroot",
    "-imultilib",
    "-iframework",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "--param",
    "--sysroot",
    "-wrapper",
    "-target",
    "-arch",
    "-framework",
    "-resource-dir",
    "-Tdata",
    "-Ttext",
    "-Tbss",
    "-ivfsoverlay",
    "--serialize-diagnostics",
    "-Xanalyzer",
];

fn survey(arguments: &[OsString]) -> Survey {
    let mut survey = Survey::default();
    survey.look(arguments, 0);
    survey
}

impl Survey {
    fn look(&mut self, arguments: &[OsString], depth: u32) {
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if let Some(inside) = response::read(argument, depth) {
                self.look(&inside, depth + 1);
                continue;
            }
            let text = argument.to_string_lossy();
            if VALUED.contains(&&*text) {
                let value = arguments.next().map(|value| value.to_string_lossy()).unwrap_or_default();
                self.target(&format!("{text} {value}"));
                self.other_assembly |= text == "-B";
                self.has_assembly |= text == "-x" && value.starts_with("assembler");
                continue;
            }
            self.one(&text);
        }
    }

    fn one(&mut self, text: &str) {
        match text {
            "-E" | "-M" | "-MM" => self.stage = Stage::Preprocess,
            "-S" | "-fsyntax-only" | "--precompile" => {
                (self.stage, self.other_assembly) = (self.stage.min(Stage::Compile), true)
            }
            "-c" => self.stage = self.stage.min(Stage::Compile),
            "-emit-llvm" | "-fintegrated-as" | "-integrated-as" => self.other_assembly = true,
            "-r" => self.stage = self.stage.min(Stage::Merge),
            "-nostdlib" | "-nodefaultlibs" => self.bare = true,
            "-static" | "-static-pie" | "--static" => self.linked_statically = true,
            "-lstdc++" | "-lc++" => (self.has_input, self.cxx) = (true, true),
            "-lgomp" | "-lomp" => (self.has_input, self.open_mp) = (true, true),
            "-fopenmp" | "-fopenmp=libomp" | "-fopenmp=libgomp" => self.open_mp = true,
            "-" => (self.has_input, self.has_source) = (true, true),
            "-m32" | "-m16" | "-mx32" => {
                self.foreign = Some(format!("{text}: compiled without recording, which supports only x86-64 code"))
            }
            "-ffreestanding" => {
                self.foreign = Some(format!("{text}: compiled without recording, which needs a C library"))
            }
            _ if ["-B", "-masm=", "-mcmodel="].iter().any(|option| text.starts_with(option)) => {
                self.other_assembly = true
            }
            _ if text.starts_with("-l") => self.has_input = true,
            _ if text.starts_with('-') => self.target(text),
            _ => {
                self.has_input = true;
                let is_linked = [".o", ".a", ".so", ".lo", ".obj"].iter().any(|end| text.ends_with(end));
                self.has_source |= !is_linked && !text.contains(".so.");
                self.has_assembly |= [".s", ".S", ".sx"].iter().any(|end| text.ends_with(end));
            }
        }
    }

    /// Code for other machines is not recorded.
    fn target(&mut self, text: &str) {
        let target = text.strip_prefix("--target=").or_else(|| text.strip_prefix("-target "));
        if target.is_some_and(|target| !(target.starts_with("x86_64") && target.contains("linux"))) {
            self.foreign = Some(format!("{text}: compiled without recording, which supports only x86-64 Linux"));
        }
    }
}

fn joined(prefix: &str, path: &Path) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// The call for arguments given as words.
    fn call(line: &str, family: Family) -> Call {
        translate(words(line), Language::C, family, Path::new("/rt"), None)
    }

    #[test]
    fn compilers_get_the_assembler_unless_the_assembly_is_another() {
        let with = |line, family| {
            text(&translate(words(line), Language::C, family, Path::new("/rt"), Some(Path::new("/rt/as"))))
        };
        assert_eq!(
            with("-c a.c", Family::Gcc),
            format!("-g {OWN} -B/rt/as/ -c a.c {} -fsanitize=thread", LAST.join(" "))
        );
        let links = format!("-B/rt/as/ a.c -o a {} -fsanitize=thread -Xlinker", LAST.join(" "));
        assert!(with("a.c -o a", Family::Gcc).contains(&links));
        let clang = CLANG.replace("-fsanitize-coverage=trace-pc-guard", "-fno-integrated-as");
        assert_eq!(with("-c a.c", Family::Clang), format!("-g -B/rt/as/ -c a.c {clang}"));
        let others = ["-S a.c", "-B mine -c a.c", "-Bmine/ a.c", "-masm=intel -c a.c", "-mcmodel=large -c a.c"];
        for line in [&others[..], &["-static a.c", "-fsyntax-only a.c", "-E a.c"]].concat() {
            for family in [Family::Gcc, Family::Clang] {
                assert_eq!(with(line, family), text(&call(line, family)));
            }
        }
        // What clang has an assembler of its own for, or nothing to assemble.
        for line in
            ["-c a.S", "a.c b.s", "-x assembler-with-cpp -c a", "-emit-llvm -c a.c", "-fintegrated-as a.c", "a.o"]
        {
            assert_eq!(with(line, Family::Clang), text(&call(line, Family::Clang)));
        }
    }

    /// The arguments without the folder of headers, which all calls that compile get.
    fn text(call: &Call) -> String {
        call.arguments.join(OsStr::new(" ")).into_string().unwrap().replace("-isystem /rt/include ", "")
    }

    #[test]
    fn what_is_compiled_gets_the_headers_before_those_of_the_c_plus_plus_library() {
        let has_headers = |line, family| {
            call(line, family).arguments.windows(2).any(|two| two[0] == "-isystem" && two[1] == "/rt/include")
        };
        for family in [Family::Gcc, Family::Clang] {
            assert!(["-c a.cpp", "-E a.cc", "a.cpp -o a"].into_iter().all(|line| has_headers(line, family)));
            assert!(!["a.o -o a", "--version"].into_iter().any(|line| has_headers(line, family)));
        }
    }

    /// What gcc gets before the user's arguments.
    struct Own;
    const OWN: Own = Own;

    impl std::fmt::Display for Own {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "-Wno-tsan {}", FENCES.join(" "))?;
            call_memory_functions().try_for_each(|option| write!(f, " {option}"))
        }
    }

    #[test]
    fn gcc_calls_functions_that_touch_memory() {
        let options = call_memory_functions().collect::<Vec<_>>().join(" ");
        assert!(
            options.contains("-fno-builtin-memcpy ") && options.contains("-D__builtin_memcmp(a,b,n)="),
            "{options}"
        );
    }

    const GCC: &str =
        "-U_FORTIFY_SOURCE -fno-crossjumping -fno-tree-tail-merge -fsanitize=thread -fsanitize-coverage=trace-pc";
    const CLANG: &str = "-fsanitize=thread -fsanitize-coverage=trace-pc-guard -mllvm -tsan-instrument-read-before-write=1 \
                         -mllvm -instcombine-lower-dbg-declare=0";
    const RPATH: &str = "-Xlinker --enable-new-dtags -Xlinker -rpath -Xlinker /rt";

    #[test]
    fn compiling_instruments_and_linking_adds_the_runtime() {
        let compiles =
            ["-c a.c", "-S a.c", "-E a.c", "-M a.c", "-MM a.c", "-MD -MF a.d -c a.c -o a.o", "-E -dM -", "-x c -c -"];
        for line in compiles {
            assert_eq!(text(&call(line, Family::Gcc)), format!("-g {OWN} {line} {GCC}"));
            assert_eq!(text(&call(line, Family::Clang)), format!("-g {line} {CLANG}"));
        }
        let links =
            ["a.c", "a.o -o a", "-shared a.o -o liba.so", "-MMD a.c", "-x c -", "-O2 -Weird --unknown=1 a.c", "-lfoo"];
        for line in links {
            assert_eq!(text(&call(line, Family::Gcc)), format!("-L/rt -g {OWN} {line} {GCC} {RPATH}"));
            let only_links = ["a.o -o a", "-shared a.o -o liba.so", "-lfoo"].contains(&line);
            let clang = if only_links { CLANG.split_once(" -mllvm").unwrap().0 } else { CLANG };
            let clang = format!("-L/rt /rt/{} -g {line} {clang} -fno-sanitize-link-runtime {RPATH}", runtime::NAME);
            assert_eq!(text(&call(line, Family::Clang)), clang);
        }
    }

    #[test]
    fn programs_linked_statically_get_the_archive() {
        let archive = format!("/rt/{} -Wl,@/rt/{} -Wl,-u,__tsan_init", runtime::ARCHIVE_NAME, runtime::WRAPS_NAME);
        for option in ["-static", "-static-pie"] {
            let line = format!("{option} a.c -o a");
            let gcc = format!("{archive} -g {OWN} {line} {} -specs=/rt/{}", LAST.join(" "), runtime::SPECS_NAME);
            assert_eq!(text(&call(&line, Family::Gcc)), gcc);
            let clang = format!("{archive} -g {line} {CLANG} -fno-sanitize-link-runtime");
            assert_eq!(text(&call(&line, Family::Clang)), clang);
        }
        assert_eq!(text(&call("-static -c a.c", Family::Gcc)), format!("-g {OWN} -static -c a.c {GCC}"));
        assert!(text(&call("-static a.o -lstdc++", Family::Gcc)).contains("-Wl,-u,_Znwm"));
        assert!(text(&call("-static -fopenmp a.c", Family::Gcc)).contains("-Wl,-u,GOMP_parallel"));
        let cxx = translate(words("-static a.o"), Language::Cxx, Family::Gcc, Path::new("/rt"), None);
        assert!(text(&cxx).contains("-Wl,-u,__cxa_guard_acquire"));
    }

    #[test]
    fn where_gcc_links_no_library_the_runtime_is_named() {
        for option in ["-nostdlib", "-nodefaultlibs"] {
            let call = call(&format!("{option} -shared crti.o a.o -lc"), Family::Gcc);
            assert!(text(&call).starts_with(&format!("-L/rt /rt/{} -g", runtime::NAME)), "{}", text(&call));
        }
        for family in [Family::Gcc, Family::Clang] {
            let merged = text(&call("-r -nostdlib a.o b.o -o ab.o", family));
            assert!(!merged.contains("/rt"), "{merged}");
        }
    }

    #[test]
    fn questions_go_to_the_compiler_as_they_are() {
        for line in [
            "--version",
            "-v",
            "-dumpmachine",
            "-print-search-dirs",
            "-o x -v",
            "-x c++ -I inc -D A -print-prog-name=ld",
        ] {
            assert_eq!(call(line, Family::Gcc), Call { arguments: words(line), notes: Vec::new() });
        }
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn what_recording_cannot_live_with_is_left_out() {
        let cases = [
            ("-fsanitize=thread", "", false),
            ("-fsanitize=address", "", true),
            ("-fsanitize=address,undefined", "-fsanitize=undefined", true),
            ("-fsanitize=undefined,thread", "-fsanitize=undefined", false),
            ("-fsanitize=leak", "", true),
            ("-fno-sanitize=thread", "", true),
            ("-flto", "", true),
            ("-flto=auto", "", true),
            ("-fwhole-program", "", true),
            ("-static-libtsan", "", false),
            ("-fno-sanitize=vptr", "-fno-sanitize=vptr", false),
            ("-ffat-lto-objects", "-ffat-lto-objects", false),
        ];
        for (given, kept, noted) in cases {
            let call = call(&format!("{given} -c a.c"), Family::Gcc);
            let expected: Vec<&str> = kept.split_whitespace().chain(["-c", "a.c"]).collect();
            assert_eq!(text(&call), format!("-g {OWN} {} {GCC}", expected.join(" ")));
            assert_eq!(!call.notes.is_empty(), noted, "{given}: {:?}", call.notes);
        }
    }

    #[test]
    fn code_for_other_machines_is_compiled_as_ever() {
        for line in ["-m32 -c a.c", "--target=aarch64-linux-gnu -c a.c", "-target riscv64 a.c", "-ffreestanding -c a.c"]
        {
            let call = call(line, Family::Clang);
            assert_eq!(call.arguments, words(line));
            assert!(call.notes[0].contains("without recording"));
        }
        assert!(call("--target=x86_64-linux-gnu -c a.c", Family::Clang).notes.is_empty());
    }

    #[test]
    fn response_files_are_read_and_kept_where_nothing_in_them_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            format!("@{}", path.display())
        };
        let plain = write("plain", "-c 'a.c' -O2");
        assert_eq!(text(&call(&plain, Family::Gcc)), format!("-g {OWN} {plain} {GCC}"));
        let outer = write("outer", &format!("{plain} -flto"));
        let call_outer = call(&outer, Family::Gcc);
        assert_eq!(text(&call_outer), format!("-g {OWN} {plain} {GCC}"));
        assert_eq!(call_outer.notes.len(), 1);
        // A file that is not there is an argument like any other: the compiler complains.
        assert!(text(&call("@/no/such/file", Family::Gcc)).contains("@/no/such/file"));
        let endless = folder.path().join("endless");
        std::fs::write(&endless, format!("@{}", endless.display())).unwrap();
        call(&format!("@{}", endless.display()), Family::Gcc);
    }
}
