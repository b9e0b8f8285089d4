//! Checks that a manifest leaves no execution out, without anything that made it.
//!
//! In: a manifest, which may be by anybody. Out: what is wrong with it, or how many executions it proves to be all. The rules, with what they stand on:
//!
//! 1. **Runs are a function of their schedules**: where two runs let the same threads make steps, the steps are the same.
//! 2. **Closed**: for every two steps of a run that conflict, are of different threads and that nothing else orders, some run does the same up to the first one, and
//!    then lets a thread go on that is the first on a way to the second which leaves the first out (an *initial*: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). Of
//!    several earlier steps that conflict at the same eight bytes, or at the same lock, the last counts (Flanagan, Godefroid, POPL 2005). If no initial can go on
//!    there, there is a run for each thread that can. A set of runs that is closed in this sense has every execution, up to the order of steps that do not conflict.
//!    **Choices**: where a step makes a choice, some run does the same up to it for each alternative.
//! 3. **Nothing unseen**: no step says that something decided its way which the recording does not see, threads have ended where the program ended well, a notify that found
//!    several threads waiting made a choice among them, and no step in a conflict has both a plain write and a plain read after it.
//! 4. **Classes**: two runs are of one class exactly if each thread read the same in both; each class names its first run.
//!
//! Cost: as for exploring, without the runs. This module uses [`crate::manifest`] for the format and [`crate::steps_text`] to read steps, and nothing else of this crate.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mayhap_record::{Operation, TurnStep};
use mayhap_wire::ring::choice;

use crate::manifest::{FORMAT, Manifest, Reversal};
use crate::steps_text;

/// Reads of the same with the same result in a row that count as different steps.
const ROUNDS: usize = 3;
/// Waits of a thread that end before they were woken; further ones are not tried.
const MOST_EARLY: usize = 2;
/// The most steps of all runs.
const MOST_STEPS: usize = 100_000_000;

/// What a manifest that holds proves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    /// How many distinguishable executions there are.
    pub executions: usize,
    /// How many runs show it.
    pub runs: usize,
    /// How many pairs of steps could have come in the other order.
    pub reversals: usize,
    /// Loops that wait were followed for a few rounds only.
    pub cut_loops: bool,
}

/// What one thread read, in order.
type Reads = Vec<Seen>;

/// What a read saw: a value, or where the recording has none, for each byte the thread and the number of its write. Or a call that failed by choice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Seen {
    Value(u64),
    Writes(Vec<Option<(u32, u32)>>),
    Failed(u32, u32),
}

/// Checks a manifest; the error says what is wrong, and with which run.
pub fn check(manifest: &Manifest) -> Result<Proven, String> {
    if manifest.format != FORMAT || manifest.version != 1 {
        return Err(format!("not a manifest: \"format\": \"{FORMAT}\", version 1, is missing"));
    }
    let runs = unfold(manifest)?;
    let mut tree = Tree::default();
    let mut paths = Vec::new();
    for (number, steps) in runs.iter().enumerate() {
        paths.push(tree.add(steps).map_err(|wrong| format!("run {number}: {wrong}"))?);
    }
    let mut proven = Proven { executions: 0, runs: runs.len(), reversals: 0, cut_loops: false };
    for (number, (steps, path)) in runs.iter().zip(&paths).enumerate() {
        let run = &manifest.runs[number];
        let at = |wrong: String| format!("run {number}: {wrong}");
        let order = Order::of(steps);
        nothing_unseen(&order, steps, run.success).map_err(at)?;
        closed(&tree, &order, steps, (path, &paths), &run.reversals).map_err(at)?;
        all_alternatives(&tree, steps, path).map_err(at)?;
        proven.reversals += order.conflicts.len();
        proven.cut_loops |= order.cut;
    }
    if proven.cut_loops != manifest.cut_loops {
        return Err("whether loops were cut is stated wrongly".into());
    }
    proven.executions = classes(manifest, &runs)?;
    Ok(proven)
}

