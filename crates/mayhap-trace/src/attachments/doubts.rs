//! What the recording could not see or left out, and where in the run that was. Kept with the trace as JSON
//! ([`mayhap_wire::attachment::DOUBTS`]).
//!
//! A doubt alone says nothing against a finding. It bears on a schedule that reorders what the unseen part may have ordered, which
//! is why each doubt keeps its places in the run.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use mayhap_wire::attachment;
use serde::{Deserialize, Serialize};

use crate::format::native;

/// The kind of a doubt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Calls of a library without hooks that synchronises on its own.
    Library,
    /// A call of a function of the system's libraries that nothing is known of.
    Function,
    /// Inline assembly that could not be read.
    Assembly,
    /// A thread that no thread was seen to start.
    Thread,
    /// Events that broke a rule and were left out.
    Dropped,
    /// Accesses that the user asked to leave out.
    LeftOut,
    /// The beginning of the run is not in the trace.
    Beginning,
    /// Another process handed something on, or ended.
    Process,
    /// Memory changed without a recorded write.
    Memory,
    /// Something came from a descriptor of a kind that is not modelled.
    Descriptor,
    /// The same memory lies at two addresses.
    Alias,
    /// An OpenMP library that the runtime does not see into.
    OpenMp,
    /// Atomic operations that the compiler leaves without hooks.
    Atomic,
    /// Code that gcc compiled without `mayhap cc`: it has no hooks where gcc copies or compares memory itself, nor at fences.
    Elsewhere,
    /// A function returned, or a thread ended, after a read that may have decided whether a call before that returns.
    Return,
    /// A descriptor was made, whose number depends on which others there were.
    Number,
    /// Something that the agent in a Java virtual machine does not see: virtual threads, `Unsafe`, methods that are too long for hooks.
    Java,
}

/// A place in the run: before the first event of the thread whose number is greater than `after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct At {
    /// The thread's cell in the table of threads.
    pub thread: u32,
    /// Events of the trace before it.
    pub after: u64,
    /// What it may have done for other threads.
    pub role: Role,
}

/// How something unseen may order threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It may let others go on and may have waited for others.
    Both,
    /// It may let others go on.
    Releases,
    /// It may have waited for others.
    Waits,
    /// It may have waited for anything that had happened.
    WaitsForAll,
    /// The same, and anything that happened after it may have waited for it.
    OrdersAll,
    /// Whether the event after it happens may depend on values that the thread has read. It orders no others.
    Decided,
    /// What it gave depends on what others of its kind had taken and given back before.
    Takes,
    /// It gives back what others may take. It says nothing about what came before it.
    GivesBack,
}

/// Something that the recording could not see or left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Doubt {
    /// The kind.
    pub what: What,
    /// The library, pattern, variable or place that it is about.
    pub name: String,
    /// Where it was, in the order of the run. Empty if it bears on the whole run.
    pub at: Vec<At>,
}

impl Doubt {
    /// What it is, as the subject of a sentence.
    pub fn subject(&self) -> String {
        let name = &self.name;
        match self.what {
            What::Library => format!("{name}, a library without hooks that synchronises on its own,"),
            What::Function => format!("{name}, a function of the system's libraries that is not recorded,"),
            What::Assembly => format!("inline assembly that could not be read ({name})"),
            What::Thread => format!("whatever started {name}, which was not recorded,"),
            What::Dropped => format!("{name} that broke a rule and {} left out", was(name)),
            What::LeftOut => format!("an access that was left out ({name})"),
            What::Beginning => "the beginning of the run, which is not in the trace,".into(),
            What::Process => format!("another process ({name})"),
            What::Memory => format!("code without hooks, which changed {name},"),
            What::Descriptor => format!("a descriptor of a kind that is not modelled ({name})"),
            What::Alias => format!("memory that lies at two addresses ({name})"),
            What::Return => "a call before the function's return, which may not return for another value,".into(),
            What::Number => "the number of a descriptor, which depends on which others are open,".into(),
            What::OpenMp => format!("{name}, which is not visible,"),
            What::Java => "code that the agent in the Java virtual machine does not see".into(),
            What::Atomic => format!("an atomic operation without a hook (fetch_max or fetch_min in {name})"),
            What::Elsewhere => {
                format!("memory that gcc copies or compares without hooks in code not built by mayhap cc ({name})")
            }
        }
    }

