//! What there is of a block of the recording where none of its accesses is worth keeping.

use mayhap_wire::call_frame;
use mayhap_wire::ring::{SiteKind, access_word};

/// A block in short. A read before the block may decide where the accesses after it go, up to the first one that enters a basic
/// block; so those after each record stay.
pub(crate) struct Digest {
    /// The numbers of the pages that its accesses touch.
    pub(crate) pages: Vec<u64>,
    /// The records, and after each and at the beginning the accesses up to the first one that enters a basic block.
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
    pub(crate) fn take(&mut self, site: u32, address: u64) {
        // Nothing that came before at this depth or above is left.
        while self.0.pop_if(|(_, before)| call_frame::depth(*before) >= call_frame::depth(address)).is_some() {}
        self.0.push((site, address));
    }

    #[inline]
    pub(crate) fn put(&mut self, words: &mut Vec<u64>) {
        if !self.0.is_empty() {
            words.extend(self.0.drain(..).map(|(site, address)| access_word(site, address)));
        }
    }
}

/// Sites of this kind tell calls and returns, which are no steps of the program by themselves.
pub(crate) fn is_call(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Call | SiteKind::Return)
}