/// All steps of each run of a manifest.
pub fn unfold(manifest: &Manifest) -> Result<Vec<Vec<TurnStep>>, String> {
    let mut runs: Vec<Vec<TurnStep>> = Vec::new();
    let mut total = 0;
    for (number, run) in manifest.runs.iter().enumerate() {
        let mut steps = match run.from {
            None if number == 0 => Vec::new(),
            None => return Err(format!("run {number}: it does not say which run it begins with")),
            Some([from, count]) => {
                let first = runs.get(from as usize).and_then(|steps| steps.get(..count as usize));
                first.ok_or_else(|| format!("run {number}: no {count} steps of a run {from} before it"))?.to_vec()
            }
        };
        for text in &run.steps {
            steps.push(steps_text::step(text).ok_or_else(|| format!("run {number}: no step: `{text}`"))?);
        }
        total += steps.len();
        if total > MOST_STEPS {
            return Err(format!("more than {MOST_STEPS} steps"));
        }
        runs.push(steps);
    }
    if runs.is_empty() { Err("no run".into()) } else { Ok(runs) }
}

/// Where a step of a thread leads: what was taken in its choices, and the state.
type Ways = Vec<(Vec<u32>, usize)>;

/// The steps of all runs as a tree: nodes are states, by numbers, and edges are threads with what came of their choices.
#[derive(Default)]
struct Tree {
    next: HashMap<(usize, u32), Ways>,
    /// The step that led to each state but the first.
    steps: Vec<TurnStep>,
}

impl Tree {
    /// Adds a run; returns the states that it comes through.
    fn add(&mut self, steps: &[TurnStep]) -> Result<Vec<usize>, String> {
        let mut path = vec![0];
        for (nth, step) in steps.iter().enumerate() {
            let from = path[nth];
            let taken = taken(step);
            let ways = self.next.entry((from, step.thread)).or_default();
            match ways.iter().find(|(known, _)| *known == taken) {
                Some((_, known)) if self.steps[known - 1] != *step => {
                    return Err(format!("step {nth} is another one than in an earlier run of the same schedule"));
                }
                Some((_, known)) => path.push(*known),
                None => {
                    self.steps.push(step.clone());
                    ways.push((taken, self.steps.len()));
                    path.push(self.steps.len());
                }
            }
        }
        Ok(path)
    }
}

/// What was taken in the choices of a step.
fn taken(step: &TurnStep) -> Vec<u32> {
    step.choices().map(|(.., taken)| taken).collect()
}

/// Whether for each choice of a run there are runs that take its other alternatives.
fn all_alternatives(tree: &Tree, steps: &[TurnStep], path: &[usize]) -> Result<(), String> {
    for (nth, step) in steps.iter().enumerate() {
        let mine = taken(step);
        for (at, (_, alternatives, chosen)) in step.choices().enumerate() {
            let ways = tree.next.get(&(path[nth], step.thread)).map_or(&[][..], Vec::as_slice);
            let shown = |alternative: u32| {
                ways.iter()
                    .any(|(other, _)| other.get(..at) == Some(&mine[..at]) && other.get(at) == Some(&alternative))
            };
            if chosen >= alternatives || !(0..alternatives).all(shown) {
                return Err(format!("step {nth} makes a choice, and no run shows what else can come of it"));
            }
        }
    }
    Ok(())
}

