//! Serialises a schedule as a list of event numbers without building that list, which can be larger than everything else.

use mayhap_trace::EventId;
use mayhap_witness::Schedule;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(schedule.iter().map(EventId::number))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
    deserializer.deserialize_seq(Numbers)
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Schedule;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a list of event numbers, from 1")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Schedule, A::Error> {
        let mut schedule = Schedule::default();
        while let Some(number) = list.next_element()? {
            let wrong = || Error::invalid_value(Unexpected::Unsigned(number), &self);
            schedule.push(EventId::from_number(number).ok_or_else(wrong)?);
        }
        Ok(schedule)
    }
}
