//! Explains a refutation: the orders that would all be needed, each with its reason, and the cycle that they form.

use mayhap_predict::explain::chain;
use mayhap_predict::{Context, Premise, Refutation, Rung, Step, Why};
use mayhap_report::Needed;
use mayhap_report::places::short;
use mayhap_trace::{EventId, Op, ThreadId};
use mayhap_witness::Model;

use crate::table::shortened;

/// A refutation as a list of steps.
pub(super) struct Explained<'c, 'a> {
    context: &'c Context<'a>,
    cycle: Vec<Step>,
    premises: Vec<Premise>,
    /// Whether the question is about a state, not about an order.
    of_state: bool,
}

/// The maximum length of a name.
const NAME: usize = 40;

impl<'c, 'a> Explained<'c, 'a> {
    /// Explains a cycle in the given model.
    pub(super) fn new(context: &'c Context<'a>, model: Model, refutation: &'c Refutation) -> Self {
        let spelled = |step: &Step| match step.why {
            Why::Demand => chain(context, model, step.before, step.after).unwrap_or_else(|| vec![*step]),
            _ => vec![*step],
        };
        let cycle: Vec<Step> = refutation.cycle.iter().flat_map(spelled).collect();
        let of_state = matches!(refutation.rung, Rung::MustOrder | Rung::Slice);
        let mut explained = Explained { context, cycle, premises: Vec::new(), of_state };
        explained.cycle = explained.shortened(&explained.cycle);
        let all: Vec<Premise> = (refutation.premises.iter())
            .map(|premise| Premise { step: premise.step, path: explained.shortened(&premise.path) })
            .collect();
        explained.premises = explained.needed(&all);
        explained
    }

    /// Joins successive steps within one thread into one, justified by program order.
    fn shortened(&self, steps: &[Step]) -> Vec<Step> {
        let thread = |id: EventId| self.context.trace.event(id).thread;
        let mut short: Vec<Step> = Vec::new();
        for &step in steps {
            let within = thread(step.before) == thread(step.after) && step.why != Why::Target;
            let step = if within { Step { why: Why::Must, ..step } } else { step };
            match short.last_mut() {
                Some(last) if within && last.why == Why::Must && thread(last.before) == thread(step.after) => {
                    last.after = step.after;
                }
                _ => short.push(step),
            }
        }
        short
    }

