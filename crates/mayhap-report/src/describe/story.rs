//! The schedule as a story: only the steps that matter.
//!
//! These are the target's events; the critical sections around them; sections of one lock that the witness runs in the
//! opposite order, or runs before a section that the recorded run had earlier, since that is what kept the recorded run
//! from the bug; and reads that see another write. The target's threads are always shown; other threads only while there
//! are at most four columns.
//!
//! Cost: O(runs of the witness); swapped sections and changed reads are searched for in its last [`NEAR`] steps only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mayhap_trace::{EventId, LockId, Op, ThreadId, Trace, Value};
use mayhap_witness::{Schedule, Target};

use super::Describer;
use crate::finding::{Mark, ObjectKind, Step, Story};
use crate::places::{brief, lock_name, short};
use crate::schedules::Changed;

/// A story, and the acquires of the sections whose order it changes: the one observed first, the one observed second.
pub(super) struct Told {
    pub(super) story: Story,
    /// Reads near the target that see another write.
    pub(super) changed: Vec<Changed>,
    pub(super) swapped: Vec<(EventId, EventId)>,
}

/// How many steps before the target are searched.
const NEAR: usize = 50_000;
/// Maximum number of threads in a story, unless the target has more.
const COLUMNS: usize = 4;
/// Maximum number of swapped sections, and of changed reads, in a story.
const PAIRS: usize = 3;

pub(super) fn tell(describer: &Describer<'_>, target: &Target, schedule: &Schedule) -> Told {
    let trace = describer.trace;
    let near = &schedule.tail(NEAR)[..];
    let events = target.events();
    let mut swapped = Vec::new();
    // A deadlock is about the locks held; the order of other sections does not matter.
    if !matches!(target, Target::Deadlock(_)) {
        swapped = not_begun(describer, &events, near);
        swapped.extend(turned_round(trace, near));
    }
    swapped.truncate(PAIRS);
    let changed = changed_reads(describer, near, near.len() == schedule.len());

    let mut columns: Vec<ThreadId> = Vec::new();
    let mut steps: BTreeSet<EventId> = BTreeSet::new();
    // All threads of the target get a column, however many there are.
    for &event in &events {
        let thread = trace.event(event).thread;
        if !columns.contains(&thread) {
            columns.push(thread);
        }
        steps.insert(event);
    }
    if let Target::Deadlock(requests) = target {
        let releases: Vec<EventId> = requests.iter().filter_map(|&r| describer.relations.matching_release(r)).collect();
        enter(trace, &mut columns, &mut steps, &releases);
    }
    for &event in &events {
        for (acquire, release) in enclosing(describer, event) {
            let told: Vec<EventId> = std::iter::once(acquire).chain(release).collect();
            enter(trace, &mut columns, &mut steps, &told);
        }
    }
    for &(first, second) in &swapped {
        for acquire in [first, second] {
            let section: Vec<EventId> =
                std::iter::once(acquire).chain(describer.relations.matching_release(acquire)).collect();
            enter(trace, &mut columns, &mut steps, &section);
        }
    }
    let mine = |c: &&Changed| columns.contains(&thread_of(trace, c.event)) && steps.len() < 40;
    let told: Vec<Changed> = changed.iter().rev().filter(mine).take(PAIRS).cloned().collect();
    for change in &told {
        let read = EventId::from_number(change.event).expect("a read of this trace");
        let writes = change.sees.and_then(EventId::from_number).into_iter().chain(describer.relations.read_from(read));
        let all: Vec<EventId> = std::iter::once(read).chain(writes).collect();
        enter(trace, &mut columns, &mut steps, &all);
    }
    let teller = Teller { describer, target, events, columns, steps, changed: told };
    Told { story: teller.story(schedule), changed, swapped }
}

fn thread_of(trace: &Trace, number: u64) -> ThreadId {
    trace.event(EventId::from_number(number).expect("an event of this trace")).thread
}

