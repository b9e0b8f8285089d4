//! RapidBin, RAPID's binary format, `.data`. Big-endian: a header of i16 threads, i32 locks, i32 variables, i64 events;
//! then one i64 an event, from the low bits up: 10 bits thread, 4 bits operation, 34 bits object, 15 bits location.
//!
//! Names are numbers: thread 3 is read as `T3`, lock 3 as `L3`, variable 3 as `V3`, location 3 as `3`. Requests of locks
//! are not events here; the reader counts them. The header's numbers bound the ids, and memory grows with the ids that
//! occur, not with what the header promises. `docs/formats/rapidbin.md` has the details.

use std::io::Read;

use hashbrown::HashMap;

use crate::columns::{CHUNK, Columns};
use crate::error::{Error, ErrorKind, Position};
use crate::flags::Flags;
use crate::format::fill::fill;
use crate::format::{Sink, TraceWriter};
use crate::id::{EventId, NONE};
use crate::names::{Names, Tables};
use crate::op::{ObjectKind, Op};
use crate::source::Source;

const HEADER: usize = 18;
const THREADS: u32 = 1 << 10;
const LOCATIONS: u32 = 1 << 15;
const OBJECT_MASK: u64 = (1 << 34) - 1;
const REQUEST: u8 = 8;

/// The operations by their code.
const OPS: [Option<Op>; 16] = {
    let mut ops = [None; 16];
    let known = [Op::Acquire, Op::Release, Op::Read, Op::Write, Op::Fork, Op::Join, Op::Begin, Op::End];
    let mut code = 0;
    while code < known.len() {
        ops[code] = Some(known[code]);
        code += 1;
    }
    ops[9] = Some(Op::Branch);
    ops
};

/// The code of each operation of [`Op::ALL`], if the format has it.
const CODES: [Option<u64>; Op::ALL.len()] = {
    let mut codes = [None; Op::ALL.len()];
    let mut code = 0;
    while code < OPS.len() {
        if let Some(op) = OPS[code] {
            codes[op as usize] = Some(code as u64);
        }
        code += 1;
    }
    codes
};

/// Reads RapidBin piece by piece.
pub struct RapidBinReader<R> {
    input: R,
    offset: u64,
    /// Records that the header promises, and those read.
    promised: u64,
    records: u64,
    requests: u64,
    /// Records of one chunk as they are read.
    bytes: Vec<u8>,
    tables: Tables,
    threads: Numbers,
    locks: Numbers,
    variables: Numbers,
    locations: Numbers,
}

/// Ids in order of first appearance for numbers below a bound.
struct Numbers {
    what: &'static str,
    prefix: &'static str,
    bound: u64,
    /// Ids of the numbers below [`DENSE`], as far as they occur.
    dense: Vec<u32>,
    /// Those of the others.
    ids: HashMap<u64, u32, foldhash::fast::RandomState>,
}

/// Numbers that are looked up by their place.
const DENSE: u64 = 1 << 20;

impl Numbers {
    fn new(what: &'static str, prefix: &'static str, bound: u64) -> Self {
        Numbers { what, prefix, bound, dense: Vec::new(), ids: HashMap::default() }
    }

    #[inline]
    fn id(&mut self, number: u64, names: &mut Names) -> Result<u32, ErrorKind> {
        match self.dense.get(number as usize) {
            Some(&id) if id != NONE => Ok(id),
            _ if number < DENSE => self.enter(number, names),
            _ => match self.ids.get(&number) {
                Some(&id) => Ok(id),
                None => self.enter(number, names),
            },
        }
    }

    #[cold]
    fn enter(&mut self, number: u64, names: &mut Names) -> Result<u32, ErrorKind> {
        if number >= self.bound {
            let Numbers { what, bound, .. } = self;
            return Err(ErrorKind::Syntax(format!("the event names {what} {number}, the header promises {bound}")));
        }
        let id = names.define(format!("{}{number}", self.prefix).as_bytes())?;
        if number < DENSE {
            let number = number as usize;
            self.dense.resize(self.dense.len().max(number + 1), NONE);
            self.dense[number] = id;
        } else {
            self.ids.insert(number, id);
        }
        Ok(id)
    }
}

