//! A notation for traces in tests: events separated by `;` or line ends, each `thread op [object][=value] [@location]`.
//! Declarations of the STD format (`#! sem s 2`) stand among them as they are.

use mayhap_trace::Trace;

/// Returns the trace of a text such as `T1 w x; T2 acq l; T2 r.acq x=1 @main.c:3; T2 br`.
///
/// # Panics
/// If the text is not of this form.
#[track_caller]
pub fn trace(text: &str) -> Trace {
    let mut std = String::new();
    for statement in text.split([';', '\n']).map(str::trim).filter(|s| !s.is_empty()) {
        if statement.starts_with("#!") {
            std += &format!("{statement}\n");
            continue;
        }
        let (event, location) = match statement.split_once('@') {
            Some((event, location)) => (event, Some(location.trim())),
            None => (statement, None),
        };
        let words: Vec<&str> = event.split_whitespace().collect();
        match words[..] {
            [thread, op] => std += &format!("{thread}|{op}"),
            [thread, op, object] => match object.split_once('=') {
                Some((object, value)) => std += &format!("{thread}|{op}({object})={value}"),
                None => std += &format!("{thread}|{op}({object})"),
            },
            _ => panic!("`{statement}` is not `thread op [object][=value] [@location]`"),
        }
        if let Some(location) = location {
            std += &format!("|{location}");
        }
        std.push('\n');
    }
    mayhap_trace::format::parse_std(&std).unwrap_or_else(|e| panic!("{e} in\n{std}"))
}

#[cfg(test)]
mod tests {
    use mayhap_trace::Op;

    use super::*;

    #[test]
    fn notation_reads_objects_and_locations() {
        let trace = trace("#! sem s 1; T1 w.rlx x=5 @a.c:1; T2 br\n T1 fork T3 ;");
        let ops: Vec<Op> = trace.events().map(|(_, e)| e.op).collect();
        assert_eq!(ops, [Op::Write, Op::Branch, Op::Fork]);
        let first = trace.columns().get(0);
        assert_eq!(trace.tables().location(first.location), Some("a.c:1"));
        assert_eq!(first.flags.order(), Some(mayhap_trace::MemoryOrder::Relaxed));
        assert_eq!(trace.tables().value(first.value), Some(mayhap_trace::Value::Bits(5)));
        assert_eq!(trace.columns().get(1).location, None);
    }
}
