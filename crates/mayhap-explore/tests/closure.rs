//! Manifests of random programs: those of complete explorations hold, and those with something missing or changed do not.

use std::collections::{BTreeSet, HashMap};

use mayhap_explore::closure::check;
use mayhap_explore::dpor::Tree;
use mayhap_explore::manifest::{Made, Manifest};
use mayhap_explore::turns::turns_of;
use mayhap_explore::{Faults, Outcome, Systematic, Turn, steps_text};
use mayhap_record::{Operation, TurnStep};

/// What a thread of a random program does next.
#[derive(Clone, Copy)]
enum Does {
    Read(usize),
    Write(usize),
    /// Only if the last read saw something else than 0.
    WriteIf(usize),
    Lock,
    Unlock,
}

const LOCK: u64 = 512;

/// Runs a program in turns, and then each thread until it cannot go on. Returns the steps, and what each thread read. Thread 0 only starts the others.
fn run(threads: &[Vec<Does>], turns: &[Turn]) -> (Vec<TurnStep>, Vec<Vec<u64>>) {
    let count = threads.len();
    let (mut at, mut memory, mut saw) = (vec![0usize; count], [0u64; 3], vec![Vec::new(); count]);
    let (mut is_held, mut waits) = (false, vec![false; count]);
    let mut given: Vec<usize> = turns.iter().flat_map(|turn| vec![turn[0] as usize; turn[1] as usize]).collect();
    given.reverse();
    let forks = (1..count as u32).map(Operation::Fork).chain([Operation::End]).collect();
    let mut steps = vec![TurnStep { thread: 0, code: 0, operations: forks }];
    assert!(given.is_empty() || given.pop() == Some(0));
    let sees = |saw: &[u64]| saw.last().copied().unwrap_or(0);
    loop {
        for t in 0..count {
            while matches!(threads[t].get(at[t]), Some(Does::WriteIf(_))) && sees(&saw[t]) == 0 {
                at[t] += 1;
            }
        }
        let ready = |t: usize| at[t] < threads[t].len() && !waits[t];
        // A list that cannot be followed any further is left.
        given.truncate(if given.last().is_some_and(|&t| !ready(t)) { 0 } else { given.len() });
        let Some(t) = given.pop().or_else(|| (0..count).find(|&t| ready(t))) else { return (steps, saw) };
        let address = |variable: usize| 64 + 8 * variable as u64;
        let mut operations = Vec::new();
        match threads[t][at[t]] {
            Does::Lock if is_held => {
                waits[t] = true;
                operations.push(Operation::Blocked(LOCK));
            }
            Does::Lock => {
                is_held = true;
                operations.push(Operation::Acquire(LOCK));
            }
            Does::Unlock => {
                is_held = false;
                operations.push(Operation::Release(LOCK));
                for (other, waits) in waits.iter_mut().enumerate().filter(|(_, waits)| **waits) {
                    *waits = false;
                    operations.push(Operation::Unparked(other as u32));
                }
            }
            Does::Read(variable) => {
                saw[t].push(memory[variable]);
                operations.push(Operation::Read(address(variable), 8, Some(memory[variable]), 0));
            }
            Does::Write(variable) | Does::WriteIf(variable) => {
                memory[variable] = 1 + sees(&saw[t]) + t as u64;
                operations.push(Operation::Write(address(variable), 8));
            }
        }
        if !waits[t] {
            at[t] += 1;
        }
        let left = threads[t][at[t]..].iter().any(|does| !matches!(does, Does::WriteIf(_)) || sees(&saw[t]) != 0);
        operations.extend((!left).then_some(Operation::End));
        steps.push(TurnStep { thread: t as u32, code: 0, operations });
    }
}

/// All runs that exploring makes.
fn explored(threads: &[Vec<Does>]) -> Vec<Made> {
    let (mut tree, mut turns, mut made) = (Tree::default(), Vec::new(), Vec::new());
    loop {
        let (steps, _) = run(threads, &turns);
        tree.learn(&turns, &steps);
        made.push(Made { steps, success: false, failed: None, is_derived: false });
        match tree.next_turns() {
            Some(next) => turns = next,
            None => break,
        }
    }
    assert_eq!(tree.diverged, 0);
    made
}

/// The next program each of whose threads makes a step, and so ends.
fn that_ends(dice: &mut Dice) -> Vec<Vec<Does>> {
    loop {
        let threads = dice.program();
        let makes_a_step = |does: &Vec<Does>| does.iter().any(|does| !matches!(does, Does::WriteIf(_)));
        if threads[1..].iter().all(makes_a_step) {
            return threads;
        }
    }
}

