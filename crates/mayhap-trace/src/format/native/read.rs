//! Reads native files, front to back, one block at a time.
//!
//! A file that ends early delivers its whole blocks and then says what is missing; a block whose checksum, length,
//! number or contents are wrong is an error that names it. Nothing is allocated before its length is checked.

use std::io::{Read, Seek, SeekFrom};

use mayhap_wire::events::{EventsMut, ThreadState};
use mayhap_wire::properties::{self, VariableState};
use mayhap_wire::{
    BlockHeader, Codec, FIRST_VERSION_OPS, FileHeader, Footer, FrameError, Kind, checksum, events, limits,
};
use zstd::bulk::Decompressor;

use super::names::Reading;
use super::tables_in_order;
use super::totals::Totals;
use crate::columns::Columns;
use crate::error::{Error, ErrorKind, Position};
use crate::flags::Flags;
use crate::format::fill::fill;
use crate::id::NONE;
use crate::names::Tables;
use crate::op::Op;
use crate::source::{Missing, Source};
use crate::summary::Summary;
use crate::tries::Tries;

/// Reads a native file piece by piece.
pub struct NativeReader<R> {
    frames: Frames<R>,
    tables: Tables,
    names: Reading,
    states: Vec<ThreadState>,
    properties: Properties,
    codes: Vec<u8>,
    delivered: u64,
    by_op: [u64; events::OPS],
    /// Where the first block of facts began, once one was read.
    facts_at: Option<u64>,
    /// Facts read on the way.
    totals: Totals,
    summary: Option<Summary>,
    missing: Option<Missing>,
    ended: bool,
    tries: Tries,
}

/// The operations by their code, filled up to a power of two.
const OPS: [Op; 32] = {
    let mut ops = [Op::Try; 32];
    let mut code = 0;
    while code < Op::ALL.len() {
        ops[code] = Op::ALL[code];
        code += 1;
    }
    ops
};

impl<R: Read> NativeReader<R> {
    /// A reader of `input`, which should be buffered. Reads the header.
    pub fn new(input: R) -> Result<Self, Error> {
        Ok(NativeReader {
            frames: Frames::new(input)?,
            tables: Tables::default(),
            names: Reading::default(),
            states: Vec::new(),
            properties: Properties::default(),
            codes: Vec::new(),
            delivered: 0,
            by_op: [0; events::OPS],
            facts_at: None,
            totals: Totals::default(),
            summary: None,
            missing: None,
            ended: false,
            tries: Tries::default(),
        })
    }

    /// The same for an input that can seek: reads the summary first, if the file has one.
    pub fn with_summary(mut input: R) -> Result<Self, Error>
    where
        R: Seek,
    {
        let summary = summary_at_end(&mut input);
        input.seek(SeekFrom::Start(0))?;
        let mut reader = NativeReader::new(input)?;
        reader.summary = summary;
        Ok(reader)
    }

    fn cut(&mut self, reason: String) -> bool {
        let promised = self.summary.as_ref().map(|summary| summary.events);
        self.missing = Some(Missing { delivered: self.delivered, promised, reason });
        self.ended = true;
        false
    }

    fn events(&mut self, header: &BlockHeader, chunk: &mut Columns) -> Result<(), String> {
        let count = header.items as usize;
        if self.frames.contents.len() > limits::events_raw(count) {
            return Err("bytes follow its contents".into());
        }
        if self.delivered + count as u64 > u64::from(NONE) {
            return Err(format!("the trace has more than {NONE} events"));
        }
        set_length(&mut chunk.threads, count);
        set_length(&mut chunk.objects, count);
        set_length(&mut chunk.locations, count);
        set_length(&mut self.codes, count);
        let sizes = tables_in_order(&self.tables).map(|names| names.len());
        self.states.resize(sizes[0], ThreadState::default());
        let Columns { threads, objects, locations, .. } = &mut *chunk;
        let out = EventsMut { threads, ops: &mut self.codes, objects, locations };
        let block = u64::from(header.sequence) + 1;
        let further =
            events::decode(&self.frames.contents, &sizes, &mut self.states, block, out).map_err(|e| e.to_string())?;
        if !further.is_empty() {
            self.properties.take(further, self.frames.version, &self.codes, &self.tables, block, chunk)?;
        }
        // What was decoded has no other codes.
        chunk.ops.extend(self.codes.iter().map(|&code| OPS[usize::from(code) % OPS.len()]));
        self.count_ops();
        if self.frames.version == 1 && self.by_op[FIRST_VERSION_OPS..].iter().any(|&count| count > 0) {
            return Err("it has an operation that its version does not know".into());
        }
        self.delivered += count as u64;
        Ok(())
    }

