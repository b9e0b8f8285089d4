//! The schedules around the target, for the pictures: the last steps of the witness, and the events near the target in the
//! recorded run, as many as fit.

use std::collections::{BTreeSet, HashMap};

use mayhap_trace::{EventId, Op};
use mayhap_witness::{Schedule, Target};

use super::Describer;
use crate::schedules::{Changed, Row, Schedules};

/// The recorded and the witness schedule, with at most `describer.steps` rows besides the target's own.
pub(super) fn around(
    describer: &Describer<'_>,
    target: &Target,
    schedule: &Schedule,
    changed: &[Changed],
) -> Schedules {
    let events = target.events();
    let room = describer.steps;
    // A quarter is reserved for events near the target in the recorded run that the witness does not run.
    let tail = schedule.tail(room - room / 4);
    let mut chosen: BTreeSet<EventId> = tail.iter().chain(&events).copied().collect();
    observed_near(describer, &events, room, &mut chosen);

    let mut tables = Tables::default();
    let rows: Vec<Row> = chosen.iter().map(|&id| tables.row(describer, id)).collect();
    let position: HashMap<EventId, u32> = chosen.iter().zip(0u32..).map(|(&id, i)| (id, i)).collect();
    // Rows that the witness runs before its tail would appear without their neighbours, so they are shown on the recorded
    // side only; steps that are not in `witness` are counted as skipped.
    let witness: Vec<u32> = tail.iter().map(|id| position[id]).collect();
    let shown: BTreeSet<u64> = tail.iter().map(|id| id.number()).collect();
    let changed = changed.iter().filter(|c| shown.contains(&c.event)).cloned().collect();
    Schedules {
        threads: tables.threads.names,
        objects: tables.objects.names,
        locations: tables.locations.names,
        rows,
        witness,
        changed,
        observed_total: describer.relevant(),
        witness_total: schedule.len() as u64,
        witness_skipped: (schedule.len() - tail.len()) as u64,
    }
}

/// Adds the recorded events nearest to the target's events, alternately before and after each.
fn observed_near(describer: &Describer<'_>, events: &[EventId], room: usize, chosen: &mut BTreeSet<EventId>) {
    let all = describer.trace.len();
    let mut distance = 1;
    while chosen.len() < room && distance <= room {
        for &event in events {
            let near = [event.index().checked_sub(distance), Some(event.index() + distance)];
            for index in near.into_iter().flatten().filter(|&i| i < all) {
                let id = EventId::at(index);
                if chosen.len() < room && describer.relations.is_relevant(id) {
                    chosen.insert(id);
                }
            }
        }
        distance += 1;
    }
}

/// Names that rows refer to by number, in order of appearance.
#[derive(Default)]
struct Names<K> {
    index: HashMap<K, u32>,
    names: Vec<String>,
}

impl<K: std::hash::Hash + Eq> Names<K> {
    fn of(&mut self, key: K, name: &str) -> u32 {
        *self.index.entry(key).or_insert_with(|| {
            self.names.push(name.to_string());
            self.names.len() as u32 - 1
        })
    }
}

#[derive(Default)]
struct Tables {
    threads: Names<u32>,
    objects: Names<(u8, u32)>,
    locations: Names<u32>,
}

impl Tables {
    fn row(&mut self, describer: &Describer<'_>, id: EventId) -> Row {
        let (event, tables) = (describer.trace.event(id), describer.trace.tables());
        let object = tables.of(event.op.names()).map(|names| names.get(event.object as usize));
        let relations = describer.relations;
        let partner = match event.op {
            Op::Read => relations.read_from(id),
            Op::Wait => relations.notify_of(id),
            Op::Acquire | Op::SharedAcquire => relations.matching_release(id),
            Op::Release | Op::SharedRelease => relations.acquire_of(id),
            _ => None,
        };
        Row {
            event: id.number(),
            thread: self.threads.of(event.thread.cell(), tables.thread(event.thread)),
            op: event.op.word().to_string(),
            object: object.map(|name| self.objects.of((event.op.names() as u8, event.object), name)),
            location: event.location.map(|l| self.locations.of(l.cell(), tables.locations.get(l.index()))),
            partner: partner.map(EventId::number),
        }
    }
}
