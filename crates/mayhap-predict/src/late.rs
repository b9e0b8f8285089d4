//! The late region: the part of a slice whose order has to be searched for. The rest runs first, in observed order.
//!
//! The observed order of a slice keeps everything but, perhaps, the locks that the cut leaves open and the order that the
//! target asks for. The late region `U` is the least part of the slice such that
//! - it is closed upwards under program order, must-order, strict reads-from and the target's edges; a target edge that
//!   the observed order breaks has its head in `U`;
//! - a section with its acquire outside `U` and its release in `U`, or not in the slice, has no excluding section that
//!   starts in `U`, nor one outside `U` that was observed later;
//! - a strict read in `U` whose write is outside has no other write of the variable in `U` that could come before the
//!   write, and none outside that was observed after the read. (Writes after the read in its own thread, or after the
//!   write in its, always come after the read and do no harm in `U`.)
//!
//! Then the slice can be ordered iff `U` can be after the rest has run in observed order: take an order of the slice, run
//! the rest in observed order first and `U` as that order has it. Edges never lead from `U` to the rest; sections that lie
//! on one side are kept apart by the order of their side; the other cases are those that the list excludes. So a verdict
//! on `U` is a verdict on the slice, and it costs what `U` is large, not the trace.
//!
//! This is where optimistic reversals (Shi, Mathur, Pavlogiannis 2024) stop at a cycle; we go on with an exact search.
//!
//! Cost: each event of `U` is looked at once, as long as there are not too many; per event O(threads log n), plus rounds over
//! the open locks.

use mayhap_trace::{EventId, Op, ThreadId, VarId};
use mayhap_witness::Model;

use crate::context::Context;
use crate::sections::Section;
use crate::slice::{Query, Slice};

/// Computes late regions; keeps its tables between questions.
#[derive(Debug, Default)]
pub struct Late {
    /// First event of `U` in each thread; the cut where the thread has none.
    pub from: Vec<u32>,
    /// Per thread, how far (downwards) its events of `U` have been looked at.
    looked: Vec<u32>,
    /// Strict reads in `U` whose write is outside.
    pending: Vec<(EventId, EventId)>,
    /// Events per thread whose reads are strict.
    pub strict: Vec<u32>,
    /// Reads that are never strict.
    free: Vec<EventId>,
}

impl Late {
    /// Finds the late region of a slice, unless it has more than `most` events: then the answer is `false`, as soon as that
    /// is known.
    pub fn find(&mut self, context: &Context, query: &Query, slice: &Slice, model: Model, most: u32) -> bool {
        self.start(context, query, slice, model);
        self.seed(context, query, slice);
        loop {
            if !self.look(context, slice, most) {
                return false;
            }
            if !self.straddle(context, slice) & !self.follow(context, query, slice) & !self.interfere(context, slice) {
                return true;
            }
        }
    }

    /// Everything is late: the plain polygraph of a slice.
    pub fn everything(&mut self, context: &Context, query: &Query, slice: &Slice, model: Model) {
        self.start(context, query, slice, model);
        self.from.fill(0);
    }

    fn start(&mut self, context: &Context, query: &Query, slice: &Slice, model: Model) {
        self.from.clone_from(&slice.cut);
        self.looked.clone_from(&slice.cut);
        self.pending.clear();
        self.free.clone_from(&query.last);
        self.strict.clear();
        self.strict.extend(slice.cut.iter().enumerate().map(|(thread, &cut)| match model {
            Model::Data | Model::Value => cut,
            Model::Branch | Model::Causal => context.decided(thread, cut),
            Model::Sync => 0,
        }));
    }

    /// Nothing is late.
    pub fn is_empty(&self, slice: &Slice) -> bool {
        self.from == slice.cut
    }

    /// How many events are late, as far as is known.
    pub fn size(&self, slice: &Slice) -> u32 {
        self.from.iter().zip(&slice.cut).map(|(from, cut)| cut - from).sum()
    }

    /// The event is in `U`.
    pub fn has(&self, context: &Context, slice: &Slice, event: EventId) -> bool {
        let (thread, rank) = (context.thread(event), context.rank(event));
        self.from[thread] <= rank && rank < slice.cut[thread]
    }

    /// The read, which is in the slice, must see the write it saw.
    pub fn is_strict(&self, context: &Context, read: EventId) -> bool {
        context.rank(read) < self.strict[context.thread(read)] && !self.free.contains(&read)
    }

    fn push(&mut self, context: &Context, slice: &Slice, event: EventId) -> bool {
        let (thread, rank) = (context.thread(event), context.rank(event));
        let moves = rank < slice.cut[thread] && rank < self.from[thread];
        if moves {
            self.from[thread] = rank;
        }
        moves
    }

    fn seed(&mut self, context: &Context, query: &Query, slice: &Slice) {
        for &(x, y) in query.edges.iter().filter(|(x, y)| x > y) {
            debug_assert!(slice.has(context, x));
            self.push(context, slice, y);
        }
        for &event in query.adjacent.iter().flat_map(|(x, y)| [x, y]).chain(&query.final_event) {
            self.push(context, slice, event);
        }
        if let Some((w, Some(c))) = query.displaced
            && w > c
            && slice.has(context, w)
        {
            self.push(context, slice, c);
        }
    }

