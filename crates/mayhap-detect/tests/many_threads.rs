//! Thousands of threads: what the detectors keep must not grow with threads × threads or threads × sections.

use mayhap_detect::{Detection, Options, Order, detect};
use mayhap_trace::{Trace, format};

/// Main forks all threads and joins them at the end. In between each makes some sections, in an order that mixes them all:
/// what it reads there was written by threads from all over. With `readers` every third section is one of readers. Two
/// accesses without lock are a race by every order.
fn crowd(threads: usize, locks: usize, rounds: usize, readers: bool) -> Trace {
    let mut text = String::new();
    (1..threads).for_each(|t| text += &format!("T0|fork(T{t})\n"));
    for round in 0..rounds {
        for i in 0..threads - 1 {
            let t = 1 + (i * 2_741 + round * 1_009) % (threads - 1);
            let lock = (t * 7 + round) % locks;
            let shared = readers && i % 3 == 0;
            let (acquire, release) = if shared { ("racq", "rrel") } else { ("acq", "rel") };
            // Each lock guards 60 variables.
            let cell = |n: usize| lock + locks * ((t / locks + n) % 60);
            text += &format!("T{t}|{acquire}(L{lock})\n");
            (0..6).for_each(|n| text += &format!("T{t}|r(x{})\n", cell(n * 7)));
            if !shared {
                text += &format!("T{t}|w(x{})\n", cell(17));
            }
            text += &format!("T{t}|{release}(L{lock})\n");
            if i == threads / 2 && round == 1 {
                text += &format!("T{t}|w(bare)\nT{}|w(bare)\n", 1 + t % (threads - 1));
            }
        }
    }
    (1..threads).for_each(|t| text += &format!("T0|join(T{t})\n"));
    format::parse_std(&text).unwrap()
}

fn look(trace: &Trace, order: Order) -> Detection {
    let mut input = trace;
    detect(&mut input, order, &Options::default()).unwrap()
}

fn check(trace: &Trace, most: usize) {
    for order in Order::ALL {
        let found = look(trace, order);
        eprintln!("{order}: {} racy events, {} MB", found.racy_events, found.memory >> 20);
        assert_eq!(found.racy_events, 1, "{order}");
        assert_eq!(found.races.len(), 1, "{order}");
        assert!(found.memory < most << 20, "{order}: {} bytes", found.memory);
    }
}

/// A clock for each section and thread would be 270 MB.
#[test]
fn memory_does_not_grow_with_threads_by_sections() {
    check(&crowd(5_000, 20, 3, false), 60);
}

/// A number for each pair of threads that use a lock would be 50 MB, beside the clocks.
#[test]
fn memory_does_not_grow_with_threads_by_threads() {
    check(&crowd(2_500, 2, 2, true), 60);
}