    /// Counts operations in several tables, since the same ones follow each other and would wait for their counter.
    fn count_ops(&mut self) {
        let mut counts = [[0u32; OPS.len()]; 4];
        for codes in self.codes.chunks(4) {
            codes.iter().zip(&mut counts).for_each(|(&code, counts)| counts[usize::from(code) % OPS.len()] += 1);
        }
        for counts in &counts {
            self.by_op.iter_mut().zip(counts).for_each(|(all, &count)| *all += u64::from(count));
        }
    }

    fn trailer(&mut self) -> Result<(), String> {
        let (summary, covered) = std::mem::take(&mut self.totals).trailer(&self.frames.contents)?;
        if summary.events != self.delivered {
            return Err(format!("it promises {} events, the blocks before it hold {}", summary.events, self.delivered));
        }
        if summary.by_op != self.by_op {
            return Err("it promises other operations than the blocks before it hold".into());
        }
        if summary.names != tables_in_order(&self.tables).map(|names| names.len() as u64) {
            return Err("it promises other names than the blocks before it hold".into());
        }
        if summary.values != self.tables.values.len() as u64 || summary.kinds != self.tables.kinds() {
            return Err("it promises other values or kinds than the blocks before it hold".into());
        }
        if (summary.with_flags, summary.with_values) != (self.properties.with_flags, self.properties.with_values) {
            return Err("it promises other properties than the blocks before it hold".into());
        }
        self.summary = covered.then_some(summary);
        Ok(())
    }

    /// Reads the footer and the end of the file.
    fn footer(&mut self, summary_at: u64) -> Result<(), Error> {
        let at = self.frames.offset;
        let mut bytes = [0; Footer::SIZE];
        let got = self.frames.read(&mut bytes)?;
        if got < Footer::SIZE {
            self.cut(format!("the file ends within its footer (byte {}); all blocks are there", at + got as u64));
            return Ok(());
        }
        let wrong = |message: String| Err(Error::syntax(Position::Byte(at), message));
        match Footer::read(&bytes) {
            Ok(footer) if footer.summary == summary_at => {}
            Ok(_) => return wrong("the footer points elsewhere than to the facts".into()),
            Err(error) => return wrong(format!("the footer is damaged: {error}")),
        }
        if self.frames.read(&mut [0])? > 0 {
            return Err(Error::syntax(Position::Byte(self.frames.offset - 1), "bytes follow the end of the trace"));
        }
        Ok(())
    }

    /// Reads one block; `true` if it brought events.
    fn block(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        let header = match self.frames.next()? {
            Next::Block(header) => header,
            Next::Cut(reason) => return Ok(self.cut(reason)),
        };
        let position = self.frames.position();
        let after_facts = self.facts_at.is_some();
        let result = match header.kind {
            Kind::Names | Kind::Events if after_facts => Err("it follows the facts".to_string()),
            Kind::Names => {
                let Frames { contents, version, .. } = &self.frames;
                self.names.block(contents, header.items, *version, &mut self.tables)
            }
            Kind::Events => self.events(&header, chunk),
            Kind::Facts => self.totals.facts(&self.frames.contents, header.items as usize).map_err(String::from),
            Kind::Trailer => self.trailer(),
            Kind::Unknown(_) => Ok(()),
        };
        result.map_err(|message| Error::syntax(position, message))?;
        if matches!(header.kind, Kind::Facts | Kind::Trailer) {
            let begin = *self.facts_at.get_or_insert(self.frames.block_at);
            if header.kind == Kind::Trailer {
                self.ended = true;
                self.footer(begin)?;
            }
        }
        Ok(!chunk.is_empty())
    }
}

/// Reads flags and values of events, and counts them.
#[derive(Default)]
struct Properties {
    states: Vec<VariableState>,
    with_flags: u64,
    with_values: u64,
}

impl Properties {
    fn take(
        &mut self,
        bytes: &[u8],
        version: u16,
        codes: &[u8],
        tables: &Tables,
        block: u64,
        chunk: &mut Columns,
    ) -> Result<(), String> {
        if version == 1 {
            return Err("bytes follow its contents".into());
        }
        let which = properties::which(bytes).map_err(|e| e.to_string())?;
        let count = codes.len();
        chunk.flags.resize(if which & properties::FLAGS != 0 { count } else { 0 }, 0);
        chunk.values.resize(if which & properties::VALUES != 0 { count } else { 0 }, NONE);
        self.states.resize(tables.variables.len(), VariableState::default());
        let Columns { objects, flags, values, .. } = chunk;
        let size = tables.values.len();
        properties::decode(bytes, (codes, objects), size, &mut self.states, block, (flags, values))
            .map_err(|e| e.to_string())?;
        if let Some(bad) = flags.iter().position(|&bits| Flags::from_bits(bits).is_none()) {
            return Err(format!("its event {} has a property that is not known", bad + 1));
        }
        self.with_flags += flags.iter().filter(|&&bits| bits != 0).count() as u64;
        self.with_values += values.iter().filter(|&&value| value != NONE).count() as u64;
        Ok(())
    }
}

