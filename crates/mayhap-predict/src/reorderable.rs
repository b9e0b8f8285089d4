//! The reorderable region: the part of a slice whose order has to be searched for. The rest runs first, in observed order.
//!
//! The observed order of a slice keeps everything but, perhaps, the locks that the cut leaves open, the order that the
//! target asks for, and what the search settled otherwise than observed. The region `U` is the least part of the slice
//! such that
//! - it is closed upwards under program order, must-order, strict reads-from and the order asked for; an edge of that order
//!   that the observed order breaks has its head in `U`; no step of several events lies partly in `U`;
//! - a section with its acquire outside `U` and its release in `U`, or not in the slice, has no excluding section that
//!   starts in `U`, nor one outside `U` that was observed later;
//! - a strict read that is to see another write than observed is in `U`, and that write is;
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
use crate::problem::{Problem, Supplier};
use crate::sections::Section;
use crate::slice::{Query, Slice};

/// Computes reorderable regions; keeps its tables between questions.
#[derive(Debug, Default)]
pub struct Reorderable {
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
    /// Events that come after all others.
    pub final_events: Vec<EventId>,
    /// The order that the query and the repairs ask for, among events of the slice.
    pub edges: Vec<(EventId, EventId)>,
}

impl Reorderable {
    /// Finds the reorderable region of a slice, unless it has more than `most` events: then the answer is `false`, as soon
    /// as that is known.
    pub fn find(&mut self, problem: &Problem, query: &Query, slice: &Slice, most: u32) -> bool {
        self.start(problem, query, slice);
        self.seed(problem, query, slice);
        loop {
            if !self.look(problem, slice, most) {
                return false;
            }
            let context = problem.context;
            if !self.straddle(problem, slice) & !self.follow(context, slice) & !self.interfere(context, slice) {
                return true;
            }
        }
    }

    /// Everything is in the region: the plain polygraph of a slice.
    pub fn everything(&mut self, problem: &Problem, query: &Query, slice: &Slice) {
        self.start(problem, query, slice);
        self.from.fill(0);
    }

    /// The part of a slice that was observed from this place of the trace on, and the events that come last. It is no
    /// reorderable region: what its order contradicts is contradicted in the slice, but an order of it says nothing.
    pub(crate) fn since(&mut self, problem: &Problem, query: &Query, slice: &Slice, place: usize) {
        self.start(problem, query, slice);
        let context = problem.context;
        for thread in 0..self.from.len() {
            let events = &context.relations.thread_events(ThreadId::at(thread))[..slice.cut[thread] as usize];
            let rank = events.partition_point(|e| e.index() < place) as u32;
            self.from[thread] = if rank < slice.cut[thread] { context.step_start(thread, rank) } else { rank };
        }
        for i in 0..self.final_events.len() {
            self.push(context, slice, self.final_events[i]);
        }
    }

    fn start(&mut self, problem: &Problem, query: &Query, slice: &Slice) {
        let context = problem.context;
        self.from.clone_from(&slice.cut);
        self.looked.clone_from(&slice.cut);
        self.pending.clear();
        self.free.clone_from(&query.last);
        self.edges = problem.edges(query, slice);
        self.final_events.clear();
        self.final_events.extend(query.final_event);
        self.final_events.extend(slice.part_steps(context).filter(|&e| query.final_event != Some(e)));
        self.strict.clear();
        self.strict.extend(slice.cut.iter().enumerate().map(|(thread, &cut)| match problem.model {
            Model::Data | Model::Value => cut,
            Model::Branch | Model::Causal => slice.unchanged[thread].max(context.decided(thread, cut)),
            Model::Sync => 0,
        }));
    }

    /// Nothing is reorderable.
    pub fn is_empty(&self, slice: &Slice) -> bool {
        self.from == slice.cut
    }

    /// How many events are reorderable, as far as is known.
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

    /// What a read of the slice must see; `None` if it may see anything.
    #[inline]
    pub(crate) fn supplier(&self, problem: &Problem, read: EventId) -> Option<Supplier> {
        if self.is_strict(problem.context, read) { problem.supplier(read) } else { None }
    }

    fn push(&mut self, context: &Context, slice: &Slice, event: EventId) -> bool {
        let (thread, rank) = (context.thread(event), context.rank(event));
        let moves = rank < slice.cut[thread] && rank < self.from[thread];
        if moves {
            self.from[thread] = if context.has_blocks { context.step_start(thread, rank) } else { rank };
        }
        moves
    }

    fn seed(&mut self, problem: &Problem, query: &Query, slice: &Slice) {
        let context = problem.context;
        let edges = std::mem::take(&mut self.edges);
        for &(x, y) in edges.iter().filter(|(x, y)| x > y) {
            debug_assert!(slice.has(context, x));
            self.push(context, slice, y);
        }
        self.edges = edges;
        for &event in query.adjacent.iter().flat_map(|(x, y)| [x, y]) {
            self.push(context, slice, event);
        }
        for i in 0..self.final_events.len() {
            self.push(context, slice, self.final_events[i]);
        }
        for repair in problem.repairs.iter().filter(|r| problem.applies(slice, r)) {
            let Some(supplier) = repair.supplier else { continue };
            if supplier.write() != context.relations.read_from(repair.event) {
                self.push(context, slice, repair.event);
                supplier.write().map(|write| self.push(context, slice, write));
            }
        }
    }

    /// Looks at all events that are new in `U`, unless `U` has more than so many.
    fn look(&mut self, problem: &Problem, slice: &Slice, most: u32) -> bool {
        let context = problem.context;
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
                self.look_at(problem, slice, context.event_at(thread, rank));
            }
        }
        true
    }

    fn look_at(&mut self, problem: &Problem, slice: &Slice, id: EventId) {
        let context = problem.context;
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
                for wait in problem.woken(id) {
                    self.push(context, slice, wait);
                }
            }
            Op::Write => {
                for read in problem.readers(id) {
                    if slice.has(context, read) && self.is_strict(context, read) {
                        self.push(context, slice, read);
                    }
                }
            }
            Op::Read => match self.supplier(problem, id) {
                Some(Supplier::Write(write)) => self.pending.push((id, write)),
                Some(Supplier::Initial) => {
                    self.after_initial_read(context, slice, id, VarId::at(event.object as usize));
                }
                None => {}
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
    fn straddle(&mut self, problem: &Problem, slice: &Slice) -> bool {
        let context = problem.context;
        let mut grew = false;
        for thread in 0..self.from.len() {
            let mut lowest: Option<&Section> = None;
            for section in context.open_sections(problem.model, ThreadId::at(thread), self.from[thread]) {
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

    /// The edges that are asked for lead upwards.
    fn follow(&mut self, context: &Context, slice: &Slice) -> bool {
        let edges = std::mem::take(&mut self.edges);
        let mut grew = false;
        for &(x, y) in &edges {
            grew |= self.has(context, slice, x) && self.push(context, slice, y);
        }
        self.edges = edges;
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
