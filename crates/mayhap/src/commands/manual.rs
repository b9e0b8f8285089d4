//! `mayhap completions` and `mayhap man`: shell completions and manual pages.

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
