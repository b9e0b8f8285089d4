//! Generated traces are what they promise: well-formed, of exact length, always the same, and racy exactly where planted.

use std::collections::HashMap;

use mayhap_generate::{Generator, Shape};
use mayhap_trace::{Columns, EventId, Execution, Op, Relations, Source, Trace};
use mayhap_witness::{Checker, Model, Target, Witness};

fn trace(shape: &Shape) -> Trace {
    Trace::from_source(Box::new(Generator::new(shape.clone()).unwrap())).unwrap()
}

/// Shapes that differ in every parameter, small enough for thousands of events each.
fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut seed = 0;
    for threads in [1, 2, 3, 17, 300] {
        for (locks, variables) in [(0, 1), (0, 50), (1, 1), (1, 2), (3, 40), (100, 10), (50, 3000)] {
            for mix in 0..6 {
                seed += 1;
                let part = |i: u64| ((seed * 7 + i * 13) % 11) as f64 / 10.0;
                let planted = if threads > 1 { mix } else { 0 };
                shapes.push(Shape {
                    events: 900 + 97 * seed,
                    threads,
                    locks,
                    variables,
                    seed,
                    sharing: [0.0, 0.1, 0.4, 0.8, 0.95, 1.0][mix as usize],
                    protected: 1.0,
                    reads: part(1),
                    nesting: 1 + (mix % 4) as u32,
                    section: 1 + (seed % 7) as u32,
                    readers: part(2),
                    run: 1 + (seed % 30) as u32,
                    preemption: part(3),
                    branches: part(4),
                    signals: part(5) / 10.0,
                    races: 3 * planted,
                    hidden: part(6),
                    deadlocks: planted / 2,
                });
            }
        }
    }
    shapes
}

#[test]
fn traces_of_every_shape_are_well_formed_and_of_exact_length() {
    for shape in shapes() {
        let trace = trace(&shape);
        assert_eq!(trace.len() as u64, shape.events, "{shape:?}");
        if let Err(error) = Relations::derive(&trace) {
            panic!("{shape:?}: {error}");
        }
        let ids_in_order_of_appearance = Trace::from_source(Box::new(std_reader(&trace))).unwrap();
        assert_eq!(ids_in_order_of_appearance.columns(), trace.columns(), "{shape:?}");
    }
}

fn std_reader(trace: &Trace) -> impl Source + use<> {
    let mut text = Vec::new();
    mayhap_trace::format::std_text::write_events(&mut text, trace.columns(), trace.tables()).unwrap();
    mayhap_trace::format::std_text::StdReader::new(std::io::Cursor::new(text))
}

/// The accesses of each planted race.
fn planted_races(trace: &Trace) -> Vec<(EventId, EventId)> {
    let mut accesses: HashMap<&str, Vec<EventId>> = HashMap::new();
    for (id, event) in trace.events().filter(|(_, e)| e.op.is_access()) {
        let name = trace.tables().object(event.op, event.object);
        if name.starts_with("race") {
            accesses.entry(name).or_default().push(id);
        }
    }
    accesses.values().map(|pair| <[EventId; 2]>::try_from(&pair[..]).expect("two accesses").into()).collect()
}

#[test]
fn planted_races_are_races_in_every_model_and_there_are_no_others() {
    let mut hidden = 0;
    for shape in shapes() {
        let trace = trace(&shape);
        let execution = Execution::derive(&trace).unwrap();
        let relations = execution.relations();
        let mut checker = Checker::new(&execution);
        let races = planted_races(&trace);
        assert_eq!(races.len() as u64, shape.races, "{shape:?}");
        for &(first, second) in &races {
            let thread = trace.event(first).thread;
            let before = |e: EventId| trace.event(e).thread != thread || relations.rank(e) < relations.rank(first);
            let schedule = (0..second.index()).map(EventId::at).filter(|&e| relations.is_relevant(e));
            let schedule = schedule.filter(|&e| before(e)).collect();
            let verdict = checker.check(&Target::Race(first, second), Model::Data, Witness { schedule });
            assert!(verdict.is_ok(), "{shape:?}: {}", verdict.unwrap_err());
            let between = first.index() + 1..second.index();
            hidden += usize::from(between.map(EventId::at).any(|e| trace.event(e).thread == thread));
        }
        assert_eq!(unprotected_conflicts(&trace, relations), shape.races, "{shape:?}");
    }
    assert!(hidden > 100, "only {hidden} races were hidden from happens-before");
}

/// Pairs of neighbours in a variable's accesses that conflict, are not in must-order, and hold no lock in common.
/// Neighbours are enough: all accesses to one variable hold its lock, or none does.
fn unprotected_conflicts(trace: &Trace, relations: &Relations) -> u64 {
    let mut last: Vec<Vec<EventId>> = vec![Vec::new(); trace.tables().variables.len()];
    let mut count = 0;
    for (id, event) in trace.events().filter(|(_, e)| e.op.is_access()) {
        let seen = &mut last[event.object as usize];
        for &earlier in seen.iter().rev().take(10) {
            let apart = relations.locksets().common(relations.held(earlier), relations.held(id));
            if trace.event(earlier).conflicts(&event) && !relations.ordered(trace, earlier, id) && apart.is_none() {
                count += 1;
            }
        }
        seen.push(id);
    }
    count
}

