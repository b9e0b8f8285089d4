//! Parses the names in a trace (locations, functions, objects) and puts them in plain words.
//!
//! A recorded location reads `function file.c:12`, a recorded variable `symbol+8`, `main.1/heap3@file.c:12+8` or
//! `main.1/stack-504` (`docs/record.md`). Traces from other tools may contain anything: a number, a class name. A name that is
//! not recognised is left unchanged.

pub use mayhap_symbols::{function_name, whole_name};
use mayhap_symbols::{is_lambda, outside_closures};

use crate::finding::Source;

/// Splits a location into its parts, if it has the form of a recorded one.
pub fn source(location: &str) -> Option<Source> {
    let (before, line) = ends_in_number(location)?;
    let (before, line, column) = match ends_in_number(before) {
        Some((before, first)) => (before, first, Some(line)),
        None => (before, line, None),
    };
    if before.is_empty() || line == 0 {
        return None;
    }
    let (function, file) = match end_of_function(before) {
        Some(at) => (Some(before[..at].to_string()), &before[at + 1..]),
        None => (None, before),
    };
    Some(Source { function, file: Some(file.to_string()), line: Some(line), column, inlined: false })
}

/// Where the function of `function file` ends. Both may contain spaces: the function only between brackets, after its result type
/// or in its qualifiers; the file anywhere.
fn end_of_function(text: &str) -> Option<usize> {
    // An absolute path starts at a slash.
    if let Some(at) = text.find(" /") {
        return Some(at);
    }
    let last = text.rfind(' ')?;
    // Operators have brackets that close nothing, and types for names.
    if text.match_indices("operator").any(|(at, word)| !text[at + word.len()..].starts_with("()")) {
        return Some(last);
    }
    let (mut depth, mut before) = (0usize, ' ');
    // The spaces outside of brackets: the first one, the first after a bracket, the first after a parenthesis.
    let (mut first, mut bracket, mut parenthesis) = (None, None, None);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '{' | '[' => depth += 1,
            '>' if before == '-' => {}
            ')' | '>' | '}' | ']' => depth = depth.checked_sub(1)?,
            ' ' if depth == 0 => {
                first = first.or(Some(at));
                bracket = bracket.or(text[..at].contains(['(', '<', '{']).then_some(at));
                parenthesis = parenthesis.or((before == ')').then_some(at));
            }
            _ => {}
        }
        before = c;
    }
    let mut end = parenthesis.or(bracket).or(first).unwrap_or(last);
    // Qualifiers follow the arguments, and the compiler's copies of a function have a mark.
    loop {
        let rest = &text[end + 1..];
        let Some(next) = rest.find(' ') else { break };
        match &rest[..next] {
            "const" | "volatile" | "&" | "&&" => end += 1 + next,
            "[clone" => end += 1 + rest.find("] ").map_or(next, |at| at + 1),
            _ => break,
        }
    }
    Some(end)
}

/// Splits `text:12` into text and number.
fn ends_in_number(text: &str) -> Option<(&str, u32)> {
    let (before, number) = text.rsplit_once(':')?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if digits { Some((before, number.parse().ok()?)) } else { None }
}

/// The function of a location that has one but no line: `worker prog+0x1234`.
pub fn function_of(location: &str) -> Option<Source> {
    let (function, rest) = location.rsplit_once(' ')?;
    let is_address = rest.contains("+0x") || rest.starts_with("0x");
    is_address.then(|| Source { function: Some(function.to_string()), ..Source::default() })
}

/// Returns the short form of a location: `queue.c:12`, or the location unchanged.
pub fn short(location: &str) -> String {
    match source(location) {
        Some(Source { file: Some(file), line: Some(line), .. }) => format!("{}:{line}", base_name(&file)),
        _ => location.to_string(),
    }
}

