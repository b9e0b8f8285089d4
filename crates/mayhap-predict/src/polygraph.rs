//! The polygraph of a reorderable region: what must be ordered, and what has a choice.
//!
//! Polygraph paper (CSR/CDSR), graph construction. Edges: must-order, reads-from of strict reads, the target's order.
//! Choices, written ⟨a→b or c→d⟩: for sections of one lock ⟨rel1→acq2 or rel2→acq1⟩; for a strict read `r` of `w` and
//! another write `v` ⟨v→w or r→v⟩. Choices are never listed: they are quadratic in number. Instead there are tables from
//! which, given a new path, the choices that it settles are found by binary search ([`crate::saturate`]).
//!
//! Deviations: a strict read of the initial value comes before every write (the paper's condition is silent:
//! `polygraph_initial_reads.std`); the graph holds the slice, not the trace (`polygraph_no_slicing.std`); the section that
//! a cut leaves open comes after all others of its lock if it is fixed, and is closed by a virtual end of its thread if
//! it is closable, which relaxes the problem: the real release comes after everything the thread does in the slice.
//! A step of several events, and a pair of adjacent ones, is one event as far as order goes: what comes before one of a run
//! comes before its head, what comes after one comes after its tail.
//!
//! Only events that take part in an edge or a choice are nodes. Cost of building: O(events of the region × log) and
//! O(nodes × threads) memory.

use mayhap_trace::{EventId, LockId, NONE, Op, ThreadId, VarId};
use mayhap_witness::Model;

use crate::closure::{Closure, Edge, Node};
use crate::context::Context;
use crate::keyed_lists::Table;
use crate::learn::Clauses;
use crate::problem::{Problem, Supplier};
use crate::reorderable::Reorderable;
use crate::saturate::Reason;
use crate::sections::Section;
use crate::slice::{Query, Slice};
use crate::verdict::Why;

/// No node.
pub(crate) const NIL: Node = Node::MAX;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Takes part in edges only.
    Plain,
    /// Opens a section.
    Acquire(u32),
    /// Closes a section.
    Release(u32),
    /// A strict read: its write ([`NIL`] if that is not in the region), and its variable.
    Read(Node, u32),
    /// A write: its number, and its variable.
    Write(u32, u32),
    /// Where a thread would close what it leaves open.
    End,
}

/// A section of the region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionSection {
    pub lock: u32,
    pub acquire: Node,
    /// [`NIL`] if it is fixed open.
    pub release: Node,
    pub shared: bool,
    /// Open but closable: `release` is the end of the thread.
    pub closable: bool,
}

/// A list of the table of sections: the sections of one lock in one chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionEntry {
    /// Place of the acquire in the chain.
    pub acquire: u32,
    /// The latest release among this section and those before it; [`NIL`] if one of them is fixed open.
    pub latest_release: Node,
}

/// The polygraph.
#[derive(Clone, Debug, Default)]
pub struct Polygraph {
    /// The order so far.
    pub(crate) order: Closure,
    /// Event of each node; `None` for virtual ends.
    pub(crate) events: Vec<Option<EventId>>,
    pub(crate) roles: Vec<Role>,
    /// Thread of each chain.
    pub(crate) threads: Vec<usize>,
    pub(crate) sections: Vec<RegionSection>,
    /// By lock × chain: all sections, and the exclusive ones.
    pub(crate) all_sections: Table<SectionEntry>,
    pub(crate) exclusive_sections: Table<SectionEntry>,
    /// By variable × chain: the writes.
    pub(crate) writes: Table<Node>,
    /// By write: its strict readers.
    pub(crate) readers: Table<Node>,
    pub(crate) locks: Vec<LockId>,
    /// Why the sections of each lock exclude each other.
    whys: Vec<Why>,
    pub(crate) variables: Vec<VarId>,
    /// Runs of nodes with nothing between them: steps of several events, and adjacent events of the target.
    pub(crate) runs: Vec<Vec<Node>>,
    /// The run of each node; [`NIL`] if it is in none. Empty if there are no runs.
    pub(crate) run_of: Vec<u32>,
    /// Edges to be added, with what they follow from.
    pub(crate) queue: Vec<(Edge, Reason)>,
    /// What each edge of the order follows from.
    pub(crate) reasons: Vec<Reason>,
    /// What the edge followed from that last closed a cycle.
    pub(crate) failed: Reason,
    pub(crate) clauses: Clauses,
}

