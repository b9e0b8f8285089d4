//! Which threads wait, and for what: those that still do when the recording ends explain why it stopped.

use mayhap_trace::attachments::waiting::{Waiting, What};
use mayhap_wire::ring::Tag;

use super::Lowering;

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    site: u32,
    what: What,
    object: u64,
}

impl Lowering {
    /// Notes what a record says about waits of its thread.
    pub(super) fn note_wait(&mut self, tag: Tag, site: u32, first: u64, second: u64) {
        let what = match tag {
            Tag::Blocked => match Tag::from_code(second as u8) {
                Some(Tag::Join) => What::Thread,
                Some(Tag::SemWait) => What::Semaphore,
                Some(Tag::WaitEnd) => What::Condition,
                Some(Tag::Parked) => What::Unpark,
                Some(Tag::Receive) => What::Data,
                Some(Tag::Send) => What::Room,
                _ => What::Lock,
            },
            Tag::WaitBegin => What::Condition,
            Tag::BarrierArrive => What::Barrier,
            Tag::Woken => {
                let woken = usize::from(second as u16);
                if let Some(thread) = self.threads.get_mut(woken) {
                    thread.waits = None;
                }
                return;
            }
            Tag::Acquire
            | Tag::SharedAcquire
            | Tag::StdLocked
            | Tag::Parked
            | Tag::SemWait
            | Tag::WaitEnd
            | Tag::Join
            | Tag::BarrierLeave
            | Tag::Failed
            | Tag::Receive
            | Tag::Ready
            | Tag::End => {
                self.thread().waits = None;
                return;
            }
            _ => {
                // That a call has put all of it into a channel is not recorded.
                self.thread().waits.take_if(|begun| begun.what == What::Room);
                return;
            }
        };
        self.thread().waits = Some(Begun { site, what, object: first });
    }

    /// The threads that wait at the end of the recording.
    pub(super) fn waiting(&mut self) -> Vec<Waiting> {
        let all: Vec<(u16, Begun)> = (0..).zip(&self.threads).filter_map(|(n, t)| Some((n, t.waits?))).collect();
        all.into_iter().map(|(number, begun)| self.waiting_thread(number, begun)).collect()
    }

    fn waiting_thread(&mut self, number: u16, begun: Begun) -> Waiting {
        let name_of = |lowering: &Lowering, number: u16| {
            lowering.threads.get(usize::from(number)).map_or(String::new(), |thread| thread.name.clone())
        };
        let (object, holders) = match begun.what {
            What::Thread => (name_of(self, begun.object as u16), Vec::new()),
            What::Unpark => (name_of(self, number), Vec::new()),
            What::Data | What::Room => (self.name_of_channel(begun.object, begun.site), Vec::new()),
            What::Lock => match self.objects.lock(begun.object) {
                Some(lock) => {
                    let name = self.tables.locks.get(lock as usize).to_string();
                    let holders = self.objects.holders(lock).into_iter().map(|holder| name_of(self, holder)).collect();
                    (name, holders)
                }
                None => (self.name(begun.object), Vec::new()),
            },
            _ => (self.name(begun.object), Vec::new()),
        };
        let pc = self.sites.get(begun.site).pc;
        let calls = std::iter::once(pc).chain(self.stacks.callers(number)).filter(|&pc| !self.symbols.is_runtime(pc));
        let places: Vec<_> = calls.flat_map(|pc| self.symbols.frames(pc)).collect();
        // Where the program waits is in its own code, not in the library that it calls for it.
        let location = places.iter().find(|place| !place.is_installed()).or(places.first()).map(ToString::to_string);
        let stack = places.iter().map(ToString::to_string).collect();
        Waiting { thread: name_of(self, number), what: begun.what, object, location, stack, holders }
    }
}