/// Adds events of threads that have a column or may still get one.
fn enter(trace: &Trace, columns: &mut Vec<ThreadId>, steps: &mut BTreeSet<EventId>, events: &[EventId]) {
    for &event in events {
        let thread = trace.event(event).thread;
        if !columns.contains(&thread) && columns.len() < COLUMNS {
            columns.push(thread);
        }
        if columns.contains(&thread) {
            steps.insert(event);
        }
    }
}

/// The critical sections around an event, as acquire and release.
fn enclosing(describer: &Describer<'_>, event: EventId) -> Vec<(EventId, Option<EventId>)> {
    let relations = describer.relations;
    let held = relations.locksets().get(relations.held(event));
    let acquires = held.iter().filter_map(|&(lock, mode)| describer.acquire(event, lock, mode));
    acquires.map(|acquire| (acquire, relations.matching_release(acquire))).collect()
}

/// Sections of one lock that run in the opposite order, the nearest to the target first.
fn turned_round(trace: &Trace, near: &[EventId]) -> Vec<(EventId, EventId)> {
    let mut last: HashMap<LockId, EventId> = HashMap::new();
    let mut pairs = Vec::new();
    for &id in near {
        let event = trace.event(id);
        let Some(lock) = event.lock().filter(|_| event.op.is_acquire()) else { continue };
        if let Some(before) = last.insert(lock, id).filter(|&before| before > id) {
            let other = trace.event(before);
            if other.thread != event.thread && !(other.op.is_shared() && event.op.is_shared()) {
                pairs.push((id, before));
            }
        }
    }
    pairs.reverse();
    pairs
}

/// Sections that preceded a section of the witness in the recorded run and have not begun when the target is reached,
/// because they follow a target event of their thread. At most one pair per lock.
fn not_begun(describer: &Describer<'_>, events: &[EventId], near: &[EventId]) -> Vec<(EventId, EventId)> {
    let (trace, relations) = (describer.trace, describer.relations);
    let last = events.iter().max().copied().unwrap_or(EventId::at(0));
    let mut pairs = Vec::new();
    for &mine in events {
        let thread = trace.event(mine).thread;
        let after = &relations.thread_events(thread)[relations.rank(mine)..];
        let mut first: BTreeMap<LockId, EventId> = BTreeMap::new();
        for &id in after.iter().take(NEAR).take_while(|&&id| id < last) {
            let event = trace.event(id);
            if let Some(lock) = event.lock().filter(|_| event.op.is_acquire()) {
                first.entry(lock).or_insert(id);
            }
        }
        if first.is_empty() {
            continue;
        }
        let mut found: BTreeMap<LockId, EventId> = BTreeMap::new();
        for &id in near.iter().rev().take_while(|&&id| id > mine) {
            let event = trace.event(id);
            if let Some(lock) = event.lock().filter(|_| event.op.is_acquire() && event.thread != thread)
                && let Some(&before) = first.get(&lock).filter(|&&before| before < id)
                && !(trace.event(before).op.is_shared() && event.op.is_shared())
            {
                found.insert(lock, id);
            }
        }
        let mut mine: Vec<(EventId, EventId)> = found.into_iter().map(|(lock, id)| (first[&lock], id)).collect();
        mine.sort_unstable();
        pairs.extend(mine);
    }
    pairs
}

/// Reads among the last steps that see another write than in the recorded run, in schedule order. If the searched steps do
/// not contain the write that a read sees, the read is assumed to be unchanged.
fn changed_reads(describer: &Describer<'_>, near: &[EventId], whole: bool) -> Vec<Changed> {
    let (trace, relations) = (describer.trace, describer.relations);
    let mut last: HashMap<u32, EventId> = HashMap::new();
    let mut changed = Vec::new();
    for &id in near {
        let event = trace.event(id);
        match event.op {
            Op::Write => drop(last.insert(event.object, id)),
            Op::Read => {
                let sees = last.get(&event.object).copied();
                if (sees.is_some() || whole) && sees != relations.read_from(id) {
                    changed.push(Changed { event: id.number(), sees: sees.map(EventId::number) });
                }
            }
            _ => {}
        }
    }
    changed
}

