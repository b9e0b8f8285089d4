//! Threads that spin: what the runtime leaves out of a recording (`mayhap-rt/src/spinning.rs`) changes no verdict. Each random trace is judged
//! whole and without the operations that only repeat, by the oracle, in all models. What can be done without them can be done with them if reads may see
//! other writes of the same value, and the other way round as it is.

mod common;

use std::collections::HashMap;

use mayhap_testkit::{Oracle, Random, cases, subtrace};
use mayhap_trace::{Event, EventId, Execution, Op, Trace, format::parse_std};
use mayhap_witness::{Model, Target};

/// Different operations that a loop may have, as in the runtime.
const LOOP: usize = 4;

/// What a thread does next in a random trace.
#[derive(Clone, Copy)]
enum Action {
    /// Looks at words some times, with nothing of other threads in between.
    Spin,
    /// Stores into a word.
    Store,
    /// Accesses memory that no lock protects.
    Access,
    /// Runs a critical section.
    Section,
}

/// A random trace of a thread that spins before and after others have done something.
fn spinning_trace(seed: u64) -> Trace {
    use Action::{Access, Section, Spin, Store};
    let mut random = Random::new(seed);
    let mut plan = vec![(0, Spin), (1, Access), (1, Store), (0, Spin), (0, Access), (1, Access)];
    plan.retain(|_| random.percent(85));
    if random.percent(30) {
        plan.push((random.below(2), Section));
        plan.push((random.below(2), *random.pick(&[Spin, Access])));
    }
    for at in 1..plan.len() {
        if random.percent(20) {
            plan.swap(at - 1, at);
        }
    }
    let sort = random.below(5);
    let (mut words, mut data) = ([0usize; 2], 0);
    let mut text = String::new();
    for (t, action) in plan {
        let mut line = |event: &str, at: usize| text.push_str(&format!("T{t}|{event}|{at}\n"));
        match action {
            Spin => (0..1 + random.below(3)).for_each(|_| turn(sort, &words, &mut line)),
            Store => {
                let word = random.below(2);
                words[word] = random.below(2);
                line(&format!("w.rel{}({})={}", random.pick(&["", ".const"]), NAMES[word], words[word]), 30);
            }
            Access if random.percent(60) => {
                data = random.below(2);
                line(&format!("w(d)={data}"), 40);
            }
            Access => line(&format!("r(d)={data}"), 41),
            Section => {
                line("acq(m)", 50);
                line("rel(m)", 51);
            }
        }
    }
    text.push_str("T0|br|60\nT1|br|60\n");
    parse_std(&text).expect("lines of the STD format")
}

const NAMES: [&str; 2] = ["x", "y"];

/// One turn of a loop: loads of one word or two, exchanges that find what they write, or a compare-exchange that fails.
fn turn(sort: usize, words: &[usize; 2], line: &mut impl FnMut(&str, usize)) {
    for (at, (name, value)) in NAMES.into_iter().zip(words).enumerate().take(if sort < 3 { 1 } else { 2 }) {
        line(&format!("r.acq({name})={value}"), 2 * at);
        match sort {
            0 | 3 => {}
            1 | 4 => line(&format!("w.ar.joined.const.indep({name})={value}"), 2 * at),
            _ => return line("br.joined", 2 * at),
        }
    }
    line("br", 10);
}

/// What a thread has done in a row without changing anything.
#[derive(Default)]
struct Loop {
    /// How many events other than branches had been kept right after the last of it.
    at: usize,
    operations: Vec<(Operation, usize, EventId)>,
    last: Option<usize>,
    /// The thread has kept a read since its last branch.
    undecided: bool,
}

/// Where an operation is, what it touches, the value that it finds, and whether it also writes.
#[derive(Clone, Copy, PartialEq)]
struct Operation(u32, u32, u32, bool);

/// The events that the runtime does not record, each with the one that it equals.
fn repeated(trace: &Trace) -> HashMap<EventId, Option<EventId>> {
    let events: Vec<(EventId, Event)> = trace.events().collect();
    let mut loops: HashMap<_, Loop> = HashMap::new();
    let (mut dropped, mut kept, mut at) = (HashMap::new(), 0, 0);
    while at < events.len() {
        let (id, first) = events[at];
        let is_joined = |(_, event): &&(EventId, Event)| event.flags.is_joined();
        let length = 1 + events[at + 1..].iter().take_while(is_joined).count();
        let step = &events[at..at + length];
        at += length;
        let me = loops.entry(first.thread).or_default();
        if first.op == Op::Branch {
            if !std::mem::take(&mut me.undecided) {
                dropped.insert(id, None);
            }
            continue;
        }
        let writes: Vec<&Event> = step.iter().map(|(_, event)| event).filter(|event| event.op == Op::Write).collect();
        let is_atomic = first.op == Op::Read && first.flags.is_atomic();
        let changes = writes.iter().any(|write| write.value != first.value);
        if !is_atomic || changes {
            kept += length;
            me.undecided |= first.op == Op::Read;
            continue;
        }
        let cell = |id: Option<_>| id.map_or(u32::MAX, |id: mayhap_trace::ValueId| id.cell());
        let place = first.location.map_or(0, |location| location.index() as u32);
        let operation = Operation(place, first.object, cell(first.value), !writes.is_empty());
        if me.at != kept {
            me.operations.iter_mut().for_each(|(_, times, _)| *times = 0);
        }
        let found = me.operations.iter().position(|(other, ..)| *other == operation).unwrap_or_else(|| {
            if me.operations.len() == LOOP {
                me.operations.remove(0);
                me.last = None;
            }
            me.operations.push((operation, 0, id));
            me.operations.len() - 1
        });
        let directly = me.last.replace(found) == Some(found);
        let (_, times, latest) = &mut me.operations[found];
        if *times > 1 && (directly || writes.is_empty()) {
            let equal = (latest.index()..).map(|at| Some(EventId::at(at)));
            dropped.extend(step.iter().map(|&(id, _)| id).zip(equal));
            continue;
        }
        *times += 1;
        *latest = id;
        kept += step.iter().filter(|(_, event)| event.op != Op::Branch).count();
        me.at = kept;
        me.undecided = step.iter().all(|(_, event)| event.op != Op::Branch);
    }
    dropped
}

