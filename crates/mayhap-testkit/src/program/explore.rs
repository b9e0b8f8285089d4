//! Runs every interleaving of a program, with real values, and collects what they show ([`Facts`]).
//!
//! Which executions count is up to [`Rules`]:
//! - all of them, with steps named by their statements: what is true of the program;
//! - all of them, with steps named after those of a recorded run for as long as a thread runs the statements it ran there;
//! - only those that the recorded run shows to be possible *for every program that could have produced it*: each thread
//!   runs a prefix of its recorded steps, and decides only if everything it has read surely had its recorded value. A
//!   value is sure if it was written as a constant of the code or by a thread that had read nothing unsure.
//!
//! States that look the same are visited once. Happens-before depends on the path, so the clocks are part of the state.

use super::clocks::{Clocks, THREADS, parts};
use super::facts::{Facts, Outcome, Waiting, sorted};
use super::follow::{Failed, Follow, Rules, Step};
use super::interpreter::{Machine, Touch};
use super::packed::PackedSet;
use super::state::{Choice, Life, State};

#[derive(Clone, Hash, Debug)]
struct Node {
    state: State,
    follow: Follow,
    clocks: Option<Clocks>,
}

/// Explores all executions that count. With `clocks`, also which accesses can be unordered by happens-before.
pub fn explore(machine: &Machine, rules: Rules<'_>, clocks: bool, limit: usize) -> Result<Facts, Failed> {
    let program = &machine.program;
    assert!(program.threads.len() <= THREADS, "programs have at most {THREADS} threads");
    let clocks =
        clocks.then(|| Clocks::new(program.locks.len(), program.conditions, program.semaphores.len(), program.pipes));
    let start = Node { state: machine.start(), follow: Follow::new(program.threads.len()), clocks };
    let mut explorer = Explorer { machine, rules, facts: Facts::default() };
    let mut seen = PackedSet::default();
    seen.insert(&start);
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        explorer.look(&node);
        let mut moved = false;
        for thread in 0..program.threads.len() {
            for choice in machine.choices(&node.state, thread) {
                moved = true;
                let Some(next) = explorer.step(&node, thread, choice)? else { continue };
                if seen.insert(&next) {
                    if seen.len() > limit {
                        return Err(Failed::TooBig);
                    }
                    open.push(next);
                }
            }
        }
        if !moved {
            explorer.facts.outcomes.insert(outcome(machine, &node.state));
        }
    }
    explorer.facts.states = seen.len();
    Ok(explorer.facts)
}

struct Explorer<'a> {
    machine: &'a Machine,
    rules: Rules<'a>,
    facts: Facts,
}

