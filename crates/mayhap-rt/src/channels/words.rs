//! Words that count the changes of something that threads meet at: what reads such a word comes after what changed it, unless it would have
//! found the same before.

use core::sync::atomic::{AtomicU64, Ordering};

use libc::c_char;
use mayhap_wire::channel::key;
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word, order};

use super::pairs::Table;
use crate::file_words::{CONTENTS, FOLDERS, NAMES, PARTS, POSITIONS, WORDS};
use crate::hook::Hook;
use crate::replay;

/// The word of each file, by its key.
static NUMBERS: Table<2> = Table::new();
static NEXT: AtomicU64 = AtomicU64::new(0);
/// The word of each position, by the key of what it is a position in.
static POSITIONS_OF: Table<2> = Table::new();
static NEXT_POSITION: AtomicU64 = AtomicU64::new(0);
/// The order of all accesses to the words, as compilers number it.
const STRONGEST: u8 = 5;

/// The word of something that threads meet at in the file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(usize);

impl Word {
    fn parts(self) -> &'static [AtomicU64] {
        &WORDS[self.0 * PARTS..(self.0 + 1) * PARTS]
    }

    fn address(self) -> u64 {
        self.parts().as_ptr() as u64
    }

    /// The word of what folders hold.
    pub(super) const fn of_folders() -> Word {
        Word(FOLDERS)
    }

    /// The word of a path's last part, which names the same file from every folder.
    pub(super) unsafe fn of_name(path: *const c_char) -> Word {
        let (mut sum, mut last) = (0u64, 0u64);
        if !path.is_null() {
            // SAFETY: the caller vouches that a zero ends the path.
            for byte in (0..).map(|at| unsafe { *path.add(at) } as u8).take_while(|byte| *byte != 0) {
                if byte == b'/' {
                    (last, sum) = (if sum == 0 { last } else { sum }, 0);
                } else {
                    sum = key(0, sum, byte.into());
                }
            }
        }
        Word(1 + (if sum == 0 { last } else { sum }) as usize % NAMES)
    }

    /// The word of what a file holds.
    pub(super) fn of_file(file: u64) -> Word {
        let number = &NUMBERS.entry(file)[1];
        if number.load(Ordering::Relaxed) == 0 {
            number.store(1 + NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        Word(1 + NAMES + number.load(Ordering::Relaxed) as usize % CONTENTS)
    }

    /// The word of what is taken next from something that has this key.
    pub(super) fn of_position(key: u64) -> Word {
        let number = &POSITIONS_OF.entry(key)[1];
        if number.load(Ordering::Relaxed) == 0 {
            number.store(1 + NEXT_POSITION.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        Word(1 + NAMES + CONTENTS + number.load(Ordering::Relaxed) as usize % POSITIONS)
    }

    pub(super) fn record(self, hook: &Hook, pc: u64, kind: AtomicKind) {
        self.operate(hook, pc, kind, STRONGEST);
        hook.sync_point();
    }

    /// Records an operation of this memory order: a load of all parts, a store to the thread's own part, or an update of the first part.
    pub(super) fn operate(self, hook: &Hook, pc: u64, kind: AtomicKind, order: u8) {
        let at = if kind == AtomicKind::Store {
            hook.thread().identity.owner.load(Ordering::Relaxed) as usize % PARTS
        } else {
            0
        };
        let part = &self.parts()[at];
        let found = match kind {
            AtomicKind::Load => self.parts().iter().map(|part| part.load(Ordering::Relaxed)).sum(),
            _ => part.load(Ordering::Relaxed),
        };
        let (written, size) = if kind == AtomicKind::Load { (found, PARTS * 8) } else { (found + 1, 8) };
        if kind != AtomicKind::Load {
            part.store(written, Ordering::Relaxed);
        }
        let place = core::ptr::from_ref(part) as u64;
        hook.record(Tag::Atomic, pc, &[place, atomic_word(kind, order, size as u8), found, written]);
    }

    /// Records that what was counted before does not matter any more.
    pub(super) fn replace(self, hook: &Hook, pc: u64) {
        for part in self.parts() {
            part.fetch_add(1, Ordering::Relaxed);
        }
        let word = atomic_word(AtomicKind::Store, order::RELEASE, (PARTS * 8) as u8);
        hook.record(Tag::Atomic, pc, &[self.address(), word, 0, 0]);
    }

    pub(super) fn hold_back(self, hook: &Hook, pc: u64) {
        replay::hold_back(hook.token(), hook.thread(), Tag::Atomic as u8, pc, self.address());
    }
}
