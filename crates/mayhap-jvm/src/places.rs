//! Places in the code of classes that call hooks.

use crate::class::pool::Member;

/// What a place in the code is about.
#[derive(Debug)]
pub(crate) enum What {
    /// Nothing that has a name.
    Plain,
    Field(Member),
    Call(Member),
}

/// A place in the code that calls a hook.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) method: String,
    pub(crate) line: u16,
    /// A value that was read before may have decided how the thread came here.
    pub(crate) branched: bool,
    /// It calls the method of a class that the own class extends, whatever the object's class has.
    pub(crate) is_super: bool,
    /// It accesses a static field.
    pub(crate) is_constant: bool,
    pub(crate) what: What,
}

/// The name of a class as the language writes it, without its package.
pub(crate) fn simple(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
