//! STD to native to STD gives the same bytes, on every trace of the corpus, and so does compression on the way.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use mayhap_trace::Columns;
use mayhap_trace::format::{self, create, open};

/// All STD files of the corpus.
fn traces() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                directories.push(path);
            } else if name.ends_with(".std") || name.ends_with(".std.gz") {
                found.push(path);
            }
        }
    }
    found
}

/// The text of an STD file without comments and with one line end at its end.
fn text_of(path: &Path) -> String {
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    } else {
        text = fs::read_to_string(path).unwrap();
    }
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// Copies a trace file chunk by chunk.
fn convert(from: &Path, to: &Path) {
    let mut source = open(from).unwrap();
    let notes = format::copy(&mut *source, create(to).unwrap(), |_, _| {}).unwrap();
    assert!(notes.is_empty() && source.missing().is_none());
}

#[test]
fn std_to_native_to_std_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let there = |name: &str| directory.path().join(name);
    let traces = traces();
    assert!(traces.len() > 20, "the corpus is gone");
    for trace in traces {
        let expected = text_of(&trace);
        convert(&trace, &there("a.mhp"));
        convert(&there("a.mhp"), &there("b.std.zst"));
        convert(&there("b.std.zst"), &there("c.std.gz"));
        convert(&there("c.std.gz"), &there("d.mhp"));
        convert(&there("d.mhp"), &there("e.std"));
        assert!(fs::read_to_string(there("e.std")).unwrap() == expected, "{}", trace.display());
        assert!(fs::read(there("a.mhp")).unwrap() == fs::read(there("d.mhp")).unwrap(), "{}", trace.display());
    }
}

#[test]
fn long_real_traces_take_at_most_three_bytes_an_event() {
    let directory = tempfile::tempdir().unwrap();
    let mut long = 0;
    for trace in traces() {
        let path = directory.path().join("a.mhp");
        convert(&trace, &path);
        let (mut source, mut chunk, mut events) = (open(&path).unwrap(), Columns::default(), 0);
        assert!(source.summary().is_some());
        while source.next_chunk(&mut chunk).unwrap() {
            events += chunk.len() as u64;
        }
        assert_eq!(source.summary().unwrap().events, events);
        if events > 10_000 {
            let bytes = fs::metadata(&path).unwrap().len();
            assert!(bytes <= 3 * events, "{}: {bytes} bytes for {events} events", trace.display());
            long += 1;
        }
    }
    assert_eq!(long, 4);
}