impl Polygraph {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.roles.len()
    }

    /// There is nothing to order.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// Why the section excludes others.
    pub(crate) fn why_of(&self, section: u32) -> Why {
        self.whys[self.sections[section as usize].lock as usize]
    }

    /// The lock of a section.
    pub(crate) fn lock_of(&self, section: u32) -> LockId {
        self.locks[self.sections[section as usize].lock as usize]
    }
}

/// Builds polygraphs; keeps its tables between questions.
#[derive(Debug, Default)]
pub struct Builder {
    /// Chain of each thread; [`NONE`] if it has no event in the region.
    chain_of: Vec<u32>,
    /// Per lock and per variable: 0 unseen, chain + 1 seen in one chain, [`MANY`] in several, then [`NUMBERED`] + number.
    lock_seen: Vec<u32>,
    variable_seen: Vec<u32>,
    touched_locks: Vec<u32>,
    touched_variables: Vec<u32>,
    /// Events that are nodes whatever they do, sorted.
    forced: Vec<EventId>,
    pub(crate) edges: Vec<Edge>,
}

const MANY: u32 = 1 << 30;
const NUMBERED: u32 = 1 << 31;

/// What a polygraph is built from.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'p, 'c, 'a> {
    pub problem: &'p Problem<'c, 'a>,
    pub query: &'p Query,
    pub slice: &'p Slice,
    pub region: &'p Reorderable,
}

impl<'c, 'a> Plan<'_, 'c, 'a> {
    pub(crate) fn context(&self) -> &'c Context<'a> {
        self.problem.context
    }

    fn in_region(&self, event: EventId) -> bool {
        self.region.has(self.problem.context, self.slice, event)
    }

    fn events(&self, thread: usize) -> &'c [EventId] {
        let events = self.context().relations.thread_events(ThreadId::at(thread));
        &events[self.region.from[thread] as usize..self.slice.cut[thread] as usize]
    }

    /// The lock that an event takes, the rank of what ends the section, and whether readers share it: of an acquire, or of a
    /// branch by which its thread knows that it has a word.
    fn taken(&self, id: EventId) -> Option<(usize, u32, bool)> {
        let context = self.context();
        let event = context.trace.event(id);
        if event.op == Op::Branch {
            return self.word_taken(id).map(|s| (s.lock.index(), s.release_rank, false));
        }
        let release = context.relations.matching_release(id).map_or(NONE, |release| context.rank(release));
        Some((event.object as usize, release, event.op.is_shared()))
    }

    /// The section of a word that an event of the region begins.
    fn word_taken(&self, event: EventId) -> Option<&'c Section> {
        let context = self.context();
        let holds = self.problem.model != Model::Sync;
        context.sections.word_taken(context.thread(event), context.rank(event)).filter(|_| holds)
    }

    /// The section of a word, begun in the region, that an event ends.
    fn word_freed(&self, event: EventId) -> Option<&'c Section> {
        let context = self.context();
        let holds = self.problem.model != Model::Sync && context.has_blocks;
        let section = holds.then(|| context.sections.word_freed(context.thread(event), context.rank(event))).flatten();
        section.filter(|s| self.in_region(s.acquire))
    }

    /// The strict readers of a write that are in the region.
    fn strict_readers(&self, write: EventId) -> impl Iterator<Item = EventId> {
        let context = self.context();
        self.problem.readers(write).filter(|&r| self.in_region(r) && self.region.is_strict(context, r))
    }

    fn is_settled_read(&self, read: EventId) -> bool {
        self.region.supplier(self.problem, read).is_some()
    }

    /// The edges that are asked for, between events of the region.
    fn target_edges(&self) -> impl Iterator<Item = (EventId, EventId)> {
        self.region.edges.iter().copied().filter(|&(x, y)| self.in_region(x) && self.in_region(y))
    }
}

