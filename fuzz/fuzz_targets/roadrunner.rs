#![no_main]

#[path = "../src/parsers.rs"]
#[allow(dead_code)]
mod parsers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| parsers::roadrunner(data));
