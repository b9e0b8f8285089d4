//! Locks, and conditions of all kinds that wake threads up.

use mayhap_trace::{Flags, LockKind, NONE, NameError, Op};

use super::{Lowering, names};
use crate::lower::sync::Wake;

impl Lowering {
    pub(super) fn lock(&mut self, address: u64) -> Result<u32, NameError> {
        if let Some(lock) = self.objects.lock(address) {
            return Ok(lock);
        }
        let name = self.name(address);
        let id = names::define(&mut self.tables.locks, &name)?;
        self.objects.set_lock(address, id);
        self.tables.lock_kinds.set(id as usize, LockKind::Mutex);
        Ok(id)
    }

    pub(super) fn acquire(&mut self, op: Op, site: u32, address: u64) -> Result<(), NameError> {
        let lock = self.lock(address)?;
        if op == Op::SharedAcquire {
            self.tables.lock_kinds.set(lock as usize, LockKind::RwLock);
        }
        let attempt = std::mem::take(&mut self.thread().attempt);
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        self.emit_with(op, lock, site, attempt, NONE)?;
        self.objects.hold(lock, self.current, op == Op::SharedAcquire);
        Ok(())
    }

    pub(super) fn release(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        let lock = self.lock(address)?;
        let op = match self.objects.unhold(lock, self.current) {
            Some(true) => Op::SharedRelease,
            _ => Op::Release,
        };
        self.named(op, lock, site)
    }

    /// The condition that a wake-up goes through.
    pub(super) fn condition(&mut self, address: u64, wake: Wake) -> Result<u32, NameError> {
        if let Some(condition) = self.objects.condition(address, wake) {
            return Ok(condition);
        }
        let name = match (self.name(address), wake) {
            (name, Wake::Condition) => name,
            (name, Wake::Once) => format!("once {name}"),
            (name, Wake::Park) => format!("parker {name}"),
            (name, Wake::Scope) => format!("scope {name}"),
            (name, Wake::Round(round)) => format!("round {round} of {name}"),
        };
        let id = names::define(&mut self.tables.conditions, &name)?;
        self.objects.set_condition(address, wake, id);
        self.tables.condition_kinds.set(id as usize, wake.kind());
        Ok(id)
    }

    pub(super) fn notify(&mut self, op: Op, site: u32, address: u64, wake: Wake) -> Result<(), NameError> {
        let condition = self.condition(address, wake)?;
        self.named(op, condition, site)?;
        self.objects.notified(condition, self.current, self.count);
        Ok(())
    }

    /// Waits for the latest notify of another thread, if there is one after event number `since`.
    pub(super) fn wait(&mut self, site: u32, address: u64, wake: Wake, since: Option<u64>) -> Result<(), NameError> {
        let condition = self.condition(address, wake)?;
        if self.objects.was_notified(condition, self.current, since.unwrap_or(0)) {
            let attempt =
                if wake == Wake::Condition { std::mem::take(&mut self.thread().attempt) } else { Flags::NONE };
            self.emit_with(Op::Wait, condition, site, attempt, NONE)?;
        }
        Ok(())
    }

    pub(super) fn arrive(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        let (round, first, last) = self.objects.barrier(address).arrive(self.current);
        self.implicit_branch()?;
        if !first {
            self.wait(site, address, Wake::Round(round), None)?;
        }
        self.notify(if last { Op::NotifyAll } else { Op::Notify }, site, address, Wake::Round(round))
    }
}