impl<R: Read> RapidBinReader<R> {
    /// A reader of `input`, which should be buffered. Reads the header.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut bytes = [0; HEADER];
        let wrong = |at, message: String| Err(Error::syntax(Position::Byte(at), message));
        match fill(&mut input, &mut bytes, 0)? {
            HEADER => {}
            0 => return wrong(0, "the file is empty".into()),
            got => return wrong(got as u64, format!("the file ends within its header of {HEADER} bytes")),
        }
        let [threads @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = bytes;
        let threads = i64::from(i16::from_be_bytes(threads));
        let number =
            |at: usize| i64::from(i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        let (locks, variables) = (number(2), number(6));
        let events = number(10) << 32 | i64::from(number(14) as u32);
        for (at, what, value) in
            [(0, "threads", threads), (2, "locks", locks), (6, "variables", variables), (10, "events", events)]
        {
            if value < 0 {
                return wrong(at, format!("the header promises {value} {what}"));
            }
        }
        if threads > i64::from(THREADS) {
            return wrong(0, format!("the header promises {threads} threads; events can name only {THREADS}"));
        }
        if events as u64 > EventId::LIMIT as u64 {
            let limit = EventId::LIMIT;
            return wrong(10, format!("the header promises {events} events; a trace holds at most {limit}"));
        }
        Ok(RapidBinReader {
            input,
            offset: HEADER as u64,
            promised: events as u64,
            records: 0,
            requests: 0,
            bytes: Vec::new(),
            tables: Tables::default(),
            threads: Numbers::new("thread", "T", threads as u64),
            locks: Numbers::new("lock", "L", locks as u64),
            variables: Numbers::new("variable", "V", variables as u64),
            locations: Numbers::new("location", "", u64::from(LOCATIONS)),
        })
    }

    fn event(&mut self, record: u64, chunk: &mut Columns) -> Result<(), ErrorKind> {
        let (thread, code) = (record & u64::from(THREADS - 1), (record >> 10) as u8 & 15);
        let (object, location) = (record >> 14 & OBJECT_MASK, record >> 48);
        if location >= u64::from(LOCATIONS) {
            return Err(ErrorKind::Syntax("the event's highest bit is set".into()));
        }
        if code == REQUEST {
            self.requests += 1;
            return Ok(());
        }
        let op = OPS[usize::from(code)].ok_or_else(|| ErrorKind::Syntax(format!("unknown operation {code}")))?;
        let Tables { threads, locks, variables, locations, .. } = &mut self.tables;
        let thread = self.threads.id(thread, threads)?;
        let object = match op.names() {
            ObjectKind::Thread => self.threads.id(object, threads)?,
            ObjectKind::Lock => self.locks.id(object, locks)?,
            ObjectKind::Variable => self.variables.id(object, variables)?,
            ObjectKind::Condition | ObjectKind::Nothing => NONE,
        };
        let location = self.locations.id(location, locations)?;
        chunk.push_cells(thread as u16, op, object, location);
        Ok(())
    }
}

impl<R: Read> Source for RapidBinReader<R> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        while self.records < self.promised && chunk.len() < CHUNK {
            let wanted = (self.promised - self.records).min((CHUNK - chunk.len()) as u64) as usize;
            self.bytes.resize(8 * wanted, 0);
            let got = fill(&mut self.input, &mut self.bytes, self.offset)?;
            let bytes = std::mem::take(&mut self.bytes);
            for record in bytes[..got].chunks_exact(8) {
                let position = Position::Byte(self.offset);
                let record = u64::from_be_bytes(record.try_into().expect("eight bytes"));
                self.event(record, chunk).map_err(|kind| Error { position, kind })?;
                self.records += 1;
                self.offset += 8;
            }
            self.bytes = bytes;
            if got < 8 * wanted {
                let message = format!("the file ends after {} of {} events", self.records, self.promised);
                return Err(Error::syntax(Position::Byte(self.offset + got as u64 % 8), message));
            }
        }
        if self.records == self.promised && fill(&mut self.input, &mut [0], self.offset)? > 0 {
            let message = format!("bytes follow the {} events that the header promises", self.promised);
            return Err(Error::syntax(Position::Byte(self.offset), message));
        }
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }

    fn notes(&self) -> Vec<String> {
        match self.requests {
            0 => Vec::new(),
            count => vec![format!("{count} lock requests are left out: they are not events")],
        }
    }
}

/// Writes RapidBin.
///
/// The format has numbers for names. A table whose names are all of the form that the reader gives (`T3`, `L3`, `V3`,
/// `3`) keeps its numbers, any other is numbered by id; which of the two is known only at the end, so records hold ids
/// until then.
pub struct RapidBinWriter<W> {
    out: W,
    records: u64,
    unplaced: u64,
    /// Events with properties or a value, which the format has not.
    reduced: u64,
    buffer: Vec<u8>,
}

impl<W: Sink> RapidBinWriter<W> {
    /// Creates a writer to `out`.
    pub fn new(mut out: W) -> Result<Self, Error> {
        out.write_all(&[0; HEADER])?;
        Ok(RapidBinWriter { out, records: 0, unplaced: 0, reduced: 0, buffer: Vec::new() })
    }
}