/// Whether each two steps of a run that could have come in the other order are shown so by a run, and the manifest names it.
fn closed(
    tree: &Tree,
    order: &Order,
    steps: &[TurnStep],
    (path, paths): (&[usize], &[Vec<usize>]),
    named: &[Reversal],
) -> Result<(), String> {
    let mut named: BTreeMap<(u32, u32), Option<u32>> =
        named.iter().map(|reversal| ((reversal.earlier, reversal.later), reversal.run)).collect();
    for &(earlier, later) in &order.conflicts {
        let what = format!("steps {earlier} and {later} could have come in the other order");
        let Some(run) = named.remove(&(earlier as u32, later as u32)) else {
            return Err(format!("{what}, and no run is named that shows it"));
        };
        let state = path[earlier];
        let leads = |thread: &u32| tree.next.get(&(state, *thread));
        let initials = order.initials(earlier, later);
        match run {
            Some(run) => {
                let after = paths.get(run as usize).and_then(|path| path.get(earlier..=earlier + 1));
                let leads_there = |(_, next): &(Vec<u32>, usize)| after == Some(&[state, *next]);
                let shows = |thread: &u32| leads(thread).is_some_and(|ways| ways.iter().any(leads_there));
                if !initials.iter().any(shows) {
                    return Err(format!("{what}, and run {run} does not show it"));
                }
            }
            None => {
                let able = able_before(steps, earlier);
                if initials.iter().any(|thread| able.contains(thread)) || !able.iter().all(|t| leads(t).is_some()) {
                    return Err(format!("{what}, and no run shows it"));
                }
            }
        }
    }
    match named.keys().next() {
        Some((earlier, later)) => Err(format!("steps {earlier} and {later} could not have come in the other order")),
        None => Ok(()),
    }
}

/// The threads that can make a step before this one.
fn able_before(steps: &[TurnStep], before: usize) -> BTreeSet<u32> {
    let mut able: BTreeSet<u32> = steps.first().map(|step| step.thread).into_iter().collect();
    for step in &steps[..before] {
        able.insert(step.thread);
        for operation in &step.operations {
            match operation {
                Operation::Fork(other) | Operation::Unparked(other) => _ = able.insert(*other),
                Operation::Blocked(_) | Operation::Wait(_) | Operation::End => _ = able.remove(&step.thread),
                _ => {}
            }
        }
    }
    able.insert(steps[before].thread);
    able
}

/// What must come before what in a run.
struct Order {
    /// For each step: its thread, its number in the thread from 1, and how many steps of each thread come before it or are it.
    steps: Vec<(u32, u32, BTreeMap<u32, u32>)>,
    /// Pairs of steps that could have come in the other order.
    conflicts: BTreeSet<(usize, usize)>,
    cut: bool,
}

/// An access or an operation on an object, by the place: eight bytes of memory, or an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Memory(u64),
    Object(u64),
}

/// What a step does at a place: which of the eight bytes, whether it changes them, and the operation on the object.
struct Deed<'a> {
    step: usize,
    bytes: u8,
    changes: bool,
    operation: &'a Operation,
}

impl Order {
    fn of(steps: &[TurnStep]) -> Order {
        let mut order = Order { steps: Vec::new(), conflicts: BTreeSet::new(), cut: false };
        let mut places: HashMap<Place, Vec<Deed<'_>>> = HashMap::new();
        // What each thread knows of the others: after its last step, or where it was started.
        let mut knows: HashMap<u32, BTreeMap<u32, u32>> = HashMap::new();
        let mut last: HashMap<u32, (usize, usize)> = HashMap::new();
        let mut early: HashMap<u32, usize> = HashMap::new();
        for (at, step) in steps.iter().enumerate() {
            let thread = step.thread;
            let before = knows.get(&thread).cloned().unwrap_or_default();
            let number = before.get(&thread).copied().unwrap_or(0) + 1;
            let mut after = before.clone();
            after.insert(thread, number);
            let rounds = match last.get(&thread) {
                Some(&(earlier, rounds)) if only_reads_again(&steps[earlier], step) => rounds + 1,
                _ => 0,
            };
            last.insert(thread, (at, rounds));
            let is_early = |(kind, _, taken)| taken != 0 && matches!(kind, choice::TIMEOUT | choice::WAKEUP);
            *early.entry(thread).or_default() += step.choices().filter(|made| is_early(*made)).count();
            order.cut |= rounds >= ROUNDS || early[&thread] >= MOST_EARLY;
            for operation in &step.operations {
                for (place, bytes, changes) in touched(operation) {
                    let deed = Deed { step: at, bytes, changes, operation };
                    let earlier = places.entry(place).or_default();
                    if let Some(conflict) = order.last_conflict(earlier, &deed, thread, &before)
                        && rounds < ROUNDS
                    {
                        order.conflicts.insert((conflict, at));
                    }
                    // A thread that cannot go on has changed nothing.
                    if !matches!(operation, Operation::Blocked(_)) {
                        let ordered = earlier.iter().filter(|other| other.step != at && depend(other, &deed));
                        ordered.for_each(|other| learn(&mut after, &order.steps[other.step].2));
                        // What comes before a write of all eight bytes comes before all that follows it.
                        if changes && bytes == u8::MAX {
                            earlier.clear();
                        }
                        earlier.push(deed);
                    }
                }
                if let Operation::Join(other) = operation {
                    learn(&mut after, knows.get(other).unwrap_or(&BTreeMap::new()));
                }
            }
            for operation in &step.operations {
                if let Operation::Fork(other) = operation {
                    knows.insert(*other, after.clone());
                }
            }
            knows.insert(thread, after.clone());
            order.steps.push((thread, number, after));
        }
        order
    }

