//! A real recording of a program that was printed as C, held against the interpreter: the machine is stepped in the order of
//! the recorded events, and what it does, lowered as [`super::lower`] says, must be what was recorded.
//!
//! Not compared: the names of objects beyond that the same one is called the same, and where exactly branches are. Of
//! branches, each that the definition asks for must lie after the thread's last read and before its next event. More of them
//! are allowed, since the recorder takes every basic block for a decision; they are counted.

use std::collections::{BTreeMap, BTreeSet};

use mayhap_trace::{ConditionKind, Event, EventId, Flags, Op, Trace, Value};

use super::interpreter::{Machine, Next};
use super::language::Operation;
use super::lower::{Lowered, Origin, lower};
use super::print_c::Printed;
use super::recording::Recording;
use super::state::{Choice, Effect, Happened, Part, State};

/// How a recording and the interpreter agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Agreement {
    /// Events that were compared.
    pub events: usize,
    /// Accesses whose value was recorded, and is right.
    pub values: usize,
    /// Accesses whose value was not recorded.
    pub without_value: usize,
    /// Writes of constants that were recorded as such.
    pub constants: usize,
    /// Writes of constants that were not.
    pub missed_constants: usize,
    /// Writes whose value the compiler found to be constant though the program computes it.
    pub folded: usize,
    /// Branches that the definition does not ask for.
    pub more_branches: usize,
    /// Accesses of memory that no two threads share, which were left out.
    pub left_out: usize,
    /// Programs that went on after they had freed a block twice, which the C library does not always notice. What follows is not defined.
    pub undefined: usize,
}

impl Agreement {
    /// Adds what another program came to.
    pub fn add(&mut self, other: Agreement) {
        self.events += other.events;
        self.values += other.values;
        self.without_value += other.without_value;
        self.constants += other.constants;
        self.missed_constants += other.missed_constants;
        self.folded += other.folded;
        self.more_branches += other.more_branches;
        self.left_out += other.left_out;
        self.undefined += other.undefined;
    }
}

/// Compares a recording with what the interpreter does in the same order. `file` is how locations name the printed program.
pub fn compare(machine: &Machine, printed: &Printed, file: &str, recorded: &Trace) -> Result<Agreement, String> {
    let mut follower = Follower::new(machine, printed, Recorded::new(recorded, file));
    for event in (0..recorded.len()).map(EventId::at) {
        let followed = follower.event(event);
        if followed.is_err() && follower.freed_twice {
            return Ok(Agreement { undefined: 1, ..Agreement::default() });
        }
        followed.map_err(|why| format!("event {} ({}): {why}", event.index() + 1, show(recorded, event)))?;
    }
    // That main ends is no event.
    follower.run_silently(0, |_, _| false)?;
    let Follower { recorded, state, steps, silent, threads, .. } = follower;
    let recording = Recording::of(steps, state);
    let lowered = lower(machine, &recording);
    let mut comparison =
        Comparison { recorded, lowered: &lowered, threads, objects: BTreeMap::new(), found: Agreement::default() };
    comparison.found.left_out =
        silent.iter().filter(|step| is_access(&recording.steps[**step as usize].effect)).count();
    comparison.events(&silent)?;
    comparison.branches(&silent, printed)?;
    Ok(comparison.found)
}

fn is_access(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Read { .. }
            | Effect::Write { .. }
            | Effect::Modify { .. }
            | Effect::FailedCompare { .. }
            | Effect::Freed(_)
    )
}

fn show(trace: &Trace, id: EventId) -> String {
    let event = trace.event(id);
    let tables = trace.tables();
    let words: String = event.flags.words().map(|word| format!(".{word}")).collect();
    let value = tables.value(event.value).map_or(String::new(), |value| format!("={value}"));
    let place = tables.location(event.location).unwrap_or("");
    format!(
        "{}|{}{words}({}){value}|{place}",
        tables.thread(event.thread),
        event.op.word(),
        tables.object(event.op, event.object)
    )
}

/// A recorded trace, and what of it is about the program.
struct Recorded<'a> {
    trace: &'a Trace,
    /// The line of the program of each location.
    lines: Vec<Option<usize>>,
    /// Conditions that stand for pipes.
    channels: Vec<bool>,
    /// The pipes that nothing was received from order nothing and are not recorded.
    has_channels: bool,
}

