//! What a thread did at one step.

use crate::flags::Flags;
use crate::id::{CondId, LocId, LockId, NONE, ThreadId, ValueId, VarId};
use crate::op::{ObjectKind, Op};

/// One event. `object` indexes the table that [`Op::names`] returns; it is [`NONE`] for operations without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// What was done.
    pub op: Op,
    /// To what: an index into the table of `op.names()`.
    pub object: u32,
    /// Where in the source, if the trace says.
    pub location: Option<LocId>,
    /// Further properties.
    pub flags: Flags,
    /// The value read or written, if the trace has it.
    pub value: Option<ValueId>,
}

impl Event {
    /// Creates an event without further properties and without a value.
    #[inline]
    pub const fn new(thread: ThreadId, op: Op, object: u32, location: Option<LocId>) -> Self {
        Event { thread, op, object, location, flags: Flags::NONE, value: None }
    }

    /// Returns the same event with these properties.
    #[inline]
    pub const fn with_flags(self, flags: Flags) -> Self {
        Event { flags, ..self }
    }

    /// Returns the same event with this value.
    #[inline]
    pub const fn with_value(self, value: Option<ValueId>) -> Self {
        Event { value, ..self }
    }

    /// The value as a column stores it.
    #[inline]
    pub fn value_cell(&self) -> u32 {
        self.value.map_or(NONE, ValueId::cell)
    }

    /// The variable of a read or write.
    #[inline]
    pub fn variable(&self) -> Option<VarId> {
        self.object_if(ObjectKind::Variable).and_then(VarId::from_cell)
    }

    /// The lock of a lock operation.
    #[inline]
    pub fn lock(&self) -> Option<LockId> {
        self.object_if(ObjectKind::Lock).and_then(LockId::from_cell)
    }

    /// The thread forked or joined.
    #[inline]
    pub fn child(&self) -> Option<ThreadId> {
        self.object_if(ObjectKind::Thread).and_then(ThreadId::from_cell)
    }

    /// The condition of wait and notify.
    #[inline]
    pub fn condition(&self) -> Option<CondId> {
        self.object_if(ObjectKind::Condition).and_then(CondId::from_cell)
    }

    /// The location as a column stores it.
    #[inline]
    pub fn location_cell(&self) -> u32 {
        self.location.map_or(NONE, LocId::cell)
    }

    /// Whether two accesses conflict and are not both atomic: a data race if nothing orders them.
    #[inline]
    pub fn races_with(&self, other: &Event) -> bool {
        self.conflicts(other) && !(self.flags.is_atomic() && other.flags.is_atomic())
    }

    /// Whether two accesses conflict: different threads, one variable, at least one write.
    #[inline]
    pub fn conflicts(&self, other: &Event) -> bool {
        self.thread != other.thread
            && self.op.is_access()
            && other.op.is_access()
            && self.object == other.object
            && (self.op == Op::Write || other.op == Op::Write)
    }

    #[inline]
    fn object_if(&self, kind: ObjectKind) -> Option<u32> {
        (self.op.names() == kind).then_some(self.object)
    }
}
