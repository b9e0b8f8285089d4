//! `mayhap cc` and `mayhap c++`: the compiler with recording built in.
//!
//! This file chooses the compiler and becomes it; [`crate::compile`] computes its arguments.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::assemble;
use crate::notes::note;
use crate::{Exit, Failure};
pub use mayhap_instrument::compile::Language;
use mayhap_instrument::compile::{Family, translate};
use mayhap_instrument::runtime;

/// Compile and link with recording, as a drop-in replacement for the compiler
///
/// All arguments go to the compiler: gcc or g++, clang or clang++ if there is no gcc, or the one that MAYHAP_CC or
/// MAYHAP_CXX names. Use it as CC="mayhap cc" and CXX="mayhap c++"; for tools that do not accept spaces, create links to
/// this executable named mayhap-cc and mayhap-c++.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    /// The compiler's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, language: Language) -> Result<Exit, Failure> {
        let Compiler { program, arguments, family } = Compiler::find(language)?;
        let folder = runtime::folder()?;
        // clang may be installed without a separate assembler.
        let assembler = assemble::real().and_then(|_| runtime::assembler(&folder));
        let call = translate(self.arguments, language, family, &folder, assembler.as_deref());
        for line in call.notes {
            note(line);
        }
        // Become the compiler, so that exit code, signals and terminal are its own.
        let error = Command::new(&program).args(arguments).args(call.arguments).exec();
        Err(Failure::at(Path::new(&program), format_args!("cannot run it: {error}")))
    }
}

/// The real compiler that the wrapper calls.
struct Compiler {
    program: String,
    /// Words before the user's arguments, as in `MAYHAP_CC="ccache gcc"`.
    arguments: Vec<String>,
    family: Family,
}

impl Compiler {
    fn find(language: Language) -> Result<Compiler, Failure> {
        let (variable, names) = match language {
            Language::C => ("MAYHAP_CC", ["gcc", "clang", "cc"]),
            Language::Cxx => ("MAYHAP_CXX", ["g++", "clang++", "c++"]),
        };
        let chosen = std::env::var(variable).unwrap_or_default();
        let mut words: Vec<String> = chosen.split_whitespace().map(String::from).collect();
        if words.is_empty() {
            words.extend(names.iter().find(|name| on_path(name)).map(|name| name.to_string()));
        }
        let Some(last) = words.last() else {
            let names = names.join(", ");
            return Err(Failure::new(format_args!(
                "no compiler found: none of {names} is installed; set {variable} to name one"
            )));
        };
        if words.iter().any(|word| base(word).starts_with("mayhap")) {
            return Err(Failure::new(format_args!("{variable}={chosen} names the wrapper, not a compiler")));
        }
        let family = family(last);
        let program = words.remove(0);
        Ok(Compiler { program, arguments: words, family })
    }
}

/// Recognises the compiler family by its name; runs `cc` and others to find out.
fn family(compiler: &str) -> Family {
    let is_clang = match base(compiler) {
        name if name.contains("clang") => true,
        name if name.contains("gcc") || name.contains("g++") => false,
        _ => Command::new(compiler)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.stdout.windows(5).any(|word| word == b"clang")),
    };
    if is_clang { Family::Clang } else { Family::Gcc }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn on_path(name: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}