impl Builder {
    /// Builds the polygraph and closes its order under the edges that lead forward in observed order. The others, which
    /// the caller must [`Polygraph::assert`], are left in the queue.
    pub(crate) fn build(&mut self, plan: &Plan, graph: &mut Polygraph) {
        self.chains(plan, graph);
        self.survey(plan, graph);
        self.nodes(plan, graph);
        self.sections(plan, graph);
        self.writes(plan, graph);
        self.edges.clear();
        self.must_edges(plan, graph);
        self.access_edges(plan, graph);
        self.lock_edges(graph);
        self.target_edges(plan, graph);
        self.runs(plan, graph);
        self.finish(graph);
    }

    fn chains(&mut self, plan: &Plan, graph: &mut Polygraph) {
        let threads = plan.slice.cut.len();
        graph.threads.clear();
        graph.threads.extend((0..threads).filter(|&t| plan.region.from[t] < plan.slice.cut[t]));
        self.chain_of.clear();
        self.chain_of.resize(threads, NONE);
        for (chain, &thread) in graph.threads.iter().enumerate() {
            self.chain_of[thread] = chain as u32;
        }
    }

    /// Which locks and variables several chains use, and which events are nodes in any case.
    fn survey(&mut self, plan: &Plan, graph: &Polygraph) {
        let context = plan.context();
        self.lock_seen.resize(context.sections.locks(), 0);
        self.variable_seen.resize(context.trace.tables().variables.len(), 0);
        self.forced.clear();
        for (chain, &thread) in graph.threads.iter().enumerate() {
            for &id in plan.events(thread) {
                let event = context.trace.event(id);
                let object = event.object as usize;
                match event.op {
                    Op::Acquire | Op::SharedAcquire => {
                        see(&mut self.lock_seen[object], &mut self.touched_locks, object, chain);
                    }
                    Op::Branch => {
                        if let Some(section) = plan.word_taken(id) {
                            let lock = section.lock.index();
                            see(&mut self.lock_seen[lock], &mut self.touched_locks, lock, chain);
                        }
                    }
                    Op::Write => see(&mut self.variable_seen[object], &mut self.touched_variables, object, chain),
                    Op::Read if plan.is_settled_read(id) => {
                        see(&mut self.variable_seen[object], &mut self.touched_variables, object, chain);
                    }
                    Op::Fork | Op::Join if self.chain_of[object] != NONE => {
                        let events = plan.events(object);
                        self.forced.extend([id, events[0], events[events.len() - 1]]);
                    }
                    Op::Fork | Op::Join | Op::Wait => self.forced.push(id),
                    Op::Notify | Op::NotifyAll if plan.problem.woken(id).next().is_some() => self.forced.push(id),
                    _ => {}
                }
            }
        }
        self.force_target(plan, graph);
        self.forced.sort_unstable();
        self.forced.dedup();
    }

    fn force_target(&mut self, plan: &Plan, graph: &Polygraph) {
        self.forced.extend(plan.target_edges().flat_map(|(x, y)| [x, y]));
        for &event in plan.query.adjacent.iter().flat_map(|(x, y)| [x, y]) {
            self.forced.push(event);
            let (thread, rank) = (plan.context().thread(event), plan.context().rank(event));
            let neighbours = [rank.checked_sub(1), Some(rank + 1)].into_iter().flatten();
            let neighbours = neighbours.filter(|&r| r >= plan.region.from[thread] && r < plan.slice.cut[thread]);
            self.forced.extend(neighbours.map(|r| plan.context().event_at(thread, r)));
        }
        if !plan.region.final_events.is_empty() {
            self.forced.extend(&plan.region.final_events);
            self.forced.extend(graph.threads.iter().filter_map(|&t| plan.events(t).last()));
        }
    }

    fn nodes(&mut self, plan: &Plan, graph: &mut Polygraph) {
        number(&mut self.lock_seen, &mut self.touched_locks, &mut graph.locks, LockId::at);
        graph.whys.clear();
        graph.whys.extend(graph.locks.iter().map(|&lock| plan.context().sections.why(lock)));
        number(&mut self.variable_seen, &mut self.touched_variables, &mut graph.variables, VarId::at);
        graph.events.clear();
        graph.roles.clear();
        let mut lengths = Vec::with_capacity(graph.threads.len());
        for &thread in &graph.threads {
            let before = graph.events.len();
            let mut leaves_open = false;
            for &id in plan.events(thread) {
                if let Some(role) = self.role(plan, id, &mut leaves_open) {
                    graph.events.push(Some(id));
                    graph.roles.push(role);
                }
                if plan.word_freed(id).is_some_and(|s| self.lock_seen[s.lock.index()] >= NUMBERED) {
                    // The write also ends a section: two nodes for one event.
                    graph.events.push(Some(id));
                    graph.roles.push(Role::Release(NONE));
                }
            }
            if leaves_open {
                graph.events.push(None);
                graph.roles.push(Role::End);
            }
            lengths.push((graph.events.len() - before) as u32);
        }
        graph.order.reset(&lengths);
    }

