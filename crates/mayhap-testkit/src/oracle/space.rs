//! The states of a trace and the steps between them.
//!
//! A state is the position of each thread, the last write of each variable and a dirty bit per thread (it made a read
//! that saw another write than observed), packed into 128 bits. What no later event can tell apart is packed alike: the
//! last write of a variable that nobody reads any more, the dirt of a thread that has nothing more to decide.

use mayhap_trace::{Op, Trace};
use mayhap_witness::Model;

use super::TooBig;
use crate::Facts;

// Bounds of a trace that can be explored at all; objects are locks and variables.
const MOST_THREADS: usize = 16;
const MOST_OBJECTS: usize = 64;
const MOST_EVENTS: usize = 2000;

/// A state, unpacked.
pub(super) struct State {
    pub(super) position: [u8; MOST_THREADS],
    /// Per variable: 0 for the initial value, else 1 + the number of the write among the writes of the variable.
    last: [u8; MOST_OBJECTS],
    dirty: u16,
}

/// What a step changed besides a position.
pub(super) struct Undo {
    last: Option<u8>,
    dirty: u16,
}

/// A bit field of the packed state.
#[derive(Clone, Copy, Default)]
struct Field {
    shift: u32,
    width: u32,
}

impl Field {
    fn get(self, word: u128) -> u8 {
        ((word >> self.shift) & ((1 << self.width) - 1)) as u8
    }

    fn put(self, word: &mut u128, value: u8) {
        *word |= u128::from(value) << self.shift;
    }
}

/// An event as the steps see it.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) event: usize,
    pub(super) thread: usize,
    pub(super) rank: u8,
    pub(super) op: Op,
    pub(super) object: usize,
    /// For a write its value of [`State::last`], for a read the one it saw.
    value: u8,
}

/// Events of a run that are wanted in a certain order.
#[derive(Clone, Default)]
pub(super) struct Demands {
    /// `(x, y)`: y may run only after x.
    pub(super) before: Vec<(usize, usize)>,
    /// `(x, y)`: y may not run once x has.
    pub(super) never_after: Vec<(usize, usize)>,
    /// `(x, y)`: after x, y is the next of all.
    pub(super) adjacent: Vec<(usize, usize)>,
    /// Reads whose value is left open; a thread that made a changed one stops in the data model.
    pub(super) free: Vec<usize>,
}

/// The state space of one trace under one model.
pub(super) struct Space {
    pub(super) facts: Facts,
    pub(super) model: Model,
    /// Per thread, its events in order.
    pub(super) threads: Vec<Vec<Node>>,
    /// Locks held alone, and locks held shared, at each position of each thread.
    pub(super) exclusive: Vec<Vec<u64>>,
    pub(super) shared: Vec<Vec<u64>>,
    /// Per thread and variable, the position after which the thread no longer reads it in a way that matters.
    last_reader: Vec<Vec<u8>>,
    /// Per thread, the position after which its dirt no longer matters.
    last_decision: Vec<u8>,
    positions: Vec<Field>,
    lasts: Vec<Field>,
    dirt: Field,
}

