//! One linear order of a window's events that keeps a closed order, close to the observed one.
//!
//! Of the events that may come next, the one that was observed first does. A thread that has to wait remembers for what, so
//! that most steps look at no row but that of the thread which has just run.
//!
//! Cost: O(threads) a step, and O(threads) again each time that what a thread waited for has run.

use mayhap_trace::EventId;

use super::needs::Needs;
use super::order::{Order, Point};

/// What a thread does next.
#[derive(Clone, Copy)]
enum Next {
    /// This event, at once.
    Ready(EventId),
    /// It waits for so many events of another thread.
    Waits { thread: u32, rank: u32 },
    /// It has no more events.
    Nothing,
}

/// Returns the events from `low` to `slice` in an order that keeps `order`, which must have no cycle.
pub(super) fn linearise(needs: &Needs<'_>, order: &Order, low: &[u32], slice: &[u32]) -> Vec<EventId> {
    let threads = low.len();
    let mut done = low.to_vec();
    let next = |done: &[u32], thread: usize| {
        let point = Point { thread, rank: done[thread] };
        if point.rank >= slice[thread] {
            return Next::Nothing;
        }
        // What was left aside has run, whatever the row says.
        let row = order.row(point).iter().zip(done).enumerate();
        match row.map(|(other, (&rank, &done))| (other, rank, done)).find(|&(_, rank, done)| rank > done) {
            Some((other, rank, _)) => Next::Waits { thread: other as u32, rank },
            None => Next::Ready(needs.event(point)),
        }
    };
    let size: u32 = slice.iter().zip(low).map(|(&end, &low)| end - low).sum();
    let mut schedule = Vec::with_capacity(size as usize);
    let mut nexts: Vec<Next> = (0..threads).map(|thread| next(&done, thread)).collect();
    while schedule.len() < size as usize {
        let mut first: Option<(EventId, usize)> = None;
        for (thread, step) in nexts.iter_mut().enumerate() {
            if let Next::Waits { thread: other, rank } = *step
                && done[other as usize] >= rank
            {
                *step = next(&done, thread);
            }
            if let Next::Ready(id) = *step
                && first.is_none_or(|(least, _)| id < least)
            {
                first = Some((id, thread));
            }
        }
        let (id, thread) = first.expect("a closed order without cycle has a first event");
        done[thread] += 1;
        schedule.push(id);
        nexts[thread] = next(&done, thread);
    }
    schedule
}
