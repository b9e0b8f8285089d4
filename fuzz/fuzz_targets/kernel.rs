//! The kernel against the second opinion, on any trace, target and schedule.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mayhap_testkit::fuzz::kernel(bytes));
