//! The sentences about a finding: title, message, why nothing prevents it.

use mayhap_trace::Trace;
use mayhap_witness::Target;

use super::Describer;
use super::story::Told;
use crate::finding::{END, Finding, Kind, Lock, MISUSE, ObjectKind, PANIC, Side, Source};
use crate::places::{self, actor, brief, lock_name, short, spoken};
use mayhap_symbols::is_installed;

/// `1 step`, `12 steps`.
pub fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        n => format!("{} {what}s", grouped(n)),
    }
}

/// `once`, `3 times`.
pub(crate) fn times(number: u32) -> String {
    match number {
        1 => "once".to_string(),
        n => format!("{n} times"),
    }
}

/// Returns a number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// What a model preserves of reads, as the end of a sentence.
pub(crate) fn model(model: &str) -> &'static str {
    match model {
        "data" => "every read on the way sees the same write as in the recorded run",
        "value" => "every read on the way returns its recorded value",
        "branch" => "every read that affects control flow sees the same write as in the recorded run",
        "causal" => "every read that affects control flow returns its recorded value",
        "sync" => {
            "only synchronisation is preserved: reads may see other writes, and the code could then take another path"
        }
        _ => "nothing is known about what reads see",
    }
}

/// Which reads of an atomicity violation may see another write than in the recorded run, as an addition to [`model`].
pub(super) fn free_reads(finding: &Finding) -> String {
    if finding.kind != Kind::Atomicity || finding.model == "sync" {
        return String::new();
    }
    let is_free = |side: &&Side| side.op == "r" && side.role != "first access";
    let places: Vec<String> = (finding.events.iter().filter(is_free))
        .map(|side| {
            side.location.as_deref().map_or_else(|| format!("event {}", side.event), |at| short(at).to_string())
        })
        .collect();
    match places.as_slice() {
        [] => String::new(),
        [one] => format!(", except that at {one}, which may see another write"),
        all => format!(", except those at {}, which may see other writes", list(all)),
    }
}

/// A lock's name, spelled as in the story.
fn named(lock: &str) -> String {
    format!("`{}`", lock_name(lock))
}

/// Returns the role of each event of the target.
pub(super) fn roles(kind: Kind, target: &Target) -> Vec<&'static str> {
    match target {
        Target::Race(..) | Target::UnorderedRace(..) => vec!["first access", "second access"],
        Target::UseAfterFree { .. } => vec!["free", "use"],
        Target::Deadlock(requests) => vec!["blocked"; requests.len()],
        Target::Atomicity { .. } => vec!["first access", "access in between", "second access"],
        Target::Sequence { events, .. } => vec!["event of the sequence"; events.len()],
        Target::Nondeterminism { write, other, .. } => {
            let seen = if kind == Kind::Order { "first write" } else { "write that was seen" };
            let other = other.iter().map(|_| "write that can be seen");
            write.iter().map(|_| seen).chain(["read"]).chain(other).collect()
        }
    }
}

/// Who does it: the function if it is known, otherwise the thread. Functions of the language's own library are skipped in favour of the
/// innermost function of the program.
fn who(side: &Side) -> String {
    let is_own = |source: &&Source| !source.file.as_deref().is_some_and(is_installed);
    let own = || side.stack.iter().find(|frame| is_own(frame) && frame.function.is_some() && frame.line.is_some());
    let source = side.source.as_ref().filter(is_own).or_else(own).or(side.source.as_ref());
    source.and_then(actor).unwrap_or_else(|| side.thread.clone())
}

/// `worker() at queue.c:12 (thread main.1)`.
pub(crate) fn whereabouts(side: &Side) -> String {
    let place = side.location.as_deref().map_or(String::new(), |l| format!(" at {}", short(l)));
    match side.source.as_ref().and_then(actor) {
        Some(lambda) if lambda.ends_with(&place) => format!("{lambda} in thread {}", side.thread),
        Some(function) => format!("{function}{place} in thread {}", side.thread),
        None => format!("{}{place}", side.thread),
    }
}

