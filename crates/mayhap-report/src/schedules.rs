//! The observed schedule and the witness around the target, for pictures: rows with small numbers into name tables.

use serde::{Deserialize, Serialize};

/// Observed and possible order of the same events, trimmed around the target.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Schedules {
    /// Threads by [`Row::thread`].
    pub threads: Vec<String>,
    /// Variables, locks, threads and conditions by [`Row::object`].
    pub objects: Vec<String>,
    /// Locations by [`Row::location`].
    pub locations: Vec<String>,
    /// The events in observed order. Those of the target are among them.
    pub rows: Vec<Row>,
    /// The order of the witness: positions in `rows`. Rows that are not in it do not run in the witness before the target.
    pub witness: Vec<u32>,
    /// Reads that see another write in the witness than observed.
    #[serde(default)]
    pub changed: Vec<Changed>,
    /// How many events the observed schedule has.
    pub observed_total: u64,
    /// How many steps the witness has.
    pub witness_total: u64,
    /// How many steps of the witness come before the first that is here.
    #[serde(default)]
    pub witness_skipped: u64,
}

/// One event of a schedule. In JSON an array of these six.
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
    /// The number of the event that belongs to it: release to acquire and back, the write that a read saw, the notify that
    /// a wait returned from.
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
