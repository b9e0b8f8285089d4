//! One file a table.

pub(crate) mod explore;
pub(crate) mod growth;
pub(crate) mod ipa;
pub(crate) mod java;
pub(crate) mod kinds;
pub(crate) mod nondeterminism;
pub(crate) mod peers;
pub(crate) mod polygraph;
pub(crate) mod seqcheck;
pub(crate) mod slowdown;
pub(crate) mod wcp;
