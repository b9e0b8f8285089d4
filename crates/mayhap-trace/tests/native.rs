//! The native format: what goes in comes out, what is cut off is said, what is damaged is named.

use mayhap_trace::format::native::{NativeReader, NativeWriter};
use mayhap_trace::format::{Loaded, TraceWriter, load, parse_std};
use mayhap_trace::{Columns, Error, Op, SummaryBuilder, Trace, Value};
use mayhap_wire::{BlockHeader, Codec, FileHeader, Footer, Kind, checksum};

/// A trace with every operation, names of several kinds, events without location, and several blocks.
fn sample(events: usize) -> Trace {
    let mut text = String::from("T0|fork(T1)|main.c:1\nT0|begin\nT0|try\nT1|begin\n");
    let mut seed = 12_345u64;
    for i in 0..events {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (thread, object, place) = (seed >> 60 & 1, seed >> 40 & 1023, seed >> 30 & 255);
        let op = ["r", "w", "acq", "rel", "racq", "rrel", "wait", "notify", "notifyall"][i % 9];
        match seed >> 55 & 15 {
            8 => text.push_str(&format!("T{thread}|{}(x{object})\n", ["facq", "fracq", "fwait"][i % 3])),
            9 => text.push_str(&format!("T{thread}|fence.sc|f.c:{place}\n")),
            10 => text.push_str(&format!("T{thread}|w.rel.const(x{object})={place}\n")),
            11 => text.push_str(&format!("T{thread}|r.acq(x{object})=&{place}+{i}\n")),
            0 => text.push_str(&format!("T{thread}|br\n")),
            1 => text.push_str(&format!("T{thread}|{op}(x{object})\n")),
            _ => text.push_str(&format!("T{thread}|{op}(x{object})|f.c:{place}\n")),
        }
    }
    text.push_str("T1|end\nT0|join(T1)|main.c:9\n");
    parse_std(&text).unwrap()
}

/// The trace as a native file, passed to the writer in chunks of `step` events.
fn native_in_steps(trace: &Trace, step: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Box::new(NativeWriter::new(&mut bytes).unwrap());
    let mut from = 0;
    while from < trace.len() {
        let to = trace.len().min(from + step);
        let mut chunk = Columns::default();
        chunk.append_range(trace.columns(), from..to);
        writer.write(&chunk, trace.tables()).unwrap();
        from = to;
    }
    writer.finish(trace.tables()).unwrap();
    bytes
}

fn native(trace: &Trace) -> Vec<u8> {
    native_in_steps(trace, usize::MAX)
}

fn read(bytes: &[u8]) -> Result<Loaded, Error> {
    load(Box::new(NativeReader::new(bytes)?))
}

/// The offsets of the blocks in a file, and of the footer.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let mut at = FileHeader::SIZE;
    let mut starts = vec![at];
    while at < bytes.len() - Footer::SIZE {
        let header = BlockHeader::read(bytes[at..at + BlockHeader::SIZE].try_into().unwrap()).unwrap();
        at += BlockHeader::SIZE + header.stored as usize;
        starts.push(at);
    }
    starts
}

#[test]
fn traces_round_trip_with_their_summary() {
    for events in [0, 1, 1000, 200_000] {
        let trace = sample(events);
        let bytes = native(&trace);
        let loaded = read(&bytes).unwrap();
        assert_eq!(loaded.trace, trace);
        assert_eq!(loaded.missing, None);
        let mut builder = SummaryBuilder::default();
        builder.add(trace.columns());
        assert_eq!(loaded.summary, Some(builder.finish(trace.tables())));
    }
    assert_eq!(sample(300).columns().ops.iter().collect::<std::collections::HashSet<_>>().len(), Op::ALL.len());
}

#[test]
fn an_empty_trace_round_trips() {
    let bytes = native(&Trace::default());
    let loaded = read(&bytes).unwrap();
    assert!(loaded.trace.is_empty() && loaded.missing.is_none() && loaded.summary.is_some());
}

#[test]
fn the_bytes_do_not_depend_on_the_chunks() {
    let trace = sample(150_000);
    let whole = native(&trace);
    for step in [1, 999, 65_536, 70_000] {
        assert!(native_in_steps(&trace, step) == whole, "chunks of {step}");
    }
}

