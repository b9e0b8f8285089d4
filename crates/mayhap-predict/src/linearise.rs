//! Runs the nodes of a polygraph one by one, close to the observed order, and says where it gets stuck.
//!
//! A node may run when everything before it in the order has run, no other thread holds the lock it takes, and, if it
//! writes, no strict read of the present value is still to come. Among those that may run, the one observed first does
//! (SeqCheck's and the optimistic-reversal heuristic). A run to the end is a linearisation that keeps every choice.
//!
//! If nothing may run, some thread's next node has everything before it done (the order has no cycle) and is held up
//! by a lock or a pending read. Neither option of that choice is in the order yet, else the node would not be ready or the
//! holder would not have started. So a stuck run always yields an open choice, and deciding it makes progress.
//!
//! Virtual ends run only when nothing else may; sections they closed before another section of the lock started are
//! reported, since then the slice must grow to the real release.
//!
//! Cost: O(nodes × chains).

use crate::closure::{Edge, Node};
use crate::polygraph::{NIL, Polygraph, Role};
use crate::verdict::Why;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// All nodes, in order, and the open sections that were passed by.
    Complete { order: Vec<Node>, passed: Vec<u32> },
    /// An open choice: one of these edges must be added. The first undoes what got the run stuck.
    Stuck([Edge; 2]),
}

#[derive(Clone, Debug, Default)]
struct LockState {
    /// Sections that hold the lock.
    held: Vec<u32>,
    /// Sections that only a virtual end closed.
    ended: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct VariableState {
    write: Node,
    /// Strict reads of that write which have not run.
    pending: u32,
}

/// A run in progress; keeps its tables between runs.
#[derive(Debug, Default)]
pub(crate) struct Lineariser {
    done: Vec<u32>,
    /// Per chain, the (chain, count) that its next node was last seen waiting for.
    waits: Vec<(u32, u32)>,
    locks: Vec<LockState>,
    variables: Vec<VariableState>,
    order: Vec<Node>,
    passed: Vec<u32>,
}

impl Lineariser {
    /// Runs as far as possible.
    pub(crate) fn run(&mut self, graph: &Polygraph) -> Run {
        self.reset(graph);
        while self.order.len() < graph.len() {
            match self.choose(graph) {
                Some(chain) => self.step_with_run(graph, chain),
                None => return Run::Stuck(self.stuck(graph)),
            }
        }
        Run::Complete { order: std::mem::take(&mut self.order), passed: std::mem::take(&mut self.passed) }
    }

    fn reset(&mut self, graph: &Polygraph) {
        let chains = graph.threads.len();
        self.done.clear();
        self.done.resize(chains, 0);
        self.waits.clear();
        self.waits.resize(chains, (0, 0));
        self.locks.clear();
        self.locks.resize(graph.locks.len(), LockState::default());
        self.variables.clear();
        self.variables.resize(graph.variables.len(), VariableState { write: NIL, pending: 0 });
        self.order.clear();
        self.passed.clear();
    }

    fn next(&self, graph: &Polygraph, chain: usize) -> Option<Node> {
        let range = graph.order.chain(chain);
        Some(range.start + self.done[chain]).filter(|&n| n < range.end)
    }

    /// The chain whose next node may run and was observed first.
    fn choose(&mut self, graph: &Polygraph) -> Option<usize> {
        let mut best: Option<(u32, usize)> = None;
        for chain in 0..self.done.len() {
            let Some(node) = self.next(graph, chain) else { continue };
            let observed = graph.events[node as usize].map_or(u32::MAX, |e| e.cell());
            if best.is_some_and(|(b, _)| b <= observed) {
                continue;
            }
            if self.is_ready(graph, chain, node) && self.held_up(graph, node).is_none() {
                best = Some((observed, chain));
            }
        }
        best.map(|(_, chain)| chain)
    }

    /// Everything before the node has run.
    fn is_ready(&mut self, graph: &Polygraph, chain: usize, node: Node) -> bool {
        let (waits_for, count) = self.waits[chain];
        if self.done[waits_for as usize] < count {
            return false;
        }
        for (other, &count) in graph.order.row(node).iter().enumerate() {
            if other != chain && self.done[other] < count {
                self.waits[chain] = (other as u32, count);
                return false;
            }
        }
        true
    }

    /// What keeps a ready node, or one of the run that it begins, from running.
    fn held_up(&self, graph: &Polygraph, node: Node) -> Option<Holder> {
        match graph.run(node) {
            None => self.held_up_after(graph, node, &[]),
            Some(run) => (0..run.len()).find_map(|i| self.held_up_after(graph, run[i], &run[..i])),
        }
    }

