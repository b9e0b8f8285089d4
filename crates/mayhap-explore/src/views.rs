//! What threads do next, as far as runs have shown it: runs of which all is known are derived instead of made.
//!
//! What a thread does next depends on its *view*: what it has done, which writes its reads saw, and what had been done before to each synchronisation object that it used,
//! together with the views of those who did that. The order of writes that it does not see does not matter to it (reads-from equivalence: Chalupa et al.,
//! POPL 2018; Abdulla et al., OOPSLA 2019). So a run all of whose views some run has shown need not be made: its steps follow.
//!
//! A thread that waits for another one's end has tried in vain, which leaves no trace in its view. Values that were read belong to views, and are learnt
//! with them. If a thread goes on in two ways from one view, something that is not seen decides its way; then nothing can be derived ([`Views::is_refuted`]).
//!
//! Cost: a hash for each operation and each eight bytes that it accesses. Memory: at most [`MOST_FACTS`] facts; what is not kept is not known.

use std::collections::BTreeMap;

use foldhash::HashMap;

use mayhap_record::{Operation, TurnStep};

use crate::races::{memory, object};
use crate::turns::{Turn, is_choice};

/// The most facts that are kept; about 100 MB.
const MOST_FACTS: usize = 1 << 20;

/// A hash of all that a thread's next operation can depend on.
type View = u128;

/// What a thread with a certain view does.
#[derive(Clone, PartialEq, Debug)]
enum Fact {
    /// It begins a step, at this place in the code.
    Step(u64),
    /// An operation, without what comes of it. With a mark: a step begins with an attempt that does not count.
    Does(Operation, bool),
    /// What came of its last operation.
    Found(Operation),
    /// It ends the program.
    Exit,
}

/// What runs have shown.
#[derive(Debug, Default)]
pub(crate) struct Views {
    facts: HashMap<View, Fact>,
    is_refuted: bool,
}

/// What is known of a run in certain turns.
#[derive(Debug)]
pub(crate) enum Known {
    /// All of its steps.
    Whole(Vec<TurnStep>),
    /// Its steps only up to a place; these turns lead to it.
    Until(Vec<Turn>),
}

/// Parts of views.
const STEP: u64 = 1;
const READS: u64 = 2;
const WRITES: u64 = 3;
const USES: u64 = 4;
const FORKS: u64 = 5;
const JOINS: u64 = 6;
const ENDS: u64 = 7;
const CHOOSES: u64 = 8;
const WAKES: u64 = 9;
const CHILD: u64 = 10;
const RESUMES: u64 = 11;
const FINDS: u64 = 12;

fn mix(view: View, part: u128) -> View {
    let mixed = (view ^ part).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
    mixed ^ mixed >> 61
}

fn mix_all(view: View, parts: &[u64]) -> View {
    parts.iter().fold(view, |view, part| mix(view, u128::from(*part)))
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    view: View,
    /// It cannot go on.
    is_parked: bool,
    /// It waits for another one's end: for which, if that is known.
    joins: Option<Option<u32>>,
    /// Its view at its end.
    end: Option<View>,
}

/// A run that is gone through.
#[derive(Debug)]
struct Machine {
    threads: BTreeMap<u32, Thread>,
    /// Of each eight bytes: which of them were written, and the view of the one who did; the latest last.
    cells: HashMap<u64, Vec<(u8, View)>>,
    /// The view of the last one to use an object.
    objects: HashMap<u64, View>,
    forks: u64,
}

/// An operation without what comes of it.
fn asked(operation: &Operation) -> Operation {
    match operation {
        Operation::Read(address, bytes, _, place) => Operation::Read(*address, *bytes, None, *place),
        Operation::Update(address, bytes, _) => Operation::Update(*address, *bytes, None),
        Operation::Fork(_) => Operation::Fork(0),
        Operation::Choice(kind, alternatives, _) => Operation::Choice(*kind, *alternatives, 0),
        other => object(other).map_or_else(|| other.clone(), Operation::Sync),
    }
}

/// Whether something comes of an operation that its view decides.
fn has_result(operation: &Operation) -> bool {
    matches!(operation, Operation::Read(..) | Operation::Update(..)) || object(operation).is_some()
}

impl Machine {
    fn new() -> Machine {
        let threads = BTreeMap::from([(0, Thread { view: 1, ..Thread::default() })]);
        Machine { threads, cells: HashMap::default(), objects: HashMap::default(), forks: 0 }
    }