    /// The premises that the cycle depends on, in order.
    fn needed(&self, all: &[Premise]) -> Vec<Premise> {
        let mut needed = vec![false; all.len()];
        let mut open: Vec<Step> = self.cycle.clone();
        while let Some(step) = open.pop() {
            if let Some(at) = all.iter().position(|p| p.step == step).filter(|&at| !needed[at]) {
                needed[at] = true;
                open.extend(&all[at].path);
            }
        }
        all.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(premise, _)| premise.clone()).collect()
    }

    /// The cycle and the premises in the form of the report.
    pub(super) fn report(&self) -> mayhap_report::Refutation {
        let premise = |premise: &Premise| mayhap_report::Premise {
            before: premise.step.before.number(),
            after: premise.step.after.number(),
            order: self.order(&premise.step),
            reason: self.reason(&premise.step),
            given: premise.path.is_empty().then(|| self.given(&premise.step)),
            because: premise.path.iter().map(|s| self.needed_order(s)).collect(),
        };
        mayhap_report::Refutation {
            cycle: self.cycle.iter().map(|s| self.needed_order(s)).collect(),
            premises: self.premises.iter().map(premise).collect(),
            ..mayhap_report::Refutation::default()
        }
    }

    fn needed_order(&self, step: &Step) -> Needed {
        Needed {
            before: step.before.number(),
            after: step.after.number(),
            why: self.word(step).to_string(),
            order: self.sentence(step),
            reason: self.reason(step),
            premise: self.place(step),
        }
    }

    fn place(&self, step: &Step) -> Option<usize> {
        self.premises.iter().position(|premise| premise.step == *step)
    }

    fn sentence(&self, step: &Step) -> String {
        format!("{} before {}", self.event(step.before), self.event(step.after))
    }

    /// An event in words: `T1 writes x (event 4, queue.c:12)`.
    fn event(&self, id: EventId) -> String {
        let (event, tables) = (self.context.trace.event(id), self.context.trace.tables());
        let object = shortened(tables.object(event.op, event.object), NAME);
        let verb = match event.op {
            Op::Read => "reads",
            Op::Write => "writes",
            Op::Acquire | Op::SharedAcquire => "locks",
            Op::Release | Op::SharedRelease => "unlocks",
            Op::Fork => "starts",
            Op::Join => "joins",
            Op::Wait => "is woken by",
            Op::Notify | Op::NotifyAll => "notifies",
            Op::Branch => "branches",
            Op::FailedAcquire | Op::FailedSharedAcquire => "fails to lock",
            Op::FailedWait => "fails to take",
            Op::Begin | Op::End | Op::Try | Op::Fence => "passes",
        };
        let place =
            tables.location(event.location).map_or(String::new(), |l| format!(", {}", shortened(&short(l), NAME)));
        let space = if object.is_empty() { "" } else { " " };
        format!("{} {verb}{space}{object} (event {id}{place})", self.thread(event.thread))
    }

    fn thread(&self, thread: ThreadId) -> String {
        shortened(self.context.trace.tables().thread(thread), NAME)
    }

    fn word(&self, step: &Step) -> &'static str {
        let trace = self.context.trace;
        let (before, after) = (trace.event(step.before), trace.event(step.after));
        match step.why {
            Why::Must if before.thread == after.thread => "program-order",
            Why::Must if before.op == Op::Fork => "fork",
            Why::Must if after.op == Op::Join => "join",
            Why::Must if after.op == Op::Wait => "notify",
            Why::Must => "must-order",
            Why::ReadsFrom(_) => "reads-from",
            Why::Interference(_) => "interference",
            Why::Lock(_) => "lock",
            Why::Demand => "demand",
            Why::Target => "target",
        }
    }

    /// The reason for a step.
    fn reason(&self, step: &Step) -> String {
        let tables = self.context.trace.tables();
        let thread = |id: EventId| self.thread(self.context.trace.event(id).thread);
        match (self.word(step), step.why) {
            ("program-order", _) => format!("program order of {}", thread(step.before)),
            ("fork", _) => format!("{} starts {}", thread(step.before), thread(step.after)),
            ("join", _) => format!("{} waits for the end of {}", thread(step.after), thread(step.before)),
            ("notify", _) => format!("{} is woken by {}", thread(step.after), thread(step.before)),
            (_, Why::ReadsFrom(_)) => "the read must see this write, as in the recorded run".to_string(),
            (_, Why::Interference(variable)) => {
                let name = shortened(tables.variables.get(variable.index()), NAME);
                format!("no other write of {name} may come between a write and the read that sees it")
            }
            (_, Why::Lock(lock)) => {
                let name = shortened(tables.locks.get(lock.index()), NAME);
                format!("lock {name}: its critical sections cannot overlap, and this one must come first")
            }
            (_, Why::Target) if self.of_state => format!(
                "the question: event {} has not run in a state in which event {} is reached",
                step.after, step.before
            ),
            (_, Why::Target) => "the question asks for this order".to_string(),
            _ => "fork, join, notify, or the write that a read saw".to_string(),
        }
    }

    /// A derived order in words.
    fn order(&self, step: &Step) -> String {
        match step.why {
            Why::Lock(lock) => {
                let name = shortened(self.context.trace.tables().locks.get(lock.index()), NAME);
                format!("lock {name} orders {}", self.sentence(step))
            }
            _ => self.sentence(step),
        }
    }

    /// The reason for a derived order that does not follow from other orders.
    fn given(&self, step: &Step) -> String {
        match step.why {
            Why::Lock(_) => {
                "the later critical section is still open when the state is reached, so all others come before it"
                    .into()
            }
            _ => "the read sees the value from before all of these writes".into(),
        }
    }
}
