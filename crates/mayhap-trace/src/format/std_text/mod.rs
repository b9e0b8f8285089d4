//! STD: one event a line, `thread|op(object)|location`.
//!
//! RAPID's text format with string locations, `wait notify notifyall br racq rrel`, failed attempts and fences, properties
//! of events (`r.acq(x)`), values (`w(x)=5`), kinds of conditions (`#! sem s 2`), `#` comment lines, and the location
//! optional. `docs/formats/std.md` specifies it.

mod read;
mod write;

pub use read::StdReader;
pub use write::{StdOptions, StdWriter, write_events};

/// Some editors put it in front of a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::format::lines::LONGEST_LINE;
    use crate::format::{TraceWriter, parse_std};
    use crate::id::NONE;
    use crate::names::Tables;
    use crate::op::Op;
    use crate::source::Source;

    fn error(text: &str) -> String {
        parse_std(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_operation() {
        let text = "T1|r(x)|1\nT1|w(x)|a.c:3\nT1|acq(l)|\nT1|rel(l)\nT1|racq(l)|1\nT1|rrel(l)|1\nT1|fork(T2)|1\nT1|join(T2)|1\n\
                    T1|wait(c)|1\nT1|notify(c)|1\nT1|notifyall(c)|1\nT1|br|1\nT1|begin|0\nT1|end|0\nT1|try|1\n\
                    T1|facq(l)|1\nT1|fracq(l)|1\nT1|fwait(c)|1\nT1|fence.sc|1\n";
        let trace = parse_std(text).unwrap();
        let ops: Vec<Op> = trace.columns().ops.clone();
        assert_eq!(ops.len(), Op::ALL.len());
        let mut out = Vec::new();
        write_events(&mut out, trace.columns(), trace.tables()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn properties_values_and_kinds_read_back() {
        let text = "#! sem s 2\nT1|wait.try(s)\n#! cond c\nT1|notify(c)|1\n#! token p q\nT1|notify(p q)\nT1|fence.ar\n\
                    T1|r.acq(x)=0|1\nT1|w.rlx.joined.indep(x)=18446744073709551615\nT1|w.const.free(f(a)=b)=&3+8|l\n\
                    T1|br.implicit\nT1|acq.timed(l)|=5\nT1|w(x)|=5\n";
        let trace = parse_std(text).unwrap();
        let mut out = Vec::new();
        write_events(&mut out, trace.columns(), trace.tables()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
        assert_eq!(trace.tables().variables.iter().collect::<Vec<_>>(), ["x", "f(a)=b"]);
        assert_eq!(trace.tables().values.len(), 3);
        for (text, message) in [
            ("T1|r.free(x)", "`r` cannot be `free`"),
            ("T1|r.sc.rlx(x)", "`r` has `rlx` besides another of its sort"),
            ("T1|acq.try.timed(l)", "`acq` has `timed` besides another of its sort"),
            ("T1|w.joined.joined(l)", "`w` has `joined` besides another of its sort"),
            ("T1|x.sc(x)", "unknown operation `x.sc`"),
            ("T1|acq(l)=5", "`5` is no value of `acq`"),
            ("T1|w(x)=5+", "`5+` is no value of `w`"),
            ("#! lock l", "unknown declaration `lock`: it is cond, sem or token"),
            ("#! sem l", "a semaphore is declared as `#! sem name count`"),
            ("#! cond ", "`cond` needs a name: #! cond name"),
            ("#! token p\n#! token p", "the condition `p` is declared after a line that names it"),
        ] {
            let line = text.lines().count();
            assert_eq!(error(text), format!("line {line}: {message}"), "{text}");
        }
    }

    #[test]
    fn comments_line_ends_and_odd_names_are_read() {
        let trace = parse_std("\u{feff}# hello\nT 1|w(f(a)|b)|x|y\r\n#\nT 1|r(a[0])").unwrap();
        assert_eq!(trace.len(), 2);
        assert_eq!(trace.tables().variables.iter().collect::<Vec<_>>(), ["f(a", "a[0]"]);
        assert_eq!(trace.tables().locations.iter().collect::<Vec<_>>(), ["b)|x|y"]);
    }

    #[test]
    fn errors_name_line_and_reason() {
        assert!(error("T1|r(x)|1\nhello\n").starts_with("line 2: `hello` has no `|`"));
        assert_eq!(error("T1|lock(x)|1\n"), "line 1: unknown operation `lock`");
        assert_eq!(error("T1|r()|1\n"), "line 1: `r` needs an object: r(name)");
        assert_eq!(error("T1|r|1\n"), "line 1: `r` needs an object: r(name)");
        assert_eq!(error("T1|br(x)|1\n"), "line 1: `br` takes no object");
        assert_eq!(error("T1|r(x|1\n"), "line 1: no `)` closes the object of `r`");
        assert_eq!(error("T1|r(x)\n\nT1|r(x)\n"), "line 2: the line is empty");
        assert_eq!(error("T1|fork(a|b)\n"), "line 1: no thread can be called `a|b`: a line could not begin with it");
        assert_eq!(error("|r(x)\n"), "line 1: the thread is missing before the first `|`");
        assert!(parse_std("T1|r(x)\n\n\n").is_ok());
        assert!(error(&"x".repeat(LONGEST_LINE * 5)).starts_with("line 1: the line is longer than 65536 bytes"));
    }

    #[test]
    fn names_that_text_cannot_carry_are_refused() {
        let refused = |thread: &[u8], variable: &[u8]| {
            let mut tables = Tables::default();
            tables.threads.define(thread).unwrap();
            tables.variables.define(variable).unwrap();
            let mut columns = Columns::default();
            columns.push_cells(0, Op::Write, 0, NONE);
            let mut out = Vec::new();
            StdWriter::new(&mut out).write(&columns, &tables).map(|()| out).map_err(|e| e.to_string())
        };
        assert_eq!(refused(b"T", b"f(a)").unwrap(), b"T|w(f(a))\n");
        assert_eq!(refused(b"a|b", b"x").unwrap_err(), "STD cannot carry the name `a|b` of a thread: it has a `|`");
        assert_eq!(
            refused(b"#", b"x").unwrap_err(),
            "STD cannot carry the name `#` of a thread: it has a `#` at its start"
        );
        assert_eq!(refused(b"T", b"").unwrap_err(), "STD cannot carry the name `` of a variable: it has no characters");
        assert_eq!(refused(b"T", b"a)|b").unwrap_err(), "STD cannot carry the name `a)|b` of a variable: it has `)|`");
        assert!(refused(b"T", b"a)=5|b").unwrap_err().ends_with("it has `)=`, a value and `|`"));
        assert_eq!(refused(b"T", b"a)=x|b)=5").unwrap(), b"T|w(a)=x|b)=5)\n");
        assert!(refused(b"T", b"a\nb").unwrap_err().ends_with("`a\\nb` of a variable: it has a line break"));
        assert!(refused(b"T", &[b'x'; LONGEST_LINE]).unwrap_err().contains("takes more than 65536 bytes as text"));
    }

    /// Returns the text of a trace for other readers, and the notes on what it lost.
    fn reduced(text: &str, options: StdOptions) -> (String, Vec<String>) {
        let trace = parse_std(text).unwrap();
        let mut out = Vec::new();
        let mut writer = StdWriter::with(&mut out, options);
        writer.write(trace.columns(), trace.tables()).unwrap();
        let notes = Box::new(writer).finish(trace.tables()).unwrap();
        (String::from_utf8(out).unwrap(), notes)
    }

    #[test]
    fn locations_become_numbers() {
        let options = StdOptions { numeric_locations: true, ..StdOptions::default() };
        let names = reduced("A|w.sc(x)=1|b.c:1\nA|br\nA|r(x)|a.c:1\nA|r(x)|b.c:1\n", options);
        assert_eq!(names, ("A|w.sc(x)=1|1\nA|br|0\nA|r(x)|2\nA|r(x)|1\n".to_string(), vec![]));
        let numbers = reduced("A|w(x)|17\nA|r(x)\nA|r(x)|0\n", options);
        assert_eq!(numbers.0, "A|w(x)|17\nA|r(x)|0\nA|r(x)|0\n");
    }

    #[test]
    fn only_what_rapid_reads_is_written_for_it() {
        let options = StdOptions { rapid: true, ..StdOptions::default() };
        let text =
            "A|fork(B)\n#! sem s 1\nA|wait(s)|a\nA|acq.try(l)|a\nA|w.sc(x)=5|b\nA|br\nA|br\nA|rel(l)\nA|join(B)\n";
        let (text, notes) = reduced(text, options);
        assert_eq!(text, "A|fork(B)|0\nA|acq(l)|1\nA|w(x)|2\nA|rel(l)|0\nA|join(B)|0\n");
        let expected = [
            "3 events left out, for which RAPID has no operation: 1 wait, 2 br",
            "2 events written without the properties or values that they have",
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn an_empty_trace_is_written_as_a_comment() {
        let mut out = Vec::new();
        Box::new(StdWriter::new(&mut out)).finish(&Tables::default()).unwrap();
        assert!(StdReader::new(&out[..]).next_chunk(&mut Columns::default()).is_ok_and(|more| !more));
    }
}
