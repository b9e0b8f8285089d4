//! Bad input to every text and binary parser: an error with its position, never a panic, never much memory.

use std::io::{self, Read};

use mayhap_trace::format::load;
use mayhap_trace::format::native::NativeReader;
use mayhap_trace::format::rapidbin::RapidBinReader;
use mayhap_trace::format::roadrunner::RoadRunnerReader;
use mayhap_trace::format::std_text::StdReader;
use mayhap_trace::{Error, Source};

type Open<'a> = fn(Box<dyn Read + 'a>) -> Result<Box<dyn Source + 'a>, Error>;

/// All parsers by name.
fn parsers<'a>() -> [(&'static str, Open<'a>); 4] {
    [
        ("std", |input| Ok(Box::new(StdReader::new(input)))),
        ("roadrunner", |input| Ok(Box::new(RoadRunnerReader::new(input)))),
        ("rapidbin", |input| Ok(Box::new(RapidBinReader::new(input)?))),
        ("native", |input| Ok(Box::new(NativeReader::new(input)?))),
    ]
}

fn errors<'a>(input: impl Fn() -> Box<dyn Read + 'a>) -> [String; 4] {
    parsers().map(|(name, open)| match open(input()).and_then(load) {
        Ok(_) => panic!("{name} accepts it"),
        Err(error) => error.to_string(),
    })
}

#[test]
fn nothing_at_all() {
    let empty = "the file is empty".to_string();
    let at = format!("byte 0: {empty}");
    assert_eq!(errors(|| Box::new(io::empty())), [empty.clone(), empty, at.clone(), at]);
}

#[test]
fn binary_junk() {
    for seed in 1..200u64 {
        let mut state = seed;
        let junk: Vec<u8> = (0..300)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        for error in errors(|| Box::new(io::Cursor::new(junk.clone()))) {
            assert!(!error.is_empty());
        }
    }
}

/// A gigabyte of one character passes by without being kept: a reader that kept it would count it.
struct Counted {
    inner: io::Take<io::Repeat>,
    read: std::rc::Rc<std::cell::Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

#[test]
fn a_line_of_a_gigabyte() {
    for byte in [b'x', b'@', b'|', 0] {
        for (name, open) in parsers() {
            let read = std::rc::Rc::new(std::cell::Cell::new(0));
            let input = Counted { inner: io::repeat(byte).take(1 << 30), read: read.clone() };
            let error = open(Box::new(input)).and_then(load).map(|_| ()).unwrap_err().to_string();
            assert!(read.get() < 1 << 20, "{name} read {} bytes before it said: {error}", read.get());
            if name == "std" || name == "roadrunner" {
                assert_eq!(error, "line 1: the line is longer than 65536 bytes");
            }
        }
    }
}

#[test]
fn lines_of_the_longest_length_are_read_and_no_longer_ones() {
    for (spare, accepted) in [(0, true), (1, false)] {
        let line = format!("T|w({})", "x".repeat((1 << 16) - 5 + spare));
        for end in ["", "\n", "\nT|w(y)\n"] {
            let text = format!("{line}{end}");
            assert_eq!(load(Box::new(StdReader::new(text.as_bytes()))).is_ok(), accepted, "{spare} more, then {end:?}");
        }
    }
}

#[test]
fn bytes_that_are_not_utf8() {
    let std = |bytes: &[u8]| load(Box::new(StdReader::new(bytes))).unwrap_err().to_string();
    assert_eq!(std(b"T1|r(x)|1\nT1|r(y\xff)|2\n"), "line 2: a name is not valid UTF-8 (byte 1 of the name)");
    assert_eq!(std(b"T\x80|r(x)|1\n"), "line 1: a name is not valid UTF-8 (byte 1 of the name)");
    assert_eq!(std(b"T1|r(x)|\xc3\n"), "line 1: a name is not valid UTF-8 (byte 0 of the name)");
    assert_eq!(std(b"T1|\xff(x)|1\n"), "line 1: unknown operation `\u{fffd}`");
    let log = b"@ Rd(0,x\xff,a)\n";
    let error = load(Box::new(RoadRunnerReader::new(&log[..]))).unwrap_err().to_string();
    assert_eq!(error, "line 1: a name is not valid UTF-8 (byte 1 of the name)");
}

/// An input that fails after some bytes: the error comes through with the place.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("the disk is on fire")) } else { self.0.read(buffer) }
    }
}

#[test]
fn an_input_that_fails() {
    let failing = |bytes: &'static [u8]| errors(move || Box::new(Failing(bytes)));
    let [std, log, rapidbin, native] = failing(b"");
    assert_eq!(std, "line 1: the disk is on fire");
    assert_eq!(log, std);
    assert_eq!(rapidbin, "byte 0: the disk is on fire");
    assert_eq!(native, rapidbin);
    let input = Failing(b"T1|r(x)|1\nT1|r");
    assert_eq!(load(Box::new(StdReader::new(input))).unwrap_err().to_string(), "line 2: the disk is on fire");
}
