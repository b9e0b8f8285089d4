//! Which doubts of a trace bear on a proof.
//!
//! Something unseen, say a call of a library with locks of its own, may have made its thread wait for what other threads had done
//! before in the same library. A schedule depends on it if it lets the call return although one of those has not happened. The call
//! begins at its place in the run and ends at its thread's next event, so another call that began before then may have been waited for.
//! Of some calls nothing is known: a schedule depends on such a one if it moves anything from one side of it to the other.
//!
//! A race by happens-before has an order that is kept: there, a call between the two accesses may have let one thread know of the other.

use mayhap_trace::attachments::doubts::{At, Doubt, Doubts, Role};
use mayhap_trace::{EventId, Relations, ThreadId};
use mayhap_witness::{Checked, Target};

/// A place of a doubt, in the trace and in a schedule.
struct Call {
    thread: u32,
    role: Role,
    /// Events of the trace before its begin, and before its end.
    begin: usize,
    end: usize,
    /// The earliest step of the schedule at which it can begin, and the step before which it ends; `None` if it has not ended.
    from: u64,
    to: Option<u64>,
}

/// The order that a proof's schedule has, by event: the step, or `NEVER`. The events of the target come last if they do not run.
struct Steps(Vec<u64>);

const NEVER: u64 = u64::MAX;

impl Steps {
    fn of(checked: &Checked, events: usize) -> Steps {
        let mut steps = vec![NEVER; events];
        let schedule = &checked.witness().schedule;
        let mut step = 0;
        for range in schedule.ranges() {
            for event in range {
                steps[event] = step;
                step += 1;
            }
        }
        for event in checked.target().events() {
            if steps[event.index()] == NEVER {
                steps[event.index()] = step;
            }
        }
        Steps(steps)
    }
}

/// A trace, or a part of one, that proofs are about.
pub struct Part<'a> {
    /// What follows from its events.
    pub relations: &'a Relations,
    /// How many events it has.
    pub events: usize,
    /// Events of the whole run before it.
    pub after: u64,
    /// The number that an event has in the whole run.
    pub whole: &'a dyn Fn(EventId) -> u64,
}

/// The first doubt that bears on a proof.
pub fn bearing<'a>(doubts: &'a Doubts, part: &Part<'_>, checked: &Checked) -> Option<&'a Doubt> {
    if doubts.is_empty() {
        return None;
    }
    let steps = Steps::of(checked, part.events);
    let bears = |doubt: &&Doubt| {
        let inside = doubt.at.iter().filter(|at| at.after >= part.after);
        let calls: Vec<Call> = inside.filter_map(|at| place(at, part, &steps)).collect();
        let knows_of = || match *checked.target() {
            Target::UnorderedRace(a, b) => knows_of(&calls, &steps, part.relations, [a, b]),
            _ => false,
        };
        doubt.at.is_empty() || decides(&calls, checked.target()) || knows_of() || is_broken(calls, &steps)
    };
    doubts.list.iter().find(bears)
}

fn place(at: &At, part: &Part<'_>, Steps(steps): &Steps) -> Option<Call> {
    let thread = ThreadId::from_cell(at.thread).filter(|thread| thread.index() < part.relations.threads())?;
    let own = part.relations.thread_events(thread);
    let next = own.partition_point(|&event| (part.whole)(event) <= at.after);
    let end = own.get(next).map_or(part.events, |event| event.index());
    let from = next.checked_sub(1).map_or(0, |last| steps[own[last].index()].saturating_add(1));
    let to = own.get(next).map(|event| steps[event.index()]).filter(|&step| step != NEVER);
    let begin = all_before(at, part, end);
    Some(Call { thread: at.thread, role: at.role, begin, end, from, to })
}

/// Events of the part that have run when the place is reached: those whose number is not greater. Numbers grow with events, apart
/// from those that stand for the time before, which are all small enough.
fn all_before(at: &At, part: &Part<'_>, end: usize) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if (part.whole)(EventId::at(middle)) <= at.after { low = middle + 1 } else { high = middle }
    }
    low
}

/// Whether an event of the target may happen only for the values that its thread read in the recorded run.
fn decides(calls: &[Call], target: &Target) -> bool {
    let events = target.events();
    calls.iter().any(|call| call.role == Role::Decided && events.contains(&EventId::at(call.end)))
}