fn does(side: &Side) -> &'static str {
    match side.op.as_str() {
        "w" if side.frees => side.object_kind.ends(),
        "w" => "writes",
        _ => side.object_kind.uses("reads"),
    }
}

/// What a side does, as printed next to its source line.
pub(crate) fn verb(side: &Side) -> String {
    let verb = bare_verb(side);
    match side.op.as_str() {
        _ if side.object.is_empty() => verb.to_string(),
        "r" | "w" => format!("{verb} `{}`", brief(&side.object)),
        _ => format!("{verb} {}", named(&side.object)),
    }
}

pub(crate) fn bare_verb(side: &Side) -> &'static str {
    match side.op.as_str() {
        _ if side.role == MISUSE => "misuses memory",
        _ if side.role == PANIC => "panics",
        _ if side.role == END => "ends the program",
        "r" => side.object_kind.uses("reads"),
        "w" if side.frees => side.object_kind.ends(),
        "w" => "writes",
        "acq" | "racq" if side.role == "blocked" => "waits for",
        "acq" | "racq" => "locks",
        "rel" | "rrel" => "unlocks",
        "fork" => "starts",
        "join" if side.role == "blocked" => "waits for the end of",
        "join" => "joins",
        "wait" if side.role == "blocked" => "waits for a notify of",
        "wait" => "is woken by",
        "notify" | "notifyall" => "notifies",
        _ => "passes",
    }
}

/// The locks that a side holds, with the places where they were taken.
pub(crate) fn locks_since(side: &Side) -> Vec<String> {
    let name = |lock: &Lock| {
        let shared = if lock.shared { " shared" } else { "" };
        let since = lock.location.as_deref().map_or(String::new(), |l| format!(" since {}", short(l)));
        format!("{}{shared}{since}", named(&lock.name))
    };
    side.locks.iter().filter(|l| !is_atomic(l)).map(name).collect()
}

fn noun(side: &Side) -> &'static str {
    match side.op.as_str() {
        "w" if side.frees => "free",
        "w" => "write",
        _ if side.object_kind.is_life() => "use",
        _ => "read",
    }
}

/// Returns the finding in one line.
pub(super) fn title(kind: Kind, target: &Target, sides: &[Side]) -> String {
    let name = kind.title();
    match (target, sides) {
        (Target::Race(..) | Target::UnorderedRace(..), [a, b]) => {
            format!("{name} on {}: {}", spoken(&a.object), race_words(a, b))
        }
        (Target::UseAfterFree { .. }, [free, access]) => use_title(name, free, access),
        (Target::Deadlock(_), _) => {
            let waits: Vec<String> =
                sides.iter().map(|s| format!("{} waits for {}", who(s), named(&s.object))).collect();
            format!("{name} of {} threads: {}", sides.len(), list(&waits))
        }
        (Target::Atomicity { .. }, [_, c, b]) if kind == Kind::DoubleFree => {
            let name = spoken(&c.object);
            format!(
                "{} by a stale {name}: {} can read it after {} frees and before it writes",
                kind.title(),
                who(c),
                who(b)
            )
        }
        (Target::Atomicity { .. }, [a, c, b]) => {
            let pair = match (noun(a) == noun(b), who(a) == who(b)) {
                (true, true) => format!("two {}s by {}", noun(a), who(a)),
                (false, true) => format!("the {} and the {} by {}", noun(a), noun(b), who(a)),
                (_, false) => format!("the {} by {} and the {} by {}", noun(a), who(a), noun(b), who(b)),
            };
            let another = if who(c) == who(a) { "another " } else { "" };
            format!("{name} on {}: {another}{} can {} between {pair}", spoken(&a.object), who(c), noun(c))
        }
        (Target::Nondeterminism { other: None, .. }, [w, r]) if kind == Kind::Order => {
            format!("{name} on {}: {} can read before {} first writes", spoken(&r.object), who(r), who(w))
        }
        (Target::Nondeterminism { write, other, .. }, _) => {
            let read = &sides[usize::from(write.is_some())];
            let (first, last) = (&sides[0], &sides[sides.len() - 1]);
            let same = write.is_some() && other.is_some() && who(first) == who(last);
            let by = |side: &Side| match same && who(side) != side.thread {
                true => format!("{} in {}", who(side), side.thread),
                false => who(side),
            };
            let seen = write.map_or("the initial value".to_string(), |_| format!("what {} wrote", by(first)));
            let sees = other.map_or("the initial value".to_string(), |_| format!("what {} writes", by(last)));
            let of = if kind == Kind::Nondeterminism { "of" } else { "on" };
            format!("{name} {of} {}: {} can see {sees} instead of {seen}", spoken(&read.object), who(read))
        }
        _ => {
            let steps: Vec<String> =
                sides.iter().take(3).map(|s| format!("{} {} {}", who(s), bare_verb(s), spoken(&s.object))).collect();
            let more = if sides.len() > 3 { format!(", then {} more", sides.len() - 3) } else { String::new() };
            format!("Possible order: {}{more}", steps.join(", then "))
        }
    }
}

