//! What the first pass knows of a granule, and when its accesses are worth keeping.
//!
//! A granule's accesses are kept if two of them conflict (different threads, one writes) and nothing but the run's own
//! interleaving orders the two. Where something else does they are kept only while they are few ([`FEW`]), as evidence of what
//! the program does with what it has read. All others are left out, and nothing is lost: let any two conflicting accesses
//! of a variable be ordered by must-order (here: by creation and joining of threads). Every correct reordering keeps
//! must-order, and with an event has everything that must come before it. So the writes of the variable come in their
//! observed order, before each read come the same writes as observed, and each read sees what it saw.
//! - A correct reordering of the trace without these accesses becomes one of the full trace by putting each access after
//!   its thread's previous event: whatever orders it with its conflicts is in both traces. The other way, they are dropped.
//! - No two of them can ever be next together, so there is no race; no read of them can see another write; and what stands
//!   between two of them by must-order stands there in every run of the program, so that no reordering put it there.
//! - A read that always sees the same needs no branch after it.
//!
//! States, by FastTrack's idea (Flanagan and Freund, PLDI 2009, section 3) over this order instead of happens-before:
//! - *owned* by a thread in a segment: all accesses so far are that thread's, or come before its own;
//! - *split*: one thread has read since the last access before, which is kept apart from it;
//! - *many*: several threads have read since the last write, which comes before them all;
//! - *kept*: two accesses conflict and nothing orders them.
//!
//! Where a state forgets (who the many readers were), the granule counts as kept unless everything so far is ordered.
//! Cost: one masked comparison for an access of the owner in the same segment.

use crate::sharing::order::Order;
use crate::sharing::shadow_table::Table;

/// Bit i of the low byte: an access starts or ends before byte i of the granule. Bit 0 is never set.
pub(crate) const CUTS: u64 = 0xfe;
const TOUCHED: u64 = 1 << 8;
const WRITTEN: u64 = 1 << 9;
const SPLIT: u64 = 1 << 10;
const MANY: u64 = 1 << 11;
/// The granule's accesses are kept.
pub(crate) const KEPT: u64 = 1 << 12;
/// Two threads touched it.
const HANDED: u64 = 1 << 13;
/// It is in the list of what two threads touched.
const LISTED: u64 = 1 << 14;
/// Thread and segment of the owner, of the access before the one reader, or of the last write before many.
const EPOCH: u64 = 0xff_ffff_ffff << 16;
/// Accesses so far, up to [`FEW`]; one where a site comes several times in a row.
const COUNT: u64 = 0xff << 56;
/// As many accesses of a granule are no longer few.
const FEW: u64 = 0xff;
/// Segments from this number on are ordered before nothing.
const SEGMENTS: u32 = 0xff_ffff;

/// Thread and segment as they stand in a cell.
#[inline]
fn epoch(thread: u16, segment: u32) -> u64 {
    u64::from(thread) << 16 | u64::from(segment.min(SEGMENTS)) << 32
}

/// The accesses of a granule in this state are kept.
fn is_kept(cell: u64) -> bool {
    cell & KEPT != 0 || cell & (HANDED | WRITTEN) == HANDED | WRITTEN && cell >> 56 < FEW
}

/// Whether all accesses so far are those of the owner, which is in the segment `present`, or come before its own.
#[inline]
fn is_owned(cell: u64, present: u64) -> bool {
    cell & (EPOCH | SPLIT | MANY | KEPT | TOUCHED) == present | TOUCHED
}

/// The state with one more access.
#[inline]
fn counted(cell: u64) -> u64 {
    if cell < COUNT { cell + (1 << 56) } else { cell }
}

#[inline]
fn is_before(order: &Order, cell: u64, me: u16) -> bool {
    let (thread, segment) = ((cell >> 16) as u16, (cell >> 32) as u32 & SEGMENTS);
    thread == me || segment != SEGMENTS && order.is_before(thread, segment, me)
}

/// The granules of the program's memory, as one thread at a time touches them.
#[derive(Default)]
pub(crate) struct Owners {
    cells: Table,
    /// The one reader of each split granule.
    readers: Table,
    order: Order,
    thread: u16,
    /// The present thread and segment.
    present: u64,
    /// Thread and segment of a last write that comes before the present thread.
    written_before: u64,
    /// Which piece of the run this is, from 1, and the pages that were touched in it.
    piece: u32,
    pages: Vec<u64>,
    /// Granules that a second thread has touched since the list was taken.
    handed: Vec<u64>,
}

impl Owners {
    /// Another piece of the run begins; the pages that were touched since the last one began.
    pub(crate) fn next_piece(&mut self) -> Vec<u64> {
        // The number comes round after as many pieces as no disk holds; then too many pages count as shared.
        self.piece = self.piece.checked_add(1).unwrap_or(1);
        std::mem::take(&mut self.pages)
    }