impl<R: Read> Source for NativeReader<R> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        // The other columns are overwritten whole.
        chunk.ops.clear();
        chunk.flags.clear();
        chunk.values.clear();
        while !self.ended {
            if self.block(chunk)? {
                self.tries.settle(chunk);
                return Ok(true);
            }
        }
        chunk.clear();
        Ok(false)
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }

    fn missing(&self) -> Option<Missing> {
        self.missing.clone()
    }

    fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }
}

/// What comes next in a file.
enum Next {
    /// A whole block; its contents are in [`Frames::contents`].
    Block(BlockHeader),
    /// The end of the file, too early, and how.
    Cut(String),
}

/// Gives a column this length. The caller overwrites all of it, so new memory may come from the system, zeroed.
fn set_length<T: Copy + Default>(cells: &mut Vec<T>, length: usize) {
    if length > cells.capacity() {
        *cells = vec![T::default(); length];
    } else {
        cells.resize(length, T::default());
    }
}

/// Bytes that each block overwrites. What was used before is not filled with zeros again.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// Keeps the bytes up to `length`; those that are new have any value.
    fn set_length(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; length];
        } else if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        self.length = length;
        &mut self.bytes[..length]
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads blocks: counts, checks, decompresses them.
struct Frames<R> {
    input: R,
    /// Bytes read so far.
    offset: u64,
    sequence: u32,
    version: u16,
    /// Where the block read last begins.
    block_at: u64,
    stored: Buffer,
    contents: Buffer,
    decompressor: Decompressor<'static>,
    /// The kind of optional block that alone is unpacked; otherwise all others are.
    attachment: Option<Kind>,
}

impl<R: Read> Frames<R> {
    fn new(input: R) -> Result<Self, Error> {
        let mut frames = Frames::at(input, 0, 0)?;
        let mut bytes = [0; FileHeader::SIZE];
        let got = frames.read(&mut bytes)?;
        let message = match (got, FileHeader::read(&bytes)) {
            (0, _) => "the file is empty".to_string(),
            (FileHeader::SIZE, Ok(header)) => {
                frames.version = header.version;
                return Ok(frames);
            }
            (FileHeader::SIZE, Err(FrameError::Mark)) => "this is not a native trace file".to_string(),
            (FileHeader::SIZE, Err(error)) => format!("the file header is damaged or not known: {error}"),
            _ => "the file ends within its header".to_string(),
        };
        Err(Error::syntax(Position::Byte(0), message))
    }

    /// Frames of an input at position `offset`, before the block with this number.
    fn at(input: R, offset: u64, sequence: u32) -> Result<Self, Error> {
        let decompressor = Decompressor::new()?;
        let (stored, contents) = (Buffer::default(), Buffer::default());
        Ok(Frames {
            input,
            offset,
            sequence,
            version: mayhap_wire::VERSION,
            block_at: offset,
            stored,
            contents,
            decompressor,
            attachment: None,
        })
    }

