//! The report of a question whose answer is no.

use mayhap_report::{Kind, Needed, Premise, Refutation, Report, Side, TraceInfo};

pub(crate) fn report() -> Report {
    let needed = |before, after, why: &str, order: &str, reason: &str, premise| Needed {
        before,
        after,
        why: why.to_string(),
        order: order.to_string(),
        reason: reason.to_string(),
        premise,
    };
    let side = |event, thread: &str, op: &str, role: &str| Side {
        event,
        thread: thread.to_string(),
        op: op.to_string(),
        object: "<b>cells</b>[11]".to_string(),
        location: Some("sort.c:41".to_string()),
        role: role.to_string(),
        ..Side::default()
    };
    let lock = "T27 unlocks L (event 1440, sort.c:43) before T28 locks L (event 1028, sort.c:40)";
    let mut report = Report::new("0.1.0", TraceInfo { path: "sort.std".to_string(), ..TraceInfo::default() }, "data");
    report.summary.candidates = 1;
    report.summary.refuted = 1;
    report.refutation = Some(Refutation {
        kind: Kind::Race,
        events: vec![side(1032, "T28", "w", "first access"), side(1442, "T27", "r", "second access")],
        reason: "the events would have to run in a cycle: 1440 → 1028 → 1437 → 1440".to_string(),
        cycle: vec![
            needed(
                1440,
                1028,
                "lock",
                lock,
                "lock L: its sections exclude each other, and this one must come first",
                Some(0),
            ),
            needed(
                1028,
                1437,
                "reads-from",
                "T28 locks L (event 1028, sort.c:40) before T27 reads cells[10] (event 1437, sort.c:42)",
                "the read must see this write, as it did in the recorded run",
                None,
            ),
            needed(
                1437,
                1440,
                "program-order",
                "T27 reads cells[10] (event 1437, sort.c:42) before T27 unlocks L (event 1440, sort.c:43)",
                "program order of T27",
                None,
            ),
        ],
        premises: vec![Premise {
            before: 1440,
            after: 1028,
            order: format!("lock L orders {lock}"),
            reason: "lock L".to_string(),
            given: Some("the later section is not closed when the state is reached".to_string()),
            because: Vec::new(),
        }],
    });
    report
}
