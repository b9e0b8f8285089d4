//! What is known of channels by number: small tables of the runtime's own, changed by the thread that holds the token.

use core::sync::atomic::{AtomicU64, Ordering};

/// Entries of each table. What does not fit takes an older entry's place.
const ENTRIES: usize = 1 << 12;
/// Places where an entry may be.
const PROBES: usize = 16;

type Row<const N: usize> = [AtomicU64; N];

/// A table from a key that is not 0 to `N - 1` words.
pub(crate) struct Table<const N: usize>([Row<N>; ENTRIES]);

impl<const N: usize> Table<N> {
    pub(crate) const fn new() -> Self {
        Table([const { [const { AtomicU64::new(0) }; N] }; ENTRIES])
    }

    fn rows(&self, key: u64) -> impl Iterator<Item = &Row<N>> {
        let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
        (0..PROBES).map(move |i| &self.0[(start + i) % ENTRIES])
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Row<N>> {
        self.rows(key).find(|row| row[0].load(Ordering::Relaxed) == key)
    }

    /// Returns the entry of a key; one whose words are 0 where there was none.
    pub(crate) fn entry(&self, key: u64) -> &Row<N> {
        if let Some(row) = self.get(key) {
            return row;
        }
        let free = self.rows(key).find(|row| row[0].load(Ordering::Relaxed) == 0);
        let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
        let row = free.unwrap_or(&self.0[start]);
        for word in &row[1..] {
            word.store(0, Ordering::Relaxed);
        }
        row[0].store(key, Ordering::Relaxed);
        row
    }

    pub(crate) fn remove(&self, key: u64) {
        if let Some(row) = self.get(key) {
            row[0].store(0, Ordering::Relaxed);
        }
    }
}

/// Channels whose both ends are of this process.
static OWN: Table<1> = Table::new();

pub(crate) fn note_own(key: u64) {
    OWN.entry(key);
}

/// What comes through the channel is put in by this process: it is no input from outside.
pub(crate) fn is_own(key: u64) -> bool {
    OWN.get(key).is_some()
}

/// Connections that no thread has accepted yet: when, the listener's key, the socket that connects.
static PENDING: [Row<3>; 256] = [const { [const { AtomicU64::new(0) }; 3] }; 256];
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A socket without a name connects to a listener.
pub(crate) fn connects(listener: u64, inode: u64) {
    let when = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let row = &PENDING[when as usize % PENDING.len()];
    row[1].store(listener, Ordering::Relaxed);
    row[2].store(inode, Ordering::Relaxed);
    row[0].store(when, Ordering::Relaxed);
}

/// A listener accepts: the socket that has waited longest.
pub(crate) fn accepts(listener: u64) -> Option<u64> {
    let waits = |row: &&Row<3>| row[0].load(Ordering::Relaxed) != 0 && row[1].load(Ordering::Relaxed) == listener;
    let row = PENDING.iter().filter(waits).min_by_key(|row| row[0].load(Ordering::Relaxed))?;
    row[0].store(0, Ordering::Relaxed);
    Some(row[2].load(Ordering::Relaxed))
}

/// The socket does not wait to be accepted after all.
pub(crate) fn withdraws(inode: u64) {
    for row in PENDING.iter().filter(|row| row[2].load(Ordering::Relaxed) == inode) {
        row[0].store(0, Ordering::Relaxed);
    }
}
