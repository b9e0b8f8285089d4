//! What atomic accesses and fences order, by the C11 memory model with the release sequences of C++20.
//!
//! A release write publishes what its thread knows; an acquire read that sees it learns that. Read-modify-writes hand on what
//! the write that they saw published, with what they publish themselves; any other write ends that. A release fence publishes
//! through the atomic writes of its thread that follow it, an acquire fence learns through the atomic reads before it.
//!
//! Which write a read sees is the latest one in the trace. Sequential consistency adds nothing: its total order of fences and
//! accesses is no part of happens-before.
//!
//! Cost: a join of clocks for each atomic access and fence. Memory: what each atomic variable publishes, and two messages a
//! thread.

use mayhap_trace::{Flags, Op};

use crate::stream::{Access, Sync};

/// An order by clocks through which threads can send each other what they know.
pub(crate) trait Channel {
    /// What a thread knows at some moment, itself included.
    type Message;

    /// What `thread` knows now; the end of its current time.
    fn send(&mut self, thread: usize) -> Self::Message;

    /// `thread` learns a message.
    fn receive(&mut self, thread: usize, message: &Self::Message);

    /// Adds to a message.
    fn merge(&mut self, to: &mut Self::Message, from: &Self::Message);

    /// Returns the same message again.
    fn share(&mut self, message: &Self::Message) -> Self::Message;

    /// Gives back what a message takes.
    fn discard(&mut self, message: Self::Message);
}

/// What a thread has to do with fences.
struct Fences<M> {
    /// What its latest release fence published.
    published: Option<M>,
    /// What its next acquire fence learns.
    to_learn: Option<M>,
}

/// What is published where.
pub(crate) struct Atomics<M> {
    /// What an acquire read of each variable learns. Empty until there is an atomic write.
    variables: Vec<Option<M>>,
    threads: Vec<Fences<M>>,
}

impl<M> Default for Atomics<M> {
    fn default() -> Self {
        Atomics { variables: Vec::new(), threads: Vec::new() }
    }
}

impl<M> Atomics<M> {
    /// No atomic write was made yet, so that other writes need not be looked at.
    #[inline]
    pub(crate) fn are_unused(&self) -> bool {
        self.variables.is_empty()
    }

    /// An atomic read, before it is compared with others.
    pub(crate) fn read<C: Channel<Message = M>>(&mut self, channel: &mut C, access: &Access) {
        let Some(Some(message)) = self.variables.get(access.variable) else { return };
        if acquires(access.flags) {
            channel.receive(access.thread, message);
            return;
        }
        let message = channel.share(message);
        let to_learn = &mut fences(&mut self.threads, access.thread).to_learn;
        add(channel, to_learn, message);
    }

    /// Any write, after it was compared with others.
    pub(crate) fn write<C: Channel<Message = M>>(&mut self, channel: &mut C, access: &Access) {
        let mut message = None;
        if access.flags.is_atomic() {
            if self.variables.len() <= access.variable {
                self.variables.resize_with(access.variable + 1, || None);
            }
            let published = self.threads.get(access.thread).and_then(|fences| fences.published.as_ref());
            message = match published {
                _ if access.flags.order().is_some_and(|order| order.releases()) => Some(channel.send(access.thread)),
                published => published.map(|published| channel.share(published)),
            };
        }
        let Some(slot) = self.variables.get_mut(access.variable) else { return };
        if !access.updates
            && let Some(old) = slot.take()
        {
            channel.discard(old);
        }
        if let Some(message) = message {
            add(channel, slot, message);
        }
    }

    /// A fence.
    pub(crate) fn fence<C: Channel<Message = M>>(&mut self, channel: &mut C, sync: &Sync<'_>) {
        debug_assert!(sync.event.op == Op::Fence);
        let thread = sync.event.thread.index();
        let fences = fences(&mut self.threads, thread);
        if acquires(sync.event.flags)
            && let Some(message) = fences.to_learn.take()
        {
            channel.receive(thread, &message);
            channel.discard(message);
        }
        if sync.event.flags.order().is_some_and(|order| order.releases()) {
            let message = channel.send(thread);
            if let Some(old) = fences.published.replace(message) {
                channel.discard(old);
            }
        }
    }
}

fn acquires(flags: Flags) -> bool {
    flags.order().is_some_and(|order| order.acquires())
}

fn fences<M>(threads: &mut Vec<Fences<M>>, thread: usize) -> &mut Fences<M> {
    if threads.len() <= thread {
        threads.resize_with(thread + 1, || Fences { published: None, to_learn: None });
    }
    &mut threads[thread]
}

fn add<C: Channel>(channel: &mut C, to: &mut Option<C::Message>, message: C::Message) {
    match to {
        Some(known) => {
            channel.merge(known, &message);
            channel.discard(message);
        }
        None => *to = Some(message),
    }
}
