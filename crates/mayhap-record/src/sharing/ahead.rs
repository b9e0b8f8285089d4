//! The first pass made while the program runs: what the recorder takes out of the ring, another thread looks at.
//!
//! If that thread is slower than the program, the recorder waits for it once it is some blocks behind, and the program for the
//! recorder: the pass has to be made anyway before there is a trace.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::capture::repeats::Run;
use crate::sharing::first_pass::Begun;

/// How many blocks the pass may be behind.
const BEHIND: usize = 64;

/// A block's units, and its long runs.
type Part = (Vec<u32>, Vec<Run>);

/// A first pass under way.
pub(crate) struct Ahead {
    send: SyncSender<Part>,
    /// Memory of blocks that were looked at.
    used: Receiver<Part>,
    thread: JoinHandle<Begun>,
}

impl Ahead {
    /// Begins a pass over a run that begins.
    pub(crate) fn start() -> Ahead {
        let (send, receive) = sync_channel::<Part>(BEHIND);
        let (give_back, used) = channel();
        let thread = std::thread::spawn(move || {
            let mut begun = Begun::new();
            for (units, runs) in receive {
                // Programs that do not record their basic blocks are rare: the pass is made again for them.
                begun.look((&units, &runs), true);
                // The recorder may have taken all.
                let _ = give_back.send((units, runs));
            }
            begun
        });
        Ahead { send, used, thread }
    }

    /// Takes the units of the next block, and its long runs.
    pub(crate) fn take(&self, units: &[u32], runs: &[Run]) {
        let mut block = self.used.try_recv().unwrap_or_default();
        block.0.clear();
        block.0.extend_from_slice(units);
        block.1.clear();
        block.1.extend_from_slice(runs);
        // If the thread has failed, the pass is made later.
        let _ = self.send.send(block);
    }

    /// The run is over: what the pass has learnt; `None` if it failed.
    pub(crate) fn finish(self) -> Option<Begun> {
        drop(self.send);
        self.thread.join().ok()
    }
}
