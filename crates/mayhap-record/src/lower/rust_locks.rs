//! Rust's locks, lifted from the atomics they are made of (see [`rust_sites`]).
//!
//! A lifted lock has no variable: taking it is `acq` or `racq`, giving it up `rel` or `rrel`. What a thread found out by a try
//! that failed is kept as a read of the lock's *state*, an atomic variable that takers and givers of such a lock write; so
//! in a reordering in which the try would have succeeded, the thread has read something else.
//!
//! Nothing is lifted if any atomic operation of the run that is as wide is opaque: it might be the lock's, and half a lock orders
//! nothing. Then they are atomics, which order what they protect in every reordering: less is found, nothing false is proven.
//!
//! What is recorded late is entered where the lock is known to be held: the slow paths of `parking_lot` hand locks over without any
//! atomic operation, so their acquire stands before the thread's first step beyond that code. Should another thread have
//! taken the lock in between, the hold is taken back.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use mayhap_trace::{Flags, MemoryOrder, NameError, Op, Value, VariableKind};
use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, order};

use super::atomics::Atomic;
use super::{Lowering, View};
use crate::lower::names;
use crate::lower::sync::Wake;
use crate::sharing::first_pass::Atomics;
use mayhap_symbols::Symbols;
use mayhap_symbols::rust_sites::{self, Meaning, Otherwise, Owner, Place};

/// Calls that are looked through for the lock's own code.
const CALLERS: usize = 16;

/// The width of `std`'s locks.
const STD: u8 = 4;

/// Who holds a lifted lock.
#[derive(Default)]
struct Held {
    alone: Option<u16>,
    together: Vec<u16>,
}

/// A lock that a thread waits for.
#[derive(Clone, Copy)]
struct Waiting {
    site: u32,
    address: u64,
    shared: bool,
    /// It gave the lock up to wait on a condition, so no operation of its own takes it again.
    again: bool,
}

/// What the lowering knows of Rust's locks.
#[derive(Default)]
pub(crate) struct RustLocks {
    /// Widths of atomics that some opaque operation has.
    off: HashSet<u8>,
    /// How many opaque places in Rust code might be those of `std`'s locks.
    opaque: usize,
    places: HashMap<u64, (Place, Owner)>,
    /// Addresses of locks that a try failed on.
    pub(crate) tried: BTreeSet<u64>,
    held: HashMap<u32, Held>,
    /// Locks that threads wait for in code of the lock's own.
    waiting: HashMap<u16, Waiting>,
    /// Where threads began to take a lock, and which: the first operation, that others and slow paths may follow.
    begun: HashMap<u16, (u32, u64)>,
    /// Locks that each thread holds.
    holds: HashMap<u16, u32>,
    /// What the word under way did to a lock: the site of the operation that it began with, and the lock.
    pub(crate) done: Option<(u32, u64)>,
    /// The variable that stands for a lock's state.
    states: BTreeMap<u64, u32>,
    /// Which parker is whose, where a thread was seen asleep on it.
    parkers: BTreeMap<u64, u16>,
    /// Parkers that were notified, and event counts when threads were last parked.
    notified: BTreeSet<u64>,
    parked: HashMap<u16, u64>,
    /// Scopes that a thread has left.
    scopes: BTreeSet<u64>,
}

impl RustLocks {
    /// What the atomic operations of a run have in common.
    pub(crate) fn of(atomics: &Atomics, symbols: &Symbols) -> RustLocks {
        let mut locks = RustLocks::default();
        for &(pc, size) in &atomics.places {
            let functions = symbols.functions(pc);
            let place = rust_sites::place(&functions);
            // Whether a wait of limited length got its lock, and whether `bump` gave it up, is not seen: such locks stay atomics.
            if matches!(place, Place::Opaque | Place::Lock(Meaning::Timed)) {
                locks.off.insert(size);
            }
            if place == Place::Opaque {
                locks.opaque += usize::from(!functions.is_empty() && size == STD);
            }
            locks.places.insert(pc, (place, rust_sites::owner(&functions)));
        }
        let fails = |pc| {
            let tries = Meaning::Take { shared: false, otherwise: Otherwise::Fails };
            let shared = Meaning::Take { shared: true, otherwise: Otherwise::Fails };
            matches!(locks.places.get(pc), Some((Place::Lock(m), _)) if *m == tries || *m == shared || *m == Meaning::Look)
        };
        locks.tried = atomics.reads.iter().filter(|(pc, _)| fails(pc)).map(|&(_, address)| address).collect();
        locks
    }

