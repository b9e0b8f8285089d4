//! What the lines of a RoadRunner log mean as events.

use hashbrown::HashMap;

use super::parse::{Does, Event};
use crate::columns::Columns;
use crate::error::ErrorKind;
use crate::id::NONE;
use crate::names::{Names, Tables};
use crate::op::Op;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A call that was logged before it took effect, or whose second line is still to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Start(u16),
    /// Takes effect when the thread continues.
    Join(u16),
    Notify(u32, bool),
    /// It released the lock, which it held this many times; and whether another thread notified since.
    Wait {
        lock: u32,
        depth: u32,
        notified: bool,
    },
}

#[derive(Default)]
struct Thread {
    pending: Option<Pending>,
    forked: bool,
    /// The round of each barrier that the thread is in.
    rounds: Map<u32, u32>,
}

/// A barrier: the round that threads enter now. It is open until a thread leaves it.
#[derive(Default)]
struct Barrier {
    round: u32,
    entered: u32,
    left: bool,
}

/// Turns lines into events.
#[derive(Default)]
pub(super) struct Lowering {
    tables: Tables,
    threads: Vec<Thread>,
    /// RoadRunner gives the number of a thread that has ended to a later one: the thread that has it now.
    current: Map<Vec<u8>, u16>,
    /// How often each thread holds each lock.
    held: Map<(u16, u32), u32>,
    initialised: Map<u32, u16>,
    barriers: Map<u32, Barrier>,
    barrier_names: Option<Names>,
    /// The log has the lines after calls, not only those before.
    twins: bool,
    nothing: u64,
    inner: u64,
    timeouts: u64,
    lost_joins: u64,
}

impl Lowering {
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn into_tables(self) -> Tables {
        self.tables
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let counts = [
            (self.inner, "acquires and releases of locks already held are left out"),
            (self.nothing, "method calls, sleeps and interrupts are left out: they are not events"),
            (
                self.timeouts,
                "waits returned without a notify (a timeout, an interrupt) and are only a release and an acquire",
            ),
            (self.lost_joins, "joins are left out: the log does not name the thread"),
        ];
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }

    /// Takes the next line's event.
    pub(super) fn take(&mut self, event: &Event<'_>, chunk: &mut Columns) -> Result<(), ErrorKind> {
        if event.does == Does::Nothing {
            self.nothing += 1;
            return Ok(());
        }
        let thread = self.thread(event.thread)?;
        if self.settle(thread, event, chunk)? {
            return Ok(());
        }
        match event.does {
            Does::Read | Does::Write | Does::VolatileRead | Does::VolatileWrite => self.access(thread, event, chunk)?,
            Does::Acquire | Does::Release => {
                let lock = self.tables.locks.intern(event.object)?;
                let op = if event.does == Does::Acquire { Op::Acquire } else { Op::Release };
                self.lock(thread, op, lock, chunk);
            }
            Does::Start => self.start(thread, event.object, chunk)?,
            Does::Join if event.object.starts_with(b"-") => self.lost_joins += 1,
            Does::Join => {
                let child = self.thread(event.object)?;
                self.threads[usize::from(thread)].pending = Some(Pending::Join(child));
            }
            Does::Wait => self.wait(thread, event.object, chunk)?,
            Does::Notify | Does::NotifyAll => self.notify(thread, event, chunk)?,
            Does::ClassInited | Does::ClassAccessed => self.class(thread, event, chunk)?,
            Does::BarrierEnter | Does::BarrierExit => self.barrier(thread, event, chunk)?,
            Does::Nothing => {}
        }
        Ok(())
    }

    /// The log has ended: joins that returned without a separate line count, those that still wait do not.
    pub(super) fn end(&mut self, chunk: &mut Columns) {
        for (thread, state) in (0..).zip(&mut self.threads) {
            if let (Some(Pending::Join(child)), false) = (state.pending.take(), self.twins) {
                chunk.push_cells(thread, Op::Join, child.into(), NONE);
            }
        }
    }

