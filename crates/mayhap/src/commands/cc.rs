//! `mayhap cc` and `mayhap c++`: the compiler, with recording built in.
//!
//! The compiler gets its own arguments and those that instrument. gcc links `-ltsan` by itself when it instruments, before
//! everything else; a folder in front of the library path makes that the runtime. clang is told to link no
//! runtime of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::notes::note;
use crate::{Exit, Failure, runtime};

/// Compile and link with recording, as a drop-in for the compiler
///
/// All arguments go to the compiler: gcc or g++, clang or clang++ where there is no gcc, or what MAYHAP_CC or MAYHAP_CXX
/// says. Works as CC="mayhap cc", CXX="mayhap c++" and, for tools that dislike spaces, through links to this
/// executable called mayhap-cc and mayhap-c++.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    /// The compiler's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

/// Which compiler is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// Whose options the compiler understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Gcc,
    Clang,
}

impl Args {
    pub(super) fn run(self, language: Language) -> Result<Exit, Failure> {
        let (compiler, family) = compiler(language)?;
        let (arguments, notes) = translate(self.arguments, family, &runtime::folder()?);
        for line in notes {
            note(line);
        }
        // Becomes the compiler: exit code, signals and terminal are its own.
        let error = Command::new(&compiler).args(arguments).exec();
        Err(Failure::at(Path::new(&compiler), format_args!("cannot be run: {error}")))
    }
}

fn compiler(language: Language) -> Result<(OsString, Family), Failure> {
    let (variable, names) = match language {
        Language::C => ("MAYHAP_CC", ["gcc", "clang", "cc"]),
        Language::Cxx => ("MAYHAP_CXX", ["g++", "clang++", "c++"]),
    };
    let found = match std::env::var_os(variable).filter(|value| !value.is_empty()) {
        Some(name) => Some(name),
        None => names.iter().map(OsString::from).find(|name| on_path(name)),
    };
    match found {
        Some(name) => {
            let family = if name.to_string_lossy().contains("clang") { Family::Clang } else { Family::Gcc };
            Ok((name, family))
        }
        None => Err(Failure::new(format_args!(
            "no compiler: none of {} is there; {variable} may name one",
            names.join(", ")
        ))),
    }
}

fn on_path(name: &OsStr) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

/// The compiler's arguments with those that instrument, and what the user should know.
fn translate(arguments: Vec<OsString>, family: Family, folder: &Path) -> (Vec<OsString>, Vec<String>) {
    let mut notes = Vec::new();
    let mut kept = Vec::with_capacity(arguments.len() + 8);
    for argument in arguments {
        let text = argument.to_string_lossy();
        if let Some(list) = text.strip_prefix("-fsanitize=") {
            let (others, mixed) = without_conflicts(list);
            if mixed {
                notes.push(format!("{text} left out: it cannot be combined with recording"));
            }
            if !others.is_empty() {
                kept.push(format!("-fsanitize={others}").into());
            }
        } else if text == "-flto" || text.starts_with("-flto=") || text == "-fwhole-program" {
            notes.push(format!("{text} left out: recording needs calls that link-time optimisation removes"));
        } else if text == "-static" || text == "-static-pie" {
            notes.push(format!("{text} left out: recording needs the dynamic loader"));
        } else if text == "-fno-sanitize=thread" || text == "-fno-sanitize=all" {
            notes.push(format!("{text} left out: recording is that"));
        } else {
            kept.push(argument);
        }
    }
    // Asked only for its version or settings, the compiler must answer as it would.
    if !kept.iter().any(|argument| is_input(argument)) {
        return (kept, notes);
    }
    // In front, so that the user's own choice of debug information comes later and wins.
    let mut all: Vec<OsString> = vec!["-g".into()];
    all.append(&mut kept);
    all.push("-fsanitize=thread".into());
    match family {
        Family::Gcc => all.push("-fsanitize-coverage=trace-pc".into()),
        Family::Clang => {
            all.push("-fsanitize-coverage=trace-pc-guard".into());
            all.extend(["-mllvm", "-tsan-instrument-read-before-write=1"].map(OsString::from));
        }
    }
    if links(&all) {
        all.push(concat_path("-L", folder));
        all.push(concat_path("-Wl,--enable-new-dtags,-rpath,", folder));
        if family == Family::Clang {
            all.push("-fno-sanitize-link-runtime".into());
            // Named before the user's libraries would be better, but clang's own come last anyway.
            all.insert(0, concat_path("", &folder.join(runtime::NAME)));
        }
    }
    (all, notes)
}

/// Something to compile or link: a file, a response file, standard input.
fn is_input(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text == "-" || !text.starts_with('-')
}

/// The compiler is going to link.
fn links(arguments: &[OsString]) -> bool {
    !arguments
        .iter()
        .any(|argument| matches!(argument.to_str(), Some("-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" | "-r")))
}

fn concat_path(prefix: &str, path: &Path) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(path);
    text
}

/// A list of sanitizers without those that exclude `thread`, and whether there were any besides `thread` itself.
fn without_conflicts(list: &str) -> (String, bool) {
    let conflicting = ["address", "leak", "memory", "hwaddress", "kernel-address", "kernel-hwaddress", "all"];
    let mixed = list.split(',').any(|name| conflicting.contains(&name));
    let others: Vec<&str> = list.split(',').filter(|name| *name != "thread" && !conflicting.contains(name)).collect();
    (others.join(","), mixed)
}