struct Teller<'d, 'a> {
    describer: &'d Describer<'a>,
    target: &'d Target,
    events: Vec<EventId>,
    columns: Vec<ThreadId>,
    steps: BTreeSet<EventId>,
    changed: Vec<Changed>,
}

impl Teller<'_, '_> {
    fn story(&self, schedule: &Schedule) -> Story {
        let tables = self.describer.trace.tables();
        let observed = self.steps.iter().map(|&id| (id.index(), id)).collect();
        let mut places: Vec<(usize, EventId)> = Vec::new();
        let mut before = 0;
        for range in schedule.ranges() {
            let (first, last) = (EventId::at(range.start), EventId::at(range.end - 1));
            places.extend(self.steps.range(first..=last).map(|&id| (before + id.index() - range.start, id)));
            before += range.len();
        }
        let next = self.next();
        places.extend(next.iter().map(|&id| (schedule.len(), id)));
        Story {
            threads: self.columns.iter().map(|&t| tables.thread(t).to_string()).collect(),
            observed: self.steps_of(observed, false),
            possible: self.steps_of(places, true),
        }
    }

    /// The target's events that have not run when the target is reached.
    fn next(&self) -> Vec<EventId> {
        match self.target {
            Target::Race(a, b) => vec![*a, *b],
            Target::Deadlock(requests) => requests.clone(),
            Target::UseAfterFree { access, .. } => vec![*access],
            Target::Nondeterminism { read, .. } => vec![*read],
            Target::UnorderedRace(..) | Target::Atomicity { .. } | Target::Sequence { .. } => Vec::new(),
        }
    }

    fn steps_of(&self, places: Vec<(usize, EventId)>, possible: bool) -> Vec<Step> {
        let trace = self.describer.trace;
        let mut depths = vec![0usize; self.columns.len()];
        let mut expected = 0;
        let mut steps = Vec::new();
        for (place, id) in places {
            let event = trace.event(id);
            let column = self.columns.iter().position(|&t| t == event.thread).expect("steps have columns");
            let mark = self.mark(id, possible);
            if event.op.is_release() {
                depths[column] = depths[column].saturating_sub(1);
            }
            steps.push(Step {
                event: id.number(),
                column,
                text: if mark == Mark::Blocked { waits(trace, id) } else { self.does(id, possible) },
                location: trace.tables().location(event.location).map(short),
                mark,
                remark: self.remark(id, mark, possible),
                depth: depths[column],
                skipped: place.saturating_sub(expected) as u64,
            });
            if event.op.is_acquire() && mark != Mark::Blocked {
                depths[column] += 1;
            }
            // The target's events are all next at once: none of them comes after another.
            expected = if matches!(mark, Mark::Next | Mark::Blocked) { place } else { place + 1 };
        }
        steps
    }

    /// What an event does, and in the recorded run the value that it read or wrote.
    fn does(&self, id: EventId, possible: bool) -> String {
        let does = does(self.describer, id);
        match self.describer.value(id).filter(|_| !possible) {
            Some(value) => format!("{does} ({})", spoken_value(value)),
            None => does,
        }
    }

    fn mark(&self, id: EventId, possible: bool) -> Mark {
        let is_changed = possible && self.changed.iter().any(|c| c.event == id.number());
        match self.target {
            Target::Deadlock(requests) if possible && requests.contains(&id) => Mark::Blocked,
            _ if possible && self.next().contains(&id) => Mark::Next,
            _ if is_changed => Mark::Changed,
            _ if self.events.contains(&id) => Mark::Target,
            _ => Mark::Plain,
        }
    }

