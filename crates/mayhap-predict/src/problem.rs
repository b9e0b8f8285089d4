//! What the solver is asked: a query in a model, and what the search has settled so far about reads, waits and failed
//! attempts that could be served in more than one way.
//!
//! A [`Repair`] is one such settlement. It speaks of one event, and asks nothing of reorderings without that event (or, for
//! a read or failed attempt, of those in which it may see anything). So a search that tries all repairs of an event loses no
//! reordering, whichever cut that one has.

use mayhap_trace::{EventId, ThreadId};
use mayhap_witness::Model;

use crate::context::Context;
use crate::demands::{Demands, Pairing};
use crate::slice::{Query, Slice};

/// What a strict read must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supplier {
    /// The initial value.
    Initial,
    /// What this write wrote.
    Write(EventId),
}

impl Supplier {
    /// The write, if it is one.
    pub fn write(self) -> Option<EventId> {
        match self {
            Supplier::Initial => None,
            Supplier::Write(write) => Some(write),
        }
    }

    fn of(write: Option<EventId>) -> Self {
        write.map_or(Supplier::Initial, Supplier::Write)
    }
}

/// One way to let an event be served. It applies to reorderings that have the event, and only if the event must be as
/// observed where `strict` says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The read, wait or failed attempt.
    pub event: EventId,
    /// It applies only where the event may not be different from the observed run.
    pub strict: bool,
    /// What a read sees.
    pub supplier: Option<Supplier>,
    /// An event that runs before it.
    pub before: Option<EventId>,
    /// Pairs of events that run in this order where both run.
    pub edges: Vec<(EventId, EventId)>,
    /// The notify that a wait uses up.
    pub takes: Option<EventId>,
}

impl Repair {
    /// A repair that asks for nothing yet.
    pub fn of(event: EventId, strict: bool) -> Self {
        Repair { event, strict, supplier: None, before: None, edges: Vec::new(), takes: None }
    }
}

/// A query with what is settled.
#[derive(Clone, Debug)]
pub struct Problem<'c, 'a> {
    /// The trace and its tables.
    pub context: &'c Context<'a>,
    /// The model.
    pub model: Model,
    /// What serves reads and waits that no repair speaks of.
    pub pairing: Pairing,
    /// What the search has settled.
    pub repairs: Vec<Repair>,
    /// Reads that may see anything although the model says otherwise.
    free: Vec<EventId>,
    demands: Option<&'c Demands>,
}

impl<'c, 'a> Problem<'c, 'a> {
    /// Creates a query with nothing settled.
    pub fn new(context: &'c Context<'a>, query: &Query, model: Model, pairing: Pairing) -> Self {
        let demands = context.demands(model, pairing);
        Problem { context, model, pairing, repairs: Vec::new(), free: query.last.clone(), demands }
    }

    /// How many events of `thread`, another thread than the event's, must come before `event`.
    #[inline]
    pub(crate) fn demanded(&self, event: EventId, thread: usize) -> u32 {
        match self.demands {
            Some(demands) => demands.before(event, thread),
            None => self.context.relations.before(self.context.trace, event, ThreadId::at(thread)) as u32,
        }
    }

    /// Returns the clocks of a model with taint.
    pub(crate) fn taint(&self) -> Option<&'c Demands> {
        self.demands.filter(|_| self.model.allows_change())
    }

    /// Reads of a thread before this rank must be the same.
    #[inline]
    pub(crate) fn strict_until(&self, slice: &Slice, thread: usize) -> u32 {
        match self.model {
            Model::Data | Model::Value => slice.cut[thread],
            Model::Branch | Model::Causal => slice.unchanged[thread],
            Model::Sync => 0,
        }
    }

    /// The read or failed attempt, which is in the slice, must be as observed.
    #[inline]
    pub(crate) fn is_strict(&self, slice: &Slice, event: EventId) -> bool {
        let context = self.context;
        context.rank(event) < self.strict_until(slice, context.thread(event)) && !self.free.contains(&event)
    }

    /// The repair applies to the slice.
    pub(crate) fn applies(&self, slice: &Slice, repair: &Repair) -> bool {
        slice.has(self.context, repair.event) && (!repair.strict || self.is_strict(slice, repair.event))
    }

    /// What a strict read must see; `None` if that is open.
    #[inline]
    pub(crate) fn supplier(&self, read: EventId) -> Option<Supplier> {
        let settled = self.repairs.iter().find(|r| r.event == read && r.supplier.is_some());
        if let Some(repair) = settled {
            return repair.supplier;
        }
        let open = self.pairing == Pairing::Open && self.model.compares_values() && self.context.values().is_open(read);
        (!open).then(|| Supplier::of(self.context.relations.read_from(read)))
    }

    /// The reads that must see a write if they are strict.
    pub(crate) fn readers(&self, write: EventId) -> impl Iterator<Item = EventId> + '_ {
        let observed = self.context.accesses.readers(write).iter().copied();
        let settled = self.repairs.iter().filter(move |r| r.supplier == Some(Supplier::Write(write))).map(|r| r.event);
        let settled = settled.filter(move |&r| self.context.relations.read_from(r) != Some(write));
        let plain = self.repairs.is_empty() && (self.pairing == Pairing::Observed || !self.model.compares_values());
        observed.chain(settled).filter(move |&r| plain || self.supplier(r) == Some(Supplier::Write(write)))
    }

    /// The waits that must come after a notify because it serves them, as far as that is settled without repairs.
    pub(crate) fn woken(&self, notify: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.context.woken(notify).filter(move |&wait| self.notify_of(wait) == Some(notify))
    }

    /// The notify that a wait must come after, as far as that is settled without repairs.
    pub(crate) fn notify_of(&self, wait: EventId) -> Option<EventId> {
        match self.pairing {
            Pairing::Observed => self.context.relations.notify_of(wait),
            Pairing::Open => self.context.relations.required_notify(wait),
        }
    }

    /// The order that the query and the repairs ask for among events of the slice.
    pub(crate) fn edges(&self, query: &Query, slice: &Slice) -> Vec<(EventId, EventId)> {
        let displaced = query.displaced.and_then(|(w, c)| Some((w, c?)));
        let mut edges: Vec<(EventId, EventId)> = query.edges.iter().copied().chain(displaced).collect();
        for repair in self.repairs.iter().filter(|r| self.applies(slice, r)) {
            edges.extend(&repair.edges);
            edges.extend(repair.before.map(|before| (before, repair.event)));
        }
        edges.retain(|&(x, y)| slice.has(self.context, x) && slice.has(self.context, y));
        edges
    }

    /// Two waits that would use up one notify.
    pub(crate) fn doubly_taken(&self, slice: &Slice) -> Option<(EventId, EventId, EventId)> {
        for (i, repair) in self.repairs.iter().enumerate().filter(|(_, r)| r.takes.is_some()) {
            let twin = self.repairs[..i].iter().find(|r| r.takes == repair.takes && r.event != repair.event);
            if let (Some(twin), Some(notify)) = (twin, repair.takes)
                && self.applies(slice, repair)
                && self.applies(slice, twin)
            {
                return Some((twin.event, repair.event, notify));
            }
        }
        None
    }
}
