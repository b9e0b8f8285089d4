//! Saturation: drops every choice whose reverse path exists, until none is left or a cycle appears.
//!
//! Polygraph paper, rules 1 and 2, with transitive paths instead of single edges (single edges miss the paper's own
//! Fig. 2). For sections: acq2 reaches rel1, so rel2→acq1. For a strict read `r` of `w` and another write `v`: `v` reaches
//! `r`, so v→w; `w` reaches `v`, so r→v. A rule is looked at when a row cell that it depends on changes, and then only for
//! the nearest section or write of that chain: the ones before it follow by program order.
//!
//! A cycle refutes: each edge is implied by those before it. Without a cycle nothing is claimed, although for two threads,
//! and for nearly all small instances of three, any remaining choice may then be made freely.
//!
//! Each edge keeps what it follows from, for [`crate::learn`] to take conflicts apart; clauses learnt there are a third
//! rule, woken by the cells that falsify them.
//!
//! Cost: O(log) a changed cell, beside what [`crate::closure`] takes.

use mayhap_trace::EventId;

use crate::closure::{Edge, Node};
use crate::polygraph::{NIL, Polygraph, Role};
use crate::verdict::{Step, Why};

/// What an edge follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reason {
    #[default]
    /// The question itself, or something that needs no reason any more.
    Given,
    /// The search chose it.
    Decision,
    /// A rule, because the first node reaches the second.
    Path(Node, Node),
    /// A learnt clause, because all its other options are contradicted.
    Clause(u32),
}

impl Polygraph {
    /// Applies the rules to the whole graph: first the edges that building left in the queue, then every cell.
    pub(crate) fn saturate(&mut self) -> Result<(), Edge> {
        self.drain()?;
        for node in 0..self.len() as Node {
            if matches!(self.roles[node as usize], Role::Plain | Role::Acquire(_)) {
                continue;
            }
            for chain in 0..self.threads.len() {
                self.fire(node, chain);
            }
        }
        self.drain()
    }

    /// Adds an edge, as a decision, and what follows from it.
    pub(crate) fn assert(&mut self, edge: Edge) -> Result<(), Edge> {
        self.assert_because(edge, Reason::Decision)
    }

    /// Adds an edge and what follows from it.
    pub(crate) fn assert_because(&mut self, edge: Edge, reason: Reason) -> Result<(), Edge> {
        self.queue.push((edge, reason));
        self.drain()
    }

    fn drain(&mut self) -> Result<(), Edge> {
        while let Some((edge, reason)) = self.queue.pop() {
            let edge = self.over_runs(edge);
            let (before, edges) = (self.order.changed(), self.order.edges().len());
            if let Err(edge) = self.order.insert(edge) {
                self.queue.clear();
                self.failed = reason;
                return Err(edge);
            }
            if self.order.edges().len() > edges {
                // Undoing the order leaves the reasons of edges that are gone.
                self.reasons.resize(edges, Reason::Given);
                self.reasons.push(reason);
            }
            let mut last = None;
            for i in before..self.order.changed() {
                let cell = self.order.change(i);
                if last != Some(cell) {
                    self.fire(cell.0, cell.1);
                    self.wake(cell.0, cell.1);
                }
                last = Some(cell);
            }
        }
        Ok(())
    }

    /// Queues what follows from the nodes of `chain` that are now before `node`.
    fn fire(&mut self, node: Node, chain: usize) {
        if chain == self.order.chain_of(node) {
            return;
        }
        let count = self.order.row(node)[chain];
        if count == 0 {
            return;
        }
        match self.roles[node as usize] {
            Role::Release(section) => self.fire_release(node, section, chain, count),
            Role::End => {
                for section in 0..self.sections.len() as u32 {
                    let s = &self.sections[section as usize];
                    if s.closable && s.release == node {
                        self.fire_release(node, section, chain, count);
                    }
                }
            }
            Role::Read(write, variable) if write != NIL => {
                let v = self.last_write(variable, chain, count);
                if v != NIL && v != write {
                    let why = Why::Interference(self.variables[variable as usize]);
                    self.queue.push((Edge { from: v, to: write, why }, Reason::Path(v, node)));
                }
            }
            Role::Write(_, variable) => {
                let write = self.last_write(variable, chain, count);
                if write != NIL {
                    self.fire_readers(write, node, variable);
                }
            }
            _ => {}
        }
    }

