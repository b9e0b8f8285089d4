//! The hooks of accesses as Java code, which the machine compiles into the code that calls them: they write to the ring themselves while the
//! [fast path](crate::fast_path) is open for their thread, and call a native method otherwise.
//!
//! A hook does what those in machine code do. It marks its thread busy, looks whether the fast path is still open, compares what the program is about to
//! read with what is known of it, writes one unit, moves the ring's head, and ends. Up to the store of the head nothing has happened that cannot happen
//! again. The first thing that it stores is the one whose call takes the most stack, so none of the others ends by an exception where the code is
//! interpreted. Fences keep the compiler from moving the program's own accesses from one side of a hook to the other; on this processor they are no
//! instructions.
//!
//! What an object's block is, the object itself has in a field that was added to its class. Arrays and objects of the library are found in tables of references
//! that keep nothing alive: by the address at which the program had the reference, and by the place that used the array last. Not by their hash: to ask for that
//! changes the hashes of other objects, and a replay, which does not ask, would go through the program's maps in another order.

mod access;
mod tables;

use crate::class::assembler::{Assembler, Label};
use crate::class::file::{Made, flag, of_methods};
use crate::class::instructions::op;
use crate::class::pool::Pool;
use crate::fast_path::{HIDDEN, OFFSET, SITE_SHIFT, Words};
use crate::rewrite::{HOOKS, VISIBLE};

const UNSAFE: &str = "jdk/internal/misc/Unsafe";
const REFERENCE: &str = "java/lang/ref/WeakReference";
const ENTRIES: &str = "[Ljava/lang/Mayhap;";
/// How many objects the table has room for, and how many classes of values; a power of two. Few of a program's arrays come to the same place.
const MOST: i32 = 1 << 16;

/// The marks of a hook that reads and of one that writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Reads,
    Writes,
}

/// Where a hook finds the address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Field,
    Static,
    Element,
}

/// A hook: how the name begins, what it does and the letters of the types that it comes in.
const KINDS: [(&str, Where, What, &str); 6] = [
    ("get", Where::Field, What::Reads, "IFLJD"),
    ("put", Where::Field, What::Writes, "IFLJD"),
    ("getStatic", Where::Static, What::Reads, "IFLJD"),
    ("putStatic", Where::Static, What::Writes, "IFLJD"),
    ("load", Where::Element, What::Reads, "IJFDLBCS"),
    ("store", Where::Element, What::Writes, "IJFDL"),
];