impl<'a> Recorded<'a> {
    fn new(trace: &'a Trace, file: &str) -> Recorded<'a> {
        let tables = trace.tables();
        let line = |name: &str| name.rsplit_once(&format!("{file}:"))?.1.parse().ok();
        let lines = tables.locations.iter().map(line).collect();
        let channel = |at| tables.condition_kinds.get(at) == ConditionKind::Channel;
        let channels: Vec<bool> = (0..tables.conditions.len()).map(channel).collect();
        let has_channels = channels.contains(&true);
        Recorded { trace, lines, channels, has_channels }
    }

    fn line(&self, event: &Event) -> Option<usize> {
        event.location.and_then(|location| self.lines[location.index()])
    }

    fn is_channel(&self, event: &Event) -> bool {
        event.condition().is_some_and(|condition| self.channels[condition.index()])
    }

    /// The event is about something that only the printed program has: handles of threads and pipes, objects of the C library.
    fn is_foreign(&self, event: &Event) -> bool {
        let name = || self.trace.tables().object(event.op, event.object);
        event.op.is_access() && name().starts_with(['t', 'p', 's', 'm', 'c']) && name().contains('_')
    }
}

/// Steps the machine in the order of the recorded events.
struct Follower<'a> {
    machine: &'a Machine,
    printed: &'a Printed,
    recorded: Recorded<'a>,
    state: State,
    steps: Vec<Happened>,
    /// Steps that no event stands for.
    silent: BTreeSet<u32>,
    /// Threads by their names in the recording.
    threads: BTreeMap<String, usize>,
    children: Vec<usize>,
    /// The program has ended by freeing a block a second time.
    freed_twice: bool,
}

impl<'a> Follower<'a> {
    fn new(machine: &'a Machine, printed: &'a Printed, recorded: Recorded<'a>) -> Follower<'a> {
        Follower {
            machine,
            printed,
            recorded,
            state: machine.start(),
            steps: Vec::new(),
            silent: BTreeSet::new(),
            threads: BTreeMap::from([("main".to_string(), 0)]),
            children: vec![0; machine.program.threads.len()],
            freed_twice: false,
        }
    }

    fn event(&mut self, id: EventId) -> Result<(), String> {
        let event = self.recorded.trace.event(id);
        let name = self.recorded.trace.tables().thread(event.thread);
        let &thread = self.threads.get(name).ok_or("a thread that was never forked")?;
        match event.op {
            Op::Begin | Op::Branch => return Ok(()),
            Op::End => return self.run_silently(thread, |_, _| false),
            Op::Wait if self.recorded.is_channel(&event) => return Ok(()),
            _ if event.flags.is_joined() || self.recorded.is_foreign(&event) => return Ok(()),
            _ => {}
        }
        let line = self.recorded.line(&event).ok_or("it is not in the program")?;
        let is_channel = self.recorded.is_channel(&event);
        let op = event.op;
        self.run_silently(thread, |next, lines| lines[next.site] == line && fits(next, op, is_channel))?;
        let next = self.machine.next(&self.state, thread).ok_or("the thread has ended")?;
        if self.printed.lines[next.site] != line || !fits(&next, op, is_channel) {
            return Err(format!("the program comes to line {}: {:?}", self.printed.lines[next.site], next.operation));
        }
        if !self.machine.choices(&self.state, thread).any(|choice| choice == Choice::Go) {
            return Err("the program has to wait here".to_string());
        }
        self.step(thread, Choice::Go)?;
        if let Some(Effect::Forked(child)) = self.steps.last().map(|step| step.effect) {
            self.children[thread] += 1;
            self.threads.insert(format!("{name}.{}", self.children[thread]), child);
        }
        Ok(())
    }

    fn step(&mut self, thread: usize, choice: Choice) -> Result<(), String> {
        let next = self.machine.next(&self.state, thread).and_then(|next| next.operation);
        let frees = matches!(next, Some(Operation::Free { .. }));
        let happened = self.machine.step(&mut self.state, thread, choice).map_err(|misuse| misuse.to_string())?;
        self.freed_twice |= frees && happened.effect == Effect::Aborted;
        self.steps.push(happened);
        Ok(())
    }

    /// Runs steps of a thread that no event stands for, up to one that is wanted.
    fn run_silently(&mut self, thread: usize, wanted: impl Fn(&Next<'_>, &[usize]) -> bool) -> Result<(), String> {
        while let Some(next) = self.machine.next(&self.state, thread) {
            if wanted(&next, &self.printed.lines) {
                return Ok(());
            }
            let choice = match (next.part, next.operation) {
                (Part::Return, _) => Choice::TimeOut,
                (Part::Whole, Some(Operation::Send { .. })) if !self.recorded.has_channels => Choice::Go,
                (
                    Part::Whole,
                    Some(
                        Operation::Allocate { .. }
                        | Operation::Free { .. }
                        | Operation::Read { .. }
                        | Operation::Write { .. }
                        | Operation::Modify { .. },
                    ),
                ) => Choice::Go,
                _ => return Ok(()),
            };
            if !self.machine.choices(&self.state, thread).any(|possible| possible == choice) {
                return Ok(());
            }
            self.silent.insert(self.steps.len() as u32);
            self.step(thread, choice)?;
        }
        Ok(())
    }
}

/// An operation is what an event may stand for.
fn fits(next: &Next<'_>, op: Op, is_channel: bool) -> bool {
    let Some(operation) = next.operation else { return false };
    let waits = matches!(operation, Operation::Wait { .. });
    match op {
        Op::Read => matches!(operation, Operation::Read { .. } | Operation::Modify { .. }),
        Op::Write => matches!(operation, Operation::Write { .. } | Operation::Free { .. }),
        Op::Acquire | Op::SharedAcquire => {
            matches!(operation, Operation::Acquire { .. }) || waits && next.part == Part::Reacquire
        }
        Op::FailedAcquire | Op::FailedSharedAcquire => matches!(operation, Operation::Acquire { .. }),
        Op::Release | Op::SharedRelease => {
            matches!(operation, Operation::Release(_)) || waits && next.part == Part::Whole
        }
        Op::Wait => waits && next.part == Part::Return || matches!(operation, Operation::Take { .. }),
        Op::FailedWait => matches!(operation, Operation::Take { .. }),
        Op::Notify | Op::NotifyAll if is_channel => {
            matches!(operation, Operation::Send { .. } | Operation::Receive { .. })
        }
        Op::Notify => matches!(operation, Operation::Signal(_) | Operation::Post(_)),
        Op::NotifyAll => matches!(operation, Operation::Broadcast(_)),
        Op::Fork => matches!(operation, Operation::Fork(_)),
        Op::Join => matches!(operation, Operation::Join(_)),
        Op::Fence => matches!(operation, Operation::Fence(_)),
        _ => false,
    }
}

/// A recorded trace beside the interpreter's.
struct Comparison<'a> {
    recorded: Recorded<'a>,
    lowered: &'a Lowered,
    threads: BTreeMap<String, usize>,
    /// What objects and blocks of the recording are in the interpreter's trace.
    objects: BTreeMap<(u8, String), String>,
    found: Agreement,
}

impl Comparison<'_> {
    /// Events other than branches, and pipes, of the two traces.
    fn both(&self, silent: &BTreeSet<u32>) -> [Vec<EventId>; 2] {
        let trace = self.recorded.trace;
        let recorded = trace.events().filter(|(_, event)| {
            let plain = !event.flags.is_joined() && event.op == Op::Branch;
            !plain
                && !matches!(event.op, Op::Begin | Op::End)
                && !self.recorded.is_channel(event)
                && !self.recorded.is_foreign(event)
        });
        let tables = self.lowered.trace.tables();
        let expected = self.lowered.trace.events().filter(|(id, event)| {
            let origin = self.lowered.origins[id.index()];
            let is_silent = origin.step().is_some_and(|step| silent.contains(&step));
            let is_channel = event.condition().is_some_and(|c| tables.condition_kind(c) == ConditionKind::Channel);
            origin != Origin::Decision && !is_silent && !is_channel
        });
        [recorded.map(|(id, _)| id).collect(), expected.map(|(id, _)| id).collect()]
    }