    fn remark(&self, id: EventId, mark: Mark, possible: bool) -> Option<String> {
        let trace = self.describer.trace;
        let by = |write: Option<EventId>| match write {
            Some(write) => {
                let value =
                    self.describer.value(write).map_or(String::new(), |value| format!(" of {}", spoken_value(value)));
                format!("{}'s write{value}", trace.tables().thread(trace.event(write).thread))
            }
            None => "the initial value".to_string(),
        };
        match (self.target, mark) {
            (Target::Deadlock(requests), Mark::Blocked) => {
                let wanted = trace.event(id).object;
                let holder = requests
                    .iter()
                    .find(|&&r| r != id && trace.event(r).thread != trace.event(id).thread && self.holds(r, wanted))?;
                Some(format!("{} holds it", trace.tables().thread(trace.event(*holder).thread)))
            }
            (Target::Race(..), Mark::Next) => Some("at the same time".to_string()),
            (Target::UseAfterFree { free, .. }, Mark::Next) => Some(match self.describer.object_kind(*free) {
                ObjectKind::Stack => format!("after {} ended", trace.tables().thread(trace.event(*free).thread)),
                ObjectKind::Local => "after its function returned".to_string(),
                ObjectKind::BlockLocal => "after its block was left".to_string(),
                kind => format!("after it was {}", kind.ended()),
            }),
            (Target::Nondeterminism { other, .. }, Mark::Next) => {
                let saw = self
                    .describer
                    .value(id)
                    .map_or(String::new(), |value| format!("; saw {} in the recorded run", spoken_value(value)));
                Some(format!("sees {}{saw}", by(*other)))
            }
            (Target::Nondeterminism { write, read, .. }, _) if id == *read && !possible => {
                Some(format!("sees {}", by(*write)))
            }
            (_, Mark::Changed) => {
                let change = self.changed.iter().find(|c| c.event == id.number())?;
                let (saw, sees) = (self.describer.relations.read_from(id), change.sees.and_then(EventId::from_number));
                Some(format!("sees {}, not {}", by(sees), by(saw)))
            }
            (Target::Atomicity { remote, .. }, _) if id == *remote && possible => Some("in between".to_string()),
            _ => None,
        }
    }

    fn holds(&self, event: EventId, lock: u32) -> bool {
        let relations = self.describer.relations;
        LockId::from_cell(lock).is_some_and(|lock| relations.locksets().holds(relations.held(event), lock))
    }
}

/// What a blocked acquire waits for.
fn waits(trace: &Trace, id: EventId) -> String {
    let event = trace.event(id);
    format!("waits for {}", lock_name(trace.tables().object(event.op, event.object)))
}

/// What an event does, in a word or three.
fn does(describer: &Describer<'_>, id: EventId) -> String {
    let trace = describer.trace;
    let event = trace.event(id);
    let object = trace.tables().object(event.op, event.object);
    let object = if event.op.is_lock() { lock_name(object) } else { brief(object) };
    let verb = match event.op {
        Op::Read => describer.object_kind(id).uses("reads"),
        Op::Write if describer.frees(id) => describer.object_kind(id).ends(),
        Op::Write => "writes",
        Op::Acquire => "locks",
        Op::Release => "unlocks",
        Op::SharedAcquire => "locks shared",
        Op::SharedRelease => "unlocks shared",
        Op::Fork => "starts",
        Op::Join => "joins",
        Op::Wait => "is woken by",
        Op::Notify | Op::NotifyAll => "notifies",
        Op::Branch => "branches",
        Op::Begin => "begins",
        Op::End => "ends",
        Op::Try => "tries",
        Op::FailedAcquire | Op::FailedSharedAcquire => "fails to lock",
        Op::FailedWait => "fails to take",
        Op::Fence => "passes a fence",
    };
    match (event.op.is_lock(), object.strip_prefix("atomic ")) {
        (true, Some(variable)) if event.op.is_acquire() => format!("begins atomic {variable}"),
        (true, Some(variable)) => format!("ends atomic {variable}"),
        _ if object.is_empty() => verb.to_string(),
        _ => format!("{verb} {object}"),
    }
}

/// Values from here to the end of a program's addresses are probably addresses of code or of data, and read better in hexadecimal.
const ADDRESSES: std::ops::Range<u64> = 1 << 44..1 << 47;

/// A value in words: where a block lies differs from run to run.
fn spoken_value(value: Value) -> String {
    match value {
        Value::Pointer { .. } => "a pointer".to_string(),
        Value::Bits(bits) if ADDRESSES.contains(&bits) => format!("{bits:#x}"),
        Value::Bits(_) => value.to_string(),
    }
}
