//! The tables in which hooks find arrays, objects of the library and classes of values, and how they come to be there.

use super::{ENTRIES, REFERENCE};
use crate::class::assembler::{Assembler, Label};
use crate::class::instructions::op;
use crate::class::pool::Pool;
use crate::rewrite::HOOKS;
use crate::shadow::FIELDS;

/// `Field[] visible(Field[] all)`: the fields of a class without the one that was added to it.
pub(super) fn visible(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    const FIELD: &str = "java/lang/reflect/Field";
    let mut code = Assembler::new(pool);
    let (next, done, hidden) = (code.label(), code.label(), code.label());
    // The fields that are kept, how many, and how far it has come.
    code.load('L', 0);
    code.ops(&[op::ARRAYLENGTH]);
    code.class(op::ANEWARRAY, FIELD);
    code.store('L', 1);
    for counter in [2, 3] {
        code.ops(&[op::ICONST_0]);
        code.store('I', counter);
    }
    code.place(next);
    code.load('I', 3);
    code.load('L', 0);
    code.ops(&[op::ARRAYLENGTH]);
    code.jump(op::IF_ICMPGE, done);
    code.load('L', 0);
    code.load('I', 3);
    code.ops(&[op::AALOAD]);
    code.member(op::INVOKEVIRTUAL, FIELD, "getName", "()Ljava/lang/String;");
    code.text(crate::fast_path::FIELD);
    code.member(op::INVOKEVIRTUAL, "java/lang/String", "equals", "(Ljava/lang/Object;)Z");
    code.jump(op::IFNE, hidden);
    code.load('L', 1);
    code.load('I', 2);
    code.load('L', 0);
    code.load('I', 3);
    code.ops(&[op::AALOAD, op::AASTORE]);
    increment(&mut code, 2);
    code.place(hidden);
    increment(&mut code, 3);
    code.jump(op::GOTO, next);
    code.place(done);
    code.load('L', 1);
    code.load('I', 2);
    code.member(op::INVOKESTATIC, "java/util/Arrays", "copyOf", "([Ljava/lang/Object;I)[Ljava/lang/Object;");
    code.class(op::CHECKCAST, "[Ljava/lang/reflect/Field;");
    code.returns('L');
    code.finish(4, 4)
}

fn increment(code: &mut Assembler<'_>, variable: u8) {
    code.load('I', variable);
    code.ops(&[op::ICONST_1, op::IADD]);
    code.store('I', variable);
}

/// An entry of a table: an object that it does not keep alive, a number, the length of an array.
pub(super) fn construct(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    code.load('L', 0);
    code.load('L', 1);
    code.member(op::INVOKESPECIAL, REFERENCE, "<init>", "(Ljava/lang/Object;)V");
    code.load('L', 0);
    code.load('J', 2);
    code.member(op::PUTFIELD, HOOKS, "base", "J");
    code.load('L', 0);
    code.load('I', 4);
    code.member(op::PUTFIELD, HOOKS, "length", "I");
    code.ops(&[op::RETURN]);
    code.finish(3, 5)
}

/// `long element(Object array, int index, int site)`: the address of an element; 0 where it is not known. The array is the one that the place used last, or
/// the one that the program has got just now.
pub(super) fn element(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let (no, other, known) = (code.label(), code.label(), code.label());
    code.load('L', 0);
    code.jump(op::IFNULL, no);
    code.entry("ARRAYS", |code| code.index_at(2), 3);
    code.load('L', 3);
    code.jump(op::IFNULL, other);
    code.referent(3);
    code.load('L', 0);
    code.jump(op::IF_ACMPEQ, known);
    code.place(other);
    code.entry("KNOWN", |code| code.member(op::GETSTATIC, HOOKS, "last", "I"), 3);
    code.load('L', 3);
    code.jump(op::IFNULL, no);
    code.referent(3);
    code.load('L', 0);
    code.jump(op::IF_ACMPNE, no);
    code.place(known);
    code.load('I', 1);
    code.jump(op::IFLT, no);
    code.load('I', 1);
    code.field(3, "length", "I");
    code.jump(op::IF_ICMPGE, no);
    code.field(3, "base", "J");
    code.load('I', 1);
    code.ops(&[op::I2L, op::ICONST_3, op::LSHL, op::LADD]);
    code.returns('J');
    code.place(no);
    code.ops(&[op::LCONST_0]);
    code.returns('J');
    code.finish(5, 4)
}

/// `long value(Object value, int site, long address)`: what a reference is as a value; -1 where that is not known.
pub(super) fn value(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let (null, known, no) = (code.label(), code.label(), code.label());
    code.load('L', 0);
    code.jump(op::IFNULL, null);
    code.entry("CLASSES", |code| code.index_at(1), 4);
    code.load('L', 4);
    code.jump(op::IFNULL, known);
    code.referent(4);
    class_of(&mut code);
    code.jump(op::IF_ACMPNE, known);
    code.get_in('J', |code| code.load('L', 0), |code| code.field(4, "base", "J"));
    code.ops(&[op::DUP2]);
    code.store('J', 5);
    code.ops(&[op::LCONST_0, op::LCMP]);
    code.jump(op::IFEQ, known);
    code.load('J', 5);
    code.returns('J');
    code.place(known);
    code.index_of(2);
    code.store('I', 7);
    code.entry("KNOWN", |code| code.load('I', 7), 4);
    code.load('L', 4);
    code.jump(op::IFNULL, no);
    code.referent(4);
    code.load('L', 0);
    code.jump(op::IF_ACMPNE, no);
    code.load('I', 7);
    code.member(op::PUTSTATIC, HOOKS, "last", "I");
    code.field(4, "base", "J");
    code.long(FIELDS);
    code.ops(&[op::LSUB]);
    code.returns('J');
    code.place(no);
    code.long(u64::MAX);
    code.returns('J');
    code.place(null);
    code.ops(&[op::LCONST_0]);
    code.returns('J');
    code.finish(6, 8)
}