#[test]
fn a_file_that_can_seek_tells_its_summary_first() {
    let trace = sample(1000);
    let bytes = native(&trace);
    let source = NativeReader::with_summary(std::io::Cursor::new(&bytes)).unwrap();
    let summary = mayhap_trace::Source::summary(&source).unwrap().clone();
    assert_eq!(summary.events, trace.len() as u64);
    assert_eq!(Some(summary), read(&bytes).unwrap().summary);
    assert_eq!(load(Box::new(source)).unwrap().trace, trace);
}

#[test]
fn a_cut_file_delivers_its_whole_blocks_and_says_what_is_missing() {
    let trace = sample(200_000);
    let bytes = native(&trace);
    let starts = blocks(&bytes);
    let whole_blocks = |end: usize| {
        let events = starts.windows(2).filter(|w| w[1] <= end).filter_map(|w| {
            let header = BlockHeader::read(bytes[w[0]..w[0] + BlockHeader::SIZE].try_into().unwrap()).unwrap();
            (header.kind == Kind::Events).then_some(header.items as usize)
        });
        events.sum::<usize>()
    };
    let mut ends: Vec<usize> = starts.iter().flat_map(|&s| [s - 1, s, s + 1, s + 31, s + 32, s + 33]).collect();
    ends.retain(|&end| end >= FileHeader::SIZE && end < bytes.len());
    for end in ends {
        let loaded = read(&bytes[..end]).unwrap();
        let missing = loaded.missing.unwrap_or_else(|| panic!("cut at {end}"));
        assert_eq!(loaded.trace.len(), whole_blocks(end), "cut at {end}");
        assert_eq!(missing.delivered, loaded.trace.len() as u64);
        assert!(missing.reason.contains("the file ends"), "{}", missing.reason);
        let all: Vec<_> = trace.events().take(loaded.trace.len()).collect();
        assert!(loaded.trace.events().eq(all));
    }
}

#[test]
fn a_small_file_cut_at_any_byte_never_lies() {
    let trace = sample(40);
    let bytes = native(&trace);
    for end in 0..bytes.len() {
        match read(&bytes[..end]) {
            Ok(loaded) => {
                assert!(loaded.missing.is_some(), "cut at {end}");
                assert!(loaded.trace.is_empty() || loaded.trace == trace);
            }
            Err(error) => assert!(end < FileHeader::SIZE, "cut at {end}: {error}"),
        }
    }
    assert_eq!(read(b"").unwrap_err().to_string(), "byte 0: the file is empty");
    assert_eq!(read(&bytes[..7]).unwrap_err().to_string(), "byte 0: the file ends within its header");
}

#[test]
fn every_flipped_bit_is_an_error() {
    let bytes = native(&sample(60));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&damaged).is_err(), "bit {bit} of {}", bytes.len() * 8);
    }
}

#[test]
fn a_damaged_block_is_named() {
    let bytes = native(&sample(200_000));
    let starts = blocks(&bytes);
    let mut damaged = bytes.clone();
    damaged[starts[3] + BlockHeader::SIZE + 5] ^= 4;
    let expected = format!("block 4 (byte {}): the checksum of its contents does not match", starts[3]);
    assert_eq!(read(&damaged).unwrap_err().to_string(), expected);

    let mut lost = bytes[..starts[2]].to_vec();
    lost.extend_from_slice(&bytes[starts[3]..]);
    let expected = format!("block 3 (byte {}): it says it is block 4: blocks were lost or moved", starts[2]);
    assert_eq!(read(&lost).unwrap_err().to_string(), expected);

    let mut longer = bytes.clone();
    longer.push(0);
    let expected = format!("byte {}: bytes follow the end of the trace", bytes.len());
    assert_eq!(read(&longer).unwrap_err().to_string(), expected);
}

/// A file with one block after the header, with correct checksums.
fn file_with(header: BlockHeader, contents: &[u8]) -> Vec<u8> {
    let mut bytes = FileHeader::current().to_vec();
    bytes.extend_from_slice(&BlockHeader { payload: checksum(contents), ..header }.to_bytes());
    bytes.extend_from_slice(contents);
    bytes
}

fn plain(kind: Kind, items: u32, length: u32) -> BlockHeader {
    BlockHeader { kind, codec: Codec::Plain, sequence: 0, items, stored: length, raw: length, payload: 0 }
}

