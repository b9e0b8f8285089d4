//! Attempts that failed and semaphores: what they found is a value that the thread may act upon.

use mayhap_trace::{ConditionKind, Flags, NONE, NameError, Op};
use mayhap_wire::ring::Tag;

use super::{Lowering, names};

/// The error number of an attempt that does not wait.
const EBUSY: u64 = 16;
/// The same for semaphores.
const EAGAIN: u64 = 11;

impl Lowering {
    /// An attempt failed: the object, the error number, and what was attempted.
    pub(crate) fn failed(&mut self, site: u32, object: u64, error: u64, attempted: u64) -> Result<(), NameError> {
        let (op, object) = match Tag::from_code(attempted as u8) {
            Some(Tag::Acquire) => (Op::FailedAcquire, self.lock(object)?),
            Some(Tag::SharedAcquire) => (Op::FailedSharedAcquire, self.lock(object)?),
            Some(Tag::SemWait) => (Op::FailedWait, self.semaphore(object)?),
            Some(Tag::Receive) => return self.found_empty(site, object),
            Some(Tag::KeyedAcquire) if let Some(lock) = self.known_keyed_lock(object) => (Op::FailedAcquire, lock),
            // Of other attempts only a branch can tell: what comes next may depend on the failure.
            _ => {
                self.thread().dirty = true;
                return Ok(());
            }
        };
        // A thread that waited may have got the lock and not have recorded it yet. Then only a branch can tell.
        if op != Op::FailedWait && self.objects.holders(object).is_empty() {
            self.thread().dirty = true;
            return Ok(());
        }
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        let attempt = if matches!(error, EBUSY | EAGAIN) { Flags::TRY } else { Flags::TIMED };
        self.emit_with(op, object, site, attempt, NONE)?;
        self.thread().dirty = true;
        Ok(())
    }

    /// The condition that stands for a semaphore.
    pub(crate) fn semaphore(&mut self, address: u64) -> Result<u32, NameError> {
        if let Some(condition) = self.objects.semaphore_condition(address) {
            return Ok(condition);
        }
        let name = self.name(address);
        let id = names::define(&mut self.tables.conditions, &name)?;
        let initial = self.objects.semaphore_initial(address);
        self.tables.condition_kinds.set(id as usize, ConditionKind::Semaphore { initial });
        self.objects.set_semaphore_condition(address, id);
        Ok(id)
    }

    /// A semaphore was lowered. A count that no post or initialisation explains was there from the beginning.
    pub(crate) fn lower_semaphore(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        let semaphore = self.semaphore(address)?;
        if self.objects.take_post(address) {
            let initial = self.objects.semaphore_initial(address);
            self.tables.condition_kinds.set(semaphore as usize, ConditionKind::Semaphore { initial });
        }
        let attempt = std::mem::take(&mut self.thread().attempt);
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        self.emit_with(Op::Wait, semaphore, site, attempt, NONE)
    }
}
