//! The two heuristics of the polygraph paper: the order of causal precedence, and lookahead. See [`crate::polygraph_engine`].

use hashbrown::HashMap;
use mayhap_trace::{EventId, LockId, Op};

use crate::closure::{Edge, Node};
use crate::context::Context;
use crate::linearise::{Lineariser, Run};
use crate::polygraph::{NIL, Polygraph};

/// Choices that a lookahead combines at most, whatever the number of threads: the selections double with each.
pub(crate) const MOST: usize = 4;
/// Open choices that a lookahead considers at most.
const CHOICES: usize = 24;
/// Selections that the lookahead of one question tries at most.
const EFFORT: u64 = 20_000;

/// What a selection of lookahead is followed by, and what a selection that is cyclic itself counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As printed: paths only, and a cyclic selection leads nowhere.
    Literal,
    /// Paths only; a cyclic selection leads everywhere.
    Vacuous,
    /// Saturation after each selected edge; a contradiction leads everywhere. The strongest, and what the engine uses.
    Saturating,
}

/// The paper's heuristics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guide {
    /// Choices that a lookahead combines.
    pub lookahead: usize,
}

impl Guide {
    /// Tries the CP order. A completed run, or `None` with the graph as it was.
    pub(crate) fn causal_precedence(
        self,
        context: &Context,
        graph: &mut Polygraph,
        lineariser: &mut Lineariser,
    ) -> Option<(Vec<Node>, Vec<u32>)> {
        let mark = graph.order.mark();
        let edges = conflicting_sections(context, graph);
        if edges.into_iter().all(|edge| graph.assert(edge).is_ok())
            && let Run::Complete { order, passed } = lineariser.run(graph)
        {
            return Some((order, passed));
        }
        graph.order.undo(mark);
        None
    }

    /// Drops options that lookahead refutes, until none is. The error is the refutation of the whole graph.
    pub(crate) fn look_ahead(self, graph: &mut Polygraph) -> Result<(), Edge> {
        let mut effort = EFFORT;
        let mut k = 1;
        while k <= self.lookahead && effort > 0 {
            k = if look_ahead_once(graph, k, Reading::Saturating, &mut effort)? { 1 } else { k + 1 };
        }
        Ok(())
    }
}

/// One round of lookahead over all open choices with up to `k` others. `true` if an option was dropped.
pub(crate) fn look_ahead_once(
    graph: &mut Polygraph,
    k: usize,
    reading: Reading,
    effort: &mut u64,
) -> Result<bool, Edge> {
    let choices = open_choices(graph);
    let mut dropped = false;
    if choices.len() > CHOICES {
        return Ok(false);
    }
    for (i, options) in choices.iter().enumerate() {
        let others: Vec<[Edge; 2]> =
            choices.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, others)| *others).collect();
        for (option, other) in [(options[0], options[1]), (options[1], options[0])] {
            if is_open(graph, options) && contradicted(graph, option, &others, k, reading, effort) {
                graph.assert(other)?;
                dropped = true;
            }
        }
    }
    Ok(dropped)
}

/// Some set of up to `k` choices leads to the reverse of the option whichever way they go.
fn contradicted(
    graph: &mut Polygraph,
    option: Edge,
    choices: &[[Edge; 2]],
    k: usize,
    reading: Reading,
    effort: &mut u64,
) -> bool {
    if k == 0 {
        return false;
    }
    (0..choices.len()).any(|i| {
        is_open(graph, &choices[i])
            && choices[i].iter().all(|&edge| {
                if *effort == 0 {
                    return false;
                }
                *effort -= 1;
                let mark = graph.order.mark();
                let added = match reading {
                    Reading::Saturating => graph.assert(edge),
                    Reading::Literal | Reading::Vacuous => graph.order.insert(edge),
                };
                let leads = match added {
                    Err(_) => reading != Reading::Literal,
                    Ok(()) => {
                        graph.order.reaches(option.to, option.from)
                            || contradicted(graph, option, &choices[i + 1..], k - 1, reading, effort)
                    }
                };
                graph.order.undo(mark);
                leads
            })
    })
}

/// Neither option holds yet.
fn is_open(graph: &Polygraph, options: &[Edge; 2]) -> bool {
    options.iter().all(|e| !graph.order.reaches(e.from, e.to))
}

/// The open choices between sections, as many as a lookahead may take and one more.
fn open_choices(graph: &Polygraph) -> Vec<[Edge; 2]> {
    let mut choices = Vec::new();
    let sections = &graph.sections;
    for (i, a) in sections.iter().enumerate() {
        let why = graph.why_of(i as u32);
        for b in sections[i + 1..].iter().take_while(|b| b.lock == a.lock) {
            let apart = graph.order.chain_of(a.acquire) != graph.order.chain_of(b.acquire) && !(a.shared && b.shared);
            if !apart || a.release == NIL || b.release == NIL {
                continue;
            }
            let options = [Edge { from: a.release, to: b.acquire, why }, Edge { from: b.release, to: a.acquire, why }];
            if is_open(graph, &options) {
                choices.push(options);
                if choices.len() > CHOICES {
                    return choices;
                }
            }
        }
    }
    choices
}

/// Edges from the release of a section to the acquire of the next one, in observed order, that holds a conflicting access.
fn conflicting_sections(context: &Context, graph: &Polygraph) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut order: Vec<u32> = (0..graph.sections.len() as u32).collect();
    let acquire = |s: &u32| graph.event_of(graph.sections[*s as usize].acquire);
    order.sort_by_key(|s| (graph.lock_of(*s), acquire(s)));
    // Per variable: the latest section of each chain with a write, and with any access.
    let mut latest: HashMap<(u32, bool), Vec<u32>, foldhash::fast::FixedState> = HashMap::default();
    let mut lock: Option<LockId> = None;
    for &section in &order {
        if lock.replace(graph.lock_of(section)) != Some(graph.lock_of(section)) {
            latest.clear();
        }
        let to = graph.sections[section as usize].acquire;
        let chain = graph.order.chain_of(to);
        let why = graph.why_of(section);
        let touched = accesses_within(context, graph, section);
        for &(variable, is_write) in &touched {
            let earlier = latest.get(&(variable, !is_write)).into_iter().flatten();
            for &before in earlier {
                let s = &graph.sections[before as usize];
                if graph.order.chain_of(s.acquire) != chain && s.release != NIL {
                    edges.push(Edge { from: s.release, to, why });
                }
            }
        }
        for (variable, is_write) in touched {
            // Writes conflict with everything, reads with writes only.
            for only_writes in if is_write { &[true, false][..] } else { &[false][..] } {
                let sections = latest.entry((variable, *only_writes)).or_default();
                sections.retain(|&s| graph.order.chain_of(graph.sections[s as usize].acquire) != chain);
                sections.push(section);
            }
        }
    }
    edges
}

/// The variables that a section accesses, and whether it writes them.
fn accesses_within(context: &Context, graph: &Polygraph, section: u32) -> Vec<(u32, bool)> {
    let s = &graph.sections[section as usize];
    let acquire = graph.event_of(s.acquire);
    let thread = context.thread(acquire);
    let last: EventId = match s.release {
        NIL => return Vec::new(),
        release => graph.event_of(release),
    };
    let mut found: Vec<(u32, bool)> = (context.rank(acquire)..=context.rank(last))
        .map(|rank| context.trace.event(context.event_at(thread, rank)))
        .filter(|e| e.op.is_access())
        .map(|e| (e.object, e.op == Op::Write))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