/// A place in a Java program as Java prints it: `shop.Account.deposit(Account.java:12)`.
pub fn java_place(source: &Source) -> Option<String> {
    let (function, file, line) = (source.function.as_ref()?, source.file.as_ref()?, source.line?);
    let is_java = [".java", ".kt", ".scala", ".groovy", ".clj"].iter().any(|end| file.ends_with(end));
    let sources =
        ["src/main/java/", "src/test/java/", "src/main/kotlin/", "src/test/kotlin/", "src/main/scala/", "src/"];
    let starts = |at: usize| at == 0 || file[..at].ends_with('/');
    let end = |sources: &&str| file.find(*sources).filter(|&at| starts(at)).map(|at| at + sources.len());
    let inside = sources.iter().find_map(end).map_or(file.as_str(), |at| &file[at..]);
    let package =
        inside.rsplit_once('/').map(|(package, _)| format!("{}.", package.replace('/', "."))).unwrap_or_default();
    is_java.then(|| format!("{package}{function}({}:{line})", base_name(file)))
}

/// Returns the last part of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Who acts at a place: its function, `lambda at file.cpp:12` or `closure at file.rs:12`.
pub fn actor(source: &Source) -> Option<String> {
    let function = source.function.as_deref()?;
    Some(match (&source.file, source.line) {
        (Some(file), Some(line)) if is_lambda(function) => format!("lambda at {}:{line}", base_name(file)),
        (Some(file), Some(line)) if outside_closures(function).is_some() => {
            format!("closure at {}:{line}", base_name(file))
        }
        _ => function_name(function),
    })
}

/// A variable in plain words, for use in a title.
pub fn spoken(object: &str) -> String {
    match parts(object) {
        Object::Heap { site, part: Some(part), .. } => {
            format!("`{}` (heap, allocated at {})", without_internals(part), short(site))
        }
        Object::Heap { site, offset: 0, .. } => format!("heap memory allocated at {}", short(site)),
        Object::Heap { site, offset, .. } => format!("heap memory allocated at {} (byte {offset})", short(site)),
        Object::Stack { thread } => format!("a variable on the stack of {thread}"),
        Object::Descriptor { .. } => object.to_string(),
        Object::Local { thread, name } => format!("`{}` (stack of {thread})", without_internals(name)),
        Object::Plain => format!("`{}`", without_internals(object)),
    }
}

/// Heap or stack memory without a name, as an addition to one: `heap, allocated at queue.c:12`.
pub(crate) fn unnamed(object: &str) -> Option<String> {
    match parts(object) {
        Object::Heap { site, part, .. } => {
            let kind = part.and_then(|part| part.split(['.', '[', '+']).next()).unwrap_or("heap");
            Some(format!("{kind}, allocated at {}", short(site)))
        }
        Object::Stack { thread } => Some(format!("stack of {thread}")),
        Object::Local { .. } | Object::Descriptor { .. } | Object::Plain => None,
    }
}

/// The shortest name that still identifies the object, for narrow columns.
pub fn brief(object: &str) -> String {
    match parts(object) {
        Object::Heap { part: Some(part), .. } => without_internals(part).to_string(),
        Object::Heap { site, offset: 0, .. } => format!("heap@{}", short(site)),
        Object::Heap { site, offset, .. } => format!("heap@{}+{offset}", short(site)),
        Object::Local { name, .. } => without_internals(name).to_string(),
        Object::Descriptor { name, .. } => name.to_string(),
        Object::Plain => without_internals(object).to_string(),
        Object::Stack { .. } => object.to_string(),
    }
}

/// The name of a lock or the like, which tells blocks of one place apart: `Account#2.lock`, `heap#2@bank.c:6+8`.
pub(crate) fn lock_name(object: &str) -> String {
    let heap = match parts(object) {
        Object::Heap { site, offset, part } if without_ordinal(object) == object => Some((site, offset, part)),
        _ => None,
    };
    let (Some((site, offset, part)), Some((thread, rest))) = (heap, object.split_once('/')) else {
        return object.to_string();
    };
    let number: String = rest.chars().skip_while(|c| c.is_alphabetic()).take_while(char::is_ascii_digit).collect();
    // Each thread counts its own blocks.
    let whose = if thread == "main" { String::new() } else { format!("{thread}/") };
    match part.map(without_internals) {
        Some(part) => {
            let (kind, rest) = part.split_at(part.find(['.', '[', '+']).unwrap_or(part.len()));
            format!("{whose}{kind}#{number}{rest}")
        }
        None if offset == 0 => format!("{whose}heap#{number}@{}", short(site)),
        None => format!("{whose}heap#{number}@{}+{offset}", short(site)),
    }
}

