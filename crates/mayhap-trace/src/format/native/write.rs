//! Writes native files, front to back.
//!
//! Which bytes come out depends on the events and the tables only, not on how they were cut into chunks: blocks are full
//! but for the last, and a name is written before the block that first uses an id as great as its own.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use mayhap_wire::events::{Events, ThreadState};
use mayhap_wire::properties::{self, VariableState};
use mayhap_wire::{BlockHeader, Codec, FileHeader, Footer, Kind, checksum, events, limits};
use zstd::bulk::Compressor;

use super::names::Written;
use super::totals::{fact_sets, put_facts, put_trailer};
use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::format::{Sink, TraceWriter};
use crate::id::NONE;
use crate::names::Tables;
use crate::op::ObjectKind;
use crate::summary::SummaryBuilder;

/// The effort that zstd spends: more gains a tenth of the size and costs thrice the time.
const LEVEL: i32 = 3;

/// Contents shorter than this stay as they are.
const WORTH_COMPRESSING: usize = 48;

/// Events of a file's first block. Each further one may have twice as many, up to the limit: what a small disk has room for is not lost with a
/// large block, and long traces have few small ones.
const FIRST_BLOCK: usize = 1 << 10;

/// Writes a native file piece by piece.
pub struct NativeWriter<W: Sink> {
    frames: Frames<W>,
    /// Events that do not fill a block yet.
    pending: Columns,
    /// Events that fill the next block.
    room: usize,
    codes: Vec<u8>,
    states: Vec<ThreadState>,
    variables: Vec<VariableState>,
    written: Written,
    summary: SummaryBuilder,
}

impl<W: Sink> NativeWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> Result<Self, Error> {
        Ok(NativeWriter {
            frames: Frames::new(out)?,
            pending: Columns::default(),
            room: FIRST_BLOCK,
            codes: Vec::new(),
            states: Vec::new(),
            variables: Vec::new(),
            written: Written::default(),
            summary: SummaryBuilder::default(),
        })
    }

    /// Writes the pending events as one block, and before them the names that they need.
    fn flush(&mut self, tables: &Tables) -> Result<(), Error> {
        self.write_needed_names(tables)?;
        self.states.resize(self.written.named[0], ThreadState::default());
        self.codes.clear();
        self.codes.extend(self.pending.ops.iter().map(|&op| op as u8));
        let Columns { threads, objects, locations, flags, values, .. } = &self.pending;
        let columns = Events { threads, ops: &self.codes, objects, locations };
        let (count, block) = (threads.len(), u64::from(self.frames.sequence) + 1);
        let contents = &mut self.frames.contents;
        contents.resize(limits::events_raw(count), 0);
        const ROOM: &str = "the buffer has room for any block";
        let mut length = events::encode(columns, &mut self.states, block, contents).expect(ROOM);
        let flags = if flags.iter().any(|&bits| bits != 0) { &flags[..] } else { &[] };
        let values = if values.iter().any(|&value| value != NONE) { &values[..] } else { &[] };
        if !values.is_empty() {
            self.variables.resize(self.written.named[2], VariableState::default());
        }
        let further = (flags, values);
        let out = &mut contents[length..];
        length += properties::encode(further, (&self.codes, objects), &mut self.variables, block, out).expect(ROOM);
        contents.truncate(length);
        self.frames.write(Kind::Events, count)?;
        self.pending.clear();
        Ok(())
    }

    /// Writes the names, values and kinds that the pending events need.
    fn write_needed_names(&mut self, tables: &Tables) -> Result<(), Error> {
        let mut needed = self.written.named;
        let mut values = self.written.values;
        let mut need = |table: usize, cell: u32| needed[table] = needed[table].max(cell as usize + 1);
        for event in self.pending.iter() {
            need(0, event.thread.cell());
            match event.op.names() {
                ObjectKind::Thread => need(0, event.object),
                ObjectKind::Lock => need(1, event.object),
                ObjectKind::Variable => need(2, event.object),
                ObjectKind::Condition => need(3, event.object),
                ObjectKind::Nothing => {}
            }
            if let Some(location) = event.location {
                need(4, location.cell());
            }
            if let Some(value) = event.value {
                values = values.max(value.index() + 1);
            }
        }
        let mut records = Records::new(&mut self.frames);
        self.written.advance(tables, needed, values, |record| records.put(record))?;
        records.finish()
    }

    fn write_totals(&mut self, tables: &Tables) -> Result<u64, Error> {
        self.frames.settle(0)?;
        let start = self.frames.offset;
        let summary = std::mem::take(&mut self.summary).finish(tables);
        for (table, fact, set, size) in fact_sets(&summary) {
            for first in (0..size).step_by(limits::FACTS) {
                let count = (size - first).min(limits::FACTS as u64) as usize;
                self.frames.contents.clear();
                put_facts(&mut self.frames.contents, table, fact, set, first, count);
                self.frames.write(Kind::Facts, count)?;
            }
        }
        self.frames.contents.clear();
        put_trailer(&mut self.frames.contents, &summary);
        self.frames.write(Kind::Trailer, 1)?;
        Ok(start)
    }
}

