//! The part of a hook that records.

use mayhap_wire::fast_path;
use mayhap_wire::ring::unit;

use super::What;
use crate::class::assembler::{Assembler, Label};
use crate::class::instructions::op;
use crate::class::pool::Pool;
use crate::fast_path::{BUSY, HIGH, POINTER, Words};

/// Local variables of [`access`].
mod local {
    pub(super) const ADDRESS: u8 = 0;
    pub(super) const VALUE: u8 = 2;
    /// Where what is known of the place lies.
    pub(super) const SITE: u8 = 4;
    pub(super) const NUMBER: u8 = 6;
    pub(super) const BUSY: u8 = 7;
    pub(super) const POINTER: u8 = 9;
    pub(super) const HEAD: u8 = 11;
    pub(super) const LAST: u8 = 13;
    pub(super) const DIFFERENCE: u8 = 15;
    pub(super) const CELL: u8 = 17;
    pub(super) const MARK: u8 = 19;
    pub(super) const UNIT: u8 = 20;
    pub(super) const COUNT: u16 = 21;
}

/// `boolean reads(long address, long value, long site)`, and the same for writes: whether the access was recorded. What is read must be what is known.
pub(super) fn access(pool: &mut Pool<'static>, words: &Words, what: What) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let (no, out) = (code.label(), code.label());
    code.get('I', |code| code.load('J', local::SITE));
    code.store('I', local::NUMBER);
    // In this order: a thread that finds its own number also finds the words that were written before it.
    code.get('J', |code| code.long(words.open + BUSY));
    code.store('J', local::BUSY);
    code.get('J', |code| code.long(words.open + POINTER));
    code.store('J', local::POINTER);
    code.fence("loadFence");
    code.get('J', |code| code.long(words.open));
    code.thread(words);
    code.ops(&[op::LCMP]);
    code.jump(op::IFNE, no);
    // This also says that the thread is not outside: the word after it.
    code.put('J', |code| code.load('J', local::BUSY), |code| code.ops(&[op::LCONST_1]));
    code.fence("loadFence");
    code.get('J', |code| code.long(words.fast_path + fast_path::OWNER as u64));
    code.load('J', local::POINTER);
    code.ops(&[op::LCMP]);
    code.jump(op::IFNE, out);
    code.get('J', |code| code.long(words.head));
    code.ops(&[op::DUP2]);
    code.store('J', local::HEAD);
    code.get('J', |code| code.long(words.fast_path + fast_path::ROOM as u64));
    code.ops(&[op::LSUB, op::LCONST_0, op::LCMP]);
    code.jump(op::IFGE, out);
    if what == What::Reads {
        code.get('J', |code| code.load('J', local::ADDRESS));
        code.load('J', local::VALUE);
        code.ops(&[op::LCMP]);
        code.jump(op::IFNE, out);
    }
    write_unit(&mut code, words, out);
    code.fence("storeFence");
    code.put('J', |code| code.long(words.head), |code| code.load('J', local::HEAD));
    code.put('J', |code| code.load('J', local::LAST), |code| code.load('J', local::ADDRESS));
    code.put('J', |code| code.plus(local::BUSY, words.branch), |code| code.ops(&[op::LCONST_0]));
    if what == What::Writes {
        code.put('J', |code| code.load('J', local::ADDRESS), |code| code.load('J', local::VALUE));
    }
    code.fence("storeFence");
    code.put('I', |code| code.load('J', local::BUSY), |code| code.ops(&[op::ICONST_0]));
    code.ops(&[op::ICONST_1, op::IRETURN]);
    code.place(out);
    code.put('I', |code| code.load('J', local::BUSY), |code| code.ops(&[op::ICONST_0]));
    code.place(no);
    code.ops(&[op::ICONST_0, op::IRETURN]);
    code.finish(12, local::COUNT)
}

/// Writes the units of an access, and where the head comes to.
fn write_unit(code: &mut Assembler<'_>, words: &Words, out: Label) {
    let (far, done, new, unmarked) = (code.label(), code.label(), code.label(), code.label());
    code.long(words.last);
    code.load('I', local::NUMBER);
    code.int(unit::SITE_SHIFT as i32);
    code.ops(&[op::IUSHR, op::ICONST_3, op::ISHL, op::I2L, op::LADD]);
    code.store('J', local::LAST);
    code.load('J', local::ADDRESS);
    code.get('J', |code| code.load('J', local::LAST));
    code.ops(&[op::LSUB]);
    code.long(unit::HALF);
    code.ops(&[op::LADD]);
    code.store('J', local::DIFFERENCE);
    code.get('J', |code| code.long(words.fast_path + fast_path::BASE as u64));
    code.load('J', local::HEAD);
    code.ops(&[op::ICONST_2, op::LSHL, op::LADD]);
    code.store('J', local::CELL);
    // The thread may have been led here by what it read.
    code.ops(&[op::ICONST_0]);
    code.store('I', local::MARK);
    code.get('J', |code| code.plus(local::BUSY, words.branch));
    code.ops(&[op::LCONST_0, op::LCMP]);
    code.jump(op::IFEQ, unmarked);
    code.int(unit::BRANCHED as i32);
    code.store('I', local::MARK);
    code.place(unmarked);
    code.load('J', local::DIFFERENCE);
    code.long(!(2 * unit::HALF - 1));
    code.ops(&[op::LAND, op::LCONST_0, op::LCMP]);
    code.jump(op::IFNE, far);
    code.load('I', local::NUMBER);
    code.load('I', local::MARK);
    code.ops(&[op::IOR]);
    code.load('J', local::DIFFERENCE);
    code.ops(&[op::L2I, op::IOR]);
    code.store('I', local::UNIT);
    // The same address again, by the same unit as before: that is looked at more closely.
    code.load('I', local::UNIT);
    code.get('I', |code| code.plus(local::CELL, 4u64.wrapping_neg()));
    code.jump(op::IF_ICMPNE, new);
    code.load('J', local::DIFFERENCE);
    code.long(unit::HALF);
    code.ops(&[op::LCMP]);
    code.jump(op::IFEQ, out);
    code.place(new);
    code.put('I', |code| code.load('J', local::CELL), |code| code.load('I', local::UNIT));
    code.plus(local::HEAD, 1);
    code.store('J', local::HEAD);
    code.jump(op::GOTO, done);
    code.place(far);
    code.get('I', |code| code.plus(local::SITE, HIGH));
    code.load('I', local::MARK);
    code.int(31 - unit::BRANCHED.trailing_zeros() as i32);
    code.ops(&[op::ISHL, op::IOR]);
    code.load('J', local::ADDRESS);
    code.int(32);
    code.ops(&[op::LUSHR, op::L2I]);
    code.int(0x7fff);
    code.ops(&[op::IAND, op::IOR]);
    code.store('I', local::UNIT);
    code.put('I', |code| code.load('J', local::CELL), |code| code.int(unit::ACCESS as i32));
    let low = |code: &mut Assembler<'_>| {
        code.load('J', local::ADDRESS);
        code.ops(&[op::L2I]);
    };
    code.put('I', |code| code.plus(local::CELL, 4), low);
    code.put('I', |code| code.plus(local::CELL, 8), |code| code.load('I', local::UNIT));
    code.plus(local::HEAD, 3);
    code.store('J', local::HEAD);
    code.put('I', |code| code.long(words.word_high), |code| code.load('I', local::UNIT));
    code.put('J', |code| code.long(words.word_end), |code| code.load('J', local::HEAD));
    code.place(done);
}