    /// The parts of each eight bytes of a range: the cell and which bytes.
    fn cells(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
        let end = address.saturating_add(bytes.clamp(1, 1 << 20));
        (address / 8..=(end - 1) / 8).map(move |cell| {
            let (from, to) = (address.max(cell * 8) - cell * 8, end.min(cell * 8 + 8) - cell * 8);
            (cell, (0xffu16 >> (8 - (to - from)) << from) as u8)
        })
    }

    /// Adds to a view which writes are seen in a range.
    fn sees(&self, mut view: View, address: u64, bytes: u64) -> View {
        for (cell, mut left) in Machine::cells(address, bytes) {
            for (written, by) in self.cells.get(&cell).into_iter().flatten().rev() {
                if written & left != 0 {
                    view = mix(mix(view, u128::from(written & left)), *by);
                    left &= !written;
                }
            }
            view = mix(view, u128::from(left));
        }
        view
    }

    fn write(&mut self, view: View, address: u64, bytes: u64) {
        for (cell, mask) in Machine::cells(address, bytes) {
            let writes = self.cells.entry(cell).or_default();
            writes.iter_mut().for_each(|(written, _)| *written &= !mask);
            writes.retain(|(written, _)| *written != 0);
            writes.push((mask, view));
        }
    }

    /// What a thread's view is after an operation; `None` if that is nothing which can be derived.
    fn does(&mut self, number: u32, operation: &Operation) -> Option<View> {
        let before = self.threads.get(&number)?.view;
        let view = match operation {
            Operation::Fork(_) => {
                self.forks += 1;
                mix_all(before, &[FORKS, self.forks])
            }
            Operation::Join(other) => mix(mix_all(before, &[JOINS, (*other).into()]), self.threads.get(other)?.end?),
            Operation::End => mix_all(before, &[ENDS]),
            Operation::Choice(kind, alternatives, taken) => {
                mix_all(before, &[CHOOSES, (*kind).into(), (*alternatives).into(), (*taken).into()])
            }
            Operation::Unparked(other) => mix_all(before, &[WAKES, (*other).into()]),
            Operation::Unclear(_) => return None,
            other => match (memory(other), object(other)) {
                (Some((address, bytes, writes)), _) => {
                    let reads = !matches!(other, Operation::Write(..));
                    let place = if let Operation::Read(.., place) = other { u64::from(*place) } else { 0 };
                    let kind = if writes { WRITES } else { READS };
                    let mut view = mix_all(before, &[kind, address, bytes, place]);
                    // What was written before there was a second thread is as what was there from the start.
                    let is_alone = self.forks == 0;
                    view = if reads && !is_alone { self.sees(view, address, bytes) } else { view };
                    if writes && !is_alone {
                        self.write(view, address, bytes);
                    }
                    view
                }
                (None, Some(object)) => {
                    let last = self.objects.entry(object).or_default();
                    *last = mix(mix_all(before, &[USES, object]), *last);
                    *last
                }
                (None, None) => return None,
            },
        };
        let thread = self.threads.get_mut(&number)?;
        thread.view = view;
        match operation {
            Operation::End => thread.end = Some(view),
            Operation::Fork(child) => {
                let new = Thread { view: mix_all(view, &[CHILD]), ..Thread::default() };
                if self.threads.insert(*child, new).is_some() {
                    return None;
                }
            }
            Operation::Blocked(_) | Operation::Wait(_) => thread.is_parked = true,
            Operation::Unparked(other) => self.threads.get_mut(other)?.is_parked = false,
            _ => {}
        }
        Some(view)
    }

    fn is_waiting_for_an_end(&self, number: u32) -> bool {
        self.threads.get(&number).is_some_and(|thread| thread.joins.is_some())
    }

    fn can_go_on(&self, number: u32) -> bool {
        self.threads.get(&number).is_some_and(|thread| !thread.is_parked && thread.end.is_none())
    }

    fn have_all_ended_but(&self, one: u32) -> bool {
        self.threads.iter().all(|(number, thread)| *number == one || thread.end.is_some())
    }
}

impl Views {
    /// A thread went on in two ways from one view, or in a way that cannot be followed.
    pub(crate) fn is_refuted(&self) -> bool {
        self.is_refuted
    }

    /// From which nothing can be derived.
    pub(crate) fn none() -> Views {
        Views { is_refuted: true, ..Views::default() }
    }

    /// How much is known.
    pub(crate) fn facts(&self) -> usize {
        self.facts.len()
    }

    /// Learns from a run that was made; `success`: it ended well.
    pub(crate) fn learn(&mut self, steps: &[TurnStep], success: bool) {
        if !self.is_refuted && self.follow(steps, success).is_none() {
            self.is_refuted = true;
        }
    }

