//! Traces that do not fit into memory, predicted window by window.
//!
//! A window is a run of events taken for a trace of its own: what comes before it happens as it was recorded, and only the
//! window is reordered. So that every reordering of the window is one of the whole trace, the window begins with what still
//! holds of the past: the forks of threads that run, the notifies that can still serve a wait, and the locks that are held, taken
//! before anything else can happen (each holder notifies the next, and all threads wait for the last); a semaphore begins with
//! the count that it has there. Events that run in one step are in one window, which may be longer for it. A read whose write lies before the
//! window sees the window's initial value, which no write of the window may come before, as in the whole trace.
//!
//! What is proven in a window is therefore proven of the trace: its schedule is the recorded run up to the window and the
//! window's schedule from there. What needs events of two windows is not looked for, and counts as unknown.
//!
//! Cost: that of predicting each window; memory of one window.

use std::collections::BTreeMap;

use mayhap_trace::validate::Validator;
use mayhap_trace::{
    Columns, CondId, ConditionKind, Error, Event, EventId, Execution, Op, Source, Tables, ThreadId, Trace,
};

use crate::{Options, Prediction, predict};

/// The condition by which a window's threads wait for the locks that are held when it begins.
const BARRIER: &str = "(beginning of the window)";

/// A part of a trace.
pub struct Window {
    /// Its events, with what holds of the past before them.
    pub trace: Trace,
    /// Events of the whole trace before it.
    pub after: u64,
    /// Numbers in the whole trace of the events put before the window's own; 0 for those that it does not have.
    past: Vec<u64>,
}

impl Window {
    /// Returns the number in the whole trace of an event with this number in the window; 0 if it is not there.
    pub fn whole(&self, number: u64) -> u64 {
        match self.past.get((number as usize).wrapping_sub(1)) {
            Some(&known) => known,
            None => number - self.past.len() as u64 + self.after,
        }
    }
}

/// The windows of a source, one after the other.
pub struct Windows {
    source: Box<dyn Source>,
    size: usize,
    chunk: Columns,
    next: usize,
    past: Past,
}

/// What still holds of the events so far.
#[derive(Default)]
struct Past {
    validator: Validator,
    events: u64,
    /// Acquires without a release.
    held: Vec<(u64, Event)>,
    /// Forks without a join.
    forks: Vec<(u64, Event)>,
    /// The two latest notifies of each condition that come from different threads, newest first.
    notifies: BTreeMap<u32, Vec<(u64, Event)>>,
    /// All notifies of condition variables, by number: a wait may begin long before it ends.
    conditional: BTreeMap<u64, Event>,
}

impl Windows {
    /// Windows of so many events.
    pub fn new(source: Box<dyn Source>, size: usize) -> Self {
        Windows { source, size: size.max(1), chunk: Columns::default(), next: 0, past: Past::default() }
    }

    /// The next window, if there is one.
    pub fn next_window(&mut self) -> Result<Option<Window>, Error> {
        let own = self.own_events()?;
        if own.is_empty() {
            return Ok(None);
        }
        let mut tables = self.source.tables().clone();
        let after = self.past.events;
        let mut before = match after {
            0 => Vec::new(),
            _ => self.past.begin(&own, &mut tables),
        };
        // These come last: a wait that began before the window must not seem to have begun after its notify.
        before.extend(self.past.take(&own, self.source.tables())?);
        let mut columns = Columns::default();
        before.iter().for_each(|(_, event)| columns.push(*event));
        columns.append(&own);
        let past = before.into_iter().map(|(number, _)| number).collect();
        Ok(Some(Window { trace: Trace::from_parts(columns, tables), after, past }))
    }

    /// Goes past the next window, which another process analyses. Says whether there was one.
    fn skip_window(&mut self) -> Result<bool, Error> {
        let own = self.own_events()?;
        self.past.take(&own, self.source.tables())?;
        Ok(!own.is_empty())
    }

    /// As many events as a window has, and those that are joined to the last of them.
    fn own_events(&mut self) -> Result<Columns, Error> {
        let mut own = Columns::default();
        loop {
            if self.next == self.chunk.len() {
                self.next = 0;
                if !self.source.next_chunk(&mut self.chunk)? {
                    return Ok(own);
                }
            }
            let end = self.chunk.len().min(self.next + self.size.saturating_sub(own.len()));
            own.append_range(&self.chunk, self.next..end);
            self.next = end;
            while own.len() >= self.size && self.next < self.chunk.len() {
                if !self.chunk.flags_at(self.next).is_joined() {
                    return Ok(own);
                }
                own.append_range(&self.chunk, self.next..self.next + 1);
                self.next += 1;
            }
        }
    }
}

impl Past {
    /// Events that state what holds, with their numbers; the initial counts of semaphores become those of the moment.
    fn begin(&self, own: &Columns, tables: &mut Tables) -> Vec<(u64, Event)> {
        let mut all: Vec<(u64, Event)> = self.forks.clone();
        let pairing = self.validator.pairing();
        for (&object, latest) in &self.notifies {
            let condition = CondId::at(object as usize);
            match tables.condition_kind(condition) {
                ConditionKind::Token => {
                    let set = pairing.first_waiting(condition).map(EventId::number);
                    all.extend(latest.iter().filter(|(number, _)| Some(*number) == set));
                }
                kind if kind.has_fixed_pairs() => all.extend(latest.iter().rev()),
                _ => {}
            }
        }
        for condition in (0..tables.conditions.len()).map(CondId::at) {
            let kind = tables.condition_kind(condition);
            if let (ConditionKind::Semaphore { .. }, Some(count)) = (kind, pairing.count(condition, kind)) {
                let initial = u32::try_from(count).unwrap_or(u32::MAX);
                tables.condition_kinds.set(condition.index(), ConditionKind::Semaphore { initial });
            }
        }
        if !self.held.is_empty() {
            all.extend(self.hold(own, tables));
        }
        all
    }