    /// The memory gets a new life.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        self.states.retain(|address, _| !(start..end).contains(address));
        self.notified.retain(|address| !(start..end).contains(address));
        self.scopes.retain(|address| !(start..end).contains(address));
        self.parkers.retain(|address, _| !(start..end).contains(address));
    }

    fn is_empty(&self) -> bool {
        self.states.is_empty() && self.notified.is_empty() && self.scopes.is_empty() && self.parkers.is_empty()
    }

    /// [`Self::forget`], at no cost where there is nothing to forget.
    #[inline]
    pub(crate) fn forget_if_any(&mut self, start: u64, end: u64) {
        if !self.is_empty() {
            self.forget(start, end);
        }
    }
}

impl Lowering {
    /// What the user should know if Rust's locks could not be lifted.
    pub(crate) fn unlifted(&self) -> Option<String> {
        let places = self.rust_locks.opaque;
        (places > 0).then(|| {
            format!(
                "{places} atomic operations could not be distinguished, as in code built without optimisation: the locks of \
                 Rust's standard library are atomics in this trace"
            )
        })
    }

    fn place_of(&mut self, site: u32) -> (Place, Owner) {
        self.place_at(self.sites.get(site).pc)
    }

    /// The thread is in a function that the lock's own code called, such as one of the library that sets up its thread's part.
    fn is_in_lock(&mut self) -> bool {
        let callers: Vec<u64> = self.stacks.callers(self.current).take(CALLERS).collect();
        let owner = callers.into_iter().map(|pc| self.place_at(pc).1).find(|&owner| owner != Owner::Library);
        owner == Some(Owner::Lock)
    }

    fn place_at(&mut self, pc: u64) -> (Place, Owner) {
        if let Some(&known) = self.rust_locks.places.get(&pc) {
            return known;
        }
        let functions = self.symbols.functions(pc);
        let found = (rust_sites::place(&functions), rust_sites::owner(&functions));
        self.rust_locks.places.insert(pc, found);
        found
    }

    /// An atomic operation; `false` if it is to be lowered as one.
    pub(crate) fn lifted(&mut self, site: u32, address: u64, kind: AtomicKind, size: u8) -> Result<bool, NameError> {
        let (Place::Lock(meaning), _) = self.place_of(site) else { return Ok(false) };
        match meaning {
            Meaning::Unpark => self.unpark(site, address)?,
            Meaning::ScopeWait => {
                if let Some(&scope) = self.rust_locks.scopes.range(address.saturating_sub(64)..=address).next_back() {
                    self.wait(site, scope, Wake::Scope, None)?;
                }
                return Ok(false);
            }
            _ if self.rust_locks.off.contains(&size) => return Ok(false),
            Meaning::Take { shared, otherwise } => match (kind, otherwise) {
                (AtomicKind::Load, Otherwise::Fails) => self.look(site, address)?,
                (_, Otherwise::Fails) => {
                    self.thread().attempt = Flags::TRY;
                    self.take(site, address, shared)?;
                }
                (AtomicKind::Load, how) => {
                    self.begins_to_take(site, address);
                    if how == Otherwise::Waits {
                        self.wait_for_lock(site, address, shared, false);
                    }
                }
                _ => {
                    self.rust_locks.done = Some((self.began_to_take(site, address), address));
                    self.take(site, address, shared)?;
                }
            },
            Meaning::Slow { shared } => {
                let entry = Waiting { site, address, shared, again: false };
                self.rust_locks.waiting.entry(self.current).or_insert(entry);
            }
            Meaning::Timed => return Ok(false),
            Meaning::Give { shared, waits } => {
                self.give(site, address, shared)?;
                self.rust_locks.done = Some((site, address));
                if waits {
                    self.wait_for_lock(site, address, shared, true);
                }
            }
            Meaning::Downgrade => {
                self.give(site, address, false)?;
                self.take(site, address, true)?;
            }
            Meaning::Upgrade if kind == AtomicKind::Load => {}
            Meaning::Upgrade => {
                self.give(site, address, true)?;
                self.wait_for_lock(site, address, false, true);
            }
            Meaning::Look => self.look(site, address)?,
            Meaning::Nothing => {}
        }
        Ok(true)
    }

