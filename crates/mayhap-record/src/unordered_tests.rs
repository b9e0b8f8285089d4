use super::*;
use mayhap_wire::ring::{atomic_word, site_word};

/// A run by its words, one record or access at a time.
struct Told(Run);

impl Told {
    fn new() -> Told {
        let mut run = Run::default();
        run.record(Tag::Site, 1, &[site_word(0x101, SiteKind::Read, 8)]);
        run.record(Tag::Site, 2, &[site_word(0x102, SiteKind::Write, 8)]);
        run.record(Tag::Site, 3, &[site_word(0x103, SiteKind::Other, 0)]);
        run.record(Tag::Fork, 3, &[1]);
        run.record(Tag::Fork, 3, &[2]);
        Told(run)
    }

    fn by(mut self, thread: u32) -> Told {
        self.0.record(Tag::Switch, thread, &[]);
        self
    }

    fn writes(mut self, address: u64) -> Told {
        self.0.access(2, address);
        self
    }

    fn reads(mut self, address: u64) -> Told {
        self.0.access(1, address);
        self
    }

    fn does(mut self, tag: Tag, body: &[u64]) -> Told {
        self.0.record(tag, 3, body);
        self
    }

    fn atomic(self, kind: AtomicKind, order: u8) -> Told {
        self.does(Tag::Atomic, &[0x900, atomic_word(kind, order, 8)])
    }

    fn found(self) -> Vec<[u64; 2]> {
        self.0.found.into_iter().collect()
    }
}

#[test]
fn a_release_that_is_read_by_an_acquire_orders_and_a_relaxed_one_does_not() {
    let run = |release: u8, acquire: u8| {
        let run = Told::new().by(1).writes(64).atomic(AtomicKind::Store, release);
        run.by(2).atomic(AtomicKind::Load, acquire).reads(64).found()
    };
    assert_eq!(run(order::RELEASE, order::ACQUIRE), [] as [[u64; 2]; 0]);
    assert_eq!(run(order::RELAXED, order::ACQUIRE), [[0x102, 0x101]]);
    assert_eq!(run(order::RELEASE, order::RELAXED), [[0x102, 0x101]]);
}

#[test]
fn fences_order_what_comes_before_and_after_relaxed_accesses() {
    let run = |fences: bool| {
        let mut run = Told::new().by(1).writes(64);
        if fences {
            run = run.does(Tag::Fence, &[order::RELEASE.into()]);
        }
        run = run.atomic(AtomicKind::Store, order::RELAXED).by(2).atomic(AtomicKind::Load, order::RELAXED);
        if fences {
            run = run.does(Tag::Fence, &[order::ACQUIRE.into()]);
        }
        run.writes(64).found().len()
    };
    assert_eq!((run(true), run(false)), (0, 1));
}

#[test]
fn updates_hand_on_what_they_saw_and_stores_do_not() {
    let run = |kind: AtomicKind| {
        let run = Told::new().by(1).writes(64).atomic(AtomicKind::Store, order::RELEASE);
        let run = run.by(0).atomic(kind, order::RELAXED);
        run.by(2).atomic(AtomicKind::Load, order::ACQUIRE).reads(64).found().len()
    };
    assert_eq!((run(AtomicKind::Update), run(AtomicKind::Store)), (0, 1));
}

#[test]
fn locks_order_and_readers_of_one_lock_do_not() {
    let lock = |take: Tag, first: &[u64]| {
        let run = Told::new().by(1).does(take, first).writes(64).does(Tag::AnyRelease, first);
        run.by(2).does(take, first).writes(64).does(Tag::AnyRelease, first).found().len()
    };
    assert_eq!((lock(Tag::Acquire, &[8]), lock(Tag::SharedAcquire, &[8])), (0, 1));
}

#[test]
fn threads_come_after_what_starts_them_and_before_what_waits_for_their_end() {
    let run = Told::new().writes(64).does(Tag::Fork, &[3]).by(3).writes(64).by(0).does(Tag::Join, &[3]).reads(64);
    assert_eq!(run.found(), [] as [[u64; 2]; 0]);
    assert_eq!(Told::new().does(Tag::Fork, &[3]).writes(64).by(3).reads(64).found(), [[0x102, 0x101]]);
}

#[test]
fn memory_that_is_allocated_again_is_other_memory_and_its_end_is_a_write() {
    let used = || Told::new().by(1).does(Tag::Alloc, &[64, 16]).writes(64);
    assert_eq!(used().does(Tag::Free, &[64]).by(2).does(Tag::Alloc, &[64, 16]).writes(64).found().len(), 0);
    assert_eq!(used().by(2).does(Tag::Free, &[64]).found(), [[0x102, 0x103]]);
}

#[test]
fn bytes_beside_each_other_and_atomic_accesses_do_not_race() {
    assert_eq!(Told::new().by(1).writes(64).by(2).writes(72).found().len(), 0);
    assert_eq!(Told::new().by(1).writes(60).by(2).writes(64).found().len(), 1);
    let atomics = Told::new().by(1).atomic(AtomicKind::Update, order::RELAXED);
    assert_eq!(atomics.by(2).atomic(AtomicKind::Update, order::RELAXED).found().len(), 0);
}

#[test]
fn places_are_the_same_wherever_a_module_lies() {
    let at = |base| Module { base, low: base, end: base + 0x1000, path: "/lib/a.so".into(), changed: false };
    assert_eq!(named([0x1010, 0x1020], &[at(0x1000)]), named([0x5020, 0x5010], &[at(0x5000)]));
    assert_ne!(named([0x1010, 0x1020], &[at(0x1000)]), named([0x1010, 0x1021], &[at(0x1000)]));
}
