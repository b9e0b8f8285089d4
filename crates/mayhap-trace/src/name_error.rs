//! Why a name or a value could not enter a table.

/// Why a name could not enter a table.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// The bytes are not UTF-8.
    #[error("a name is not valid UTF-8 (byte {at} of the name)")]
    NotUtf8 {
        /// Offset of the first bad byte within the name.
        at: usize,
    },
    /// The table has as many names as ids allow.
    #[error("more than {limit} {what}")]
    TooMany {
        /// The table.
        what: &'static str,
        /// How many fit.
        limit: usize,
    },
    /// A table that defines ids one by one defined a name twice.
    #[error("the name `{0}` is defined twice")]
    Twice(String),
}