    fn wait_for_lock(&mut self, site: u32, address: u64, shared: bool, again: bool) {
        self.rust_locks.waiting.insert(self.current, Waiting { site, address, shared, again });
    }

    /// An operation looks at a lock in order to take it.
    fn begins_to_take(&mut self, site: u32, address: u64) {
        let begun = self.rust_locks.begun.entry(self.current).or_insert((site, address));
        if begun.1 != address {
            *begun = (site, address);
        }
    }

    /// The first of the operations that take a lock, of which `site` is the last.
    fn began_to_take(&mut self, site: u32, address: u64) -> u32 {
        let begun = self.rust_locks.begun.remove(&self.current);
        begun.filter(|&(_, lock)| lock == address).map_or(site, |(first, _)| first)
    }

    /// Before a step of the program's own: a thread that waited for a lock in the lock's own code has it now. Says whether the step is
    /// that code's instead: what it does to its own memory while it waits does not matter.
    #[inline]
    pub(crate) fn resolve_pending(&mut self, site: u32) -> Result<bool, NameError> {
        if self.rust_locks.waiting.is_empty() { Ok(false) } else { self.resolve_now(site) }
    }

    fn resolve_now(&mut self, site: u32) -> Result<bool, NameError> {
        let Some(&waiting) = self.rust_locks.waiting.get(&self.current) else { return Ok(false) };
        let Waiting { address, shared, .. } = waiting;
        if self.sites.get(site).pc == 0 {
            return Ok(false);
        }
        let (_, owner) = self.place_of(site);
        if owner == Owner::Lock {
            return Ok(true);
        }
        let lock = self.lock(address)?;
        let me = self.current;
        let taken = self.rust_locks.held.get(&lock).is_some_and(|held| {
            held.alone.is_some_and(|holder| holder != me) || (!shared && held.together.iter().any(|&t| t != me))
        });
        if owner == Owner::Library && self.is_in_lock() {
            return Ok(true);
        }
        if owner == Owner::Library && taken {
            return Ok(false);
        }
        self.has_waited(waiting)?;
        Ok(false)
    }

    /// The current thread has the lock that it waited for.
    fn has_waited(&mut self, waiting: Waiting) -> Result<(), NameError> {
        self.rust_locks.waiting.remove(&self.current);
        let first = self.began_to_take(waiting.site, waiting.address);
        self.take(waiting.site, waiting.address, waiting.shared)?;
        self.note_lock(first, waiting.address, waiting.again);
        Ok(())
    }

    /// A lock was taken, or given up, by what began at `site`: a step of its own, if a replay can wait for it.
    pub(crate) fn note_lock(&mut self, site: u32, address: u64, again: bool) {
        let events = self.count - std::mem::replace(&mut self.noted, self.count);
        let view = View { sites: &self.sites, blocks: &self.blocks, symbols: &self.symbols };
        if again {
            self.steps.skip(events);
        } else if events > 0 {
            self.steps.locked(&view, self.current, site, address, events);
        }
    }

