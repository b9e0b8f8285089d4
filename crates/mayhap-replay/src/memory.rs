//! What the runtime found wrong with the program's use of memory in a replay, and where the program was when a signal ended it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use mayhap_symbols::{Place, Symbols, function_name};
use mayhap_trace::attachments::steps::Steps;
use mayhap_wire::judgement::{Judgement, MAGIC, PATH_LENGTH, STACK, Stack, error, memory, usage};
use serde::{Deserialize, Serialize};

/// Memory in which the runtime describes the first error that it finds.
pub struct Judge {
    file: File,
}

/// What the threads of a run are called.
#[derive(Clone, Copy, Debug)]
pub enum Threads<'a> {
    /// As the threads of the schedule that the run follows.
    OfSchedule(&'a Steps),
    /// By their numbers in the run.
    OfRun(&'a BTreeMap<u32, String>),
}

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum MemoryErrorKind {
    /// Memory is read that no thread has written.
    Uninitialised,
    /// A pointer is used that is null.
    NullDereference,
    /// A block is freed by a function that does not go with the one that allocated it.
    MismatchedFree,
    /// Memory next to a block is used.
    HeapOverflow,
    /// A block is freed that was freed before.
    DoubleFree,
    /// Memory is used that was freed.
    UseAfterFree,
    /// A variable is used of a function that has returned.
    UseAfterReturn,
    /// A variable is used of a block that its function has left.
    UseAfterScope,
}

impl MemoryErrorKind {
    /// The name in titles and effects.
    pub fn name(self) -> &'static str {
        match self {
            MemoryErrorKind::Uninitialised => "uninitialised read",
            MemoryErrorKind::NullDereference => "null dereference",
            MemoryErrorKind::MismatchedFree => "mismatched free",
            MemoryErrorKind::HeapOverflow => "heap overflow",
            MemoryErrorKind::DoubleFree => "double free",
            MemoryErrorKind::UseAfterFree => "use after free",
            MemoryErrorKind::UseAfterReturn => "use after return",
            MemoryErrorKind::UseAfterScope => "use after scope",
        }
    }
}

/// A thread and the calls that it was in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Moment {
    /// The thread; empty if it is not known.
    pub thread: String,
    /// The calls, innermost first; empty if they are not known.
    pub stack: Vec<Frame>,
}

/// A call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The function; empty if it is not known.
    pub function: String,
    /// File and line.
    pub line: String,
    /// It is in code of the language's own.
    pub is_library: bool,
}

impl Moment {
    /// The innermost call in the program's own code.
    pub fn place(&self) -> Option<&Frame> {
        self.stack.iter().find(|frame| !frame.is_library).or(self.stack.first())
    }
}

/// An error in the program's use of memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MemoryError {
    /// What is wrong.
    pub kind: MemoryErrorKind,
    /// What happens, as the end of the sentence "it …": "reads 4 bytes at offset 8 of a block of 16 bytes".
    pub what: String,
    /// What has happened to the memory, or to what it is about: "freed", "closed".
    pub ended: String,
    /// The access or the second free.
    pub used: Moment,
    /// The first free, if there was one.
    pub freed: Option<Moment>,
    /// The allocation, if it is known.
    pub allocated: Option<Moment>,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind.name())?;
        let at = |moment: &Moment| match moment.place() {
            Some(frame) => {
                let line = frame.line.rsplit_once('/').map_or(&*frame.line, |(_, name)| name);
                match frame.function.as_str() {
                    "" => format!(" at {line}"),
                    function => format!(" at {} {line}", function_name(function)),
                }
            }
            None => String::new(),
        };
        let thread = if self.used.thread.is_empty() { "a thread" } else { &self.used.thread };
        write!(f, "{thread}{} {}", at(&self.used), self.what)?;
        for (moment, done) in [(&self.freed, &*self.ended), (&self.allocated, "allocated")] {
            // Whose stack it is, and that the function has returned, has been said.
            if let Some(moment) = moment.as_ref().filter(|_| !matches!(done, "ended" | "left")) {
                let by = if moment.thread.is_empty() { String::new() } else { format!(" by {}", moment.thread) };
                let said = self.what.ends_with(done);
                write!(f, "{}{by}{}", if said { String::new() } else { format!(", {done}") }, at(moment))?;
            }
        }
        Ok(())
    }
}