    /// What an event does, with references to nodes still to be filled in; `None` if it is no node.
    fn role(&self, plan: &Plan, id: EventId, leaves_open: &mut bool) -> Option<Role> {
        let event = plan.context().trace.event(id);
        let object = event.object as usize;
        let numbered = |seen: &[u32]| Some(seen[object]).filter(|&s| s >= NUMBERED).map(|s| s - NUMBERED);
        let role = match event.op {
            Op::Acquire | Op::SharedAcquire | Op::Branch => {
                let taken = plan.taken(id).filter(|&(lock, ..)| self.lock_seen[lock] >= NUMBERED);
                taken.map(|(_, rank, _)| {
                    let thread = event.thread.index();
                    *leaves_open |= rank != NONE && rank >= plan.slice.cut[thread] && rank < plan.slice.limit[thread];
                    Role::Acquire(NONE)
                })
            }
            Op::Release | Op::SharedRelease => {
                let acquire = plan.context().relations.acquire_of(id).filter(|&a| plan.in_region(a));
                acquire.and(numbered(&self.lock_seen)).map(|_| Role::Release(NONE))
            }
            Op::Write => numbered(&self.variable_seen).map(|v| Role::Write(NONE, v)),
            Op::Read if plan.is_settled_read(id) => numbered(&self.variable_seen).map(|v| Role::Read(NIL, v)),
            _ => None,
        };
        role.or_else(|| self.forced.binary_search(&id).ok().map(|_| Role::Plain))
    }

    /// The node of an event, if it has one.
    pub(crate) fn node(&self, plan: &Plan, graph: &Polygraph, event: EventId) -> Option<Node> {
        let chain = self.chain_of[plan.context().thread(event)];
        if chain == NONE {
            return None;
        }
        let range = graph.order.chain(chain as usize);
        let events = &graph.events[range.start as usize..range.end as usize];
        // Virtual ends stand last.
        let at = events.partition_point(|e| e.is_some_and(|e| e < event));
        (events.get(at) == Some(&Some(event))).then(|| range.start + at as u32)
    }

    /// The node of an event that ends a section; a write that frees a word has two.
    fn release_node(&self, plan: &Plan, graph: &Polygraph, event: EventId) -> Node {
        let node = self.node(plan, graph, event).expect("what ends a section of the region is a node");
        let release = |n: &Node| matches!(graph.roles[*n as usize], Role::Release(_));
        if release(&node) { node } else { node + 1 }
    }

    fn sections(&mut self, plan: &Plan, graph: &mut Polygraph) {
        let mut sections = Vec::new();
        for node in 0..graph.roles.len() as Node {
            let Role::Acquire(_) = graph.roles[node as usize] else { continue };
            let id = graph.events[node as usize].expect("virtual ends acquire nothing");
            let (lock, rank, shared) = plan.taken(id).expect("an acquire begins a section");
            let thread = plan.context().thread(id);
            let open = rank == NONE || rank >= plan.slice.cut[thread];
            let closable = open && rank != NONE && rank < plan.slice.limit[thread];
            let release = match (open, closable) {
                (false, _) => self.release_node(plan, graph, plan.context().event_at(thread, rank)),
                (true, true) => graph.order.chain(graph.order.chain_of(node)).end - 1,
                (true, false) => NIL,
            };
            let lock = self.lock_seen[lock] - NUMBERED;
            sections.push(RegionSection { lock, acquire: node, release, shared, closable });
        }
        sections.sort_by_key(|s| s.lock);
        graph.sections = sections;
        for (i, section) in graph.sections.iter().enumerate() {
            graph.roles[section.acquire as usize] = Role::Acquire(i as u32);
            if section.release != NIL && !section.closable {
                graph.roles[section.release as usize] = Role::Release(i as u32);
            }
        }
        graph.all_sections = section_table(graph, |_| true);
        graph.exclusive_sections = section_table(graph, |s| !s.shared);
    }