    /// Keeps a fact, and says whether it agrees with what is known.
    #[must_use]
    fn note(&mut self, view: View, fact: &Fact) -> Option<()> {
        match self.facts.get(&view) {
            Some(known) => (known == fact).then_some(()),
            None => {
                if self.facts.len() < MOST_FACTS {
                    self.facts.insert(view, fact.clone());
                }
                Some(())
            }
        }
    }

    /// Goes through a run; `None` if it contradicts what is known.
    fn follow(&mut self, steps: &[TurnStep], success: bool) -> Option<()> {
        let mut machine = Machine::new();
        // Where a run that fails breaks off, the last step of a thread need not be complete.
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        if !success {
            last.extend(steps.iter().enumerate().map(|(at, step)| (step.thread, at)));
        }
        for (at, step) in steps.iter().enumerate() {
            let is_complete = last.get(&step.thread) != Some(&at);
            self.follow_step(&mut machine, step, is_complete)?;
        }
        let main = machine.threads[&0];
        let ends = steps.last().is_some_and(|step| step.thread == 0) && main.end.is_none();
        if success && ends && machine.have_all_ended_but(0) {
            self.note(main.view, &Fact::Exit)?;
        }
        Some(())
    }

    fn follow_step(&mut self, machine: &mut Machine, step: &TurnStep, is_complete: bool) -> Option<()> {
        let number = step.thread;
        let thread = machine.threads.get_mut(&number).filter(|thread| !thread.is_parked && thread.end.is_none())?;
        let view = thread.view;
        let mut resumes = thread.joins.take().is_some();
        if resumes {
            self.note(mix_all(view, &[RESUMES]), &Fact::Step(step.code))?;
        } else {
            if is_complete {
                self.note(view, &Fact::Step(step.code))?;
            }
            thread.view = mix_all(view, &[STEP]);
        }
        let mut tries = false;
        for operation in &step.operations {
            match operation {
                Operation::Blocked(0) if !tries && !resumes => {
                    // Where it goes on after that is where it tries now.
                    if step.operations.first() == Some(operation) {
                        self.note(mix_all(machine.threads[&number].view, &[RESUMES]), &Fact::Step(step.code))?;
                    }
                    tries = true;
                    continue;
                }
                Operation::Unparked(other) if machine.is_waiting_for_an_end(*other) => {
                    machine.threads.get_mut(other)?.is_parked = false;
                    continue;
                }
                Operation::Join(_) => {}
                _ if tries || resumes => return None,
                _ => {}
            }
            let before = machine.threads[&number].view;
            let announced = std::mem::take(&mut tries) | std::mem::take(&mut resumes);
            let after = machine.does(number, operation)?;
            if is_complete {
                self.note(before, &Fact::Does(asked(operation), announced))?;
                if has_result(operation) {
                    self.note(mix_all(after, &[FINDS]), &Fact::Found(operation.clone()))?;
                }
            }
        }
        if tries {
            let thread = machine.threads.get_mut(&number)?;
            (thread.joins, thread.is_parked) = (Some(None), true);
        }
        Some(())
    }

    /// What is known of the run in these turns, of which so many must be made and the others are left where one cannot be. After their end those threads go on of which it is
    /// known how; `asleep` says which of them rather not.
    pub(crate) fn derive(
        &self,
        turns: &[Turn],
        must: usize,
        asleep: &mut dyn FnMut(&TurnStep) -> Vec<u32>,
    ) -> Option<Known> {
        if self.is_refuted || self.facts.is_empty() || turns.iter().any(|turn| is_choice(*turn)) {
            return None;
        }
        let mut machine = Machine::new();
        let (mut steps, mut sleeping) = (Vec::new(), Vec::new());
        for thread in turns.iter().flat_map(|&[thread, count]| std::iter::repeat_n(thread, count as usize)) {
            if steps.len() >= must && !machine.can_go_on(thread) {
                break;
            }
            let step = self.step(&mut machine, thread)?;
            sleeping = asleep(&step);
            steps.push(step);
        }
        let mut unknown: BTreeMap<u32, usize> = BTreeMap::new();
        while !self.is_over(&machine) {
            let next = self.next_thread(&machine, &steps, &sleeping, &unknown);
            let Some(thread) = next else {
                // The first one of which it is not known how it goes on shows that.
                let first = unknown.keys().find(|thread| !sleeping.contains(thread)).or(unknown.keys().next());
                let mut turns = crate::turns::turns_of(&steps);
                first.iter().for_each(|thread| crate::turns::add(&mut turns, [**thread, 1]));
                return Some(Known::Until(turns));
            };
            match self.step(&mut machine, thread) {
                Some(step) => {
                    sleeping = asleep(&step);
                    steps.push(step);
                }
                None => {
                    unknown.insert(thread, steps.len());
                    machine = self.again(&steps)?;
                }
            }
        }
        Some(Known::Whole(steps))
    }