    /// The last earlier step that depends on this one, may come right after it, and that nothing else orders before it.
    fn last_conflict(
        &self,
        earlier: &[Deed<'_>],
        deed: &Deed<'_>,
        thread: u32,
        before: &BTreeMap<u32, u32>,
    ) -> Option<usize> {
        let is_loose = |other: &&Deed<'_>| {
            let (whose, number, _) = &self.steps[other.step];
            *whose != thread && before.get(whose).copied().unwrap_or(0) < *number
        };
        let others = earlier.iter().rev().filter(|other| other.step != deed.step);
        let found = others
            .filter(|other| depend(other, deed) && may_both_be_next(other.operation, deed.operation))
            .find(is_loose);
        found.map(|other| other.step)
    }

    /// On the way from before the step at `first` to the one at `last` without the first: the threads that can go first.
    fn initials(&self, first: usize, last: usize) -> Vec<u32> {
        let (whose, number, _) = &self.steps[first];
        let follows = |step: usize| self.steps[step].2.get(whose).copied().unwrap_or(0) >= *number;
        let way: Vec<usize> = (first + 1..last).filter(|step| !follows(*step)).chain([last]).collect();
        let mut initials = Vec::new();
        let mut seen = BTreeSet::new();
        for (nth, &step) in way.iter().enumerate() {
            let (thread, _, knows) = &self.steps[step];
            let needs = |other: &usize| {
                let (whose, number, _) = &self.steps[*other];
                whose != thread && knows.get(whose).copied().unwrap_or(0) >= *number
            };
            if seen.insert(*thread) && !way[..nth].iter().any(needs) {
                initials.push(*thread);
            }
        }
        initials
    }
}

/// Adds what another step knows.
fn learn(knows: &mut BTreeMap<u32, u32>, other: &BTreeMap<u32, u32>) {
    for (thread, number) in other {
        let mine = knows.entry(*thread).or_default();
        *mine = (*mine).max(*number);
    }
}

/// Where an operation acts: the place, which of its bytes, and whether it changes them.
fn touched(operation: &Operation) -> Vec<(Place, u8, bool)> {
    let memory = |address: u64, bytes: u32, changes: bool| {
        let end = address.saturating_add(u64::from(bytes).clamp(1, 1 << 20));
        let cells = address / 8..=(end - 1) / 8;
        let of_cell = |cell: u64| {
            let is_touched = |byte: &u64| (address..end).contains(&(cell * 8 + byte));
            let bytes = (0..8).filter(is_touched).map(|byte| 1u8 << byte).sum();
            (Place::Memory(cell), bytes, changes)
        };
        cells.map(of_cell).collect()
    };
    match operation {
        Operation::Read(address, bytes, ..) => memory(*address, *bytes, false),
        Operation::Write(address, bytes) | Operation::Update(address, bytes, _) => memory(*address, *bytes, true),
        Operation::Acquire(object)
        | Operation::Release(object)
        | Operation::SharedAcquire(object)
        | Operation::SharedRelease(object)
        | Operation::Sync(object)
        | Operation::Notify(object)
        | Operation::Wait(object) => vec![(Place::Object(*object), 1, true)],
        Operation::Blocked(object) if *object != 0 => vec![(Place::Object(*object), 1, true)],
        _ => Vec::new(),
    }
}

