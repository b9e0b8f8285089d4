//! The paper's flow against the brute-force oracle.

mod common;

use mayhap_predict::PolygraphEngine;

#[test]
fn polygraph_agrees_with_the_oracle() {
    common::campaign(mayhap_testkit::cases(2_000), 1 << 33, |context| Box::new(PolygraphEngine::new(context)));
}
