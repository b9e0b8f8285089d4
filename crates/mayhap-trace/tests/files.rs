//! Files: formats by name, compression, names that appear only when the file is whole.

use std::fs;
use std::io::Write;

use mayhap_trace::format::{self, create, open, parse_std, read};
use mayhap_trace::{Columns, Progress, Trace};

fn sample() -> Trace {
    let line = |i: usize| format!("T{}|w(V{})|{}\n", i % 3, i % 17, i % 29);
    parse_std(&(0..5000).map(line).collect::<String>()).unwrap()
}

fn files_in(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_name_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let trace = sample();
    for name in ["a.std", "a.std.gz", "a.STD.zst", "a.mhp", "a.mhp.gz", "a.data", "a.data.gz", "a.data.zst"] {
        let path = dir.path().join(name);
        assert_eq!(format::write(&path, &trace).unwrap(), [""; 0], "{name}");
        assert_eq!(read(&path).unwrap().trace, trace, "{name}");
        // The contents determine compression and the native format, whatever the name says.
        let misnamed = dir.path().join(if name.contains("data") { "misnamed.data" } else { "misnamed.std" });
        fs::copy(&path, &misnamed).unwrap();
        assert_eq!(read(&misnamed).unwrap().trace, trace, "{name}");
    }
    let compressed = fs::read(dir.path().join("a.std.gz")).unwrap();
    assert_eq!(&compressed[..2], [0x1f, 0x8b]);
    let unnamed = dir.path().join("unnamed");
    fs::copy(dir.path().join("a.mhp"), &unnamed).unwrap();
    assert_eq!(read(&unnamed).unwrap().trace, trace);
}

#[test]
fn concatenated_compressed_members_are_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.std.gz");
    format::write(&path, &sample()).unwrap();
    let mut twice = fs::read(&path).unwrap();
    twice.extend_from_within(..);
    fs::write(&path, &twice).unwrap();
    assert_eq!(read(&path).unwrap().trace.len(), 2 * sample().len());
    let path = dir.path().join("a.std.zst");
    format::write(&path, &sample()).unwrap();
    let mut twice = fs::read(&path).unwrap();
    twice.extend_from_within(..);
    fs::write(&path, &twice).unwrap();
    assert_eq!(read(&path).unwrap().trace.len(), 2 * sample().len());
}

#[test]
fn a_name_without_format_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.txt");
    fs::write(&path, "T0|w(x)\n").unwrap();
    let message = open(&path).err().unwrap().to_string();
    assert!(message.contains("unknown format: the name must end in .std"), "{message}");
    assert!(create(dir.path().join("out.gz")).err().unwrap().to_string().contains("unknown format"));
    assert!(open(dir.path()).err().unwrap().to_string().contains("directory"));
    assert!(open(dir.path().join("none.std")).err().unwrap().to_string().contains("No such file"));
}

#[test]
fn empty_and_cut_files_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["e.std", "e.std.gz", "e.mhp", "e.data"] {
        let path = dir.path().join(name);
        fs::write(&path, "").unwrap();
        assert!(read(&path).unwrap_err().to_string().ends_with("the file is empty"), "{name}");
    }
    for name in ["c.std.gz", "c.std.zst", "c.data.gz"] {
        let path = dir.path().join(name);
        format::write(&path, &sample()).unwrap();
        let bytes = fs::read(&path).unwrap();
        for end in [bytes.len() - 1, bytes.len() / 2, 3] {
            fs::write(&path, &bytes[..end]).unwrap();
            assert!(read(&path).is_err(), "{name} cut at {end}");
        }
    }
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let trace = sample();
    for name in ["a.std", "a.std.zst", "a.mhp", "a.data", "a.data.gz"] {
        let path = dir.path().join(name);
        fs::write(&path, "old").unwrap();
        let mut writer = create(&path).unwrap();
        writer.write(trace.columns(), trace.tables()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
        drop(writer);
        assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
        assert_eq!(files_in(dir.path()), [name]);
        format::write(&path, &trace).unwrap();
        assert_eq!(read(&path).unwrap().trace, trace);
        assert_eq!(files_in(dir.path()), [name]);
        fs::remove_file(&path).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("file.std"), dir.path().join("link.std"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    format::write(&link, &sample()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&file).unwrap().trace, sample());

    let full = dir.path().join("full.std");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let trace = sample();
    let mut writer = create(&full).unwrap();
    let result = writer.write(trace.columns(), trace.tables()).and_then(|()| writer.finish(trace.tables()));
    assert!(result.unwrap_err().to_string().contains("No space left on device"));
    let full = dir.path().join("full.data");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    assert!(create(&full).err().unwrap().to_string().contains("needs a regular file"));
}

#[cfg(unix)]
#[test]
fn pipes_are_read_and_have_no_progress() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["pipe.std", "pipe.mhp", "pipe.std.gz"] {
        let (file, pipe) = (dir.path().join("plain").with_extension(&name[5..]), dir.path().join(name));
        format::write(&file, &sample()).unwrap();
        let bytes = fs::read(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writing = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                fs::OpenOptions::new().write(true).open(pipe).unwrap().write_all(&bytes).unwrap()
            })
        };
        let source = open(&pipe).unwrap();
        assert_eq!(source.progress(), None);
        assert_eq!(format::load(source).unwrap().trace, sample());
        writing.join().unwrap();
    }
}

#[test]
fn progress_runs_from_nothing_to_the_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.std", "a.std.gz", "a.mhp", "a.data"] {
        let path = dir.path().join(name);
        format::write(&path, &sample()).unwrap();
        let total = fs::metadata(&path).unwrap().len();
        let mut source = open(&path).unwrap();
        assert_eq!(source.progress().map(|p| p.total), Some(total), "{name}");
        while source.next_chunk(&mut Columns::default()).unwrap() {}
        assert_eq!(source.progress(), Some(Progress { read: total, total }), "{name}");
    }
}

#[test]
fn copying_shows_its_progress_and_gathers_notes() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/traces/deadlock/Dbcp1.data");
    let out = dir.path().join("out.mhp");
    let (mut source, mut chunks) = (open(corpus).unwrap(), 0);
    let notes = format::copy(&mut *source, create(&out).unwrap(), |_, _| chunks += 1).unwrap();
    assert_eq!((chunks, notes.len()), (1, 1));
    assert_eq!(read(&out).unwrap().trace, read(corpus).unwrap().trace);
}