impl Judge {
    /// `fills`: new blocks are filled with a pattern.
    pub fn create(fills: bool) -> io::Result<Judge> {
        let file = File::from(rustix::fs::memfd_create("mayhap-judgement", rustix::fs::MemfdFlags::CLOEXEC)?);
        let mut bytes = vec![0; size_of::<Judgement>()];
        bytes[offset_of!(Judgement, magic)..][..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[offset_of!(Judgement, fills)] = u8::from(fills);
        file.write_all_at(&bytes, 0)?;
        Ok(Judge { file })
    }

    /// How the program finds it; always of the same length, since what the environment takes decides where the stack begins.
    pub fn path(&self) -> String {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        format!("{path:/>PATH_LENGTH$}")
    }

    fn word(&self, at: usize) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, at as u64)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn long(&self, at: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at as u64)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Whether an error was found.
    pub fn has_found(&self) -> io::Result<bool> {
        Ok(self.word(offset_of!(Judgement, error))? != error::NONE)
    }

    /// Where the program was when this signal ended it, if the runtime saw that.
    pub fn crash(&self, signal: i32, symbols: &Symbols, threads: Threads<'_>) -> io::Result<Option<Moment>> {
        let seen = self.word(offset_of!(Judgement, signal))?;
        let moment = self.moment(offset_of!(Judgement, crashed), symbols, threads)?;
        Ok(moment.filter(|moment| seen == signal as u32 && moment.place().is_some_and(|frame| !frame.is_library)))
    }

    /// The error that was found, if one was.
    pub fn found(&self, symbols: &Symbols, threads: Threads<'_>) -> io::Result<Option<MemoryError>> {
        let kind = match self.word(offset_of!(Judgement, error))? {
            error::USE_AFTER_FREE => MemoryErrorKind::UseAfterFree,
            error::DOUBLE_FREE => MemoryErrorKind::DoubleFree,
            error::OVERFLOW => MemoryErrorKind::HeapOverflow,
            error::NULL => MemoryErrorKind::NullDereference,
            error::MISMATCH => MemoryErrorKind::MismatchedFree,
            error::UNINITIALISED => MemoryErrorKind::Uninitialised,
            error::USE_AFTER_RETURN => MemoryErrorKind::UseAfterReturn,
            error::USE_AFTER_SCOPE => MemoryErrorKind::UseAfterScope,
            _ => return Ok(None),
        };
        let moment = |at: usize| self.moment(at, symbols, threads);
        let freed = moment(offset_of!(Judgement, freed))?;
        Ok(Some(MemoryError {
            kind,
            what: self.what(kind, freed.as_ref())?,
            ended: self.ended(kind)?.to_string(),
            used: moment(offset_of!(Judgement, used))?.unwrap_or_default(),
            freed,
            allocated: moment(offset_of!(Judgement, allocated))?,
        }))
    }

