//! Runs: nodes of a polygraph with nothing between them, which are the steps of several events and the adjacent events of a
//! target.
//!
//! As far as order goes a run is one node: an edge to one of its nodes leads to its head, an edge from one of them from its
//! tail. So what comes before one comes before all, and the rules of [`crate::saturate`] need not know of runs.
//! Adjacent events of different threads also tie their neighbours: what a thread does before its event of the run comes
//! before the head.
//!
//! Invariant: every edge of the order that leads into or out of a run leads to its head or from its tail.
//! Cost: O(nodes) to build, O(1) an edge.

use crate::closure::{Edge, Node};
use crate::polygraph::{Builder, NIL, Plan, Polygraph};
use crate::verdict::Why;

impl Polygraph {
    /// The run of a node, if it is in one.
    #[inline]
    pub(crate) fn run(&self, node: Node) -> Option<&[Node]> {
        let run = *self.run_of.get(node as usize)?;
        (run != NIL).then(|| &self.runs[run as usize][..])
    }

    /// The edge as it holds for runs: from the tail of one to the head of another.
    #[inline]
    pub(crate) fn over_runs(&self, edge: Edge) -> Edge {
        if self.run_of.is_empty() {
            return edge;
        }
        let (before, after) = (self.run_of[edge.from as usize], self.run_of[edge.to as usize]);
        if before == after && before != NIL {
            return edge;
        }
        let tail = if before == NIL { edge.from } else { *self.runs[before as usize].last().unwrap_or(&edge.from) };
        let head = if after == NIL { edge.to } else { self.runs[after as usize][0] };
        Edge { from: tail, to: head, why: edge.why }
    }

    /// Adds a run of nodes; one node alone is none.
    fn add_run(&mut self, nodes: Vec<Node>) {
        if nodes.len() > 1 {
            let number = self.runs.len() as u32;
            nodes.iter().for_each(|&node| self.run_of[node as usize] = number);
            self.runs.push(nodes);
        }
    }
}

impl Builder {
    /// Makes runs of steps with several nodes and of adjacent pairs.
    pub(crate) fn runs(&mut self, plan: &Plan, graph: &mut Polygraph) {
        graph.runs.clear();
        graph.run_of.clear();
        if !plan.context().has_blocks && plan.query.adjacent.is_empty() {
            return;
        }
        graph.run_of.resize(graph.roles.len(), NIL);
        for chain in (0..graph.threads.len()).filter(|_| plan.context().has_blocks) {
            self.step_runs(plan, graph, chain);
        }
        for &(x, y) in &plan.query.adjacent {
            let node = |event| self.node(plan, graph, event).expect("events of the target are nodes");
            let (mut x, y) = (node(x), node(y));
            if graph.events.get(x as usize + 1) == Some(&graph.events[x as usize]) {
                // A write that frees a word has two nodes.
                x += 1;
            }
            let of = |node: Node| graph.run(node).map_or(vec![node], <[Node]>::to_vec);
            let (mut before, after) = (of(x), of(y));
            let within = before.windows(2).any(|pair| pair == [x, y]);
            if !within && (before.last() != Some(&x) || after.first() != Some(&y) || before == after) {
                // Something of a step comes between them.
                self.edges.push(Edge { from: y, to: x, why: Why::Target });
            } else if !within {
                before.extend(after);
                let number = graph.runs.len() as u32;
                before.iter().for_each(|&node| graph.run_of[node as usize] = number);
                graph.runs.push(before);
            }
        }
        if !plan.query.adjacent.is_empty() {
            self.edges_of_runs(graph);
        }
    }

    /// The runs of one chain: nodes whose events are joined to each other.
    fn step_runs(&self, plan: &Plan, graph: &mut Polygraph, chain: usize) {
        let context = plan.context();
        let mut steps: Vec<Node> = Vec::new();
        for node in graph.order.chain(chain) {
            let Some(event) = graph.events[node as usize] else { break };
            let (thread, rank) = (context.thread(event), context.rank(event));
            let start = context.step_start(thread, rank);
            let before = steps.last().and_then(|&n| graph.events[n as usize]);
            if before.is_some_and(|before| context.rank(before) < start) {
                graph.add_run(std::mem::take(&mut steps));
            }
            steps.push(node);
        }
        graph.add_run(steps);
    }

    /// All of a run of several threads comes after what comes directly before one of it in its thread; likewise before.
    fn edges_of_runs(&mut self, graph: &Polygraph) {
        for run in &graph.runs {
            let (head, tail) = (run[0], run[run.len() - 1]);
            for &node in run {
                let chain = graph.order.chain(graph.order.chain_of(node));
                if node > chain.start && node != head && !run.contains(&(node - 1)) {
                    self.edges.push(Edge { from: node - 1, to: head, why: Why::Target });
                }
                if node + 1 < chain.end && node != tail && !run.contains(&(node + 1)) {
                    self.edges.push(Edge { from: tail, to: node + 1, why: Why::Target });
                }
            }
        }
    }
}
