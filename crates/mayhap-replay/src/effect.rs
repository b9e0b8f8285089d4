//! What came of a program after the bad state was reached, beyond what the recorded run showed.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::outcome::{Effect, Outcome};
use mayhap_trace::attachments::Run;

/// What the recorded run came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recorded {
    /// How it was started and ended.
    pub run: Run,
    /// What it printed, if that is known.
    pub output: Option<Printed>,
    /// It did not end by itself.
    pub late: bool,
}

/// What a program printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Printed {
    /// On standard output.
    pub out: Vec<u8>,
    /// On standard error.
    pub err: Vec<u8>,
    /// The number of its process.
    pub process: u32,
}

/// Why the program was ended from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Deadlock,
    Hang,
    Timeout,
    Interrupted,
}

/// What came of the program, beyond what the recorded run showed.
pub(crate) fn effect(
    outcome: &Outcome,
    ended: Option<Ended>,
    status: ExitStatus,
    printed: Option<&Printed>,
    recorded: Option<&Recorded>,
) -> Effect {
    match ended {
        Some(Ended::Deadlock) => return Effect::Deadlock,
        Some(Ended::Interrupted) => return Effect::Unknown,
        // As the recorded run did.
        Some(Ended::Hang | Ended::Timeout) if recorded.is_some_and(|recorded| recorded.late) => return Effect::None,
        Some(Ended::Hang) => return Effect::Hang,
        Some(Ended::Timeout) => return if *outcome == Outcome::Confirmed { Effect::Hang } else { Effect::Unknown },
        None => {}
    }
    let before = recorded.map(|recorded| &recorded.run);
    if let Some(signal) = status.signal() {
        if before.is_some_and(|run| run.signal == Some(signal)) {
            return Effect::None;
        }
        let message = printed.and_then(|printed| last_words(&printed.err));
        return Effect::Crash { signal, message };
    }
    if let (Some(code), Some(before)) = (status.code(), before.and_then(|run| run.code))
        && code != before
    {
        return Effect::Exit { code, recorded: before };
    }
    let texts = printed.zip(recorded.and_then(|recorded| recorded.output.as_ref()));
    let other = texts.and_then(|(now, before)| {
        let new = |a: &[u8], b: &[u8]| new_line((a, now.process), (b, before.process));
        new(&now.out, &before.out).or_else(|| new(&now.err, &before.err))
    });
    other.map_or(Effect::None, |line| Effect::Output { line })
}

/// What a program said last on standard error: its last line that says something. What the runtimes of C++, Rust and Java say of uncaught
/// exceptions and panics in several lines is one sentence.
pub fn last_words(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let said = |line: &&str| {
        // The calls of an exception in Java.
        let is_call = line.starts_with("at ") || line.starts_with("... ");
        !line.is_empty() && !line.starts_with(ADVICE) && !is_call
    };
    let mut last: Vec<&str> = text.lines().rev().map(str::trim).filter(said).take(PANIC).collect();
    last.reverse();
    if let Some(panicked) = last.iter().rposition(|line| is_panic(line)) {
        return panic(&last[panicked..]);
    }
    Some(match last[..] {
        [.., exception, what]
            if let (Some(exception), Some(what)) = (thrown(exception), what.strip_prefix("what():")) =>
        {
            format!("{UNCAUGHT}{exception}: {}", what.trim())
        }
        [.., line] => thrown(line).map_or_else(|| line.to_string(), |exception| format!("{UNCAUGHT}{exception}")),
        [] => return None,
    })
}

/// How many lines a panic has: its place, and what was compared.
const PANIC: usize = 4;
/// How the line begins that follows a panic of Rust.
const ADVICE: &str = "note: run with `RUST_BACKTRACE";

fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

/// The first panic of Rust among some lines, as a sentence.
fn panic(lines: &[impl AsRef<str>]) -> Option<String> {
    let mut lines = lines.iter().map(|line| line.as_ref().trim()).skip_while(|line| !is_panic(line));
    let first = lines.next()?;
    let is_more = |line: &&str| !line.is_empty() && !line.starts_with(ADVICE) && *line != "stack backtrace:";
    let more = lines.take_while(is_more).take(PANIC - 1);
    let first = without_number(first);
    Some(std::iter::once(first.as_str()).chain(more).collect::<Vec<_>>().join(" "))
}

/// The first line of a panic without the kernel's number of the thread, which is another one in each run: `thread 'main' (4711) panicked at …`.
fn without_number(line: &str) -> String {
    let split = line.split_once("' (").and_then(|(thread, rest)| Some((thread, rest.split_once(") panicked at ")?)));
    match split {
        Some((thread, (number, rest))) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{thread}' panicked at {rest}")
        }
        _ => line.to_string(),
    }
}

/// What a run that failed said last: a panic, which a test's harness prints on standard output, or else what it said on standard error.
pub fn words_at_the_end(printed: &Printed) -> Option<String> {
    let panicked = |text: &[u8]| panic(&String::from_utf8_lossy(text).lines().collect::<Vec<_>>());
    panicked(&printed.err).or_else(|| panicked(&printed.out)).or_else(|| last_words(&printed.err))
}

