//! Programs with more places that access memory than the short form of an access can number: accesses at the others are recorded correctly too.

mod common;

use std::collections::HashMap;
use std::fmt::Write;

use mayhap_trace::{Op, format};

/// Functions that each read four members in a loop, announced together.
const FUNCTIONS: usize = 4300;
/// Elements that each reads.
const ROUNDS: usize = 3;

#[test]
fn accesses_beyond_the_last_short_number_are_told_right() {
    let mut text =
        String::from("#include <pthread.h>\nstruct four { volatile int a, b, c, d; } shared[3];\nvolatile long sum;\n");
    for n in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "__attribute__((noipa)) static int f{n}(struct four *p, int n) {{ int s = 0; \
             for (; n > 0; n--, p++) s += p->a + p->b + p->c + p->d; return s; }}"
        );
    }
    // Each more of these moves all numbers by two, and each function has five: all that can be the last one is.
    text.push_str("int more;\nstatic void *work(void *p) { long s = 0;\n");
    for n in 0..5 {
        let _ = writeln!(text, "if (more > {n}) sum += 1;");
    }
    for n in 0..FUNCTIONS {
        let _ = writeln!(text, "s += f{n}(p, {ROUNDS});");
    }
    text.push_str(
        "for (struct four *q = shared; q < shared + 3; q++) q->a = 1, q->b = 2, q->c = 3, q->d = 4; return s == 0 ? p : 0; }\nint main(int count, char **arguments) { (void)arguments; more = count - 1; pthread_t one, other; pthread_create(&one, 0, work, shared);\n\
         pthread_create(&other, 0, work, shared); pthread_join(one, 0); pthread_join(other, 0);  }\n",
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.c"), text).unwrap();
    let built = common::mayhap_in(folder.path(), &["cc", "-O2", "-g", "-pthread", "p.c", "-o", "p"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    for more in 0..5 {
        let run =
            common::mayhap_in(folder.path(), &[&["record", "-o", "t.mhp", "--", "./p"], &["x"; 5][..more]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let finished = common::mayhap_in(folder.path(), &["stats", "t.mhp"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let trace = format::read(folder.path().join("t.mhp")).unwrap().trace;
        let mut reads: HashMap<String, usize> = HashMap::new();
        for (_, event) in trace.events().filter(|(_, event)| event.op == Op::Read) {
            *reads.entry(trace.tables().object(event.op, event.object).to_string()).or_default() += 1;
        }
        let read: Vec<usize> = reads.iter().filter(|(name, _)| name.starts_with("shared")).map(|(_, n)| *n).collect();
        assert_eq!(read, [2 * FUNCTIONS; 4 * ROUNDS], "{reads:?}");
    }
}
