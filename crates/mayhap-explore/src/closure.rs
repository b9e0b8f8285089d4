//! Checks that a manifest leaves no execution out, without anything that made it.
//!
//! In: a manifest, which may be by anybody. Out: what is wrong with it, or how many executions it proves to be all. The rules, with what they stand on:
//!
//! 1. **Runs are a function of their schedules**: where two runs let the same threads make steps, the steps are the same.
//! 2. **Closed**: for every two steps of a run that conflict, are of different threads and that nothing else orders, some run does the same up to the first one, and
//!    then lets a thread go on that is the first on a way to the second which leaves the first out (an *initial*: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). Of several earlier steps that conflict at the same eight bytes, or at the same lock, those count that come before no
//!    other of them. If no initial can go on there, there is a run for each thread that can. A set of runs that is closed in this sense has every execution, up to the
//!    order of steps that do not conflict. **Sleep sets** (Godefroid, LNCS 1032): where several threads are run at a state, a thread *sleeps* in the runs of those that were
//!    first run after it, until a step conflicts with its own. An initial that sleeps needs no run, and nothing is asked of a run from where a sleeping thread goes on,
//!    except that a run goes on there with a thread that does not sleep, if one can.
//!    **Choices**: where a step makes a choice, some run does the same up to it for each alternative.
//! 3. **Nothing unseen**: no step says that something decided its way which the recording does not see, threads have ended where the program ended well, a notify that found
//!    several threads waiting made a choice among them, and no step in a conflict has both a plain write and a plain read after it.
//! 4. **Derived**: a run that was not made follows from those that were: what a thread does next depends on what it has done, on which writes its reads saw, and on what had been
//!    done before to the objects that it used; each of these shows up in a run that was made. The order of writes that a thread does not see changes nothing for it.
//! 5. **Classes**: two runs are of one class exactly if each thread read the same in both, and its attempts had the same results; each class names its first run.
//!
//! Cost: as for exploring, without the runs. This module, [`crate::derived`] and [`crate::classes`] use [`crate::manifest`] for the format and [`crate::steps_text`] to read steps, and nothing else of this crate.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mayhap_record::{Operation, TurnStep};
use mayhap_wire::ring::choice;

use crate::classes::classes;
use crate::derived;
use crate::manifest::{FORMAT, Manifest, Reversal, VERSION};
use crate::steps_text;

/// Reads of the same with the same result in a row that count as different steps.
const ROUNDS: usize = 3;
/// Waits of a thread that end before they were woken; further ones are not tried.
const MOST_EARLY: usize = 2;
/// Threads whose steps touch more places never sleep.
const MOST_PLACES: usize = 64;
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