/// The class with the hooks: native methods, and those that are Java code.
pub(crate) fn class(natives: &[(&str, &str)], words: &Words) -> Option<Vec<u8>> {
    let mut pool = Pool::empty();
    let field = |flags, name, descriptor| Made { flags, name, descriptor, code: None };
    let is_static = flag::PRIVATE | flag::STATIC;
    let fields = [
        field(is_static | flag::FINAL, "U", "Ljdk/internal/misc/Unsafe;"),
        field(is_static | flag::FINAL, "KNOWN", ENTRIES),
        field(is_static | flag::FINAL, "CLASSES", ENTRIES),
        field(is_static | flag::FINAL, "ARRAYS", ENTRIES),
        field(is_static, "misses", "I"),
        field(is_static, "last", "I"),
        field(flag::PRIVATE | flag::FINAL, "base", "J"),
        field(flag::PRIVATE | flag::FINAL, "length", "I"),
    ];
    let mut hooks = Vec::new();
    for (begin, place, what, kinds) in KINDS {
        for kind in kinds.chars() {
            hooks.push(Hook::new(begin, place, what, kind));
        }
    }
    let mut methods = Vec::new();
    for (name, descriptor) in natives {
        methods.push(Made { flags: flag::PUBLIC | flag::STATIC | flag::NATIVE, name, descriptor, code: None });
    }
    for hook in &hooks {
        let code = Some(hook.code(&mut pool, words)?);
        methods.push(Made { flags: flag::PUBLIC | flag::STATIC, name: &hook.name, descriptor: &hook.descriptor, code });
    }
    let mut own = |flags, name, descriptor, code: Option<Vec<u8>>| -> Option<()> {
        methods.push(Made { flags, name, descriptor, code: Some(code?) });
        Some(())
    };
    own(flag::PUBLIC | flag::STATIC, "alloc", "(Ljava/lang/Object;I)V", allocated(&mut pool, words))?;
    own(flag::PUBLIC | flag::STATIC, "visible", VISIBLE, tables::visible(&mut pool))?;
    own(flag::STATIC, "<clinit>", "()V", initialise(&mut pool))?;
    own(flag::PRIVATE, "<init>", "(Ljava/lang/Object;JI)V", tables::construct(&mut pool))?;
    own(is_static, "reads", "(JJJ)Z", access::access(&mut pool, words, What::Reads))?;
    own(is_static, "writes", "(JJJ)Z", access::access(&mut pool, words, What::Writes))?;
    own(is_static, "element", "(Ljava/lang/Object;II)J", tables::element(&mut pool))?;
    own(is_static, "value", "(Ljava/lang/Object;IJ)J", tables::value(&mut pool))?;
    own(is_static, "missed", "(Ljava/lang/Object;I)V", tables::missed(&mut pool))?;
    own(is_static, "missedValue", "(Ljava/lang/Object;IJ)V", tables::missed_value(&mut pool))?;
    own(is_static, "enters", "([Ljava/lang/Mayhap;ILjava/lang/Object;I)V", tables::enters(&mut pool))?;
    of_methods(pool, (HOOKS, REFERENCE), &fields, &methods)
}

/// The words that the code of all methods uses.
impl Assembler<'_> {
    /// Reads memory outside of the heap; `address` puts its address on the stack.
    fn get(&mut self, kind: char, address: impl FnOnce(&mut Self)) {
        self.get_in(kind, |code| code.ops(&[op::ACONST_NULL]), address);
    }

    /// Reads what lies in an object.
    fn get_in(&mut self, kind: char, object: impl FnOnce(&mut Self), offset: impl FnOnce(&mut Self)) {
        self.member(op::GETSTATIC, HOOKS, "U", "Ljdk/internal/misc/Unsafe;");
        object(self);
        offset(self);
        let (name, descriptor) = match kind {
            'J' => ("getLong", "(Ljava/lang/Object;J)J"),
            _ => ("getInt", "(Ljava/lang/Object;J)I"),
        };
        self.member(op::INVOKEVIRTUAL, UNSAFE, name, descriptor);
    }

    fn put(&mut self, kind: char, address: impl FnOnce(&mut Self), value: impl FnOnce(&mut Self)) {
        self.member(op::GETSTATIC, HOOKS, "U", "Ljdk/internal/misc/Unsafe;");
        self.ops(&[op::ACONST_NULL]);
        address(self);
        value(self);
        let (name, descriptor) = match kind {
            'J' => ("putLong", "(Ljava/lang/Object;JJ)V"),
            _ => ("putInt", "(Ljava/lang/Object;JI)V"),
        };
        self.member(op::INVOKEVIRTUAL, UNSAFE, name, descriptor);
    }

    fn fence(&mut self, name: &str) {
        self.member(op::GETSTATIC, HOOKS, "U", "Ljdk/internal/misc/Unsafe;");
        self.member(op::INVOKEVIRTUAL, UNSAFE, name, "()V");
    }

    /// A variable plus a number.
    fn plus(&mut self, variable: u8, number: u64) {
        self.load('J', variable);
        if number != 0 {
            self.long(number);
            self.ops(&[op::LADD]);
        }
    }

    /// The number of the calling thread.
    fn thread(&mut self, words: &Words) {
        self.get_in(
            'J',
            |code| code.member(op::INVOKESTATIC, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;"),
            |code| code.long(words.thread_number),
        );
    }

    fn own(&mut self, name: &str, descriptor: &str) {
        self.member(op::INVOKESTATIC, HOOKS, name, descriptor);
    }

    /// Where the entry of a reference is in a table, by the address at which the program has it.
    fn index_of(&mut self, address: u8) {
        self.load('J', address);
        self.ops(&[op::ICONST_3, op::LUSHR, op::L2I]);
        self.int(MOST - 1);
        self.ops(&[op::IAND]);
    }

    /// Where the entry of a place is in a table.
    fn index_at(&mut self, site: u8) {
        self.load('I', site);
        self.int(MOST - 1);
        self.ops(&[op::IAND]);
    }

    /// Loads an entry of a table; the index is in a local variable.
    fn entry(&mut self, table: &str, index: impl FnOnce(&mut Self), out: u8) {
        self.member(op::GETSTATIC, HOOKS, table, ENTRIES);
        index(self);
        self.ops(&[op::AALOAD]);
        self.store('L', out);
    }

    /// What an entry stands for.
    fn referent(&mut self, entry: u8) {
        self.load('L', entry);
        self.member(op::INVOKEVIRTUAL, "java/lang/ref/Reference", "get", "()Ljava/lang/Object;");
    }

    fn field(&mut self, entry: u8, name: &str, descriptor: &str) {
        self.load('L', entry);
        self.member(op::GETFIELD, HOOKS, name, descriptor);
    }
}