    fn writes(&mut self, plan: &Plan, graph: &mut Polygraph) {
        let chains = graph.threads.len();
        let mut writes: Vec<(usize, Node)> = Vec::new();
        for node in 0..graph.roles.len() as Node {
            match graph.roles[node as usize] {
                Role::Write(_, variable) => {
                    writes.push((variable as usize * chains + graph.order.chain_of(node), node));
                }
                Role::Read(_, variable) => {
                    let id = graph.events[node as usize].expect("virtual ends read nothing");
                    let write = plan.problem.supplier(id).and_then(Supplier::write);
                    let write = write.and_then(|w| self.node(plan, graph, w));
                    graph.roles[node as usize] = Role::Read(write.unwrap_or(NIL), variable);
                }
                _ => {}
            }
        }
        writes.sort_unstable();
        let mut readers: Vec<(usize, Node)> = Vec::new();
        for (number, &(_, node)) in writes.iter().enumerate() {
            let Role::Write(_, variable) = graph.roles[node as usize] else { unreachable!("a write was listed") };
            graph.roles[node as usize] = Role::Write(number as u32, variable);
            let id = graph.events[node as usize].expect("virtual ends write nothing");
            readers.extend(plan.strict_readers(id).filter_map(|r| Some((number, self.node(plan, graph, r)?))));
        }
        graph.readers = Table::new(writes.len(), readers.into_iter());
        graph.writes = Table::new(graph.variables.len() * chains, writes.into_iter());
    }

    fn must_edges(&mut self, plan: &Plan, graph: &Polygraph) {
        let mut edges = Vec::new();
        for &id in &self.forced {
            let event = plan.context().trace.event(id);
            let object = event.object as usize;
            let first_last = |thread: usize| {
                let events = plan.events(thread);
                events.first().copied().zip(events.last().copied())
            };
            let mut edge = |from: EventId, to: EventId| {
                if let (Some(from), Some(to)) = (self.node(plan, graph, from), self.node(plan, graph, to)) {
                    edges.push(Edge { from, to, why: Why::Must });
                }
            };
            match event.op {
                Op::Fork => match first_last(object) {
                    Some((first, _)) => edge(id, first),
                    None => {
                        let join = plan.context().relations.join_of(ThreadId::at(object));
                        join.into_iter().for_each(|join| edge(id, join));
                    }
                },
                Op::Join => {
                    if let Some((_, last)) = first_last(object) {
                        edge(last, id);
                    }
                }
                Op::Wait => plan.problem.notify_of(id).into_iter().for_each(|notify| edge(notify, id)),
                _ => {}
            }
        }
        self.edges.append(&mut edges);
    }

    fn access_edges(&mut self, plan: &Plan, graph: &Polygraph) {
        let chains = graph.threads.len();
        for node in 0..graph.roles.len() as Node {
            let id = graph.events[node as usize];
            match graph.roles[node as usize] {
                Role::Read(write, variable) => {
                    let name = graph.variables[variable as usize];
                    if write != NIL {
                        self.edges.push(Edge { from: write, to: node, why: Why::ReadsFrom(name) });
                        let own = graph.writes.get(variable as usize * chains + graph.order.chain_of(node));
                        let before = own.partition_point(|&w| w < node);
                        if before > 0 && own[before - 1] != write {
                            let why = Why::Interference(name);
                            self.edges.push(Edge { from: own[before - 1], to: write, why });
                        }
                    } else if id.is_some_and(|id| plan.problem.supplier(id) == Some(Supplier::Initial)) {
                        for chain in (0..chains).filter(|&c| c != graph.order.chain_of(node)) {
                            let first = graph.writes.get(variable as usize * chains + chain).first();
                            let why = Why::Interference(name);
                            self.edges.extend(first.map(|&to| Edge { from: node, to, why }));
                        }
                    }
                }
                Role::Write(_, variable) => {
                    let previous = id.and_then(|id| plan.context().accesses.previous_write(plan.context().trace, id));
                    for reader in previous.into_iter().flat_map(|w| plan.strict_readers(w)) {
                        let why = Why::Interference(graph.variables[variable as usize]);
                        let from = self.node(plan, graph, reader);
                        self.edges.extend(from.map(|from| Edge { from, to: node, why }));
                    }
                }
                _ => {}
            }
        }
    }

