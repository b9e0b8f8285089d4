//! Which runs of a manifest show the same execution: part of what [`crate::closure`] checks, and separate from what made it.

use std::collections::{BTreeMap, HashMap};

use mayhap_record::{Operation, TurnStep};
use mayhap_wire::ring::choice;

use crate::manifest::Manifest;

/// What one thread read, in order.
type Reads = Vec<Seen>;

/// What a read saw: a value, or where the recording has none, for each byte the thread and the number of its write. Or what came of an attempt, or a call that failed by choice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Seen {
    Value(u64),
    Writes(Vec<Option<(u32, u32)>>),
    Attempt(bool),
    Failed(u32, u32),
}

/// How many classes there are, if they are stated as they are.
pub(crate) fn classes(manifest: &Manifest, runs: &[Vec<TurnStep>]) -> Result<usize, String> {
    let mut known: HashMap<BTreeMap<Ancestry, Reads>, usize> = HashMap::new();
    let mut firsts = Vec::new();
    for (number, steps) in runs.iter().enumerate() {
        let class = *known.entry(reads(steps)).or_insert_with(|| {
            firsts.push(number);
            firsts.len() - 1
        });
        if manifest.runs[number].class as usize != class {
            return Err(format!("run {number}: it is of class {class}, not {}", manifest.runs[number].class));
        }
    }
    let stated: Vec<usize> = manifest.classes.iter().map(|class| class.run as usize).collect();
    if stated != firsts || manifest.executions != firsts.len() as u64 {
        return Err(format!("the runs show {} executions, and {} are stated", firsts.len(), stated.len()));
    }
    Ok(firsts.len())
}

/// What each thread read. A read that only repeats the one before it counts once, and so does an attempt that fails again.
fn reads(steps: &[TurnStep]) -> BTreeMap<Ancestry, Reads> {
    let mut written: HashMap<u64, (u32, u32)> = HashMap::new();
    let mut writes: HashMap<u32, u32> = HashMap::new();
    let mut all: BTreeMap<u32, Reads> = BTreeMap::new();
    let mut last: HashMap<u32, (u32, Seen)> = HashMap::new();
    for step in steps {
        let thread = step.thread;
        for operation in &step.operations {
            let (read, place, write) = match operation {
                Operation::Read(address, bytes, found, place) => (Some((*address, *bytes, *found)), *place, None),
                Operation::Update(address, bytes, found) => {
                    (Some((*address, *bytes, *found)), 0, Some((*address, *bytes)))
                }
                Operation::Write(address, bytes) => (None, 0, Some((*address, *bytes))),
                _ => (None, 0, None),
            };
            let bytes_of = |address: u64, bytes: u32| address..address.saturating_add(bytes.min(64).into());
            if let Some((address, bytes, found)) = read {
                let by = || bytes_of(address, bytes).map(|byte| written.get(&byte).copied()).collect();
                let seen = found.map_or_else(|| Seen::Writes(by()), Seen::Value);
                let before = last.remove(&thread);
                if place != 0 {
                    last.insert(thread, (place, seen.clone()));
                }
                if place == 0 || before != Some((place, seen.clone())) {
                    all.entry(thread).or_default().push(seen);
                }
            } else if !matches!(
                operation,
                Operation::Unparked(_) | Operation::Blocked(_) | Operation::Attempt(_, false)
            ) {
                last.remove(&thread);
            }
            if let Operation::Attempt(object, success) = operation {
                let failed = (0, Seen::Value(*object));
                let before = if *success { None } else { last.insert(thread, failed.clone()) };
                if before != Some(failed) {
                    all.entry(thread).or_default().push(Seen::Attempt(*success));
                }
            }
            if let Operation::Choice(kind, _, taken @ 1..) = operation
                && *kind != choice::WAITER
            {
                all.entry(thread).or_default().push(Seen::Failed(*kind, *taken));
            }
            if let Some((address, bytes)) = write {
                let nth = writes.entry(thread).or_default();
                *nth += 1;
                bytes_of(address, bytes).for_each(|byte| _ = written.insert(byte, (thread, *nth)));
            }
        }
    }
    let ancestry = ancestry(steps);
    all.into_iter().map(|(thread, reads)| (ancestry.get(&thread).cloned().unwrap_or_default(), reads)).collect()
}

/// Which thread a thread is, whatever the order in which threads were started: for each of its ancestors and for itself, how many its parent had started before.
type Ancestry = Vec<u32>;

fn ancestry(steps: &[TurnStep]) -> HashMap<u32, Ancestry> {
    let mut all: HashMap<u32, Ancestry> = HashMap::new();
    let mut children: HashMap<u32, u32> = HashMap::new();
    for step in steps {
        for operation in &step.operations {
            if let Operation::Fork(child) = operation {
                let before = children.entry(step.thread).or_default();
                let mut line = all.get(&step.thread).cloned().unwrap_or_default();
                line.push(*before);
                *before += 1;
                all.insert(*child, line);
            }
        }
    }
    all
}