/// Leaves in a local variable where what is known of a place lies.
fn known_of(code: &mut Assembler<'_>, words: &Words, site: u8, known: u8) {
    code.long(words.sites);
    code.load('I', site);
    code.ops(&[op::I2L]);
    code.int(SITE_SHIFT);
    code.ops(&[op::LSHL, op::LADD]);
    code.store('J', known);
}

/// `void alloc(Object object, int site)`: an object was made. It may have a block: each constructor of its classes says so, and the code that calls them.
fn allocated(pool: &mut Pool<'static>, words: &Words) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    let slow = code.label();
    known_of(&mut code, words, 1, 2);
    code.get('I', |code| code.load('J', 2));
    code.jump(op::IFEQ, slow);
    code.load('L', 0);
    code.jump(op::IFNULL, slow);
    code.get_in('J', |code| code.load('L', 0), |code| code.get('J', |code| code.plus(2, HIDDEN)));
    code.ops(&[op::LCONST_0, op::LCMP]);
    code.jump(op::IFEQ, slow);
    code.ops(&[op::RETURN]);
    code.place(slow);
    code.load('L', 0);
    code.load('I', 1);
    code.own("allocSlowly", "(Ljava/lang/Object;I)V");
    code.ops(&[op::RETURN]);
    code.finish(10, 4)
}