/// All runs that exploring makes or derives; each that is derived is what the program does in its turns.
fn explored_and_derived(threads: &[Vec<Does>]) -> Vec<Made> {
    let mut all = Systematic::default();
    all.keep_runs();
    while let Some(turns) = all.next_turns() {
        let steps = run(threads, &turns).0;
        all.learn(&turns, &Outcome { steps, success: true, ..Outcome::default() });
        while all.derive() {}
    }
    assert!(all.is_complete(), "{:?}", all.limits());
    let made = std::mem::take(all.runs().unwrap());
    for derived in made.iter().filter(|run| run.is_derived) {
        assert_eq!(derived.steps, run(threads, &turns_of(&derived.steps)).0);
    }
    assert_eq!(made.iter().filter(|run| run.is_derived).count() as u64, all.derived());
    made
}

/// What threads can read in any order, by brute force over single steps.
fn all_orders(threads: &[Vec<Does>], prefix: &mut Vec<Turn>, found: &mut BTreeSet<Vec<Vec<u64>>>) {
    let (steps, saw) = run(threads, prefix);
    let (done, rest) = steps.split_at(prefix.len());
    if rest.is_empty() {
        found.insert(saw);
        return;
    }
    let waits = |thread: &u32| {
        let last = done.iter().rposition(|step| step.thread == *thread);
        let woken = |step: &TurnStep| step.operations.contains(&Operation::Unparked(*thread));
        last.is_some_and(|at| done[at].operations == [Operation::Blocked(LOCK)] && !done[at..].iter().any(woken))
    };
    // Whoever makes a step later can make one now, unless it waits.
    let later: BTreeSet<u32> = rest.iter().map(|step| step.thread).filter(|thread| !waits(thread)).collect();
    for thread in later {
        prefix.push([thread, 1]);
        all_orders(threads, prefix, found);
        prefix.pop();
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Two threads of three steps, or of four of which the first takes a lock and the last gives it up; and sometimes a third one of two.
    fn program(&mut self) -> Vec<Vec<Does>> {
        let mut threads = vec![Vec::new()];
        for length in [3, 3, 2] {
            let mut does: Vec<Does> = (0..length)
                .map(|_| {
                    let variable = self.roll(3) as usize;
                    match self.roll(5) {
                        0 | 1 => Does::Read(variable),
                        2 | 3 => Does::Write(variable),
                        _ => Does::WriteIf(variable),
                    }
                })
                .collect();
            if length == 3 && self.roll(3) == 0 {
                does[0] = Does::Lock;
                does.push(Does::Unlock);
            }
            threads.push(does);
        }
        threads.truncate(3 + usize::from(self.roll(3) == 0));
        threads
    }
}

fn manifest(made: &[Made]) -> Option<Manifest> {
    Manifest::of(vec!["random".into()], None, (true, Faults::default()), made)
}

#[test]
fn oracle_manifests_of_random_programs_hold_and_count_all_executions() {
    let mut dice = Dice(1);
    let (mut runs, mut executions) = (0, 0);
    for case in 0..std::env::var("MAYHAP_CASES").map_or(150, |n| n.parse().unwrap()) {
        let threads = dice.program();
        let mut expected = BTreeSet::new();
        all_orders(&threads, &mut vec![[0, 1]], &mut expected);
        let made = explored(&threads);
        let manifest = manifest(&made).expect("complete");
        let proven = check(&manifest).unwrap_or_else(|wrong| panic!("case {case}: {wrong}"));
        assert_eq!(proven.executions, expected.len(), "case {case}");
        runs += made.len();
        executions += expected.len();
    }
    println!("{executions} executions, {runs} runs");
    assert!(executions > 300, "{executions} executions, {runs} runs");
}

#[test]
fn oracle_derived_runs_are_runs_of_the_program_and_none_is_missed() {
    let mut dice = Dice(5);
    let (mut derived, mut total) = (0, 0);
    for case in 0..std::env::var("MAYHAP_CASES").map_or(150, |n| n.parse().unwrap()) {
        let threads = that_ends(&mut dice);
        let mut expected = BTreeSet::new();
        all_orders(&threads, &mut vec![[0, 1]], &mut expected);
        let made = explored_and_derived(&threads);
        let whole = manifest(&made).expect("complete");
        let proven = check(&whole).unwrap_or_else(|wrong| panic!("case {case}: {wrong}"));
        assert_eq!(proven.executions, expected.len(), "case {case}");
        derived += made.iter().filter(|run| run.is_derived).count();
        total += made.len();
    }
    println!("{derived} of {total} runs derived");
    assert!(derived > 50, "{derived} of {total}");
}

/// A derived run stands only on runs that were made: without them, or with another value, place or end of a wait in it, the manifest is refused.
#[test]
fn derived_runs_that_do_not_follow_are_refused() {
    let mut dice = Dice(5);
    let (mut changed, mut alone) = (0, 0);
    for case in 0..100 {
        let whole = manifest(&explored_and_derived(&that_ends(&mut dice))).unwrap();
        let derived = (0..whole.runs.len()).filter(|number| whole.runs[*number].derived);
        for number in derived.collect::<Vec<_>>() {
            for (nth, text) in whole.runs[number].steps.iter().enumerate() {
                let step = steps_text::step(text).unwrap();
                let other = match &step.operations[..] {
                    [Operation::Read(address, bytes, Some(found), place), rest @ ..] => {
                        let other = Operation::Read(*address, *bytes, Some(found + 1), *place);
                        TurnStep { operations: [&[other], rest].concat(), ..step.clone() }
                    }
                    [.., Operation::End] => {
                        TurnStep { operations: step.operations[..step.operations.len() - 1].to_vec(), ..step.clone() }
                    }
                    _ => TurnStep { code: 1, ..step.clone() },
                };
                let mut forged = whole.clone();
                forged.runs[number].steps[nth] = steps_text::text(&other);
                assert!(check(&forged).is_err(), "case {case}, run {number}, step {nth}");
                changed += 1;
            }
        }
        // Nothing stands on runs of which all but the first are said to be derived, unless these follow.
        let mut forged = whole.clone();
        forged.runs.iter_mut().skip(1).for_each(|run| run.derived = true);
        alone += usize::from(check(&forged).is_err());
    }
    assert!(changed > 50 && alone > 50, "{changed}, {alone}");
}

#[test]
fn a_manifest_without_a_class_is_never_accepted() {
    let mut dice = Dice(7);
    let mut removed = 0;
    for case in 0..80 {
        let made = explored(&dice.program());
        let whole = manifest(&made).unwrap();
        for class in 0..whole.classes.len() as u32 {
            // By someone who makes it anew as well as can be: some pair of steps is shown by no run then.
            let left = made.iter().zip(&whole.runs).filter(|(_, run)| run.class != class);
            let left: Vec<Made> = left.map(|(made, _)| made.clone()).collect();
            let forged = if left.is_empty() { None } else { manifest(&left) };
            assert!(forged.is_none_or(|forged| check(&forged).is_err()), "case {case}, class {class}");
            // By someone who only takes it out.
            let mut cut = whole.clone();
            cut.classes.remove(class as usize);
            cut.executions -= 1;
            assert!(check(&cut).is_err(), "case {case}, class {class}");
            removed += 1;
        }
    }
    assert!(removed > 200, "{removed}");
}

#[test]
fn a_manifest_with_another_schedule_or_argument_is_refused() {
    let mut dice = Dice(3);
    let mut changed: HashMap<&str, u32> = HashMap::new();
    for case in 0..40 {
        let threads = dice.program();
        let whole = manifest(&explored(&threads)).unwrap();
        for (number, run) in whole.runs.iter().enumerate() {
            let mut refused = |what: &'static str, change: &dyn Fn(&mut Manifest)| {
                let mut other = whole.clone();
                change(&mut other);
                if other != whole {
                    assert!(check(&other).is_err(), "case {case}, run {number}: {what}");
                    *changed.entry(what).or_default() += 1;
                }
            };
            for (nth, reversal) in run.reversals.iter().enumerate() {
                refused("shown by itself", &|m| m.runs[number].reversals[nth].run = Some(number as u32));
                refused("shown by none", &|m| m.runs[number].reversals[nth].run = None);
                refused("shown by no run", &|m| m.runs[number].reversals[nth].run = Some(u32::MAX));
                refused("left out", &|m| _ = m.runs[number].reversals.remove(nth));
                refused("of other steps", &|m| m.runs[number].reversals[nth].later = reversal.earlier);
            }
            if let (Some(text), Some(_)) = (run.steps.first(), run.from) {
                let thread = threads.len() as u32;
                let other = steps_text::text(&TurnStep { thread, ..steps_text::step(text).unwrap() });
                refused("another thread", &|m| m.runs[number].steps[0].clone_from(&other));
            }
            refused("another class", &|m| m.runs[number].class += 1);
        }
        let mut count = whole.clone();
        count.executions += 1;
        assert!(check(&count).is_err());
    }
    assert!(changed.len() == 7 && changed.values().all(|n| *n > 50), "{changed:?}");
}
