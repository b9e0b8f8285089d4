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
}

/// The explanation of every kind, in the order of [`Kind::ALL`].
pub const RULES: [Rule; 7] = [
    Rule {
        kind: Kind::Race,
        short: "Two threads can access the same memory at the same time, and one of them writes.",
        full: "Two accesses of different threads to the same memory, at least one of them a write and not both atomic, can \
               happen at the same time. In C, C++ and Rust that is undefined behaviour: values may be lost, torn or stale, and \
               the compiler may assume that it never happens.",
        help: "Protect both accesses by the same lock, make both atomic, or make one wait for the other (join the thread, wait \
               for a condition). A lock that only one side takes does not help.",
    },
    Rule {
        kind: Kind::Deadlock,
        short: "Threads can wait for each other's locks forever.",
        full: "Each of these threads can hold a lock that another of them waits for, so that none of them ever continues. The \
               recorded run avoided it because the threads arrived at different times.",
        help: "Take the locks in the same order everywhere, or take them together (std::lock, std::scoped_lock), or release \
               the first before taking the second.",
    },
    Rule {
        kind: Kind::Atomicity,
        short: "Another thread's access can come between two accesses that appear intended to be atomic.",
        full: "A thread accesses a variable twice in a row, as in check-then-act or read-modify-write, and another thread's \
               access can come between the two so that no serial order of the steps explains the result.",
        help: "Hold one lock over both accesses, or use one atomic operation (fetch_add, compare_exchange) for both.",
    },
    Rule {
        kind: Kind::Order,
        short: "A variable can be used before it is first set.",
        full: "In the recorded run a write came before the read that uses it, but nothing enforces that: the read can come \
               first and then sees memory that no thread has written.",
        help: "Set the variable before the reading thread is started, or let the reader wait until it is set (condition \
               variable, join, once).",
    },
    Rule {
        kind: Kind::Nondeterminism,
        short: "A read can see different writes from run to run.",
        full: "Which write this read sees depends on thread timing. That may be intended; where the result should not depend on \
               timing, it is a bug that tests show only now and then.",
        help: "If the result must not depend on timing, make the reader wait for the write that it should see.",
    },
    Rule {
        kind: Kind::Crash,
        short: "A recorded run crashed, aborted or ended with an error.",
        full: "The program failed while it was recorded. The accesses before the end show what its threads were \
               doing; other findings of the same run often explain it.",
        help: "Look at the stack where the program ended and at the findings that touch the same memory.",
    },
    Rule {
        kind: Kind::Hang,
        short: "A recorded run stopped making progress.",
        full: "No thread of the program made progress: each waits for something that no other thread will do, such as a \
               signal that has already been sent.",
        help: "Look at what each thread waits for. A wait for a condition must test it under the lock, in a loop.",
    },
];

impl Kind {
    /// The explanation of this kind.
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
