//! The search with learning, the search with plain backtracking, and a SAT solver, on orders that need decisions: random
//! ones of lock-heavy traces, and families made to be hard.
//!
//! The encoding has a variable for each pair of events (which comes first), clauses for transitivity, program order,
//! must-order, reads-from, and one clause for each choice between sections or writes. Prints one line a kind of instance.
//!
//! `cargo run --release -p mayhap-predict --example search_or_sat [TRACES]`

use std::time::{Duration, Instant};

use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};
use mayhap_predict::{Answer, Budget, Context, Query, Search, Slice, Solver};
use mayhap_testkit::{Generator, Hard, Profile, Random, forbidden_triples};
use mayhap_trace::{EventId, Op, Relations, Trace};
use mayhap_witness::Model;

/// The order of the events of a slice as a propositional formula.
struct Encoding<'e> {
    context: &'e Context<'e>,
    events: Vec<EventId>,
    solver: BasicSolver,
    variables: Vec<Vec<Option<Var>>>,
}

impl<'e> Encoding<'e> {
    fn new(context: &'e Context<'e>, slice: &Slice) -> Self {
        let events: Vec<EventId> = slice.in_observed_order(context).iter().collect();
        let mut solver = BasicSolver::default();
        let n = events.len();
        let mut variables = vec![vec![None; n]; n];
        for (i, row) in variables.iter_mut().enumerate() {
            for cell in row.iter_mut().skip(i + 1) {
                *cell = Some(solver.new_var_default());
            }
        }
        Encoding { context, events, solver, variables }
    }

    /// Event `i` comes before event `j`.
    fn before(&self, i: usize, j: usize) -> Lit {
        match self.variables[i.min(j)][i.max(j)] {
            Some(variable) => Lit::new(variable, i < j),
            None => unreachable!("an event is not compared with itself"),
        }
    }

    fn clause(&mut self, literals: &[Lit]) {
        self.solver.add_clause_reuse(&mut literals.to_vec());
    }

    fn place(&self, event: EventId) -> Option<usize> {
        self.events.binary_search(&event).ok()
    }

    fn solve(mut self, model: Model, edges: &[(EventId, EventId)]) -> bool {
        let n = self.events.len();
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    if i != j && j != k && i != k {
                        let clause = [!self.before(i, j), !self.before(j, k), self.before(i, k)];
                        self.clause(&clause);
                    }
                }
            }
        }
        for i in 0..n {
            for j in i + 1..n {
                if self.context.relations.ordered(self.context.trace, self.events[i], self.events[j]) {
                    let clause = [self.before(i, j)];
                    self.clause(&clause);
                }
            }
        }
        for &(x, y) in edges {
            let places = self.place(x).zip(self.place(y)).expect("all events are in the formula");
            let clause = [self.before(places.0, places.1)];
            self.clause(&clause);
        }
        self.locks();
        if model == Model::Data {
            self.reads();
        }
        self.solver.solve_limited(&[]) == lbool::TRUE
    }

    fn locks(&mut self) {
        let context = self.context;
        let sections: Vec<(usize, Option<usize>, EventId)> = self
            .events
            .iter()
            .enumerate()
            .filter(|&(_, &e)| context.trace.event(e).op.is_acquire())
            .map(|(i, &e)| (i, context.relations.partner(e).and_then(|r| self.place(r)), e))
            .collect();
        for (x, &(acquire1, release1, first)) in sections.iter().enumerate() {
            for &(acquire2, release2, second) in &sections[x + 1..] {
                let (a, b) = (context.trace.event(first), context.trace.event(second));
                if a.object != b.object || a.thread == b.thread || (a.op.is_shared() && b.op.is_shared()) {
                    continue;
                }
                let one = release1.map(|r| self.before(r, acquire2));
                let two = release2.map(|r| self.before(r, acquire1));
                let clause: Vec<Lit> = one.into_iter().chain(two).collect();
                self.clause(&clause);
            }
        }
    }

    fn reads(&mut self) {
        let trace = self.context.trace;
        for i in 0..self.events.len() {
            let read = self.events[i];
            if trace.event(read).op != Op::Read {
                continue;
            }
            let write = self.context.relations.partner(read).and_then(|w| self.place(w));
            if let Some(w) = write {
                let clause = [self.before(w, i)];
                self.clause(&clause);
            }
            for v in 0..self.events.len() {
                let other = trace.event(self.events[v]);
                if other.op == Op::Write && other.object == trace.event(read).object && Some(v) != write {
                    let mut clause = vec![self.before(i, v)];
                    clause.extend(write.map(|w| self.before(v, w)));
                    self.clause(&clause);
                }
            }
        }
    }
}

/// Sums over instances.
#[derive(Default)]
struct Sums {
    asked: u32,
    instances: u32,
    feasible: u32,
    events: usize,
    /// Decisions of the search that learns.
    decisions: u64,
    encoded: u32,
    learning: Times,
    chronological: Times,
    sat: Times,
}

/// Times of one method.
#[derive(Default)]
struct Times {
    all: Duration,
    slowest: Duration,
    given_up: u32,
}

impl Times {
    fn add(&mut self, time: Duration, decided: bool) {
        self.all += time;
        self.slowest = self.slowest.max(time);
        self.given_up += u32::from(!decided);
    }