impl Space {
    pub(super) fn new(trace: &Trace, model: Model) -> Result<Space, TooBig> {
        let facts = Facts::of(trace);
        let tables = trace.tables();
        let (variables, locks) = (tables.variables.len(), tables.locks.len());
        let longest = facts.threads.iter().map(Vec::len).max().unwrap_or(0);
        let too_many = facts.threads.len() > MOST_THREADS || variables.max(locks) > MOST_OBJECTS;
        if too_many || longest >= 255 || trace.len() > MOST_EVENTS {
            return Err(TooBig);
        }
        let mut writes = vec![0u8; variables];
        let mut value = vec![0; facts.events.len()];
        for (i, event) in facts.events.iter().enumerate() {
            if event.op == Op::Write {
                let count = &mut writes[event.object as usize];
                *count = count.checked_add(1).ok_or(TooBig)?;
                value[i] = writes[event.object as usize];
            }
        }
        let node = |(rank, &event): (usize, &usize)| {
            let e = facts.events[event];
            let value = if e.op == Op::Read { facts.saw[event].map_or(0, |w| value[w]) } else { value[event] };
            let (rank, object) = (rank as u8, e.object as usize);
            Node { event, thread: e.thread.index(), rank, op: e.op, object, value }
        };
        let threads: Vec<Vec<Node>> =
            facts.threads.iter().map(|events| events.iter().enumerate().map(node).collect()).collect();
        let mut space = Space {
            model,
            exclusive: masks(&threads, false),
            shared: masks(&threads, true),
            last_reader: threads.iter().map(|nodes| last_readers(nodes, variables, model)).collect(),
            last_decision: threads.iter().map(|nodes| last_decision(nodes, model)).collect(),
            positions: Vec::new(),
            lasts: Vec::new(),
            dirt: Field::default(),
            threads,
            facts,
        };
        space.lay_out(&writes)?;
        Ok(space)
    }

    fn lay_out(&mut self, writes: &[u8]) -> Result<(), TooBig> {
        let mut shift = 0;
        let mut field = |largest: usize| {
            let width = usize::BITS - largest.leading_zeros();
            shift += width;
            Field { shift: shift - width, width }
        };
        self.positions = self.threads.iter().map(|nodes| field(nodes.len())).collect();
        let keep = if self.model == Model::Sync { 0 } else { usize::MAX };
        self.lasts = writes.iter().map(|&n| field(n as usize & keep)).collect();
        self.dirt = field(((1usize << self.threads.len()) - 1) & keep);
        if shift <= u128::BITS { Ok(()) } else { Err(TooBig) }
    }

    pub(super) fn start(&self) -> State {
        State { position: [0; MOST_THREADS], last: [0; MOST_OBJECTS], dirty: 0 }
    }

    pub(super) fn pack(&self, state: &State) -> u128 {
        let mut word = 0;
        let threads = self.threads.len();
        for (t, field) in self.positions.iter().enumerate() {
            field.put(&mut word, state.position[t]);
        }
        if self.model == Model::Sync {
            return word;
        }
        for (v, field) in self.lasts.iter().enumerate() {
            if (0..threads).any(|t| state.position[t] < self.last_reader[t][v]) {
                field.put(&mut word, state.last[v]);
            }
        }
        let mut dirty = state.dirty;
        for t in 0..threads {
            if state.position[t] >= self.last_decision[t] {
                dirty &= !(1 << t);
            }
        }
        word | u128::from(dirty) << self.dirt.shift
    }

    pub(super) fn unpack(&self, word: u128) -> State {
        let mut state = self.start();
        for (t, field) in self.positions.iter().enumerate() {
            state.position[t] = field.get(word);
        }
        if self.model != Model::Sync {
            for (v, field) in self.lasts.iter().enumerate() {
                state.last[v] = field.get(word);
            }
            state.dirty = ((word >> self.dirt.shift) & ((1 << self.dirt.width) - 1)) as u16;
        }
        state
    }

    /// The event at `index` has run.
    pub(super) fn has_run(&self, state: &State, index: usize) -> bool {
        let thread = self.facts.events[index].thread.index();
        self.facts.rank[index].is_some_and(|rank| rank < state.position[thread] as usize)
    }

    /// The thread's fork, if it has one, has run.
    pub(super) fn started(&self, state: &State, thread: usize) -> bool {
        self.facts.fork[thread].is_none_or(|fork| self.has_run(state, fork))
    }

    /// What the thread would do next, if it is started and not at its end.
    pub(super) fn next(&self, state: &State, thread: usize) -> Option<&Node> {
        self.threads[thread].get(state.position[thread] as usize).filter(|_| self.started(state, thread))
    }

    /// Threads that keep this one from taking the lock of an acquire.
    pub(super) fn holders(&self, state: &State, node: &Node) -> u16 {
        let bit = 1u64 << node.object;
        let mut holders = 0;
        for t in (0..self.threads.len()).filter(|&t| t != node.thread) {
            let at = state.position[t] as usize;
            let shared = if node.op == Op::Acquire { self.shared[t][at] } else { 0 };
            if (self.exclusive[t][at] | shared) & bit != 0 {
                holders |= 1 << t;
            }
        }
        holders
    }