    /// The thread that has this number now.
    fn thread(&mut self, number: &[u8]) -> Result<u16, ErrorKind> {
        if let Some(&thread) = self.current.get(number) {
            return Ok(thread);
        }
        self.new_thread(number, number)
    }

    fn new_thread(&mut self, number: &[u8], name: &[u8]) -> Result<u16, ErrorKind> {
        let thread = self.tables.threads.define(name)? as u16;
        self.threads.push(Thread::default());
        self.current.insert(number.to_vec(), thread);
        Ok(thread)
    }

    /// Lets a pending call of the thread take effect; `true` if the event is only that call's second line.
    fn settle(&mut self, thread: u16, event: &Event<'_>, chunk: &mut Columns) -> Result<bool, ErrorKind> {
        let Some(pending) = self.threads[usize::from(thread)].pending.take() else { return Ok(false) };
        let object = event.object;
        let names_thread = |child: u16| self.current.get(object) == Some(&child);
        let names_lock = |lock: u32| self.tables.locks.get(lock as usize).as_bytes() == object;
        let names_condition = |condition: u32| self.tables.conditions.get(condition as usize).as_bytes() == object;
        let twin = match pending {
            Pending::Start(child) => event.does == Does::Start && names_thread(child),
            Pending::Join(child) => event.does == Does::Join && (names_thread(child) || object.starts_with(b"-")),
            Pending::Notify(condition, all) => {
                event.does == (if all { Does::NotifyAll } else { Does::Notify }) && names_condition(condition)
            }
            Pending::Wait { lock, .. } => event.does == Does::Wait && names_lock(lock),
        };
        self.twins |= twin;
        match pending {
            Pending::Join(child) => chunk.push_cells(thread, Op::Join, child.into(), NONE),
            Pending::Wait { lock, depth, notified } => {
                if notified {
                    let name = self.tables.locks.get(lock as usize).to_owned();
                    let condition = self.tables.conditions.intern(name.as_bytes())?;
                    chunk.push_cells(thread, Op::Wait, condition, NONE);
                } else {
                    self.timeouts += 1;
                }
                if depth > 0 {
                    chunk.push_cells(thread, Op::Acquire, lock, NONE);
                    self.held.insert((thread, lock), depth);
                }
            }
            Pending::Start(_) | Pending::Notify(..) => {}
        }
        Ok(twin)
    }

    /// An access; to a volatile, under a lock that is named like it, so that accesses to it do not overlap.
    fn access(&mut self, thread: u16, event: &Event<'_>, chunk: &mut Columns) -> Result<(), ErrorKind> {
        let op = match event.does {
            Does::Read | Does::VolatileRead => Op::Read,
            _ => Op::Write,
        };
        let volatile = matches!(event.does, Does::VolatileRead | Does::VolatileWrite);
        let variable = self.tables.variables.intern(event.object)?;
        let location = event.location.map_or(Ok(NONE), |place| self.tables.locations.intern(place))?;
        let lock = if volatile { self.tables.locks.intern(event.object)? } else { NONE };
        if volatile {
            chunk.push_cells(thread, Op::Acquire, lock, location);
        }
        chunk.push_cells(thread, op, variable, location);
        if volatile {
            chunk.push_cells(thread, Op::Release, lock, location);
        }
        Ok(())
    }

    /// The outermost acquire and release of a lock. RoadRunner can be made to log the inner ones too.
    fn lock(&mut self, thread: u16, op: Op, lock: u32, chunk: &mut Columns) {
        let depth = self.held.entry((thread, lock)).or_insert(0);
        let outermost = match op {
            Op::Acquire => *depth == 0,
            _ => *depth <= 1,
        };
        *depth = if op == Op::Acquire { *depth + 1 } else { depth.saturating_sub(1) };
        if outermost {
            chunk.push_cells(thread, op, lock, NONE);
        } else {
            self.inner += 1;
        }
    }

