//! Everything that `Relations` derives in one pass, against the plainest derivation, over generated traces.

use mayhap_testkit::{Facts, Generator, Profile, cases, golden, shrink, trace};
use mayhap_trace::validate::repair;
use mayhap_trace::{EventId, Mode, Op, Relations, ThreadId, Trace};

fn compare(trace: &Trace) -> Result<(), String> {
    let relations = Relations::derive(trace).map_err(|e| e.to_string())?;
    let facts = Facts::of(trace);
    let must = facts.must_order();
    let cell = |e: Option<usize>| e.map(EventId::at);
    let same = |what: &str, at: String, equal: bool| if equal { Ok(()) } else { Err(format!("{what} of {at}")) };
    for (t, events) in facts.threads.iter().enumerate() {
        let thread = ThreadId::at(t);
        let listed: Vec<usize> = relations.thread_events(thread).iter().map(|e| e.index()).collect();
        same("events", format!("thread {t}"), listed == *events)?;
        same("fork", format!("thread {t}"), relations.fork_of(thread) == cell(facts.fork[t]))?;
        same("join", format!("thread {t}"), relations.join_of(thread) == cell(facts.join[t]))?;
    }
    for (id, event) in trace.events() {
        let at = || format!("event {id}");
        let i = id.index();
        same("relevance", at(), relations.is_relevant(id) == facts.rank[i].is_some())?;
        let held = relations.locksets().get(relations.held(id));
        let held: Vec<(usize, bool)> = held.iter().map(|&(l, mode)| (l.index(), mode == Mode::Shared)).collect();
        same("locks held", at(), held == facts.held[i])?;
        let Some(rank) = facts.rank[i] else { continue };
        same("rank", at(), relations.rank(id) == rank)?;
        let (found, partner) = match event.op {
            Op::Read => (relations.read_from(id), facts.saw[i]),
            Op::Wait => (relations.notify_of(id), facts.notify[i]),
            Op::Fork => (relations.first_of(id), facts.threads[event.object as usize].first().copied()),
            Op::Join => (relations.last_of(id), facts.threads[event.object as usize].last().copied()),
            Op::Acquire | Op::SharedAcquire => (relations.matching_release(id), facts.section[i]),
            Op::Release | Op::SharedRelease => (relations.acquire_of(id), facts.section[i]),
            _ => (None, None),
        };
        same("partner", at(), found == cell(partner))?;
        for (t, events) in facts.threads.iter().enumerate() {
            let before = events.iter().filter(|&&e| must[e][i]).count();
            same("events before", at(), relations.before(trace, id, ThreadId::at(t)) == before)?;
            for &other in events {
                let pair = format!("{} and {id}", EventId::at(other));
                same("order", pair, relations.ordered(trace, EventId::at(other), id) == must[other][i])?;
            }
        }
    }
    Ok(())
}

#[test]
fn generated_traces() {
    let profiles = Profile::every();
    let share = cases(3000).div_ceil(profiles.len());
    for (name, profile) in profiles {
        let large = Profile { threads: 2 * profile.threads, events: 4 * profile.events, ..profile.clone() };
        for (size, profile) in [("small", profile), ("large", large)] {
            for (seed, trace) in Generator::new(profile, 5_000_000).take(share / 2) {
                if let Err(why) = compare(&trace) {
                    let why = format!("relations, {name} {size} {seed}: {why}");
                    panic!(
                        "{}",
                        shrink::keep(&format!("relations_{name}_{seed}"), &why, &trace, |t| compare(t).is_err())
                    );
                }
            }
        }
    }
}

#[test]
fn corpus() {
    let golden = golden::cases().into_iter().map(|case| (case.name, case.trace));
    let deadlock = golden::deadlock_traces().into_iter().map(|name| (name.clone(), golden::real(&name)));
    let real = ["account", "mergesort", "twostage"].map(|name| (name.to_string(), golden::real(name)));
    let mut compared = 0;
    for (name, trace) in golden.chain(golden::regressions()).chain(real).chain(deadlock) {
        if trace.len() <= 400 {
            compare(&trace).unwrap_or_else(|e| panic!("{name}: {e}"));
            compared += 1;
        }
    }
    assert!(compared > 35, "{compared}");
}

/// Many threads: clocks with more than one level.
#[test]
fn forks_of_many_threads() {
    let mut text = String::new();
    for i in 1..300 {
        text += &format!("T{} fork T{i}; T{i} w x;", i / 2);
    }
    for i in (1..300).rev() {
        text += &format!("T{} r x; T{} join T{i};", i / 2, i / 2);
    }
    compare(&trace(&text)).unwrap();
}

/// Traces of both sorts, by turns.
fn damageable() -> impl Iterator<Item = (u64, Trace)> {
    let published = Generator::new(Profile::everything(), 0);
    published.zip(Generator::new(Profile::programs(), 1_000_000)).flat_map(|(a, b)| [a, b])
}

/// Traces with any events left out can be repaired, and then are well-formed.
#[test]
fn damaged_traces_are_repaired() {
    let mut dropped = 0;
    for (seed, trace) in damageable().take(cases(3000) / 3) {
        let mut random = mayhap_testkit::Random::new(seed);
        let cut = 1 + random.below(trace.len());
        let damaged = mayhap_testkit::subtrace(&trace, |e| e.index() % cut != cut / 2);
        let (repaired, report) = repair(damaged.clone());
        assert_eq!(repaired.len() as u64 + report.total(), damaged.len() as u64);
        compare(&repaired).unwrap_or_else(|e| panic!("{seed}: {e}"));
        dropped += report.total();
    }
    assert!(dropped > 100, "{dropped}");
}