/// The class of the object in the first local variable.
fn class_of(code: &mut Assembler<'_>) {
    code.load('L', 0);
    code.member(op::INVOKEVIRTUAL, "java/lang/Object", "getClass", "()Ljava/lang/Class;");
}

/// Leaves unless it is the turn of a new entry to take the place of one that is still in use: of every four.
fn take_turns(code: &mut Assembler<'_>, leave: Label) {
    code.member(op::GETSTATIC, HOOKS, "misses", "I");
    code.ops(&[op::ICONST_1, op::IADD, op::DUP]);
    code.member(op::PUTSTATIC, HOOKS, "misses", "I");
    code.ops(&[op::ICONST_3, op::IAND]);
    code.jump(op::IFNE, leave);
}

/// `void missed(Object array, int site)`: an array was not known at this place.
pub(super) fn missed(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    code.member(op::GETSTATIC, HOOKS, "ARRAYS", ENTRIES);
    code.index_at(1);
    code.load('L', 0);
    code.load('I', 1);
    code.own("enters", "([Ljava/lang/Mayhap;ILjava/lang/Object;I)V");
    code.ops(&[op::RETURN]);
    code.finish(4, 2)
}

/// `void enters(Mayhap[] table, int index, Object object, int site)`: an object is to be found there from here on.
pub(super) fn enters(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let (leave, free) = (code.label(), code.label());
    code.load('L', 2);
    code.jump(op::IFNULL, leave);
    code.load('L', 0);
    code.load('I', 1);
    code.ops(&[op::AALOAD]);
    code.store('L', 4);
    code.load('L', 4);
    code.jump(op::IFNULL, free);
    code.referent(4);
    code.ops(&[op::DUP]);
    code.store('L', 5);
    code.jump(op::IFNULL, free);
    code.load('L', 5);
    code.load('L', 2);
    code.jump(op::IF_ACMPEQ, leave);
    take_turns(&mut code, leave);
    code.place(free);
    code.load('L', 2);
    code.own("block", "(Ljava/lang/Object;)J");
    code.ops(&[op::DUP2]);
    code.store('J', 6);
    code.ops(&[op::LCONST_0, op::LCMP]);
    code.jump(op::IFEQ, leave);
    code.load('L', 0);
    code.load('I', 1);
    code.class(op::NEW, HOOKS);
    code.ops(&[op::DUP]);
    code.load('L', 2);
    code.plus(6, FIELDS);
    code.load('L', 2);
    code.load('I', 3);
    code.own("length", "(Ljava/lang/Object;I)I");
    code.member(op::INVOKESPECIAL, HOOKS, "<init>", "(Ljava/lang/Object;JI)V");
    code.ops(&[op::AASTORE]);
    code.place(leave);
    code.ops(&[op::RETURN]);
    code.finish(10, 8)
}

/// `void missedValue(Object value, int site, long address)`: it was not known what a reference is as a value.
pub(super) fn missed_value(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let (leave, ask, hidden, other) = (code.label(), code.label(), code.label(), code.label());
    code.load('L', 0);
    code.jump(op::IFNULL, leave);
    class_of(&mut code);
    code.member(op::INVOKEVIRTUAL, "java/lang/Class", "isArray", "()Z");
    code.jump(op::IFNE, other);
    code.entry("CLASSES", |code| code.index_at(1), 4);
    code.load('L', 4);
    code.jump(op::IFNULL, ask);
    code.referent(4);
    class_of(&mut code);
    code.jump(op::IF_ACMPEQ, ask);
    take_turns(&mut code, leave);
    code.place(ask);
    code.load('L', 0);
    code.load('I', 1);
    code.own("hidden", "(Ljava/lang/Object;I)I");
    code.ops(&[op::DUP]);
    code.store('I', 5);
    code.jump(op::IFNE, hidden);
    code.place(other);
    code.member(op::GETSTATIC, HOOKS, "KNOWN", ENTRIES);
    code.index_of(2);
    code.load('L', 0);
    code.load('I', 1);
    code.own("enters", "([Ljava/lang/Mayhap;ILjava/lang/Object;I)V");
    code.place(leave);
    code.ops(&[op::RETURN]);
    code.place(hidden);
    code.member(op::GETSTATIC, HOOKS, "CLASSES", ENTRIES);
    code.index_at(1);
    code.class(op::NEW, HOOKS);
    code.ops(&[op::DUP]);
    class_of(&mut code);
    code.load('I', 5);
    code.ops(&[op::I2L, op::ICONST_0]);
    code.member(op::INVOKESPECIAL, HOOKS, "<init>", "(Ljava/lang/Object;JI)V");
    code.ops(&[op::AASTORE, op::RETURN]);
    code.finish(10, 6)
}
