//! What a trace carries besides its events: optional blocks of the native format, each with its writer and its reader here.
//!
//! [`stacks`] has the call stack of each event, [`steps`] what a replay needs, [`run`] how the program was started and how it ended,
//! [`waiting`] which threads waited at the end, [`doubts`] what the recording could not see, [`thread_names`] what the program called its
//! threads.

pub mod doubts;
mod records;
pub mod run;
pub mod stacks;
pub mod steps;
pub mod thread_names;
pub mod waiting;

pub use doubts::Doubts;
pub use run::Run;
pub use thread_names::ThreadNames;
