//! Writes the code of a method.

use super::instructions::op;
use super::pool::Pool;
use super::{put2, put4};

/// A place that instructions jump to.
#[derive(Clone, Copy)]
pub(crate) struct Label(usize);

/// A method being written.
pub(crate) struct Assembler<'p> {
    pub(crate) pool: &'p mut Pool<'static>,
    out: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Where jumps are, and where they lead.
    jumps: Vec<(usize, Label)>,
    /// A constant did not fit.
    failed: bool,
}

impl Assembler<'_> {
    pub(crate) fn new<'p>(pool: &'p mut Pool<'static>) -> Assembler<'p> {
        Assembler { pool, out: Vec::new(), labels: Vec::new(), jumps: Vec::new(), failed: false }
    }

    pub(crate) fn ops(&mut self, ops: &[u8]) {
        self.out.extend(ops);
    }

    fn with_constant(&mut self, opcode: u8, constant: Option<u16>) {
        self.failed |= constant.is_none();
        self.out.push(opcode);
        put2(&mut self.out, constant.unwrap_or(0));
    }

    pub(crate) fn int(&mut self, value: i32) {
        let constant = self.pool.add_integer(value as u32);
        self.with_constant(op::LDC_W, constant);
    }

    pub(crate) fn long(&mut self, value: u64) {
        let constant = self.pool.add_long(value);
        self.with_constant(op::LDC2_W, constant);
    }

    pub(crate) fn text(&mut self, text: &str) {
        let constant = self.pool.add_string(text);
        self.with_constant(op::LDC_W, constant);
    }

    /// Loads a local variable of a type, by the letter that descriptors have for it.
    pub(crate) fn load(&mut self, kind: char, index: u8) {
        self.out.extend([op::ILOAD + nth(kind), index]);
    }

    pub(crate) fn store(&mut self, kind: char, index: u8) {
        self.out.extend([op::ISTORE + nth(kind), index]);
    }

    pub(crate) fn returns(&mut self, kind: char) {
        self.out.push(if kind == 'V' { op::RETURN } else { op::IRETURN + nth(kind) });
    }

    /// Calls a method or accesses a field, by the instruction for it.
    pub(crate) fn member(&mut self, opcode: u8, class: &str, name: &str, descriptor: &str) {
        let constant = match opcode {
            op::GETSTATIC..=op::PUTFIELD => self.pool.add_field(class, name, descriptor),
            _ => self.pool.add_method(class, name, descriptor),
        };
        self.with_constant(opcode, constant);
    }

    /// An instruction that names a class.
    pub(crate) fn class(&mut self, opcode: u8, class: &str) {
        let constant = self.pool.add_class(class);
        self.with_constant(opcode, constant);
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.out.len());
    }

    pub(crate) fn jump(&mut self, opcode: u8, label: Label) {
        self.jumps.push((self.out.len(), label));
        self.out.extend([opcode, 0, 0]);
    }

    /// The contents of the method's code.
    pub(crate) fn finish(mut self, stack: u16, locals: u16) -> Option<Vec<u8>> {
        for (at, label) in self.jumps {
            let offset = i16::try_from(self.labels[label.0]? as i64 - at as i64).ok()?;
            self.out[at + 1..at + 3].copy_from_slice(&offset.to_be_bytes());
        }
        let mut contents = Vec::new();
        put2(&mut contents, stack);
        put2(&mut contents, locals);
        put4(&mut contents, u32::try_from(self.out.len()).ok()?);
        contents.extend(&self.out);
        // Neither handlers nor attributes.
        put4(&mut contents, 0);
        (!self.failed).then_some(contents)
    }
}

/// How far the instruction for a type is from that for `int`.
fn nth(kind: char) -> u8 {
    match kind {
        'J' => 1,
        'F' => 2,
        'D' => 3,
        'L' => 4,
        _ => 0,
    }
}
