//! What goes with the events of a trace, as it becomes known.

use mayhap_trace::attachments::ThreadNames;
use mayhap_trace::attachments::waiting::Waiting;
use mayhap_wire::attachment;

use super::Lowering;

impl Lowering {
    /// The next block to write: those that grow with the trace first, the others once it is complete.
    pub(super) fn take_attachment(&mut self) -> Option<(u8, Vec<u8>)> {
        let steps = self.steps.take(self.finished).map(|bytes| (attachment::STEPS, bytes));
        let stacks = || self.stacks.take(self.finished).map(|bytes| (attachment::STACKS, bytes));
        if let Some(attached) = steps.or_else(stacks) {
            return Some(attached);
        }
        if !self.finished {
            return None;
        }
        if let Some(doubts) = self.doubts.take() {
            return Some((attachment::DOUBTS, doubts.to_bytes()));
        }
        if let Some(names) = self.thread_names() {
            return Some((attachment::THREADS, names.to_bytes()));
        }
        if std::mem::replace(&mut self.told_waiting, true) {
            return None;
        }
        let waiting = self.waiting();
        (!waiting.is_empty()).then(|| (attachment::WAITING, Waiting::encode(&waiting)))
    }

    /// The program gives a thread a name: bytes and zeros.
    pub(super) fn name_thread(&mut self, thread: u16, words: [u64; 2]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
        self.called.insert(thread, String::from_utf8_lossy(&bytes).into_owned());
    }

    /// The names that the program gave to threads, once.
    fn thread_names(&mut self) -> Option<ThreadNames> {
        let mut names = ThreadNames::default();
        for (thread, name) in std::mem::take(&mut self.called) {
            names.add(&self.thread_name(thread), &name);
        }
        (!names.is_empty()).then_some(names)
    }
}