impl Explorer<'_> {
    /// Runs one step. None if the rules do not allow it, or nothing after it counts.
    fn step(&mut self, node: &Node, thread: usize, choice: Choice) -> Result<Option<Node>, Failed> {
        let mut next = node.clone();
        let happened = self.machine.step(&mut next.state, thread, choice).map_err(Failed::Misuse)?;
        let verdict = next.follow.step(&self.rules, &happened)?;
        let name = match verdict {
            Step::Forbidden => return Ok(None),
            Step::Runs(name) | Step::LastRead(name, _) => name,
        };
        let effect = if let Step::LastRead(_, effect) = verdict { effect } else { happened.effect };
        if let Some(name) = name
            && let Some(value) = effect.value_read()
        {
            self.facts.values.entry(name).or_default().insert(value);
        }
        if happened.memory_error {
            self.facts.memory_errors.insert(happened.site);
        }
        if let Some(clocks) = &mut next.clocks {
            clocks.observe(thread, &effect);
            if let Some(name) = name {
                clocks.access(thread, name, &effect, |(a, b)| {
                    self.facts.unordered.insert(sorted(a, b));
                });
            }
        }
        // Whether a compare-exchange that may go another way writes is not known, so nothing may follow it.
        let leaves = matches!(verdict, Step::LastRead(..));
        Ok((!leaves).then_some(next))
    }

    /// Collects what a state shows.
    fn look(&mut self, node: &Node) {
        let threads = node.state.threads.len();
        let names: Vec<Option<u32>> = (0..threads).map(|t| self.name(node, t)).collect();
        let touches: Vec<Option<Touch>> = (0..threads).map(|t| self.machine.touch(&node.state, t)).collect();
        for a in 0..threads {
            let (Some(name), Some(touch)) = (names[a], touches[a]) else { continue };
            if touch.reads {
                self.facts.last_writes.insert((name, node.follow.last_write(touch.cell)));
                self.look_for_displaced(node, name, touch);
            }
            for b in a + 1..threads {
                if let (Some(other), Some(second)) = (names[b], touches[b])
                    && touch.cell == second.cell
                    && !(touch.atomic && second.atomic)
                {
                    self.conflicts(node, (a, name, touch), (b, other, second));
                }
            }
        }
        self.look_for_deadlocks(node, &names);
    }

    /// If what a read saw in the recorded run has not been written, each write that has been took its place.
    fn look_for_displaced(&mut self, node: &Node, read: u32, touch: Touch) {
        let Rules::Feasible(recording) = self.rules else { return };
        let saw = recording.saw[read as usize];
        if saw.is_some_and(|write| node.follow.has_run(recording, write)) {
            return;
        }
        let writes = recording.steps.iter().enumerate().filter(|(index, step)| {
            let writes = parts(&step.effect).is_some_and(|(cell, _, writes, _)| writes && cell == touch.cell);
            writes && node.follow.has_run(recording, *index as u32)
        });
        self.facts.displaced.extend(writes.map(|(index, _)| (read, Some(index as u32))));
        self.facts.displaced.extend(saw.is_some().then_some((read, None)));
    }

    fn conflicts(&mut self, node: &Node, a: (usize, u32, Touch), b: (usize, u32, Touch)) {
        let writes = |(thread, _, touch): (usize, u32, Touch)| {
            touch.writes && node.follow.may_write(&self.rules, thread, touch.cell)
        };
        let (a_writes, b_writes) = (writes(a), writes(b));
        for (first, second) in [(false, true), (true, false), (true, true)] {
            let a_does = if first { a_writes } else { a.2.reads };
            let b_does = if second { b_writes } else { b.2.reads };
            if a_does && b_does {
                self.facts.both_next.insert(sorted((a.1, first), (b.1, second)));
            }
        }
    }

    /// Every two or three requests each of which another one's thread keeps waiting.
    fn look_for_deadlocks(&mut self, node: &Node, names: &[Option<u32>]) {
        let request = |thread: usize| {
            let (lock, shared) = self.machine.request(&node.state, thread)?;
            let holders: Vec<usize> = node.state.locks[lock].against(shared).collect();
            (!holders.is_empty()).then_some((thread, names[thread]?, holders))
        };
        let requests: Vec<_> = (0..names.len()).filter_map(request).collect();
        for chosen in 0_u32..1 << requests.len() {
            let members: Vec<_> =
                requests.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, request)| request).collect();
            let kept = |(thread, _, holders): &(usize, u32, Vec<usize>)| {
                members.iter().any(|other| other.0 != *thread && holders.contains(&other.0))
            };
            if (2..=3).contains(&members.len()) && members.iter().all(|member| kept(member)) {
                let mut set: Vec<u32> = members.iter().map(|member| member.1).collect();
                set.sort_unstable();
                self.facts.deadlocks.insert(set);
            }
        }
    }

    /// What the thread's next step is called, if it counts.
    fn name(&self, node: &Node, thread: usize) -> Option<u32> {
        let next = self.machine.next(&node.state, thread)?;
        match self.rules {
            Rules::Free => Some(next.site as u32),
            Rules::Along(recording) | Rules::Feasible(recording) | Rules::Lucky(recording) => {
                let index = node.follow.next(recording, thread)?;
                let step = &recording.steps[index as usize];
                ((step.site, step.part) == (next.site, next.part)).then_some(index)
            }
        }
    }
}

fn outcome(machine: &Machine, state: &State) -> Outcome {
    if let Some(site) = state.aborted {
        return Outcome::Aborted(site);
    }
    let waits = |thread: usize| {
        let next = machine.next(state, thread)?;
        Some(Waiting { thread, site: next.site, part: next.part })
    };
    let stuck: Vec<Waiting> = (0..state.threads.len()).filter_map(waits).collect();
    if stuck.is_empty() {
        debug_assert!(state.threads.iter().all(|thread| thread.life != Life::Running));
        let locals = state.threads.iter().map(|thread| thread.locals.clone()).collect();
        Outcome::Ended { variables: state.variables.clone(), locals }
    } else {
        Outcome::Stuck(stuck)
    }
}
