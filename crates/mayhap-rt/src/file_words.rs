//! The words that stand for names and files: where they are, and which of them can be each other's in another run.

use core::sync::atomic::AtomicU64;

/// How many names and files have a word of their own. Where there are more, some share one.
pub(crate) const NAMES: usize = 1 << 10;
pub(crate) const CONTENTS: usize = 1 << 10;
/// The word of what folders hold; those of names follow, then those of files.
pub(crate) const FOLDERS: usize = 0;

/// How often each name and each file has changed. Reports show the name.
#[unsafe(export_name = "mayhap_files")]
pub(crate) static WORDS: [AtomicU64; 1 + NAMES + CONTENTS] = [const { AtomicU64::new(0) }; 1 + NAMES + CONTENTS];

#[derive(PartialEq, Eq)]
enum Part {
    Name,
    File,
}

fn part(address: u64) -> Option<Part> {
    let start = WORDS.as_ptr() as u64;
    match address.checked_sub(start)? as usize / size_of::<AtomicU64>() {
        FOLDERS => None,
        1..=NAMES => Some(Part::Name),
        at => (at < WORDS.len()).then_some(Part::File),
    }
}

/// Whether what a run did at the one address may be done at the other one in another run. Files get their words in the order of their first
/// uses, and names may differ by a number, so one file's word is as good as another's. All other addresses must be the same.
pub(crate) fn are_alike(one: u64, other: u64) -> bool {
    one == other || part(one).is_some_and(|it| part(other) == Some(it))
}
