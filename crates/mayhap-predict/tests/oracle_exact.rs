//! The complete engines against the brute-force oracle: all targets, all models, all features. They are never undecided, so
//! `auto` and `polygraph` say what `exact` says.

mod common;

use mayhap_predict::{Auto, Exact, PolygraphEngine};

#[test]
fn complete_engines_agree_with_the_oracle() {
    common::campaign(
        mayhap_testkit::cases(4_000),
        1,
        &[
            |context| Box::new(Exact::new(context)),
            |context| Box::new(Auto::new(context)),
            |context| Box::new(Auto::new(context).refuting_nearby(2)),
            |context| Box::new(Auto::new(context).searching_states_after(1)),
            |context| Box::new(PolygraphEngine::new(context)),
        ],
    );
}
