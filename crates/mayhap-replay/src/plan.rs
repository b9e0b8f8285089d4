//! From a witness to a schedule that the runtime follows.
//!
//! A witness orders events; the program makes *steps*, each of which became several events (an atomic update is a section of
//! a lock with a read and a write in it). A step happens where the last of its accesses stands in the witness, or, if it has
//! none, the last of its events. A step some of whose accesses are not in the witness is not made. Steps without
//! relevant events (an inner lock of a recursive one, an attempt that failed, a wait that timed out) are made just
//! before the next step of their thread, so that they wait for nothing that comes later. Synchronisation that concerns one thread
//! only is no part of the plan ([`crate::sharing`]).
//!
//! What is lost: accesses of several pieces, and the read and write of an update, happen at once even where the witness has
//! other threads' events between them.

use std::collections::BTreeSet;

use mayhap_trace::{EventId, Execution, Op, Relations, Trace};
use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::goal;
use mayhap_witness::{Target, Witness};

use crate::sharing::Sharing;
use mayhap_trace::attachments::steps::{Step, Steps};

/// Steps after the goal that are kept at most.
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
    /// Which of the steps that threads are to stand before reads what no thread has written, if it is made first.
    pub reads_new: Option<u32>,
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
    /// Returns the plan for a witness; the error says what cannot be planned.
    pub fn new(execution: &Execution<'_>, steps: &Steps, target: &Target, witness: &Witness) -> Result<Plan, String> {
        let (trace, relations) = execution.parts();
        let (goal, events) = match target {
            Target::Race(a, b) => (goal::STAND, vec![*a, *b]),
            Target::Deadlock(requests) => (goal::BLOCK, requests.clone()),
            Target::UseAfterFree { access, .. } => (goal::STAND, vec![*access]),
            Target::Nondeterminism { read, .. } => (goal::STAND, vec![*read]),
            Target::UnorderedRace(..) | Target::Atomicity { .. } | Target::Sequence { .. } => {
                (goal::SEQUENCE, Vec::new())
            }
        };
        let step_of = |event: &EventId| {
            steps.of(*event).ok_or_else(|| format!("event {event} is not a step of the program itself"))
        };
        let targets = events.iter().map(step_of).collect::<Result<Vec<_>, _>>()?;
        let mut position = vec![u32::MAX; trace.len()];
        for (at, event) in witness.schedule.iter().enumerate() {
            position[event.index()] = at as u32;
        }
        // A call that frees a block writes every variable in it. It is made if one of these writes is.
        if let Target::UseAfterFree { free, .. } = target
            && let Some(step) = steps.of(*free)
        {
            steps.steps[step].events().for_each(|event| position[event.index()] = position[free.index()]);
        }
        let place = |number: usize, step: &Step| {
            if targets.contains(&number) { Place::Nowhere } else { place(trace, relations, step, &position) }
        };
        let sharing = Sharing::of(steps);
        let matters = |number: &usize| !sharing.is_private(&steps.steps[*number]);
        let (mut order, complete) = arrange(steps, &targets, place);
        let mut rest = rest(steps, &order, &targets);
        order.retain(matters);
        rest.retain(matters);
        let reads_new = reads_new(trace, target, witness);
        Ok(Plan { steps: order, rest, targets, complete, goal, reads_new })
    }
}

impl Plan {
    /// The plan that leads to an access in the order of the recorded run.
    pub fn before(execution: &Execution<'_>, steps: &Steps, access: EventId) -> Result<Plan, String> {
        let relations = execution.relations();
        let schedule = (0..access.index()).map(EventId::at).filter(|&event| relations.is_relevant(event)).collect();
        let target = Target::Nondeterminism { write: None, read: access, other: None };
        Plan::new(execution, steps, &target, &Witness { schedule })
    }
}

