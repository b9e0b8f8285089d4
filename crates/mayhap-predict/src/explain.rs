//! Refutations in steps that a person can follow.
//!
//! [`chain`] spells out a [`Why::Demand`]: program order, fork, join, notify and what reads saw, one step at a time. It goes back
//! from the later event. Within a thread the demand for the earlier event begins at one event, found by binary search, and enters there
//! from another thread.
//!
//! [`Polygraph::premises`] has, for each order of a contradiction that saturation derived, the path that made the other way round impossible.
//! Edges stand in the order of their insertion, so the path is found again among those before it; it cannot use the edge itself. A
//! path may use derived edges, which then have their own premises, all inserted earlier: the explanation is well-founded.
//!
//! Cost: a chain O(steps × log events); premises one search of the graph a derived edge.

use std::collections::BTreeMap;

use mayhap_trace::{EventId, Op, ThreadId};
use mayhap_witness::Model;

use crate::closure::{Edge, Node};
use crate::context::Context;
use crate::polygraph::{NIL, Polygraph, Role};
use crate::verdict::{Premise, Step, Why};

/// The steps by which `later` demands `earlier` in a model; `None` where it does not.
pub fn chain(context: &Context, model: Model, earlier: EventId, later: EventId) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let (mut at, mut model) = (later, model);
    while at != earlier {
        if !context.demands_event(model, at, earlier) {
            return None;
        }
        if context.thread(at) == context.thread(earlier) {
            steps.push(Step { before: earlier, after: at, why: Why::Must });
            break;
        }
        let (entry, step) = enters(context, model, earlier, at)?;
        if entry != at {
            steps.push(Step { before: entry, after: at, why: Why::Must });
        }
        steps.push(step);
        at = step.before;
        if let Why::ReadsFrom(_) = step.why {
            model = unchanged(model);
        }
    }
    steps.reverse();
    Some(steps)
}

/// What a branch decides by must be unchanged: from there on each read demands the write that it saw.
fn unchanged(model: Model) -> Model {
    match model {
        Model::Branch => Model::Data,
        Model::Causal => Model::Value,
        model => model,
    }
}

/// Where the demand for `earlier` enters the thread of `at`, and the step by which it does.
fn enters(context: &Context, model: Model, earlier: EventId, at: EventId) -> Option<(EventId, Step)> {
    let thread = ThreadId::at(context.thread(at));
    let events = context.relations.thread_events(thread);
    let brings = |model: Model, event: EventId| event == earlier || context.demands_event(model, event, earlier);
    let first = events.partition_point(|&e| !context.demands_event(model, e, earlier));
    let entry = *events.get(first)?;
    let relations = context.relations;
    let event = context.trace.event(entry);
    let saw = |read: EventId| {
        let read_event = context.trace.event(read);
        let open = model.compares_values() && context.values().is_open(read);
        let variable = read_event.variable().filter(|_| read_event.op == Op::Read && !open)?;
        let write = relations.read_from(read).filter(|&w| brings(unchanged(model), w))?;
        Some(Step { before: write, after: read, why: Why::ReadsFrom(variable) })
    };
    let step = match event.op {
        Op::Read if matches!(model, Model::Data | Model::Value) => saw(entry),
        Op::Branch if model.allows_change() => events[..first].iter().find_map(|&read| saw(read)),
        Op::Wait => relations.required_notify(entry).filter(|&n| brings(model, n)).map(|n| must(n, entry)),
        Op::Join => {
            let last = relations.last_of(entry).filter(|&last| brings(model, last));
            let fork = || relations.fork_of(event.child()?).filter(|&fork| brings(model, fork));
            last.or_else(fork).map(|before| must(before, entry))
        }
        _ => None,
    };
    let forked =
        || relations.fork_of(thread).filter(|&fork| brings(model, fork) && first == 0).map(|fork| must(fork, entry));
    let step = step.or_else(forked)?;
    // What a branch decides by entered with the read.
    Some((step.after, step))
}

fn must(before: EventId, after: EventId) -> Step {
    Step { before, after, why: Why::Must }
}

/// Derived steps that are explained at most.
const MOST: usize = 64;

impl Polygraph {
    /// The premises of the cycle that `edge`, which is not inserted, closes: what others follow from first.
    pub(crate) fn premises(&self, edge: Edge) -> Vec<Premise> {
        let all = self.order.edges();
        let mut found: BTreeMap<usize, Premise> = BTreeMap::new();
        let mut open: Vec<(usize, Edge)> = vec![(all.len(), edge)];
        open.extend(self.derived(&self.order.path(edge.to, edge.from)));
        while let Some((index, edge)) = open.pop() {
            if found.contains_key(&index) || found.len() == MOST || !is_choice(edge.why) {
                continue;
            }
            let path = self.because(edge, index);
            open.extend(self.derived(&path.1));
            found.insert(index, Premise { step: self.step(&edge), path: path.0 });
        }
        found.into_values().collect()
    }

    /// The derived edges among these, with their places in the order of insertion.
    fn derived(&self, edges: &[Edge]) -> Vec<(usize, Edge)> {
        let place = |edge: &Edge| self.order.edges().iter().position(|e| e == edge);
        edges.iter().filter(|e| is_choice(e.why)).filter_map(|e| Some((place(e)?, *e))).collect()
    }

    /// The path that settled the choice of an edge, by the first `limit` edges: as steps and as edges.
    fn because(&self, edge: Edge, limit: usize) -> (Vec<Step>, Vec<Edge>) {
        for (from, to) in self.settled_by(edge) {
            if let Some(path) = self.order.path_before(from, to, limit) {
                let (first, last) = (self.event_of(from), self.event_of(to));
                let mut steps = Vec::new();
                let start = path.first().map_or(last, |e| self.event_of(e.from));
                if start != first {
                    steps.push(Step { before: first, after: start, why: Why::Must });
                }
                steps.extend(self.steps(&path, Some(to)));
                return (steps, path);
            }
        }
        (Vec::new(), Vec::new())
    }

    /// The pairs of nodes of which one path settles the choice of an edge.
    fn settled_by(&self, edge: Edge) -> Vec<(Node, Node)> {
        match (self.roles[edge.from as usize], self.roles[edge.to as usize], edge.why) {
            (_, Role::Acquire(later), Why::Lock(lock)) => {
                let release = self.sections[later as usize].release;
                let earlier = self
                    .sections
                    .iter()
                    .filter(|s| s.release == edge.from && self.locks[s.lock as usize] == lock && release != NIL);
                earlier.map(|s| (s.acquire, release)).collect()
            }
            // A strict read comes before a write that its own write precedes.
            (Role::Read(write, _), _, Why::Interference(_)) if write != NIL => vec![(write, edge.to)],
            // A write that reaches a read comes before the write that the read sees.
            (_, Role::Write(number, _), Why::Interference(_)) => {
                self.readers.get(number as usize).iter().map(|&read| (edge.from, read)).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn is_choice(why: Why) -> bool {
    matches!(why, Why::Lock(_) | Why::Interference(_))
}
