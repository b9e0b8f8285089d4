//! Arrays and collections that are handed to methods of the library, which look into them and change them without hooks.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use crate::hooks::{WRITE, here, natives};
use crate::jvm::{Jni, Ref};
use crate::library::{self, Kind, OnArgument, OnArray};
use crate::objects::Here;
use crate::pending::whole;
use crate::shadow::{self, FIELDS, ORDER};

type Class = Ref;

/// The most elements of an array whose accesses are recorded one by one.
const MOST: i32 = 1 << 16;

/// An argument as the code hands it over: `count` is below zero for the whole of an array.
#[derive(Clone, Copy)]
struct Argument {
    object: Ref,
    start: i32,
    count: i32,
    number: i32,
}

impl Here {
    fn looked_into(self, argument: Argument, is_after: bool) {
        if argument.object.is_null() {
            return;
        }
        let meta = self.meta(argument.object);
        match (meta.elements, is_after) {
            (Some(kind), false) => self.array_before(argument, kind),
            (Some(kind), true) => self.array_after(argument, kind),
            (None, true) if meta.kind == Kind::Future => {
                self.block(argument.object).into_iter().for_each(|b| self.seen(b))
            }
            (None, true) => {}
            (None, false) => self.collection(argument.object, meta.kind),
        }
    }

    fn on_array(self, number: i32) -> OnArray {
        match (self.site.method_class(), self.site.method()) {
            ("java/lang/System", "arraycopy") if number == 0 => OnArray::Reads,
            ("java/lang/System", "arraycopy") => OnArray::Sets,
            (class, method) => library::on_array(class, method),
        }
    }

    /// The part of an array that is meant; nothing where that is none.
    fn range_of(self, argument: Argument) -> core::ops::Range<i32> {
        let length = self.jni.array_length(argument.object);
        let count = if argument.count < 0 { length - argument.start } else { argument.count };
        match argument.start >= 0 && count >= 0 && argument.start.checked_add(count).is_some_and(|end| end <= length) {
            true => argument.start..argument.start + count.min(MOST),
            false => 0..0,
        }
    }

    fn array_before(self, argument: Argument, kind: u8) {
        if self.on_array(argument.number) != OnArray::Reads {
            return;
        }
        let Some(block) = self.block(argument.object) else { return };
        self.real_elements(argument.object, kind, self.range_of(argument), &mut |index, real| {
            let address = block + FIELDS + 8 * index as u64;
            self.takes_over(block, address, real, false);
            (self.runtime.access)(self.site.pc, address, false, false);
        });
    }

    fn array_after(self, argument: Argument, kind: u8) {
        let Some(block) = self.block(argument.object) else { return };
        let sets_all = self.on_array(argument.number) == OnArray::Sets;
        self.real_elements(argument.object, kind, self.range_of(argument), &mut |index, real| {
            let address = block + FIELDS + 8 * index as u64;
            if sets_all || shadow::word(address).load(Ordering::Relaxed) != real {
                (self.runtime.access)(self.site.pc + WRITE, address, true, false);
                shadow::word(address).store(real, Ordering::Relaxed);
            }
        });
    }

    fn collection(self, object: Ref, kind: Kind) {
        let Some(how) = library::on_argument(self.site.method_class(), self.site.method()) else { return };
        let Some(block) = self.block(object) else { return };
        if how == OnArgument::Shows {
            return SHOWN.set(block);
        }
        let only_reads = how == OnArgument::Reads;
        match kind {
            Kind::Plain => self.contents(block, only_reads),
            Kind::Synchronized => {
                self.enter(block);
                self.contents(block, only_reads);
                self.exit(block);
            }
            Kind::Ordered => self.order(whole(block) + ORDER),
            _ => {}
        }
    }

    /// A static method of the library has made an object, perhaps one that shows what its argument holds.
    fn made(self, object: Ref) {
        if object.is_null() {
            return;
        }
        let shown = SHOWN.replace(0);
        match shown {
            0 => drop(self.block(object)),
            shown => self.is_view(shown, object),
        }
    }
}

thread_local! {
    /// The block of what the next object that is made shows.
    static SHOWN: Cell<u64> = const { Cell::new(0) };
}

natives! { NATIVES:
    argument "argument" "(Ljava/lang/Object;IIII)V" (object: Ref, start: i32, count: i32, number: i32, site: i32), site, |here| here.looked_into(Argument { object, start, count, number }, false);
    argument_after "argumentAfter" "(Ljava/lang/Object;IIII)V" (object: Ref, start: i32, count: i32, number: i32, site: i32), site, |here| here.looked_into(Argument { object, start, count, number }, true);
    made "made" "(Ljava/lang/Object;I)V" (object: Ref, site: i32), site, |here| here.made(object);
}