/// Returns the title of a use of something after its end.
fn use_title(name: &str, free: &Side, access: &Side) -> String {
    let (frees, uses) = (who(free), who(access));
    if free.object_kind == ObjectKind::Local {
        let of = spoken(&free.object);
        return format!("Use after return of {of}: {uses} can {} after its function returns", noun(access));
    }
    if free.object_kind == ObjectKind::BlockLocal {
        let (of, use_of) = (spoken(&free.object), noun(access));
        return format!("Use after scope of {of}: {uses} can {use_of} after {frees} leaves its block");
    }
    if free.object_kind.is_life() {
        let (ends, of) = (free.object_kind.ends(), spoken(&free.object));
        let name = match free.object_kind {
            ObjectKind::Descriptor => "Use after close",
            ObjectKind::Library => "Use after unload",
            _ => name,
        };
        let (by, elsewhere) = if frees == uses { ("it", " in another thread") } else { (&*frees, "") };
        return format!("{name} of {of}: {uses} can use it after {by} {ends} it{elsewhere}");
    }
    let after = if let Some(thread) = places::thread_of_stack(&free.object) {
        format!("{thread} ends")
    } else if frees == uses {
        "it frees in another thread".into()
    } else {
        format!("{frees} frees")
    };
    format!("{name} of {}: {uses} can {} after {after}", spoken(&free.object), noun(access))
}

fn race_words(a: &Side, b: &Side) -> String {
    match (who(a) == who(b), does(a) == does(b)) {
        (true, true) => format!("{} {} in two threads at once", who(a), does(a)),
        (true, false) => format!("{} {} while it {} in another thread", who(a), does(a), does(b)),
        (false, _) => format!("{} {} while {} {}", who(a), does(a), who(b), does(b)),
    }
}