    fn shown(&self, instances: u32) -> String {
        if instances == 0 {
            return "–".to_string();
        }
        let each = self.all.as_secs_f64() * 1e3 / f64::from(instances);
        let given_up = if self.given_up == 0 { String::new() } else { format!(", {} given up", self.given_up) };
        format!("{each:.2} / {:.1}{given_up}", self.slowest.as_secs_f64() * 1e3)
    }
}

/// Nobody waits longer for one order.
const PATIENCE: Duration = Duration::from_secs(5);

/// Events that are encoded at most: the clauses are cubic in them.
const MOST_ENCODED: usize = 160;

/// Times all methods on one query over all events, unless there is nothing to decide.
fn measure(context: &Context, query: &Query, model: Model, sums: &mut Sums) {
    let Ok(slice) = Slice::of_query(context, query, model) else { return };
    let budget = Budget { nodes: u64::MAX, time: Some(PATIENCE), ..Budget::default() };
    let mut solver = Solver::new(context);
    let started = Instant::now();
    let answer = solver.decide_query(query, model, &budget);
    let time = started.elapsed();
    sums.asked += 1;
    if solver.decisions() == 0 {
        return;
    }
    sums.instances += 1;
    sums.decisions += solver.decisions();
    sums.events += query.run.len();
    sums.learning.add(time, !matches!(answer, Answer::Spent));
    let started = Instant::now();
    let plain = Solver::new(context).searching(Search::Chronological).decide_query(query, model, &budget);
    sums.chronological.add(started.elapsed(), !matches!(plain, Answer::Spent));
    sums.feasible += u32::from(matches!(answer, Answer::Schedule(..)));
    let decided = [answer, plain].into_iter().filter(|a| !matches!(a, Answer::Spent));
    let mut said: Vec<bool> = decided.map(|a| matches!(a, Answer::Schedule(..))).collect();
    if query.run.len() <= MOST_ENCODED {
        let started = Instant::now();
        said.push(Encoding::new(context, &slice).solve(model, &query.edges));
        sums.sat.add(started.elapsed(), true);
        sums.encoded += 1;
    }
    assert!(said.windows(2).all(|w| w[0] == w[1]), "{said:?}: {:?} in {model}", query.edges);
}

/// Orders of all events of a trace with some pairs fixed at random.
fn compare(trace: &Trace, seed: u64, model: Model, sums: &mut Sums) {
    let relations = Relations::derive(trace).expect("generated traces are well-formed");
    let context = Context::new(trace, &relations);
    let run: Vec<EventId> = trace.events().map(|(id, _)| id).filter(|&e| relations.is_relevant(e)).collect();
    let mut random = Random::new(seed);
    for attempt in 0..60 {
        let mut pick = || *random.pick(&run);
        let edges = (0..3 + attempt % 6).map(|_| (pick(), pick()));
        let edges = edges.filter(|(x, y)| context.thread(*x) != context.thread(*y)).collect();
        measure(&context, &Query { run: run.clone(), edges, ..Query::default() }, model, sums);
    }
}

/// The same for an order that was made to be hard.
fn compare_hard(hard: &Hard, sums: &mut Sums) {
    let relations = Relations::derive(&hard.trace).expect("generated traces are well-formed");
    let context = Context::new(&hard.trace, &relations);
    let run = hard.trace.events().map(|(id, _)| id).collect();
    measure(&context, &Query { run, edges: hard.edges.clone(), ..Query::default() }, Model::Sync, sums);
}

fn show(family: &str, sums: &Sums) {
    let n = sums.instances.max(1);
    println!(
        "| {family} | {} of {} | {} | {} | {:.1} | {} | {} | {} |",
        sums.instances,
        sums.asked,
        sums.feasible,
        sums.events / n as usize,
        sums.decisions as f64 / f64::from(n),
        sums.learning.shown(sums.instances),
        sums.chronological.shown(sums.instances),
        sums.sat.shown(sums.encoded),
    );
}

fn main() {
    let traces = std::env::args().nth(1).map_or(200, |n| n.parse().expect("a number of traces"));
    println!("Milliseconds: mean / most, of instances that need decisions.\n");
    println!("| instances | need decisions | feasible | events | decisions | learning | chronological | SAT |");
    println!("|---|---|---|---|---|---|---|---|");
    for model in [Model::Sync, Model::Data] {
        for threads in [4, 6, 8] {
            let profile = Profile { locks: 4, open: 0, ..Profile::deadlocks() }.sized(threads, 6 * threads);
            let mut sums = Sums::default();
            for seed in 0..traces {
                compare(&Generator::trace(&profile, seed), seed, model, &mut sums);
            }
            show(&format!("random, {threads} threads, `{model}`"), &sums);
        }
    }
    let hard =
        [(20, 60, 1), (30, 100, 1), (40, 140, 1), (60, 200, 1), (80, 280, 1), (20, 65, 2), (20, 65, 3), (20, 65, 4)];
    for (locks, forbidden, families) in hard {
        let mut sums = Sums::default();
        for seed in 0..10 {
            compare_hard(&forbidden_triples(locks, forbidden, families, seed), &mut sums);
        }
        show(&format!("{families} × {locks} choices, {forbidden} forbidden triples"), &sums);
    }
}