    /// What keeps `node` from running right after the nodes `first`: the section that holds its lock, or the write whose
    /// reads are pending.
    fn held_up_after(&self, graph: &Polygraph, node: Node, first: &[Node]) -> Option<Holder> {
        match graph.roles[node as usize] {
            Role::Acquire(section) => {
                let s = &graph.sections[section as usize];
                let chain = graph.order.chain_of(node);
                let holder = self.locks[s.lock as usize].held.iter().copied().find(|&other| {
                    let o = &graph.sections[other as usize];
                    graph.order.chain_of(o.acquire) != chain && !(o.shared && s.shared) && !first.contains(&o.release)
                });
                holder.map(|holds| Holder::Section { wants: section, holds })
            }
            Role::Write(_, variable) => {
                let state = &self.variables[variable as usize];
                let reads = |n: &&Node| graph.roles[**n as usize] == Role::Read(state.write, variable);
                (state.pending > first.iter().filter(reads).count() as u32).then_some(Holder::Write {
                    write: state.write,
                    waits: node,
                    variable,
                })
            }
            _ => None,
        }
    }

    /// Runs the next node of a chain and, if it begins a run, the rest of that.
    fn step_with_run(&mut self, graph: &Polygraph, chain: usize) {
        let node = self.next(graph, chain).expect("the chain was chosen for its next node");
        match graph.run(node) {
            None => self.step(graph, node),
            Some(run) => run.iter().for_each(|&node| self.step(graph, node)),
        }
    }

    fn step(&mut self, graph: &Polygraph, node: Node) {
        self.done[graph.order.chain_of(node)] += 1;
        self.order.push(node);
        match graph.roles[node as usize] {
            Role::Acquire(section) => {
                let s = &graph.sections[section as usize];
                let chain = graph.order.chain_of(node);
                let state = &mut self.locks[s.lock as usize];
                state.held.push(section);
                let passed = state.ended.iter().copied().filter(|&other| {
                    let o = &graph.sections[other as usize];
                    graph.order.chain_of(o.acquire) != chain && !(o.shared && s.shared)
                });
                self.passed.extend(passed);
            }
            Role::Release(section) => {
                self.locks[graph.sections[section as usize].lock as usize].held.retain(|&s| s != section);
            }
            Role::End => {
                for (i, s) in graph.sections.iter().enumerate().filter(|(_, s)| s.closable && s.release == node) {
                    let state = &mut self.locks[s.lock as usize];
                    state.held.retain(|&held| held != i as u32);
                    state.ended.push(i as u32);
                }
            }
            Role::Write(number, variable) => {
                let pending = graph.readers.get(number as usize).len() as u32;
                self.variables[variable as usize] = VariableState { write: node, pending };
            }
            Role::Read(write, variable) if write != NIL => self.variables[variable as usize].pending -= 1,
            _ => {}
        }
    }

    fn stuck(&mut self, graph: &Polygraph) -> [Edge; 2] {
        for chain in 0..self.done.len() {
            let Some(node) = self.next(graph, chain) else { continue };
            if !self.is_ready(graph, chain, node) {
                continue;
            }
            match self.held_up(graph, node) {
                Some(Holder::Section { wants, holds }) => return lock_choice(graph, wants, holds),
                Some(Holder::Write { write, waits, variable }) => {
                    return self.write_choice(graph, waits, write, variable);
                }
                None => {}
            }
        }
        unreachable!("an order without cycles has a node that is ready, and a ready node that nothing holds up runs")
    }

    /// The write `v` comes before the present one, or after a read of it that has not run.
    fn write_choice(&self, graph: &Polygraph, v: Node, write: Node, variable: u32) -> [Edge; 2] {
        let why = Why::Interference(graph.variables[variable as usize]);
        let Role::Write(number, _) = graph.roles[write as usize] else { unreachable!("a write holds writes up") };
        let waiting = |r: &&Node| self.done[graph.order.chain_of(**r)] <= graph.order.place(**r);
        let read = graph.readers.get(number as usize).iter().find(waiting).expect("a read is pending");
        [Edge { from: v, to: write, why }, Edge { from: *read, to: v, why }]
    }
}

enum Holder {
    /// A section wants a lock that another one holds.
    Section { wants: u32, holds: u32 },
    /// A write waits for reads of the present one.
    Write { write: Node, waits: Node, variable: u32 },
}

fn lock_choice(graph: &Polygraph, wants: u32, holds: u32) -> [Edge; 2] {
    let why = graph.why_of(wants);
    let (w, h) = (&graph.sections[wants as usize], &graph.sections[holds as usize]);
    debug_assert!(w.release != NIL && h.release != NIL, "sections that stay open are ordered after all others");
    [Edge { from: w.release, to: h.acquire, why }, Edge { from: h.release, to: w.acquire, why }]
}
