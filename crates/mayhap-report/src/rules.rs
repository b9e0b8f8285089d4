//! What each kind of finding means and how to fix it, for readers who meet it for the first time.

use crate::finding::Kind;

/// The explanation of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The kind.
    pub kind: Kind,
    /// The meaning in one line.
    pub short: &'static str,
    /// The meaning in a paragraph, with why it matters.
    pub full: &'static str,
    /// How to fix it.
    pub help: &'static str,
    /// For an error in the use of memory: its number in the Common Weakness Enumeration, and how grave it is from 0 to 10.
    pub weakness: Option<(u32, &'static str)>,
}

/// The explanation of every kind, in the order of [`Kind::ALL`].
pub const RULES: [Rule; 13] = [
    Rule {
        kind: Kind::Race,
        short: "Two threads can access the same memory at the same time, and one of them writes.",
        full: "Two accesses of different threads to the same memory, at least one of them a write and not both atomic, can \
               happen at the same time. In C, C++ and Rust that is undefined behaviour: values may be lost, torn or stale, and \
               the compiler may assume that it never happens.",
        help: "Protect both accesses by the same lock, make both atomic, or make one wait for the other (join the thread, wait \
               for a condition). A lock that only one side takes does not help.",
        weakness: None,
    },
    Rule {
        kind: Kind::Deadlock,
        short: "Threads can wait for each other's locks forever.",
        full: "Each of these threads can hold a lock that another of them waits for, so that none of them ever continues. The \
               recorded run avoided it because the threads arrived at different times.",
        help: "Take the locks in the same order everywhere, or take them together (std::lock, std::scoped_lock), or release \
               the first before taking the second.",
        weakness: None,
    },
    Rule {
        kind: Kind::Atomicity,
        short: "Another thread's access can come between two accesses that appear intended to be atomic.",
        full: "A thread accesses a variable twice in a row, as in check-then-act or read-modify-write, and another thread's \
               access can come between the two so that no serial order of the steps explains the result.",
        help: "Hold one lock over both accesses, or use one atomic operation (fetch_add, compare_exchange) for both.",
        weakness: None,
    },
    Rule {
        kind: Kind::Order,
        short: "A variable can be used before it is first set.",
        full: "In the recorded run a write came before the read that uses it, but nothing enforces that: the read can come \
               first and then sees memory that no thread has written.",
        help: "Set the variable before the reading thread is started, or let the reader wait until it is set (condition \
               variable, join, once).",
        weakness: None,
    },
    Rule {
        kind: Kind::Nondeterminism,
        short: "A read can see different writes from run to run.",
        full: "Which write this read sees depends on thread timing. That may be intended; where the result should not depend on \
               timing, it is a bug that tests show only now and then.",
        help: "If the result must not depend on timing, make the reader wait for the write that it should see.",
        weakness: None,
    },
    Rule {
        kind: Kind::Crash,
        short: "A recorded run crashed, aborted or ended with an error.",
        full: "The program failed while it was recorded. The accesses before the end show what its threads were \
               doing; other findings of the same run often explain it.",
        help: "Look at the stack where the program ended and at the findings that touch the same memory.",
        weakness: None,
    },
    Rule {
        kind: Kind::Hang,
        short: "A recorded run stopped making progress.",
        full: "No thread of the program made progress: each waits for something that no other thread will do, such as a \
               signal that has already been sent.",
        help: "Look at what each thread waits for. A wait for a condition must test it under the lock, in a loop.",
        weakness: None,
    },
    Rule {
        kind: Kind::UseAfterFree,
        short: "Memory can be used after it was freed.",
        full: "One thread can free memory that another thread uses next. The memory may belong to something else by then, so the \
               access reads or corrupts what it has nothing to do with; attackers make use of that.",
        help: "Make the thread that frees wait for the last use: join the other thread, count references, or take the object \
               out of every place where others find it before it is freed, under the lock that they hold while they use it.",
        weakness: Some((416, "8.8")),
    },
    Rule {
        kind: Kind::DoubleFree,
        short: "Memory can be freed twice.",
        full: "Two threads can free the same block, because both find the pointer before one of them clears it. The allocator's \
               own data is then corrupted.",
        help: "Take the pointer and clear it in one step, under a lock or by an atomic exchange; free what was taken.",
        weakness: Some((415, "8.8")),
    },
    Rule {
        kind: Kind::NullDereference,
        short: "A null pointer can be used.",
        full: "A thread can read a pointer before it is set or after another thread has cleared it, and then use it as an address. \
               The program crashes there.",
        help: "Set the pointer before the thread that uses it is started, or read it once, under the lock under which it is \
               changed, and test what was read.",
        weakness: Some((476, "5.9")),
    },
    Rule {
        kind: Kind::HeapOverflow,
        short: "Memory next to a block can be used.",
        full: "A thread can use an index or a length that does not belong to the block that it accesses, because another thread \
               changes one of the two at the wrong time. The access then reads or overwrites what lies next to the block.",
        help: "Read the block and its length in one critical section, and change them in one.",
        weakness: Some((787, "8.8")),
    },
    Rule {
        kind: Kind::Uninitialised,
        short: "Memory can be read before any thread has written it.",
        full: "A thread can read a block of memory before the thread that fills it has done so. What it finds is whatever lay there \
               before: a decision at random, an address that is none, or data that belongs to something else.",
        help: "Fill the block before other threads can find it, or let the reader wait until it is filled (condition variable, join, \
               a flag that is set with release and tested with acquire).",
        weakness: Some((908, "6.5")),
    },
    Rule {
        kind: Kind::MismatchedFree,
        short: "Memory is freed by a function that does not go with the one that allocated it.",
        full: "A block of `malloc` is deleted, a block of `new` is given to `free`, or an array, or a block with an alignment, is deleted as \
               something else. Destructors run too often or not at all, and with another allocator its own data is corrupted.",
        help: "Free a block by the counterpart of what allocated it: `free`, `delete`, `delete[]`. Let a `unique_ptr` have it.",
        weakness: Some((762, "5.9")),
    },
];

impl Kind {
    /// Returns the explanation of this kind.
    pub fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_rule() {
        for kind in Kind::ALL {
            assert_eq!(kind.rule().kind, kind);
        }
    }
}