    /// What had happened to the memory, or to what lay there.
    fn ended(&self, kind: MemoryErrorKind) -> io::Result<&'static str> {
        let is_object = self.long(offset_of!(Judgement, size))? == 0;
        Ok(match (self.word(offset_of!(Judgement, usage))?, self.word(offset_of!(Judgement, memory))?) {
            (usage::DESCRIPTOR | usage::CLOSE, _) => "closed",
            (usage::CODE, _) | (_, memory::LIBRARY) => "unloaded",
            _ if kind == MemoryErrorKind::UseAfterReturn => "left",
            _ if kind == MemoryErrorKind::UseAfterScope => "block was left",
            (_, memory::STACK) => "ended",
            (_, memory::MAPPING) => "unmapped",
            (_, memory::RENEWED) => "initialised again",
            (usage::LOCK | usage::CONDITION | usage::SEMAPHORE | usage::BARRIER, _) if is_object => "destroyed",
            _ => "freed",
        })
    }

    fn what(&self, kind: MemoryErrorKind, freed: Option<&Moment>) -> io::Result<String> {
        let [address, bytes, block, size] = [
            offset_of!(Judgement, address),
            offset_of!(Judgement, bytes),
            offset_of!(Judgement, block),
            offset_of!(Judgement, size),
        ]
        .map(|at| self.long(at));
        let (address, bytes, block, size) = (address?, bytes?, block?, size?);
        let verb = match self.word(offset_of!(Judgement, usage))? {
            usage::READ => "reads",
            usage::WRITE => "writes",
            usage::FREE => "frees",
            usage::LOCK => "uses a lock",
            usage::CONDITION => "uses a condition",
            usage::SEMAPHORE => "uses a semaphore",
            usage::BARRIER => "uses a barrier",
            usage::DESCRIPTOR => return Ok(format!("uses descriptor {address}, which was closed")),
            usage::CODE => return Ok("runs code of a library that was unloaded".to_owned()),
            usage::CLOSE => return Ok(format!("closes descriptor {address} again")),
            _ => "uses memory",
        };
        let counted = |n: u64| format!("{n} byte{}", if n == 1 { "" } else { "s" });
        let plain = matches!(verb, "reads" | "writes");
        let some = if plain && bytes > 0 { format!(" {}", counted(bytes)) } else { String::new() };
        Ok(match kind {
            MemoryErrorKind::NullDereference => format!("uses a null pointer (address {address:#x})"),
            MemoryErrorKind::DoubleFree => format!("frees a block of {} again", counted(size)),
            MemoryErrorKind::MismatchedFree => format!("frees a block of {} by the wrong function", counted(size)),
            MemoryErrorKind::UseAfterReturn if plain => {
                format!("{verb}{some} of a variable whose function has returned")
            }
            MemoryErrorKind::UseAfterScope if plain => format!("{verb}{some} of a variable whose block was left"),
            MemoryErrorKind::UseAfterScope => format!("{verb} in a variable whose block was left"),
            MemoryErrorKind::UseAfterReturn => format!("{verb} in a variable whose function has returned"),
            _ if block == 0 => format!("{verb}{some}"),
            MemoryErrorKind::Uninitialised => format!(
                "{verb}{some} at offset {} of a block of {} that no thread has written",
                address.saturating_sub(block),
                counted(size)
            ),
            MemoryErrorKind::HeapOverflow if address < block => {
                format!("{verb}{some}, {} before a block of {}", counted(block - address), counted(size))
            }
            MemoryErrorKind::HeapOverflow => {
                let behind = address.saturating_sub(block + size);
                format!("{verb}{some}, {} after a block of {}", counted(behind), counted(size))
            }
            MemoryErrorKind::UseAfterFree if size == 0 => match self.word(offset_of!(Judgement, memory))? {
                memory::RENEWED => "releases a lock that it took before it was initialised again".to_owned(),
                _ => format!("{verb} that was destroyed"),
            },
            MemoryErrorKind::UseAfterFree => {
                let offset = address.saturating_sub(block);
                match self.word(offset_of!(Judgement, memory))? {
                    memory::STACK => {
                        let whose = freed.map(|freed| freed.thread.as_str()).filter(|thread| !thread.is_empty());
                        format!("{verb}{some} on the stack of {}, which has ended", whose.unwrap_or("a thread"))
                    }
                    memory::MAPPING => format!("{verb}{some} at offset {offset} of a mapping of {}", counted(size)),
                    memory::LIBRARY => format!("{verb}{some} of a library that was unloaded"),
                    _ => format!("{verb}{some} at offset {offset} of a block of {}", counted(size)),
                }
            }
        })
    }

    fn moment(&self, at: usize, symbols: &Symbols, threads: Threads<'_>) -> io::Result<Option<Moment>> {
        let depth = self.word(at + offset_of!(Stack, depth))?.min(STACK as u32) as usize;
        if depth == 0 {
            return Ok(None);
        }
        let name = match threads {
            Threads::OfSchedule(steps) => {
                let lane = self.word(at + offset_of!(Stack, lane))?.checked_sub(1);
                lane.filter(|lane| (*lane as usize) < steps.lanes.len()).map(|lane| steps.lane_name(lane))
            }
            Threads::OfRun(names) => {
                let number = self.word(at + offset_of!(Stack, thread))?.checked_sub(1);
                number.and_then(|number| names.get(&number).cloned())
            }
        };
        let mut stack = Vec::new();
        for frame in 0..depth {
            let pc = self.long(at + offset_of!(Stack, frames) + 8 * frame)?;
            let known = symbols.frames(pc).into_iter().filter(is_known);
            stack.extend(known.map(|place| Frame {
                is_library: place.is_installed(),
                function: place.function,
                line: place.line,
            }));
        }
        Ok(Some(Moment { thread: name.unwrap_or_default(), stack }))
    }
}

/// Whether the place is one of the program: not of a library without lines, and not of the runtime.
fn is_known(place: &Place) -> bool {
    !place.line.contains("+0x") && !place.line.starts_with("0x") && !place.line.contains("mayhap-rt/src/")
}
