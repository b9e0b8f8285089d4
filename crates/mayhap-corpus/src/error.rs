//! Why a corpus cannot be analysed.

use std::io;
use std::path::{Path, PathBuf};

/// Why the whole cannot be done. What is wrong with one trace is a line of the report instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or folder is not what it should be.
    #[error("{}: {message}", path.display())]
    Input {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Worker processes cannot be started.
    #[error("cannot start a worker: {0}")]
    Worker(io::Error),
    /// The cluster cannot be used.
    #[error("Ray: {0}")]
    Cluster(String),
    /// An object cannot be fetched.
    #[error("cannot be fetched: {0}")]
    Fetch(String),
    /// A worker could not keep a result.
    #[error("{0}")]
    Keep(String),
    /// A setting has no meaning.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::File { path, source }
    }

    pub(crate) fn input(path: &Path, message: impl Into<String>) -> Error {
        Error::Input { path: path.to_path_buf(), message: message.into() }
    }
}