    /// The turn passes to another thread.
    pub(crate) fn switch(&mut self, thread: u16) {
        self.order.leaves(self.thread);
        self.thread = thread;
        self.renew();
    }

    fn renew(&mut self) {
        // No thread and segment that a cell has.
        self.written_before = u64::MAX;
        self.present = epoch(self.thread, self.order.now(self.thread));
    }

    /// The present thread creates another.
    pub(crate) fn fork(&mut self, child: u16) {
        self.order.fork(self.thread, child);
        self.renew();
    }

    /// The present thread has waited for the end of another.
    pub(crate) fn join(&mut self, child: u16) {
        self.order.join(self.thread, child);
        self.written_before = u64::MAX;
    }

    /// The present thread touches bytes `from..to` of the granule at `address`.
    #[inline]
    pub(crate) fn touch(&mut self, address: u64, writes: bool, from: u64, to: u64) {
        let cuts = ((1 << from) | (1 << to)) & CUTS;
        let wanted = TOUCHED | cuts | if writes { WRITTEN } else { 0 };
        let pages = &mut self.pages;
        let place = self.cells.visit(address, self.piece, |page| pages.push(page));
        let cell = *place;
        if cell & (EPOCH | SPLIT | MANY | KEPT | COUNT | wanted) == self.present | wanted | COUNT {
            return;
        }
        if is_owned(cell, self.present) {
            *place = counted(cell) | wanted;
            return;
        }
        // Read by many, and again, by a thread that comes after the last write.
        let again = !writes && cell & (EPOCH | MANY | KEPT | COUNT) == self.written_before | MANY | COUNT;
        if again && cell & cuts == cuts {
            return;
        }
        if cell & KEPT != 0 {
            if cell & cuts != cuts {
                self.cells.set(address, cell | cuts);
            }
            return;
        }
        let handed = if cell & TOUCHED != 0 && (cell >> 16) as u16 != self.thread { HANDED } else { 0 };
        let count = (cell >> 56).saturating_add(1).min(FEW) << 56;
        let state = self.next(address, cell, writes) & !COUNT;
        let listed = if handed != 0 && cell & LISTED == 0 { LISTED } else { 0 };
        if listed != 0 {
            self.handed.push(address / 8 * 8);
        }
        let next = state | cell & (CUTS | HANDED | LISTED) | cuts | handed | listed | count;
        if next != cell {
            self.cells.set(address, next);
        }
    }

    /// The present thread touches a granule so often again as it has just touched it.
    pub(crate) fn touched_again(&mut self, address: u64, times: u64) {
        let cell = self.cells.get(address);
        if cell & KEPT == 0 {
            let count = ((cell >> 56) + times.min(FEW)).min(FEW) << 56;
            self.cells.set(address, cell & !COUNT | count);
        }
    }

    /// The state after an access of the present thread, without cuts.
    #[inline]
    fn next(&mut self, address: u64, cell: u64, writes: bool) -> u64 {
        let me = self.thread;
        let owned = self.present | TOUCHED | cell & WRITTEN | if writes { WRITTEN } else { 0 };
        let (written, ordered) = (cell & WRITTEN != 0, is_before(&self.order, cell, me));
        if cell & TOUCHED == 0 {
            owned
        } else if cell & MANY != 0 {
            match writes {
                false if ordered => {
                    self.written_before = cell & EPOCH;
                    cell & !CUTS
                }
                false if !written => cell & !CUTS,
                true if self.order.is_alone(me) => owned,
                _ => KEPT,
            }
        } else if cell & SPLIT != 0 {
            let reader = self.readers.get(address);
            match (ordered, is_before(&self.order, reader, me), writes) {
                (false, _, _) | (_, false, true) => KEPT,
                (true, true, true) => owned,
                (true, true, false) => {
                    self.readers.set(address, self.present);
                    cell & !CUTS
                }
                (true, false, false) => cell & !CUTS & !SPLIT | MANY,
            }
        } else if cell & EPOCH == self.present || (cell >> 16) as u16 == me || ordered && (writes || !written) {
            owned
        } else if ordered {
            self.readers.set(address, self.present);
            cell & !CUTS | SPLIT
        } else if written || writes {
            KEPT
        } else {
            cell & !CUTS | MANY
        }
    }