    /// A section that is fixed open comes after all others of its lock.
    fn lock_edges(&mut self, graph: &Polygraph) {
        let chains = graph.threads.len();
        for fixed in graph.sections.iter().filter(|s| s.release == NIL) {
            let why = graph.whys[fixed.lock as usize];
            for chain in (0..chains).filter(|&c| c != graph.order.chain_of(fixed.acquire)) {
                let rivals = if fixed.shared { &graph.exclusive_sections } else { &graph.all_sections };
                if let Some(last) = rivals.get(fixed.lock as usize * chains + chain).last() {
                    debug_assert_ne!(last.latest_release, NIL, "two sections of one lock are fixed open");
                    self.edges.push(Edge { from: last.latest_release, to: fixed.acquire, why });
                }
            }
        }
    }

    fn target_edges(&mut self, plan: &Plan, graph: &Polygraph) {
        let why = Why::Target;
        let node = |event| self.node(plan, graph, event).expect("events of the target are nodes");
        let mut edges: Vec<Edge> = plan.target_edges().map(|(x, y)| Edge { from: node(x), to: node(y), why }).collect();
        for &event in &plan.region.final_events {
            let to = node(event);
            for chain in (0..graph.threads.len()).filter(|&c| c != graph.order.chain_of(to)) {
                // A section that only a virtual end closes may as well stay open.
                let last = graph.order.chain(chain).rev().find(|&n| graph.events[n as usize].is_some());
                edges.extend(last.map(|from| Edge { from, to, why }));
            }
        }
        self.edges.append(&mut edges);
    }

    /// Closes the order under the edges that the observed order keeps and queues the others.
    fn finish(&mut self, graph: &mut Polygraph) {
        let mut order: Vec<Node> = (0..graph.roles.len() as Node).collect();
        order.sort_by_key(|&n| graph.events[n as usize].map_or(NONE, EventId::cell));
        let position = |n: Node| graph.events[n as usize].map_or(NONE, EventId::cell);
        graph.queue.clear();
        for edge in &mut self.edges {
            *edge = graph.over_runs(*edge);
        }
        let later = |e: &Edge| position(e.from) >= position(e.to);
        graph.queue.extend(self.edges.iter().filter(|e| later(e)).map(|&e| (e, Reason::Given)));
        self.edges.retain(|e| !later(e));
        graph.order.close_initial(&self.edges, &order);
        graph.reasons.clear();
        graph.clauses.clear();
        for lock in graph.locks.iter() {
            self.lock_seen[lock.index()] = 0;
        }
        for variable in graph.variables.iter() {
            self.variable_seen[variable.index()] = 0;
        }
    }
}

fn see(seen: &mut u32, touched: &mut Vec<u32>, object: usize, chain: usize) {
    match *seen {
        0 => {
            *seen = chain as u32 + 1;
            touched.push(object as u32);
        }
        s if s != chain as u32 + 1 => *seen = MANY,
        _ => {}
    }
}

/// Numbers the objects that several chains use and forgets the others.
fn number<T>(seen: &mut [u32], touched: &mut Vec<u32>, names: &mut Vec<T>, id: fn(usize) -> T) {
    names.clear();
    for object in touched.drain(..) {
        let cell = &mut seen[object as usize];
        if *cell == MANY {
            *cell = NUMBERED + names.len() as u32;
            names.push(id(object as usize));
        } else {
            *cell = 0;
        }
    }
}

fn section_table(graph: &Polygraph, wanted: fn(&RegionSection) -> bool) -> Table<SectionEntry> {
    let chains = graph.threads.len();
    let mut last: Option<(usize, Node)> = None;
    let sections = graph.sections.iter().filter(|s| wanted(s)).map(|s| {
        let key = s.lock as usize * chains + graph.order.chain_of(s.acquire);
        // NIL is the largest node, so an open section stays the latest.
        let latest = last.filter(|&(k, _)| k == key).map_or(s.release, |(_, before)| before.max(s.release));
        last = Some((key, latest));
        (key, SectionEntry { acquire: graph.order.place(s.acquire), latest_release: latest })
    });
    Table::new(graph.locks.len() * chains, sections)
}