    /// The locks that are held, taken thread by thread, and every thread of the window waiting until they are.
    fn hold(&self, own: &Columns, tables: &mut Tables) -> Vec<(u64, Event)> {
        let condition = tables.conditions.intern(BARRIER.as_bytes()).expect("a trace has room for a condition more");
        let signal = |thread, op| (0, Event::new(thread, op, condition, None));
        let mut all = Vec::new();
        let mut holders: Vec<ThreadId> = self.held.iter().map(|(_, event)| event.thread).collect();
        holders.sort_unstable();
        holders.dedup();
        for (i, &holder) in holders.iter().enumerate() {
            if i > 0 {
                all.push(signal(holder, Op::Wait));
            }
            all.extend(self.held.iter().filter(|(_, event)| event.thread == holder));
            all.push(signal(holder, Op::Notify));
        }
        let last = holders[holders.len() - 1];
        let waiting = begun(own, tables.threads.len());
        let waits = (0..waiting.len()).map(ThreadId::at).filter(|thread| waiting[thread.index()] && *thread != last);
        all.extend(waits.map(|thread| signal(thread, Op::Wait)));
        all
    }

    /// Goes on to the end of the window. Returns the earlier notifies that its waits for condition variables had.
    fn take(&mut self, own: &Columns, tables: &Tables) -> Result<Vec<(u64, Event)>, Error> {
        let first = self.events;
        let mut early = BTreeMap::new();
        for event in own.iter() {
            let id = EventId::at(self.events as usize);
            let step = self.validator.step(tables, id, &event)?;
            self.events += 1;
            let entry = (id.number(), event);
            let is_condition = || event.condition().map(|c| tables.condition_kind(c)) == Some(ConditionKind::Condition);
            match event.op {
                Op::Wait => {
                    let notify = step.partner.map(EventId::number).filter(|&notify| notify <= first);
                    early.extend(notify.and_then(|notify| Some((notify, *self.conditional.get(&notify)?))));
                }
                Op::Notify | Op::NotifyAll if is_condition() => drop(self.conditional.insert(entry.0, event)),
                Op::Acquire | Op::SharedAcquire => self.held.push(entry),
                Op::Release | Op::SharedRelease => {
                    let matches = |(_, held): &(u64, Event)| {
                        (held.thread, held.object, held.op.is_shared())
                            == (event.thread, event.object, event.op.is_shared())
                    };
                    let at = self.held.iter().rposition(matches).expect("the validator saw its acquire");
                    self.held.remove(at);
                }
                Op::Fork => self.forks.push(entry),
                Op::Join => self.forks.retain(|(_, fork)| fork.object != event.object),
                Op::Notify | Op::NotifyAll => {
                    let latest = self.notifies.entry(event.object).or_default();
                    latest.retain(|(_, earlier)| earlier.thread != event.thread);
                    latest.insert(0, entry);
                    latest.truncate(2);
                }
                _ => {}
            }
        }
        Ok(early.into_iter().collect())
    }
}

/// Threads that do something in the window and were there before it: no fork of the window starts them.
fn begun(own: &Columns, threads: usize) -> Vec<bool> {
    let mut begun = vec![false; threads];
    let mut forked = vec![false; threads];
    for event in own.iter().filter(|event| !event.op.is_mark()) {
        if let Some(child) = event.child().filter(|_| event.op == Op::Fork) {
            forked[child.index()] = true;
        }
        begun[event.thread.index()] |= !forked[event.thread.index()];
    }
    begun
}

/// Which windows of a trace to predict: every `of`-th, from the `part`-th on, which counts from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Which part.
    pub part: u64,
    /// Of how many.
    pub of: u64,
}

impl Share {
    /// All windows.
    pub const WHOLE: Share = Share { part: 0, of: 1 };

    fn has(self, number: u64) -> bool {
        number % self.of.max(1) == self.part
    }
}

/// Predicts window by window; `found` gets each window of the share with what was found in it. Returns how many windows the trace has.
pub fn in_windows(
    source: Box<dyn Source>,
    size: usize,
    share: Share,
    options: &dyn Fn(&Trace) -> Options,
    found: &mut dyn FnMut(Predicted<'_>),
) -> Result<u64, crate::Error> {
    let mut windows = Windows::new(source, size);
    let mut chosen: Option<Options> = None;
    let mut count = 0u64;
    loop {
        let number = count;
        // The first window decides on the model, whichever worker analyses it.
        if !share.has(number) && chosen.is_some() {
            match windows.skip_window()? {
                true => count += 1,
                false => break,
            }
            continue;
        }
        let Some(window) = windows.next_window()? else { break };
        count += 1;
        // A later one that could be more lenient need not be.
        let options = chosen.get_or_insert_with(|| options(&window.trace));
        if !share.has(number) {
            continue;
        }
        let execution = Execution::derive(&window.trace)?;
        let prediction = predict(&execution, options)?;
        let events = windows.past.events;
        found(Predicted { number, window: &window, execution: &execution, options, prediction: &prediction, events });
        if prediction.halted.is_some() {
            break;
        }
    }
    Ok(count)
}

/// What was found in a window.
pub struct Predicted<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// The window.
    pub window: &'a Window,
    /// Its trace and what follows from it.
    pub execution: &'a Execution<'a>,
    /// What was looked for.
    pub options: &'a Options,
    /// What was found.
    pub prediction: &'a Prediction,
    /// Events of the whole trace up to the window's end.
    pub events: u64,
}
