//! RapidBin: the samples equal their STD form, what is written reads back, bad bytes are errors with their position.

use mayhap_trace::format::rapidbin::{RapidBinReader, RapidBinWriter};
use mayhap_trace::format::{self, Loaded, TraceWriter, load, parse_std};
use mayhap_trace::{Error, Trace};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/traces/deadlock");

fn read(bytes: &[u8]) -> Result<Loaded, Error> {
    load(Box::new(RapidBinReader::new(bytes)?))
}

fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn written(trace: &Trace) -> Result<(Vec<u8>, Vec<String>), Error> {
    let mut bytes = Vec::new();
    let mut writer = Box::new(RapidBinWriter::new(&mut bytes)?);
    writer.write(trace.columns(), trace.tables())?;
    let notes = writer.finish(trace.tables())?;
    Ok((bytes, notes))
}

/// A file with these promises and records.
fn file(threads: i16, locks: i32, variables: i32, events: i64, records: &[u64]) -> Vec<u8> {
    let mut bytes = threads.to_be_bytes().to_vec();
    bytes.extend_from_slice(&locks.to_be_bytes());
    bytes.extend_from_slice(&variables.to_be_bytes());
    bytes.extend_from_slice(&events.to_be_bytes());
    records.iter().for_each(|record| bytes.extend_from_slice(&record.to_be_bytes()));
    bytes
}

fn record(thread: u64, code: u64, object: u64, location: u64) -> u64 {
    thread | code << 10 | object << 14 | location << 48
}

#[test]
fn samples_equal_their_std_form() {
    for (name, requests) in [("StringBuffer", 9), ("Dbcp1", 28)] {
        let binary = format::read(format!("{CORPUS}/{name}.data")).unwrap();
        let text = format::read(format!("{CORPUS}/{name}.std")).unwrap();
        assert_eq!(binary.trace, text.trace, "{name}");
        assert_eq!(binary.notes, [format!("{requests} lock requests are left out: they are not events")], "{name}");
    }
}

#[test]
fn numbers_survive_writing() {
    let trace = format::read(format!("{CORPUS}/Dbcp1.data")).unwrap().trace;
    let (bytes, notes) = written(&trace).unwrap();
    assert_eq!(notes, [""; 0]);
    assert_eq!(read(&bytes).unwrap().trace, trace);
}

#[test]
fn other_names_become_numbers_and_the_caller_hears_of_it() {
    let trace = parse_std("main|fork(T7)|a.c:1\nmain|w(x)\nT7|r(y)|a.c:2\nT7|br|a.c:1\n").unwrap();
    let (bytes, notes) = written(&trace).unwrap();
    let expected = parse_std("T0|fork(T1)|0\nT0|w(V0)|0\nT1|r(V1)|1\nT1|br|0\n").unwrap();
    assert_eq!(read(&bytes).unwrap().trace, expected);
    assert_eq!(
        notes,
        [
            "the names of 2 threads are lost: the format has only numbers",
            "the names of 2 variables are lost: the format has only numbers",
            "the names of 2 locations are lost: the format has only numbers",
            "1 events without a location get location 0",
        ]
    );
    // `T01` would not read back unchanged.
    let (_, notes) = written(&parse_std("T01|w(V+1)|0\n").unwrap()).unwrap();
    assert_eq!(notes.len(), 2);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |text: &str| written(&parse_std(text).unwrap()).unwrap_err().to_string();
    assert_eq!(refused("T0|w(V0)|0\nT0|racq(L0)|0\n"), "event 2: RapidBin has no operation `racq`");
    let threads: String = (0..1025).map(|i| format!("T{i}|w(V0)|0\n")).collect();
    assert_eq!(refused(&threads), "RapidBin holds at most 1024 threads");
    let locations: String = (0..32_769).map(|i| format!("T0|w(V0)|{i}\n")).collect();
    assert_eq!(refused(&locations), "RapidBin holds at most 32768 locations");
}

#[test]
fn bad_bytes_are_errors_with_their_position() {
    assert_eq!(error(b""), "byte 0: the file is empty");
    assert_eq!(error(&[0; 17]), "byte 17: the file ends within its header of 18 bytes");
    assert_eq!(error(&file(-1, 0, 0, 0, &[])), "byte 0: the header promises -1 threads");
    let many = error(&file(1025, 0, 0, 0, &[]));
    assert_eq!(many, "byte 0: the header promises 1025 threads; events can name only 1024");
    assert_eq!(error(&file(0, 0, 0, i64::MIN, &[])), format!("byte 10: the header promises {} events", i64::MIN));
    let huge = error(&file(1, 1, 1, 1_000_000_000_000, &[]));
    assert_eq!(huge, "byte 10: the header promises 1000000000000 events; a trace holds at most 4294967295");
    let write = record(0, 3, 0, 0);
    assert_eq!(error(&file(1, 0, 1, 3, &[write, write])), "byte 34: the file ends after 2 of 3 events");
    assert_eq!(
        error(&file(1, 0, 1, 1, &[write, write])),
        "byte 26: bytes follow the 1 events that the header promises"
    );
    let one = |record| error(&file(1, 1, 1, 1, &[record]));
    assert_eq!(one(record(1, 3, 0, 0)), "byte 18: the event names thread 1, the header promises 1");
    assert_eq!(one(record(0, 2, 1 << 33, 0)), "byte 18: the event names variable 8589934592, the header promises 1");
    assert_eq!(one(record(0, 0, 5, 0)), "byte 18: the event names lock 5, the header promises 1");
    assert_eq!(one(record(0, 10, 0, 0)), "byte 18: unknown operation 10");
    assert_eq!(one(1 << 63 | write), "byte 18: the event's highest bit is set");
    assert!(read(&file(1, i32::MAX, i32::MAX, 1, &[write])).is_ok());
}

#[test]
fn what_the_format_cannot_carry_is_counted() {
    let (columns, mut tables) = parse_std("T0|w.sc(V0)=1|0\nT0|r(V0)=1|0\nT0|acq(L0)|0\n").unwrap().into_parts();
    tables.lock_kinds.set(0, mayhap_trace::LockKind::Mutex);
    let mut bytes = Vec::new();
    let mut writer = Box::new(RapidBinWriter::new(&mut bytes).unwrap());
    writer.write(&columns, &tables).unwrap();
    let notes = writer.finish(&tables).unwrap();
    let expected = [
        "2 events lose the properties or values that they have",
        "what kind of object 1 of the names stand for is lost",
    ];
    assert_eq!(notes, expected);
}
