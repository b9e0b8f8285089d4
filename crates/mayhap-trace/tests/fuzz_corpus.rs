//! Feeds the kept fuzzing inputs to the same checks that the fuzz targets make, so that what was once found stays found.

#[path = "../../../fuzz/src/parsers.rs"]
mod parsers;

use std::fs;
use std::path::Path;

/// Runs a check over its corpus, and over every prefix and every single-bit flip of the inputs that were made by hand
/// (the fuzzer calls its own by a hash of forty digits).
fn replay(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut names: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() > 20, "the corpus of {target} is gone");
    for name in names {
        let bytes = fs::read(directory.join(&name)).unwrap();
        check(&bytes);
        if name.len() == 40 {
            continue;
        }
        for end in 0..bytes.len() {
            check(&bytes[..end]);
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            check(&flipped);
        }
    }
}

#[test]
fn std() {
    replay("std", parsers::std);
}

#[test]
fn native() {
    replay("native", parsers::native);
}

#[test]
fn rapidbin() {
    replay("rapidbin", parsers::rapidbin);
}

#[test]
fn roadrunner() {
    replay("roadrunner", parsers::roadrunner);
}