/// What can happen, in a sentence.
pub(super) fn message(kind: Kind, target: &Target, sides: &[Side]) -> String {
    match (target, sides) {
        (Target::UnorderedRace(..), [a, b]) => {
            format!("Nothing orders the {} by {} and the {} by {}.", noun(a), whereabouts(a), noun(b), whereabouts(b))
        }
        (Target::Race(..), [a, b]) => format!(
            "The {} by {} and the {} by {} can happen at the same time.",
            noun(a),
            whereabouts(a),
            noun(b),
            whereabouts(b)
        ),
        (Target::UseAfterFree { .. }, [free, access]) => {
            let ended = match free.object_kind {
                ObjectKind::Stack => "ended".to_string(),
                ObjectKind::Local => "returned from the function that it belongs to".to_string(),
                ObjectKind::BlockLocal => "left the block that it belongs to".to_string(),
                ObjectKind::Memory => "freed the memory".to_string(),
                kind => format!("{} it", kind.ended()),
            };
            format!("The {} by {} can come after {} has {ended}.", noun(access), whereabouts(access), whereabouts(free))
        }
        (Target::Deadlock(_), _) => {
            let waits: Vec<String> =
                sides.iter().map(|s| format!("{} for {}", whereabouts(s), named(&s.object))).collect();
            format!("These threads can wait for each other forever: {}.", list(&waits))
        }
        (Target::Atomicity { .. }, [a, c, b]) if kind == Kind::DoubleFree => format!(
            "{} reads it, frees memory and only then writes it{}; the read by {} can come in between and acts on the old value.",
            whereabouts(a),
            b.location.as_deref().map_or(String::new(), |l| format!(" at {}", short(l))),
            whereabouts(c)
        ),
        (Target::Atomicity { .. }, [a, c, b]) => format!(
            "The {} by {} can come between the {} by {} and the {}{}, which appear intended to be atomic.",
            noun(c),
            whereabouts(c),
            noun(a),
            whereabouts(a),
            noun(b),
            b.location.as_deref().map_or(String::new(), |l| format!(" at {}", short(l)))
        ),
        (Target::Nondeterminism { other: None, .. }, [w, r]) if kind == Kind::Order => format!(
            "The read by {} can come before the first write, by {}: it then sees memory that no thread has written.",
            whereabouts(r),
            whereabouts(w)
        ),
        (Target::Nondeterminism { write, other, .. }, _) => {
            let read = &sides[usize::from(write.is_some())];
            let of = |side: &Side| side.value.as_ref().map_or(String::new(), |value| format!(" of {value}"));
            let the_write = |side: &Side| format!("the write{} by {}", of(side), whereabouts(side));
            let saw = write.map_or("the initial value".to_string(), |_| the_write(&sides[0]));
            let sees = match other {
                Some(_) => the_write(&sides[sides.len() - 1]),
                None => "the initial value".to_string(),
            };
            format!("The read by {} saw {saw}; in another order it sees {sees}.", whereabouts(read))
        }
        _ => {
            let steps: Vec<String> = sides.iter().map(|s| format!("event {} ({})", s.event, whereabouts(s))).collect();
            format!("These can run in this order: {}.", list(&steps))
        }
    }
}

/// Whether the lock is the artificial one that encloses an atomic access. The program does not have it.
fn is_atomic(lock: &Lock) -> bool {
    lock.name.starts_with("atomic ")
}

/// The names of the locks that a side holds.
pub(crate) fn locks_held(side: &Side) -> Vec<String> {
    let name = |lock: &Lock| format!("{}{}", named(&lock.name), if lock.shared { " (shared)" } else { "" });
    side.locks.iter().filter(|l| !is_atomic(l)).map(name).collect()
}

fn holds(side: &Side) -> String {
    let who = match side.source.as_ref().and_then(actor) {
        Some(function) => format!("{function} in {}", side.thread),
        None => side.thread.clone(),
    };
    match locks_held(side) {
        _ if side.locks.iter().any(is_atomic) => format!("{who} is an atomic access"),
        locks if locks.is_empty() => format!("{who} holds no lock"),
        locks => format!("{who} holds {}", list(&locks)),
    }
}

/// Why nothing prevents it, in a sentence or two.
pub(super) fn why(describer: &Describer<'_>, target: &Target, sides: &[Side], told: Option<&Told>) -> String {
    let reason = match (target, sides) {
        (Target::Race(..) | Target::UnorderedRace(..), [a, b]) => why_race(a, b),
        (Target::UseAfterFree { .. }, [a, b]) => match a.locks.iter().any(|l| b.locks.iter().any(|m| m.name == l.name))
        {
            true => "No lock prevents it: both hold the same lock, which does not decide which one runs first.".into(),
            false => why_race(a, b),
        },
        (Target::Deadlock(_), _) => why_deadlock(sides),
        (Target::Atomicity { .. }, [a, c, b]) => why_atomicity(a, c, b),
        (Target::Nondeterminism { .. }, _) => {
            "No lock prevents it: a lock keeps critical sections apart, but does not decide which one runs first."
                .to_string()
        }
        _ => String::new(),
    };
    match told.and_then(|told| swapped(describer.trace, told)) {
        Some(sentence) => format!("{reason} {sentence}").trim_start().to_string(),
        _ => reason,
    }
}

