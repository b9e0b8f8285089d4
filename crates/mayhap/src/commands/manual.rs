//! `mayhap setup`, `completions` and `man`: what belongs to an installation besides the executable.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::{Exit, Failure};

/// Print completions for a shell
///
/// For bash: mayhap completions bash > ~/.local/share/bash-completion/completions/mayhap
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
pub struct Man {
    /// The folder, created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Install what goes with the executable: mayhap-cc, mayhap-c++, cargo-mayhap, manual pages, shell completions
///
/// The commands are links beside this executable (`mayhap-cc` and `mayhap-c++` for build systems that do not accept spaces in
/// a compiler's name, `cargo-mayhap` for `cargo mayhap test`). Manual pages and completions go below the folder above it, into
/// share: for ~/.cargo/bin/mayhap that is ~/.cargo/share, for ~/.local/bin/mayhap ~/.local/share, where shells and man look.
#[derive(Debug, clap::Args)]
pub struct Setup {
    /// Install below this folder (bin, share), with a copy of the executable
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl Setup {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let no_executable = |error| Failure::new(format_args!("cannot find this executable: {error}"));
        let executable = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(no_executable)?;
        let folder = executable.parent().unwrap_or(Path::new("/")).to_path_buf();
        let above = || folder.parent().unwrap_or(Path::new("/")).to_path_buf();
        let (bin, prefix) = match &self.prefix {
            Some(prefix) => (prefix.join("bin"), prefix.clone()),
            None => (folder.clone(), above()),
        };
        std::fs::create_dir_all(&bin).map_err(|e| Failure::at(&bin, e))?;
        let installed = bin.join("mayhap");
        if self.prefix.is_some() && installed.canonicalize().ok().as_ref() != Some(&executable) {
            std::fs::copy(&executable, &installed).map_err(|e| Failure::at(&installed, e))?;
            writeln!(out, "{}", installed.display())?;
        }
        let target = if installed.exists() { PathBuf::from("mayhap") } else { executable.clone() };
        for name in LINKS {
            let link = bin.join(name);
            // What was there before, if anything, is replaced.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link).map_err(|e| Failure::at(&link, e))?;
            writeln!(out, "{}", link.display())?;
        }
        let pages = prefix.join("share/man/man1");
        Man { folder: pages.clone() }.run()?;
        writeln!(out, "{}", pages.join("mayhap*.1").display())?;
        for (shell, file) in [
            (Shell::Bash, "share/bash-completion/completions/mayhap"),
            (Shell::Zsh, "share/zsh/site-functions/_mayhap"),
            (Shell::Fish, "share/fish/vendor_completions.d/mayhap.fish"),
        ] {
            let path = prefix.join(file);
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "mayhap", &mut text);
            let folder = path.parent().unwrap_or(&prefix);
            std::fs::create_dir_all(folder).map_err(|e| Failure::at(folder, e))?;
            std::fs::write(&path, text).map_err(|e| Failure::at(&path, e))?;
            writeln!(out, "{}", path.display())?;
        }
        Ok(Exit::Nothing)
    }
}

/// Further names of the executable.
const LINKS: [&str; 3] = ["mayhap-cc", "mayhap-c++", "cargo-mayhap"];

impl Completions {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "mayhap", &mut text);
        out.write_all(&text)?;
        Ok(Exit::Nothing)
    }
}

impl Man {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Failure::at(&self.folder, e))?;
        let mut command = Cli::command();
        command.build();
        page(&self.folder, "mayhap", &command)?;
        for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            page(&self.folder, &format!("mayhap-{}", sub.get_name()), sub)?;
        }
        Ok(Exit::Nothing)
    }
}

fn page(folder: &Path, name: &str, command: &clap::Command) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone().display_name(name)).title(name).render(&mut text);
    rendered.and_then(|()| std::fs::write(&path, &text)).map_err(|e| Failure::at(&path, e))
}
