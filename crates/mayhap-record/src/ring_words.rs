//! Words of the ring, one access or record at a time.

use mayhap_wire::ring::{Tag, split_access, split_record};

/// What one or more words say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    /// An access at a site to an address; [`BRANCHED`](mayhap_wire::ring::BRANCHED) may be added to the site.
    Access(u32, u64),
    /// A record: tag, argument, following words.
    Record(Tag, u32, &'a [u64]),
}

/// Splits words. Stops before a record that is not all there; `None` where the words make no sense.
pub(crate) struct Words<'a> {
    words: &'a [u64],
    at: usize,
    broken: bool,
}

impl<'a> Words<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Words { words, at: 0, broken: false }
    }

    /// How many words were split.
    pub(crate) fn done(&self) -> usize {
        self.at
    }

    /// The words at [`Self::done`] are neither an access nor a record.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    #[inline]
    fn next(&mut self) -> Option<Word<'a>> {
        let &word = self.words.get(self.at)?;
        if let Some((site, address)) = split_access(word) {
            self.at += 1;
            return Some(Word::Access(site, address));
        }
        let Some((tag, following, argument)) = split_record(word) else {
            self.broken = true;
            return None;
        };
        let body = self.words.get(self.at + 1..self.at + 1 + following)?;
        self.at += 1 + following;
        Some(Word::Record(tag, argument, body))
    }
}

/// The following word at `index`, 0 where a record is shorter than it should be.
#[inline]
pub(crate) fn following(body: &[u64], index: usize) -> u64 {
    body.get(index).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_wire::ring::{access_word, record_word};

    #[test]
    fn words_split_into_accesses_and_records() {
        let words = [access_word(3, 0x1000), record_word(Tag::Alloc, 2, 7), 0x2000, 16, record_word(Tag::Join, 1, 1)];
        let mut split = Words::new(&words);
        assert_eq!(split.next(), Some(Word::Access(3, 0x1000)));
        assert_eq!(split.next(), Some(Word::Record(Tag::Alloc, 7, &[0x2000, 16])));
        assert_eq!(split.next(), None);
        assert_eq!((split.done(), split.is_broken()), (4, false));
        let mut broken = Words::new(&[0xff]);
        assert_eq!(broken.next(), None);
        assert!(broken.is_broken());
    }
}