#[test]
fn promises_beyond_all_bounds_are_refused_before_anything_is_allocated() {
    let header = BlockHeader { items: u32::MAX, ..plain(Kind::Events, 0, 0) };
    let error = read(&file_with(header, &[])).unwrap_err().to_string();
    assert!(error.starts_with("block 1 (byte 16): ") && error.contains("promises 4294967295 items"), "{error}");
    let header = BlockHeader { stored: u32::MAX, raw: u32::MAX, ..plain(Kind::Names, 1, 0) };
    assert!(read(&file_with(header, &[])).unwrap_err().to_string().contains("promises 4294967295 stored bytes"));
    // As much as a block may have, but no bytes after it.
    let loaded = read(&file_with(plain(Kind::Names, 1, 1 << 24), &[])).unwrap();
    assert_eq!(loaded.missing.unwrap().reason, "the file ends within block 1 (byte 16)");
}

#[test]
fn contents_that_do_not_fit_their_header_are_refused() {
    let error = |kind, items, contents: &[u8]| {
        let header = plain(kind, items, contents.len() as u32);
        read(&file_with(header, contents)).unwrap_err().to_string().replace("block 1 (byte 16): ", "")
    };
    assert_eq!(error(Kind::Names, 1, &[0, 1]), "its contents end too early");
    assert_eq!(error(Kind::Names, 1, &[0, 1, b'a', 0]), "bytes follow its contents");
    assert_eq!(error(Kind::Names, 1, &[7, 1, b'a']), "it has a record 7, which is not known");
    assert_eq!(error(Kind::Names, 1, &[0, 0xff, 0xff, 0x7f, 0]), "it has a name of 2097151 bytes");
    assert_eq!(error(Kind::Names, 2, &[0, 1, b'a', 0, 1, b'a']), "the name `a` is defined twice");
    assert!(error(Kind::Names, 1, &[0, 1, 0xff]).starts_with("a name is not valid UTF-8"));
    let known = [2, 1, b'x', 5, 2];
    let initial = |more: &[u8], items| error(Kind::Names, items, &[&known, more].concat());
    assert_eq!(initial(&[12, 0, 1], 3), "it states an initial value that is not defined");
    assert_eq!(initial(&[12, 1, 0], 3), "it states the initial value of something without a name");
    assert_eq!(initial(&[12, 0, 0, 12, 0, 0], 4), "it states an initial value twice");
    assert_eq!(error(Kind::Events, 1, &[1, 0, 1, 11, 0, 0]), "its event 1 names a thread that is not defined");
    assert_eq!(error(Kind::Facts, 1, &[1]), "its contents end too early");
    assert_eq!(error(Kind::Trailer, 1, &[1]), "its contents are not those of a trailer");
    let zstd = BlockHeader { codec: Codec::Zstd, raw: 100, ..plain(Kind::Names, 1, 3) };
    assert!(read(&file_with(zstd, b"abc")).unwrap_err().to_string().contains("its contents do not unpack"));
}

#[test]
fn blocks_of_unknown_kind_are_skipped_if_they_may_be() {
    let trace = sample(100);
    let bytes = native(&trace);
    let mut longer = file_with(plain(Kind::Unknown(200), 7, 3), b"new");
    let mut at = FileHeader::SIZE;
    for (sequence, end) in (1..).zip(blocks(&bytes).into_iter().skip(1)) {
        let mut header = BlockHeader::read(bytes[at..at + BlockHeader::SIZE].try_into().unwrap()).unwrap();
        header.sequence = sequence;
        longer.extend_from_slice(&header.to_bytes());
        longer.extend_from_slice(&bytes[at + BlockHeader::SIZE..end]);
        at = end;
    }
    let summary = Footer::read(bytes[at..].try_into().unwrap()).unwrap().summary;
    longer.extend_from_slice(&Footer::to_bytes(summary + BlockHeader::SIZE as u64 + 3));
    let loaded = read(&longer).unwrap();
    assert_eq!((loaded.trace, loaded.missing), (trace, None));
}

#[test]
fn what_variables_held_before_their_first_event_is_kept() {
    let trace = parse_std("main|w(x)=5\nmain|fork(worker)\nworker|w(y)=7\n").unwrap();
    let (columns, mut tables) = trace.into_parts();
    let without = Trace::from_parts(columns.clone(), tables.clone()).fingerprint();
    let [seven, nine] = [7, 9].map(|bits| tables.values.intern(Value::Bits(bits)).unwrap());
    tables.initial_values.set(0, Some(nine));
    tables.initial_values.set(1, Some(seven));
    let trace = Trace::from_parts(columns, tables);
    assert_ne!(trace.fingerprint(), without);
    let loaded = read(&native(&trace)).unwrap();
    assert_eq!(loaded.trace.tables().initial_values.get(0), Some(nine));
    assert_eq!(loaded.trace, trace);
}

