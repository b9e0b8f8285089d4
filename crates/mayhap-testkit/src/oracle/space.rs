//! The states of a trace and the steps between them.
//!
//! A state is the position of each thread, the last write of each variable and whether it is unclean, which threads are
//! changed, which tokens are set, and what each thread that waits for a condition variable can use: packed into 128 bits.
//! Locks and semaphores follow from the positions. What no later event can tell apart is packed alike ([`Relevance`]): the
//! last write of a variable that no read depends on any more, the change of a thread that has nothing more to decide.

use mayhap_trace::{Attempt, ConditionKind, Flags, Op, Trace};
use mayhap_witness::Model;

use super::TooBig;
use super::relevance::Relevance;
use crate::Facts;

// Bounds of a trace that can be explored at all; objects are locks, variables and conditions.
const MOST_THREADS: usize = 16;
const MOST_OBJECTS: usize = 64;
const MOST_EVENTS: usize = 2000;

/// A notify of all has run since the wait began.
const ALL: u8 = u8::MAX;

/// A state, unpacked.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) position: [u8; MOST_THREADS],
    /// Per variable: 0 for the initial value, else 1 + the number of the write among the writes of the variable.
    last: [u8; MOST_OBJECTS],
    unclean: u64,
    changed: u16,
    /// The thread in the middle of a step was changed before that step.
    changed_before: bool,
    tokens: u64,
    /// Per thread that waits for a condition variable, how many unused notifies ran since its wait began, or [`ALL`].
    wakes: [u8; MOST_THREADS],
}

/// A bit field of the packed state.
#[derive(Clone, Copy, Default)]
struct Field {
    shift: u32,
    width: u32,
}

impl Field {
    fn get(self, word: u128) -> u64 {
        ((word >> self.shift) & ((1 << self.width) - 1)) as u64
    }

    fn put(self, word: &mut u128, value: u64) {
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
    pub(super) flags: Flags,
    /// For a write its value of [`State::last`].
    value: u8,
}

impl Node {
    /// Whether the event runs in one step with the one before it.
    fn continues_step(&self) -> bool {
        self.flags.is_joined() && self.rank > 0
    }

    /// An acquire that waits as long as it takes.
    pub(super) fn blocks(&self) -> bool {
        self.op.is_acquire() && self.flags.attempt() == Attempt::Blocking
    }
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
    /// Reads whose value is left open; a thread that made a changed one stops in the data and value models.
    pub(super) free: Vec<usize>,
}

/// The state space of one trace under one model.
pub(super) struct Space {
    pub(super) facts: Facts,
    pub(super) model: Model,
    /// Per thread, its events in order.
    pub(super) threads: Vec<Vec<Node>>,
    /// Locks held exclusively, and locks held shared, at each position of each thread.
    pub(super) exclusive: Vec<Vec<u64>>,
    pub(super) shared: Vec<Vec<u64>>,
    /// Per read, which values of [`State::last`] give it what it had.
    same: Vec<Vec<bool>>,
    relevance: Relevance,
    positions: Vec<Field>,
    lasts: Vec<Field>,
    unclean: Field,
    changed: Field,
    changed_before: Field,
    tokens: Field,
    wakes: Vec<Field>,
}

impl Space {
    pub(super) fn new(trace: &Trace, model: Model) -> Result<Space, TooBig> {
        let facts = Facts::of(trace);
        let tables = trace.tables();
        let objects = tables.variables.len().max(tables.locks.len()).max(tables.conditions.len());
        let longest = facts.threads.iter().map(Vec::len).max().unwrap_or(0);
        let too_many = facts.threads.len() > MOST_THREADS || objects > MOST_OBJECTS;
        if too_many || longest >= 255 || trace.len() > MOST_EVENTS {
            return Err(TooBig);
        }
        let mut writes: Vec<Vec<usize>> = vec![Vec::new(); tables.variables.len()];
        let mut value = vec![0; facts.events.len()];
        for (i, event) in facts.events.iter().enumerate().filter(|(_, e)| e.op == Op::Write) {
            let of_variable = &mut writes[event.object as usize];
            of_variable.push(i);
            value[i] = u8::try_from(of_variable.len()).map_err(|_| TooBig)?;
        }
        let node = |(rank, &event): (usize, &usize)| {
            let e = facts.events[event];
            let (rank, object) = (rank as u8, e.object as usize);
            Node { event, thread: e.thread.index(), rank, op: e.op, object, flags: e.flags, value: value[event] }
        };
        let threads: Vec<Vec<Node>> =
            facts.threads.iter().map(|events| events.iter().enumerate().map(node).collect()).collect();
        let mut space = Space {
            model,
            exclusive: masks(&threads, false),
            shared: masks(&threads, true),
            same: (0..facts.events.len()).map(|e| same(&facts, model, &writes, e)).collect(),
            relevance: Relevance::new(&facts, model),
            positions: Vec::new(),
            lasts: Vec::new(),
            unclean: Field::default(),
            changed: Field::default(),
            changed_before: Field::default(),
            tokens: Field::default(),
            wakes: Vec::new(),
            threads,
            facts,
        };
        space.lay_out(&writes)?;
        Ok(space)
    }

