//! Arrays and collections that are handed to methods of the library, which look into them and change them without hooks.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use crate::calls::anything;
use crate::descriptors::argument_texts;
use crate::hooks::{WRITE, here, natives};
use crate::jvm::{Jni, Ref};
use crate::library::{self, Kind, OnArgument, OnArray};
use crate::objects::{Here, Meta};
use crate::pending::whole;
use crate::places::What;
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
        let object = self.unwrapped(argument.object);
        let argument = Argument { object, ..argument };
        let meta = self.meta(object);
        if meta.elements.is_some() && !self.is_array(argument.number) {
            return;
        }
        if meta.elements == Some(b'L') && !is_after && library::looks_deep(self.site.method_class(), self.site.method())
        {
            self.deep(argument);
        }
        match (meta.elements, is_after) {
            (Some(kind), false) => self.array_before(argument, kind),
            (Some(kind), true) => self.array_after(argument, kind),
            (None, true) if meta.kind == Kind::Future => {
                self.block(argument.object).into_iter().for_each(|b| self.seen(b))
            }
            (None, true) => {}
            (None, false) => self.collection(argument.object, meta, argument.number),
        }
    }

    /// Whether the method takes an array there: others do nothing but keep it.
    fn is_array(self, number: i32) -> bool {
        let What::Call(member) = &self.site.what else { return false };
        let texts = argument_texts(&member.descriptor).unwrap_or_default();
        let is_array = texts.get(number as usize).is_some_and(|text| text.starts_with('['));
        is_array || member.class == "java/lang/System" && member.name == "arraycopy"
    }

    /// The method looks into what lies in the array.
    fn deep(self, argument: Argument) {
        for index in self.range_of(argument) {
            let element = self.unwrapped(self.jni.element(argument.object, index));
            if !element.is_null() {
                let meta = self.meta(element);
                if meta.elements.is_none() {
                    self.looks(element, meta.kind, true);
                }
                self.jni.delete_local(element);
            }
        }
    }

    /// All of an array is read, or what has changed in it written.
    pub(crate) fn whole_array(self, array: Ref, is_after: bool) {
        let argument = Argument { object: array, start: 0, count: -1, number: 0 };
        match (self.meta(array).elements, is_after) {
            (Some(kind), false) => self.read_elements(argument, kind),
            (Some(kind), true) => self.array_after(argument, kind),
            _ => {}
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
        self.read_elements(argument, kind);
    }

    fn read_elements(self, argument: Argument, kind: u8) {
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

    fn collection(self, object: Ref, meta: &Meta, number: i32) {
        let how = library::on_argument(self.site.method_class(), self.site.method(), number as usize);
        match how {
            None => {}
            Some(OnArgument::Shows) => SHOWN.set(self.block(object).unwrap_or(0)),
            Some(OnArgument::Compares) if meta.is_compared => {
                self.not_seen("a list, set or map is compared with others inside Java's library");
            }
            Some(OnArgument::Compares) => {}
            Some(how) => self.looks(object, meta.kind, how == OnArgument::Reads),
        }
    }

    /// The library looks into an object, or changes what it holds.
    fn looks(self, object: Ref, kind: Kind, only_reads: bool) {
        let Some(block) = self.block(object) else { return };
        match kind {
            Kind::Plain => self.contents(block, only_reads),
            Kind::Synchronized => {
                let lock = self.lock_of(object, block);
                self.enter(lock);
                self.contents(block, only_reads);
                self.exit(lock);
            }
            Kind::Atomic => self.atomic_read(object, block),
            Kind::Ordered => self.order(whole(block) + ORDER),
            Kind::Anything => self.order(anything(self) + ORDER),
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