    /// Fills `bytes` as far as the input goes; returns how far.
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        let filled = fill(&mut self.input, bytes, self.offset)?;
        self.offset += filled as u64;
        Ok(filled)
    }

    /// The position of the block read last.
    fn position(&self) -> Position {
        Position::Block(u64::from(self.sequence), self.block_at)
    }

    fn next(&mut self) -> Result<Next, Error> {
        self.block_at = self.offset;
        let number = self.sequence.saturating_add(1);
        let at = self.block_at;
        let mut bytes = [0; BlockHeader::SIZE];
        let got = self.read(&mut bytes)?;
        if got == 0 {
            return Ok(Next::Cut(format!("the file ends before block {number} (byte {at}); the trailer is missing")));
        }
        if got < BlockHeader::SIZE {
            return Ok(Next::Cut(format!("the file ends within the header of block {number} (byte {at})")));
        }
        let header = BlockHeader::read(&bytes).map_err(|e| {
            let message = format!("the block is damaged or not known: {e}");
            Error::syntax(Position::Block(u64::from(number), at), message)
        })?;
        let wrong_number = header.sequence != self.sequence;
        self.sequence = number;
        let fail = |frames: &Self, message: String| Err(Error::syntax(frames.position(), message));
        if wrong_number {
            return fail(
                self,
                format!("it says it is block {}: blocks were lost or moved", u64::from(header.sequence) + 1),
            );
        }
        let Some(got) = self.read_stored(header.stored as usize)? else {
            return Ok(Next::Cut(format!("the file ends within block {number} (byte {at})")));
        };
        debug_assert_eq!(got, header.stored as usize);
        if checksum(&self.stored) != header.payload {
            return fail(self, "the checksum of its contents does not match".into());
        }
        self.unpack(&header)?;
        Ok(Next::Block(header))
    }

    /// Reads the stored bytes of a block; `None` if the file ends within them. Grows the buffer as bytes arrive, so a
    /// header alone allocates little.
    fn read_stored(&mut self, length: usize) -> Result<Option<usize>, Error> {
        const STEP: usize = 1 << 20;
        let mut filled = 0;
        self.stored.set_length(0);
        while filled < length {
            let step = (length - filled).min(STEP);
            let mut stored = std::mem::take(&mut self.stored);
            let got = self.read(&mut stored.set_length(filled + step)[filled..]);
            self.stored = stored;
            filled += got?;
            if filled < self.stored.len() {
                return Ok(None);
            }
        }
        Ok(Some(filled))
    }

    fn unpack(&mut self, header: &BlockHeader) -> Result<(), Error> {
        let skipped = match self.attachment {
            Some(wanted) => header.kind != wanted,
            None => header.kind.is_optional(),
        };
        if skipped {
            return Ok(());
        }
        if header.codec == Codec::Plain {
            std::mem::swap(&mut self.stored, &mut self.contents);
            return Ok(());
        }
        let contents = self.contents.set_length(header.raw as usize);
        match self.decompressor.decompress_to_buffer(&self.stored[..], contents) {
            Ok(length) if length == header.raw as usize => Ok(()),
            Ok(_) => Err(Error::syntax(self.position(), "its contents are shorter than it promises")),
            Err(error) => {
                Err(Error::new(self.position(), ErrorKind::Syntax(format!("its contents do not unpack: {error}"))))
            }
        }
    }
}

/// The bytes that the optional blocks of this kind hold together, in their order; `None` if there are no such blocks. Each
/// block is checked against its sum, and only these are unpacked; a file that ends early yields what is there.
pub fn attachments(input: impl Read, code: u8) -> Result<Option<Vec<u8>>, Error> {
    let mut frames = Frames::new(input)?;
    frames.attachment = Some(Kind::Unknown(code));
    let mut found: Option<Vec<u8>> = None;
    loop {
        match frames.next()? {
            Next::Block(header) if header.kind == Kind::Unknown(code) => {
                found.get_or_insert_default().extend_from_slice(&frames.contents);
            }
            Next::Block(header) if header.kind == Kind::Trailer => return Ok(found),
            Next::Block(_) => {}
            Next::Cut(_) => return Ok(found),
        }
    }
}

/// The summary that a whole file ends in; `None` where there is none to be had. The pass over the blocks finds out why.
fn summary_at_end<R: Read + Seek>(input: &mut R) -> Option<Summary> {
    let end = input.seek(SeekFrom::End(-(Footer::SIZE as i64))).ok()?;
    let mut bytes = [0; Footer::SIZE];
    input.read_exact(&mut bytes).ok()?;
    let start = Footer::read(&bytes).ok()?.summary;
    if start < FileHeader::SIZE as u64 || start >= end {
        return None;
    }
    input.seek(SeekFrom::Start(start)).ok()?;
    let mut frames = Frames::at(input, start, 0).ok()?;
    let mut bytes = [0; BlockHeader::SIZE];
    frames.input.read_exact(&mut bytes).ok()?;
    frames.sequence = BlockHeader::read(&bytes).ok()?.sequence;
    frames.input.seek(SeekFrom::Start(start)).ok()?;
    let mut totals = Totals::default();
    loop {
        let Next::Block(header) = frames.next().ok()? else { return None };
        match header.kind {
            Kind::Facts => totals.facts(&frames.contents, header.items as usize).ok()?,
            Kind::Trailer => {
                let (summary, covered) = totals.trailer(&frames.contents).ok()?;
                return (covered && frames.offset == end).then_some(summary);
            }
            Kind::Unknown(_) => {}
            Kind::Names | Kind::Events => return None,
        }
    }
}
