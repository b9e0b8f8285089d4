//! Checks that runs of a manifest which were not made follow from those that were: part of what [`crate::closure`] checks, and separate from what derived them.
//!
//! A thread's *view* is what it has done, which writes its reads saw, and what had been done before to each object that it used, together with the views of those who
//! did that. What a thread does next depends on its view alone. So a run holds if, at each view that its threads come to, some run that was made shows what they do there.

use std::collections::{BTreeMap, HashMap};

use mayhap_record::{Operation, TurnStep};

use crate::manifest::Manifest;

/// Checks the derived runs of a manifest, if it has any.
pub(crate) fn check(manifest: &Manifest, runs: &[Vec<TurnStep>]) -> Result<(), String> {
    if !manifest.runs.iter().any(|run| run.derived) {
        return Ok(());
    }
    let mut shown = Shown::default();
    for is_derived in [false, true] {
        for (number, (run, steps)) in manifest.runs.iter().zip(runs).enumerate() {
            if run.derived != is_derived {
                continue;
            }
            if is_derived && !run.success {
                return Err(format!("run {number}: it was derived, and ends otherwise than with exit code 0"));
            }
            let walk = Walk::new(&mut shown, steps, is_derived, run.success);
            walk.all().map_err(|wrong| format!("run {number}: {wrong}"))?;
        }
    }
    Ok(())
}

/// What threads do at views. Views are numbered; two are the same if all that they are made of is.
#[derive(Default)]
struct Shown {
    views: HashMap<Vec<u64>, u64>,
    next: HashMap<u64, Next>,
    /// What came of the operation that led to a view.
    result: HashMap<u64, Operation>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Next {
    Step,
    Does(Vec<u64>),
    /// It waits for the end of a thread; with a mark, after an attempt in vain.
    Join(u32, bool),
    Exit,
}

impl Shown {
    fn view(&mut self, parts: Vec<u64>) -> u64 {
        let number = self.views.len() as u64 + 1;
        *self.views.entry(parts).or_insert(number)
    }
}

#[derive(Clone, Default)]
struct Thread {
    view: u64,
    waits: bool,
    /// It waits for this thread's end.
    joins: Option<u32>,
    tried: bool,
    end: Option<u64>,
}

/// One run.
struct Walk<'a> {
    shown: &'a mut Shown,
    steps: &'a [TurnStep],
    is_derived: bool,
    success: bool,
    threads: BTreeMap<u32, Thread>,
    bytes: HashMap<u64, u64>,
    objects: HashMap<u64, u64>,
    forks: u64,
}

const TWO_WAYS: &str = "a thread goes on in another way than in a run in which it had seen the same";
const NOT_SHOWN: &str = "no run that was made shows this";

