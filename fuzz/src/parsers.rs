//! What every parser must keep, whatever bytes it gets: no panic, and what it accepts it means. The fuzz targets feed
//! these functions, and so does the test `fuzz_corpus` of `mayhap-trace`, with the inputs that were kept.

use mayhap_trace::format::native::{NativeReader, NativeWriter};
use mayhap_trace::format::rapidbin::{RapidBinReader, RapidBinWriter};
use mayhap_trace::format::roadrunner::RoadRunnerReader;
use mayhap_trace::format::std_text::{StdReader, StdWriter};
use mayhap_trace::format::{Loaded, TraceWriter, load};
use mayhap_trace::{Error, Relations, Trace};
use mayhap_wire::{BlockHeader, Codec, FileHeader, Footer, Kind, checksum};

/// STD text: what is read can be written, as STD and natively, and reads back as it was.
pub(crate) fn std(data: &[u8]) {
    let Ok(trace) = read(StdReader::new(data)) else { return };
    let mut text = Vec::new();
    write(StdWriter::new(&mut text), &trace).expect("what was read can be written");
    assert_eq!(read(StdReader::new(&text[..])).expect("what was written can be read"), trace);
    survives_native(&trace);
}

/// Native files: as they are, or, if the input begins with a zero (a one: of version 1), as blocks with the right checksums
/// around the rest.
pub(crate) fn native(data: &[u8]) {
    let framed;
    let bytes = match data {
        [first @ (0 | 1), contents @ ..] => {
            framed = frame(if *first == 0 { mayhap_wire::VERSION } else { 1 }, contents);
            &framed[..]
        }
        _ => data,
    };
    let streamed = NativeReader::new(bytes).and_then(|reader| load(Box::new(reader)));
    let sought = NativeReader::with_summary(std::io::Cursor::new(bytes)).and_then(|reader| load(Box::new(reader)));
    match (streamed, sought) {
        (Ok(streamed), Ok(sought)) => {
            assert_eq!(streamed.trace, sought.trace);
            let trace = checked(streamed);
            survives_native(&trace);
        }
        (Err(streamed), Err(sought)) => assert_eq!(streamed.to_string(), sought.to_string()),
        (streamed, sought) => panic!("streamed: {streamed:?}, sought: {sought:?}"),
    }
}

/// RapidBin: what is read can be written and reads back as it was.
pub(crate) fn rapidbin(data: &[u8]) {
    let Ok(trace) = RapidBinReader::new(data).and_then(read) else { return };
    let mut bytes = Vec::new();
    let writer = RapidBinWriter::new(&mut bytes).expect("memory suffices");
    write(writer, &trace).expect("what was read can be written");
    let again = RapidBinReader::new(&bytes[..]).and_then(read).expect("what was written can be read");
    assert_eq!(again, trace);
}

/// RoadRunner logs: what comes out is a trace.
pub(crate) fn roadrunner(data: &[u8]) {
    if let Ok(trace) = read(RoadRunnerReader::new(data)) {
        survives_native(&trace);
    }
}

fn read(source: impl mayhap_trace::Source) -> Result<Trace, Error> {
    load(Box::new(source)).map(checked)
}

/// Every cell indexes its table, and the rules of well-formedness can be checked.
fn checked(loaded: Loaded) -> Trace {
    let (columns, tables) = loaded.trace.into_parts();
    let trace = Trace::from_parts(columns, tables);
    let _ = Relations::derive(&trace);
    trace
}

fn write(mut writer: impl TraceWriter, trace: &Trace) -> Result<Vec<String>, Error> {
    writer.write(trace.columns(), trace.tables())?;
    Box::new(writer).finish(trace.tables())
}

fn survives_native(trace: &Trace) {
    let mut bytes = Vec::new();
    write(NativeWriter::new(&mut bytes).expect("memory suffices"), trace).expect("any trace has a native form");
    let loaded = NativeReader::new(&bytes[..]).and_then(|reader| load(Box::new(reader))).expect("a whole file");
    assert_eq!((&loaded.trace, &loaded.missing), (trace, &None));
}

/// A file whose blocks are cut out of `contents`: kind, number of items (low byte, high byte), length (the same), bytes.
/// Behind them stands a footer that points to the first block of facts.
fn frame(version: u16, mut contents: &[u8]) -> Vec<u8> {
    let mut file = FileHeader::of_version(version).to_vec();
    let (mut sequence, mut summary) = (0, None);
    while let [kind, a, b, c, d, rest @ ..] = contents {
        let length = usize::from(u16::from_le_bytes([*c, *d])).min(rest.len());
        let (bytes, rest) = rest.split_at(length);
        contents = rest;
        let kind = Kind::from_code(*kind);
        if matches!(kind, Kind::Facts | Kind::Trailer) {
            summary.get_or_insert(file.len() as u64);
        }
        let header = BlockHeader {
            kind,
            codec: Codec::Plain,
            sequence,
            items: u16::from_le_bytes([*a, *b]).into(),
            stored: length as u32,
            raw: length as u32,
            payload: checksum(bytes),
        };
        file.extend_from_slice(&header.to_bytes());
        file.extend_from_slice(bytes);
        sequence += 1;
    }
    if let Some(summary) = summary {
        file.extend_from_slice(&Footer::to_bytes(summary));
    }
    file
}