/// The same target with other events; none if one of them has no counterpart.
fn map(target: &Target, event: impl Fn(EventId) -> Option<EventId>) -> Option<Target> {
    Some(match target {
        Target::Race(a, b) => Target::Race(event(*a)?, event(*b)?),
        Target::UnorderedRace(a, b) => Target::UnorderedRace(event(*a)?, event(*b)?),
        Target::Deadlock(events) => Target::Deadlock(events.iter().map(|&e| event(e)).collect::<Option<_>>()?),
        Target::Atomicity { first, remote, second } => {
            Target::Atomicity { first: event(*first)?, remote: event(*remote)?, second: event(*second)? }
        }
        Target::UseAfterFree { free, access } => Target::UseAfterFree { free: event(*free)?, access: event(*access)? },
        Target::Sequence { events, adjacent } => {
            let pairs = adjacent.iter().map(|&(a, b)| event(a).zip(event(b))).collect::<Option<_>>()?;
            Target::Sequence { events: events.iter().map(|&e| event(e)).collect::<Option<_>>()?, adjacent: pairs }
        }
        Target::Nondeterminism { write, read, other } => {
            let or_initial = |e: Option<EventId>| e.map_or(Some(None), |e| event(e).map(Some));
            Target::Nondeterminism { write: or_initial(*write)?, read: event(*read)?, other: or_initial(*other)? }
        }
    })
}

/// The model in which a read may also see another write of the same value.
fn with_values(model: Model) -> Model {
    match model {
        Model::Data => Model::Value,
        Model::Branch => Model::Causal,
        model => model,
    }
}

/// Says how many verdicts were compared, and of how many targets that have an operation which is left out.
fn compare(trace: &Trace, seed: u64) -> Result<(usize, usize), String> {
    let dropped = repeated(trace);
    if dropped.is_empty() {
        return Ok((0, 0));
    }
    let shorter = subtrace(trace, |event| !dropped.contains_key(&event));
    let (whole, part) = (Execution::derive(trace), Execution::derive(&shorter));
    let (whole, part) = (whole.map_err(|e| e.to_string())?, part.map_err(|e| e.to_string())?);
    let kept: Vec<EventId> = trace.events().map(|(id, _)| id).filter(|id| !dropped.contains_key(id)).collect();
    let place = |event: EventId| kept.binary_search(&event).ok().map(EventId::at);
    let equal = |event: EventId| dropped.get(&event).copied().unwrap_or(Some(event)).and_then(place);
    let (mut same, mut implied) = (0, 0);
    for model in Model::ALL {
        let (Ok(all), Ok(less)) = (Oracle::explore(trace, model, 200_000), Oracle::explore(&shorter, model, 200_000))
        else {
            continue;
        };
        for target in common::targets(&whole, &mut Random::new(seed)) {
            // What runs directly after a repeated operation does not run directly after the one that it equals. A branch runs as early as
            // it can: repeated operations come after it.
            let is_branch = |event: &EventId| trace.event(*event).op == Op::Branch;
            if matches!(&target, Target::Sequence { events, adjacent } if !adjacent.is_empty() || events.iter().any(is_branch))
            {
                continue;
            }
            let Ok(truth) = all.decide(&target) else { continue };
            let (other, has_dropped) = match map(&target, place) {
                Some(other) => (other, false),
                None if matches!(
                    target,
                    Target::Race(..) | Target::UnorderedRace(..) | Target::Nondeterminism { .. }
                ) =>
                {
                    let Some(other) = map(&target, equal) else { continue };
                    (other, true)
                }
                None => continue,
            };
            // An exchange of the read's own step, which it equals, is no other write.
            if has_dropped && other.validate(&part).is_err() {
                continue;
            }
            let Ok(found) = less.decide(&other) else { continue };
            let wrong = match (truth.is_some(), found.is_some()) {
                (true, false) => true,
                // Who saw the write of an exchange that is left out sees the same value of the one that it equals.
                (false, true) if !has_dropped => {
                    let looser = Oracle::explore(trace, with_values(model), 200_000);
                    looser.is_ok_and(|all| all.decide(&target).is_ok_and(|truth| truth.is_none()))
                }
                _ => false,
            };
            if wrong {
                return Err(format!("{target:?} in {model}: {truth:?}; {other:?} without repetitions: {found:?}"));
            }
            if has_dropped { implied += 1 } else { same += 1 }
        }
    }
    Ok((same, implied))
}

#[test]
fn leaving_out_what_a_spinning_thread_repeats_changes_no_verdict() {
    let first: u64 = std::env::var("MAYHAP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let count = cases(400);
    let (mut same, mut implied) = (0, 0);
    for seed in first..first + count as u64 {
        let trace = spinning_trace(seed);
        match compare(&trace, seed) {
            Ok((s, i)) => (same, implied) = (same + s, implied + i),
            Err(why) => panic!("seed {seed}: {why}\n{}", common::text(&trace)),
        }
    }
    println!("{count} traces: {same} verdicts equal, {implied} of repeated operations implied");
    assert!(same > count * 10 && implied > count, "{same} and {implied}");
}