impl Plan {
    /// The plan up to one of its steps, before which that step's thread is to stand; the whole plan if there is no such step.
    pub fn up_to(&self, steps: &Steps, at: usize) -> Plan {
        let Some(&target) = self.steps.get(at) else { return self.clone() };
        let later: BTreeSet<u32> = self.steps[at..].iter().map(|&number| steps.steps[number].lane).collect();
        Plan {
            steps: self.steps[..at].to_vec(),
            rest: self.steps[at + 1..].iter().chain(&self.targets).chain(&self.rest).copied().collect(),
            targets: vec![target],
            complete: self.complete.iter().copied().filter(|lane| !later.contains(lane)).collect(),
            goal: goal::STAND,
            reads_new: self.reads_new,
        }
    }
}

/// Which of a target's events reads, if it comes first, what no thread has written.
fn reads_new(trace: &Trace, target: &Target, witness: &Witness) -> Option<u32> {
    match target {
        Target::Nondeterminism { write: Some(_), other: None, .. } => Some(0),
        Target::Race(first, second) => {
            let reads = |event: &EventId| trace.event(*event).op == Op::Read;
            let number = [first, second].iter().position(|event| reads(event))?;
            let object = trace.event(*first).object;
            let writes = |event: EventId| trace.event(event).op == Op::Write && trace.event(event).object == object;
            (!witness.schedule.iter().any(writes)).then_some(number as u32)
        }
        _ => None,
    }
}

fn place(trace: &Trace, relations: &Relations, step: &Step, position: &[u32]) -> Place {
    let relevant = |event: &EventId| relations.is_relevant(*event) && trace.event(*event).op != Op::Branch;
    // A lock is taken where its acquire is, not where its life is looked at. Otherwise the accesses are what the step is about.
    let takes = is_synchronisation(step.kind);
    let is_wanted = |event: &EventId| matches!(trace.event(*event).op, Op::Read | Op::Write) != takes;
    let wanted = step.events().filter(relevant).filter(is_wanted).map(|e| position[e.index()]).max();
    let last = wanted.or_else(|| step.events().filter(relevant).map(|e| position[e.index()]).max());
    match last {
        Some(u32::MAX) => Place::Nowhere,
        Some(at) => Place::At(at),
        None => Place::Anywhere,
    }
}