fn why_race(a: &Side, b: &Side) -> String {
    let common: Vec<&Lock> = a.locks.iter().filter(|l| b.locks.iter().any(|m| m.name == l.name)).collect();
    let (none_a, none_b) = (locks_held(a).is_empty(), locks_held(b).is_empty());
    match (a.locks.is_empty(), b.locks.is_empty()) {
        (true, true) => "No lock prevents it: neither thread holds one there.".to_string(),
        _ if !common.is_empty() => {
            let names: Vec<String> = common.iter().map(|l| named(&l.name)).collect();
            format!("No lock prevents it: both hold {}, but only for reading.", list(&names))
        }
        _ if !none_a && !none_b => {
            format!("No lock prevents it: {} and {}; they have none in common.", holds(a), holds(b))
        }
        _ => {
            let (holder, other) = if none_a { (b, a) } else { (a, b) };
            format!("No lock prevents it: {}, but {}.", holds(holder), holds(other))
        }
    }
}

fn why_deadlock(sides: &[Side]) -> String {
    let wanted: Vec<&str> = sides.iter().map(|s| s.object.as_str()).collect();
    let held = |side: &Side| {
        let locks = side.locks.iter().filter(|l| wanted.contains(&l.name.as_str()));
        let names: Vec<String> = locks
            .map(|l| match &l.location {
                Some(place) => format!("{} since {}", named(&l.name), short(place)),
                None => named(&l.name),
            })
            .collect();
        format!("{} holds {}", who(side), list(&names))
    };
    let parts: Vec<String> = sides.iter().map(held).collect();
    format!("No common outer lock prevents it: {}.", list(&parts))
}

fn why_atomicity(a: &Side, c: &Side, b: &Side) -> String {
    // A lock covers both accesses if both hold it by the same acquire.
    let throughout: Vec<&Lock> = a.locks.iter().filter(|l| b.locks.contains(l)).collect();
    let interrupted: Vec<String> = (a.locks.iter())
        .filter(|l| !is_atomic(l) && b.locks.iter().any(|m| m.name == l.name && m.event != l.event))
        .map(|l| named(&l.name))
        .collect();
    let names: Vec<String> = throughout.iter().map(|l| named(&l.name)).collect();
    // Where the two accesses are in different functions, name the thread.
    let whose = if who(a) == who(b) { who(a) } else { a.thread.clone() };
    if !names.is_empty() {
        return format!("No lock prevents it: {whose} holds {} throughout, but {}.", list(&names), holds(c));
    }
    if !interrupted.is_empty() {
        let locks = list(&interrupted);
        return format!("No lock prevents it: {whose} releases {locks} between its two accesses.");
    }
    format!("No lock prevents it: {whose} holds no lock across both accesses.")
}

/// Why the recorded run did not show the bug, if only the order of two critical sections prevented it.
fn swapped(trace: &Trace, told: &Told) -> Option<String> {
    let &(earlier, later) = told.swapped.first()?;
    let (first, second) = (trace.event(earlier), trace.event(later));
    let tables = trace.tables();
    let lock = named(tables.object(first.op, first.object));
    if tables.object(first.op, first.object).starts_with("atomic ") {
        return Some(format!(
            "In the recorded run {} happened to come first at {}; nothing enforces that.",
            tables.thread(first.thread),
            lock.replacen("atomic ", "", 1)
        ));
    }
    let (first, second) = (tables.thread(first.thread), tables.thread(second.thread));
    Some(format!("The recorded run avoided it because {first} took {lock} before {second} did; nothing enforces that."))
}
