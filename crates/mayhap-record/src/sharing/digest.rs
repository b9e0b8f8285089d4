//! What there is of a block of the recording where none of its accesses is worth keeping.

use mayhap_wire::ring::{SiteKind, access_word};

/// A block in short. The branch of a read before the block is that of the first access after it that tells of a basic block, so the
/// first one after each record stays.
pub(crate) struct Digest {
    /// The numbers of the pages that its accesses touch.
    pub(crate) pages: Vec<u64>,
    /// The records, and after each and at the beginning the first access that tells of a basic block.
    pub(crate) words: Vec<u64>,
}

impl Digest {
    /// The most pages and words of one that is short.
    pub(crate) const MOST: usize = 1 << 10;

    /// It is worth keeping.
    pub(crate) fn is_short(&self) -> bool {
        self.words.len() <= Digest::MOST && self.pages.len() <= Digest::MOST
    }
}

/// Calls and returns since the last word that passed: of those that cancel out none passes.
#[derive(Default)]
pub(crate) struct Calls(Vec<(u32, u64)>);

impl Calls {
    #[inline]
    pub(crate) fn take(&mut self, site: u32, depth: u64) {
        // Nothing that came before at this depth or above is left.
        while self.0.pop_if(|(_, before)| *before >= depth).is_some() {}
        self.0.push((site, depth));
    }

    #[inline]
    pub(crate) fn put(&mut self, words: &mut Vec<u64>) {
        if !self.0.is_empty() {
            words.extend(self.0.drain(..).map(|(site, depth)| access_word(site, depth)));
        }
    }
}

/// Sites of this kind tell calls and returns, which are no steps of the program by themselves.
pub(crate) fn is_call(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Call | SiteKind::Return)
}