    /// Looks at all events that are new in `U`, unless `U` has more than so many.
    fn look(&mut self, context: &Context, slice: &Slice, most: u32) -> bool {
        while let Some(thread) = (0..self.from.len()).find(|&t| self.from[t] < self.looked[t]) {
            if self.looked[thread] == slice.cut[thread]
                && let Some(join) = context.relations.join_of(ThreadId::at(thread))
            {
                self.push(context, slice, join);
            }
            if self.size(slice) > most {
                return false;
            }
            let ranks = self.from[thread]..self.looked[thread];
            self.looked[thread] = self.from[thread];
            for rank in ranks.rev() {
                self.look_at(context, slice, context.event_at(thread, rank));
            }
        }
        true
    }

    fn look_at(&mut self, context: &Context, slice: &Slice, id: EventId) {
        let event = context.trace.event(id);
        match event.op {
            Op::Fork => {
                let child = event.object as usize;
                if slice.cut[child] > 0 {
                    self.from[child] = 0;
                }
                if let Some(join) = context.relations.join_of(ThreadId::at(child)) {
                    self.push(context, slice, join);
                }
            }
            Op::Notify | Op::NotifyAll => {
                for wait in context.woken(id) {
                    self.push(context, slice, wait);
                }
            }
            Op::Write => {
                for &read in context.accesses.readers(id) {
                    if slice.has(context, read) && self.is_strict(context, read) {
                        self.push(context, slice, read);
                    }
                }
            }
            Op::Read if self.is_strict(context, id) => match context.relations.partner(id) {
                Some(write) => self.pending.push((id, write)),
                None => self.after_initial_read(context, slice, id, VarId::at(event.object as usize)),
            },
            _ => {}
        }
    }

    /// All writes come after a strict read of the initial value.
    fn after_initial_read(&mut self, context: &Context, slice: &Slice, read: EventId, variable: VarId) {
        for (thread, writes) in context.accesses.writes_of(variable) {
            if thread.index() != context.thread(read) {
                self.push(context, slice, writes[0]);
            }
        }
    }

    /// Straddling sections: pulls acquires into `U`. True if `U` grew.
    fn straddle(&mut self, context: &Context, slice: &Slice) -> bool {
        let mut grew = false;
        for thread in 0..self.from.len() {
            let mut lowest: Option<&Section> = None;
            for section in context.open_sections(ThreadId::at(thread), self.from[thread]) {
                let harmed = context.sections.rivals(section, &slice.cut).any(|rival| {
                    rival.acquire > section.acquire || rival.acquire_rank >= self.from[rival.thread.index()]
                });
                if harmed && lowest.is_none_or(|l| section.acquire < l.acquire) {
                    lowest = Some(section);
                }
            }
            grew |= lowest.is_some_and(|section| self.push(context, slice, section.acquire));
        }
        grew
    }

    /// The target's edges lead upwards.
    fn follow(&mut self, context: &Context, query: &Query, slice: &Slice) -> bool {
        let displaced = query.displaced.and_then(|(w, c)| Some((w, c?)));
        let mut grew = false;
        for &(x, y) in query.edges.iter().chain(&displaced) {
            grew |= self.has(context, slice, x) && self.push(context, slice, y);
        }
        grew
    }

    /// Pulls the writes of strict reads, and writes that would come in between, into `U`.
    fn interfere(&mut self, context: &Context, slice: &Slice) -> bool {
        let mut grew = false;
        let pending = std::mem::take(&mut self.pending);
        for (read, write) in pending {
            if self.has(context, slice, write) {
                continue;
            }
            if self.disturbed(context, slice, read, write, &mut grew) {
                grew |= self.push(context, slice, write);
            } else {
                self.pending.push((read, write));
            }
        }
        grew
    }

    /// Some write of `U` could come before `write`. Pulls in writes that were observed after the read.
    fn disturbed(&mut self, context: &Context, slice: &Slice, read: EventId, write: EventId, grew: &mut bool) -> bool {
        let (reader, writer) = (context.thread(read), context.thread(write));
        let variable = VarId::at(context.trace.columns().objects[read.index()] as usize);
        let mut disturbed = false;
        for (thread, writes) in context.accesses.writes_of(variable) {
            let thread = thread.index();
            let within = if thread == reader { context.rank(read) } else { slice.cut[thread] };
            let count = writes.partition_point(|&w| context.rank(w) < within);
            if count == 0 || writes[count - 1] == write {
                continue;
            }
            if thread != reader && writes[count - 1] > read {
                let first_after = writes[writes.partition_point(|&w| w < read)];
                *grew |= self.push(context, slice, first_after);
            }
            disturbed |= thread != writer && context.rank(writes[count - 1]) >= self.from[thread];
        }
        disturbed
    }
}