    fn start(&mut self, thread: u16, number: &[u8], chunk: &mut Columns) -> Result<(), ErrorKind> {
        let mut child = self.thread(number)?;
        if self.threads[usize::from(child)].forked {
            let text = String::from_utf8_lossy(number);
            let taken = |life: &u32| self.tables.threads.find(&format!("{text}#{life}")).is_some();
            let life = (2..).find(|life| !taken(life)).unwrap_or(u32::MAX);
            child = self.new_thread(number, format!("{text}#{life}").as_bytes())?;
        }
        self.threads[usize::from(child)].forked = true;
        self.threads[usize::from(thread)].pending = Some(Pending::Start(child));
        chunk.push_cells(thread, Op::Fork, child.into(), NONE);
        Ok(())
    }

    /// A call of `wait`: releases the monitor, however often the thread holds it.
    fn wait(&mut self, thread: u16, monitor: &[u8], chunk: &mut Columns) -> Result<(), ErrorKind> {
        let lock = self.tables.locks.intern(monitor)?;
        let depth = self.held.remove(&(thread, lock)).unwrap_or(0);
        if depth > 0 {
            chunk.push_cells(thread, Op::Release, lock, NONE);
        }
        self.threads[usize::from(thread)].pending = Some(Pending::Wait { lock, depth, notified: false });
        Ok(())
    }

    fn notify(&mut self, thread: u16, event: &Event<'_>, chunk: &mut Columns) -> Result<(), ErrorKind> {
        let all = event.does == Does::NotifyAll;
        let condition = self.tables.conditions.intern(event.object)?;
        let locks = &self.tables.locks;
        for waiter in &mut self.threads {
            if let Some(Pending::Wait { lock, notified, .. }) = &mut waiter.pending {
                *notified |= locks.get(*lock as usize).as_bytes() == event.object;
            }
        }
        self.threads[usize::from(thread)].pending = Some(Pending::Notify(condition, all));
        chunk.push_cells(thread, if all { Op::NotifyAll } else { Op::Notify }, condition, NONE);
        Ok(())
    }

    /// Who uses a class waits for the thread that initialised it.
    fn class(&mut self, thread: u16, event: &Event<'_>, chunk: &mut Columns) -> Result<(), ErrorKind> {
        let condition = self.tables.conditions.intern(event.object)?;
        if event.does == Does::ClassInited {
            self.initialised.insert(condition, thread);
            chunk.push_cells(thread, Op::NotifyAll, condition, NONE);
        } else if self.initialised.get(&condition).is_some_and(|&by| by != thread) {
            chunk.push_cells(thread, Op::Wait, condition, NONE);
        }
        Ok(())
    }

    /// A thread that enters waits for the threads that entered before, and notifies; a thread that leaves waits too. It therefore follows all that
    /// entered the round, at two events a line. The order among those that enter constrains nothing else, since a thread
    /// does nothing between entering and leaving.
    fn barrier(&mut self, thread: u16, event: &Event<'_>, chunk: &mut Columns) -> Result<(), ErrorKind> {
        let names = self.barrier_names.get_or_insert_with(|| Names::new("barriers", NONE as usize));
        let id = names.intern(event.object)?;
        let barrier = self.barriers.entry(id).or_default();
        let rounds = &mut self.threads[usize::from(thread)].rounds;
        let enters = event.does == Does::BarrierEnter;
        if enters {
            if barrier.left {
                *barrier = Barrier { round: barrier.round + 1, entered: 0, left: false };
            }
            barrier.entered += 1;
            rounds.insert(id, barrier.round);
        }
        let Some(&round) = rounds.get(&id) else {
            return Err(ErrorKind::Syntax("a thread leaves a barrier that it has not entered".into()));
        };
        let name = format!("{}#{round}", String::from_utf8_lossy(event.object));
        let condition = self.tables.conditions.intern(name.as_bytes())?;
        // Later rounds are entered only after this one was left, so `entered` is still this round's or more than it.
        let others = barrier.entered > 1 || barrier.round > round;
        if others {
            chunk.push_cells(thread, Op::Wait, condition, NONE);
        }
        if enters {
            chunk.push_cells(thread, Op::NotifyAll, condition, NONE);
        } else {
            barrier.left |= barrier.round == round;
            rounds.remove(&id);
        }
        Ok(())
    }
}
