//! All engines against the oracle, on small traces with values, indivisible steps, constants, failed attempts, condition
//! variables, semaphores and tokens: all models, all kinds of targets. None answers wrong, and those that are complete
//! answer.

mod common;

use mayhap_predict::{Auto, Choice, Exact, Ipa, PolygraphEngine, SeqCheck, Strategy, Ucg};
use mayhap_testkit::{Random, cases};
use mayhap_trace::{Relations, Trace, format::parse_std};

/// A random well-formed trace, event by event.
fn random_trace(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let events = 5 + random.below(6);
    let profile = random.below(6);
    let mut text = String::from("#! cond c\n#! sem s 1\n#! token k\n#! sem z 0\n");
    let (mut kept, mut tries) = (0, 0);
    let mut last: Option<usize> = None;
    let mut memory = [0u32; 2];
    while kept < events && tries < 200 {
        tries += 1;
        let joins = last.is_some() && random.percent(if profile == 1 { 35 } else { 8 });
        let thread = if joins { last.unwrap_or(0) } else { random.below(threads) };
        let joined = if joins { ".joined" } else { "" };
        let x = random.below(2);
        let known = random.percent(85);
        let value = |v: u32| if known { format!("={v}") } else { String::new() };
        let written = random.below(2) as u32;
        let flag = *random.pick(&["", "", "", ".const", ".indep"]);
        let flag = if flag == ".indep" && !joins { "" } else { flag };
        let name = ["x", "y"][x];
        let kind = match profile {
            2 => 3 + random.below(8),
            3 => [0, 1, 2, 11, 12, 13, 14][random.below(7)],
            4 => [0, 1, 2, 3, 4, 5, 6, 7, 15, 16][random.below(10)],
            _ => random.below(17),
        };
        let line = match kind {
            0 | 9 => format!("T{thread}|r{joined}({name}){}", value(memory[x])),
            1 | 10 => format!("T{thread}|w{joined}{flag}({name}){}", value(written)),
            2 => format!("T{thread}|br{joined}"),
            3 => format!("T{thread}|acq(l)"),
            4 => format!("T{thread}|rel(l)"),
            5 => format!("T{thread}|facq.try(l)"),
            6 => format!("T{thread}|racq(l)"),
            7 => format!("T{thread}|rrel(l)"),
            8 => format!("T{thread}|fracq.try(l)"),
            11 => format!("T{thread}|wait({})", random.pick(&["c", "s", "k", "z"])),
            12 => format!("T{thread}|notify({})", random.pick(&["c", "s", "k", "z"])),
            13 => format!("T{thread}|notifyall(c)"),
            14 => format!("T{thread}|fwait.try({})", random.pick(&["s", "k", "z"])),
            15 => format!("T{thread}|fork(T{})", random.below(threads)),
            _ => format!("T{thread}|join(T{})", random.below(threads)),
        };
        let longer = format!("{text}{line}\n");
        let Ok(trace) = parse_std(&longer) else { continue };
        if Relations::derive(&trace).is_err() {
            continue;
        }
        text = longer;
        kept += 1;
        // Only accesses and branches begin steps of several events.
        last = Some(thread).filter(|_| line.contains("|br") || line.contains("(x)") || line.contains("(y)"));
        if line.contains("|w") && !line.contains("|wait") {
            memory[x] = written;
        }
    }
    parse_std(&text).expect("it was parsed before")
}

#[test]
fn no_engine_disagrees_with_the_oracle() {
    let complete: &[common::MakeEngine] = &[
        |context| Box::new(Exact::new(context)),
        |context| Box::new(Auto::new(context)),
        |context| Box::new(PolygraphEngine::new(context)),
    ];
    let published: &[common::MakeEngine] = &[
        |context| Box::new(SeqCheck::new(context.trace, context.relations, false)),
        |context| Box::new(Ucg::new(context.trace, context.relations)),
        |context| Box::new(Ipa::new(context.trace, context.relations, Strategy::One)),
        |context| Box::new(Ipa::new(context.trace, context.relations, Strategy::Two)),
        |context| Box::new(Choice::new(context.trace, context.relations, false)),
    ];
    let first: u64 = std::env::var("MAYHAP_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = cases(1_500);
    let mut compared = 0;
    for seed in first..first + count as u64 {
        compared += common::compare_or_shrink("features", random_trace(seed), seed, complete, published);
    }
    println!("{count} traces, {compared} questions: no disagreement");
    assert!(compared > count * 10, "only {compared} targets were compared");
}
