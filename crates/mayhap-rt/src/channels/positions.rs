//! What threads take from that share it: a generator of numbers, a stream, an open file. Which number, line or bytes a thread gets depends on what
//! others have taken before. So taking is an update of a word, and a thread that would take earlier or later than it did has read
//! something else. It orders nothing else: no standard says that threads are synchronised by it.

use libc::{FILE, c_int};
use mayhap_wire::channel::key;
use mayhap_wire::ring::{AtomicForm, AtomicKind, atomic_word};

use super::files::Word;
use crate::hook::Hook;
use crate::threads;

/// What is taken from.
#[derive(Clone, Copy)]
pub(crate) enum From {
    /// `rand` and `random`.
    Rand,
    /// `drand48` and its like.
    Rand48,
    /// A stream of the C library or of C++.
    Stream(u64),
    /// An open file, by its number.
    Descriptor(c_int),
}

impl From {
    pub(crate) fn stream(stream: *mut FILE) -> From {
        From::Stream(stream as u64)
    }

    fn word(self) -> Word {
        Word::of_position(match self {
            From::Rand => key(1, 0, 0),
            From::Rand48 => key(2, 0, 0),
            From::Stream(stream) => key(3, stream, 0),
            From::Descriptor(fd) => key(4, fd as u64, 0),
        })
    }
}

/// The thread is about to take something.
pub(crate) fn takes(from: From, pc: u64) {
    changes(from, AtomicForm::Plain, pc);
}

/// The thread is about to say what is taken next, whatever was taken before.
pub(crate) fn sets(from: From, pc: u64) {
    changes(from, AtomicForm::Exchange, pc);
}

fn changes(from: From, form: AtomicForm, pc: u64) {
    if threads::were_others()
        && let Some(mut hook) = Hook::enter_outermost()
    {
        let kind = AtomicKind::Update;
        from.word().operate(&hook, pc, kind, form.in_word(atomic_word(kind, 0, 8)));
        hook.announces();
    }
}