    fn fire_release(&mut self, release: Node, section: u32, chain: usize, count: u32) {
        let s = self.sections[section as usize];
        let rivals = if s.shared { &self.exclusive_sections } else { &self.all_sections };
        let rivals = rivals.get(s.lock as usize * self.threads.len() + chain);
        let before = rivals.partition_point(|r| r.acquire < count);
        if before == 0 {
            return;
        }
        let why = self.why_of(section);
        let edge = match rivals[before - 1].latest_release {
            // A section that stays open comes last, but it reaches this release: the edge closes the cycle.
            NIL => {
                let open = self.open_acquire(s.lock, chain, s.shared);
                Edge { from: release, to: open, why }
            }
            from => Edge { from, to: s.acquire, why },
        };
        if !self.order.reaches(edge.from, edge.to) {
            let rival = self.order.chain(chain).start + rivals[before - 1].acquire;
            self.queue.push((edge, Reason::Path(rival, release)));
        }
    }

    /// The acquire of the section of a lock that is fixed open in a chain.
    fn open_acquire(&self, lock: u32, chain: usize, only_exclusive: bool) -> Node {
        let open = self.sections.iter().find(|s| {
            s.lock == lock
                && s.release == NIL
                && self.order.chain_of(s.acquire) == chain
                && !(only_exclusive && s.shared)
        });
        open.expect("the table says that a section is open").acquire
    }

    fn last_write(&self, variable: u32, chain: usize, count: u32) -> Node {
        let writes = self.writes.get(variable as usize * self.threads.len() + chain);
        let start = self.order.chain(chain).start;
        match writes.partition_point(|&w| w < start + count) {
            0 => NIL,
            n => writes[n - 1],
        }
    }

    fn fire_readers(&mut self, write: Node, later: Node, variable: u32) {
        let Role::Write(number, _) = self.roles[write as usize] else { return };
        let why = Why::Interference(self.variables[variable as usize]);
        for i in 0..self.readers.get(number as usize).len() {
            let from = self.readers.get(number as usize)[i];
            if !self.order.reaches(from, later) {
                self.queue.push((Edge { from, to: later, why }, Reason::Path(write, later)));
            }
        }
    }

    /// The cycle that an edge closes, as events. Steps at virtual ends stand for the last event of their thread.
    pub(crate) fn cycle(&self, edge: Edge) -> Vec<Step> {
        let mut edges = vec![edge];
        edges.extend(self.order.path(edge.to, edge.from));
        self.steps(&edges, Some(edge.from))
    }

    /// Edges as steps, with the steps along threads between them, and after the last up to `end`.
    pub(crate) fn steps(&self, edges: &[Edge], end: Option<Node>) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (i, edge) in edges.iter().enumerate() {
            let step = self.step(edge);
            steps.push(step);
            let next = edges.get(i + 1).map(|e| e.from).or(end).map(|node| self.event_of(node));
            if let Some(next) = next.filter(|&next| next != step.after) {
                steps.push(Step { before: step.after, after: next, why: Why::Must });
            }
        }
        steps
    }

    pub(crate) fn step(&self, edge: &Edge) -> Step {
        Step { before: self.event_of(edge.from), after: self.event_of(edge.to), why: edge.why }
    }

    pub(crate) fn event_of(&self, node: Node) -> EventId {
        let mut node = node;
        loop {
            if let Some(event) = self.events[node as usize] {
                return event;
            }
            node -= 1;
        }
    }
}
