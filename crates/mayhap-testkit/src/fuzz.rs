//! Interprets any bytes as a small trace, a target, a model and a schedule, for the kernel to check.

use mayhap_trace::{
    Columns, ConditionKind, EventId, Execution, Flags, MemoryOrder, NONE, ObjectKind, Op, Tables, Trace, Value,
    validate,
};
use mayhap_witness::{Checker, Model, Target, Witness};

use crate::{Facts, Judge};

const THREADS: usize = 4;
const OBJECTS: usize = 3;
const MOST_EVENTS: usize = 24;
/// Operations that bytes can say: all but the mark of a tried acquire, so that stored inputs keep their meaning.
const OPS: usize = Op::Try as usize;

/// Bytes one after the other, zeros at the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
}

/// What some bytes mean.
#[derive(Debug)]
pub struct Question {
    /// A well-formed trace.
    pub trace: Trace,
    /// The target, which need not make sense.
    pub target: Target,
    /// The model.
    pub model: Model,
    /// The schedule, which need not be correct.
    pub schedule: Vec<EventId>,
}

/// First bytes from here on say that events have properties and values, and conditions kinds.
const WITH_PROPERTIES: u8 = 200;

impl Question {
    /// Reads the bytes: how many events, two or four bytes for each, the target, the model, and the rest as schedule.
    pub fn read(bytes: &[u8]) -> Question {
        let mut bytes = Bytes(bytes);
        let first = bytes.next();
        let count = usize::from(first) % (MOST_EVENTS + 1);
        let mut tables = tables();
        let mut columns = Columns::default();
        if first < WITH_PROPERTIES {
            (0..count).for_each(|_| _ = event(&mut bytes, &Op::ALL[..OPS], &mut columns));
        } else {
            let ops: Vec<Op> = Op::ALL.iter().copied().filter(|&op| op != Op::Try).collect();
            kinds(&mut bytes, &mut tables);
            for _ in 0..count {
                let op = event(&mut bytes, &ops, &mut columns);
                properties(&mut bytes, op, &mut columns, &mut tables);
            }
        }
        let (trace, _) = validate::repair(Trace::from_parts(columns, tables));
        let target = target(&mut bytes, trace.len(), first >= WITH_PROPERTIES);
        let model = Model::ALL[bytes.below(Model::ALL.len())];
        let schedule = schedule(&mut bytes, &trace);
        Question { trace, target, model, schedule }
    }
}

/// Returns two bytes as thread, operation and object.
fn event(bytes: &mut Bytes<'_>, ops: &[Op], columns: &mut Columns) -> Op {
    let (who, what) = (bytes.next() as usize, bytes.next() as usize);
    let op = ops[what % ops.len()];
    let object = what / ops.len();
    let object = match op.names() {
        ObjectKind::Thread => object % THREADS,
        ObjectKind::Nothing => NONE as usize,
        _ => object % OBJECTS,
    };
    columns.push_cells((who % THREADS) as u16, op, object as u32, NONE);
    op
}

/// Two bytes as properties that the operation can have, and a value.
fn properties(bytes: &mut Bytes<'_>, op: Op, columns: &mut Columns, tables: &mut Tables) {
    let (bits, value) = (u16::from(bytes.next()), bytes.next());
    let allowed = Flags::allowed(op).bits();
    // Fences need an order, and of three events one is joined.
    let bits = if op == Op::Fence && bits & 7 == 0 { bits | 6 } else { bits };
    let bits = if value % 3 == 0 { bits } else { bits & !Flags::JOINED.bits() };
    let flags = Flags::from_bits(bits & allowed).unwrap_or(if op == Op::Fence { FENCE } else { Flags::NONE });
    let cell = match value % 4 {
        known @ 0..3 if op.is_access() => tables.values.intern(Value::Bits(known.into())).expect("few values").cell(),
        _ => NONE,
    };
    columns.set_last(flags, cell);
}

const FENCE: Flags = Flags::atomic(MemoryOrder::SequentiallyConsistent);

fn kinds(bytes: &mut Bytes<'_>, tables: &mut Tables) {
    for condition in 0..OBJECTS {
        let byte = bytes.next();
        let semaphore = ConditionKind::Semaphore { initial: u32::from(byte >> 4) % 3 };
        let kinds = [ConditionKind::Unspecified, ConditionKind::Condition, semaphore, ConditionKind::Token];
        tables.condition_kinds.set(condition, kinds[usize::from(byte) % kinds.len()]);
    }
}

fn tables() -> Tables {
    let mut tables = Tables::default();
    let mut name = |kind: ObjectKind, count: usize| {
        let names = tables.of_mut(kind).expect("the kind has names");
        for i in 0..count {
            names.define(format!("{i}").as_bytes()).expect("few names, all new");
        }
    };
    name(ObjectKind::Thread, THREADS);
    [ObjectKind::Lock, ObjectKind::Variable, ObjectKind::Condition].into_iter().for_each(|kind| name(kind, OBJECTS));
    tables
}

fn target(bytes: &mut Bytes<'_>, events: usize, unordered: bool) -> Target {
    let kind = bytes.below(5 + usize::from(unordered));
    // One past the end stands for events that the trace does not have, or for the initial value.
    let mut event = || EventId::at(bytes.below(events + 1));
    let (a, b, c) = (event(), event(), event());
    let write = |e: EventId| Some(e).filter(|e| e.index() < events);
    match kind {
        0 => Target::Race(a, b),
        5 => Target::UnorderedRace(a, b),
        1 if c.index() < events => Target::Deadlock(vec![a, b, c]),
        1 => Target::Deadlock(vec![a, b]),
        2 => Target::Atomicity { first: a, remote: b, second: c },
        3 => Target::Sequence { events: vec![a, b, c], adjacent: if a < b { vec![(b, c)] } else { vec![] } },
        _ => Target::Nondeterminism { write: write(a), read: b, other: write(c) },
    }
}

/// Most bytes continue a thread, so that schedules make progress; the others name any event.
fn schedule(bytes: &mut Bytes<'_>, trace: &Trace) -> Vec<EventId> {
    let facts = Facts::of(trace);
    let mut positions = [0; THREADS];
    let mut schedule = Vec::new();
    while !bytes.0.is_empty() && schedule.len() < 2 * MOST_EVENTS {
        let byte = bytes.next();
        let thread = byte as usize % THREADS;
        match facts.threads[thread].get(positions[thread]) {
            Some(&event) if byte < 224 => {
                positions[thread] += 1;
                schedule.push(EventId::at(event));
            }
            _ if byte < 224 => {}
            _ => schedule.push(EventId::at(bytes.below(trace.len() + 1))),
        }
    }
    schedule
}

/// Checks that the kernel and the judge agree, twice.
///
/// # Panics
/// If they do not.
pub fn kernel(bytes: &[u8]) {
    let question = Question::read(bytes);
    let Question { trace, target, model, schedule } = &question;
    let execution = Execution::derive(trace).expect("a repaired trace is well-formed");
    let expected = Judge::new(trace).accepts(target, *model, schedule);
    let mut checker = Checker::new(&execution);
    for _ in 0..2 {
        let said = checker.check(target, *model, Witness { schedule: schedule.into() });
        assert_eq!(said.is_ok(), expected, "{question:?}: {said:?}");
    }
}
