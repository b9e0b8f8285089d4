//! Makes programs recordable: what compilers, assemblers and cargo are called with, and where the runtime library lies.
//!
//! In: the arguments that a user gives a compiler, the assembly that a compiler writes, a Rust toolchain. Out: the arguments and
//! the assembly that make a program announce what its threads do, and a folder with the runtime library.
//!
//! [`compile`] is about C and C++, [`toolchain`] about Rust, [`runtime`] about the library that both are linked with, which
//! `build.rs` puts into this crate. This crate must never know what is recorded, or what becomes of it.
#![forbid(unsafe_code)]

pub mod compile;
mod error;
pub mod runtime;
pub mod toolchain;

pub use error::Error;