    fn lay_out(&mut self, writes: &[Vec<usize>]) -> Result<(), TooBig> {
        let mut shift = 0;
        let mut bits = |width: u32| {
            shift += width;
            Field { shift: shift - width, width }
        };
        let largest = |n: usize| usize::BITS - n.leading_zeros();
        let if_any = |any: bool, n: usize| if any { n as u32 } else { 0 };
        let changes = self.model != Model::Sync;
        let kinds = &self.facts.kinds;
        let has_joined = self.facts.events.iter().any(|e| e.flags.is_joined());
        let notifies = self.facts.events.iter().filter(|e| e.op.is_notify()).count();
        self.positions = self.threads.iter().map(|nodes| bits(largest(nodes.len()))).collect();
        self.lasts = writes.iter().map(|w| bits(if_any(changes, largest(w.len()) as usize))).collect();
        self.unclean = bits(if_any(self.model.allows_change(), writes.len()));
        self.changed = bits(if_any(changes, self.threads.len()));
        self.changed_before = bits(if_any(changes && has_joined, 1));
        self.tokens = bits(if_any(kinds.contains(&ConditionKind::Token), kinds.len()));
        let waits = |nodes: &[Node]| nodes.iter().any(|n| is_window_wait(&self.facts, n));
        let fields: Vec<u32> =
            self.threads.iter().map(|nodes| if_any(waits(nodes), largest(notifies + 1) as usize)).collect();
        self.wakes = fields.into_iter().map(&mut bits).collect();
        if shift <= u128::BITS { Ok(()) } else { Err(TooBig) }
    }

    pub(super) fn start(&self) -> State {
        State {
            position: [0; MOST_THREADS],
            last: [0; MOST_OBJECTS],
            unclean: 0,
            changed: 0,
            changed_before: false,
            tokens: 0,
            wakes: [0; MOST_THREADS],
        }
    }

    pub(super) fn pack(&self, state: &State) -> u128 {
        let mut word = 0;
        let threads = self.threads.len();
        for (t, field) in self.positions.iter().enumerate() {
            field.put(&mut word, u64::from(state.position[t]));
        }
        self.tokens.put(&mut word, state.tokens);
        for (t, field) in self.wakes.iter().enumerate().filter(|(t, _)| self.waits(state, *t).is_some()) {
            let most = (1u64 << field.width) - 1;
            field.put(&mut word, if state.wakes[t] == ALL { most } else { u64::from(state.wakes[t]) });
        }
        if self.model == Model::Sync {
            return word;
        }
        let mut unclean = 0;
        for (v, field) in self.lasts.iter().enumerate() {
            if (0..threads).any(|t| self.relevance.reads(t, v, state.position[t])) {
                field.put(&mut word, u64::from(state.last[v]));
                unclean |= state.unclean & 1 << v;
            }
        }
        if self.unclean.width > 0 {
            self.unclean.put(&mut word, unclean);
        }
        let matters = (0..threads).filter(|&t| self.relevance.decides(t, state.position[t]));
        let changed = matters.fold(0, |mask, t| mask | (state.changed & 1 << t));
        self.changed.put(&mut word, u64::from(changed));
        if self.changed_before.width > 0 && (0..threads).any(|t| self.is_in_step(state, t)) {
            self.changed_before.put(&mut word, u64::from(state.changed_before));
        }
        word
    }