    /// Takes the granules that a second thread has touched.
    #[inline]
    pub(crate) fn take_handed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.handed)
    }

    /// The life of a granule ends by the present thread; the next time that another thread touches it, it is listed again.
    pub(crate) fn ends(&mut self, granule: u64) {
        self.touch(granule, true, 0, 8);
        self.cells.set(granule, self.cells.get(granule) & !LISTED);
    }

    /// The present thread writes what was ever touched of `range`.
    pub(crate) fn write_touched(&mut self, range: std::ops::Range<u64>) {
        let (mut touched, present) = (Vec::new(), self.present);
        self.cells.each(range, |granule, cell| {
            if is_owned(cell, present) {
                return counted(cell) | WRITTEN;
            }
            touched.push(granule);
            cell
        });
        for granule in touched {
            self.touch(granule, true, 0, 8);
        }
    }

    /// The life of a range ends: what is kept of it (address, cuts), and its memory is as new.
    pub(crate) fn retire(&mut self, range: std::ops::Range<u64>, mut kept: impl FnMut(u64, u8)) {
        self.cells.each(range, |granule, cell| {
            if is_kept(cell) {
                kept(granule, (cell & CUTS) as u8);
            }
            0
        });
    }

    /// What is kept of all memory whose life has not ended: address and cuts.
    pub(crate) fn finish(mut self) -> Vec<(u64, u8)> {
        let mut kept = Vec::new();
        self.cells.all(|granule, cell| {
            if is_kept(cell) {
                kept.push((granule, (cell & CUTS) as u8));
            }
            cell
        });
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: u64 = 0x1230;

    /// Whether an unordered conflict is found. Steps of threads: `(thread, 'r' or 'w')`, forks `(parent, child digit)`, joins `(parent, child letter)`.
    fn is_kept(steps: &[(u16, char)]) -> bool {
        let mut owners = Owners::default();
        for &(thread, step) in steps {
            owners.switch(thread);
            match step {
                'r' | 'w' => owners.touch(PLACE, step == 'w', 0, 8),
                '0'..='9' => owners.fork(step as u16 - '0' as u16),
                _ => owners.join(step as u16 - 'A' as u16),
            }
        }
        let conflict = owners.cells.get(PLACE) & KEPT != 0;
        assert!(!conflict || !owners.finish().is_empty());
        conflict
    }

    #[test]
    fn ordered_accesses_are_kept_while_they_are_few() {
        for (accesses, kept) in [(100, true), (1000, false)] {
            let mut owners = Owners::default();
            owners.switch(0);
            owners.touch(PLACE, true, 0, 8);
            owners.fork(1);
            owners.switch(1);
            for _ in 0..accesses {
                owners.touch(PLACE, false, 0, 8);
            }
            assert_eq!(owners.finish().len(), usize::from(kept), "{accesses}");
        }
        let mut alone = Owners::default();
        alone.touch(PLACE, true, 0, 8);
        assert!(alone.finish().is_empty());
    }

    #[test]
    fn what_one_thread_touches_or_nobody_writes_is_left_out() {
        assert!(!is_kept(&[(1, 'w'), (1, 'r'), (1, 'w')]));
        assert!(!is_kept(&[(1, 'r'), (2, 'r'), (3, 'r')]));
        assert!(is_kept(&[(1, 'r'), (2, 'w')]));
        assert!(is_kept(&[(1, 'w'), (2, 'r')]));
        assert!(is_kept(&[(1, 'r'), (2, 'r'), (1, 'w')]));
    }

    #[test]
    fn what_creation_and_joining_order_is_left_out() {
        // Written before the threads are created, read by all, written again when they have been joined.
        let before = [(0, 'w'), (0, '1'), (0, '2'), (1, 'r'), (2, 'r'), (1, 'r')];
        let joined = [(0, 'B'), (0, 'C'), (0, 'w')];
        assert!(!is_kept(&before));
        assert!(!is_kept(&[&before[..], &joined].concat()));
        assert!(is_kept(&[&before[..], &joined[1..]].concat()), "thread 1 was not joined");
        assert!(is_kept(&[&before[..], &[(1, 'w')]].concat()));
        // Handed over to one thread, which writes, and back.
        assert!(!is_kept(&[(0, 'w'), (0, '1'), (1, 'r'), (1, 'w'), (1, 'r'), (0, 'B'), (0, 'r'), (0, 'w')]));
        assert!(is_kept(&[(0, 'w'), (0, '1'), (0, 'w'), (1, 'r')]), "written after the creation");
        assert!(is_kept(&[(0, '1'), (1, 'w'), (0, 'r'), (0, 'B')]), "read before the join");
        assert!(is_kept(&[(0, 'w'), (0, '1'), (1, 'r'), (0, 'w')]), "the one reader is not joined");
    }

    #[test]
    fn lives_are_judged_one_by_one() {
        let mut owners = Owners::default();
        owners.touch(PLACE, true, 4, 8);
        owners.switch(1);
        owners.touch(PLACE, true, 0, 2);
        let mut kept = Vec::new();
        owners.retire(PLACE..PLACE + 1, |granule, cuts| kept.push((granule, cuts)));
        assert_eq!(kept, [(PLACE, 1 << 4 | 1 << 2)]);
        owners.touch(PLACE, true, 0, 2);
        assert!(owners.finish().is_empty());
    }
}
