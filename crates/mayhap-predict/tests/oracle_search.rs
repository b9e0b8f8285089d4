//! The search on orders that need many decisions, against trying every way to choose; with learning and without.

use mayhap_predict::{Answer, Budget, Context, Query, Search, Solver};
use mayhap_testkit::{Hard, Judge, cases, forbidden_triples};
use mayhap_trace::{EventId, Execution};
use mayhap_witness::Model;

/// The schedule keeps the order that was asked for, and it is one of all events.
fn keeps(hard: &Hard, schedule: &[EventId]) -> bool {
    let place = |e: &EventId| schedule.iter().position(|s| s == e);
    schedule.len() == hard.trace.len() && hard.edges.iter().all(|(x, y)| place(x) < place(y))
}

#[test]
fn hard_orders_are_decided_as_trying_every_choice_does() {
    let (mut decisions, mut feasible, mut conflicts) = (0, 0, 0);
    let count = cases(2_000);
    for seed in 0..count as u64 {
        // Around where half of them are feasible: there searches are longest.
        let locks = 4 + seed as usize % 8;
        let hard = forbidden_triples(locks, locks * 3 + seed as usize / 8 % locks, 1, seed);
        let truth = hard.is_feasible();
        let execution = Execution::derive(&hard.trace).unwrap();
        let context = Context::new(&execution);
        let judge = Judge::new(&hard.trace);
        let run: Vec<EventId> = hard.trace.events().map(|(id, _)| id).collect();
        let query = Query { run, edges: hard.edges.clone(), ..Query::default() };
        for search in [Search::Learning, Search::Chronological] {
            let mut solver = Solver::new(&context).searching(search);
            match solver.decide_query(&query, Model::Sync, &Budget::default()) {
                Answer::Schedule(schedule, _) => {
                    let schedule: Vec<EventId> = schedule.iter().collect();
                    assert!(truth && keeps(&hard, &schedule), "{search:?}, seed {seed}");
                    assert!(judge.is_reordering(Model::Sync, &schedule), "{search:?}, seed {seed}");
                }
                Answer::Refuted(refutation) => assert!(!truth, "{search:?}, seed {seed}: {refutation}"),
                Answer::Spent => panic!("{search:?}, seed {seed}: the budget ran out"),
            }
            decisions += solver.decisions();
            conflicts += solver.conflicts();
        }
        feasible += usize::from(truth);
    }
    println!("{count} orders, {feasible} feasible, {decisions} decisions, {conflicts} conflicts");
    assert!(feasible * 5 > count && feasible * 5 < 4 * count, "{feasible} of {count} feasible");
    assert!(conflicts as usize > count, "{conflicts} conflicts");
}