    /// A lock was really taken.
    pub(crate) fn take(&mut self, site: u32, address: u64, shared: bool) -> Result<(), NameError> {
        self.rust_locks.waiting.remove(&self.current);
        let lock = self.lock(address)?;
        let me = self.current;
        let held = self.rust_locks.held.entry(lock).or_default();
        let mut gone: Vec<(u16, bool)> =
            held.alone.take_if(|holder| *holder != me).map(|t| (t, false)).into_iter().collect();
        if !shared {
            gone.extend(held.together.extract_if(.., |t| *t != me).map(|t| (t, true)));
        }
        // Whoever seemed to hold it does not: it gave it up unseen, or has yet to get it.
        for (thread, shared) in gone {
            self.current = thread;
            self.give_as(0, lock, shared)?;
            self.current = me;
            let entry = Waiting { site, address, shared, again: true };
            self.rust_locks.waiting.entry(thread).or_insert(entry);
        }
        let held = self.rust_locks.held.entry(lock).or_default();
        if shared {
            held.together.push(me);
        } else {
            held.alone = Some(me);
        }
        *self.rust_locks.holds.entry(me).or_default() += 1;
        self.acquire(if shared { Op::SharedAcquire } else { Op::Acquire }, site, address)?;
        self.changed(site, address)
    }

    /// A lock is given up, by whichever thread holds it.
    pub(crate) fn give(&mut self, site: u32, address: u64, shared: bool) -> Result<(), NameError> {
        // Who gives up the lock that it waited for has had it, with nothing of the program's own in between.
        match self.rust_locks.waiting.get(&self.current) {
            Some(&waiting) if waiting.address == address => self.has_waited(waiting)?,
            _ => _ = self.resolve_now(site)?,
        }
        let lock = self.lock(address)?;
        let me = self.current;
        let held = self.rust_locks.held.entry(lock).or_default();
        let holder = if shared {
            let at = held.together.iter().position(|&t| t == me).or((!held.together.is_empty()).then_some(0));
            at.map(|at| held.together.swap_remove(at))
        } else {
            held.alone.take()
        };
        let Some(holder) = holder else { return Ok(()) };
        self.changed(site, address)?;
        self.current = holder;
        self.give_as(site, lock, shared)?;
        self.current = me;
        Ok(())
    }

    /// A guard gives up a lock that its thread holds. If the thread holds no other, no value can have decided which one that
    /// is; of several, an index may have chosen the guard.
    fn give_as(&mut self, site: u32, lock: u32, shared: bool) -> Result<(), NameError> {
        self.objects.unhold(lock, self.current);
        let op = if shared { Op::SharedRelease } else { Op::Release };
        let holds = self.rust_locks.holds.entry(self.current).or_default();
        *holds = holds.saturating_sub(1);
        if *holds == 0 { self.emit(op, lock, site) } else { self.decided(op, lock, site) }
    }

    /// The slow path of one of `std`'s locks has it.
    pub(crate) fn std_acquired(&mut self, site: u32, address: u64, shared: bool) -> Result<(), NameError> {
        if !self.rust_locks.off.contains(&STD) {
            // After a wait on a condition no operation of the program's own came first.
            let begun = self.rust_locks.begun.get(&self.current).is_some_and(|&(_, lock)| lock == address);
            if begun {
                self.rust_locks.done = Some((self.began_to_take(site, address), address));
            }
            self.take(site, address, shared)
        } else {
            self.atomic(site, hidden_update(address, order::ACQUIRE))
        }
    }

    /// One of `std`'s mutexes is given up to wait on a condition.
    pub(crate) fn std_released(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        if !self.rust_locks.off.contains(&STD) {
            self.give(site, address, false)
        } else {
            self.atomic(site, hidden_update(address, order::RELEASE))
        }
    }