/// The name without members of GNU's C++ library, which no program writes: `log.entries` of `log.entries._M_impl._M_start`.
fn without_internals(name: &str) -> &str {
    name.find("._M_").filter(|at| *at > 0).map_or(name, |at| &name[..at])
}

/// The name without the parts that change when lines move or threads allocate in another order.
pub fn lasting(object: &str) -> String {
    match parts(object) {
        Object::Heap { site, offset, part } => {
            let site = source(site).and_then(|s| s.file).unwrap_or_else(|| site.to_string());
            match part {
                Some(part) => format!("heap@{}:{part}", base_name(&site)),
                None => format!("heap@{}+{offset}", base_name(&site)),
            }
        }
        Object::Stack { .. } => "stack".to_string(),
        Object::Descriptor { site, .. } => {
            let site = source(site).and_then(|s| s.file).unwrap_or_else(|| site.to_string());
            format!("descriptor@{}", base_name(&site))
        }
        Object::Local { name, .. } => without_ordinal(name).to_string(),
        Object::Plain => object.to_string(),
    }
}

/// The thread and the place that allocated the memory, if the object is of the heap.
pub(crate) fn allocation(object: &str) -> Option<(&str, &str)> {
    match parts(object) {
        Object::Heap { site, .. } => object.split_once('/').map(|(thread, _)| (thread, site)),
        _ => None,
    }
}

/// The thread on whose stack the object lies.
pub(crate) fn thread_of_stack(object: &str) -> Option<&str> {
    match parts(object) {
        Object::Stack { thread } | Object::Local { thread, .. } => Some(thread),
        _ => None,
    }
}

/// Where a descriptor was opened.
pub(crate) fn opening(object: &str) -> Option<&str> {
    match parts(object) {
        Object::Descriptor { site, .. } => Some(site),
        _ => None,
    }
}

enum Object<'o> {
    /// Where it was allocated, and which of its bytes it is, or which part of a known type.
    Heap {
        site: &'o str,
        offset: u64,
        part: Option<&'o str>,
    },
    Descriptor {
        name: &'o str,
        site: &'o str,
    },
    Stack {
        thread: &'o str,
    },
    /// A variable of a function that a thread other than the first one runs.
    Local {
        thread: &'o str,
        name: &'o str,
    },
    Plain,
}

/// Recognises recorded names of heap and stack memory, and of descriptors.
fn parts(object: &str) -> Object<'_> {
    if let Some((name, site)) = object.split_once(" opened at ")
        && name.strip_prefix("descriptor ").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    {
        return Object::Descriptor { name, site: without_ordinal(site) };
    }
    let Some((thread, rest)) = object.split_once('/') else { return Object::Plain };
    let rest = without_ordinal(rest);
    if let Some(number) = rest.strip_prefix("stack").and_then(|r| r.strip_prefix(['-', '+']))
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        return Object::Stack { thread };
    }
    let is_thread = thread.starts_with("main.") || thread.starts_with("thread");
    if is_thread && rest.contains("::") && !rest.starts_with("heap") {
        return Object::Local { thread, name: rest };
    }
    let Some((number, place)) = rest.strip_prefix("heap").and_then(|r| r.split_once('@')) else { return Object::Plain };
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Object::Plain;
    }
    // A line is a number, so what follows it is a part of a type.
    if let Some((site, part)) = place.rsplit_once(':')
        && part.starts_with(|c: char| c.is_alphabetic())
    {
        return Object::Heap { site, offset: 0, part: Some(part) };
    }
    let (site, offset) = match place.rsplit_once('+').map(|(site, offset)| (site, offset.parse::<u64>())) {
        Some((site, Ok(offset))) => (site, offset),
        _ => (place, 0),
    };
    Object::Heap { site, offset, part: None }
}