/// Two deeds at one place: their order matters.
fn depend(a: &Deed<'_>, b: &Deed<'_>) -> bool {
    a.bytes & b.bytes != 0 && (a.changes || b.changes)
}

/// Whether there is a state in which both can be next: not a release and what waits for it, nor two that need the lock held.
fn may_both_be_next(first: &Operation, second: &Operation) -> bool {
    use Operation as O;
    match first {
        O::Release(_) => {
            !matches!(second, O::Acquire(_) | O::SharedAcquire(_) | O::Blocked(_) | O::Release(_) | O::SharedRelease(_))
        }
        O::SharedRelease(_) => !matches!(second, O::Acquire(_) | O::Blocked(_) | O::Release(_)),
        O::Acquire(_) => !matches!(second, O::Release(_) | O::SharedRelease(_)),
        O::SharedAcquire(_) => !matches!(second, O::Release(_)),
        _ => true,
    }
}

/// The second step only reads what the first one read, with the same result.
fn only_reads_again(first: &TurnStep, second: &TurnStep) -> bool {
    let reads = second.operations.iter().all(|operation| matches!(operation, Operation::Read(..)));
    reads && !second.operations.is_empty() && first.operations == second.operations
}

/// Nothing decided the way of a run that its steps do not show.
fn nothing_unseen(order: &Order, steps: &[TurnStep], success: bool) -> Result<(), String> {
    let (mut running, mut waiting) = (BTreeSet::new(), BTreeSet::new());
    for (nth, step) in steps.iter().enumerate() {
        let in_conflict = || order.conflicts.iter().any(|&(earlier, later)| earlier == nth || later == nth);
        let accesses = step.operations.iter().filter_map(|operation| match operation {
            Operation::Read(..) => Some(false),
            Operation::Write(..) | Operation::Update(..) => Some(true),
            _ => None,
        });
        let accesses: Vec<bool> = accesses.collect();
        if accesses.windows(2).any(|pair| pair == [true, false]) && in_conflict() {
            return Err(format!("step {nth} writes and then reads, and what comes between is not explored"));
        }
        for operation in &step.operations {
            match operation {
                Operation::Unclear(what) => return Err(format!("step {nth}: {what}")),
                Operation::Fork(thread) => _ = running.insert(*thread),
                Operation::End => _ = running.remove(&step.thread),
                Operation::Wait(condition) => _ = waiting.insert((*condition, step.thread)),
                Operation::Unparked(thread) => waiting.retain(|(_, waits)| waits != thread),
                Operation::Notify(condition) => {
                    let several = waiting.iter().filter(|(on, _)| on == condition).count();
                    let among = |(kind, alternatives, _)| kind == choice::WAITER && alternatives as usize == several;
                    if several > 1 && !step.choices().any(among) {
                        return Err(format!("step {nth} wakes one of several threads"));
                    }
                }
                _ => {}
            }
        }
    }
    if success && !running.is_empty() {
        return Err("threads were still running when the program ended".into());
    }
    Ok(())
}

/// How many classes there are, if they are stated as they are.
fn classes(manifest: &Manifest, runs: &[Vec<TurnStep>]) -> Result<usize, String> {
    let mut known: HashMap<BTreeMap<u32, Reads>, usize> = HashMap::new();
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

/// What each thread read. A read that only repeats the one before it counts once.
fn reads(steps: &[TurnStep]) -> BTreeMap<u32, Reads> {
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
                if place == 0 || last.insert(thread, (place, seen.clone())) != Some((place, seen.clone())) {
                    all.entry(thread).or_default().push(seen);
                }
            } else if !matches!(operation, Operation::Unparked(_) | Operation::Blocked(_)) {
                last.remove(&thread);
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
    all
}