    fn thread(&self, recorded: &Event) -> usize {
        self.threads[self.recorded.trace.tables().thread(recorded.thread)]
    }

    fn events(&mut self, silent: &BTreeSet<u32>) -> Result<(), String> {
        let [recorded, expected] = self.both(silent);
        for (&mine, &theirs) in recorded.iter().zip(&expected) {
            self.event(mine, theirs).map_err(|why| {
                format!("{why}: {} instead of {}", show(self.recorded.trace, mine), show(&self.lowered.trace, theirs))
            })?;
        }
        // A block that is freed twice ends the program. The recorder has noted the free by then.
        let is_free = |id: &EventId| self.recorded.trace.event(*id).flags.has(Flags::FREE);
        let ends_in_free = recorded.len() == expected.len() + 1 && recorded.last().is_some_and(is_free);
        if recorded.len() != expected.len() && !ends_in_free {
            let missing = expected.get(recorded.len()).map(|id| show(&self.lowered.trace, *id));
            let surplus = recorded.get(expected.len()).map(|id| show(self.recorded.trace, *id));
            let lengths = [recorded.len(), expected.len()];
            return Err(format!("lengths {lengths:?}, missing is {missing:?}, too much is {surplus:?}"));
        }
        Ok(())
    }

    fn event(&mut self, mine: EventId, theirs: EventId) -> Result<(), String> {
        let (recorded, expected) = (self.recorded.trace.event(mine), self.lowered.trace.event(theirs));
        self.found.events += 1;
        if self.thread(&recorded) != expected.thread.index() || recorded.op != expected.op {
            return Err("another event".to_string());
        }
        if !matches!(recorded.op, Op::Fork | Op::Join | Op::Branch | Op::Fence) {
            let (mine, theirs) = (self.recorded.trace.tables(), self.lowered.trace.tables());
            let name = mine.object(recorded.op, recorded.object).to_string();
            let kind = if recorded.op.is_access() {
                0
            } else if recorded.lock().is_some() {
                1
            } else {
                2
            };
            let other = theirs.object(expected.op, expected.object);
            let known = self.objects.entry((kind, name)).or_insert_with(|| other.to_string());
            if known != other {
                return Err(format!("another object than {known}"));
            }
        }
        let compared = |flags: Flags| flags.without(Flags::CONSTANT).without(Flags::IMPLICIT);
        if compared(recorded.flags) != compared(expected.flags) {
            return Err("other properties".to_string());
        }
        match (recorded.flags.has(Flags::CONSTANT), expected.flags.has(Flags::CONSTANT)) {
            (true, true) => self.found.constants += 1,
            (false, true) => self.found.missed_constants += 1,
            (true, false) => self.found.folded += 1,
            (false, false) => {}
        }
        self.value(&recorded, &expected)
    }