/// Checks a manifest; the error says what is wrong, and with which run.
pub fn check(manifest: &Manifest) -> Result<Proven, String> {
    if manifest.format != FORMAT || manifest.version != VERSION {
        return Err(format!("not a manifest: \"format\": \"{FORMAT}\", version {VERSION}, is missing"));
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
        let mut order = Order::of(steps);
        nothing_unseen(&order, steps, run.success).map_err(at)?;
        let end = tree.awake_until(steps, path).map_err(at)?;
        order.conflicts.retain(|(_, later)| *later < end);
        closed(&tree, &order, steps, (path, &paths), &run.reversals).map_err(at)?;
        all_alternatives(&tree, &steps[..end], path).map_err(at)?;
        proven.reversals += order.conflicts.len();
        proven.cut_loops |= order.cut;
    }
    if proven.cut_loops != manifest.cut_loops {
        return Err("whether loops were cut is stated wrongly".into());
    }
    derived::check(manifest, &runs)?;
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
struct Tree {
    next: HashMap<(usize, u32), Ways>,
    /// The step that led to each state but the first.
    steps: Vec<TurnStep>,
    /// For each state, the threads that were run there in the order of their first runs, as the states that they first led to.
    children: Vec<Vec<usize>>,
    /// For each state, the threads that sleep there, likewise.
    sleeping: Vec<Vec<usize>>,
}

impl Tree {
    /// Adds a run; returns the states that it comes through.
    fn add(&mut self, steps: &[TurnStep]) -> Result<Vec<usize>, String> {
        let mut path = vec![0];
        for (nth, step) in steps.iter().enumerate() {
            let from = path[nth];
            let taken = taken(step);
            let ways = self.next.entry((from, step.thread)).or_default();
            let is_first = ways.is_empty();
            match ways.iter().find(|(known, _)| *known == taken) {
                Some((_, known)) if self.steps[known - 1] != *step => {
                    return Err(format!("step {nth} is another one than in an earlier run of the same schedule"));
                }
                Some((_, known)) => path.push(*known),
                None => {
                    self.steps.push(step.clone());
                    ways.push((taken, self.steps.len()));
                    path.push(self.steps.len());
                    self.send_to_sleep(from, step, is_first);
                }
            }
        }
        Ok(path)
    }

    /// Which threads sleep in the last state, to which a step led from another one.
    fn send_to_sleep(&mut self, from: usize, step: &TurnStep, is_first: bool) {
        let others = self.children[from].iter().take_while(|child| self.thread(**child) != step.thread);
        let mut sleeping = self.sleeping[from].clone();
        let is_new =
            |child: &&usize| self.sleeping[from].iter().all(|known| self.thread(*known) != self.thread(**child));
        sleeping.extend(others.filter(is_new));
        sleeping.retain(|child| self.thread(*child) != step.thread && self.is_apart(*child, step));
        if is_first {
            self.children[from].push(self.steps.len());
        }
        self.children.push(Vec::new());
        self.sleeping.push(sleeping);
    }

    /// The thread whose step led to a state.
    fn thread(&self, state: usize) -> u32 {
        self.steps[state - 1].thread
    }

    /// Whether the step that led to a state makes no choice and does not conflict with another one.
    fn is_apart(&self, state: usize, other: &TurnStep) -> bool {
        let step = &self.steps[state - 1];
        let mine: Vec<_> = step.operations.iter().flat_map(touched_or_awaited).collect();
        let clear = |step: &TurnStep| {
            !step.operations.iter().any(|o| matches!(o, Operation::Unclear(_)))
                && step.operations.iter().flat_map(touched_or_awaited).count() <= MOST_PLACES
        };
        clear(step)
            && step.choices().next().is_none()
            && clear(other)
            && !other.operations.iter().flat_map(touched_or_awaited).any(|(place, bytes, changes)| {
                mine.iter().any(|m| m.0 == place && m.1 & bytes != 0 && (m.2 || changes))
            })
    }

    fn sleeps(&self, state: usize, thread: u32) -> bool {
        self.sleeping[state].iter().any(|child| self.thread(*child) == thread)
    }

    /// How many steps a run makes before a sleeping thread goes on. Somebody else must do so in another run, if one can.
    fn awake_until(&self, steps: &[TurnStep], path: &[usize]) -> Result<usize, String> {
        let Some(at) = (0..steps.len()).find(|at| self.sleeps(path[*at], steps[*at].thread)) else {
            return Ok(steps.len());
        };
        let awake: Vec<u32> =
            able_before(steps, at).into_iter().filter(|thread| !self.sleeps(path[at], *thread)).collect();
        if awake.is_empty() || awake.iter().any(|thread| self.next.contains_key(&(path[at], *thread))) {
            return Ok(at);
        }
        Err(format!("at step {at} only threads go on whose runs are explored elsewhere, and others could"))
    }
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { next: HashMap::new(), steps: Vec::new(), children: vec![Vec::new()], sleeping: vec![Vec::new()] }
    }
}

