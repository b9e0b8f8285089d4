//! Threads in the code of Rust's standard library that waits for a mutex or on a condition, which has no hooks: what is known of the words that it changes.
//!
//! A mutex is one word, a condition one that counts notifies. A thread that waits on a condition gives the mutex up, sleeps unless the count has changed, and takes the mutex
//! again; a thread for which the mutex is not free marks its word and sleeps on that. All of these change the mutex's word only.

use std::collections::{BTreeMap, BTreeSet};

/// What threads wait for.
#[derive(Default)]
pub(crate) struct StdWaits {
    /// Threads that take a mutex which was not free.
    wants: BTreeMap<u32, u64>,
    /// Threads that wait on a condition, with the mutex.
    on_conditions: BTreeMap<u32, u64>,
    mutexes: BTreeSet<u64>,
    conditions: BTreeSet<u64>,
}

impl StdWaits {
    /// The thread takes a mutex that was not free.
    pub(crate) fn wants(&mut self, thread: u32, mutex: u64) {
        self.wants.insert(thread, mutex);
        self.mutexes.insert(mutex);
    }

    /// The thread gives a mutex up to wait on a condition.
    pub(crate) fn gives_up(&mut self, thread: u32, mutex: u64) {
        self.on_conditions.insert(thread, mutex);
        self.mutexes.insert(mutex);
    }

    /// The thread begins to wait on a condition; says whether that is one of Rust's library.
    pub(crate) fn begins(&mut self, thread: u32, condition: u64) -> bool {
        let is_one = self.is_on_condition(thread);
        if is_one {
            self.conditions.insert(condition);
        }
        is_one
    }

    /// A condition of Rust's library is notified.
    pub(crate) fn notifies(&mut self, condition: u64) {
        self.conditions.insert(condition);
    }

    /// The thread has a mutex again, or at last; says whether it was known to wait for it.
    pub(crate) fn ends(&mut self, thread: u32) -> bool {
        self.wants.remove(&thread).or_else(|| self.on_conditions.remove(&thread)).is_some()
    }

    /// The memory begins a new life.
    pub(crate) fn forget(&mut self, address: u64, bytes: u64) {
        let is_there = |word: &u64| (address..address.saturating_add(bytes)).contains(word);
        self.mutexes.retain(|word| !is_there(word));
        self.conditions.retain(|word| !is_there(word));
    }

    /// The word that any step of the thread changes unseen.
    pub(crate) fn hidden(&self, thread: u32) -> Option<u64> {
        self.wants.get(&thread).or_else(|| self.on_conditions.get(&thread)).copied()
    }

    /// The mutex that the thread waits for.
    pub(crate) fn wanted(&self, thread: u32) -> Option<u64> {
        self.wants.get(&thread).copied()
    }

    /// The threads that wait for mutexes.
    pub(crate) fn wanting(&self) -> Vec<u32> {
        self.wants.keys().copied().collect()
    }

    pub(crate) fn is_on_condition(&self, thread: u32) -> bool {
        self.on_conditions.contains_key(&thread)
    }

    pub(crate) fn is_mutex(&self, word: u64) -> bool {
        self.mutexes.contains(&word)
    }

    pub(crate) fn is_condition(&self, word: u64) -> bool {
        self.conditions.contains(&word)
    }
}
