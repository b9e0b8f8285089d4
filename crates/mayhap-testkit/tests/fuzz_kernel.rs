//! Runs the corpus of the kernel's fuzzer, and as many random inputs.

use mayhap_testkit::fuzz::{Question, kernel};
use mayhap_testkit::{Judge, Random, cases, golden};

#[test]
fn kept_inputs() {
    let folder = golden::folder().join("../fuzz/corpus/kernel");
    let mut accepted = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        kernel(&bytes);
        let question = Question::read(&bytes);
        let judge = Judge::new(&question.trace);
        accepted += usize::from(judge.accepts(&question.target, question.model, &question.schedule));
    }
    assert!(accepted > 10, "{accepted} of the kept inputs are accepted witnesses");
}

#[test]
fn random_inputs() {
    let mut random = Random::new(3);
    for round in 0..cases(20_000) {
        let mut bytes: Vec<u8> = (0..random.below(150)).map(|_| random.bits() as u8).collect();
        // Every other input has properties and values.
        if let Some(first) = bytes.first_mut().filter(|_| round % 2 == 1) {
            *first = 200 + *first % 50;
        }
        kernel(&bytes);
    }
}
