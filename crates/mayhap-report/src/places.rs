//! Parses the names in a trace (locations, functions, objects) and puts them in plain words.
//!
//! A recorded location reads `function file.c:12`, a recorded variable `symbol+8`, `main.1/heap3@file.c:12+8` or
//! `main.1/stack-504` (`docs/record.md`). Traces from other tools may contain anything: a number, a class name. A name that is
//! not recognised is left unchanged.

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
    // Function names often contain spaces, file names rarely do; an absolute path starts at a slash.
    let cut = before.find(" /").or_else(|| before.rfind(' '));
    let (function, file) = match cut {
        Some(at) => (Some(before[..at].to_string()), &before[at + 1..]),
        None => (None, before),
    };
    Some(Source { function, file: Some(file.to_string()), line: Some(line), column, inlined: false })
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

/// The short form of a location: `queue.c:12`, or the location unchanged.
pub fn short(location: &str) -> String {
    match source(location) {
        Some(Source { file: Some(file), line: Some(line), .. }) => format!("{}:{line}", base_name(&file)),
        _ => location.to_string(),
    }
}

/// The last part of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A function without its arguments, template arguments and return type, with empty parentheses: `Queue::push()`. The functions that
/// compilers generate for OpenMP constructs are called parallel regions.
pub fn function_name(function: &str) -> String {
    if function.starts_with(".omp_outlined.") {
        return "a parallel region".into();
    }
    if let Some((outer, _)) = function.split_once("._omp_fn.") {
        return format!("a parallel region of {}", function_name(outer));
    }
    let plain = function.replace("(anonymous namespace)::", "").replace("{{closure}}", "{closure}");
    let plain = of_type(&plain).unwrap_or(plain);
    let mut name = String::new();
    let mut depth = 0usize;
    let mut before = ' ';
    for c in plain.chars() {
        match c {
            '<' if !name.ends_with("operator") && !name.ends_with("operator<") => {
                // Rust writes `f::<T>`.
                if depth == 0 && name.ends_with("::") {
                    name.truncate(name.len() - 2);
                }
                depth += 1;
            }
            '>' if depth > 0 && before == '-' => {}
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 && !name.ends_with("operator") => break,
            _ if depth == 0 => name.push(c),
            _ => {}
        }
        before = c;
    }
    let is_operator = name.rsplit("::").next().is_some_and(|last| last.starts_with("operator"));
    let last = if is_operator { name.as_str() } else { name.rsplit(' ').next().unwrap_or(&name) };
    let last = if last.is_empty() { plain.as_str() } else { last };
    if last.ends_with("operator") { format!("{last}()()") } else { format!("{last}()") }
}