/// File, line and column of the panic that words quote.
pub fn place_of_panic(words: &str) -> Option<(&str, u32, u32)> {
    let (_, rest) = words.split_once(" panicked at ")?;
    let place = rest.split(": ").next()?.trim_end_matches(':');
    let (place, column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

/// How the words of an uncaught exception of C++ begin.
pub const UNCAUGHT: &str = "uncaught exception ";

/// The type of an exception of C++ that no function caught, if the line says so.
fn thrown(line: &str) -> Option<&str> {
    line.strip_prefix("terminate called after throwing an instance of '")?.strip_suffix('\'')
}

/// What best says why a run failed: a panic, or a line. Among the lines that an earlier run did not print, the first that speaks of a failure, on standard
/// error or else on standard output; without one, the last on standard error.
pub fn telling_line(now: &Printed, before: Option<&Printed>) -> Option<String> {
    let nothing = Printed::default();
    let before = before.unwrap_or(&nothing);
    let new = |a: &[u8], b: &[u8]| -> Vec<String> {
        let (lines, _) = new_lines((a, now.process), (b, before.process));
        lines.into_iter().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
    };
    let (err, out) = (new(&now.err, &before.err), new(&now.out, &before.out));
    if let Some(panicked) = panic(&err).or_else(|| panic(&out)) {
        return Some(panicked);
    }
    let of_failure = err.iter().chain(&out).find(|line| speaks_of_failure(line));
    of_failure.or(err.last()).cloned()
}

/// Test frameworks, assertions and panics use one of these words.
fn speaks_of_failure(line: &str) -> bool {
    let line = line.to_lowercase();
    ["fail", "assert", "panic", "error", "abort", "mismatch", "expected"].iter().any(|word| line.contains(word))
}

/// The first line that was not among those before, or one that is missing.
fn new_line(now: (&[u8], u32), before: (&[u8], u32)) -> Option<String> {
    let (new, missing) = new_lines(now, before);
    new.into_iter().next().or_else(|| missing.map(|line| format!("{line} (missing)")))
}

/// The lines that were not among those before, and the first of those that is missing now; lines may come in any order. Each text is of a
/// process.
fn new_lines((now, process): (&[u8], u32), (before, process_before): (&[u8], u32)) -> (Vec<String>, Option<String>) {
    let before = String::from_utf8_lossy(before).into_owned();
    let mut left: Vec<(&str, String)> = before.lines().map(|line| (line, normalised(line, process_before))).collect();
    let mut new = Vec::new();
    for line in String::from_utf8_lossy(now).lines() {
        let same = normalised(line, process);
        match left.iter().position(|(_, other)| *other == same) {
            Some(at) => drop(left.swap_remove(at)),
            None => new.push(line.to_string()),
        }
    }
    (new, left.first().map(|(line, _)| line.to_string()))
}

/// A line without what differs from run to run by itself: addresses, times, dates, durations, and the numbers of the process and
/// its threads.
pub fn normalised(line: &str, process: u32) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let inside_word = text.chars().last().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let length = if first.is_ascii_digit() && !inside_word { varying(rest, process) } else { 0 };
        let taken = if length == 0 { first.len_utf8() } else { length };
        text.push_str(if length == 0 { &rest[..taken] } else { "#" });
        // A number that stays is copied as a whole: its digits are no numbers of their own.
        rest = &rest[taken..];
        if length == 0 && first.is_ascii_digit() {
            let digits = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            text.push_str(&rest[..digits]);
            rest = &rest[digits..];
        }
    }
    text
}

/// How long the number at the beginning of a text is, if it may differ from run to run by itself; 0 if it may not.
fn varying(text: &str, process: u32) -> usize {
    if let Some(digits) = text.strip_prefix("0x") {
        let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        // Shorter ones may be flags and sizes.
        return if length >= 6 { length + 2 } else { 0 };
    }
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let first = digits(text);
    // A time or a date: groups of digits between the same signs.
    for sign in [':', '-', '/'] {
        let (mut at, mut groups) = (first, 1);
        while text[at..].starts_with(sign) && (1..=4).contains(&digits(&text[at + 1..])) {
            at += 1 + digits(&text[at + 1..]);
            groups += 1;
        }
        if groups == 3 && first <= 4 {
            let fraction = text[at..].strip_prefix(['.', ',']).map_or(0, digits);
            return if fraction > 0 { at + 1 + fraction } else { at };
        }
    }
    let fraction = text[first..].strip_prefix('.').map_or(0, digits);
    let end = if fraction > 0 { first + 1 + fraction } else { first };
    let unit = text[end..].trim_start_matches(' ');
    let unit_end = unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len());
    if UNITS.contains(&&unit[..unit_end]) {
        return end;
    }
    match text[..first].parse::<u64>() {
        Ok(number) if fraction == 0 && is_of_this_run(number, process) => first,
        _ => 0,
    }
}

/// Units of time.
const UNITS: [&str; 14] = [
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "min",
    "minutes",
];