/// Whether a thread may have learned of the earlier of two accesses by a call, its own or one of the thread of the earlier access, before the
/// later one.
fn knows_of(calls: &[Call], Steps(steps): &Steps, relations: &Relations, [a, b]: [EventId; 2]) -> bool {
    let (first, last) = if steps[a.index()] <= steps[b.index()] { (a, b) } else { (b, a) };
    let (from, until) = (steps[first.index()], steps[last.index()]);
    let has_first = |thread: &ThreadId| relations.thread_events(*thread).binary_search(&first).is_ok();
    let owner = (0..relations.threads()).map(ThreadId::at).find(has_first).map_or(u32::MAX, ThreadId::cell);
    let releases = |call: &Call| {
        matches!(call.role, Role::Both | Role::Releases) && call.to.is_none_or(|to| to > from) && call.from <= until
    };
    let is_published = calls.iter().any(releases);
    // What nothing is known of may hand something over that the other thread sees without any call.
    let hands_over = |call: &Call| call.role == Role::OrdersAll && call.thread == owner && from < call.from;
    if calls.iter().any(|call| hands_over(call) && call.from <= until) {
        return true;
    }
    calls.iter().any(|call| {
        let is_between = call.to.is_some_and(|to| from < to && to <= until) && call.thread != owner;
        is_between
            && match call.role {
                Role::Releases | Role::Decided | Role::Takes | Role::GivesBack => false,
                Role::WaitsForAll | Role::OrdersAll => true,
                Role::Both | Role::Waits => is_published,
            }
    })
}

/// Up to each call, the latest step at which one of these roles can begin, with its thread, and the latest of another thread.
fn latest(calls: &[Call], roles: &[Role]) -> Vec<[(u64, u32); 2]> {
    let mut all: Vec<[(u64, u32); 2]> = Vec::with_capacity(calls.len());
    for call in calls {
        let mut top = all.last().copied().unwrap_or([(0, u32::MAX); 2]);
        if roles.contains(&call.role) {
            let begins = if call.to.is_some() { call.from } else { NEVER };
            let new = (begins, call.thread);
            if new.1 == top[0].1 {
                top[0].0 = top[0].0.max(new.0);
            } else if new.0 > top[0].0 || top[0].1 == u32::MAX {
                top = [new, top[0]];
            } else if new.0 > top[1].0 {
                top[1] = new;
            }
        }
        all.push(top);
    }
    all
}

/// What `join` makes of the first 0, 1, 2 … values.
fn scan(values: impl Iterator<Item = u64>, first: u64, join: fn(u64, u64) -> u64) -> Vec<u64> {
    let joined = values.scan(first, |last, value| {
        *last = join(*last, value);
        Some(*last)
    });
    std::iter::once(first).chain(joined).collect()
}

/// Whether a call ends in the schedule before something that it may have waited for, or that may have led to what it gave.
fn is_broken(mut calls: Vec<Call>, Steps(steps): &Steps) -> bool {
    calls.sort_by_key(|call| call.begin);
    let releases = latest(&calls, &[Role::Both, Role::Releases]);
    let takes = latest(&calls, &[Role::Takes]);
    let moves = latest(&calls, &[Role::Takes, Role::GivesBack]);
    let latest_before = scan(steps.iter().copied(), 0, u64::max);
    let mut earliest_after = scan(steps.iter().rev().copied(), NEVER, u64::min);
    earliest_after.reverse();
    calls.iter().any(|call| {
        if call.role == Role::OrdersAll && earliest_after[call.begin] < call.from {
            return true;
        }
        let Some(to) = call.to else { return false };
        let before = calls.partition_point(|other| other.begin <= call.end);
        let has_later = |all: &[[(u64, u32); 2]]| {
            let other = before.checked_sub(1).map(|last| all[last]).into_iter().flatten();
            other.into_iter().any(|(from, thread)| thread != call.thread && thread != u32::MAX && from > to)
        };
        match call.role {
            Role::Releases | Role::Decided => false,
            // The events of the target share a step, and none of them has run.
            Role::WaitsForAll | Role::OrdersAll => call.begin > 0 && latest_before[call.begin] >= to,
            Role::Both | Role::Waits => has_later(&releases),
            Role::Takes => has_later(&moves),
            Role::GivesBack => has_later(&takes),
        }
    })
}
