//! The agent inside a Java virtual machine. Classes are rewritten when they are loaded, so that their threads announce what they do; the announcements
//! go to the recording runtime, which is loaded as a library beside this one.
//!
//! **One order.** The runtime lets one thread run at a time, as it does in programs of machine code; a thread that waits for its turn waits in a native
//! method, so the machine can stop the others for its own work. What may block is done by the agent on locks of its own before the program does it
//! on the machine's, so threads wait where the runtime knows it.
//!
//! In: the class files that the machine loads. Out: records in the ring of the runtime. This crate must never know traces, analyses or reports.
//!
//! **The library.** Java's own classes stay as they are, but for calls at the entry of a few methods. Calls of them are recorded as what they mean.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod agent;
mod arguments;
mod callbacks;
mod calls;
mod class;
mod classes;
mod conditions;
mod descriptors;
mod fast_hooks;
mod fast_path;
mod handles;
mod hooks;
mod jvm;
mod known;
mod library;
mod locks;
mod objects;
mod opening;
mod pending;
mod places;
mod position;
mod real;
mod references;
mod rewrite;
mod runtime;
mod shadow;
mod wrappers;
