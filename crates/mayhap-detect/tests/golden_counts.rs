//! The published counts on the real traces of the corpus.

use mayhap_detect::{Options, Order, detect};
use mayhap_testkit::golden::{self, Count, Published};

/// Compares racy events and distinct locations of the later event on all nine traces.
fn check(order: Order, count: impl Fn(&Published) -> Count) {
    for (name, published) in golden::published() {
        let found = detect(&mut &golden::real(&name), order, &Options::default()).unwrap();
        let found = Count { events: found.racy_events as usize, locations: found.racy_locations as usize };
        assert_eq!(found, count(&published), "{name} by {order}");
    }
    assert_eq!(golden::published().len(), 9);
}

#[test]
fn lockset_counts_are_the_published_ones() {
    check(Order::Lockset, |p| p.lockset);
}

#[test]
fn hb_counts_are_the_published_ones() {
    check(Order::Hb, |p| p.hb);
}

#[test]
fn shb_counts_are_the_published_ones() {
    check(Order::Shb, |p| p.shb);
}

#[test]
fn syncp_counts_are_the_published_ones() {
    check(Order::SyncP, |p| p.syncp);
}
