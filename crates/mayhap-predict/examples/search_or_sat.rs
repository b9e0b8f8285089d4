//! The search against a SAT solver on instances that need decisions: lock-heavy random traces of many threads.
//!
//! The encoding has a variable for each pair of events (which comes first), clauses for transitivity, program order,
//! must-order, reads-from, and one clause for each choice between sections or writes. Prints one line a kind of instance.
//!
//! `cargo run --release -p mayhap-predict --example search_or_sat [TRACES]`

use std::time::{Duration, Instant};

use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};
use mayhap_predict::{Answer, Budget, Context, Query, Slice, Solver};
use mayhap_testkit::{Generator, Profile, Random};
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
        let events = slice.in_observed_order(context);
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
    decided: u32,
    search: Duration,
    slowest_search: Duration,
    sat: Duration,
    slowest_sat: Duration,
    events: usize,
    decisions: u64,
}

/// Orders of all events of a trace with some pairs fixed at random; keeps those that the search had to decide something for.
fn compare(trace: &Trace, seed: u64, model: Model, sums: &mut Sums) {
    let relations = Relations::derive(trace).expect("generated traces are well-formed");
    let context = Context::new(trace, &relations);
    let all: Vec<EventId> = trace.events().map(|(id, _)| id).filter(|&e| relations.is_relevant(e)).collect();
    let mut random = Random::new(seed);
    for attempt in 0..60 {
        let mut pick = || *random.pick(&all);
        let edges: Vec<(EventId, EventId)> = (0..3 + attempt % 6)
            .map(|_| (pick(), pick()))
            .filter(|(x, y)| context.thread(*x) != context.thread(*y))
            .collect();
        let query = Query { run: all.clone(), edges: edges.clone(), ..Query::default() };
        let Ok(slice) = Slice::of_query(&context, &query, model) else { continue };
        let mut solver = Solver::new(&context);
        let started = Instant::now();
        let answer = solver.decide_query(&query, model, &Budget::default());
        let search = started.elapsed();
        let decisions = solver.decisions();
        sums.asked += 1;
        if decisions == 0 {
            continue;
        }
        let started = Instant::now();
        let sat = Encoding::new(&context, &slice).solve(model, &edges);
        let by_sat = started.elapsed();
        assert_eq!(matches!(answer, Answer::Schedule(..)), sat, "{edges:?} in {model}");
        sums.instances += 1;
        sums.decided += u32::from(sat);
        sums.decisions += decisions;
        sums.events += all.len();
        sums.search += search;
        sums.slowest_search = sums.slowest_search.max(search);
        sums.sat += by_sat;
        sums.slowest_sat = sums.slowest_sat.max(by_sat);
    }
}

fn main() {
    let traces = std::env::args().nth(1).map_or(200, |n| n.parse().expect("a number of traces"));
    for model in [Model::Sync, Model::Data] {
        for threads in [4, 6, 8] {
            let profile = Profile { locks: 4, open: 0, ..Profile::deadlocks() }.sized(threads, 6 * threads);
            let mut sums = Sums::default();
            for seed in 0..traces {
                compare(&Generator::trace(&profile, seed), seed, model, &mut sums);
            }
            let each = |d: Duration| d / sums.instances.max(1);
            println!(
                "{model}, {threads} threads: {} of {} instances need decisions ({} feasible, {} events, {:.1} decisions \
                 each); search {:?} each, {:?} at most; SAT {:?} each, {:?} at most",
                sums.instances,
                sums.asked,
                sums.decided,
                sums.events / sums.instances.max(1) as usize,
                sums.decisions as f64 / f64::from(sums.instances.max(1)),
                each(sums.search),
                sums.slowest_search,
                each(sums.sat),
                sums.slowest_sat
            );
        }
    }
}