/// Rewrites Rust's `<T>::f` and `<T as Trait>::f` as `T::f`, or as `Trait::f` if the type has no name.
fn of_type(function: &str) -> Option<String> {
    let inside = function.strip_prefix('<')?;
    let (mut depth, mut before, mut split) = (0usize, ' ', None);
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' if depth == 0 => {
                let (kind, of_trait) = match split {
                    Some(split) => (&inside[..split], Some(&inside[split + " as ".len()..at])),
                    None => (&inside[..at], None),
                };
                let is_named = kind.starts_with(|c: char| c.is_alphabetic() || c == '_')
                    && !kind.starts_with("fn(")
                    && !kind.starts_with("dyn ");
                let named = of_trait.filter(|_| !is_named).unwrap_or(kind);
                return Some(format!("{named}{}", &inside[at + 1..]));
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && split.is_none() && inside[at..].starts_with(" as ") => split = Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

/// A variable in plain words, for use in a title.
pub fn spoken(object: &str) -> String {
    match parts(object) {
        Object::Heap { site, offset: 0 } => format!("heap memory allocated at {}", short(site)),
        Object::Heap { site, offset } => format!("heap memory allocated at {} (byte {offset})", short(site)),
        Object::Stack { thread } => format!("a variable on the stack of {thread}"),
        Object::Plain => format!("`{object}`"),
    }
}

/// The shortest name that still identifies the object, for narrow columns.
pub fn brief(object: &str) -> String {
    match parts(object) {
        Object::Heap { site, offset: 0 } => format!("heap@{}", short(site)),
        Object::Heap { site, offset } => format!("heap@{}+{offset}", short(site)),
        Object::Stack { .. } | Object::Plain => object.to_string(),
    }
}

/// The name without the parts that change when lines move or threads allocate in another order.
pub fn lasting(object: &str) -> String {
    match parts(object) {
        Object::Heap { site, offset } => {
            let site = source(site).and_then(|s| s.file).unwrap_or_else(|| site.to_string());
            format!("heap@{}+{offset}", base_name(&site))
        }
        Object::Stack { .. } => "stack".to_string(),
        Object::Plain => object.to_string(),
    }
}

enum Object<'o> {
    Heap { site: &'o str, offset: u64 },
    Stack { thread: &'o str },
    Plain,
}

/// Recognises recorded names of heap and stack memory.
fn parts(object: &str) -> Object<'_> {
    let Some((thread, rest)) = object.split_once('/') else { return Object::Plain };
    let rest = without_ordinal(rest);
    if let Some(number) = rest.strip_prefix("stack").and_then(|r| r.strip_prefix(['-', '+']))
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        return Object::Stack { thread };
    }
    let Some((number, place)) = rest.strip_prefix("heap").and_then(|r| r.split_once('@')) else { return Object::Plain };
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Object::Plain;
    }
    let (site, offset) = match place.rsplit_once('+').map(|(site, offset)| (site, offset.parse::<u64>())) {
        Some((site, Ok(offset))) => (site, offset),
        _ => (place, 0),
    };
    Object::Heap { site, offset }
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
    fn locations_fall_into_their_parts() {
        assert_eq!(source("worker src/queue.c:12"), place(Some("worker"), "src/queue.c", 12, None));
        assert_eq!(
            source("a::f(int, char const*) /x y/q.cpp:3:7"),
            place(Some("a::f(int, char const*)"), "/x y/q.cpp", 3, Some(7))
        );
        assert_eq!(source("queue.c:12"), place(None, "queue.c", 12, None));
        for plain in ["374", "check", "Foo.bar(Foo.java)", ":12", "f.c:0", "f.c:99999999999", "worker prog+0x12"] {
            assert_eq!(source(plain), None, "{plain}");
        }
        assert_eq!(function_of("worker prog+0x12").and_then(|s| s.function).as_deref(), Some("worker"));
        assert_eq!(function_of("374"), None);
        assert_eq!(short("worker src/queue.c:12"), "queue.c:12");
        assert_eq!(short("374"), "374");
    }

    #[test]
    fn functions_lose_their_arguments() {
        for (full, name) in [
            ("worker", "worker()"),
            ("Queue<int, std::less<int> >::push(int const&)", "Queue::push()"),
            ("void f<int>(int)", "f()"),
            ("(anonymous namespace)::go(int)", "go()"),
            ("F::operator()(int) const", "F::operator()()"),
            ("prog::main::{{closure}}", "prog::main::{closure}()"),
            ("<prog::Queue<u32>>::push", "prog::Queue::push()"),
            ("<prog::main::{closure#0} as core::ops::FnOnce<()>>::call_once", "prog::main::{closure#0}::call_once()"),
            ("<fn() -> Result<(), String> as core::ops::FnOnce<()>>::call_once", "core::ops::FnOnce::call_once()"),
            ("std::thread::spawn::<prog::work, ()>::{closure#1}", "std::thread::spawn::{closure#1}()"),
            ("std::backtrace::<fn() -> ()>", "std::backtrace()"),
            ("<unfinished", "<unfinished()"),
            ("main._omp_fn.0", "a parallel region of main()"),
            (".omp_outlined._debug__", "a parallel region"),
        ] {
            assert_eq!(function_name(full), name);
        }
    }

    #[test]
    fn memory_is_named_in_plain_words() {
        let heap = "main.1/heap3@push queue.c:12+8";
        assert_eq!(spoken(heap), "heap memory allocated at queue.c:12 (byte 8)");
        assert_eq!(brief(heap), "heap@queue.c:12+8");
        assert_eq!(lasting(heap), lasting("main.2/heap9@push lib/queue.c:44+8"));
        assert_eq!(spoken("main/heap1@q.c:2"), "heap memory allocated at q.c:2");
        assert_eq!(spoken("main.1/stack-504"), "a variable on the stack of main.1");
        assert_eq!(spoken("queue+8"), "`queue+8`");
        assert_eq!(spoken("a/heapx@1"), "`a/heapx@1`");
    }
}
