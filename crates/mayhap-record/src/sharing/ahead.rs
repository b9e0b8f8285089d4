//! The first pass made while the program runs: what the recorder takes out of the ring, another thread looks at.
//!
//! If that thread is slower than the program, the recorder waits for it once it is some blocks behind, and the program for the
//! recorder: the pass has to be made anyway before there is a trace.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::sharing::first_pass::Begun;

/// How many blocks the pass may be behind.
const BEHIND: usize = 64;

/// A first pass under way.
pub(crate) struct Ahead {
    send: SyncSender<Vec<u32>>,
    /// Memory of blocks that were looked at.
    used: Receiver<Vec<u32>>,
    thread: JoinHandle<Begun>,
}

impl Ahead {
    /// Begins a pass over a run that begins.
    pub(crate) fn start() -> Ahead {
        let (send, receive) = sync_channel::<Vec<u32>>(BEHIND);
        let (give_back, used) = channel();
        let thread = std::thread::spawn(move || {
            let mut begun = Begun::new();
            for units in receive {
                // Programs that do not record their basic blocks are rare: the pass is made again for them.
                begun.look(&units, true);
                // The recorder may have taken all.
                let _ = give_back.send(units);
            }
            begun
        });
        Ahead { send, used, thread }
    }

    /// Takes the units of the next block.
    pub(crate) fn take(&self, units: &[u32]) {
        let mut block = self.used.try_recv().unwrap_or_default();
        block.clear();
        block.extend_from_slice(units);
        // If the thread has failed, the pass is made later.
        let _ = self.send.send(block);
    }

    /// The run is over: what the pass has learnt; `None` if it failed.
    pub(crate) fn finish(self) -> Option<Begun> {
        drop(self.send);
        self.thread.join().ok()
    }
}
