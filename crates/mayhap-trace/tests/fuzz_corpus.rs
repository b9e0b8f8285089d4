//! Feeds the kept fuzzing inputs to the same checks that the fuzz targets make, so that what was once found stays found.

#[path = "../../../fuzz/src/parsers.rs"]
mod parsers;

use std::fs;
use std::path::Path;

/// Runs a check over its corpus, over every prefix of the small inputs, and over their single-bit flips.
fn replay(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        check(&bytes);
        count += 1;
        if bytes.len() > 200 || count > 40 {
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
    assert!(count > 5, "the corpus of {target} is gone");
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
