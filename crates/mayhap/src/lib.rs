//! The command line, and the pipeline that strings the crates together.
//!
//! Each subcommand is a file of [`commands`]: its arguments, and a `run` that returns an [`Exit`] or a [`Failure`]. Only
//! `main` turns these into a process's exit code and a message; nothing here exits or prints to standard error but
//! notes and progress ([`notes`]).
//!
//! In: arguments, files, the terminal. Out: reports, files, an exit code. This crate must never decide a verdict, read debug
//! information or parse a recording: the rooms that it calls do.
#![forbid(unsafe_code)]

pub mod commands;
pub mod events;
mod exit;
pub mod files;
pub mod input;
pub mod notes;
pub mod options;
pub mod output;
pub mod reporting;
pub mod table;
pub mod transfer;

pub use exit::{Exit, Failure};
