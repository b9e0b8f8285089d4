//! One small file of each version of the native format, kept as bytes: old files read as ever, and new ones are written so
//! that files already written stay readable.

use std::fs;
use std::path::PathBuf;

use mayhap_trace::format::native::{NativeReader, NativeWriter};
use mayhap_trace::format::std_text::write_events;
use mayhap_trace::format::{Loaded, TraceWriter, load, parse_std};
use mayhap_trace::{ConditionKind, Error, LockKind, Relations, Trace, VariableKind};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(bytes: &[u8]) -> Result<Loaded, Error> {
    load(Box::new(NativeReader::new(bytes)?))
}

fn text(trace: &Trace) -> String {
    let mut text = Vec::new();
    write_events(&mut text, trace.columns(), trace.tables()).unwrap();
    String::from_utf8(text).unwrap()
}

fn native(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Box::new(NativeWriter::new(&mut bytes).unwrap());
    writer.write(trace.columns(), trace.tables()).unwrap();
    writer.finish(trace.tables()).unwrap();
    bytes
}

/// The trace of the golden text of version 2, with kinds, which text does not carry.
fn second() -> Trace {
    let trace = parse_std(&fs::read_to_string(golden("version2.std")).unwrap()).unwrap();
    let (columns, mut tables) = trace.into_parts();
    tables.lock_kinds.set(0, LockKind::Mutex);
    tables.variable_kinds.set(0, VariableKind::Atomic);
    Trace::from_parts(columns, tables)
}

#[test]
fn version_1_is_read() {
    let loaded = read(&fs::read(golden("version1.mhp")).unwrap()).unwrap();
    assert!(loaded.missing.is_none() && loaded.summary.is_some());
    // The mark of the tried acquire stays, and the acquire now says it too.
    let expected = fs::read_to_string(golden("version1.std")).unwrap();
    assert_eq!(text(&loaded.trace), expected.replace("|acq(l)", "|acq.try(l)"));
    assert_eq!(loaded.trace.fingerprint(), parse_std(&expected).unwrap().fingerprint());
    Relations::derive(&loaded.trace).unwrap();
}

#[test]
fn version_2_is_read_and_written() {
    let file = golden("version2.mhp");
    let trace = second();
    if std::env::var_os("MAYHAP_BLESS").is_some() {
        fs::write(&file, native(&trace)).unwrap();
    }
    let bytes = fs::read(&file).unwrap();
    let loaded = read(&bytes).unwrap();
    assert!(loaded.missing.is_none() && loaded.summary.is_some());
    assert_eq!(loaded.trace, trace);
    assert!(native(&trace) == bytes, "the writer's bytes have changed");
    let tables = loaded.trace.tables();
    assert_eq!(tables.condition_kinds.get(0), ConditionKind::Semaphore { initial: 2 });
    assert_eq!(tables.lock_kinds.get(0), LockKind::Mutex);
    let summary = loaded.summary.unwrap();
    assert_eq!((summary.values, summary.with_flags, summary.with_values), (3, 12, 5));
    assert_eq!(summary.kinds, [1, 1, 3]);
    Relations::derive(&loaded.trace).unwrap();
}

/// What only version 2 has is refused in a file that says it is of version 1.
#[test]
fn version_1_has_nothing_of_version_2() {
    let mut bytes = native(&second());
    bytes[..16].copy_from_slice(&mayhap_wire::FileHeader::of_version(1));
    let error = read(&bytes).unwrap_err().to_string();
    assert_eq!(error, "block 1 (byte 16): it names table 9, which is not known");
    let plain = parse_std("A|w(x)\nA|fence.sc\n").unwrap();
    let mut bytes = native(&plain);
    bytes[..16].copy_from_slice(&mayhap_wire::FileHeader::of_version(1));
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.ends_with("bytes follow its contents"), "{error}");
}

#[test]
fn fingerprints_tell_flags_values_and_counts_apart() {
    let print = |text: &str| parse_std(text).unwrap().fingerprint();
    let texts = [
        "A|w(x)\nA|r(x)\n",
        "A|w.rlx(x)\nA|r(x)\n",
        "A|w(x)=1\nA|r(x)\n",
        "A|w(x)\nA|r(x)=1\n",
        "A|w(x)=2\nA|r(x)\n",
        "A|w(x)=&2+0\nA|r(x)\n",
        "A|notify(s)\n",
        "#! sem s 1\nA|notify(s)\n",
        "#! sem s 2\nA|notify(s)\n",
        "#! cond s\nA|notify(s)\n",
    ];
    for (i, one) in texts.iter().enumerate() {
        for other in &texts[i + 1..] {
            assert_ne!(print(one), print(other), "{one}{other}");
        }
    }
}