impl<W: Sink> TraceWriter for NativeWriter<W> {
    fn write(&mut self, chunk: &Columns, tables: &Tables) -> Result<(), Error> {
        self.summary.add(chunk);
        let mut from = 0;
        while from < chunk.len() {
            let to = chunk.len().min(from + self.room - self.pending.len());
            self.pending.append_range(chunk, from..to);
            from = to;
            if self.pending.len() == self.room {
                self.flush(tables)?;
                self.room = limits::BLOCK_EVENTS.min(self.room * 2);
            }
        }
        Ok(())
    }

    fn attach(&mut self, code: u8, bytes: &[u8]) -> Result<(), Error> {
        for piece in bytes.chunks(limits::BLOCK_RAW) {
            self.frames.contents.clear();
            self.frames.contents.extend_from_slice(piece);
            self.frames.write(Kind::Unknown(code), 1)?;
        }
        Ok(())
    }

    /// Always `true`: readers deliver the complete blocks of a truncated file.
    fn keep_part(&mut self) -> bool {
        self.frames.out.keep_part();
        true
    }

    fn finish(mut self: Box<Self>, tables: &Tables) -> Result<Vec<String>, Error> {
        if !self.pending.is_empty() {
            self.flush(tables)?;
        }
        let mut records = Records::new(&mut self.frames);
        self.written.finish(tables, |record| records.put(record))?;
        records.finish()?;
        let summary = self.write_totals(tables)?;
        self.frames.settle(0)?;
        self.frames.out.write_all(&Footer::to_bytes(summary))?;
        self.frames.out.complete()?;
        Ok(Vec::new())
    }
}

/// Puts records into blocks of names.
struct Records<'f, W> {
    frames: &'f mut Frames<W>,
    count: usize,
}

impl<'f, W: Sink> Records<'f, W> {
    fn new(frames: &'f mut Frames<W>) -> Self {
        frames.contents.clear();
        Records { frames, count: 0 }
    }

    fn put(&mut self, record: &[u8]) -> Result<(), Error> {
        if self.frames.contents.len() + record.len() > limits::BLOCK_RAW {
            self.frames.write(Kind::Names, self.count)?;
            self.frames.contents.clear();
            self.count = 0;
        }
        self.frames.contents.extend_from_slice(record);
        self.count += 1;
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        if self.count == 0 { Ok(()) } else { self.frames.write(Kind::Names, self.count) }
    }
}

/// Blocks that may be under way to the compressing thread and back.
const UNDER_WAY: usize = 4;

