//! The code of a method, and what is inserted into it. Insertions are straight lines, so frames and tables move and stay otherwise as they are.

use super::instructions::{length, moved, moved_length};
use super::pool::Pool;
use super::{Bytes, frames, put2, put4};

/// A method's code as the file has it.
pub(crate) struct Code<'a> {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytes: &'a [u8],
    /// Start, end, handler and the class that is caught.
    pub(crate) handlers: Vec<[u16; 4]>,
    attributes: Vec<(String, u16, &'a [u8])>,
}

/// What becomes of one instruction.
#[derive(Clone, Default)]
pub(crate) struct Edit {
    pub(crate) before: Vec<u8>,
    pub(crate) instead: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
}

/// Code after the end that runs if the method ends by an exception: instructions, and the locals of its frame as class numbers.
pub(crate) struct Finally {
    pub(crate) code: Vec<u8>,
    pub(crate) locals: Vec<u16>,
    pub(crate) thrown: u16,
}

impl<'a> Code<'a> {
    pub(crate) fn read(contents: &'a [u8], pool: &Pool<'_>) -> Option<Code<'a>> {
        let mut bytes = Bytes::new(contents);
        let (max_stack, max_locals) = (bytes.u2()?, bytes.u2()?);
        let count = bytes.u4()? as usize;
        let code = bytes.take(count)?;
        let mut handlers = Vec::new();
        for _ in 0..bytes.u2()? {
            handlers.push([bytes.u2()?, bytes.u2()?, bytes.u2()?, bytes.u2()?]);
        }
        let mut attributes = Vec::new();
        for _ in 0..bytes.u2()? {
            let name = bytes.u2()?;
            let length = bytes.u4()? as usize;
            attributes.push((pool.text(name)?, name, bytes.take(length)?));
        }
        Some(Code { max_stack, max_locals, bytes: code, handlers, attributes })
    }

    /// Where the instructions begin.
    pub(crate) fn starts(&self) -> Option<Vec<usize>> {
        let (mut at, mut starts) = (0, Vec::new());
        while at < self.bytes.len() {
            starts.push(at);
            at += length(self.bytes, at)?;
        }
        Some(starts)
    }

    /// The source lines, by where their code begins.
    pub(crate) fn lines(&self) -> Vec<(u16, u16)> {
        let mut lines = Vec::new();
        for (_, _, contents) in self.attributes.iter().filter(|(name, _, _)| name == "LineNumberTable") {
            let mut bytes = Bytes::new(contents);
            for _ in 0..bytes.u2().unwrap_or(0) {
                if let (Some(start), Some(line)) = (bytes.u2(), bytes.u2()) {
                    lines.push((start, line));
                }
            }
        }
        lines.sort_unstable();
        lines
    }

    /// The contents of the attribute with the edits; `None` where the code becomes too long.
    pub(crate) fn with(
        &self,
        edits: &[(usize, Edit)],
        entry: &[u8],
        locals: u16,
        end: Option<&Finally>,
        has_frames: bool,
        pool: &mut Pool<'_>,
    ) -> Option<Vec<u8>> {
        let places = self.places(edits, entry.len())?;
        let label = |at: usize| places[at].0;
        let at_self = |at: usize| places[at].1;
        let mut code = entry.to_vec();
        for (at, edit) in edits {
            code.extend(&edit.before);
            match &edit.instead {
                Some(instead) => code.extend(instead),
                None => moved(self.bytes, *at, code.len(), &label, &mut code)?,
            }
            code.extend(&edit.after);
        }
        let finally = code.len();
        code.extend(end.iter().flat_map(|end| &end.code));
        if code.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut out = Vec::new();
        put2(&mut out, self.max_stack.checked_add(8)?);
        put2(&mut out, locals);
        put4(&mut out, code.len() as u32);
        out.extend(&code);
        put2(&mut out, u16::try_from(self.handlers.len() + usize::from(end.is_some())).ok()?);
        for [start, stop, handler, caught] in &self.handlers {
            for at in [start, stop, handler] {
                put2(&mut out, label(usize::from(*at)) as u16);
            }
            put2(&mut out, *caught);
        }
        if end.is_some() {
            // All of the code but what comes at its entry.
            for value in [entry.len(), finally, finally, 0] {
                put2(&mut out, value as u16);
            }
        }
        self.put_attributes(&label, &at_self, end.map(|end| (finally, end)).filter(|_| has_frames), pool, &mut out)?;
        Some(out)
    }

    /// By place before: where what is inserted there begins, and where the instruction has gone.
    fn places(&self, edits: &[(usize, Edit)], entry: usize) -> Option<Vec<(usize, usize)>> {
        let mut places = vec![(0, 0); self.bytes.len() + 1];
        let mut now = entry;
        for (at, edit) in edits {
            let own = now + edit.before.len();
            *places.get_mut(*at)? = (now, own);
            let length = match &edit.instead {
                Some(instead) => instead.len(),
                None => moved_length(self.bytes, *at, own)?,
            };
            now = own + length + edit.after.len();
        }
        *places.last_mut()? = (now, now);
        Some(places)
    }

    fn put_attributes(
        &self,
        label: &dyn Fn(usize) -> usize,
        at_self: &dyn Fn(usize) -> usize,
        end: Option<(usize, &Finally)>,
        pool: &mut Pool<'_>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mut all: Vec<(u16, Vec<u8>)> = Vec::new();
        let frame = end.map(|(at, end)| (at, frame_of(end)));
        let extra = frame.as_ref().map(|(at, contents)| (*at, contents.as_slice()));
        let mut has_frames = false;
        for (name, index, contents) in &self.attributes {
            let mut bytes = Bytes::new(contents);
            let moved = match name.as_str() {
                "StackMapTable" => {
                    has_frames = true;
                    frames::copy(&mut bytes, label, at_self, extra)?
                }
                "LineNumberTable" => move_lines(&mut bytes, label)?,
                "LocalVariableTable" | "LocalVariableTypeTable" => move_variables(&mut bytes, label)?,
                // Annotations of types say where they are; nothing needs them while the program runs.
                _ => continue,
            };
            all.push((*index, moved));
        }
        if let (Some(_), false) = (extra, has_frames) {
            all.push((pool.named("StackMapTable")?, frames::copy(&mut Bytes::new(&[]), label, at_self, extra)?));
        }
        put2(out, all.len() as u16);
        for (index, contents) in all {
            put2(out, index);
            put4(out, contents.len() as u32);
            out.extend(contents);
        }
        Some(())
    }
}

/// The frame where an exception is caught.
fn frame_of(end: &Finally) -> Vec<u8> {
    let mut contents = Vec::new();
    for types in [&end.locals[..], &[end.thrown]] {
        put2(&mut contents, types.len() as u16);
        for class in types {
            contents.push(7);
            put2(&mut contents, *class);
        }
    }
    contents
}

fn move_lines(bytes: &mut Bytes<'_>, label: &dyn Fn(usize) -> usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let count = bytes.u2()?;
    put2(&mut out, count);
    for _ in 0..count {
        put2(&mut out, label(bytes.u2()?.into()) as u16);
        put2(&mut out, bytes.u2()?);
    }
    Some(out)
}

fn move_variables(bytes: &mut Bytes<'_>, label: &dyn Fn(usize) -> usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let count = bytes.u2()?;
    put2(&mut out, count);
    for _ in 0..count {
        let (start, length) = (usize::from(bytes.u2()?), usize::from(bytes.u2()?));
        let (from, to) = (label(start), label(start + length));
        put2(&mut out, from as u16);
        put2(&mut out, (to - from) as u16);
        out.extend(bytes.take(6)?);
    }
    Some(out)
}