    /// The variable of a lock's state, and its value: how many threads hold the lock together, or that one holds it alone.
    fn state(&mut self, address: u64) -> Result<(u32, u32), NameError> {
        let lock = self.lock(address)?;
        let held = self.rust_locks.held.get(&lock);
        let value = held.map_or(0, |held| if held.alone.is_some() { 1 } else { 2 * held.together.len() as u64 });
        let value = self.tables.values.intern(Value::Bits(value))?.cell();
        if let Some(&state) = self.rust_locks.states.get(&address) {
            return Ok((state, value));
        }
        let name = format!("state of {}", self.name(address));
        let variable = names::define_variable(&mut self.variables, &mut self.tables.variables, &name)?;
        self.tables.variable_kinds.set(variable as usize, VariableKind::Atomic);
        self.rust_locks.states.insert(address, variable);
        Ok((variable, value))
    }

    /// The state of a lock that tries failed on has changed.
    fn changed(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        if !self.rust_locks.tried.contains(&address) {
            return Ok(());
        }
        let (variable, value) = self.state(address)?;
        self.emit_with(Op::Write, variable, site, Flags::atomic(MemoryOrder::Relaxed), value)
    }

    /// A thread found a lock in some state.
    fn look(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        self.branch(site)?;
        let (variable, value) = self.state(address)?;
        self.emit_with(Op::Read, variable, site, Flags::atomic(MemoryOrder::Relaxed), value)?;
        self.thread().dirty = true;
        Ok(())
    }

    /// Wakes the thread of a parker; that thread waits for all that came before.
    fn unpark(&mut self, site: u32, parker: u64) -> Result<(), NameError> {
        self.branch(site)?;
        self.rust_locks.notified.insert(parker);
        self.wait(site, parker, Wake::Park, None)?;
        self.notify(Op::NotifyAll, site, parker, Wake::Park)
    }

    /// The thread was parked and another thread woke it. Where it did not sleep its parker may not be known; then it waits for all
    /// that it may be, which is more than it need.
    pub(crate) fn parked(&mut self, site: u32, futex: u64) -> Result<(), NameError> {
        let me = self.current;
        if futex != 0 {
            self.rust_locks.parkers.insert(futex, me);
        }
        let mine = self.rust_locks.parkers.iter().find(|&(_, &thread)| thread == me).map(|(&parker, _)| parker);
        let candidates: Vec<u64> = match mine {
            Some(parker) => vec![parker],
            None => {
                self.rust_locks.notified.iter().copied().filter(|p| !self.rust_locks.parkers.contains_key(p)).collect()
            }
        };
        let since = self.rust_locks.parked.get(&me).copied().unwrap_or(0);
        for parker in candidates {
            self.wait(site, parker, Wake::Park, Some(since))?;
        }
        self.rust_locks.parked.insert(me, self.count);
        Ok(())
    }

    /// A thread of a scope ends; the scope's end waits for all of them.
    pub(crate) fn scope_left(&mut self, site: u32, scope: u64) -> Result<(), NameError> {
        self.branch(site)?;
        self.rust_locks.scopes.insert(scope);
        self.wait(site, scope, Wake::Scope, None)?;
        self.notify(Op::NotifyAll, site, scope, Wake::Scope)
    }
}

/// The update of one of `std`'s locks by its own code, which is not instrumented.
fn hidden_update(address: u64, order: u8) -> Atomic {
    Atomic { address, kind: AtomicKind::Update, form: AtomicForm::Plain, order, size: STD, values: None }
}

/// What functions tell that stand in for those of Rust's standard library.
pub(super) fn is_std(tag: Tag) -> bool {
    use Tag::{BarrierArrive, BarrierLeave, Notify, NotifyAll, Parked, StdLocked, StdUnlocked, WaitBegin, WaitEnd};
    matches!(
        tag,
        StdLocked | StdUnlocked | WaitBegin | WaitEnd | Notify | NotifyAll | Parked | BarrierArrive | BarrierLeave
    )
}