/// Writes a file as a recorder does: with nothing but the wire crate, small blocks, no compression, no facts.
mod recorder {
    use mayhap_wire::events::{self, Events, ThreadState};
    use mayhap_wire::{BlockHeader, Codec, FileHeader, Footer, Kind, checksum, limits, table, varint};

    pub(super) struct Recorder {
        pub(super) file: Vec<u8>,
        sequence: u32,
        states: [ThreadState; 2],
    }

    impl Recorder {
        pub(super) fn new() -> Self {
            Recorder { file: FileHeader::current().to_vec(), sequence: 0, states: [ThreadState::default(); 2] }
        }

        fn block(&mut self, kind: Kind, items: usize, contents: &[u8]) {
            let length = contents.len() as u32;
            let header = BlockHeader {
                kind,
                codec: Codec::Plain,
                sequence: self.sequence,
                items: items as u32,
                stored: length,
                raw: length,
                payload: checksum(contents),
            };
            self.file.extend_from_slice(&header.to_bytes());
            self.file.extend_from_slice(contents);
            self.sequence += 1;
        }

        pub(super) fn names(&mut self, names: &[(u8, &str)]) {
            let mut contents = Vec::new();
            for (table, name) in names {
                contents.extend_from_slice(&[*table, name.len() as u8]);
                contents.extend_from_slice(name.as_bytes());
            }
            self.block(Kind::Names, names.len(), &contents);
        }

        pub(super) fn events(&mut self, threads: &[u16], ops: &[u8], objects: &[u32]) {
            let mut contents = [0; limits::events_raw(16)];
            let locations = &vec![events::NONE; ops.len()];
            let events = Events { threads, ops, objects, locations };
            let block = u64::from(self.sequence) + 1;
            let length = events::encode(events, &mut self.states, block, &mut contents).unwrap();
            self.block(Kind::Events, ops.len(), &contents[..length]);
        }

        pub(super) fn trailer(&mut self, totals: &[u64]) {
            let at = self.file.len() as u64;
            let mut contents = Vec::new();
            for &total in totals {
                let mut bytes = [0; varint::LONGEST];
                let length = varint::put(total, &mut bytes).unwrap();
                contents.extend_from_slice(&bytes[..length]);
            }
            self.block(Kind::Trailer, 1, &contents);
            self.file.extend_from_slice(&Footer::to_bytes(at));
        }
    }

    pub(super) const TOTALS: [u64; 24] = [4, 14, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 2, 2, 2];

    pub(super) fn record() -> Recorder {
        let mut recorder = Recorder::new();
        recorder.names(&[(table::THREADS, "main"), (table::VARIABLES, "x")]);
        recorder.events(&[0], &[1], &[0]);
        recorder.names(&[(table::THREADS, "worker")]);
        recorder.events(&[0, 1, 1], &[6, 1, 0], &[1, 0, 0]);
        recorder
    }
}

#[test]
fn a_recorder_that_dies_or_knows_no_facts_is_understood() {
    let expected = parse_std("main|w(x)\nmain|fork(worker)\nworker|w(x)\nworker|r(x)\n").unwrap();
    let killed = read(&recorder::record().file).unwrap();
    assert_eq!(killed.trace, expected);
    assert!(killed.missing.unwrap().reason.ends_with("the trailer is missing"));

    let mut recorder = recorder::record();
    recorder.trailer(&recorder::TOTALS);
    let whole = read(&recorder.file).unwrap();
    assert_eq!((whole.trace, whole.missing, whole.summary), (expected, None, None));
}

#[test]
fn totals_must_be_true() {
    let error = |change: fn(&mut [u64; 24])| {
        let (mut recorder, mut totals) = (recorder::record(), recorder::TOTALS);
        change(&mut totals);
        recorder.trailer(&totals);
        let message = read(&recorder.file).unwrap_err().to_string();
        message.strip_prefix("block 5 (byte 180): ").unwrap_or(&message).to_string()
    };
    let huge = error(|totals| totals[0] = 1_000_000_000_000);
    assert_eq!(huge, "it promises 1000000000000 events, the blocks before it hold 4");
    assert_eq!(error(|totals| totals.swap(2, 3)), "it promises other operations than the blocks before it hold");
    assert_eq!(error(|totals| totals[18] = 7), "it promises other names than the blocks before it hold");
    assert_eq!(error(|totals| totals[1] = 15), "its contents are not those of a trailer");
    assert_eq!(error(|totals| totals[21] = u64::MAX), "its contents are not those of a trailer");
}