/// Whether a number names the process, one of its threads, a place in its memory, or a moment of the last days.
fn is_of_this_run(number: u64, process: u32) -> bool {
    const THREADS: u64 = 32;
    const DAY: u64 = 86_400;
    let process = u64::from(process);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let is_recent = |unit: u64| (now.saturating_sub(DAY)..=now + DAY).contains(&(number / unit));
    process > 1 && (process..process + THREADS).contains(&number)
        || (0x5500_0000_0000..0x5700_0000_0000).contains(&number)
        || (0x7e00_0000_0000..0x8000_0000_0000).contains(&number)
        || [1, 1_000, 1_000_000, 1_000_000_000].into_iter().any(is_recent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_by_itself_is_no_effect() {
        let same = |a: &str, b: &str| normalised(a, 4711) == normalised(b, 815);
        assert!(same("pid 4711 began", "pid 815 began"));
        assert!(same("at 0x7ffd12345678", "at 0x7ffe00aa5678"));
        assert!(same("2026-11-16 13:45:01.123 done", "2026-11-17 03:05:59.9 done"));
        assert!(same("took 3.25 ms", "took 12 ms"));
        assert!(same("[13:45:01] ready", "[23:59:59] ready"));
        assert!(same("thread 140737352 4711", "thread 140737352 816"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(same(&format!("now {now}"), &format!("now {}", now + 1_000_000)));
    }

    #[test]
    fn other_numbers_are() {
        let same = |a: &str, b: &str| normalised(a, 4711) == normalised(b, 815);
        for (a, b) in [
            ("total 200", "total 199"),
            ("0x10 set", "0x11 set"),
            ("value 3.5", "value 3.6"),
            ("1234567890123", "1234567890124"),
            ("a4711", "a815"),
            ("x-1", "x-2"),
            ("ratio 1:2", "ratio 1:3"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
        assert!(new_line((b"a\nb 4711\n", 4711), (b"b 815\na\n", 815)).is_none());
        assert_eq!(new_line((b"b\n", 1), (b"a\nb\n", 1)).as_deref(), Some("a (missing)"));
    }

    #[test]
    fn what_runtimes_say_in_two_lines_is_one_sentence() {
        let words = |text: &str| last_words(text.as_bytes()).unwrap();
        let thrown = "ready\nterminate called after throwing an instance of 'std::runtime_error'\n";
        assert_eq!(words(thrown), "uncaught exception std::runtime_error");
        assert_eq!(words(&format!("{thrown}  what():  no entry\n")), "uncaught exception std::runtime_error: no entry");
        let panicked = "thread 'main' panicked at src/main.rs:3:5:\nempty\nnote: run with `RUST_BACKTRACE=1` environment variable\n";
        assert_eq!(words(panicked), "thread 'main' panicked at src/main.rs:3:5: empty");
        let compared = "thread 't' panicked at a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n";
        let sentence = "thread 't' panicked at a.rs:3:5: assertion `left == right` failed left: 1 right: 2";
        assert_eq!(words(compared), sentence);
        let java = "Exception in thread \"main\" java.lang.IllegalStateException: no entry\n\tat A.b(A.java:3)\n\t... 2 more\n";
        assert_eq!(words(java), "Exception in thread \"main\" java.lang.IllegalStateException: no entry");
        assert_eq!(words("first\nlast\n\n"), "last");
        assert_eq!(last_words(b"\n"), None);
    }

    #[test]
    fn the_telling_line_is_new_and_speaks_of_a_failure() {
        let printed = |out: &str, err: &str| Printed { out: out.into(), err: err.into(), process: 1 };
        let before = printed("queue/steal: OK\n1 tests ok.\n", "[warn] callbacks set twice\n");
        let now = printed(
            "queue/steal: \n  FAIL steal.c:56: assert(left == 0): 1 vs 0\n  [steal FAILED]\n",
            "[warn] callbacks set twice\n",
        );
        let line = telling_line(&now, Some(&before));
        assert_eq!(line.as_deref(), Some("FAIL steal.c:56: assert(left == 0): 1 vs 0"));
        // Standard error comes first; without a word of failure its last line counts, and what every run prints never does.
        let now = printed("assertion failed\n", "lost 1\nthread panicked at queue.rs:3\n");
        assert_eq!(telling_line(&now, Some(&before)).as_deref(), Some("thread panicked at queue.rs:3"));
        let now = printed("left 1\n", "[warn] callbacks set twice\nlost 1\nlost 2\n");
        assert_eq!(telling_line(&now, Some(&before)).as_deref(), Some("lost 2"));
        assert_eq!(telling_line(&before, Some(&before)), None);
        let now = printed(
            "test t::a ... FAILED\n\n---- t::a stdout ----\nthread 't::a' (71) panicked at src/a.rs:3:5:\ntoo many\nnote: run with `RUST_BACKTRACE=1`\n",
            "",
        );
        let line = telling_line(&now, Some(&before)).unwrap();
        assert_eq!(line, "thread 't::a' panicked at src/a.rs:3:5: too many");
        assert_eq!(place_of_panic(&line), Some(("src/a.rs", 3, 5)));
        assert_eq!(words_at_the_end(&now), Some(line));
        assert_eq!(place_of_panic("it panicked at noon"), None);
    }
}