fn initialise(pool: &mut Pool<'static>) -> Option<Vec<u8>> {
    let mut code = Assembler::new(pool);
    code.member(op::INVOKESTATIC, UNSAFE, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
    code.member(op::PUTSTATIC, HOOKS, "U", "Ljdk/internal/misc/Unsafe;");
    for table in ["KNOWN", "CLASSES", "ARRAYS"] {
        code.int(MOST);
        code.class(op::ANEWARRAY, HOOKS);
        code.member(op::PUTSTATIC, HOOKS, table, ENTRIES);
    }
    code.ops(&[op::RETURN]);
    code.finish(2, 0)
}

/// A hook that the program's code calls.
struct Hook {
    name: String,
    descriptor: String,
    place: Where,
    what: What,
    /// The letter of the type.
    kind: char,
    /// The local variables of object or array, index, value and place.
    object: u8,
    index: u8,
    value: u8,
    site: u8,
    /// The first that is free.
    free: u8,
    returns: char,
}

impl Hook {
    fn new(begin: &str, place: Where, what: What, kind: char) -> Hook {
        let kind_on_stack = if matches!(kind, 'B' | 'C' | 'S') { 'I' } else { kind };
        let is_wide = matches!(kind, 'J' | 'D');
        let width = if is_wide { 2 } else { 1 };
        let text = if kind_on_stack == 'L' { "Ljava/lang/Object;".to_owned() } else { kind_on_stack.to_string() };
        let object = if place == Where::Static { "" } else { "Ljava/lang/Object;" };
        let index = if place == Where::Element { "I" } else { "" };
        // The value comes first where it lies below the others, and is given back.
        let is_first =
            place == Where::Element && what == What::Writes || place == Where::Field && what == What::Writes && is_wide;
        let own = u8::from(place != Where::Static) + u8::from(place == Where::Element);
        let (object_at, value_at) = if is_first { (width, 0) } else { (0, own) };
        let (descriptor, returns) = match is_first {
            true => (format!("({text}{object}{index}I){text}"), kind_on_stack),
            false => (format!("({object}{index}{text}I)V"), 'V'),
        };
        Hook {
            name: format!("{begin}{kind}"),
            descriptor,
            place,
            what,
            kind: kind_on_stack,
            object: object_at,
            index: object_at + 1,
            value: value_at,
            site: own + width,
            free: own + width + 1,
            returns,
        }
    }

    fn code(&self, pool: &mut Pool<'static>, words: &Words) -> Option<Vec<u8>> {
        let mut code = Assembler::new(pool);
        let (slow, volatile) = (code.label(), code.label());
        // What is known of the place, the address, the value.
        let (known, address, value) = (self.free, self.free + 2, self.free + 4);
        known_of(&mut code, words, self.site, known);
        code.get('I', |code| code.load('J', known));
        code.jump(op::IFEQ, volatile);
        code.ops(&[op::LCONST_0]);
        code.store('J', address);
        self.find(&mut code, words, (known, address), slow);
        self.bits(&mut code, address);
        code.ops(&[op::DUP2]);
        code.store('J', value);
        if self.kind == 'L' {
            code.ops(&[op::LCONST_0, op::LCMP]);
            code.jump(op::IFLT, slow);
        } else {
            code.ops(&[op::POP2]);
        }
        code.load('J', address);
        code.load('J', value);
        code.load('J', known);
        code.own(if self.what == What::Reads { "reads" } else { "writes" }, "(JJJ)Z");
        code.jump(op::IFEQ, slow);
        self.leave(&mut code);
        code.place(slow);
        self.ask(&mut code);
        if self.place == Where::Element {
            code.load('L', self.object);
            code.load('I', self.site);
            code.own("missed", "(Ljava/lang/Object;I)V");
        }
        if self.kind == 'L' {
            code.load('L', self.value);
            code.load('I', self.site);
            code.load('J', address);
            code.own("missedValue", "(Ljava/lang/Object;IJ)V");
        }
        self.leave(&mut code);
        // Not known yet, or never.
        code.place(volatile);
        self.ask(&mut code);
        self.leave(&mut code);
        code.finish(12, u16::from(self.free) + 6)
    }

    /// Leaves the address in a local variable.
    fn find(&self, code: &mut Assembler<'_>, words: &Words, (known, address): (u8, u8), slow: Label) {
        match self.place {
            Where::Field => {
                code.load('L', self.object);
                code.jump(op::IFNULL, slow);
                let offset = |code: &mut Assembler<'_>| code.get('J', |code| code.plus(known, HIDDEN));
                code.get_in('J', |code| code.load('L', self.object), offset);
                code.ops(&[op::DUP2]);
                code.store('J', address);
                code.ops(&[op::LCONST_0, op::LCMP]);
                code.jump(op::IFEQ, slow);
                code.load('J', address);
                code.get('J', |code| code.plus(known, OFFSET));
                code.ops(&[op::LADD]);
            }
            Where::Static => {
                // The thread has seen that the class is initialised.
                code.get('J', |code| code.plus(known, HIDDEN));
                code.thread(words);
                code.ops(&[op::LCMP]);
                code.jump(op::IFNE, slow);
                code.get('J', |code| code.plus(known, OFFSET));
            }
            Where::Element => {
                code.load('L', self.object);
                code.load('I', self.index);
                code.load('I', self.site);
                code.own("element", "(Ljava/lang/Object;II)J");
                code.ops(&[op::DUP2]);
                code.store('J', address);
                code.ops(&[op::LCONST_0, op::LCMP]);
                code.jump(op::IFEQ, slow);
                code.load('J', address);
            }
        }
        code.store('J', address);
    }

    /// Puts the value on the stack, as the shadow memory has it.
    fn bits(&self, code: &mut Assembler<'_>, address: u8) {
        code.load(self.kind, self.value);
        match self.kind {
            'J' => {}
            'D' => code.member(op::INVOKESTATIC, "java/lang/Double", "doubleToRawLongBits", "(D)J"),
            'L' => {
                code.load('I', self.site);
                code.load('J', address);
                code.own("value", "(Ljava/lang/Object;IJ)J");
            }
            kind => {
                if kind == 'F' {
                    code.member(op::INVOKESTATIC, "java/lang/Float", "floatToRawIntBits", "(F)I");
                }
                code.ops(&[op::I2L]);
                code.long(u64::from(u32::MAX));
                code.ops(&[op::LAND]);
            }
        }
    }

    /// Calls the native method, and drops what that returns.
    fn ask(&self, code: &mut Assembler<'_>) {
        let is_first = self.returns != 'V';
        if is_first {
            code.load(self.kind, self.value);
        }
        if self.place != Where::Static {
            code.load('L', self.object);
        }
        if self.place == Where::Element {
            code.load('I', self.index);
        }
        if !is_first {
            code.load(self.kind, self.value);
        }
        code.load('I', self.site);
        code.own(&format!("{}Slowly", self.name), &self.descriptor);
        match self.returns {
            'V' => {}
            'J' | 'D' => code.ops(&[op::POP2]),
            _ => code.ops(&[op::POP]),
        }
    }

    fn leave(&self, code: &mut Assembler<'_>) {
        if self.returns != 'V' {
            code.load(self.kind, self.value);
        }
        code.returns(self.returns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::file::ClassFile;
    use crate::class::instructions::{length, targets};

    #[test]
    fn the_code_of_hooks_is_whole() {
        let natives = [("block", "(Ljava/lang/Object;)J"), ("getISlowly", "(Ljava/lang/Object;II)V")];
        let bytes = class(&natives, &Words::default()).unwrap();
        let file = ClassFile::read(&bytes).unwrap();
        assert_eq!((file.name.as_str(), file.superclass.as_str()), (HOOKS, REFERENCE));
        let hooks = file.methods.iter().filter(|method| KINDS.iter().any(|kind| method.name.starts_with(kind.0)));
        assert_eq!(hooks.filter(|method| method.flags & flag::NATIVE == 0).count(), 33);
        for method in file.methods.iter().filter(|method| method.flags & flag::NATIVE == 0) {
            let contents = method.code().unwrap();
            // Stack, variables, the length of the code, the code.
            let code = &contents[8..contents.len() - 4];
            let mut at = 0;
            while at < code.len() {
                assert!(targets(code, at).is_some(), "{} jumps outside", method.name);
                at += length(code, at).unwrap();
            }
            assert_eq!(at, code.len(), "{}", method.name);
        }
    }

    #[test]
    fn hooks_take_what_the_code_of_the_program_hands_them() {
        let of = |begin, place, what, kind| Hook::new(begin, place, what, kind).descriptor;
        assert_eq!(of("load", Where::Element, What::Reads, 'B'), "(Ljava/lang/Object;III)V");
        assert_eq!(of("store", Where::Element, What::Writes, 'D'), "(DLjava/lang/Object;II)D");
        assert_eq!(of("put", Where::Field, What::Writes, 'J'), "(JLjava/lang/Object;I)J");
        assert_eq!(of("put", Where::Field, What::Writes, 'F'), "(Ljava/lang/Object;FI)V");
        assert_eq!(of("putStatic", Where::Static, What::Writes, 'J'), "(JI)V");
    }
}
