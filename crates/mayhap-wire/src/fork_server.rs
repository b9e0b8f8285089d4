//! How a program is asked to fork runs of itself before its first own instruction, instead of being started anew for each.
//!
//! The program gets a socket of packets as its standard input. It sends its process number once it is ready. A request is a packet of texts of the form
//! `NAME=VALUE`, each ending in zero, with three descriptors: standard input, output and error of the run. The texts take the place of variables of the environment,
//! in as many bytes. The answer is two packets: the number of the process that makes the run, and how it ended, as `wait` reports it. Numbers are 32 bits, little-endian.

/// The environment variable that says whether the program is to fork runs.
pub const ENVIRONMENT: &str = "MAYHAP_FORK_SERVER";
/// Its value in a process that forks runs.
pub const FORKS: &str = "1";
/// Its value in a process that is a run, as long as the other, since what the environment takes decides where the stack begins.
pub const RUNS: &str = "0";
/// No request is longer.
pub const LONGEST: usize = 1 << 12;
/// How many descriptors a request has.
pub const DESCRIPTORS: usize = 3;
