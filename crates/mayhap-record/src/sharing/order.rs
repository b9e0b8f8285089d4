//! Which earlier moments of other threads must come before a thread's present, as far as creation and joining tell: a
//! part of must-order, kept as vector clocks over segments.
//!
//! A segment of a thread ends where something of another thread comes to be ordered after it. Order that is not tracked
//! (conditions, barriers, atomics, threads beyond [`TRACKED`]) only makes fewer moments ordered, never more.

/// Threads with clocks; a clock has up to this many entries.
const TRACKED: usize = 1 << 10;

#[derive(Clone, Default)]
struct Clock {
    /// The thread's own segment, from 1.
    now: u32,
    /// The last segment that the thread did anything in, once another thread has the turn; 0 for a thread that never ran.
    ran: u32,
    /// By thread: its last segment known to come before.
    known: Vec<u32>,
}

/// The clocks of all threads.
#[derive(Default)]
pub(crate) struct Order {
    clocks: Vec<Clock>,
}

impl Order {
    fn clock(&mut self, thread: u16) -> &mut Clock {
        let index = usize::from(thread);
        if self.clocks.len() <= index {
            self.clocks.resize(index + 1, Clock { now: 1, ran: 0, known: Vec::new() });
        }
        &mut self.clocks[index]
    }

    /// The segment that a thread is in.
    pub(crate) fn now(&mut self, thread: u16) -> u32 {
        self.clock(thread).now
    }

    /// What `from` has done so far comes before what `to` will do.
    fn edge(&mut self, from: u16, to: u16) {
        let ended = self.clock(from).clone();
        self.clock(from).now += 1;
        if usize::from(from).max(usize::from(to)) >= TRACKED {
            return;
        }
        let known = &mut self.clock(to).known;
        if known.len() <= ended.known.len().max(usize::from(from)) {
            known.resize(ended.known.len().max(usize::from(from) + 1), 0);
        }
        for (mine, &theirs) in known.iter_mut().zip(&ended.known) {
            *mine = theirs.max(*mine);
        }
        known[usize::from(from)] = ended.now.max(known[usize::from(from)]);
    }

    /// A thread creates another.
    pub(crate) fn fork(&mut self, parent: u16, child: u16) {
        self.edge(parent, child);
    }

    /// A thread has waited for the end of another.
    pub(crate) fn join(&mut self, parent: u16, child: u16) {
        self.edge(child, parent);
    }

    /// Whatever `thread` did up to segment `segment` comes before what `me` does now.
    #[inline]
    pub(crate) fn is_before(&self, thread: u16, segment: u32, me: u16) -> bool {
        thread == me
            || self
                .clocks
                .get(usize::from(me))
                .and_then(|clock| clock.known.get(usize::from(thread)))
                .is_some_and(|&known| known >= segment)
    }

    /// The turn passes from a thread to another.
    pub(crate) fn leaves(&mut self, thread: u16) {
        let clock = self.clock(thread);
        clock.ran = clock.now;
    }

    /// Whatever any other thread has done so far comes before what `me`, whose turn it is, does now.
    pub(crate) fn is_alone(&self, me: u16) -> bool {
        (0..self.clocks.len()).all(|other| {
            let ran = self.clocks[other].ran;
            ran == 0 || self.is_before(other as u16, ran, me)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creation_and_joining_order_what_came_before_and_nothing_else() {
        let mut order = Order::default();
        let before = order.now(0);
        order.fork(0, 1);
        let between = order.now(0);
        order.leaves(0);
        assert!(order.is_before(0, before, 1) && !order.is_before(0, between, 1));
        let child = order.now(1);
        order.leaves(1);
        assert!(!order.is_before(1, child, 0) && !order.is_alone(0));
        order.join(0, 1);
        assert!(order.is_before(1, child, 0) && order.is_alone(0));
        // Whatever a thread does after it was joined is ordered by nothing.
        assert!(!order.is_before(1, order.clocks[1].now, 0));
        order.leaves(1);
        assert!(!order.is_alone(0));
    }

    #[test]
    fn order_goes_on_through_other_threads() {
        let mut order = Order::default();
        let first = order.now(0);
        order.fork(0, 1);
        order.fork(1, 2);
        assert!(order.is_before(0, first, 2));
        assert!(!order.is_before(2, 1, 0));
    }

    #[test]
    fn threads_beyond_the_tracked_ones_are_not_ordered() {
        let mut order = Order::default();
        order.fork(0, TRACKED as u16);
        assert!(!order.is_before(0, 1, TRACKED as u16));
    }
}
