//! Planting races and deadlocks, and the orderly end of the work.

use mayhap_trace::{Columns, Op};

use crate::names::enter;
use crate::shape::DEADLOCK;
use crate::{Generator, LINES, Phase, Race, SITES, SITES_A_LOCK, Section};

impl Generator {
    /// Plants are spread evenly over the trace.
    pub(crate) fn is_time_to_plant(&self) -> bool {
        let all = self.shape.races + self.shape.deadlocks;
        let next = self.races + self.deadlocks + 1;
        // In 128 bits: events and plants may both be near 2^32.
        next <= all
            && u128::from(self.emitted) * u128::from(all + 1) >= u128::from(next) * u128::from(self.shape.events)
    }

    /// Plants the next race or deadlock between the current thread and another; `false` if that must wait until they are
    /// outside of critical sections.
    pub(crate) fn plant(&mut self, chunk: &mut Columns) -> bool {
        let mut other = self.random.below(self.shape.threads - 1);
        if other >= self.current {
            other += 1;
        }
        let (races, deadlocks) = (u128::from(self.shape.races), u128::from(self.shape.deadlocks));
        // Both kinds advance in proportion.
        let race = u128::from(self.races) * deadlocks <= u128::from(self.deadlocks) * races;
        if self.races < self.shape.races && (race || self.deadlocks == self.shape.deadlocks) {
            if self.shape.hidden_among(self.races + 1) > self.shape.hidden_among(self.races) {
                return self.plant_hidden(chunk, other);
            }
            let race = self.new_race();
            self.race_access(chunk, &race, 0);
            self.pending = Some(race);
            self.run(other);
            self.run_left = self.random.below(2 * self.shape.run);
        } else {
            self.plant_deadlock(chunk, other);
        }
        true
    }

    /// The second access of a plain race, if one is due.
    pub(crate) fn finish_race(&mut self, chunk: &mut Columns) -> bool {
        let race = self.pending.take();
        if let Some(race) = &race {
            self.race_access(chunk, race, 1);
        }
        race.is_some()
    }

    fn new_race(&mut self) -> Race {
        self.races += 1;
        let variable = enter(&mut self.tables.variables, format!("race{}", self.races));
        let ops = match self.random.below(3) {
            0 => [Op::Write, Op::Write],
            1 => [Op::Write, Op::Read],
            _ => [Op::Read, Op::Write],
        };
        Race { variable, number: self.races, ops }
    }

    /// One access of a race by the current thread, at a separate source location.
    fn race_access(&mut self, chunk: &mut Columns, race: &Race, which: usize) {
        self.owed -= 1;
        let location = format!("race{}.c:{}", race.number, which + 1);
        self.emit_planted(chunk, race.ops[which], race.variable, location);
    }

    fn emit_planted(&mut self, chunk: &mut Columns, op: Op, object: u32, location: String) {
        let location = enter(&mut self.tables.locations, location);
        chunk.push_cells(self.current as u16, op, object, location);
        self.emitted += 1;
    }

    fn plant_hidden(&mut self, chunk: &mut Columns, other: u32) -> bool {
        // Out of all sections, both threads may take any lock without nesting locks against the order of their numbers.
        let outside = |t: u32| self.workers[t as usize].sections.is_empty();
        if !outside(self.current) || !outside(other) {
            return false;
        }
        let lock = self.random.below(self.shape.locks.min(self.shared));
        if self.held[lock as usize] != 0 {
            return false;
        }
        let race = self.new_race();
        self.race_access(chunk, &race, 0);
        self.reading_section(chunk, lock);
        self.run(other);
        self.reading_section(chunk, lock);
        self.race_access(chunk, &race, 1);
        true
    }

    /// A section of the current thread that reads one of the variables that its lock guards.
    fn reading_section(&mut self, chunk: &mut Columns, lock: u32) {
        let me = self.current as usize;
        let site = lock.wrapping_mul(SITES_A_LOCK) % SITES;
        let section = Section { lock, reader: false, left: 0, lines: site * LINES };
        let variable = lock + self.shape.locks * self.random.below(self.guarded_by(lock));
        self.lock_op(chunk, me, section, true);
        self.access_unbranched(chunk, me, variable, Op::Read, section.lines + 2);
        self.lock_op(chunk, me, section, false);
        self.owed -= 3;
    }

    fn plant_deadlock(&mut self, chunk: &mut Columns, other: u32) {
        self.deadlocks += 1;
        let number = self.deadlocks;
        let locks = ["a", "b"].map(|side| enter(&mut self.tables.locks, format!("deadlock{number}{side}")));
        for (turn, [outer, inner]) in [locks, [locks[1], locks[0]]].into_iter().enumerate() {
            let steps = [(Op::Acquire, outer), (Op::Acquire, inner), (Op::Release, inner), (Op::Release, outer)];
            for (i, (op, lock)) in steps.into_iter().enumerate() {
                self.emit_planted(chunk, op, lock, format!("deadlock{number}.c:{}", 4 * turn + i + 1));
            }
            if turn == 0 {
                self.run(other);
            }
        }
        self.owed -= DEADLOCK;
        self.run_left = 0;
    }

    /// One step towards the joins: finishes a race, closes sections, plants what is left.
    pub(crate) fn close(&mut self, chunk: &mut Columns) {
        if self.finish_race(chunk) {
            return;
        }
        while let Some(me) = self.able.last().map(|&t| t as usize) {
            if !self.workers[me].sections.is_empty() {
                return self.release(chunk, me);
            }
            self.able.pop();
        }
        self.inside.clear();
        if self.races < self.shape.races || self.deadlocks < self.shape.deadlocks {
            self.plant(chunk);
        } else {
            self.phase = Phase::Join(1);
        }
    }
}