/// The name without the number that distinguishes it from an older object at the same place: `x#2`.
fn without_ordinal(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((before, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => before,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: Option<&str>, file: &str, line: u32, column: Option<u32>) -> Option<Source> {
        let function = function.map(str::to_string);
        Some(Source { function, file: Some(file.to_string()), line: Some(line), column, inlined: false })
    }

    #[test]
    fn java_places_are_as_java_prints_them() {
        let java = |function, file| java_place(&place(Some(function), file, 12, None).unwrap());
        let said = Some("shop.Account.deposit(Account.java:12)".to_string());
        assert_eq!(java("Account.deposit", "shop/Account.java"), said);
        assert_eq!(java("Account.deposit", "bank/src/main/java/shop/Account.java"), said);
        assert_eq!(java("Main.main", "Main.java"), Some("Main.main(Main.java:12)".into()));
        assert_eq!(java("main", "main.c"), None);
    }

    #[test]
    fn locations_fall_into_their_parts() {
        assert_eq!(source("worker src/queue.c:12"), place(Some("worker"), "src/queue.c", 12, None));
        assert_eq!(
            source("a::f(int, char const*) /x y/q.cpp:3:7"),
            place(Some("a::f(int, char const*)"), "/x y/q.cpp", 3, Some(7))
        );
        assert_eq!(source("queue.c:12"), place(None, "queue.c", 12, None));
        for (function, file) in [
            ("worker", "my prog.c"),
            ("worker", "two words/my prog (copy).c"),
            ("std::vector<int> f<int>(int, char const*) const", "my prog.cpp"),
            ("std::vector<int, long> f<int>(int)", "a.cpp"),
            ("(anonymous namespace)::go(int)", "ein ordner/zwölf.cpp"),
            ("(anonymous namespace)::go", "a.cpp"),
            ("<prog::Queue<u32> as Iterator>::next", "src/my bin/a.rs"),
            ("<fn() -> Result<(), String> as core::ops::FnOnce<()>>::call_once", "a.rs"),
            ("main::{lambda()#1}::operator()() const", "my prog.cpp"),
            ("f(int) [clone .isra.0]", "my prog.cpp"),
            ("A::operator< (B const&)", "a.cpp"),
            ("operator new", "a.cpp"),
        ] {
            let text = format!("{function} {file}:3");
            assert_eq!(source(&text), place(Some(function), file, 3, None), "{text}");
        }
        for plain in ["374", "check", "Foo.bar(Foo.java)", ":12", "f.c:0", "f.c:99999999999", "worker prog+0x12"] {
            assert_eq!(source(plain), None, "{plain}");
        }
        assert_eq!(function_of("worker prog+0x12").and_then(|s| s.function).as_deref(), Some("worker"));
        assert_eq!(function_of("374"), None);
        assert_eq!(short("worker src/queue.c:12"), "queue.c:12");
        assert_eq!(short("374"), "374");
    }

    #[test]
    fn memory_is_named_in_plain_words() {
        let heap = "main.1/heap3@push queue.c:12+8";
        assert_eq!(spoken(heap), "heap memory allocated at queue.c:12 (byte 8)");
        assert_eq!(brief(heap), "heap@queue.c:12+8");
        assert_eq!(lasting(heap), lasting("main.2/heap9@push lib/queue.c:44+8"));
        assert_eq!(lock_name("main/heap2@bank.c:6+8"), "heap#2@bank.c:6+8");
        assert_eq!(lock_name("main.1/heap2@lib/bank.c:6"), "main.1/heap#2@bank.c:6");
        assert_eq!(lock_name("main/heap4@server.c:45:Session[2].lock"), "Session#4[2].lock");
        assert_eq!(
            (lock_name("queue.a"), lock_name("main/heap1@q.c:2#3")),
            ("queue.a".into(), "main/heap1@q.c:2#3".into())
        );
        assert_eq!(spoken("main/heap1@q.c:2"), "heap memory allocated at q.c:2");
        let typed = "main/heap4@server.c:45:Session[2].refs";
        assert_eq!(spoken(typed), "`Session[2].refs` (heap, allocated at server.c:45)");
        assert_eq!(brief(typed), "Session[2].refs");
        assert_eq!(lasting(typed), lasting("main.3/heap9@server.c:61:Session[2].refs"));
        assert_eq!(spoken("main.1/stack-504"), "a variable on the stack of main.1");
        assert_eq!(spoken("main.9/inner::own"), "`inner::own` (stack of main.9)");
        assert_eq!(lasting("main.9/inner::own"), lasting("main.2/inner::own#2"));
        assert_eq!(spoken("queue+8"), "`queue+8`");
        assert_eq!(spoken("a/heapx@1"), "`a/heapx@1`");
    }
}
