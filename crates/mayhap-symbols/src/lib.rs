//! What code and memory are called: functions, files and lines, variables and their members; and what machine code says.
//!
//! In: the files that a program had loaded, and addresses in them. Out: places in the source, names of data, and facts about
//! instructions, such as which calls have a constant argument and which writes store a constant.
//!
//! This is the only crate that reads object files, debug information and machine code. It must never know recordings, traces or
//! what names are wanted for.
#![forbid(unsafe_code)]

pub mod archive;
mod constant_calls;
mod constant_stores;
mod files;
mod function_names;
mod instructions;
mod java;
mod locals;
mod machine_code;
mod members;
mod module;
mod opaque;
mod rust_code;
pub mod rust_sites;
mod safe_calls;
mod scopes;
mod sums;
mod symbols;

pub use constant_calls::{ConstantCalls, constant_calls};
pub use constant_stores::{Constants, constants};
pub use files::{OpenMp, build_id, is_installed, is_library, needed_libraries};
pub use function_names::{function_name, is_lambda, outside_closures, whole_name};
pub use module::Module;
pub use opaque::Libraries;
pub use rust_code::rust_library;
pub use symbols::{Allocated, LocalBlock, Place, Symbols};
