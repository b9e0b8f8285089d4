//! Where a thread is: in the program's code, or in the library's.

use std::cell::{Cell, RefCell};

/// How a method was entered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entered {
    /// The program called it.
    Called,
    /// The library called it; nothing else is to be ordered.
    Silent,
    /// The library called it; what is done with the object whose word this is keeps its order.
    Ordered(u64),
}

pub(crate) struct Position {
    /// The thread is in the library's code.
    pub(crate) is_outside: Cell<bool>,
    /// The next callback runs a task that was handed over in a known way.
    pub(crate) is_handed: Cell<bool>,
    /// Whether nothing but the start of the thread lies before the first callback, once that is known.
    pub(crate) is_direct: Cell<Option<bool>>,
    pub(crate) entered: RefCell<Vec<Entered>>,
}

thread_local! {
    pub(crate) static POSITION: Position = const {
        Position {
            is_outside: Cell::new(true),
            is_handed: Cell::new(false),
            is_direct: Cell::new(None),
            entered: RefCell::new(Vec::new()),
        }
    };
}

/// The calling thread is in the program's code; says whether it was in the library's.
#[inline]
pub(crate) fn is_inside() -> bool {
    POSITION.with(|position| position.is_outside.replace(false))
}

/// The calling thread goes to the library's code.
#[inline]
pub(crate) fn goes_outside() {
    crate::fast_path::close();
    POSITION.with(|position| position.is_outside.set(true));
}

/// How many methods that the library may call the thread is in.
pub(crate) fn level() -> usize {
    POSITION.with(|position| position.entered.borrow().len())
}

/// The address of the calling hook's frame: that of a Java method that calls it lies above.
#[inline(always)]
pub(crate) fn stack() -> u64 {
    let here = 0u8;
    core::ptr::from_ref(core::hint::black_box(&here)) as u64
}