impl<W: Sink> TraceWriter for RapidBinWriter<W> {
    fn write(&mut self, chunk: &Columns, tables: &Tables) -> Result<(), Error> {
        fits(tables.threads.len(), THREADS, "threads")?;
        fits(tables.locations.len(), LOCATIONS, "locations")?;
        self.buffer.clear();
        for event in chunk.iter() {
            let Some(code) = CODES[event.op as usize] else {
                let id = EventId::new(self.records as usize).map_or(Position::Whole, Position::Event);
                let message = format!("RapidBin has no operation `{}`", event.op.word());
                return Err(Error::syntax(id, message));
            };
            self.reduced += u64::from(event.flags != Flags::NONE || event.value.is_some());
            let object = if event.object == NONE { 0 } else { u64::from(event.object) };
            let location = event.location.map_or(0, |location| u64::from(location.cell()));
            // Until the end, the highest bit says that the event has no location.
            let unplaced = u64::from(event.location.is_none());
            self.unplaced += unplaced;
            let thread = u64::from(event.thread.cell());
            let record = thread | code << 10 | object << 14 | location << 48 | unplaced << 63;
            self.buffer.extend_from_slice(&record.to_be_bytes());
            self.records += 1;
        }
        Ok(self.out.write_all(&self.buffer)?)
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        let threads = Numbering::new(&tables.threads, "T", THREADS, &mut notes)?;
        let locks = Numbering::new(&tables.locks, "L", i32::MAX as u32, &mut notes)?;
        let variables = Numbering::new(&tables.variables, "V", i32::MAX as u32, &mut notes)?;
        let locations = Numbering::new(&tables.locations, "", LOCATIONS, &mut notes)?;
        if self.unplaced > 0 {
            notes.push(format!("{} events without a location get location 0", self.unplaced));
        }
        if self.reduced > 0 {
            notes.push(format!("{} events lose the properties or values that they have", self.reduced));
        }
        let kinds: u64 = tables.kinds().iter().sum();
        if kinds > 0 {
            notes.push(format!("what kind of object {kinds} of the names stand for is lost"));
        }
        let mut head = Vec::with_capacity(HEADER);
        head.extend_from_slice(&(threads.bound as i16).to_be_bytes());
        head.extend_from_slice(&locks.bound.to_be_bytes());
        head.extend_from_slice(&variables.bound.to_be_bytes());
        head.extend_from_slice(&self.records.to_be_bytes());
        self.out.complete_with(&head, &mut |bytes| {
            let mut record = [0; 8];
            record.copy_from_slice(bytes);
            let record = u64::from_be_bytes(record);
            let (thread, code) = (record & u64::from(THREADS - 1), record >> 10 & 15);
            let object = record >> 14 & OBJECT_MASK;
            let object = match OPS[code as usize].map_or(ObjectKind::Nothing, Op::names) {
                ObjectKind::Thread => threads.number(object),
                ObjectKind::Lock => locks.number(object),
                ObjectKind::Variable => variables.number(object),
                ObjectKind::Condition | ObjectKind::Nothing => 0,
            };
            let location = if record >> 63 == 1 { 0 } else { locations.number(record >> 48) };
            let record = threads.number(thread) | code << 10 | object << 14 | location << 48;
            bytes.copy_from_slice(&record.to_be_bytes());
        })?;
        Ok(notes)
    }
}

fn fits(count: usize, limit: u32, what: &str) -> Result<(), Error> {
    if count <= limit as usize {
        return Ok(());
    }
    Err(Error::syntax(Position::Whole, format!("RapidBin holds at most {limit} {what}")))
}

/// The numbers that represent the names of a table.
struct Numbering {
    /// `None`: the ids themselves.
    numbers: Option<Vec<u32>>,
    bound: u32,
}

impl Numbering {
    fn new(names: &Names, prefix: &str, limit: u32, notes: &mut Vec<String>) -> Result<Self, Error> {
        let what = match prefix {
            "T" => "threads",
            "L" => "locks",
            "V" => "variables",
            _ => "locations",
        };
        fits(names.len(), limit, what)?;
        let number = |name: &str| {
            let digits = name.strip_prefix(prefix)?;
            let number: u32 = digits.parse().ok()?;
            (number < limit && (digits == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c))))
                .then_some(number)
        };
        let numbers: Option<Vec<u32>> = names.iter().map(number).collect();
        let bound = match &numbers {
            Some(numbers) => numbers.iter().max().map_or(0, |max| max + 1),
            None => names.len() as u32,
        };
        if numbers.is_none() {
            notes.push(format!("the names of {} {what} are lost: the format has only numbers", names.len()));
        }
        Ok(Numbering { numbers, bound })
    }

    #[inline]
    fn number(&self, id: u64) -> u64 {
        match &self.numbers {
            Some(numbers) => numbers[id as usize].into(),
            None => id,
        }
    }
}