    /// How to get rid of it.
    pub fn remedy(&self) -> &'static str {
        match self.what {
            What::Library | What::Memory | What::Elsewhere => {
                "build that code with mayhap cc, or confirm the finding by a replay"
            }
            What::Assembly => "use atomic operations of the language, or confirm the finding by a replay",
            What::Thread => "start threads with the C library, or confirm the finding by a replay",
            What::Dropped => "record again without repairing, or confirm the finding by a replay",
            What::LeftOut => "record without leaving accesses out, or confirm the finding by a replay",
            What::Beginning => "record the whole run, or confirm the finding by a replay",
            What::Function
            | What::Process
            | What::Descriptor
            | What::Alias
            | What::Return
            | What::Number
            | What::Java => "confirm the finding by a replay",
            What::Atomic => "use fetch_update instead, or confirm the finding by a replay",
            What::OpenMp => "link the OpenMP library dynamically, or confirm the finding by a replay",
        }
    }

    /// What is to be said of a schedule that it bears on.
    pub fn reason(&self) -> String {
        format!(
            "a schedule of the recorded events leads there, but {} may prevent it; {}",
            self.subject(),
            self.remedy()
        )
    }
}

fn was(counted: &str) -> &'static str {
    if counted.starts_with("1 ") || counted.starts_with("an ") { "was" } else { "were" }
}

/// All doubts of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Doubts {
    /// In the order in which they first came up.
    pub list: Vec<Doubt>,
}

impl Doubts {
    /// Places that one doubt keeps. One that has more bears on the whole run.
    const MAX_PLACES: usize = 1 << 20;

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a place to a doubt, which may be new.
    pub fn add(&mut self, what: What, name: &str, at: At) {
        match self.list.iter_mut().find(|doubt| doubt.what == what && doubt.name == name) {
            Some(doubt) if doubt.at.is_empty() || doubt.at.last() == Some(&at) => {}
            // Most of what is sent to other processes is not answered.
            Some(doubt) if doubt.at.len() >= Self::MAX_PLACES && what == What::Process => {}
            Some(doubt) if doubt.at.len() >= Self::MAX_PLACES => doubt.at = Vec::new(),
            Some(doubt) => doubt.at.push(at),
            None => self.list.push(Doubt { what, name: name.to_owned(), at: vec![at] }),
        }
    }

    /// Adds a doubt that bears on the whole run.
    pub fn add_whole(&mut self, what: What, name: impl Into<String>) {
        self.list.push(Doubt { what, name: name.into(), at: Vec::new() });
    }

    /// As an attachment.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The doubts that a trace file lists; none where it has no such list.
    pub fn load(path: &Path) -> Doubts {
        let bytes = File::open(path)
            .ok()
            .and_then(|file| native::attachments(BufReader::new(file), attachment::DOUBTS).ok().flatten());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_keep_their_places_and_come_back_from_bytes() {
        let at = |after| At { thread: 1, after, role: Role::Both };
        let mut doubts = Doubts::default();
        for after in [3, 3, 7] {
            doubts.add(What::Library, "libx.so", at(after));
        }
        doubts.add_whole(What::Beginning, "");
        assert_eq!(doubts.list[0].at, [at(3), at(7)]);
        assert_eq!(serde_json::from_slice::<Doubts>(&doubts.to_bytes()).unwrap(), doubts);
    }

    #[test]
    fn a_doubt_of_the_whole_run_takes_no_places() {
        let mut doubts = Doubts::default();
        doubts.add_whole(What::Library, "libx.so");
        doubts.add(What::Library, "libx.so", At { thread: 0, after: 1, role: Role::Both });
        assert!(doubts.list.len() == 1 && doubts.list[0].at.is_empty());
    }
}