    pub(super) fn unpack(&self, word: u128) -> State {
        let mut state = self.start();
        for (t, field) in self.positions.iter().enumerate() {
            state.position[t] = field.get(word) as u8;
        }
        state.tokens = self.tokens.get(word);
        for (t, field) in self.wakes.iter().enumerate().filter(|(_, field)| field.width > 0) {
            let wakes = field.get(word);
            state.wakes[t] = if wakes == (1 << field.width) - 1 { ALL } else { wakes as u8 };
        }
        if self.model != Model::Sync {
            for (v, field) in self.lasts.iter().enumerate() {
                state.last[v] = field.get(word) as u8;
            }
            state.unclean = self.unclean.get(word);
            state.changed = self.changed.get(word) as u16;
            state.changed_before = self.changed_before.get(word) == 1;
        }
        state
    }

    /// Whether the event at `index` has run.
    pub(super) fn has_run(&self, state: &State, index: usize) -> bool {
        let thread = self.facts.events[index].thread.index();
        self.facts.rank[index].is_some_and(|rank| rank < state.position[thread] as usize)
    }

    /// Whether the thread's fork, if it has one, has run.
    pub(super) fn started(&self, state: &State, thread: usize) -> bool {
        self.facts.fork[thread].is_none_or(|fork| self.has_run(state, fork))
    }

    /// What the thread would do next, if it is started and not at its end.
    pub(super) fn next(&self, state: &State, thread: usize) -> Option<&Node> {
        self.threads[thread].get(state.position[thread] as usize).filter(|_| self.started(state, thread))
    }

    /// Whether the thread has run a part of a step.
    fn is_in_step(&self, state: &State, thread: usize) -> bool {
        self.next(state, thread).is_some_and(Node::continues_step)
    }

    /// The condition variable that the thread waits for.
    fn waits(&self, state: &State, thread: usize) -> Option<usize> {
        self.next(state, thread).filter(|node| is_window_wait(&self.facts, node)).map(|node| node.object)
    }

    /// Threads that prevent this one from taking the lock of an acquire.
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

    /// The count of a semaphore.
    fn count(&self, state: &State, condition: usize, initial: u32) -> i64 {
        let ran = self.threads.iter().enumerate().flat_map(|(t, nodes)| &nodes[..state.position[t] as usize]);
        let of_condition = ran.filter(|n| n.object == condition);
        let change = |n: &Node| i64::from(n.op.is_notify()) - i64::from(n.op == Op::Wait);
        i64::from(initial) + of_condition.map(change).sum::<i64>()
    }

    /// Whether the failed attempt fails here too.
    fn would_fail(&self, state: &State, node: &Node) -> bool {
        let holds = |masks: &[Vec<u64>], t: usize| masks[t][state.position[t] as usize] >> node.object & 1 == 1;
        let mut threads = 0..self.threads.len();
        match node.op {
            Op::FailedAcquire => threads.any(|t| holds(&self.exclusive, t) || holds(&self.shared, t)),
            Op::FailedSharedAcquire => threads.any(|t| holds(&self.exclusive, t)),
            _ => match self.facts.kinds[node.object] {
                ConditionKind::Semaphore { initial } => self.count(state, node.object, initial) == 0,
                ConditionKind::Token => state.tokens >> node.object & 1 == 0,
                _ => true,
            },
        }
    }

