//! What a file is that was given for something else, and which command takes it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use mayhap_job::suggest::shell_word;

/// What a file contains, as far as its name and its first bytes show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// C or C++ source.
    C,
    /// Rust source.
    Rust,
    /// A trace or a recording.
    Trace,
    /// A witness.
    Witness,
    /// A saved report.
    Report,
    /// All executions of a program.
    Manifest,
    /// An executable of this system.
    Executable,
    /// A script with its interpreter in the first line.
    Script,
    /// A folder.
    Folder,
    /// Text.
    Text,
}

/// The bytes that are looked at.
const LOOKED_AT: u64 = 4096;

impl Contents {
    /// Looks at a file; `None` if there is none or it is unlike all of these.
    pub fn of(path: &Path) -> Option<Contents> {
        if path.is_dir() {
            return Some(Contents::Folder);
        }
        let mut start = Vec::new();
        File::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut start).ok()?;
        let text = String::from_utf8_lossy(&start);
        let name = path.file_name()?.to_string_lossy();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        Some(match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            _ if start.starts_with(b"\x89MH") => Contents::Trace,
            _ if start.starts_with(b"\x7fELF") => Contents::Executable,
            _ if start.starts_with(b"#!") => Contents::Script,
            _ if text.trim_start().starts_with('{') && text.contains("\"mayhap-report\"") => Contents::Report,
            _ if text.trim_start().starts_with('{') && text.contains("\"mayhap-witness\"") => Contents::Witness,
            _ if text.trim_start().starts_with('{') && text.contains("\"mayhap-manifest\"") => Contents::Manifest,
            "c" | "cc" | "cpp" | "cxx" | "C" | "h" | "hpp" => Contents::C,
            "rs" => Contents::Rust,
            "std" | "mhp" | "data" | "rr" => Contents::Trace,
            _ if !start.contains(&0) => Contents::Text,
            _ => return None,
        })
    }

    /// What it is and which command takes it, as a sentence.
    pub fn advice(self, path: &Path) -> String {
        let name = shell_word(path);
        match self {
            Contents::C => format!("this is C or C++ source; to record and analyse it: mayhap run {name}"),
            Contents::Rust => {
                "this is Rust source; to record and analyse its package: mayhap cargo run, or mayhap cargo test".into()
            }
            Contents::Trace => format!("this is a trace; to look for bugs in it: mayhap predict {name}"),
            Contents::Witness => {
                format!("this is a witness; to replay it: mayhap replay {name}; to check it: mayhap verify TRACE {name}")
            }
            Contents::Report => format!("this is a saved report; to show it: mayhap report {name}"),
            Contents::Manifest => format!("this is a manifest of all executions; to check it: mayhap verify {name}"),
            Contents::Executable => format!("this is a program; to record and analyse it: mayhap run -- {name}"),
            Contents::Script => {
                "this is a script; give the program that it starts, built for recording: mayhap run -- PROGRAM".into()
            }
            Contents::Folder => "this is a folder".into(),
            Contents::Text => {
                "this is text of no known kind; traces end in .std, .mhp, .data or .rr, C and C++ files in .c, .cc, .cpp \
                 or .cxx"
                    .into()
            }
        }
    }
}

fn looks_like_json(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut first));
    read.is_ok() && first.trim_ascii_start().starts_with(b"{")
}

/// Advice for a file that is none of what a command takes; `None` if it may be.
pub fn advice_unless(path: &Path, wanted: &[Contents]) -> Option<String> {
    let contents = Contents::of(path).filter(|contents| !wanted.contains(contents))?;
    // A witness or a report that is damaged is text: what reads it knows better where.
    let is_json = wanted.contains(&Contents::Witness) || wanted.contains(&Contents::Report);
    if is_json && contents == Contents::Text && looks_like_json(path) {
        return None;
    }
    Some(contents.advice(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names_and_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes, contents, word) in [
            ("a.cpp", &b"int main() {}"[..], Contents::C, "mayhap run"),
            ("main.rs", b"fn main() {}", Contents::Rust, "mayhap cargo"),
            ("t.std.gz", b"\x1f\x8b\0", Contents::Trace, "mayhap predict"),
            ("noname", b"\x89MHP\r\n\x1a\n", Contents::Trace, "mayhap predict"),
            ("prog", b"\x7fELF\x02\0", Contents::Executable, "mayhap run --"),
            ("run.sh", b"#!/bin/sh\n", Contents::Script, "built for recording"),
            ("w.json", b"{\"format\": \"mayhap-witness\"}", Contents::Witness, "mayhap verify TRACE"),
            ("r.json", b" {\"format\":\"mayhap-report\"}", Contents::Report, "mayhap report"),
            ("m.json", b"{\"format\":\"mayhap-manifest\"}", Contents::Manifest, "mayhap verify"),
            ("notes.txt", b"hello", Contents::Text, "no known kind"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Contents::of(&path), Some(contents), "{name}");
            assert!(contents.advice(&path).contains(word), "{name}: {}", contents.advice(&path));
        }
        assert_eq!(Contents::of(&folder.path().join("absent")), None);
        assert_eq!(advice_unless(folder.path(), &[]), Some("this is a folder".into()));
    }
}
