//! Which memory more than one thread touches, and how accesses overlap there.

pub(crate) mod granule;
pub(crate) mod order;
pub(crate) mod shadow;
pub(crate) mod survey;
