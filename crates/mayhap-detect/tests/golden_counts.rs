//! The published counts on the shared traces.

use mayhap_detect::{Detection, Options, Order, detect};
use mayhap_trace::format::parse_std;

fn run(trace: &str, order: Order) -> Detection {
    let path = format!("{}/../../corpus/traces/{trace}.std", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    detect(&mut &parse_std(&text).unwrap(), order, &Options::default()).unwrap()
}

/// Racy events and distinct locations of the later event, as published.
const TABLE: [(&str, [(u64, u64); 3]); 9] = [
    ("account", [(10, 3), (8, 3), (3, 1)]),
    ("bubblesort", [(1355, 7), (602, 5), (269, 5)]),
    ("bufwriter", [(7500, 11), (8, 4), (8, 4)]),
    ("derby", [(25813, 146), (57, 16), (29, 10)]),
    ("ftpserver", [(8397, 119), (125, 25), (69, 21)]),
    ("lang", [(1700, 6), (800, 2), (400, 1)]),
    ("mergesort", [(56, 3), (52, 3), (1, 1)]),
    ("moldyn", [(20810, 4), (20580, 3), (103, 3)]),
    ("twostage", [(30, 5), (4, 1), (4, 1)]),
];

fn check(column: usize, order: Order) {
    for (trace, counts) in TABLE {
        let found = run(trace, order);
        assert_eq!((found.racy_events, found.racy_locations), counts[column], "{trace} by {order}");
    }
}

#[test]
fn lockset_counts_are_the_published_ones() {
    check(0, Order::Lockset);
}

#[test]
fn hb_counts_are_the_published_ones() {
    check(1, Order::Hb);
}

#[test]
fn shb_counts_are_the_published_ones() {
    check(2, Order::Shb);
}