/// Writes blocks: sums and numbers them, and has another thread compress them meanwhile.
struct Frames<W> {
    out: W,
    offset: u64,
    sequence: u32,
    /// The contents of the block to be written next.
    contents: Vec<u8>,
    /// Blocks under way: kind and items.
    waiting: VecDeque<(Kind, usize)>,
    /// Blocks that were written.
    written: u32,
    compressor: Option<Compressing>,
}

/// The thread that compresses, and contents that can be used again.
struct Compressing {
    send: SyncSender<Vec<u8>>,
    receive: Receiver<std::io::Result<Compressed>>,
    spare: Vec<Vec<u8>>,
}

/// Contents, and what they became if that is shorter.
struct Compressed {
    raw: Vec<u8>,
    stored: Option<Vec<u8>>,
}

fn compress(compressor: &mut Compressor<'_>, raw: Vec<u8>) -> std::io::Result<Compressed> {
    if raw.len() < WORTH_COMPRESSING {
        return Ok(Compressed { raw, stored: None });
    }
    let stored = compressor.compress(&raw)?;
    let is_shorter = stored.len() < raw.len();
    Ok(Compressed { raw, stored: is_shorter.then_some(stored) })
}

impl Compressing {
    fn start() -> std::io::Result<Compressing> {
        let mut compressor = Compressor::new(LEVEL)?;
        let (send, contents) = sync_channel::<Vec<u8>>(UNDER_WAY);
        let (results, receive) = sync_channel(UNDER_WAY);
        std::thread::Builder::new().name("compress".into()).spawn(move || {
            for raw in contents {
                if results.send(compress(&mut compressor, raw)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Compressing { send, receive, spare: Vec::new() })
    }
}

impl<W: Sink> Frames<W> {
    fn new(mut out: W) -> Result<Self, Error> {
        out.write_all(&FileHeader::current())?;
        let offset = FileHeader::SIZE as u64;
        let (contents, waiting) = (Vec::new(), VecDeque::new());
        Ok(Frames { out, offset, sequence: 0, contents, waiting, written: 0, compressor: None })
    }

    /// Writes `contents` as a block of `items`, now or when it comes back from the thread; leaves `contents` empty.
    fn write(&mut self, kind: Kind, items: usize) -> Result<(), Error> {
        self.sequence =
            self.sequence.checked_add(1).ok_or_else(|| Error::syntax(Position::Whole, "too many blocks"))?;
        let compressing = match &mut self.compressor {
            Some(compressing) => compressing,
            none => none.insert(Compressing::start()?),
        };
        let next = compressing.spare.pop().unwrap_or_default();
        let contents = std::mem::replace(&mut self.contents, next);
        self.contents.clear();
        let sent = compressing.send.send(contents);
        sent.map_err(|_| std::io::Error::other("the thread that compresses has ended"))?;
        self.waiting.push_back((kind, items));
        self.settle(UNDER_WAY - 1)
    }

    /// Writes blocks that come back until at most `most` are under way.
    fn settle(&mut self, most: usize) -> Result<(), Error> {
        while self.waiting.len() > most
            && let Some(compressing) = &mut self.compressor
            && let Some((kind, items)) = self.waiting.pop_front()
        {
            let result = compressing.receive.recv();
            let Compressed { raw, stored } =
                result.map_err(|_| std::io::Error::other("the thread that compresses has ended"))??;
            let (codec, bytes) = match &stored {
                Some(stored) => (Codec::Zstd, stored),
                None => (Codec::Plain, &raw),
            };
            let header = BlockHeader {
                kind,
                codec,
                sequence: self.written,
                items: items as u32,
                stored: bytes.len() as u32,
                raw: raw.len() as u32,
                payload: checksum(bytes),
            };
            self.out.write_all(&header.to_bytes())?;
            self.out.write_all(bytes)?;
            self.offset += (BlockHeader::SIZE + bytes.len()) as u64;
            self.written += 1;
            compressing.spare.push(raw);
        }
        Ok(())
    }
}