impl<'a> Walk<'a> {
    fn new(shown: &'a mut Shown, steps: &'a [TurnStep], is_derived: bool, success: bool) -> Walk<'a> {
        let threads = BTreeMap::from([(0, Thread { view: shown.view(Vec::new()), ..Thread::default() })]);
        let (bytes, objects) = (HashMap::new(), HashMap::new());
        Walk { shown, steps, is_derived, success, threads, bytes, objects, forks: 0 }
    }

    fn all(mut self) -> Result<(), String> {
        // Where a run that fails breaks off, the last step of a thread need not be complete.
        let last: BTreeMap<u32, usize> = self.steps.iter().enumerate().map(|(nth, step)| (step.thread, nth)).collect();
        for nth in 0..self.steps.len() {
            let thread = self.steps[nth].thread;
            let counts = self.success || last[&thread] != nth;
            self.step(nth, counts).map_err(|wrong| format!("step {nth}: {wrong}"))?;
        }
        let have_ended = self.threads.iter().all(|(number, thread)| *number == 0 || thread.end.is_some());
        let main = self.threads[&0].clone();
        if self.success && have_ended && main.end.is_none() && self.steps.last().is_some_and(|step| step.thread == 0) {
            self.next(main.view, Next::Exit)
        } else if self.is_derived && !(have_ended && main.end.is_some()) {
            Err("it does not come to an end".into())
        } else {
            Ok(())
        }
    }

    fn thread(&mut self, number: u32) -> Result<&mut Thread, String> {
        self.threads.get_mut(&number).ok_or_else(|| format!("thread {number} was not started"))
    }

    /// What a thread does at a view: learnt from runs that were made, and asked of the others.
    fn next(&mut self, view: u64, next: Next) -> Result<(), String> {
        match self.shown.next.get(&view) {
            Some(known) if *known == next => Ok(()),
            Some(_) => Err(TWO_WAYS.into()),
            None if self.is_derived => Err(NOT_SHOWN.into()),
            None => {
                self.shown.next.insert(view, next);
                Ok(())
            }
        }
    }

    fn result(&mut self, view: u64, operation: &Operation) -> Result<(), String> {
        match self.shown.result.get(&view) {
            Some(known) if known == operation => Ok(()),
            Some(_) => Err(TWO_WAYS.into()),
            None if self.is_derived => Err(NOT_SHOWN.into()),
            None => {
                self.shown.result.insert(view, operation.clone());
                Ok(())
            }
        }
    }

    fn step(&mut self, nth: usize, counts: bool) -> Result<(), String> {
        let step = &self.steps[nth];
        let number = step.thread;
        let thread = self.thread(number)?;
        if thread.waits || thread.end.is_some() {
            return Err("the thread cannot go on".into());
        }
        let (before, resumes) = (thread.view, std::mem::take(&mut thread.tried));
        // A thread that waits for an end is let go on by that end: what it does then is a part of the step in which it began to wait.
        if !resumes {
            if counts {
                self.next(before, Next::Step)?;
            }
            let view = self.shown.view(vec![before, STEP]);
            self.thread(number)?.view = view;
        }
        let at = self.shown.view(vec![before, if resumes { RESUMES } else { BEGINS }]);
        if counts {
            self.result(at, &Operation::Read(step.code, 0, None, 0))?;
        }
        let mut tried = resumes;
        for (place, operation) in step.operations.iter().enumerate() {
            match operation {
                Operation::Blocked(0) if !tried => {
                    // Where it goes on after that is where it tries now.
                    if place == 0 {
                        let resumed = self.shown.view(vec![self.threads[&number].view, RESUMES]);
                        self.result(resumed, &Operation::Read(step.code, 0, None, 0))?;
                    }
                    tried = true;
                }
                Operation::Unparked(other) if self.threads.get(other).is_some_and(|other| other.tried) => {
                    let ends = place.checked_sub(1).map(|before| &step.operations[before]) == Some(&Operation::End);
                    if self.is_derived && !(ends && self.threads[other].joins == Some(number)) {
                        return Err(format!("thread {other} does not wait for this"));
                    }
                    self.thread(*other)?.waits = false;
                }
                Operation::Join(other) => {
                    if counts {
                        self.next(self.threads[&number].view, Next::Join(*other, tried))?;
                    }
                    let end = self.thread(*other)?.end.ok_or("a thread is waited for that has not ended")?;
                    let view = self.shown.view(vec![self.threads[&number].view, JOINS, (*other).into(), end]);
                    (self.thread(number)?.view, tried) = (view, false);
                }
                _ if tried => return Err("a thread that waits for the end of another one does something else".into()),
                _ => self.operation(number, operation, counts)?,
            }
        }
        if tried {
            self.waits_for_an_end(number)?;
        }
        match self.threads.iter().find(|(_, thread)| thread.waits && thread.joins == Some(number)) {
            Some((other, _)) if self.is_derived && self.threads[&number].end.is_some() => {
                Err(format!("thread {other} is not let go on"))
            }
            _ => Ok(()),
        }
    }

    /// The step ends with a thread that has tried in vain to see the end of another one.
    fn waits_for_an_end(&mut self, number: u32) -> Result<(), String> {
        let known = self.shown.next.get(&self.threads[&number].view).cloned();
        let joins = match known {
            Some(Next::Join(other, true)) => Some(other),
            _ if self.is_derived => return Err(NOT_SHOWN.into()),
            _ => None,
        };
        if self.is_derived && joins.and_then(|other| self.threads.get(&other)).is_none_or(|other| other.end.is_some()) {
            return Err("a thread waits for the end of one that has ended".into());
        }
        let thread = self.thread(number)?;
        (thread.waits, thread.tried, thread.joins) = (true, true, joins);
        Ok(())
    }

    /// An operation that is no waiting for an end.
    fn operation(&mut self, number: u32, operation: &Operation, counts: bool) -> Result<(), String> {
        use Operation as O;
        let before = self.threads[&number].view;
        let (mut asked, mut has_result) = (vec![before], true);
        let mut seen = Vec::new();
        match operation {
            O::Read(address, bytes, _, place) => {
                asked.extend([READS, *address, (*bytes).into(), (*place).into()]);
                seen = self.writers(*address, *bytes);
            }
            O::Update(address, bytes, _) => {
                asked.extend([UPDATES, *address, (*bytes).into()]);
                seen = self.writers(*address, *bytes);
            }
            O::Write(address, bytes) => {
                asked.extend([WRITES, *address, (*bytes).into()]);
                has_result = false;
            }
            O::Acquire(o) | O::Release(o) | O::SharedAcquire(o) | O::SharedRelease(o) | O::Sync(o) => {
                asked.extend([USES, *o]);
                seen.push(self.objects.get(o).copied().unwrap_or(0));
            }
            O::Attempt(o, _) | O::Notify(o) | O::Wait(o) | O::Blocked(o) if *o != 0 => {
                asked.extend([USES, *o]);
                seen.push(self.objects.get(o).copied().unwrap_or(0));
            }
            O::Fork(_) => {
                self.forks += 1;
                asked.push(FORKS);
                seen.push(self.forks);
            }
            O::Choice(kind, alternatives, taken) => {
                asked.extend([CHOOSES, (*kind).into(), (*alternatives).into()]);
                seen.push((*taken).into());
            }
            O::Unparked(other) => {
                asked.extend([WAKES, (*other).into()]);
                has_result = false;
            }
            O::End => {
                asked.push(ENDS);
                has_result = false;
            }
            _ => return Err("what this step depends on is not known".into()),
        }
        if counts {
            self.next(before, Next::Does(asked[1..].to_vec()))?;
        }
        asked.push(u64::MAX);
        asked.extend(seen);
        let after = self.shown.view(asked);
        if counts && has_result {
            self.result(after, operation)?;
        }
        self.take_effect(number, operation, after)
    }

    fn take_effect(&mut self, number: u32, operation: &Operation, after: u64) -> Result<(), String> {
        use Operation as O;
        self.thread(number)?.view = after;
        match operation {
            O::Write(address, bytes) | O::Update(address, bytes, _) => {
                range(*address, *bytes).for_each(|byte| _ = self.bytes.insert(byte, after));
            }
            O::Fork(child) => {
                let view = self.shown.view(vec![after, CHILD]);
                let new = Thread { view, ..Thread::default() };
                if self.threads.insert(*child, new).is_some() {
                    return Err(format!("thread {child} is started twice"));
                }
            }
            O::Unparked(other) => self.thread(*other)?.waits = false,
            O::End => self.thread(number)?.end = Some(after),
            O::Blocked(_) | O::Wait(_) => self.thread(number)?.waits = true,
            _ => {}
        }
        let object = match operation {
            O::Acquire(o) | O::Release(o) | O::SharedAcquire(o) | O::SharedRelease(o) | O::Sync(o) => *o,
            O::Attempt(o, _) | O::Notify(o) | O::Wait(o) | O::Blocked(o) => *o,
            _ => return Ok(()),
        };
        self.objects.insert(object, after);
        Ok(())
    }

    /// For each byte, the view after the write that is there.
    fn writers(&self, address: u64, bytes: u32) -> Vec<u64> {
        range(address, bytes).map(|byte| self.bytes.get(&byte).copied().unwrap_or(0)).collect()
    }
}

fn range(address: u64, bytes: u32) -> std::ops::Range<u64> {
    address..address.saturating_add(bytes.clamp(1, 1 << 20).into())
}

/// Kinds of parts of views.
const STEP: u64 = 1;
const BEGINS: u64 = 2;
const RESUMES: u64 = 3;
const READS: u64 = 4;
const UPDATES: u64 = 5;
const WRITES: u64 = 6;
const USES: u64 = 7;
const FORKS: u64 = 8;
const CHOOSES: u64 = 9;
const WAKES: u64 = 10;
const ENDS: u64 = 11;
const JOINS: u64 = 12;
const CHILD: u64 = 13;
