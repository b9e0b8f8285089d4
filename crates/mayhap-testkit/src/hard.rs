//! Orders that are hard to decide: choices between critical sections that contradict each other in threes.

use mayhap_trace::{EventId, Trace};

use crate::Random;

/// A trace, and an order that is asked of all its events.
#[derive(Debug)]
pub struct Hard {
    /// The trace: each lock has two sections of two events, in separate threads.
    pub trace: Trace,
    /// Pairs that are to run in this order.
    pub edges: Vec<(EventId, EventId)>,
    locks: usize,
}

/// Which of a lock's two sections comes first is a choice. Random sets of three choices close a cycle, so that no order may contain
/// all three: `forbidden` such sets over `locks` locks, in several independent `families`.
///
/// # Panics
/// If there are fewer than three locks.
pub fn forbidden_triples(locks: usize, forbidden: usize, families: usize, seed: u64) -> Hard {
    assert!(locks >= 3, "three choices are forbidden at a time");
    let mut text = String::new();
    for lock in 0..locks * families {
        for thread in [2 * lock, 2 * lock + 1] {
            text += &format!("T{thread}|acq(l{lock})\nT{thread}|rel(l{lock})\n");
        }
    }
    let trace = mayhap_trace::format::parse_std(&text).expect("the text is an STD trace");
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for family in 0..families {
        for _ in 0..forbidden {
            let mut chosen: Vec<usize> = Vec::new();
            while chosen.len() < 3 {
                let lock = family * locks + random.below(locks);
                if !chosen.iter().any(|&c| c / 2 == lock) {
                    chosen.push(2 * lock + random.below(2));
                }
            }
            // Section c comes first: then its release comes before the other one's acquire, which leads to the release of
            // the next choice's first section.
            for (i, &c) in chosen.iter().enumerate() {
                edges.push((EventId::at(2 * (c ^ 1)), EventId::at(2 * chosen[(i + 1) % 3] + 1)));
            }
        }
    }
    Hard { trace, edges, locks: locks * families }
}

impl Hard {
    /// Whether some order exists; tries every choice.
    ///
    /// # Panics
    /// If there are too many ways.
    pub fn is_feasible(&self) -> bool {
        assert!(self.locks <= 16, "{} choices are too many to try them all", self.locks);
        (0..1u32 << self.locks).any(|choices| self.has_no_cycle(choices))
    }

    /// Whether the second section of lock `i` comes first, which is bit `i` of the choices.
    fn has_no_cycle(&self, choices: u32) -> bool {
        let events = self.trace.len();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); events];
        let mut waits_for = vec![0; events];
        let sections = (0..2 * self.locks).map(|s| (2 * s, 2 * s + 1));
        let chosen = (0..self.locks).map(|lock| {
            let first = 2 * lock + (choices >> lock & 1) as usize;
            (2 * first + 1, 2 * (first ^ 1))
        });
        let asked = self.edges.iter().map(|(x, y)| (x.index(), y.index()));
        for (x, y) in sections.chain(chosen).chain(asked) {
            after[x].push(y);
            waits_for[y] += 1;
        }
        let mut ready: Vec<usize> = (0..events).filter(|&e| waits_for[e] == 0).collect();
        let mut ran = 0;
        while let Some(event) = ready.pop() {
            ran += 1;
            for &next in &after[event] {
                waits_for[next] -= 1;
                if waits_for[next] == 0 {
                    ready.push(next);
                }
            }
        }
        ran == events
    }
}
