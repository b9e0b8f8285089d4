//! Atomic operations and fences: accesses inside sections of a lock of their own, and what they release and take over.

use mayhap_trace::{NameError, Op};
use mayhap_wire::ring::{AtomicKind, order};

use super::Lowering;
use crate::lower::names;
use crate::lower::sync::Wake;
use crate::sharing::shadow_table::granules;

impl Lowering {
    pub(crate) fn atomic(
        &mut self,
        site: u32,
        address: u64,
        kind: AtomicKind,
        order: u8,
        size: u8,
    ) -> Result<(), NameError> {
        if !granules(address, size.into()).any(|(granule, _, _)| self.kept.get(granule) != 0) {
            return Ok(());
        }
        // Whether an update happens may depend on what was read before, even where its place does not.
        if kind == AtomicKind::Update || !self.marks(site).constant {
            self.implicit_branch()?;
        }
        let me = self.current;
        let released = self.objects.release_of(address).filter(|&thread| thread != me).is_some();
        let releases = kind != AtomicKind::Load && (order::releases(order) || self.thread().releases);
        let acquires = kind != AtomicKind::Store && order::acquires(order);
        // An update that only releases carries on what it found: whoever takes it over must come after both.
        if released && (acquires || (releases && kind == AtomicKind::Update)) {
            self.wait(site, address, Wake::Atomic, None)?;
        } else if released && kind != AtomicKind::Store {
            let loaded = &mut self.thread().loaded;
            if !loaded.contains(&address) {
                loaded.push(address);
            }
        }
        let lock = self.objects.atomic_lock(address);
        let lock = match lock {
            Some(lock) => lock,
            None => {
                let name = format!("atomic {}", self.name(address));
                let id = names::define(&mut self.tables.locks, &name)?;
                self.objects.set_atomic_lock(address, id);
                id
            }
        };
        let (enter, leave) = match kind {
            AtomicKind::Load => (Op::SharedAcquire, Op::SharedRelease),
            _ => (Op::Acquire, Op::Release),
        };
        self.emit(enter, lock, site)?;
        if kind != AtomicKind::Store {
            self.plain(site, address, size.into(), Op::Read)?;
        }
        if kind != AtomicKind::Load {
            self.plain(site, address, size.into(), Op::Write)?;
        }
        self.emit(leave, lock, site)?;
        match kind {
            _ if releases => {
                self.objects.set_release(address, Some(me));
                self.notify(Op::NotifyAll, site, address, Wake::Atomic)?;
            }
            AtomicKind::Store => self.objects.set_release(address, None),
            _ => {}
        }
        Ok(())
    }

    /// The access of an atomic operation: its implicit branch came before its section.
    fn plain(&mut self, site: u32, address: u64, bytes: u64, op: Op) -> Result<(), NameError> {
        let dirty = std::mem::take(&mut self.thread().dirty);
        self.access(site, address, bytes, op)?;
        self.thread().dirty |= dirty;
        Ok(())
    }

    pub(crate) fn fence(&mut self, site: u32, order: u8) -> Result<(), NameError> {
        if order::releases(order) {
            self.thread().releases = true;
        }
        if order::acquires(order) {
            for address in std::mem::take(&mut self.thread().loaded) {
                self.wait(site, address, Wake::Atomic, None)?;
            }
        }
        Ok(())
    }
}
