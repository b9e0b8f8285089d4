//! The ladder against the brute-force oracle, with other traces than the exact engine's.

mod common;

use mayhap_predict::Auto;

#[test]
fn auto_agrees_with_the_oracle() {
    common::campaign(mayhap_testkit::cases(3_000), 1 << 32, |context| Box::new(Auto::new(context)));
}