    /// Whether the event can run; if so, whether it is a read that sees another write than observed.
    pub(super) fn step(&self, state: &State, node: &Node, demands: &Demands) -> Option<bool> {
        let dirty = state.dirty >> node.thread & 1 == 1;
        let mut changed = false;
        match node.op {
            Op::Acquire | Op::SharedAcquire if self.holders(state, node) != 0 => return None,
            Op::Join => {
                let child = node.object;
                if !self.started(state, child) || (state.position[child] as usize) < self.threads[child].len() {
                    return None;
                }
            }
            Op::Wait if !self.facts.notify[node.event].is_some_and(|n| self.has_run(state, n)) => return None,
            Op::Branch if self.model.allows_change() && dirty => return None,
            Op::Read => changed = state.last[node.object] != node.value,
            _ => {}
        }
        if matches!(self.model, Model::Data | Model::Value) && (dirty || changed && !demands.free.contains(&node.event))
        {
            return None;
        }
        if !self.allowed(state, node, demands) {
            return None;
        }
        Some(changed)
    }

    /// Moves the state on by an event that can run, and returns what takes it back.
    pub(super) fn advance(&self, state: &mut State, node: &Node, changed: bool) -> Undo {
        let undo = Undo { last: (node.op == Op::Write).then(|| state.last[node.object]), dirty: state.dirty };
        state.position[node.thread] += 1;
        if self.model != Model::Sync {
            if node.op == Op::Write {
                state.last[node.object] = node.value;
            }
            state.dirty |= u16::from(changed) << node.thread;
        }
        undo
    }

    /// Takes [`Space::advance`] back.
    pub(super) fn retreat(&self, state: &mut State, node: &Node, undo: Undo) {
        state.position[node.thread] -= 1;
        state.dirty = undo.dirty;
        if let Some(last) = undo.last {
            state.last[node.object] = last;
        }
    }

    fn allowed(&self, state: &State, node: &Node, demands: &Demands) -> bool {
        let e = node.event;
        demands.before.iter().all(|&(x, y)| y != e || self.has_run(state, x))
            && demands.never_after.iter().all(|&(x, y)| y != e || !self.has_run(state, x))
            && demands.adjacent.iter().all(|&(x, y)| y == e || !self.has_run(state, x) || self.has_run(state, y))
    }
}

/// Per thread and position, the locks held there in one mode.
fn masks(threads: &[Vec<Node>], shared: bool) -> Vec<Vec<u64>> {
    let of_thread = |nodes: &Vec<Node>| {
        let mut mask = 0u64;
        let mut masks = vec![0];
        for node in nodes {
            if node.op.is_lock() && node.op.is_shared() == shared {
                mask ^= 1 << node.object;
            }
            masks.push(mask);
        }
        masks
    };
    threads.iter().map(of_thread).collect()
}

/// Per variable, one past the last read of this thread whose value can matter.
fn last_readers(nodes: &[Node], variables: usize, model: Model) -> Vec<u8> {
    let decisive = match model {
        Model::Data | Model::Value => nodes.len(),
        Model::Branch | Model::Causal => nodes.iter().rposition(|n| n.op == Op::Branch).unwrap_or(0),
        Model::Sync => 0,
    };
    let mut last = vec![0; variables];
    for node in nodes[..decisive].iter().filter(|n| n.op == Op::Read) {
        last[node.object] = node.rank + 1;
    }
    last
}

/// One past the last event that dirt can stop.
fn last_decision(nodes: &[Node], model: Model) -> u8 {
    match model {
        Model::Data | Model::Value => nodes.len() as u8,
        Model::Branch | Model::Causal => nodes.iter().rposition(|n| n.op == Op::Branch).map_or(0, |at| at as u8 + 1),
        Model::Sync => 0,
    }
}
