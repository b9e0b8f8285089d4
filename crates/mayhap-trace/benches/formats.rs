//! Prints sizes and speeds of the formats, on the traces of the corpus and on a generated one.
//!
//! Speeds are events a second of processor time of one thread, the best of several runs. `MAYHAP_EVENTS` sets the length
//! of the generated trace (10 million). Round trips are checked on the way: STD to native to STD gives the same bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use mayhap_trace::format::native::{NativeReader, NativeWriter};
use mayhap_trace::format::std_text::{StdReader, StdWriter};
use mayhap_trace::format::{self, TraceWriter};
use mayhap_trace::{Columns, Error, Op, Relations, Source, Tables, Trace};

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let events = std::env::var("MAYHAP_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000_000);
    println!("{:22} {:>10} | {:>31} | {:>51}", "", "", "bytes an event", "million events a second");
    print!("{:22} {:>10} | {:>7} {:>7} {:>7} {:>7}", "trace", "events", "std", "std.gz", "std.zst", "mhp");
    println!(" | {:>9} {:>9} {:>9} {:>9} {:>9}", "std read", "std write", "mhp read", "mhp write", "relations");
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/traces");
    for name in ["bufwriter.std", "derby.std.gz", "ftpserver.std", "moldyn.std"] {
        match format::read(Path::new(corpus).join(name)) {
            Ok(loaded) => measure(name, loaded.trace),
            Err(error) => println!("{name:22} skipped: {error}"),
        }
    }
    let trace = Trace::from_source(Box::new(Generated::new(events))).expect("the generator makes no mistakes");
    measure("8 threads, 10k vars", trace);
}

/// One row of the table.
fn measure(name: &str, trace: Trace) {
    let std = std_of(&trace);
    let native = native_of(&trace);
    let per_event = |bytes: usize| bytes as f64 / trace.len() as f64;
    print!("{name:22} {:>10} | {:>7.3}", trace.len(), per_event(std.len()));
    print!(
        " {:>7.3}",
        per_event(compressed(&std, flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default())))
    );
    let zstd = zstd::bulk::compress(&std, 3).expect("memory suffices");
    print!(" {:>7.3} {:>7.3} |", per_event(zstd.len()), per_event(native.len()));

    let mut drained = 0;
    speed(&trace, || drained = drain(StdReader::new(&std[..])));
    assert_eq!(drained, trace.len());
    speed(&trace, || assert_eq!(std_of(&trace).len(), std.len()));
    speed(&trace, || drained = drain(NativeReader::new(&native[..]).expect("a header")));
    assert_eq!(drained, trace.len());
    speed(&trace, || assert_eq!(native_of(&trace).len(), native.len()));
    match Relations::derive(&trace) {
        Ok(_) => speed(&trace, || assert!(Relations::derive(&trace).is_ok())),
        Err(_) => print!(" {:>9}", "-"),
    }
    println!();
    let back = Trace::from_source(Box::new(NativeReader::new(&native[..]).expect("a header"))).expect("a whole file");
    assert!(std_of(&back) == std, "{name}: STD to native to STD is not the same");
    let memory = trace.memory() as f64 / trace.len() as f64;
    println!(
        "{:22} {:>10} | in memory {memory:.2} bytes an event with its names; STD, native, STD is the same",
        "", ""
    );
}

fn std_of(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(trace, StdWriter::new(&mut out));
    out
}

fn native_of(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(trace, NativeWriter::new(&mut out).expect("memory suffices"));
    out
}

fn write(trace: &Trace, mut writer: impl TraceWriter) {
    writer.write(trace.columns(), trace.tables()).expect("memory suffices");
    Box::new(writer).finish(trace.tables()).expect("memory suffices");
}

fn compressed(bytes: &[u8], mut encoder: flate2::write::GzEncoder<Vec<u8>>) -> usize {
    use std::io::Write;
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory suffices").len()
}

/// Reads a source to its end without keeping it.
fn drain(mut source: impl Source) -> usize {
    let (mut chunk, mut events) = (Columns::default(), 0);
    while source.next_chunk(&mut chunk).expect("the bytes are good") {
        events += chunk.len();
    }
    events
}

/// Prints the best speed of three series of runs, each long enough for the clock, which ticks in milliseconds.
fn speed(trace: &Trace, mut run: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (before, mut runs, mut taken) = (processor_time(), 0, Duration::ZERO);
        while taken < Duration::from_millis(200) {
            run();
            runs += 1;
            taken = processor_time() - before;
        }
        best = best.min(taken.as_secs_f64() / f64::from(runs));
    }
    print!(" {:>9.1}", trace.len() as f64 / best / 1e6);
}

/// The processor time of this thread if the system reports it, otherwise the time of day.
fn processor_time() -> Duration {
    let scheduler = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduler.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| Instant::now().duration_since(*EPOCH), Duration::from_nanos)
}

static EPOCH: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

/// A well-formed trace of 8 threads, 100 locks, 10,000 variables and 1,000 locations: runs of accesses, some of them in
/// critical sections, threads switching in between.
struct Generated {
    left: usize,
    seed: u64,
    thread: u16,
    /// The lock that each thread holds, and who holds each lock.
    held: [Option<u32>; 8],
    owner: [Option<u16>; 100],
    tables: Tables,
}

impl Generated {
    fn new(events: usize) -> Self {
        let mut tables = Tables::default();
        let enter = |names: &mut mayhap_trace::Names, count: usize, name: &dyn Fn(usize) -> String| {
            (0..count).for_each(|i| assert!(names.define(name(i).as_bytes()).is_ok()));
        };
        enter(&mut tables.threads, 8, &|i| format!("T{i}"));
        enter(&mut tables.locks, 100, &|i| format!("L{i}"));
        enter(&mut tables.variables, 10_000, &|i| format!("V{i}"));
        enter(&mut tables.locations, 1000, &|i| if i % 2 == 0 { format!("file.c:{i}") } else { i.to_string() });
        Generated { left: events, seed: 1, thread: 0, held: [None; 8], owner: [None; 100], tables }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn step(&mut self, chunk: &mut Columns) {
        if self.random(12) == 0 {
            self.thread = self.random(8) as u16;
        }
        let (thread, lock) = (self.thread, self.random(100) as u32);
        let held = &mut self.held[usize::from(thread)];
        let (op, object) = match (*held, self.seed >> 60) {
            (Some(lock), 0..3) => {
                *held = None;
                self.owner[lock as usize] = None;
                (Op::Release, lock)
            }
            (None, 0) if self.owner[lock as usize].is_none() => {
                *held = Some(lock);
                self.owner[lock as usize] = Some(thread);
                (Op::Acquire, lock)
            }
            (_, 3..8) => (Op::Write, self.random(10_000) as u32),
            _ => (Op::Read, self.random(10_000) as u32),
        };
        // A variable is accessed in few places.
        let location = (object % 250) * 4 + self.random(4) as u32;
        chunk.push_cells(thread, op, object, location);
    }
}

impl Source for Generated {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        let count = self.left.min(mayhap_trace::CHUNK);
        (0..count).for_each(|_| self.step(chunk));
        self.left -= count;
        Ok(count > 0)
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }
}