/// Where an operation acts, and that threads end or are waited for.
fn touched_or_awaited(operation: &Operation) -> Vec<(Place, u8, bool)> {
    match operation {
        Operation::End => vec![(Place::Ends, 1, false)],
        Operation::Join(_) | Operation::Blocked(0) => vec![(Place::Ends, 1, true)],
        _ => touched(operation),
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
        let initials = order.initials(earlier, later);
        match run {
            Some(run) => {
                let after = paths.get(run as usize).and_then(|path| path.get(earlier..=earlier + 1));
                let thread = after.filter(|after| after[0] == state).map(|after| tree.thread(after[1]));
                if !thread.is_some_and(|thread| initials.contains(&thread)) {
                    return Err(format!("{what}, and run {run} does not show it"));
                }
            }
            None if initials.iter().any(|thread| tree.sleeps(state, *thread)) => {}
            None => {
                let able = able_before(steps, earlier);
                let is_run = |thread: &u32| tree.next.contains_key(&(state, *thread)) || tree.sleeps(state, *thread);
                if initials.iter().any(|thread| able.contains(thread)) || !able.iter().all(is_run) {
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
    /// Threads end, and others wait for that.
    Ends,
    /// Threads are started.
    Forks,
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
        let mut parked: BTreeSet<u32> = BTreeSet::new();
        let mut early: HashMap<u32, usize> = HashMap::new();
        for (at, step) in steps.iter().enumerate() {
            let thread = step.thread;
            let before = knows.get(&thread).cloned().unwrap_or_default();
            let number = before.get(&thread).copied().unwrap_or(0) + 1;
            let mut after = before.clone();
            after.insert(thread, number);
            let rounds = match last.get(&thread) {
                Some(&(earlier, rounds)) if only_looks_again(&steps[earlier], step) => rounds + 1,
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
                    if rounds < ROUNDS {
                        let conflicts = order.last_conflicts(earlier, &deed, thread, &before);
                        order.conflicts.extend(conflicts.into_iter().map(|conflict| (conflict, at)));
                    }
                    let ordered = earlier.iter().filter(|other| other.step != at && depend(other, &deed));
                    ordered.for_each(|other| learn(&mut after, &order.steps[other.step].2));
                    // A thread that cannot go on has found what others did, and has changed nothing.
                    if !matches!(operation, Operation::Blocked(_)) {
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
            for operation in &step.operations {
                match operation {
                    Operation::Blocked(_) | Operation::Wait(_) => _ = parked.insert(thread),
                    // What a thread does that could not go on before comes after what lets it.
                    Operation::Unparked(other) if parked.remove(other) => {
                        learn(knows.entry(*other).or_default(), &after);
                    }
                    _ => {}
                }
            }
            order.steps.push((thread, number, after));
        }
        order
    }

    /// The earlier steps that depend on this one, may come right after it, that nothing else orders before it, and that come before no other such step.
    fn last_conflicts(
        &self,
        earlier: &[Deed<'_>],
        deed: &Deed<'_>,
        thread: u32,
        before: &BTreeMap<u32, u32>,
    ) -> Vec<usize> {
        let is_loose = |other: &&Deed<'_>| {
            let (whose, number, _) = &self.steps[other.step];
            *whose != thread && before.get(whose).copied().unwrap_or(0) < *number
        };
        let others = earlier.iter().rev().filter(|other| other.step != deed.step);
        let conflict = |other: &&Deed<'_>| depend(other, deed) && may_both_be_next(other.operation, deed.operation);
        let mut found: Vec<usize> = Vec::new();
        for other in others.filter(conflict).filter(is_loose) {
            let (whose, number, _) = &self.steps[other.step];
            let comes_before = |later: &usize| self.steps[*later].2.get(whose).copied().unwrap_or(0) >= *number;
            if !found.iter().any(comes_before) {
                found.push(other.step);
            }
        }
        found
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
        Operation::SharedAcquire(object) | Operation::SharedRelease(object) => {
            vec![(Place::Object(*object), 1, false)]
        }
        Operation::Acquire(object)
        | Operation::Release(object)
        | Operation::Sync(object)
        | Operation::Attempt(object, _)
        | Operation::Notify(object)
        | Operation::Wait(object) => vec![(Place::Object(*object), 1, true)],
        Operation::Blocked(object) if *object != 0 => vec![(Place::Object(*object), 1, true)],
        // Threads are numbered in the order in which they are started.
        Operation::Fork(_) => vec![(Place::Forks, 1, true)],
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

/// The second step only reads what the first one read, or attempts in vain what that did, with the same result.
fn only_looks_again(first: &TurnStep, second: &TurnStep) -> bool {
    let looks = second.operations.iter().all(|o| matches!(o, Operation::Read(..) | Operation::Attempt(_, false)));
    looks && !second.operations.is_empty() && first.operations == second.operations
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
