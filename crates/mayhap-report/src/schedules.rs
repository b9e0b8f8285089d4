//! The recorded schedule and the witness around the target, for the pictures: rows of small numbers that index name tables.

use serde::{Deserialize, Serialize};

/// The recorded and the possible order of the same events, trimmed around the target.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Schedules {
    /// Threads by [`Row::thread`].
    pub threads: Vec<String>,
    /// Variables, locks, threads and conditions by [`Row::object`].
    pub objects: Vec<String>,
    /// Locations by [`Row::location`].
    pub locations: Vec<String>,
    /// The events in recorded order, those of the target included.
    pub rows: Vec<Row>,
    /// The order of the witness, as positions in `rows`. The witness does not run the other rows before the target.
    pub witness: Vec<u32>,
    /// Reads that see another write in the witness than in the recorded run.
    #[serde(default)]
    pub changed: Vec<Changed>,
    /// How many events the recorded schedule has.
    pub observed_total: u64,
    /// How many steps the witness has.
    pub witness_total: u64,
    /// How many steps of the witness precede the first one in `rows`.
    #[serde(default)]
    pub witness_skipped: u64,
}

/// One event of a schedule. In JSON it is an array of these six fields.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Cells", from = "Cells")]
pub struct Row {
    /// Its number in the trace, from 1.
    pub event: u64,
    /// The thread: a position in [`Schedules::threads`].
    pub thread: u32,
    /// The operation, as in the text format.
    pub op: String,
    /// A position in [`Schedules::objects`].
    pub object: Option<u32>,
    /// A position in [`Schedules::locations`].
    pub location: Option<u32>,
    /// The number of the related event: the release of an acquire and vice versa, the write that a read saw, the notify that
    /// ended a wait.
    pub partner: Option<u64>,
}

type Cells = (u64, u32, String, Option<u32>, Option<u32>, Option<u64>);

impl From<Row> for Cells {
    fn from(row: Row) -> Cells {
        (row.event, row.thread, row.op, row.object, row.location, row.partner)
    }
}

impl From<Cells> for Row {
    fn from((event, thread, op, object, location, partner): Cells) -> Row {
        Row { event, thread, op, object, location, partner }
    }
}

/// A read that sees another write in the witness.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Changed {
    /// The read's number.
    pub event: u64,
    /// The number of the write that it sees; `None` is the initial value.
    pub sees: Option<u64>,
}
