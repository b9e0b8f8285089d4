//! The exact engine against the brute-force oracle: all targets, all models, all features. It is never undecided.

mod common;

use mayhap_predict::Exact;

#[test]
fn exact_agrees_with_the_oracle() {
    common::campaign(mayhap_testkit::cases(3_000), 1, |context| Box::new(Exact::new(context)));
}