    fn value(&mut self, recorded: &Event, expected: &Event) -> Result<(), String> {
        let (mine, theirs) = (self.recorded.trace.tables(), self.lowered.trace.tables());
        match (mine.value(recorded.value), theirs.value(expected.value)) {
            (None, Some(_)) => self.found.without_value += 1,
            (Some(mine), Some(theirs)) => {
                // Blocks have other numbers.
                let same = match (mine, theirs) {
                    (Value::Pointer { block, .. }, Value::Pointer { block: other, .. }) => {
                        let known = self.objects.entry((3, block.to_string())).or_insert_with(|| other.to_string());
                        *known == other.to_string()
                    }
                    _ => mine == theirs,
                };
                if !same {
                    return Err("another value".to_string());
                }
                self.found.values += 1;
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// Where each thread's branches are: after so many of its other events. A branch that the definition asks for must lie
    /// after the last read that is recorded; the branch of a compare-exchange itself is one.
    fn branches(&mut self, silent: &BTreeSet<u32>, printed: &Printed) -> Result<(), String> {
        let wanted = self.wanted_branches(printed);
        let [recorded, expected] = self.both(silent);
        for thread in 0..self.threads.len() {
            let mine = self.positions(&recorded, thread);
            let is_mine = |event: &Event| event.thread.index() == thread;
            let theirs = positions(&self.lowered.trace, &expected, is_mine, &|id, _| wanted.contains(&id));
            let mut reads = vec![0];
            let own = expected.iter().map(|id| self.lowered.trace.event(*id)).filter(|e| e.thread.index() == thread);
            for (at, event) in own.enumerate() {
                let read = matches!(event.op, Op::Read | Op::Join) || event.op.is_failed_attempt();
                reads.push(if read { at + 1 } else { *reads.last().unwrap_or(&0) });
            }
            for &at in &theirs {
                let since = reads[at.min(reads.len() - 1)];
                // What a thread decides at its end leads to nothing that is recorded.
                let is_read = (since > 0 || thread > 0) && at + 1 < reads.len();
                if is_read && !mine.iter().any(|&mine| (since..=at).contains(&mine)) {
                    return Err(format!("no branch of thread {thread} after its event {at}"));
                }
            }
            self.found.more_branches += mine.len().saturating_sub(theirs.len());
        }
        Ok(())
    }

    fn positions(&self, events: &[EventId], thread: usize) -> Vec<usize> {
        let is_mine = |event: &Event| self.thread(event) == thread;
        positions(self.recorded.trace, events, is_mine, &|_, event| event.op == Op::Branch)
    }

    /// The branches that a recording must have. A decision between two empty parts leaves no code.
    fn wanted_branches(&self, printed: &Printed) -> BTreeSet<EventId> {
        let trace = &self.lowered.trace;
        let text: Vec<&str> = printed.text.lines().collect();
        let is_empty = |event: &Event| {
            let line = trace.tables().location(event.location).and_then(|name| name.rsplit_once(':')?.1.parse().ok());
            let line: usize = line.unwrap_or(0);
            text.get(line).is_some_and(|next| next.trim() == "}") && text[line - 1].trim_start().starts_with("if")
        };
        let decisions = trace.events().filter(|(id, _)| self.lowered.origins[id.index()] == Origin::Decision);
        decisions.filter(|(_, event)| !is_empty(event)).map(|(id, _)| id).collect()
    }
}

/// After how many of a thread's events its branches lie.
fn positions(
    trace: &Trace,
    events: &[EventId],
    is_mine: impl Fn(&Event) -> bool,
    is_branch: &dyn Fn(EventId, &Event) -> bool,
) -> Vec<usize> {
    let own: Vec<EventId> = events.iter().copied().filter(|id| is_mine(&trace.event(*id))).collect();
    let branches = trace.events().filter(|(id, event)| is_mine(event) && is_branch(*id, event));
    branches.map(|(branch, _)| own.partition_point(|id| *id < branch)).collect()
}