    /// The thread that goes on after these steps: one that is awake, and rather the last one than another.
    fn next_thread(
        &self,
        machine: &Machine,
        steps: &[TurnStep],
        sleeping: &[u32],
        unknown: &BTreeMap<u32, usize>,
    ) -> Option<u32> {
        let last = steps.last().map_or(0, |step| step.thread);
        let goes_on = |number: &u32| {
            let exits = |thread: &Thread| self.facts.get(&thread.view) == Some(&Fact::Exit);
            machine.can_go_on(*number)
                && !machine.threads.get(number).is_some_and(exits)
                && unknown.get(number) != Some(&steps.len())
        };
        let all = || std::iter::once(last).chain(machine.threads.keys().copied()).filter(goes_on);
        let not_tried = |number: &u32| !unknown.contains_key(number);
        let is_awake = |number: &u32| !sleeping.contains(number);
        let awake = || all().filter(is_awake);
        awake().find(not_tried).or_else(|| awake().next()).or_else(|| {
            let is_any_awake = unknown.keys().any(is_awake);
            all().next().filter(|_| !is_any_awake)
        })
    }

    /// The state after steps that were derived.
    fn again(&self, steps: &[TurnStep]) -> Option<Machine> {
        let mut machine = Machine::new();
        for step in steps {
            self.step(&mut machine, step.thread)?;
        }
        Some(machine)
    }

    fn is_over(&self, machine: &Machine) -> bool {
        let main = machine.threads[&0];
        machine.have_all_ended_but(0) && (main.end.is_some() || self.facts.get(&main.view) == Some(&Fact::Exit))
    }

    /// The next step of a thread, if it can make one and it is known.
    fn step(&self, machine: &mut Machine, number: u32) -> Option<TurnStep> {
        let thread = machine.threads.get_mut(&number).filter(|thread| !thread.is_parked && thread.end.is_none())?;
        let mut resumes = thread.joins.take().is_some();
        let begins = if resumes { mix_all(thread.view, &[RESUMES]) } else { thread.view };
        let Some(Fact::Step(code)) = self.facts.get(&begins) else { return None };
        if !resumes {
            thread.view = mix_all(thread.view, &[STEP]);
        }
        let mut step = TurnStep { thread: number, code: *code, operations: Vec::new() };
        loop {
            let thread = machine.threads[&number];
            let (operation, announced) = match self.facts.get(&thread.view) {
                Some(Fact::Does(operation, announced)) => (operation, *announced),
                Some(_) => break,
                None if thread.is_parked || thread.end.is_some() => break,
                None => return None,
            };
            if let Operation::Join(other) = operation {
                if announced && !std::mem::take(&mut resumes) {
                    step.operations.push(Operation::Blocked(0));
                }
                if machine.threads.get(other)?.end.is_none() {
                    let waits = machine.threads.get_mut(&number).filter(|_| announced)?;
                    (waits.joins, waits.is_parked) = (Some(Some(*other)), true);
                    break;
                }
            }
            self.go_on(machine, number, operation, &mut step)?;
        }
        Some(step)
    }

    /// The next operation of a step.
    fn go_on(&self, machine: &mut Machine, number: u32, operation: &Operation, step: &mut TurnStep) -> Option<()> {
        // Which thread it is that is started depends on how many were.
        let operation = match operation {
            Operation::Fork(_) => Operation::Fork(machine.forks as u32 + 1),
            other => other.clone(),
        };
        let after = machine.does(number, &operation)?;
        let operation = match self.facts.get(&mix_all(after, &[FINDS])) {
            Some(Fact::Found(found)) if !matches!(operation, Operation::Fork(_)) || *found == operation => {
                found.clone()
            }
            _ if has_result(&operation) => return None,
            _ => operation,
        };
        let ends = operation == Operation::End;
        let thread = machine.threads.get_mut(&number)?;
        thread.is_parked |= matches!(operation, Operation::Blocked(_) | Operation::Wait(_));
        step.operations.push(operation);
        let waits = |(_, thread): &(&u32, &mut Thread)| thread.is_parked && thread.joins == Some(Some(number));
        let mut woken = machine.threads.iter_mut().filter(waits).filter(|_| ends);
        if let Some((other, thread)) = woken.next() {
            thread.is_parked = false;
            step.operations.push(Operation::Unparked(*other));
            // In which order several are woken depends on when they began to wait.
            return woken.next().is_none().then_some(());
        }
        Some(())
    }
}
