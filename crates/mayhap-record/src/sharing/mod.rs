//! Which memory more than one thread touches, and how accesses overlap there.

pub(crate) mod ahead;
pub(crate) mod digest;
pub(crate) mod first_pass;
pub(crate) mod frames;
pub(crate) mod lifetimes;
pub(crate) mod order;
mod repeating;
pub(crate) mod shadow_table;
pub(crate) mod sharing_state;
