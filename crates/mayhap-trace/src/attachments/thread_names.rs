//! What the program called its threads, kept with the trace as JSON ([`mayhap_wire::attachment::THREADS`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use mayhap_wire::attachment;

use crate::format::native;

/// The names that a program gave to threads, by the names that the trace has for them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadNames(BTreeMap<String, String>);

impl ThreadNames {
    /// The program calls a thread so from now on; the last name counts.
    pub fn add(&mut self, thread: &str, name: &str) {
        self.0.insert(thread.into(), name.into());
    }

    /// What the program called a thread.
    pub fn get(&self, thread: &str) -> Option<&str> {
        self.0.get(thread).map(String::as_str)
    }

    /// The thread that the program called so, if it is one alone. The kernel keeps the first 15 bytes of a name.
    pub fn called(&self, name: &str) -> Option<&str> {
        let is_it = |other: &str| other == name || other.len() == 15 && name.starts_with(other);
        let mut threads = self.0.iter().filter(|(_, other)| is_it(other)).map(|(thread, _)| thread.as_str());
        threads.next().filter(|_| threads.next().is_none())
    }

    /// Whether no thread has a name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As an attachment.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).unwrap_or_default()
    }

    /// The names that a trace file has; none if it has no such block.
    pub fn load(path: &Path) -> ThreadNames {
        let attached = || native::attachments(BufReader::new(File::open(path).ok()?), attachment::THREADS).ok()?;
        let names = attached().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        ThreadNames(names.unwrap_or_default())
    }
}
