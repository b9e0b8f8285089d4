//! The words that stand for names, files, and where is taken from next: where they are, and which of them can be each other's in another run.
//!
//! Each word has several parts. Threads that only write count in parts of their own, and who reads, reads all parts. So writes of
//! different threads neither hide nor order each other, and who has seen what they led to has seen all of them.

use core::sync::atomic::AtomicU64;

/// How many names and files have a word of their own. Where there are more, some share one.
pub(crate) const NAMES: usize = 1 << 10;
pub(crate) const CONTENTS: usize = 1 << 10;
/// How many generators, streams and open files have a word of their own for what is taken from them next.
pub(crate) const POSITIONS: usize = 1 << 8;
/// The word of what folders hold; those of names follow, then those of files, then those of positions.
pub(crate) const FOLDERS: usize = 0;

/// How often each name and each file has changed. Reports show the name.
#[unsafe(export_name = "mayhap_files")]
pub(crate) static WORDS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
const COUNT: usize = (1 + NAMES + CONTENTS + POSITIONS) * PARTS;
/// The parts of a word. Where there are more threads, some share one.
pub(crate) const PARTS: usize = 8;

#[derive(PartialEq, Eq)]
enum Part {
    Name,
    File,
    Position,
}

fn part(address: u64) -> Option<Part> {
    let start = WORDS.as_ptr() as u64;
    match address.checked_sub(start)? as usize / (PARTS * size_of::<AtomicU64>()) {
        FOLDERS => None,
        1..=NAMES => Some(Part::Name),
        at if at <= NAMES + CONTENTS => Some(Part::File),
        at => (at < WORDS.len() / PARTS).then_some(Part::Position),
    }
}

/// Whether what a run did at the one address may be done at the other one in another run. Files and positions get their words in the order of their first
/// uses, and names may differ by a number, so one's word is as good as another's. All other addresses must be the same.
pub(crate) fn are_alike(one: u64, other: u64) -> bool {
    one == other || part(one).is_some_and(|it| part(other) == Some(it))
}
