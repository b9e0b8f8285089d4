//! Steps as text, one line each: for journals and manifests.
//!
//! A line has the thread, `@` and the address of its code if that is known, and the operations, each a letter and numbers: `2@401136 r4c010:4=1/7 w4c018:8`.
//! Addresses and values are hexadecimal; the other numbers are decimal. After `:` come the bytes, after `=` what was found, after `/` the place in the code.

use std::fmt::Write;

use mayhap_record::{Operation, TurnStep, UNCLEAR};

/// The text of a step.
pub fn text(step: &TurnStep) -> String {
    let mut text = step.thread.to_string();
    if step.code != 0 {
        put(&mut text, format_args!("@{:x}", step.code));
    }
    for operation in &step.operations {
        text.push(' ');
        put_operation(&mut text, operation);
    }
    text
}

/// The step of a text; `None` if it is not the text of a step.
pub fn step(text: &str) -> Option<TurnStep> {
    let mut words = text.split(' ');
    let (thread, code) = words.next().map(|word| word.split_once('@').unwrap_or((word, "0")))?;
    let operations = words.map(operation).collect::<Option<Vec<_>>>()?;
    Some(TurnStep { thread: thread.parse().ok()?, code: hex(code)?, operations })
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a text does not fail.
    let _ = text.write_fmt(what);
}

fn put_operation(text: &mut String, operation: &Operation) {
    use Operation as O;
    match operation {
        O::Read(address, bytes, found, site) => {
            put(text, format_args!("r{address:x}:{bytes}"));
            put_found(text, *found);
            put(text, format_args!("/{site}"));
        }
        O::Write(address, bytes) => put(text, format_args!("w{address:x}:{bytes}")),
        O::Update(address, bytes, found) => {
            put(text, format_args!("u{address:x}:{bytes}"));
            put_found(text, *found);
        }
        O::Acquire(lock) => put(text, format_args!("a{lock:x}")),
        O::Release(lock) => put(text, format_args!("z{lock:x}")),
        O::SharedAcquire(lock) => put(text, format_args!("A{lock:x}")),
        O::SharedRelease(lock) => put(text, format_args!("Z{lock:x}")),
        O::Sync(object) => put(text, format_args!("s{object:x}")),
        O::Attempt(object, success) => put(text, format_args!("t{object:x}={}", u8::from(*success))),
        O::Notify(object) => put(text, format_args!("n{object:x}")),
        O::Wait(object) => put(text, format_args!("v{object:x}")),
        O::Blocked(object) => put(text, format_args!("b{object:x}")),
        O::Unparked(thread) => put(text, format_args!("p{thread}")),
        O::Fork(thread) => put(text, format_args!("f{thread}")),
        O::Join(thread) => put(text, format_args!("j{thread}")),
        O::End => text.push('e'),
        O::Choice(kind, alternatives, taken) => put(text, format_args!("c{kind}:{alternatives}={taken}")),
        O::Unclear(what) => {
            let at = UNCLEAR.iter().position(|known| known == what).unwrap_or(UNCLEAR.len() - 1);
            put(text, format_args!("x{at}"));
        }
    }
}

fn put_found(text: &mut String, found: Option<u64>) {
    if let Some(found) = found {
        put(text, format_args!("={found:x}"));
    }
}

fn operation(word: &str) -> Option<Operation> {
    use Operation as O;
    let letter = word.chars().next()?;
    let rest = &word[letter.len_utf8()..];
    Some(match letter {
        'r' => {
            let (access, site) = rest.split_once('/')?;
            let (address, bytes, found) = memory(access)?;
            O::Read(address, bytes, found, site.parse().ok()?)
        }
        'w' => match memory(rest)? {
            (address, bytes, None) => O::Write(address, bytes),
            _ => return None,
        },
        'u' => {
            let (address, bytes, found) = memory(rest)?;
            O::Update(address, bytes, found)
        }
        'a' => O::Acquire(hex(rest)?),
        'z' => O::Release(hex(rest)?),
        'A' => O::SharedAcquire(hex(rest)?),
        'Z' => O::SharedRelease(hex(rest)?),
        's' => O::Sync(hex(rest)?),
        't' => match rest.split_once('=')? {
            (object, "0") => O::Attempt(hex(object)?, false),
            (object, "1") => O::Attempt(hex(object)?, true),
            _ => return None,
        },
        'n' => O::Notify(hex(rest)?),
        'v' => O::Wait(hex(rest)?),
        'b' => O::Blocked(hex(rest)?),
        'p' => O::Unparked(rest.parse().ok()?),
        'f' => O::Fork(rest.parse().ok()?),
        'j' => O::Join(rest.parse().ok()?),
        'e' if rest.is_empty() => O::End,
        'c' => {
            let (kind, rest) = rest.split_once(':')?;
            let (alternatives, taken) = rest.split_once('=')?;
            O::Choice(kind.parse().ok()?, alternatives.parse().ok()?, taken.parse().ok()?)
        }
        'x' => O::Unclear(UNCLEAR.get(rest.parse::<usize>().ok()?)?),
        _ => return None,
    })
}

fn memory(text: &str) -> Option<(u64, u32, Option<u64>)> {
    let (address, rest) = text.split_once(':')?;
    let (bytes, found) = match rest.split_once('=') {
        Some((bytes, found)) => (bytes, Some(hex(found)?)),
        None => (rest, None),
    };
    Some((hex(address)?, bytes.parse().ok()?, found))
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_survives_being_text() {
        use Operation as O;
        let operations = vec![
            O::Read(0x40_1000, 4, Some(1), 7),
            O::Read(u64::MAX, u32::MAX, None, 0),
            O::Write(64, 8),
            O::Update(64, 8, Some(u64::MAX)),
            O::Update(64, 8, None),
            O::Acquire(1),
            O::Release(2),
            O::SharedAcquire(3),
            O::SharedRelease(4),
            O::Sync(5),
            O::Attempt(5, true),
            O::Attempt(5, false),
            O::Notify(6),
            O::Wait(7),
            O::Blocked(0),
            O::Unparked(8),
            O::Fork(9),
            O::Join(10),
            O::End,
            O::Choice(1, 3, 2),
            O::Unclear(UNCLEAR[2]),
        ];
        for code in [0, 0x40_1136] {
            let whole = TurnStep { thread: 2, code, operations: operations.clone() };
            assert_eq!(step(&text(&whole)), Some(whole));
        }
        let empty = TurnStep { thread: 0, code: 0, operations: Vec::new() };
        assert_eq!(step(&text(&empty)), Some(empty));
    }

    #[test]
    fn other_text_is_refused() {
        for wrong in [
            "",
            "x",
            "1 ",
            "1  e",
            "1 e1",
            "1 r40",
            "1 r40:4",
            "1 w40:4=1",
            "1 q7",
            "1 x9",
            "1 c1:2",
            "1 t40",
            "1 t40=2",
            "1 a",
            "1 fé",
            "1 é",
            "1@ e",
        ] {
            assert_eq!(step(wrong), None, "{wrong}");
        }
    }
}
