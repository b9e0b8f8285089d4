//! RoadRunner logs: each kind of line becomes the events it means, and the trace keeps the rules.

use mayhap_trace::format::roadrunner::RoadRunnerReader;
use mayhap_trace::format::std_text::write_events;
use mayhap_trace::format::{Loaded, load};
use mayhap_trace::{Error, Relations};

fn read(log: &str) -> Result<Loaded, Error> {
    load(Box::new(RoadRunnerReader::new(log.as_bytes())))
}

/// The events of a well-formed log as STD lines, and its notes.
fn lowered(log: &str) -> (Vec<String>, Vec<String>) {
    let loaded = read(log).unwrap();
    Relations::derive(&loaded.trace).unwrap();
    let mut text = Vec::new();
    write_events(&mut text, loaded.trace.columns(), loaded.trace.tables()).unwrap();
    (String::from_utf8(text).unwrap().lines().map(String::from).collect(), loaded.notes)
}

#[test]
fn calls_logged_before_and_after_count_once() {
    let log = "@  Start(0,1)\n@  Start(0,1)\n@  Wr(1,@01.x_I)  Final  A.java:3:1\n@  Join(0,1)\n@  Rd(1,@01.x_I)  Final  A.java:4:1\n\
               @  Join(0,1)\n@  Rd(0,@01.x_I)  Final  A.java:9:1\n";
    let expected =
        ["0|fork(1)", "1|w(@01.x_I)|A.java:3:1", "1|r(@01.x_I)|A.java:4:1", "0|join(1)", "0|r(@01.x_I)|A.java:9:1"];
    assert_eq!(lowered(log), (expected.map(String::from).to_vec(), vec![]));
    // The same with one line per call: the join still comes where the thread continues, or at the end.
    let once = "@ Start(0,1)\n@ Wr(1,x,A:3)\n@ Join(0,1)\n@ Rd(1,x,A:4)\n";
    assert_eq!(lowered(once).0, ["0|fork(1)", "1|w(x)|A:3", "1|r(x)|A:4", "0|join(1)"]);
    // A join that had not returned when the log ended is none.
    let cut = "@ Start(0,1)\n@ Start(0,1)\n@ Wr(1,x,A:3)\n@ Join(0,1)\n";
    assert_eq!(lowered(cut).0, ["0|fork(1)", "1|w(x)|A:3"]);
}

#[test]
fn a_wait_gives_up_its_monitor_and_needs_a_notify() {
    let log = "@ Start(0,1)\n@ Start(0,1)\n@ Acquire(1,@02)\n@ Acquire(1,@02)\n@ Wait(1,@02)\n@ Acquire(0,@02)\n@ Notify(0,@02,false)\n\
               @ Notify(0,@02,false)\n@ Release(0,@02)\n@ Wait(1,@02)\n@ Release(1,@02)\n@ Release(1,@02)\n\
               @ Acquire(1,@02)\n@ Wait(1,@02)\n@ Wait(1,@02)\n@ Release(1,@02)\n";
    let (events, notes) = lowered(log);
    let expected = "0|fork(1) 1|acq(@02) 1|rel(@02) 0|acq(@02) 0|notify(@02) 0|rel(@02) 1|wait(@02) 1|acq(@02) 1|rel(@02) \
                    1|acq(@02) 1|rel(@02) 1|acq(@02) 1|rel(@02)";
    assert_eq!(events.join(" "), expected);
    assert_eq!(
        notes,
        [
            "2 acquires and releases of locks already held are left out",
            "1 waits returned without a notify (a timeout, an interrupt) and are only a release and an acquire"
        ]
    );
}

#[test]
fn volatiles_classes_and_barriers_order_what_they_order() {
    let volatile = "@ Start(0,1)\n@ Start(0,1)\n@ VWr(0,@01.stop_Z)  state\n@ VRd(1,@01.stop_Z)  state\n";
    let expected = "0|fork(1) 0|acq(@01.stop_Z) 0|w(@01.stop_Z) 0|rel(@01.stop_Z) 1|acq(@01.stop_Z) 1|r(@01.stop_Z) 1|rel(@01.stop_Z)";
    assert_eq!(lowered(volatile).0.join(" "), expected);

    let class = "@ Start(0,1)\n@ Start(0,1)\n@ ClassAccssed(1,A)\n@ ClassInited(0,A)\n@ ClassAccssed(0,A)\n@ ClassAccssed(1,A)\n";
    assert_eq!(lowered(class).0, ["0|fork(1)", "0|notifyall(A)", "1|wait(A)"]);

    let log = "@ Start(0,1)\n@ Start(0,1)\n@ Start(0,2)\n@ Start(0,2)\n@ Wr(0,x,a)\n@ Barrier(0,b,Enter)\n@ Barrier(2,b,Enter)\n\
               @ Wr(1,y,b)\n@ Barrier(1,b,Enter)\n@ Barrier(1,b,Exit)\n@ Rd(1,x,c)\n@ Barrier(1,b,Enter)\n@ Barrier(2,b,Exit)\n\
               @ Barrier(0,b,Exit)\n@ Rd(0,y,d)\n@ Barrier(0,b,Enter)\n@ Barrier(1,b,Exit)\n";
    let loaded = read(log).unwrap();
    let relations = Relations::derive(&loaded.trace).unwrap();
    let at = |place: &str| {
        let id = loaded.trace.tables().locations.find(place).unwrap();
        loaded.trace.events().find(|(_, e)| e.location.is_some_and(|l| l.index() == id)).unwrap().0
    };
    assert!(relations.ordered(&loaded.trace, at("a"), at("c")) && relations.ordered(&loaded.trace, at("b"), at("d")));
    assert!(!relations.ordered(&loaded.trace, at("a"), at("b")) && !relations.ordered(&loaded.trace, at("c"), at("d")));
    assert!(read("@ Barrier(0,b,Exit)\n").unwrap_err().to_string().contains("has not entered"));
}

#[test]
fn a_number_used_again_is_another_thread() {
    let log = "@ Start(0,1)\n@ Start(0,1)\n@ Wr(1,x,a)\n@ Join(0,1)\n@ Join(0,1)\n@ Start(0,1)\n@ Start(0,1)\n@ Wr(1,x,b)\n@ Join(0,-1)\n";
    let (events, notes) = lowered(log);
    assert_eq!(events, ["0|fork(1)", "1|w(x)|a", "0|join(1)", "0|fork(1#2)", "1#2|w(x)|b"]);
    assert_eq!(notes, ["1 joins are left out: the log does not name the thread"]);
}

#[test]
fn other_output_is_counted_and_bad_lines_are_errors() {
    let log = "hello\n@ 0 started .\n@ Enter(0,A.main()V) from null\n@ Wr(0,x,a)\n\n@  Exit(0,A.main()V)\n";
    let (events, notes) = lowered(log);
    assert_eq!(events, ["0|w(x)|a"]);
    assert_eq!(
        notes,
        [
            "2 method calls, sleeps and interrupts are left out: they are not events",
            "3 lines are other output and left out, the first of them line 1"
        ]
    );
    let error = |log: &str| read(log).unwrap_err().to_string();
    assert_eq!(error("@ Wr(0,x,a)\n@ Rd(0)\n"), "line 2: `Rd(0)` is not Rd(thread,object)");
    assert_eq!(error("@ Write(0,x)\n"), "line 1: unknown event `Write`");
    assert_eq!(error(""), "the file is empty");
    assert!(error("T0|w(x)|1\n").starts_with("no line is an event of RoadRunner's log"));
}
