//! One line of a RoadRunner log.

use crate::format::lines::shorten;

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// An event of the program.
    Event(Event<'a>),
    /// Anything else that was printed.
    Other,
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Read,
    Write,
    VolatileRead,
    VolatileWrite,
    Acquire,
    Release,
    Start,
    Join,
    Wait,
    Notify,
    NotifyAll,
    ClassInited,
    ClassAccessed,
    BarrierEnter,
    BarrierExit,
    /// Logged, but not an event of a trace.
    Nothing,
}

/// An event as the log has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event<'a> {
    pub(super) does: Does,
    pub(super) thread: &'a [u8],
    pub(super) object: &'a [u8],
    pub(super) location: Option<&'a [u8]>,
}

/// Reads a line: `@`, blanks, `Word(thread,object[,more])`, and for accesses the old state and the location.
pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, String> {
    let Some(text) = line.strip_prefix(b"@") else { return Ok(Line::Other) };
    let text = text.trim_ascii();
    let word_end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(word_end);
    let Some(rest) = rest.strip_prefix(b"(").filter(|_| !word.is_empty()) else { return Ok(Line::Other) };
    let does = match word {
        b"Rd" | b"ARd" => Does::Read,
        b"Wr" | b"AWr" => Does::Write,
        b"VRd" => Does::VolatileRead,
        b"VWr" => Does::VolatileWrite,
        b"Acquire" => Does::Acquire,
        b"Release" => Does::Release,
        b"Start" => Does::Start,
        b"Join" => Does::Join,
        b"Wait" => Does::Wait,
        b"Notify" => Does::Notify,
        b"ClassInited" => Does::ClassInited,
        // RoadRunner writes it so.
        b"ClassAccssed" | b"ClassAccessed" => Does::ClassAccessed,
        b"Barrier" => Does::BarrierEnter,
        b"Enter" | b"Exit" | b"Sleep" | b"Interrupt" | b"Interrupted" => Does::Nothing,
        _ => return Err(format!("unknown event `{}`", shorten(word))),
    };
    if does == Does::Nothing {
        return Ok(Line::Event(Event { does, thread: b"", object: b"", location: None }));
    }
    event(does, word, rest).map(Line::Event)
}

fn event<'a>(does: Does, word: &[u8], rest: &'a [u8]) -> Result<Event<'a>, String> {
    let word = || shorten(word);
    let close = memchr::memchr(b')', rest).ok_or_else(|| format!("no `)` closes `{}(`", word()))?;
    let (inner, rest) = (&rest[..close], &rest[close + 1..]);
    let mut fields = inner.split(|&b| b == b',');
    let (thread, object) = (fields.next().unwrap_or(b""), fields.next().unwrap_or(b""));
    let (third, more) = (fields.next(), fields.next());
    if thread.is_empty() || object.is_empty() || more.is_some() {
        return Err(format!("`{}({})` is not {0}(thread,object)", word(), shorten(inner)));
    }
    let wrong = |third: Option<&[u8]>| Err(format!("`{}` cannot end in `{}`", word(), shorten(third.unwrap_or(b")"))));
    let mut event = Event { does, thread, object, location: None };
    match (does, third) {
        (Does::Read | Does::Write | Does::VolatileRead | Does::VolatileWrite, Some(place)) => {
            event.location = Some(place)
        }
        (Does::Read | Does::Write | Does::VolatileRead | Does::VolatileWrite, None) => {
            event.location = location_behind(rest, matches!(does, Does::VolatileRead | Does::VolatileWrite));
        }
        (Does::Notify, Some(b"true")) => event.does = Does::NotifyAll,
        (Does::Notify, Some(b"false") | None) => {}
        (Does::BarrierEnter, Some(b"Enter")) => {}
        (Does::BarrierEnter, Some(b"Exit")) => event.does = Does::BarrierExit,
        (Does::BarrierEnter | Does::Notify, third) => return wrong(third),
        (_, Some(_)) => return wrong(third),
        (_, None) => {}
    }
    Ok(event)
}

/// The location after an access; values in brackets and the analysis state may precede it. Accesses to volatiles
/// are logged with the state alone.
fn location_behind(rest: &[u8], volatile: bool) -> Option<&[u8]> {
    let rest = match rest {
        [b'[', values @ ..] => values.splitn(2, |&b| b == b']').nth(1).unwrap_or(b""),
        _ => rest,
    };
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let last = words.next_back()?;
    (!volatile || words.next().is_some()).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Does, &str, &str, Option<&str>) {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        match parse(line.as_bytes()) {
            Ok(Line::Event(e)) => (e.does, text(e.thread), text(e.object), e.location.map(text)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_what_the_print_tool_writes() {
        let line = "@    ARd(2,null.test/Deadlock.value_I)  Final  Deadlock.java:50:7";
        assert_eq!(read(line), (Does::Read, "2", "null.test/Deadlock.value_I", Some("Deadlock.java:50:7")));
        let line = "@     AWr(0,@05[13])[1 -> 2]  Final  Functions.java:116:153";
        assert_eq!(read(line), (Does::Write, "0", "@05[13]", Some("Functions.java:116:153")));
        assert_eq!(read("@ Rd(0,x.f,Foo.java:12)"), (Does::Read, "0", "x.f", Some("Foo.java:12")));
        assert_eq!(read("@  VRd(1,@02.stop_Z)  state"), (Does::VolatileRead, "1", "@02.stop_Z", None));
        assert_eq!(read("@  Acquire(2,@03)"), (Does::Acquire, "2", "@03", None));
        assert_eq!(read("@  Notify(2,@03,true)"), (Does::NotifyAll, "2", "@03", None));
        assert_eq!(read("@  Barrier(2,@03,Exit)"), (Does::BarrierExit, "2", "@03", None));
        assert_eq!(read("@   Exit(1,test/Deadlock.doSomething()V)").0, Does::Nothing);
    }

    #[test]
    fn other_output_is_told_from_bad_lines() {
        for line in ["", "hello", "[main: ok]", "@ 0 started .", "@  stopped 1", "@ test acquire @03", "@", "@ (1,2)"] {
            assert_eq!(parse(line.as_bytes()), Ok(Line::Other), "{line}");
        }
        for line in
            ["@ Read(0,x)", "@ Rd(0)", "@ Rd(0,x", "@ Rd(,x)", "@ Rd(0,x,y,z)", "@ Join(0,1,2)", "@ Barrier(0,1)"]
        {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
