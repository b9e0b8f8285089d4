//! Paths that are URLs, and copies of what they name.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Whether an input is a URL and not a path.
pub fn is_url(path: &Path) -> bool {
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The URL of something below another one.
pub(crate) fn joined(url: &str, name: &str) -> PathBuf {
    PathBuf::from(if name.is_empty() { url.to_string() } else { format!("{url}/{name}") })
}

/// A temporary copy of an object.
pub(crate) struct Copy {
    path: PathBuf,
    _folder: TempDir,
}

impl Copy {
    pub(crate) fn create(name: &str) -> io::Result<Copy> {
        let folder = tempfile::Builder::new().prefix("mayhap-fetched-").tempdir()?;
        Ok(Copy { path: folder.path().join(name), _folder: folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_urls() {
        for url in ["s3://bucket/folder", "https://example.org/t.mhp", "gs://b"] {
            assert!(is_url(Path::new(url)), "{url}");
        }
        for path in ["traces", "/a//b", "c://x", "./s3:/x", "a b://c", "://x"] {
            assert!(!is_url(Path::new(path)), "{path}");
        }
    }
}
