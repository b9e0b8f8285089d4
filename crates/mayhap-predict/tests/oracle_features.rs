//! All engines against the oracle, on small traces with values, indivisible steps, constants, failed attempts, condition
//! variables, semaphores and tokens: all models, all kinds of targets. None answers wrong, and those that are complete
//! answer.

mod common;

use mayhap_predict::{Auto, Choice, Exact, Ipa, PolygraphEngine, SeqCheck, Strategy, Ucg};
use mayhap_testkit::{Random, cases, golden};
use mayhap_trace::{Relations, Trace, format::parse_std};

/// A random trace of threads that take turns by a word of memory: taken by compare-exchange or exchange, freed by the holder, by
/// a store or an update, and now and then by another thread, so that the word is no lock. Some words have a second bit, which
/// threads change while the word is taken or free.
fn trace_with_lock_words(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let breaks = random.percent(20);
    let has_bit = random.percent(50);
    let (mut holder, mut word, mut x) = (None, 0, 0);
    let mut text = String::new();
    let events = 10 + random.below(8);
    while text.lines().count() < events {
        let t = random.below(threads);
        let event = |text: &mut String, event: &str| text.push_str(&format!("T{t}|{event}\n"));
        // An update of the word: what it writes, as which sort of write, and whether it compares.
        let update = |text: &mut String, word: &mut i32, written: i32, how: &str, compares: bool| {
            event(text, &format!("r.acq(l)={word}"));
            if compares {
                event(text, "br.joined");
            }
            event(text, &format!("w.ar.joined{how}(l)={written}"));
            *word = written;
        };
        match random.below(9) {
            0 | 1 if word & 1 == 0 => {
                let compares = random.percent(60);
                let (taken, how) = if has_bit { (word | 1, "") } else { (1, ".const.indep") };
                update(&mut text, &mut word, taken, how, compares);
                if !compares {
                    event(&mut text, "br");
                }
                holder = Some(t);
            }
            0 => {
                event(&mut text, &format!("r.acq(l)={word}"));
                event(&mut text, "br.joined");
            }
            1 if !has_bit => {
                update(&mut text, &mut word, 1, ".const.indep", false);
                event(&mut text, "br");
            }
            2 | 3 if holder == Some(t) || (breaks && random.percent(30)) => {
                holder = None;
                let free = if has_bit { word & 2 } else { 0 };
                if random.percent(50) {
                    update(&mut text, &mut word, free, if random.percent(50) { "" } else { ".const.indep" }, false);
                } else {
                    word = free;
                    event(&mut text, &format!("w.rel.const(l)={word}"));
                }
            }
            7 if has_bit => {
                let other = word ^ 2;
                let how = if breaks { ".indep" } else { "" };
                update(&mut text, &mut word, other, how, random.percent(30));
            }
            4 => {
                x = random.below(2);
                event(&mut text, &format!("w.const(x)={x}"));
            }
            5 => event(&mut text, &format!("r(x)={x}")),
            6 => event(&mut text, "br"),
            _ => {}
        }
    }
    parse_std(&text).expect("lines of the STD format")
}

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
        |context| Box::new(Auto::new(context).searching_states_after(1)),
        |context| Box::new(PolygraphEngine::new(context)),
    ];
    let published: &[common::MakeEngine] = &[
        |context| Box::new(SeqCheck::new(context.execution, false)),
        |context| Box::new(Ucg::new(context.execution)),
        |context| Box::new(Ipa::new(context.execution, Strategy::One)),
        |context| Box::new(Ipa::new(context.execution, Strategy::Two)),
        |context| Box::new(Choice::new(context.execution, false)),
    ];
    let first: u64 = std::env::var("MAYHAP_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = cases(1_500);
    let mut compared = 0;
    for (name, trace) in golden::regressions() {
        compared += common::compare_or_shrink(&name, trace, 7, complete, published);
    }
    for seed in first..first + count as u64 {
        let trace = if seed % 4 == 3 { trace_with_lock_words(seed) } else { random_trace(seed) };
        compared += common::compare_or_shrink("features", trace, seed, complete, published);
    }
    println!("{count} traces, {compared} questions: no disagreement");
    assert!(compared > count * 10, "only {compared} targets were compared");
}
