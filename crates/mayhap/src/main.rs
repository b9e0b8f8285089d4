//! `mayhap`: see the library for what it does; this turns arguments into a command and its end into an exit code.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use mayhap::commands::{Cli, arrange};
use mayhap::files::Contents;
use mayhap::output::Output;
use mayhap::{Exit, Failure};

fn main() -> ExitCode {
    if called().as_deref() == Some("as") {
        let assembled = mayhap::commands::assemble(std::env::args_os().skip(1).collect());
        return assembled.map_or_else(|failure| fail(&failure), |exit| exit.code().into());
    }
    let cli = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut output = Output::stdout();
    let end = cli.run(&mut output).and_then(|exit| {
        output.flush()?;
        Ok(exit)
    });
    match end {
        Ok(exit) => exit.code().into(),
        Err(failure) => fail(&failure),
    }
}

/// What this was called as.
fn called() -> Option<String> {
    let path = std::env::args_os().next()?;
    Path::new(&path).file_name()?.to_str().map(str::to_owned)
}

/// The command line; called `mayhap-cc` (through a link), `mayhap cc` is meant, and `cargo mayhap` is `mayhap cargo`.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let name = called();
    if let Some(command @ ("cc" | "c++" | "runner")) = name.as_deref().and_then(|name| name.strip_prefix("mayhap-")) {
        // A name that no typing error comes near.
        let command = OsString::from(if command == "runner" { "cargo-runner" } else { command });
        arguments.insert(1, command);
    }
    if name.as_deref() == Some("cargo-mayhap") {
        // Cargo calls its subcommands with their name first.
        if arguments.get(1).is_some_and(|word| word == "mayhap") {
            arguments.remove(1);
        }
        arguments.insert(1, OsString::from("cargo"));
    }
    arrange(arguments)
}

/// Help and version go to standard output and are no failure; anything else is bad usage.
fn usage(error: &clap::Error) -> ExitCode {
    if let Some(failure) = file_for_command(error) {
        return fail(&failure);
    }
    if error.use_stderr() {
        let text = error.render();
        let text = if std::io::stderr().is_terminal() { text.ansi().to_string() } else { text.to_string() };
        // A message that cannot be printed changes nothing about the exit code.
        let whole_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        let _ = write!(std::io::stderr(), "{}{text}", if whole_help { "" } else { "mayhap: " });
        return Exit::FAILURE.into();
    }
    let _ = error.print();
    ExitCode::SUCCESS
}

/// Where a file stands in the place of the command: what it is, and which command takes it.
fn file_for_command(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let path = Path::new(word);
    Some(Failure::at(path, format_args!("not a command: {}", Contents::of(path)?.advice(path))))
}

fn fail(failure: &Failure) -> ExitCode {
    let text = failure.to_string();
    let _ = writeln!(std::io::stderr(), "mayhap: error: {text}");
    if text.contains("No space left on device") {
        let folder = std::env::temp_dir();
        // A file that the user named says itself which disk it is.
        let hint = match failure.path() {
            Some(path) if !path.starts_with(&folder) => String::new(),
            _ => format!("; temporary files are in {}; TMPDIR selects another folder for them", folder.display()),
        };
        let _ = writeln!(std::io::stderr(), "mayhap: note: the disk is full{hint}");
    }
    failure.code().into()
}
