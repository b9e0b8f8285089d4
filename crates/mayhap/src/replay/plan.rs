//! From a witness to a schedule that the runtime follows.
//!
//! A witness orders events; the program makes *steps*, each of which became several events (an atomic update is a section of
//! a lock with a read and a write in it). A step happens where the last of its accesses stands in the witness, or, if it has
//! none, the last of its events. A step some of whose accesses are not in the witness is not made. Steps without
//! relevant events (an inner lock of a recursive one, an attempt that failed, a wait that timed out) are made just
//! before the next step of their thread, so that they wait for nothing that comes later.
//!
//! What is lost: accesses of several pieces, and the read and write of an update, happen at once even where the witness has
//! other threads' events between them.

use std::collections::BTreeSet;

use mayhap_trace::{EventId, Op, Relations, Trace};
use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::goal;
use mayhap_witness::{Target, Witness};

use super::steps::{Step, Steps};

/// Steps behind the goal that are kept at most.
const REST: usize = 1 << 20;

/// What is to happen, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Numbers of the steps that lead to the goal.
    pub steps: Vec<usize>,
    /// What the recorded run did besides, in its order.
    pub rest: Vec<usize>,
    /// Steps that their threads are to stand before at the end.
    pub targets: Vec<usize>,
    /// Threads that have done all they ever did when the goal is reached, and so may end.
    pub complete: Vec<u32>,
    /// See [`goal`].
    pub goal: u32,
}

/// What a step's place in the order depends on.
enum Place {
    /// Its place in the witness.
    At(u32),
    /// It depends on nothing.
    Anywhere,
    /// It is not made.
    Nowhere,
}

impl Plan {
    /// The plan for a witness; the error says what cannot be planned.
    pub fn new(
        trace: &Trace,
        relations: &Relations,
        steps: &Steps,
        target: &Target,
        witness: &Witness,
    ) -> Result<Plan, String> {
        let (goal, events) = match target {
            Target::Race(a, b) => (goal::STAND, vec![*a, *b]),
            Target::Deadlock(requests) => (goal::BLOCK, requests.clone()),
            Target::Nondeterminism { read, .. } => (goal::STAND, vec![*read]),
            Target::Atomicity { .. } | Target::Sequence { .. } => (goal::SEQUENCE, Vec::new()),
        };
        let step_of = |event: &EventId| {
            steps.of(*event).ok_or_else(|| format!("event {event} is no step that the program makes by itself"))
        };
        let targets = events.iter().map(step_of).collect::<Result<Vec<_>, _>>()?;
        let mut position = vec![u32::MAX; trace.len()];
        for (at, event) in witness.schedule.iter().enumerate() {
            position[event.index()] = at as u32;
        }
        let place = |number: usize, step: &Step| {
            if targets.contains(&number) { Place::Nowhere } else { place(trace, relations, step, &position) }
        };
        let (order, complete) = arrange(steps, &targets, place);
        let rest = rest(steps, &order, &targets);
        Ok(Plan { steps: order, rest, targets, complete, goal })
    }
}

fn place(trace: &Trace, relations: &Relations, step: &Step, position: &[u32]) -> Place {
    let relevant = |event: &EventId| relations.is_relevant(*event) && trace.event(*event).op != Op::Branch;
    let is_access = |event: &EventId| matches!(trace.event(*event).op, Op::Read | Op::Write);
    let accesses = step.events().filter(relevant).filter(is_access).map(|e| position[e.index()]).max();
    let last = accesses.or_else(|| step.events().filter(relevant).map(|e| position[e.index()]).max());
    match last {
        Some(u32::MAX) => Place::Nowhere,
        Some(at) => Place::At(at),
        None => Place::Anywhere,
    }
}

/// Puts the steps into their order; also says which threads have done all they ever did.
fn arrange(steps: &Steps, targets: &[usize], place: impl Fn(usize, &Step) -> Place) -> (Vec<usize>, Vec<u32>) {
    // Order: place in the witness, then place in the thread. Steps that can be anywhere wait for their thread's next one.
    let mut order: Vec<(u32, usize)> = Vec::new();
    let mut loose: Vec<Vec<usize>> = vec![Vec::new(); steps.lanes.len()];
    let mut closed: BTreeSet<u32> = BTreeSet::new();
    let mut complete = Vec::new();
    for (number, step) in steps.steps.iter().enumerate() {
        let lane = step.lane as usize;
        if closed.contains(&step.lane) {
            continue;
        }
        // When a thread ends is its own business: it may wait long for something that is no step.
        if step.kind == Tag::End as u8 {
            complete.push(step.lane);
            continue;
        }
        match place(number, step) {
            Place::At(at) => {
                order.extend(loose[lane].drain(..).map(|step| (at, step)));
                order.push((at, number));
            }
            Place::Anywhere => loose[lane].push(number),
            Place::Nowhere => {
                closed.insert(step.lane);
                // A thread that goes no further stops where it is, unless its target is still ahead.
                if !targets.contains(&number) {
                    loose[lane].clear();
                }
            }
        }
    }
    for (lane, rest) in loose.into_iter().enumerate() {
        // On the way to its target a thread does what it did, when all else is done.
        if closed.contains(&(lane as u32)) {
            order.extend(rest.into_iter().map(|step| (u32::MAX, step)));
        }
    }
    order.sort_by_key(|&(at, number)| (at, number));
    (order.into_iter().map(|(_, number)| number).collect(), complete)
}

/// The other steps, as far as they are worth keeping.
fn rest(steps: &Steps, order: &[usize], targets: &[usize]) -> Vec<usize> {
    let mut made = vec![false; steps.steps.len()];
    for &number in order.iter().chain(targets) {
        made[number] = true;
    }
    let is_left = |number: &usize| !made[*number] && steps.steps[*number].kind != Tag::End as u8;
    (0..made.len()).filter(is_left).take(REST).collect()
}