#[test]
fn planted_deadlocks_are_deadlocks() {
    for shape in shapes().into_iter().filter(|s| s.deadlocks > 0) {
        let trace = trace(&shape);
        let execution = Execution::derive(&trace).unwrap();
        let relations = execution.relations();
        let mut checker = Checker::new(&execution);
        for number in 1..=shape.deadlocks {
            let at = |line: u32| {
                let location = trace.tables().locations.find(&format!("deadlock{number}.c:{line}")).unwrap();
                let cell = location as u32;
                EventId::at(trace.columns().locations.iter().position(|&l| l == cell).unwrap())
            };
            let mut schedule: Vec<EventId> =
                (0..at(1).index()).map(EventId::at).filter(|&e| relations.is_relevant(e)).collect();
            schedule.extend([at(1), at(5)]);
            let target = Target::Deadlock(vec![at(2), at(6)]);
            let verdict = checker.check(&target, Model::Data, Witness { schedule: schedule.into() });
            assert!(verdict.is_ok(), "{shape:?}: {}", verdict.unwrap_err());
        }
    }
}

#[test]
fn shares_come_out_as_asked_for() {
    let shape = Shape { events: 400_000, readers: 0.3, branches: 0.2, signals: 0.01, ..Shape::default() };
    let trace = trace(&shape);
    let count = |f: &dyn Fn(Op) -> bool| trace.columns().ops.iter().filter(|&&op| f(op)).count() as f64;
    let accesses = count(&Op::is_access);
    let near = |what: &str, value: f64, wanted: f64| {
        assert!((value - wanted).abs() < 0.05, "{what}: {value} instead of {wanted}");
    };
    let shared = trace.events().filter(|(_, e)| e.op.is_access());
    let shared = shared.filter(|(_, e)| trace.tables().object(e.op, e.object).starts_with("shared")).count() as f64;
    near("sharing", shared / accesses, shape.sharing);
    // Reader sections only read, which adds to the reads.
    let reads = count(&|op| op == Op::Read);
    near("reads", reads / accesses, shape.reads + (1.0 - shape.reads) * shape.readers * shape.sharing);
    near("readers", count(&|op| op == Op::SharedAcquire) / count(&Op::is_acquire), shape.readers);
    near("branches", count(&|op| op == Op::Branch) / reads, shape.branches);
    let switches = trace.columns().threads.windows(2).filter(|w| w[0] != w[1]).count() as f64;
    let run = trace.len() as f64 / switches;
    assert!((15.0..35.0).contains(&run), "mean run {run}");
    let inside = trace.columns().threads.windows(2).zip(0..).filter(|(w, _)| w[0] != w[1]);
    let relations = Relations::derive(&trace).unwrap();
    let inside = inside.filter(|&(_, i)| !relations.locksets().get(relations.held(EventId::at(i))).is_empty()).count();
    assert!(inside > 500, "only {inside} of {switches} switches inside a section");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let shape = Shape { events: 50_000, seed: 7, races: 5, ..Shape::default() };
    assert_eq!(trace(&shape).fingerprint(), trace(&shape).fingerprint());
    assert_ne!(trace(&shape).fingerprint(), trace(&Shape { seed: 8, ..shape.clone() }).fingerprint());
    // The bytes are a promise: a change of this value affects every user who noted a seed.
    insta::assert_snapshot!(trace(&shape).fingerprint(), @"ca077d43d356153de6fcb5007aa87d9a");
}

#[test]
fn chunks_are_bounded() {
    let mut generator =
        Generator::new(Shape { events: 300_000, races: 1_000, hidden: 0.5, ..Shape::default() }).unwrap();
    let mut chunk = Columns::default();
    let mut events = 0;
    while generator.next_chunk(&mut chunk).unwrap() {
        assert!(chunk.len() <= mayhap_trace::CHUNK);
        events += chunk.len();
    }
    assert_eq!(events, 300_000);
    assert!(chunk.is_empty());
}

#[test]
fn impossible_shapes_are_refused() {
    let refuse = |shape: Shape| Generator::new(shape).err().expect("refused").to_string();
    let base = Shape::default();
    assert_eq!(
        refuse(Shape { events: 20, races: 4, ..base.clone() }),
        "20 events are too few: 14 fork and join the threads, 8 are planted"
    );
    assert_eq!(refuse(Shape { threads: 0, ..base.clone() }), "threads is from 1 to 65535, not 0");
    assert_eq!(refuse(Shape { threads: 1, races: 1, ..base.clone() }), "a planted race or deadlock needs two threads");
    assert_eq!(refuse(Shape { sharing: 1.5, ..base.clone() }), "sharing is a part of a whole, from 0 to 1, not 1.5");
    assert_eq!(
        refuse(Shape { sharing: f64::NAN, ..base.clone() }),
        "sharing is a part of a whole, from 0 to 1, not NaN"
    );
    assert!(Generator::new(Shape { events: 22, races: 4, ..base }).is_ok());
}