/// Whether the step operates on a lock, a condition or the like.
fn is_synchronisation(kind: u8) -> bool {
    matches!(
        Tag::from_code(kind),
        Some(Tag::Acquire | Tag::SharedAcquire | Tag::Release | Tag::AnyRelease | Tag::SemWait | Tag::SemPost)
            | Some(Tag::Notify | Tag::NotifyAll | Tag::BarrierArrive)
    )
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

#[cfg(test)]
pub(crate) mod tests {
    use mayhap_trace::format::parse_std;
    use mayhap_wire::schedule::{READ, WRITE};

    use super::*;
    use mayhap_trace::attachments::steps::{Lane, Object};

    /// Steps of two threads, of these lanes, kinds and numbers of events.
    pub(crate) fn steps(of: &[(u32, u8, u32)]) -> Steps {
        let mut all =
            Steps { lanes: vec![Lane { parent: None, nth: 0 }, Lane { parent: Some(0), nth: 1 }], ..Steps::default() };
        let mut start = 0;
        for &(lane, kind, events) in of {
            let object = Object { class: 0, index: 0, offset: 0 };
            all.steps.push(Step { start, events, lane, kind, site: None, object, outcome: 0, size: 4 });
            start += events;
        }
        all
    }

    const FORK: u8 = Tag::Fork as u8;
    const TAKE: u8 = Tag::Acquire as u8;
    const GIVE: u8 = Tag::Release as u8;

    fn witness(events: &[usize]) -> Witness {
        Witness { schedule: events.iter().map(|&event| EventId::at(event)).collect() }
    }

    #[test]
    fn a_lock_is_taken_where_its_acquire_is() {
        let text = "m|fork(t)\nt|r(life)\nt|acq(l)\nt|w(x)\nt|rel(l)\nm|acq(l)\nm|rel(l)\nm|r(x)\nm|w(life)\nt|end\n";
        let execution = Execution::derive(parse_std(text).unwrap()).unwrap();
        let of = [(0, FORK, 1), (1, TAKE, 2), (1, WRITE, 1), (1, GIVE, 1), (0, TAKE, 1), (0, GIVE, 1), (0, READ, 1)];
        let target = Target::Race(EventId::at(3), EventId::at(7));
        let plan = Plan::new(&execution, &steps(&of), &target, &witness(&[0, 1, 5, 6, 2])).unwrap();
        assert_eq!((plan.steps, plan.targets), (vec![0, 4, 5, 1], vec![2, 6]));
    }

    #[test]
    fn a_race_hidden_by_a_lock_is_a_plan_without_its_sections() {
        let text = "m|fork(t)\nm|w(x)\nm|acq(l)\nm|rel(l)\nt|acq(l)\nt|rel(l)\nt|r(x)\nt|end\n";
        let trace = parse_std(text).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let end = Tag::End as u8;
        let steps = steps(&[
            (0, FORK, 1),
            (0, WRITE, 1),
            (0, TAKE, 1),
            (0, GIVE, 1),
            (1, TAKE, 1),
            (1, GIVE, 1),
            (1, READ, 1),
            (1, end, 1),
        ]);
        let target = Target::Race(EventId::at(1), EventId::at(6));
        let plan = Plan::new(&execution, &steps, &target, &witness(&[0, 4, 5])).unwrap();
        assert_eq!((plan.steps, plan.targets, plan.goal), (vec![0, 4, 5], vec![1, 6], goal::STAND));
        // What the recorded run did besides, but for the end of a thread.
        assert_eq!(plan.rest, [2, 3]);
        assert!(plan.complete.is_empty());
        let plan = Plan::new(&execution, &steps, &target, &witness(&[0, 4, 5])).unwrap();
        let part = plan.up_to(&steps, 1);
        assert_eq!((part.steps, part.targets, part.rest), (vec![0], vec![4], vec![5, 1, 6, 2, 3]));
        assert_eq!(plan.up_to(&steps, 3), plan);
    }

    #[test]
    fn a_step_stands_where_its_last_access_does_and_loose_ones_before_the_next() {
        // An update of an atomic is one step; then an attempt that failed, which has no event; then a write.
        let text = "m|acq(a)\nm|r(x)\nm|w(x)\nm|rel(a)\nm|w(y)\nt|w(z)\n";
        let trace = parse_std(text).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let steps = steps(&[(0, Tag::Atomic as u8, 4), (0, Tag::Failed as u8, 0), (0, WRITE, 1), (1, WRITE, 1)]);
        let target = Target::Sequence { events: vec![EventId::at(4)], adjacent: Vec::new() };
        let plan = Plan::new(&execution, &steps, &target, &witness(&[0, 1, 5, 2, 3, 4])).unwrap();
        assert_eq!((plan.steps, plan.goal), (vec![3, 0, 1, 2], goal::SEQUENCE));
        // Without the write no attempt is made either: its thread stops where it is.
        let plan = Plan::new(&execution, &steps, &target, &witness(&[0, 1, 2, 3, 5])).unwrap();
        assert_eq!(plan.steps, [0, 3]);
        assert_eq!(plan.rest, [1, 2]);
    }

    #[test]
    fn an_event_of_no_step_cannot_be_stood_before() {
        let trace = parse_std("m|w(x)\nt|w(x)\n").unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let target = Target::Race(EventId::at(0), EventId::at(1));
        let why = Plan::new(&execution, &steps(&[(0, WRITE, 1)]), &target, &witness(&[])).unwrap_err();
        assert_eq!(why, "event 2 is not a step of the program itself");
    }

    #[test]
    fn the_recorded_order_up_to_an_access_is_a_plan() {
        let trace = parse_std("m|w(x)\nt|w(y)\nm|w(y)\nt|r(x)\n").unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let steps = steps(&[(0, WRITE, 1), (1, WRITE, 1), (0, WRITE, 1), (1, READ, 1)]);
        let plan = Plan::before(&execution, &steps, EventId::at(3)).unwrap();
        assert_eq!((plan.steps, plan.targets, plan.rest), (vec![0, 1, 2], vec![3], vec![]));
    }
}