    /// The state after the event, if it can run.
    pub(super) fn step(&self, state: &State, node: &Node, demands: &Demands) -> Option<State> {
        let me = node.thread;
        let strict = matches!(self.model, Model::Data | Model::Value);
        let changed = state.changed >> me & 1 == 1;
        let splits_step = (0..self.threads.len()).any(|t| t != me && self.is_in_step(state, t));
        if splits_step || (strict && changed) || !self.allowed(state, node, demands) {
            return None;
        }
        let before = if node.continues_step() { state.changed_before } else { changed };
        let mut next = *state;
        next.position[me] += 1;
        next.changed_before = before;
        let mut differs = false;
        match node.op {
            Op::Acquire | Op::SharedAcquire if self.holders(state, node) != 0 => return None,
            op if op.is_failed_attempt() && self.model != Model::Sync && !self.would_fail(state, node) => return None,
            Op::Join => {
                let child = node.object;
                if !self.started(state, child) || (state.position[child] as usize) < self.threads[child].len() {
                    return None;
                }
                next.changed |= (state.changed >> child & 1) << me;
            }
            Op::Fork => {
                next.changed |= u16::from(changed) << node.object;
                next.wakes[node.object] = 0;
            }
            Op::Notify | Op::NotifyAll => self.notify(&mut next, node),
            Op::Wait => self.wait(&mut next, node)?,
            Op::Branch if self.model.allows_change() && changed => return None,
            Op::Read => {
                let unclean = state.unclean >> node.object & 1 == 1;
                differs = unclean || !self.same[node.event][state.last[node.object] as usize];
            }
            Op::Write => {
                let own = node.flags.has(Flags::CONSTANT) || (node.flags.has(Flags::INDEPENDENT) && !before);
                next.last[node.object] = node.value;
                next.unclean &= !(1 << node.object);
                next.unclean |= u64::from(changed && !own) << node.object;
            }
            _ => {}
        }
        if differs && strict && !demands.free.contains(&node.event) {
            return None;
        }
        next.changed |= u16::from(differs) << me;
        if self.waits(&next, me).is_some() {
            next.wakes[me] = 0;
        }
        Some(next)
    }

    fn notify(&self, next: &mut State, node: &Node) {
        match self.facts.kinds[node.object] {
            ConditionKind::Token => next.tokens |= 1 << node.object,
            ConditionKind::Condition => {
                for t in (0..self.threads.len()).filter(|&t| t != node.thread) {
                    if self.waits(next, t) == Some(node.object) {
                        let wakes = next.wakes[t];
                        next.wakes[t] = if node.op == Op::NotifyAll || wakes == ALL { ALL } else { wakes + 1 };
                    }
                }
            }
            _ => {}
        }
    }

    /// `next` has the wait's thread after the wait already.
    fn wait(&self, next: &mut State, node: &Node) -> Option<()> {
        let me = node.thread;
        match self.facts.kinds[node.object] {
            ConditionKind::Semaphore { initial } => {
                // The count after the wait.
                (self.count(next, node.object, initial) >= 0).then_some(())
            }
            ConditionKind::Token => {
                let set = next.tokens >> node.object & 1 == 1;
                next.tokens &= !(1 << node.object);
                set.then_some(())
            }
            ConditionKind::Condition if next.wakes[me] == ALL => Some(()),
            ConditionKind::Condition => {
                // Of the unused notifies in their order the wait can use the last ones, and takes the first of these.
                let mine = next.wakes[me];
                for t in (0..self.threads.len()).filter(|&t| t != me) {
                    if self.waits(next, t) == Some(node.object) && next.wakes[t] != ALL && next.wakes[t] >= mine {
                        next.wakes[t] -= u8::from(mine > 0);
                    }
                }
                (mine > 0).then_some(())
            }
            _ => self.facts.notify[node.event].filter(|&n| self.has_run(next, n)).map(|_| ()),
        }
    }

    fn allowed(&self, state: &State, node: &Node, demands: &Demands) -> bool {
        let e = node.event;
        demands.before.iter().all(|&(x, y)| y != e || self.has_run(state, x))
            && demands.never_after.iter().all(|&(x, y)| y != e || !self.has_run(state, x))
            && demands.adjacent.iter().all(|&(x, y)| y == e || !self.has_run(state, x) || self.has_run(state, y))
    }
}

/// A wait for a condition variable.
fn is_window_wait(facts: &Facts, node: &Node) -> bool {
    node.op == Op::Wait && facts.kinds[node.object] == ConditionKind::Condition
}

/// For a read, whether it returns what it had, by the number of the last write of its variable.
fn same(facts: &Facts, model: Model, writes: &[Vec<usize>], read: usize) -> Vec<bool> {
    let event = facts.events[read];
    if event.op != Op::Read {
        return Vec::new();
    }
    let variable = event.object as usize;
    let of_variable = writes[variable].iter().map(|&w| Some(w));
    let is_same = |write: Option<usize>| {
        let stored = facts.stored(variable, write);
        let equal = stored.is_some() && stored == facts.value[read];
        write == facts.saw[read] || (equal && matches!(model, Model::Value | Model::Causal))
    };
    [None].into_iter().chain(of_variable).map(is_same).collect()
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
